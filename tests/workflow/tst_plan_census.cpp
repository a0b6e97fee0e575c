// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <map>
#include <string>

#include "bench/plan_census.hpp"
#include "support/preset_fabrics.hpp"

using namespace coppice;
using namespace coppice::test;

/// A part of what plan_census counts: every method and collective on a few small fabrics.
class PlanCensusTest : public QObject {
  Q_OBJECT

private slots:
  void counts_data() {
    QTest::addColumn<QString>("preset");
    QTest::addColumn<int>("right");
    QTest::newRow("ring") << "ring gpus=4" << 150;
    QTest::newRow("two boxes") << "cluster boxes=2 gpus=2" << 150;
    QTest::newRow("NVSwitch that sums") << "gb200-nvl72 racks=1 gpus=4 nvls=true" << 150;
  }

  void counts() {
    QFETCH(QString, preset);
    QFETCH(int, right);
    std::map<std::string, int> outcomes;
    const CensusOptions options;
    takeCensus(preset.toStdString(), presetFabric(preset), options, [&](const CensusRow& row) {
      ++outcomes[row.outcome];
      const std::string text = row.method + ", " + row.collective + ", " + row.target + ", " + row.variant + ": ";
      QVERIFY2(row.outcome != "wrong", (text + row.reason).c_str());
      QVERIFY2(row.outcome == "right" || !row.reason.empty(), text.c_str());
    });
    QVERIFY2(outcomes["right"] >= right, std::to_string(outcomes["right"]).c_str());
  }

  void fabrics() {
    const auto all = censusFabrics(32);
    QVERIFY2(all.size() >= 60, std::to_string(all.size()).c_str());
    for (const CensusFabric& each : all) {
      QVERIFY(each.fabric.gpuCount() <= 32);
    }
  }
};

QTEST_APPLESS_MAIN(PlanCensusTest)
#include "tst_plan_census.moc"
