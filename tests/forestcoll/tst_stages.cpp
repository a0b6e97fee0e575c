// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "forestcoll/parts/decomposition.hpp"
#include "forestcoll/path_recovery.hpp"
#include "forestcoll/switch_removal.hpp"
#include "forestcoll/tree_packing.hpp"
#include "forestcoll/trimming.hpp"
#include "posed.hpp"
#include "random_fabrics.hpp"
#include "support/large_fabrics.hpp"
#include "verify/schedule_verifier.hpp"

/// Each stage alone, against all cuts of small fabrics: switch removal (Algorithm 3), tree packing (Algorithm 4), path
/// recovery (B.5.2), trimming and decomposition. The checks list every node set and use none of the tested code.
using namespace coppice;
using forestcoll::TreeArc;
using std::int64_t;

namespace {

constexpr unsigned kSeeds = 40;

/// in(Q) + r(Q), the minimum over all sets Q that hold the GPUs of `gpus` and no other GPU.
int64_t minEntering(const forestcoll::Network& network, const std::vector<TreeArc>& arcs,
                    const std::vector<int64_t>& supply, unsigned gpus) {
  std::vector<int> switches;
  for (int node = 0; node < network.nodeCount; ++node) {
    if (network.isGpu[node] == 0) {
      switches.push_back(node);
    }
  }
  int64_t min = std::numeric_limits<int64_t>::max();
  for (unsigned chosen = 0; chosen < (1U << switches.size()); ++chosen) {
    unsigned set = gpus;
    for (std::size_t i = 0; i < switches.size(); ++i) {
      set |= (chosen >> i & 1U) << static_cast<unsigned>(switches[i]);
    }
    int64_t entering = 0;
    for (const TreeArc& arc : arcs) {
      entering += (set >> arc.tail & 1U) == 0 && (set >> arc.head & 1U) != 0 ? arc.capacity : 0;
    }
    for (int node = 0; node < network.nodeCount; ++node) {
      entering += (set >> node & 1U) != 0 ? supply[node] : 0;
    }
    min = std::min(min, entering);
  }
  return min;
}

/// All sets of GPUs but the empty one, as masks of nodes.
std::vector<unsigned> setsOfGpus(const forestcoll::Network& network) {
  std::vector<unsigned> sets;
  for (unsigned ranks = 1; ranks < (1U << network.gpus.size()); ++ranks) {
    unsigned set = 0;
    for (std::size_t rank = 0; rank < network.gpus.size(); ++rank) {
      set |= (ranks >> rank & 1U) << static_cast<unsigned>(network.gpus[rank]);
    }
    sets.push_back(set);
  }
  return sets;
}

int64_t total(const std::vector<int64_t>& supply) {
  int64_t sum = 0;
  for (const int64_t each : supply) {
    sum += each;
  }
  return sum;
}

/// Every cut carries all trees that must enter it (Theorems 25 and 30), and the tightest carries no more than that.
QByteArray checkCuts(const forestcoll::Network& network, const std::vector<TreeArc>& arcs,
                     const std::vector<int64_t>& supply) {
  const int64_t wanted = total(supply);
  int64_t min = std::numeric_limits<int64_t>::max();
  for (const unsigned set : setsOfGpus(network)) {
    // All trees start in the set of all GPUs.
    min = std::min(min, minEntering(network, arcs, supply, set));
  }
  if (min != wanted) {
    return "the least cut carries " + QByteArray::number(qlonglong{min}) + " trees instead of " +
           QByteArray::number(qlonglong{wanted});
  }
  return {};
}

std::vector<TreeArc> logicalArcs(const forestcoll::LogicalTopology& topology) {
  std::vector<TreeArc> arcs;
  for (const forestcoll::Atom& atom : topology.atoms) {
    if (atom.capacity > 0) {
      arcs.push_back({atom.tail, atom.head, atom.capacity});
    }
  }
  return arcs;
}

/// What checkCuts says of the logical topology; a logical cut is never wider than what it stands for.
QByteArray checkSplitting(const test::Posed& posed, const forestcoll::LogicalTopology& topology) {
  if (const QByteArray routes = test::checkRoutes(posed, topology); !routes.isEmpty()) {
    return routes;
  }
  const std::vector<TreeArc> arcs = logicalArcs(topology);
  for (const unsigned set : setsOfGpus(posed.network)) {
    if (minEntering(posed.network, arcs, posed.supply, set) >
        minEntering(posed.network, posed.capacities, posed.supply, set)) {
      return "a cut became wider";
    }
  }
  return checkCuts(posed.network, arcs, posed.supply);
}

/// Spanning out-trees, parents first, `supply` of them at each root, within the capacities.
QByteArray checkTrees(const forestcoll::PackingProblem& problem, const std::vector<forestcoll::PackedTree>& trees) {
  std::vector<int64_t> left;
  for (const TreeArc& arc : problem.arcs) {
    left.push_back(arc.capacity);
  }
  std::vector<int64_t> missing = problem.supply;
  for (const forestcoll::PackedTree& tree : trees) {
    std::set<int> reached{tree.root};
    for (const int index : tree.arcs) {
      const TreeArc& arc = problem.arcs.at(static_cast<std::size_t>(index));
      if (reached.count(arc.tail) == 0 || !reached.insert(arc.head).second) {
        return "not an out-tree";
      }
      left[index] -= tree.multiplicity;
      if (left[index] < 0) {
        return "an arc is overloaded";
      }
    }
    if (static_cast<int>(reached.size()) != problem.nodeCount) {
      return "a tree does not span";
    }
    missing[tree.root] -= tree.multiplicity;
  }
  return total(missing) == 0 && *std::min_element(missing.begin(), missing.end()) == 0 ? QByteArray()
                                                                                       : "wrong number of trees";
}

/// Trees over logical arcs as loads: trees by root, and copies by root and pair of ranks.
using Loads = std::map<std::tuple<int, int, int>, int64_t>;

Loads loadsOf(const forestcoll::PackingProblem& problem, const std::vector<forestcoll::PackedTree>& trees) {
  Loads loads;
  for (const forestcoll::PackedTree& tree : trees) {
    for (const int index : tree.arcs) {
      const TreeArc& arc = problem.arcs[static_cast<std::size_t>(index)];
      loads[{tree.root, arc.tail, arc.head}] += tree.multiplicity;
    }
  }
  return loads;
}

/// Every edge runs over links of the network from its parent to its child; the edges together are those that were
/// packed, and no link carries more trees than it has room for.
QByteArray checkRecovered(const test::Posed& posed, const Loads& packed, const schedule::Forest& forest) {
  std::map<std::pair<int, int>, int64_t> left;
  for (const TreeArc& arc : posed.capacities) {
    left[{arc.tail, arc.head}] = arc.capacity;
  }
  Loads loads;
  for (const schedule::Tree& tree : forest.trees) {
    for (const schedule::TreeEdge& edge : forest.edgesOf(tree)) {
      loads[{tree.root, edge.parent, edge.child}] += tree.multiplicity;
      const auto route = forest.paths[edge.path];
      if (route.front() != posed.network.gpus[edge.parent] || route.back() != posed.network.gpus[edge.child]) {
        return "a route does not join its ends";
      }
      for (std::size_t hop = 0; hop + 1 < route.size(); ++hop) {
        const auto link = left.find({route[hop], route[hop + 1]});
        if (link == left.end()) {
          return "a route uses a link that does not exist";
        }
        link->second -= tree.multiplicity;
        if (link->second < 0) {
          return "a link is overloaded";
        }
      }
    }
  }
  return loads == packed ? QByteArray() : QByteArray("other edges than were packed");
}

test::Posed small(unsigned seed) {
  return test::pose(
      test::randomFabric({4 + static_cast<int>(seed % 3), static_cast<int>(seed % 5), 9, seed % 4 != 3}, seed));
}

struct Stages {
  forestcoll::LogicalTopology topology;
  forestcoll::LogicalProblem logical;
  std::vector<forestcoll::PackedTree> trees;
};

Stages stagesOf(const test::Posed& posed) {
  Stages stages;
  stages.topology = forestcoll::removeSwitches(posed.network, posed.capacities, posed.supply, {});
  stages.logical = forestcoll::logicalProblem(posed.network, stages.topology, posed.supply);
  stages.trees = forestcoll::packTrees(stages.logical.packing, {});
  return stages;
}

}  // namespace

class TestStages : public QObject {
  Q_OBJECT

private slots:
  void switchRemoval_data() {
    QTest::addColumn<bool>("pairwiseOnly");
    QTest::addColumn<bool>("roundToTreesPerRoot");
    QTest::newRow("guesses") << false << false;
    QTest::newRow("guesses in whole roots") << false << true;
    QTest::newRow("pair by pair, Theorem 28") << true << false;
  }
  void switchRemoval() {
    QFETCH(bool, pairwiseOnly);
    QFETCH(bool, roundToTreesPerRoot);
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
      const test::Posed posed = small(seed);
      const auto topology = forestcoll::removeSwitches(posed.network, posed.capacities, posed.supply, {},
                                                       {pairwiseOnly, roundToTreesPerRoot});
      const QByteArray wrong = checkSplitting(posed, topology);
      QVERIFY2(wrong.isEmpty(), "seed " + QByteArray::number(seed) + ": " + wrong);
    }
  }
  /// The check sees one tree less on one logical arc of a tight cut.
  void switchRemovalWithAFault() {
    int seen = 0;
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
      const test::Posed posed = small(seed);
      auto topology = forestcoll::removeSwitches(posed.network, posed.capacities, posed.supply, {});
      for (forestcoll::Atom& atom : topology.atoms) {
        if (atom.capacity > 0) {
          --atom.capacity;
          seen += checkSplitting(posed, topology).isEmpty() ? 0 : 1;
          ++atom.capacity;
        }
      }
    }
    QVERIFY(seen > static_cast<int>(kSeeds));
  }

  void treePacking_data() {
    QTest::addColumn<bool>("decompose");
    QTest::addColumn<bool>("heuristics");
    QTest::newRow("all layers") << true << true;
    QTest::newRow("whole") << false << true;
    QTest::newRow("edge by edge, Theorem 32") << false << false;
    QTest::newRow("edge by edge at tight sets") << true << false;
  }
  void treePacking() {
    QFETCH(bool, decompose);
    QFETCH(bool, heuristics);
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
      const test::Posed posed = small(seed);
      const auto topology = forestcoll::removeSwitches(posed.network, posed.capacities, posed.supply, {});
      const auto logical = forestcoll::logicalProblem(posed.network, topology, posed.supply);
      forestcoll::PackingOptions options;
      options.decompose = decompose;
      options.heuristics = heuristics;
      auto trees = forestcoll::packTrees(logical.packing, {}, options);
      const QByteArray wrong = checkTrees(logical.packing, trees);
      QVERIFY2(wrong.isEmpty(), "seed " + QByteArray::number(seed) + ": " + wrong);
      // One tree less, or one more, is seen.
      trees.front().multiplicity += seed % 2 == 0 ? 1 : -1;
      QVERIFY(!checkTrees(logical.packing, trees).isEmpty());
    }
  }

  void pathRecovery() {
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
      const test::Posed posed = small(seed);
      Stages stages = stagesOf(posed);
      const Loads packed = loadsOf(stages.logical.packing, stages.trees);
      const auto forest =
          forestcoll::recoverPaths(stages.topology, stages.logical, std::move(stages.trees), posed.optimum.scale, {});
      QByteArray wrong = checkRecovered(posed, packed, forest);
      QVERIFY2(wrong.isEmpty(), "seed " + QByteArray::number(seed) + ": " + wrong);
      QCOMPARE(forest.treeCount(), total(posed.supply));
      // One more copy of a tree is seen.
      auto more = forest;
      ++more.trees.front().multiplicity;
      QVERIFY(!checkRecovered(posed, packed, more).isEmpty());
    }
  }
  /// A logical arc of two routes: the trees are shared out over both, the shorter one first.
  void pathRecoverySharesRoutes() {
    forestcoll::Network network;
    network.nodeCount = 4;
    network.isGpu = {1, 1, 0, 0};
    network.gpus = {0, 1};
    // 0 -> 2 -> 1 carries 3, 0 -> 2 -> 3 -> 1 carries 2.
    forestcoll::LogicalTopology topology;
    topology.atoms = {{0, 2, 0}, {2, 1, 0}, {2, 3, 0}, {3, 1, 0}, {2, 1, 0, 2, 3}, {0, 1, 2, 0, 4}, {0, 1, 3, 0, 1}};
    const std::vector<int64_t> supply{5, 0, 0, 0};
    const auto logical = forestcoll::logicalProblem(network, topology, supply);
    QCOMPARE(logical.packing.arcs.size(), std::size_t{1});
    QCOMPARE(logical.packing.arcs.front().capacity, int64_t{5});
    const auto forest = forestcoll::recoverPaths(topology, logical, {{0, 5, {0}}}, InverseBandwidth(1), {});
    std::map<std::vector<int>, int64_t> copies;
    for (const schedule::Tree& tree : forest.trees) {
      const auto route = forest.paths[forest.edgesOf(tree).front().path];
      copies[{route.begin(), route.end()}] += tree.multiplicity;
    }
    QCOMPARE(copies, (std::map<std::vector<int>, int64_t>{{{0, 2, 1}, 3}, {{0, 2, 3, 1}, 2}}));
    bool isRefused = false;
    try {
      [[maybe_unused]] const auto none =
          forestcoll::recoverPaths(topology, logical, {{0, 6, {0}}}, InverseBandwidth(1), {});
    } catch (const Failure&) {
      isRefused = true;
    }
    QVERIFY(isRefused);
  }

  void trimmedGroups_data() {
    QTest::addColumn<QString>("lost");
    QTest::newRow("nothing") << "";
    QTest::newRow("links between groups") << "b2r1-b6r2";
    QTest::newRow("GPUs") << "b1r2g0 b5r0g1 b5r3g1";
  }
  /// After trimming every tree enters each group of a dragonfly once, also where the groups are not alike: the links
  /// then need unequal shares. One group may keep a unit too much, where the sum of what they miss is odd.
  void trimmedGroups() {
    QFETCH(QString, lost);
    fabric::Description description =
        test::presetDescription("dragonfly", {{"a", "4"}, {"h", "2"}, {"p", "3"}, {"local", "100"}});
    std::vector<std::string> kept;
    for (const fabric::NodeDescription& node : description.nodes) {
      if (node.kind == "gpu" && !lost.split(' ').contains(QString::fromStdString(node.id))) {
        kept.push_back(node.id);
      }
    }
    std::erase_if(description.links, [&](const fabric::LinkDescription& link) {
      return QString::fromStdString(link.src + "-" + link.dst) == lost;
    });
    const auto rest = fabric::subset(description, kept);
    QVERIFY(rest.hasValue());
    const test::Posed posed = test::pose(*rest);
    std::vector<TreeArc> capacities = posed.capacities;
    forestcoll::trimCapacities(posed.network, capacities, posed.supply, forestcoll::Trimming::proportional, {});
    std::map<std::string, int64_t> needed;  // by group: what must enter it
    const int64_t all = std::accumulate(posed.supply.begin(), posed.supply.end(), int64_t{0});
    const auto groupOf = [&](int node) { return posed.fabric.nodes()[node].box; };
    for (int node = 0; node < posed.network.nodeCount; ++node) {
      needed.try_emplace(groupOf(node), all).first->second -= posed.supply[node];
    }
    for (const TreeArc& arc : capacities) {
      if (groupOf(arc.tail) != groupOf(arc.head)) {
        needed.at(groupOf(arc.head)) -= arc.capacity;
      }
    }
    int64_t tooMuch = 0;
    for (const auto& [group, missing] : needed) {
      QVERIFY(missing <= 0);
      tooMuch -= missing;
    }
    QVERIFY2(tooMuch <= 1, std::to_string(tooMuch).c_str());
  }

  void trimming_data() {
    QTest::addColumn<int>("policy");
    QTest::newRow("proportional") << static_cast<int>(forestcoll::Trimming::proportional);
    QTest::newRow("restoring") << static_cast<int>(forestcoll::Trimming::restoring);
  }
  /// No cut falls below what must enter it, both directions of a link between switches lose the same, switches stay
  /// balanced, and something goes.
  void trimming() {
    QFETCH(int, policy);
    int64_t taken = 0;
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
      const test::Posed posed = test::pose(test::randomFabric({4, 4, 9, true}, seed));
      std::vector<TreeArc> capacities = posed.capacities;
      forestcoll::trimCapacities(posed.network, capacities, posed.supply, static_cast<forestcoll::Trimming>(policy),
                                 {});
      std::map<std::pair<int, int>, int64_t> lost;
      std::vector<int64_t> surplus(static_cast<std::size_t>(posed.network.nodeCount), 0);
      for (std::size_t i = 0; i < capacities.size(); ++i) {
        const TreeArc& arc = capacities[i];
        QVERIFY(arc.capacity >= 0);
        lost[{arc.tail, arc.head}] = posed.capacities[i].capacity - arc.capacity;
        taken += lost[{arc.tail, arc.head}];
        surplus[arc.head] += arc.capacity;
        surplus[arc.tail] -= arc.capacity;
      }
      for (const auto& [ends, amount] : lost) {
        QVERIFY(amount >= 0);
        if (posed.network.isGpu[ends.first] == 0 && posed.network.isGpu[ends.second] == 0) {
          QCOMPARE(amount, lost.at({ends.second, ends.first}));
        }
      }
      for (int node = 0; node < posed.network.nodeCount; ++node) {
        QVERIFY(posed.network.isGpu[node] != 0 || surplus[node] == 0);
      }
      const QByteArray wrong = checkCuts(posed.network, capacities, posed.supply);
      QVERIFY2(wrong.isEmpty(), "seed " + QByteArray::number(seed) + ": " + wrong);
    }
    QVERIFY(taken > 0);
  }

  void decomposition_data() {
    QTest::addColumn<QString>("preset");
    QTest::addColumn<QString>("boxes");
    QTest::addColumn<bool>("falls");
    QTest::newRow("three boxes of eight") << "dgx-a100"
                                          << "3" << true;
    QTest::newRow("four boxes of sixteen") << "mi250"
                                           << "4" << true;
    QTest::newRow("one box") << "dgx-a100"
                             << "1" << false;
  }
  /// The parts are solved once for each distinct one, and their composition is a schedule at the bound.
  void decomposition() {
    QFETCH(QString, preset);
    QFETCH(QString, boxes);
    QFETCH(bool, falls);
    const test::Posed posed =
        test::pose(test::presetDescription(preset.toStdString(), {{"boxes", boxes.toStdString()}}));
    std::vector<TreeArc> trimmed = posed.capacities;
    forestcoll::trimCapacities(posed.network, trimmed, posed.supply, forestcoll::Trimming::proportional, {});
    std::atomic<int> solved = 0;
    const auto solve = [&](const forestcoll::Network& network, const std::vector<TreeArc>& capacities,
                           const std::vector<TreeArc>&, const std::vector<int64_t>& supply) {
      ++solved;
      const auto topology = forestcoll::removeSwitches(network, capacities, supply, {});
      const auto logical = forestcoll::logicalProblem(network, topology, supply);
      return forestcoll::recoverPaths(topology, logical, forestcoll::packTrees(logical.packing, {}),
                                      posed.optimum.scale, {});
    };
    auto parts = forestcoll::PartForest::split(posed.network, trimmed, posed.capacities, posed.supply, {});
    QCOMPARE(parts.has_value(), falls);
    if (!parts) {
      return;
    }
    parts->grow(solve, {});
    QVERIFY(solved >= 1);
    QVERIFY2(solved < boxes.toInt() + 2, qPrintable(QString::number(solved)));
    schedule::Schedule schedule;
    schedule.fabricName = posed.fabric.name();
    schedule.fabricDigest = posed.fabric.digest();
    schedule.broadcastForest = parts->write(posed.optimum.scale, schedule::kMaxWrittenBytes, {});
    QCOMPARE(parts->maxHeight(), schedule::maxHeight(*schedule.broadcastForest));
    schedule.algbw = posed.optimum.algbw;
    schedule.bound = posed.optimum.algbw;
    schedule.bottlenecks = posed.optimum.bottlenecks;
    const auto verdict = verify::verifySchedule(posed.fabric, schedule);
    QVERIFY2(static_cast<bool>(verdict), verdict ? "" : describe(verdict.error()).c_str());
    QVERIFY2(verdict->ok, verdict->findings.empty() ? "" : describe(verdict->findings.front()).c_str());
    QVERIFY(verdict->boundProved);
  }
};

QTEST_GUILESS_MAIN(TestStages)
#include "tst_stages.moc"
