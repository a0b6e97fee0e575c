// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "../forestcoll/random_fabrics.hpp"
#include "forestcoll/forestcoll.hpp"
#include "forestcoll/repair/kept_trees.hpp"
#include "forestcoll/repair/repair.hpp"
#include "forestcoll/repair/residual.hpp"
#include "live/damaged_fabric.hpp"
#include "live/failure_classes.hpp"
#include "live/failure_groups.hpp"
#include "live/failures.hpp"
#include "schedule/expansion.hpp"
#include "support/must.hpp"
#include "support/preset_fabrics.hpp"
#include "verify/schedule_verifier.hpp"

using namespace coppice;
using coppice::test::built;
using coppice::test::describedBy;
using coppice::test::must;

/// Schedules after failures: what is kept, what is new, and how fast they are.
namespace {

forestcoll::Request plainRequest(Collective collective) {
  forestcoll::Request request;
  request.collective = collective;
  request.plainSwitches = true;
  request.overlap = forestcoll::Overlap::never;
  request.allreduceBudget = std::chrono::milliseconds(0);
  if (isRooted(collective)) {
    request.root = 1;
  }
  return request;
}

/// Root and edges by ids, each with its route.
using NamedTree = std::pair<std::string, std::set<std::tuple<std::string, std::string, std::string>>>;

/// The share of the data that each tree carries. GPUs that `left` lacks are cut off, and their trees left out.
std::map<NamedTree, Rational> sharesOf(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                       const fabric::Fabric& left, bool hasRoutes) {
  std::map<NamedTree, Rational> shares;
  for (const auto* half : {&schedule.reduceForest, &schedule.broadcastForest}) {
    if (!*half) {
      continue;
    }
    const schedule::Forest forest = must(schedule::expanded(**half, fabric));
    const auto idOf = [&](fabric::Rank rank) { return fabric.nodes()[fabric.gpus()[rank]].id; };
    std::int64_t all = 0;
    for (fabric::Rank rank = 0; rank < fabric.gpuCount(); ++rank) {
      all += left.find(idOf(rank)) ? forest.treesOfRoot[rank] : 0;
    }
    const int halves = schedule.reduceForest && schedule.broadcastForest ? 2 : 1;
    for (const schedule::Tree& tree : forest.trees) {
      if (!left.find(idOf(tree.root))) {
        continue;
      }
      NamedTree named{(*half == schedule.reduceForest ? "in " : "out ") + idOf(tree.root), {}};
      for (const schedule::TreeEdge& edge : forest.edgesOf(tree)) {
        if (!left.find(idOf(edge.child))) {
          continue;
        }
        std::string route;
        for (const fabric::NodeIndex node : forest.paths[edge.path]) {
          route += hasRoutes ? fabric.nodes()[node].id + " " : "";
        }
        named.second.emplace(idOf(edge.parent), idOf(edge.child), route);
      }
      shares[named] += Rational(tree.multiplicity, all * halves);
    }
  }
  return shares;
}

/// What of the old trees is found again in the new schedule, by their names alone.
Rational foundAgain(const fabric::Fabric& before, const schedule::Schedule& old, const fabric::Fabric& after,
                    const schedule::Schedule& repaired, bool hasRoutes = true) {
  const auto oldShares = sharesOf(before, old, after, hasRoutes);
  const auto newShares = sharesOf(after, repaired, after, hasRoutes);
  Rational sum;
  for (const auto& [tree, share] : oldShares) {
    const auto found = newShares.find(tree);
    sum += found != newShares.end() ? std::min(share, found->second) : Rational();
  }
  return sum;
}

QByteArray faultOf(const fabric::Fabric& fabric, const schedule::Schedule& schedule) {
  const auto verdict = verify::verifySchedule(fabric, schedule);
  if (!verdict) {
    return describe(verdict.error()).c_str();
  }
  return verdict->ok && verdict->boundProved
             ? QByteArray()
             : QByteArray(verdict->findings.empty() ? "the bound is not proved"
                                                    : verdict->findings.front().text.c_str());
}

}  // namespace

class TestRepair : public QObject {
  Q_OBJECT

private slots:
  void presets_data();
  void presets();
  void randomFabrics_data();
  void randomFabrics();
  void leastTimeByEverySet();
  void unaffected();
  void rerouted();
  void manyGpus();
  void refused();
  void rootFails();
  void classes();
  void groups();
  void groupsOfAFile_data();
  void groupsOfAFile();

private:
  void repairAll(const fabric::Description& description, Collective collective, std::size_t every);
};

/// Every failure, with the three ways to choose what is kept.
void TestRepair::repairAll(const fabric::Description& description, Collective collective, std::size_t every) {
  const fabric::Fabric before = built(description);
  const forestcoll::Request request = plainRequest(collective);
  const schedule::Schedule old = must(forestcoll::generate(before, request)).schedule;
  const auto failures = live::singleFailures(description, true);
  std::size_t repairs = 0;
  for (std::size_t i = 0; i < failures.size(); i += every) {
    const auto context = [&] { return failures[i].name.c_str(); };
    const live::DamagedFabric damaged = must(live::damagedFabric(description, failures[i]));
    const auto after = fabric::Fabric::build(damaged.description);
    if (!after) {
      continue;  // GPUs are cut off
    }
    const auto exact = forestcoll::repaired(before, old, *after);
    if (!exact) {
      QCOMPARE(exact.error().code, ErrorCode::infeasible);
      continue;
    }
    ++repairs;
    QVERIFY2(faultOf(*after, exact->schedule).isEmpty(), faultOf(*after, exact->schedule) + context());
    forestcoll::Request asked = request;
    if (request.root) {
      asked.root = after->nodes()[*after->find(before.nodes()[before.gpus()[*request.root]].id)].rank;
    }
    const Bandwidth optimum = must(forestcoll::optimum(*after, asked)).algbw;
    QCOMPARE(exact->schedule.algbw, optimum);
    QCOMPARE(exact->optimum, optimum);
    QVERIFY2(exact->keepingAll <= optimum, context());
    QVERIFY2(exact->count.kept <= exact->count.unaffected, context());
    QVERIFY2(foundAgain(before, old, *after, exact->schedule) >= exact->count.kept, context());
    const Rational same = exact->count.kept + exact->count.rerouted;
    QVERIFY2(foundAgain(before, old, *after, exact->schedule, false) >= same, context());
    QVERIFY2((same == Rational(1)) == (exact->count.newTrees == 0), context());

    const auto all = must(forestcoll::repaired(before, old, *after, {.keepAll = true}));
    QVERIFY2(faultOf(*after, all.schedule).isEmpty(), faultOf(*after, all.schedule) + context());
    QCOMPARE(all.schedule.algbw, exact->keepingAll);
    QCOMPARE(all.count.kept, all.count.unaffected);
    QVERIFY2(foundAgain(before, old, *after, all.schedule) >= all.count.unaffected, context());

    const Rational maxLoss(1, 20);
    const auto within = must(forestcoll::repaired(before, old, *after, {.maxLoss = maxLoss}));
    QVERIFY2(faultOf(*after, within.schedule).isEmpty(), faultOf(*after, within.schedule) + context());
    QVERIFY2(within.schedule.algbw >= (Rational(1) - maxLoss) * optimum, context());
    QVERIFY2(within.count.kept >= exact->count.kept, context());
  }
  QVERIFY(repairs > 0);
}

void TestRepair::presets_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<Collective>("collective");
  QTest::addColumn<int>("every");
  const auto row = [](const char* preset, Collective collective, int every) {
    QTest::addRow("%s, %s", preset, std::string(toString(collective)).c_str()) << preset << collective << every;
  };
  row("dgx-a100 boxes=2", Collective::allgather, 1);
  row("dgx-a100 boxes=2", Collective::allreduce, 3);
  row("dgx-h100 boxes=2 network=rails", Collective::allgather, 1);
  row("dgx-h100 boxes=2 network=rails", Collective::reduceScatter, 3);
  row("dgx-h100 boxes=2 network=rails", Collective::broadcast, 3);
  row("dgx-h100 boxes=2 network=rails", Collective::reduce, 5);
  row("dgx1-v100 boxes=1", Collective::allgather, 1);
  row("mi250 boxes=1", Collective::allgather, 3);
  row("torus dims=3x3", Collective::allgather, 2);
}

void TestRepair::presets() {
  QFETCH(QString, preset);
  QFETCH(Collective, collective);
  QFETCH(int, every);
  repairAll(describedBy(preset), collective, static_cast<std::size_t>(every));
}

void TestRepair::randomFabrics_data() {
  QTest::addColumn<unsigned>("seed");
  for (unsigned seed = 1; seed <= 12; ++seed) {
    QTest::addRow("%u", seed) << seed;
  }
}

void TestRepair::randomFabrics() {
  QFETCH(unsigned, seed);
  const fabric::Description description =
      test::randomFabric({.gpus = 3 + static_cast<int>(seed % 4), .switches = static_cast<int>(seed % 3)}, seed);
  repairAll(description, seed % 3 == 0 ? Collective::allreduce : Collective::allgather, 1);
}

/// Newton's method against all node sets.
void TestRepair::leastTimeByEverySet() {
  int compared = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const fabric::Description description = test::randomFabric({.gpus = 4, .switches = 2}, seed);
    const fabric::Fabric before = built(description);
    const schedule::Schedule old = must(forestcoll::generate(before, plainRequest(Collective::allgather))).schedule;
    for (const live::PartFailure& failure : live::singleFailures(description)) {
      const auto after = fabric::Fabric::build(must(live::damagedFabric(description, failure)).description);
      if (!after) {
        continue;
      }
      const std::vector<std::int64_t> demand(static_cast<std::size_t>(after->gpuCount()), 1);
      const forestcoll::Network network = forestcoll::makeNetwork(*after, demand);
      const forestcoll::KeptTrees kept(before, *old.broadcastForest, *after);
      Rational brute(1, 1000000);
      for (std::size_t i = 0; i < network.arcs.size(); ++i) {
        brute = std::max(brute, Rational(kept.load()[i], network.arcs[i].capacity));
      }
      for (unsigned set = 1; set < (1U << network.nodeCount); ++set) {
        std::int64_t needed = kept.lostCopies();
        bool hasGpu = false;
        for (std::size_t rank = 0; rank < network.gpus.size(); ++rank) {
          const bool isIn = (set >> network.gpus[rank] & 1U) != 0;
          hasGpu = hasGpu || isIn;
          needed -= isIn ? kept.lost()[rank] : 0;
        }
        std::int64_t bandwidth = 0;
        for (std::size_t i = 0; i < network.arcs.size(); ++i) {
          if ((set >> network.arcs[i].tail & 1U) == 0 && (set >> network.arcs[i].head & 1U) != 0) {
            bandwidth += network.arcs[i].capacity;
            needed += kept.load()[i];
          }
        }
        if (hasGpu && kept.lostCopies() > 0 && bandwidth > 0) {
          brute = std::max(brute, Rational(needed, bandwidth));
        }
      }
      QCOMPARE(forestcoll::leastTime(network, kept, Rational(1, 1000000), {}).time, brute);
      ++compared;
    }
  }
  QVERIFY(compared > 50);
}

/// A NIC of a box with rails: 7 of 8 trees that enter the box do not use it, and the optimum is still reached.
void TestRepair::unaffected() {
  const fabric::Description description = describedBy("dgx-h100 boxes=4 network=rails");
  const fabric::Fabric before = built(description);
  const schedule::Schedule old = must(forestcoll::generate(before, plainRequest(Collective::allgather))).schedule;
  const auto failures = live::singleFailures(description);
  const auto uplink = std::ranges::find_if(failures, [](const live::PartFailure& failure) {
    return failure.part == live::Part::link && failure.name.find("b0g0 - rail") == 0;
  });
  QVERIFY(uplink != failures.end());
  const fabric::Fabric after = built(must(live::damagedFabric(description, *uplink)).description);
  const auto repaired = must(forestcoll::repaired(before, old, after));
  // b0g0 has its NVLinks alone: 31 of 32 shards enter it through 450 GB/s. (Its box: 24 through 350, which is more.)
  QCOMPARE(repaired.optimum, Bandwidth(14400, 31));
  QCOMPARE(repaired.schedule.algbw, repaired.optimum);
  QVERIFY(repaired.count.kept >= Rational(1, 2));
  QVERIFY(repaired.count.keptTrees > 0 && repaired.count.newTrees > 0);
  // Nothing has failed: nothing changes.
  const auto same = must(forestcoll::repaired(before, old, before));
  QCOMPARE(same.count.kept, Rational(1));
  QCOMPARE(same.count.newTrees, std::int64_t{0});
  QCOMPARE(same.schedule.algbw, old.algbw);
}

/// A GPU of a box with rails that has lost its NVLinks receives through its rail alone: the same trees between GPUs do
/// that, along other links.
void TestRepair::rerouted() {
  const fabric::Description description = describedBy("dgx-h100 boxes=4 network=three-tier");
  const fabric::Fabric before = built(description);
  const schedule::Schedule old = must(forestcoll::generate(before, plainRequest(Collective::allgather))).schedule;
  const auto failures = live::singleFailures(description);
  const auto found = std::ranges::find(failures, "b0g0 - b0nvs", &live::PartFailure::name);
  QVERIFY(found != failures.end());
  const fabric::Fabric after = built(must(live::damagedFabric(description, *found)).description);
  const auto repaired = must(forestcoll::repaired(before, old, after));
  // 31 shards through 50 GB/s.
  QCOMPARE(repaired.schedule.algbw, Bandwidth(1600, 31));
  QCOMPARE(repaired.count.kept, Rational(0));
  QCOMPARE(repaired.count.rerouted, Rational(1));
  QCOMPARE(foundAgain(before, old, after, repaired.schedule, false), Rational(1));
}

/// At the optimum these trees would need many thousands of copies.
void TestRepair::manyGpus() {
  const fabric::Description description = describedBy("mi250 boxes=64");
  const fabric::Fabric before = built(description);
  const schedule::Schedule old = must(forestcoll::generate(before, plainRequest(Collective::allgather))).schedule;
  const live::PartFailure gpu{live::Part::gpu, "b0g0", {}, {*before.find("b0g0")}};
  const fabric::Fabric after = built(must(live::damagedFabric(description, gpu)).description);
  const auto repaired = must(forestcoll::repaired(before, old, after));
  QVERIFY2(must(verify::verifySchedule(after, repaired.schedule, {.maxFlow = false})).ok, "not verified");
  QVERIFY(repaired.schedule.algbw <= repaired.optimum);
  QVERIFY(repaired.schedule.algbw >= repaired.optimum * Rational(99, 100));
  QCOMPARE(repaired.count.kept, repaired.count.unaffected);
  QVERIFY(repaired.count.keptTrees > 300);
}

void TestRepair::refused() {
  const fabric::Fabric fabric = built(describedBy("dgx-h100 boxes=2"));
  forestcoll::Request request;
  request.collective = Collective::allreduce;
  const schedule::Schedule old = must(forestcoll::generate(fabric, request)).schedule;
  QVERIFY(old.overlapped);
  const auto repaired = forestcoll::repaired(fabric, old, fabric);
  QVERIFY(!repaired);
  QCOMPARE(repaired.error().code, ErrorCode::badUsage);
}

void TestRepair::rootFails() {
  const fabric::Description description = describedBy("dgx-a100 boxes=2");
  const fabric::Fabric before = built(description);
  const schedule::Schedule old = must(forestcoll::generate(before, plainRequest(Collective::broadcast))).schedule;
  const live::PartFailure root{live::Part::gpu, "b0g1", {}, {*before.find("b0g1")}};
  const fabric::Fabric after = built(must(live::damagedFabric(description, root)).description);
  const auto repaired = forestcoll::repaired(before, old, after);
  QVERIFY(!repaired);
  QCOMPARE(repaired.error().code, ErrorCode::infeasible);
  QVERIFY(repaired.error().message.find("b0g1") != std::string::npos);
}

/// All GPUs, boxes and rails of equal boxes are alike.
void TestRepair::classes() {
  const fabric::Description description = describedBy("dgx-h100 boxes=4 network=rails");
  const auto failures = live::singleFailures(description, true);
  const auto classes = live::failureClasses(built(description), {}, failures);
  std::map<live::Part, std::set<std::size_t>> byPart;
  for (std::size_t i = 0; i < failures.size(); ++i) {
    QVERIFY(classes[i] <= i);
    QVERIFY(failures[classes[i]].part == failures[i].part);
    byPart[failures[i].part].insert(classes[i]);
  }
  QCOMPARE(byPart[live::Part::gpu].size(), std::size_t{1});
  QCOMPARE(byPart[live::Part::box].size(), std::size_t{1});
  // A root is like no other GPU, nor is its box.
  std::vector<std::int64_t> amounts(32, 0);
  amounts[0] = 1;
  const auto rooted = live::failureClasses(built(description), amounts, failures);
  std::set<std::size_t> gpus;
  for (std::size_t i = 0; i < failures.size(); ++i) {
    if (failures[i].part == live::Part::gpu) {
      gpus.insert(rooted[i]);
    }
  }
  // The root, those of its box, those of its rail, and all others.
  QCOMPARE(gpus.size(), std::size_t{4});
  // A switch that sums is like none that does not, and its rail is like no other.
  fabric::Description unlike = description;
  std::ranges::find(unlike.nodes, std::string("rail0"), &fabric::NodeDescription::id)->aggregation = true;
  const auto unequal = live::failureClasses(built(unlike), {}, failures);
  gpus.clear();
  for (std::size_t i = 0; i < failures.size(); ++i) {
    if (failures[i].part == live::Part::gpu) {
      gpus.insert(unequal[i]);
    }
  }
  QCOMPARE(gpus.size(), std::size_t{2});
}

void TestRepair::groups() {
  const fabric::Description rails = describedBy("dgx-h100 boxes=4 network=rails");
  const auto each = must(live::railFailures(rails));
  QCOMPARE(each.size(), std::size_t{8});
  QCOMPARE(must(live::leafFailures(rails)).size(), std::size_t{8});
  QCOMPARE(live::railFailures(describedBy("dgx-h100 boxes=4 network=simple")).error().code, ErrorCode::badUsage);
  // Two parts at once; a link of a failed node is gone with it.
  const auto failures = live::singleFailures(rails);
  const auto gpu = std::ranges::find(failures, "b0g0", &live::PartFailure::name);
  const live::PartFailure both = live::together(failures.front(), *gpu);
  QVERIFY(both.losses.empty() == (failures.front().name.find("b0g0") != std::string::npos));
  const auto damaged = must(live::damagedFabric(rails, both));
  QCOMPARE(damaged.description.nodes.size() + 1, rails.nodes.size());
  QCOMPARE(damaged.nodes[gpu->nodes.front()], -1);
}

void TestRepair::groupsOfAFile_data() {
  QTest::addColumn<QByteArray>("text");
  QTest::addColumn<int>("line");  // of the error; 0 = none
  QTest::addColumn<int>("groups");
  QTest::newRow("two") << QByteArray("# shelves\nshelf-1: b0\nshelf-2: b1g*, rail0\n") << 0 << 2;
  QTest::newRow("no colon") << QByteArray("shelf-1: b0\nb1\n") << 2 << 0;
  QTest::newRow("unknown") << QByteArray("shelf-1: b9\n") << 1 << 0;
  QTest::newRow("empty item") << QByteArray("shelf-1: b0,\n") << 1 << 0;
  QTest::newRow("twice") << QByteArray("a: b0\n\na: b1\n") << 3 << 0;
  QTest::newRow("nothing") << QByteArray("# none\n") << -1 << 0;
}

void TestRepair::groupsOfAFile() {
  QFETCH(QByteArray, text);
  QFETCH(int, line);
  QFETCH(int, groups);
  const fabric::Description rails = describedBy("dgx-h100 boxes=2 network=rails");
  const auto read = live::parseGroups(rails, text.toStdString());
  QCOMPARE(static_cast<bool>(read), line == 0);
  if (read) {
    QCOMPARE(static_cast<int>(read->size()), groups);
    QCOMPARE((*read)[0].name, std::string("shelf-1"));
    QVERIFY(std::ranges::all_of((*read)[0].nodes, [&](int node) { return rails.nodes[node].box == "b0"; }));
  } else {
    QCOMPARE(read.error().code, ErrorCode::badInput);
    QCOMPARE(read.error().where.line, std::max(line, 0));
  }
}

QTEST_GUILESS_MAIN(TestRepair)
#include "tst_repair.moc"
