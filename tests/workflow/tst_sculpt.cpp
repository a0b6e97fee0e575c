// SPDX-License-Identifier: Apache-2.0
#include "workflow/sculpt.hpp"

#include <QTest>
#include <algorithm>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "forestcoll/forestcoll.hpp"
#include "schedule/expansion.hpp"
#include "schedule/fixed_k.hpp"
#include "schedule/link_loads.hpp"
#include "schedule/route_through.hpp"
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

/// GPUs a and b, and switches with links "from to" or "from to one-way".
fabric::Fabric joinedBy(const std::vector<std::string>& switches, const std::vector<std::string>& links) {
  fabric::Description description;
  const auto add = [&](const std::string& id, const char* kind) {
    fabric::NodeDescription node;
    node.id = id;
    node.kind = kind;
    description.nodes.push_back(node);
  };
  add("a", "gpu");
  add("b", "gpu");
  for (const std::string& id : switches) {
    add(id, "switch");
  }
  for (const std::string& link : links) {
    std::istringstream words(link);
    std::string from;
    std::string to;
    std::string oneWay;
    words >> from >> to >> oneWay;
    description.links.push_back({from, to, "10", oneWay.empty()});
  }
  return samples::buildFabric(description);
}

bool isRouteThrough(const fabric::Fabric& fabric, const std::vector<fabric::NodeIndex>& route,
                    const std::vector<fabric::NodeIndex>& through) {
  bool passes = through.size() == 1 && std::ranges::count(route, through[0]) == 1;
  for (std::size_t i = 0; i + 1 < route.size(); ++i) {
    if (!fabric.findArc(route[i], route[i + 1])) {
      return false;
    }
    passes =
        passes || (through.size() == 2 && std::minmax(route[i], route[i + 1]) == std::minmax(through[0], through[1]));
  }
  return passes && std::set(route.begin(), route.end()).size() == route.size();
}

/// Nodes of the shortest one of all routes, one by one.
std::optional<std::size_t> shortestThrough(const fabric::Fabric& fabric, fabric::NodeIndex from, fabric::NodeIndex to,
                                           const std::vector<fabric::NodeIndex>& through) {
  std::optional<std::size_t> least;
  std::vector<fabric::NodeIndex> route{from};
  const std::function<void()> extend = [&] {
    if (route.back() == to) {
      if (isRouteThrough(fabric, route, through)) {
        least = std::min(least.value_or(route.size()), route.size());
      }
      return;
    }
    for (fabric::NodeIndex next = 0; next < fabric.nodeCount(); ++next) {
      const bool mayPass = next == to || fabric.nodes()[next].kind != fabric::NodeKind::gpu;
      if (mayPass && std::ranges::count(route, next) == 0 && fabric.findArc(route.back(), next)) {
        route.push_back(next);
        extend();
        route.pop_back();
      }
    }
  };
  extend();
  return least;
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

  /// By hand: of g0 and g1 below the two switches, all ways between them. A link is passed in either direction.
  void leadsThrough_data() {
    using Nodes = std::vector<fabric::NodeIndex>;
    QTest::addColumn<Nodes>("through");
    QTest::addColumn<std::set<Nodes>>("routes");
    using Routes = std::set<Nodes>;
    QTest::newRow("first switch") << Nodes{3} << Routes{{0, 3, 1}};
    QTest::newRow("second switch") << Nodes{4} << Routes{{0, 4, 1}};
    QTest::newRow("link between them") << Nodes{3, 4} << Routes{{0, 3, 4, 1}, {0, 4, 3, 1}};
    QTest::newRow("first link") << Nodes{0, 4} << Routes{{0, 4, 1}};
    QTest::newRow("first link, back") << Nodes{4, 0} << Routes{{0, 4, 1}};
    QTest::newRow("last link") << Nodes{3, 1} << Routes{{0, 3, 1}};
    QTest::newRow("the GPU itself") << Nodes{1} << Routes{{0, 3, 1}, {0, 4, 1}};
    QTest::newRow("another GPU") << Nodes{2} << Routes{};
    QTest::newRow("link of another GPU") << Nodes{4, 2} << Routes{};
  }
  void leadsThrough() {
    using Nodes = std::vector<fabric::NodeIndex>;
    QFETCH(const Nodes, through);
    QFETCH(const std::set<Nodes>, routes);
    const auto found = schedule::routeThrough(twoSwitches(), 0, 1, through);
    QCOMPARE(found.hasValue(), !routes.empty());
    if (found) {
      QVERIFY(routes.contains(*found));
    } else {
      QCOMPARE(found.error().code, ErrorCode::infeasible);
    }
  }

  /// Whichever of both ways is looked for first, a shortest one to a (over s and y, or s and x) leaves none to b. By
  /// the long way over c, both are there: a u c4 c3 c2 c1 x p y y1 s v b.
  void leadsThroughWhereShortestWaysMeet() {
    const fabric::Fabric fabric =
        joinedBy({"p", "x", "y", "y1", "x1", "s", "u", "v", "c1", "c2", "c3", "c4", "d1", "d2", "d3", "d4"},
                 {"p x",  "p y",   "y y1",  "x x1",  "y1 s", "x1 s", "s u",   "s v",   "u a",   "v b",
                  "x c1", "c1 c2", "c2 c3", "c3 c4", "c4 u", "y d1", "d1 d2", "d2 d3", "d3 d4", "d4 v"});
    const auto node = [&](const char* id) { return *fabric.find(id); };
    const auto found = must(schedule::routeThrough(fabric, node("a"), node("b"), std::vector{node("p")}));
    QCOMPARE(found.size(), std::size_t{13});
    QCOMPARE(found.size(), *shortestThrough(fabric, node("a"), node("b"), {node("p")}));
  }

  /// Against all routes of small networks drawn at random: with links both ways, and with some that run one way.
  void leadsThroughAtRandom_data() {
    QTest::addColumn<bool>("areBothWays");
    QTest::newRow("both ways") << true;
    QTest::newRow("one way") << false;
  }
  void leadsThroughAtRandom() {
    QFETCH(const bool, areBothWays);
    std::mt19937 random(7);
    int routes = 0;
    int none = 0;
    for (int round = 0; round < 60; ++round) {
      std::vector<std::string> switches;
      for (int i = 0; i < 7; ++i) {
        switches.push_back("s" + std::to_string(i));
      }
      std::vector<std::string> links;
      for (int i = 0; i < 7; ++i) {
        for (int j = 0; j < i; ++j) {
          if (random() % 3 == 0) {
            links.push_back(switches[i] + " " + switches[j] + (areBothWays || random() % 2 == 0 ? "" : " one-way"));
          }
        }
      }
      links.push_back("a b");  // so that both are joined in any case
      links.push_back("a s0");
      links.push_back("a s1");
      links.push_back("s6 b");
      links.push_back("s5 b");
      const fabric::Fabric fabric = joinedBy(switches, links);
      const fabric::NodeIndex from = *fabric.find("a");
      const fabric::NodeIndex to = *fabric.find("b");
      std::vector<std::vector<fabric::NodeIndex>> places;
      for (const std::string& id : switches) {
        places.push_back({*fabric.find(id)});
      }
      for (const fabric::Arc& arc : fabric.arcs()) {
        places.push_back({arc.tail, arc.head});
      }
      for (const auto& through : places) {
        const auto expected = shortestThrough(fabric, from, to, through);
        const auto found = schedule::routeThrough(fabric, from, to, through);
        QCOMPARE(found.hasValue(), expected.has_value());
        if (found) {
          QCOMPARE(found->size(), *expected);
          QVERIFY(isRouteThrough(fabric, *found, through));
          ++routes;
        } else {
          QCOMPARE(found.error().code, ErrorCode::infeasible);
          ++none;
        }
      }
    }
    QVERIFY(routes > 100);
    QVERIFY(none > 20);
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

  /// Halves that run at the same time: the trees of one root that are locked in both are there again, and the rest
  /// reaches the same. One bad tree costs what the program says, and no more than the schedule with it as it is.
  void keepsLockedTreesOfHalvesThatOverlap() {
    const fabric::Fabric fabric = samples::buildFabric(
        samples::describeFabric("star", {"g0", "g1", "g2", "g3"}, {"sw"},
                                {{"g0", "sw", "100"}, {"g1", "sw", "100"}, {"g2", "sw", "100"}, {"g3", "sw", "100"}}));
    forestcoll::Request request;
    request.collective = Collective::allreduce;
    request.plainSwitches = true;
    request.overlap = forestcoll::Overlap::always;
    const Schedule old = must(forestcoll::generate(fabric, request)).schedule;
    QVERIFY(old.overlapped);
    std::array<forestcoll::LockedTrees, 2> locked;
    std::array<Forest, 2> before{must(schedule::expanded(*old.reduceForest, fabric)),
                                 must(schedule::expanded(*old.broadcastForest, fabric))};
    for (const std::size_t half : {0, 1}) {
      for (std::int64_t i = 0; i < std::ssize(before[half].trees); ++i) {
        if (before[half].trees[i].root == 2) {
          locked[half].insert(i);
        }
      }
      QVERIFY(!locked[half].empty());
    }
    const auto made = must(workflow::aroundLocked(fabric, old, locked, {}));
    QVERIFY(made.schedule.overlapped);
    QCOMPARE(made.schedule.algbw, old.algbw);
    QCOMPARE(made.optimum, old.algbw);
    QCOMPARE(made.count.kept, Rational(1, 4));
    for (const std::size_t half : {0, 1}) {
      for (const std::int64_t tree : locked[half]) {
        const Shape shape = shapeOf(before[half], before[half].trees[tree]);
        QCOMPARE(shareOf(forestOf(made.schedule, half), shape), shareOf(before[half], shape));
      }
    }
    // GPU 0 sends to all in its own out-tree, and to 2 and 3 in that of root 1. It sends in the three in-trees of other
    // roots at least, so eight times over 100 GB/s for four trees of all roots: 50 GB/s, if it sends in no other tree.
    // In that of root 2 it sends twice too, which is not locked: 40 GB/s as they are.
    Schedule edited = old;
    std::array<forestcoll::LockedTrees, 2> bad;
    std::vector<Shape> shapes;
    for (const fabric::Rank root : {2, 0, 1}) {
      const auto isOfRoot = [&](const schedule::Tree& each) { return each.root == root; };
      std::int64_t tree = 0;
      for (const fabric::Rank child :
           root == 0 ? std::vector<fabric::Rank>{1, 2, 3} : std::vector<fabric::Rank>{0, 3, root == 1 ? 2 : 1}) {
        const fabric::Rank parent = child == 0 ? root : 0;
        const Forest& forest = *edited.broadcastForest;
        tree = std::ranges::find_if(forest.trees, isOfRoot) - forest.trees.begin();
        QCOMPARE(forest.trees[tree].multiplicity, forest.treeCount() / 4);
        if (edgeTo(forest, tree, child).parent != parent) {
          edited = must(workflow::sculpted(fabric, edited, 1, {tree, child, parent}, {})).schedule;
        }
      }
      if (root == 2) {
        continue;
      }
      bad[1].insert(tree);
      shapes.push_back(shapeOf(*edited.broadcastForest, edited.broadcastForest->trees[tree]));
    }
    const auto around = must(workflow::aroundLocked(fabric, edited, bad, {}));
    for (const Shape& shape : shapes) {
      QCOMPARE(shareOf(*around.schedule.broadcastForest, shape), Rational(1, 4));
    }
    QCOMPARE(edited.algbw, Bandwidth(40));
    QCOMPARE(around.schedule.algbw, Bandwidth(50));
    QCOMPARE(around.optimum, Bandwidth(50));
  }

  /// On machines: trees of the best schedule cost nothing, whatever part of each link the halves have.
  void keepsTheRateOfHalvesThatOverlap_data() {
    QTest::addColumn<QString>("preset");
    QTest::addColumn<QString>("algbw");
    QTest::newRow("two boxes") << "dgx-a100 boxes=2"
                               << "520/3";
    QTest::newRow("torus") << "torus dims=4x4"
                           << "160/3";
    QTest::newRow("links without a switch") << "hgx-mi300x"
                                            << "1328/5";
  }
  void keepsTheRateOfHalvesThatOverlap() {
    QFETCH(const QString, preset);
    QFETCH(const QString, algbw);
    const fabric::Fabric fabric = coppice::test::presetFabric(preset);
    forestcoll::Request request;
    request.collective = Collective::allreduce;
    request.plainSwitches = true;
    request.overlap = forestcoll::Overlap::always;
    const Schedule old = must(forestcoll::generate(fabric, request)).schedule;
    QVERIFY(old.overlapped);
    std::array<forestcoll::LockedTrees, 2> locked;
    for (const std::size_t half : {0, 1}) {
      const Forest before = must(schedule::expanded(forestOf(old, half), fabric));
      for (std::int64_t i = 0; i < std::ssize(before.trees); ++i) {
        if (before.trees[i].root == 2) {
          locked[half].insert(i);
        }
      }
    }
    const auto made = must(workflow::aroundLocked(fabric, old, locked, {}));
    QCOMPARE(toFraction(made.schedule.algbw), algbw.toStdString());
    QCOMPARE(made.schedule.algbw, old.algbw);
    QCOMPARE(made.optimum, old.algbw);
    QCOMPARE(made.count.kept, Rational(1, fabric.gpuCount()));
    QVERIFY(made.count.newTrees > 0);
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
