// SPDX-License-Identifier: Apache-2.0
#include "lp/shared_halves.hpp"

#include <QTest>
#include <vector>

using namespace coppice;
using lp::HalvesProblem;

namespace {

constexpr lp::Milliseconds kBudget(10'000);

/// GPUs 0, 1, 2 round the relay 3, one unit each way; arcs 0 to 2 go to the relay, 3 to 5 come from it. One tree of
/// each root in each half.
HalvesProblem star() {
  HalvesProblem problem;
  problem.nodeCount = 4;
  problem.isGpu = {true, true, true, false};
  for (int gpu = 0; gpu < 3; ++gpu) {
    problem.arcs.push_back({gpu, 3});
  }
  for (int gpu = 0; gpu < 3; ++gpu) {
    problem.arcs.push_back({3, gpu});
  }
  problem.capacities.assign(6, 1);
  for (HalvesProblem::Half& half : problem.halves) {
    half.load.assign(6, 0);
    half.supply = {1, 1, 1, 0};
  }
  return problem;
}

}  // namespace

class TestSharedHalves : public QObject {
  Q_OBJECT

private slots:
  /// Six trees of two hops each over three links to the relay: four on each.
  void nothingStays() {
    const HalvesProblem problem = star();
    const auto shares = lp::shareHalves(problem, 12, kBudget);
    QVERIFY(shares.has_value());
    QCOMPARE(shares->time, Rational(4));
    for (std::size_t i = 0; i < 6; ++i) {
      QVERIFY(Rational(shares->trees[0][i] + shares->trees[1][i], shares->denominator) <= Rational(4));
    }
  }

  /// The out-trees 0 -> 1, 0 -> 2; 1 -> 0, 0 -> 2; 2 -> 0, 0 -> 1 stay: GPU 0 sends four times, the others once. In
  /// each of the two in-trees of other roots, GPU 0 sends once more.
  void badTreesStay() {
    HalvesProblem problem = star();
    problem.halves[1].supply = {0, 0, 0, 0};
    problem.halves[1].load = {4, 1, 1, 2, 2, 2};
    const auto shares = lp::shareHalves(problem, 12, kBudget);
    QVERIFY(shares.has_value());
    QCOMPARE(shares->time, Rational(6));
    QCOMPARE(shares->trees[1][0], 4 * shares->denominator);
    // As in-trees, they load the links turned round: GPU 0 receives four times, and twice as often in the out-trees.
    std::swap(problem.halves[0], problem.halves[1]);
    problem.halves[0].load = {2, 2, 2, 4, 1, 1};
    QCOMPARE(lp::shareHalves(problem, 12, kBudget)->time, Rational(6));
  }

  /// One link of half a unit: the others would carry four trees, it carries at least the two hops of each half.
  void slowLink() {
    HalvesProblem problem = star();
    problem.capacities = {2, 2, 1, 2, 2, 1};
    // GPU 2 sends in two in-trees of other roots, and in its own out-tree: three over one unit. In the time 3, the
    // others have 6 each.
    QCOMPARE(lp::shareHalves(problem, 12, kBudget)->time, Rational(3));
  }

  void withoutWork() { QVERIFY(!lp::shareHalves(star(), 12, lp::Milliseconds(0)).has_value()); }
};

QTEST_APPLESS_MAIN(TestSharedHalves)
#include "tst_shared_halves.moc"
