// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"
#include "schedule/forest.hpp"
#include "schedule/tree_reader.hpp"
#include "support/large_fabrics.hpp"
#include "verify/schedule_verifier.hpp"

/// Generation with verification, nothing written, at the sizes of real clusters. One row per fabric; each is run once
/// per call, so that the peak memory of the process belongs to it: resources/scripts/bench_scale.py runs every row in
/// processes of its own and prints the table.
namespace {

using coppice::fabric::Description;
using coppice::fabric::Fabric;

struct Row {
  std::string name;  ///< "table/..." has a target, "more/..." and "growth/..." have none
  std::function<Description()> make;
  double atMost = 0;  ///< seconds; 0 = no target
  int maxHeight = 0;  ///< logical hops; 0 = no target
  double meanHeight = 0;
  int maxInside = 0;  ///< hops inside boxes on the way to a leaf
  double atMostMebibytes = 0;
};

/// Hops of the deepest routes, split at the boxes' borders.
struct BoxHeights {
  int inside = 0;   ///< most hops within boxes on the way from a root to a leaf
  int run = 0;      ///< most of them in a row
  int between = 0;  ///< most hops between boxes on the way from a root to a leaf
};

BoxHeights boxHeights(const Fabric& fabric, const coppice::schedule::Forest& forest) {
  struct Depth {
    int inside = 0;
    int run = 0;
    int between = 0;
  };
  std::vector<int> box;  // by rank; -1 = in none
  std::map<std::string, int> numbers;
  for (const int gpu : fabric.gpus()) {
    const std::string& name = fabric.nodes()[gpu].box;
    box.push_back(name.empty() ? -1 : numbers.try_emplace(name, static_cast<int>(numbers.size())).first->second);
  }
  BoxHeights max;
  std::vector<Depth> depths(box.size());
  coppice::schedule::TreeReader reader(forest);
  for (std::int64_t index = 0; index < reader.size(); ++index) {
    const auto tree = reader.read(index);
    depths[tree.root] = {};
    for (const auto& edge : tree.edges) {
      const auto parent = static_cast<std::size_t>(edge.parent);
      const auto child = static_cast<std::size_t>(edge.child);
      Depth depth = depths[parent];
      if (box[parent] >= 0 && box[parent] == box[child]) {
        ++depth.inside;
        ++depth.run;
      } else {
        ++depth.between;
        depth.run = 0;
      }
      max.inside = std::max(max.inside, depth.inside);
      max.run = std::max(max.run, depth.run);
      max.between = std::max(max.between, depth.between);
      depths[child] = depth;
    }
  }
  return max;
}

/// Looking at every edge of larger forests would take longer than making them.
constexpr int kMaxForBoxes = 2048;

double peakMebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;  // kibibytes on Linux
}

void run(benchmark::State& state, const Row& row) {
  const auto fabric = Fabric::build(row.make());
  if (!fabric) {
    state.SkipWithError(describe(fabric.error()).c_str());
    return;
  }
  coppice::forestcoll::Request request;
  for ([[maybe_unused]] const auto _ : state) {
    const auto generated = coppice::forestcoll::generate(*fabric, request);
    if (!generated) {
      state.SkipWithError(describe(generated.error()).c_str());
      return;
    }
    // Trees that meet a cut prove the bound by themselves, so no max flow is needed beside them.
    const auto verdict = coppice::verify::verifySchedule(*fabric, generated->schedule, {.maxFlow = false});
    if (!verdict || !verdict->ok) {
      state.SkipWithError(verdict ? "not verified" : describe(verdict.error()).c_str());
      return;
    }
    state.PauseTiming();
    state.counters["peak_MiB"] = peakMebibytes();
    const auto& forest = *generated->schedule.broadcastForest;
    const auto heights = coppice::schedule::heights(forest);
    const auto size = coppice::schedule::sizeOf(forest);
    state.counters["gpus"] = fabric->gpuCount();
    state.counters["k"] = static_cast<double>(generated->optimum.treesPerRoot);
    state.counters["distinct_trees"] = static_cast<double>(size.trees);
    state.counters["forest_MiB"] = static_cast<double>(size.bytes) / (1024.0 * 1024.0);
    state.counters["rotations"] = static_cast<double>(forest.rotations.size());
    state.counters["max_height"] = heights.logicalMax;
    state.counters["mean_height"] = heights.logicalMean;
    state.counters["max_links"] = heights.physicalMax;
    if (fabric->gpuCount() <= kMaxForBoxes) {
      const BoxHeights inBoxes = boxHeights(*fabric, forest);
      state.counters["inside_boxes"] = inBoxes.inside;
      state.counters["inside_one_box"] = inBoxes.run;
      state.counters["between_boxes"] = inBoxes.between;
    }
    state.counters["bound_reached"] = verdict->boundProved && verdict->algbw == generated->schedule.bound ? 1 : 0;
    state.counters["asked_s"] = row.atMost;
    state.counters["asked_max_height"] = row.maxHeight;
    state.counters["asked_mean_height"] = row.meanHeight;
    state.counters["asked_inside"] = row.maxInside;
    state.counters["asked_MiB"] = row.atMostMebibytes;
    for (const auto& stage : generated->seconds) {
      state.counters["stage_" + stage.stage] = stage.seconds;
    }
    state.SetLabel(toFraction(generated->optimum.algbw) + " GB/s");
    state.ResumeTiming();
  }
}

std::function<Description()> preset(const std::string& name, const std::map<std::string, std::string>& arguments) {
  return [=] { return coppice::test::presetDescription(name, arguments); };
}

std::vector<Row> tableRows() {
  namespace test = coppice::test;
  constexpr unsigned kSeed = 20260101;
  constexpr double kFourGigabytes = 4e9 / (1024.0 * 1024.0);
  return {
      {.name = "a100/1024", .make = preset("dgx-a100", {{"boxes", "128"}}), .atMost = 0.25},
      {.name = "mi250/1024", .make = preset("mi250", {{"boxes", "64"}}), .atMost = 0.25, .maxInside = 6},
      {.name = "a100/4096", .make = preset("dgx-a100", {{"boxes", "512"}}), .atMost = 2},
      {.name = "mi250/4096", .make = preset("mi250", {{"boxes", "256"}}), .atMost = 2},
      {.name = "a100/16384",
       .make = preset("dgx-a100", {{"boxes", "2048"}}),
       .atMost = 15,
       .atMostMebibytes = kFourGigabytes},
      {.name = "mi250/16384", .make = preset("mi250", {{"boxes", "1024"}}), .atMost = 15},
      {.name = "h100/65536",
       .make = preset("dgx-h100", {{"boxes", "8192"}}),
       .atMost = 30,
       .maxHeight = 3,
       .atMostMebibytes = kFourGigabytes},
      {.name = "nvl72/65520",
       .make = preset("gb200-nvl72", {{"racks", "910"}}),
       .atMost = 30,
       .maxHeight = 3,
       .atMostMebibytes = kFourGigabytes},
      {.name = "rails/1024", .make = preset("rail-optimised", {{"boxes", "128"}}), .atMost = 0.5},
      {.name = "fat_tree_2/1024",
       .make = preset("fat-tree-2", {{"leaves", "64"}, {"gpus_per_leaf", "16"}, {"spines", "16"}}),
       .atMost = 0.5},
      {.name = "fat_tree_3/1024",
       .make = preset(
           "fat-tree-3",
           {{"pods", "16"}, {"leaves_per_pod", "8"}, {"gpus_per_leaf", "8"}, {"spines_per_pod", "8"}, {"cores", "64"}}),
       .atMost = 0.5},
      {.name = "dragonfly_33x8x4/1056",
       .make = preset("dragonfly", {{"a", "8"}, {"p", "4"}, {"h", "4"}}),
       .atMost = 1,
       .meanHeight = 12},
      {.name = "torus_32x32/1024", .make = preset("torus", {{"dims", "32x32"}}), .atMost = 1, .maxHeight = 48},
      {.name = "torus_8x8x16/1024", .make = preset("torus", {{"dims", "8x8x16"}}), .atMost = 1, .maxHeight = 24},
      {.name = "hypercube_10/1024", .make = preset("hypercube", {{"dimension", "10"}}), .atMost = 1, .maxHeight = 15},
      {.name = "lossy_a100/1000", .make = [] { return test::lossyA100(1000, kSeed); }, .atMost = 2},
      {.name = "lossy_a100_slow_nics/1000", .make = [] { return test::lossyA100(1000, kSeed, true); }, .atMost = 2},
      {.name = "lossy_mi250/1000", .make = [] { return test::lossyMi250(84, kSeed); }, .atMost = 2},
      {.name = "irregular/1000", .make = [] { return test::irregularMultiSwitch(143, kSeed); }, .atMost = 2},
      {.name = "irregular/4000", .make = [] { return test::irregularMultiSwitch(571, kSeed); }, .atMost = 60},
      {.name = "nvl72/576", .make = preset("gb200-nvl72", {{"racks", "8"}}), .atMost = 0.3, .maxHeight = 3},
      {.name = "nvl72_rails/576",
       .make = preset("gb200-nvl72", {{"racks", "8"}, {"network", "rails"}}),
       .atMost = 0.3,
       .maxHeight = 3},
      {.name = "nvl72_leaf_spine/576",
       .make = preset("gb200-nvl72", {{"racks", "8"}, {"network", "leaf-spine"}}),
       .atMost = 0.3,
       .maxHeight = 3},
      {.name = "nvl72_fast_nics/576",
       .make = preset("gb200-nvl72", {{"racks", "8"}, {"nic", "400"}}),
       .atMost = 0.3,
       .maxHeight = 3},
      {.name = "nvl72/1440", .make = preset("gb200-nvl72", {{"racks", "20"}}), .atMost = 1, .maxHeight = 3},
      {.name = "nvl72_leaf_spine_fast_nics/1440",
       .make = preset("gb200-nvl72", {{"racks", "20"}, {"network", "leaf-spine"}, {"nic", "400"}}),
       .atMost = 1,
       .maxHeight = 3},
      {.name = "nvl72_lost_gpus/576",
       .make = [] { return test::damagedNvl72(576, kSeed); },
       .atMost = 2,
       .maxHeight = 3},
      {.name = "nvl72_lost_gpus_leaf_spine/576",
       .make = [] { return test::damagedNvl72(576, kSeed, "50", "leaf-spine"); },
       .atMost = 2,
       .maxHeight = 3},
      {.name = "nvl72_lost_gpus_fast_nics/576",
       .make = [] { return test::damagedNvl72(576, kSeed, "400"); },
       .atMost = 2,
       .maxHeight = 3},
      {.name = "nvl72_two_generations/576",
       .make = preset("cluster", {{"boxes", "8"},
                                  {"gpus", "72"},
                                  {"nvlink", "900,900,1800,900,1800,1800,900,1800"},
                                  {"nic", "50,50,100,50,100,100,50,100"}}),
       .atMost = 2,
       .maxHeight = 3},
      {.name = "boxes_of_8_nics_50/512",
       .make = preset("cluster", {{"boxes", "64"}, {"nvlink", "200"}, {"nic", "50"}}),
       .atMost = 0.5,
       .maxHeight = 3},
      {.name = "boxes_of_8_nics_400/512",
       .make = preset("cluster", {{"boxes", "64"}, {"nvlink", "200"}, {"nic", "400"}}),
       .atMost = 0.5,
       .maxHeight = 3},
      {.name = "boxes_of_64_nics_100/1024",
       .make = preset("cluster", {{"boxes", "16"}, {"gpus", "64"}, {"nvlink", "900"}, {"nic", "100"}}),
       .atMost = 0.5,
       .maxHeight = 3},
  };
}

std::vector<Row> moreRows() {
  namespace test = coppice::test;
  constexpr unsigned kSeed = 20260101;
  return {
      {.name = "mixed_generations/1000", .make = [] { return test::mixedGenerations(132, kSeed); }},
      {.name = "planes/1024", .make = preset("dgx-h100", {{"boxes", "128"}, {"network", "planes"}, {"planes", "4"}})},
      {.name = "rail_only/1024", .make = preset("rail-only", {{"boxes", "128"}})},
      {.name = "fat_tree_2_oversubscribed/1024",
       .make = preset("fat-tree-2",
                      {{"leaves", "64"}, {"gpus_per_leaf", "16"}, {"spines", "8"}, {"oversubscription", "2"}})},
      {.name = "random_eulerian/256", .make = [] { return test::randomEulerian(256, 32, 12, kSeed); }},
      {.name = "unequal_ports/512", .make = [] { return test::unequalPorts(512); }},
      {.name = "lossy_a100/4000", .make = [] { return test::lossyA100(4000, kSeed); }},
  };
}

/// Sizes double from 64 (a 3-tier fat tree from 128) to 16384 GPUs.
std::vector<Row> growthRows() {
  constexpr int kLargest = 16384;
  std::vector<Row> rows;
  for (int gpus = 64, side = 8, other = 8; gpus <= kLargest; gpus *= 2) {
    const std::string size = "/" + std::to_string(gpus);
    const std::string eighth = std::to_string(gpus / 8);
    rows.push_back({.name = "a100" + size, .make = preset("dgx-a100", {{"boxes", eighth}})});
    rows.push_back({.name = "mi250" + size, .make = preset("mi250", {{"boxes", std::to_string(gpus / 16)}})});
    rows.push_back({.name = "rails" + size, .make = preset("rail-optimised", {{"boxes", eighth}})});
    if (gpus >= 128) {
      rows.push_back({.name = "fat_tree_3" + size,
                      .make = preset("fat-tree-3", {{"pods", std::to_string(gpus / 64)},
                                                    {"leaves_per_pod", "8"},
                                                    {"gpus_per_leaf", "8"},
                                                    {"spines_per_pod", "8"},
                                                    {"cores", "64"}})});
    }
    rows.push_back({.name = "torus" + size,
                    .make = preset("torus", {{"dims", std::to_string(side) + "x" + std::to_string(other)}})});
    (side > other ? other : side) *= 2;
  }
  return rows;
}

void add(const std::string& group, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    benchmark::RegisterBenchmark((group + "/" + row.name).c_str(), [row](benchmark::State& state) { run(state, row); })
        ->Unit(benchmark::kSecond)
        ->UseRealTime()
        ->MeasureProcessCPUTime()
        ->Iterations(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  add("table", tableRows());
  add("more", moreRows());
  add("growth", growthRows());
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 2;
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
