// SPDX-License-Identifier: Apache-2.0
#include <QFile>
#include <QJsonArray>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>

#include "coppice/test_paths.hpp"
#include "support/cli_runner.hpp"

using namespace coppice::test;

/// Topologies through the built coppice-cli: find-topology, expand, patch.
class TestCliTopology : public QObject {
  Q_OBJECT

private slots:
  void front();
  void writesTheEntry_data();
  void writesTheEntry();
  void drawnGraphsAreReplaced();
  void ranges();
  void times();
  void alltoallTimes_data();
  void alltoallTimes();
  void changes();
  void expansions_data();
  void expansions();
  void presets();
  void patchTables();
  void patchPlans();
  void tablesOfTheDissertation();
  void refuses_data();
  void refuses();
};

void TestCliTopology::front() {
  const Outcome outcome = run({"find-topology", "-n", "1024", "-d", "4", "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  const QJsonArray front = outcome.json()["front"].toArray();
  QVERIFY(front.size() >= 2);
  const QJsonObject first = front.first().toObject();
  const QJsonObject last = front.last().toObject();
  QCOMPARE(first["steps"].toInt(), 5);
  QVERIFY(first["moore_optimal"].toBool());
  QCOMPARE(last["t_b"].toString(), QString("1023/1024"));
  QVERIFY(last["bw_optimal"].toBool());
  QVERIFY(!last["construction"].toString().isEmpty());
  QVERIFY(last["tree"].toObject().contains("operation"));
  QVERIFY(last["checked"].toBool());
  QVERIFY(!first["grows_to"].toArray().isEmpty());
  // Only duplex, only optimal, at most a number of steps.
  const Outcome duplex = run({"find-topology", "-n", "48", "-d", "4", "--duplex", "--json"});
  for (const QJsonValue& entry : duplex.json()["front"].toArray()) {
    QVERIFY(entry.toObject()["duplex"].toBool());
  }
  QCOMPARE(run({"find-topology", "-n", "1024", "-d", "4", "--optimal", "--json"}).json()["front"].toArray().size(), 1);
  const Outcome none = run({"find-topology", "-n", "1024", "-d", "4", "--max-steps", "3", "--json"});
  QCOMPARE(none.code, 1);
  QVERIFY(none.json()["front"].toArray().isEmpty());
}

void TestCliTopology::writesTheEntry_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::newRow("d = 4") << QStringList{"-n", "36", "-d", "4"};
  QTest::newRow("d = 2") << QStringList{"-n", "40", "-d", "2"};
  QTest::newRow("d = 3") << QStringList{"-n", "26", "-d", "3"};
  QTest::newRow("prime") << QStringList{"-n", "29", "-d", "4"};
  QTest::newRow("duplex") << QStringList{"-n", "30", "-d", "6", "--duplex"};
}

/// The written fabric has the claimed costs by `expand`'s evaluation of the built graph, on its own product with
/// nothing but itself: its links are read back from the file.
void TestCliTopology::writesTheEntry() {
  QFETCH(QStringList, arguments);
  QTemporaryDir folder;
  const Outcome all = run(QStringList{"find-topology"} + arguments + QStringList{"--json"});
  VERIFY_TOLD(all.code == 0, all);
  const QJsonArray front = all.json()["front"].toArray();
  for (int i = 0; i < front.size(); ++i) {
    const QString file = folder.filePath(QStringLiteral("%1.fabric.json").arg(i));
    const Outcome outcome = run(QStringList{"find-topology"} + arguments +
                                QStringList{"--index", QString::number(i), "--bandwidth", "100", "-o", file, "--json"});
    VERIFY_TOLD(outcome.code == 0, outcome);
    QCOMPARE(outcome.json()["written_index"].toInt(), i);
    const QJsonObject fabric = QJsonDocument::fromJson(contents(file)).object();
    QCOMPARE(fabric["nodes"].toArray().size(), all.json()["nodes"].toInt());
    const Outcome checked = run({"check", file, "--json"});
    VERIFY_TOLD(checked.code == 0, checked);
    const Outcome costs = run({"bfb", file, "-c", "allgather", "--json"});
    VERIFY_TOLD(costs.code == 0, costs);
    QCOMPARE(costs.json()["steps"].toInt(), front[i].toObject()["steps"].toInt());
    QCOMPARE(costs.json()["t_b"].toString(), front[i].toObject()["t_b"].toString());
  }
}

/// Table 3.4 at 1024 nodes has graphs that the dissertation only draws: what is written has their costs or better ones.
void TestCliTopology::drawnGraphsAreReplaced() {
  QTemporaryDir folder;
  const QStringList paper{"find-topology", "-n", "256", "-d", "4", "--paper", "--json"};
  const Outcome all = run(paper);
  VERIFY_TOLD(all.code == 0, all);
  QStringList notes;
  for (const QJsonValue& note : all.json()["notes"].toArray()) {
    notes << note.toString();
  }
  QVERIFY2(notes.join('\n').contains("is only drawn in the dissertation"), qPrintable(notes.join('\n')));
  int drawn = 0;
  for (const QJsonValue& entry : all.json()["front"].toArray()) {
    const QString name = entry["construction"].toString();
    if (!name.contains("DBJMod") && !name.contains("Diamond")) {
      continue;
    }
    ++drawn;
    const QString file = folder.filePath(QStringLiteral("%1.fabric.json").arg(drawn));
    const Outcome written = run(paper + QStringList{"--index", QString::number(entry["index"].toInt()), "-o", file});
    VERIFY_TOLD(written.code == 0, written);
    const Outcome costs = run({"bfb", file, "-c", "allgather", "--json"});
    VERIFY_TOLD(costs.code == 0, costs);
    QVERIFY(costs.json()["steps"].toInt() <= entry["steps"].toInt());
    QVERIFY(costs.json()["t_b"].toString().section('/', 0, 0).toDouble() /
                costs.json()["t_b"].toString().section('/', 1, 1).toDouble() <=
            entry["t_b"].toString().section('/', 0, 0).toDouble() /
                entry["t_b"].toString().section('/', 1, 1).toDouble());
  }
  QVERIFY(drawn > 0);
}

void TestCliTopology::ranges() {
  const Outcome outcome = run({"find-topology", "--all-n", "5..12", "-d", "4", "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  const QJsonArray fronts = outcome.json()["fronts"].toArray();
  QCOMPARE(fronts.size(), 8);
  for (const QJsonValue& front : fronts) {
    const int nodes = front.toObject()["nodes"].toInt();
    const QJsonObject last = front.toObject()["front"].toArray().last().toObject();
    QCOMPARE(last["t_b"].toString(), QStringLiteral("%1/%2").arg(nodes - 1).arg(nodes));
    QCOMPARE(last["steps"].toInt(), nodes == 5 ? 1 : 2);
  }
}

void TestCliTopology::times() {
  const Outcome outcome = run({"find-topology", "-n", "1024", "-d", "4", "--paper", "--alpha", "10", "--bandwidth",
                               "100Gb/s", "--size", "1MiB", "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  const QStringList printed = {"323.5", "291.0", "328.4", "387.8", "567.6"};
  const QJsonArray front = outcome.json()["front"].toArray();
  QCOMPARE(front.size(), printed.size());
  for (int i = 0; i < front.size(); ++i) {
    const QJsonObject time = front[i].toObject()["times_us"].toArray().first().toObject();
    QCOMPARE(QString::number(time["time_us"].toDouble(), 'f', 1), printed[i]);
  }
  QCOMPARE(outcome.json()["fastest"].toInt(), 1);
  QVERIFY(outcome.json()["fastest_by_size"].toArray().size() > 1);
}

void TestCliTopology::alltoallTimes_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<QStringList>("times");
  // By the linear program (A.1) with one commodity for each source, solved by another program.
  QTest::newRow("16 of 4") << QStringList{"-n", "16", "-d", "4"} << QStringList{"5/3", "2"};
  QTest::newRow("12 of 3") << QStringList{"-n", "12", "-d", "3"} << QStringList{"33/20", "7/4"};
  QTest::newRow("18 of 4, duplex") << QStringList{"-n", "18", "-d", "4", "--duplex"} << QStringList{"89/45"};
}

/// T_A of each entry, which the written fabric has by `alltoall`.
void TestCliTopology::alltoallTimes() {
  QFETCH(QStringList, arguments);
  QFETCH(QStringList, times);
  const Outcome outcome = run(QStringList{"find-topology", "--goal", "alltoall", "--json"} + arguments);
  VERIFY_TOLD(outcome.code == 0, outcome);
  QStringList found;
  for (const QJsonValue& entry : outcome.json()["front"].toArray()) {
    const QJsonObject alltoall = entry.toObject()["alltoall"].toObject();
    QVERIFY(alltoall["exact"].toBool());
    QCOMPARE(alltoall["t_a"], alltoall["least_t_a"]);
    QCOMPARE(entry.toObject()["diameter"], entry.toObject()["steps"]);
    found << alltoall["t_a"].toString();
  }
  QCOMPARE(found, times);
}

/// A ring of 16 GPUs with two ports of 50 GB/s against 4 ports of 25: 8 steps and 15/16 for each half; the entry has 3
/// steps and 15/16. A step of ten calls of 1 MB saves 2 x 5 steps of 10 us each, 1 ms in all.
void TestCliTopology::changes() {
  const auto ask = [](const QString& time, const QString& steps) {
    return run({"find-topology", "-n", "16", "-d", "4", "--duplex", "--present", "preset:ring,gpus=16,bandwidth=50",
                "--size", "1000000=10", "--reconfiguration", time, "--job-steps", steps, "--json"});
  };
  const Outcome outcome = ask("10ms", "1000");
  VERIFY_TOLD(outcome.code == 0, outcome);
  const QJsonObject change = outcome.json()["changes"].toArray().first().toObject();
  QCOMPARE(change["present_us"].toString(), QString("3575/2"));
  QCOMPARE(change["changed_us"].toString(), QString("1575/2"));
  QCOMPARE(change["pays_from_steps"].toInt(), 11);
  QCOMPARE(change["gain_us"].toString(), QString("990000"));
  const QJsonObject slow = ask("5min", "1000").json()["changes"].toArray().first().toObject();
  QCOMPARE(slow["pays_from_steps"].toInt(), 300'001);
  QCOMPARE(slow["gain_us"].toString(), QString("-299000000"));
  // What is wired already gains nothing.
  QTemporaryDir folder;
  const QString file = folder.filePath("same.fabric.json");
  QCOMPARE(run({"find-topology", "-n", "16", "-d", "4", "--duplex", "-o", file}).code, 0);
  const Outcome same = run({"find-topology", "-n", "16", "-d", "4", "--duplex", "--present", file, "--size", "1MiB",
                            "--reconfiguration", "10ms", "--json"});
  QVERIFY(same.json()["changes"].toArray().first().toObject()["pays_from_steps"].isNull());
}

void TestCliTopology::expansions_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<int>("nodes");
  QTest::addColumn<int>("steps");
  QTest::addColumn<QString>("time");
  const QString k44 = "preset:complete-bipartite,left=4,right=4";
  QTest::newRow("line") << QStringList{k44, "--line", "3"} << 512 << 5 << "133/128";
  QTest::newRow("degree") << QStringList{"preset:ring,gpus=5", "--degree", "2"} << 10 << 2 << "9/10";
  QTest::newRow("power") << QStringList{"preset:complete,gpus=3", "--power", "2"} << 9 << 2 << "8/9";
  QTest::newRow("product") << QStringList{"preset:complete,gpus=4", "--product", "preset:ring,gpus=5"} << 20 << 3
                           << "19/20";
  QTest::newRow("duplex") << QStringList{"preset:ring,gpus=7,direction=one-way", "--duplex"} << 7 << 3 << "6/7";
}

void TestCliTopology::expansions() {
  QFETCH(QStringList, arguments);
  QFETCH(int, nodes);
  QFETCH(int, steps);
  QFETCH(QString, time);
  QTemporaryDir folder;
  const QString file = folder.filePath("a.fabric.json");
  const Outcome outcome = run(QStringList{"expand"} + arguments + QStringList{"-o", file, "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  QCOMPARE(outcome.json()["nodes"].toInt(), nodes);
  QCOMPARE(outcome.json()["steps"].toInt(), steps);
  QCOMPARE(outcome.json()["t_b"].toString(), time);
  QVERIFY(run({"check", file}).code == 0);
}

void TestCliTopology::presets() {
  const Outcome outcome = run({"check", "preset:cayley,m=17,n=8,r=2,generators=0,1,1,5", "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  const Outcome circulant = run({"expand", "preset:circulant,nodes=16,jumps=3,4", "--line", "1", "-o", "-"});
  VERIFY_TOLD(circulant.code == 0 && circulant.err.contains("4 steps, T_B 1 "), circulant);
}

void TestCliTopology::patchTables() {
  QTemporaryDir folder;
  const QString table = folder.filePath("table.csv");
  const Outcome outcome =
      run({"patch", "preset:torus,dims=4x4", "-o", table, "--price-cable", "12.50", "--price-port", "300", "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  QCOMPARE(outcome.json()["cables"].toInt(), 32);
  QCOMPARE(outcome.json()["kind"].toString(), QString("duplex"));
  QCOMPARE(outcome.json()["panels"].toInt(), 2);
  QCOMPARE(outcome.json()["cost"].toString(), QString::number(32 * 12.5 + 64 * 300));
  QCOMPARE(contents(table).count('\n'), 33);
  const Outcome printed = run({"patch", "preset:kautz", "--print"});
  VERIFY_TOLD(printed.code == 0 && printed.out.count("[ ]") == 80 && printed.out.contains("Panel 4"), printed);
}

void TestCliTopology::patchPlans() {
  QTemporaryDir folder;
  const QString first = "preset:circulant,nodes=16,jumps=1,2";
  const QString second = "preset:circulant,nodes=16,jumps=1,3";
  const QString table = folder.filePath("first.csv");
  const QString after = folder.filePath("second.csv");
  const QString moves = folder.filePath("moves.csv");
  QCOMPARE(run({"patch", first, "-o", table}).code, 0);
  const Outcome plan = run({"patch", first, second, "--table", table, "--plan", moves, "-o", after, "--json"});
  VERIFY_TOLD(plan.code == 0, plan);
  QCOMPARE(plan.json()["kept"].toInt(), 16);
  QCOMPARE(plan.json()["moved"].toInt(), 16);
  QVERIFY(plan.json()["verified"].toBool());
  QVERIFY(contents(moves).contains("disconnect,") && contents(moves).contains("\nconnect,"));
  // The table after the change is the table of the second fabric, and leads back.
  const Outcome back = run({"patch", second, first, "--table", after, "--json"});
  VERIFY_TOLD(back.code == 0, back);
  QCOMPARE(back.json()["moved"].toInt(), 16);
  const Outcome other = run({"patch", first, "--table", after, "--json"});
  QCOMPARE(other.code, 2);
  const Outcome relabelled = run({"patch", first, second, "--relabel", "--json"});
  VERIFY_TOLD(relabelled.code == 0 && relabelled.json()["kept"].toInt() >= 16, relabelled);
}

/// The script prints the rows of the source and ours.
void TestCliTopology::tablesOfTheDissertation() {
  const Outcome outcome =
      runProgram("bash", {QStringLiteral(COPPICE_EXAMPLES) + "/topology_tables.sh", QStringLiteral(COPPICE_CLI)});
  VERIFY_TOLD(outcome.code == 0, outcome);
  for (const char* text :
       {"## Table 3.4", "## Table 3.5", "## Table A.1", "## Table 3.6", "erratum: its own C(128,{8,9})",
        "takes 323.5 us", "takes 281.5 us", "7 steps, T_B 31/32", "2 steps, T_B 9/10"}) {
    VERIFY_TOLD(outcome.out.contains(text), outcome);
  }
}

void TestCliTopology::refuses_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<QString>("message");
  const QString ring = "preset:ring,gpus=8";
  const auto find = [](const QStringList& rest) { return QStringList{"find-topology"} + rest; };
  QTest::newRow("one node") << find({"-n", "1", "-d", "4"}) << "nothing to send";
  QTest::newRow("no ports") << find({"-n", "16", "-d", "0"}) << "without ports";
  QTest::newRow("no number") << find({"-d", "4"}) << "-n or as a range";
  QTest::newRow("both") << find({"-n", "16", "--all-n", "2..4", "-d", "4"}) << "-n or as a range";
  QTest::newRow("range") << find({"--all-n", "9..4", "-d", "4"}) << "is not a range";
  QTest::newRow("alpha") << find({"-n", "16", "-d", "4", "--alpha", "-1"}) << "is not a latency";
  QTest::newRow("bandwidth") << find({"-n", "16", "-d", "4", "--bandwidth", "0"}) << "is not a bandwidth";
  QTest::newRow("size") << find({"-n", "16", "-d", "4", "--size", "big"}) << "size";
  QTest::newRow("weight") << find({"-n", "16", "-d", "4", "--size", "1MiB=0"}) << "weight";
  QTest::newRow("index") << find({"-n", "16", "-d", "4", "--index", "9", "-o", "x.fabric.json"}) << "no entry 9";
  QTest::newRow("collective") << find({"-n", "16", "-d", "4", "-c", "gather"}) << "no such times";
  QTest::newRow("goal") << find({"-n", "16", "-d", "4", "--paper", "--goal", "alltoall"}) << "have no all-to-all";
  QTest::newRow("change") << find({"-n", "16", "-d", "4", "--reconfiguration", "10ms"}) << "judged by";
  QTest::newRow("time") << find({"-n", "16", "-d", "4", "--reconfiguration", "10 days", "--present",
                                 "preset:ring,gpus=16", "--size", "1MiB"})
                        << "is not a time";
  QTest::newRow("other size") << find({"-n", "16", "-d", "4", "--reconfiguration", "10ms", "--present", ring, "--size",
                                       "1MiB"})
                              << "it has 8 GPUs";
  QTest::newRow("no expansion") << QStringList{"expand", ring, "-o", "x.fabric.json"} << "only one expansion";
  QTest::newRow("two") << QStringList{"expand", ring, "--line", "1", "--power", "2", "-o", "x.fabric.json"}
                       << "only one expansion";
  QTest::newRow("switches") << QStringList{"expand", "preset:dgx-a100", "--line", "1", "-o", "x.fabric.json"}
                            << "is not a GPU";
  QTest::newRow("unequal degrees") << QStringList{"expand", "preset:mesh,dims=3x3", "--line", "1",
                                                  "-o",     "x.fabric.json"}
                                   << "out-links and";
  QTest::newRow("line of a ring") << QStringList{"expand", "preset:ring,gpus=4,direction=one-way",
                                                 "--line", "1",
                                                 "-o",     "x.fabric.json"}
                                  << "degree 1";
  QTest::newRow("too large") << QStringList{"expand",       "preset:hypercube,dimension=9", "--power", "3", "-o",
                                            "x.fabric.json"}
                             << "at most 262144 nodes";
  QTest::newRow("unequal links") << QStringList{"expand",    ring,
                                                "--product", "preset:ring,gpus=3,bandwidth=50",
                                                "-o",        "x.fabric.json"}
                                 << "links of the same bandwidth";
  QTest::newRow("patch: switches") << QStringList{"patch", "preset:dgx-a100"} << "is not a GPU";
  QTest::newRow("patch: other GPUs") << QStringList{"patch", ring, "preset:ring,gpus=9"} << "8 GPUs, the other 9";
  QTest::newRow("patch: one-way") << QStringList{"patch", "preset:kautz", "--cables", "duplex"} << "no equal one back";
  QTest::newRow("patch: cables") << QStringList{"patch", ring, "--cables", "copper"} << "kind of cable";
  QTest::newRow("patch: price") << QStringList{"patch", ring, "--price-cable", "-3"} << "is not a price";
  QTest::newRow("patch: plan of one") << QStringList{"patch", ring, "--plan", "x.csv"} << "no second fabric";
}

void TestCliTopology::refuses() {
  QFETCH(QStringList, arguments);
  QFETCH(QString, message);
  QTemporaryDir folder;
  const Outcome outcome = run(arguments, {}, folder.path());
  VERIFY_TOLD(outcome.code == 1 || outcome.code == 2, outcome);
  VERIFY_TOLD(outcome.firstErrorLine().startsWith("coppice-cli: "), outcome);
  VERIFY_TOLD(QString::fromUtf8(outcome.err).contains(message), outcome);
  QCOMPARE(outcome.err.count('\n'), 1);
  QVERIFY(!QFile::exists(folder.filePath("x.fabric.json")));
}

QTEST_APPLESS_MAIN(TestCliTopology)
#include "tst_cli_topology.moc"
