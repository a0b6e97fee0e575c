// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include "patch/colouring.hpp"
#include "patch/plan.hpp"
#include "support/must.hpp"
#include "topology/expansions.hpp"
#include "topology/families.hpp"

using namespace coppice;
using namespace coppice::patch;
using test::must;
using topology::Digraph;

namespace {

Links linksFrom(const Digraph& graph, CableKind kind) {
  const auto fabric = must(fabric::Fabric::build(must(topology::describe(graph, Bandwidth(Rational(25))))));
  return must(readLinks(fabric, kind));
}

Digraph ringOf(int nodes) {
  return must(topology::biRing(2, nodes));
}

}  // namespace

class TestPatch : public QObject {
  Q_OBJECT

private slots:
  void colours();
  void directions();
  void portsFit_data();
  void portsFit();
  void faultsAreSeen();
  void tablesReadBack();
  void costs();
  void fewestMoves();
  void fewestMovesOfAll();
  void relabelling();
  void replaySeesFaults();
  void refuses();
};

void TestPatch::colours() {
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    const int nodes = 1 + static_cast<int>(random() % 20);
    std::vector<std::pair<int, int>> arcs;
    for (unsigned i = 0; i < random() % 120; ++i) {
      arcs.emplace_back(static_cast<int>(random() % static_cast<unsigned>(nodes)),
                        static_cast<int>(random() % static_cast<unsigned>(nodes)));
    }
    const std::vector<int> colours = colourArcs(nodes, arcs);
    QCOMPARE(colours.size(), arcs.size());
    std::set<std::pair<int, int>> out;
    std::set<std::pair<int, int>> in;
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      QVERIFY(colours[i] >= 0 && colours[i] < largestDegree(nodes, arcs));
      QVERIFY(out.insert({arcs[i].first, colours[i]}).second);
      QVERIFY(in.insert({arcs[i].second, colours[i]}).second);
    }
  }
}

void TestPatch::directions() {
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    const int nodes = 2 + static_cast<int>(random() % 20);
    std::vector<std::pair<int, int>> edges;
    std::vector<int> balance(static_cast<std::size_t>(nodes), 0);
    for (unsigned i = 0; i < random() % 90; ++i) {
      const int a = static_cast<int>(random() % static_cast<unsigned>(nodes));
      const int b = (a + 1 + static_cast<int>(random() % static_cast<unsigned>(nodes - 1))) % nodes;
      edges.emplace_back(a, b);
    }
    const std::vector<bool> isForward = eulerDirections(nodes, edges);
    for (std::size_t i = 0; i < edges.size(); ++i) {
      balance[static_cast<std::size_t>(edges[i].first)] += isForward[i] ? 1 : -1;
      balance[static_cast<std::size_t>(edges[i].second)] += isForward[i] ? -1 : 1;
    }
    for (const int value : balance) {
      QVERIFY(value >= -1 && value <= 1);
    }
  }
}

void TestPatch::portsFit_data() {
  QTest::addColumn<int>("row");
  QTest::addColumn<bool>("isDuplex");
  QTest::addColumn<int>("ports");
  QTest::addColumn<int>("panels");
  QTest::newRow("ring") << 0 << true << 2 << 1;
  QTest::newRow("ring, simplex") << 0 << false << 2 << 2;
  QTest::newRow("torus") << 1 << true << 4 << 2;
  QTest::newRow("hypercube of odd degree") << 2 << true << 5 << 1;
  QTest::newRow("hypercube, simplex") << 2 << false << 5 << 5;
  QTest::newRow("Kautz") << 3 << false << 4 << 4;
  QTest::newRow("Kautz with self-loops") << 4 << false << 3 << 3;
  QTest::newRow("parallel links") << 5 << true << 2 << 1;
  QTest::newRow("line graph") << 6 << false << 4 << 4;
}

void TestPatch::portsFit() {
  QFETCH(int, row);
  QFETCH(bool, isDuplex);
  QFETCH(int, ports);
  QFETCH(int, panels);
  const std::vector<std::function<Digraph()>> graphs = {
      [] { return ringOf(9); }, [] { return must(topology::product(ringOf(4), ringOf(5))); },
      [] { return must(topology::power(must(topology::complete(2)), 5)); },
      [] { return must(topology::generalizedKautz(4, 80)); }, [] { return must(topology::generalizedKautz(3, 11)); },
      // Four links to each neighbour are one cable of fourfold bandwidth.
      [] { return must(topology::biRing(8, 6)); },
      [] { return must(topology::lineGraph(must(topology::complete(5)))); }};
  const Links links =
      linksFrom(graphs[static_cast<std::size_t>(row)](), isDuplex ? CableKind::duplex : CableKind::simplex);
  const Wiring wiring = assignPorts(links);
  QCOMPARE(QString::fromStdString(faultOf(wiring, links)), QString());
  QCOMPARE(wiring.ports, ports);
  QCOMPARE(wiring.panels, panels);
  // No two cables share a panel port, each side of a simplex panel for itself.
  std::set<std::tuple<int, int, bool>> taken;
  for (const Cable& cable : wiring.cables) {
    const int panel = wiring.panelOf(cable);
    QVERIFY(panel >= 0 && panel < panels);
    QVERIFY(taken.insert({panel, wiring.panelPort(cable.from), true}).second);
    QVERIFY(taken.insert({panel, wiring.panelPort(cable.to), isDuplex}).second);
  }
}

void TestPatch::faultsAreSeen() {
  const Links links = linksFrom(must(topology::product(ringOf(4), ringOf(5))), CableKind::duplex);
  const Wiring good = assignPorts(links);
  Wiring wiring = good;
  wiring.cables[3].to = wiring.cables[4].to;
  QVERIFY(!faultOf(wiring, links).empty());
  wiring = good;
  wiring.cables.pop_back();
  QVERIFY(QString::fromStdString(faultOf(wiring, links)).contains("do not make the links"));
  wiring = good;
  wiring.cables[0].from.port = 4;
  QVERIFY(QString::fromStdString(faultOf(wiring, links)).contains("does not exist"));
}

void TestPatch::tablesReadBack() {
  Links links = linksFrom(must(topology::generalizedKautz(3, 16)), CableKind::simplex);
  links.ids[3] = "rack 1, \"left\"";
  const Wiring wiring = assignPorts(links);
  const auto read = readCsv(toCsv(wiring), CableKind::simplex, links.ids);
  QVERIFY2(read.hasValue(), read.hasValue() ? "" : describe(read.error()).c_str());
  QCOMPARE(read->cables, wiring.cables);
  QCOMPARE(QString::fromStdString(toPrintable(wiring)).count("[ ]"), static_cast<qsizetype>(wiring.cables.size()));
  for (const char* bad :
       {"a,b\n1,2\n", "cable,from,from_port,to,to_port\n1,g0,0,g1,1\n",
        "cable,from,from_port,to,to_port\n1,g0,1,nobody,1\n", "cable,from,from_port,to,to_port\n1,g0,x,g1,1\n",
        "cable,from,from_port,to,to_port\n1,g0\n"}) {
    QVERIFY(!readCsv(bad, CableKind::simplex, links.ids).hasValue());
  }
}

void TestPatch::costs() {
  // 20 nodes of 4 ports: 40 cables, 80 ports on both sides of the cable.
  const Wiring wiring = assignPorts(linksFrom(must(topology::product(ringOf(4), ringOf(5))), CableKind::duplex));
  QCOMPARE(wiring.cables.size(), std::size_t{40});
  QCOMPARE(costOf(wiring, {Rational(25, 2), Rational(300), Rational(40)}), Rational(40 * 25, 2) + Rational(80 * 340));
}

/// With fixed labels the cables that move are the links that one wiring has and the other has not.
void TestPatch::fewestMoves() {
  struct Case {
    Digraph from;
    Digraph to;
    std::int64_t kept;
  };
  const std::vector<Case> cases = {
      {ringOf(8), ringOf(8), 8},
      {must(topology::circulant(12, std::vector<int>{1, 2})), must(topology::circulant(12, std::vector<int>{1, 3})),
       12},
      {must(topology::circulant(12, std::vector<int>{1, 2})), must(topology::circulant(12, std::vector<int>{2, 3})),
       12},
      {must(topology::circulant(16, std::vector<int>{1, 2})), must(topology::circulant(16, std::vector<int>{3, 4})), 0},
  };
  for (const Case& one : cases) {
    for (const CableKind kind : {CableKind::duplex, CableKind::simplex}) {
      const Links wanted = linksFrom(one.to, kind);
      const Wiring before = assignPorts(linksFrom(one.from, kind));
      const Plan plan = must(planMoves(before, wanted));
      const std::int64_t factor = kind == CableKind::simplex ? 2 : 1;
      QCOMPARE(plan.kept, one.kept * factor);
      QCOMPARE(plan.moved(), static_cast<std::int64_t>(wanted.ends.size()) - plan.kept);
      QCOMPARE(plan.added() + plan.removed(), std::int64_t{0});
      QCOMPARE(QString::fromStdString(replay(before, plan, wanted)), QString());
      QCOMPARE(QString::fromStdString(faultOf(plan.after, wanted)), QString());
      QCOMPARE(QString::fromStdString(toCsv(plan)).count("disconnect,"),
               QString::fromStdString(toCsv(plan)).count("\nconnect,"));
    }
  }
}

/// Random wirings: the plan is as short as the links allow, and one end of most cables stays where it is.
void TestPatch::fewestMovesOfAll() {
  std::mt19937 random(11);
  for (int round = 0; round < 40; ++round) {
    const int nodes = 4 + static_cast<int>(random() % 12);
    const CableKind kind = round % 2 == 0 ? CableKind::simplex : CableKind::duplex;
    const auto draw = [&] {
      Links links;
      links.kind = kind;
      for (int v = 0; v < nodes; ++v) {
        links.ids.push_back("n" + std::to_string(v));
      }
      for (unsigned i = 0; i < 10 + random() % 30; ++i) {
        int a = static_cast<int>(random() % static_cast<unsigned>(nodes));
        int b = (a + 1 + static_cast<int>(random() % static_cast<unsigned>(nodes - 1))) % nodes;
        if (kind == CableKind::duplex && a > b) {
          std::swap(a, b);
        }
        links.ends.emplace_back(a, b);
      }
      return links;
    };
    const Links old = draw();
    const Links wanted = draw();
    const Wiring before = assignPorts(old);
    QCOMPARE(QString::fromStdString(faultOf(before, old)), QString());
    for (const bool mayRelabel : {false, true}) {
      const Plan plan = must(planMoves(before, wanted, {.mayRelabel = mayRelabel}));
      QCOMPARE(QString::fromStdString(replay(before, plan, wanted)), QString());
      std::vector<std::pair<int, int>> a = linksOf(before);
      std::vector<std::pair<int, int>> b = wanted.ends;
      std::sort(b.begin(), b.end());
      std::vector<std::pair<int, int>> both;
      std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
      const auto common = static_cast<std::int64_t>(both.size());
      QVERIFY(mayRelabel ? plan.kept >= common : plan.kept == common);
      QCOMPARE(plan.kept + plan.moved() + plan.added(), static_cast<std::int64_t>(b.size()));
      QCOMPARE(plan.kept + plan.moved() + plan.removed(), static_cast<std::int64_t>(a.size()));
      QVERIFY(plan.added() == 0 || plan.removed() == 0);
    }
  }
}

/// The same graph with other numbers needs no move at all.
void TestPatch::relabelling() {
  const Links links = linksFrom(ringOf(7), CableKind::duplex);
  Links other = links;
  for (auto& [a, b] : other.ends) {
    a = a * 2 % 7;
    b = b * 2 % 7;
    if (a > b) {
      std::swap(a, b);
    }
  }
  const Wiring before = assignPorts(links);
  const Plan fixed = must(planMoves(before, other));
  QCOMPARE(fixed.kept, std::int64_t{0});
  const Plan free = must(planMoves(before, other, {.mayRelabel = true}));
  QVERIFY(free.kept > 3);
  QCOMPARE(QString::fromStdString(replay(before, free, other)), QString());
  std::vector<int> roles = free.roles;
  std::sort(roles.begin(), roles.end());
  QCOMPARE(roles, (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
}

void TestPatch::replaySeesFaults() {
  const Links wanted = linksFrom(must(topology::circulant(12, std::vector<int>{1, 3})), CableKind::simplex);
  const Wiring before =
      assignPorts(linksFrom(must(topology::circulant(12, std::vector<int>{1, 2})), CableKind::simplex));
  const Plan good = must(planMoves(before, wanted));
  Plan plan = good;
  plan.moves.pop_back();
  QVERIFY(!replay(before, plan, wanted).empty());
  plan = good;
  plan.moves[0].after->to = plan.moves[1].after->to;
  QVERIFY(QString::fromStdString(replay(before, plan, wanted)).contains("is taken"));
  plan = good;
  plan.moves[0].before->from.port += 1;
  QVERIFY(QString::fromStdString(replay(before, plan, wanted)).contains("no cable joins"));
  plan = good;
  std::swap(plan.roles[0], plan.roles[1]);
  QVERIFY(QString::fromStdString(replay(before, plan, wanted)).contains("not those of the new fabric"));
}

void TestPatch::refuses() {
  const Wiring before = assignPorts(linksFrom(ringOf(7), CableKind::duplex));
  const auto other = planMoves(before, linksFrom(ringOf(8), CableKind::duplex));
  QVERIFY(!other.hasValue() && QString::fromStdString(other.error().message).contains("7 GPUs, the other 8"));
  const auto kinds = planMoves(before, linksFrom(ringOf(7), CableKind::simplex));
  QVERIFY(!kinds.hasValue() && QString::fromStdString(kinds.error().message).contains("simplex"));
  const auto oneWay =
      must(fabric::Fabric::build(must(topology::describe(must(topology::uniRing(1, 5)), Bandwidth(Rational(25))))));
  const auto duplex = readLinks(oneWay, CableKind::duplex);
  QVERIFY(!duplex.hasValue() && QString::fromStdString(duplex.error().message).contains("no equal one back"));
}

QTEST_APPLESS_MAIN(TestPatch)
#include "tst_patch.moc"
