// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <functional>
#include <limits>

#include "base/checked.hpp"
#include "flow/lemon/max_flow.hpp"
#include "support/findings.hpp"
#include "support/sample_schedules.hpp"
#include "verify/schedule_verifier.hpp"

using namespace coppice;
using samples::Sample;
using schedule::Forest;
using schedule::Schedule;

namespace {

using Make = std::function<Sample()>;
using Break = std::function<void(Sample&)>;

Forest& out(Sample& sample) {
  return *sample.schedule.broadcastForest;
}

/// The sample with the same schedule on another fabric, its digest brought up to date.
void rebuild(Sample& sample, const fabric::Description& description) {
  sample.description = description;
  sample.fabric = samples::buildFabric(description);
  sample.schedule.fabricDigest = sample.fabric.digest();
}

/// Two boxes of two GPUs: s0 and s1 at 10 GB/s per GPU, joined at 10; both capable.
Sample twoBoxes() {
  const auto description = samples::describeFabric(
      "boxes", {"a", "b", "c", "d"}, {"s0", "s1"},
      {{"a", "s0", "10"}, {"b", "s0", "10"}, {"c", "s1", "10"}, {"d", "s1", "10"}, {"s0", "s1", "10"}}, true);
  Sample sample = samples::finish(description, Collective::broadcast, Bandwidth(10), {{{0}, 1, Bandwidth(10)}});
  Forest forest = samples::emptyForest(4, {1, 0, 0, 0}, Rational(1, 10));
  samples::addTree(forest, 0, 1, {{0, 1, {0, 4, 1}}, {0, 2, {0, 4, 5, 2}, 1}, {0, 3, {0, 4, 5, 3}, 2}});
  sample.schedule.root = 0;
  sample.schedule.broadcastForest = forest;
  return sample;
}

}  // namespace

Q_DECLARE_METATYPE(Make)
Q_DECLARE_METATYPE(Break)

class TestScheduleVerifier : public QObject {
  Q_OBJECT

private slots:
  void accepts_data() {
    QTest::addColumn<Make>("make");
    QTest::newRow("two GPUs") << Make(samples::twoGpus);
    QTest::newRow("ring") << Make(samples::ring);
    QTest::newRow("star") << Make([] { return samples::star(); });
    QTest::newRow("pruned star") << Make(samples::prunedStar);
    QTest::newRow("pruned over two switches") << Make(twoBoxes);
    QTest::newRow("reduce-scatter") << Make([] { return samples::reduceScattered(samples::ring()); });
    QTest::newRow("pruned reduce-scatter") << Make([] { return samples::reduceScattered(samples::prunedStar()); });
    QTest::newRow("allreduce") << Make([] { return samples::allreduced(samples::star()); });
    QTest::newRow("pruned allreduce") << Make([] { return samples::allreduced(samples::prunedStar()); });
    QTest::newRow("broadcast") << Make(samples::broadcastStar);
    QTest::newRow("reduce") << Make(samples::reduceStar);
    QTest::newRow("uneven allgather") << Make(samples::unevenStar);
    QTest::newRow("uneven reduce-scatter") << Make([] { return samples::reduceScattered(samples::unevenStar()); });
    QTest::newRow("lopsided allgather") << Make(samples::lopsided);
    QTest::newRow("lopsided reduce-scatter") << Make(samples::lopsidedReduceScatter);
    QTest::newRow("one-sided allgather") << Make(samples::oneSided);
    QTest::newRow("one-sided reduce-scatter") << Make(samples::oneSidedReduceScatter);
    QTest::newRow("one-sided allreduce") << Make(samples::oneSidedAllreduce);
    QTest::newRow("one-sided allreduce without a cut") << Make([] {
      Sample sample = samples::oneSidedAllreduce();
      sample.schedule.bottlenecks.clear();
      return sample;
    });
    QTest::newRow("one-way ring") << Make(samples::oneWayRing);
    QTest::newRow("one-way reduce-scatter") << Make(samples::oneWayReduceScatter);
    QTest::newRow("one-way allreduce") << Make([] {
      Sample sample = samples::oneWayRing();
      sample.schedule.collective = Collective::allreduce;
      sample.schedule.reduceForest = samples::oneWayReduceScatter().schedule.reduceForest;
      sample.schedule.algbw = sample.schedule.bound = Bandwidth(15, 2);
      return sample;
    });
    QTest::newRow("lopsided allreduce") << Make([] {
      Sample sample = samples::lopsided();
      sample.schedule.collective = Collective::allreduce;
      sample.schedule.reduceForest = samples::lopsidedReduceScatter().schedule.reduceForest;
      sample.schedule.algbw = sample.schedule.bound = Bandwidth(10);
      return sample;
    });
    QTest::newRow("fixed k below the bound") << Make([] {
      // k = 1 once round the ring: 4 / (3/10) = 40/3 of 80/3.
      Sample sample = samples::ring();
      Forest forest = samples::emptyForest(4, {1, 1, 1, 1}, Rational(3, 10));
      for (int root = 0; root < 4; ++root) {
        std::vector<samples::Hop> hops;
        for (int hop = 0; hop < 3; ++hop) {
          hops.push_back({(root + hop) % 4, (root + hop + 1) % 4, {(root + hop) % 4, (root + hop + 1) % 4}});
        }
        samples::addTree(forest, root, 1, hops);
      }
      sample.schedule.broadcastForest = forest;
      sample.schedule.algbw = Bandwidth(40, 3);
      sample.schedule.fixedK = 1;
      return sample;
    });
    QTest::newRow("several bottleneck cuts") << Make([] {
      Sample sample = samples::star();
      sample.schedule.bottlenecks.push_back({{0, 2, 3}, 2, Bandwidth(10)});
      return sample;
    });
  }

  void accepts() {
    QFETCH(Make, make);
    const Sample sample = make();
    for (const bool maxFlow : {true, false}) {
      const auto verdict = verify::verifySchedule(sample.fabric, sample.schedule, {.maxFlow = maxFlow});
      QVERIFY2(verdict.hasValue(), verdict ? "" : describe(verdict.error()).c_str());
      QVERIFY2(verdict->ok, qPrintable(test::textsOf(verdict->findings)));
      QCOMPARE(toFraction(verdict->algbw), toFraction(sample.schedule.algbw));
      if (maxFlow) {
        QVERIFY2(verdict->boundProved, qPrintable(test::textsOf(verdict->findings)));
        QVERIFY2(verdict->findings.empty(), qPrintable(test::textsOf(verdict->findings)));
      }
    }
  }

  void busiestLoad() {
    const Sample sample = samples::unevenStar();
    const auto verdict = verify::verifySchedule(sample.fabric, sample.schedule);
    QVERIFY(verdict.hasValue());
    QCOMPARE(toFraction(verdict->busiestLoad), "3/10");
  }

  void refuses_data() {
    QTest::addColumn<Make>("make");
    QTest::addColumn<Break>("breakIt");
    QTest::addColumn<QString>("message");
    const Make star = [] { return samples::star(); };
    const Make ring = samples::ring;
    const Make pruned = samples::prunedStar;
    const Make allreduce = [] { return samples::allreduced(samples::star()); };
    const Make scatter = [] { return samples::reduceScattered(samples::prunedStar()); };
    const auto row = [](const char* name, const Make& make, const Break& breakIt, const char* message) {
      QTest::newRow(name) << make << breakIt << QString(message);
    };

    row(
        "digest", star, [](Sample& s) { s.schedule.fabricDigest = "0123"; }, "made for the fabric with digest 0123");
    row(
        "no root", samples::broadcastStar, [](Sample& s) { s.schedule.root.reset(); }, "names no root");
    row(
        "root out of range", samples::broadcastStar, [](Sample& s) { s.schedule.root = 3; }, "rank 3, is not in");
    row(
        "root of an allgather", star, [](Sample& s) { s.schedule.root = 0; }, "this collective has none");
    row(
        "another root", samples::broadcastStar, [](Sample& s) { s.schedule.root = 0; }, "not its share of the data");
    row(
        "too few amounts", samples::unevenStar,
        [](Sample& s) {
          s.schedule.amounts = {2, 1};
        },
        "2 amounts for 3");
    row(
        "negative amount", samples::unevenStar,
        [](Sample& s) {
          s.schedule.amounts = {2, 1, -1};
        },
        "is negative");
    row(
        "zero amounts", samples::unevenStar,
        [](Sample& s) {
          s.schedule.amounts = {0, 0, 0};
        },
        "are zero");
    row(
        "other amounts", samples::unevenStar,
        [](Sample& s) {
          s.schedule.amounts = {1, 2, 0};
        },
        "not its share");
    row(
        "amounts of a broadcast", samples::broadcastStar,
        [](Sample& s) {
          s.schedule.amounts = {1, 1, 1};
        },
        "only the root's data counts");
    row(
        "no forest", star, [](Sample& s) { s.schedule.broadcastForest.reset(); }, "no broadcast forest");
    row(
        "a forest too many", star, [](Sample& s) { s.schedule.reduceForest = schedule::reversed(out(s)); },
        "this collective sums nothing");
    row(
        "half an allreduce", allreduce, [](Sample& s) { s.schedule.reduceForest.reset(); }, "no reduce forest");
    row(
        "fixed k of 0", star, [](Sample& s) { s.schedule.fixedK = 0; }, "must be at least 1");
    row(
        "direction", star, [](Sample& s) { out(s) = schedule::reversed(out(s)); }, "the trees run to the root");
    row(
        "gpu count", star, [](Sample& s) { out(s).gpuCount = 4; }, "made for 4 GPUs");
    row(
        "roots count", star, [](Sample& s) { out(s).treesOfRoot.pop_back(); }, "trees of 2 roots");
    row(
        "scale 0", star, [](Sample& s) { out(s).scale = InverseBandwidth(0); }, "scale is 0");
    row(
        "negative tree count", star, [](Sample& s) { out(s).treesOfRoot[1] = -1; }, "has -1 trees");
    row(
        "no trees", star,
        [](Sample& s) {
          out(s).treesOfRoot = {0, 0, 0};
        },
        "has no trees");
    row(
        "unequal shares", star,
        [](Sample& s) {
          out(s).treesOfRoot = {2, 1, 1};
        },
        "not its share");
    row(
        "fixed k unlike the trees", star, [](Sample& s) { s.schedule.fixedK = 2; }, "k = 2");
    row(
        "root not in the fabric", star, [](Sample& s) { out(s).trees[1].root = 7; }, "rank 7, is not in the fabric");
    row(
        "multiplicity 0", star, [](Sample& s) { out(s).trees[1].multiplicity = 0; }, "multiplicity is 0");
    row(
        "wrong multiplicity", star, [](Sample& s) { out(s).trees[1].multiplicity = 2; }, "add up to 2, stated are 1");
    row(
        "huge multiplicities", star,
        [](Sample& s) {
          out(s).trees[0].multiplicity = out(s).trees[1].multiplicity = std::numeric_limits<std::int64_t>::max();
        },
        "stated are 1");
    row(
        "missing tree", star, [](Sample& s) { out(s).trees.pop_back(); }, "root \"g2\": multiplicities");
    row(
        "edges out of range", star, [](Sample& s) { out(s).trees[2].firstEdge = 5; }, "outside the forest's 6 edges");
    row(
        "negative first edge", star, [](Sample& s) { out(s).trees[2].firstEdge = -1; }, "outside the forest's");
    row(
        "ungrouped", star, [](Sample& s) { std::swap(out(s).trees[0], out(s).trees[2]); }, "not grouped");
    row(
        "missing GPU", star, [](Sample& s) { out(s).edges[1] = out(s).edges[0]; }, "does not reach \"g2\"");
    row(
        "two parents", ring, [](Sample& s) { out(s).edges[2].child = 1; }, "\"g1\" has two parents, \"g0\" and \"g2\"");
    row(
        "own parent", star, [](Sample& s) { out(s).edges[1].parent = 2; }, "its own parent");
    row(
        "root with a parent", star,
        [](Sample& s) {
          out(s).edges[1] = {1, 0, 3, 0};
        },
        "the root has a parent");
    row(
        "cycle", ring,
        [](Sample& s) {
          out(s).edges[1] = {3, 2, s.schedule.broadcastForest->paths.add(std::vector<int>{3, 2}), 0};
          out(s).edges[2] = {2, 3, s.schedule.broadcastForest->paths.add(std::vector<int>{2, 3}), 0};
        },
        "cycle cut off from the root: ");
    row(
        "not breadth first", ring, [](Sample& s) { std::swap(out(s).edges[1], out(s).edges[2]); }, "breadth-first");
    row(
        "depths mixed", twoBoxes,
        [](Sample& s) {
          out(s).edges[1] = {1, 2, out(s).paths.add(std::vector<int>{1, 4, 5, 2}), 0};
          out(s).edges[2] = {0, 3, out(s).paths.add(std::vector<int>{0, 4, 5, 3}), 1};
        },
        "breadth-first");
    row(
        "GPU out of range", star, [](Sample& s) { out(s).edges[0].child = 9; }, "not a GPU of the fabric");
    row(
        "negative GPU", star, [](Sample& s) { out(s).edges[0].parent = -2; }, "not a GPU of the fabric");
    row(
        "route id", star, [](Sample& s) { out(s).edges[0].path = 60; }, "names route 60");
    row(
        "negative route id", star, [](Sample& s) { out(s).edges[0].path = -1; }, "names route -1");
    const auto reroute = [](std::vector<int> nodes) {
      return Break([nodes](Sample& s) { out(s).edges[0].path = out(s).paths.add(nodes); });
    };
    row("empty route", star, reroute({}), "0 nodes");
    row("route of one node", star, reroute({0}), "1 node;");
    row("route through a GPU", star, reroute({0, 3, 2, 3, 1}), "passes through GPU \"g2\"");
    row("route ends at a switch", star, reroute({0, 3}), "ends at \"sw\"");
    row("route outside the fabric", star, reroute({0, 12, 1}), "names node 12");
    row("no such link", star, reroute({0, 1}), "no link \"g0\" -> \"g1\"");
    row("route elsewhere", star, reroute({0, 3, 2}), "joins \"g0\" (parent) and \"g2\" (child)");
    row("against a one-way link", samples::oneWayRing, reroute({0, 2}), "no link \"g0\" -> \"g2\"");
    row(
        "reversed on one-way links", samples::oneWayRing,
        [](Sample& s) {
          s.schedule.collective = Collective::reduceScatter;
          s.schedule.reduceForest = schedule::reversed(out(s));
          s.schedule.broadcastForest.reset();
        },
        "no link \"g1\" -> \"g0\"");
    row(
        "overload by one", star,
        [](Sample& s) {
          out(s).edges[3] = {1, 0, out(s).paths.add(std::vector<int>{1, 3, 0}), 0};
        },
        "link \"g1\" -> \"sw\": carries 3 trees, but its capacity is 2");
    row(
        "scale a little small", star, [](Sample& s) { out(s).scale = InverseBandwidth(199, 1000); },
        "its capacity is 1");
    row(
        "pruned at a plain switch", pruned, [](Sample& s) { rebuild(s, samples::describeStar(false)); },
        "pruned at \"sw\", which cannot multicast");
    row(
        "pruned sum at a plain switch", scatter, [](Sample& s) { rebuild(s, samples::describeStar(false)); },
        "pruned at \"sw\", which cannot aggregate");
    row(
        "pruned without a source", pruned, [](Sample& s) { out(s).edges[0].pruned = 1; }, "brings its data there");
    row(
        "pruned sum without a taker", scatter, [](Sample& s) { s.schedule.reduceForest->edges[0].pruned = 1; },
        "takes its sum from there");
    row(
        "pruned to the end", pruned, [](Sample& s) { out(s).edges[1].pruned = 2; }, "pruned is 2 on a route of 2 hops");
    row(
        "negative pruning", pruned, [](Sample& s) { out(s).edges[1].pruned = -1; }, "pruned is -1");
    row(
        "pruned in a circle", twoBoxes, [](Sample& s) { out(s).edges[1].pruned = 2; }, "brings its data there");
    row(
        "pruned before its source", twoBoxes,
        [](Sample& s) {
          // c gets its data from b, whose own edge now hangs on the switch that only c's edge would feed.
          out(s).edges[0] = {0, 1, out(s).paths.add(std::vector<int>{0, 4, 1}), 1};
          out(s).edges[1] = {1, 2, out(s).paths.add(std::vector<int>{1, 4, 5, 2}), 0};
          out(s).edges[2] = {1, 3, out(s).paths.add(std::vector<int>{1, 4, 5, 3}), 2};
        },
        "brings its data there");
    row(
        "wrong algbw", star, [](Sample& s) { s.schedule.algbw = Bandwidth(14); },
        "claims algbw 14 GB/s, the trees reach 15");
    row(
        "bound too low", star, [](Sample& s) { s.schedule.bound = Bandwidth(14); }, "more than the stated bound of 14");
    row(
        "bound too high", star, [](Sample& s) { s.schedule.bound = Bandwidth(16); }, "only a fixed k may fall short");
    row(
        "bound too high at fixed k", star, [](Sample& s) { s.schedule.bound = Bandwidth(16), s.schedule.fixedK = 1; },
        "cut 0: allows 15 GB/s, the stated bound is 16");
    row(
        "bound 0", star, [](Sample& s) { s.schedule.bound = Bandwidth(0); }, "states a bound of 0");
    row(
        "bound with a loose cut", star,
        [](Sample& s) {
          // S = {g0}: 3 * 10 / 1 = 30, a true cut, but not the tightest.
          s.schedule.bound = Bandwidth(30), s.schedule.fixedK = 1;
          s.schedule.bottlenecks = {{{0}, 1, Bandwidth(10)}};
        },
        "a bound of 30 GB/s is too high");
    row(
        "allreduce bound with a loose cut", allreduce,
        [](Sample& s) {
          s.schedule.bound = Bandwidth(15), s.schedule.fixedK = 1;
          s.schedule.bottlenecks = {{{0}, 1, Bandwidth(10)}};
        },
        "a bound of 30 GB/s is too high");
    row(
        "no cut", star, [](Sample& s) { s.schedule.bottlenecks.clear(); }, "no bottleneck cut");
    row(
        "cut out of range", star,
        [](Sample& s) {
          s.schedule.bottlenecks[0].nodes = {0, 8};
        },
        "holds node 8");
    row(
        "cut unordered", star,
        [](Sample& s) {
          s.schedule.bottlenecks[0].nodes = {3, 0, 1};
        },
        "ascending");
    row(
        "cut with all GPUs", star,
        [](Sample& s) {
          s.schedule.bottlenecks[0].nodes = {0, 1, 2};
        },
        "every GPU");
    row(
        "cut demand", star, [](Sample& s) { s.schedule.bottlenecks[0].demand = 3; }, "states a demand of 3");
    row(
        "empty cut", star,
        [](Sample& s) {
          s.schedule.bottlenecks[0] = {{}, 0, Bandwidth(0)};
        },
        "bounds nothing");
    row(
        "cut bandwidth", star, [](Sample& s) { s.schedule.bottlenecks[0].exitBandwidth = Bandwidth(9); },
        "states 9 GB/s, but 10 GB/s leave it");
    row(
        "cut nodes", star,
        [](Sample& s) {
          s.schedule.bottlenecks[0].nodes = {0, 1};
        },
        "but 20 GB/s leave it");
    row(
        "cut of the wrong direction", samples::lopsidedReduceScatter,
        [](Sample& s) {
          s.schedule.bottlenecks = {{{1}, 1, Bandwidth(10)}};
        },
        "but 20 GB/s enter it");
    row(
        "cut without the root", samples::broadcastStar, [](Sample& s) { s.schedule.bottlenecks[0].nodes = {0}; },
        "its GPUs have 0");
    row(
        "second cut is none", star,
        [](Sample& s) {
          s.schedule.bottlenecks.push_back({{0}, 1, Bandwidth(10)});
        },
        "cut 1: allows 30");
    row(
        "allreduce bound stated for allgather", star, [](Sample& s) { s.schedule.allreduceBound = Bandwidth(9); },
        "is not an allreduce");
    row(
        "allreduce bound below", allreduce, [](Sample& s) { s.schedule.allreduceBound = Bandwidth(7); },
        "which the trees exceed");
    row(
        "allreduce bound of one half", allreduce,
        [](Sample& s) { s.schedule.bound = Bandwidth(15), s.schedule.fixedK = 1; }, "does not give the bound of 15");
    row(
        "one-sided allreduce bound", samples::oneSidedAllreduce,
        [](Sample& s) { s.schedule.bound = Bandwidth(12), s.schedule.fixedK = 1; }, "is too high");
    row(
        "one-sided allreduce with the cut of neither half", samples::oneSidedAllreduce,
        [](Sample& s) { s.schedule.bottlenecks[0].exitBandwidth = Bandwidth(20); },
        "10 GB/s leave and 30 GB/s enter it");
    row(
        "one-sided allreduce with the cut of the faster half", samples::oneSidedAllreduce,
        [](Sample& s) {
          s.schedule.bottlenecks = {{{2}, 1, Bandwidth(10)}};
        },
        "for the slower half");
    row(
        "allreduce half overloaded", allreduce,
        [](Sample& s) { s.schedule.reduceForest->scale = InverseBandwidth(1, 10); }, "reduce forest, link");
  }

  void refuses() {
    QFETCH(Make, make);
    QFETCH(Break, breakIt);
    QFETCH(QString, message);
    Sample sample = make();
    breakIt(sample);
    const auto verdict = verify::verifySchedule(sample.fabric, sample.schedule);
    QVERIFY2(verdict.hasValue(), verdict ? "" : describe(verdict.error()).c_str());
    QVERIFY(!verdict->ok);
    QVERIFY(hasErrors(verdict->findings));
    QVERIFY2(test::textsOf(verdict->findings).contains(message), qPrintable(test::textsOf(verdict->findings)));
  }

  void subCapacityBoundIsNoted() {
    // A bound below what the unbalanced fabric's cuts allow, with no cut to prove it: stands, but is not proved.
    Sample sample = samples::lopsided();
    sample.schedule.bottlenecks.clear();
    auto verdict = verify::verifySchedule(sample.fabric, sample.schedule);
    QVERIFY(verdict.hasValue() && verdict->ok);
    QVERIFY2(verdict->boundProved, "max flow alone finds the cut of {g1}");

    out(sample).scale = InverseBandwidth(2, 15);
    sample.schedule.algbw = sample.schedule.bound = Bandwidth(15);
    verdict = verify::verifySchedule(sample.fabric, sample.schedule);
    QVERIFY(verdict.hasValue());
    QVERIFY2(verdict->ok, qPrintable(test::textsOf(verdict->findings)));
    QVERIFY(!verdict->boundProved);
    QCOMPARE(verdict->findings.size(), std::size_t{1});
    QVERIFY(verdict->findings[0].severity == Severity::note);
    QVERIFY(test::textsOf(verdict->findings).contains("no cut proves the bound of 15"));

    sample.schedule.bound = Bandwidth(21);
    sample.schedule.fixedK = 1;
    verdict = verify::verifySchedule(sample.fabric, sample.schedule);
    QVERIFY(verdict.hasValue() && !verdict->ok);
    QVERIFY2(test::textsOf(verdict->findings).contains("a bound of 21 GB/s is too high"),
             qPrintable(test::textsOf(verdict->findings)));
  }

  void listsAtMostHundredFaults() {
    // 16 GPUs all joined to a switch, every edge on a route that does not exist.
    fabric::Description description;
    for (int i = 0; i < 16; ++i) {
      description.nodes.push_back({.id = "g" + std::to_string(i)});
      description.links.push_back({.src = "g" + std::to_string(i), .dst = "sw", .bandwidth = "1"});
    }
    description.nodes.push_back({.id = "sw", .kind = "switch"});
    Sample sample = samples::finish(description, Collective::allgather, Bandwidth(1), {});
    Forest forest = samples::emptyForest(16, std::vector<std::int64_t>(16, 1), Rational(15));
    for (int root = 0; root < 16; ++root) {
      std::vector<samples::Hop> hops;
      for (int child = 0; child < 16; ++child) {
        if (child != root) {
          hops.push_back({root, child, {root, child}});
        }
      }
      samples::addTree(forest, root, 1, hops);
    }
    sample.schedule.broadcastForest = forest;
    const auto verdict = verify::verifySchedule(sample.fabric, sample.schedule);
    QVERIFY(verdict.hasValue() && !verdict->ok);
    QCOMPARE(verdict->findings.size(), std::size_t{100});
    QVERIFY2(verdict->findings.back().text.find("more faults") != std::string::npos,
             verdict->findings.back().text.c_str());
  }

  void namesThePlace() {
    Sample sample = samples::star();
    out(sample).edges[3].path = out(sample).paths.add(std::vector<int>{2, 0});
    const auto verdict = verify::verifySchedule(sample.fabric, sample.schedule);
    QVERIFY(verdict.hasValue() && !verdict->findings.empty());
    QCOMPARE(toText(verdict->findings[0].where.element), R"(tree 1 (root "g1"), edge "g2" -> "g0")");
    QVERIFY2(verdict->findings[0].text.find(R"(along "g2" -> "g0")") != std::string::npos,
             verdict->findings[0].text.c_str());
  }

  void hugeCoprimeBandwidths() {
    // As whole numbers the two bandwidths leave 64 bits: max flow cannot run, but the trees reach the cut.
    Sample sample = samples::lopsided();
    fabric::Description description = sample.description;
    description.links[0].bandwidth = "1/4294967291";
    description.links[1].bandwidth = "1/4294967311";
    rebuild(sample, description);
    out(sample).scale = InverseBandwidth(4294967311);
    sample.schedule.algbw = sample.schedule.bound = Bandwidth(2, 4294967311);
    sample.schedule.bottlenecks = {{{1}, 1, Bandwidth(1, 4294967311)}};
    auto verdict = verify::verifySchedule(sample.fabric, sample.schedule);
    QVERIFY2(verdict.hasValue(), verdict ? "" : describe(verdict.error()).c_str());
    QVERIFY2(verdict->ok && verdict->boundProved, qPrintable(test::textsOf(verdict->findings)));
    QVERIFY(test::textsOf(verdict->findings).contains("leave 64 bits"));
    QCOMPARE(toFraction(verdict->busiestLoad), "4294967311");

    sample.schedule.fixedK = 1;
    sample.schedule.bound = Bandwidth(2, 4294967291);
    sample.schedule.bottlenecks = {{{0}, 1, Bandwidth(1, 4294967291)}};
    verdict = verify::verifySchedule(sample.fabric, sample.schedule);
    QVERIFY(verdict.hasValue());
    QVERIFY2(verdict->ok && !verdict->boundProved, "a loose cut that no flow could refute proves nothing");
  }

  void overflowIsAnError() {
    Sample sample = samples::star();
    out(sample).treesOfRoot.assign(3, std::numeric_limits<std::int64_t>::max());
    const auto verdict = verify::verifySchedule(sample.fabric, sample.schedule);
    QVERIFY(!verdict.hasValue());
    QCOMPARE(verdict.error().code, ErrorCode::overflow);
  }

  void cancels() {
    const Sample sample = samples::ring();
    std::stop_source source;
    source.request_stop();
    Progress progress;
    progress.stop = source.get_token();
    const auto verdict = verify::verifySchedule(sample.fabric, sample.schedule, {}, progress);
    QVERIFY(!verdict.hasValue());
    QCOMPARE(verdict.error().code, ErrorCode::cancelled);
  }

  void maxFlowValuesAndCuts() {
    using flow::lemon::kInfinite;
    // 0 -> {1, 2} -> 3 with a cross arc; the min cut is {1, 2} -> 3.
    flow::lemon::MaxFlow network(4, {{0, 1, 7}, {0, 2, 5}, {1, 2, 3}, {1, 3, 4}, {2, 3, 6}, {2, 2, 9}});
    std::vector<bool> side;
    QCOMPARE(network.run(0, 3, &side), std::int64_t{10});
    QVERIFY(side == std::vector<bool>({true, true, true, false}));
    QCOMPARE(network.run(0, 2, &side), std::int64_t{8});
    QCOMPARE(network.run(3, 0), std::int64_t{0});
    QCOMPARE(flow::lemon::maxFlow(3, {{0, 1, kInfinite}, {1, 2, 4}}, 0, 2), std::int64_t{4});
    QCOMPARE(flow::lemon::maxFlow(3, {{0, 1, kInfinite}, {1, 2, kInfinite}}, 0, 2), kInfinite);
    QCOMPARE(flow::lemon::maxFlow(3, {{0, 1, kInfinite}, {0, 1, kInfinite}, {1, 2, 3}}, 0, 2), std::int64_t{3});
    QVERIFY_EXCEPTION_THROWN(flow::lemon::maxFlow(2, {{0, 1, kInfinite - 1}, {1, 0, kInfinite - 1}}, 0, 1),
                             OverflowError);
    QVERIFY_EXCEPTION_THROWN(flow::lemon::maxFlow(2, {{0, 5, 1}}, 0, 1), std::invalid_argument);
    QVERIFY_EXCEPTION_THROWN(flow::lemon::maxFlow(2, {{0, 1, -1}}, 0, 1), std::invalid_argument);
    QVERIFY_EXCEPTION_THROWN(flow::lemon::maxFlow(2, {{0, 1, 1}}, 1, 1), std::invalid_argument);
  }
};

QTEST_GUILESS_MAIN(TestScheduleVerifier)
#include "tst_schedule_verifier.moc"
