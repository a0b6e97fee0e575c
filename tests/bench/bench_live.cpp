// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "bench/processor_seconds.hpp"
#include "fabric/edited_fabric.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/network.hpp"
#include "forestcoll/optimality.hpp"
#include "live/cut_bound.hpp"
#include "live/failures.hpp"
#include "live/prices.hpp"
#include "presets/presets.hpp"

/// The bound after an edit, and what is asked of it; allgather, processor time of one core. Each row of `edits` is a
/// walk of random edits (fixed seed): bandwidths up and down, links taken away. Half of them are taken back,
/// which counts as an edit too. Counters are microseconds; `wrong` counts disagreements with the generator's own search
/// from nothing, which knows of no equal parts.
namespace {

using coppice::Rational;
using coppice::Result;
using coppice::live::CutBound;

struct Case {
  std::string name;
  std::string preset;
  std::map<std::string, std::string> arguments;
  bool isIrregular = false;  ///< a tenth of the links at other bandwidths
  int lost = 0;              ///< percent of the GPUs, at random
};

class Random {
public:
  explicit Random(unsigned seed) : m_engine(seed) {}
  int below(int n) { return static_cast<int>(m_engine() % static_cast<unsigned>(n)); }
  int below(std::size_t n) { return below(static_cast<int>(n)); }

private:
  std::mt19937 m_engine;
};

Result<coppice::fabric::Description> describeCase(const Case& which) {
  auto description = coppice::presets::make(which.preset, which.arguments);
  if (description && which.isIrregular) {
    Random random(3);
    for (auto& link : description->links) {
      if (random.below(10) == 0) {
        link.bandwidth = std::to_string(5 + random.below(400));
      }
    }
  }
  if (description && which.lost > 0) {
    Random random(5);
    std::vector<std::string> kept;
    for (const auto& node : description->nodes) {
      if (node.kind == "gpu" && random.below(100) >= which.lost) {
        kept.push_back(node.id);
      }
    }
    description = coppice::fabric::subset(*description, kept);
  }
  return description;
}

/// By the generator's own code, on the fabric as it stands; 0 where GPUs are cut off.
coppice::Bandwidth fromNothing(const coppice::fabric::EditedFabric& fabric) {
  const auto indexed = fabric.indexed();
  const std::vector<std::int64_t> demand(indexed.gpus.size(), 1);
  const auto network =
      coppice::forestcoll::makeNetwork(static_cast<int>(indexed.keys.size()), indexed.gpus, indexed.arcs, demand);
  try {
    return Rational(network.totalDemand) / coppice::forestcoll::worstCut(network, {}).value() * network.unit;
  } catch (const coppice::Failure&) {
    return {};
  }
}

/// A fabric and what undoes its last edit. Nodes and then links have the keys 1, 2, ...
class Walk {
public:
  explicit Walk(const coppice::fabric::Description& description) : m_description(description) {
    coppice::fabric::FabricDelta delta;
    for (std::size_t i = 0; i < description.nodes.size(); ++i) {
      delta.nodes.push_back({static_cast<coppice::fabric::Key>(i + 1), description.nodes[i]});
    }
    for (std::size_t i = 0; i < description.links.size(); ++i) {
      delta.links.push_back({linkKey(i), 0, 0, description.links[i]});
    }
    fabric.apply(std::move(delta));
  }

  void edit(Random& random) {
    const auto link = static_cast<std::size_t>(random.below(m_description.links.size()));
    coppice::fabric::LinkDescription changed = m_description.links[link];
    const int bandwidth = 5 + random.below(4000);  // tenths of a GB/s, as a person types them
    changed.bandwidth = std::to_string(bandwidth / 10) + "." + std::to_string(bandwidth % 10);
    m_undo = {{}, {{linkKey(link), 0, 0, m_description.links[link]}}};
    const bool isGone = random.below(4) == 0;
    fabric.apply({{}, {{linkKey(link), 0, 0, isGone ? std::nullopt : std::optional(changed)}}});
  }
  void undo() { fabric.apply(m_undo); }

  coppice::fabric::EditedFabric fabric;

private:
  [[nodiscard]] coppice::fabric::Key linkKey(std::size_t link) const {
    return static_cast<coppice::fabric::Key>(m_description.nodes.size() + link + 1);
  }

  const coppice::fabric::Description& m_description;
  coppice::fabric::FabricDelta m_undo;
};

void runEdits(benchmark::State& state, const Case& which) {
  const auto description = describeCase(which);
  if (!description) {
    state.SkipWithError(describe(description.error()).c_str());
    return;
  }
  for ([[maybe_unused]] const auto _ : state) {
    Walk walk(*description);
    Random random(7);
    std::vector<double> seconds;
    int wrong = 0;
    const std::size_t edits = description->nodes.size() > 20000 ? 20 : 100;
    for (std::size_t i = 0; i < edits; ++i) {
      const double start = coppice::bench::processorSeconds();
      const bool isUndone = i % 2 == 1;
      if (isUndone) {
        walk.undo();
      } else {
        walk.edit(random);
      }
      const auto bound = CutBound::create(walk.fabric, {});
      seconds.push_back(coppice::bench::processorSeconds() - start);
      if (!bound) {
        state.SkipWithError(describe(bound.error()).c_str());
        return;
      }
      if (i % 10 == 0) {
        wrong += fromNothing(walk.fabric) == bound->answer().algbw ? 0 : 1;
      }
      state.counters["gpus"] = bound->answer().gpuCount;
    }
    std::sort(seconds.begin(), seconds.end());
    state.counters["median_us"] = 1e6 * seconds[seconds.size() / 2];
    state.counters["max_us"] = 1e6 * seconds.back();
    state.counters["wrong"] = wrong;
  }
}

void runFailures(benchmark::State& state, const Case& which) {
  const auto description = describeCase(which);
  if (!description) {
    state.SkipWithError(describe(description.error()).c_str());
    return;
  }
  const auto failures = coppice::live::singleFailures(*description);
  for ([[maybe_unused]] const auto _ : state) {
    const auto fabric = coppice::fabric::Fabric::build(*description);
    const auto bound = fabric ? CutBound::create(*fabric, {}) : fabric.error();
    const auto ranking = bound ? coppice::live::rankFailures(*bound, failures) : bound.error();
    if (!ranking) {
      state.SkipWithError(describe(ranking.error()).c_str());
      return;
    }
  }
  state.counters["failures"] = static_cast<double>(failures.size());
}

void runPrices(benchmark::State& state, const Case& which) {
  const auto description = describeCase(which);
  if (!description) {
    state.SkipWithError(describe(description.error()).c_str());
    return;
  }
  std::size_t count = 0;
  for ([[maybe_unused]] const auto _ : state) {
    const auto fabric = coppice::fabric::Fabric::build(*description);
    const auto bound = fabric ? CutBound::create(*fabric, {}) : fabric.error();
    const auto groups = bound ? coppice::live::groupsOf(*fabric, *description) : bound.error();
    const auto ranking = groups ? coppice::live::rankPrices(*bound, *groups) : groups.error();
    if (!ranking) {
      state.SkipWithError(describe(ranking.error()).c_str());
      return;
    }
    count = ranking->size();
  }
  state.counters["links"] = static_cast<double>(count);
}

void addCase(const Case& which) {
  const auto add = [&](const std::string& what, void (*body)(benchmark::State&, const Case&)) {
    return benchmark::RegisterBenchmark((which.name + "/" + what).c_str(),
                                        [which, body](benchmark::State& state) { body(state, which); })
        ->Unit(benchmark::kMillisecond);
  };
  add("edits", runEdits)->Iterations(1);
  add("n-1", runFailures)->MeasureProcessCPUTime();
  add("prices", runPrices)->MeasureProcessCPUTime();
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Case> cases;
  for (const auto& [gpus, a100, mi250] : {std::tuple("64", "8", "4"), {"512", "64", "32"}, {"4096", "512", "256"}}) {
    const std::string suffix = std::string("_") + gpus;
    cases.push_back({"a100" + suffix, "dgx-a100", {{"boxes", a100}}});
    cases.push_back({"mi250" + suffix, "mi250", {{"boxes", mi250}}});
    cases.push_back({"h100" + suffix, "dgx-h100", {{"boxes", a100}}});
    cases.push_back({"h100_leaves" + suffix, "dgx-h100", {{"boxes", a100}, {"network", "leaf-spine"}}});
    cases.push_back({"h100_leaves_lost" + suffix, "dgx-h100", {{"boxes", a100}, {"network", "leaf-spine"}}, false, 2});
    cases.push_back({"mi250_lost" + suffix, "mi250", {{"boxes", mi250}}, false, 2});
    cases.push_back({"h100_rails" + suffix, "dgx-h100", {{"boxes", a100}, {"network", "rails"}}});
    cases.push_back({"irregular_a100" + suffix, "dgx-a100", {{"boxes", a100}}, true});
    cases.push_back({"irregular_mi250" + suffix, "mi250", {{"boxes", mi250}}, true});
  }
  const auto fatTree = [](const char* pods, const char* leaves, const char* gpus, const char* spines,
                          const char* cores) -> std::map<std::string, std::string> {
    return {{"pods", pods},   {"leaves_per_pod", leaves}, {"gpus_per_leaf", gpus},       {"spines_per_pod", spines},
            {"cores", cores}, {"oversubscription", "2"},  {"core_oversubscription", "2"}};
  };
  cases.push_back({"fat_tree_64", "fat-tree-3", fatTree("4", "4", "4", "4", "16")});
  cases.push_back({"fat_tree_512", "fat-tree-3", fatTree("8", "8", "8", "4", "16")});
  cases.push_back({"fat_tree_4096", "fat-tree-3", fatTree("32", "16", "8", "8", "64")});
  cases.push_back({"dragonfly_72", "dragonfly", {{"a", "4"}, {"p", "2"}, {"h", "2"}}});
  cases.push_back({"dragonfly_544", "dragonfly", {{"a", "8"}, {"p", "4"}, {"h", "2"}}});
  cases.push_back({"dragonfly_4160", "dragonfly", {{"a", "8"}, {"p", "8"}, {"h", "8"}}});
  cases.push_back({"torus_4096", "torus", {{"dims", "16x16x16"}}});
  cases.push_back({"h100_65536", "dgx-h100", {{"boxes", "8192"}}});
  cases.push_back({"h100_leaves_65536", "dgx-h100", {{"boxes", "8192"}, {"network", "leaf-spine"}}});
  cases.push_back({"h100_rails_32", "dgx-h100", {{"boxes", "4"}, {"network", "rails"}}});
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
