// SPDX-License-Identifier: Apache-2.0
#include <QJsonArray>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>

#include "coppice/test_paths.hpp"
#include "support/cli_runner.hpp"

using namespace coppice::test;

/// Bounds and their cuts by coppice-cli optimum.
namespace {

QString data(const QString& name) {
  return QStringLiteral(COPPICE_TEST_DATA) + "/" + name;
}

QString example() {
  return QStringLiteral(COPPICE_EXAMPLES) + "/2x-dgx-a100.fabric.json";
}

}  // namespace

class TestCliOptimum : public QObject {
  Q_OBJECT

private slots:
  void optimumOfTheExample();
  void optimumOfGroups();
  void placement();
  void tiedCuts_data();
  void tiedCuts();
  void optimum_data();
  void optimum();
  void optimumBelowTheCuts();
  void cutDirection();
  void nonUniformAmounts();

private:
  [[nodiscard]] QString path(const QString& name) const { return m_folder.filePath(name); }
  QTemporaryDir m_folder;
};

void TestCliOptimum::optimumOfTheExample() {
  const Outcome outcome = run({"optimum", example(), "--json"});
  QCOMPARE(outcome.code, 0);
  VERIFY_TOLD(isOneObject(outcome.out) && outcome.err.isEmpty(), outcome);
  const QJsonObject json = outcome.json();
  QCOMPARE(json["gpus"].toInt(), 16);
  QCOMPARE(json["inv_x"].toString(), "3/65");
  QCOMPARE(json["algbw"].toString(), "1040/3");
  QCOMPARE(json["algbw_GBps"].toDouble(), 1040.0 / 3.0);
  QCOMPARE(json["busbw"].toString(), "325");
  QCOMPARE(json["k"].toInt(), 13);
  QCOMPARE(json["U"].toString(), "3/5");
  QVERIFY(json["seconds"].isDouble());
  // The cut proves the bound: 16 GPUs x 325 GB/s / 15 GPUs inside.
  const QJsonArray cut = json["bottleneck_cut"].toArray();
  int gpus = 0;
  for (const auto& node : cut) {
    gpus += node.toString().contains('g') ? 1 : 0;
  }
  QCOMPARE(gpus, 15);
  QCOMPARE(json["cut"].toObject()["demand"].toInt(), 15);
  QCOMPARE(json["cut"].toObject()["exit_bandwidth"].toString(), "325");
  for (const auto& other : json["cuts"].toArray()) {
    VERIFY_TOLD(other.toObject()["nodes"].toArray() != cut, outcome);
  }
  // One for each GPU that the data comes in to; where the NICs stand makes no other cut.
  QCOMPARE(json["cuts"].toArray().size(), 15);
  QCOMPARE(json["tied_cuts"].toObject()["count"].toInt(), 16);
  QVERIFY(json["tied_cuts"].toObject()["exact"].toBool());

  const Outcome text = run({"optimum", example()});
  QCOMPARE(text.code, 0);
  VERIFY_TOLD(text.out.startsWith("allgather 1040/3 = 346.67 GB/s"), text);
  VERIFY_TOLD(text.out.contains("15 GPUs must send their shards out through 325 GB/s"), text);
  VERIFY_TOLD(text.out.contains("and 15 other cuts equally tight"), text);
}

void TestCliOptimum::optimumOfGroups() {
  const Outcome mesh = run({"optimum", "preset:dgx-h100,boxes=4", "--mesh", "4x8", "--axis", "0", "--json"});
  QCOMPARE(mesh.code, 0);
  VERIFY_TOLD(isOneObject(mesh.out) && mesh.err.isEmpty(), mesh);
  const QJsonObject json = mesh.json();
  QCOMPARE(json["rate"].toString(), "200/3");
  QCOMPARE(json["exact"].toBool(), true);
  QCOMPARE(json["groups"].toArray().size(), 8);
  QCOMPARE(json["cut"].toObject()["links"].toArray().size(), 32);
  const Outcome lists = run({"optimum", "preset:dgx-a100,boxes=2", "--ranks", "0,8;1,9", "-c", "allgather", "--json"});
  QCOMPARE(lists.json()["rate"].toString(), "50");
  QCOMPARE(lists.json()["groups"].toArray().size(), 2);
  // All schedules of a folder at the same time.
  const Outcome generated = run({"generate", "preset:dgx-a100,boxes=2", "--ranks", "0,8;1,9", "-o", path("two")});
  VERIFY_TOLD(generated.code == 0 && generated.out.contains("simulate"), generated);
  const Outcome played = run({"simulate", path("two"), "-b", "256M", "--pieces", "64", "--link-latency", "0",
                              "--message-overhead", "0", "--json"});
  QCOMPARE(played.code, 0);
  QCOMPARE(played.json()["schedule_algbw"].toString(), "50");
  const QJsonObject row = played.json()["rows"].toArray().first().toObject();
  VERIFY_TOLD(row["algbw"].toDouble() <= 50 + 1e-6 && row["algbw"].toDouble() > 49, played);
  QCOMPARE(row["groups"].toArray().size(), 2);
  const Outcome subset = run({"optimum", "preset:torus,dims=4x4,bandwidth=10", "--gpus", "0,1,4,5", "--relay-gpus"});
  QCOMPARE(subset.code, 0);
  VERIFY_TOLD(subset.out.contains("160/3"), subset);
  for (const QStringList& bad :
       {QStringList{"--axis", "0"}, {"--relay"}, {"--relay-gpus"}, {"--mesh", "4x9"}, {"--mesh", "4x8", "--k", "1"}}) {
    const Outcome refused = run(QStringList{"optimum", "preset:dgx-h100,boxes=4"} + bad);
    QCOMPARE(refused.code, 2);
  }
}

void TestCliOptimum::placement() {
  const QStringList question{"optimum", "preset:dgx-a100,boxes=3", "--place", "8", "--free", "1-12,16-23"};
  const Outcome outcome = run(question + QStringList{"--json"});
  QCOMPARE(outcome.code, 0);
  VERIFY_TOLD(isOneObject(outcome.out) && outcome.err.isEmpty(), outcome);
  const QJsonObject json = outcome.json();
  QCOMPARE(json["algbw"].toString(), "2600/7");
  QCOMPARE(json["upper"].toString(), "2600/7");
  QVERIFY(json["optimal"].toBool());
  QCOMPARE(json["free"].toInt(), 20);
  QCOMPARE(json["ranks"].toArray(), QJsonArray({16, 17, 18, 19, 20, 21, 22, 23}));
  // The job alone has that optimum.
  const Outcome alone = run({"optimum", "preset:dgx-a100,boxes=3", "--gpus", "16-23", "--json"});
  QCOMPARE(alone.json()["algbw"].toString(), "2600/7");
  const Outcome text = run(question);
  VERIFY_TOLD(text.out.contains("no choice is faster") && text.out.contains("--gpus 16-23"), text);
  for (const QStringList& bad : {QStringList{"--free", "0-7"},
                                 {"--place", "1"},
                                 {"--place", "25"},
                                 {"--place", "4", "--free", "0-99"},
                                 {"--place", "4", "--mesh", "3x8"},
                                 {"--place", "4", "-c", "broadcast"},
                                 {"--place", "4", "--k", "1"},
                                 {"--ranks", "0-7;8"},
                                 {"--ranks", "0-7", "--mesh", "3x8"}}) {
    const Outcome refused = run(QStringList{"optimum", "preset:dgx-a100,boxes=3"} + bad);
    VERIFY_TOLD(refused.code == 2 && refused.out.isEmpty(), refused);
  }
}

/// Equal boxes bind alike, however many there are.
void TestCliOptimum::tiedCuts_data() {
  QTest::addColumn<int>("boxes");
  QTest::addColumn<int>("count");
  for (const int boxes : {4, 16, 65, 128}) {
    QTest::addRow("%d", boxes) << boxes << boxes;
  }
}

void TestCliOptimum::tiedCuts() {
  QFETCH(int, boxes);
  QFETCH(int, count);
  const Outcome outcome = run({"optimum", u"preset:dgx-a100,boxes=%1"_qs.arg(boxes)});
  VERIFY_TOLD(outcome.code == 0, outcome);
  VERIFY_TOLD(outcome.out.contains("and " + QByteArray::number(count - 1) + " other cuts equally tight"), outcome);
}

void TestCliOptimum::optimum_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<QString>("algbw");
  QTest::addColumn<int>("k");
  const auto row = [](const char* name, const QString& arguments, const char* algbw, int k) {
    QTest::newRow(name) << arguments.split(' ') << algbw << k;
  };
  row("four A100 boxes", "preset:dgx-a100,boxes=4", "800/3", 1);
  row("two MI250 boxes", "preset:mi250,boxes=2", "5312/15", 83);
  row("two MI250 boxes, k = 1", "preset:mi250,boxes=2 --k 1", "320", 1);
  row("two MI250 boxes, k = 2", "preset:mi250,boxes=2 --k 2", "1024/3", 2);
  row("two MI250 boxes, k = 3", "preset:mi250,boxes=2 --k 3", "2400/7", 3);
  row("two MI250 boxes, k = 4", "preset:mi250,boxes=2 --k 4", "1024/3", 4);
  row("two MI250 boxes, k = 5", "preset:mi250,boxes=2 --k 5", "8000/23", 5);
  row("two MI250 boxes, k up to 5", "preset:mi250,boxes=2 --k-max 5", "8000/23", 5);
  row("Fig. 4.5", "preset:fig-4-5", "8", 1);
  row("ring of four", "preset:ring,gpus=4,bandwidth=3", "8", 2);
  row("reduce-scatter", "preset:dgx-a100 -c reduce_scatter", "1040/3", 13);
  row("allreduce", "preset:dgx-a100 --collective allreduce", "520/3", 13);
  row("broadcast", "preset:dgx-a100 -c broadcast --root b0g3", "200", 8);
  row("reduce by rank", "preset:dgx-a100 -c reduce --root 12", "200", 8);
  row("subset by ranges", "preset:dgx-a100 --gpus 0-3,8-11", "200", 1);
}

void TestCliOptimum::optimum() {
  QFETCH(QStringList, arguments);
  const Outcome outcome = run(QStringList{"optimum", "--json"} + arguments);
  VERIFY_TOLD(outcome.code == 0, outcome);
  QTEST(outcome.json()["algbw"].toString(), "algbw");
  QTEST(outcome.json()["k"].toInt(), "k");
}

/// Where forwarding alone sets the limit, no cut does: the key is there nevertheless.
void TestCliOptimum::optimumBelowTheCuts() {
  const Outcome outcome = run({"optimum", data("reference/graphs/noneuler_switch_more_out.json"), "--json"});
  VERIFY_TOLD(outcome.code == 0 && isOneObject(outcome.out), outcome);
  const QJsonObject json = outcome.json();
  QCOMPARE(json["inv_x"].toString(), "3");
  VERIFY_TOLD(json["bottleneck_cut"].isArray() && json["bottleneck_cut"].toArray().isEmpty(), outcome);
  VERIFY_TOLD(json["sub_capacity"].toString().contains("only forward"), outcome);
}

void TestCliOptimum::cutDirection() {
  // Links of 5 and 3 one way: what leaves {g0, g1} is not what enters it.
  const QString fabric = data("reference/graphs/noneuler_gpu_asym_links.json");
  const Outcome out = run({"optimum", fabric, "--json"});
  QCOMPARE(out.json()["cut"].toObject()["direction"].toString(), QStringLiteral("leaving"));
  const Outcome in = run({"optimum", fabric, "-c", "reduce", "--root", "g1", "--json"});
  QCOMPARE(in.json()["cut"].toObject()["direction"].toString(), QStringLiteral("entering"));
  const Outcome both = run({"optimum", fabric, "-c", "allreduce", "--k-max", "20"});
  VERIFY_TOLD(both.out.contains("must send their sums out") || both.out.contains("must receive their sums"), both);
}

void TestCliOptimum::nonUniformAmounts() {
  const QString schedule = path("amounts.forest.json");
  const Outcome generated = run({"generate", "preset:ring,gpus=4", "--amounts", "1,2,0,3", "-o", schedule, "--json"});
  VERIFY_TOLD(generated.code == 0, generated);
  const Outcome verified = run({"verify", schedule, "--json"});
  VERIFY_TOLD(verified.code == 0, verified);
  // The same by names; a later item outdoes an earlier one.
  const auto optimum = [&](const QString& amounts) {
    return run({"optimum", "preset:dgx-a100,boxes=2", "--amounts", amounts, "--json"});
  };
  const Outcome byRank = optimum("3,3,3,5,3,3,3,3,0,0,0,1,0,0,0,0");
  const Outcome byName = optimum("b0*=3, b1*=0,b*3=1, b0g3 = 5");
  VERIFY_TOLD(byRank.code == 0, byRank);
  VERIFY_TOLD(byName.code == 0, byName);
  QCOMPARE(byName.json()["algbw"].toString(), byRank.json()["algbw"].toString());
  VERIFY_TOLD(optimum("b0*=1").json()["algbw"].toString() != byRank.json()["algbw"].toString(), byRank);
}

QTEST_GUILESS_MAIN(TestCliOptimum)
#include "tst_cli_optimum.moc"
