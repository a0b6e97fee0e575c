// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "alltoall/alltoall.hpp"
#include "bfb/schedule.hpp"
#include "presets/presets.hpp"
#include "verify/exchange_check.hpp"
#include "verify/step_verifier.hpp"

/// Direct-connect fabrics over the number of GPUs: the time to generate and verify a BFB schedule, and to find and
/// verify the largest rate of an all-to-all. Making the fabric is not counted. Counters: GPUs, transfers, steps.
namespace {

using namespace coppice;

template <typename T>
T must(Result<T> result) {
  if (!result) {
    throw std::runtime_error(describe(result.error()));
  }
  return std::move(result).value();
}

fabric::Fabric made(const std::string& preset, const std::string& key, const std::string& value) {
  return must(fabric::Fabric::build(must(presets::make(preset, {{key, value}}))));
}

fabric::Fabric hypercube(std::int64_t dimension) {
  return made("hypercube", "dimension", std::to_string(dimension));
}

fabric::Fabric torus(std::int64_t side) {
  return made("torus", "dims", std::to_string(side) + "x" + std::to_string(side));
}

void bfbOn(benchmark::State& state, const fabric::Fabric& fabric, Collective collective) {
  std::size_t transfers = 0;
  int steps = 0;
  for (auto _ : state) {
    const bfb::Generated made = must(bfb::generate(fabric, {.collective = collective}));
    if (!must(verify::verifySteps(fabric, made.schedule)).ok) {
      throw std::runtime_error("not verified");
    }
    transfers = made.schedule.transfers.size();
    steps = made.schedule.stepCount;
  }
  state.counters["GPUs"] = fabric.gpuCount();
  state.counters["transfers"] = static_cast<double>(transfers);
  state.counters["steps"] = steps;
}

void alltoallOn(benchmark::State& state, const fabric::Fabric& fabric) {
  for (auto _ : state) {
    const alltoall::Optimum optimum = must(alltoall::optimum(fabric));
    if (must(verify::provenExchangeBound(fabric, optimum.demand, optimum.lengths)) != optimum.upper ||
        must(verify::provenExchangeRate(fabric, optimum.demand, optimum.routing)) != optimum.lower || !optimum.isExact()) {
      throw std::runtime_error("not exact");
    }
  }
  state.counters["GPUs"] = fabric.gpuCount();
}

void bfbHypercube(benchmark::State& state) {
  bfbOn(state, hypercube(state.range(0)), Collective::allgather);
}
void bfbTorus(benchmark::State& state) {
  bfbOn(state, torus(state.range(0)), Collective::allgather);
}
void bfbTorusReduceScatter(benchmark::State& state) {
  bfbOn(state, torus(state.range(0)), Collective::reduceScatter);
}
void alltoallHypercube(benchmark::State& state) {
  alltoallOn(state, hypercube(state.range(0)));
}
void alltoallTorus(benchmark::State& state) {
  alltoallOn(state, torus(state.range(0)));
}

BENCHMARK(bfbHypercube)->DenseRange(4, 12)->Unit(benchmark::kMillisecond);
BENCHMARK(bfbTorus)->Arg(8)->Arg(16)->Arg(32)->Arg(50)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK(bfbTorusReduceScatter)->Arg(16)->Arg(50)->Unit(benchmark::kMillisecond);
BENCHMARK(alltoallHypercube)->DenseRange(4, 10)->Unit(benchmark::kMillisecond);
BENCHMARK(alltoallTorus)->Arg(8)->Arg(16)->Arg(32)->Arg(50)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
