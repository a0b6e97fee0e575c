// SPDX-License-Identifier: Apache-2.0
#include <QTemporaryDir>
#include <QTest>

#include "support/cli_runner.hpp"

using namespace coppice::test;

/// coppice-cli synthesize, and generate with the methods behind it.
class TestCliSketch : public QObject {
  Q_OBJECT

private slots:
  void tacclAnswersExactly();
  void tacclFilesCanBeUsed();
  void tacclRefusesBadQuestions_data();
  void tacclRefusesBadQuestions();
  void generateProposesASketch();
};

namespace {

const QString kFolder = QStringLiteral(COPPICE_EXAMPLES "/taccl/");

QStringList tacclArguments(const QString& sketch, const QString& topology, const QStringList& more) {
  return QStringList{"synthesize",
                     "--method",
                     "taccl",
                     "--sketch",
                     kFolder + "sketch-" + sketch + ".json",
                     "--topology",
                     kFolder + "topology-" + topology + ".json",
                     "--json"} +
         more;
}

}  // namespace

void TestCliSketch::tacclAnswersExactly() {
  const Outcome outcome =
      run(tacclArguments("ndv2-relay-n2", "ndv2-1mb", {"-c", "alltoall", "--effort", "1000", "--type", "ndv2"}));
  QVERIFY2(outcome.code == 0, told(outcome));
  const QJsonObject json = outcome.json();
  QCOMPARE(json["makespan"].toString(), QString("33743/5"));
  QCOMPARE(json["bound"].toString(), QString("33743/5"));
  QCOMPARE(json["gap"].toDouble(), 0.0);
  QVERIFY(json["connections"].toInt() > 0);
  QVERIFY(json["seconds"].isDouble());
  QVERIFY(json["verified"].toBool());
}

void TestCliSketch::tacclFilesCanBeUsed() {
  QTemporaryDir folder;
  const QString schedule = folder.filePath("found.schedule.json");
  const QString plan = folder.filePath("found.plan.json");
  const Outcome outcome = run(tacclArguments("dgx2-direct-n2", "dgx2-1kb",
                                             {"-c", "allreduce", "--effort", "800", "-o", schedule, "--plan", plan}));
  QVERIFY2(outcome.code == 0, told(outcome));
  const Outcome verified = run({"verify", schedule, "--json"});
  QVERIFY2(verified.code == 0, told(verified));
  const Outcome simulated = run({"simulate", schedule, "-b", "32K", "-e", "32K", "--json"});
  QVERIFY2(simulated.code == 0, told(simulated));
  QFile file(plan);
  QVERIFY(file.open(QIODevice::ReadOnly));
  const QJsonObject messages = QJsonDocument::fromJson(file.readAll()).object();
  QCOMPARE(messages["makespan"].toString(), outcome.json()["makespan"].toString());
}

void TestCliSketch::tacclRefusesBadQuestions_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<int>("code");
  QTest::addColumn<QString>("message");
  QTest::newRow("method") << QStringList{"synthesize", "--method", "guess"} << 2 << "no method";
  QTest::newRow("no sketch") << QStringList{"synthesize", "--method", "taccl"} << 2 << "--sketch";
  QTest::newRow("no file") << QStringList{"synthesize", "--method",   "taccl",    "--sketch",
                                          "none.json",  "--topology", "none.json"}
                           << 2 << "none.json";
  QTest::newRow("type") << tacclArguments("ndv2-relay-n2", "ndv2-1mb", {"--type", "dgx3"}) << 2 << "dgx3";
  QTest::newRow("root") << tacclArguments("ndv2-relay-n2", "ndv2-1mb", {"-c", "broadcast", "--root", "16"}) << 2
                        << "--root";
  QTest::newRow("files of other machines") << tacclArguments("dgx2-direct-n2", "ndv2-1mb", {}) << 2 << "GPU 8";
}

void TestCliSketch::tacclRefusesBadQuestions() {
  QFETCH(QStringList, arguments);
  QFETCH(int, code);
  QFETCH(QString, message);
  const Outcome outcome = run(arguments);
  QCOMPARE(outcome.code, code);
  QVERIFY2(outcome.err.contains(message.toUtf8()), told(outcome));
}

void TestCliSketch::generateProposesASketch() {
  QTemporaryDir folder;
  const QString schedule = folder.filePath("proposed.schedule.json");
  for (const char* fabric : {"preset:dgx-a100,boxes=2", "preset:dgx2,boxes=2", "preset:torus,dims=3x3"}) {
    for (const char* collective : {"allgather", "allreduce", "alltoall"}) {
      const Outcome outcome = run({"generate", fabric, "--method", "taccl", "-c", collective, "--search-effort", "200",
                                   "-o", schedule, "--json"});
      QVERIFY2(outcome.code == 0, told(outcome));
      QVERIFY(outcome.json()["verified"].toBool());
      const Outcome verified = run({"verify", schedule});
      QVERIFY2(verified.code == 0, told(verified));
    }
  }
}

QTEST_GUILESS_MAIN(TestCliSketch)
#include "tst_cli_sketch.moc"
