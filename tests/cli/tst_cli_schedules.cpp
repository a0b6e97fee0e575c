// SPDX-License-Identifier: Apache-2.0
#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>

#include "support/cli_runner.hpp"

/// Baselines and step schedules through the built coppice-cli.
using namespace coppice::test;

namespace {

bool isRootedName(const QString& collective) {
  return collective == "broadcast" || collective == "reduce" || collective == "gather" || collective == "scatter";
}

}  // namespace

class TestCliSchedules : public QObject {
  Q_OBJECT

private slots:
  void baseline();
  void list();
  void saysHowItWasMade();
  void verifiesFiles_data();
  void verifiesFiles();
  void exportsFiles_data();
  void exportsFiles();
  void refusesExports();
  void runsFiles();
  void customPrograms();
  void gatherAndScatter_data();
  void gatherAndScatter();
  void alltoallOptimum();
  void allreduceThroughSwitches_data();
  void allreduceThroughSwitches();
  void plainSwitches_data();
  void plainSwitches();
  void allgatherThroughUnevenSwitches();
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
  QCOMPARE(outcome.json()["baselines"].toArray().size(), 19);
}

void TestCliSchedules::saysHowItWasMade() {
  const QTemporaryDir dir;
  const QString forest = dir.filePath("a.forest.json");
  const QString fabric = "preset:dgx-a100,boxes=2";
  QCOMPARE(run({"generate", fabric, "--max-height", "9", "-o", forest}).code, 0);
  const auto madeBy = [](const QString& file) { return run({"verify", file, "--json"}).json()["made_by"].toObject(); };
  QCOMPARE(madeBy(forest), (QJsonObject{{"method", "forestcoll"}, {"options", QJsonObject{{"max-height", "9"}}}}));
  const Outcome told = run({"verify", forest});
  QVERIFY2(told.out.contains("made by     forestcoll --max-height 9\n"), told.out);
  // It goes with the schedule into the other form.
  const QString steps = dir.filePath("a.schedule.json");
  QCOMPARE(run({"schedule", "convert", forest, steps}).code, 0);
  QCOMPARE(madeBy(steps), madeBy(forest));
  QCOMPARE(run({"generate", fabric, "--method", "ring", "-o", steps}).code, 0);
  QCOMPARE(madeBy(steps)["method"].toString(), QString("ring"));
  // So do files that are one of many.
  const QJsonObject byForestColl{{"method", "forestcoll"}, {"options", QJsonObject()}};
  const QString groups = dir.filePath("groups");
  QCOMPARE(run({"generate", fabric, "--mesh", "2x8", "--axis", "1", "-o", groups}).code, 0);
  QCOMPARE(madeBy(groups + "/group-1.forest.json"), byForestColl);
  const QString drill = dir.filePath("drill");
  QCOMPARE(run({"drill", fabric, "--kind", "nic", "--one-of-each", "-o", drill}).code, 0);
  QCOMPARE(madeBy(drill + "/in-use.forest.json"), byForestColl);
  // What is repaired was made by what made the schedule in use.
  QCOMPARE(run({"drill", forest, "--kind", "nic", "--one-of-each", "-o", drill}).code, 0);
  const QStringList files = QDir(drill).entryList({"*.forest.json"});
  QVERIFY(files.size() > 1);
  for (const QString& each : files) {
    QCOMPARE(madeBy(drill + "/" + each), madeBy(forest));
  }
  // A file does not steer the terminal.
  QFile file(forest);
  QVERIFY(file.open(QIODevice::ReadOnly));
  QByteArray text = file.readAll();
  file.close();
  text.replace("\"made_by\": {\"method\": \"forestcoll\"", "\"made_by\": {\"method\": \"a\\n\\u001b[31mb\"");
  QVERIFY(file.open(QIODevice::WriteOnly) && file.write(text) == text.size());
  file.close();
  const Outcome hostile = run({"verify", forest});
  QCOMPARE(hostile.code, 0);
  QVERIFY2(hostile.out.contains("a\\n\\x1b[31mb"), hostile.out);
  QVERIFY(!hostile.out.contains('\x1b'));
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
  QVERIFY(algbw > made.json()["algbw_GBps"].toDouble() * 0.9);
  if (made.json()["form"].toString() == "steps") {
    const Outcome free = run({"simulate", file, "-b", "1M", "--no-barriers", "--json"});
    const Outcome kept = run({"simulate", file, "-b", "1M", "--json"});
    QVERIFY2(free.code == 0, free.err);
    const auto timeOf = [](const Outcome& outcome) {
      return outcome.json()["rows"].toArray()[0].toObject()["time_us"].toDouble();
    };
    QVERIFY(timeOf(free) <= timeOf(kept) * 1.000001);
  } else {
    QCOMPARE(run({"simulate", file, "-b", "1M", "--no-barriers"}).code, 2);
  }

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

/// From a step schedule to a program that the runtime takes.
void TestCliSchedules::exportsFiles_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<QString>("collective");
  QTest::addColumn<QString>("target");
  QTest::newRow("alltoall") << "pairwise"
                            << "alltoall"
                            << "msccl";
  QTest::newRow("gather") << "direct"
                          << "gather"
                          << "rccl";
  QTest::newRow("scatter") << "direct"
                           << "scatter"
                           << "rccl";
  QTest::newRow("allreduce") << "double-binary-tree"
                             << "allreduce"
                             << "rccl-6.1";
}

void TestCliSchedules::exportsFiles() {
  QFETCH(QString, name);
  QFETCH(QString, collective);
  QFETCH(QString, target);
  QTemporaryDir dir;
  const QString file = dir.filePath("a.schedule.json");
  const QString xml = dir.filePath("a.xml");
  QVERIFY(run({"baseline", name, "preset:dgx-a100,boxes=1", "-c", collective, "-o", file}).code == 0);
  const Outcome exported = run({"export", file, "--target", target, "-o", xml, "--json"});
  QVERIFY2(exported.code == 0, exported.err);
  QVERIFY(exported.json()["verified"].toBool());
  QCOMPARE(exported.json()["collective"].toString(), collective);
  QVERIFY(!exported.json()["used_at"].toObject().isEmpty() && !exported.json()["run"].toObject().isEmpty());
  const Outcome verified = run({"verify", xml, "--runtime", target, "--json"});
  QVERIFY2(verified.code == 0, verified.err);
  QCOMPARE(verified.json()["collective"].toString(), collective);
  // As a program it can be simulated on its fabric too.
  const Outcome simulated = run({"simulate", xml, "--fabric", "preset:dgx-a100,boxes=1", "-b", "16M", "-e", "16M"});
  QVERIFY2(simulated.code == 0, simulated.err);
}

void TestCliSchedules::refusesExports() {
  QTemporaryDir dir;
  const QString gather = dir.filePath("g.schedule.json");
  const QString alltoall = dir.filePath("a.schedule.json");
  const QString xml = dir.filePath("x.xml");
  QVERIFY(run({"baseline", "direct", "preset:complete,gpus=3", "-c", "gather", "-o", gather}).code == 0);
  QVERIFY(run({"baseline", "direct", "preset:complete,gpus=3", "-c", "alltoall", "-o", alltoall}).code == 0);
  const auto says = [&](const QStringList& arguments, const char* word) {
    const Outcome outcome = run(QStringList{"export"} + arguments + QStringList{"-o", xml});
    return outcome.code != 0 && outcome.err.count('\n') == 1 && outcome.err.contains(word) && !QFile::exists(xml);
  };
  QVERIFY(says({gather}, "--target rccl"));
  QVERIFY(says({alltoall, "--in-place"}, "leave --in-place out"));
  QVERIFY(says({alltoall, "--format", "trees"}, "has no trees"));
  QVERIFY(says({alltoall, "--target", "rccl-6.0"}, "cpy is not built"));
  QVERIFY(says({alltoall, "--chunks", "100000"}, "32768"));
}

void TestCliSchedules::runsFiles() {
#ifndef COPPICE_EXEC
  QSKIP("coppice-exec is not built");
#endif
  QTemporaryDir dir;
  const QString file = dir.filePath("a.schedule.json");
  for (const QString& collective : {QString("alltoall"), QString("scatter"), QString("reduce_scatter")}) {
    QVERIFY(run({"baseline", "direct", "preset:complete,gpus=3", "-c", collective, "-o", file}).code == 0);
    const Outcome outcome = run({"run", file, "--backend", "threads", "-b", "64K", "-e", "64K", "-n", "1", "-w", "0"});
    QVERIFY2(outcome.code == 0, outcome.err + outcome.out);
    QVERIFY2(outcome.out.contains("# Out of bounds values : 0 OK"), outcome.out);
  }
  const Outcome bundled = run({"run", file, "--bundle", dir.filePath("bundle")});
  QVERIFY2(bundled.code == 0, bundled.err);
  QVERIFY(QFile::exists(dir.filePath("bundle/steps.schedule.json")));
}

/// A collective of one's own, from the table to the run of its program.
void TestCliSchedules::customPrograms() {
  QTemporaryDir dir;
  const QString goal = dir.filePath("goal.csv");
  const QString table = dir.filePath("a.csv");
  const QString file = dir.filePath("a.schedule.json");
  const QString xml = dir.filePath("a.xml");
  QVERIFY(write(goal, "share,sources,destinations,combines\n1/2,0,1-2,no\n1/2,all,0,yes\n"));
  QVERIFY(write(table,
                "step,shard,begin,end,from,to,reduces\n0,0,0,1,0,1,0\n0,0,0,1,0,2,0\n0,1,0,1,1,0,1\n"
                "0,1,0,1,2,0,1\n"));
  const Outcome made = run({"schedule", "convert", table, file, "--fabric", "preset:complete,gpus=3", "--goal", goal});
  QVERIFY2(made.code == 0, made.err);
  const Outcome exported = run({"export", file, "--target", "msccl", "--out-of-place", "-o", xml, "--json"});
  QVERIFY2(exported.code == 0, exported.err);
  QVERIFY(exported.json()["verified"].toBool());
  // Without its table the result cannot be judged.
  QCOMPARE(run({"verify", xml}).code, 1);
  for (const QString& source : {goal, file}) {
    const Outcome verified = run({"verify", xml, "--goal", source, "--json"});
    QVERIFY2(verified.code == 0, verified.err);
    QVERIFY(verified.json()["result_judged"].toBool() && verified.json()["meets_goal"].toBool());
  }
  const QString other = dir.filePath("other.csv");
  QVERIFY(write(other, "share,sources,destinations,combines\n1/2,1,1-2,no\n1/2,all,0,yes\n"));
  const Outcome wrong = run({"verify", xml, "--goal", other});
  QVERIFY2(wrong.code == 1 && wrong.err.contains("must hold a copy of"), wrong.err);
  QVERIFY(write(other, "share,sources,destinations,combines\n1/3,0,1-2,no\n2/3,all,0,yes\n"));
  const Outcome uneven = run({"verify", xml, "--goal", other});
  QVERIFY2(uneven.code == 2 && uneven.err.contains("multiple of 3 chunks"), uneven.err);
  const Outcome simulated = run({"simulate", xml, "--fabric", "preset:complete,gpus=3", "-b", "1M", "-e", "1M"});
  QVERIFY2(simulated.code == 0, simulated.err);
#ifdef COPPICE_EXEC
  const QStringList small{"--backend", "threads", "-b", "64K", "-e", "64K", "-n", "1", "-w", "0"};
  for (const QStringList& words : {QStringList{"run", file}, QStringList{"run", xml, "--goal", goal}}) {
    const Outcome ran = run(words + small);
    QVERIFY2(ran.code == 0 && ran.out.contains("# Out of bounds values : 0 OK"), ran.err + ran.out);
  }
  const Outcome refused = run(QStringList{"run", xml} + small);
  QVERIFY2(refused.code == 1 && refused.out.contains("--goal TABLE"), refused.out + refused.err);
  const Outcome bundled = run({"run", xml, "--goal", goal, "--bundle", dir.filePath("bundle")});
  QVERIFY2(bundled.code == 0, bundled.err);
  QCOMPARE(contents(dir.filePath("bundle/goal.csv")), contents(goal));
  QVERIFY(contents(dir.filePath("bundle/run.sh")).contains("--goal goal.csv"));
#endif
}

void TestCliSchedules::gatherAndScatter_data() {
  QTest::addColumn<QString>("collective");
  QTest::addColumn<QStringList>("more");
  QTest::addColumn<QString>("algbw");
  QTest::addColumn<QString>("direction");
  QTest::addColumn<int>("demand");
  // 15 of 16 shards through the root's 325 GB/s.
  QTest::newRow("gather") << "gather" << QStringList{} << "1040/3"
                          << "leaving" << 15;
  QTest::newRow("scatter") << "scatter" << QStringList{} << "1040/3"
                           << "entering" << 15;
  // The other box has 4 of 5 parts and 200 GB/s.
  QTest::newRow("amounts") << "scatter" << QStringList{"--amounts", "b0*=1,b1*=4"} << "250"
                           << "entering" << 32;
}

void TestCliSchedules::gatherAndScatter() {
  QFETCH(QString, collective);
  QFETCH(QStringList, more);
  QFETCH(QString, algbw);
  QFETCH(QString, direction);
  QFETCH(int, demand);
  const QStringList question =
      QStringList{"preset:dgx-a100,boxes=2", "-c", collective, "--root", "b0g3", "--json"} + more;
  const Outcome optimum = run(QStringList{"optimum"} + question);
  QVERIFY2(optimum.code == 0, optimum.err);
  QCOMPARE(optimum.json()["algbw"].toString(), algbw);
  QCOMPARE(optimum.json()["root"].toString(), QString("b0g3"));
  QCOMPARE(optimum.json()["cut"].toObject()["direction"].toString(), direction);
  QCOMPARE(optimum.json()["cut"].toObject()["demand"].toInt(), demand);
  QVERIFY(optimum.json()["optimal"].toBool());
  QVERIFY(!optimum.json()["bottleneck_cut"].toArray().contains("b0g3"));

  QTemporaryDir dir;
  const QString file = dir.filePath("a.schedule.json");
  const Outcome made = run(QStringList{"generate"} + question + QStringList{"-o", file});
  QVERIFY2(made.code == 0, made.err);
  QCOMPARE(made.json()["algbw"].toString(), algbw);
  QCOMPARE(made.json()["method"].toString(), QString("forestcoll"));
  QVERIFY(made.json()["optimal"].toBool() && made.json()["verified"].toBool() && made.json()["bound_proved"].toBool());
  const Outcome verified = run({"verify", file, "--json"});
  QVERIFY2(verified.code == 0, verified.err);
  QCOMPARE(verified.json()["algbw"].toString(), algbw);
  const Outcome simulated =
      run({"simulate", file, "-b", "1G", "-e", "1G", "--link-latency", "0", "--message-overhead", "0", "--json"});
  QVERIFY2(simulated.code == 0, simulated.err);
  const double reached = simulated.json()["rows"].toArray()[0].toObject()["algbw"].toDouble();
  QVERIFY(reached <= made.json()["algbw_GBps"].toDouble() * 1.000001);
  QVERIFY2(reached > made.json()["algbw_GBps"].toDouble() * 0.8, QByteArray::number(reached));

  if (more.isEmpty()) {
    // What people run instead is told its share of this bound.
    const Outcome box = run({"optimum", "preset:dgx-a100,boxes=1", "-c", collective, "--root", "b0g3", "--json"});
    const Outcome direct =
        run({"baseline", "direct", "preset:dgx-a100,boxes=1", "-c", collective, "--root", "b0g3", "--json"});
    QVERIFY2(direct.code == 0, direct.err);
    QCOMPARE(direct.json()["optimum_algbw"].toString(), box.json()["algbw"].toString());
  }
}

void TestCliSchedules::alltoallOptimum() {
  const Outcome outcome = run({"optimum", "preset:ring,gpus=4,bandwidth=50", "-c", "alltoall", "--json"});
  QVERIFY2(outcome.code == 0, outcome.err);
  // 8 blocks of M / 4 from each half to the other, 4 each way, through 2 * 50 GB/s.
  QCOMPARE(outcome.json()["algbw"].toString(), QString("100"));
  QCOMPARE(outcome.json()["status"].toString(), QString("exact"));
  QVERIFY(outcome.json()["optimal"].toBool());
  QCOMPARE(outcome.json()["lower_algbw"].toString(), QString("100"));
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

void TestCliSchedules::allreduceThroughSwitches_data() {
  QTest::addColumn<QStringList>("arguments");
  const QString fabric = "preset:dgx-h100,boxes=1,nvls=true";
  QTest::addColumn<QString>("key");
  QTest::newRow("optimum") << QStringList{"optimum", fabric, "-c", "allreduce"} << "allreduce_bound.algbw";
  QTest::newRow("fixed k") << QStringList{"optimum", fabric, "-c", "allreduce", "--k", "1"} << "allreduce_bound.algbw";
  QTest::newRow("generate") << QStringList{"generate", fabric, "-c", "allreduce"} << "algbw";
  QTest::newRow("other method") << QStringList{"generate", fabric, "-c", "allreduce", "--method", "ring"}
                                << "optimum_algbw";
  QTest::newRow("overlapped") << QStringList{"generate", fabric, "-c", "allreduce", "--method", "forestcoll-overlap"}
                              << "algbw";
  QTest::newRow("baseline") << QStringList{"baseline", "ring", fabric, "-c", "allreduce"} << "optimum_algbw";
  QTest::newRow("bfb") << QStringList{"bfb", fabric, "-c", "allreduce", "--through-switches"} << "optimum_algbw";
  QTest::newRow("prices") << QStringList{"prices", fabric, "-c", "allreduce"} << "bound";
  QTest::newRow("failures") << QStringList{"n-1", fabric, "-c", "allreduce"} << "bound";
  QTest::newRow("what if") << QStringList{"what-if", fabric, "-c", "allreduce", "--link", "b0g0", "b0nvs"} << "bound";
}

/// Every door measures an allreduce by the same number: what no trees can beat where switches copy and sum.
void TestCliSchedules::allreduceThroughSwitches() {
  QFETCH(QStringList, arguments);
  QFETCH(QString, key);
  const Outcome outcome = run(arguments);
  QVERIFY2(outcome.code == 0, outcome.err);
  QVERIFY2(outcome.out.contains("450 GB/s"), outcome.out);
  QVERIFY2(!outcome.out.contains("may be faster"), outcome.out);
  const Outcome json = run(arguments + QStringList{"--json"});
  QVERIFY2(json.code == 0, json.err);
  QJsonValue value = json.json();
  for (const QString& part : key.split('.')) {
    value = value.isArray() ? value.toArray().at(part.toInt()) : value.toObject()[part];
  }
  QCOMPARE(value.toString(), QString("450"));
}

void TestCliSchedules::plainSwitches_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<QString>("key");
  const QString fabric = "preset:dgx-h100,boxes=1,nvls=true";
  QTest::newRow("optimum") << QStringList{"optimum", fabric} << "algbw";
  QTest::newRow("generate") << QStringList{"generate", fabric} << "algbw";
  QTest::newRow("prices") << QStringList{"prices", fabric} << "bound";
  QTest::newRow("failures") << QStringList{"n-1", fabric} << "bound";
  QTest::newRow("what if") << QStringList{"what-if", fabric, "--link", "b0g0", "b0nvs"} << "bound";
}

/// Switches are taken to forward only, and no text claims more than that.
void TestCliSchedules::plainSwitches() {
  QFETCH(QStringList, arguments);
  QFETCH(QString, key);
  const QStringList plain = arguments + QStringList{"-c", "allreduce", "--plain-switches"};
  const Outcome outcome = run(plain);
  QVERIFY2(outcome.code == 0, outcome.err);
  QVERIFY2(outcome.out.contains("switches of this fabric that sum or copy may be faster"), outcome.out);
  const Outcome json = run(plain + QStringList{"--json"});
  QVERIFY2(json.code == 0, json.err);
  QCOMPARE(json.json()[key].toString(), QString("1800/7"));
}

/// 10 GB/s up and 30 down: a switch that copies reaches 40.
void TestCliSchedules::allgatherThroughUnevenSwitches() {
  QTemporaryDir dir;
  const QString file = dir.filePath("star.fabric.json");
  const auto answerOf = [&file](const QByteArray& flags) {
    QByteArray text = R"({"name": "star", "nodes": [{"id": "s", "kind": "switch")" + flags + "}";
    QByteArray links;
    for (const char* gpu : {"a", "b", "c", "d"}) {
      text += QByteArray(R"(, {"id": ")") + gpu + R"(", "kind": "gpu"})";
      links += QByteArray(links.isEmpty() ? "" : ", ") + R"({"src": ")" + gpu +
               R"(", "dst": "s", "bandwidth": 10, "duplex": false}, {"src": "s", "dst": ")" + gpu +
               R"(", "bandwidth": 30, "duplex": false})";
    }
    QFile out(file);
    if (!out.open(QIODevice::WriteOnly)) {
      return Outcome();
    }
    out.write(text + "], \"links\": [" + links + "]}");
    out.close();
    return run({"optimum", file, "--json"});
  };
  const Outcome plain = answerOf("");
  QVERIFY2(plain.code == 0, plain.err);
  QCOMPARE(plain.json()["algbw"].toString(), QString("40/3"));
  QVERIFY(plain.json()["optimal"].toBool());
  const Outcome copying = answerOf(R"(, "multicast": true)");
  QVERIFY2(copying.code == 0, copying.err);
  QCOMPARE(copying.json()["algbw"].toString(), QString("40"));
  QCOMPARE(copying.json()["plain_switches"].toObject()["algbw"].toString(), QString("40/3"));
  QVERIFY(copying.json()["optimal"].toBool());
  const Outcome ignored = run({"optimum", file, "--plain-switches", "--json"});
  QCOMPARE(ignored.json()["algbw"].toString(), QString("40/3"));
  QVERIFY(!ignored.json()["optimal"].toBool());
}

QTEST_APPLESS_MAIN(TestCliSchedules)
#include "tst_cli_schedules.moc"
