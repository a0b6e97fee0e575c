// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "advice/fitting.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"
#include "forestcoll/peers/peer_limit.hpp"
#include "lowering/footprint.hpp"
#include "lowering/lowering.hpp"
#include "presets/presets.hpp"
#include "support/preset_fabrics.hpp"

using namespace coppice;
using test::presetFabric;

class TestFitting : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void offers_data() {
    QTest::addColumn<QString>("preset");
    QTest::addColumn<int>("boxes");
    QTest::addColumn<int>("k");  // 0 = free
    QTest::addColumn<int>("instances");
    QTest::addColumn<bool>("fewerTrees");
    QTest::addColumn<bool>("fewerPeers");
    QTest::newRow("too many peers") << "dgx-a100" << 24 << 0 << 4 << false << true;
    QTest::newRow("too many trees") << "cluster" << 2 << 10'007 << 1 << true << true;
    QTest::newRow("too many instances") << "cluster" << 2 << 0 << 32 << false << true;
    QTest::newRow("nothing fits") << "hgx-mi300x" << 1 << 0 << 32 << false << false;
  }
  /// Every offer, generated as it says, fits and reaches exactly what it says.
  void offers() {
    QFETCH(QString, preset);
    QFETCH(int, boxes);
    QFETCH(int, k);
    QFETCH(int, instances);
    QFETCH(bool, fewerTrees);
    QFETCH(bool, fewerPeers);
    std::map<std::string, std::string> arguments;
    if (boxes > 0) {
      arguments = {{"boxes", std::to_string(boxes)}, {"network", "simple"}};
    }
    const fabric::Fabric fabric = presetFabric(preset.toStdString(), arguments);
    forestcoll::Request asked;
    if (k > 0) {
      asked.fixedK = k;
    }
    const auto generated = forestcoll::generate(fabric, asked);
    QVERIFY(generated);
    lowering::Options options;
    options.instances = instances;
    const auto program = lowering::lower(fabric, generated->schedule, options);
    QVERIFY(!program);
    QCOMPARE(program.error().code, ErrorCode::limit);

    const auto fits = advice::whatFits(fabric, advice::requestOf(generated->schedule), generated->schedule, options);
    QVERIFY2(fits, fits ? "" : describe(fits.error()).c_str());
    bool hasTrees = false;
    bool hasPeers = false;
    Bandwidth before = generated->schedule.algbw;
    QVERIFY(!fits->never);
    QVERIFY(fits->untried.empty());
    for (const advice::Fit& fit : fits->fits) {
      QVERIFY(fit.algbw <= before);
      before = fit.algbw;
      QVERIFY(fit.share == fit.algbw / generated->schedule.bound);
      QVERIFY(fit.share.isPositive() && fit.share <= Rational(1));
      QVERIFY(fit.k || fit.maxPeers);
      hasTrees = hasTrees || fit.k;
      hasPeers = hasPeers || fit.maxPeers;
      forestcoll::Request request;
      request.fixedK = fit.k;
      schedule::Schedule again;
      if (fit.maxPeers) {
        const auto limited = forestcoll::generateWithPeers(fabric, request, *fit.maxPeers);
        QVERIFY(limited);
        again = limited->generated.schedule;
      } else {
        const auto made = forestcoll::generate(fabric, request);
        QVERIFY(made);
        again = made->schedule;
      }
      QVERIFY(again.algbw == fit.algbw);
      QCOMPARE(schedule::heights(*again.broadcastForest).logicalMax, fit.height);
      const auto lowered = lowering::lower(fabric, again, options);
      QVERIFY2(lowered, lowered ? "" : describe(lowered.error()).c_str());
      QVERIFY(fit.threadBlocks > 0 && fit.threadBlocks <= program::limits(options.runtime).threadBlocksPerRank);
    }
    QCOMPARE(hasTrees, fewerTrees);
    QCOMPARE(hasPeers, fewerPeers);
  }

  void nothingForAmounts() {
    const fabric::Fabric fabric = presetFabric("cluster", {{"gpus", "2"}});
    forestcoll::Request request;
    request.amounts = {1, 2, 1, 1};
    const auto generated = forestcoll::generate(fabric, request);
    QVERIFY(generated);
    const auto fits = advice::whatFits(fabric, advice::requestOf(generated->schedule), generated->schedule, {});
    QVERIFY(fits);
    QVERIFY(fits->fits.empty());
  }

  /// Where no trees fit, nothing is generated.
  void neverFits() {
    const fabric::Fabric fabric = presetFabric("dgx-a100", {{"boxes", "512"}, {"network", "simple"}});
    const auto generated = forestcoll::generate(fabric, {});
    QVERIFY(generated);
    const auto program = lowering::lower(fabric, generated->schedule, {});
    QVERIFY(!program);
    QCOMPARE(program.error().code, ErrorCode::limit);
    const auto fits = advice::whatFits(fabric, advice::requestOf(generated->schedule), generated->schedule, {}, {}, 0);
    QVERIFY(fits);
    QVERIFY(fits->never);
    QVERIFY(fits->fits.empty() && fits->untried.empty());
    // A runtime without that limit.
    lowering::Options options;
    options.runtime = program::Runtime::mscclpp;
    const auto others =
        advice::whatFits(fabric, advice::requestOf(generated->schedule), generated->schedule, options, {}, 0);
    QVERIFY(others);
    QVERIFY(!others->never);
    QVERIFY(others->fits.empty());
    QVERIFY(!others->untried.empty());
  }

  /// Large programs are planned: what is offered can be written all the same, and the search says what it left out.
  void planned() {
    const fabric::Fabric fabric = presetFabric("dgx-a100", {{"boxes", "64"}, {"network", "simple"}});
    const auto generated = forestcoll::generate(fabric, {});
    QVERIFY(generated);
    lowering::Options options;
    options.instances = 2;
    const auto whole = lowering::messagesOf(generated->schedule);
    QVERIFY(!lowering::lower(fabric, generated->schedule, options));
    const auto fits =
        advice::whatFits(fabric, advice::requestOf(generated->schedule), generated->schedule, options, {}, 2 * whole);
    QVERIFY(fits);
    QVERIFY(!fits->fits.empty());
    const advice::Fit& fit = fits->fits.front();
    QVERIFY(!fit.isWritten);
    QVERIFY(fit.maxPeers);
    const auto again = forestcoll::generateWithPeers(fabric, {}, *fit.maxPeers);
    QVERIFY(again);
    const auto footprint = lowering::footprint(fabric, again->generated.schedule, options);
    QVERIFY(footprint);
    QCOMPARE(footprint->threadBlocks, fit.threadBlocks);
    const auto lowered = lowering::lower(fabric, again->generated.schedule, options);
    QVERIFY2(lowered, lowered ? "" : describe(lowered.error()).c_str());
  }

  void cancelled() {
    const fabric::Fabric fabric = presetFabric("cluster", {{"gpus", "4"}});
    const auto generated = forestcoll::generate(fabric, {});
    QVERIFY(generated);
    std::stop_source stop;
    stop.request_stop();
    Progress progress;
    progress.stop = stop.get_token();
    const auto fits =
        advice::whatFits(fabric, advice::requestOf(generated->schedule), generated->schedule, {}, progress);
    QVERIFY(!fits);
    QCOMPARE(fits.error().code, ErrorCode::cancelled);
  }
};

QTEST_GUILESS_MAIN(TestFitting)
#include "tst_fitting.moc"
