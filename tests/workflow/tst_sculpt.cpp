// SPDX-License-Identifier: Apache-2.0
#include "workflow/sculpt.hpp"

#include <QTest>
#include <algorithm>
#include <tuple>
#include <vector>

#include "forestcoll/forestcoll.hpp"
#include "schedule/expansion.hpp"
#include "schedule/fixed_k.hpp"
#include "schedule/link_loads.hpp"
#include "support/must.hpp"
#include "support/overlapped_star.hpp"
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

workflow::LoadsOfHalves loadsOf(const fabric::Fabric& fabric, const Schedule& schedule) {
  workflow::LoadsOfHalves loads;
  loads[0].assign(fabric.arcs().size(), 0);
  loads[1] = loads[0];
  if (schedule.reduceForest) {
    loads[0] = schedule::linkLoads(fabric, *schedule.reduceForest, {.ownCopies = schedule.ownCopies});
  }
  if (schedule.broadcastForest) {
    loads[1] = schedule::linkLoads(fabric, *schedule.broadcastForest, {.ownCopies = schedule.ownCopies});
  }
  return loads;
}

const Forest& forestOf(const Schedule& schedule, std::size_t half) {
  return half == 0 ? *schedule.reduceForest : *schedule.broadcastForest;
}

/// The edge to the child in that tree.
schedule::TreeEdge edgeTo(const Forest& forest, std::int64_t tree, fabric::Rank child) {
  const auto edges = forest.edgesOf(forest.trees[tree]);
  return *std::ranges::find(edges, child, &schedule::TreeEdge::child);
}

std::vector<fabric::NodeIndex> routeOf(const Forest& forest, std::int64_t tree, fabric::Rank child) {
  const auto path = forest.paths[edgeTo(forest, tree, child).path];
  return {path.begin(), path.end()};
}

/// Two GPUs, each with a link to the switches s0 and s1, which have a link between them, and one GPU beside s1: nodes
/// g0 = 0, g1 = 1, g2 = 2, s0 = 3, s1 = 4.
fabric::Fabric twoSwitches() {
  return samples::buildFabric(samples::describeFabric("two switches", {"g0", "g1", "g2"}, {"s0", "s1"},
                                                      {{"g0", "s0", "10"},
                                                       {"g1", "s0", "10"},
                                                       {"g0", "s1", "20"},
                                                       {"g1", "s1", "20"},
                                                       {"s0", "s1", "10"},
                                                       {"g2", "s1", "10"}}));
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

  /// The figures shown while an edge is dragged are those of the edited forest: throughput, route and the trees on the
  /// busiest link.
  void foretells_data() {
    QTest::addColumn<int>("collective");
    QTest::addColumn<int>("half");
    QTest::addColumn<bool>("isOverlapped");
    QTest::newRow("allgather") << static_cast<int>(Collective::allgather) << 1 << false;
    QTest::newRow("reduce_scatter") << static_cast<int>(Collective::reduceScatter) << 0 << false;
    QTest::newRow("allreduce, first half") << static_cast<int>(Collective::allreduce) << 0 << false;
    QTest::newRow("allreduce, second half") << static_cast<int>(Collective::allreduce) << 1 << false;
    QTest::newRow("overlapped allreduce, first half") << static_cast<int>(Collective::allreduce) << 0 << true;
    QTest::newRow("overlapped allreduce, second half") << static_cast<int>(Collective::allreduce) << 1 << true;
  }
  void foretells() {
    QFETCH(const int, collective);
    QFETCH(const int, half);
    QFETCH(const bool, isOverlapped);
    const auto index = static_cast<std::size_t>(half);
    // Chains of four GPUs round a switch: 100 * 4 / 6.
    const samples::Sample star =
        samples::overlappedStar(samples::kOneEach, samples::kOneEach, Bandwidth(200, 3), false, false);
    const fabric::Fabric fabric = isOverlapped ? star.fabric : twoBoxes();
    const Schedule old = isOverlapped ? star.schedule : generated(fabric, static_cast<Collective>(collective));
    const workflow::LoadsOfHalves loads = loadsOf(fabric, old);
    const Forest before = must(schedule::expanded(forestOf(old, index), fabric));
    int told = 0;
    for (fabric::Rank child = 2; child < fabric.gpuCount(); child += isOverlapped ? 1 : 6) {
      for (const fabric::Rank parent :
           schedule::possibleParents(fabric.gpuCount(), before.edgesOf(before.trees[0]), child)) {
        const schedule::NewParent change{0, child, parent};
        const auto forecast = workflow::forecast(fabric, old, loads, index, change);
        const auto made = workflow::sculpted(fabric, old, index, change, {});
        QCOMPARE(forecast.hasValue(), made.hasValue());
        if (!made) {
          QCOMPARE(forecast.error().message, made.error().message);
          continue;
        }
        ++told;
        QCOMPARE(forecast->algbw, made->schedule.algbw);
        QCOMPARE(forecast->isMirrored, made->isMirrored);
        const Forest& after = forestOf(made->schedule, index);
        QCOMPARE(forecast->route, routeOf(after, made->tree, child));
        const workflow::LoadsOfHalves now = loadsOf(fabric, made->schedule);
        const auto arc = static_cast<std::size_t>(forecast->busiestArc);
        const Rational carried(isOverlapped ? now[0][arc] + now[1][arc] : now[index][arc]);
        QCOMPARE(carried / fabric.arcs()[arc].bandwidth, after.scale);
        // A tree that is stated by k may be written several times.
        QCOMPARE(carried * Rational(forestOf(old, index).treeCount()),
                 Rational(forecast->treesOnIt) * Rational(after.treeCount()));
      }
    }
    QVERIFY(told > (isOverlapped ? 2 : 10));
  }

  /// The halves of this allreduce are one another's mirror images, and stay so; where they are not, one half changes.
  void changesBothHalvesAlike() {
    const fabric::Fabric fabric = twoBoxes();
    Schedule old = generated(fabric, Collective::allreduce);
    old.reduceForest = schedule::reversed(*old.broadcastForest);
    const fabric::Rank root = old.broadcastForest->trees[0].root;
    const fabric::Rank child = root == 5 ? 6 : 5;
    const auto parents =
        schedule::possibleParents(16, old.broadcastForest->edgesOf(old.broadcastForest->trees[0]), child);
    const auto made = must(workflow::sculpted(fabric, old, 1, {0, child, parents.front()}, {}));
    QVERIFY(made.isMirrored);
    const auto mirrored =
        schedule::mirroredTree(*made.schedule.broadcastForest, made.tree, *made.schedule.reduceForest);
    QVERIFY(mirrored.has_value());
    QCOMPARE(edgeTo(*made.schedule.reduceForest, *mirrored, child).parent, parents.front());
    // From the other side: back to where it was.
    const fabric::Rank was = edgeTo(*old.broadcastForest, 0, child).parent;
    const auto route = routeOf(schedule::reversed(*old.broadcastForest), 0, child);
    const auto back = must(workflow::sculpted(fabric, made.schedule, 0, {*mirrored, child, was, route}, {}));
    QVERIFY(back.isMirrored);
    QCOMPARE(back.schedule.algbw, old.algbw);
    // One half alone has changed: its trees no longer have a mirror image, and are changed alone.
    Schedule apart = old;
    apart.broadcastForest = made.schedule.broadcastForest;
    apart.reduceForest = schedule::reversed(*old.broadcastForest);
    schedule::stateFixedK(apart);
    QVERIFY(!schedule::mirroredTree(*apart.broadcastForest, made.tree, *apart.reduceForest));
    QVERIFY(!must(workflow::sculpted(fabric, apart, 1, {made.tree, child, parents.back()}, {})).isMirrored);
  }

  /// By hand: of g0 and g1 below the two switches, all ways between them.
  void leadsThrough_data() {
    using Nodes = std::vector<fabric::NodeIndex>;
    QTest::addColumn<Nodes>("through");
    QTest::addColumn<Nodes>("route");
    QTest::newRow("first switch") << Nodes{3} << Nodes{0, 3, 1};
    QTest::newRow("second switch") << Nodes{4} << Nodes{0, 4, 1};
    QTest::newRow("link between them") << Nodes{3, 4} << Nodes{0, 3, 4, 1};
    QTest::newRow("the same, back") << Nodes{4, 3} << Nodes{0, 4, 3, 1};
    QTest::newRow("first link") << Nodes{0, 4} << Nodes{0, 4, 1};
    QTest::newRow("last link") << Nodes{3, 1} << Nodes{0, 3, 1};
    QTest::newRow("against the data") << Nodes{4, 0} << Nodes{};
    QTest::newRow("past the end") << Nodes{1, 4} << Nodes{};
    QTest::newRow("another GPU") << Nodes{2} << Nodes{};
    QTest::newRow("link of another GPU") << Nodes{4, 2} << Nodes{};
  }
  void leadsThrough() {
    using Nodes = std::vector<fabric::NodeIndex>;
    QFETCH(const Nodes, through);
    QFETCH(const Nodes, route);
    const auto found = schedule::routeThrough(twoSwitches(), 0, 1, through);
    QCOMPARE(found.hasValue(), !route.empty());
    if (found) {
      QCOMPARE(*found, route);
    } else {
      QCOMPARE(found.error().code, ErrorCode::infeasible);
    }
  }

  /// The same parent by another way: the loads move from one switch to the other.
  void changesARoute() {
    const fabric::Fabric fabric = twoSwitches();
    const Schedule old = generated(fabric, Collective::allgather);
    const Forest& forest = *old.broadcastForest;
    int changed = 0;
    for (std::int64_t tree = 0; tree < std::ssize(forest.trees); ++tree) {
      for (const schedule::TreeEdge& edge : forest.edgesOf(forest.trees[tree])) {
        const auto path = forest.paths[edge.path];
        if (edge.parent == 2 || edge.child == 2) {
          continue;
        }
        const fabric::NodeIndex other = path[1] == 4 ? 3 : 4;
        const std::vector<fabric::NodeIndex> route =
            must(schedule::routeThrough(fabric, path.front(), path.back(), std::vector{other}));
        const schedule::NewParent change{tree, edge.child, edge.parent, route};
        const auto made = must(workflow::sculpted(fabric, old, 1, change, {}));
        QCOMPARE(routeOf(*made.schedule.broadcastForest, made.tree, edge.child), route);
        QCOMPARE(must(workflow::forecast(fabric, old, loadsOf(fabric, old), 1, change)).algbw, made.schedule.algbw);
        ++changed;
      }
    }
    QVERIFY(changed > 0);
    // What is there already is no change.
    const schedule::TreeEdge edge = forest.edgesOf(forest.trees[0])[0];
    const auto path = forest.paths[edge.path];
    const auto same = workflow::sculpted(fabric, old, 1, {0, edge.child, edge.parent, {path.begin(), path.end()}}, {});
    QVERIFY(!same && same.error().message.find("already") != std::string::npos);
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
