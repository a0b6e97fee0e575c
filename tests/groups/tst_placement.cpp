// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <random>

#include "groups/placement.hpp"
#include "groups/regions.hpp"
#include "support/preset_fabrics.hpp"
#include "verify/placement_check.hpp"
#include "workflow/placement.hpp"

using namespace coppice;
using schedule::PlacementQuestion;
using test::presetFabric;

namespace {

PlacementQuestion questionOf(const fabric::Fabric& fabric, int size, Collective collective, bool relays = false) {
  PlacementQuestion question;
  question.collective = collective;
  question.size = size;
  question.relays = relays;
  question.isFree.assign(fabric.gpus().size(), true);
  return question;
}

/// The largest rate of all choices, one by one.
Bandwidth bestOfAll(const fabric::Fabric& fabric, const PlacementQuestion& question) {
  std::vector<fabric::Rank> free;
  for (fabric::Rank rank = 0; rank < fabric.gpuCount(); ++rank) {
    if (question.isFree[rank]) {
      free.push_back(rank);
    }
  }
  Bandwidth best;
  std::vector<bool> chosen(free.size(), false);
  std::fill(chosen.begin(), chosen.begin() + question.size, true);
  do {
    std::vector<fabric::Rank> ranks;
    for (std::size_t i = 0; i < free.size(); ++i) {
      if (chosen[i]) {
        ranks.push_back(free[i]);
      }
    }
    if (const auto optimum = groups::optimum(fabric, groups::demandOf(question, ranks))) {
      best = std::max(best, optimum->upper);
    }
  } while (std::prev_permutation(chosen.begin(), chosen.end()));
  return best;
}

/// GPUs and switches joined by random links, as fast one way as the other where `isEven`.
fabric::Fabric randomFabric(unsigned seed, bool isEven) {
  std::mt19937 random(seed);
  const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
  fabric::Description description;
  const int gpus = 6 + below(3);
  const int nodes = gpus + below(4);
  for (int i = 0; i < nodes; ++i) {
    description.nodes.push_back({.id = "n" + std::to_string(i), .kind = i < gpus ? "gpu" : "switch"});
  }
  const auto join = [&](int a, int b) {
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
      if (isEven && from == b) {
        continue;
      }
      description.links.push_back({.src = "n" + std::to_string(from),
                                   .dst = "n" + std::to_string(to),
                                   .bandwidth = std::to_string(5 * (1 + below(6))),
                                   .duplex = isEven});
    }
  };
  std::set<std::pair<int, int>> joined;
  for (int i = 1; i < nodes; ++i) {
    joined.insert({below(i), i});
  }
  for (int i = 0; i < nodes; ++i) {
    const int a = below(nodes);
    const int b = below(nodes);
    if (a != b) {
      joined.insert(std::minmax(a, b));
    }
  }
  for (const auto& [a, b] : joined) {
    join(a, b);
  }
  return test::built(description);
}

}  // namespace

class TestPlacement : public QObject {
  Q_OBJECT

private slots:
  void known_data();
  void known();
  void againstAllChoices_data();
  void againstAllChoices();
  void bigFabrics_data();
  void bigFabrics();
  void spoiledBoundsAreRefused();
  void badQuestions();
  void shiftedSums();
};

void TestPlacement::known_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<int>("size");
  QTest::addColumn<Collective>("collective");
  QTest::addColumn<std::vector<int>>("busy");
  QTest::addColumn<std::string>("gbps");
  const std::vector<int> none;
  // 8 GPUs of one box: 7/8 of the data come into each one over 300 GB/s of NVLink and 25 GB/s of its NIC.
  QTest::newRow("a whole box") << QString("dgx-a100 boxes=3") << 8 << Collective::allgather << none
                               << std::string("2600/7");
  QTest::newRow("another whole box") << QString("dgx-a100 boxes=3") << 8 << Collective::allgather
                                     << std::vector<int>{0, 9} << std::string("2600/7");
  // A square or a ring of four: each GPU has two neighbours at 25 GB/s.
  QTest::newRow("four of a torus") << QString("torus dims=4x4") << 4 << Collective::allgather << none
                                   << std::string("200/3");
}

void TestPlacement::known() {
  QFETCH(QString, preset);
  QFETCH(int, size);
  QFETCH(Collective, collective);
  QFETCH(std::vector<int>, busy);
  QFETCH(std::string, gbps);
  const fabric::Fabric fabric = presetFabric(preset);
  PlacementQuestion question = questionOf(fabric, size, collective);
  for (const int rank : busy) {
    question.isFree[static_cast<std::size_t>(rank)] = false;
  }
  const auto placement = workflow::provedPlacement(fabric, question, {});
  QVERIFY2(placement, placement ? "" : describe(placement.error()).c_str());
  QCOMPARE(placement->optimum.lower.gigabytesPerSecond().toString(), gbps);
  QVERIFY(placement->isExact());
  QCOMPARE(placement->ranks.size(), static_cast<std::size_t>(size));
  for (const int rank : busy) {
    QVERIFY(!std::binary_search(placement->ranks.begin(), placement->ranks.end(), rank));
  }
}

void TestPlacement::againstAllChoices_data() {
  QTest::addColumn<Collective>("collective");
  QTest::addColumn<bool>("relays");
  for (const Collective collective :
       {Collective::allgather, Collective::reduceScatter, Collective::allreduce, Collective::alltoall}) {
    for (const bool relays : {false, true}) {
      QTest::addRow("%s%s", toString(collective).data(), relays ? ", others relay" : "") << collective << relays;
    }
  }
}

/// The bound holds for every choice; where the search ends, the choice is the best one.
void TestPlacement::againstAllChoices() {
  QFETCH(Collective, collective);
  QFETCH(bool, relays);
  int exact = 0;
  int made = 0;
  for (unsigned seed = 0; seed < 16; ++seed) {
    const bool isEven = seed % 4 != 3;
    const fabric::Fabric fabric = randomFabric(seed, isEven);
    PlacementQuestion question = questionOf(fabric, 2 + static_cast<int>(seed % 3), collective, relays);
    question.isFree[seed % 5] = seed % 2 != 0;
    const Bandwidth best = bestOfAll(fabric, question);
    const auto placement = workflow::provedPlacement(fabric, question, {});
    if (!placement) {
      QCOMPARE(placement.error().code, ErrorCode::infeasible);
      continue;
    }
    ++made;
    exact += placement->isExact() ? 1 : 0;
    QVERIFY2(placement->optimum.lower <= best, qPrintable(QString::number(seed)));
    QVERIFY2(placement->upper >= best, qPrintable(QString::number(seed)));
    QVERIFY2(placement->cutBound >= best, qPrintable(QString::number(seed)));
    QVERIFY2(!isEven || placement->isExact(), qPrintable(QString::number(seed)));
  }
  QVERIFY(made >= 14);
  QVERIFY(exact >= made * 3 / 4);
}

void TestPlacement::bigFabrics_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<int>("size");
  QTest::addColumn<Collective>("collective");
  QTest::newRow("64 of 256") << QString("dgx-h100 boxes=32") << 64 << Collective::allgather;
  QTest::newRow("12 of 256, alltoall") << QString("dgx-h100 boxes=32") << 12 << Collective::alltoall;
  QTest::newRow("allreduce") << QString("dgx-h100 boxes=32") << 16 << Collective::allreduce;
}

/// Boxes are equal, and some of their GPUs are busy.
void TestPlacement::bigFabrics() {
  QFETCH(QString, preset);
  QFETCH(int, size);
  QFETCH(Collective, collective);
  const fabric::Fabric fabric = presetFabric(preset);
  PlacementQuestion question = questionOf(fabric, size, collective);
  for (int rank = 0; rank < fabric.gpuCount(); rank += 11) {
    question.isFree[static_cast<std::size_t>(rank)] = false;
  }
  const auto placement = workflow::provedPlacement(fabric, question, {});
  QVERIFY2(placement, placement ? "" : describe(placement.error()).c_str());
  QVERIFY(placement->optimum.lower <= placement->upper);
  QVERIFY(placement->isExact());
}

void TestPlacement::spoiledBoundsAreRefused() {
  const fabric::Fabric fabric = presetFabric("dgx-a100 boxes=2");
  const PlacementQuestion question = questionOf(fabric, 12, Collective::allgather);
  const groups::Regions regions(fabric, question);
  const Bandwidth bound = regions.bound({});
  QVERIFY(verify::checkPlacementBound(fabric, question, regions.list(), bound));
  const auto refused = [&](const std::vector<schedule::PlacementRegion>& list, const Bandwidth& upper) {
    const Outcome checked = verify::checkPlacementBound(fabric, question, list, upper);
    return !checked && checked.error().code == ErrorCode::verification;
  };
  QVERIFY(refused(regions.list(), bound * Rational(999, 1000)));
  auto list = regions.list();
  list.pop_back();
  QVERIFY(refused(list, bound));
  list = regions.list();
  list[0].parent = 0;
  QVERIFY(refused(list, bound));
  list = regions.list();
  list[1].nodes = list[0].nodes;
  QVERIFY(refused(list, bound));
  QVERIFY(refused({list.back()}, bound));
}

void TestPlacement::badQuestions() {
  const fabric::Fabric fabric = presetFabric("dgx-a100 boxes=2");
  QCOMPARE(groups::place(fabric, questionOf(fabric, 1, Collective::allgather)).error().code, ErrorCode::badUsage);
  QCOMPARE(groups::place(fabric, questionOf(fabric, 17, Collective::allgather)).error().code, ErrorCode::badUsage);
  QCOMPARE(groups::place(fabric, questionOf(fabric, 4, Collective::broadcast)).error().code, ErrorCode::badUsage);
  QCOMPARE(QString::fromStdString(workflow::rankList({0, 1, 2, 5, 7, 8})), QString("0-2,5,7-8"));
}

void TestPlacement::shiftedSums() {
  groups::NumberSet numbers(130);
  for (const int number : {0, 3, 64, 127}) {
    numbers.add(number);
  }
  groups::NumberSet sums(130);
  sums.addShifted(numbers, 2);
  sums.addShifted(numbers, 65);
  for (int number = -1; number <= 140; ++number) {
    const bool isWanted = number == 2 || number == 5 || number == 66 || number == 129 || number == 65 || number == 68;
    QCOMPARE(sums.has(number), isWanted);
  }
}

QTEST_APPLESS_MAIN(TestPlacement)
#include "tst_placement.moc"
