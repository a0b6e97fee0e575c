// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <algorithm>
#include <array>
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
#include "simulate/report.hpp"
#include "simulate/sweep.hpp"
#include "support/large_fabrics.hpp"
#include "support/overlapped_star.hpp"
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

using samples::Cuts;
using samples::kOneEach;
using samples::overlappedStar;

const Model kBandwidthOnly{.linkLatency = Microseconds(0), .messageOverhead = Microseconds(0)};

}  // namespace

class TestSimulateForests : public QObject {
  Q_OBJECT

private slots:
  void samples_data();
  void samples();
  void partOfTheRoots_data();
  void partOfTheRoots();
  void tendsToTheBound_data();
  void tendsToTheBound();
  void neverAboveTheBound_data();
  void neverAboveTheBound();
  void overlappedHalves_data();
  void overlappedHalves();
  void overlappedPieces();
  void overlapOfUnequalShares();
  void overlappedPrograms();
  void additions_data();
  void additions();
  void additionsKeepPeriods();
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

void TestSimulateForests::partOfTheRoots_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QString>("boxes");
  QTest::addColumn<Collective>("collective");
  for (const auto& [preset, boxes] : {std::pair("dgx-a100", "16"), {"dgx-h100", "16"}, {"torus", ""}}) {
    for (const Collective collective : {Collective::allgather, Collective::allreduce}) {
      QTest::addRow("%s, %s", preset, std::string(toString(collective)).c_str()) << preset << boxes << collective;
    }
  }
}

/// Some roots stand for all: whole boxes of them where there are boxes, with a time near that of all.
void TestSimulateForests::partOfTheRoots() {
  QFETCH(QString, preset);
  QFETCH(QString, boxes);
  QFETCH(Collective, collective);
  const fabric::Fabric fabric = preset == QLatin1String("torus")
                                    ? presetFabric("torus", {{"dims", "8x8"}})
                                    : presetFabric(preset.toStdString(), {{"boxes", boxes.toStdString()}});
  const schedule::Schedule schedule = generated(fabric, collective, std::nullopt);
  const auto whole = must(simulate::subjectOf(fabric, schedule, {}));
  const auto all = must(simulate::forestJobs(fabric, schedule, {}));
  const auto messages = static_cast<std::int64_t>(all.front().messages().size());
  QVERIFY(!simulate::sampleOf(fabric, schedule, messages).isPart());
  const simulate::Sample sample = simulate::sampleOf(fabric, schedule, messages / 4);
  QVERIFY(sample.isPart());
  QCOMPARE(sample.of, std::int64_t{fabric.gpuCount()});
  QVERIFY(sample.roots <= sample.of / 4 && sample.roots >= sample.of / 8);
  const auto part = must(simulate::forestJobs(fabric, schedule, {}, {}, messages / 4));
  QVERIFY(static_cast<std::int64_t>(part.front().messages().size()) <= messages / 3);
  const auto subject = must(simulate::subjectOf(fabric, schedule, {}, {}, messages / 4));
  for (const std::int64_t bytes : {std::int64_t{1} << 16, std::int64_t{1} << 30}) {
    const double exact = must(whole->simulate(bytes, {})).row.time.count();
    const double about = must(subject->simulate(bytes, {})).row.time.count();
    QVERIFY2(std::abs(about - exact) < 0.3 * exact, qPrintable(QString::number(about / exact)));
  }
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

void TestSimulateForests::overlappedHalves_data() {
  QTest::addColumn<Cuts>("in");
  QTest::addColumn<Cuts>("out");
  QTest::addColumn<bool>("ownCopies");
  QTest::addColumn<bool>("isCapable");
  QTest::addColumn<Bandwidth>("algbw");
  const Cuts uneven{{2, 1}, {}, {1}, {1, 1}};
  const Cuts otherCut{{1, 1, 1}, {}, {1}, {2}};
  QTest::newRow("sums and copies in the switch") << kOneEach << kOneEach << false << true << Bandwidth(100);
  // Each link carries all data, and once more what its GPU is the root of.
  QTest::newRow("own copies") << kOneEach << kOneEach << true << true << Bandwidth(80);
  QTest::newRow("unequal roots, cut in different places") << uneven << otherCut << false << true << Bandwidth(100);
  // Root 0 has half of the data.
  QTest::newRow("unequal roots, own copies") << uneven << otherCut << true << true << Bandwidth(200, 3);
  // 2 * 3/4 of the data.
  QTest::newRow("plain switch") << kOneEach << kOneEach << false << false << Bandwidth(200, 3);
}

/// One run has both halves, comes closer to its algbw with every size and number of pieces, and never above.
void TestSimulateForests::overlappedHalves() {
  QFETCH(Cuts, in);
  QFETCH(Cuts, out);
  QFETCH(bool, ownCopies);
  QFETCH(bool, isCapable);
  QFETCH(Bandwidth, algbw);
  const samples::Sample sample = overlappedStar(in, out, algbw, ownCopies, isCapable);
  const double exact = toGBps(algbw);
  for (const Model& model : {kBandwidthOnly, Model{}, Model{.window = 4}}) {
    const auto subject = must(simulate::subjectOf(sample.fabric, sample.schedule, model));
    double last = 0;
    for (const auto& [bytes, pieces] :
         {std::pair{1'000LL, 1U}, {1'000'000LL, 8U}, {1'000'000'000LL, 64U}, {100'000'000'000LL, 4096U}}) {
      const auto details = must(subject->simulate(bytes, {.pieces = pieces}));
      QCOMPARE(details.phases.size(), std::size_t{1});
      const double reached = details.row.algbw.gigabytesPerSecond();
      // Where nothing costs time but bytes, few pieces may reach it already.
      QVERIFY2(reached >= last * (1 - kRounding),
               qPrintable(QString("%1 bytes: %2 after %3").arg(bytes).arg(reached).arg(last)));
      QVERIFY2(reached <= exact * (1 + kRounding), qPrintable(QString("%1 above %2").arg(reached).arg(exact)));
      // The busiest link carries what the schedule says.
      const auto shares = details.phases.front().job->linkShares();
      QVERIFY(std::abs(*std::max_element(shares.begin(), shares.end()) - 100 / exact) <= kRounding);
      last = reached;
    }
    QVERIFY2(last >= 0.99 * exact, qPrintable(QString("%1 of %2").arg(last).arg(exact)));
  }
}

/// No piece leaves its root before that piece has been summed there, and each leaves before the last one has.
void TestSimulateForests::overlappedPieces() {
  const Cuts in{{2, 1}, {}, {}, {}};
  const Cuts out{{1, 2}, {}, {}, {}};
  const samples::Sample sample = overlappedStar(in, out, Bandwidth(100));
  const auto subject = must(simulate::subjectOf(sample.fabric, sample.schedule, kBandwidthOnly));
  constexpr std::uint32_t kPieces = 8;
  const auto details = must(subject->simulate(1'000'000'000, {.pieces = kPieces, .record = true}));
  const simulate::Job& job = *details.phases.front().job;
  // By tree (in: 0 and 1, out: 2 and 3) and piece.
  std::array<std::array<double, kPieces>, 2> summed{};
  std::array<std::array<double, kPieces>, 2> sent{};
  sent[0].fill(1e300);
  sent[1].fill(1e300);
  for (const simulate::Interval& interval : details.phases.front().run.intervals) {
    const simulate::Message& message = job.messages()[interval.message];
    if (message.label < 2) {
      double& at = summed[message.label][interval.repeat];
      at = std::max(at, interval.arrived.count());
    } else {
      double& at = sent[message.label - 2][interval.repeat];
      at = std::min(at, interval.ready.count());
    }
  }
  for (std::uint32_t piece = 0; piece < kPieces; ++piece) {
    // The first out-tree has the first of the two trees that the first in-tree stands for, the second one the rest.
    QVERIFY(sent[0][piece] >= summed[0][piece]);
    QVERIFY(sent[1][piece] >= std::max(summed[0][piece], summed[1][piece]));
  }
  QVERIFY(sent[0].front() < summed[0].back());
  QVERIFY(sent[1].front() < std::min(summed[0].back(), summed[1].back()));
}

void TestSimulateForests::overlapOfUnequalShares() {
  samples::Sample sample = overlappedStar(kOneEach, kOneEach, Bandwidth(100));
  sample.schedule.reduceForest->treesOfRoot = {2, 1, 1, 0};
  const auto refused = simulate::subjectOf(sample.fabric, sample.schedule, {});
  QVERIFY(!refused);
  QVERIFY(refused.error().code == ErrorCode::badInput);
  QVERIFY(refused.error().message.find("different shares") != std::string::npos);
}

/// A program of halves that overlap, between GPUs alone, comes near the rate of the trees.
void TestSimulateForests::overlappedPrograms() {
  const samples::Sample sample = overlappedStar(kOneEach, kOneEach, Bandwidth(200, 3), false, false);
  for (const program::Runtime runtime : {program::Runtime::msccl, program::Runtime::rccl}) {
    const auto program = must(lowering::lower(sample.fabric, sample.schedule, {.runtime = runtime}));
    const auto subject = simulate::subjectOf(sample.fabric, program, kBandwidthOnly);
    const double algbw = algbwOf(*subject, 1LL << 30);
    QVERIFY2(algbw <= 200.0 / 3 * (1 + kRounding) && algbw >= 0.9 * 200 / 3, qPrintable(QString::number(algbw)));
  }
}

void TestSimulateForests::additions_data() {
  QTest::addColumn<int>("which");
  QTest::addColumn<double>("added");
  // 10 GB/s ports and 1e-4 us for a byte; a third of it in each tree. Of a chain each hop is added, and the three GPUs
  // add at the same time. In the middle of a chain one GPU adds for one root while another one does for another.
  QTest::newRow("allgather adds nothing") << 0 << 0.0;
  QTest::newRow("each hop of reduce_scatter") << 1 << 2.0 / 3;
  // The switch sums: one addition at the root.
  QTest::newRow("a switch adds for nothing") << 2 << 1.0 / 3;
  // With own contributions nothing is left to add.
  QTest::newRow("own contributions") << 3 << 0.0;
}

/// What additions take is on top where each GPU adds one message at a time.
void TestSimulateForests::additions() {
  QFETCH(int, which);
  QFETCH(double, added);
  samples::Sample sample = which == 0   ? samples::star()
                           : which == 1 ? samples::reduceScattered(samples::star())
                                        : samples::reduceScattered(samples::prunedStar());
  sample.schedule.ownCopies = which == 3;
  Model model = kBandwidthOnly;
  const auto free = must(simulate::subjectOf(sample.fabric, sample.schedule, model));
  model.additionTime = simulate::additionTime(500);
  const auto costly = must(simulate::subjectOf(sample.fabric, sample.schedule, model));
  constexpr std::int64_t kBytes = 1'000'000'000;
  const auto quick = must(free->simulate(kBytes, {.pieces = 1, .record = true}));
  const auto slow = must(costly->simulate(kBytes, {.pieces = 1, .record = true}));
  const double more = (slow.row.time - quick.row.time).count();
  const double expected = 5e-4 * kBytes * added;
  QVERIFY2(std::abs(more - expected) <= kRounding * slow.row.time.count(), qPrintable(QString::number(more)));
  Microseconds sum(0);
  Microseconds adding(0);
  for (const simulate::PathPart& part : simulate::pathParts(slow)) {
    sum += part.overhead + part.sending + part.sharing + part.latency + part.adding;
    adding += part.adding;
  }
  QVERIFY(abs(sum - slow.row.time) <= kRounding * slow.row.time);
  QVERIFY(std::abs(adding.count() - expected) <= kRounding * slow.row.time.count());
}

/// Where GPUs add more slowly than messages come in, additions give the rate; and runs that repeat themselves are
/// moved on as ever.
void TestSimulateForests::additionsKeepPeriods() {
  const samples::Sample sample = samples::reduceScattered(samples::star());
  Model model = kBandwidthOnly;
  model.additionTime = simulate::additionTime(200);  // 5 GB/s, and each GPU adds 2/3 of all bytes
  const auto subject = must(simulate::subjectOf(sample.fabric, sample.schedule, model));
  constexpr std::int64_t kBytes = 1'000'000'000;
  const auto quick = must(subject->simulate(kBytes, {.pieces = 300}));
  const auto whole = must(subject->simulate(kBytes, {.pieces = 300, .record = true}));
  QVERIFY(abs(quick.row.time - whole.row.time) <= 1e-6 * whole.row.time);
  QVERIFY(quick.phases.front().run.fills < whole.phases.front().run.fills);
  const double algbw = whole.row.algbw.gigabytesPerSecond();
  QVERIFY2(algbw <= 7.5 * (1 + kRounding) && algbw >= 0.97 * 7.5, qPrintable(QString::number(algbw)));
  // A program of the same trees adds as much; its threadblocks wait for it.
  const auto program = must(lowering::lower(sample.fabric, sample.schedule));
  const double free = algbwOf(*simulate::subjectOf(sample.fabric, program, kBandwidthOnly), kBytes);
  const double run = algbwOf(*simulate::subjectOf(sample.fabric, program, model), kBytes);
  QVERIFY2(run <= 7.5 * (1 + kRounding) && run < 0.9 * free, qPrintable(QString("%1 of %2").arg(run).arg(free)));
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
