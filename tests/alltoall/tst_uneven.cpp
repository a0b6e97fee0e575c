// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <algorithm>
#include <array>
#include <limits>
#include <random>

#include "alltoall/alltoall.hpp"
#include "alltoall/demand_table.hpp"
#include "alltoall/exchange_fault.hpp"
#include "alltoall/experts.hpp"
#include "base/checked.hpp"
#include "forestcoll/random_fabrics.hpp"
#include "io/fabric_json.hpp"
#include "support/findings.hpp"
#include "support/preset_fabrics.hpp"
#include "verify/exchange_check.hpp"
#include "workflow/expert_layer.hpp"

/// All-to-all with amounts of its own for each pair of GPUs, and the traffic of expert layers.
using namespace coppice;

namespace {

using Amounts = std::vector<std::int64_t>;

alltoall::Optimum solved(const fabric::Fabric& fabric, Amounts amounts, bool relays = true) {
  alltoall::Request request;
  request.demand = {.amounts = std::move(amounts), .relays = relays};
  return test::must(alltoall::optimum(fabric, request));
}

/// By the function of sender and receiver.
template <typename Amount>
Amounts amountsOf(int gpus, const Amount& amount) {
  Amounts amounts;
  for (int from = 0; from < gpus; ++from) {
    for (int to = 0; to < gpus; ++to) {
      amounts.push_back(from == to ? 0 : amount(from, to));
    }
  }
  return amounts;
}

}  // namespace

class TestUneven : public QObject {
  Q_OBJECT
private slots:
  void evenAmounts_data();
  void evenAmounts();
  void patterns_data();
  void patterns();
  void randomDemands();
  void kindsOfGpus_data();
  void kindsOfGpus();
  void manyExperts();
  void measuredTokens_data();
  void measuredTokens();
  void withoutRelays();
  void refusedDemands_data();
  void refusedDemands();
  void plantedFaults();
  void tables();
  void faultyTables_data();
  void faultyTables();
  void expectedTokens();
  void oncePerBox();
  void placements();
  void placementsThatHelpNothing();
  void longFractions();
};

void TestUneven::evenAmounts_data() {
  QTest::addColumn<QString>("preset");
  for (const char* preset : {"dgx-a100 boxes=2", "dgx-h100 boxes=4 network=rails", "torus dims=4x3", "mi250",
                             "fat-tree-2 oversubscription=4"}) {
    QTest::newRow(preset) << QString(preset);
  }
}

void TestUneven::evenAmounts() {
  QFETCH(QString, preset);
  const fabric::Fabric fabric = test::presetFabric(preset);
  const auto even = test::must(alltoall::optimum(fabric));
  const auto sevens = solved(fabric, amountsOf(fabric.gpuCount(), [](int, int) { return 7; }));
  QVERIFY(even.isExact() && sevens.isExact());
  QCOMPARE(sevens.lower * Rational(7), even.lower);
  QCOMPARE(test::faultOf(fabric, sevens, true), QString());
}

/// On two DGX H100: 450 GB/s of NVLink and a NIC of 50 GB/s for each of 16 GPUs, which reaches the own box as well.
/// Times in units of 1 / GB/s, by hand.
void TestUneven::patterns_data() {
  QTest::addColumn<Amounts>("amounts");
  QTest::addColumn<QString>("time");
  const auto row = [](const char* name, const auto& amount, const char* time) {
    QTest::newRow(name) << amountsOf(16, amount) << QString(time);
  };
  const auto box = [](int rank) { return rank / 8; };
  row(
      "all alike", [](int, int) { return 1; }, "4/25");
  row(
      "within the boxes", [&](int a, int b) { return box(a) == box(b) ? 1 : 0; }, "7/500");
  row(
      "between the boxes", [&](int a, int b) { return box(a) == box(b) ? 0 : 1; }, "4/25");
  row(
      "one pair in a box", [](int a, int b) { return a == 0 && b == 1 ? 1 : 0; }, "1/500");
  // All 8 NICs of a box carry it, 50 GB/s by its own, and the rest over NVLink: 400 < 450 + 50.
  row(
      "one pair of two boxes", [](int a, int b) { return a == 0 && b == 8 ? 1 : 0; }, "1/400");
  row(
      "to the next GPU", [](int a, int b) { return b == (a + 1) % 16 ? 1 : 0; }, "1/400");
  row(
      "to the same GPU of the other box", [](int a, int b) { return b == (a + 8) % 16 ? 1 : 0; }, "1/50");
  // All links of the GPU together have 500 GB/s.
  row(
      "all to one", [](int, int b) { return b == 0 ? 1 : 0; }, "3/100");
  row(
      "one to all", [](int a, int) { return a == 0 ? 1 : 0; }, "3/100");
  // Into its box come 8 times 8 + 7, over 400 GB/s.
  row(
      "a hot GPU", [](int, int b) { return b == 0 ? 8 : 1; }, "3/10");
}

void TestUneven::patterns() {
  QFETCH(Amounts, amounts);
  QFETCH(QString, time);
  const fabric::Fabric fabric = test::presetFabric("dgx-h100 boxes=2");
  const auto optimum = solved(fabric, amounts);
  QVERIFY(optimum.isExact());
  QCOMPARE(QString::fromStdString((Rational(1) / optimum.lower.gigabytesPerSecond()).toString()), time);
  QCOMPARE(test::faultOf(fabric, optimum, true), QString());
}

/// Most demands are solved exactly, with and without symmetry, and always within what both certificates say.
void TestUneven::randomDemands() {
  int exact = 0;
  constexpr unsigned kSeeds = 60;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const fabric::Fabric fabric = test::built(test::randomFabric({.gpus = 2 + static_cast<int>(seed % 5),
                                                                  .switches = static_cast<int>(seed % 3),
                                                                  .largestBandwidth = 9,
                                                                  .duplex = seed % 2 == 0},
                                                                 seed));
    std::mt19937 random(seed);
    Amounts amounts = amountsOf(fabric.gpuCount(), [&](int, int) { return static_cast<std::int64_t>(random() % 9); });
    amounts[1] += 1;
    alltoall::Request request;
    request.demand.amounts = amounts;
    const auto optimum = alltoall::optimum(fabric, request);
    QVERIFY2(optimum, optimum ? "" : describe(optimum.error()).c_str());
    QCOMPARE(test::faultOf(fabric, *optimum, true), QString());
    exact += optimum->isExact() ? 1 : 0;
    request.maxSymmetries = 1;
    const auto plain = test::must(alltoall::optimum(fabric, request));
    QVERIFY(plain.lower <= optimum->upper && optimum->lower <= plain.upper);
    for (std::int64_t& amount : request.demand.amounts) {
      amount *= 1000;
    }
    const auto scaled = test::must(alltoall::optimum(fabric, request));
    QVERIFY(scaled.lower * Rational(1000) <= optimum->upper && optimum->lower <= scaled.upper * Rational(1000));
  }
  QVERIFY2(exact > static_cast<int>(kSeeds) * 9 / 10, std::to_string(exact).c_str());
}

void TestUneven::kindsOfGpus_data() {
  QTest::addColumn<QString>("preset");
  QTest::newRow("on one switch") << "dgx-b200 boxes=1";
  QTest::newRow("boxes") << "dgx-h100 boxes=3 gpus=5 network=simple";
  QTest::newRow("rails") << "dgx-h100 boxes=4 gpus=4 network=rails";
  QTest::newRow("torus") << "torus dims=4x3";
  QTest::newRow("hypercube") << "hypercube dimension=3";
}

/// GPUs of three kinds, which decide what a pair exchanges, but for some pairs: the answer with symmetries is that
/// without.
void TestUneven::kindsOfGpus() {
  QFETCH(QString, preset);
  const fabric::Fabric fabric = test::presetFabric(preset);
  for (unsigned seed = 0; seed < 12; ++seed) {
    std::mt19937 random(seed);
    std::vector<std::size_t> kindOf;
    for (int gpu = 0; gpu < fabric.gpuCount(); ++gpu) {
      kindOf.push_back(seed % 2 == 0 ? random() % 3 : gpu % 3);
    }
    std::array<std::array<std::int64_t, 3>, 3> between{};
    for (auto& row : between) {
      std::ranges::generate(row, [&] { return static_cast<std::int64_t>(random() % 5); });
    }
    between[0][1] += 1;
    const int unusual = static_cast<int>(seed % 3);
    alltoall::Request request;
    request.demand.amounts = amountsOf(fabric.gpuCount(), [&](int from, int to) {
      return between[kindOf[from]][kindOf[to]] + (from < unusual && to == from + 2 ? 7 : 0);
    });
    const auto optimum = test::must(alltoall::optimum(fabric, request));
    QCOMPARE(test::faultOf(fabric, optimum, true), QString());
    request.maxSymmetries = 1;
    const auto plain = test::must(alltoall::optimum(fabric, request));
    QVERIFY(plain.lower <= optimum.upper && optimum.lower <= plain.upper);
    QVERIFY(optimum.isExact() || !plain.isExact());
  }
}

/// Of 576 GPUs, 256 have one expert each: an exact answer, by few classes of GPUs and links.
void TestUneven::manyExperts() {
  const fabric::Fabric fabric = test::presetFabric("gb200-nvl72 racks=8");
  const auto placement = test::must(alltoall::evenPlacement(fabric, 256));
  std::vector<int> boxOf;
  for (int gpu = 0; gpu < fabric.gpuCount(); ++gpu) {
    boxOf.push_back(gpu / 72);
  }
  const auto traffic =
      test::must(alltoall::expectedTraffic(placement, boxOf, {.tokens = 4096, .topK = 8}, 7168, false));
  const auto optimum = solved(fabric, traffic.demand.amounts);
  QVERIFY(optimum.isExact());
  QVERIFY(optimum.arcOrbits < 100);
  QCOMPARE(test::faultOf(fabric, optimum, true), QString());
}

void TestUneven::measuredTokens_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<double>("close");  // part that a faster routing could save
  QTest::newRow("one network, 64 GPUs") << "dgx-h100 boxes=8 network=simple" << 1e-5;
  QTest::newRow("one network, 128 GPUs") << "dgx-h100 boxes=16 network=simple" << 1e-3;
  QTest::newRow("rails, 128 GPUs") << "dgx-a100 boxes=16 network=rails" << 1e-2;
  QTest::newRow("racks, 144 GPUs") << "gb200-nvl72 racks=2" << 1e-3;
}

/// No two GPUs send or receive the same: experts are chosen as often as chance has it.
void TestUneven::measuredTokens() {
  QFETCH(QString, preset);
  QFETCH(double, close);
  const fabric::Fabric fabric = test::presetFabric(preset);
  std::mt19937 random(7);
  std::vector<std::int64_t> chosen;
  for (int gpu = 0; gpu < fabric.gpuCount(); ++gpu) {
    chosen.push_back(20 + static_cast<std::int64_t>(random() % 60));
  }
  const Amounts amounts = amountsOf(fabric.gpuCount(), [&](int, int to) {
    return chosen[static_cast<std::size_t>(to)] * static_cast<std::int64_t>(80 + random() % 41);
  });
  for (const bool relays : {true, false}) {
    const auto optimum = solved(fabric, amounts, relays);
    QCOMPARE(test::faultOf(fabric, optimum, false), QString());
    const double lower = optimum.lower.gigabytesPerSecond().toDouble();
    const double upper = optimum.upper.gigabytesPerSecond().toDouble();
    QVERIFY2(upper <= lower * (relays ? 1 + close : 2), qPrintable(QString("%1 to %2").arg(lower).arg(upper)));
  }
}

/// Without relaying, one GPU has its own NIC alone.
void TestUneven::withoutRelays() {
  const fabric::Fabric fabric = test::presetFabric("dgx-h100 boxes=2");
  const auto toOther = amountsOf(16, [](int a, int b) { return a == 0 && b == 8 ? 1 : 0; });
  const auto direct = solved(fabric, toOther, false);
  QVERIFY(direct.isExact());
  QCOMPARE(direct.lower, Bandwidth(50));
  QCOMPARE(test::faultOf(fabric, direct, true), QString());
  // The routes that relay are refused there.
  auto relayed = solved(fabric, toOther);
  QVERIFY(relayed.lower > direct.lower);
  const auto refused = verify::provenExchangeRate(fabric, direct.demand, relayed.routing);
  QVERIFY(!refused && refused.error().message.find("do not relay") != std::string::npos);
  // In a torus, other GPUs are on the way.
  alltoall::Request request;
  request.demand.relays = false;
  const auto torus = alltoall::optimum(test::presetFabric("torus dims=4x4"), request);
  QVERIFY(!torus && torus.error().code == ErrorCode::badUsage);
}

void TestUneven::refusedDemands_data() {
  QTest::addColumn<Amounts>("amounts");
  QTest::newRow("too few") << Amounts{1, 2, 3};
  QTest::newRow("negative") << Amounts{0, 1, 1, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  QTest::newRow("nothing between GPUs") << Amounts{5, 0, 0, 0, 0, 5, 0, 0, 0, 0, 5, 0, 0, 0, 0, 5};
}

void TestUneven::refusedDemands() {
  QFETCH(Amounts, amounts);
  alltoall::Request request;
  request.demand.amounts = amounts;
  const auto optimum = alltoall::optimum(test::presetFabric("ring gpus=4"), request);
  QVERIFY(!optimum && optimum.error().code == ErrorCode::badUsage);
}

void TestUneven::plantedFaults() {
  const fabric::Fabric fabric = test::presetFabric("dgx-a100 boxes=2");
  const auto optimum = solved(fabric, amountsOf(16, [](int a, int b) { return 1 + (a + b) % 3; }));
  QVERIFY(optimum.isExact());
  // Another demand: neither certificate gives the same.
  schedule::ExchangeDemand other = optimum.demand;
  other.amounts[1] += 100;
  const auto rate = verify::provenExchangeRate(fabric, other, optimum.routing);
  QVERIFY(!rate || *rate < optimum.lower);
  const auto bound = verify::provenExchangeBound(fabric, other, optimum.lengths);
  QVERIFY(!bound || *bound <= optimum.upper);
  // A symmetry of the fabric that does not keep the amounts.
  const auto even = test::must(alltoall::optimum(fabric));
  QVERIFY(even.routing.symmetries.size() > 1);
  const auto unkept = verify::provenExchangeRate(fabric, other, even.routing);
  QVERIFY(!unkept && unkept.error().message.find("another amount") != std::string::npos);
}

void TestUneven::tables() {
  const fabric::Fabric fabric = test::presetFabric("ring gpus=3");
  const auto plain = test::must(alltoall::readDemandTable(fabric, "0,1.5e3,300\n600 , 0,0\n# idle\n0;0;0\n", "t"));
  QCOMPARE(plain.unit, Rational(300));
  QCOMPARE(plain.demand.amounts, (Amounts{0, 5, 1, 2, 0, 0, 0, 0, 0}));
  // Names give the order.
  const auto named =
      test::must(alltoall::readDemandTable(fabric, "x\tg2\tg0\tg1\ng1\t1\t2\t0\ng0\t4\t0\t3\ng2\t0\t6\t5\n", "t"));
  QCOMPARE(named.unit, Rational(1));
  QCOMPARE(named.demand.amounts, (Amounts{0, 3, 4, 2, 0, 1, 6, 5, 0}));
  const auto again = test::must(alltoall::readDemandTable(fabric, alltoall::writeDemandTable(fabric, plain), "t"));
  QCOMPARE(again.demand.amounts, plain.demand.amounts);
  QCOMPARE(again.unit, plain.unit);
  const auto thirds = test::must(alltoall::readDemandTable(fabric, "0 1/3 0\n0.5 0 0\n0 0 0", "t"));
  QCOMPARE(thirds.unit, Rational(1, 6));
  const auto counts = test::must(alltoall::readCountTable(fabric, "1 2\n3 4\n5 6", "t"));
  QCOMPARE(counts.columns, 2);
  QCOMPARE(counts.counts, (Amounts{1, 2, 3, 4, 5, 6}));
}

void TestUneven::faultyTables_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("message");
  const auto row = [](const char* name, const char* text, const char* message) {
    QTest::newRow(name) << QString(text) << QString(message);
  };
  row("empty", "# nothing\n", "empty");
  row("a word", "0,1,2\n1,x,2\n1,2,0", "line 2, column 2");
  row("negative", "0,1,2\n1,0,2\n1,-2,0", "line 3, column 2");
  row("too few rows", "0,1,2\n1,0,2", "2 rows for 3 GPUs");
  row("ragged", "0,1,2\n1,0\n1,2,0", "line 2");
  row("too many columns", "0,1,2,3\n1,0,2,3\n1,2,0,3", "4 numbers for 3 GPUs");
  row("all zero", "0,0,0\n0,0,0\n0,0,0", "all numbers are 0");
  row("unknown row", "g0,0,1,2\ng9,1,0,2\ng2,1,2,0", "line 2, column 1");
  row("a row twice", "g0,0,1,2\ng0,1,0,2\ng2,1,2,0", "a row already");
  row("an unknown column", "# of a run\ng0,g1,h\n0,1,2\n1,0,2\n1,2,0",
      "line 2, column 3: \"h\" is not a GPU of the fabric");
  row("an unknown column above names", "x,g0,h,g2\ng0,0,1,2\ng1,1,0,2\ng2,1,2,0",
      "line 1, column 3: \"h\" is not a GPU");
  row("a column twice", "g0,g1,g1\n0,1,2\n1,0,2\n1,2,0", "line 1, column 3: \"g1\" has a column already");
  row("rows without the names of the first row", "x,g0,g1,g2\n0,1,2\n1,0,2\n1,2,0",
      "line 1: the first row names 4 columns of 3");
  row("large", "0,1e18,1e18\n1e18,0,0.3\n0,0,0", "64-bit");
}

void TestUneven::faultyTables() {
  QFETCH(QString, text);
  QFETCH(QString, message);
  const auto table = alltoall::readDemandTable(test::presetFabric("ring gpus=3"), text.toStdString(), "bytes.csv");
  QVERIFY(!table);
  QVERIFY2(describe(table.error()).find(message.toStdString()) != std::string::npos, describe(table.error()).c_str());
  QVERIFY2(describe(table.error()).find("bytes.csv") != std::string::npos, describe(table.error()).c_str());
}

/// Two boxes of two GPUs, two experts on each, of which a token chooses two.
void TestUneven::expectedTokens() {
  const fabric::Fabric fabric = test::presetFabric("dgx-h100 boxes=2 gpus=2");
  const auto placement = test::must(alltoall::evenPlacement(fabric, 8));
  QCOMPARE(placement, (alltoall::ExpertPlacement{0, 0, 1, 1, 2, 2, 3, 3}));
  const std::vector<int> boxOf{0, 0, 1, 1};
  // None of a GPU's two experts: 6/8 * 5/7 = 15/28. 28 tokens go to each GPU 13 times.
  const auto all = test::must(alltoall::expectedTraffic(placement, boxOf, {.tokens = 28, .topK = 2}, 10, false));
  QCOMPARE(all.unit, Rational(130));
  QCOMPARE(all.demand.amounts, Amounts(16, 1));
  // One box of two, and there 2/4 * 1/3 = 1/6 for none: 28 * 1/2 * 5/6.
  const auto limited =
      test::must(alltoall::expectedTraffic(placement, boxOf, {.tokens = 12, .topK = 2, .maxBoxes = 1}, 10, false));
  QCOMPARE(limited.unit, Rational(50));
  for (const auto& routing : {alltoall::UniformRouting{1, 9, {}}, alltoall::UniformRouting{1, 5, 1},
                              alltoall::UniformRouting{1, 2, 3}, alltoall::UniformRouting{1, 0, {}}}) {
    QVERIFY(!alltoall::expectedTraffic(placement, boxOf, routing, 10, false));
  }
}

/// A token enters the other box once: with all experts chosen, 1 instead of 2 copies cross.
void TestUneven::oncePerBox() {
  const fabric::Fabric fabric = test::presetFabric("dgx-h100 boxes=2 gpus=2");
  const auto placement = test::must(alltoall::evenPlacement(fabric, 4));
  const auto table =
      test::must(alltoall::expectedTraffic(placement, {0, 0, 1, 1}, {.tokens = 100, .topK = 4}, 1, true));
  QCOMPARE(table.unit, Rational(100));
  // To the other GPU of the box its own tokens, and those that it relays for the same place of the other box.
  QCOMPARE(table.demand.amounts, (Amounts{1, 2, 1, 0, 2, 1, 0, 1, 1, 0, 1, 2, 0, 1, 2, 1}));

  workflow::ExpertQuestion question{.experts = 4, .tokens = 100, .topK = 4, .dispatchBytes = 1, .combineBytes = 2};
  question.placement = placement;
  const auto plain = test::must(workflow::expertLayer(fabric, question, {}, {}));
  question.oncePerBox = true;
  const auto once = test::must(workflow::expertLayer(fabric, question, {}, {}));
  QVERIFY(plain.dispatch.isExact() && once.dispatch.isExact());
  QCOMPARE(plain.dispatch.nanoseconds, once.dispatch.nanoseconds * Rational(2));
  QCOMPARE(once.combine.nanoseconds, once.dispatch.nanoseconds * Rational(2));
  question.counts = Amounts(16, 1);
  QVERIFY(!workflow::expertLayer(fabric, question, {}, {}));
}

/// Hot experts on one GPU are spread; the exact time falls, and the experts stay.
void TestUneven::placements() {
  const fabric::Fabric fabric = test::presetFabric("dgx-h100 boxes=2");
  workflow::ExpertQuestion question{.experts = 32, .improves = true};
  question.placement = test::must(alltoall::evenPlacement(fabric, 32));
  for (int rank = 0; rank < 16; ++rank) {
    for (int expert = 0; expert < 32; ++expert) {
      question.counts.push_back(expert < 8 ? 1000 : 10);
    }
  }
  const auto answer = test::must(workflow::expertLayer(fabric, question, {}, {}));
  QVERIFY(answer.before);
  QVERIFY(answer.dispatch.nanoseconds * Rational(3, 2) < answer.before->nanoseconds);
  alltoall::ExpertPlacement sorted = answer.placement;
  std::sort(sorted.begin(), sorted.end());
  QCOMPARE(sorted, question.placement);
  const auto read = test::must(alltoall::readPlacement(fabric, "b0g1, 0\nb1g7 3", "p", 4));
  QCOMPARE(read, (alltoall::ExpertPlacement{1, 0, 15, 3}));
  QVERIFY(!alltoall::readPlacement(fabric, "0 1 16", "p", 3));
  QVERIFY(!alltoall::readPlacement(fabric, "0 1", "p", 3));
}

/// Where what GPUs send and receive is no measure, a swap may make the routes longer: then the experts stay.
void TestUneven::placementsThatHelpNothing() {
  const auto description = test::must(io::readFabricJson(
      R"({"format": "coppice-fabric", "version": 1, "name": "r", "nodes": [{"id": "g0", "kind": "gpu", "rank": 1},
          {"id": "g1", "kind": "gpu", "rank": 2}, {"id": "g2", "kind": "gpu", "rank": 3},
          {"id": "g3", "kind": "gpu", "rank": 0}],
          "links": [{"src": "g0", "dst": "g3", "bandwidth": "38"}, {"src": "g2", "dst": "g3", "bandwidth": "59/3"},
          {"src": "g1", "dst": "g3", "bandwidth": "8/5"}, {"src": "g0", "dst": "g1", "bandwidth": "30"},
          {"src": "g1", "dst": "g0", "bandwidth": "5/3"}, {"src": "g3", "dst": "g1", "bandwidth": "17"}]})",
      "r.fabric.json"));
  const fabric::Fabric fabric = test::must(fabric::Fabric::build(description));
  workflow::ExpertQuestion question{.experts = 8};
  question.counts = {301, 192, 2315, 0,   0,    266, 570, 110, 259, 1115, 0,   1945, 460, 35,  405, 0,
                     0,   31,  0,    449, 1285, 0,   0,   128, 0,   320,  138, 396,  268, 165, 113, 149};
  question.placement = test::must(alltoall::evenPlacement(fabric, 8));
  const auto given = test::must(workflow::expertLayer(fabric, question, {}, {}));
  QVERIFY(given.dispatch.isExact() && given.combine.isExact());
  question.improves = true;
  const auto improved = test::must(workflow::expertLayer(fabric, question, {}, {}));
  QVERIFY(improved.before && improved.before->nanoseconds == given.dispatch.nanoseconds);
  QVERIFY(improved.nanoseconds() <= given.nanoseconds());
}

/// Exact where that fits into 64 bits, otherwise down to the next kB/s.
void TestUneven::longFractions() {
  schedule::ExchangeDemand demand;
  demand.amounts = {0, 1, 2, 0};
  QCOMPARE(alltoall::algbwOf(demand, Bandwidth(Rational(1, 3)), 2).gigabytesPerSecond(), Rational(1, 2));
  constexpr std::int64_t kPrime = 999'999'999'989;
  demand.amounts = {0, kPrime, 1, 0};
  const Bandwidth rate(Rational(1'000'003, 999'983));
  const Rational rounded = alltoall::algbwOf(demand, rate, 2).gigabytesPerSecond();
  QVERIFY(std::abs(rounded.toDouble() / (static_cast<double>(kPrime) / 2 * 1'000'003 / 999'983) - 1) < 1e-9);
  demand.amounts = {0, std::numeric_limits<std::int64_t>::max() / 2, 1, 0};
  QVERIFY_THROWS_EXCEPTION(OverflowError,
                           static_cast<void>(alltoall::algbwOf(demand, Bandwidth(Rational(1'000'003, 7)), 2)));
}

QTEST_APPLESS_MAIN(TestUneven)
#include "tst_uneven.moc"
