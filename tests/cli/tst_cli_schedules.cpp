// SPDX-License-Identifier: Apache-2.0
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

/// Baselines and step schedules through the built coppice-cli.
namespace {

struct Outcome {
  int code = -1;  ///< -1: it did not exit by itself
  QByteArray out;
  QByteArray err;

  [[nodiscard]] QJsonObject json() const { return QJsonDocument::fromJson(out).object(); }
};

Outcome run(const QStringList& arguments) {
  constexpr int kTimeoutMilliseconds = 120'000;
  QProcess process;
  process.start(QStringLiteral(COPPICE_CLI), arguments);
  process.closeWriteChannel();
  Outcome outcome;
  if (process.waitForFinished(kTimeoutMilliseconds) && process.exitStatus() == QProcess::NormalExit) {
    outcome.code = process.exitCode();
  }
  outcome.out = process.readAllStandardOutput();
  outcome.err = process.readAllStandardError();
  return outcome;
}

bool isRootedName(const QString& collective) {
  return collective == "broadcast" || collective == "reduce" || collective == "gather" || collective == "scatter";
}

}  // namespace

class TestCliSchedules : public QObject {
  Q_OBJECT

private slots:
  void baseline();
  void list();
  void verifiesFiles_data();
  void verifiesFiles();
  void refuses_data();
  void refuses();
};

void TestCliSchedules::baseline() {
  const Outcome outcome = run({"baseline", "multi-ring", "preset:dgx-a100,boxes=2", "-c", "allgather", "--json"});
  QVERIFY2(outcome.code == 0, outcome.err);
  QCOMPARE(outcome.json()["algbw"].toString(), QString("640/3"));
  QCOMPARE(outcome.json()["t_b"].toString(), QString("3/640"));
  QCOMPARE(outcome.json()["steps"].toInt(), 15);
  QCOMPARE(outcome.json()["optimum_algbw"].toString(), QString("1040/3"));
  QCOMPARE(outcome.json()["share_of_optimum"].toString(), QString("8/13"));
}

void TestCliSchedules::list() {
  const Outcome outcome = run({"baseline", "list", "--json"});
  QVERIFY2(outcome.code == 0, outcome.err);
  QCOMPARE(outcome.json()["baselines"].toArray().size(), 15);
}

void TestCliSchedules::verifiesFiles_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<QString>("collective");
  QTest::newRow("alltoall") << "pairwise"
                            << "alltoall";
  QTest::newRow("gather") << "direct"
                          << "gather";
  QTest::newRow("order, not steps") << "double-binary-tree"
                                    << "allreduce";
  QTest::newRow("two phases") << "blink"
                              << "allreduce";
}

void TestCliSchedules::verifiesFiles() {
  QFETCH(QString, name);
  QFETCH(QString, collective);
  QTemporaryDir dir;
  const QString file = dir.filePath("a.schedule.json");
  const Outcome made = run({"baseline", name, "preset:dgx-a100,boxes=1", "-c", collective, "-o", file, "--json"});
  QVERIFY2(made.code == 0, made.err);
  const Outcome verified = run({"verify", file, "--json"});
  QVERIFY2(verified.code == 0, verified.err);
  QVERIFY(verified.json()["ok"].toBool());
  if (!isRootedName(collective)) {
    // As a method of generate it is the same schedule, to the byte.
    const QString again = dir.filePath("b.schedule.json");
    const Outcome generated =
        run({"generate", "preset:dgx-a100,boxes=1", "--method", name, "-c", collective, "-o", again, "--json"});
    QVERIFY2(generated.code == 0, generated.err);
    QFile first(file);
    QFile second(again);
    QVERIFY(first.open(QIODevice::ReadOnly) && second.open(QIODevice::ReadOnly));
    QCOMPARE(second.readAll(), first.readAll());
  }
  QCOMPARE(verified.json()["collective"].toString(), collective);
  QCOMPARE(verified.json()["algbw"], made.json()["algbw"]);

  // Bandwidth alone: a synchronous schedule takes exactly t_b, one that pipelines comes near it and never beats it.
  const Outcome simulated =
      run({"simulate", file, "-b", "1G", "-e", "1G", "--link-latency", "0", "--message-overhead", "0", "--json"});
  QVERIFY2(simulated.code == 0, simulated.err);
  const double algbw = simulated.json()["rows"].toArray()[0].toObject()["algbw"].toDouble();
  QVERIFY(algbw <= made.json()["algbw_GBps"].toDouble() * 1.000001);
  QVERIFY(algbw > made.json()["algbw_GBps"].toDouble() * 0.5);

  QFile changed(file);
  QVERIFY(changed.open(QIODevice::ReadWrite));
  QByteArray text = changed.readAll();
  text.replace("\"algbw\": \"", "\"algbw\": \"9");
  changed.resize(0);
  changed.write(text);
  changed.close();
  const Outcome refused = run({"verify", file, "--json"});
  QCOMPARE(refused.code, 1);
  QVERIFY(!refused.json()["ok"].toBool());
}

void TestCliSchedules::refuses_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<int>("code");
  QTest::newRow("unknown baseline") << QStringList{"baseline", "star", "preset:dgx-a100"} << 2;
  QTest::newRow("no fabric") << QStringList{"baseline", "ring"} << 2;
  QTest::newRow("unknown collective") << QStringList{"baseline", "ring", "preset:dgx-a100", "-c", "scan"} << 2;
  QTest::newRow("root of none") << QStringList{"baseline", "ring", "preset:dgx-a100", "--root", "0"} << 2;
  QTest::newRow("not on this fabric") << QStringList{"baseline", "recursive-doubling", "preset:ring,gpus=6"} << 1;
}

void TestCliSchedules::refuses() {
  QFETCH(QStringList, arguments);
  QFETCH(int, code);
  const Outcome outcome = run(arguments);
  QCOMPARE(outcome.code, code);
  QVERIFY(outcome.err.startsWith("coppice-cli: "));
  QCOMPARE(outcome.err.count('\n'), 1);
}

QTEST_APPLESS_MAIN(TestCliSchedules)
#include "tst_cli_schedules.moc"
