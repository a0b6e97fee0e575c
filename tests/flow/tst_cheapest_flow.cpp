// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <random>
#include <vector>

#include "flow/cheapest_flow.hpp"
#include "flow/lemon/max_flow.hpp"
#include "flow/max_flow.hpp"

/// Flows of minimum cost: their value against LEMON, their cost by the residual network, which has no cycle of negative
/// cost exactly if no flow of this value is cheaper.
using namespace coppice;
using std::int64_t;

namespace {

struct Instance {
  int nodes = 0;
  std::vector<flow::PricedArc> arcs;
};

Instance randomInstance(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  Instance instance;
  instance.nodes = pick(2, 12);
  for (int i = pick(1, 5 * instance.nodes); i > 0; --i) {
    instance.arcs.push_back({pick(0, instance.nodes - 1), pick(0, instance.nodes - 1), pick(0, 9), pick(0, 6)});
  }
  return instance;
}

int64_t largestValue(const Instance& instance) {
  std::vector<flow::lemon::Arc> arcs;
  for (const flow::PricedArc& arc : instance.arcs) {
    arcs.push_back({arc.tail, arc.head, arc.capacity});
  }
  return flow::lemon::maxFlow(instance.nodes, arcs, 0, 1);
}

/// Bellman and Ford from everywhere at once: distances still fall after as many rounds as there are nodes.
bool hasNegativeCycle(const Instance& instance, const std::vector<int64_t>& flow) {
  std::vector<int64_t> distance(std::size_t(instance.nodes), 0);
  for (int round = 0; round <= instance.nodes; ++round) {
    bool isChanged = false;
    for (std::size_t i = 0; i < flow.size(); ++i) {
      const flow::PricedArc& arc = instance.arcs[i];
      if (flow[i] < arc.capacity && distance[arc.tail] + arc.cost < distance[arc.head]) {
        distance[arc.head] = distance[arc.tail] + arc.cost;
        isChanged = true;
      }
      if (flow[i] > 0 && distance[arc.head] - arc.cost < distance[arc.tail]) {
        distance[arc.tail] = distance[arc.head] - arc.cost;
        isChanged = true;
      }
    }
    if (!isChanged) {
      return false;
    }
  }
  return true;
}

}  // namespace

class TestCheapestFlow : public QObject {
  Q_OBJECT

private slots:
  void randomNetworks();
  void maxFlows();
  void cancels();
};

void TestCheapestFlow::randomNetworks() {
  int limited = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    const Instance instance = randomInstance(seed);
    const int64_t max = largestValue(instance);
    const int64_t wanted = seed % 2 == 0 ? max + 1 : std::max<int64_t>(1, max / 2);
    const auto found = flow::cheapestFlow(instance.nodes, instance.arcs, 0, 1, wanted);
    const QByteArray what = QByteArray::number(seed);
    QVERIFY2(found.value == std::min(max, wanted), what.constData());
    std::vector<int64_t> surplus(std::size_t(instance.nodes), 0);
    QCOMPARE(found.flow.size(), instance.arcs.size());
    for (std::size_t i = 0; i < found.flow.size(); ++i) {
      QVERIFY2(found.flow[i] >= 0 && found.flow[i] <= instance.arcs[i].capacity, what.constData());
      surplus[instance.arcs[i].tail] -= found.flow[i];
      surplus[instance.arcs[i].head] += found.flow[i];
    }
    for (int node = 0; node < instance.nodes; ++node) {
      QVERIFY2(surplus[node] == (node == 0 ? -found.value : node == 1 ? found.value : 0), what.constData());
    }
    QVERIFY2(!hasNegativeCycle(instance, found.flow), what.constData());
    limited += found.value > 0 && found.value < max ? 1 : 0;
  }
  QVERIFY(limited > 100);
}

/// The value, and both cuts that prove it, before and after all capacities change.
void TestCheapestFlow::maxFlows() {
  for (unsigned seed = 0; seed < 500; ++seed) {
    Instance instance = randomInstance(seed);
    flow::MaxFlow network(instance.nodes);
    for (const flow::PricedArc& arc : instance.arcs) {
      network.addArc(arc.tail, arc.head, arc.capacity);
    }
    const QByteArray what = QByteArray::number(seed);
    for (int round = 0; round < 2; ++round) {
      const int64_t value = network.run(0, 1);
      QVERIFY2(value == largestValue(instance), what.constData());
      QCOMPARE(network.run(0, 1), 0);
      for (const std::vector<bool>& side : {network.sourceSide(0), network.sourceSideNearSink(1)}) {
        int64_t cut = 0;
        for (const flow::PricedArc& arc : instance.arcs) {
          cut += side[arc.tail] && !side[arc.head] ? arc.capacity : 0;
        }
        QVERIFY2(side[0] && !side[1] && cut == value, what.constData());
      }
      for (std::size_t i = 0; i < instance.arcs.size(); ++i) {
        flow::PricedArc& arc = instance.arcs[i];
        const int64_t flow = network.flow(static_cast<int>(i));
        QVERIFY2(flow >= 0 && flow <= arc.capacity, what.constData());
        arc.capacity = (arc.capacity + arc.cost) % 10;
        network.setCapacity(static_cast<int>(i), arc.capacity);
      }
    }
  }
}

void TestCheapestFlow::cancels() {
  std::stop_source stop;
  stop.request_stop();
  const std::vector<flow::PricedArc> arcs{{0, 1, 5, 1}};
  QVERIFY_THROWS_EXCEPTION(CancelledError, (void)flow::cheapestFlow(2, arcs, 0, 1, 5, {.stop = stop.get_token()}));
}

QTEST_APPLESS_MAIN(TestCheapestFlow)
#include "tst_cheapest_flow.moc"
