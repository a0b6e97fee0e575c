// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "coppice/test_paths.hpp"
#include "forestcoll/forestcoll.hpp"
#include "io/fabric_json.hpp"
#include "support/findings.hpp"
#include "verify/schedule_verifier.hpp"

using namespace coppice;

namespace {

std::string readFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

nlohmann::json referenceTable(const std::string& name) {
  return nlohmann::json::parse(readFile(std::string(COPPICE_TEST_DATA) + "/reference/" + name));
}

Result<fabric::Fabric> referenceFabric(const std::string& name) {
  const std::string path = std::string(COPPICE_TEST_DATA) + "/reference/graphs/" + name + ".json";
  const auto description = io::readFabricJson(readFile(path), name);
  if (!description) {
    return description.error();
  }
  return fabric::Fabric::build(*description);
}

/// demand(S) / B+(S), recomputed from the fabric's arcs.
InverseBandwidth cutRatio(const fabric::Fabric& fabric, const std::vector<int>& nodes) {
  const std::set<int> inside(nodes.begin(), nodes.end());
  Bandwidth exit;
  for (const fabric::Arc& arc : fabric.arcs()) {
    if (inside.count(arc.tail) != 0 && inside.count(arc.head) == 0) {
      exit += arc.bandwidth;
    }
  }
  std::int64_t gpus = 0;
  for (const int node : nodes) {
    gpus += fabric.nodes()[node].kind == fabric::NodeKind::gpu ? 1 : 0;
  }
  return Rational(gpus) / exit;
}

}  // namespace

class TestReference : public QObject {
  Q_OBJECT

private slots:
  void optimality_data();
  void optimality();
  void fixedK_data();
  void fixedK();
};

void TestReference::optimality_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<QString>("status");
  QTest::addColumn<QString>("inverse");
  QTest::addColumn<QString>("algbw");
  QTest::addColumn<qint64>("k");
  QTest::addColumn<QString>("scale");
  const nlohmann::json table = referenceTable("optimality.json");
  for (const auto& entry : table["entries"]) {
    const auto name = QString::fromStdString(entry["name"]);
    const std::string status = entry["status"];
    const auto text = [&](const char* key) {
      return entry.contains(key) && entry[key].is_string() ? QString::fromStdString(entry[key]) : QString();
    };
    QTest::newRow(qPrintable(name)) << name << QString::fromStdString(status)
                                    << (status == "ok" ? text("inv_x") : text("attainable_inv_x")) << text("algbw")
                                    << (entry.contains("k") && entry["k"].is_number() ? entry["k"].get<qint64>() : 0)
                                    << text("U");
  }
}

void TestReference::optimality() {
  QFETCH(QString, name);
  QFETCH(QString, status);
  QFETCH(QString, inverse);
  QFETCH(QString, algbw);
  QFETCH(qint64, k);
  QFETCH(QString, scale);
  const auto fabric = referenceFabric(name.toStdString());
  if (status == "infeasible" || status == "single_gpu" || inverse.isEmpty()) {
    QVERIFY(!fabric);
    QCOMPARE(fabric.error().code, ErrorCode::infeasible);
    return;
  }
  QVERIFY2(fabric.hasValue(), "the fabric does not build");
  const auto generated = forestcoll::generate(*fabric, {});
  QVERIFY2(generated.hasValue(), generated ? "" : describe(generated.error()).c_str());
  const forestcoll::Optimum& optimum = generated->optimum;
  QCOMPARE(QString::fromStdString(toFraction(optimum.inverseRate)), inverse);
  if (status == "ok") {
    QCOMPARE(QString::fromStdString(toFraction(optimum.algbw)), algbw);
    QCOMPARE(optimum.integralTreesPerRoot, k);
    QCOMPARE(QString::fromStdString(toFraction(optimum.integralScale)), scale);
    QVERIFY(optimum.isMinimumK);
    QVERIFY(optimum.treesPerRoot <= k);
    QVERIFY(!optimum.bottlenecks.empty());
  }
  std::set<std::vector<int>> distinct;
  for (const schedule::Cut& cut : optimum.bottlenecks) {
    QCOMPARE(cutRatio(*fabric, cut.nodes), optimum.inverseRate);
    QVERIFY(distinct.insert(cut.nodes).second);
  }
  verify::ScheduleCheckOptions options;
  options.maxFlow = fabric->gpuCount() <= 128;
  const auto verdict = verify::verifySchedule(*fabric, generated->schedule, options);
  QVERIFY2(verdict.hasValue(), verdict ? "" : describe(verdict.error()).c_str());
  QVERIFY2(verdict->ok, qPrintable(test::textsOf(verdict->findings)));
  QCOMPARE(verdict->algbw, optimum.algbw);
  if (status == "ok" && options.maxFlow) {
    QVERIFY(verdict->boundProved);
  }
}

void TestReference::fixedK_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<qint64>("k");
  QTest::addColumn<QString>("scale");
  QTest::addColumn<QString>("algbw");
  const nlohmann::json table = referenceTable("fixed_k.json");
  for (const auto& entry : table["entries"]) {
    for (const auto& [k, value] : entry["fixed_k"].items()) {
      const auto name = QString::fromStdString(entry["name"]);
      QTest::newRow(qPrintable(name + " k=" + QString::fromStdString(k)))
          << name << static_cast<qint64>(std::stoll(k)) << QString::fromStdString(value["U"])
          << QString::fromStdString(value["algbw"]);
    }
  }
}

void TestReference::fixedK() {
  QFETCH(QString, name);
  QFETCH(qint64, k);
  QFETCH(QString, scale);
  QFETCH(QString, algbw);
  const auto fabric = referenceFabric(name.toStdString());
  QVERIFY(fabric.hasValue());
  forestcoll::Request request;
  request.fixedK = k;
  const auto generated = forestcoll::generate(*fabric, request);
  QVERIFY2(generated.hasValue(), generated ? "" : describe(generated.error()).c_str());
  QCOMPARE(QString::fromStdString(toFraction(generated->optimum.scale)), scale);
  QCOMPARE(QString::fromStdString(toFraction(generated->optimum.algbw)), algbw);
  QCOMPARE(generated->optimum.treesPerRoot, k);
  verify::ScheduleCheckOptions options;
  options.maxFlow = false;  // the bound of each fabric is proved in optimality()
  const auto verdict = verify::verifySchedule(*fabric, generated->schedule, options);
  QVERIFY(verdict.hasValue());
  QVERIFY2(verdict->ok, qPrintable(test::textsOf(verdict->findings)));
}

QTEST_GUILESS_MAIN(TestReference)
#include "tst_reference.moc"
