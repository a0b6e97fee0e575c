// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <limits>

#include "base/checked.hpp"
#include "schedule/from_forest.hpp"
#include "schedule/traffic.hpp"
#include "support/sample_schedules.hpp"

using namespace coppice;
using schedule::Forest;

class TestForest : public QObject {
  Q_OBJECT

private slots:
  void pathsKeepTheirNodes() {
    schedule::PathPool pool;
    QCOMPARE(pool.size(), 0);
    const std::vector<int> first{3, 1, 2};
    const std::vector<int> second{4};
    QCOMPARE(pool.add(first), 0);
    QCOMPARE(pool.add({}), 1);
    QCOMPARE(pool.add(second), 2);
    QCOMPARE(pool.size(), 3);
    QVERIFY(std::vector<int>(pool[0].begin(), pool[0].end()) == first);
    QVERIFY(pool[1].empty());
    QVERIFY(std::vector<int>(pool[2].begin(), pool[2].end()) == second);
  }

  void countsAndRates() {
    const Forest uneven = *samples::unevenStar().schedule.broadcastForest;
    QCOMPARE(uneven.treeCount(), std::int64_t{3});
    QCOMPARE(toFraction(uneven.algbw()), "10");
    const Forest ring = *samples::ring().schedule.broadcastForest;
    QCOMPARE(ring.treeCount(), std::int64_t{8});
    QCOMPARE(toFraction(ring.algbw()), "80/3");
    Forest huge = ring;
    huge.treesOfRoot[0] = std::numeric_limits<std::int64_t>::max();
    QVERIFY_EXCEPTION_THROWN((void)huge.treeCount(), OverflowError);
    huge = ring;
    huge.scale = InverseBandwidth(0);
    QVERIFY_EXCEPTION_THROWN((void)huge.algbw(), OverflowError);
  }

  void heights() {
    Forest forest = samples::emptyForest(3, {3, 1, 0}, Rational(1));
    samples::addTree(forest, 0, 3, {{0, 1, {0, 3, 1}}, {0, 2, {0, 3, 2}}});
    samples::addTree(forest, 1, 1, {{1, 2, {1, 3, 4, 2}}, {2, 0, {2, 3, 0}}});
    const schedule::Heights heights = schedule::heights(forest);
    QCOMPARE(heights.logicalMax, 2);
    QCOMPARE(heights.logicalMean, 1.25);
    QCOMPARE(heights.physicalMax, 5);
    QCOMPARE(schedule::heights(Forest{}).logicalMax, 0);
  }

  void reversalTurnsRoutesRound() {
    const Forest forest = *samples::prunedStar().schedule.broadcastForest;
    const Forest reversed = schedule::reversed(forest);
    QVERIFY(reversed.direction == schedule::Direction::in);
    QVERIFY(reversed.edges == forest.edges);
    QVERIFY(reversed.trees == forest.trees);
    const auto route = reversed.paths[0];
    QVERIFY(std::vector<int>(route.begin(), route.end()) == std::vector<int>({1, 3, 0}));
    QVERIFY(schedule::reversed(reversed) == forest);
  }

  /// Each GPU sends 3 of the 8 trees to either neighbour.
  void trafficOfARing() {
    samples::Sample sample = samples::ring();
    const auto checkRing = [](const schedule::Traffic& traffic, const Rational& expected) {
      QCOMPARE(traffic.size, 4);
      for (int from = 0; from < 4; ++from) {
        for (int to = 0; to < 4; ++to) {
          const bool isNext = (from + 1) % 4 == to || (to + 1) % 4 == from;
          QCOMPARE(traffic.share(from, to).toString(), (isNext ? expected : Rational(0)).toString());
        }
      }
    };
    checkRing(*schedule::trafficOf(sample.fabric, sample.schedule), Rational(3, 8));
    const auto steps = schedule::stepScheduleOf(sample.fabric, sample.schedule);
    QVERIFY(steps);
    checkRing(*schedule::trafficOf(sample.fabric, *steps), Rational(3, 8));
    sample.schedule.reduceForest = schedule::reversed(*sample.schedule.broadcastForest);
    checkRing(*schedule::trafficOf(sample.fabric, sample.schedule), Rational(3, 4));

    const schedule::Traffic halves =
        schedule::groupedTraffic(*schedule::trafficOf(sample.fabric, sample.schedule), std::vector{0, 0, 1, 1}, 2);
    QCOMPARE(halves.share(0, 0).toString(), "3/2");
    QCOMPARE(halves.share(0, 1).toString(), "3/2");
    QCOMPARE(halves.share(1, 1).toString(), "3/2");
    std::stop_source stop;
    stop.request_stop();
    const auto stopped = schedule::trafficOf(sample.fabric, sample.schedule, {.stop = stop.get_token()});
    QVERIFY(!stopped && stopped.error().code == ErrorCode::cancelled);
  }
};

QTEST_GUILESS_MAIN(TestForest)
#include "tst_forest.moc"
