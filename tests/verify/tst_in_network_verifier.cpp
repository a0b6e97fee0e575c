// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <functional>
#include <limits>

#include "support/findings.hpp"
#include "support/sample_schedules.hpp"
#include "verify/schedule_verifier.hpp"

using namespace coppice;
using samples::Sample;
using schedule::Forest;

namespace {

using Make = std::function<Sample()>;
using Break = std::function<void(Sample&)>;

constexpr int kGpus = 4;
constexpr int kSwitch = 4;

Forest& sums(Sample& sample) {
  return *sample.schedule.reduceForest;
}

Forest& copies(Sample& sample) {
  return *sample.schedule.broadcastForest;
}

/// Four GPUs at 100 GB/s round a switch.
fabric::Description describeSquare(bool multicast = true, bool aggregation = true) {
  auto description =
      samples::describeFabric("square", {"g0", "g1", "g2", "g3"}, {"sw"},
                              {{"g0", "sw", "100"}, {"g1", "sw", "100"}, {"g2", "sw", "100"}, {"g3", "sw", "100"}});
  description.nodes[kSwitch].multicast = multicast;
  description.nodes[kSwitch].aggregation = aggregation;
  return description;
}

/// The root sends once, and the switch copies.
void addStar(Forest& forest, fabric::Rank root, std::int64_t multiplicity) {
  std::vector<samples::Hop> hops;
  for (int hop = 1; hop < kGpus; ++hop) {
    const int child = (root + hop) % kGpus;
    hops.push_back({root, child, {root, kSwitch, child}, hop == 1 ? 0 : 1});
  }
  samples::addTree(forest, root, multiplicity, hops);
}

/// Both halves at once. Each GPU sends and takes what it sums and sends out as a root, and a copy for each other root:
/// as much as all data, so 100 GB/s.
Sample overlappedSquare(const std::vector<std::int64_t>& treesOfRoot = {1, 1, 1, 1}) {
  Sample sample = samples::finish(describeSquare(), Collective::allreduce, Bandwidth(100), {{{0}, 1, Bandwidth(100)}});
  std::int64_t count = 0;
  for (const std::int64_t trees : treesOfRoot) {
    count += trees;
  }
  Forest forest = samples::emptyForest(kGpus, treesOfRoot, Rational(count, 100));
  for (int root = 0; root < kGpus; ++root) {
    if (treesOfRoot[root] > 0) {
      addStar(forest, root, treesOfRoot[root]);
    }
  }
  sample.schedule.broadcastForest = forest;
  sample.schedule.reduceForest = schedule::reversed(forest);
  sample.schedule.overlapped = true;
  sample.schedule.allreduceBound = Bandwidth(100);
  return sample;
}

void setScale(Sample& sample, const Rational& scale) {
  sums(sample).scale = copies(sample).scale = InverseBandwidth(scale);
  sample.schedule.algbw = copies(sample).algbw();
}

/// A root also reads and writes its own copy: five trees on each link.
Sample ownCopySquare() {
  Sample sample = overlappedSquare();
  sample.schedule.ownCopies = true;
  setScale(sample, Rational(1, 20));
  return sample;
}

/// The trees of rank 0 and their images.
Sample rotatedSquare(Sample sample) {
  for (Forest* forest : {&sums(sample), &copies(sample)}) {
    forest->trees.resize(1);
    forest->edges.resize(kGpus - 1);
    forest->rotations = {{1, kGpus, {1, 2, 3, 0, kSwitch}}};
  }
  return sample;
}

/// An allgather of three GPUs whose switch gives every root its own copy: 10 of 15 GB/s.
Sample ownCopyStar() {
  Sample sample = samples::prunedStar();
  sample.schedule.ownCopies = true;
  copies(sample).scale = InverseBandwidth(3, 10);
  sample.schedule.algbw = Bandwidth(10);
  return sample;
}

/// g0 sends to the switch at 10 GB/s, and gets its data by another link.
Sample oneWayBroadcast() {
  const auto description = samples::describeFabric(
      "one-way", {"g0", "g1", "g2"}, {"sw"},
      {{"g0", "sw", "10", false}, {"g1", "sw", "10"}, {"g2", "sw", "10"}, {"g1", "g0", "10", false}}, true);
  Sample sample = samples::finish(description, Collective::broadcast, Bandwidth(10), {{{0}, 1, Bandwidth(10)}});
  Forest forest = samples::emptyForest(3, {1, 0, 0}, Rational(1, 10));
  samples::addTree(forest, 0, 1, {{0, 1, {0, 3, 1}}, {0, 2, {0, 3, 2}, 1}});
  sample.schedule.root = 0;
  sample.schedule.broadcastForest = forest;
  return sample;
}

/// The same trees turned round.
Sample oneWayReduce() {
  Sample sample = oneWayBroadcast();
  const fabric::Fabric turned = sample.fabric.transposed();
  sample.schedule.collective = Collective::reduce;
  sample.schedule.fabricDigest = turned.digest();
  sample.schedule.reduceForest = schedule::reversed(copies(sample));
  sample.schedule.broadcastForest.reset();
  sample.fabric = turned;
  return sample;
}

/// g0 sends twice to the switch, which copies once: its own copy comes once, over a link of half the bandwidth.
Sample copyOfTwoStreams() {
  auto description = describeSquare();
  description.links[0].duplex = false;
  description.links.push_back({.src = "sw", .dst = "g0", .bandwidth = "50", .duplex = false});
  Sample sample = samples::finish(description, Collective::broadcast, Bandwidth(50), {{{0}, 1, Bandwidth(100)}});
  Forest forest = samples::emptyForest(kGpus, {1, 0, 0, 0}, Rational(1, 50));
  samples::addTree(forest, 0, 1, {{0, 1, {0, 4, 1}}, {0, 2, {0, 4, 2}}, {0, 3, {0, 4, 3}, 1}});
  sample.schedule.root = 0;
  sample.schedule.broadcastForest = forest;
  sample.schedule.ownCopies = true;
  sample.schedule.bound = Bandwidth(100);
  return sample;
}

/// g1 passes on what it got; the switch copies that, also to g1.
Sample copyOfARelay() {
  Sample sample = copyOfTwoStreams();
  Forest forest = samples::emptyForest(kGpus, {1, 0, 0, 0}, Rational(1, 50));
  samples::addTree(forest, 0, 1, {{0, 1, {0, 4, 1}}, {1, 2, {1, 4, 2}}, {1, 3, {1, 4, 3}, 1}});
  sample.schedule.broadcastForest = forest;
  return sample;
}

/// s0 copies, s1 passes on to g3 alone, over one-way links.
Sample copyBesideAPlainRelay() {
  auto description = samples::describeFabric("two switches", {"g0", "g1", "g2", "g3"}, {"s0", "s1"},
                                             {{"g0", "s0", "10"},
                                              {"g1", "s0", "10"},
                                              {"g2", "s0", "10"},
                                              {"g0", "s1", "10", false},
                                              {"s1", "g3", "10", false},
                                              {"g3", "g0", "10", false}},
                                             true);
  Sample sample =
      samples::finish(description, Collective::broadcast, Bandwidth(10), {{{0, 1, 2, 4, 5}, 1, Bandwidth(10)}});
  Forest forest = samples::emptyForest(kGpus, {1, 0, 0, 0}, Rational(1, 10));
  samples::addTree(forest, 0, 1, {{0, 1, {0, 4, 1}}, {0, 2, {0, 4, 2}, 1}, {0, 3, {0, 5, 3}}});
  sample.schedule.root = 0;
  sample.schedule.broadcastForest = forest;
  sample.schedule.ownCopies = true;
  return sample;
}

void rebuild(Sample& sample, const fabric::Description& description) {
  sample.description = description;
  sample.fabric = samples::buildFabric(description);
  sample.schedule.fabricDigest = sample.fabric.digest();
}

}  // namespace

Q_DECLARE_METATYPE(Make)
Q_DECLARE_METATYPE(Break)

class TestInNetworkVerifier : public QObject {
  Q_OBJECT

private slots:
  void accepts_data() {
    QTest::addColumn<Make>("make");
    QTest::addColumn<QString>("algbw");
    QTest::addColumn<QString>("busiestLoad");
    QTest::addColumn<bool>("boundProved");
    const auto row = [](const char* name, const char* algbw, const char* busiest, bool boundProved, const Make& make) {
      QTest::newRow(name) << make << algbw << busiest << boundProved;
    };
    row("overlapped", "100", "1/25", true, [] { return overlappedSquare(); });
    row("one root", "100", "1/100", true, [] { return overlappedSquare({1, 0, 0, 0}); });
    row("unequal roots", "100", "3/50", true, [] { return overlappedSquare({3, 0, 1, 2}); });
    row("own copies", "80", "1/20", true, ownCopySquare);
    row("rotated", "100", "1/25", true, [] { return rotatedSquare(overlappedSquare()); });
    row("rotated, own copies", "80", "1/20", true, [] { return rotatedSquare(ownCopySquare()); });
    row("below the bound", "75", "1/25", true, [] {
      Sample sample = overlappedSquare();
      setScale(sample, Rational(4, 75));
      return sample;
    });
    row("without a cut", "100", "1/25", false, [] {
      Sample sample = overlappedSquare();
      sample.schedule.bottlenecks.clear();
      return sample;
    });
    row("own copies of an allgather", "10", "3/10", true, ownCopyStar);
    row("own copies of a reduce-scatter", "10", "3/10", true, [] { return samples::reduceScattered(ownCopyStar()); });
    row("own copies, one half after the other", "5", "3/10", true, [] {
      Sample sample = samples::allreduced(ownCopyStar());
      sample.schedule.bound = Bandwidth(15, 2);
      return sample;
    });
    row("own copies, nothing pruned", "15", "1/5", true, [] {
      Sample sample = samples::star(true);
      sample.schedule.ownCopies = true;
      return sample;
    });
    row("one own copy of two streams", "50", "1/50", true, copyOfTwoStreams);
    row("own copy at one switch of two", "10", "1/10", true, copyBesideAPlainRelay);
    row("own copy of a relay", "50", "1/50", true, copyOfARelay);
    row("one-way link", "10", "1/10", true, oneWayBroadcast);
    row("one-way link back", "10", "1/10", true, oneWayReduce);
  }

  void accepts() {
    QFETCH(Make, make);
    QFETCH(QString, algbw);
    QFETCH(QString, busiestLoad);
    QFETCH(bool, boundProved);
    const Sample sample = make();
    for (const std::int64_t maxEdges : {std::int64_t{0}, std::numeric_limits<std::int64_t>::max()}) {
      const auto verdict = verify::verifySchedule(sample.fabric, sample.schedule, {.maxEdges = maxEdges});
      QVERIFY2(verdict.hasValue(), verdict ? "" : describe(verdict.error()).c_str());
      QVERIFY2(verdict->ok, qPrintable(test::textsOf(verdict->findings)));
      QVERIFY2(verdict->findings.empty(), qPrintable(test::textsOf(verdict->findings)));
      QCOMPARE(QString::fromStdString(toFraction(verdict->algbw)), algbw);
      QCOMPARE(QString::fromStdString(toFraction(verdict->busiestLoad)), busiestLoad);
      QCOMPARE(verdict->boundProved, boundProved);
      const bool isRotated = sample.schedule.broadcastForest && !sample.schedule.broadcastForest->rotations.empty();
      QCOMPARE(verdict->isBySymmetry, isRotated && maxEdges == 0);
    }
  }

  void refuses_data() {
    QTest::addColumn<Make>("make");
    QTest::addColumn<Break>("breakIt");
    QTest::addColumn<QString>("message");
    const Make square = [] { return overlappedSquare(); };
    const Make rotated = [] { return rotatedSquare(overlappedSquare()); };
    const auto row = [](const char* name, const Make& make, const char* message, const Break& breakIt) {
      QTest::newRow(name) << make << breakIt << QString(message);
    };
    for (const auto& [suffix, make] : {std::pair("", square), std::pair(", rotated", rotated)}) {
      const auto named = [&](const char* name) { return std::string(name) + suffix; };
      row(named("sums without the flag").c_str(), make, "pruned at \"sw\", which cannot aggregate",
          [](Sample& s) { rebuild(s, describeSquare(true, false)); });
      row(named("copies without the flag").c_str(), make, "pruned at \"sw\", which cannot multicast",
          [](Sample& s) { rebuild(s, describeSquare(false, true)); });
      row(named("summed twice").c_str(), make, "\"g2\" has two parents, \"g0\" and \"g0\"",
          [](Sample& s) { sums(s).edges[2] = sums(s).edges[1]; });
      row(named("not summed").c_str(), make, "does not reach \"g3\"",
          [](Sample& s) { sums(s).edges[2] = sums(s).edges[1]; });
      row(named("copy missing").c_str(), make, "does not reach \"g3\"",
          [](Sample& s) { copies(s).edges[2] = copies(s).edges[1]; });
      row(named("sums of nobody").c_str(), make, "no other edge of the tree takes its sum from there",
          [](Sample& s) { sums(s).edges[0].pruned = 1; });
      row(named("copies of nothing").c_str(), make, "no other edge of the tree brings its data there",
          [](Sample& s) { copies(s).edges[0].pruned = 1; });
      row(named("overloaded by a sum sent twice").c_str(), make,
          "link \"sw\" -> \"g0\": carries 5 trees of both forests, but its capacity is 4",
          [](Sample& s) { sums(s).edges[1].pruned = 0; });
      row(named("overloaded by the other half").c_str(), make, "carries 4 trees of both forests, but its capacity is 3",
          [](Sample& s) { setScale(s, Rational(3, 100)); });
      row(named("own copies not counted").c_str(), make, "carries 5 trees of both forests, but its capacity is 4",
          [](Sample& s) { s.schedule.ownCopies = true; });
      row(named("other scale").c_str(), make,
          "the scale of the reduce forest is 1/20, that of the broadcast forest 1/25",
          [](Sample& s) { sums(s).scale = InverseBandwidth(1, 20); });
    }
    row("other roots", square, "root \"g1\" has 2 trees in the reduce forest and 1 in the broadcast forest",
        [](Sample& s) {
          s.schedule.reduceForest = overlappedSquare({1, 2, 0, 1}).schedule.reduceForest;
        });
    row("more trees", square, "root \"g0\" has 2 trees in the reduce forest and 1 in the broadcast forest",
        [](Sample& s) {
          sums(s).treesOfRoot[0] = 2;
          sums(s).trees[0].multiplicity = 2;
        });
    row("no roots", square, "broadcast forest: has no trees", [](Sample& s) {
      copies(s).treesOfRoot.assign(kGpus, 0);
      copies(s).trees.clear();
    });
    row("trees not stated", square, "add up to 3, stated are 1",
        [](Sample& s) { copies(s).trees[2].multiplicity = 3; });
    row("half an allreduce", square, "has no broadcast forest", [](Sample& s) { s.schedule.broadcastForest.reset(); });
    row("allgather", square, "only an allreduce has two halves", [](Sample& s) {
      s.schedule.collective = Collective::allgather;
      s.schedule.reduceForest.reset();
      s.schedule.allreduceBound.reset();
    });
    row("fixed k", square, "states a fixed k", [](Sample& s) { s.schedule.fixedK = 1; });
    row("amounts", square, "states amounts per rank", [](Sample& s) { s.schedule.amounts.assign(kGpus, 1); });
    row("no allreduce bound", square, "states no allreduce bound",
        [](Sample& s) { s.schedule.allreduceBound.reset(); });
    row("another allreduce bound", square, "a bound of 100 GB/s and an allreduce bound of 120",
        [](Sample& s) { s.schedule.allreduceBound = Bandwidth(120); });
    row("above the bound", square, "more than the stated bound of 90", [](Sample& s) {
      s.schedule.bound = Bandwidth(90);
      s.schedule.allreduceBound = Bandwidth(90);
    });
    row("harmonic sum", square, "claims algbw 50 GB/s, the trees reach 100",
        [](Sample& s) { s.schedule.algbw = Bandwidth(50); });
    row("bound 0", square, "states a bound of 0", [](Sample& s) { s.schedule.bound = Bandwidth(0); });
    row("cut of a higher bound", square, "cut 1: allows 200 GB/s, the stated bound is 100", [](Sample& s) {
      s.schedule.bottlenecks.push_back({{0, 1}, 2, Bandwidth(200)});
    });
    row("bound above its cut", square, "cut 0: allows 100 GB/s, the stated bound is 120", [](Sample& s) {
      s.schedule.bound = Bandwidth(120);
      s.schedule.allreduceBound = Bandwidth(120);
    });
    row("cut of another bandwidth", square, "states 100 GB/s, but 200 GB/s leave and 200 GB/s enter it", [](Sample& s) {
      s.schedule.bottlenecks = {{{0, 1}, 2, Bandwidth(100)}};
    });
    row("cut with all GPUs", square, "holds every GPU", [](Sample& s) {
      s.schedule.bottlenecks = {{{0, 1, 2, 3}, 4, Bandwidth(100)}};
    });
    row("cut demand", square, "states a demand of 2", [](Sample& s) { s.schedule.bottlenecks[0].demand = 2; });
    row("own copies of an allgather not counted", samples::prunedStar, "carries 3 trees, but its capacity is 2",
        [](Sample& s) { s.schedule.ownCopies = true; });
    row(
        "own copies of a reduce-scatter not counted", [] { return samples::reduceScattered(samples::prunedStar()); },
        "carries 3 trees, but its capacity is 2", [](Sample& s) { s.schedule.ownCopies = true; });
    row(
        "own copies of an allreduce not counted", [] { return samples::allreduced(samples::prunedStar()); },
        "reduce forest, link \"g0\" -> \"sw\": carries 3 trees, but its capacity is 2",
        [](Sample& s) { s.schedule.ownCopies = true; });
    row("own copy of a relay not counted", copyOfARelay, "link \"sw\" -> \"g1\": carries 2 trees",
        [](Sample& s) { setOutScale(s, Rational(1, 100)); });
    row("no link for the copy back", oneWayBroadcast,
        "\"sw\" also copies the data back to \"g0\", but the fabric has no link \"sw\" -> \"g0\"",
        [](Sample& s) { s.schedule.ownCopies = true; });
    row("no link for the own contribution", oneWayReduce,
        "\"sw\" also reads the contribution of \"g0\", but the fabric has no link \"g0\" -> \"sw\"",
        [](Sample& s) { s.schedule.ownCopies = true; });
  }

  void refuses() {
    QFETCH(Make, make);
    QFETCH(Break, breakIt);
    QFETCH(QString, message);
    Sample sample = make();
    breakIt(sample);
    for (const std::int64_t maxEdges : {std::int64_t{0}, std::numeric_limits<std::int64_t>::max()}) {
      const auto verdict = verify::verifySchedule(sample.fabric, sample.schedule, {.maxEdges = maxEdges});
      QVERIFY2(verdict.hasValue(), verdict ? "" : describe(verdict.error()).c_str());
      QVERIFY(!verdict->ok);
      QVERIFY2(test::textsOf(verdict->findings).contains(message), qPrintable(test::textsOf(verdict->findings)));
    }
  }

private:
  static void setOutScale(Sample& sample, const Rational& scale) {
    copies(sample).scale = InverseBandwidth(scale);
    sample.schedule.algbw = copies(sample).algbw();
  }
};

QTEST_GUILESS_MAIN(TestInNetworkVerifier)
#include "tst_in_network_verifier.moc"
