// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <array>
#include <map>
#include <string>

#include "forestcoll/boxes/two_level.hpp"
#include "forestcoll/boxes/two_level_shape.hpp"
#include "forestcoll/boxes/two_level_slices.hpp"
#include "forestcoll/even_balance.hpp"
#include "forestcoll/fixed_k.hpp"
#include "forestcoll/forestcoll.hpp"
#include "presets/presets.hpp"
#include "stress/medium_fabrics.hpp"
#include "support/large_fabrics.hpp"
#include "support/preset_fabrics.hpp"
#include "support/schedule_faults.hpp"

/// Boxes on a network whose bottleneck is the single GPU: the shape is found, and the forest is low and exact.
using namespace coppice;
using std::int64_t;
using test::built;
using test::describedBy;
using test::faultsOf;

namespace {

/// What the strategy is given for an allgather at the optimum.
struct Posed {
  fabric::Fabric fabric;
  forestcoll::Optimum optimum;
  forestcoll::Network network;
  std::vector<forestcoll::TreeArc> capacities;
  std::vector<int64_t> supply;
};

Posed pose(fabric::Fabric fabric) {
  auto optimum = forestcoll::optimum(fabric, {});
  if (!optimum) {
    qFatal("%s", describe(optimum.error()).c_str());
  }
  const std::vector<int64_t> demand(static_cast<std::size_t>(fabric.gpuCount()), 1);
  auto network = forestcoll::makeNetwork(fabric, demand);
  auto capacities = forestcoll::scaledArcs(network, optimum->scale * network.unit);
  auto supply = forestcoll::supplies(network, optimum->treesPerRoot);
  return {std::move(fabric), *std::move(optimum), std::move(network), std::move(capacities), std::move(supply)};
}

}  // namespace

class TestTwoLevel : public QObject {
  Q_OBJECT

private slots:
  void shapes_data();
  void shapes();
  void forests_data();
  void forests();
  void evenlyBalancedPairs();
  void unequalPlanes();
  void damagedRacks_data();
  void damagedRacks();
  void anyRequest_data();
  void anyRequest();
  void everyGpuAnEntry();
  void slices_data();
  void slices();
  void cancel();
};

void TestTwoLevel::shapes_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<int>("ways");
  QTest::addColumn<int>("boxes");
  QTest::newRow("one network") << "cluster boxes=4 gpus=6 network=simple" << 1 << 4;
  QTest::newRow("unequal boxes") << "cluster boxes=3 gpus=4,8,5 network=simple" << 1 << 3;
  QTest::newRow("NICs on planes") << "cluster boxes=4 gpus=6 network=planes planes=2" << 2 << 4;
  QTest::newRow("rails with a spine") << "cluster boxes=4 gpus=6 network=rails" << 1 << 4;
  QTest::newRow("rails alone") << "cluster boxes=4 gpus=6 network=rail-only" << 2 << 4;
  QTest::newRow("leaves and spines") << "cluster boxes=4 gpus=6 network=leaf-spine boxes_per_leaf=2" << 1 << 4;
  QTest::newRow("one box") << "cluster boxes=1 gpus=8" << 0 << 0;
  QTest::newRow("GPUs joined directly") << "mi250 boxes=2" << 1 << 2;
  QTest::newRow("torus") << "torus dims=4x4" << 0 << 0;
}

void TestTwoLevel::shapes() {
  QFETCH(QString, preset);
  QFETCH(int, ways);
  QFETCH(int, boxes);
  const Posed posed = pose(built(describedBy(preset)));
  const auto shapes = forestcoll::twoLevelShapes(posed.network, posed.capacities);
  QCOMPARE(static_cast<int>(shapes.size()), ways);
  if (shapes.empty()) {
    return;
  }
  const forestcoll::TwoLevelShape& shape = shapes.front();
  QCOMPARE(static_cast<int>(shape.boxes.size()), boxes);
  for (int rank = 0; rank < posed.fabric.gpuCount(); ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    // The preset's boxes are the ones that are found.
    const int first = shape.boxes[shape.boxOf[index]].front();
    const auto& nodes = posed.fabric.nodes();
    const auto boxOf = [&](int gpu) { return nodes[posed.fabric.gpus()[gpu]].box; };
    QCOMPARE(boxOf(rank), boxOf(first));
    const int64_t out = shape.innerOut[index] + shape.outerOut[index];
    int64_t all = 0;
    for (const forestcoll::TreeArc& arc : posed.capacities) {
      all += arc.tail == posed.network.gpus[index] ? arc.capacity : 0;
    }
    QCOMPARE(out, all);
  }
}

void TestTwoLevel::forests_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<int>("maxHeight");
  const auto row = [](const char* preset, int maxHeight) { QTest::newRow(preset) << QString(preset) << maxHeight; };
  row("gb200-nvl72 racks=2", 2);
  row("gb200-nvl72 racks=3", 2);
  row("gb200-nvl72 racks=3 nic=100", 2);
  row("gb200-nvl72 racks=2 gpus=36 nic=400", 2);
  row("gb200-nvl72 racks=3 gpus=36 network=rail-only", 3);
  row("gb200-nvl72 racks=2 gpus=36 network=leaf-spine boxes_per_leaf=1", 3);
  row("cluster boxes=16 gpus=8 nvlink=200 nic=50", 2);
  row("cluster boxes=16 gpus=8 nvlink=200 nic=400", 2);
  row("cluster boxes=12 gpus=8 nvlink=300 nic=100 network=planes", 3);
  row("cluster boxes=8 gpus=16 nvlink=900 nic=100", 2);
  row("cluster boxes=10 gpus=18,13,18,13,13,13,18,18,13,13 nvlink=300 nic=100 network=leaf-spine boxes_per_leaf=7 "
      "spines=4 oversubscription=3/2",
      3);
  row("cluster boxes=16 gpus=8 nvlink=100 nic=100 network=rails", 3);
}

void TestTwoLevel::forests() {
  QFETCH(QString, preset);
  QFETCH(int, maxHeight);
  const Posed posed = pose(built(describedBy(preset)));
  // The strategy itself, so that no other one answers in its place.
  QVERIFY(forestcoll::growTwoLevel(posed.network, posed.capacities, posed.supply, {}).has_value());
  const auto generated = forestcoll::generate(posed.fabric, {});
  QVERIFY2(generated.hasValue(), generated ? "" : describe(generated.error()).c_str());
  QCOMPARE(generated->schedule.algbw, generated->schedule.bound);
  QVERIFY(schedule::heights(*generated->schedule.broadcastForest).logicalMax <= maxHeight);
  QCOMPARE(faultsOf(posed.fabric, generated->schedule), std::string());
}

/// Racks that lost GPUs at random, of one generation or two, on every network.
/// Pairs joined directly, on switches that take in more than they give or less: capacities are lowered at those with
/// the most to spare, so that pairs stay boxes and trees low.
void TestTwoLevel::evenlyBalancedPairs() {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    const Posed posed = pose(built(test::unbalancedPairs(seed)));
    const auto even = forestcoll::evenlyBalanced(posed.network, posed.capacities, posed.supply, {});
    QVERIFY2(even, qPrintable(QString::number(seed)));
    std::vector<forestcoll::TreeArc> lowered = posed.capacities;
    for (std::size_t i = 0; i < lowered.size(); ++i) {
      QVERIFY((*even)[i] >= 0 && (*even)[i] <= lowered[i].capacity);
      lowered[i].capacity = (*even)[i];
    }
    QVERIFY(forestcoll::unbalancedSwitches(posed.network, lowered).empty());
    const auto generated = forestcoll::generate(posed.fabric, {});
    QVERIFY2(generated, generated ? "" : describe(generated.error()).c_str());
    QCOMPARE(faultsOf(posed.fabric, generated->schedule), std::string());
    QCOMPARE(toFraction(generated->schedule.algbw), toFraction(generated->schedule.bound));
    QVERIFY(schedule::heights(*generated->schedule.broadcastForest).logicalMax <= 3);
  }
  // A spine that gives more than it takes: what is too much goes there first.
  fabric::Description spine = describedBy("cluster boxes=4 gpus=4 network=leaf-spine boxes_per_leaf=2 spines=1");
  for (std::size_t i = 0, links = spine.links.size(); i < links; ++i) {
    if (spine.links[i].src.find("spine") != std::string::npos ||
        spine.links[i].dst.find("spine") != std::string::npos) {
      spine.links.push_back(spine.links[i]);
      std::swap(spine.links.back().src, spine.links.back().dst);
      spine.links.back().duplex = spine.links[i].duplex = false;
      spine.links.back().bandwidth = "1000";
    }
  }
  const Posed posed = pose(built(spine));
  QVERIFY(!forestcoll::unbalancedSwitches(posed.network, posed.capacities).empty());
  QVERIFY(forestcoll::evenlyBalanced(posed.network, posed.capacities, posed.supply, {}));
}

void TestTwoLevel::unequalPlanes() {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    const fabric::Fabric fabric = built(test::unequalPlanes(seed));
    const auto generated = forestcoll::generate(fabric, {});
    QVERIFY2(generated, generated ? "" : describe(generated.error()).c_str());
    QCOMPARE(faultsOf(fabric, generated->schedule), std::string());
    QCOMPARE(toFraction(generated->schedule.algbw), toFraction(generated->schedule.bound));
    const int height = schedule::heights(*generated->schedule.broadcastForest).logicalMax;
    QVERIFY2(height <= 3, qPrintable(QStringLiteral("seed %1: height %2").arg(seed).arg(height)));
  }
}

void TestTwoLevel::damagedRacks_data() {
  QTest::addColumn<QString>("preset");
  const auto row = [](const char* preset) { QTest::newRow(preset) << QString(preset); };
  row("cluster boxes=6 gpus=12 nvlink=450 nic=100");
  row("cluster boxes=12 gpus=8 nvlink=300 nic=50");
  row("cluster boxes=6 gpus=12 nvlink=200 nic=400");
  row("cluster boxes=6 gpus=12 nvlink=450,900,450,900,450,900 nic=100");
  row("cluster boxes=6 gpus=12 nvlink=450,900,450,900,450,900 nic=100,200,100,200,100,200");
  row("cluster boxes=8 gpus=12 nvlink=450 nic=100 network=rails");
  row("cluster boxes=8 gpus=8 nvlink=450 nic=100 network=rail-only");
  row("cluster boxes=8 gpus=12 nvlink=300 nic=200 network=planes");
}

void TestTwoLevel::damagedRacks() {
  QFETCH(QString, preset);
  const fabric::Description whole = describedBy(preset);
  int found = 0;
  for (unsigned seed = 1; seed <= 3; ++seed) {
    test::Dice dice(seed);
    std::vector<std::string> kept;
    for (const fabric::NodeDescription& node : whole.nodes) {
      if (node.kind == "gpu" && !dice.oneIn(16)) {
        kept.push_back(node.id);
      }
    }
    const auto rest = fabric::subset(whole, kept);
    QVERIFY(rest.hasValue());
    const Posed posed = pose(built(*rest));
    found += forestcoll::growTwoLevel(posed.network, posed.capacities, posed.supply, {}) ? 1 : 0;
    const auto generated = forestcoll::generate(posed.fabric, {});
    QVERIFY2(generated.hasValue(), generated ? "" : describe(generated.error()).c_str());
    QCOMPARE(faultsOf(posed.fabric, generated->schedule), std::string());
  }
  // Where a box has lost all GPUs of a rail or plane, its trees cannot enter others there.
  QVERIFY2(found >= 2, qPrintable(QString("found %1 of 3").arg(found)));
}

void TestTwoLevel::anyRequest_data() {
  QTest::addColumn<Collective>("collective");
  QTest::addColumn<bool>("hasAmounts");
  QTest::addColumn<int>("fixedK");
  QTest::newRow("reduce_scatter") << Collective::reduceScatter << false << 0;
  QTest::newRow("allreduce") << Collective::allreduce << false << 0;
  QTest::newRow("broadcast") << Collective::broadcast << false << 0;
  QTest::newRow("amounts") << Collective::allgather << true << 0;
  QTest::newRow("k = 1") << Collective::allgather << false << 1;
  QTest::newRow("k = 7") << Collective::allgather << false << 7;
}

void TestTwoLevel::anyRequest() {
  QFETCH(Collective, collective);
  QFETCH(bool, hasAmounts);
  QFETCH(int, fixedK);
  const fabric::Fabric fabric = built(describedBy("cluster boxes=8 gpus=8 nvlink=200 nic=50"));
  forestcoll::Request request;
  request.collective = collective;
  request.allreduceBudget = {};
  if (collective == Collective::broadcast) {
    request.root = 5;
  }
  if (hasAmounts) {
    for (int rank = 0; rank < fabric.gpuCount(); ++rank) {
      request.amounts.push_back(rank % 4);
    }
  }
  if (fixedK > 0) {
    request.fixedK = fixedK;
  }
  const auto generated = forestcoll::generate(fabric, request);
  QVERIFY2(generated.hasValue(), generated ? "" : describe(generated.error()).c_str());
  QCOMPARE(faultsOf(fabric, generated->schedule), std::string());
}

/// NICs so fast that trees enter a box at all of its GPUs, so that nothing is left to pass on inside.
void TestTwoLevel::everyGpuAnEntry() {
  fabric::Description description =
      describedBy("cluster boxes=10 gpus=4 network=rails nic=200 nvlink=300 oversubscription=4");
  for (fabric::LinkDescription& link : description.links) {
    if ((link.src == "b2g2" && link.dst == "rail2") || (link.src == "b1g1" && link.dst == "rail1")) {
      link.bandwidth = "100";
    }
  }
  const fabric::Fabric fabric = built(description);
  const auto generated = forestcoll::generate(fabric, {});
  QVERIFY2(generated.hasValue(), generated ? "" : describe(generated.error()).c_str());
  QCOMPARE(faultsOf(fabric, generated->schedule), std::string());
}

/// Trees in equal copies: their capacities fit together, nothing is lost at the bottleneck, and the forest is made of
/// them.
void TestTwoLevel::slices_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QStringList>("lost");
  QTest::addColumn<int>("count");
  QTest::newRow("lost GPUs") << "cluster boxes=8 gpus=12 nvlink=450 nic=100" << QStringList{"b0g3", "b5g7"} << 2;
  QTest::newRow("leaves and spines") << "cluster boxes=8 gpus=8 nvlink=450 nic=200 network=leaf-spine boxes_per_leaf=4"
                                     << QStringList{"b1g0", "b4g7", "b5g2"} << 2;
  QTest::newRow("few trees per root") << "cluster boxes=5 gpus=8 nvlink=200 nic=400" << QStringList{"b1g0"} << 0;
}

void TestTwoLevel::slices() {
  QFETCH(QString, preset);
  QFETCH(QStringList, lost);
  QFETCH(int, count);
  const fabric::Description whole = describedBy(preset);
  std::vector<std::string> kept;
  for (const fabric::NodeDescription& node : whole.nodes) {
    if (node.kind == "gpu" && !lost.contains(QString::fromStdString(node.id))) {
      kept.push_back(node.id);
    }
  }
  const auto rest = fabric::subset(whole, kept);
  QVERIFY(rest.hasValue());
  const Posed posed = pose(built(*rest));
  const auto gpus = static_cast<std::size_t>(posed.fabric.gpuCount());
  const int64_t k = posed.optimum.treesPerRoot;
  const forestcoll::TwoLevelShape shape = forestcoll::twoLevelShapes(posed.network, posed.capacities).front();
  const auto slices = forestcoll::twoLevelSlices(shape, std::vector<int64_t>(gpus, k));
  QCOMPARE(static_cast<int>(slices.size()), count);
  if (count == 0) {
    return;
  }
  std::vector<int64_t> sums(4 * gpus, 0);
  const auto sidesOf = [](const forestcoll::TwoLevelShape& of, std::size_t rank) {
    return std::array{of.innerIn[rank], of.innerOut[rank], of.outerIn[rank], of.outerOut[rank]};
  };
  int64_t copies = 0;
  int tight = 0;
  for (const forestcoll::TwoLevelSlice& slice : slices) {
    copies += slice.copies;
    for (std::size_t rank = 0; rank < gpus; ++rank) {
      const auto sides = sidesOf(slice.shape, rank);
      for (std::size_t side = 0; side < sides.size(); ++side) {
        sums[4 * rank + side] += slice.copies * sides[side];
      }
      if (shape.innerIn[rank] + shape.outerIn[rank] == k * static_cast<int64_t>(gpus - 1)) {
        ++tight;
        QCOMPARE(slice.shape.innerIn[rank] + slice.shape.outerIn[rank], static_cast<int64_t>(gpus - 1));
      }
    }
  }
  QCOMPARE(copies, k);
  QVERIFY(tight > 0);
  for (std::size_t rank = 0; rank < gpus; ++rank) {
    const auto sides = sidesOf(shape, rank);
    for (std::size_t side = 0; side < sides.size(); ++side) {
      QVERIFY(sums[4 * rank + side] <= sides[side]);
    }
  }
  const auto forest = forestcoll::growTwoLevel(posed.network, posed.capacities, posed.supply, {});
  QVERIFY(forest.has_value());
  QCOMPARE(forest->trees.size(), slices.size() * gpus);
}

void TestTwoLevel::cancel() {
  const Posed posed = pose(built(describedBy("cluster boxes=8 gpus=8 nvlink=200 nic=50")));
  std::stop_source stop;
  stop.request_stop();
  Progress progress;
  progress.stop = stop.get_token();
  QVERIFY_EXCEPTION_THROWN((void)forestcoll::growTwoLevel(posed.network, posed.capacities, posed.supply, progress),
                           CancelledError);
}

QTEST_GUILESS_MAIN(TestTwoLevel)
#include "tst_two_level.moc"
