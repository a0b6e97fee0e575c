// SPDX-License-Identifier: Apache-2.0
#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>

#include "coppice/test_paths.hpp"
#include "support/cli_runner.hpp"

using namespace coppice::test;

/// The built coppice-cli drill: schedules that are repaired for each failure.
namespace {

QString example(const char* name) {
  return QStringLiteral(COPPICE_EXAMPLES) + "/" + name + ".fabric.json";
}

QByteArray textOf(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

}  // namespace

class TestCliDrill : public QObject {
  Q_OBJECT

private slots:
  void errors_data();
  void errors();
  void sameBoundsAsSingleFailures();
  void keepsMoreForLess();
  void ofASchedule();
  void pairs();
  void groups();
  void rootFails();
  void files();
};

void TestCliDrill::errors_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<QString>("message");
  const QString fabric = example("2x-dgx-a100");
  const auto row = [](const char* name, const QStringList& arguments, const char* message) {
    QTest::newRow(name) << arguments << message;
  };
  row("no fabric", {"drill"}, "fabric is required");
  row("unknown part", {"drill", fabric, "--kind", "gpu,fan"}, "\"fan\" is not a part");
  row("no trees", {"drill", fabric, "-c", "alltoall"}, "no trees that could be repaired");
  row("no root", {"drill", fabric, "-c", "broadcast"}, "--root");
  row("no loss", {"drill", fabric, "--within", "much"}, "\"much\" is not a loss");
  row("both limits", {"drill", fabric, "--within", "1%", "--keep-all"}, "excludes");
  row("no rails", {"drill", fabric, "--group", "rail"}, "serves several");
  row("no such file", {"drill", fabric, "--group", "nowhere/shelves.txt"}, "nowhere/shelves.txt");
  row("target without folder", {"drill", fabric, "--target", "msccl"}, "-o");
  row("a program", {"drill", QStringLiteral(COPPICE_EXAMPLES) + "/missing.xml"}, "missing.xml");
}

void TestCliDrill::errors() {
  QFETCH(QStringList, arguments);
  QFETCH(QString, message);
  const Outcome outcome = run(arguments);
  VERIFY_TOLD(outcome.code == 2 && outcome.out.isEmpty(), outcome);
  VERIFY_TOLD(outcome.err.startsWith("coppice-cli: ") && outcome.err.contains(message.toUtf8()), outcome);
}

/// Another calculation of the bound, from the fabric as a whole.
void TestCliDrill::sameBoundsAsSingleFailures() {
  const QString fabric = example("4x-dgx-h100-rails");
  const Outcome all = run({"n-1", fabric, "--parts", "link,nic,switch,gpu,box", "--json"});
  QMap<QString, QString> bounds;
  for (const QJsonValue& each : all.json()["ranking"].toArray()) {
    bounds[each["part"].toString() + each["name"].toString()] = each["algbw"].toString();
  }
  const Outcome outcome = run({"drill", fabric, "--json"});
  VERIFY_TOLD(outcome.code == 0 && outcome.err.isEmpty(), outcome);
  const QJsonObject json = outcome.json();
  QCOMPARE(json["failures"].toInt(), static_cast<int>(bounds.size()));
  int alike = 0;
  for (const QJsonValue& each : json["classes"].toArray()) {
    QCOMPARE(each["bound"].toString(), bounds.value(each["part"].toString() + each["name"].toString()));
    QCOMPARE(each["algbw"].toString(), each["bound"].toString());
    alike += each["alike"].toInt();
  }
  QCOMPARE(alike, static_cast<int>(bounds.size()));
}

void TestCliDrill::keepsMoreForLess() {
  const QStringList question{"drill", example("2x-dgx-a100"), "--kind", "gpu", "--json"};
  const auto gpu = [&](const QStringList& more) {
    const Outcome outcome = run(question + more);
    return outcome.json()["classes"].toArray()[0].toObject();
  };
  const QJsonObject exact = gpu({});
  const QJsonObject within = gpu({"--within", "5%"});
  const QJsonObject all = gpu({"--keep-all"});
  QCOMPARE(exact["alike"].toInt(), 16);
  QCOMPARE(exact["algbw"].toString(), exact["bound"].toString());
  QCOMPARE(all["algbw"].toString(), exact["keeping_all"].toString());
  QCOMPARE(all["kept_trees"].toInt(), all["unaffected_trees"].toInt());
  QVERIFY(within["algbw_GBps"].toDouble() >= 0.95 * exact["bound_GBps"].toDouble());
  QVERIFY(exact["moved_percent"].toDouble() >= within["moved_percent"].toDouble());
  QVERIFY(within["moved_percent"].toDouble() >= all["moved_percent"].toDouble());
}

void TestCliDrill::ofASchedule() {
  QTemporaryDir folder;
  const QString schedule = folder.filePath("rs.forest.json");
  QCOMPARE(run({"generate", example("2x-dgx-a100"), "-c", "reduce_scatter", "-o", schedule}).code, 0);
  const Outcome outcome = run({"drill", schedule, "--kind", "nic", "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  QCOMPARE(outcome.json()["collective"].toString(), "reduce_scatter");
  QCOMPARE(outcome.json()["classes"].toArray()[0].toObject()["bound"].toString(), "320");
  const Outcome twice = run({"drill", schedule, "-c", "allgather"});
  VERIFY_TOLD(twice.code == 2 && twice.err.contains("which collective"), twice);
  // Halves at the same time have no repair.
  const QString overlapped = folder.filePath("ar.forest.json");
  QCOMPARE(run({"generate", "preset:dgx-h100,boxes=2", "-c", "allreduce", "-o", overlapped}).code, 0);
  const Outcome refused = run({"drill", overlapped});
  VERIFY_TOLD(refused.code == 2 && refused.err.contains("cannot be repaired"), refused);
}

void TestCliDrill::pairs() {
  const Outcome outcome = run({"drill", example("2x-dgx-a100"), "--kind", "nic,switch", "--pairs", "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  // 16 NICs and 4 switches.
  QCOMPARE(outcome.json()["failures"].toInt(), 20 * 19 / 2);
  const QJsonArray classes = outcome.json()["classes"].toArray();
  QVERIFY(classes.size() < 30);
  // Without both networks the boxes are apart.
  QVERIFY(!classes[0].toObject()["impossible"].toString().isEmpty());
}

void TestCliDrill::groups() {
  const Outcome rails = run({"drill", example("4x-dgx-h100-rails"), "--group", "rail", "-c", "allreduce", "--json"});
  VERIFY_TOLD(rails.code == 0, rails);
  QCOMPARE(rails.json()["classes"].toArray().size(), 8);
  QTemporaryDir folder;
  QFile shelves(folder.filePath("shelves.txt"));
  QVERIFY(shelves.open(QIODevice::WriteOnly));
  shelves.write("upper: b0, rail0\nlower: b1, b2g*\n");
  shelves.close();
  const Outcome outcome = run({"drill", example("4x-dgx-h100-rails"), "--group", shelves.fileName(), "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  QMap<QString, int> gpus;
  for (const QJsonValue& each : outcome.json()["classes"].toArray()) {
    gpus[each["name"].toString()] = each["gpus"].toInt();
  }
  QCOMPARE(gpus, (QMap<QString, int>{{"upper", 24}, {"lower", 16}}));
}

void TestCliDrill::rootFails() {
  const Outcome outcome =
      run({"drill", example("2x-dgx-a100"), "--kind", "gpu", "-c", "broadcast", "--root", "b0g0", "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  const QJsonObject worst = outcome.json()["classes"].toArray()[0].toObject();
  QCOMPARE(worst["name"].toString(), "b0g0");
  QCOMPARE(worst["alike"].toInt(), 1);
  QVERIFY(worst["impossible"].toString().contains("root"));
}

/// What is written is found by the plan, and is right for the damaged fabric.
void TestCliDrill::files() {
  QTemporaryDir folder;
  const QString path = folder.filePath("drill");
  const Outcome outcome =
      run({"drill", "preset:dgx1-v100,boxes=1", "--kind", "gpu,link", "-o", path, "--target", "msccl", "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  const QJsonObject plan = QJsonDocument::fromJson(textOf(path + "/switching.json")).object();
  const QJsonArray failures = plan["failures"].toArray();
  QCOMPARE(failures.size(), outcome.json()["failures"].toInt());
  QCOMPARE(plan["in_use"].toObject()["program"].toString(), "in-use.xml");
  const QByteArray table = textOf(path + "/switching.md");
  QSet<QString> programs;
  for (const QJsonValue& each : failures) {
    const QString program = each["program"].toString();
    programs << program;
    QVERIFY(QFile::exists(path + "/" + program));
    QVERIFY(QFile::exists(path + "/" + each["schedule_file"].toString()));
    QVERIFY(table.contains(program.toUtf8()));
    QCOMPARE(each["gpus"].toArray().size(), each["part"].toString() == "gpu" ? 7 : 0);
  }
  QCOMPARE(programs.size(), failures.size());
  QVERIFY(programs.contains("gpu-g3.xml") || programs.contains("gpu-b0g3.xml"));
  const QString gpu = failures.last()["schedule_file"].toString();
  QCOMPARE(run({"verify", path + "/" + gpu}).code, 0);
  QCOMPARE(run({"verify", path + "/" + failures.last()["program"].toString()}).code, 0);
}

QTEST_GUILESS_MAIN(TestCliDrill)
#include "tst_cli_drill.moc"
