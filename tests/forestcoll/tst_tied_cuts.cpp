// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "forestcoll/forestcoll.hpp"
#include "forestcoll/random_fabrics.hpp"
#include "forestcoll/tied_cuts.hpp"
#include "presets/presets.hpp"
#include "support/preset_fabrics.hpp"

/// Cuts that are as tight as the bottleneck, against all node sets of small fabrics, and on the clusters that people
/// draw.
using namespace coppice;
using std::int64_t;
using test::built;
using test::presetFabric;

namespace {

forestcoll::TiedCuts tied(const fabric::Fabric& fabric, const forestcoll::Request& request,
                          const forestcoll::TiedCutsLimits& limits = {}) {
  forestcoll::Request quick = request;
  quick.allreduceBudget = {};
  const auto optimum = forestcoll::optimum(fabric, quick);
  if (!optimum || optimum->bottlenecks.empty()) {
    qFatal("no bound");
  }
  auto result = forestcoll::tiedCuts(fabric, request, optimum->bottlenecks.front(), {}, limits);
  if (!result) {
    qFatal("%s", describe(result.error()).c_str());
  }
  return std::move(*result);
}

std::set<int> gpusOf(const fabric::Fabric& fabric, const std::vector<int>& nodes) {
  std::set<int> ranks;
  for (const int node : nodes) {
    if (const int rank = fabric.nodes()[node].rank; rank >= 0) {
      ranks.insert(rank);
    }
  }
  return ranks;
}

QString names(const fabric::Fabric& fabric, const std::vector<int>& nodes) {
  QStringList list;
  for (const int node : nodes) {
    list << QString::fromStdString(fabric.nodes()[node].id);
  }
  return list.join(u' ');
}

/// GB/s from inside to outside; the other way for reductions.
Bandwidth width(const fabric::Fabric& fabric, unsigned set, bool isReduction) {
  Bandwidth sum;
  for (const fabric::Arc& arc : fabric.arcs()) {
    const int from = isReduction ? arc.head : arc.tail;
    const int to = isReduction ? arc.tail : arc.head;
    if ((set >> from & 1U) != 0 && (set >> to & 1U) == 0) {
      sum += arc.bandwidth;
    }
  }
  return sum;
}

/// By every node set: the tightest ratio, and the GPU sets that have it.
std::set<std::set<int>> tightByForce(const fabric::Fabric& fabric, const std::vector<int64_t>& demand,
                                     bool isReduction) {
  Rational best;
  std::set<std::set<int>> sets;
  for (unsigned set = 1; set + 1 < (1U << fabric.nodeCount()); ++set) {
    std::set<int> inside;
    int64_t data = 0;
    for (const int gpu : fabric.gpus()) {
      if ((set >> gpu & 1U) != 0) {
        const int rank = fabric.nodes()[gpu].rank;
        inside.insert(rank);
        data += demand[rank];
      }
    }
    if (data == 0 || static_cast<int>(inside.size()) == fabric.gpuCount()) {
      continue;
    }
    const Rational ratio = (Rational(data) / width(fabric, set, isReduction)).perGBps();
    if (ratio > best) {
      best = ratio;
      sets.clear();
    }
    if (ratio == best) {
      sets.insert(inside);
    }
  }
  return sets;
}

}  // namespace

class TestTiedCuts : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void againstAllSets_data();
  void againstAllSets();
  void clusters_data();
  void clusters();
  void smallestSide();
  void limits();
  void refusals();
};

void TestTiedCuts::againstAllSets_data() {
  QTest::addColumn<int>("gpus");
  QTest::addColumn<int>("switches");
  QTest::addColumn<qint64>("bandwidth");
  QTest::addColumn<bool>("duplex");
  for (const bool duplex : {true, false}) {
    for (const qint64 bandwidth : {1, 2, 4}) {
      for (const auto& [gpus, switches] : {std::pair(2, 2), {4, 0}, {4, 3}, {6, 3}}) {
        QTest::addRow("%d+%d, up to %lld, %s", gpus, switches, bandwidth, duplex ? "duplex" : "one way")
            << gpus << switches << bandwidth << duplex;
      }
    }
  }
}

void TestTiedCuts::againstAllSets() {
  QFETCH(int, gpus);
  QFETCH(int, switches);
  QFETCH(qint64, bandwidth);
  QFETCH(bool, duplex);
  forestcoll::TiedCutsLimits all;
  all.listed = 10'000;
  for (unsigned seed = 0; seed < 12; ++seed) {
    const fabric::Fabric fabric = built(test::randomFabric({gpus, switches, bandwidth, duplex}, seed));
    std::vector<forestcoll::Request> requests(4);
    requests[1].collective = Collective::reduceScatter;
    requests[2].collective = Collective::broadcast;
    requests[2].root = static_cast<int>(seed) % gpus;
    for (int rank = 0; rank < gpus; ++rank) {
      requests[3].amounts.push_back((rank + static_cast<int>(seed)) % 3);
    }
    for (const forestcoll::Request& request : requests) {
      std::vector<int64_t> demand(static_cast<std::size_t>(gpus), request.root ? 0 : 1);
      if (request.root) {
        demand[*request.root] = 1;
      } else if (!request.amounts.empty()) {
        demand = request.amounts;
      }
      const bool isReduction = request.collective == Collective::reduceScatter;
      const std::set<std::set<int>> expected = tightByForce(fabric, demand, isReduction);
      const forestcoll::TiedCuts found = tied(fabric, request, all);
      std::set<std::set<int>> sets;
      std::size_t smaller = 0;
      for (const schedule::Cut& cut : found.cuts) {
        const std::set<int> inside = gpusOf(fabric, cut.nodes);
        QVERIFY(sets.insert(inside).second);
        QVERIFY(std::is_sorted(cut.nodes.begin(), cut.nodes.end()));
        unsigned set = 0;
        for (const int node : cut.nodes) {
          set |= 1U << node;
        }
        QCOMPARE(width(fabric, set, isReduction), cut.exitBandwidth);
        const std::size_t side = std::min(inside.size(), static_cast<std::size_t>(gpus) - inside.size());
        QVERIFY(side >= smaller);
        smaller = side;
      }
      QVERIFY2(sets == expected, qPrintable(u"seed %1, %2"_qs.arg(seed).arg(toString(request.collective).data())));
      QCOMPARE(found.count, static_cast<int64_t>(expected.size()));
      QVERIFY(found.isExact);
    }
  }
}

void TestTiedCuts::clusters_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<int>("boxes");
  QTest::addColumn<qint64>("count");
  // Two boxes: what comes in to each GPU. More: what comes in to each box.
  QTest::newRow("2 boxes") << u"dgx-a100"_qs << 2 << qint64{16};
  for (const int boxes : {4, 8, 32, 64, 65, 128}) {
    QTest::addRow("%d boxes", boxes) << u"dgx-a100"_qs << boxes << qint64{boxes};
  }
}

void TestTiedCuts::clusters() {
  QFETCH(QString, name);
  QFETCH(int, boxes);
  QFETCH(qint64, count);
  const fabric::Fabric fabric = presetFabric(name.toStdString(), {{"boxes", std::to_string(boxes)}});
  const forestcoll::TiedCuts found = tied(fabric, {});
  QCOMPARE(found.count, count);
  QVERIFY(found.isExact);
  QCOMPARE(found.cuts.size(), static_cast<std::size_t>(std::min<qint64>(count, 64)));
  if (boxes == 2) {
    return;
  }
  // The side of eight GPUs is a box with its NICs and NVSwitches, and no switch between the boxes.
  for (std::size_t i = 0; i < found.cuts.size(); ++i) {
    std::vector<char> isInside(static_cast<std::size_t>(fabric.nodeCount()), 0);
    for (const int node : found.cuts[i].nodes) {
      isInside[node] = 1;
    }
    for (int v = 0; v < fabric.nodeCount(); ++v) {
      const fabric::Node& node = fabric.nodes()[v];
      QVERIFY2((isInside[v] == 0) == (node.box == "b" + std::to_string(i)), node.id.c_str());
    }
  }
}

void TestTiedCuts::smallestSide() {
  // Two boxes on one switch: the switch could stand on either side of both cuts.
  fabric::Description description;
  for (const char* box : {"a", "b"}) {
    for (const char* name : {"0", "1"}) {
      fabric::NodeDescription node;
      node.id = std::string(box) + name;
      node.kind = "gpu";
      node.box = box;
      description.nodes.push_back(node);
      description.links.push_back({});
      description.links.back().src = node.id;
      description.links.back().dst = "spine";
      description.links.back().bandwidth = "25";
    }
    fabric::LinkDescription inner;
    inner.src = std::string(box) + "0";
    inner.dst = std::string(box) + "1";
    inner.bandwidth = "300";
    description.links.push_back(inner);
  }
  fabric::NodeDescription spine;
  spine.id = "spine";
  spine.kind = "switch";
  description.nodes.push_back(spine);
  const fabric::Fabric fabric = built(description);
  const forestcoll::TiedCuts found = tied(fabric, {});
  QCOMPARE(found.count, int64_t{2});
  QCOMPARE(names(fabric, found.cuts[0].nodes), u"a0 a1"_qs);
  QCOMPARE(names(fabric, found.cuts[1].nodes), u"b0 b1"_qs);
  // The cut that is asked with does not matter: after an edit and back the same ones are shown.
  schedule::Cut other{{2, 3}, 2, Bandwidth(50)};
  QCOMPARE(forestcoll::tiedCuts(fabric, {}, other)->cuts, found.cuts);
  other.nodes = {0, 1, 4};
  QCOMPARE(forestcoll::tiedCuts(fabric, {}, other)->cuts, found.cuts);
}

void TestTiedCuts::limits() {
  const fabric::Fabric boxes = presetFabric("dgx-a100", {{"boxes", "16"}});
  forestcoll::TiedCutsLimits limits;
  limits.listed = 3;
  forestcoll::TiedCuts found = tied(boxes, {}, limits);
  QCOMPARE(found.count, int64_t{16});
  QVERIFY(found.isExact);
  QCOMPARE(found.cuts.size(), std::size_t{3});
  limits.counted = 16;
  QVERIFY(tied(boxes, {}, limits).isExact);
  limits.counted = 15;
  found = tied(boxes, {}, limits);
  QCOMPARE(found.count, int64_t{15});
  QVERIFY(!found.isExact);
  limits = {};
  const int64_t all = tied(boxes, {}, limits).count;
  limits.steps = 2000;
  found = tied(boxes, {}, limits);
  QVERIFY(!found.isExact);
  QVERIFY(found.count < all);
  // From the root to the last GPU over parallel ways, each of which may be cut before or after its GPU: 2^ways cuts.
  const auto parallel = [](int ways) {
    fabric::Description description;
    const auto addGpu = [&](const std::string& id) {
      fabric::NodeDescription node;
      node.id = id;
      node.kind = "gpu";
      description.nodes.push_back(node);
    };
    const auto addLink = [&](const std::string& from, const std::string& to, const char* bandwidth) {
      fabric::LinkDescription link;
      link.src = from;
      link.dst = to;
      link.bandwidth = bandwidth;
      link.duplex = false;
      description.links.push_back(link);
    };
    addGpu("root");
    addGpu("last");
    addLink("last", "root", "1");
    for (int i = 0; i < ways; ++i) {
      const std::string id = "g" + std::to_string(i);
      addGpu(id);
      addLink("root", id, "1");
      addLink(id, "last", "1");
      addLink("last", id, "100");
    }
    return built(description);
  };
  forestcoll::Request broadcast;
  broadcast.collective = Collective::broadcast;
  broadcast.root = 0;
  found = tied(parallel(10), broadcast);
  QCOMPARE(found.count, int64_t{1024});
  QVERIFY(found.isExact);
  found = tied(parallel(14), broadcast);
  QCOMPARE(found.count, int64_t{10'000});
  QVERIFY(!found.isExact);
}

void TestTiedCuts::refusals() {
  const fabric::Fabric fabric = presetFabric("dgx-a100", {{"boxes", "2"}});
  const auto code = [&](const schedule::Cut& cut) {
    const auto result = forestcoll::tiedCuts(fabric, {}, cut);
    return result ? std::optional<ErrorCode>() : std::optional(result.error().code);
  };
  QVERIFY(code({{}, 0, Bandwidth(0)}) == ErrorCode::badUsage);
  QVERIFY(code({{100'000}, 1, Bandwidth(1)}) == ErrorCode::badUsage);
  QVERIFY(code({{0}, 1, Bandwidth(325)}) == ErrorCode::badUsage);  // a cut, but not a tight one
  Progress stopped;
  std::stop_source source;
  source.request_stop();
  stopped.stop = source.get_token();
  const auto optimum = forestcoll::optimum(fabric, {});
  QCOMPARE(forestcoll::tiedCuts(fabric, {}, optimum->bottlenecks.front(), stopped).error().code, ErrorCode::cancelled);
}

QTEST_GUILESS_MAIN(TestTiedCuts)
#include "tst_tied_cuts.moc"
