// SPDX-License-Identifier: Apache-2.0
#include <QTest>

#include "schedule/bound_scope.hpp"

using namespace coppice;
using schedule::BoundScope;
using schedule::SwitchAbilities;

namespace {

constexpr SwitchAbilities kPlain{.isBalanced = true};
constexpr SwitchAbilities kCopying{.copy = true, .isBalanced = true};
constexpr SwitchAbilities kBoth{.copy = true, .sum = true, .isBalanced = true};
constexpr SwitchAbilities kUnevenPlain{};
constexpr SwitchAbilities kUnevenCopying{.copy = true};
constexpr SwitchAbilities kUnevenSumming{.sum = true};

}  // namespace

class TestBoundScope : public QObject {
  Q_OBJECT

private slots:
  void scopes_data();
  void scopes();
  void abilities();
};

void TestBoundScope::scopes_data() {
  QTest::addColumn<SwitchAbilities>("switches");
  QTest::addColumn<Collective>("collective");
  QTest::addColumn<bool>("hasCut");
  QTest::addColumn<bool>("isForTrees");
  QTest::addColumn<BoundScope>("scope");
  const auto row = [](const char* name, const SwitchAbilities& switches, Collective collective, bool hasCut,
                      bool isForTrees, BoundScope scope) {
    QTest::newRow(name) << switches << collective << hasCut << isForTrees << scope;
  };
  using enum Collective;
  row("allgather", kPlain, allgather, true, false, BoundScope::all);
  row("allgather, switches that copy", kBoth, allgather, true, false, BoundScope::all);
  row("allreduce, not compared with trees", kPlain, allreduce, true, false, BoundScope::halves);
  row("allreduce, no trees are faster", kPlain, allreduce, true, true, BoundScope::trees);
  row("allreduce, switches that sum and copy", kBoth, allreduce, true, true, BoundScope::trees);
  row("allreduce, switches that copy, not compared with trees", kCopying, allreduce, true, false,
      BoundScope::plainSwitches);
  row("uneven allgather, switches that copy, by trees", kUnevenCopying, allgather, false, true, BoundScope::all);
  row("uneven, forwarding limits", kUnevenPlain, allgather, false, false, BoundScope::all);
  row("uneven allgather, switches that copy", kUnevenCopying, allgather, false, false, BoundScope::plainSwitches);
  row("uneven allgather, a cut limits", kUnevenCopying, allgather, true, false, BoundScope::all);
  row("uneven allgather, switches that sum", kUnevenSumming, allgather, false, false, BoundScope::all);
  row("uneven reduce-scatter, switches that sum", kUnevenSumming, reduceScatter, false, false,
      BoundScope::plainSwitches);
  row("uneven reduce-scatter, switches that copy", kUnevenCopying, reduceScatter, false, false, BoundScope::all);
  row("uneven gather", kUnevenCopying, gather, false, false, BoundScope::all);
  row("alltoall", kBoth, alltoall, false, false, BoundScope::all);
}

void TestBoundScope::scopes() {
  QFETCH(SwitchAbilities, switches);
  QFETCH(Collective, collective);
  QFETCH(bool, hasCut);
  QFETCH(bool, isForTrees);
  QFETCH(BoundScope, scope);
  const BoundScope found = schedule::boundScope(switches, collective, {hasCut, isForTrees});
  QCOMPARE(found, scope);
  QCOMPARE(schedule::isOptimum(found), found == BoundScope::all || found == BoundScope::trees);
  const std::string_view sentence = schedule::sentenceOf(found);
  QCOMPARE(sentence.find("may be") == std::string_view::npos, schedule::isOptimum(found));
}

/// Only what relays can do counts, and only whether all of them are balanced.
void TestBoundScope::abilities() {
  fabric::Description star;
  star.name = "star";
  for (const char* gpu : {"a", "b"}) {
    star.nodes.push_back({.id = gpu, .multicast = true});
    star.links.push_back({.src = gpu, .dst = "s", .bandwidth = "10"});
  }
  star.nodes.push_back({.id = "s", .kind = "switch", .aggregation = true});
  const auto even = fabric::Fabric::build(star);
  QVERIFY(even);
  const SwitchAbilities switches = schedule::switchAbilities(*even);
  QVERIFY(!switches.copy && switches.sum && switches.isBalanced);
  star.links.push_back({.src = "s", .dst = "a", .bandwidth = "5", .duplex = false});
  const auto uneven = fabric::Fabric::build(star);
  QVERIFY(uneven && !schedule::switchAbilities(*uneven).isBalanced);
}

QTEST_GUILESS_MAIN(TestBoundScope)
#include "tst_bound_scope.moc"
