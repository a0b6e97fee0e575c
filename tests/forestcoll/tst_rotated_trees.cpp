// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "forestcoll/boxes/rotated_trees.hpp"
#include "forestcoll/boxes/two_level_shape.hpp"
#include "forestcoll/fixed_k.hpp"
#include "forestcoll/forestcoll.hpp"
#include "presets/presets.hpp"
#include "support/preset_fabrics.hpp"
#include "verify/schedule_verifier.hpp"

/// Equal boxes of equal GPUs: one root's trees, rotated, are a low forest with few different trees.
using namespace coppice;
using std::int64_t;
using test::presetFabric;

namespace {

/// What the strategy is given for an allgather at the optimum.
struct Posed {
  forestcoll::Network network;
  std::vector<forestcoll::TreeArc> capacities;
  std::vector<int64_t> supply;
  forestcoll::TwoLevelShape shape;
};

Posed pose(const fabric::Fabric& fabric) {
  const auto optimum = forestcoll::optimum(fabric, {});
  if (!optimum) {
    qFatal("%s", describe(optimum.error()).c_str());
  }
  Posed posed;
  posed.network = forestcoll::makeNetwork(fabric, std::vector<int64_t>(fabric.gpuCount(), 1));
  posed.capacities = forestcoll::scaledArcs(posed.network, optimum->scale * posed.network.unit);
  posed.supply = forestcoll::supplies(posed.network, optimum->treesPerRoot);
  auto shapes = forestcoll::twoLevelShapes(posed.network, posed.capacities);
  if (shapes.empty()) {
    qFatal("no boxes on a network");
  }
  posed.shape = std::move(shapes.front());
  return posed;
}

auto grown(const Posed& posed, const Progress& progress = {}) {
  return forestcoll::growRotated(posed.network, posed.capacities, posed.supply, posed.shape, progress);
}

/// GPU hops of the highest tree.
int heightOf(const forestcoll::TwoLevelForest& forest) {
  int highest = 0;
  std::vector<int> depth(forest.logical.packing.nodeCount);
  for (const forestcoll::PackedTree& tree : forest.trees) {
    depth[tree.root] = 0;
    for (const int arc : tree.arcs) {
      const auto& ends = forest.logical.packing.arcs[arc];
      depth[ends.head] = depth[ends.tail] + 1;
      highest = std::max(highest, depth[ends.head]);
    }
  }
  return highest;
}

}  // namespace

class TestRotatedTrees : public QObject {
  Q_OBJECT

private slots:
  void forests_data();
  void forests();
  void images();
  void refusals_data();
  void refusals();
  void cancel();
};

void TestRotatedTrees::forests_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<int>("maxHeight");
  const auto row = [](const char* preset, int maxHeight) { QTest::newRow(preset) << QString(preset) << maxHeight; };
  row("gb200-nvl72 racks=2", 2);
  row("gb200-nvl72 racks=3 gpus=24 nic=25", 2);
  row("gb200-nvl72 racks=3 gpus=24 nic=100", 2);
  row("gb200-nvl72 racks=3 gpus=24 nic=400 network=leaf-spine boxes_per_leaf=1", 2);
  row("gb200-nvl72 racks=4 gpus=24 network=leaf-spine", 2);
  row("gb200-nvl72 racks=4 gpus=24 network=rails", 2);
  row("gb200-nvl72 racks=4 gpus=24 network=rails oversubscription=4", 3);
  row("gb200-nvl72 racks=4 gpus=24 network=rail-only", 3);
  row("cluster boxes=6 gpus=16 nvlink=200 nic=25 network=leaf-spine boxes_per_leaf=3 oversubscription=4", 3);
  row("cluster boxes=12 gpus=8 nvlink=300 nic=100 network=planes", 2);
  row("cluster boxes=12 gpus=8 nvlink=100 nic=100", 2);
  row("cluster boxes=5 gpus=8 nvlink=200 nic=400", 2);
}

void TestRotatedTrees::forests() {
  QFETCH(QString, preset);
  QFETCH(int, maxHeight);
  const fabric::Fabric fabric = presetFabric(preset);
  const auto forest = grown(pose(fabric));
  QVERIFY(forest.has_value());
  QVERIFY(forest->trees.size() <= 2 * static_cast<std::size_t>(fabric.gpuCount()));
  QVERIFY(heightOf(*forest) <= maxHeight);
  const auto generated = forestcoll::generate(fabric, {});
  QVERIFY2(generated.hasValue(), generated ? "" : describe(generated.error()).c_str());
  const auto verdict = verify::verifySchedule(fabric, generated->schedule);
  QVERIFY(verdict.hasValue());
  QVERIFY(verdict->ok);
}

/// Every tree is the first root's, seen from its own root.
void TestRotatedTrees::images() {
  const Posed posed = pose(presetFabric("gb200-nvl72 racks=3 gpus=24"));
  const auto forest = grown(posed);
  QVERIFY(forest.has_value());
  const auto boxes = static_cast<int>(posed.shape.boxes.size());
  const auto size = static_cast<int>(posed.shape.boxes.front().size());
  std::vector<std::pair<int, int>> position(posed.network.gpus.size());
  for (int box = 0; box < boxes; ++box) {
    for (int place = 0; place < size; ++place) {
      position[posed.shape.boxes[box][place]] = {box, place};
    }
  }
  using Seen = std::set<std::pair<int, int>>;
  const auto seenFrom = [&](const forestcoll::PackedTree& tree) {
    const auto number = [&](int rank) {
      const auto [box, place] = position[rank];
      const auto [rootBox, rootPlace] = position[tree.root];
      return (box - rootBox + boxes) % boxes * size + (place - rootPlace + size) % size;
    };
    Seen edges;
    for (const int arc : tree.arcs) {
      const auto& ends = forest->logical.packing.arcs[arc];
      edges.emplace(number(ends.tail), number(ends.head));
    }
    return edges;
  };
  std::map<int, std::map<int64_t, Seen>> byRoot;
  for (const forestcoll::PackedTree& tree : forest->trees) {
    byRoot[tree.root][tree.multiplicity] = seenFrom(tree);
  }
  QCOMPARE(byRoot.size(), posed.network.gpus.size());
  for (const auto& [root, trees] : byRoot) {
    QVERIFY2(trees == byRoot.begin()->second, qPrintable(QString("root %1").arg(root)));
  }
}

void TestRotatedTrees::refusals_data() {
  QTest::addColumn<QString>("preset");
  QTest::newRow("unequal boxes") << "cluster boxes=3 gpus=8,8,7 nvlink=200 nic=100";
  QTest::newRow("unequal NVLink") << "cluster boxes=3 gpus=8 nvlink=200,200,300 nic=100";
  QTest::newRow("unequal NICs") << "cluster boxes=3 gpus=8 nvlink=200 nic=100,100,50";
}

void TestRotatedTrees::refusals() {
  QFETCH(QString, preset);
  QVERIFY(!grown(pose(presetFabric(preset))));
}

void TestRotatedTrees::cancel() {
  const Posed posed = pose(presetFabric("gb200-nvl72 racks=2"));
  std::stop_source stop;
  stop.request_stop();
  Progress progress;
  progress.stop = stop.get_token();
  QVERIFY_EXCEPTION_THROWN((void)grown(posed, progress), CancelledError);
}

QTEST_GUILESS_MAIN(TestRotatedTrees)
#include "tst_rotated_trees.moc"
