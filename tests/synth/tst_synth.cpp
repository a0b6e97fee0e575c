// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <map>
#include <random>

#include "presets/presets.hpp"
#include "support/large_fabrics.hpp"
#include "support/preset_fabrics.hpp"
#include "synth/encoding.hpp"
#include "synth/pull.hpp"
#include "synth/sat.hpp"
#include "synth/sccl.hpp"
#include "synth/search.hpp"
#include "synth/single_flow.hpp"
#include "synth/split.hpp"
#include "verify/rounds_check.hpp"
#include "verify/step_verifier.hpp"

using namespace coppice;
using synth::Verdict;
using test::built;
using test::describedBy;

namespace {

/// The words of a fabric: a preset with its parameters; "renumbered" first shuffles the order of its nodes.
fabric::Fabric made(QString words) {
  const QString kMark = QStringLiteral("renumbered ");
  const bool isShuffled = words.startsWith(kMark);
  fabric::Description description = describedBy(isShuffled ? words.mid(kMark.size()) : words);
  if (isShuffled) {
    std::mt19937 random(7);
    std::shuffle(description.nodes.begin(), description.nodes.end(), random);
    for (auto& node : description.nodes) {
      node.rank.reset();
    }
  }
  return built(description);
}

/// "broadcast 3" has GPU b0g3, or else rank 3, as its root.
schedule::CollectiveTable goalOf(const QString& words, const fabric::Fabric& fabric) {
  const auto word = parseCollective(words.section(' ', 0, 0).toStdString());
  const QString number = words.contains(' ') ? words.section(' ', 1) : QStringLiteral("0");
  const auto node = fabric.find("b0g" + number.toStdString());
  const fabric::Rank root = node ? fabric.nodes()[*node].rank : number.toInt();
  return *schedule::CollectiveTable::make(*word, fabric.gpuCount(),
                                          isRooted(*word) ? std::optional<fabric::Rank>(root) : std::nullopt);
}

/// The DGX-1 has two kinds of GPUs: from four of them broadcast and gather reach more than from the other four, whose
/// fronts are the rows of the paper's Table 4.
struct Roots {
  const char* fabric;
  int better;
  int other;
};
constexpr Roots kDgx1[] = {
    {"dgx1-v100 wiring=nvidia", 0, 2}, {"dgx1-v100 wiring=sccl", 1, 0}, {"renumbered dgx1-v100", 0, 2}};

synth::SynthesisOptions optionsFor(const QString& fabric) {
  synth::SynthesisOptions options;
  options.unit.isOneBandwidth = fabric.contains("z52");
  options.seconds = 100;
  return options;
}

/// Empty where the verifiers accept it.
QString faultOf(const fabric::Fabric& fabric, const schedule::StepSchedule& schedule, const Bandwidth& unit,
                bool isOneBandwidth) {
  const auto verdict = verify::verifySteps(fabric, schedule);
  if (!verdict) {
    return QString::fromStdString(describe(verdict.error()));
  }
  if (!verdict->ok) {
    return QString::fromStdString(verdict->findings.empty() ? "refused" : describe(verdict->findings.front()));
  }
  const auto rounds = verify::checkRounds(fabric, schedule, isOneBandwidth ? std::nullopt : std::optional(unit));
  if (!rounds) {
    return QString::fromStdString(describe(rounds.error()));
  }
  return rounds->empty() ? QString() : QString::fromStdString(describe(rounds->front()));
}

using Row = std::array<std::int64_t, 3>;

void addRows(const char* fabric, const QByteArray& collective, bool isSat, const std::vector<Row>& rows) {
  for (const auto& [c, s, r] : rows) {
    QTest::addRow("%s %s (%d, %d, %d)", fabric, collective.constData(), int(c), int(s), int(r))
        << QString(fabric) << QString(collective) << qlonglong(c) << qlonglong(s) << qlonglong(r) << isSat;
  }
}

}  // namespace

class TestSynth : public QObject {
  Q_OBJECT

private slots:
  void sizes_data();
  void sizes();
  void bounds_data();
  void bounds();
  void fronts_data();
  void fronts();
  void directBesideHalves();
  void frontsWithinExtraRounds_data();
  void frontsWithinExtraRounds();
  void quotientProvesNothingByNo();
  void seedsDecide();
  void refusals_data();
  void refusals();
  void customTables();
  void limitsOfSwitches();
  void timeIsToldOf();
  void cancelledFrontsKeepWhatTheyHave();
  void partsOfTheSearchStop();
  void encodingsKeepWithinTheirLimit();
  void roundsCheckFindsOverfullLinks();
};

void TestSynth::sizes_data() {
  QTest::addColumn<QString>("fabric");
  QTest::addColumn<QString>("collective");
  QTest::addColumn<qlonglong>("chunks");
  QTest::addColumn<qlonglong>("steps");
  QTest::addColumn<qlonglong>("rounds");
  QTest::addColumn<bool>("isSat");
  const std::vector<Row> allgather = {{1, 2, 2}, {2, 3, 3}, {3, 4, 4}, {4, 5, 5},
                                      {5, 6, 6}, {6, 7, 7}, {6, 3, 7}, {2, 2, 3}};
  for (const auto& [fabric, better, other] : kDgx1) {
    addRows(fabric, "allgather", true, allgather);
    addRows(fabric, "allgather", false, {{3, 2, 4}, {5, 2, 7}, {7, 2, 10}});
    const QByteArray broadcast = "broadcast " + QByteArray::number(better);
    addRows(fabric, broadcast, false, {{8, 3, 3}, {14, 4, 4}, {17, 3, 7}});
    addRows(fabric, broadcast, true,
            {{2, 2, 2},
             {6, 3, 3},
             {7, 3, 3},
             {12, 4, 4},
             {13, 4, 4},
             {18, 5, 5},
             {19, 5, 5},
             {6, 3, 5},
             {12, 3, 5},
             {22, 3, 9},
             {25, 6, 6}});
    const QByteArray gather = "gather " + QByteArray::number(better);
    const std::vector<Row> both = {{1, 2, 2}, {2, 3, 3}, {3, 4, 4}, {4, 5, 5},
                                   {5, 6, 6}, {6, 7, 7}, {6, 3, 7}, {2, 2, 3}};
    addRows(fabric, gather, true, both);
    addRows(fabric, gather, true, {{6, 2, 7}, {10, 2, 12}});
    addRows(fabric, gather, false, {{6, 2, 6}, {5, 2, 6}});
    const QByteArray broadcastHere = "broadcast " + QByteArray::number(other);
    addRows(fabric, broadcastHere, true, {{2, 2, 2}, {6, 3, 3}, {12, 4, 4}, {18, 5, 5}});
    addRows(fabric, broadcastHere, false, {{7, 3, 3}, {13, 4, 4}, {19, 5, 5}});
    const QByteArray gatherHere = "gather " + QByteArray::number(other);
    addRows(fabric, gatherHere, true, both);
    addRows(fabric, gatherHere, false, {{6, 2, 7}});
    addRows(fabric, "alltoall", true, {{8, 3, 3}, {8, 2, 3}, {24, 8, 8}, {24, 2, 8}});
  }
  const char* dgx1 = "dgx1-v100 wiring=sccl";
  addRows(dgx1, "scatter 1", true, {{48, 2, 7}, {16, 2, 3}, {8, 2, 2}});
  addRows(dgx1, "scatter 1", false, {{40, 2, 6}});
  addRows(dgx1, "reduce 1", true, {{22, 3, 9}, {2, 2, 2}});
  addRows(dgx1, "reduce 1", false, {{17, 3, 7}});
  addRows(dgx1, "reduce_scatter", true, {{48, 3, 7}, {8, 2, 2}});
  addRows(dgx1, "reduce_scatter", false, {{24, 2, 4}});
  addRows(dgx1, "allreduce", true,
          {{8, 4, 4}, {16, 4, 6}, {16, 6, 6}, {24, 8, 8}, {48, 14, 14}, {48, 6, 14}, {2, 2, 2}});
  addRows(dgx1, "allreduce", false, {{48, 6, 13}, {2, 1, 4}, {3, 2, 2}});
  const char* z52 = "gigabyte-z52-mi50";
  addRows(z52, "allgather", true, {{1, 4, 4}, {2, 7, 7}, {2, 4, 7}});
  addRows(z52, "allreduce", true, {{8, 8, 8}, {16, 14, 14}, {16, 8, 14}, {1, 4, 4}});
  addRows(z52, "broadcast", true, {{2, 4, 4}, {4, 5, 5}, {6, 6, 6}, {8, 7, 7}, {10, 8, 8}});
  addRows(z52, "broadcast", false, {{3, 4, 4}, {5, 5, 5}});
  addRows(z52, "gather", true, {{1, 4, 4}, {2, 4, 7}});
  addRows(z52, "alltoall", true, {{8, 4, 8}});
  addRows(z52, "alltoall", false, {{8, 4, 7}});
  addRows("hypercube", "allgather", true, {{1, 3, 7}, {3, 3, 7}});
  addRows("hypercube", "allgather", false, {{3, 3, 6}, {3, 2, 9}});
  addRows("hypercube", "allreduce", true, {{3, 3, 3}});
  addRows("hypercube dimension=4", "allgather", true, {{4, 4, 15}});
  addRows("torus dims=4x4", "allgather", true, {{4, 4, 15}});
  addRows("ring gpus=16", "allgather", true, {{2, 8, 15}});
  addRows("complete gpus=8", "allreduce", true, {{1, 1, 1}});
  addRows("complete gpus=6", "broadcast", true, {{1, 1, 1}, {5, 2, 2}});
  addRows("complete gpus=6", "broadcast", false, {{6, 1, 1}, {11, 2, 2}});
  addRows("dgx-a100 boxes=2", "allgather", true, {{1, 2, 2}, {3, 3, 4}, {6, 4, 7}});
}

void TestSynth::sizes() {
  QFETCH(QString, fabric);
  QFETCH(QString, collective);
  QFETCH(qlonglong, chunks);
  QFETCH(qlonglong, steps);
  QFETCH(qlonglong, rounds);
  QFETCH(bool, isSat);
  if (!synth::SatSolver::isAvailable()) {
    QSKIP("this build has no CaDiCaL");
  }
  const fabric::Fabric made = ::made(fabric);
  const auto options = optionsFor(fabric);
  const auto answer = synth::synthesize(made, goalOf(collective, made), {chunks, steps, rounds}, options, {});
  QVERIFY2(answer, answer ? "" : describe(answer.error()).c_str());
  QVERIFY2(answer->verdict == (isSat ? Verdict::sat : Verdict::unsat), answer->reason.c_str());
  QCOMPARE(answer->schedule.has_value(), isSat);
  if (isSat) {
    QCOMPARE(faultOf(made, *answer->schedule, answer->unit, options.unit.isOneBandwidth), QString());
    QCOMPARE(qlonglong(answer->schedule->stepCount), steps);
    qlonglong sum = 0;
    for (const auto each : answer->schedule->rounds) {
      sum += each;
    }
    QCOMPARE(sum, rounds);
  }
}

void TestSynth::bounds_data() {
  QTest::addColumn<QString>("fabric");
  QTest::addColumn<QString>("collective");
  QTest::addColumn<int>("steps");  // 0 = any number
  QTest::addColumn<QString>("ratio");
  const auto add = [](const char* fabric, const char* collective, int steps, const char* ratio) {
    QTest::addRow("%s %s %d", fabric, collective, steps)
        << QString(fabric) << QString(collective) << steps << QString(ratio);
  };
  add("dgx1-v100", "allgather", 2, "3/2");
  add("dgx1-v100", "allgather", 3, "7/6");
  add("dgx1-v100", "allgather", 0, "7/6");
  const char* const broadcast[] = {"1", "9/22", "4/13", "5/19", "6/25", "7/31", "8/37"};
  for (int steps = 2; steps <= 8; ++steps) {
    add("dgx1-v100", "broadcast", steps, broadcast[steps - 2]);
  }
  add("dgx1-v100", "broadcast", 0, "1/6");
  add("dgx1-v100", "gather", 2, "7/6");
  add("dgx1-v100", "alltoall", 2, "1/3");
  add("dgx1-v100", "alltoall", 0, "1/3");
  const char* const ring[] = {"2", "5/4", "1", "7/8", "4/5", "3/4"};
  for (int steps = 4; steps <= 9; ++steps) {
    add("gigabyte-z52-mi50", "broadcast", steps, ring[steps - 4]);
  }
  add("gigabyte-z52-mi50", "allgather", 4, "7/2");
  add("gigabyte-z52-mi50", "alltoall", 4, "1");
  add("gigabyte-z52-mi50", "broadcast", 0, "1/2");
  add("hypercube", "allgather", 3, "7/3");
  add("hypercube", "alltoall", 3, "1/2");
  const char* const cube[] = {"5/6", "2/3", "8/15", "1/2"};
  for (int steps = 3; steps <= 6; ++steps) {
    add("hypercube", "broadcast", steps, cube[steps - 3]);
  }
  add("dgx-a100 boxes=2 network=simple", "allgather", 2, "152/103");
  add("dgx-a100 boxes=2 network=simple", "allgather", 3, "2216/1873");
  add("dgx-a100 boxes=2 network=simple", "allgather", 4, "15/13");
  add("dgx-a100 boxes=2 network=simple", "allgather", 0, "15/13");
}

void TestSynth::bounds() {
  QFETCH(QString, fabric);
  QFETCH(QString, collective);
  QFETCH(int, steps);
  QFETCH(QString, ratio);
  const fabric::Fabric made = ::made(fabric);
  auto topology = synth::topologyOf(made, optionsFor(fabric).unit);
  QVERIFY(topology);
  auto problem = synth::problemOf(*std::move(topology), goalOf(collective, made));
  QVERIFY(problem);
  const Rational divisor = problem->divisor;
  const Progress progress;
  synth::Search search(*std::move(problem), 1, progress);
  const auto bound = search.ratioBound(steps, synth::Clock::now() + std::chrono::minutes(2));
  QCOMPARE(QString::fromStdString((bound.ratio / divisor).toString()), ratio);
  QVERIFY(bound.isTight);
}

void TestSynth::fronts_data() {
  QTest::addColumn<QString>("fabric");
  QTest::addColumn<QString>("collective");
  QTest::addColumn<int>("maxSteps");
  QTest::addColumn<QString>("front");  // "C,S,R" of points that are optimal
  QTest::addColumn<int>("minSteps");
  QTest::addColumn<QString>("minRatio");
  QTest::addColumn<bool>("isComplete");
  for (const auto& [fabric, better, other] : kDgx1) {
    const auto add = [name = fabric](const QByteArray& collective, int maxSteps, const char* front, const char* ratio,
                                     bool isComplete) {
      QTest::addRow("%s %s", name, collective.constData())
          << QString(name) << QString(collective) << maxSteps << QString(front) << 2 << QString(ratio) << isComplete;
    };
    add("allgather", 0, "2,2,3 6,3,7", "7/6", true);
    add("broadcast " + QByteArray::number(better), 6, "2,2,2 22,3,9 13,4,4 19,5,5 25,6,6", "1/6", false);
    add("broadcast " + QByteArray::number(other), 5, "2,2,2 6,3,3 12,4,4 18,5,5", "1/6", false);
    add("gather " + QByteArray::number(better), 0, "6,2,7", "7/6", true);
    add("gather " + QByteArray::number(other), 0, "2,2,3 6,3,7", "7/6", true);
    add("alltoall", 0, "24,2,8", "1/3", true);
    add("reduce_scatter", 0, "16,2,3 48,3,7", "7/48", true);
  }
  const QString z52 = "gigabyte-z52-mi50";
  QTest::newRow("z52 allgather") << z52 << "allgather" << 0 << "2,4,7" << 4 << "7/2" << true;
  QTest::newRow("z52 gather") << z52 << "gather" << 0 << "2,4,7" << 4 << "7/2" << true;
  QTest::newRow("z52 alltoall") << z52 << "alltoall" << 0 << "8,4,8" << 4 << "1" << true;
  QTest::newRow("z52 broadcast") << z52 << "broadcast" << 6 << "2,4,4 4,5,5 6,6,6" << 4 << "1/2" << false;
  QTest::newRow("cube allgather") << "hypercube"
                                  << "allgather" << 0 << "3,3,7" << 3 << "7/3" << true;
  QTest::newRow("star") << "dgx-a100 boxes=1"
                        << "allgather" << 0 << "1,1,7" << 1 << "7" << true;
  QTest::newRow("one-way ring") << "ring gpus=5 direction=one-way"
                                << "allgather" << 0 << "1,4,4" << 4 << "4" << true;
}

void TestSynth::fronts() {
  QFETCH(QString, fabric);
  QFETCH(QString, collective);
  QFETCH(int, maxSteps);
  QFETCH(QString, front);
  QFETCH(int, minSteps);
  QFETCH(QString, minRatio);
  QFETCH(bool, isComplete);
  if (!synth::SatSolver::isAvailable()) {
    QSKIP("this build has no CaDiCaL");
  }
  const fabric::Fabric made = ::made(fabric);
  const auto options = optionsFor(fabric);
  const auto found =
      synth::synthesizeFront(made, goalOf(collective, made), {maxSteps, 0}, options, [](const auto&) {}, {});
  QVERIFY2(found, found ? "" : describe(found.error()).c_str());
  QStringList points;
  for (const auto& point : found->points) {
    QVERIFY(point.isOptimal);
    points << QStringLiteral("%1,%2,%3").arg(point.size.chunks).arg(point.size.steps).arg(point.size.rounds);
    QCOMPARE(faultOf(made, point.schedule, found->unit, options.unit.isOneBandwidth), QString());
  }
  QCOMPARE(points.join(' '), front);
  QCOMPARE(int(found->minSteps), minSteps);
  QCOMPARE(QString::fromStdString(found->minRatio.toString()), minRatio);
  QCOMPARE(found->isComplete, isComplete);
}

/// With three steps, halves are no better than with two, and one piece is.
void TestSynth::directBesideHalves() {
  if (!synth::SatSolver::isAvailable()) {
    QSKIP("this build has no CaDiCaL");
  }
  test::Sketch sketch("unequal triangle");
  for (const char* gpu : {"g0", "g1", "g2"}) {
    sketch.gpu(gpu);
  }
  sketch.link("g0", "g1", 25);
  sketch.link("g0", "g2", 25);
  sketch.link("g1", "g2", 50);
  const fabric::Fabric made = built(sketch.take());
  const auto found =
      synth::synthesizeFront(made, goalOf("allreduce", made), {.maxSteps = 3}, optionsFor({}), [](const auto&) {}, {});
  QVERIFY2(found, found ? "" : describe(found.error()).c_str());
  QCOMPARE(found->points.size(), std::size_t{3});
  const synth::StatedSize& last = found->points.back().size;
  QVERIFY(Rational(last.rounds, last.chunks) <= Rational(4, 7));
  QCOMPARE(faultOf(made, found->points.back().schedule, found->unit, false), QString());
}

void TestSynth::frontsWithinExtraRounds_data() {
  QTest::addColumn<QString>("fabric");
  QTest::addColumn<QString>("collective");
  QTest::addColumn<int>("extra");
  QTest::addColumn<int>("maxSteps");
  QTest::addColumn<QString>("front");  // "C,S,R"; with + where no R/C is lower with more rounds either
  for (const auto& [fabric, better, other] : kDgx1) {
    const auto add = [name = fabric](const QByteArray& collective, int extra, int maxSteps, const char* front) {
      QTest::addRow("%s %s %d", name, collective.constData(), extra)
          << QString(name) << QString(collective) << extra << maxSteps << QString(front);
    };
    add("allgather", 0, 7, "1,2,2 2,3,3 3,4,4 4,5,5 5,6,6 6,7,7+");
    add("allgather", 4, 3, "2,2,3+ 6,3,7+");
    add("broadcast " + QByteArray::number(better), 0, 3, "2,2,2+ 7,3,3");
    add("broadcast " + QByteArray::number(better), 2, 3, "2,2,2+ 12,3,5");
    add("gather " + QByteArray::number(better), 1, 3, "2,2,3 3,3,4");
    add("alltoall", 1, 2, "8,2,3");
    add("reduce_scatter", 0, 3, "8,2,2 16,3,3");
  }
  QTest::newRow("no schedule within") << "dgx-a100 boxes=1"
                                      << "allgather" << 5 << 1 << "";
  QTest::newRow("the least number of rounds") << "dgx-a100 boxes=1"
                                              << "allgather" << 6 << 1 << "1,1,7+";
}

void TestSynth::frontsWithinExtraRounds() {
  QFETCH(QString, fabric);
  QFETCH(QString, collective);
  QFETCH(int, extra);
  QFETCH(int, maxSteps);
  QFETCH(QString, front);
  if (!synth::SatSolver::isAvailable()) {
    QSKIP("this build has no CaDiCaL");
  }
  const fabric::Fabric made = ::made(fabric);
  const auto found =
      synth::synthesizeFront(made, goalOf(collective, made), {.maxSteps = maxSteps, .extraRounds = extra},
                             optionsFor(fabric), [](const auto&) {}, {});
  QVERIFY2(found, found ? "" : describe(found.error()).c_str());
  QStringList points;
  for (const auto& point : found->points) {
    QVERIFY(point.isOptimalWithin);
    points << QStringLiteral("%1,%2,%3%4")
                  .arg(point.size.chunks)
                  .arg(point.size.steps)
                  .arg(point.size.rounds)
                  .arg(point.isOptimal ? "+" : "");
    QCOMPARE(faultOf(made, point.schedule, found->unit, false), QString());
  }
  QCOMPARE(points.join(' '), front);
}

/// Recursive doubling on the 3-cube: satisfiable, whatever group the search tries first.
void TestSynth::quotientProvesNothingByNo() {
  if (!synth::SatSolver::isAvailable()) {
    QSKIP("this build has no CaDiCaL");
  }
  const fabric::Fabric cube = made("hypercube");
  const auto topology = synth::topologyOf(cube, {});
  const auto problem = synth::problemOf(*topology, goalOf("allgather", cube));
  const Progress progress;
  const auto groups = synth::freeGroups(*problem, progress);
  QVERIFY(!groups.empty());
  QCOMPARE(groups.front().size(), std::size_t{8});
  for (const auto& group : groups) {
    for (const auto& each : group) {
      const bool isIdentity = each.node[0] == 0;
      for (int node = 0; node < 8; ++node) {
        QCOMPARE(each.node[node] == node, isIdentity);
      }
    }
  }
}

void TestSynth::seedsDecide() {
  if (!synth::SatSolver::isAvailable()) {
    QSKIP("this build has no CaDiCaL");
  }
  const fabric::Fabric dgx1 = made("dgx1-v100");
  auto options = optionsFor("dgx1-v100");
  options.seed = 5;
  const auto first = synth::synthesize(dgx1, goalOf("broadcast", dgx1), {13, 4, 4}, options, {});
  const auto second = synth::synthesize(dgx1, goalOf("broadcast", dgx1), {13, 4, 4}, options, {});
  QVERIFY(first && second && first->schedule && second->schedule);
  QVERIFY(*first->schedule == *second->schedule);
}

void TestSynth::refusals_data() {
  QTest::addColumn<QString>("fabric");
  QTest::addColumn<QString>("collective");
  QTest::addColumn<qlonglong>("chunks");
  QTest::addColumn<qlonglong>("steps");
  QTest::addColumn<qlonglong>("rounds");
  QTest::addColumn<QString>("unit");
  QTest::addColumn<QString>("place");
  QTest::newRow("no chunk") << "hypercube"
                            << "allgather" << 0LL << 3LL << 3LL << ""
                            << "--chunks";
  QTest::newRow("no step") << "hypercube"
                           << "allgather" << 1LL << 0LL << 3LL << ""
                           << "--steps";
  QTest::newRow("no round") << "hypercube"
                            << "allgather" << 1LL << 3LL << -1LL << ""
                            << "--rounds";
  QTest::newRow("alltoall") << "hypercube"
                            << "alltoall" << 12LL << 3LL << 8LL << ""
                            << "--chunks";
  QTest::newRow("reduce_scatter") << "hypercube"
                                  << "reduce_scatter" << 7LL << 3LL << 8LL << ""
                                  << "--chunks";
  QTest::newRow("scatter") << "hypercube"
                           << "scatter" << 1LL << 3LL << 8LL << ""
                           << "--chunks";
  QTest::newRow("beyond memory") << "hypercube"
                                 << "alltoall" << 700'000LL << 1'000LL << 1'000'000LL << ""
                                 << "--chunks";
  QTest::newRow("unit above the links") << "hypercube"
                                        << "allgather" << 1LL << 3LL << 8LL << "26"
                                        << "--unit";
  QTest::newRow("no unit") << "hypercube"
                           << "allgather" << 1LL << 3LL << 8LL << "0"
                           << "--unit";
  QTest::newRow("many chunks") << "hypercube"
                               << "allgather" << 10'000'000LL << 3LL << 8LL << ""
                               << "--chunks";
}

void TestSynth::refusals() {
  QFETCH(QString, fabric);
  QFETCH(QString, collective);
  QFETCH(qlonglong, chunks);
  QFETCH(qlonglong, steps);
  QFETCH(qlonglong, rounds);
  QFETCH(QString, unit);
  QFETCH(QString, place);
  const fabric::Fabric made = ::made(fabric);
  auto options = optionsFor(fabric);
  if (!unit.isEmpty()) {
    options.unit.unit = Bandwidth(*Rational::parse(unit.toStdString()));
  }
  const auto answer = synth::synthesize(made, goalOf(collective, made), {chunks, steps, rounds}, options, {});
  QVERIFY(!answer);
  QVERIFY(answer.error().code == ErrorCode::badUsage);
  QCOMPARE(QString::fromStdString(toText(answer.error().where.element)), place);
  QVERIFY(!answer.error().fix.empty());
}

/// Two ranks swap what they have while a third gets one replica of a chunk that two hold.
void TestSynth::customTables() {
  const fabric::Fabric ring = made("ring gpus=4");
  const std::vector<schedule::CustomShard> rows = {
      {Rational(1, 3), {0}, {2}, false}, {Rational(1, 3), {2}, {0}, false}, {Rational(1, 3), {0, 1}, {3}, false}};
  const auto goal = schedule::CollectiveTable::custom(4, rows);
  QVERIFY(goal);
  auto options = optionsFor("ring");
  const auto sat = synth::synthesize(ring, *goal, {3, 2, 2}, options, {});
  QVERIFY(sat && sat->verdict == Verdict::sat);
  QCOMPARE(faultOf(ring, *sat->schedule, sat->unit, false), QString());
  const auto unsat = synth::synthesize(ring, *goal, {3, 1, 3}, options, {});
  QVERIFY(unsat && unsat->verdict == Verdict::unsat);
  const auto odd = synth::synthesize(ring, *goal, {4, 2, 2}, options, {});
  QVERIFY(!odd && toText(odd.error().where.element) == "--chunks");
}

/// A switch is not a GPU: its links bound what passes, and one send crosses it within a step.
void TestSynth::limitsOfSwitches() {
  const fabric::Fabric star = made("dgx-a100 boxes=1 gpus=4");
  const auto goal = goalOf("alltoall", star);
  const auto options = optionsFor("star");
  const auto sat = synth::synthesize(star, goal, {4, 1, 3}, options, {});
  QVERIFY(sat && sat->verdict == Verdict::sat);
  QCOMPARE(faultOf(star, *sat->schedule, sat->unit, false), QString());
  const auto unsat = synth::synthesize(star, goal, {4, 1, 2}, options, {});
  QVERIFY(unsat && unsat->verdict == Verdict::unsat);
}

/// A search says whether time ended a part of it.
void TestSynth::timeIsToldOf() {
  const fabric::Fabric ring = made("ring");
  const auto goal = goalOf("allgather", ring);
  auto options = optionsFor("ring");
  const auto settled = synth::synthesize(ring, goal, {2, 2, 3}, options, {});
  QVERIFY(settled && settled->verdict != Verdict::unknown);
  QVERIFY(!settled->dependsOnTime);
  const fabric::Fabric dgx1 = made("dgx1-v100");
  options = optionsFor("dgx1-v100");
  options.seconds = 0;
  const auto front = synth::synthesizeFront(dgx1, goalOf("allgather", dgx1), {}, options, synth::FrontEvents{}, {});
  QVERIFY(front);
  QVERIFY(front->isCutOff && front->dependsOnTime);
}

void TestSynth::cancelledFrontsKeepWhatTheyHave() {
  const fabric::Fabric dgx1 = made("dgx1-v100");
  std::stop_source source;
  Progress progress;
  progress.stop = source.get_token();
  const auto front = synth::synthesizeFront(
      dgx1, goalOf("allgather", dgx1), {}, optionsFor("dgx1-v100"),
      [&](const synth::Candidate& each) {
        if (each.verdict == Verdict::sat) {
          source.request_stop();
        }
      },
      progress);
  QVERIFY(front);
  QVERIFY(front->isCutOff);
  QCOMPARE(front->points.size(), std::size_t{1});
  QVERIFY(!front->isComplete);
}

void TestSynth::partsOfTheSearchStop() {
  const fabric::Fabric cube = made("hypercube");
  auto topology = synth::topologyOf(cube, {});
  QVERIFY(topology);
  const auto allgather = *synth::problemOf(*topology, goalOf("allgather", cube));
  const auto gather = *synth::problemOf(*topology, goalOf("gather", cube));
  const std::vector<std::int64_t> rounds(3, 2'400);
  const auto never = [] { return false; };
  const auto always = [] { return true; };
  // One step takes so long that it asks in the middle.
  int questions = 0;
  const auto later = [&questions] { return ++questions > 1; };
  QVERIFY(synth::pull(allgather, 1'000, rounds, 1, never));
  QVERIFY(!synth::pull(allgather, 1'000, rounds, 1, later));
  QCOMPARE(questions, 2);
  const auto whole = synth::singleFlow(gather, 100, rounds, never);
  QVERIFY(whole);
  QVERIFY(!synth::singleFlow(gather, 100, rounds, always));
  QVERIFY(synth::split(gather, 100, *whole, 5, never));
  QVERIFY(!synth::split(gather, 100, *whole, 5, always));
}

void TestSynth::encodingsKeepWithinTheirLimit() {
  if (!synth::SatSolver::isAvailable()) {
    QSKIP("this build has no CaDiCaL");
  }
  const fabric::Fabric cube = made("hypercube");
  const auto problem = *synth::problemOf(*synth::topologyOf(cube, {}), goalOf("allgather", cube));
  const synth::RoundBox box{{1, 1, 1}, {60, 60, 60}, 70};
  const auto encoded = [&](const synth::EncodingGuard& guard) -> std::optional<bool> {
    synth::SatSolver solver(1);
    try {
      synth::Encoding(problem, 30, box, {}, solver, guard);
    } catch (const synth::EncodingStopped& stopped) {
      return stopped.isTooLarge;
    }
    return std::nullopt;
  };
  QCOMPARE(encoded({}), std::nullopt);
  QCOMPARE(encoded({.maxLiterals = 10'000}), std::optional(true));
  QCOMPARE(encoded({.stop = [] { return true; }}), std::optional(false));
}

void TestSynth::roundsCheckFindsOverfullLinks() {
  const fabric::Fabric ring = made("ring gpus=4");
  auto answer = synth::synthesize(ring, goalOf("allgather", ring), {2, 2, 3}, optionsFor("ring"), {});
  QVERIFY(answer && answer->schedule);
  schedule::StepSchedule schedule = *answer->schedule;
  QVERIFY(verify::checkRounds(ring, schedule, answer->unit)->empty());
  *std::max_element(schedule.rounds.begin(), schedule.rounds.end()) -= 1;
  QVERIFY(!verify::checkRounds(ring, schedule, answer->unit)->empty());
  schedule.rounds.clear();
  QVERIFY(!verify::checkRounds(ring, schedule, answer->unit));
}

QTEST_GUILESS_MAIN(TestSynth)
#include "tst_synth.moc"
