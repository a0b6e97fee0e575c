// SPDX-License-Identifier: Apache-2.0
#include <QFile>
#include <QJsonArray>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>

#include "support/cli_runner.hpp"

/// synthesize through the built coppice-cli.
using namespace coppice::test;

namespace {

QStringList asked(const QString& words) {
  return QStringList{"synthesize"} + words.split(' ');
}

}  // namespace

class TestCliSynthesize : public QObject {
  Q_OBJECT

private slots:
  void decides_data();
  void decides();
  void saysThatTimeEndedIt();
  void front();
  void frontWithinExtraRounds();
  void writesProofs();
  void writesWhatVerifies();
  void customTable();
  void refusesTables_data();
  void refusesTables();
  void refusesUnreachable();
  void generates();
  void refuses_data();
  void refuses();
};

void TestCliSynthesize::decides_data() {
  QTest::addColumn<QString>("question");
  QTest::addColumn<QString>("status");
  QTest::newRow("flow, sat") << "preset:dgx1-v100 -c gather --root 0 --chunks 6 --steps 2 --rounds 7"
                             << "sat";
  QTest::newRow("flow, unsat") << "preset:dgx1-v100 -c gather --root 0 --chunks 5 --steps 2 --rounds 6"
                               << "unsat";
  QTest::newRow("pull") << "preset:hypercube -c allgather --chunks 3 --steps 3 --rounds 7"
                        << "sat";
  QTest::newRow("bound") << "preset:dgx1-v100 -c allgather --chunks 3 --steps 2 --rounds 4"
                         << "unsat";
  QTest::newRow("rounds below steps") << "preset:hypercube -c allgather --chunks 1 --steps 4 --rounds 3"
                                      << "unsat";
}

void TestCliSynthesize::decides() {
  QFETCH(QString, question);
  QFETCH(QString, status);
  const Outcome outcome = run(asked(question + " --json"));
  QCOMPARE(outcome.code, status == "sat" ? 0 : 1);
  QCOMPARE(outcome.json()["status"].toString(), status);
  QVERIFY(!outcome.json()["reason"].toString().isEmpty());
  QVERIFY(outcome.json()["seconds"].isDouble());
  QVERIFY(outcome.json()["depends_on_time"].isBool());
}

/// Where time ends a search, the answer says so.
void TestCliSynthesize::saysThatTimeEndedIt() {
  const QString hard = "preset:dgx-a100,boxes=2 -c allgather --chunks 13 --steps 4 --rounds 15 --time-limit 0.01";
  const Outcome answer = run(asked(hard + " --json"));
  QCOMPARE(answer.json()["status"].toString(), QString("unknown"));
  QCOMPARE(answer.json()["depends_on_time"].toBool(), true);
  QVERIFY(run(asked(hard)).out.contains("another machine may find another schedule"));
}

void TestCliSynthesize::front() {
  const Outcome outcome = run(asked("preset:dgx1-v100 -c allgather --pareto --json"));
  QVERIFY2(outcome.code == 0, outcome.err);
  const QJsonArray points = outcome.json()["front"].toArray();
  QCOMPARE(points.size(), 2);
  QCOMPARE(points[1].toObject()["chunks"].toInt(), 6);
  QCOMPARE(points[1].toObject()["steps"].toInt(), 3);
  QCOMPARE(points[1].toObject()["rounds"].toInt(), 7);
  QCOMPARE(points[1].toObject()["optimal"].toBool(), true);
  QCOMPARE(outcome.json()["least_steps"].toInt(), 2);
  QCOMPARE(outcome.json()["least_ratio"].toString(), QString("7/6"));
  QVERIFY(outcome.json()["depends_on_time"].isBool());
}

void TestCliSynthesize::frontWithinExtraRounds() {
  const Outcome outcome = run(asked("preset:dgx1-v100 -c allgather --pareto --k 2 --max-steps 5 --json"));
  QVERIFY2(outcome.code == 0, outcome.err);
  QStringList points;
  for (const QJsonValue& each : outcome.json()["front"].toArray()) {
    const QJsonObject point = each.toObject();
    QVERIFY(point["optimal_within_k"].toBool());
    points << QStringLiteral("%1,%2,%3 %4")
                  .arg(point["chunks"].toInt())
                  .arg(point["steps"].toInt())
                  .arg(point["rounds"].toInt())
                  .arg(point["optimal"].toBool());
  }
  QCOMPARE(points.join("; "), QString("2,2,3 1; 4,3,5 0; 5,4,6 0; 6,5,7 1"));
  QCOMPARE(outcome.json()["k"].toInt(), 2);
  QCOMPARE(outcome.json()["least_ratio"].toString(), QString("7/6"));
  const Outcome none = run(asked("preset:dgx1-v100 -c alltoall --pareto --k 0 --max-steps 2 --json"));
  QCOMPARE(none.code, 1);
  QVERIFY(none.json()["front"].toArray().isEmpty());
}

void TestCliSynthesize::writesProofs() {
  const QTemporaryDir folder;
  const QString file = folder.filePath("p.drat");
  const QString ring = "preset:ring,gpus=4 -c allreduce --direct --json --proof " + file;
  const Outcome refuted = run(asked(ring + " --chunks 3 --steps 2 --rounds 3"));
  QCOMPARE(refuted.code, 1);
  QCOMPARE(refuted.json()["status"].toString(), QString("unsat"));
  QCOMPARE(refuted.json()["proof"].toString(), file);
  QCOMPARE(refuted.json()["clauses"].toString(), folder.filePath("p.cnf"));
  QVERIFY(QFileInfo(file).size() > 0);
  QVERIFY(QFile::remove(file));
  QVERIFY(QFile::remove(folder.filePath("p.cnf")));
  for (const char* size : {"--chunks 2 --steps 2 --rounds 2", "--chunks 1 --steps 3 --rounds 2"}) {
    const Outcome none = run(asked(ring + " " + size));
    QVERIFY2(!none.json()["no_proof"].toString().isEmpty(), size);
    QVERIFY(!QFileInfo::exists(file));
  }
}

void TestCliSynthesize::writesWhatVerifies() {
  const QTemporaryDir folder;
  const QString file = folder.filePath("a.schedule.json");
  const Outcome made =
      run(asked("preset:hypercube -c reduce_scatter --chunks 8 --steps 3 --rounds 7 --json -o " + file));
  QVERIFY2(made.code == 0, made.err + made.out);
  QCOMPARE(run({"verify", file}).code, 0);
  const Outcome points = run(asked("preset:hypercube -c allgather --pareto --json -o " + file));
  QCOMPARE(points.code, 0);
  QCOMPARE(run({"verify", folder.filePath("a.c3-s3-r7.schedule.json")}).code, 0);
}

void TestCliSynthesize::customTable() {
  const QTemporaryDir folder;
  QFile table(folder.filePath("table.csv"));
  QVERIFY(table.open(QIODevice::WriteOnly));
  table.write("sources,destinations\n# two swap\n0,2\n2,0\n0 1,3\n");
  table.close();
  const QString question = "preset:ring,gpus=4 --chunks 3 --rounds 2 --json --table " + table.fileName();
  const Outcome sat = run(asked(question + " --steps 2"));
  QVERIFY2(sat.code == 0, sat.err + sat.out);
  QCOMPARE(sat.json()["collective"].toString(), QString("custom"));
  QCOMPARE(run(asked(question + " --steps 1")).json()["status"].toString(), QString("unsat"));
  // Shards instead of chunks, where they are equal.
  QVERIFY(table.open(QIODevice::WriteOnly));
  table.write("share,sources,destinations\n1/3,0,2\n1/3,2,0\n1/3,0 1,3\n");
  table.close();
  QCOMPARE(run(asked(question + " --steps 2")).json()["status"].toString(), QString("sat"));
  QVERIFY(table.open(QIODevice::WriteOnly));
  table.write("share,sources,destinations\n1/4,0,2\n1/4,2,0\n1/2,0 1,3\n");
  table.close();
  const Outcome uneven = run(asked(question + " --steps 2"));
  QVERIFY2(uneven.code == 2 && uneven.err.contains("shard 2"), uneven.err);
  QVERIFY(table.open(QIODevice::WriteOnly));
  table.write("sources,destinations\n0,2\n2,9\n");
  table.close();
  const Outcome bad = run(asked(question + " --steps 2"));
  QCOMPARE(bad.code, 2);
  QVERIFY2(bad.err.contains("table.csv:3"), bad.err);
}

/// What is wrong with a table or a fabric is named with its place, and what to do about it.
void TestCliSynthesize::refusesTables_data() {
  QTest::addColumn<QByteArray>("table");
  QTest::addColumn<QByteArray>("place");
  QTest::newRow("no source") << QByteArray("sources,destinations\n,2\n") << QByteArray("table.csv:2");
  QTest::newRow("no destination") << QByteArray("sources,destinations\n0,2\n1,\n") << QByteArray("table.csv:3");
  QTest::newRow("unknown rank") << QByteArray("sources,destinations\n0,g9\n") << QByteArray("table.csv:2");
  QTest::newRow("rank twice") << QByteArray("sources,destinations\n0 0,2\n") << QByteArray("table.csv:2");
  QTest::newRow("no row") << QByteArray("sources,destinations\n") << QByteArray("table.csv");
  QTest::newRow("no such column") << QByteArray("sources,targets\n0,2\n") << QByteArray("table.csv:1");
  QTest::newRow("nothing to send") << QByteArray("chunk,from,to\n0,0 1,1\n") << QByteArray("nothing to send");
  QTest::newRow("reduced") << QByteArray("sources,destinations,combines\n0 1,2,yes\n") << QByteArray("reduce");
}

void TestCliSynthesize::refusesTables() {
  QFETCH(QByteArray, table);
  QFETCH(QByteArray, place);
  const QTemporaryDir folder;
  QFile file(folder.filePath("table.csv"));
  QVERIFY(file.open(QIODevice::WriteOnly) && file.write(table) == table.size());
  file.close();
  const Outcome refused =
      run(asked("preset:ring,gpus=4 --chunks 1 --steps 2 --rounds 2 --json --table " + file.fileName()));
  QCOMPARE(refused.code, 2);
  QVERIFY2(refused.err.contains(place) || refused.out.contains(place), refused.err + refused.out);
  QVERIFY2(!refused.json()["fix"].toString().isEmpty(), refused.out);
}

void TestCliSynthesize::refusesUnreachable() {
  const QTemporaryDir folder;
  QFile file(folder.filePath("apart.fabric.json"));
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.write(R"({"format": "coppice-fabric", "version": 1, "nodes": [
      {"id": "a", "kind": "gpu"}, {"id": "b", "kind": "gpu"}, {"id": "c", "kind": "gpu"}],
      "links": [{"src": "a", "dst": "b", "bandwidth": "10", "duplex": true},
                {"src": "c", "dst": "a", "bandwidth": "10", "duplex": false}]})");
  file.close();
  for (const char* size : {"--pareto", "--chunks 1 --steps 2 --rounds 2"}) {
    const Outcome refused = run(asked(file.fileName() + " -c allgather --json " + size));
    QVERIFY(refused.code == 1 || refused.code == 2);
    QVERIFY2(refused.json()["error"].toString().contains("cannot reach"), refused.out);
    QVERIFY(!refused.json()["fix"].toString().isEmpty());
  }
}

void TestCliSynthesize::generates() {
  const Outcome made = run({"generate", "preset:hypercube", "--method", "sccl", "-c", "alltoall", "--json"});
  QVERIFY2(made.code == 0, made.err + made.out);
  const Outcome large = run({"generate", "preset:ring,gpus=300", "--method", "sccl", "--json"});
  QCOMPARE(large.code, 1);
  QCOMPARE(large.json()["code"].toString(), QString("limit"));
}

void TestCliSynthesize::refuses_data() {
  QTest::addColumn<QString>("question");
  QTest::newRow("no size") << "preset:hypercube -c allgather";
  QTest::newRow("size and front") << "preset:hypercube -c allgather --pareto --chunks 1";
  QTest::newRow("no root") << "preset:hypercube -c broadcast --chunks 1 --steps 3 --rounds 3";
  QTest::newRow("no such root") << "preset:hypercube -c broadcast --root 8 --chunks 1 --steps 3 --rounds 3";
  QTest::newRow("root of a switch") << "preset:dgx-a100,boxes=1 -c reduce --root nope --chunks 1 --steps 3 --rounds 3";
  QTest::newRow("no multiple") << "preset:hypercube -c alltoall --chunks 9 --steps 3 --rounds 3";
  QTest::newRow("no chunk") << "preset:hypercube -c allgather --chunks 0 --steps 3 --rounds 3";
  QTest::newRow("no chunks at most") << "preset:hypercube -c allgather --pareto --max-chunks 0";
  QTest::newRow("no steps at most") << "preset:hypercube -c allgather --pareto --max-steps 0";
  QTest::newRow("more steps than any search") << "preset:hypercube -c allgather --pareto --max-steps 1001";
  QTest::newRow("fewer rounds than steps") << "preset:hypercube -c allgather --pareto --k -1";
  QTest::newRow("extra rounds of a size") << "preset:hypercube -c allgather --chunks 1 --steps 3 --rounds 3 --k 1";
  QTest::newRow("proof of a front") << "preset:hypercube -c allgather --pareto --proof p.drat";
  QTest::newRow("proof to standard output")
      << "preset:hypercube -c allgather --chunks 1 --steps 3 --rounds 3 --proof -";
  QTest::newRow("limit of a size") << "preset:hypercube -c allgather --chunks 1 --steps 3 --rounds 3 --max-steps 4";
  QTest::newRow("beyond memory") << "preset:hypercube -c alltoall --chunks 800000 --steps 9 --rounds 1000000";
  QTest::newRow("unit") << "preset:hypercube -c allgather --unit 30 --chunks 1 --steps 3 --rounds 3";
  QTest::newRow("unit, no number") << "preset:hypercube -c allgather --unit fast --chunks 1 --steps 3 --rounds 3";
  QTest::newRow("method") << "preset:hypercube --method none -c allgather --pareto";
  QTest::newRow("time") << "preset:hypercube -c allgather --pareto --time-limit soon";
  QTest::newRow("time of a size") << "preset:hypercube -c allgather --pareto --candidate-seconds -1";
  QTest::newRow("direct") << "preset:hypercube -c allgather --pareto --direct";
}

void TestCliSynthesize::refuses() {
  QFETCH(QString, question);
  const Outcome outcome = run(asked(question + " --json"));
  QCOMPARE(outcome.code, 2);
  QVERIFY(!outcome.json()["error"].toString().isEmpty());
  QVERIFY(!outcome.json()["fix"].toString().isEmpty());
}

QTEST_GUILESS_MAIN(TestCliSynthesize)
#include "tst_cli_synthesize.moc"
