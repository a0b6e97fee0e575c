// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <algorithm>
#include <vector>

#include "schedule/fixed_k.hpp"
#include "schedule/tree_edit.hpp"
#include "support/must.hpp"
#include "support/sample_schedules.hpp"
#include "verify/schedule_verifier.hpp"

using namespace coppice;
using coppice::test::must;
using fabric::Rank;
using schedule::EditedForest;
using schedule::Forest;
using schedule::NewParent;
using schedule::TreeEdge;

namespace {

/// By rank the parent; -1 = root.
std::vector<Rank> parentsOf(const Forest& forest, std::int64_t tree) {
  std::vector<Rank> parents(static_cast<std::size_t>(forest.gpuCount), -1);
  for (const TreeEdge& edge : forest.edgesOf(forest.trees[tree])) {
    parents[edge.child] = edge.parent;
  }
  return parents;
}

/// Walks up from `rank` over the parents.
bool isAbove(const std::vector<Rank>& parents, Rank ancestor, Rank rank) {
  while (rank >= 0 && rank != ancestor) {
    rank = parents[rank];
  }
  return rank == ancestor;
}

/// What the verifier says of the edited forest in place of the schedule's, with its own measure of algbw.
QByteArray faultOf(const samples::Sample& sample, const Forest& forest) {
  schedule::Schedule schedule = sample.schedule;
  (forest.direction == schedule::Direction::out ? schedule.broadcastForest : schedule.reduceForest) = forest;
  schedule.algbw = forest.algbw();
  if (schedule.algbw < schedule.bound) {
    schedule::stateFixedK(schedule);
  }
  const auto verdict = verify::verifySchedule(sample.fabric, schedule);
  if (!verdict) {
    return describe(verdict.error()).c_str();
  }
  return verdict->ok ? QByteArray() : QByteArray(verdict->findings.front().text.c_str());
}

}  // namespace

class TestTreeEdit : public QObject {
  Q_OBJECT

private slots:
  /// Root 0 round the ring: 0 -> 1 -> 2 -> 3. With 3 below 0, link 0 -> 3 carries 4 trees and algbw is 8 / (4 / 10).
  void ringByHand() {
    const samples::Sample sample = samples::ring();
    const Forest& forest = *sample.schedule.broadcastForest;
    const EditedForest edited = must(schedule::withNewParent(sample.fabric, forest, {.tree = 0, .child = 3}));
    QCOMPARE(edited.tree, std::int64_t{0});
    QVERIFY((parentsOf(edited.forest, 0) == std::vector<Rank>{-1, 0, 1, 0}));
    QCOMPARE(toFraction(edited.forest.algbw()), "20");
    QCOMPARE(faultOf(sample, edited.forest), QByteArray());
    // And back again, which is the same forest with its routes in another order.
    const EditedForest back =
        must(schedule::withNewParent(sample.fabric, edited.forest, {.tree = 0, .child = 3, .parent = 2}));
    QVERIFY(parentsOf(back.forest, 0) == parentsOf(forest, 0));
    QCOMPARE(toFraction(back.forest.algbw()), "80/3");
  }

  /// Every child, every parent, both directions: accepted exactly where the parent is another one that is not below the
  /// child, and then the other parents stay and the verifier agrees on the algbw.
  void everyChange_data() {
    QTest::addColumn<bool>("isIn");
    QTest::addColumn<bool>("isRing");
    QTest::newRow("ring, out") << false << true;
    QTest::newRow("star, out") << false << false;
    QTest::newRow("star, in") << true << false;
  }
  void everyChange() {
    QFETCH(const bool, isIn);
    QFETCH(const bool, isRing);
    samples::Sample sample = isRing ? samples::ring() : samples::star();
    if (isIn) {
      sample.schedule.collective = Collective::reduceScatter;
      sample.schedule.reduceForest = schedule::reversed(*sample.schedule.broadcastForest);
      sample.schedule.broadcastForest.reset();
    }
    const Forest& forest = isIn ? *sample.schedule.reduceForest : *sample.schedule.broadcastForest;
    int accepted = 0;
    for (std::int64_t tree = 0; tree < std::ssize(forest.trees); ++tree) {
      const std::vector<Rank> before = parentsOf(forest, tree);
      for (Rank child = 0; child < forest.gpuCount; ++child) {
        const auto possible = schedule::possibleParents(forest.gpuCount, forest.edgesOf(forest.trees[tree]), child);
        for (Rank parent = 0; parent < forest.gpuCount; ++parent) {
          const auto edited = schedule::withNewParent(sample.fabric, forest, {tree, child, parent});
          const bool isCycle = before[child] < 0 || isAbove(before, child, parent);
          // On the ring no switches join GPUs that are opposite.
          const bool isApart = isRing && (child + 2) % 4 == parent;
          // There is one shortest route, which the edge has already.
          const bool isSame = parent == before[child];
          QCOMPARE(edited.hasValue(), !isCycle && !isApart && !isSame);
          QCOMPARE(std::ranges::count(possible, parent), !isCycle && parent != before[child] ? 1 : 0);
          if (!edited) {
            QVERIFY(edited.error().code == (isCycle || isSame ? ErrorCode::badUsage : ErrorCode::infeasible));
            continue;
          }
          ++accepted;
          std::vector<Rank> expected = before;
          expected[child] = parent;
          QVERIFY(parentsOf(edited->forest, edited->tree) == expected);
          QCOMPARE(faultOf(sample, edited->forest), QByteArray());
        }
      }
    }
    QVERIFY(accepted > 0);
  }

  void splitsOneCopyOff() {
    const samples::Sample star = samples::star();
    Forest forest = *star.schedule.broadcastForest;
    for (schedule::Tree& tree : forest.trees) {
      tree.multiplicity = 3;
    }
    forest.treesOfRoot = {3, 3, 3};
    const EditedForest edited =
        must(schedule::withNewParent(star.fabric, forest, {.tree = 1, .child = 0, .parent = 1}));
    QCOMPARE(edited.tree, std::int64_t{2});
    QCOMPARE(std::ssize(edited.forest.trees), std::ptrdiff_t{4});
    QCOMPARE(edited.forest.trees[1].multiplicity, std::int64_t{2});
    QCOMPARE(edited.forest.trees[2].multiplicity, std::int64_t{1});
    QVERIFY(parentsOf(edited.forest, 1) == parentsOf(forest, 1));
    QVERIFY((parentsOf(edited.forest, 2) == std::vector<Rank>{1, -1, 1}));
    // Link g1 -> sw carried 6 trees and carries 7: 9 / (7 / 10).
    QCOMPARE(toFraction(edited.forest.algbw()), "90/7");
    QCOMPARE(faultOf(star, edited.forest), QByteArray());
  }

  void takesAGivenRoute() {
    const samples::Sample star = samples::star();
    const Forest& forest = *star.schedule.broadcastForest;
    const EditedForest edited = must(schedule::withNewParent(star.fabric, forest, {0, 2, 0, {0, 3, 2}}));
    const auto edges = edited.forest.edgesOf(edited.forest.trees[0]);
    const auto route = edited.forest.paths[std::ranges::find(edges, 2, &TreeEdge::child)->path];
    QVERIFY((std::vector<fabric::NodeIndex>(route.begin(), route.end()) == std::vector<fabric::NodeIndex>{0, 3, 2}));
    for (const std::vector<fabric::NodeIndex>& bad :
         {std::vector{0, 2}, std::vector{2, 3, 0}, std::vector{0, 3, 1, 3, 2}, std::vector{0}}) {
      QVERIFY(!schedule::withNewParent(star.fabric, forest, {0, 2, 0, bad}));
    }
  }

  void refusesWhatIsNotThere() {
    const samples::Sample star = samples::star();
    const Forest& forest = *star.schedule.broadcastForest;
    for (const NewParent& change : {NewParent{3, 2, 0}, NewParent{-1, 2, 0}, NewParent{0, 3, 0}, NewParent{0, 2, -1}}) {
      const auto edited = schedule::withNewParent(star.fabric, forest, change);
      QVERIFY(!edited && edited.error().code == ErrorCode::badUsage && !edited.error().fix.empty());
    }
    const samples::Sample pruned = samples::prunedStar();
    QVERIFY(!schedule::withNewParent(pruned.fabric, *pruned.schedule.broadcastForest, {0, 2, 1}));
  }
};

QTEST_GUILESS_MAIN(TestTreeEdit)
#include "tst_tree_edit.moc"
