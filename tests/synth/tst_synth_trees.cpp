// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <numeric>
#include <random>

#include "presets/presets.hpp"
#include "support/preset_fabrics.hpp"
#include "synth/boxes.hpp"
#include "synth/coarse.hpp"
#include "synth/cut_bound.hpp"
#include "synth/routes.hpp"
#include "synth/sccl.hpp"
#include "synth/search.hpp"
#include "synth/tree_search.hpp"
#include "verify/rounds_check.hpp"
#include "verify/step_verifier.hpp"

using namespace coppice;
using synth::Verdict;
using test::presetFabric;

/// Local search over trees, and the bounds and routes that it meets on fabrics with switches.
namespace {

const auto kNever = [] { return false; };

schedule::CollectiveTable goalOf(const QString& collective, const fabric::Fabric& fabric) {
  const auto word = parseCollective(collective.toStdString());
  return *schedule::CollectiveTable::make(*word, fabric.gpuCount(),
                                          isRooted(*word) ? std::optional<fabric::Rank>(0) : std::nullopt);
}

synth::Problem problemOn(const fabric::Fabric& fabric, const QString& collective) {
  auto topology = synth::topologyOf(fabric, {});
  auto problem = synth::problemOf(*std::move(topology), goalOf(collective, fabric));
  return *std::move(problem);
}

synth::Clock::time_point inSeconds(int seconds) {
  return synth::Clock::now() + std::chrono::seconds(seconds);
}

std::int64_t sumOf(const std::vector<std::int64_t>& rounds) {
  return std::accumulate(rounds.begin(), rounds.end(), std::int64_t{0});
}

/// GPUs and one switch, with random one-way links; every GPU reaches every other.
fabric::Fabric randomFabric(std::mt19937& random) {
  fabric::Description description;
  description.name = "random";
  const int gpus = 3 + static_cast<int>(random() % 3);
  const auto id = [](int node) { return "g" + std::to_string(node); };
  for (int node = 0; node < gpus; ++node) {
    description.nodes.push_back({.id = id(node)});
  }
  description.nodes.push_back({.id = "sw", .kind = "switch"});
  const auto link = [&](const std::string& from, const std::string& to) {
    description.links.push_back(
        {.src = from, .dst = to, .bandwidth = std::to_string(1 + random() % 3), .duplex = false});
  };
  for (int node = 0; node < gpus; ++node) {
    link(id(node), "sw");
    link("sw", id(node));
    if (random() % 2 == 0) {
      link(id(node), id((node + 1 + static_cast<int>(random() % (gpus - 1))) % gpus));
    }
  }
  return test::built(description);
}

}  // namespace

class TestSynthTrees : public QObject {
  Q_OBJECT

private slots:
  void meetsBounds_data();
  void meetsBounds();
  void appliesWhereChunksReachAll();
  void treesStopAndRepeat();
  void cutsAreTheLeast();
  void coarseBoundsHold_data();
  void coarseBoundsHold();
  void routesOfFewestLinks();
  void tooManyRoutes_data();
  void tooManyRoutes();
  void copiesOfWhatIsKnown();
  void allreduceIsBoundedByBroadcasts();
  void allreduceOfHalves();
};

void TestSynthTrees::meetsBounds_data() {
  QTest::addColumn<QString>("fabric");
  QTest::addColumn<QString>("collective");
  QTest::addColumn<int>("chunks");
  QTest::addColumn<int>("steps");
  QTest::addColumn<int>("rounds");
  const auto add = [](const char* fabric, const char* collective, int chunks, int steps, int rounds) {
    QTest::addRow("%s %s (%d, %d, %d)", fabric, collective, chunks, steps, rounds)
        << QString(fabric) << QString(collective) << chunks << steps << rounds;
  };
  add("dgx1-v100", "allgather", 6, 3, 7);
  add("dgx1-v100", "broadcast", 22, 3, 9);
  add("torus dims=8x8", "allgather", 4, 8, 63);
  add("hypercube dimension=5", "allgather", 5, 5, 31);
  add("ring gpus=9 direction=one-way", "allgather", 1, 8, 8);
  add("dgx-a100 boxes=2", "allgather", 6, 4, 7);
  add("dgx-a100 boxes=2", "allgather", 3, 3, 4);
  add("cluster boxes=8 network=leaf-spine", "allgather", 2, 2, 21);
}

/// What SAT and linear programs took seconds for is found by moving sends, in the quotient by symmetries.
void TestSynthTrees::meetsBounds() {
  QFETCH(QString, fabric);
  QFETCH(QString, collective);
  QFETCH(int, chunks);
  QFETCH(int, steps);
  QFETCH(int, rounds);
  const synth::Problem problem = problemOn(presetFabric(fabric), collective);
  QVERIFY(synth::TreeSearch::applies(problem, steps));
  const Progress progress;
  synth::Search search(problem, 1, progress);
  const auto found = search.trees({.steps = steps, .n = chunks, .min = rounds, .work = 300'000'000}, kNever);
  QVERIFY(found);
  const auto fault = synth::faultOf(problem, chunks, found->steps);
  QVERIFY2(!fault, fault ? fault->c_str() : "");
  QCOMPARE(int(found->rounds), rounds);
  QCOMPARE(int(sumOf(found->steps.rounds)), rounds);
}

void TestSynthTrees::appliesWhereChunksReachAll() {
  const fabric::Fabric ring = presetFabric("ring gpus=5");
  for (const auto& [collective, applies] : {std::pair("allgather", true),
                                            {"broadcast", true},
                                            {"alltoall", false},
                                            {"gather", false},
                                            {"scatter", false}}) {
    QCOMPARE(synth::TreeSearch::applies(problemOn(ring, collective), 4), applies);
  }
  QVERIFY(!synth::TreeSearch::applies(problemOn(ring, "allgather"), 1));
}

void TestSynthTrees::treesStopAndRepeat() {
  const synth::Problem problem = problemOn(presetFabric("azure-ndv2 boxes=2"), "allgather");
  const synth::TreeSearch search(problem, 2, {}, 3);
  QVERIFY(!search.run({.min = 3, .work = 1'000'000}, [] { return true; }));
  const auto first = search.run({.min = 3, .seed = 5, .work = 1'000'000}, kNever);
  const auto second = search.run({.min = 3, .seed = 5, .work = 1'000'000}, kNever);
  QVERIFY(first && second);
  QVERIFY(first->sends == second->sends);
  QVERIFY(!synth::faultOf(problem, 2, *first));
}

/// Against every set of nodes, one by one.
void TestSynthTrees::cutsAreTheLeast() {
  std::mt19937 random(11);
  for (int turn = 0; turn < 40; ++turn) {
    const fabric::Fabric fabric = randomFabric(random);
    for (const char* collective : {"allgather", "broadcast"}) {
      const synth::Problem problem = problemOn(fabric, collective);
      const auto bound = synth::cutBound(problem, {});
      QVERIFY(bound);
      Rational max = 0;
      for (unsigned side = 1; side < 1U << fabric.nodeCount(); ++side) {
        const auto isIn = [side](int node) { return (side >> node & 1U) != 0; };
        Rational capacity = 0;
        for (const synth::PhysicalLink& link : problem.topology.links) {
          capacity += isIn(link.tail) && !isIn(link.head) ? link.perRound : Rational(0);
        }
        for (const fabric::NodeIndex gpu : fabric.gpus()) {
          std::int64_t classes = 0;
          for (const synth::ChunkClass& chunks : problem.classes) {
            const auto source = std::find(chunks.pre.begin(), chunks.pre.end(), true) - chunks.pre.begin();
            classes += isIn(fabric.gpus()[source]) ? 1 : 0;
          }
          if (!isIn(gpu) && classes > 0) {
            max = std::max(max, Rational(classes) / capacity);
          }
        }
      }
      QCOMPARE(bound->toString(), max.toString());
    }
  }
}

void TestSynthTrees::coarseBoundsHold_data() {
  QTest::addColumn<QString>("fabric");
  QTest::addColumn<bool>("isEqual");  // to the bound on all routes
  QTest::newRow("A100") << "dgx-a100 boxes=2" << true;
  QTest::newRow("DGX-1") << "dgx1-v100" << true;
  QTest::newRow("leaves and spines") << "cluster boxes=4 gpus=2 network=leaf-spine boxes_per_leaf=1" << true;
  QTest::newRow("fat tree") << "fat-tree-2 leaves=3 gpus_per_leaf=2 spines=2 oversubscription=2" << true;
  QTest::newRow("one NIC") << "azure-ndv2 boxes=2" << false;
}

/// With one arc for each pair nothing is bounded more tightly than with all routes.
void TestSynthTrees::coarseBoundsHold() {
  QFETCH(QString, fabric);
  QFETCH(bool, isEqual);
  const synth::Problem fine = problemOn(presetFabric(fabric), "allgather");
  const synth::Problem coarse = synth::coarse(fine);
  QVERIFY(coarse.topology.arcs.size() <= fine.topology.arcs.size());
  for (int steps = synth::minSteps(fine); steps < synth::minSteps(fine) + 2; ++steps) {
    const Progress progress;
    synth::Search all(fine, 1, progress);
    synth::Search pairs(coarse, 1, progress);
    const auto exact = all.ratioBound(steps, inSeconds(60));
    const auto bound = pairs.ratioBound(steps, inSeconds(60));
    QVERIFY2(bound.ratio <= exact.ratio, (bound.ratio.toString() + " > " + exact.ratio.toString()).c_str());
    if (isEqual && exact.isTight) {
      QCOMPARE(bound.ratio.toString(), exact.ratio.toString());
    }
  }
}

void TestSynthTrees::routesOfFewestLinks() {
  const fabric::Fabric tree = presetFabric("fat-tree-2 leaves=3 gpus_per_leaf=2 spines=3");
  const auto routes = synth::shortestRoutes(tree, 2, 1000);
  QVERIFY(routes);
  std::map<std::pair<int, int>, std::vector<synth::Route>> byPair;
  for (const synth::Route& route : *routes) {
    byPair[{tree.arcs()[route.front()].tail, tree.arcs()[route.back()].head}].push_back(route);
  }
  QCOMPARE(int(byPair.size()), 6 * 5);
  std::vector<int> uses(tree.arcs().size(), 0);
  for (const auto& [ends, all] : byPair) {
    const bool isNear = tree.nodes()[ends.first].box == tree.nodes()[ends.second].box;
    QCOMPARE(int(all.size()), isNear ? 1 : 2);
    for (const synth::Route& route : all) {
      QCOMPARE(int(route.size()), isNear ? 2 : 4);
      for (std::size_t i = 0; i + 1 < route.size(); ++i) {
        QCOMPARE(tree.arcs()[route[i]].head, tree.arcs()[route[i + 1]].tail);
      }
      for (const int arc : route) {
        ++uses[arc];
      }
    }
  }
  // All spines take their part.
  for (std::size_t arc = 0; arc < uses.size(); ++arc) {
    QVERIFY(uses[arc] > 0);
  }
  QVERIFY(!synth::shortestRoutes(tree, 2, 10));
}

void TestSynthTrees::tooManyRoutes_data() {
  QTest::addColumn<QString>("fabric");
  QTest::addColumn<int>("steps");
  QTest::newRow("fat tree") << "fat-tree-2 leaves=8 gpus_per_leaf=4 spines=4 oversubscription=2" << 2;
  QTest::newRow("three levels") << "fat-tree-3 pods=4 leaves_per_pod=2 gpus_per_leaf=2 spines_per_pod=2 cores=4" << 1;
}

/// The shortest routes are kept. What is found is verified; that nothing is found proves nothing.
void TestSynthTrees::tooManyRoutes() {
  QFETCH(QString, fabric);
  QFETCH(int, steps);
  const fabric::Fabric made = presetFabric(fabric);
  const auto topology = synth::topologyOf(made, {});
  QVERIFY(topology);
  QVERIFY(topology->isPartial);
  synth::SynthesisOptions options;
  options.seconds = 20;
  const auto front =
      synth::synthesizeFront(made, goalOf("allgather", made), {steps, 2}, options, [](const auto&) {}, {});
  QVERIFY2(front, front ? "" : describe(front.error()).c_str());
  QVERIFY(!front->points.empty());
  for (const auto& point : front->points) {
    const auto verdict = verify::verifySteps(made, point.schedule);
    QVERIFY(verdict && verdict->ok);
    const auto rounds = verify::checkRounds(made, point.schedule, front->unit);
    QVERIFY(rounds && rounds->empty());
    QVERIFY(Rational(point.size.rounds, point.size.chunks) >= point.bound);
    QVERIFY(point.bound >= front->minRatio);
  }
  const auto impossible = synth::synthesize(made, goalOf("allgather", made), {1, steps, steps}, options, {});
  QVERIFY(impossible && impossible->verdict == Verdict::unsat);  // by a cut, or by the program on pairs
}

void TestSynthTrees::copiesOfWhatIsKnown() {
  const Progress progress;
  synth::Search search(problemOn(presetFabric("dgx1-v100"), "allgather"), 1, progress);
  QVERIFY(search.decide({3, 7, 6}, inSeconds(60)).verdict == Verdict::sat);
  const auto more = search.decide({3, 21, 17}, inSeconds(60));
  QVERIFY(more.verdict == Verdict::sat);
  QVERIFY2(more.reason.find("3 times") != std::string::npos, more.reason.c_str());
  QVERIFY(!synth::faultOf(search.problem(), 17, *more.found));
}

/// Each rank's contribution reaches all others: a broadcast is in every allreduce.
void TestSynthTrees::allreduceIsBoundedByBroadcasts() {
  const fabric::Fabric z52 = presetFabric("gigabyte-z52-mi50");
  synth::SynthesisOptions options;
  options.unit.isOneBandwidth = true;
  const auto front = synth::synthesizeFront(z52, goalOf("allreduce", z52), {5, 0}, options, [](const auto&) {}, {});
  QVERIFY(front);
  QCOMPARE(front->points.size(), std::size_t{2});
  QCOMPARE(front->points[0].bound.toString(), std::string("2"));
  QVERIFY(front->points[0].isOptimal);
  QCOMPARE(front->points[1].bound.toString(), std::string("5/4"));
  QVERIFY(front->points[1].isOptimal);
  const auto refused = synth::synthesize(z52, goalOf("allreduce", z52), {3, 4, 5}, options, {});
  QVERIFY(refused && refused->verdict == Verdict::unsat);
  QVERIFY2(refused->reason.find("broadcast") != std::string::npos, refused->reason.c_str());
}

void TestSynthTrees::allreduceOfHalves() {
  const fabric::Fabric dgx1 = presetFabric("dgx1-v100");
  synth::SynthesisOptions options;
  const auto front = synth::synthesizeFront(dgx1, goalOf("allreduce", dgx1), {6, 0}, options, [](const auto&) {}, {});
  QVERIFY(front);
  std::map<std::int64_t, std::string> ratios;
  for (const auto& point : front->points) {
    ratios[point.size.steps] = Rational(point.size.rounds, point.size.chunks).toString();
    const auto verdict = verify::verifySteps(dgx1, point.schedule);
    QVERIFY(verdict && verdict->ok);
  }
  QCOMPARE(ratios[2], std::string("1"));
  QCOMPARE(ratios[4], std::string("3/8"));
  QCOMPARE(ratios[5], std::string("1/3"));
  QCOMPARE(ratios[6], std::string("7/24"));
  QVERIFY(front->isComplete);
}

QTEST_GUILESS_MAIN(TestSynthTrees)
#include "tst_synth_trees.moc"
