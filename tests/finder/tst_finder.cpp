// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <algorithm>
#include <bit>
#include <random>

#include "finder/catalogue.hpp"
#include "finder/distances.hpp"
#include "finder/drawn.hpp"
#include "finder/finder.hpp"
#include "finder/sampler.hpp"
#include "finder/time_model.hpp"
#include "support/bfb_digraph.hpp"
#include "support/digraph_checks.hpp"
#include "topology/expansions.hpp"
#include "topology/families.hpp"

using namespace coppice;
using namespace coppice::finder;
using coppice::test::loadsOf;
using topology::Digraph;

namespace {

/// Fronts are shared between tests, as what they hold is.
Finder& finderOfAll() {
  static Finder finder;
  return finder;
}

std::vector<Entry> frontOf(const Query& query) {
  const auto front = finderOfAll().front(query);
  if (!front) {
    qFatal("%s", describe(front.error()).c_str());
  }
  return *front;
}

/// "3 1.000, 4 .969": steps and T_B rounded to three places.
QString printed(const std::vector<Entry>& front) {
  QStringList list;
  for (const Entry& entry : front) {
    QString time = QString::number(entry.bandwidthTime.toDouble(), 'f', 3);
    list << QString::number(entry.steps) + " " + (time.startsWith("0") ? time.mid(1) : time);
  }
  return list.join(", ");
}

Digraph built(const Entry& entry) {
  auto graph = build(*entry.construction);
  if (!graph) {
    qFatal("%s: %s", nameOf(*entry.construction).c_str(), describe(graph.error()).c_str());
  }
  return *std::move(graph);
}

/// Every fact that an entry states holds for the graph that it builds, by code that the finder does not use.
QString faultOf(const Entry& entry) {
  const Digraph graph = built(entry);
  const bfb::Loads loads = loadsOf(graph);
  const QString name = QString::fromStdString(nameOf(*entry.construction));
  if (graph.nodes != entry.nodes || graph.degree != entry.degree || !test::isInRegular(graph)) {
    return name + ": wrong size";
  }
  if (loads.steps() != entry.steps || loads.bandwidthTime() != entry.bandwidthTime) {
    return QStringLiteral("%1: claims %2 steps, T_B %3; has %4, %5")
        .arg(name)
        .arg(entry.steps)
        .arg(QString::fromStdString(entry.bandwidthTime.toString()))
        .arg(loads.steps())
        .arg(QString::fromStdString(loads.bandwidthTime().toString()));
  }
  if (entry.isDuplex != topology::isDuplex(graph)) {
    return name + ": wrong direction of links";
  }
  const auto again = allgatherValue(entry);
  if (!again || again->stepLoads != loads.stepLoads) {
    return name + ": wrong loads";
  }
  return {};
}

/// max cnt(W)/|W| over all sets.
Rational overAllSets(const std::vector<JobClass>& jobs, int links) {
  Rational best;
  for (std::uint64_t set = 1; set < std::uint64_t{1} << links; ++set) {
    std::int64_t inside = 0;
    for (const JobClass& job : jobs) {
      inside += (job.mask & ~set) == 0 ? job.count : 0;
    }
    best = std::max(best, Rational(inside, std::popcount(set)));
  }
  return best;
}

CayleyDraw drawn(int nodes, int degree, bool isDuplex, std::uint32_t& seed) {
  Sampler sampler(nodes);
  CayleySearch search;
  for (;; ++seed) {
    if (const auto draw = sampler.draw(degree, isDuplex, seed); draw && search.run(*draw)) {
      return *draw;
    }
  }
}

}  // namespace

class TestFinder : public QObject {
  Q_OBJECT

private slots:
  void loadsAreTheLargestOverAllSets();
  void drawsAreWhatTheyClaim();
  void lineGraphRule();
  void expansionRules();
  void kautzRule();
  void catalogueIsTrue();
  void paperFronts_data();
  void paperFronts();
  void fronts_data();
  void fronts();
  void smallFrontsAreExact_data();
  void smallFrontsAreExact();
  void frontsAreFronts();
  void sameEveryTime();
  void constraints();
  void distancesAsThirdGoal_data();
  void distancesAsThirdGoal();
  void leastDistances();
  void timesOfTheDissertation();
  void breakPoints();
  void growth();
  void drawnGraphsHaveStandIns_data();
  void drawnGraphsHaveStandIns();
  void refuses_data();
  void refuses();
};

void TestFinder::loadsAreTheLargestOverAllSets() {
  std::mt19937 random(7);
  for (int round = 0; round < 600; ++round) {
    const int links = 1 + static_cast<int>(random() % 11);
    const std::uint64_t all = (std::uint64_t{1} << links) - 1;
    std::vector<JobClass> jobs;
    for (unsigned i = 0; i < 1 + random() % 12; ++i) {
      std::uint64_t mask = random() % all + 1;
      if (round % 2 == 0) {  // cyclic runs
        const int length = 1 + static_cast<int>(random() % static_cast<unsigned>(links));
        const std::uint64_t run = length == links ? all : (std::uint64_t{1} << length) - 1;
        const int turn = static_cast<int>(random() % static_cast<unsigned>(links));
        mask = ((run << turn) | (run >> (links - turn))) & all;
      }
      const bool isNew = std::none_of(jobs.begin(), jobs.end(), [&](const JobClass& job) { return job.mask == mask; });
      if (isNew) {
        jobs.push_back({mask, 1 + static_cast<std::int64_t>(random() % 40)});
      }
    }
    QCOMPARE(stepLoad(jobs, links), overAllSets(jobs, links));
  }
}

void TestFinder::drawsAreWhatTheyClaim() {
  std::uint32_t seed = 0;
  for (int round = 0; round < 60; ++round, ++seed) {
    const bool isDuplex = round % 3 == 0;
    const int nodes = 12 + round;
    const CayleyDraw draw = drawn(nodes, 2 + round % 4, isDuplex && nodes % 2 == 0, seed);
    const auto graph = topology::cayley(draw.group, draw.generators);
    QVERIFY2(graph.hasValue(), graph.hasValue() ? "" : describe(graph.error()).c_str());
    QVERIFY(!(isDuplex && nodes % 2 == 0) || topology::isDuplex(*graph));
    CayleySearch search;
    QVERIFY(search.run(draw));
    QCOMPARE(search.value().stepLoads, loadsOf(*graph).stepLoads);
    QVERIFY(search.run(reversed(draw)));
    QCOMPARE(search.value().stepLoads, loadsOf(*graph, true).stepLoads);
    QCOMPARE(valueOfAll(*graph).stepLoads, loadsOf(*graph).stepLoads);
  }
}

/// Line graphs by the rule and built; in some of them every target lacks its own shard and the load is smaller.
void TestFinder::lineGraphRule() {
  int smaller = 0;
  std::uint32_t seed = 0;
  for (int round = 0; round < 70; ++round, ++seed) {
    const int degree = 2 + round % 3;
    const CayleyDraw draw = drawn(4 + round % 21 + degree, degree, false, seed);
    const Digraph graph = *topology::cayley(draw.group, draw.generators);
    const Digraph back = topology::transposed(graph);
    ProfileSearch search(graph);
    ProfileSearch searchBack(back);
    const Profile& profile = search.at(0);
    const Profile& profileBack = searchBack.at(0);
    const Rational time = valueOf(profile).bandwidthTime(graph.nodes, degree);
    Digraph line = graph;
    for (int times = 1; times <= 3 && line.nodes * degree <= 500; ++times) {
      line = *topology::lineGraph(line);
      QCOMPARE(lineGraphValue(graph, profile, times).stepLoads, loadsOf(line).stepLoads);
      QCOMPARE(lineGraphValue(back, profileBack, times).stepLoads, loadsOf(line, true).stepLoads);
      if (times == 1) {
        smaller += loadsOf(line).bandwidthTime() < time + Rational(1, graph.nodes) ? 1 : 0;
      }
    }
  }
  QVERIFY(smaller > 3);
}

/// Degree expansions, products and powers keep symmetry: one target has the loads of all.
void TestFinder::expansionRules() {
  std::uint32_t seed = 0;
  for (int round = 0; round < 20; ++round, ++seed) {
    const CayleyDraw first = drawn(5 + round % 6, 2, round % 4 == 0, seed);
    const Digraph graph = *topology::cayley(first.group, first.generators);
    const CayleyDraw second = drawn(6 + round % 5, 2 + round % 2, false, seed);
    const Digraph other = *topology::cayley(second.group, second.generators);
    for (const auto& expanded :
         {topology::degreeExpansion(graph, 2), topology::degreeExpansion(graph, 3), topology::product(graph, other),
          topology::power(graph, 2), topology::bidirected(graph)}) {
      QVERIFY(expanded.hasValue());
      QCOMPARE(valueOfOne(*expanded).stepLoads, loadsOf(*expanded).stepLoads);
    }
    // Theorem 13
    const bfb::Loads a = loadsOf(graph);
    const bfb::Loads b = loadsOf(other);
    const bfb::Loads both = loadsOf(*topology::product(graph, other));
    QCOMPARE(both.steps(), a.steps() + b.steps());
    QVERIFY(!a.isBandwidthOptimal() || !b.isBandwidthOptimal() || both.isBandwidthOptimal());
  }
}

void TestFinder::kautzRule() {
  for (const int degree : {2, 3, 4, 6, 8, 16}) {
    for (int nodes = degree + 1; nodes <= 160; nodes += 13) {
      const Digraph graph = *topology::generalizedKautz(degree, nodes);
      const bfb::Loads loads = loadsOf(graph);
      QCOMPARE(kautzSteps(degree, nodes), loads.steps());
      QCOMPARE(kautzValue(degree, nodes, false).stepLoads, loads.stepLoads);
      QCOMPARE(kautzValue(degree, nodes, true).stepLoads, loadsOf(graph, true).stepLoads);
      // Figure A.7
      QVERIFY(loads.bandwidthTime() <= Rational(2) * Rational(nodes - 1, nodes));
      const int moore = mooreSteps(nodes, degree);
      QVERIFY(loads.steps() == moore || loads.steps() == moore + 1);
    }
  }
  QCOMPARE(mooreSteps(1024, 4), 5);
  QCOMPARE(mooreSteps(85, 4), 3);
  QCOMPARE(mooreSteps(86, 4), 4);
}

/// Samples of the shipped values, computed again.
void TestFinder::catalogueIsTrue() {
  for (const int degree : {2, 4, 8, 16}) {
    for (const int nodes : {20, 61, 128, 200, 333, 500}) {
      const auto known = cataloguedKautz(degree, nodes);
      QVERIFY(known.has_value());
      const bfb::Loads loads = loadsOf(*topology::generalizedKautz(degree, nodes));
      QCOMPARE(known->steps, loads.steps());
      QCOMPARE(known->loadSum * Rational(degree, nodes), loads.bandwidthTime());
    }
    QVERIFY(!cataloguedKautz(degree, 2001).has_value());
    for (int nodes = degree + 3; nodes <= 2000; nodes += 97) {
      const auto* seeds = cataloguedDraws(nodes, degree, false);
      QVERIFY(seeds != nullptr);
      Sampler sampler(nodes);
      for (const std::uint32_t seed : *seeds) {
        const auto draw = sampler.draw(degree, false, seed);
        QVERIFY(draw.has_value());
        CayleySearch search;
        QVERIFY(search.run(*draw));
      }
    }
  }
  QVERIFY(cataloguedDraws(100, 3, false) == nullptr);
}

void TestFinder::paperFronts_data() {
  QTest::addColumn<int>("nodes");
  QTest::addColumn<QString>("front");
  QTest::newRow("32") << 32 << "3 1.000, 4 .969";
  QTest::newRow("64") << 64 << "3 1.313, 4 1.000, 6 .984";
  QTest::newRow("128") << 128 << "4 1.031, 5 1.000, 8 .992";
  QTest::newRow("256") << 256 << "4 1.328, 5 1.016, 7 1.000, 10 .996";
  QTest::newRow("512") << 512 << "5 1.039, 6 1.008, 9 1.000, 16 .998";
  QTest::newRow("1024") << 1024 << "5 1.332, 6 1.020, 8 1.004, 11 1.000, 20 .999";
  // Table 3.5
  QTest::newRow("5") << 5 << "1 .800";
  QTest::newRow("6") << 6 << "2 .833";
  QTest::newRow("7") << 7 << "2 .857";
  QTest::newRow("8") << 8 << "2 .875";
  QTest::newRow("9") << 9 << "2 .889";
  QTest::newRow("10") << 10 << "2 .900";
  QTest::newRow("11") << 11 << "2 .909";
  QTest::newRow("12") << 12 << "2 .917";
}

/// Tables 3.4, 3.5 and A.1 (which print 21/16 as 1.312) from the base graphs and formulas of the dissertation, d = 4;
/// its rows 10 of N = 128 and 11 of N = 512 are beaten by its own C(128,{8,9}).
void TestFinder::paperFronts() {
  QFETCH(int, nodes);
  QFETCH(QString, front);
  QCOMPARE(printed(frontOf({.nodes = nodes, .degree = 4, .isPaper = true})), front);
}

void TestFinder::fronts_data() {
  QTest::addColumn<int>("nodes");
  QTest::addColumn<int>("degree");
  QTest::addColumn<int>("steps");
  QTest::addColumn<QString>("time");
  const auto row = [](int nodes, int degree, int steps, const char* time) {
    QTest::addRow("%d, %d: %d steps", nodes, degree, steps) << nodes << degree << steps << QString(time);
  };
  row(32, 4, 3, "31/32");
  row(64, 4, 3, "17/16");
  row(64, 4, 4, "63/64");
  row(128, 4, 4, "127/128");
  row(256, 4, 4, "69/64");
  row(256, 4, 5, "255/256");
  row(512, 4, 5, "1");
  row(512, 4, 6, "511/512");
  row(1024, 4, 5, "277/256");
  row(1024, 4, 6, "1023/1024");
  row(2000, 4, 6, "101/100");
  row(2000, 4, 7, "1999/2000");
  row(64, 2, 6, "1");
  row(64, 2, 7, "63/64");
  row(1024, 2, 10, "527/512");
  row(1024, 2, 11, "1002/1000");
  row(1024, 2, 14, "1023/1024");
  row(1024, 8, 4, "1");
  row(1024, 8, 5, "1023/1024");
  row(1024, 16, 3, "1");
  row(1024, 16, 4, "1023/1024");
  row(8, 2, 3, "7/8");
  row(16, 2, 4, "15/16");
  row(20, 2, 4, "19/20");
  row(136, 2, 8, "135/136");
  row(256, 2, 9, "255/256");
  row(997, 4, 14, "996/997");
}

/// Some entry has at most these steps and this T_B.
void TestFinder::fronts() {
  QFETCH(int, nodes);
  QFETCH(int, degree);
  QFETCH(int, steps);
  QFETCH(QString, time);
  const std::vector<Entry> front = frontOf({.nodes = nodes, .degree = degree});
  const Rational bound = *Rational::parse(time.toStdString());
  QVERIFY2(std::any_of(front.begin(), front.end(),
                       [&](const Entry& entry) { return entry.steps <= steps && entry.bandwidthTime <= bound; }),
           qPrintable(printed(front)));
  if (nodes <= 256) {
    for (const Entry& entry : front) {
      const QString fault = faultOf(entry);
      QVERIFY2(fault.isEmpty(), qPrintable(fault));
    }
  }
}

void TestFinder::smallFrontsAreExact_data() {
  QTest::addColumn<int>("degree");
  QTest::addColumn<bool>("isDuplex");
  for (const int degree : {1, 2, 3, 4, 5, 6, 8, 16}) {
    QTest::addRow("%d, one-way", degree) << degree << false;
    if (degree > 1) {
      QTest::addRow("%d, duplex", degree) << degree << true;
    }
  }
}

/// All claims of all fronts are those of the built graph.
void TestFinder::smallFrontsAreExact() {
  QFETCH(int, degree);
  QFETCH(bool, isDuplex);
  int entries = 0;
  for (int nodes = 2; nodes <= 180; nodes += nodes < 24 ? 1 : 13) {
    for (const Entry& entry : frontOf({.nodes = nodes, .degree = degree, .isDuplex = isDuplex})) {
      const QString fault = faultOf(entry);
      QVERIFY2(fault.isEmpty(), qPrintable(fault));
      QVERIFY(!isDuplex || entry.isDuplex);
      const auto back = reduceScatterValue(entry);
      QVERIFY(back.hasValue());
      QCOMPARE(back->stepLoads, loadsOf(built(entry), true).stepLoads);
      ++entries;
    }
  }
  QVERIFY(entries > 10);
}

void TestFinder::frontsAreFronts() {
  for (int nodes = 40; nodes <= 900; nodes += 43) {
    for (const int degree : {2, 4, 8}) {
      const std::vector<Entry> front = frontOf({.nodes = nodes, .degree = degree});
      QVERIFY(!front.empty());
      QVERIFY(front.back().isBandwidthOptimal());
      QVERIFY(front.front().steps >= mooreSteps(nodes, degree));
      for (std::size_t i = 1; i < front.size(); ++i) {
        QVERIFY(front[i].steps > front[i - 1].steps);
        QVERIFY(front[i].bandwidthTime < front[i - 1].bandwidthTime);
      }
    }
  }
}

/// A finder that has searched something else before finds the same.
void TestFinder::sameEveryTime() {
  for (const Query& query : {Query{.nodes = 360, .degree = 4}, Query{.nodes = 90, .degree = 3},
                             Query{.nodes = 96, .degree = 6, .isDuplex = true}}) {
    Finder fresh;
    const auto first = fresh.front(query);
    QVERIFY(first.hasValue());
    frontOf({.nodes = 720, .degree = 4});
    const auto second = frontOf(query);
    QCOMPARE(second.size(), first->size());
    for (std::size_t i = 0; i < second.size(); ++i) {
      QCOMPARE(nameOf(*second[i].construction), nameOf(*(*first)[i].construction));
    }
  }
}

void TestFinder::constraints() {
  const auto limited = frontOf({.nodes = 1024, .degree = 4, .maxSteps = 5});
  QCOMPARE(limited.size(), std::size_t{1});
  const auto optimal = frontOf({.nodes = 1024, .degree = 4, .onlyOptimal = true});
  QCOMPARE(optimal.size(), std::size_t{1});
  QVERIFY(optimal.front().isBandwidthOptimal());
  for (const Entry& entry : frontOf({.nodes = 1024, .degree = 4, .isDuplex = true})) {
    QVERIFY(topology::isDuplex(built(entry)));
  }
}

void TestFinder::distancesAsThirdGoal_data() {
  QTest::addColumn<int>("nodes");
  QTest::addColumn<int>("degree");
  QTest::addColumn<bool>("isDuplex");
  QTest::addColumn<bool>("hasMore");
  QTest::newRow("16 of 4") << 16 << 4 << false << false;
  QTest::newRow("48 of 6, duplex") << 48 << 6 << true << true;
  QTest::newRow("30 of 3") << 30 << 3 << false << false;
  QTest::newRow("128 of 4") << 128 << 4 << false << true;
  QTest::newRow("29 of 4, prime") << 29 << 4 << false << false;
}

/// Mean distances by code that the finder does not use; no entry is as good as another one for all three goals; and no
/// front of two goals has an entry that is not reached here.
void TestFinder::distancesAsThirdGoal() {
  QFETCH(int, nodes);
  QFETCH(int, degree);
  QFETCH(bool, isDuplex);
  QFETCH(bool, hasMore);
  const Query query{.nodes = nodes, .degree = degree, .isDuplex = isDuplex};
  Query ofThree = query;
  ofThree.hasAlltoall = true;
  const auto front = frontOf(ofThree);
  for (const Entry& entry : front) {
    QCOMPARE(faultOf(entry), QString());
    const bfb::Loads loads = loadsOf(built(entry));
    Rational sum;
    for (std::size_t step = 0; step < loads.pairs.size(); ++step) {
      sum += Rational(static_cast<std::int64_t>(step + 1) * loads.pairs[step]);
    }
    QVERIFY(entry.meanDistance);
    QCOMPARE(*entry.meanDistance, sum / Rational(std::int64_t{nodes} * nodes));
    QVERIFY(*entry.meanDistance >= leastMeanDistance(nodes, degree));
    for (const Entry& other : front) {
      QVERIFY(&other == &entry || other.steps > entry.steps || other.bandwidthTime > entry.bandwidthTime ||
              *other.meanDistance > *entry.meanDistance);
    }
  }
  const auto ofTwo = frontOf(query);
  for (const Entry& entry : ofTwo) {
    QVERIFY(std::any_of(front.begin(), front.end(), [&](const Entry& other) {
      return other.steps <= entry.steps && other.bandwidthTime <= entry.bandwidthTime;
    }));
  }
  QCOMPARE(front.size() > ofTwo.size(), hasMore);
}

/// Bounds of Tables 3.4 and A.1: f = d / (N times the mean distance), and 382.3 us for 1 MiB over 100 Gb/s.
void TestFinder::leastDistances() {
  QCOMPARE(leastMeanDistance(1024, 4), Rational(4667, 1024));
  const auto rate = [](int nodes) {
    return QString::number(4 / (nodes * leastMeanDistance(nodes, 4).toDouble()), 'e', 2);
  };
  QCOMPARE(rate(32), QString("5.80e-02"));
  QCOMPARE(rate(64), QString("2.42e-02"));
  QCOMPARE(rate(512), QString("1.90e-03"));
  QCOMPARE(rate(1024), QString("8.57e-04"));
  const TimeModel model{ExactMicroseconds(0), Bandwidth(25, 2)};
  const Cost cost{5, leastMeanDistance(1024, 4)};
  QCOMPARE(QString::number(timeOf(cost, model, Rational(1 << 20)).count().toDouble(), 'f', 1), QString("382.3"));
  QCOMPARE(leastMeanDistance(5, 1), Rational(2));
  QCOMPARE(leastMeanDistance(6, 5), Rational(5, 6));
}

/// Table 3.4: N = 1024, 10 us, 1 MiB, 100 Gb/s.
void TestFinder::timesOfTheDissertation() {
  const TimeModel model{ExactMicroseconds(10), Bandwidth(25, 2)};
  const Rational bytes(1 << 20);
  const auto twice = [&](int steps, const Rational& time) {
    const Cost half{steps, time};
    return QString::number(timeOf(half + half, model, bytes).count().toDouble(), 'f', 1);
  };
  QCOMPARE(twice(5, Rational(341, 256)), QString("323.5"));
  QCOMPARE(twice(6, Rational(261, 256)), QString("291.0"));
  QCOMPARE(twice(8, Rational(257, 256)), QString("328.4"));
  QCOMPARE(twice(11, Rational(1)), QString("387.8"));
  QCOMPARE(twice(20, Rational(1023, 1024)), QString("567.6"));
  QCOMPARE(twice(5, Rational(1023, 1024)), QString("267.6"));
  QCOMPARE(twice(5, Rational(277, 256)), QString("281.5"));
  QCOMPARE(twice(6, Rational(1023, 1024)), QString("287.6"));
}

void TestFinder::breakPoints() {
  const TimeModel model{ExactMicroseconds(10), Bandwidth(25, 2)};
  const std::vector<Cost> costs = {
      {5, Rational(277, 256)}, {8, Rational(5)}, {6, Rational(1023, 1024)}, {20, Rational(1023, 1024)}};
  const auto ranges = fastestBySize(costs, model);
  QCOMPARE(ranges.size(), std::size_t{2});
  QCOMPARE(ranges[0].entry, std::size_t{0});
  QCOMPARE(ranges[1].entry, std::size_t{2});
  // 10 us = (1108 - 1023)/1024 M/B
  QCOMPARE(ranges[1].fromBytes, Rational(10 * 12'500) * Rational(1024, 85));
  for (const Rational& bytes : {ranges[1].fromBytes - Rational(1), ranges[1].fromBytes + Rational(1)}) {
    const std::vector<WeightedSize> size = {{bytes, Rational(1)}};
    const std::size_t expected = bytes < ranges[1].fromBytes ? 0 : 2;
    QCOMPARE(fastestFor(costs, model, size), expected);
  }
  // Many small calls outweigh one large.
  const std::vector<WeightedSize> mixed = {{Rational(1000), Rational(100)}, {Rational(4'000'000), Rational(1)}};
  QCOMPARE(fastestFor(costs, model, mixed), std::size_t{0});
}

void TestFinder::growth() {
  const auto front = frontOf({.nodes = 16, .degree = 4});
  const auto all = growths(front.front());
  const auto has = [&](std::int64_t nodes, std::int64_t degree) {
    return std::any_of(all.begin(), all.end(),
                       [&](const Growth& growth) { return growth.nodes == nodes && growth.degree == degree; });
  };
  QVERIFY(has(64, 4) && has(256, 4) && has(1024, 4));
  QVERIFY(has(32, 8));
  QVERIFY(has(256, 8));
}

void TestFinder::refuses_data() {
  QTest::addColumn<int>("nodes");
  QTest::addColumn<int>("degree");
  QTest::addColumn<QString>("message");
  QTest::newRow("one node") << 1 << 4 << "nothing to send";
  QTest::newRow("negative") << -5 << 4 << "nothing to send";
  QTest::newRow("no ports") << 16 << 0 << "without ports";
  QTest::newRow("too many nodes") << 300'000 << 4 << "exceed the range of the search";
  QTest::newRow("too many links") << 262'144 << 64 << "exceed the range of the search";
  QTest::newRow("too many ports") << 100 << 65 << "exceed the range of the search";
}

/// Tables 3.4, A.1 and A.3: what is built in place of graphs that are only drawn reaches what is stated of them, also
/// in their expansions.
void TestFinder::drawnGraphsHaveStandIns_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<int>("nodes");
  QTest::addColumn<int>("degree");
  QTest::addColumn<int>("power");
  QTest::addColumn<int>("lines");
  QTest::addColumn<int>("steps");
  QTest::addColumn<double>("time");
  for (const Drawn& drawn : drawnGraphs()) {
    const QString name = QString::fromUtf8(drawn.name.data(), static_cast<qsizetype>(drawn.name.size()));
    QTest::newRow(qPrintable(name)) << name << drawn.nodes << drawn.degree << 1 << 0 << drawn.steps
                                    << 1 - 1.0 / drawn.nodes;
  }
  QTest::newRow("Diamond^2") << "Diamond" << 64 << 4 << 2 << 0 << 6 << 0.9844;
  QTest::newRow("L(Diamond^2)") << "Diamond" << 256 << 4 << 2 << 1 << 7 << 1.0001;
  QTest::newRow("L^2(Diamond^2)") << "Diamond" << 1024 << 4 << 2 << 2 << 8 << 1.0041;
  QTest::newRow("L(DBJMod(4,2))") << "DBJMod(4,2)" << 64 << 4 << 1 << 1 << 4 << 1.0001;
  QTest::newRow("L^2(DBJMod(4,2))") << "DBJMod(4,2)" << 256 << 4 << 1 << 2 << 5 << 1.0157;
  QTest::newRow("DBJMod(2,4)^2") << "DBJMod(2,4)" << 256 << 4 << 2 << 0 << 10 << 0.9961;
}

void TestFinder::drawnGraphsHaveStandIns() {
  QFETCH(QString, name);
  QFETCH(int, nodes);
  QFETCH(int, degree);
  QFETCH(int, power);
  QFETCH(int, lines);
  QFETCH(int, steps);
  QFETCH(double, time);
  ConstructionPtr construction = named(Operation::quoted, name.toStdString());
  if (power > 1) {
    construction = expanded(Operation::power, power, construction);
  }
  if (lines > 0) {
    construction = expanded(Operation::lineGraph, lines, construction);
  }
  const auto graph = build(*construction);
  QVERIFY2(graph, graph ? "" : describe(graph.error()).c_str());
  QCOMPARE(graph->nodes, nodes);
  QCOMPARE(graph->degree, degree);
  QVERIFY(test::isInRegular(*graph));
  const bfb::Loads loads = loadsOf(*graph);
  QVERIFY2(loads.steps() <= steps, qPrintable(QString::number(loads.steps())));
  QVERIFY2(loads.bandwidthTime().toDouble() <= time, loads.bandwidthTime().toString().c_str());
  const std::vector<std::string> notes = standInNotes(*construction);
  QCOMPARE(notes.size(), std::size_t{1});
  QVERIFY(notes.front().starts_with(name.toStdString() + " is only drawn"));
  QVERIFY(standIn("a graph of another name") == nullptr);
}

void TestFinder::refuses() {
  QFETCH(int, nodes);
  QFETCH(int, degree);
  QFETCH(QString, message);
  QVERIFY(!finderOfAll().front({.nodes = 16, .degree = 4, .isPaper = true, .hasAlltoall = true}));
  const auto front = finderOfAll().front({.nodes = nodes, .degree = degree});
  QVERIFY(!front.hasValue());
  QVERIFY2(QString::fromStdString(describe(front.error())).contains(message), describe(front.error()).c_str());
  // A front of a stopped search is not a front.
  std::stop_source stop;
  stop.request_stop();
  Progress progress;
  progress.stop = stop.get_token();
  Finder fresh;
  const auto stopped = fresh.front({.nodes = 1000, .degree = 5}, progress);
  QVERIFY(!stopped.hasValue() && stopped.error().code == ErrorCode::cancelled);
}

QTEST_APPLESS_MAIN(TestFinder)
#include "tst_finder.moc"
