// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <atomic>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/parallel.hpp"
#include "base/work.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/boxes/relayed_stars.hpp"
#include "forestcoll/boxes/star_routing.hpp"
#include "forestcoll/fixed_k.hpp"
#include "forestcoll/forestcoll.hpp"
#include "forestcoll/optimality.hpp"
#include "forestcoll/packing/growth.hpp"
#include "forestcoll/parts/decomposition.hpp"
#include "forestcoll/trimming.hpp"
#include "presets/presets.hpp"
#include "schedule/expansion.hpp"
#include "support/large_fabrics.hpp"
#include "support/preset_fabrics.hpp"
#include "support/schedule_faults.hpp"

using namespace coppice;
using namespace coppice::forestcoll;
using test::faultsOf;
using test::presetFabric;

namespace {

/// Bandwidths scaled to the optimum, as generate() hands them to growForest().
struct Scaled {
  Network network;
  std::vector<TreeArc> capacities;
  std::vector<std::int64_t> supply;
  InverseBandwidth scale;
};

Scaled scaledToOptimum(const fabric::Fabric& fabric) {
  Scaled result;
  const std::vector<std::int64_t> demand(static_cast<std::size_t>(fabric.gpuCount()), 1);
  result.network = makeNetwork(fabric, demand);
  const Rational ratio = worstCut(result.network, {}).value();
  result.capacities = result.network.arcs;
  for (TreeArc& arc : result.capacities) {
    arc.capacity *= ratio.numerator();
  }
  result.supply = supplies(result.network, ratio.denominator());
  result.scale = Rational(ratio.numerator()) / result.network.unit;
  return result;
}

/// The forest that trees over parts of the trimmed fabric make, each part solved as a whole.
struct PartGrown {
  std::optional<schedule::Forest> forest;
  int maxHeight = 0;
  std::size_t treeCount = 0;
};

PartGrown grownByParts(const fabric::Fabric& fabric) {
  const Scaled scaled = scaledToOptimum(fabric);
  std::vector<TreeArc> trimmed = scaled.capacities;
  trimCapacities(scaled.network, trimmed, scaled.supply, Trimming::proportional, {});
  auto parts = PartForest::split(scaled.network, trimmed, scaled.capacities, scaled.supply, {});
  PartGrown grown;
  if (parts) {
    const SolvePart solve = [&](const Network& network, const std::vector<TreeArc>& capacities,
                                const std::vector<TreeArc>&, const std::vector<std::int64_t>& supply) {
      const auto topology = removeSwitches(network, capacities, supply, {});
      const auto logical = logicalProblem(network, topology, supply);
      return recoverPaths(topology, logical, packTrees(logical.packing, {}), scaled.scale, {});
    };
    parts->grow(solve, {});
    grown.maxHeight = parts->maxHeight();
    grown.treeCount = parts->treeCount();
    grown.forest = parts->write(scaled.scale, schedule::kMaxWrittenBytes, {});
  }
  return grown;
}

/// An optimal allgather with trees of this height.
void checkHeight(const fabric::Description& description, int height) {
  const auto fabric = fabric::Fabric::build(description);
  QVERIFY(fabric.hasValue());
  const auto generated = generate(*fabric, {});
  QVERIFY2(generated.hasValue(), generated ? "" : describe(generated.error()).c_str());
  QCOMPARE(faultsOf(*fabric, generated->schedule), std::string());
  QVERIFY(generated->schedule.algbw == generated->schedule.bound);
  QCOMPARE(schedule::maxHeight(*generated->schedule.broadcastForest), height);
}

}  // namespace

class TestGrowth : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void byParts_data() {
    QTest::addColumn<QString>("preset");
    QTest::addColumn<QString>("arguments");
    QTest::addColumn<int>("maxHeight");
    QTest::newRow("boxes with nics on two planes") << "dgx-a100"
                                                   << "boxes=16" << 2;
    QTest::newRow("boxes without a switch inside") << "mi250"
                                                   << "boxes=8" << 8;
    QTest::newRow("rails") << "rail-optimised"
                           << "boxes=16" << 2;
    QTest::newRow("borders at leaf switches") << "fat-tree-2"
                                              << "leaves=16 gpus_per_leaf=8 spines=4" << 3;
    QTest::newRow("borders two switches deep")
        << "fat-tree-3"
        << "pods=6 leaves_per_pod=4 gpus_per_leaf=4 spines_per_pod=4 cores=16" << 6;
    QTest::newRow("more leaf switches than a spine can share out evenly") << "fat-tree-2"
                                                                          << "leaves=54 gpus_per_leaf=7 spines=11" << 2;
    QTest::newRow("oversubscribed leaf switches") << "fat-tree-2"
                                                  << "leaves=46 gpus_per_leaf=11 spines=15 oversubscription=4" << 2;
    QTest::newRow("pods of many leaf switches, oversubscribed twice")
        << "fat-tree-3"
        << "pods=13 leaves_per_pod=7 gpus_per_leaf=11 spines_per_pod=7 cores=28 oversubscription=2 "
           "core_oversubscription=2"
        << 3;
    QTest::newRow("pods within which shares are uneven")
        << "fat-tree-3"
        << "pods=14 leaves_per_pod=4 gpus_per_leaf=9 spines_per_pod=7 cores=7 wiring=full" << 5;
    QTest::newRow("groups of routers") << "dragonfly"
                                       << "a=4 p=4 h=2" << 4;
    QTest::newRow("groups of routers with fast links inside") << "dragonfly"
                                                              << "a=5 h=3 p=8 local=100" << 4;
  }
  void byParts() {
    QFETCH(QString, preset);
    QFETCH(QString, arguments);
    QFETCH(int, maxHeight);
    std::map<std::string, std::string> values;
    for (const QString& pair : arguments.split(' ')) {
      values[pair.section('=', 0, 0).toStdString()] = pair.section('=', 1).toStdString();
    }
    const fabric::Fabric fabric = presetFabric(preset.toStdString(), values);
    const auto generated = generate(fabric, {});
    QVERIFY2(generated.hasValue(), generated ? "" : describe(generated.error()).c_str());
    const schedule::Forest& forest = *generated->schedule.broadcastForest;
    QCOMPARE(faultsOf(fabric, generated->schedule), std::string());
    QVERIFY(generated->schedule.algbw == generated->optimum.algbw);
    QVERIFY2(schedule::maxHeight(forest) <= maxHeight, std::to_string(schedule::maxHeight(forest)).c_str());
    const PartGrown byParts = grownByParts(fabric);
    QVERIFY2(byParts.forest.has_value(), "the fabric should fall into parts");
    QCOMPARE(byParts.maxHeight, schedule::maxHeight(*byParts.forest));
    QCOMPARE(byParts.treeCount, byParts.forest->trees.size());
    schedule::Schedule parts = generated->schedule;
    parts.broadcastForest = *byParts.forest;
    QCOMPARE(faultsOf(fabric, parts), std::string());
  }

  void everyCollectiveByParts_data() {
    QTest::addColumn<int>("collective");
    for (const Collective collective : {Collective::allgather, Collective::reduceScatter, Collective::allreduce,
                                        Collective::broadcast, Collective::reduce}) {
      QTest::newRow(std::string(toString(collective)).c_str()) << static_cast<int>(collective);
    }
  }
  void everyCollectiveByParts() {
    QFETCH(int, collective);
    const fabric::Fabric fabric = presetFabric("dgx-h100", {{"boxes", "12"}});
    Request request;
    request.collective = static_cast<Collective>(collective);
    if (request.collective == Collective::broadcast || request.collective == Collective::reduce) {
      request.root = 17;
    }
    const auto generated = generate(fabric, request);
    QVERIFY2(generated.hasValue(), generated ? "" : describe(generated.error()).c_str());
    QCOMPARE(faultsOf(fabric, generated->schedule), std::string());
    QVERIFY(generated->schedule.algbw == generated->optimum.algbw);
  }

  void racesDoNotDependOnTiming_data() {
    QTest::addColumn<qulonglong>("firstWork");
    QTest::newRow("raced several rounds") << qulonglong(1000);
    QTest::newRow("raced at once") << qulonglong(1);
    QTest::newRow("alone") << qulonglong(400'000'000);
  }
  void racesDoNotDependOnTiming() {
    QFETCH(qulonglong, firstWork);
    const fabric::Fabric fabric = presetFabric("dragonfly", {{"a", "4"}, {"p", "2"}, {"h", "2"}});
    const Scaled scaled = scaledToOptimum(fabric);
    GrowthOptions options;
    options.firstWork = firstWork;
    std::vector<schedule::Forest> forests;
    for (int repeat = 0; repeat < 3; ++repeat) {
      std::vector<StageSeconds> seconds;
      StageClock clock(seconds);
      forests.push_back(
          growForest(fabric, {scaled.network, scaled.capacities, scaled.supply, scaled.scale}, options, {}, clock));
    }
    QVERIFY(forests[0] == forests[1]);
    QVERIFY(forests[0] == forests[2]);
    QVERIFY2(schedule::maxHeight(forests[0]) <= 3, std::to_string(schedule::maxHeight(forests[0])).c_str());
  }

  void cancelledRaceStops() {
    const fabric::Fabric fabric = presetFabric("dragonfly", {{"a", "4"}, {"p", "2"}, {"h", "2"}});
    std::stop_source stop;
    Progress progress;
    progress.stop = stop.get_token();
    progress.onReport = [&](std::string_view stage, double) {
      if (stage == "racing") {
        stop.request_stop();
      }
    };
    const Scaled scaled = scaledToOptimum(fabric);
    GrowthOptions options;
    options.firstWork = 1000;
    std::vector<StageSeconds> seconds;
    StageClock clock(seconds);
    bool isCancelled = false;
    try {
      (void)growForest(fabric, {scaled.network, scaled.capacities, scaled.supply, scaled.scale}, options, progress,
                       clock);
    } catch (const CancelledError&) {
      isCancelled = true;
    }
    QVERIFY(isCancelled);
  }

  void stars() {
    // Three boxes on two switches joined by a thin link: a>x, b>x, c>y, x=y.
    Network network;
    network.nodeCount = 5;
    network.isGpu = {1, 1, 1, 0, 0};
    network.gpus = {0, 1, 2};
    const std::vector<std::int64_t> supply = {2, 1, 1, 0, 0};
    // Each terminal gets what the others have (K = 4): 2, 3, 3; the thin link carries 3 one way and 1 + 1 the other.
    std::vector<TreeArc> capacities = {{0, 3, 4}, {1, 3, 2}, {2, 4, 2}, {3, 0, 2},
                                       {3, 1, 3}, {4, 2, 3}, {3, 4, 3}, {4, 3, 2}};
    const auto found = routeStars(network, capacities, supply, {});
    QVERIFY(found.has_value());
    std::map<std::pair<int, int>, std::int64_t> straight;
    std::vector<std::int64_t> load(capacities.size(), 0);
    for (std::size_t i = 0; i < found->atoms.size(); ++i) {
      const Atom& atom = found->atoms[i];
      if (atom.capacity > 0) {
        straight[{atom.tail, atom.head}] += atom.capacity;
        const std::vector<int> nodes = route(found->atoms, static_cast<int>(i));
        for (std::size_t hop = 0; hop + 1 < nodes.size(); ++hop) {
          for (std::size_t arc = 0; arc < capacities.size(); ++arc) {
            load[arc] +=
                capacities[arc].tail == nodes[hop] && capacities[arc].head == nodes[hop + 1] ? atom.capacity : 0;
          }
        }
      }
    }
    for (const int from : network.gpus) {
      for (const int to : network.gpus) {
        if (from != to) {
          QCOMPARE((straight[{from, to}]), supply[from]);
        }
      }
    }
    for (std::size_t arc = 0; arc < capacities.size(); ++arc) {
      QVERIFY(load[arc] <= capacities[arc].capacity);
    }
    capacities[6].capacity = 2;  // a's 2 and b's 1 no longer pass to c
    QVERIFY(!routeStars(network, capacities, supply, {}).has_value());
  }

  /// Unequal boxes whose GPUs have room for all their trees: a star in each box, and over all boxes by the root's own
  /// link to the network.
  void unequalBoxes_data() {
    QTest::addColumn<int>("boxes");
    QTest::newRow("few, whole against parts") << 5;
    QTest::newRow("many") << 40;
  }
  void unequalBoxes() {
    QFETCH(int, boxes);
    test::Dice dice(5);
    test::Sketch sketch("boxes of 2 to 8 GPUs");
    for (int i = 0; i < 2; ++i) {
      sketch.relay("ib" + std::to_string(i));
    }
    sketch.link("ib0", "ib1", 25LL * boxes * 8);
    for (int box = 0; box < boxes; ++box) {
      const std::string name = "b" + std::to_string(box);
      sketch.relay(name + "switch", name);
      const int gpus = dice.index(2, 8);
      for (int i = 0; i < gpus; ++i) {
        const std::string gpu = sketch.gpu(name + "g" + std::to_string(i), name);
        sketch.link(gpu, name + "switch", dice.pick(8, 12) * 25);
        sketch.link(gpu, "ib" + std::to_string(dice.index(0, 1)), 25);
      }
    }
    checkHeight(sketch.take(), 2);
  }

  /// Links of different speed to one switch: the fast ones do not carry the slow ones' trees on.
  void unequalLinks() {
    test::Sketch sketch("one switch");
    sketch.relay("switch");
    int number = 0;
    for (const int bandwidth : {50, 100, 150, 200, 100, 50, 150}) {
      const std::string gpu = sketch.gpu("gpu" + std::to_string(number++), "");
      sketch.link(gpu, "switch", bandwidth);
    }
    checkHeight(sketch.take(), 1);
  }

  /// Unequal parts under scarce links, whose outside is not a star: two levels answer before any part is solved.
  void twoLevelsBeforeParts_data() {
    QTest::addColumn<QString>("arguments");
    QTest::addColumn<QSet<int>>("lost");
    QTest::newRow("small boxes on leaves")
        << "boxes=21 gpus=4 network=leaf-spine boxes_per_leaf=7 nic=400 nvlink=300 spines=2" << QSet<int>{83};
    QTest::newRow("boxes that lost GPUs on leaves")
        << "boxes=18 gpus=8 network=leaf-spine boxes_per_leaf=8 nic=200 nvlink=300 spines=1" << QSet<int>{61, 101};
  }
  void twoLevelsBeforeParts() {
    QFETCH(QString, arguments);
    QFETCH(QSet<int>, lost);
    std::map<std::string, std::string> values;
    for (const QString& pair : arguments.split(' ')) {
      values[pair.section('=', 0, 0).toStdString()] = pair.section('=', 1).toStdString();
    }
    const auto description = presets::make("cluster", values);
    QVERIFY(description.hasValue());
    std::vector<std::string> kept;
    int rank = 0;
    for (const fabric::NodeDescription& node : description->nodes) {
      if (node.kind == "gpu" && !lost.contains(rank++)) {
        kept.push_back(node.id);
      }
    }
    const auto rest = fabric::subset(*description, kept);
    QVERIFY(rest.hasValue());
    const auto fabric = fabric::Fabric::build(*rest);
    QVERIFY(fabric.hasValue());
    const auto generated = generate(*fabric, {});
    QVERIFY2(generated.hasValue(), generated ? "" : describe(generated.error()).c_str());
    QCOMPARE(faultsOf(*fabric, generated->schedule), std::string());
    QVERIFY(generated->schedule.algbw == generated->schedule.bound);
    QCOMPARE(schedule::heights(*generated->schedule.broadcastForest).logicalMax, 2);
    // Within work that neither solving the parts nor packing trees over them leaves.
    constexpr std::uint64_t kWorkOfTwoLevels = 20'000'000;
    const Scaled scaled = scaledToOptimum(*fabric);
    std::vector<StageSeconds> seconds;
    StageClock clock(seconds);
    GrowthOptions options;
    options.firstWork = kWorkOfTwoLevels;
    const schedule::Forest within =
        growForest(*fabric, {scaled.network, scaled.capacities, scaled.supply, scaled.scale}, options, {}, clock);
    QVERIFY(within == *generated->schedule.broadcastForest);
  }

  /// The network falls apart into routers, whose trees would hang into those between them, 7 hops deep.
  void starsOfMoreThanAFewGpus() {
    const auto description = presets::make(
        "dragonfly", {{"a", "4"}, {"h", "2"}, {"p", "2"}, {"terminal", "25"}, {"local", "25"}, {"global", "50"}});
    QVERIFY(description.hasValue());
    std::vector<std::string> kept;
    for (const fabric::NodeDescription& node : description->nodes) {
      if (node.kind == "gpu" && node.id != "b3r3g1") {
        kept.push_back(node.id);
      }
    }
    const auto rest = fabric::subset(*description, kept);
    QVERIFY(rest.hasValue());
    const auto fabric = fabric::Fabric::build(*rest);
    QVERIFY(fabric.hasValue());
    QCOMPARE(fabric->gpuCount(), 71);
    const auto generated = generate(*fabric, {});
    QVERIFY2(generated.hasValue(), generated ? "" : describe(generated.error()).c_str());
    QCOMPARE(faultsOf(*fabric, generated->schedule), std::string());
    QVERIFY(generated->schedule.algbw == generated->schedule.bound);
    QCOMPARE(schedule::heights(*generated->schedule.broadcastForest).logicalMax, 1);
  }

  /// Routes to one receiver that end alike share their common end, though each passes six links.
  void fewAtoms() {
    constexpr int kGpus = 24;
    const fabric::Fabric fabric =
        presetFabric("cluster", {{"boxes", "6"}, {"gpus", "4"}, {"network", "leaf-spine"}, {"boxes_per_leaf", "2"}});
    QCOMPARE(fabric.gpuCount(), kGpus);
    const Scaled scaled = scaledToOptimum(fabric);
    std::vector<TreeArc> wide = scaled.capacities;
    for (TreeArc& arc : wide) {
      arc.capacity *= kGpus;
    }
    const auto stars = routeStars(scaled.network, wide, scaled.supply, {});
    QVERIFY(stars.has_value());
    const auto routes = static_cast<std::size_t>(
        std::count_if(stars->atoms.begin(), stars->atoms.end(), [](const Atom& atom) { return atom.capacity > 0; }));
    QVERIFY(routes >= static_cast<std::size_t>(kGpus * (kGpus - 1)));
    const std::size_t besides = stars->atoms.size() - wide.size() - routes;
    QVERIFY2(besides < 2 * routes, std::to_string(besides).c_str());
  }

  /// Terminals on one switch, of which one has fewer trees and so room for those of the others.
  void relayedStars_data() {
    QTest::addColumn<QList<int>>("supplies");
    QTest::addColumn<QList<int>>("out");
    QTest::addColumn<bool>("isFound");
    // A star each takes r (n - 1): 6, 6, 6 and 3.
    QTest::newRow("one relay") << QList<int>{2, 2, 2, 1} << QList<int>{5, 5, 5, 6} << true;
    QTest::newRow("two copies behind it") << QList<int>{2, 2, 2, 1} << QList<int>{2, 6, 6, 7} << true;
    QTest::newRow("two relays") << QList<int>{3, 1, 1, 1} << QList<int>{6, 5, 4, 3} << true;
    QTest::newRow("nobody is short") << QList<int>{2, 2, 2, 1} << QList<int>{6, 6, 6, 6} << false;
    QTest::newRow("too little room") << QList<int>{2, 2, 2, 1} << QList<int>{5, 5, 5, 5} << false;
    QTest::newRow("less than one copy of each tree") << QList<int>{2, 2, 2, 1} << QList<int>{1, 6, 6, 9} << false;
  }
  void relayedStars() {
    QFETCH(QList<int>, supplies);
    QFETCH(QList<int>, out);
    QFETCH(bool, isFound);
    const auto count = static_cast<int>(supplies.size());
    const int trees = std::accumulate(supplies.begin(), supplies.end(), 0);
    Network network;
    network.nodeCount = count + 1;
    std::vector<std::int64_t> supply(static_cast<std::size_t>(count) + 1, 0);
    std::vector<TreeArc> capacities;
    for (int rank = 0; rank < count; ++rank) {
      network.gpus.push_back(rank);
      network.isGpu.push_back(1);
      supply[static_cast<std::size_t>(rank)] = supplies[rank];
      capacities.push_back({rank, count, out[rank]});
      capacities.push_back({count, rank, trees - supplies[rank]});
    }
    network.isGpu.push_back(0);
    QVERIFY(isFound || !growRelayedStars(network, capacities, supply, {}).has_value());
    if (!isFound) {
      return;
    }
    QVERIFY(!routeStars(network, capacities, supply, {}).has_value());
    auto found = growRelayedStars(network, capacities, supply, {});
    QVERIFY(found.has_value());
    const schedule::Forest forest =
        recoverPaths(found->topology, found->logical, std::move(found->trees), InverseBandwidth(1), {});
    QCOMPARE(schedule::heights(forest).logicalMax, 2);
    std::vector<int> treesOf(static_cast<std::size_t>(count), 0);
    std::vector<std::int64_t> load(capacities.size(), 0);
    for (const schedule::Tree& tree : forest.trees) {
      treesOf[static_cast<std::size_t>(tree.root)] += static_cast<int>(tree.multiplicity);
      std::set<int> reached{tree.root};
      for (const schedule::TreeEdge& edge : forest.edgesOf(tree)) {
        QVERIFY(reached.contains(edge.parent) && reached.insert(edge.child).second);
        load[static_cast<std::size_t>(2 * edge.parent)] += tree.multiplicity;
        load[static_cast<std::size_t>(2 * edge.child + 1)] += tree.multiplicity;
      }
      QCOMPARE(static_cast<int>(reached.size()), count);
    }
    for (int rank = 0; rank < count; ++rank) {
      QCOMPARE(treesOf[static_cast<std::size_t>(rank)], supplies[rank]);
    }
    for (std::size_t arc = 0; arc < capacities.size(); ++arc) {
      QVERIFY(load[arc] <= capacities[arc].capacity);
    }
  }

  /// The last leaf switch has fewer boxes than the others, and single GPUs are tight: every leaf is a part
  /// nevertheless, and what the full ones cannot send to all others the last one passes on.
  void unequalLeaves_data() {
    QTest::addColumn<QString>("arguments");
    const auto row = [](const char* arguments) { QTest::newRow(arguments) << QString(arguments); };
    row("boxes=13 gpus=8 network=leaf-spine boxes_per_leaf=3 nvlink=200 nic=100 oversubscription=2 spines=2");
    row("boxes=11 gpus=8 network=leaf-spine boxes_per_leaf=3 nvlink=200 nic=100 oversubscription=2 spines=3");
    row("boxes=16 gpus=8 network=leaf-spine boxes_per_leaf=5 nvlink=200 nic=400 spines=5");
  }
  void unequalLeaves() {
    QFETCH(QString, arguments);
    std::map<std::string, std::string> values;
    for (const QString& pair : arguments.split(' ')) {
      values[pair.section('=', 0, 0).toStdString()] = pair.section('=', 1).toStdString();
    }
    const fabric::Fabric fabric = presetFabric("cluster", values);
    const auto generated = generate(fabric, {});
    QVERIFY2(generated.hasValue(), generated ? "" : describe(generated.error()).c_str());
    QCOMPARE(faultsOf(fabric, generated->schedule), std::string());
    QVERIFY(generated->schedule.algbw == generated->schedule.bound);
    const PartGrown byParts = grownByParts(fabric);
    QVERIFY(byParts.forest.has_value());
    schedule::Schedule parts = generated->schedule;
    parts.broadcastForest = *byParts.forest;
    QCOMPARE(faultsOf(fabric, parts), std::string());
    QVERIFY2(byParts.maxHeight <= 8, std::to_string(byParts.maxHeight).c_str());
    const int height = schedule::maxHeight(*generated->schedule.broadcastForest);
    QVERIFY2(height <= 8, std::to_string(height).c_str());
  }

  void heightCap_data() {
    QTest::addColumn<int>("maxHeight");
    for (const int height : {12, 8, 6, 4, 2, 1}) {
      QTest::addRow("%d hops", height) << height;
    }
  }
  void heightCap() {
    QFETCH(int, maxHeight);
    const fabric::Fabric fabric = presetFabric("mi250", {{"boxes", "2"}, {"gpus", "0-7"}});
    Request request;
    request.maxHeight = maxHeight;
    const auto generated = generate(fabric, request);
    QVERIFY2(generated.hasValue(), generated ? "" : describe(generated.error()).c_str());
    QVERIFY(schedule::heights(*generated->schedule.broadcastForest).logicalMax <= maxHeight);
    QCOMPARE(faultsOf(fabric, generated->schedule), std::string());
    QVERIFY(generated->schedule.algbw <= generated->optimum.algbw);
    QVERIFY(generated->schedule.algbw.isPositive());
    QCOMPARE(generated->schedule.fixedK.has_value(), generated->schedule.algbw < generated->optimum.algbw);
  }

  void heightCapOfAllreduce() {
    const fabric::Fabric fabric = presetFabric("torus", {{"dims", "4x4"}});
    Request request;
    request.collective = Collective::allreduce;
    request.maxHeight = 4;
    const auto generated = generate(fabric, request);
    QVERIFY2(generated.hasValue(), generated ? "" : describe(generated.error()).c_str());
    QCOMPARE(faultsOf(fabric, generated->schedule), std::string());
    QVERIFY2(generated->schedule.algbw == generated->optimum.algbw, "four hops are the torus' diameter");
  }

  /// One-way links make the two halves of an allreduce need different numbers of trees.
  void heightCapOfUnlikeHalves() {
    fabric::Description description;
    description.name = "ring with a switch";
    description.nodes = {{.id = "s", .kind = "switch"}};
    const std::vector<std::string> toSwitch = {"2", "6", "7/3", "1", "5"};
    for (std::size_t i = 0; i < toSwitch.size(); ++i) {
      description.nodes.push_back({.id = "g" + std::to_string(i), .kind = "gpu"});
      description.links.push_back({.src = description.nodes.back().id, .dst = "s", .bandwidth = toSwitch[i]});
    }
    description.links.push_back({.src = "g2", .dst = "g3", .bandwidth = "4", .duplex = false});
    description.links.push_back({.src = "g3", .dst = "g4", .bandwidth = "5", .duplex = false});
    description.links.push_back({.src = "g4", .dst = "g0", .bandwidth = "26/3", .duplex = false});
    description.links.push_back({.src = "g0", .dst = "g1", .bandwidth = "100"});
    description.links.push_back({.src = "g1", .dst = "g2", .bandwidth = "1000"});
    const auto fabric = fabric::Fabric::build(description);
    QVERIFY2(fabric.hasValue(), fabric ? "" : describe(fabric.error()).c_str());
    Request request;
    request.collective = Collective::allreduce;
    request.maxHeight = 1;
    const auto generated = generate(*fabric, request);
    QVERIFY2(generated.hasValue(), generated ? "" : describe(generated.error()).c_str());
    QVERIFY(generated->schedule.algbw < generated->schedule.bound);
    std::vector<std::int64_t> ofHalf;
    for (const Collective half : {Collective::reduceScatter, Collective::allgather}) {
      Request alone;
      alone.collective = half;
      const auto optimum = forestcoll::optimum(*fabric, alone);
      QVERIFY(optimum.hasValue());
      ofHalf.push_back(optimum->treesPerRoot);
    }
    QVERIFY2(ofHalf[0] != ofHalf[1], "the halves of this fabric are meant to be unlike");
    QCOMPARE(generated->schedule.fixedK.value_or(0), std::lcm(ofHalf[0], ofHalf[1]));
    QCOMPARE(faultsOf(*fabric, generated->schedule), std::string());
  }

  void impossibleHeights_data() {
    QTest::addColumn<int>("maxHeight");
    QTest::addColumn<ErrorCode>("code");
    QTest::addColumn<QString>("message");
    QTest::newRow("none") << 0 << ErrorCode::badUsage << "trees have a height of at least 1";
    QTest::newRow("far below the diameter")
        << 1 << ErrorCode::infeasible << "no tree of height 1 exists: from \"g0\" to \"g10\" it takes 4 hops";
    QTest::newRow("below the diameter") << 3 << ErrorCode::infeasible
                                        << "no tree of height 3 exists: from \"g0\" to \"g10\" it takes 4 hops";
  }
  void impossibleHeights() {
    QFETCH(int, maxHeight);
    QFETCH(ErrorCode, code);
    QFETCH(QString, message);
    const fabric::Fabric fabric = presetFabric("torus", {{"dims", "4x4"}});
    Request request;
    request.maxHeight = maxHeight;
    const auto generated = generate(fabric, request);
    QVERIFY(!generated.hasValue());
    QCOMPARE(generated.error().code, code);
    QCOMPARE(QString::fromStdString(generated.error().message), message);
  }

  void parallelForRunsAllAndRethrowsTheFirst() {
    std::vector<std::atomic<int>> calls(100);
    parallelFor(calls.size(), [&](std::size_t i) { ++calls[i]; });
    QVERIFY(std::all_of(calls.begin(), calls.end(), [](const auto& count) { return count == 1; }));
    parallelFor(0, [](std::size_t) { qFatal("nothing to do"); });
    std::string message;
    try {
      parallelFor(4, [](std::size_t i) { throw std::runtime_error(std::to_string(i)); });
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
    QCOMPARE(message, std::string("0"));
  }

  void workMeter() {
    WorkMeter meter(10);
    meter.spend(10);
    bool isReached = false;
    try {
      meter.spend(1);
    } catch (const WorkLimitReached&) {
      isReached = true;
    }
    QVERIFY(isReached);
  }
};

QTEST_GUILESS_MAIN(TestGrowth)
#include "tst_growth.moc"
