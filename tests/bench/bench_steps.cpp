// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "fabric/fabric.hpp"
#include "presets/presets.hpp"
#include "schedule/step_cost.hpp"
#include "schedule/step_routes.hpp"
#include "schedule/step_schedule.hpp"
#include "verify/step_verifier.hpp"

/// Time to verify step schedules over the number of ranks: about its square in transfers, ten million at 3163. Making
/// them is not counted. Counters: transfers, transfers per second, and the largest memory of the process so far, which
/// holds the schedule itself (37 bytes per transfer); run one benchmark alone for its own figure.
namespace {

using namespace coppice;
using schedule::StepSchedule;

template <typename T>
T must(Result<T> result) {
  if (!result) {
    throw std::runtime_error(describe(result.error()));
  }
  return std::move(result).value();
}

enum class Kind {
  allgather,      ///< in steps; a shard stays whole
  halves,         ///< the two halves of each shard go round in opposite directions
  reduceScatter,  ///< in steps; sets of contributors
  asynchronous,   ///< the allgather without steps
  ordered         ///< and with an order on every link
};

/// Rank r sends shard r - t (allgather), r - t - 1 (reduce_scatter) to r + 1 in step t.
StepSchedule ringSchedule(const fabric::Fabric& fabric, Kind kind) {
  const int n = fabric.gpuCount();
  const bool isReduction = kind == Kind::reduceScatter;
  StepSchedule schedule;
  schedule.goal =
      must(schedule::CollectiveTable::make(isReduction ? Collective::reduceScatter : Collective::allgather, n));
  schedule.fabricDigest = fabric.digest();
  schedule.denominator = kind == Kind::halves ? 2 : 1;
  schedule.isSynchronous = kind != Kind::asynchronous && kind != Kind::ordered;
  schedule.keepsOrder = kind == Kind::ordered;
  schedule.stepCount = schedule.isSynchronous ? n - 1 : 1;
  schedule::RouteFinder finder(fabric, schedule.paths);
  for (int step = 0; step < n - 1; ++step) {
    for (int rank = 0; rank < n; ++rank) {
      for (int direction = 1; direction >= (kind == Kind::halves ? -1 : 1); direction -= 2) {
        const int next = (rank + direction + n) % n;
        const int shard = ((rank - direction * (step + (isReduction ? 1 : 0))) % n + n) % n;
        schedule.transfers.add({.shard = shard,
                                .begin = direction < 0 ? 1 : 0,
                                .end = direction < 0 ? 2 : 1,
                                .from = rank,
                                .to = next,
                                .route = finder.route(rank, next),
                                .step = schedule.isSynchronous ? step : 0,
                                .reduces = isReduction});
      }
    }
  }
  schedule.algbw = must(schedule::stepCost(fabric, schedule)).algbw;
  return schedule;
}

double peakGigabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1e6;
}

void verifySteps(benchmark::State& state, Kind kind) {
  const auto ranks = static_cast<int>(state.range(0));
  const fabric::Fabric fabric =
      must(fabric::Fabric::build(must(presets::make("ring", {{"gpus", std::to_string(ranks)}}))));
  const StepSchedule schedule = ringSchedule(fabric, kind);
  for (auto _ : state) {
    const auto verdict = must(verify::verifySteps(fabric, schedule));
    if (!verdict.ok) {
      state.SkipWithError(describe(verdict.findings.front()).c_str());
    }
  }
  const auto transfers = static_cast<double>(schedule.transfers.size());
  state.counters["transfers"] = transfers;
  state.counters["transfers/s"] = benchmark::Counter(transfers, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["peak_GB"] = peakGigabytes();
}

BENCHMARK_CAPTURE(verifySteps, allgather, Kind::allgather)->Arg(1000)->Arg(3163)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(verifySteps, halves, Kind::halves)->Arg(1000)->Arg(2237)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(verifySteps, reduceScatter, Kind::reduceScatter)->Arg(1000)->Arg(3163)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(verifySteps, asynchronous, Kind::asynchronous)->Arg(1000)->Arg(3163)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(verifySteps, ordered, Kind::ordered)->Arg(1000)->Arg(3163)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
