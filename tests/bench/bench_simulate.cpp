// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"
#include "presets/presets.hpp"
#include "simulate/sweep.hpp"

/// Time to simulate one size (1 GB, with latencies) of allgather over the number of GPUs, one thread. Making the
/// fabric, the forest and its messages is not counted. Counters: GPUs, messages of the run, messages per second, and
/// algbw as a share of what the forest reaches where only bandwidth counts.
namespace {

using namespace coppice;

template <typename T>
T must(Result<T> result) {
  if (!result) {
    throw std::runtime_error(describe(result.error()));
  }
  return std::move(result).value();
}

struct Prepared {
  fabric::Fabric fabric;
  schedule::Schedule schedule;
  std::unique_ptr<simulate::Subject> subject;
};

/// Made once: the library calls a benchmark several times.
const Prepared& prepared(const std::string& preset, std::int64_t boxes) {
  static std::map<std::pair<std::string, std::int64_t>, std::unique_ptr<Prepared>> all;
  auto& one = all[{preset, boxes}];
  if (!one) {
    fabric::Fabric fabric =
        must(fabric::Fabric::build(must(presets::make(preset, {{"boxes", std::to_string(boxes)}}))));
    schedule::Schedule schedule = must(forestcoll::generate(fabric, {})).schedule;
    one = std::make_unique<Prepared>(Prepared{std::move(fabric), std::move(schedule), nullptr});
    one->subject = must(simulate::subjectOf(one->fabric, one->schedule, {}));
  }
  return *one;
}

void simulateOne(benchmark::State& state, const std::string& preset, std::optional<std::uint32_t> pieces) {
  const Prepared& made = prepared(preset, state.range(0));
  simulate::Details details;
  for (auto _ : state) {
    details = must(made.subject->simulate(1'000'000'000, {.pieces = pieces}));
  }
  const auto messages = static_cast<double>(details.phases.front().run.messages);
  state.counters["GPUs"] = made.fabric.gpuCount();
  state.counters["pieces"] = details.row.pieces;
  state.counters["messages"] = messages;
  state.counters["messages/s"] = benchmark::Counter(messages, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["of algbw"] = details.row.algbw.gigabytesPerSecond() / toGBps(made.schedule.algbw);
  state.counters["exact"] = details.row.resolution > Microseconds(0) ? 0 : 1;
}

void fourPieces(benchmark::State& state, const std::string& preset) {
  simulateOne(state, preset, 4);
}
void defaultPieces(benchmark::State& state, const std::string& preset) {
  simulateOne(state, preset, {});
}

BENCHMARK_CAPTURE(fourPieces, dgx_h100, "dgx-h100")->RangeMultiplier(2)->Range(2, 128)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(fourPieces, dgx_a100, "dgx-a100")->RangeMultiplier(2)->Range(2, 128)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(fourPieces, mi250, "mi250")->RangeMultiplier(2)->Range(2, 64)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(defaultPieces, dgx_h100, "dgx-h100")->RangeMultiplier(4)->Range(2, 32)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(defaultPieces, mi250, "mi250")->RangeMultiplier(4)->Range(2, 32)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
