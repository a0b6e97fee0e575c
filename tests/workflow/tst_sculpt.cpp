// SPDX-License-Identifier: Apache-2.0
#include "workflow/sculpt.hpp"

#include <QTest>
#include <algorithm>
#include <tuple>
#include <vector>

#include "forestcoll/forestcoll.hpp"
#include "schedule/expansion.hpp"
#include "support/must.hpp"
#include "support/preset_fabrics.hpp"
#include "support/sample_schedules.hpp"

using namespace coppice;
using coppice::test::must;
using schedule::Forest;
using schedule::Schedule;

namespace {

Schedule generated(const fabric::Fabric& fabric, Collective collective) {
  forestcoll::Request request;
  request.collective = collective;
  request.plainSwitches = true;
  request.overlap = forestcoll::Overlap::never;
  request.allreduceBudget = std::chrono::milliseconds(0);
  return must(forestcoll::generate(fabric, request)).schedule;
}

fabric::Fabric twoBoxes() {
  return coppice::test::presetFabric("dgx-a100", {{"boxes", "2"}});
}

/// Root, parent of each rank, and routes.
using Shape = std::tuple<fabric::Rank, std::vector<fabric::Rank>, std::vector<std::vector<fabric::NodeIndex>>>;

Shape shapeOf(const Forest& forest, const schedule::Tree& tree) {
  const auto count = static_cast<std::size_t>(forest.gpuCount);
  Shape shape{tree.root, std::vector<fabric::Rank>(count, -1), std::vector<std::vector<fabric::NodeIndex>>(count)};
  for (const schedule::TreeEdge& edge : forest.edgesOf(tree)) {
    const auto path = forest.paths[edge.path];
    std::get<1>(shape)[edge.child] = edge.parent;
    std::get<2>(shape)[edge.child].assign(path.begin(), path.end());
  }
  return shape;
}

/// Of all data, what trees of that shape carry.
Rational shareOf(const Forest& forest, const Shape& shape) {
  std::int64_t copies = 0;
  for (const schedule::Tree& tree : forest.trees) {
    copies += shapeOf(forest, tree) == shape ? tree.multiplicity : 0;
  }
  return {copies, forest.treeCount()};
}

}  // namespace

class TestSculpt : public QObject {
  Q_OBJECT

private slots:
  /// A hop over the slow network that was not needed costs algbw, and the schedule says its k.
  void changesOneTree_data() {
    QTest::addColumn<int>("collective");
    QTest::addColumn<int>("half");
    QTest::newRow("allgather") << static_cast<int>(Collective::allgather) << 1;
    QTest::newRow("reduce_scatter") << static_cast<int>(Collective::reduceScatter) << 0;
    QTest::newRow("allreduce, first half") << static_cast<int>(Collective::allreduce) << 0;
    QTest::newRow("allreduce, second half") << static_cast<int>(Collective::allreduce) << 1;
  }
  void changesOneTree() {
    QFETCH(const int, collective);
    QFETCH(const int, half);
    const fabric::Fabric fabric = twoBoxes();
    const Schedule old = generated(fabric, static_cast<Collective>(collective));
    const Forest before = must(schedule::expanded(half == 0 ? *old.reduceForest : *old.broadcastForest, fabric));
    // A leaf of the root's own box gets the data from the other box.
    const auto edges = before.edgesOf(before.trees[0]);
    const auto isLeaf = [&](fabric::Rank rank) {
      return std::ranges::count(edges, rank, &schedule::TreeEdge::parent) == 0;
    };
    fabric::Rank child = 1;
    while (!isLeaf(child)) {
      ++child;
    }
    const fabric::Rank parent = child < 8 ? 15 : 0;
    const auto made = must(workflow::sculpted(fabric, old, static_cast<std::size_t>(half), {0, child, parent}, {}));
    QVERIFY(made.schedule.algbw < old.algbw);
    QCOMPARE(made.schedule.bound, old.bound);
    QVERIFY(made.schedule.fixedK.has_value());
    const Forest& after = half == 0 ? *made.schedule.reduceForest : *made.schedule.broadcastForest;
    QCOMPARE(std::get<1>(shapeOf(after, after.trees[made.tree]))[child], parent);
    // And back: the same algbw as before.
    const fabric::Rank was = std::ranges::find(edges, child, &schedule::TreeEdge::child)->parent;
    const auto back =
        must(workflow::sculpted(fabric, made.schedule, static_cast<std::size_t>(half), {made.tree, child, was}, {}));
    QCOMPARE(back.schedule.algbw, old.algbw);
  }

  void refuses() {
    const fabric::Fabric fabric = twoBoxes();
    const Schedule old = generated(fabric, Collective::allgather);
    QVERIFY(!workflow::sculpted(fabric, old, 0, {0, 1, 2}, {}));
    const auto none = workflow::aroundLocked(fabric, old, {}, {});
    QVERIFY(!none && none.error().code == ErrorCode::badUsage);
  }

  /// All trees locked: the same rate. The ones of one root: they are there again, and the rest reaches the bound.
  void keepsLockedTrees() {
    const fabric::Fabric fabric = twoBoxes();
    const Schedule old = generated(fabric, Collective::allgather);
    const Forest before = must(schedule::expanded(*old.broadcastForest, fabric));
    std::array<forestcoll::LockedTrees, 2> locked;
    for (std::int64_t i = 0; i < std::ssize(before.trees); ++i) {
      if (before.trees[i].root == 3) {
        locked[1].insert(i);
      }
    }
    const auto made = must(workflow::aroundLocked(fabric, old, locked, {}));
    QVERIFY(!made.isFromNothing);
    QCOMPARE(made.schedule.algbw, old.algbw);
    QCOMPARE(made.count.kept, Rational(1, 16));
    for (const std::int64_t tree : locked[1]) {
      const Shape shape = shapeOf(before, before.trees[tree]);
      QCOMPARE(shareOf(*made.schedule.broadcastForest, shape), shareOf(before, shape));
    }
  }

  /// A locked tree that is bad stays, and costs no more than it must: two copies of its data on g0 -> g1 of the ring.
  void keepsABadTree() {
    const samples::Sample ring = samples::ring();
    // Of root 0: 0 -> 1 -> 2 -> 3 becomes 0 -> 1 -> 2, 0 -> 3: all eight trees as they are reach 20 GB/s.
    const auto edited = must(workflow::sculpted(ring.fabric, ring.schedule, 1, {0, 3, 0}, {}));
    QCOMPARE(toFraction(edited.schedule.algbw), "20");
    std::array<forestcoll::LockedTrees, 2> locked;
    locked[1].insert(edited.tree);
    const auto made = must(workflow::aroundLocked(ring.fabric, edited.schedule, locked, {}));
    const Shape shape = shapeOf(*edited.schedule.broadcastForest, edited.schedule.broadcastForest->trees[edited.tree]);
    QCOMPARE(shareOf(*made.schedule.broadcastForest, shape), Rational(1, 8));
    QVERIFY(made.schedule.algbw > edited.schedule.algbw);
    QVERIFY(made.schedule.algbw <= ring.schedule.bound);
  }

  /// Locks of one half: the other half is made from scratch; both verified together.
  void keepsTreesOfOneHalf() {
    const fabric::Fabric fabric = twoBoxes();
    const Schedule old = generated(fabric, Collective::allreduce);
    const Forest before = must(schedule::expanded(*old.reduceForest, fabric));
    std::array<forestcoll::LockedTrees, 2> locked;
    locked[0].insert(0);
    const auto made = must(workflow::aroundLocked(fabric, old, locked, {}));
    const Shape shape = shapeOf(before, before.trees[0]);
    QVERIFY(shareOf(*made.schedule.reduceForest, shape) >= shareOf(before, shape));
    QCOMPARE(made.schedule.algbw, old.algbw);
  }
};

QTEST_GUILESS_MAIN(TestSculpt)
#include "tst_sculpt.moc"
