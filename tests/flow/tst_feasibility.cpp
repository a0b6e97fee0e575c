// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <algorithm>
#include <limits>
#include <random>

#include "flow/feasibility.hpp"
#include "flow/lemon/max_flow.hpp"

using namespace coppice;
using flow::CapacityArc;

namespace {

struct Instance {
  int nodes = 0;
  std::vector<CapacityArc<std::int64_t>> arcs;
  std::vector<std::int64_t> supplies;
  std::vector<int> sinks;
};

Instance randomInstance(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  Instance instance;
  instance.nodes = pick(2, 9);
  const int sinks = pick(1, instance.nodes);
  for (int v = 0; v < instance.nodes; ++v) {
    instance.supplies.push_back(v < sinks ? pick(0, 4) : 0);
    if (v < sinks) {
      instance.sinks.push_back(v);
    }
  }
  for (int i = pick(1, 4 * instance.nodes); i > 0; --i) {
    instance.arcs.push_back({pick(0, instance.nodes - 1), pick(0, instance.nodes - 1), pick(0, 12)});
  }
  return instance;
}

/// Largest K - in(Q) - r(Q) over all sets with a sink, by listing them.
std::int64_t worstDeficit(const Instance& instance) {
  std::int64_t total = 0;
  for (const std::int64_t supply : instance.supplies) {
    total += supply;
  }
  std::int64_t worst = 0;
  for (unsigned set = 1; set < (1U << instance.nodes); ++set) {
    const bool hasSink =
        std::any_of(instance.sinks.begin(), instance.sinks.end(), [&](int sink) { return (set >> sink & 1U) != 0; });
    if (!hasSink) {
      continue;
    }
    std::int64_t into = 0;
    for (const auto& arc : instance.arcs) {
      if ((set >> arc.tail & 1U) == 0 && (set >> arc.head & 1U) != 0) {
        into += arc.capacity;
      }
    }
    for (int v = 0; v < instance.nodes; ++v) {
      if ((set >> v & 1U) != 0) {
        into += instance.supplies[v];
      }
    }
    worst = std::max(worst, total - into);
  }
  return worst;
}

}  // namespace

class TestFeasibility : public QObject {
  Q_OBJECT

private slots:
  void againstAllCuts();
  void hubsOfManyLinks();
  void violationsAreReal();
  void changesInPlace();
  void wideNumbers();
  void largestSums();
  void tightSets();
};

void TestFeasibility::againstAllCuts() {
  int feasible = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const Instance instance = randomInstance(seed);
    flow::FeasibilityOracle<std::int64_t> oracle(instance.nodes, instance.arcs, instance.supplies, instance.sinks);
    const std::int64_t worst = worstDeficit(instance);
    QCOMPARE(oracle.isFeasible(), worst == 0);
    QCOMPARE(oracle.largestDeficit(), worst);
    // The oracle restores itself: a second question gets the same answer.
    QCOMPARE(oracle.largestDeficit(), worst);
    feasible += worst == 0 ? 1 : 0;
  }
  QVERIFY(feasible > 100 && feasible < 1900);
}

/// Hubs with more links than a search looks at first, against LEMON: sinks one by one, then one after the other.
void TestFeasibility::hubsOfManyLinks() {
  int beyondFirst = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
    const int leaves = pick(30, 120);
    const int hubs = pick(1, 3);
    const int source = leaves + hubs;
    std::vector<CapacityArc<std::int64_t>> arcs;
    std::vector<std::int64_t> supplies(static_cast<std::size_t>(leaves + hubs), 0);
    std::vector<int> sinks;
    // What feeds most is often at the end of the lists.
    const int firstFed = pick(0, 1) * pick(0, leaves - 2);
    for (int leaf = 0; leaf < leaves; ++leaf) {
      supplies[static_cast<std::size_t>(leaf)] = leaf < firstFed ? pick(0, 1) : pick(1, 3);
      sinks.push_back(leaf);
      for (int hub = leaves; hub < leaves + hubs; ++hub) {
        arcs.push_back({leaf, hub, leaf < firstFed ? pick(0, 1) : pick(0, 9)});
        arcs.push_back({hub, leaf, pick(0, 1) * 3 * leaves + pick(0, 9)});
      }
    }
    std::vector<flow::lemon::Arc> all;
    for (const auto& arc : arcs) {
      all.push_back({arc.tail, arc.head, arc.capacity});
    }
    for (int leaf = 0; leaf < leaves; ++leaf) {
      all.push_back({source, leaf, supplies[static_cast<std::size_t>(leaf)]});
    }
    flow::FeasibilityOracle<std::int64_t> oracle(leaves + hubs, arcs, supplies, sinks);
    std::int64_t worst = 0;
    for (const int sink : sinks) {
      const std::int64_t expected = flow::lemon::maxFlow(source + 1, all, source, sink);
      QCOMPARE(oracle.flowInto(sink, oracle.target()), expected);
      oracle.undo();
      worst = std::max(worst, oracle.target() - expected);
    }
    QCOMPARE(oracle.largestDeficit(), worst);
    beyondFirst += firstFed > 32 ? 1 : 0;
  }
  QVERIFY(beyondFirst > 5);
}

void TestFeasibility::violationsAreReal() {
  for (unsigned seed = 0; seed < 500; ++seed) {
    const Instance instance = randomInstance(seed);
    flow::FeasibilityOracle<std::int64_t> oracle(instance.nodes, instance.arcs, instance.supplies, instance.sinks);
    for (const auto& violation : oracle.violations(100)) {
      std::vector<char> inSet(static_cast<std::size_t>(instance.nodes), 0);
      std::int64_t inside = 0;
      for (const int node : violation.nodes) {
        inSet[node] = 1;
        inside += instance.supplies[node];
      }
      QVERIFY(violation.deficit > 0);
      QCOMPARE(oracle.entering(inSet) + inside + violation.deficit, oracle.target());
    }
  }
}

void TestFeasibility::changesInPlace() {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Instance instance = randomInstance(seed);
    // One arc per ordered pair, so that handles are unique.
    std::vector<CapacityArc<std::int64_t>> unique;
    for (const auto& arc : instance.arcs) {
      const bool isNew = std::none_of(unique.begin(), unique.end(), [&](const auto& other) {
        return other.tail == arc.tail && other.head == arc.head;
      });
      if (isNew && arc.tail != arc.head) {
        unique.push_back(arc);
      }
    }
    instance.arcs = unique;
    flow::FeasibilityOracle<std::int64_t> oracle(instance.nodes, instance.arcs, instance.supplies, instance.sinks);
    for (std::size_t i = 0; i < instance.arcs.size(); ++i) {
      instance.arcs[i].capacity = static_cast<std::int64_t>((seed + 7 * i) % 11);
      oracle.setCapacity(static_cast<int>(i), instance.arcs[i].capacity);
    }
    instance.supplies[0] += 2;
    oracle.setSupply(0, instance.supplies[0]);
    QCOMPARE(oracle.largestDeficit(), worstDeficit(instance));
  }
}

void TestFeasibility::wideNumbers() {
  // Flows of about 2^100: far beyond 64 bits.
  const Int128 unit = Int128{1} << 97;
  const std::vector<CapacityArc<Int128>> arcs{{0, 1, 3 * unit}, {1, 2, 3 * unit}, {2, 0, 3 * unit}};
  flow::FeasibilityOracle<Int128> exact(3, arcs, {unit, unit, unit + unit}, {0, 1, 2});
  QVERIFY(exact.isFeasible());
  flow::FeasibilityOracle<Int128> short1(3, arcs, {unit, unit, unit + unit + 1}, {0, 1, 2});
  QVERIFY(short1.largestDeficit() == 1);
}

void TestFeasibility::largestSums() {
  // The callers keep all capacities and supplies together below a quarter of the range; right up to there both widths
  // agree with the listing.
  constexpr std::int64_t kLimit = std::numeric_limits<std::int64_t>::max() / 4;
  for (unsigned seed = 0; seed < 300; ++seed) {
    Instance instance = randomInstance(seed);
    std::int64_t sum = 1;
    for (const auto& arc : instance.arcs) {
      sum += arc.capacity;
    }
    for (const std::int64_t supply : instance.supplies) {
      sum += supply;
    }
    const std::int64_t factor = kLimit / sum;
    std::vector<CapacityArc<Int128>> wideArcs;
    for (auto& arc : instance.arcs) {
      arc.capacity *= factor;
      wideArcs.push_back({arc.tail, arc.head, arc.capacity});
    }
    std::vector<Int128> wideSupplies;
    for (std::int64_t& supply : instance.supplies) {
      supply *= factor;
      wideSupplies.push_back(supply);
    }
    flow::FeasibilityOracle<std::int64_t> oracle(instance.nodes, instance.arcs, instance.supplies, instance.sinks);
    flow::FeasibilityOracle<Int128> wide(instance.nodes, wideArcs, wideSupplies, instance.sinks);
    const std::int64_t expected = worstDeficit(instance);
    QCOMPARE(oracle.largestDeficit(), expected);
    QVERIFY(wide.largestDeficit() == expected);
    QCOMPARE(oracle.violations(1).empty(), expected == 0);
  }
}

void TestFeasibility::tightSets() {
  // Two pairs joined by one arc each way; each pair as a whole is tight, a single node is not.
  const std::vector<CapacityArc<std::int64_t>> arcs{{0, 1, 9}, {1, 0, 9}, {2, 3, 9}, {3, 2, 9}, {0, 2, 2}, {2, 0, 2}};
  flow::FeasibilityOracle<std::int64_t> oracle(4, arcs, {1, 1, 1, 1}, {0, 1, 2, 3});
  QCOMPARE(oracle.flowInto(2, oracle.target()), std::int64_t{4});
  bool isClosed = false;
  const int seeds[] = {2};
  QCOMPARE(oracle.reaching(seeds, isClosed), (std::vector<int>{2, 3}));
  QVERIFY(isClosed);
  // What the flow leaves free: nothing more can come out of the first pair.
  std::vector<int> next;
  oracle.forEachResidualOutOf(0, [&](int node) { next.push_back(node); });
  QCOMPARE(next, std::vector<int>{1});
  next.clear();
  oracle.forEachResidualInto(2, [&](int node) { next.push_back(node); });
  QCOMPARE(next, std::vector<int>{3});
  QVERIFY(!oracle.isSource(2) && !oracle.isSource(0));
  oracle.undo();
}

QTEST_GUILESS_MAIN(TestFeasibility)
#include "tst_feasibility.moc"
