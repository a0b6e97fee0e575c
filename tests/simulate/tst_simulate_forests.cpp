// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"
#include "lowering/lowering.hpp"
#include "presets/presets.hpp"
#include "schedule/expansion.hpp"
#include "simulate/sweep.hpp"
#include "support/large_fabrics.hpp"
#include "support/preset_fabrics.hpp"
#include "support/rotated_clusters.hpp"
#include "support/sample_schedules.hpp"

using namespace coppice;
using simulate::Model;
using simulate::Subject;
using test::must;
using test::presetFabric;

namespace {

/// Rounding of a run with many messages.
constexpr double kRounding = 1e-9;

schedule::Schedule generated(const fabric::Fabric& fabric, Collective collective, std::optional<int> root = {}) {
  forestcoll::Request request{.collective = collective};
  request.root = root;
  request.allreduceBudget = std::chrono::milliseconds(0);  // its linear program is useless here
  return must(forestcoll::generate(fabric, request)).schedule;
}

double algbwOf(Subject& subject, std::int64_t bytes, std::optional<std::uint32_t> pieces = {}) {
  return must(subject.simulate(bytes, {.pieces = pieces})).row.algbw.gigabytesPerSecond();
}

const Model kBandwidthOnly{.linkLatency = Microseconds(0), .messageOverhead = Microseconds(0)};

}  // namespace

class TestSimulateForests : public QObject {
  Q_OBJECT

private slots:
  void samples_data();
  void samples();
  void tendsToTheBound_data();
  void tendsToTheBound();
  void neverAboveTheBound_data();
  void neverAboveTheBound();
  void imagesAreTheirTrees();
  void choosingPieces();
  void periodsAreSkipped_data();
  void periodsAreSkipped();
  void otherFabric();
  void switchOvers();
  void sizes();
};

void TestSimulateForests::samples_data() {
  QTest::addColumn<double>("time");
  QTest::addColumn<int>("which");
  // One byte in one piece, 10 GB/s ports: 1e-4 us for a byte.
  // Two GPUs at 25 GB/s send half of it each.
  QTest::newRow("two GPUs") << 0.5 / 25'000 << 0;
  // Chains through a switch, a third each: both hops at full rate, one after the other.
  QTest::newRow("star") << 2 * (1.0 / 3) / 10'000 << 1;
  // A multicast switch: each root sends its third once, and every port into a GPU takes two of them.
  QTest::newRow("multicast") << 2 * (1.0 / 3) / 10'000 << 2;
  // The halves after each other.
  QTest::newRow("allreduce") << 4 * (1.0 / 3) / 10'000 << 3;
}

void TestSimulateForests::samples() {
  QFETCH(double, time);
  QFETCH(int, which);
  const samples::Sample sample = which == 0   ? samples::twoGpus()
                                 : which == 1 ? samples::star()
                                 : which == 2 ? samples::prunedStar()
                                              : samples::allreduced(samples::star());
  const auto subject = must(simulate::subjectOf(sample.fabric, sample.schedule, kBandwidthOnly));
  const auto details = must(subject->simulate(1'000'000'000, {.pieces = 1}));
  const double expected = time * 1e9;
  QVERIFY2(std::abs(details.row.time.count() - expected) <= kRounding * expected,
           qPrintable(QString::number(details.row.time.count())));
  QCOMPARE(details.phases.size(), std::size_t(which == 3 ? 2 : 1));
}

void TestSimulateForests::tendsToTheBound_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<int>("boxes");
  QTest::addColumn<Collective>("collective");
  for (const auto& [preset, boxes] : {std::pair("dgx-a100", 2), {"dgx-h100", 4}, {"mi250", 2}, {"azure-ndv2", 2}}) {
    for (const Collective collective : kForestCollectives) {
      QTest::addRow("%s, %s", preset, std::string(toString(collective)).c_str()) << preset << boxes << collective;
    }
  }
}

/// With latencies, a forest comes closer to its algbw with every size, from below, and ends within 15 %.
void TestSimulateForests::tendsToTheBound() {
  QFETCH(QString, preset);
  QFETCH(int, boxes);
  QFETCH(Collective, collective);
  const fabric::Fabric fabric = presetFabric(preset.toStdString(), {{"boxes", std::to_string(boxes)}});
  const schedule::Schedule schedule =
      generated(fabric, collective, isRooted(collective) ? std::optional(0) : std::nullopt);
  const double exact = toGBps(schedule.algbw);
  const auto subject = must(simulate::subjectOf(fabric, schedule, {}));
  double last = 0;
  for (const std::int64_t bytes : {1'000LL, 1'000'000LL, 10'000'000'000LL}) {
    const double algbw = algbwOf(*subject, bytes, 64);
    QVERIFY2(algbw > last, qPrintable(QString("%1 bytes: %2 after %3").arg(bytes).arg(algbw).arg(last)));
    QVERIFY2(algbw <= exact * (1 + kRounding), qPrintable(QString("%1 above %2").arg(algbw).arg(exact)));
    last = algbw;
  }
  QVERIFY2(last >= 0.85 * exact, qPrintable(QString("%1 of %2").arg(last).arg(exact)));
}

void TestSimulateForests::neverAboveTheBound_data() {
  QTest::addColumn<unsigned>("seed");
  for (unsigned seed = 1; seed <= 100; ++seed) {
    QTest::addRow("%u", seed) << seed;
  }
}

/// At no size, with any number of pieces, latencies or windows, and as a program, on fabrics without any structure.
void TestSimulateForests::neverAboveTheBound() {
  QFETCH(unsigned, seed);
  test::Dice dice(seed);
  const int gpus = dice.index(2, 7);
  const fabric::Fabric fabric =
      must(fabric::Fabric::build(test::randomEulerian(gpus, dice.index(0, 3), dice.index(2, 8), seed)));
  for (const Collective collective : kForestCollectives) {
    const int root = dice.index(0, gpus - 1);
    const schedule::Schedule schedule =
        generated(fabric, collective, isRooted(collective) ? std::optional(root) : std::nullopt);
    const double bound = toGBps(schedule.bound) * (1 + kRounding);
    for (const Model& model :
         {kBandwidthOnly, Model{},
          Model{.linkLatency = Microseconds(5), .messageOverhead = Microseconds(0.5), .window = 3}}) {
      const auto subject = must(simulate::subjectOf(fabric, schedule, model));
      for (int i = 0; i < 4; ++i) {
        const std::int64_t bytes = std::int64_t{1} << dice.pick(0, 40);
        const auto pieces = static_cast<std::uint32_t>(dice.pick(1, 40));
        const double algbw = algbwOf(*subject, bytes, pieces);
        QVERIFY2(algbw <= bound, qPrintable(QString("%1: %2 bytes in %3 pieces: %4 above %5")
                                                .arg(QString::fromStdString(std::string(toString(collective))))
                                                .arg(bytes)
                                                .arg(pieces)
                                                .arg(algbw)
                                                .arg(bound)));
      }
    }
    const auto program = lowering::lower(fabric, schedule);
    if (!program) {
      continue;  // beyond a limit of the runtime
    }
    const auto subject = simulate::subjectOf(fabric, *program, kBandwidthOnly);
    // A program may overlap the halves of an allreduce, which its bound here counts after each other.
    const double limit = collective == Collective::allreduce ? 2 * bound : bound;
    for (const std::int64_t bytes : {1LL << 10, 1LL << 20, 1LL << 26}) {
      QVERIFY(algbwOf(*subject, bytes) <= limit);
    }
  }
}

/// The tree of one GPU and its images take exactly as long as all trees written out.
void TestSimulateForests::imagesAreTheirTrees() {
  const samples::Sample sample = samples::reduceScattered(samples::RegularCluster{2, 4, 4}.sample());
  schedule::Schedule trees = sample.schedule;
  QVERIFY(!trees.reduceForest->rotations.empty());
  trees.reduceForest = must(schedule::expanded(*trees.reduceForest, sample.fabric));
  const auto one = must(simulate::subjectOf(sample.fabric, sample.schedule, {}));
  const auto two = must(simulate::subjectOf(sample.fabric, trees, {}));
  const auto first = must(one->simulate(1 << 26, {}));
  const auto second = must(two->simulate(1 << 26, {}));
  QCOMPARE(first.row.time, second.row.time);
  QCOMPARE(first.row.pieces, second.row.pieces);
}

/// On a chain the best number of pieces is known; the search finds the time of it, and the default is near.
void TestSimulateForests::choosingPieces() {
  const fabric::Fabric fabric = presetFabric("ring", {{"gpus", "9"}});
  const schedule::Schedule schedule = generated(fabric, Collective::broadcast, 0);
  const auto subject =
      must(simulate::subjectOf(fabric, schedule, {.linkLatency = Microseconds(3), .messageOverhead = Microseconds(2)}));
  constexpr std::int64_t kBytes = 50'000'000;
  double min = 1e300;
  std::uint32_t pieces = 0;
  for (std::uint32_t count = 1; count <= 200; ++count) {
    const double time = must(subject->simulate(kBytes, {.pieces = count})).row.time.count();
    if (time < min) {
      min = time;
      pieces = count;
    }
  }
  const simulate::Row best = must(simulate::bestPieces(*subject, kBytes, 1024));
  QCOMPARE(best.pieces, pieces);
  QCOMPARE(best.time.count(), min);
  const simulate::Row usual = must(subject->simulate(kBytes, {})).row;
  QVERIFY(usual.time.count() <= 1.05 * min);
  QVERIFY(must(subject->simulate(100, {})).row.pieces < usual.pieces);
}

/// A schedule on a fabric with slower links takes longer, on one without its links it cannot run.
void TestSimulateForests::periodsAreSkipped_data() {
  neverAboveTheBound_data();
}

/// A run that repeats itself is moved on by whole periods. Recorded runs are not, so they say what it should take.
void TestSimulateForests::periodsAreSkipped() {
  QFETCH(unsigned, seed);
  test::Dice dice(seed);
  const int gpus = dice.index(2, 6);
  const fabric::Fabric fabric =
      must(fabric::Fabric::build(test::randomEulerian(gpus, dice.index(0, 3), dice.index(2, 6), seed)));
  const schedule::Schedule schedule = generated(fabric, Collective::allgather);
  for (const Model& model :
       {kBandwidthOnly, Model{},
        Model{.linkLatency = Microseconds(5), .messageOverhead = Microseconds(0.5), .window = 3}}) {
    const auto subject = must(simulate::subjectOf(fabric, schedule, model));
    const auto pieces = static_cast<std::uint32_t>(dice.pick(32, 300));
    const std::int64_t bytes = std::int64_t{1} << dice.pick(16, 34);
    const auto quick = must(subject->simulate(bytes, {.pieces = pieces, .resolution = Microseconds(0)}));
    const auto whole =
        must(subject->simulate(bytes, {.pieces = pieces, .record = true, .resolution = Microseconds(0)}));
    constexpr double kClose = 1e-6;
    QVERIFY2(abs(quick.row.time - whole.row.time) <= kClose * whole.row.time,
             qPrintable(QString("%1 instead of %2 with %3 pieces")
                            .arg(quick.row.time.count())
                            .arg(whole.row.time.count())
                            .arg(pieces)));
    QVERIFY(quick.phases.front().run.fills <= whole.phases.front().run.fills);
    for (std::size_t arc = 0; arc < fabric.arcs().size(); ++arc) {
      const Microseconds busy = whole.phases.front().run.links[arc].busy;
      QVERIFY(abs(quick.phases.front().run.links[arc].busy - busy) <= kClose * whole.row.time);
    }
  }
}

void TestSimulateForests::otherFabric() {
  const samples::Sample sample = samples::star();
  fabric::Description slow = sample.description;
  slow.links.front().bandwidth = "5";
  const fabric::Fabric slower = must(fabric::Fabric::build(slow));
  const auto usual = must(simulate::subjectOf(sample.fabric, sample.schedule, kBandwidthOnly));
  const auto hurt = must(simulate::subjectOf(slower, sample.schedule, kBandwidthOnly));
  QVERIFY(algbwOf(*hurt, 1'000'000) < algbwOf(*usual, 1'000'000));
  const auto none = simulate::subjectOf(samples::ring().fabric, sample.schedule, {});
  QVERIFY(!none);
  QVERIFY(none.error().code == ErrorCode::badInput);
}

void TestSimulateForests::switchOvers() {
  const auto row = [](std::int64_t size, double time) {
    return simulate::Row{.size = size, .time = Microseconds(time)};
  };
  const std::vector<simulate::Contender> contenders{{"low latency", {row(1, 1), row(10, 5), row(100, 50)}},
                                                    {"high bandwidth", {row(1, 4), row(10, 5), row(100, 20)}}};
  const auto found = simulate::switchOvers(contenders);
  QCOMPARE(found.size(), std::size_t{2});
  QCOMPARE(found[0].from, 1);
  QCOMPARE(found[0].contender, std::size_t{0});
  QCOMPARE(found[1].from, 100);
  QCOMPARE(found[1].contender, std::size_t{1});
  QVERIFY(simulate::switchOvers({}).empty());
}

void TestSimulateForests::sizes() {
  QCOMPARE(simulate::sizesOf(1, 10, 2), (std::vector<std::int64_t>{1, 2, 4, 8}));
  QCOMPARE(simulate::sizesOf(1024, 1024, 2), (std::vector<std::int64_t>{1024}));
  QCOMPARE(simulate::sizesOf(1, 4, 1.01), (std::vector<std::int64_t>{1, 2, 3, 4}));  // at least one byte more
}

QTEST_APPLESS_MAIN(TestSimulateForests)
#include "tst_simulate_forests.moc"
