// SPDX-License-Identifier: Apache-2.0
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTest>
#include <csignal>

#include "coppice/test_paths.hpp"
#include "support/cli_runner.hpp"

using namespace coppice::test;

/// The built coppice-cli where it asks the bound again and again: n-1, prices and what-if.
namespace {

QString example(const char* name) {
  return QStringLiteral(COPPICE_EXAMPLES) + "/" + name + ".fabric.json";
}

}  // namespace

class TestCliLive : public QObject {
  Q_OBJECT

private slots:
  void help_data();
  void help();
  void errors_data();
  void errors();
  void failures();
  void failureThatCutsOff();
  void prices();
  void classes();
  void whatIf();
  void gather();
  void collectives_data();
  void collectives();
  void interrupted();
};

void TestCliLive::help_data() {
  QTest::addColumn<QString>("subcommand");
  for (const char* name : {"n-1", "drill", "prices", "what-if"}) {
    QTest::newRow(name) << name;
  }
}

void TestCliLive::help() {
  QFETCH(QString, subcommand);
  const Outcome outcome = run({subcommand, "--help"});
  QCOMPARE(outcome.code, 0);
  VERIFY_TOLD(outcome.out.contains("Examples:") && outcome.out.contains("--json"), outcome);
  VERIFY_TOLD(outcome.out.contains("coppice-cli " + subcommand.toUtf8()), outcome);
  VERIFY_TOLD(!outcome.out.contains("--k-max"), outcome);
  VERIFY_TOLD(run({"--help"}).out.contains(subcommand.toUtf8()), outcome);
}

void TestCliLive::errors_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<QString>("message");
  const QString fabric = example("2x-dgx-a100");
  const auto row = [&](const char* name, const QStringList& arguments, const char* message) {
    QTest::newRow(name) << arguments << message;
  };
  row("no fabric", {"n-1"}, "fabric is required");
  row("unknown part", {"n-1", fabric, "--parts", "gpu,fan"}, "\"fan\" is not a part");
  row("negative rows", {"n-1", fabric, "--top", "-1"}, "--top");
  row("broadcast without root", {"n-1", fabric, "-c", "broadcast"}, "--root");
  row("a fixed k", {"prices", fabric, "--k", "3"}, "--k");
  row("unknown grouping", {"prices", fabric, "--by", "colour"}, "link or class");
  row("no link", {"what-if", fabric}, "--link");
  row("half a link", {"what-if", fabric, "--link", "b0g0"}, "--link");
  row("unknown end", {"what-if", fabric, "--link", "b0g0", "b7nvs"}, "\"b7nvs\"");
  row("no such link", {"what-if", fabric, "--link", "b0g0", "b1g0"}, "no link runs");
  row("upside down", {"what-if", fabric, "--link", "b0g0", "b0nvs", "--lowest", "9", "--highest", "3"}, "--highest");
  row("no bandwidth", {"what-if", fabric, "--link", "b0g0", "b0nvs", "--lowest", "fast"}, "--lowest");
  row("below zero", {"what-if", fabric, "--link", "b0g0", "b0nvs", "--lowest=-1"}, "--lowest");
  row("class and one way", {"what-if", fabric, "--link", "b0g0", "b0nvs", "--class", "--one-way"}, "excludes");
}

void TestCliLive::errors() {
  QFETCH(QStringList, arguments);
  QFETCH(QString, message);
  const Outcome outcome = run(arguments);
  VERIFY_TOLD(outcome.code == 2 && outcome.out.isEmpty(), outcome);
  VERIFY_TOLD(outcome.err.startsWith("coppice-cli: ") && outcome.err.contains(message.toUtf8()), outcome);
  const Outcome json = run(arguments.mid(0, 1) + QStringList{"--json"} + arguments.mid(1));
  VERIFY_TOLD(json.code == 2 && !json.json()["ok"].toBool(true), json);
}

void TestCliLive::failures() {
  const Outcome outcome = run({"n-1", example("4x-dgx-h100-rails"), "--json"});
  VERIFY_TOLD(outcome.code == 0 && outcome.err.isEmpty(), outcome);
  const QJsonObject json = outcome.json();
  QCOMPARE(json["bound"].toString(), "16000/31");
  QCOMPARE(json["failures"].toInt(), 117);
  const QJsonArray ranking = json["ranking"].toArray();
  QCOMPARE(ranking.size(), 117);
  // A GPU off its NVSwitch has one rail of 50 GB/s for 31 shards.
  const QJsonObject worst = ranking[0].toObject();
  QCOMPARE(worst["part"].toString(), "link");
  QCOMPARE(worst["algbw"].toString(), "1600/31");
  QCOMPARE(worst["loss"].toString(), "9/10");
  for (int i = 1; i < ranking.size(); ++i) {
    QVERIFY(ranking[i - 1].toObject()["loss_percent"].toDouble() >= ranking[i].toObject()["loss_percent"].toDouble());
  }
  const Outcome text = run({"n-1", example("4x-dgx-h100-rails"), "--top", "3", "--parts", "gpu,switch"});
  VERIFY_TOLD(text.code == 0 && text.out.contains("13 switches, 32 GPUs"), text);
  VERIFY_TOLD(text.out.contains("and 42 more"), text);
  QCOMPARE(run({"n-1", example("4x-dgx-h100-rails"), "--json", "--top", "3"}).json()["ranking"].toArray().size(), 3);
}

void TestCliLive::failureThatCutsOff() {
  const Outcome outcome = run({"n-1", "preset:mi250,boxes=2", "--parts", "switch,box", "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  const QJsonArray ranking = outcome.json()["ranking"].toArray();
  QCOMPARE(ranking.size(), 3);
  const QJsonObject worst = ranking[0].toObject();
  QCOMPARE(worst["part"].toString(), "switch");
  QCOMPARE(worst["algbw"].toString(), "0");
  QCOMPARE(worst["loss"].toString(), "1");
  QCOMPARE(worst["finding"].toObject()["code"].toString(), "infeasible");
}

void TestCliLive::prices() {
  // Two GPUs of different speed on one switch beside a third: the slow one is what to raise.
  const Outcome outcome = run({"prices", "preset:cluster,boxes=3,gpus=1,nic=4,nvlink=1", "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  QCOMPARE(outcome.json()["worth_raising"].toInt(), 0);
  const Outcome tied = run({"prices", example("fat-tree-64")});
  VERIFY_TOLD(tied.code == 0 && tied.out.contains("no link alone raises the bound"), tied);
  const Outcome uneven = run({"prices", "preset:cluster,boxes=2,gpus=2,nic=9,1", "--json"});
  VERIFY_TOLD(uneven.code == 0, uneven);
  const QJsonArray rows = uneven.json()["prices"].toArray();
  // The second box takes in two shards over 2 GB/s: each of its NICs is worth 4/2 GB/s per GB/s.
  QCOMPARE(uneven.json()["bound"].toString(), "4");
  QCOMPARE(rows[0].toObject()["name"].toString().left(2), "b1");
  QCOMPARE(rows[0].toObject()["gain"].toString(), "2");
  QCOMPARE(rows[0].toObject()["bandwidth"].toString(), "1");
  QCOMPARE(rows.last().toObject()["gain"].toString(), "0");
  const Outcome top = run({"prices", "preset:cluster,boxes=2,gpus=2,nic=9,1", "--json", "--top", "1"});
  QCOMPARE(top.json()["prices"].toArray().size(), 1);
  // Links beside each other keep their own bandwidths.
  const Outcome parallel = run({"prices", "-", "--json"}, R"({"nodes":[{"id":"a","kind":"gpu"},{"id":"b","kind":"gpu"}],
      "links":[{"src":"a","dst":"b","bandwidth":5},{"src":"a","dst":"b","bandwidth":7,"count":2}]})");
  VERIFY_TOLD(parallel.code == 0, parallel);
  const QJsonArray both = parallel.json()["prices"].toArray();
  QCOMPARE(both[0].toObject()["bandwidth"].toString(), "7");  // twofold, so worth more
  QCOMPARE(both[1].toObject()["bandwidth"].toString(), "5");
}

void TestCliLive::classes() {
  const Outcome outcome = run({"prices", example("4x-dgx-h100-rails"), "--by", "class", "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  const QJsonArray rows = outcome.json()["prices"].toArray();
  QCOMPARE(rows.size(), 3);
  QCOMPARE(rows[0].toObject()["gain"].toString(), "32/31");
  QCOMPARE(rows[0].toObject()["arcs"].toInt(), 64);
  QCOMPARE(rows[2].toObject()["gain"].toString(), "0");
}

void TestCliLive::whatIf() {
  const Outcome outcome = run({"what-if", example("2x-dgx-a100"), "--link", "b0g0", "b0nic0", "--class", "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  const QJsonObject json = outcome.json();
  QCOMPARE(json["bound"].toString(), "1040/3");
  QCOMPARE(json["now"].toString(), "25");
  QCOMPARE(json["piecewise_linear"].toBool(), true);
  const QJsonArray points = json["points"].toArray();
  QCOMPARE(points.size(), 4);
  QCOMPARE(points[0].toObject()["algbw"].toString(), "0");
  QCOMPARE(points[1].toObject()["bandwidth"].toString(), "150/7");
  QCOMPARE(points[1].toObject()["slope_after"].toString(), "16/15");
  QCOMPARE(points[3].toObject()["bandwidth"].toString(), "100");
  const Outcome text =
      run({"what-if", example("2x-dgx-a100"), "--link", "b0g0", "b0nvs", "--lowest", "100", "--highest", "3200Gb/s"});
  VERIFY_TOLD(text.code == 0 && text.out.contains("300 GB/s (now)") && text.out.contains("400 GB/s"), text);
  const Outcome oneWay = run({"what-if", example("2x-dgx-a100"), "--link", "b0g0", "b0nvs", "--one-way", "--json"});
  VERIFY_TOLD(oneWay.code == 0 && oneWay.json()["arcs"].toInt() == 1, oneWay);
}

/// 15 of 16 shards enter the root over its NVSwitch (300 GB/s) and its NIC (25 GB/s): a GB/s more there is worth 16/15.
void TestCliLive::gather() {
  const QStringList question{example("2x-dgx-a100"), "-c", "gather", "--root", "b0g0", "--json"};
  const Outcome prices = run(QStringList{"prices"} + question);
  VERIFY_TOLD(prices.code == 0, prices);
  QCOMPARE(prices.json()["worth_raising"].toInt(), 1);
  const QJsonObject best = prices.json()["prices"].toArray().first().toObject();
  QCOMPARE(best["gain"].toString(), QString("16/15"));
  QCOMPARE(best["name"].toString(), QString("b0g0 - b0nvs"));
  const Outcome failures = run(QStringList{"n-1"} + question + QStringList{"--parts", "gpu"});
  VERIFY_TOLD(failures.code == 0, failures);
  const QJsonObject worst = failures.json()["ranking"].toArray().first().toObject();
  QCOMPARE(worst["name"].toString(), QString("b0g0"));
  QCOMPARE(worst["algbw"].toString(), QString("0"));
}

void TestCliLive::collectives_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::newRow("reduce_scatter") << QStringList{"-c", "reduce_scatter"};
  QTest::newRow("allreduce") << QStringList{"-c", "allreduce"};
  QTest::newRow("broadcast") << QStringList{"-c", "broadcast", "--root", "b0g3"};
  QTest::newRow("reduce") << QStringList{"-c", "reduce", "--root", "2"};
  QTest::newRow("gather") << QStringList{"-c", "gather", "--root", "b0g0"};
  QTest::newRow("scatter with amounts") << QStringList{"-c", "scatter", "--root", "1", "--amounts", "b0*=1,b1*=4"};
  QTest::newRow("some GPUs") << QStringList{"--gpus", "0-3,8-11"};
}

/// The bound that all three start from is the optimum's.
void TestCliLive::collectives() {
  QFETCH(QStringList, arguments);
  const Outcome optimum = run(QStringList{"optimum", example("2x-dgx-a100"), "--json"} + arguments);
  for (const QStringList& question :
       {QStringList{"n-1"}, QStringList{"prices"}, QStringList{"what-if", "--link", "b0g0", "b0nvs"}}) {
    const Outcome outcome = run(question + QStringList{example("2x-dgx-a100"), "--json"} + arguments);
    VERIFY_TOLD(outcome.code == 0, outcome);
    QCOMPARE(outcome.json()["bound"].toString(), optimum.json()["algbw"].toString());
  }
}

void TestCliLive::interrupted() {
  QProcess process;
  process.start(QStringLiteral(COPPICE_CLI), {"n-1", "preset:mi250,boxes=1000"});
  QVERIFY(process.waitForStarted());
  QTRY_VERIFY_WITH_TIMEOUT(handles(process, SIGINT), kTimeoutMilliseconds);
  QCOMPARE(kill(static_cast<pid_t>(process.processId()), SIGINT), 0);
  QVERIFY(process.waitForFinished(kTimeoutMilliseconds));
  QCOMPARE(process.exitStatus(), QProcess::NormalExit);
  QCOMPARE(process.exitCode(), 130);
}

QTEST_GUILESS_MAIN(TestCliLive)
#include "tst_cli_live.moc"
