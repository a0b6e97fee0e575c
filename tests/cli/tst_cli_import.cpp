// SPDX-License-Identifier: Apache-2.0
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include "coppice/test_paths.hpp"
#include "support/cli_runner.hpp"

using namespace coppice::test;

/// The built coppice-cli where it reads what people have: import, and check --against.
namespace {

QString cluster(const char* name) {
  return QStringLiteral(COPPICE_TEST_DATA) + "/cluster/" + name;
}

QJsonObject jsonOf(const Outcome& outcome) {
  return QJsonDocument::fromJson(outcome.out).object();
}

}  // namespace

class TestCliImport : public QObject {
  Q_OBJECT

private slots:
  void networkAndHost();
  void errors_data();
  void errors();
  void against();
  void gatherIsForRccl();
  void everyAnswerSaysOk_data();
  void everyAnswerSaysOk();
};

void TestCliImport::networkAndHost() {
  QTemporaryDir folder;
  const QString file = folder.filePath("c.fabric.json");
  const Outcome outcome =
      run({"import", cluster("two_rails.ibnetdiscover.txt"), cluster("host.xml"), "-o", file, "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  const QJsonObject json = jsonOf(outcome);
  QVERIFY(json["ok"].toBool());
  QCOMPARE(json["hosts"].toInt(), 2);
  QCOMPARE(json["gpus"].toInt(), 4);
  QCOMPARE(json["files"].toArray()[0].toObject()["format"].toString(), QString("ibnetdiscover"));
  QStringList sources;
  for (const auto origin : json["origins"].toArray()) {
    sources << origin.toObject()["source"].toString();
    QVERIFY(origin.toObject()["links"].toInt() > 0);
  }
  QVERIFY(sources.contains("file"));
  QVERIFY(sources.contains("table"));
  VERIFY_TOLD(run({"check", file}).code == 0, outcome);
  const Outcome text = run({"import", cluster("topology.conf"), "-o", file});
  VERIFY_TOLD(text.code == 0 && text.out.contains("guess: a NIC of 400 Gb/s"), text);
}

void TestCliImport::errors_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<QString>("error");
  QTest::newRow("no output") << QStringList{"import", cluster("host.xml")} << "--output is required";
  QTest::newRow("no network") << QStringList{"import", cluster("host.xml"), cluster("host.xml"), "-o", "-"}
                              << "2 hosts need a network that joins them";
  QTest::newRow("onto an input") << QStringList{"import", cluster("host.xml"), "-o", cluster("host.xml")}
                                 << "is the input file";
  QTest::newRow("no such host") << QStringList{"import", cluster("two_rails.ibnetdiscover.txt"), "--hosts", "x*", "-o",
                                               "-"}
                                << "no host with a cable is left";
}

void TestCliImport::errors() {
  QFETCH(QStringList, arguments);
  QFETCH(QString, error);
  const Outcome outcome = run(arguments);
  VERIFY_TOLD(outcome.code != 0, outcome);
  VERIFY_TOLD(outcome.err.contains(error.toUtf8()), outcome);
}

void TestCliImport::against() {
  QTemporaryDir folder;
  const QString plan = folder.filePath("plan.fabric.json");
  VERIFY_TOLD(run({"preset", "dgx-a100", "boxes=2", "-o", plan}).code == 0, run({"preset", "--help"}));
  const Outcome same = run({"check", "preset:dgx-a100,boxes=2", "--against", plan, "--json"});
  VERIFY_TOLD(same.code == 0, same);
  QCOMPARE(jsonOf(same)["against"].toObject()["differences"].toArray().size(), 0);
  const Outcome slow = run({"check", "preset:dgx-a100,boxes=2,nic=12.5", "--against", plan, "--json"});
  VERIFY_TOLD(slow.code == 1, slow);
  const QJsonObject slower = jsonOf(slow)["against"].toObject()["differences"].toArray()[0].toObject();
  QCOMPARE(slower["kind"].toString(), QString("less_bandwidth"));
  QVERIFY(slower["text"].toString().contains("half the width"));
  QVERIFY(!slower["allgather_with_it"].toString().isEmpty());
  const Outcome fewer = run({"check", "preset:dgx-a100,boxes=2", "--against", "preset:dgx-a100,boxes=4", "--json"});
  VERIFY_TOLD(fewer.code == 1, fewer);
  const QJsonObject answer = jsonOf(fewer);
  QVERIFY(!answer["ok"].toBool());
  QCOMPARE(answer["against"].toObject()["differences"].toArray()[0].toObject()["kind"].toString(),
           QString("missing_host"));
}

void TestCliImport::gatherIsForRccl() {
  QTemporaryDir folder;
  const QString schedule = folder.filePath("g.schedule.json");
  const QString program = folder.filePath("g.xml");
  const Outcome made = run({"generate", "preset:dgx1-v100", "-c", "gather", "--root", "3", "-o", schedule});
  VERIFY_TOLD(made.code == 0, made);
  const Outcome refused = run({"export", schedule, "--target", "msccl-executor-nccl", "-o", program});
  VERIFY_TOLD(refused.code != 0 && refused.err.contains("--target rccl"), refused);
  // The window of the file is that of one rank's share.
  const Outcome exported =
      run({"export", schedule, "--target", "rccl", "--min-bytes", "64KiB", "--max-bytes", "1MiB", "-o", program});
  VERIFY_TOLD(exported.code == 0 && !exported.out.contains("gather_perf -b"), exported);
  VERIFY_TOLD(exported.out.contains("bytes of one rank's share"), exported);
  QFile file(program);
  QVERIFY(file.open(QIODevice::ReadOnly));
  const QByteArray head = file.readLine();
  QVERIFY2(head.contains("minBytes=\"8192\" maxBytes=\"131072\""), head.constData());
}

void TestCliImport::everyAnswerSaysOk_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::newRow("alltoall") << QStringList{"alltoall", "preset:dgx-a100,boxes=1"};
  QTest::newRow("synthesize") << QStringList{"synthesize", "preset:dgx1-v100", "-c", "allgather", "--chunks",
                                             "1",          "--steps",          "2",  "--rounds",  "2"};
  QTest::newRow("find-topology") << QStringList{"find-topology", "-n", "4", "-d", "2", "--duplex"};
}

void TestCliImport::everyAnswerSaysOk() {
  QFETCH(QStringList, arguments);
  const Outcome outcome = run(arguments << "--json");
  VERIFY_TOLD(outcome.code == 0, outcome);
  QVERIFY(jsonOf(outcome)["ok"].toBool());
}

QTEST_GUILESS_MAIN(TestCliImport)
#include "tst_cli_import.moc"
