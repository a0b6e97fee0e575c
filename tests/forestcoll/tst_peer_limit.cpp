// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "fabric/fabric.hpp"
#include "forestcoll/fixed_k.hpp"
#include "forestcoll/forestcoll.hpp"
#include "forestcoll/peers/peer_limit.hpp"
#include "forestcoll/peers/peer_wiring.hpp"
#include "lowering/lowering.hpp"
#include "presets/presets.hpp"
#include "schedule/expansion.hpp"
#include "schedule/peers.hpp"
#include "schedule/tree_reader.hpp"
#include "support/preset_fabrics.hpp"
#include "support/schedule_faults.hpp"

using namespace coppice;
using namespace coppice::forestcoll;
using std::int64_t;
using test::faultsOf;
using test::presetFabric;

namespace {

struct Scaled {
  Network network;
  std::vector<TreeArc> capacities;
  int64_t k = 0;
};

/// Bandwidths in whole trees at a multiple of the optimum's scale.
Scaled scaledToOptimum(const fabric::Fabric& fabric, int64_t factor) {
  Scaled result;
  result.network = makeNetwork(fabric, std::vector<int64_t>(static_cast<std::size_t>(fabric.gpuCount()), 1));
  const auto best = optimum(fabric, {});
  if (!best) {
    qFatal("%s", describe(best.error()).c_str());
  }
  result.k = best->treesPerRoot * factor;
  result.capacities = scaledArcs(result.network, best->scale * Rational(factor) * result.network.unit);
  return result;
}

/// Every set of nodes with some but not all GPUs lets in k trees for each GPU outside: the condition of Theorem 23,
/// tried set by set.
bool allCutsHold(const Scaled& scaled, const PeerWiring& wiring) {
  std::vector<TreeArc> arcs;
  for (const TreeArc& arc : scaled.capacities) {
    if (wiring.isReplaced[arc.tail] == 0 && wiring.isReplaced[arc.head] == 0) {
      arcs.push_back(arc);
    }
  }
  for (const Wire& wire : wiring.wires) {
    arcs.push_back({wire.a, wire.b, wire.trees});
    arcs.push_back({wire.b, wire.a, wire.trees});
  }
  const auto gpus = static_cast<int64_t>(scaled.network.gpus.size());
  for (std::uint32_t set = 1; set + 1 < (1U << scaled.network.nodeCount); ++set) {
    int64_t inside = 0;
    for (const int gpu : scaled.network.gpus) {
      inside += set >> gpu & 1U;
    }
    if (inside == 0) {
      continue;
    }
    int64_t entering = 0;
    for (const TreeArc& arc : arcs) {
      entering += (set >> arc.tail & 1U) == 0 && (set >> arc.head & 1U) != 0 ? arc.capacity : 0;
    }
    if (entering < scaled.k * (gpus - inside)) {
      return false;
    }
  }
  return true;
}

Error errorOf(const fabric::Fabric& fabric, const Request& request, int peers, const Progress& progress = {}) {
  const auto limited = generateWithPeers(fabric, request, peers, progress);
  return limited ? Error{ErrorCode::internal, "no error"} : limited.error();
}

}  // namespace

class TestPeerLimit : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void price_data() {
    QTest::addColumn<QString>("preset");
    QTest::addColumn<QString>("arguments");
    QTest::addColumn<int>("peers");
    QTest::addColumn<QString>("share");  // of the optimum
    QTest::addColumn<int>("maxHeight");
    QTest::newRow("one switch, one peer outside") << "dgx-a100"
                                                  << "boxes=16 network=simple" << 8 << "1" << 5;
    QTest::newRow("one switch, all boxes straight") << "dgx-a100"
                                                    << "boxes=16 network=simple" << 12 << "1" << 3;
    QTest::newRow("odd number of boxes") << "dgx-a100"
                                         << "boxes=9 network=simple" << 9 << "1" << 5;
    QTest::newRow("planes with nics") << "dgx-a100"
                                      << "boxes=8" << 12 << "1" << 3;
    QTest::newRow("rails and a spine") << "dgx-a100"
                                       << "boxes=15 network=rails" << 12 << "1" << 3;
    QTest::newRow("rails alone") << "dgx-a100"
                                 << "boxes=6 network=rail-only" << 9 << "1" << 5;
    QTest::newRow("racks of 72") << "gb200-nvl72"
                                 << "racks=2" << 80 << "1" << 3;
    QTest::newRow("racks of 72 with sparse switches inside") << "gb200-nvl72"
                                                             << "racks=2" << 32 << "1" << 3;
    QTest::newRow("direct links inside") << "mi250"
                                         << "boxes=3" << 9 << "1" << 15;
    QTest::newRow("one nic per box") << "azure-ndv2"
                                     << "boxes=4" << 8 << "1" << 8;
    QTest::newRow("boxes of different size") << "cluster"
                                             << "boxes=3 gpus=8,6,7" << 10 << "" << 8;
    QTest::newRow("nics of different speed") << "cluster"
                                             << "boxes=3 gpus=4 nic=25,50,100" << 8 << "" << 8;
    QTest::newRow("narrow leaves") << "dgx-h100"
                                   << "boxes=8 network=leaf-spine oversubscription=4 boxes_per_leaf=2" << 12 << "24/25"
                                   << 8;
    QTest::newRow("a ring") << "cluster"
                            << "boxes=2 gpus=4" << 2 << "1/3" << 4;
  }
  /// What the limit costs, as an exact share of the optimum, with a schedule that passes the verifier.
  void price() {
    QFETCH(QString, preset);
    QFETCH(QString, arguments);
    QFETCH(int, peers);
    QFETCH(QString, share);
    QFETCH(int, maxHeight);
    const fabric::Fabric fabric = presetFabric(preset + u' ' + arguments);
    const auto limited = generateWithPeers(fabric, {}, peers);
    QVERIFY2(limited, limited ? "" : describe(limited.error()).c_str());
    const schedule::Schedule& schedule = limited->generated.schedule;
    QCOMPARE(faultsOf(fabric, schedule), std::string());
    QVERIFY(limited->isWired);
    QCOMPARE(limited->maxPeers, schedule::maxPeers(schedule, fabric));
    QVERIFY2(limited->maxPeers <= peers, std::to_string(limited->maxPeers).c_str());
    const auto free = optimum(fabric, {});
    QVERIFY(free);
    QVERIFY(limited->generated.optimum.algbw == free->algbw);
    QVERIFY(schedule.bound == free->algbw);
    const Rational reached = schedule.algbw / free->algbw;
    QVERIFY2(reached <= Rational(1), reached.toString().c_str());
    if (!share.isEmpty()) {
      QCOMPARE(reached.toString(), share.toStdString());
    }
    QCOMPARE(schedule.fixedK.has_value(), reached < Rational(1));
    const int height = schedule::heights(*schedule.broadcastForest).logicalMax;
    QVERIFY2(height <= maxHeight, std::to_string(height).c_str());
  }

  void wiringAgainstAllCuts_data() {
    QTest::addColumn<QString>("arguments");
    QTest::addColumn<int>("peers");
    for (const int peers : {2, 3, 4, 5, 6}) {
      QTest::addRow("2 boxes of 4, %d peers", peers) << "boxes=2 gpus=4" << peers;
      QTest::addRow("4 boxes of 2, %d peers", peers) << "boxes=4 gpus=2" << peers;
      QTest::addRow("3 boxes of 3, %d peers", peers) << "boxes=3 gpus=3" << peers;
      QTest::addRow("boxes of 4 and 3, %d peers", peers) << "boxes=2 gpus=4,3" << peers;
      QTest::addRow("5 GPUs, %d peers", peers) << "boxes=5 gpus=1" << peers;
    }
  }
  /// The limit is kept without loss exactly where one of the wirings that are tried holds all cuts.
  void wiringAgainstAllCuts() {
    QFETCH(QString, arguments);
    QFETCH(int, peers);
    const fabric::Fabric fabric = presetFabric("cluster " + arguments);
    bool isKept = false;
    bool hasWiring = false;
    for (const int64_t factor : {1, 2, 4}) {
      const Scaled scaled = scaledToOptimum(fabric, factor);
      std::optional<PeerWiring> wiring;
      try {
        wiring = wirePeers(scaled.network, scaled.capacities, peers, WiringStyle::even, {});
      } catch (const Failure& failure) {
        QCOMPARE(failure.error.code, ErrorCode::infeasible);
        continue;
      }
      if (!wiring) {
        QVERIFY(peers >= fabric.gpuCount() / 2);
        isKept = true;
        hasWiring = true;
        break;
      }
      hasWiring = true;
      checkWiring(fabric, scaled, *wiring, peers);
      isKept = isKept || allCutsHold(scaled, *wiring);
    }
    const auto limited = generateWithPeers(fabric, {}, peers);
    if (!hasWiring) {
      QVERIFY(!limited);
      QCOMPARE(limited.error().code, ErrorCode::infeasible);
      return;
    }
    QVERIFY2(limited, limited ? "" : describe(limited.error()).c_str());
    QCOMPARE(faultsOf(fabric, limited->generated.schedule), std::string());
    QVERIFY(limited->maxPeers <= peers);
    QCOMPARE(limited->generated.schedule.algbw == limited->generated.optimum.algbw, isKept);
  }

  void leavesKeepUplinks() {
    const fabric::Fabric fabric =
        presetFabric("dgx-h100 boxes=8 network=leaf-spine oversubscription=4 boxes_per_leaf=2");
    for (const WiringStyle style : {WiringStyle::even, WiringStyle::leaves}) {
      const Scaled scaled = scaledToOptimum(fabric, 2);
      const auto wiring = wirePeers(scaled.network, scaled.capacities, 11, style, {});
      QVERIFY(wiring);
      QVERIFY(wiring->hasLeaves);
      checkWiring(fabric, scaled, *wiring, 11);
    }
  }

  void everyCollective_data() {
    QTest::addColumn<int>("collective");
    for (const Collective collective : {Collective::allgather, Collective::reduceScatter, Collective::allreduce,
                                        Collective::broadcast, Collective::reduce}) {
      QTest::newRow(std::string(toString(collective)).c_str()) << static_cast<int>(collective);
    }
  }
  void everyCollective() {
    QFETCH(int, collective);
    for (const char* const network : {"simple", "planes"}) {
      const fabric::Fabric fabric = presetFabric(QString("dgx-a100 boxes=12 network=%1").arg(network));
      Request request;
      request.collective = static_cast<Collective>(collective);
      if (request.collective == Collective::broadcast || request.collective == Collective::reduce) {
        request.root = 17;
      }
      const auto limited = generateWithPeers(fabric, request, 11);
      QVERIFY2(limited, limited ? "" : describe(limited.error()).c_str());
      const schedule::Schedule& schedule = limited->generated.schedule;
      QCOMPARE(faultsOf(fabric, schedule), std::string());
      QVERIFY(limited->maxPeers <= 11);
      QVERIFY(schedule.algbw <= schedule.bound);
    }
  }

  void fixedTrees() {
    const fabric::Fabric fabric = presetFabric("dgx-a100 boxes=5 network=simple");
    Request request;
    request.fixedK = 3;
    const auto limited = generateWithPeers(fabric, request, 9);
    QVERIFY2(limited, limited ? "" : describe(limited.error()).c_str());
    QCOMPARE(faultsOf(fabric, limited->generated.schedule), std::string());
    QCOMPARE(*limited->generated.schedule.fixedK, 3);
    QCOMPARE(limited->generated.optimum.treesPerRoot, 3);
    const auto unlimited = optimum(fabric, request);
    QVERIFY(unlimited);
    QVERIFY(limited->generated.schedule.algbw <= unlimited->algbw);
    QVERIFY(limited->generated.optimum.algbw == unlimited->algbw);
  }

  void withHeightCap() {
    const fabric::Fabric fabric = presetFabric("dgx-a100 boxes=8 network=simple");
    Request request;
    request.maxHeight = 3;
    const auto limited = generateWithPeers(fabric, request, 11);
    QVERIFY2(limited, limited ? "" : describe(limited.error()).c_str());
    QCOMPARE(faultsOf(fabric, limited->generated.schedule), std::string());
    QVERIFY(schedule::heights(*limited->generated.schedule.broadcastForest).logicalMax <= 3);
    QVERIFY(limited->maxPeers <= 11);
  }

  /// The fabric keeps a large limit by itself: the schedule is the one without a limit.
  void wideLimits_data() {
    QTest::addColumn<int>("peers");
    QTest::newRow("all other GPUs") << 23;
    QTest::newRow("huge") << 1'000'000;
  }
  void wideLimits() {
    QFETCH(int, peers);
    const fabric::Fabric fabric = presetFabric("cluster boxes=3 gpus=8");
    const auto limited = generateWithPeers(fabric, {}, peers + 7);
    const auto plain = generate(fabric, {});
    QVERIFY(limited && plain);
    QVERIFY(!limited->isWired);
    QVERIFY(limited->generated.schedule == plain->schedule);
  }

  void twoGpusNeedOnePeer() {
    const fabric::Fabric fabric = presetFabric("cluster boxes=2 gpus=1");
    const auto limited = generateWithPeers(fabric, {}, 1);
    QVERIFY(limited);
    QCOMPARE(limited->maxPeers, 1);
    QVERIFY(limited->generated.schedule.algbw == limited->generated.optimum.algbw);
  }

  void refusals() {
    const fabric::Fabric boxes = presetFabric("cluster boxes=2 gpus=4");
    Error error = errorOf(boxes, {}, 0);
    QCOMPARE(error.code, ErrorCode::badUsage);
    QCOMPARE(error.message, std::string("a GPU needs at least 1 peer"));
    error = errorOf(boxes, {}, 1);
    QCOMPARE(error.code, ErrorCode::infeasible);
    QCOMPARE(error.message, std::string("no wiring was found in which every GPU reaches the others with at most 1 peer "
                                        "per GPU"));
    QCOMPARE(error.fix, std::string("allow at least 2 peers"));
    QVERIFY(generateWithPeers(boxes, {}, 2).hasValue());

    const fabric::Fabric linked = presetFabric("hgx-mi300x boxes=2");
    error = errorOf(linked, {}, 6);
    QCOMPARE(error.code, ErrorCode::infeasible);
    QCOMPARE(error.message, std::string("\"b0g0\" is linked to 7 GPUs directly, and a limit on peers only applies to "
                                        "what runs through switches"));
    QCOMPARE(error.fix, std::string("allow at least 7 peers"));

    fabric::Description description;
    for (const char* const id : {"a", "b", "c"}) {
      description.nodes.push_back({.id = id});
    }
    description.nodes.push_back({.id = "s", .kind = "switch"});
    for (const char* const id : {"a", "b", "c"}) {
      description.links.push_back({.src = id, .dst = "s", .bandwidth = "10"});
    }
    description.links.push_back({.src = "a", .dst = "s", .bandwidth = "5/2", .duplex = false});
    description.links.push_back({.src = "s", .dst = "b", .bandwidth = "5/2", .duplex = false});
    const auto oneWay = fabric::Fabric::build(description);
    QVERIFY(oneWay);
    error = errorOf(*oneWay, {}, 2);
    QCOMPARE(error.code, ErrorCode::unbalanced);
    QCOMPARE(error.message, std::string("a limit on peers needs links with the same bandwidth both ways, and from "
                                        "\"a\" to \"s\" it is 12.5 GB/s, back 10"));

    Request badRequest;
    badRequest.collective = Collective::broadcast;
    QCOMPARE(errorOf(boxes, badRequest, 5).code, ErrorCode::badUsage);
  }

  void cancelled() {
    std::stop_source stop;
    stop.request_stop();
    Progress progress;
    progress.stop = stop.get_token();
    QCOMPARE(errorOf(presetFabric("dgx-a100 boxes=8"), {}, 11, progress).code, ErrorCode::cancelled);
  }

  /// Threadblocks follow the peers: what does not fit without a limit does with one.
  void fitsTheRuntime() {
    const fabric::Fabric fabric = presetFabric("dgx-a100 boxes=72 network=simple");
    Request request;
    const auto plain = generate(fabric, request);
    QVERIFY(plain);
    lowering::Options options;
    options.runtime = program::Runtime::rccl;
    const auto tooLarge = lowering::lower(fabric, plain->schedule, options);
    QVERIFY(!tooLarge);
    QCOMPARE(tooLarge.error().code, ErrorCode::limit);
    const auto limited = generateWithPeers(fabric, request, 16);
    QVERIFY(limited);
    QVERIFY(limited->generated.schedule.algbw == plain->schedule.algbw);
    const auto program = lowering::lower(fabric, limited->generated.schedule, options);
    QVERIFY2(program, program ? "" : describe(program.error()).c_str());
    for (const program::RankProgram& rank : program->ranks) {
      QVERIFY(rank.threadBlocks.size() <= 64);
    }
  }

private:
  /// Wires run along links, load none beyond its capacity and keep the limit on peers.
  static void checkWiring(const fabric::Fabric& fabric, const Scaled& scaled, const PeerWiring& wiring, int peers) {
    std::map<std::pair<int, int>, int64_t> left;
    std::vector<std::set<int>> beside(static_cast<std::size_t>(fabric.nodeCount()));
    for (const TreeArc& arc : scaled.capacities) {
      left[{arc.tail, arc.head}] = arc.capacity;
    }
    for (const Wire& wire : wiring.wires) {
      QVERIFY(wire.trees > 0 && wire.a < wire.b);
      beside[wire.a].insert(wire.b);
      beside[wire.b].insert(wire.a);
      std::vector<int> route{wire.a};
      route.insert(route.end(), wire.relays.begin(), wire.relays.end());
      route.push_back(wire.b);
      for (std::size_t i = 0; i + 1 < route.size(); ++i) {
        QVERIFY(i == 0 || wiring.isReplaced[route[i]] != 0);
        for (const auto& [tail, head] : {std::pair(route[i], route[i + 1]), std::pair(route[i + 1], route[i])}) {
          const auto link = left.find({tail, head});
          QVERIFY(link != left.end());
          link->second -= wire.trees;
          QVERIFY(link->second >= 0);
        }
      }
    }
    for (const int gpu : scaled.network.gpus) {
      QVERIFY(static_cast<int>(beside[gpu].size()) <= peers);
    }
  }
};

QTEST_GUILESS_MAIN(TestPeerLimit)
#include "tst_peer_limit.moc"
