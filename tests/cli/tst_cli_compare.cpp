// SPDX-License-Identifier: Apache-2.0
#include <QDir>
#include <QFile>
#include <QHash>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>

#include "support/cli_runner.hpp"

using namespace coppice::test;

/// compare, best and schedule convert through the built coppice-cli.
namespace {

constexpr const char* kFabric = "preset:dgx-a100,boxes=2";

QJsonObject scheduleNamed(const QJsonObject& report, const QString& name) {
  for (const QJsonValue& each : report["schedules"].toArray()) {
    if (each.toObject()["name"].toString() == name) {
      return each.toObject();
    }
  }
  return {};
}

QJsonObject jsonOf(const Outcome& outcome) {
  return QJsonDocument::fromJson(outcome.out).object();
}

}  // namespace

class TestCliCompare : public QObject {
  Q_OBJECT

private slots:
  void methods();
  void files();
  void fabricAlone();
  void toTheByte();
  void everyMethod();
  void oneBound();
  void best();
  void bestProgramsOnCapableSwitches();
  void totalTime();
  void convertsForests();
  void convertsTables();
  void convertsShards_data();
  void convertsShards();
  void fabricOfASchedule();
  void refuses_data();
  void refuses();

private:
  QTemporaryDir m_dir;
};

void TestCliCompare::methods() {
  const Outcome outcome = run({"compare", kFabric, "--method", "forestcoll,multi-ring,ring", "-c", "allgather", "-b",
                               "1K", "-e", "1G", "-f", "32", "--json"});
  QVERIFY2(outcome.code == 0, outcome.err);
  const QJsonObject report = jsonOf(outcome);
  QCOMPARE(report["schedules"].toArray().size(), 3);
  const QJsonObject forest = scheduleNamed(report, "forestcoll");
  QCOMPARE(forest["algbw"].toString(), QString("1040/3"));
  QCOMPARE(forest["share_of_optimum"].toString(), QString("1"));
  const QJsonObject ring = scheduleNamed(report, "multi-ring");
  QCOMPARE(ring["algbw"].toString(), QString("640/3"));
  QCOMPARE(ring["share_of_optimum"].toString(), QString("8/13"));
  QCOMPARE(ring["steps"].toInt(), 15);
  QVERIFY(ring["stretch"].toObject()["max"].toInt() >= 2);
  // Within a box two links a hop, between boxes two more; the tree of a shard joins two boxes once.
  QCOMPARE(ring["least_traffic"].toString(), QString("32"));
  const QJsonArray best = report["best"].toArray();
  QCOMPARE(best.size(), 5);
  QCOMPARE(best.last().toObject()["schedule"].toString(), QString("forestcoll"));
  for (const QJsonValue& each : best) {
    const double size = each.toObject()["size"].toDouble();
    double min = 0;
    QString name;
    for (const QJsonValue& schedule : report["schedules"].toArray()) {
      for (const QJsonValue& row : schedule.toObject()["rows"].toArray()) {
        const double time = row.toObject()["time_us"].toDouble();
        if (row.toObject()["size"].toDouble() == size && (name.isEmpty() || time < min)) {
          min = time;
          name = schedule.toObject()["name"].toString();
        }
        QVERIFY(row.toObject()["algbw"].toDouble() <= schedule.toObject()["algbw_GBps"].toDouble() * 1.000001);
      }
    }
    QCOMPARE(each.toObject()["schedule"].toString(), name);
    QVERIFY(scheduleNamed(report, name)["best"].toArray().contains(size));
  }
  const QJsonArray bands = report["switch_over"].toArray();
  QCOMPARE(bands.first().toObject()["from"].toDouble(), 1024.0);
}

void TestCliCompare::files() {
  const QString forest = m_dir.filePath("ag.forest.json");
  const QString ring = m_dir.filePath("ring.schedule.json");
  const QString program = m_dir.filePath("ag.xml");
  QCOMPARE(run({"generate", kFabric, "-o", forest}).code, 0);
  QCOMPARE(run({"baseline", "ring", kFabric, "-o", ring}).code, 0);
  QCOMPARE(run({"export", forest, "-o", program}).code, 0);
  const Outcome outcome = run({"compare", forest, ring, program, "--fabric", forest, "-b", "64M", "--json"});
  QVERIFY2(outcome.code == 0, outcome.err);
  const QJsonObject report = jsonOf(outcome);
  QCOMPARE(scheduleNamed(report, program)["kind"].toString(), QString("program"));
  // The links allow a program what they allow the forest that it was lowered from.
  QCOMPARE(scheduleNamed(report, program)["algbw"], scheduleNamed(report, forest)["algbw"]);
  QCOMPARE(scheduleNamed(report, forest)["algbw"].toString(), QString("1040/3"));
  QCOMPARE(report["best"].toArray().size(), 1);
  const Outcome text = run({"compare", forest, ring, "-b", "64M"});
  QCOMPARE(text.code, 0);
  QVERIFY(text.out.contains("* " + forest.toUtf8()));
}

/// A fabric alone is compared by all methods.
void TestCliCompare::fabricAlone() {
  const QJsonObject report =
      jsonOf(run({"compare", "preset:complete,gpus=3", "--time-limit", "2s", "-b", "1M", "--json"}));
  for (const char* name : {"ring", "forestcoll", "bfb"}) {
    QVERIFY2(!scheduleNamed(report, name).isEmpty(), name);
  }
}

/// At the switch-over the new one is at least as fast, and a byte before it is not.
void TestCliCompare::toTheByte() {
  const QStringList two = {"compare",      "preset:complete,gpus=8",
                           "--method",     "ring,recursive-doubling",
                           "-c",           "allreduce",
                           "--time-limit", "1m",
                           "--json"};
  const QJsonObject report = jsonOf(run(two + QStringList{"-b", "1K", "-e", "1G", "-f", "1024", "--resolution", "1"}));
  const QJsonArray bands = report["switch_over"].toArray();
  QCOMPARE(bands.size(), 2);
  QCOMPARE(bands[1].toObject()["resolution"].toInt(), 1);
  const auto at = bands[1].toObject()["from"].toInteger();
  const auto fastestAt = [&](qint64 bytes) {
    return jsonOf(run(two + QStringList{"-b", QString::number(bytes)}))["best"].toArray()[0].toObject()["schedule"];
  };
  QCOMPARE(fastestAt(at), bands[1].toObject()["schedule"]);
  QCOMPARE(fastestAt(at - 1), bands[0].toObject()["schedule"]);
}

void TestCliCompare::everyMethod() {
  const Outcome outcome =
      run({"compare", "preset:dgx-a100,boxes=1", "--methods", "all", "-c", "alltoall", "-b", "1M", "--json"});
  QVERIFY2(outcome.code == 0, outcome.err);
  const QJsonObject report = jsonOf(outcome);
  QVERIFY(!scheduleNamed(report, "pairwise").isEmpty());
  QVERIFY(scheduleNamed(report, "ring").isEmpty());  // makes no alltoall
  QVERIFY(report["schedules"].toArray().size() >= 3);
}

/// The halves of a forest and trees that overlap are held against one bound, though the first know a lower one.
void TestCliCompare::oneBound() {
  const QString fabric = m_dir.filePath("narrow.fabric.json");
  QVERIFY(write(fabric, R"({"nodes":[{"id":"a","kind":"gpu"},{"id":"b","kind":"gpu"},{"id":"c","kind":"gpu"}],
    "links":[{"src":"a","dst":"b","bandwidth":10},{"src":"a","dst":"c","bandwidth":1}]})"));
  const Outcome outcome =
      run({"compare", fabric, "--method", "forestcoll,forestcoll-overlap", "-c", "allreduce", "-b", "1M", "--json"});
  QVERIFY2(outcome.code == 0, outcome.err);
  const QJsonObject report = jsonOf(outcome);
  QCOMPARE(scheduleNamed(report, "forestcoll")["share_of_optimum"].toString(), QString("1"));
  QCOMPARE(scheduleNamed(report, "forestcoll-overlap")["share_of_optimum"].toString(), QString("1"));
}

/// Programs send between GPUs, so that trees that need switches are made without.
void TestCliCompare::bestProgramsOnCapableSwitches() {
  const QString folder = m_dir.filePath("capable");
  const Outcome outcome = run({"best", "preset:dgx-h100,boxes=1", "--methods", "forestcoll,forestcoll-overlap", "-c",
                               "allreduce", "-b", "1M", "-e", "1G", "-f", "32", "-o", folder, "--json"});
  QVERIFY2(outcome.code == 0, outcome.err);
  const QJsonObject report = jsonOf(outcome);
  QVERIFY2(report["not_exported"].toArray().isEmpty(), outcome.out);
  QVERIFY(!report["programs"].toArray().isEmpty());
}

void TestCliCompare::best() {
  const QString folder = m_dir.filePath("plan");
  const QStringList question = {
      "best", "preset:dgx-a100,boxes=1", "-c", "allreduce", "-b", "1K", "-e", "1G", "-f", "32", "--json"};
  const QJsonObject all = jsonOf(run(question));
  QVERIFY(all["switch_over"].toArray().size() >= 1);
  const Outcome outcome = run(question + QStringList{"-o", folder});
  QVERIFY2(outcome.code == 0, outcome.err);
  const QJsonArray programs = jsonOf(outcome)["programs"].toArray();
  QVERIFY(!programs.isEmpty());
  qint64 next = 1024;
  for (const QJsonValue& each : programs) {
    QCOMPARE(each.toObject()["first"].toInteger(), next);
    next = each.toObject()["last"].toInteger() + 1;
    const Outcome verified = run({"verify", folder + "/" + each.toObject()["program"].toString(), "--json"});
    QVERIFY2(verified.code == 0, verified.err);
    QCOMPARE(run({"verify", folder + "/" + each.toObject()["schedule_file"].toString()}).code, 0);
  }
  QCOMPARE(next, (qint64{1} << 30) + 1);
  QVERIFY(QFile::exists(folder + "/plan.json"));
}

/// The time is for all methods together; each is listed with what it gave, and what gave nothing has a reason.
void TestCliCompare::totalTime() {
  const Outcome outcome =
      run({"best", kFabric, "-c", "allgather", "-b", "1M", "-e", "1M", "--total-time", "20s", "--json"});
  QVERIFY2(outcome.code == 0, outcome.err);
  const QJsonObject report = jsonOf(outcome);
  QHash<QString, int> made;
  int all = 0;
  for (const QJsonValue& each : report["methods"].toArray()) {
    const QString method = each.toObject()["method"].toString();
    QVERIFY2(!made.contains(method), qPrintable(method));
    made[method] = each.toObject()["schedules"].toInt();
    all += made[method];
    QVERIFY(each.toObject()["seconds"].toDouble() >= 0);
  }
  QCOMPARE(all, report["schedules"].toArray().size());
  // Through switches, in steps and as trees.
  QCOMPARE(made["bfb"], 2);
  for (const char* method : {"forestcoll", "sccl", "taccl", "ring"}) {
    QVERIFY2(made[method] >= 1, method);
  }
  for (const QJsonValue& each : report["refused"].toArray()) {
    QVERIFY(made.contains(each.toObject()["method"].toString()));
    QVERIFY(!each.toObject()["reason"].toString().isEmpty());
    made[each.toObject()["method"].toString()] += 1;
  }
  QVERIFY(std::all_of(made.begin(), made.end(), [](int count) { return count > 0; }));
}

void TestCliCompare::convertsForests() {
  const QString forest = m_dir.filePath("star.forest.json");
  const QString steps = m_dir.filePath("star.schedule.json");
  QCOMPARE(run({"generate", "preset:dgx-a100", "-o", forest}).code, 0);
  for (const QString& pieces : {QString("1"), QString("3")}) {
    const Outcome outcome = run({"schedule", "convert", forest, steps, "--pieces", pieces, "--json"});
    QVERIFY2(outcome.code == 0, outcome.err);
    QCOMPARE(jsonOf(outcome)["from"].toString(), QString("forest"));
    const QJsonObject verified = jsonOf(run({"verify", steps, "--json"}));
    QVERIFY(verified["ok"].toBool());
    QCOMPARE(verified["algbw"].toString(), jsonOf(run({"verify", forest, "--json"}))["algbw"].toString());
  }
  // Transfers without steps are cut like trees.
  const QString cut = m_dir.filePath("cut.schedule.json");
  const Outcome again = run({"schedule", "convert", steps, cut, "--pieces", "4", "--json"});
  QVERIFY2(again.code == 0, again.err);
  const Outcome whole = run({"schedule", "convert", steps, m_dir.filePath("whole.csv"), "--json"});
  QCOMPARE(jsonOf(again)["transfers"].toInt(), 4 * jsonOf(whole)["transfers"].toInt());
  QCOMPARE(jsonOf(run({"verify", cut, "--json"}))["algbw"], jsonOf(run({"verify", steps, "--json"}))["algbw"]);
  // Played in pieces, the transfers take about what the trees take, where equal trees are several connections.
  QCOMPARE(run({"schedule", "convert", forest, steps}).code, 0);
  const auto timeOf = [&](const QString& file) {
    return jsonOf(run({"simulate", file, "-b", "64M", "--pieces", "16", "--json"}))["rows"]
        .toArray()[0]
        .toObject()["time_us"]
        .toDouble();
  };
  QVERIFY(qAbs(timeOf(forest) - timeOf(steps)) <= 0.1 * timeOf(forest));
}

void TestCliCompare::convertsTables() {
  for (const auto& [name, collective] :
       {std::pair("pairwise", "alltoall"), {"ring", "allreduce"}, {"blink", "allreduce"}}) {
    const QString first = m_dir.filePath("first.schedule.json");
    const QString table = m_dir.filePath("table.csv");
    const QString second = m_dir.filePath("second.schedule.json");
    const QString tableAgain = m_dir.filePath("again.csv");
    QCOMPARE(run({"baseline", name, "preset:dgx-a100,boxes=1", "-c", collective, "-o", first}).code, 0);
    QCOMPARE(run({"schedule", "convert", first, table}).code, 0);
    const Outcome back = run({"schedule", "convert", table, second, "--fabric", first, "-c", collective, "--json"});
    QVERIFY2(back.code == 0, back.err);
    QCOMPARE(run({"schedule", "convert", second, tableAgain}).code, 0);
    QFile one(table);
    QFile two(tableAgain);
    QVERIFY(one.open(QIODevice::ReadOnly) && two.open(QIODevice::ReadOnly));
    QCOMPARE(two.readAll(), one.readAll());
    QCOMPARE(jsonOf(run({"verify", second, "--json"}))["algbw"], jsonOf(run({"verify", first, "--json"}))["algbw"]);
  }
}

void TestCliCompare::convertsShards_data() {
  QTest::addColumn<QByteArray>("shards");
  QTest::addColumn<QByteArray>("transfers");
  QTest::addColumn<QStringList>("name");
  QTest::addColumn<QString>("algbw");
  const QByteArray columns = "step,shard,begin,end,from,to,reduces\n";
  QTest::newRow("custom") << QByteArray(
                                 "share,sources,destinations,combines\n1/2,0,1 3,no\n1/4,1-3,0,yes\n"
                                 "1/4,3,2-3,no\n")
                          << columns +
                                 "0,0,0,1/3,g0,g2,0\n0,0,1/3,1,g0,g1,0\n0,1,0,1,g3,g2,1\n1,0,0,1/3,g2,g1,0\n"
                                 "1,1,0,1,g2,g0,1\n1,2,0,1,g3,g2,0\n2,0,0,1,g1,g3,0\n2,1,0,1,g1,g0,1\n"
                          << QStringList{} << "600/13";
  // Alltoallv of 4 ranks: one sends 3/16 of the whole to its neighbour, others less or nothing.
  QTest::newRow("alltoallv")
      << QByteArray(
             "share,sources,destinations\n0,0,0\n3,0,1\n0,0,2\n0,0,3\n0,1,0\n0,1,1\n1/2,1,2\n0,1,3\n"
             "0,2,0\n0,2,1\n0,2,2\n1/4,2,3\n1/4,3,0\n0,3,1\n0,3,2\n0,3,3\n")
      << columns + "0,1,0,1,g0,g1,0\n0,6,0,1,g1,g2,0\n0,11,0,1,g2,g3,0\n0,12,0,1,g3,g0,0\n"
      << QStringList{"-c", "alltoall"} << "50/3";
  QTest::newRow("amounts") << QByteArray("share,sources,destinations\n1/2,0,all\n1/4,1,all\n1/4,2,all\n0,3,all\n")
                           << columns +
                                  "0,0,0,1,0,1,0\n0,0,0,1,0,2,0\n0,0,0,1,0,3,0\n0,1,0,1,1,0,0\n0,1,0,1,1,2,0\n"
                                  "0,1,0,1,1,3,0\n0,2,0,1,2,0,0\n0,2,0,1,2,1,0\n0,2,0,1,2,3,0\n"
                           << QStringList{"-c", "allgather"} << "100";
}

/// Collectives whose shares no name tells: their table travels beside the transfers.
void TestCliCompare::convertsShards() {
  QFETCH(QByteArray, shards);
  QFETCH(QByteArray, transfers);
  QFETCH(QStringList, name);
  QFETCH(QString, algbw);
  QTemporaryDir dir;
  const QString goal = dir.filePath("goal.csv");
  const QString table = dir.filePath("a.csv");
  const QString file = dir.filePath("a.schedule.json");
  QVERIFY(write(goal, shards) && write(table, transfers));
  const QString fabric = "preset:complete,gpus=4,bandwidth=50";
  const Outcome made =
      run(QStringList{"schedule", "convert", table, file, "--fabric", fabric, "--goal", goal, "--json"} + name);
  QVERIFY2(made.code == 0, made.err);
  QCOMPARE(jsonOf(made)["collective"].toString(), name.isEmpty() ? QString("custom") : name[1]);
  QCOMPARE(jsonOf(made)["algbw"].toString(), algbw);
  const Outcome verified = run({"verify", file, "--goal", goal, "--json"});
  QVERIFY2(verified.code == 0, verified.err);
  QVERIFY(jsonOf(verified)["meets_goal"].toBool());

  // And back, by what the answer names.
  const QString tableAgain = dir.filePath("b.csv");
  const QString goalAgain = dir.filePath("b goal.csv");
  const QString again = dir.filePath("b.schedule.json");
  const Outcome silent = run({"schedule", "convert", file, tableAgain});
  QVERIFY2(silent.code == 0 && silent.out.contains("add --goal FILE"), silent.out + silent.err);
  const Outcome back = run({"schedule", "convert", file, tableAgain, "--goal", goalAgain, "--json"});
  QVERIFY2(back.code == 0, back.err);
  QVERIFY(jsonOf(back)["read_again"].toString().endsWith("--goal '" + goalAgain + "'"));
  const Outcome third =
      run(QStringList{"schedule", "convert", tableAgain, again, "--fabric", fabric, "--goal", goalAgain} + name);
  QVERIFY2(third.code == 0, third.err);
  QCOMPARE(contents(again), contents(file));
  // Neither file is written over the other.
  QCOMPARE(run({"schedule", "convert", file, tableAgain, "--goal", file}).code, 2);
  QCOMPARE(run({"schedule", "convert", file, tableAgain, "--goal", tableAgain}).code, 2);
  QCOMPARE(contents(again), contents(file));
}

void TestCliCompare::fabricOfASchedule() {
  const QString file = m_dir.filePath("fabric.schedule.json");
  QCOMPARE(run({"baseline", "ring", kFabric, "-o", file}).code, 0);
  const Outcome outcome = run({"optimum", file, "--json"});
  QVERIFY2(outcome.code == 0, outcome.err);
  QCOMPARE(jsonOf(outcome)["algbw"].toString(), QString("1040/3"));
}

void TestCliCompare::refuses_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<int>("code");
  QTest::addColumn<QString>("word");
  const auto row = [](const char* title, const QStringList& arguments, int code, const char* word) {
    QTest::newRow(title) << arguments << code << word;
  };
  row("unknown method", {"compare", kFabric, "--method", "star"}, 2, "\"star\" is not a method");
  row("no file", {"compare", "nothing.schedule.json"}, 2, "nothing.schedule.json");
  row("no method makes it", {"compare", "preset:ring,gpus=6", "--method", "recursive-doubling"}, 1, "");
  row("resolution", {"compare", kFabric, "--method", "ring", "--resolution", "0"}, 2, "--resolution");
  row("sizes", {"best", kFabric, "-b", "2G", "-e", "1G"}, 2, "-e is smaller");
  row("time limit", {"compare", kFabric, "--method", "ring", "--time-limit", "0"}, 2, "--time-limit");
  row("time limit in words", {"compare", kFabric, "--method", "ring", "--time-limit", "soon"}, 2, "for example 60s");
  row("total time", {"best", kFabric, "--total-time", "0"}, 2, "--total-time");
  row("no command", {"schedule"}, 2, "subcommand");
  row("pieces of steps", {"schedule", "convert", "STEPS", "out.csv", "--pieces", "2"}, 2, "--pieces");
  row("table without collective", {"schedule", "convert", "EMPTY", "b.schedule.json", "--fabric", kFabric}, 2,
      "does not name its collective");
  row("custom without shards", {"schedule", "convert", "EMPTY", "b.schedule.json", "--fabric", kFabric, "-c", "custom"},
      2, "add --goal TABLE");
  row("suffix", {"schedule", "convert", "a.schedule.json", "b.txt"}, 2, "suffix");
}

void TestCliCompare::refuses() {
  QFETCH(QStringList, arguments);
  QFETCH(int, code);
  QFETCH(QString, word);
  if (const auto place = arguments.indexOf("STEPS"); place >= 0) {
    arguments[place] = m_dir.filePath("steps.schedule.json");
    QCOMPARE(run({"baseline", "ring", "preset:dgx-a100,boxes=1", "-o", arguments[place]}).code, 0);
  }
  if (const auto place = arguments.indexOf("EMPTY"); place >= 0) {
    arguments[place] = m_dir.filePath("empty.csv");
    QVERIFY(write(arguments[place], "step,shard,begin,end,from,to,reduces\n"));
  }
  const Outcome outcome = run(arguments);
  QCOMPARE(outcome.code, code);
  QVERIFY(outcome.err.startsWith("coppice-cli: "));
  QCOMPARE(outcome.err.count('\n'), 1);
  QVERIFY2(outcome.err.contains(word.toUtf8()), outcome.err);
}

QTEST_APPLESS_MAIN(TestCliCompare)
#include "tst_cli_compare.moc"
