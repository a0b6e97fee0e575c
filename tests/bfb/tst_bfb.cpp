// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "bfb/bfb.hpp"
#include "bfb/digraphs.hpp"
#include "coppice/test_paths.hpp"

using namespace coppice;
using bfb::Digraph;

namespace {

Digraph referenceGraph(const nlohmann::json& entry) {
  Digraph graph{entry.at("N").get<int>(), {}};
  const auto add = [&](const nlohmann::json& link, bool isDuplex) {
    const int tail = link.at(0).get<int>();
    const int head = link.at(1).get<int>();
    const std::int64_t width = link.size() > 2 ? link.at(2).get<int>() : 1;
    graph.links.push_back({tail, head, width});
    if (isDuplex) {
      graph.links.push_back({head, tail, width});
    }
  };
  if (!entry.contains("duplex")) {  // too large to be listed
    const auto name = QString::fromStdString(entry.at("name").get<std::string>());
    return bfb::sample::generalizedKautz(name.section('_', 1, 1).toInt(), name.section('_', 2, 2).toInt());
  }
  for (const auto& link : entry.at("duplex")) {
    add(link, true);
  }
  for (const auto& link : entry.at("oneway")) {
    add(link, false);
  }
  return graph;
}

const nlohmann::json& referenceTable() {
  static const nlohmann::json kTable = [] {
    std::ifstream file(std::string(COPPICE_TEST_DATA) + "/reference/bfb.json");
    return nlohmann::json::parse(file);
  }();
  return kTable;
}

QString text(const std::vector<Rational>& values) {
  QStringList list;
  for (const Rational& value : values) {
    list.append(QString::fromStdString(value.toString()));
  }
  return list.join(' ');
}

/// d(v, u) for all v, over the links into u, by relaxation.
std::vector<std::vector<int>> distances(const Digraph& graph) {
  const int n = graph.nodeCount;
  std::vector<std::vector<int>> d(n, std::vector<int>(n, n));
  for (int u = 0; u < n; ++u) {
    d[u][u] = 0;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const bfb::Link& link : graph.links) {
      for (int u = 0; u < n; ++u) {
        if (d[link.head][u] + 1 < d[link.tail][u]) {
          d[link.tail][u] = d[link.head][u] + 1;
          changed = true;
        }
      }
    }
  }
  return d;
}

/// max cnt(W)/b(W) over all 2^d sets W of links into u.
Rational bruteLoad(const Digraph& graph, const std::vector<std::vector<int>>& d, int u, int t) {
  std::vector<bfb::Link> in;
  std::copy_if(graph.links.begin(), graph.links.end(), std::back_inserter(in),
               [&](const bfb::Link& link) { return link.head == u && link.tail != u; });
  Rational best;
  for (unsigned set = 1; set < 1U << in.size(); ++set) {
    int jobs = 0;
    std::int64_t width = 0;
    for (std::size_t j = 0; j < in.size(); ++j) {
      width += (set >> j & 1) != 0 ? in[j].width : 0;
    }
    for (int v = 0; v < graph.nodeCount; ++v) {
      if (d[v][u] != t) {
        continue;
      }
      bool isInside = true;
      for (std::size_t j = 0; j < in.size(); ++j) {
        isInside = isInside && (d[v][in[j].tail] != t - 1 || (set >> j & 1) != 0);
      }
      jobs += isInside ? 1 : 0;
    }
    best = std::max(best, Rational(jobs, width));
  }
  return best;
}

}  // namespace

class TestBfb : public QObject {
  Q_OBJECT
private slots:
  void reference_data();
  void reference();
  void knownValues_data();
  void knownValues();
  void allSetsOfLinks();
  void oneTargetOfVertexTransitiveGraphs();
  void manyLinks();
  void refusals();
};

void TestBfb::reference_data() {
  QTest::addColumn<int>("row");
  for (std::size_t i = 0; i < referenceTable().size(); ++i) {
    QTest::newRow(referenceTable()[i].at("name").get<std::string>().c_str()) << static_cast<int>(i);
  }
}

void TestBfb::reference() {
  QFETCH(int, row);
  const nlohmann::json& entry = referenceTable()[static_cast<std::size_t>(row)];
  const Digraph graph = referenceGraph(entry);
  const auto loads = bfb::loads(graph);
  QVERIFY(loads);
  QCOMPARE(loads->steps(), entry.at("T_L").get<int>());
  QCOMPARE(loads->degree, entry.at("degree").get<int>());
  QCOMPARE(loads->bandwidthTime().toString(), entry.at("T_B").get<std::string>());
  QCOMPARE(loads->isBandwidthOptimal(), entry.at("bw_optimal").get<bool>());
  QStringList expected;
  for (const auto& load : entry.at("step_loads")) {
    expected.append(QString::fromStdString(load.get<std::string>()));
  }
  QCOMPARE(text(loads->stepLoads), expected.join(' '));
  const auto reduceScatter = bfb::loads(bfb::transposed(graph));
  QVERIFY(reduceScatter);
  QCOMPARE(reduceScatter->bandwidthTime().toString(), entry.at("T_B_reduce_scatter").get<std::string>());
}

void TestBfb::knownValues_data() {
  using namespace bfb::sample;
  QTest::addColumn<Digraph>("graph");
  QTest::addColumn<int>("steps");
  QTest::addColumn<QString>("time");
  QTest::addColumn<QString>("reduceScatter");
  QTest::addColumn<int>("chunks");
  const auto row = [](const char* name, const Digraph& graph, int steps, const char* time, int chunks,
                      const char* reduceScatter = nullptr) {
    QTest::newRow(name) << graph << steps << QString(time) << QString(reduceScatter ? reduceScatter : time) << chunks;
  };
  row("hypercube 10", hypercube(10), 10, "1023/1024", 10);
  row("torus 50x50", torus({50, 50}), 50, "2499/2500", 4);
  row("generalized Kautz 4 2000", generalizedKautz(4, 2000), 6, "661/500", 1, "");
  row("generalized Kautz 16 2000", generalizedKautz(16, 2000), 3, "187/175", 7, "");
  row("generalized Kautz 2 12", generalizedKautz(2, 12), 3, "7/6", 1);
  row("generalized Kautz 4 500", generalizedKautz(4, 500), 5, "33/25", 1, "37/25");
  row("L(K44)", lineGraph(completeBipartite(4)), 3, "1", 1);
  row("L^3(K44)", lineGraph(lineGraph(lineGraph(completeBipartite(4)))), 5, "133/128", 1);
  row("line graph of Z8 {1,3} stays optimal", lineGraph(circulant(8, {1, 3})), 4, "15/16", 2);
  // Conjecture 1 of the dissertation says 14/15 and 5/6.
  row("circulant 15 {1,4,5} is not optimal", duplexCirculant(15, {1, 4, 5}), 2, "1", 2);
  row("circulant 6 {1,3}", duplexCirculant(6, {1, 3}), 2, "5/6", 3);
  row("circulant 6 {1,3} with a doubled jump is not optimal", circulant(6, {1, -1, 3, 3}), 2, "1", 2);
  row("torus 4x4", torus({4, 4}), 4, "15/16", 4);
}

void TestBfb::knownValues() {
  QFETCH(Digraph, graph);
  QFETCH(int, steps);
  QFETCH(QString, time);
  QFETCH(QString, reduceScatter);
  QFETCH(int, chunks);
  const auto loads = bfb::loads(graph);
  QVERIFY(loads);
  QCOMPARE(loads->steps(), steps);
  QCOMPARE(QString::fromStdString(loads->bandwidthTime().toString()), time);
  QCOMPARE(loads->denominator(), chunks);
  if (!reduceScatter.isEmpty()) {
    const auto turned = bfb::loads(bfb::transposed(graph));
    QVERIFY(turned);
    QCOMPARE(QString::fromStdString(turned->bandwidthTime().toString()), reduceScatter);
  }
}

/// Theorem 19, checked against every set of links, on irregular digraphs with unequal and parallel links.
void TestBfb::allSetsOfLinks() {
  std::mt19937 rng(20260);
  for (int round = 0; round < 150; ++round) {
    const int n = 3 + static_cast<int>(rng() % 12);
    const Digraph graph = bfb::sample::random(n, static_cast<int>(rng() % 40), 1 + round % 4, rng);
    const auto loads = bfb::loads(graph);
    QVERIFY(loads);
    const auto d = distances(graph);
    for (int t = 1; t <= loads->steps(); ++t) {
      Rational worst;
      std::int64_t pairs = 0;
      for (int u = 0; u < n; ++u) {
        worst = std::max(worst, bruteLoad(graph, d, u, t));
        for (int v = 0; v < n; ++v) {
          pairs += d[v][u] == t ? 1 : 0;
        }
      }
      QCOMPARE(loads->stepLoads[t - 1].toString(), worst.toString());
      QCOMPARE(loads->pairs[t - 1], pairs);
      const bfb::TightSet& tight = loads->tight[t - 1];
      QCOMPARE(Rational(tight.shards, tight.width).toString(), worst.toString());
    }
  }
}

void TestBfb::oneTargetOfVertexTransitiveGraphs() {
  using namespace bfb::sample;
  for (const Digraph& graph : {hypercube(6), torus({4, 6}), duplexCirculant(25, {3, 4}), circulant(8, {1, 3})}) {
    const auto all = bfb::loads(graph);
    const auto one = bfb::loads(graph, {.onlyTarget = 0});
    QVERIFY(all && one);
    QCOMPARE(text(one->stepLoads), text(all->stepLoads));
    QVERIFY(one->pairs == all->pairs);
  }
  // Far beyond what all targets could be asked for: diameter m and optimal, as C(n, {m, m+1}) is (section A.2).
  const auto large = bfb::loads(duplexCirculant(100'000, {224, 225}), {.onlyTarget = 7});
  QVERIFY(large);
  QCOMPARE(large->steps(), 224);
  QVERIFY(large->isBandwidthOptimal());
}

/// More links than a word has bits.
void TestBfb::manyLinks() {
  Digraph complete{100, {}};
  for (int i = 0; i < 100; ++i) {
    for (int j = 0; j < 100; ++j) {
      if (i != j) {
        complete.links.push_back({i, j, 1});
      }
    }
  }
  const auto loads = bfb::loads(complete);
  QVERIFY(loads);
  QCOMPARE(text(loads->stepLoads), QString("1"));
  QVERIFY(loads->isBandwidthOptimal());
  const auto bipartite = bfb::loads(bfb::sample::completeBipartite(70));
  QVERIFY(bipartite);
  QCOMPARE(text(bipartite->stepLoads), QString("1 69/70"));
}

void TestBfb::refusals() {
  const auto noPath = bfb::loads({3, {{0, 1, 1}, {1, 0, 1}, {1, 2, 1}}});
  QVERIFY(!noPath);
  QCOMPARE(noPath.error().code, ErrorCode::infeasible);
  QCOMPARE(QString::fromStdString(noPath.error().message), QString("Node 2 has no path to node 0"));
  QCOMPARE(bfb::loads({1, {}}).error().code, ErrorCode::badUsage);
  QCOMPARE(bfb::loads({2, {{0, 2, 1}}}).error().code, ErrorCode::badUsage);
  QCOMPARE(bfb::loads({2, {{0, 1, 0}, {1, 0, 1}}}).error().code, ErrorCode::badUsage);
  QCOMPARE(bfb::loads({2, {{0, 1, 1}, {1, 0, 1}}}, {.onlyTarget = 2}).error().code, ErrorCode::badUsage);
}

QTEST_APPLESS_MAIN(TestBfb)
#include "tst_bfb.moc"
