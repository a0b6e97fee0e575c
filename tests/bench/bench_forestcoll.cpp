// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <functional>
#include <map>
#include <string>

#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"
#include "lowering/lowering.hpp"
#include "presets/presets.hpp"
#include "verify/program_verifier.hpp"
#include "verify/schedule_verifier.hpp"

/// Times of the stages from fabric to verified program, allgather, one thread. Run one with --benchmark_filter.
namespace {

using coppice::Result;
using coppice::fabric::Fabric;

struct Case {
  std::string name;
  std::string preset;
  std::map<std::string, std::string> arguments;
  bool lowered = true;  ///< false where no program of that many ranks fits the runtimes
};

Result<Fabric> makeFabric(const Case& which) {
  const auto description = coppice::presets::make(which.preset, which.arguments);
  if (!description) {
    return description.error();
  }
  return Fabric::build(*description);
}

/// Everything a stage may need, made once per case and outside the timing.
struct Prepared {
  Fabric fabric;
  coppice::forestcoll::Generated generated;
};

Result<Prepared> prepare(const Case& which) {
  auto fabric = makeFabric(which);
  if (!fabric) {
    return fabric.error();
  }
  auto generated = coppice::forestcoll::generate(*fabric, {});
  if (!generated) {
    return generated.error();
  }
  return Prepared{*std::move(fabric), *std::move(generated)};
}

using Stage = std::function<std::string(const Prepared&)>;

/// Runs the stage over and over; the stage returns an error's text, or nothing.
void runStage(benchmark::State& state, const Case& which, const Stage& stage) {
  const auto prepared = prepare(which);
  if (!prepared) {
    state.SkipWithError(describe(prepared.error()).c_str());
    return;
  }
  for ([[maybe_unused]] const auto _ : state) {
    const std::string failure = stage(*prepared);
    if (!failure.empty()) {
      state.SkipWithError(failure.c_str());
      return;
    }
  }
  state.counters["gpus"] = prepared->fabric.gpuCount();
  state.counters["k"] = static_cast<double>(prepared->generated.optimum.treesPerRoot);
}

template <typename T>
std::string failureOf(const Result<T>& result) {
  if (!result) {
    return describe(result.error());
  }
  benchmark::DoNotOptimize(result.value());
  return {};
}

std::string optimumStage(const Prepared& prepared) {
  return failureOf(coppice::forestcoll::optimum(prepared.fabric, {}));
}

std::string generateStage(const Prepared& prepared) {
  return failureOf(coppice::forestcoll::generate(prepared.fabric, {}));
}

/// Trees that meet the cut are their own proof of the bound, so max flow is timed apart.
std::string verifyStage(const Prepared& prepared, bool maxFlow) {
  const auto verdict =
      coppice::verify::verifySchedule(prepared.fabric, prepared.generated.schedule, {.maxFlow = maxFlow});
  return verdict && !verdict->ok ? "not verified" : failureOf(verdict);
}

std::string wholeStage(const Prepared& prepared) {
  const auto generated = coppice::forestcoll::generate(prepared.fabric, {});
  if (!generated) {
    return describe(generated.error());
  }
  const auto verdict = coppice::verify::verifySchedule(prepared.fabric, generated->schedule, {.maxFlow = false});
  return verdict && !verdict->ok ? "not verified" : failureOf(verdict);
}

std::string lowerStage(const Prepared& prepared) {
  return failureOf(coppice::lowering::lower(prepared.fabric, prepared.generated.schedule));
}

void verifyProgramCase(benchmark::State& state, const Case& which) {
  const auto prepared = prepare(which);
  if (!prepared) {
    state.SkipWithError(describe(prepared.error()).c_str());
    return;
  }
  const auto program = coppice::lowering::lower(prepared->fabric, prepared->generated.schedule);
  if (!program) {
    state.SkipWithError(describe(program.error()).c_str());
    return;
  }
  for ([[maybe_unused]] const auto _ : state) {
    const auto verdict = coppice::verify::verifyProgram(*program);
    if (!verdict || !verdict->ok) {
      state.SkipWithError("not verified");
      return;
    }
  }
}

void add(const std::string& name, const std::function<void(benchmark::State&)>& body) {
  benchmark::RegisterBenchmark(name.c_str(), body)->Unit(benchmark::kMillisecond);
}

void addCase(const Case& which) {
  const auto addStage = [&](const std::string& stage, const Stage& run) {
    add(which.name + "/" + stage, [which, run](benchmark::State& state) { runStage(state, which, run); });
  };
  addStage("optimum", optimumStage);
  addStage("generate", generateStage);
  addStage("verify", [](const Prepared& prepared) { return verifyStage(prepared, false); });
  addStage("generate+verify", wholeStage);
  addStage("verify_max_flow", [](const Prepared& prepared) { return verifyStage(prepared, true); });
  if (which.lowered) {
    addStage("lower", lowerStage);
    add(which.name + "/verify_xml", [which](benchmark::State& state) { verifyProgramCase(state, which); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Case cases[] = {
      {.name = "2x_dgx_a100", .preset = "dgx-a100", .arguments = {{"boxes", "2"}}},
      {.name = "2x_mi250", .preset = "mi250", .arguments = {{"boxes", "2"}}},
      {.name = "128x_dgx_a100", .preset = "dgx-a100", .arguments = {{"boxes", "128"}}, .lowered = false},
      {.name = "64x_mi250", .preset = "mi250", .arguments = {{"boxes", "64"}}, .lowered = false},
  };
  for (const Case& which : cases) {
    addCase(which);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 2;
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
