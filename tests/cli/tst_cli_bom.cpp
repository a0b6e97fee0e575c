// SPDX-License-Identifier: Apache-2.0
#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QTemporaryDir>
#include <QTest>

#include "coppice/test_paths.hpp"
#include "support/cli_runner.hpp"

using namespace coppice::test;

namespace {

const QString kSample = QStringLiteral(COPPICE_EXAMPLES "/parts.csv");

QByteArray fileText(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

}  // namespace

/// What a network costs, through the built coppice-cli: bom and frontier.
class TestCliBom : public QObject {
  Q_OBJECT

private slots:
  void sample();
  void bill();
  void manual();
  void frontier();
  void refuses_data();
  void refuses();
};

void TestCliBom::sample() {
  const QTemporaryDir folder;
  const QString file = folder.filePath("parts.csv");
  VERIFY_TOLD(run({"bom", "--sample", "-o", file}).code == 0, run({"bom", "--sample"}));
  QCOMPARE(fileText(file), fileText(kSample));
  QCOMPARE(run({"bom", "--sample"}).out, fileText(kSample));
  // Without a table its prices are taken, which is said.
  const Outcome priced = run({"bom", "preset:dgx-h100,boxes=2"});
  VERIFY_TOLD(priced.code == 0 && priced.out.contains("round numbers of the sample"), priced);
  const Outcome own = run({"bom", "preset:dgx-h100,boxes=2", "--parts", kSample});
  VERIFY_TOLD(own.code == 0 && !own.out.contains("of the sample"), own);
}

/// Eight DGX H100 on rails, in the sample: 64 NICs at 1500, 8 rails of 16 ports at 15000, a spine of 64 ports at 25000.
/// 128 cables, 200 for a DAC and 600 for an AOC.
void TestCliBom::bill() {
  const QTemporaryDir folder;
  const QString cables = folder.filePath("cables.csv");
  const QString table = folder.filePath("bill.csv");
  const Outcome outcome = run(
      {"bom", "preset:dgx-h100,boxes=8,network=rails", "--parts", kSample, "--cables", cables, "-o", table, "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  const QJsonObject json = outcome.json();
  QCOMPARE(json["boxes"].toInt(), 8);
  QCOMPARE(json["cables"].toInt(), 128);
  const QByteArray list = fileText(cables);
  QCOMPARE(list.count('\n'), 129);
  const auto dacs = list.count("DAC 400G\n");
  const auto aocs = list.count("AOC 400G 10 m\n");
  QCOMPARE(dacs + aocs, 128);
  QCOMPARE(json["price"].toString().toLongLong(), 64 * 1500 + 8 * 15000 + 25000 + 200 * dacs + 600 * aocs);
  QCOMPARE(json["watts"].toString().toLongLong(), 64 * 30 + 8 * 1000 + 2000 + 20 * aocs);
  QVERIFY(fileText(table).contains("total,,,," + json["price"].toString().toUtf8()));
  // Leaves at the top of the racks of their boxes: shorter cables, so that more are DACs.
  const QStringList leaves = {"bom", "preset:dgx-h100,boxes=8,network=leaf-spine,boxes_per_leaf=4", "--parts", kSample,
                              "--json"};
  const Outcome middle = run(leaves);
  const Outcome top = run(leaves + QStringList{"--top-of-rack"});
  VERIFY_TOLD(middle.code == 0 && top.code == 0, top);
  QVERIFY(top.json()["price"].toString().toLongLong() < middle.json()["price"].toString().toLongLong());
}

/// What command-line.md says of four boxes and of 256 GPUs.
void TestCliBom::manual() {
  const Outcome four = run({"bom", "preset:cluster,boxes=4,gpus=2,nic=50,network=leaf-spine", "--boxes-per-rack", "2",
                            "--parts", kSample, "--cables", "-"});
  VERIFY_TOLD(four.code == 0, four);
  QVERIFY(four.out.contains("1,b0nic0,rack 1,1,leaf0,network rack 1,1,50,3.35,AOC 400G 10 m\n"));
  const Outcome many = run({"frontier", "--gpus", "256", "--parts", kSample, "--network", "leaf-spine", "--json"});
  VERIFY_TOLD(many.code == 0, many);
  const QByteArray page = fileText(QStringLiteral(COPPICE_EXAMPLES "/../resources/doc/command-line.md"));
  int rows = 0;
  for (const QJsonValue& value : many.json()["points"].toArray()) {
    const QJsonObject point = value.toObject();
    if (point["on_front"].toBool()) {
      const QString network = point["network"].toString().section(' ', 1);
      const QString row = "| " + network + " | " + point["price"].toString() + " | " + point["watts"].toString() + " |";
      QVERIFY2(page.contains(row.toUtf8()), qPrintable(row));
      ++rows;
    }
  }
  QCOMPARE(rows, 3);
}

void TestCliBom::frontier() {
  const QTemporaryDir folder;
  const QString out = folder.filePath("networks");
  const Outcome outcome = run({"frontier", "--gpus", "64", "--nic", "25,400Gb/s", "--parts", kSample, "--network",
                               "simple,rails", "--oversubscription", "1:1,2", "-o", out, "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  const QJsonObject json = outcome.json();
  QCOMPARE(json["variants"].toInt(), 6);
  QCOMPARE(json["points"].toArray().size(), 6);
  QVERIFY(json["not_built"].toArray().isEmpty());
  // Each fabric that was written has the bound and the bill that the front says.
  const QStringList fabrics = QDir(out).entryList({"*.fabric.json"}, QDir::Files, QDir::Name);
  QCOMPARE(fabrics.size(), json["front"].toInt());
  QCOMPARE(json["files"].toArray().size(), fabrics.size());
  int at = 0;
  for (const QJsonValue& value : json["points"].toArray()) {
    const QJsonObject point = value.toObject();
    if (!point["on_front"].toBool()) {
      continue;
    }
    const QString fabric = QDir(out).filePath(fabrics[at++]);
    const Outcome bound = run({"optimum", fabric, "-c", "alltoall", "--json"});
    QCOMPARE(bound.json()["algbw"], point["alltoall"]);
    const Outcome priced = run({"bom", fabric, "--parts", kSample, "--json"});
    QCOMPARE(priced.json()["price"], point["price"]);
  }
  QVERIFY(at > 0);
}

void TestCliBom::refuses_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<QString>("message");
  const QString fabric = "preset:dgx-h100,boxes=2";
  QTest::newRow("no fabric") << QStringList{"bom", "--parts", kSample} << "no fabric is given";
  QTest::newRow("no such table") << QStringList{"bom", fabric, "--parts", "absent.csv"} << "absent.csv";
  QTest::newRow("not a table") << QStringList{"bom", fabric, "--parts", COPPICE_EXAMPLES "/growth.csv"}
                               << "growth.csv:1: there is no column";
  QTest::newRow("too large") << QStringList{"bom", "preset:dgx-h100,boxes=32", "--parts", kSample}
                             << "no switch has the 256 ports of 50 GB/s that \"ib\" needs";
  QTest::newRow("length") << QStringList{"bom", fabric, "--parts", kSample, "--slack", "long"}
                          << "--slack: \"long\" is not a length";
  QTest::newRow("racks") << QStringList{"bom", fabric, "--parts", kSample, "--boxes-per-rack", "9"}
                         << "--boxes-per-rack: this many boxes are higher than a rack";
  QTest::newRow("ratio") << QStringList{"frontier", "--parts", kSample, "--oversubscription", "1/2"}
                         << "--oversubscription: \"1/2\" is not a ratio of 1:1 or more";
  QTest::newRow("rate") << QStringList{"frontier", "--parts", kSample, "--nic", "0"}
                        << "--nic: \"0\" is not a rate above 0";
  QTest::newRow("planes") << QStringList{"frontier", "--parts", kSample, "--network", "planes", "--planes", "0"}
                          << "--planes: \"0\" is not a number of planes";
  QTest::newRow("model") << QStringList{"frontier", "--parts", kSample, "--model", "nothing"}
                         << "--model: there is no model";
  QTest::newRow("box") << QStringList{"frontier", "--box", "torus"} << "--box: \"torus\" is not a box";
}

void TestCliBom::refuses() {
  QFETCH(QStringList, arguments);
  QFETCH(QString, message);
  const Outcome outcome = run(arguments);
  VERIFY_TOLD(outcome.code == 2, outcome);
  VERIFY_TOLD(QString::fromUtf8(outcome.err).contains(message), outcome);
}

QTEST_APPLESS_MAIN(TestCliBom)
#include "tst_cli_bom.moc"
