// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <map>
#include <stop_token>

#include "presets/presets.hpp"
#include "support/preset_fabrics.hpp"
#include "synth/boxes.hpp"
#include "synth/quotient_pull.hpp"
#include "synth/sccl.hpp"
#include "synth/search.hpp"
#include "synth/two_level.hpp"
#include "verify/rounds_check.hpp"
#include "verify/step_verifier.hpp"

using namespace coppice;
using synth::Verdict;
using test::presetFabric;

/// Fabrics beyond the reach of a solver: two levels, local search over trees, and pull in the quotient.
namespace {

/// A preset with its parameters.
schedule::CollectiveTable goalOf(const char* collective, const fabric::Fabric& fabric) {
  const auto word = parseCollective(collective);
  return *schedule::CollectiveTable::make(*word, fabric.gpuCount(),
                                          isRooted(*word) ? std::optional<fabric::Rank>(0) : std::nullopt);
}

synth::Problem problemOn(const fabric::Fabric& fabric, const char* collective) {
  auto topology = synth::topologyOf(fabric, {});
  auto problem = synth::problemOf(*std::move(topology), goalOf(collective, fabric));
  return *std::move(problem);
}

/// Empty where the verifiers accept it.
QString faultOf(const fabric::Fabric& fabric, const schedule::StepSchedule& schedule, const Bandwidth& unit) {
  const auto verdict = verify::verifySteps(fabric, schedule);
  if (!verdict) {
    return QString::fromStdString(describe(verdict.error()));
  }
  if (!verdict->ok) {
    return QString::fromStdString(verdict->findings.empty() ? "refused" : describe(verdict->findings.front()));
  }
  const auto rounds = verify::checkRounds(fabric, schedule, unit);
  if (!rounds) {
    return QString::fromStdString(describe(rounds.error()));
  }
  return rounds->empty() ? QString() : QString::fromStdString(describe(rounds->front()));
}

}  // namespace

class TestSynthWide : public QObject {
  Q_OBJECT

private slots:
  void boxes_data();
  void boxes();
  void narrowProblems();
  void twoLevels_data();
  void twoLevels();
  void twoLevelsAreForAllgather();
  void fronts_data();
  void fronts();
  void decides_data();
  void decides();
  void pullNeedsNoWish_data();
  void pullNeedsNoWish();
  void seedsDecide();
  void stopsAtOnce();
  void tooManyGpusAreRefused();
};

void TestSynthWide::boxes_data() {
  QTest::addColumn<QString>("fabric");
  QTest::addColumn<int>("count");  // 0 = none
  QTest::newRow("A100") << "dgx-a100 boxes=4" << 4;
  QTest::newRow("one box") << "dgx-a100 boxes=1" << 0;
  QTest::newRow("DGX-1") << "dgx1-v100 boxes=3" << 3;
  QTest::newRow("H100 rails") << "dgx-h100 boxes=2 network=rails" << 2;
  QTest::newRow("torus") << "torus dims=3x4" << 0;
  QTest::newRow("complete") << "complete gpus=8" << 0;
  QTest::newRow("ring of a prime") << "ring gpus=7" << 0;
}

void TestSynthWide::boxes() {
  QFETCH(QString, fabric);
  QFETCH(int, count);
  const auto topology = synth::topologyOf(presetFabric(fabric), {});
  const auto boxes = synth::equalBoxes(*topology);
  QCOMPARE(boxes ? boxes->count() : 0, count);
  for (int box = 0; box < count; ++box) {
    for (int place = 0; place < boxes->size(); ++place) {
      QCOMPARE(boxes->boxOf[boxes->members[box][place]], box);
      QCOMPARE(boxes->placeOf[boxes->members[box][place]], place);
    }
  }
}

/// Fewer arcs, and what solves the rest solves the whole.
void TestSynthWide::narrowProblems() {
  for (const char* fabric : {"dgx-a100 boxes=3", "mi250 boxes=2"}) {
    const synth::Problem problem = problemOn(presetFabric(fabric), "allgather");
    const auto boxes = synth::equalBoxes(problem.topology);
    QVERIFY(boxes);
    const auto narrow = synth::narrowed(problem, *boxes);
    QVERIFY(narrow);
    QVERIFY(narrow->arcs.size() < problem.topology.arcs.size());
    for (std::size_t i = 0; i < narrow->arcs.size(); ++i) {
      const synth::LogicalArc& arc = problem.topology.arcs[narrow->arcs[i]];
      QCOMPARE(arc.from, narrow->problem.topology.arcs[i].from);
      QCOMPARE(arc.to, narrow->problem.topology.arcs[i].to);
      QVERIFY(boxes->boxOf[arc.from] == boxes->boxOf[arc.to] || boxes->placeOf[arc.from] == boxes->placeOf[arc.to]);
    }
    const Progress progress;
    synth::Search search(narrow->problem, 1, progress);
    auto found = search.pulls({.steps = search.minSteps() + 1, .n = 2, .work = 10'000'000}, [] { return false; });
    QVERIFY(found);
    for (synth::Send& send : found->steps.sends) {
      send.arc = narrow->arcs[send.arc];
    }
    const auto fault = synth::faultOf(problem, 2, found->steps);
    QVERIFY2(!fault, fault ? fault->c_str() : "");
  }
  // One NIC for all of a box: every pair of places is as good.
  const synth::Problem shared = problemOn(presetFabric("azure-ndv2 boxes=2"), "broadcast");
  const auto boxes = synth::equalBoxes(shared.topology);
  QVERIFY(!boxes || !synth::narrowed(shared, *boxes) ||
          synth::narrowed(shared, *boxes)->arcs.size() < shared.topology.arcs.size());
}

void TestSynthWide::twoLevels_data() {
  QTest::addColumn<QString>("fabric");
  for (const char* fabric : {"dgx-a100 boxes=2", "dgx-a100 boxes=4 network=simple", "dgx-a100 boxes=8",
                             "dgx1-v100 boxes=3", "dgx-h100 boxes=4"}) {
    QTest::newRow(fabric) << fabric;
  }
}

/// What it promises is what it makes, and never below the bound.
void TestSynthWide::twoLevels() {
  QFETCH(QString, fabric);
  const fabric::Fabric made = presetFabric(fabric);
  const synth::Problem problem = problemOn(made, "allgather");
  const auto boxes = synth::equalBoxes(problem.topology);
  QVERIFY(boxes);
  const Progress progress;
  const auto levels = synth::TwoLevel::make(problem, *boxes, 2, 1, progress);
  QVERIFY(levels);
  QVERIFY(!levels->schedule(levels->minSteps() - 1, 1));
  synth::Search search(problem, 1, progress);
  for (int steps = levels->minSteps(); steps < levels->minSteps() + 3; ++steps) {
    const auto bound = search.ratioBound(steps, synth::Clock::now() + std::chrono::seconds(2));
    for (const int n : {1, 3}) {
      const auto found = levels->schedule(steps, n);
      QVERIFY(found);
      const auto fault = synth::faultOf(problem, n, *found);
      QVERIFY2(!fault, fault ? fault->c_str() : "");
      QCOMPARE(int(found->rounds.size()), steps);
      std::int64_t sum = 0;
      for (const auto each : found->rounds) {
        sum += each;
      }
      QCOMPARE(sum, *levels->rounds(steps, n));
      QVERIFY2(Rational(sum, n) >= bound.ratio, (Rational(sum, n).toString() + " < " + bound.ratio.toString()).c_str());
    }
  }
}

void TestSynthWide::twoLevelsAreForAllgather() {
  const synth::Problem rooted = problemOn(presetFabric("dgx-a100 boxes=2"), "broadcast");
  QVERIFY(!synth::TwoLevel::make(rooted, *synth::equalBoxes(rooted.topology), 5, 1, {}));
}

void TestSynthWide::fronts_data() {
  QTest::addColumn<QString>("fabric");
  QTest::addColumn<QString>("collective");
  QTest::addColumn<int>("maxSteps");
  QTest::addColumn<QString>("how");  // of every point
  QTest::newRow("allgather, A100") << "dgx-a100 boxes=8"
                                   << "allgather" << 3 << "";
  QTest::newRow("reduce_scatter, DGX-1") << "dgx1-v100 boxes=6"
                                         << "reduce_scatter" << 3 << "";
  QTest::newRow("allreduce, A100") << "dgx-a100 boxes=5"
                                   << "allreduce" << 4 << "in halves";
  QTest::newRow("broadcast, A100") << "dgx-a100 boxes=5"
                                   << "broadcast" << 4 << "";
  QTest::newRow("allgather, torus") << "torus dims=6x6"
                                    << "allgather" << 6 << "trees";
}

void TestSynthWide::fronts() {
  QFETCH(QString, fabric);
  QFETCH(QString, collective);
  QFETCH(int, maxSteps);
  QFETCH(QString, how);
  const fabric::Fabric made = presetFabric(fabric);
  synth::SynthesisOptions options;
  options.seconds = 30;
  // Some of these searches, and some of their candidates, would go on for longer than a test should take.
  constexpr int kEnough = 2;
  constexpr double kCandidateSeconds = 1;
  std::stop_source stop;
  int found = 0;
  const auto count = [&](const synth::Candidate& candidate) {
    found += candidate.verdict == Verdict::sat ? 1 : 0;
    if (found == kEnough) {
      stop.request_stop();
    }
  };
  const auto front = synth::synthesizeFront(made, goalOf(collective.toUtf8(), made), {maxSteps, 0, kCandidateSeconds},
                                            options, count, {.stop = stop.get_token()});
  QVERIFY2(front, front ? "" : describe(front.error()).c_str());
  QVERIFY(!front->points.empty());
  std::optional<Rational> before;
  for (const auto& point : front->points) {
    QCOMPARE(faultOf(made, point.schedule, front->unit), QString());
    const Rational ratio(point.size.rounds, point.size.chunks);
    QVERIFY(ratio >= point.bound);
    QVERIFY(!point.isOptimal || ratio == point.bound);
    QVERIFY(!before || ratio < *before);
    before = ratio;
    QVERIFY2(QString::fromStdString(point.how).contains(how), point.how.c_str());
    QCOMPARE(point.schedule.stepCount, std::int32_t(point.size.steps));
  }
}

void TestSynthWide::decides_data() {
  QTest::addColumn<QString>("fabric");
  QTest::addColumn<QString>("collective");
  QTest::addColumn<int>("chunks");
  QTest::addColumn<int>("steps");
  QTest::addColumn<int>("rounds");
  QTest::addColumn<int>("verdict");
  const auto add = [](const char* fabric, const char* collective, int chunks, int steps, int rounds, Verdict verdict) {
    QTest::addRow("%s %s (%d, %d, %d)", fabric, collective, chunks, steps, rounds)
        << QString(fabric) << QString(collective) << chunks << steps << rounds << int(verdict);
  };
  add("torus dims=8x8", "allgather", 4, 8, 63, Verdict::sat);
  add("torus dims=8x8", "allgather", 4, 8, 62, Verdict::unsat);
  add("torus dims=8x8", "allgather", 4, 7, 63, Verdict::unsat);
  add("hypercube dimension=6", "allgather", 1, 6, 63, Verdict::sat);
  add("complete gpus=64", "broadcast", 1, 1, 1, Verdict::sat);
  add("complete gpus=64", "allreduce", 64, 2, 2, Verdict::sat);
  add("torus dims=6x6", "alltoall", 36, 6, 36, Verdict::sat);
  add("dgx-a100 boxes=8", "broadcast", 128, 4, 42, Verdict::sat);
  add("dgx-a100 boxes=8", "reduce", 128, 4, 42, Verdict::sat);
  add("dgx-a100 boxes=8", "allreduce", 1344, 4, 434, Verdict::sat);
  add("dgx-a100 boxes=8", "allgather", 21, 2, 217, Verdict::sat);
  add("dgx-a100 boxes=8", "allgather", 21, 2, 216, Verdict::unsat);
}

void TestSynthWide::decides() {
  QFETCH(QString, fabric);
  QFETCH(QString, collective);
  QFETCH(int, chunks);
  QFETCH(int, steps);
  QFETCH(int, rounds);
  QFETCH(int, verdict);
  const fabric::Fabric made = presetFabric(fabric);
  synth::SynthesisOptions options;
  options.seconds = 60;
  const auto answer = synth::synthesize(made, goalOf(collective.toUtf8(), made), {chunks, steps, rounds}, options, {});
  QVERIFY2(answer, answer ? "" : describe(answer.error()).c_str());
  QVERIFY2(int(answer->verdict) == verdict, answer->reason.c_str());
  if (answer->schedule) {
    QCOMPARE(faultOf(made, *answer->schedule, answer->unit), QString());
  }
}

void TestSynthWide::pullNeedsNoWish_data() {
  QTest::addColumn<QString>("fabric");
  QTest::addColumn<QString>("collective");
  QTest::addColumn<int>("steps");
  QTest::newRow("ring") << "ring gpus=11"
                        << "allgather" << 5;
  QTest::newRow("one-way ring") << "ring gpus=7 direction=one-way"
                                << "allgather" << 6;
  QTest::newRow("A100") << "dgx-a100 boxes=3"
                        << "allgather" << 2;
  QTest::newRow("root") << "dgx-a100 boxes=3"
                        << "broadcast" << 3;
  QTest::newRow("fractions of a round") << "dgx1-v100 boxes=2"
                                        << "allgather" << 4;
}

/// Wherever the steps suffice at all, it takes the rounds that it needs, with and without a quotient.
void TestSynthWide::pullNeedsNoWish() {
  QFETCH(QString, fabric);
  QFETCH(QString, collective);
  QFETCH(int, steps);
  const synth::Problem problem = problemOn(presetFabric(fabric), collective.toUtf8());
  const auto boxes = synth::equalBoxes(problem.topology);
  const auto group = synth::freeGroupByBoxes(problem, boxes, {});
  const std::vector<std::int64_t> rounds(steps, 1);
  for (const auto& symmetries : {std::vector<synth::Symmetry>{}, group}) {
    for (const int n : {1, 2}) {
      const synth::QuotientPull pull(problem, n, symmetries);
      const auto found = pull.run(rounds, 1'000'000, 7, [] { return false; });
      QVERIFY(found);
      const auto fault = synth::faultOf(problem, n, *found);
      QVERIFY2(!fault, fault ? fault->c_str() : "");
      QCOMPARE(int(found->rounds.size()), steps);
      const std::vector<std::int64_t> tooFew(steps - 1, 1);
      if (steps - 1 < synth::minSteps(problem)) {
        QVERIFY(!pull.run(tooFew, 1'000'000, 7, [] { return false; }));
      }
    }
  }
}

void TestSynthWide::seedsDecide() {
  const fabric::Fabric torus = presetFabric("torus dims=6x6");
  synth::SynthesisOptions options;
  options.seed = 3;
  const auto first = synth::synthesize(torus, goalOf("allgather", torus), {1, 6, 12}, options, {});
  const auto second = synth::synthesize(torus, goalOf("allgather", torus), {1, 6, 12}, options, {});
  QVERIFY(first && second && first->schedule && second->schedule);
  QVERIFY(*first->schedule == *second->schedule);
}

void TestSynthWide::stopsAtOnce() {
  const fabric::Fabric cluster = presetFabric("dgx-a100 boxes=8");
  std::stop_source source;
  source.request_stop();
  Progress progress;
  progress.stop = source.get_token();
  const auto answer = synth::synthesize(cluster, goalOf("allgather", cluster), {1, 3, 30}, {}, progress);
  QVERIFY(!answer);
  QVERIFY(answer.error().code == ErrorCode::cancelled);
}

void TestSynthWide::tooManyGpusAreRefused() {
  const fabric::Fabric torus = presetFabric("torus dims=17x16");
  const auto goal = goalOf("allgather", torus);
  const auto size = synth::synthesize(torus, goal, {1, 16, 300}, {}, {});
  const auto front = synth::synthesizeFront(torus, goal, {}, {}, [](const auto&) {}, {});
  QVERIFY(!size && !front);
  for (const Error& error : {size.error(), front.error()}) {
    QVERIFY(error.code == ErrorCode::limit);
    QVERIFY2(QString::fromStdString(error.message).contains("up to 256 GPUs"), error.message.c_str());
    QVERIFY(!error.fix.empty());
  }
}

QTEST_GUILESS_MAIN(TestSynthWide)
#include "tst_synth_wide.moc"
