// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "bench/processor_seconds.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/network.hpp"
#include "forestcoll/optimality.hpp"
#include "live/failures.hpp"
#include "live/live_bound.hpp"
#include "live/prices.hpp"
#include "presets/presets.hpp"

/// The bound after one edit against the bound from nothing, and what is built on it; allgather, one thread. Each row of
/// `edits` is one walk of 100 random edits (fixed seed): bandwidths up and down, links and nodes added and removed,
/// and, where the preset has boxes, boxes removed. An edit that cuts GPUs off, and every second one besides, is taken
/// back, which counts as an edit too. Counters are microseconds of processor time; `wrong` counts disagreements with a
/// bound from nothing, asked after every tenth edit.
namespace {

using coppice::Bandwidth;
using coppice::Rational;
using coppice::Result;
using coppice::live::Edit;
using coppice::live::LiveBound;

struct Case {
  std::string name;
  std::string preset;
  std::map<std::string, std::string> arguments;
  bool isIrregular = false;  ///< a tenth of the links at other bandwidths
};

constexpr int kMaxChecked = 20000;  ///< nodes, for repeated comparisons

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
  return description;
}

/// The bound from nothing by the generator's own code, on the fabric as it stands; 0 where GPUs are cut off.
coppice::Bandwidth fromNothing(const LiveBound& live, double& seconds) {
  coppice::forestcoll::Network network;
  network.nodeCount = live.nodeLimit();
  network.isGpu.assign(static_cast<std::size_t>(network.nodeCount), 0);
  network.demand.assign(static_cast<std::size_t>(network.nodeCount), 0);
  for (int v = 0; v < network.nodeCount; ++v) {
    if (live.isAlive(v) && live.kind(v) == coppice::fabric::NodeKind::gpu) {
      network.isGpu[v] = 1;
      network.demand[v] = 1;
      network.gpus.push_back(v);
      ++network.totalDemand;
    }
  }
  std::int64_t denominator = 1;
  const auto links = live.links();
  for (const auto& link : links) {
    denominator = coppice::leastCommonMultiple(denominator, link.forward.gigabytesPerSecond().denominator());
    denominator = coppice::leastCommonMultiple(denominator, link.backward.gigabytesPerSecond().denominator());
  }
  for (const auto& link : links) {
    network.arcs.push_back({link.a, link.b, (link.forward.gigabytesPerSecond() * Rational(denominator)).numerator()});
    network.arcs.push_back({link.b, link.a, (link.backward.gigabytesPerSecond() * Rational(denominator)).numerator()});
  }
  const double start = coppice::bench::processorSeconds();
  coppice::Bandwidth bound;
  try {
    bound = coppice::Bandwidth(Rational(network.totalDemand) /
                               (coppice::forestcoll::worstCut(network, {}).value() * Rational(denominator)));
  } catch (const coppice::Failure&) {
    bound = {};
  }
  seconds = coppice::bench::processorSeconds() - start;
  return bound;
}

std::vector<Edit> randomEdit(const LiveBound& live, Random& random, int serial) {
  const auto anyNode = [&] {
    int v = random.below(live.nodeLimit());
    while (!live.isAlive(v)) {
      v = random.below(live.nodeLimit());
    }
    return v;
  };
  const auto anyLink = [&] {
    while (true) {
      const int a = anyNode();
      const int b = anyNode();
      // Pick among the links of one node without listing all of them.
      for (int step = 0; step < live.nodeLimit(); ++step) {
        const int c = (b + step) % live.nodeLimit();
        if (c != a && live.bandwidth(a, c).isPositive()) {
          return std::pair(a, c);
        }
      }
    }
  };
  const int kind = random.below(20);
  if (kind < 12) {
    const auto [a, b] = anyLink();
    const Rational factors[] = {Rational(1, 2), Rational(3, 4), Rational(9, 10), Rational(11, 10), 2, 4};
    const Rational next = live.bandwidth(a, b).gigabytesPerSecond() * factors[random.below(6)];
    // Tenths of a GB/s, as a person types them.
    return {coppice::live::SetLink{live.id(a), live.id(b), Bandwidth(Rational((next * Rational(10)).floor() + 1, 10))}};
  }
  if (kind < 14) {
    const auto [a, b] = anyLink();
    return {coppice::live::SetLink{live.id(a), live.id(b), Bandwidth()}};
  }
  if (kind < 16) {
    const int a = anyNode();
    const int b = anyNode();
    if (a != b) {
      return {coppice::live::SetLink{live.id(a), live.id(b), Bandwidth(Rational(25))}};
    }
  }
  if (kind < 17) {
    const int v = anyNode();
    if (!live.box(v).empty()) {
      return {coppice::live::RemoveBox{live.box(v)}};
    }
  }
  if (kind < 18) {
    const std::string id = "new" + std::to_string(serial);
    return {coppice::live::AddNode{id}, coppice::live::SetLink{id, live.id(anyNode()), Bandwidth(Rational(50))}};
  }
  return {coppice::live::RemoveNode{live.id(anyNode())}};
}

void runEdits(benchmark::State& state, const Case& which) {
  const auto description = describeCase(which);
  if (!description) {
    state.SkipWithError(describe(description.error()).c_str());
    return;
  }
  for ([[maybe_unused]] const auto _ : state) {
    double start = coppice::bench::processorSeconds();
    auto live = LiveBound::create(*description, {});
    const double creation = coppice::bench::processorSeconds() - start;
    if (!live) {
      state.SkipWithError(describe(live.error()).c_str());
      return;
    }
    double nothing = 0;
    int wrong = fromNothing(*live, nothing) == live->bound()->algbw ? 0 : 1;  // once, whatever the size
    Random random(7);
    std::vector<double> seconds;
    std::int64_t solvedAgain = 0;
    for (int i = 0; seconds.size() < 100; ++i) {
      const std::vector<Edit> edits = randomEdit(*live, random, i);
      start = coppice::bench::processorSeconds();
      const auto answer = live->apply(edits);
      seconds.push_back(coppice::bench::processorSeconds() - start);
      if (!answer) {
        state.SkipWithError(describe(answer.error()).c_str());
        return;
      }
      solvedAgain += answer->solvedAgain;
      // From nothing, every GPU is looked at: too slow for the largest fabric.
      if (i % 10 == 0 && live->nodeLimit() < kMaxChecked) {
        double ignored = 0;
        wrong += fromNothing(*live, ignored) == answer->algbw ? 0 : 1;
      }
      if (answer->finding || i % 2 == 1) {
        start = coppice::bench::processorSeconds();
        const auto undone = live->undo();
        seconds.push_back(coppice::bench::processorSeconds() - start);
        solvedAgain += undone ? undone->solvedAgain : 0;
      }
    }
    std::sort(seconds.begin(), seconds.end());
    const auto microseconds = [&](std::size_t percent) {
      return 1e6 * seconds[std::min(seconds.size() - 1, seconds.size() * percent / 100)];
    };
    state.counters["gpus"] = static_cast<double>(live->bound()->gpuCount);
    state.counters["nothing_us"] = 1e6 * nothing;
    state.counters["create_us"] = 1e6 * creation;
    state.counters["p10_us"] = microseconds(10);
    state.counters["median_us"] = microseconds(50);
    state.counters["p90_us"] = microseconds(90);
    state.counters["max_us"] = microseconds(100);
    state.counters["sinks_per_edit"] = static_cast<double>(solvedAgain) / static_cast<double>(seconds.size());
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
    auto live = LiveBound::create(*description, {});
    const auto ranking = live ? coppice::live::rankFailures(*live, failures) : live.error();
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
    auto live = LiveBound::create(*description, {});
    const auto groups = live ? coppice::live::groupsOf(*live, *description) : live.error();
    const auto ranking = groups ? coppice::live::rankPrices(*live, *groups) : groups.error();
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
  add("n-1", runFailures);
  add("prices", runPrices);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Case> cases;
  for (const auto& [gpus, a100, mi250] : {std::tuple("64", "8", "4"), {"512", "64", "32"}, {"4096", "512", "256"}}) {
    const std::string suffix = std::string("_") + gpus;
    cases.push_back({"a100" + suffix, "dgx-a100", {{"boxes", a100}}});
    cases.push_back({"mi250" + suffix, "mi250", {{"boxes", mi250}}});
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
