// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>
#include <utility>

#include "alltoall/alltoall.hpp"
#include "alltoall/exchange_fault.hpp"
#include "coppice/test_paths.hpp"
#include "presets/presets.hpp"
#include "schedule/step_cost.hpp"
#include "support/preset_fabrics.hpp"
#include "verify/exchange_check.hpp"
#include "verify/step_verifier.hpp"

using namespace coppice;
using test::faultOf;
using test::presetFabric;

namespace {

struct Edge {
  int tail = 0;
  int head = 0;
  int width = 1;
};

/// Links of whole GB/s; nodes from `gpus` on are switches.
fabric::Fabric fabricOf(int nodes, int gpus, const std::vector<Edge>& edges) {
  fabric::Description description;
  for (int i = 0; i < nodes; ++i) {
    fabric::NodeDescription node;
    node.id = std::to_string(i);
    node.kind = i < gpus ? "gpu" : "switch";
    description.nodes.push_back(node);
  }
  for (const Edge& edge : edges) {
    if (edge.tail != edge.head) {
      fabric::LinkDescription link;
      link.src = std::to_string(edge.tail);
      link.dst = std::to_string(edge.head);
      link.bandwidth = std::to_string(edge.width);
      link.duplex = false;
      description.links.push_back(link);
    }
  }
  auto fabric = fabric::Fabric::build(description);
  if (!fabric) {
    qFatal("%s", describe(fabric.error()).c_str());
  }
  return *std::move(fabric);
}

fabric::Fabric circulant(int n, const std::vector<int>& jumps) {
  std::vector<Edge> edges;
  for (int i = 0; i < n; ++i) {
    for (const int jump : jumps) {
      edges.push_back({i, (i + jump) % n, 1});
      if (2 * jump != n) {
        edges.push_back({i, (i + n - jump) % n, 1});
      }
    }
  }
  return fabricOf(n, n, edges);
}

const nlohmann::json& referenceTable() {
  static const nlohmann::json kTable = [] {
    std::ifstream file(std::string(COPPICE_TEST_DATA) + "/reference/bfb.json");
    return nlohmann::json::parse(file);
  }();
  return kTable;
}

fabric::Fabric referenceFabric(const nlohmann::json& entry) {
  std::vector<Edge> edges;
  const auto width = [](const nlohmann::json& link) { return link.size() > 2 ? link.at(2).get<int>() : 1; };
  for (const auto& link : entry.at("duplex")) {
    edges.push_back({link.at(0), link.at(1), width(link)});
    edges.push_back({link.at(1), link.at(0), width(link)});
  }
  for (const auto& link : entry.at("oneway")) {
    edges.push_back({link.at(0), link.at(1), width(link)});
  }
  const int n = entry.at("N").get<int>();
  return fabricOf(n, n, edges);
}

}  // namespace

class TestAlltoall : public QObject {
  Q_OBJECT
private slots:
  void reference_data();
  void reference();
  void exactValues_data();
  void exactValues();
  void symmetriesChangeNothing();
  void randomFabrics();
  void largeFabrics();
  void fewParts();
  void plantedFaults_data();
  void plantedFaults();
  void faultyLengths();
  void budgetsCountWork();
  void cancels();
};

void TestAlltoall::reference_data() {
  QTest::addColumn<int>("row");
  constexpr int kMaxNodes = 64;  // larger ones only take longer
  for (std::size_t i = 0; i < referenceTable().size(); ++i) {
    const nlohmann::json& entry = referenceTable()[i];
    if (entry.contains("duplex") && entry.at("N").get<int>() <= kMaxNodes && !entry.at("all_to_all_f").is_null()) {
      QTest::newRow(entry.at("name").get<std::string>().c_str()) << static_cast<int>(i);
    }
  }
}

void TestAlltoall::reference() {
  QFETCH(int, row);
  const nlohmann::json& entry = referenceTable()[static_cast<std::size_t>(row)];
  const fabric::Fabric fabric = referenceFabric(entry);
  const auto optimum = alltoall::optimum(fabric);
  QVERIFY2(optimum, optimum ? "" : describe(optimum.error()).c_str());
  const double expected = entry.at("all_to_all_f").get<double>();
  QVERIFY(toGBps(optimum->lower) <= expected * (1 + 1e-9));
  QVERIFY(toGBps(optimum->upper) >= expected * (1 - 1e-9));
  QVERIFY(optimum->isExact());
  QCOMPARE(faultOf(fabric, *optimum, fabric.gpuCount() <= 32), QString());
}

void TestAlltoall::exactValues_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QString>("rate");
  const auto row = [](const char* preset, const char* rate) {
    QTest::newRow(preset) << QString(preset) << QString(rate);
  };
  row("torus dims=4x6 bandwidth=1", "1/18");
  row("torus dims=6x5 bandwidth=1", "2/45");
  row("hypercube dimension=6 bandwidth=1", "1/32");
  row("ring gpus=5 bandwidth=1", "1/3");
  // One NIC of 25 GB/s per GPU, and 8 GPUs in the other box.
  row("dgx-a100 boxes=2", "25/8");
  row("dgx-a100 boxes=8", "25/56");
  row("dgx-h100 boxes=2", "25/4");
  row("gb200-nvl72", "900/71");
  row("complete gpus=8 bandwidth=3", "3");
  row("fig-4-5", "1/4");
  row("dragonfly", "25/18");
  row("fat-tree-3", "10/3");
  row("mesh dims=5x7", "5/12");
  row("mi250 boxes=2", "1");
}

void TestAlltoall::exactValues() {
  QFETCH(QString, preset);
  QFETCH(QString, rate);
  const fabric::Fabric fabric = presetFabric(preset);
  const auto optimum = alltoall::optimum(fabric);
  QVERIFY2(optimum, optimum ? "" : describe(optimum.error()).c_str());
  QCOMPARE(QString::fromStdString(toFraction(optimum->lower)), rate);
  QCOMPARE(QString::fromStdString(toFraction(optimum->upper)), rate);
  QCOMPARE(faultOf(fabric, *optimum, true), QString());
}

/// The program without symmetries is larger and has the same optimum.
void TestAlltoall::symmetriesChangeNothing() {
  const std::vector<fabric::Fabric> fabrics = {circulant(12, {2, 3}), presetFabric("torus dims=3x4"),
                                               presetFabric("dgx1-v100"), presetFabric("dragonfly")};
  for (const fabric::Fabric& fabric : fabrics) {
    const auto with = alltoall::optimum(fabric);
    const auto without = alltoall::optimum(fabric, {.maxSymmetries = 1});
    QVERIFY(with && without);
    QCOMPARE(without->routing.symmetries.size(), std::size_t{1});
    QVERIFY(with->routing.symmetries.size() > 1);
    QVERIFY(with->isExact());
    QCOMPARE(toFraction(without->upper), toFraction(with->upper));
    QCOMPARE(faultOf(fabric, *without, true), QString());
  }
}

/// One-way and unequal links, switches that are unbalanced: nothing is symmetric.
void TestAlltoall::randomFabrics() {
  std::mt19937 rng(5);
  const auto draw = [&](int max) { return static_cast<int>(rng() % static_cast<unsigned>(max)); };
  int exact = 0;
  constexpr int kRounds = 40;
  for (int round = 0; round < kRounds; ++round) {
    const int gpus = 2 + draw(7);
    const int nodes = gpus + draw(4);
    std::vector<Edge> edges;
    for (int i = 0; i < nodes; ++i) {
      edges.push_back({i, (i + 1) % nodes, 1 + draw(5)});
    }
    for (int i = draw(3 * nodes); i > 0; --i) {
      edges.push_back({draw(nodes), draw(nodes), 1 + draw(5)});
    }
    const fabric::Fabric fabric = fabricOf(nodes, gpus, edges);
    const auto optimum = alltoall::optimum(fabric);
    QVERIFY2(optimum, optimum ? "" : describe(optimum.error()).c_str());
    QCOMPARE(faultOf(fabric, *optimum, true), QString());
    QVERIFY(toGBps(optimum->upper) / toGBps(optimum->lower) < 1.001);
    exact += optimum->isExact() ? 1 : 0;
  }
  QVERIFY(exact >= kRounds - 2);
}

void TestAlltoall::largeFabrics() {
  const fabric::Fabric cube = presetFabric("hypercube dimension=9 bandwidth=1");
  const auto optimum = alltoall::optimum(cube);
  QVERIFY(optimum);
  QCOMPARE(toFraction(optimum->lower), std::string("1/256"));
  QVERIFY(optimum->isExact());
  QCOMPARE(faultOf(cube, *optimum, false), QString());
}

/// Rounded routings are still complete, and never faster than the bound.
void TestAlltoall::fewParts() {
  const fabric::Fabric fabric = circulant(12, {2, 3});
  const auto whole = alltoall::optimum(fabric);
  QVERIFY(whole && whole->routing.denominator > 4);
  for (const std::int64_t parts : {1, 2, 3, 4, 24}) {
    const auto optimum = alltoall::optimum(fabric, {.parts = parts});
    QVERIFY(optimum);
    QCOMPARE(optimum->routing.denominator, parts);
    QCOMPARE(toFraction(optimum->upper), std::string("3/14"));
    QCOMPARE(faultOf(fabric, *optimum, true), QString());
    QVERIFY(optimum->lower >= Bandwidth(1, 7));
  }
  QVERIFY(!alltoall::optimum(fabric, {.parts = 0}));
}

void TestAlltoall::plantedFaults_data() {
  QTest::addColumn<QString>("fault");
  QTest::addColumn<QString>("message");
  QTest::newRow("no symmetry") << "none"
                               << "not even the identity";
  QTest::newRow("no permutation") << "twice"
                                  << "does not permute";
  QTest::newRow("short") << "short"
                         << "maps 7 nodes of 8";
  QTest::newRow("no symmetry of the links") << "links"
                                            << "maps a link to none";
  QTest::newRow("symmetry left out") << "fewer"
                                     << "sends nothing";
  QTest::newRow("symmetry twice") << "repeated"
                                  << "not reached alike";
  QTest::newRow("source twice") << "sources"
                                << "another source has them too";
  QTest::newRow("source that is not a GPU") << "source"
                                            << "is not a GPU";
  QTest::newRow("weight") << "weight"
                          << "weights of its trees sum to";
  QTest::newRow("weight of 0") << "zero"
                               << "below 1";
  QTest::newRow("arc that leads elsewhere") << "arc"
                                            << "does not lead to its node";
  QTest::newRow("no such arc") << "range"
                               << "does not lead to its node";
  QTest::newRow("GPU without a path") << "path"
                                      << "has no path to";
  QTest::newRow("cycle") << "cycle"
                         << "has no path to";
  QTest::newRow("arc into the source") << "root"
                                       << "every node but its source";
}

void TestAlltoall::plantedFaults() {
  QFETCH(QString, fault);
  QFETCH(QString, message);
  const fabric::Fabric fabric = circulant(8, {1});
  schedule::ExchangeRouting routing = alltoall::optimum(fabric)->routing;
  QVERIFY(verify::provenExchangeRate(fabric, {}, routing));
  QVERIFY(routing.symmetries.size() >= 8);
  schedule::ExchangeTree& tree = routing.trees.front();
  const auto arcOf = [&](int from, int to) { return *fabric.findArc((from + 8) % 8, (to + 8) % 8); };
  if (fault == "none") {
    routing.symmetries.clear();
  } else if (fault == "twice") {
    routing.symmetries[1][0] = routing.symmetries[1][1];
  } else if (fault == "short") {
    routing.symmetries[1].pop_back();
  } else if (fault == "links") {
    std::swap(routing.symmetries[1][0], routing.symmetries[1][1]);
  } else if (fault == "fewer") {
    routing.symmetries.resize(1);
  } else if (fault == "repeated") {
    routing.symmetries.push_back(routing.symmetries[1]);
  } else if (fault == "sources") {
    schedule::ExchangeRouting other = routing;
    for (schedule::ExchangeTree each : other.trees) {
      each.source = 4;
      for (std::int32_t& arc : each.arcInto) {
        arc = -1;
      }
      routing.trees.push_back(each);
    }
  } else if (fault == "source") {
    tree.source = 8;
  } else if (fault == "weight") {
    tree.weight += 1;
  } else if (fault == "zero") {
    tree.weight = 0;
  } else if (fault == "arc") {
    std::swap(tree.arcInto[(tree.source + 1) % 8], tree.arcInto[(tree.source + 7) % 8]);
  } else if (fault == "range") {
    tree.arcInto[(tree.source + 1) % 8] = 16;
  } else if (fault == "path") {
    tree.arcInto[(tree.source + 1) % 8] = -1;
  } else if (fault == "cycle") {
    tree.arcInto[(tree.source + 3) % 8] = arcOf(tree.source + 2, tree.source + 3);
    tree.arcInto[(tree.source + 2) % 8] = arcOf(tree.source + 3, tree.source + 2);
  } else {
    tree.arcInto[tree.source] = arcOf(tree.source + 1, tree.source);
  }
  const auto rate = verify::provenExchangeRate(fabric, {}, routing);
  QVERIFY(!rate);
  QCOMPARE(rate.error().code, ErrorCode::verification);
  QVERIFY2(QString::fromStdString(rate.error().message).contains(message), rate.error().message.c_str());
}

void TestAlltoall::faultyLengths() {
  const fabric::Fabric fabric = circulant(8, {1});
  const auto codeOf = [&](const schedule::ExchangeLengths& lengths) {
    const auto bound = verify::provenExchangeBound(fabric, {}, lengths);
    return bound ? ErrorCode::internal : bound.error().code;
  };
  schedule::ExchangeLengths lengths(16, 1);
  QCOMPARE(toFraction(*verify::provenExchangeBound(fabric, {}, lengths)), std::string("1/8"));
  // Other lengths prove less, never more.
  lengths[3] = 5;
  QVERIFY(*verify::provenExchangeBound(fabric, {}, lengths) > Bandwidth(1, 8));
  lengths[3] = -1;
  QCOMPARE(codeOf(lengths), ErrorCode::verification);
  QCOMPARE(codeOf(schedule::ExchangeLengths(15, 1)), ErrorCode::verification);
  QCOMPARE(codeOf(schedule::ExchangeLengths(16, 0)), ErrorCode::verification);
}

/// A machine that takes longer than the budget's milliseconds for the same work comes to the same answer.
void TestAlltoall::budgetsCountWork() {
  std::mt19937 rng(3);
  const auto draw = [&](int max) { return static_cast<int>(rng() % static_cast<unsigned>(max)); };
  // More links than the program takes, and few enough that it ends by its budget, or by the work for mixtures.
  for (const auto& [gpus, links] : {std::pair{90, 420}, std::pair{24, 72}}) {
    std::vector<Edge> edges;
    for (int i = 0; i < gpus; ++i) {
      edges.push_back({i, (i + 1) % gpus, 1 + draw(5)});
    }
    for (int i = gpus; i < links; ++i) {
      edges.push_back({draw(gpus), draw(gpus), 1 + draw(5)});
    }
    const fabric::Fabric fabric = fabricOf(gpus, gpus, edges);
    Progress slow;
    slow.onReport = [](std::string_view, double) { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
    const alltoall::Request request{.budget = lp::Milliseconds(60)};
    const auto quick = alltoall::optimum(fabric, request);
    const auto late = alltoall::optimum(fabric, request, slow);
    QVERIFY(quick && late);
    QCOMPARE(late->rows, quick->rows);
    QVERIFY(late->lengths == quick->lengths);
    QCOMPARE(toFraction(late->lower), toFraction(quick->lower));
    QCOMPARE(toFraction(late->upper), toFraction(quick->upper));
    QCOMPARE(faultOf(fabric, *quick, true), QString());
  }
}

void TestAlltoall::cancels() {
  std::stop_source stop;
  stop.request_stop();
  Progress progress;
  progress.stop = stop.get_token();
  const auto optimum = alltoall::optimum(circulant(8, {1}), {}, progress);
  QVERIFY(!optimum);
  QCOMPARE(optimum.error().code, ErrorCode::cancelled);
}

QTEST_APPLESS_MAIN(TestAlltoall)
#include "tst_alltoall.moc"
