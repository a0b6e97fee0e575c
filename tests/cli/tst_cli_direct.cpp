// SPDX-License-Identifier: Apache-2.0
#include <QFile>
#include <QJsonArray>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>
#include <cmath>

#include "support/cli_runner.hpp"

using namespace coppice::test;

/// Schedules for GPUs with direct links, through the built coppice-cli.
namespace {

QString joined(const QJsonValue& list) {
  QStringList texts;
  for (const QJsonValue& value : list.toArray()) {
    texts.append(value.toString());
  }
  return texts.join(' ');
}

}  // namespace

class TestCliDirect : public QObject {
  Q_OBJECT

private slots:
  void bfb_data();
  void bfb();
  void unitsOfLinks();
  void unevenSteps();
  void latencies();
  void throughSwitches();
  void filesAreVerified();
  void alltoall_data();
  void alltoall();
  void alltoallOfAFile();
  void refuses_data();
  void refuses();

private:
  static void treesAreVerified(const QTemporaryDir& dir, const QStringList& demand, const QString& steps,
                               const QJsonObject& answer);
};

void TestCliDirect::bfb_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<int>("steps");
  QTest::addColumn<QString>("time");
  QTest::addColumn<QString>("loads");
  QTest::addColumn<int>("chunks");
  QTest::addColumn<QString>("algbw");
  QTest::newRow("torus") << QStringList{"preset:torus,dims=4x4"} << 4 << "15/16"
                         << "1 3/2 1 1/4" << 4 << "320/3";
  QTest::newRow("torus, one chunk") << QStringList{"preset:torus,dims=4x4", "--chunks", "1"} << 4 << "5/4"
                                    << "1 2 1 1" << 1 << "80";
  QTest::newRow("reduce_scatter") << QStringList{"preset:torus,dims=4x4", "-c", "reduce_scatter"} << 4 << "15/16"
                                  << "1/4 1 3/2 1" << 4 << "320/3";
  QTest::newRow("allreduce") << QStringList{"preset:torus,dims=4x4", "-c", "allreduce"} << 8 << "15/8"
                             << "1/4 1 3/2 1 1 3/2 1 1/4" << 4 << "160/3";
  QTest::newRow("hypercube") << QStringList{"preset:hypercube,dimension=6"} << 6 << "63/64"
                             << "1 5/2 10/3 5/2 1 1/6" << 6 << "3200/21";
  QTest::newRow("by rule") << QStringList{"preset:torus,dims=4x4", "--by-rule"} << 4 << "15/16"
                           << "1 3/2 1 1/4" << 4 << "320/3";
  QTest::newRow("allreduce by rule") << QStringList{"preset:torus,dims=4x4", "-c", "allreduce", "--by-rule"} << 8
                                     << "15/8"
                                     << "1/4 1 3/2 1 1 3/2 1 1/4" << 4 << "160/3";
}

void TestCliDirect::bfb() {
  QFETCH(QStringList, arguments);
  QFETCH(int, steps);
  QFETCH(QString, time);
  QFETCH(QString, loads);
  QFETCH(int, chunks);
  QFETCH(QString, algbw);
  const Outcome outcome = run(QStringList{"bfb"} + arguments + QStringList{"--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  const QJsonObject json = outcome.json();
  QCOMPARE(json["steps"].toInt(), steps);
  QCOMPARE(json["t_b"].toString(), time);
  QCOMPARE(joined(json["step_loads"]), loads);
  QCOMPARE(json["chunks"].toInt(), chunks);
  QCOMPARE(json["algbw"].toString(), algbw);
  QCOMPARE(json["bw_optimal"].toBool(), chunks > 1);
}

/// Two parallel links of 5 GB/s each way are two links, not one of 10.
void TestCliDirect::unitsOfLinks() {
  QTemporaryDir dir;
  QFile file(dir.filePath("ring.fabric.json"));
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.write(
      R"({"nodes":[{"id":"a","kind":"gpu"},{"id":"b","kind":"gpu"},{"id":"c","kind":"gpu"},{"id":"d","kind":"gpu"}],"links":[
    {"src":"a","dst":"b","bandwidth":"5","count":2},{"src":"b","dst":"c","bandwidth":"5","count":2},
    {"src":"c","dst":"d","bandwidth":"5","count":2},{"src":"d","dst":"a","bandwidth":"5","count":2}]})");
  file.close();
  const Outcome outcome = run({"bfb", file.fileName(), "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  QCOMPARE(joined(outcome.json()["step_loads"]), QString("1/2 1/4"));
  QCOMPARE(outcome.json()["degree"].toString(), QString("4"));
  QCOMPARE(outcome.json()["t_b"].toString(), QString("3/4"));
  QCOMPARE(outcome.json()["algbw"].toString(), QString("80/3"));
}

void TestCliDirect::unevenSteps() {
  QTemporaryDir dir;
  QFile file(dir.filePath("path.fabric.json"));
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.write(R"({"nodes":[{"id":"a","kind":"gpu"},{"id":"b","kind":"gpu"},{"id":"c","kind":"gpu"}],"links":[
    {"src":"a","dst":"b","bandwidth":"10"},{"src":"b","dst":"c","bandwidth":"10"}]})");
  file.close();
  const Outcome outcome = run({"bfb", file.fileName(), "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  QCOMPARE(outcome.json()["t_b"].toString(), QString("4/3"));
  QVERIFY(!outcome.json()["bw_optimal"].toBool());
  QCOMPARE(outcome.json()["share_of_optimum"].toString(), QString("1"));
  const QJsonObject step = outcome.json()["uneven_steps"].toArray()[1].toObject();
  QCOMPARE(step["step"].toInt(), 2);
  QCOMPARE(step["jobs"].toInt(), 1);
  QCOMPARE(step["width"].toString(), QString("1"));
}

void TestCliDirect::latencies() {
  QTemporaryDir dir;
  QFile file(dir.filePath("ring.fabric.json"));
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.write(R"({"nodes":[{"id":"a","kind":"gpu"},{"id":"b","kind":"gpu"},{"id":"c","kind":"gpu"},
    {"id":"d","kind":"gpu"}],"links":[
    {"src":"a","dst":"b","bandwidth":"2","latency":"1"},{"src":"b","dst":"c","bandwidth":"2","latency":"1"},
    {"src":"c","dst":"d","bandwidth":"2","latency":"1"},{"src":"d","dst":"a","bandwidth":"2","latency":"3/2"}]})");
  file.close();
  const Outcome outcome = run({"bfb", file.fileName(), "--at-size", "8000", "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  QCOMPARE(joined(outcome.json()["step_times_us"]), QString("5/2 7/4"));
  QCOMPARE(outcome.json()["planned_us"].toString(), QString("17/4"));
  QVERIFY(outcome.json()["verified"].toBool());
}

/// T_B is that of the schedule, whatever the plan on the routes says.
void TestCliDirect::throughSwitches() {
  const Outcome outcome = run({"bfb", "preset:rail-optimised", "--through-switches", "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  const QStringList time = outcome.json()["t_b"].toString().split('/');
  const double all = outcome.json()["degree"].toString().toDouble() * 1.0;
  QVERIFY(all > 0 && time.size() == 2);
  const QStringList link = outcome.json()["link_GBps"].toString().split('/');
  const double unit = link[0].toDouble() / link.value(1, "1").toDouble();
  const double expected = all * unit / (time[0].toDouble() / time[1].toDouble());
  QVERIFY(std::abs(outcome.json()["algbw_GBps"].toDouble() - expected) < 1e-6);
}

void TestCliDirect::filesAreVerified() {
  QTemporaryDir dir;
  for (const QString collective : {"allgather", "reduce_scatter", "allreduce", "broadcast", "reduce"}) {
    const QString file = dir.filePath(collective + ".schedule.json");
    QStringList demand{"preset:torus,dims=3x5", "-c", collective, "--json"};
    if (collective == "broadcast" || collective == "reduce") {
      demand << "--root"
             << "4";
    }
    const Outcome made = run(QStringList{"bfb", "-o", file} + demand);
    VERIFY_TOLD(made.code == 0, made);
    const Outcome verified = run({"verify", file, "--json"});
    VERIFY_TOLD(verified.code == 0, verified);
    QCOMPARE(verified.json()["algbw"], made.json()["algbw"]);
    const QString again = dir.filePath("again.schedule.json");
    const Outcome generated = run(QStringList{"generate", "--method", "bfb", "-o", again} + demand);
    VERIFY_TOLD(generated.code == 0, generated);
    QFile first(file);
    QFile second(again);
    QVERIFY(first.open(QIODevice::ReadOnly) && second.open(QIODevice::ReadOnly));
    QCOMPARE(second.readAll(), first.readAll());
    treesAreVerified(dir, demand, file, made.json());
  }
  const QString rule = dir.filePath("rule.forest.json");
  const Outcome made = run({"bfb", "preset:torus,dims=3x5", "--by-rule", "-o", rule, "--json"});
  VERIFY_TOLD(made.code == 0, made);
  QVERIFY(made.json()["by_rule"].toBool());
  const Outcome verified = run({"verify", rule, "--json"});
  VERIFY_TOLD(verified.code == 0, verified);
  QCOMPARE(verified.json()["algbw"], made.json()["forest_algbw"]);
}

/// The same trees from the steps in memory and from their file.
void TestCliDirect::treesAreVerified(const QTemporaryDir& dir, const QStringList& demand, const QString& steps,
                                     const QJsonObject& answer) {
  const QString trees = dir.filePath("trees.forest.json");
  const Outcome made = run(QStringList{"bfb", "-o", trees} + demand);
  VERIFY_TOLD(made.code == 0, made);
  const Outcome verified = run({"verify", trees, "--json"});
  VERIFY_TOLD(verified.code == 0, verified);
  QCOMPARE(verified.json()["algbw"], made.json()["forest_algbw"]);
  QVERIFY(made.json()["forest_algbw_GBps"].toDouble() >= answer["algbw_GBps"].toDouble() * (1 - 1e-12));
  const QString converted = dir.filePath("converted.forest.json");
  const Outcome outcome = run({"schedule", "convert", steps, converted, "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  QCOMPARE(outcome.json()["trees"], made.json()["trees"]);
  QFile first(trees);
  QFile second(converted);
  QVERIFY(first.open(QIODevice::ReadOnly) && second.open(QIODevice::ReadOnly));
  QCOMPARE(second.readAll(), first.readAll());
}

void TestCliDirect::alltoall_data() {
  QTest::addColumn<QString>("fabric");
  QTest::addColumn<QString>("rate");
  QTest::addColumn<QString>("algbw");
  QTest::newRow("torus") << "preset:torus,dims=4x6"
                         << "25/18"
                         << "100/3";
  QTest::newRow("hypercube") << "preset:hypercube,dimension=4,bandwidth=1"
                             << "1/8"
                             << "2";
  QTest::newRow("boxes with switches") << "preset:dgx-a100,boxes=2"
                                       << "25/8"
                                       << "50";
}

void TestCliDirect::alltoall() {
  QFETCH(QString, fabric);
  QFETCH(QString, rate);
  QFETCH(QString, algbw);
  const Outcome outcome = run({"alltoall", fabric, "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  QCOMPARE(outcome.json()["lower"].toString(), rate);
  QCOMPARE(outcome.json()["upper"].toString(), rate);
  QVERIFY(outcome.json()["exact"].toBool());
  QCOMPARE(outcome.json()["algbw"].toString(), algbw);
  QVERIFY(!outcome.json()["lengths"].toArray().isEmpty());
}

void TestCliDirect::alltoallOfAFile() {
  QTemporaryDir dir;
  const QString file = dir.filePath("a.schedule.json");
  const Outcome made = run({"alltoall", "preset:dgx-a100,boxes=2", "-o", file, "--json"});
  VERIFY_TOLD(made.code == 0, made);
  const Outcome verified = run({"verify", file, "--json"});
  VERIFY_TOLD(verified.code == 0, verified);
  QCOMPARE(verified.json()["algbw"].toString(), QString("50"));
  const Outcome simulated =
      run({"simulate", file, "-b", "1G", "-e", "1G", "--link-latency", "0", "--message-overhead", "0", "--json"});
  VERIFY_TOLD(simulated.code == 0, simulated);
  const double algbw = simulated.json()["rows"].toArray()[0].toObject()["algbw"].toDouble();
  QVERIFY(algbw <= 50.0001);
  QVERIFY(algbw > 25);
  const QString again = dir.filePath("b.schedule.json");
  const Outcome generated =
      run({"generate", "preset:dgx-a100,boxes=2", "--method", "alltoall", "-c", "alltoall", "-o", again, "--json"});
  VERIFY_TOLD(generated.code == 0, generated);
  QFile first(file);
  QFile second(again);
  QVERIFY(first.open(QIODevice::ReadOnly) && second.open(QIODevice::ReadOnly));
  QCOMPARE(second.readAll(), first.readAll());
}

void TestCliDirect::refuses_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<QString>("message");
  QTest::newRow("switches") << QStringList{"preset:dgx-a100,boxes=1"} << "add --through-switches";
  QTest::newRow("no chunks") << QStringList{"preset:torus,dims=3x3", "--chunks", "0"} << "--chunks: \"0\"";
  QTest::newRow("chunks that are a word")
      << QStringList{"preset:torus,dims=3x3", "--chunks", "some"} << "a whole number of 1 or more, or exact";
  QTest::newRow("negative latency") << QStringList{"preset:torus,dims=3x3", "--size", "1M", "--latency", "-1"}
                                    << "give microseconds, 0 or more";
  QTest::newRow("nothing to send") << QStringList{"preset:torus,dims=3x3", "--at-size", "0"} << "at least one byte";
  QTest::newRow("amounts") << QStringList{"preset:ring,gpus=3", "--amounts", "1,2,3"} << "--amounts";
  QTest::newRow("collective") << QStringList{"preset:torus,dims=3x3", "-c", "alltoall"} << "alltoall";
  QTest::newRow("by rule, not alike") << QStringList{"preset:kautz,nodes=7,degree=2", "--by-rule"} << "No rotations";
  QTest::newRow("by rule, rooted")
      << QStringList{"preset:torus,dims=3x3", "-c", "broadcast", "--root", "0", "--by-rule"}
      << "the GPUs are not alike";
  QTest::newRow("by rule, switches") << QStringList{"preset:dgx-a100,boxes=2", "--by-rule"} << "switches or NICs";
}

void TestCliDirect::refuses() {
  QFETCH(QStringList, arguments);
  QFETCH(QString, message);
  const Outcome outcome = run(QStringList{"bfb"} + arguments);
  QCOMPARE(outcome.code, 2);
  VERIFY_TOLD(QString::fromUtf8(outcome.err).contains(message), outcome);
}

QTEST_APPLESS_MAIN(TestCliDirect)
#include "tst_cli_direct.moc"
