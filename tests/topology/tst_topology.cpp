// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <algorithm>
#include <functional>

#include "bfb/bfb.hpp"
#include "support/bfb_digraph.hpp"
#include "support/digraph_checks.hpp"
#include "topology/cayley.hpp"
#include "topology/distance_regular.hpp"
#include "topology/expansions.hpp"
#include "topology/families.hpp"
#include "topology/layout.hpp"
#include "topology/symmetric_layout.hpp"

using namespace coppice;
using namespace coppice::topology;
using coppice::test::intersectionArray;
using coppice::test::isInRegular;
using coppice::test::loadsOf;

namespace {

using Make = std::function<Result<Digraph>()>;

Digraph made(Result<Digraph> graph) {
  if (!graph) {
    qFatal("%s", describe(graph.error()).c_str());
  }
  return *std::move(graph);
}

Digraph lineOf(const Digraph& graph, int times = 1) {
  Digraph result = graph;
  for (int i = 0; i < times; ++i) {
    result = made(lineGraph(result));
  }
  return result;
}

Digraph powerOf(const Digraph& graph, int n) {
  return made(power(graph, n));
}

Digraph timesOf(const Digraph& a, const Digraph& b) {
  return made(product(a, b));
}

Digraph jumps(int nodes, std::vector<int> list) {
  return made(circulant(nodes, list));
}

Digraph cayleyOf(int m, int n, int r, std::vector<Element> generators) {
  return made(cayley({m, n, r}, generators));
}

Digraph ring(int nodes) {
  return made(nodes == 2 ? uniRing(1, 2) : biRing(2, nodes));
}

Digraph regular(const char* name) {
  return made(distanceRegular(name));
}

struct Known {
  const char* name;
  std::function<Digraph()> graph;
  int steps;
  const char* bandwidthTime;
  const char* reduceScatter;  ///< empty = as allgather
};

/// Values that were computed elsewhere: reference values, worked examples and counterexamples.
const std::vector<Known>& knownValues() {
  static const std::vector<Known> kAll = {
      {"K5", [] { return made(complete(5)); }, 1, "4/5", ""},
      {"K8", [] { return made(complete(8)); }, 1, "7/8", ""},
      // One link to each and one more to some: no faster than the link that is alone.
      {"K(4,4)", [] { return made(multiComplete(4, 4)); }, 1, "1", ""},
      {"K(8,5)", [] { return made(multiComplete(5, 8)); }, 1, "4/5", ""},
      {"K33", [] { return made(completeBipartite(3)); }, 2, "5/6", ""},
      {"C(10,{1,3})",
       [] {
         return jumps(10, {1, 3});
       },
       3, "9/10", ""},
      {"C(11,{2,3})",
       [] {
         return jumps(11, {2, 3});
       },
       2, "10/11", ""},
      {"C(12,{2,3})",
       [] {
         return jumps(12, {2, 3});
       },
       2, "11/12", ""},
      {"C(16,{3,4})",
       [] {
         return jumps(16, {3, 4});
       },
       3, "15/16", ""},
      {"C(17,{1,2,5})",
       [] {
         return jumps(17, {1, 2, 5});
       },
       3, "16/17", ""},
      {"C(25,{3,4})",
       [] {
         return jumps(25, {3, 4});
       },
       3, "24/25", ""},
      {"C(7,{2,3})",
       [] {
         return jumps(7, {2, 3});
       },
       2, "6/7", ""},
      {"C(9,{1,2,4})",
       [] {
         return jumps(9, {1, 2, 4});
       },
       2, "8/9", ""},
      // Conjecture 1 is false.
      {"C(15,{1,4,5})",
       [] {
         return jumps(15, {1, 4, 5});
       },
       2, "1", ""},
      // A jump of half the nodes is one link.
      {"C(6,{1,3})",
       [] {
         return jumps(6, {1, 3});
       },
       2, "5/6", ""},
      {"BiRing(4,4)", [] { return made(biRing(4, 4)); }, 2, "3/4", ""},
      {"BiRing(4,7)", [] { return made(biRing(4, 7)); }, 3, "6/7", ""},
      {"BiRing(2,8)", [] { return made(biRing(2, 8)); }, 4, "7/8", ""},
      {"BiRing(2,16)", [] { return made(biRing(2, 16)); }, 8, "15/16", ""},
      {"UniRing(1,8)", [] { return made(uniRing(1, 8)); }, 7, "7/8", ""},
      {"hypercube 6", [] { return powerOf(made(complete(2)), 6); }, 6, "63/64", ""},
      {"torus 3x5x2", [] { return timesOf(timesOf(ring(3), ring(5)), ring(2)); }, 4, "29/30", ""},
      {"torus 3x3x2", [] { return timesOf(timesOf(ring(3), ring(3)), ring(2)); }, 3, "17/18", ""},
      {"torus 4x6", [] { return timesOf(ring(4), ring(6)); }, 5, "23/24", ""},
      {"H(2,3)", [] { return made(hamming(2, 3)); }, 2, "8/9", ""},
      {"H(3,3)", [] { return made(hamming(3, 3)); }, 3, "26/27", ""},
      {"L(K22)", [] { return lineOf(made(completeBipartite(2))); }, 3, "1", ""},
      {"L(K44)", [] { return lineOf(made(completeBipartite(4))); }, 3, "1", ""},
      {"L2(K44)", [] { return lineOf(made(completeBipartite(4)), 2); }, 4, "33/32", ""},
      {"L3(K44)", [] { return lineOf(made(completeBipartite(4)), 3); }, 5, "133/128", ""},
      {"L2(K5)", [] { return lineOf(made(complete(5)), 2); }, 3, "21/20", ""},
      {"L(H(2,3))", [] { return lineOf(made(hamming(2, 3))); }, 3, "1", ""},
      {"L2(H(2,3))", [] { return lineOf(made(hamming(2, 3)), 2); }, 4, "37/36", ""},
      {"L(C(16,{3,4}))",
       [] {
         return lineOf(jumps(16, {3, 4}));
       },
       4, "1", ""},
      {"L2(C(16,{3,4}))",
       [] {
         return lineOf(jumps(16, {3, 4}), 2);
       },
       5, "65/64", ""},
      {"L2(AG)", [] { return lineOf(regular("ag-4"), 2); }, 6, "129/128", ""},
      {"K3*2", [] { return made(degreeExpansion(made(complete(3)), 2)); }, 2, "5/6", ""},
      {"BiRing(2,5)*2", [] { return made(degreeExpansion(made(biRing(2, 5)), 2)); }, 2, "9/10", ""},
      {"K4 x BiRing(2,5)", [] { return timesOf(made(complete(4)), ring(5)); }, 3, "19/20", ""},
      {"C(7,{2,3}) x UniRing(1,3)",
       [] {
         return timesOf(jumps(7, {2, 3}), made(uniRing(1, 3)));
       },
       4, "20/21", ""},
      {"BiRing(2,8) x UniRing(1,4)^2", [] { return timesOf(ring(8), powerOf(made(uniRing(1, 4)), 2)); }, 10, "127/128",
       ""},
      {"UniRing(1,4)^3 x UniRing(1,8)", [] { return timesOf(powerOf(made(uniRing(1, 4)), 3), made(uniRing(1, 8))); },
       16, "511/512", ""},
      {"L(UniRing(1,4)^3 x UniRing(1,2))",
       [] { return lineOf(timesOf(powerOf(made(uniRing(1, 4)), 3), made(uniRing(1, 2)))); }, 11, "1", ""},
      // Theorem 10 claims 1 for the first four: line graphs can stay bandwidth-optimal.
      {"L(UniRing(1,4)^2)", [] { return lineOf(powerOf(made(uniRing(1, 4)), 2)); }, 7, "31/32", ""},
      {"L(UniRing(1,5)^2)", [] { return lineOf(powerOf(made(uniRing(1, 5)), 2)); }, 9, "49/50", ""},
      {"L(Z_8{1,3})",
       [] {
         return lineOf(cayleyOf(8, 1, 1, {{1, 0}, {3, 0}}));
       },
       4, "15/16", ""},
      {"L(UniRing(2,2))", [] { return lineOf(made(uniRing(2, 2))); }, 2, "3/4", ""},
      // Theorem 13 needs simple factors.
      {"UniRing(2,4) x K5", [] { return timesOf(made(uniRing(2, 4)), made(complete(5))); }, 4, "1", ""},
      // By BFB better than by Definition 14 (21/20) and worse than it (99/50).
      {"L(K5)^2", [] { return powerOf(lineOf(made(complete(5))), 2); }, 4, "399/400", ""},
      {"Pi_{2,10}^2", [] { return powerOf(made(generalizedKautz(2, 10)), 2); }, 8, "2", ""},
      {"DBJ(2,4)", [] { return made(deBruijn(2, 4)); }, 4, "15/8", ""},
      {"DBJ(4,3)", [] { return made(deBruijn(4, 3)); }, 3, "21/16", ""},
      {"Pi_{2,5}", [] { return made(generalizedKautz(2, 5)); }, 3, "8/5", ""},
      {"Pi_{2,10}", [] { return made(generalizedKautz(2, 10)); }, 4, "9/5", ""},
      {"Pi_{2,12}", [] { return made(generalizedKautz(2, 12)); }, 3, "7/6", ""},
      {"Pi_{3,11}", [] { return made(generalizedKautz(3, 11)); }, 3, "15/11", ""},
      {"Pi_{4,80}", [] { return made(generalizedKautz(4, 80)); }, 3, "21/20", ""},
      {"Pi_{4,500}", [] { return made(generalizedKautz(4, 500)); }, 5, "33/25", "37/25"},
      {"Pi_{8,72}", [] { return made(generalizedKautz(8, 72)); }, 2, "1", ""},
      {"Z_8{1,3}",
       [] {
         return cayleyOf(8, 1, 1, {{1, 0}, {3, 0}});
       },
       3, "7/8", ""},
      {"M(8,2,3)",
       [] {
         return cayleyOf(8, 2, 3, {{1, 0}, {1, 1}});
       },
       4, "15/16", ""},
      {"M(5,4,2)",
       [] {
         return cayleyOf(5, 4, 2, {{0, 1}, {1, 3}});
       },
       4, "19/20", ""},
      {"M(17,8,2)",
       [] {
         return cayleyOf(17, 8, 2, {{0, 1}, {1, 5}});
       },
       8, "135/136", ""},
      {"L2 M(16,4,3)",
       [] {
         return lineOf(cayleyOf(16, 4, 3, {{15, 1}, {5, 0}}), 2);
       },
       9, "255/256", ""},
      {"M(16,2,7)",
       [] {
         return cayleyOf(16, 2, 7, {{7, 1}, {1, 0}, {5, 1}, {4, 0}});
       },
       3, "31/32", ""},
      {"L M(16,2,7)",
       [] {
         return lineOf(cayleyOf(16, 2, 7, {{7, 1}, {1, 0}, {5, 1}, {4, 0}}));
       },
       4, "127/128", ""},
      {"M(32,8,3)",
       [] {
         return cayleyOf(32, 8, 3, {{25, 2}, {6, 7}, {3, 5}, {20, 3}});
       },
       5, "255/256", ""},
      {"L M(32,8,3)",
       [] {
         return lineOf(cayleyOf(32, 8, 3, {{25, 2}, {6, 7}, {3, 5}, {20, 3}}));
       },
       6, "1023/1024", ""},
      {"M(64,16,3)",
       [] {
         return cayleyOf(64, 16, 3, {{29, 15}, {41, 1}, {12, 11}, {28, 5}});
       },
       8, "1023/1024", ""},
      {"M(8,2,7)",
       [] {
         return cayleyOf(8, 2, 7, {{0, 1}, {1, 0}, {3, 1}, {6, 0}});
       },
       2, "1", ""},
      {"L3 M(8,2,7)",
       [] {
         return lineOf(cayleyOf(8, 2, 7, {{0, 1}, {1, 0}, {3, 1}, {6, 0}}), 3);
       },
       5, "277/256", ""},
      {"M(64,8,23)",
       [] {
         return cayleyOf(64, 8, 23, {{0, 2}, {5, 3}, {33, 2}, {42, 5}});
       },
       0, "511/512", "259/256"},
  };
  return kAll;
}

}  // namespace

class TestTopology : public QObject {
  Q_OBJECT

private slots:
  void knownCosts_data();
  void knownCosts();
  void distanceRegularGraphsAre_data();
  void distanceRegularGraphsAre();
  void twistedGraphs();
  void denseCirculants();
  void cayleyDigraphsAreSymmetric();
  void duplexFromOneWay();
  void fabricsAndBack_data();
  void fabricsAndBack();
  void positionsFollowTheOrder();
  void nestedPolygonsAreClear_data();
  void nestedPolygonsAreClear();
  void circulantsFollowAGenerator();
  void rotations_data();
  void rotations();
  void refuses_data();
  void refuses();
};

void TestTopology::knownCosts_data() {
  QTest::addColumn<int>("row");
  for (std::size_t i = 0; i < knownValues().size(); ++i) {
    QTest::newRow(knownValues()[i].name) << static_cast<int>(i);
  }
}

void TestTopology::knownCosts() {
  QFETCH(int, row);
  const Known& known = knownValues()[static_cast<std::size_t>(row)];
  const Digraph graph = known.graph();
  QVERIFY(isInRegular(graph));
  const bfb::Loads loads = loadsOf(graph);
  if (known.steps > 0) {
    QCOMPARE(loads.steps(), known.steps);
  }
  QCOMPARE(QString::fromStdString(loads.bandwidthTime().toString()), QString(known.bandwidthTime));
  const QString back = *known.reduceScatter == '\0' ? known.bandwidthTime : known.reduceScatter;
  QCOMPARE(QString::fromStdString(loadsOf(graph, true).bandwidthTime().toString()), back);
}

void TestTopology::distanceRegularGraphsAre_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<int>("nodes");
  QTest::addColumn<int>("degree");
  QTest::addColumn<int>("diameter");
  for (const DistanceRegularEntry& entry : distanceRegularGraphs()) {
    QTest::newRow(entry.name.c_str()) << QString::fromStdString(entry.name) << entry.nodes << entry.degree
                                      << entry.diameter;
  }
}

/// The intersection array exists; BFB is then bandwidth-optimal (Theorem 18).
void TestTopology::distanceRegularGraphsAre() {
  QFETCH(QString, name);
  QFETCH(int, nodes);
  QFETCH(int, degree);
  QFETCH(int, diameter);
  const Digraph graph = regular(qPrintable(name));
  QCOMPARE(graph.nodes, nodes);
  QCOMPARE(graph.degree, degree);
  QVERIFY(isSimple(graph));
  const auto array = intersectionArray(graph);
  QVERIFY(array.has_value());
  QCOMPARE(static_cast<int>(array->farther.size()), diameter);
  QCOMPARE(static_cast<int>(array->nearer.size()), diameter);
  QCOMPARE(array->farther.front(), degree);
  QCOMPARE(array->nearer.front(), 1);
  if (nodes <= 200) {
    const bfb::Loads loads = loadsOf(graph);
    QCOMPARE(loads.steps(), diameter);
    QVERIFY(loads.isBandwidthOptimal());
  }
}

void TestTopology::twistedGraphs() {
  // A twisted cube has about half the diameter of the cube.
  for (const int dimension : {3, 5, 7}) {
    const Digraph graph = made(twistedCube(dimension));
    QVERIFY(isSimple(graph));
    QVERIFY(isDuplex(graph));
    QCOMPARE(loadsOf(graph).steps(), (dimension + 1) / 2);
    QVERIFY(!intersectionArray(graph).has_value());
  }
  // A twist shortens the torus of unequal sides: 8x4 has diameter 6.
  const Digraph twisted = made(twistedTorus(8, 4, 4));
  QVERIFY(isDuplex(twisted));
  const bfb::Loads loads = loadsOf(twisted);
  QVERIFY(loads.steps() < 6);
  QVERIFY(loads.isBandwidthOptimal());
  QCOMPARE(loadsOf(made(twistedTorus(8, 4, 0))).steps(), 6);
}

/// Theorem 22: the diameter of C(n,{m,m+1}) is m.
void TestTopology::denseCirculants() {
  for (int nodes = 7; nodes <= 2000; ++nodes) {
    const Digraph graph = made(denseCirculant(nodes));
    const auto loads = bfb::loads(test::asLinks(graph), {.onlyTarget = 0});
    QVERIFY(loads.hasValue());
    if (loads->steps() != denseCirculantSteps(nodes)) {
      QFAIL(qPrintable(QStringLiteral("n = %1").arg(nodes)));
    }
  }
}

/// Left multiplication maps arcs to arcs.
void TestTopology::cayleyDigraphsAreSymmetric() {
  const Metacyclic group{9, 6, 2};
  const std::vector<Element> generators = {{1, 0}, {4, 5}, {7, 2}};
  const Digraph graph = made(cayley(group, generators));
  const GroupTable table(group);
  for (int g = 0; g < graph.nodes; ++g) {
    for (int x = 0; x < graph.nodes; ++x) {
      const int moved = table.number(table.product(table.element(g), table.element(x)));
      for (int j = 0; j < graph.degree; ++j) {
        const int head = graph.out(x)[static_cast<std::size_t>(j)];
        QCOMPARE(table.number(table.product(table.element(g), table.element(head))),
                 graph.out(moved)[static_cast<std::size_t>(j)]);
      }
    }
    QCOMPARE(table.product(table.element(g), table.inverse(table.element(g))), Element{});
  }
}

/// A.1.6: the graph and its transpose together are not slower.
void TestTopology::duplexFromOneWay() {
  for (const Digraph& graph : {made(generalizedKautz(2, 12)), made(uniRing(1, 7)), lineOf(made(complete(3)))}) {
    const Digraph both = made(bidirected(graph));
    QVERIFY(isDuplex(both));
    QCOMPARE(both.degree, 2 * graph.degree);
    const bfb::Loads oneWay = loadsOf(graph);
    QVERIFY(loadsOf(both).steps() <= oneWay.steps());
  }
}

void TestTopology::fabricsAndBack_data() {
  QTest::addColumn<int>("row");
  for (std::size_t i = 0; i < knownValues().size(); ++i) {
    QTest::newRow(knownValues()[i].name) << static_cast<int>(i);
  }
}

/// As a fabric and read again it is the same graph, apart from self-loops.
void TestTopology::fabricsAndBack() {
  QFETCH(int, row);
  const Digraph graph = knownValues()[static_cast<std::size_t>(row)].graph();
  const auto description = describe(graph, Bandwidth(Rational(25, 2)));
  QVERIFY(description.hasValue());
  const auto fabric = fabric::Fabric::build(*description);
  QVERIFY2(fabric.hasValue(), fabric.hasValue() ? "" : coppice::describe(fabric.error()).c_str());
  std::int64_t arcs = 0;
  for (const fabric::Arc& arc : fabric->arcs()) {
    arcs += (arc.bandwidth.gigabytesPerSecond() / Rational(25, 2)).numerator();
  }
  QCOMPARE(arcs, std::int64_t{graph.nodes} * graph.degree - selfLoopCount(graph));
  const auto read = readFabric(*fabric);
  if (selfLoopCount(graph) > 0) {
    QVERIFY(!read.hasValue());
    return;
  }
  QVERIFY2(read.hasValue(), read.hasValue() ? "" : coppice::describe(read.error()).c_str());
  // Where all links are multiples of two, the unit is twice as large.
  const std::int64_t factor = (read->perLink.gigabytesPerSecond() / Rational(25, 2)).numerator();
  QCOMPARE(read->graph.degree * factor, std::int64_t{graph.degree});
  for (int v = 0; v < graph.nodes && factor == 1; ++v) {
    std::vector<int> a(graph.out(v).begin(), graph.out(v).end());
    std::vector<int> b(read->graph.out(v).begin(), read->graph.out(v).end());
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    QCOMPARE(a, b);
  }
}

void TestTopology::positionsFollowTheOrder() {
  // A grid of 3 rows and 4 columns; no two nodes in one place.
  const auto grid = positions(timesOf(ring(3), ring(4)));
  QCOMPARE(grid[0].y, grid[3].y);
  QVERIFY(grid[3].x > grid[0].x);
  QCOMPARE(grid[0].x, grid[4].x);
  QVERIFY(grid[4].y > grid[0].y);
  // A circle, clockwise from the top.
  const auto circle = positions(jumps(12, {2, 3}));
  QVERIFY(circle[0].y < circle[6].y);
  QVERIFY(circle[3].x > circle[9].x);
  for (const auto& places : {grid, circle, positions(powerOf(made(complete(2)), 6))}) {
    for (std::size_t a = 0; a < places.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        QVERIFY(places[a].x != places[b].x || places[a].y != places[b].y);
      }
    }
  }
}

void TestTopology::nestedPolygonsAreClear_data() {
  QTest::addColumn<std::vector<int>>("sides");
  QTest::addColumn<bool>("isDrawn");
  QTest::newRow("cube") << std::vector<int>{2, 2, 2} << true;
  QTest::newRow("hypercube of 6") << std::vector<int>{2, 2, 2, 2, 2, 2} << true;
  QTest::newRow("torus 4x4x4") << std::vector<int>{4, 4, 4} << true;
  QTest::newRow("torus 3x3x3") << std::vector<int>{3, 3, 3} << true;
  QTest::newRow("torus 4x2x3") << std::vector<int>{4, 2, 3} << true;
  QTest::newRow("too wide") << std::vector<int>{5, 5, 2} << false;
  QTest::newRow("too many") << std::vector<int>{8, 8, 8} << false;
}

/// Equally many places as nodes, links of one dimension are equally long, and no link runs past a node too closely.
void TestTopology::nestedPolygonsAreClear() {
  QFETCH(std::vector<int>, sides);
  QFETCH(bool, isDrawn);
  const Clearance clearance;
  const auto spots = nestedPolygons(sides, clearance);
  QCOMPARE(spots.has_value(), isDrawn);
  if (!isDrawn) {
    return;
  }
  const int count = static_cast<int>(spots->size());
  int product = 1;
  for (const int side : sides) {
    product *= side;
  }
  QCOMPARE(count, product);
  const auto at = [&](int node) { return (*spots)[static_cast<std::size_t>(node)]; };
  std::vector<std::pair<int, int>> links;
  int stride = 1;
  for (std::size_t d = sides.size(); d-- > 0; stride *= sides[d]) {
    double length = 0;
    for (int node = 0; node < count; ++node) {
      const int place = node / stride % sides[d];
      const int next = node + ((place + 1) % sides[d] - place) * stride;
      links.emplace_back(node, next);
      const double here = std::hypot(at(node).x - at(next).x, at(node).y - at(next).y);
      length = length > 0 ? length : here;
      // The two sides of 2 that form a square are one.
      QVERIFY(std::abs(here - length) < 1e-6);
    }
  }
  constexpr double kRounding = 1e-6;
  for (int a = 0; a < count; ++a) {
    for (int b = 0; b < a; ++b) {
      QVERIFY(std::hypot(at(a).x - at(b).x, at(a).y - at(b).y) > clearance.pitch - kRounding);
    }
  }
  for (const auto& [a, b] : links) {
    for (int node = 0; node < count; ++node) {
      if (node == a || node == b) {
        continue;
      }
      const double dx = at(b).x - at(a).x;
      const double dy = at(b).y - at(a).y;
      const double t =
          std::clamp(((at(node).x - at(a).x) * dx + (at(node).y - at(a).y) * dy) / (dx * dx + dy * dy), 0.0, 1.0);
      QVERIFY(std::hypot(at(node).x - at(a).x - t * dx, at(node).y - at(a).y - t * dy) > clearance.node - kRounding);
    }
  }
}

/// The links of the smallest jump that visits all nodes are the rim.
void TestTopology::circulantsFollowAGenerator() {
  const Digraph graph = jumps(16, {3, 4});
  const auto places = positions(graph);
  for (int i = 0; i < 16; ++i) {
    const auto& a = places[static_cast<std::size_t>(i * 3 % 16)];
    const auto& b = places[static_cast<std::size_t>((i + 1) * 3 % 16)];
    for (int other = 0; other < 16; ++other) {
      const auto& c = places[static_cast<std::size_t>(other)];
      const double near = std::hypot(a.x - c.x, a.y - c.y);
      constexpr double kRounding = 3;
      QVERIFY(other == i * 3 % 16 || near > std::hypot(a.x - b.x, a.y - b.y) - kRounding);
    }
  }
}

void TestTopology::rotations_data() {
  QTest::addColumn<int>("which");
  QTest::addColumn<int>("order");
  QTest::addColumn<int>("block");
  QTest::newRow("circulant") << 0 << 12 << 12;
  QTest::newRow("dihedral group") << 1 << 8 << 8;
  QTest::newRow("line graph of a circulant") << 2 << 12 << 24;
  QTest::newRow("path of two triangles") << 3 << 1 << 1;
}

void TestTopology::rotations() {
  QFETCH(int, which);
  QFETCH(int, order);
  QFETCH(int, block);
  Digraph graph;
  if (which == 0) {
    graph = jumps(12, {2, 3});
  } else if (which == 1) {
    graph = made(cayley({8, 2, 7}, std::vector<Element>{{0, 1}, {1, 0}, {3, 1}, {6, 0}}));
  } else if (which == 2) {
    graph = made(lineGraph(made(cayley({12, 1, 1}, std::vector<Element>{{1, 0}, {5, 0}}))));
  } else {
    // Two triangles with a node in common.
    graph = {"bow tie", 5, 2, {1, 2, 2, 0, 0, 3, 4, 2, 2, 3}};
  }
  std::vector<std::pair<int, int>> arcs;
  for (int v = 0; v < graph.nodes; ++v) {
    for (const int head : graph.out(v)) {
      arcs.emplace_back(v, head);
    }
  }
  const Rows rows = rowsOf(graph.nodes, arcs);
  const Rotation rotation = rotationOf(rows);
  QCOMPARE(rotation.order, order);
  QCOMPARE(rotation.block, block);
  // The drawing turned by one step of the rotation is the drawing.
  const std::vector<Spot> spots = onCircles(rows, {});
  const double angle = 2 * std::acos(-1.0) / order;
  for (int v = 0; v < graph.nodes; ++v) {
    const int next = v / rotation.block * rotation.block + (v % rotation.block + rotation.shift) % rotation.block;
    const Spot& a = spots[static_cast<std::size_t>(v)];
    const Spot& b = spots[static_cast<std::size_t>(order > 1 ? next : v)];
    QVERIFY(std::hypot(a.x * std::cos(angle) - a.y * std::sin(angle) - b.x,
                       a.x * std::sin(angle) + a.y * std::cos(angle) - b.y) < 1e-6);
  }
}

void TestTopology::refuses_data() {
  QTest::addColumn<int>("row");
  QTest::addColumn<QString>("message");
  for (const auto& [title, row, message] : std::initializer_list<std::tuple<const char*, int, const char*>>{
           {"one node", 0, "fewer than two nodes"},
           {"no group", 1, "2^2 = 4 mod 5, not 1"},
           {"identity", 2, "identity"},
           {"repeated", 3, "is given twice"},
           {"out of the group", 4, "is not an element"},
           {"does not generate", 5, "reach 4 of the 8 elements"},
           {"no generators", 6, "no generator"},
           {"self-loops", 7, "self-loops"},
           {"too large", 8, "262144 nodes"},
           {"odd degree", 9, "even degree"},
           {"jump too far", 10, "is not between 1 and half"},
           {"too few nodes", 11, "at least one node more"},
           {"unknown graph", 12, "there is no distance-regular graph"},
           {"line graph of a ring", 13, "degree 1"},
           {"large power", 14, "nodes"},
           {"copies", 15, "2 or more copies"}}) {
    QTest::newRow(title) << row << QString(message);
  }
}

void TestTopology::refuses() {
  QFETCH(int, row);
  QFETCH(QString, message);
  static const std::vector<Make> kMakes = {
      [] { return complete(1); },
      [] {
        return cayley({5, 2, 2}, std::vector<Element>{{1, 0}});
      },
      [] {
        return cayley({8, 1, 1}, std::vector<Element>{{0, 0}});
      },
      [] {
        return cayley({8, 1, 1}, std::vector<Element>{{1, 0}, {1, 0}});
      },
      [] {
        return cayley({8, 1, 1}, std::vector<Element>{{9, 0}});
      },
      [] {
        return cayley({8, 1, 1}, std::vector<Element>{{2, 0}});
      },
      [] {
        return cayley({8, 1, 1}, std::vector<Element>{});
      },
      [] { return degreeExpansion(*generalizedKautz(2, 10), 2); },
      [] { return hamming(6, 10); },
      [] { return biRing(3, 8); },
      [] { return circulant(8, std::vector<int>{5}); },
      [] { return generalizedKautz(4, 4); },
      [] { return distanceRegular("petersn"); },
      [] { return lineGraph(*uniRing(1, 5)); },
      [] { return power(*complete(40), 4); },
      [] { return degreeExpansion(*complete(4), 1); },
  };
  const auto graph = kMakes[static_cast<std::size_t>(row)]();
  QVERIFY(!graph.hasValue());
  const QString told = QString::fromStdString(describe(graph.error()));
  QVERIFY2(told.contains(message), qPrintable(told));
  QVERIFY(!graph.error().fix.empty());
}

QTEST_APPLESS_MAIN(TestTopology)
#include "tst_topology.moc"
