// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <algorithm>
#include <map>
#include <optional>
#include <random>

#include "baselines/baselines.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"
#include "lowering/interpreter.hpp"
#include "lowering/lowering.hpp"
#include "presets/presets.hpp"
#include "program/msccl_xml.hpp"
#include "schedule/chunk_grid.hpp"
#include "schedule/from_forest.hpp"
#include "schedule/step_cost.hpp"
#include "schedule/step_routes.hpp"
#include "schedule/switch_need.hpp"
#include "support/preset_fabrics.hpp"
#include "verify/custom_goal.hpp"
#include "verify/program_verifier.hpp"
#include "verify/step_verifier.hpp"

using namespace coppice;
using program::Runtime;
using schedule::StepSchedule;
using test::presetFabric;

namespace {

constexpr int kMaxGpus = 32;

bool isRare(Collective collective) {
  return collective == Collective::gather || collective == Collective::scatter;
}

/// Lowers, writes the XML, reads it back, has it verified, and executed. Empty, or what went wrong.
std::string examine(const fabric::Fabric& fabric, const schedule::AnySchedule& schedule,
                    const lowering::Options& options, bool executes) {
  const Result<program::Program> lowered = lowering::lower(fabric, schedule, options);
  if (!lowered) {
    return describe(lowered.error());
  }
  const std::string text = program::writeMscclXml(*lowered, options.runtime);
  const Result<program::MscclFile> file = program::readMscclXml(text, options.runtime);
  if (!file || !file->findings.empty()) {
    return "reader: " + (file ? describe(file->findings.front()) : describe(file.error()));
  }
  const int root = schedule::rootOf(schedule).value_or(-1);
  const auto verdict = verify::verifyProgram(file->program, {.runtime = options.runtime, .root = root});
  if (!verdict || !verdict->ok) {
    return "verifier: " + (!verdict                    ? describe(verdict.error())
                           : verdict->findings.empty() ? std::string("no")
                                                       : describe(verdict->findings.front()));
  }
  // Before ROCm 6.2, RCCL leaves reads unordered.
  const bool mayBeStale = options.runtime == Runtime::rccl60 || options.runtime == Runtime::rccl61;
  if (!verdict->findings.empty() && !mayBeStale) {
    return "verifier: " + describe(verdict->findings.front());
  }
  if (std::string limits = lowering::test::checkLimits(file->program, options.runtime); !limits.empty()) {
    return "limits: " + limits;
  }
  if (!executes) {
    return {};
  }
  lowering::test::RunOptions run;
  run.depth = program::connectionDepth(file->program.protocol);
  run.chunksPerMessage = 1;
  run.checkRaces = false;
  run.root = root;
  return lowering::test::run(file->program, run);
}

std::string nameOf(Collective collective, const lowering::Options& options) {
  return std::string(toString(collective)) + " " + std::string(toString(options.runtime)) +
         (options.inPlace ? " in place: " : " out of place: ");
}

/// The same numbers on every machine.
class Random {
public:
  explicit Random(std::uint64_t seed) : m_engine(seed) {}
  int below(int end) { return static_cast<int>(m_engine() % static_cast<std::uint64_t>(end)); }

private:
  std::mt19937_64 m_engine;
};

StepSchedule baseline(const fabric::Fabric& fabric, const char* name, Collective collective) {
  const auto made = baselines::generate(name, fabric, {.collective = collective});
  return std::get<StepSchedule>(made.value());
}

/// Adds routes and algbw. Empty where the verifier does not accept it.
std::optional<StepSchedule> finished(const fabric::Fabric& fabric, StepSchedule schedule) {
  schedule.transfers.sortBySteps();
  if (!schedule::addRoutes(fabric, schedule)) {
    return std::nullopt;
  }
  const auto cost = schedule::stepCost(fabric, schedule);
  if (!cost) {
    return std::nullopt;
  }
  schedule.algbw = cost->algbw;
  const auto verdict = verify::verifySteps(fabric, schedule);
  return verdict && verdict->ok ? std::optional(schedule) : std::nullopt;
}

StepSchedule emptySchedule(const fabric::Fabric& fabric, Collective collective, std::optional<int> root, int steps,
                           int denominator) {
  StepSchedule made;
  made.goal = schedule::CollectiveTable::make(collective, fabric.gpuCount(), root).value();
  made.method = "test";
  made.fabricDigest = fabric.digest();
  made.denominator = denominator;
  made.stepCount = steps;
  return made;
}

/// Ranks push pieces to random ranks for some steps; what is still missing then goes directly.
StepSchedule gossip(const fabric::Fabric& fabric, Collective collective, int pieces, Random& random) {
  const int n = fabric.gpuCount();
  const auto root = isRooted(collective) ? std::optional(n / 2) : std::nullopt;
  constexpr int kSteps = 4;
  StepSchedule made = emptySchedule(fabric, collective, root, kSteps + 1, pieces);
  for (std::int64_t shard = 0; shard < made.goal.shardCount(); ++shard) {
    for (int piece = 0; piece < pieces; ++piece) {
      std::vector<int> holders(made.goal.sources(shard).begin(), made.goal.sources(shard).end());
      const auto holds = [&](int rank) { return std::find(holders.begin(), holders.end(), rank) != holders.end(); };
      const auto send = [&](int step, int from, int to) {
        made.transfers.add({.shard = shard, .begin = piece, .end = piece + 1, .from = from, .to = to, .step = step});
      };
      for (int step = 0; step < kSteps; ++step) {
        const int to = random.below(n);
        if (random.below(3) > 0 && !holds(to)) {
          send(step, holders[random.below(static_cast<int>(holders.size()))], to);
          holders.push_back(to);
        }
      }
      const std::vector<int> before = holders;
      for (const int to : made.goal.destinations(shard)) {
        if (!holds(to)) {
          send(kSteps, before[random.below(static_cast<int>(before.size()))], to);
        }
      }
    }
  }
  return made;
}

/// Every piece is summed up along a random tree, some in steps and some as they come, and then spread along another.
StepSchedule sums(const fabric::Fabric& fabric, Collective collective, int pieces, bool isSynchronous, Random& random) {
  const int n = fabric.gpuCount();
  const auto root = isRooted(collective) ? std::optional(n - 1) : std::nullopt;
  StepSchedule made = emptySchedule(fabric, collective, root, isSynchronous ? 2 * n : 2, pieces);
  made.isSynchronous = isSynchronous;
  for (std::int64_t shard = 0; shard < made.goal.shardCount(); ++shard) {
    for (int piece = 0; piece < pieces; ++piece) {
      const int top = collective == Collective::allreduce ? random.below(n) : made.goal.destinations(shard).front();
      for (const bool spreads : {false, true}) {
        // Ranks in random order, each below one before it.
        std::vector<int> ranks{top};
        std::vector<int> depth(n, 0);
        for (int i = 1; i < n; ++i) {
          int rank = random.below(n);
          while (std::find(ranks.begin(), ranks.end(), rank) != ranks.end()) {
            rank = (rank + 1) % n;
          }
          const int above = ranks[random.below(i)];
          depth[rank] = depth[above] + 1;
          ranks.push_back(rank);
          if (!spreads || collective == Collective::allreduce) {
            const int step = !isSynchronous ? (spreads ? 1 : 0) : spreads ? n + depth[above] : n - depth[rank];
            made.transfers.add({.shard = shard,
                                .begin = piece,
                                .end = piece + 1,
                                .from = spreads ? above : rank,
                                .to = spreads ? rank : above,
                                .step = step,
                                .reduces = !spreads});
          }
        }
      }
    }
  }
  return made;
}

}  // namespace

class LoweringStepsTest : public QObject {
  Q_OBJECT

private slots:
  void baselines_data();
  void baselines();
  void arrangements_data();
  void arrangements();
  void forests_data();
  void forests();
  void randomSchedules_data();
  void randomSchedules();
  void exchangedChunks();
  void scratchIsUsedAgain();
  void orderIsKept();
  void grids();
  void denominatorIsRefused();
  void customCollective_data();
  void customCollective();
  void refusals_data();
  void refusals();
  void brokenShape_data();
  void brokenShape();
};

/// Every baseline, for every collective that it makes, on every preset up to 32 GPUs that it supports.
void LoweringStepsTest::baselines_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QString>("baseline");
  for (const presets::Preset& preset : presets::catalogue()) {
    if (presetFabric(preset.name, {}).gpuCount() > kMaxGpus) {
      continue;
    }
    for (const baselines::Baseline& baseline : baselines::list()) {
      QTest::addRow("%s %s", preset.name.c_str(), std::string(baseline.name).c_str())
          << QString::fromStdString(preset.name) << QString::fromStdString(std::string(baseline.name));
    }
  }
}

void LoweringStepsTest::baselines() {
  QFETCH(QString, preset);
  QFETCH(QString, baseline);
  const fabric::Fabric fabric = presetFabric(preset);
  bool inPlace = true;
  std::size_t turn = baseline.size();
  constexpr std::array kTargets{Runtime::msccl, Runtime::mscclExecutorNccl, Runtime::rccl};
  for (const Collective collective : baselines::find(baseline.toStdString())->collectives) {
    baselines::Request request{.collective = collective};
    if (isRooted(collective)) {
      request.root = fabric.gpuCount() / 3;
    }
    const auto schedule = baselines::generate(baseline.toStdString(), fabric, request);
    if (!schedule) {
      QVERIFY2(schedule.error().code == ErrorCode::infeasible, describe(schedule.error()).c_str());
      continue;
    }
    if (const auto* steps = std::get_if<StepSchedule>(&*schedule)) {
      const auto verdict = verify::verifySteps(fabric, *steps);
      QVERIFY(verdict && verdict->ok);
    }
    lowering::Options options;
    options.runtime = kTargets[turn++ % kTargets.size()];
    if (isRare(collective) && options.runtime == Runtime::msccl) {
      options.runtime = Runtime::mscclExecutorNccl;
    }
    options.inPlace = inPlace;
    inPlace = !inPlace;
    const auto* forests = std::get_if<schedule::Schedule>(&*schedule);
    if (forests != nullptr && schedule::needsSwitches(fabric, *forests)) {
      const auto refused = lowering::lower(fabric, *schedule, options);
      QVERIFY(!refused && refused.error().code == ErrorCode::unavailable);
      continue;
    }
    const std::string wrong = examine(fabric, *schedule, options, turn % 4 == 0);
    QVERIFY2(wrong.empty(), (nameOf(collective, options) + wrong).c_str());
  }
}

/// Instances, planes and protocols, in place and out of place, for all runtimes.
void LoweringStepsTest::arrangements_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QString>("arguments");
  QTest::addColumn<QString>("name");
  QTest::addColumn<int>("collective");
  const auto row = [](const char* preset, const char* arguments, const char* name, Collective collective) {
    QTest::addRow("%s %s", name, std::string(toString(collective)).c_str())
        << preset << arguments << name << static_cast<int>(collective);
  };
  row("dgx-a100", "boxes=2", "multi-ring", Collective::allreduce);
  row("dgx-a100", "boxes=2", "two-level", Collective::alltoall);
  row("dgx-a100", "boxes=2", "hierarchical", Collective::reduceScatter);
  row("dgx-a100", "boxes=2", "recursive-doubling", Collective::allreduce);
  row("dgx-a100", "boxes=2", "recursive-doubling", Collective::broadcast);
  row("complete", "gpus=7", "bruck", Collective::allgather);
  row("complete", "gpus=7", "bruck", Collective::alltoall);
  row("complete", "gpus=7", "direct", Collective::gather);
  row("complete", "gpus=7", "direct", Collective::scatter);
  row("complete", "gpus=7", "direct", Collective::reduce);
}

void LoweringStepsTest::arrangements() {
  QFETCH(QString, preset);
  QFETCH(QString, arguments);
  QFETCH(QString, name);
  QFETCH(int, collective);
  const fabric::Fabric fabric = presetFabric(preset + u' ' + arguments);
  const StepSchedule schedule = baseline(fabric, name.toStdString().c_str(), static_cast<Collective>(collective));
  for (const Runtime runtime : {Runtime::msccl, Runtime::mscclExecutorNccl, Runtime::rccl, Runtime::rccl60}) {
    for (const bool inPlace : {true, false}) {
      for (const int instances : {1, 2}) {
        lowering::Options options{.runtime = runtime, .inPlace = inPlace, .instances = instances};
        options.channels = instances == 2 ? lowering::ChannelPolicy::nicPlanes : lowering::ChannelPolicy::compact;
        options.protocol = instances == 2 ? program::Protocol::ll128 : program::Protocol::ll;
        const bool copies = runtime == Runtime::rccl60 && !reduces(static_cast<Collective>(collective)) &&
                            (!inPlace || !lowering::hasInPlace(static_cast<Collective>(collective)));
        const bool isUnknown = isRare(static_cast<Collective>(collective)) && runtime == Runtime::msccl;
        const std::string wrong = examine(fabric, schedule, options, !inPlace);
        QVERIFY2(wrong.empty() != (copies || isUnknown), (nameOf(schedule.goal.collective(), options) + wrong).c_str());
      }
    }
  }
}

/// Trees as transfers in pieces, without steps.
void LoweringStepsTest::forests_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QString>("arguments");
  QTest::newRow("two A100 boxes") << "dgx-a100"
                                  << "boxes=2";
  QTest::newRow("ring of 5") << "ring"
                             << "gpus=5";
  QTest::newRow("V100") << "dgx1-v100"
                        << "";
}

void LoweringStepsTest::forests() {
  QFETCH(QString, preset);
  QFETCH(QString, arguments);
  const fabric::Fabric fabric = presetFabric(preset + u' ' + arguments);
  int turn = 0;
  for (const Collective collective : kForestCollectives) {
    forestcoll::Request request;
    request.collective = collective;
    request.fixedK = 2;
    if (isRooted(collective)) {
      request.root = 1;
    }
    const schedule::Schedule forest = forestcoll::generate(fabric, request).value().schedule;
    for (const int pieces : {1, 3}) {
      const StepSchedule steps = schedule::stepScheduleOf(fabric, forest, pieces).value();
      lowering::Options options;
      options.runtime = std::array{Runtime::msccl, Runtime::mscclExecutorNccl, Runtime::rccl}[turn % 3];
      options.inPlace = turn++ % 2 == 0;
      const std::string wrong = examine(fabric, steps, options, true);
      QVERIFY2(wrong.empty(), (nameOf(collective, options) + wrong).c_str());
    }
  }
}

void LoweringStepsTest::randomSchedules_data() {
  QTest::addColumn<int>("seed");
  for (int seed = 0; seed < 40; ++seed) {
    QTest::addRow("seed %d", seed) << seed;
  }
}

void LoweringStepsTest::randomSchedules() {
  QFETCH(int, seed);
  Random random(static_cast<std::uint64_t>(seed) * 7919 + 1);
  const fabric::Fabric fabric = presetFabric("complete gpus=" + QString::number(3 + random.below(5)));
  for (const Collective collective :
       {Collective::allgather, Collective::alltoall, Collective::gather, Collective::scatter, Collective::broadcast,
        Collective::allreduce, Collective::reduceScatter, Collective::reduce}) {
    const int pieces = 1 + random.below(4);
    const auto schedule =
        finished(fabric, reduces(collective) ? sums(fabric, collective, pieces, random.below(2) == 0, random)
                                             : gossip(fabric, collective, pieces, random));
    QVERIFY2(schedule.has_value(), std::string(toString(collective)).c_str());
    lowering::Options options;
    options.runtime = isRare(collective) || random.below(2) == 0
                          ? std::array{Runtime::mscclExecutorNccl, Runtime::rccl}[random.below(2)]
                          : Runtime::msccl;
    options.inPlace = random.below(2) == 0;
    options.instances = 1 + random.below(2);
    const std::string wrong = examine(fabric, *schedule, options, true);
    QVERIFY2(wrong.empty(), (nameOf(collective, options) + wrong).c_str());
  }
}

/// Two ranks that exchange sums must send before they add; no connection holds more than its depth.
void LoweringStepsTest::exchangedChunks() {
  const fabric::Fabric fabric = presetFabric("complete gpus=8");
  const StepSchedule schedule = baseline(fabric, "recursive-doubling", Collective::allreduce);
  for (const int pieces : {1, 2, 5, 64, 200}) {
    StepSchedule cut = schedule;
    cut.denominator = pieces;
    cut.transfers = {};
    for (std::size_t i = 0; i < schedule.transfers.size(); ++i) {
      schedule::Transfer transfer = schedule.transfers[i];
      transfer.end = pieces;
      cut.transfers.add(transfer);
      if (pieces > 1 && i == 0) {
        // An end that asks for all the chunks.
        cut.transfers = {};
        transfer.end = 1;
        cut.transfers.add(transfer);
        transfer.begin = 1;
        transfer.end = pieces;
        cut.transfers.add(transfer);
      }
    }
    QCOMPARE(schedule::exactGrid(cut), pieces);
    for (const Runtime runtime : {Runtime::msccl, Runtime::rccl}) {
      for (const bool inPlace : {true, false}) {
        const lowering::Options options{.runtime = runtime, .inPlace = inPlace};
        const std::string wrong = examine(fabric, cut, options, true);
        QVERIFY2(wrong.empty(), (nameOf(Collective::allreduce, options) + wrong).c_str());
      }
    }
  }
}

/// What passes through a rank takes scratch only while it is there.
void LoweringStepsTest::scratchIsUsedAgain() {
  const fabric::Fabric fabric = presetFabric("complete gpus=3");
  constexpr int kPieces = 8;
  StepSchedule chain = emptySchedule(fabric, Collective::scatter, 0, 2 * kPieces, kPieces);
  for (int piece = 0; piece < kPieces; ++piece) {
    chain.transfers.add({.shard = 1, .begin = piece, .end = piece + 1, .from = 0, .to = 1, .step = 2 * piece});
    chain.transfers.add({.shard = 2, .begin = piece, .end = piece + 1, .from = 0, .to = 1, .step = 2 * piece});
    chain.transfers.add({.shard = 2, .begin = piece, .end = piece + 1, .from = 1, .to = 2, .step = 2 * piece + 1});
  }
  const auto schedule = finished(fabric, chain);
  QVERIFY(schedule.has_value());
  for (const Runtime runtime : {Runtime::mscclExecutorNccl, Runtime::rccl}) {
    const auto program = lowering::lower(fabric, *schedule, {.runtime = runtime});
    QVERIFY(program.hasValue());
    QCOMPARE(program->ranks[0].scratchChunks, 0);
    QVERIFY2(program->ranks[1].scratchChunks >= 1 && program->ranks[1].scratchChunks <= 2,
             std::to_string(program->ranks[1].scratchChunks).c_str());
    QCOMPARE(program->ranks[2].scratchChunks, 0);
    QCOMPARE(examine(fabric, *schedule, {.runtime = runtime}, true), std::string());
  }
}

/// An order between two GPUs that the data does not ask for.
void LoweringStepsTest::orderIsKept() {
  const fabric::Fabric fabric = presetFabric("complete gpus=2");
  StepSchedule made = emptySchedule(fabric, Collective::broadcast, 0, 1, 4);
  made.isSynchronous = false;
  made.keepsOrder = true;
  const std::vector<int> wanted{2, 0, 3, 1};
  for (const int piece : wanted) {
    made.transfers.add({.shard = 0, .begin = piece, .end = piece + 1, .from = 0, .to = 1});
  }
  const auto schedule = finished(fabric, made);
  QVERIFY(schedule.has_value());
  const auto program = lowering::lower(fabric, *schedule);
  QVERIFY(program.hasValue());
  for (const program::ThreadBlock& block : program->ranks[0].threadBlocks) {
    std::size_t place = 0;
    for (const program::Step& step : block.steps) {
      const auto found = std::find(wanted.begin() + static_cast<std::ptrdiff_t>(place), wanted.end(), step.src.offset);
      QVERIFY(found != wanted.end());
      place = static_cast<std::size_t>(found - wanted.begin()) + 1;
    }
  }
}

namespace {

/// Half of the data goes to each of two ranks, which then exchange it; `first` of `parts` to rank 1.
StepSchedule halves(const fabric::Fabric& fabric, std::int64_t first, std::int64_t parts) {
  StepSchedule made = emptySchedule(fabric, Collective::broadcast, 0, 2, 1);
  made.denominator = parts;
  made.transfers.add({.shard = 0, .begin = 0, .end = first, .from = 0, .to = 1, .step = 0});
  made.transfers.add({.shard = 0, .begin = first, .end = parts, .from = 0, .to = 2, .step = 0});
  made.transfers.add({.shard = 0, .begin = 0, .end = first, .from = 1, .to = 2, .step = 1});
  made.transfers.add({.shard = 0, .begin = first, .end = parts, .from = 2, .to = 1, .step = 1});
  return finished(fabric, made).value();
}

}  // namespace

void LoweringStepsTest::grids() {
  const fabric::Fabric fabric = presetFabric("complete gpus=3");
  QCOMPARE(schedule::exactGrid(halves(fabric, 12, 24)), 2);
  QCOMPARE(schedule::exactGrid(halves(fabric, 9, 24)), 8);
  const StepSchedule even = halves(fabric, 1, 2);
  // On three chunks, one rank gets two of them: 2/3 instead of 1/2 in both steps.
  const StepSchedule thirds = schedule::onGrid(fabric, even, 3).value();
  QCOMPARE(thirds.algbw, even.algbw * Rational(3, 4));
  QVERIFY(verify::verifySteps(fabric, thirds)->ok);
  // On one, a rank gets everything and the other nothing.
  const StepSchedule whole = schedule::onGrid(fabric, even, 1).value();
  QCOMPARE(whole.transfers.size(), std::size_t{2});
  QVERIFY(verify::verifySteps(fabric, whole)->ok);
  QCOMPARE(schedule::onGrid(fabric, even, 0).error().code, ErrorCode::badUsage);
  const auto program = lowering::lower(fabric, even, {.chunks = 3});
  QVERIFY(program.hasValue());
  QCOMPARE(program->chunksPerLoop, 3);
  QCOMPARE(examine(fabric, even, {.chunks = 3}, true), std::string());
}

void LoweringStepsTest::denominatorIsRefused() {
  const fabric::Fabric fabric = presetFabric("complete gpus=3");
  // A third of 100003, which is prime: no grid up to 32768 holds it.
  const StepSchedule schedule = halves(fabric, 33334, 100003);
  const auto refused = lowering::lower(fabric, schedule);
  QCOMPARE(refused.error().code, ErrorCode::limit);
  const std::string text = describe(refused.error());
  QVERIFY2(text.find("100003") != std::string::npos && text.find("32768") != std::string::npos, text.c_str());
  const std::size_t option = text.find("(--chunks ");
  QVERIFY2(option != std::string::npos && text.find("algbw") != std::string::npos, text.c_str());
  const std::int64_t chunks = std::stoll(text.substr(option + 10));
  const StepSchedule rounded = schedule::onGrid(fabric, schedule, chunks).value();
  const Rational loss = Rational(1) - rounded.algbw / schedule.algbw;
  QVERIFY2(text.find(loss.isPositive() ? "loses " + loss.toString() : "loses nothing") != std::string::npos,
           text.c_str());
  QCOMPARE(examine(fabric, schedule, {.chunks = chunks}, false), std::string());
}

/// Half of the data from rank 0 to 1 and 3, through 2; a quarter summed up at 0; an eighth that 3 has and wants, and
/// gives to 2.
void LoweringStepsTest::customCollective_data() {
  QTest::addColumn<bool>("inPlace");
  QTest::newRow("in place") << true;
  QTest::newRow("out of place") << false;
}

void LoweringStepsTest::customCollective() {
  QFETCH(bool, inPlace);
  const fabric::Fabric fabric = presetFabric("complete gpus=4");
  const std::vector<schedule::CustomShard> rows{{Rational(1, 2), {0}, {1, 3}, false},
                                                {Rational(1, 4), {1, 2, 3}, {0}, true},
                                                {Rational(1, 8), {3}, {2, 3}, false}};
  StepSchedule made;
  made.goal = schedule::CollectiveTable::custom(4, rows).value();
  made.fabricDigest = fabric.digest();
  made.denominator = 3;
  made.stepCount = 3;
  made.transfers.add({.shard = 0, .begin = 0, .end = 1, .from = 0, .to = 2, .step = 0});
  made.transfers.add({.shard = 0, .begin = 1, .end = 3, .from = 0, .to = 1, .step = 0});
  made.transfers.add({.shard = 1, .begin = 0, .end = 3, .from = 3, .to = 2, .step = 0, .reduces = true});
  made.transfers.add({.shard = 0, .begin = 0, .end = 1, .from = 2, .to = 1, .step = 1});
  made.transfers.add({.shard = 1, .begin = 0, .end = 3, .from = 2, .to = 0, .step = 1, .reduces = true});
  made.transfers.add({.shard = 2, .begin = 0, .end = 3, .from = 3, .to = 2, .step = 1});
  made.transfers.add({.shard = 0, .begin = 0, .end = 3, .from = 1, .to = 3, .step = 2});
  made.transfers.add({.shard = 1, .begin = 0, .end = 3, .from = 1, .to = 0, .step = 2, .reduces = true});
  const auto schedule = finished(fabric, made);
  QVERIFY(schedule.has_value());
  const auto program = lowering::lower(fabric, *schedule, {.inPlace = inPlace});
  QVERIFY2(program.hasValue(), program ? "" : describe(program.error()).c_str());
  QCOMPARE(program->chunksPerLoop, 21);  // 4 + 2 + 1 eighths, each in three chunks
  const std::string text = program::writeMscclXml(*program, Runtime::msccl);
  const auto file = program::readMscclXml(text, Runtime::msccl);
  QVERIFY(file && file->findings.empty());
  verify::ProgramCheckOptions checks;
  QVERIFY(!verify::verifyProgram(file->program, checks)->ok);  // the goal is not known
  checks.custom = {{0, 12, {0}, {1, 3}, false}, {12, 6, {1, 2, 3}, {0}, true}, {18, 3, {3}, {2, 3}, false}};
  const auto rows21 = verify::customGoal(schedule->goal, 4, program->chunksPerLoop);
  QVERIFY2(rows21.hasValue(), rows21 ? "" : describe(rows21.error()).c_str());
  QCOMPARE(rows21->size(), checks.custom.size());
  for (std::size_t row = 0; row < rows21->size(); ++row) {
    const verify::CustomShard& one = (*rows21)[row];
    const verify::CustomShard& other = checks.custom[row];
    QVERIFY(one.first == other.first && one.count == other.count && one.sources == other.sources &&
            one.destinations == other.destinations && one.combines == other.combines);
  }
  const auto uneven = verify::customGoal(schedule->goal, 4, 20);
  QVERIFY(!uneven && uneven.error().fix.find("multiple of 7 chunks") != std::string::npos);
  QVERIFY(!verify::customGoal(schedule->goal, 3, 21));
  const auto verdict = verify::verifyProgram(file->program, checks);
  QVERIFY2(verdict && verdict->ok,
           verdict && !verdict->findings.empty() ? describe(verdict->findings.front()).c_str() : "");
  // Other goals are not met.
  auto wrong = checks;
  wrong.custom[0].destinations = {1, 2};
  QVERIFY(!verify::verifyProgram(file->program, wrong)->ok);
  wrong = checks;
  wrong.custom[1].sources = {1, 2};
  QVERIFY(!verify::verifyProgram(file->program, wrong)->ok);
  wrong = checks;
  wrong.custom[2].first = 19;
  QVERIFY(!verify::verifyProgram(file->program, wrong)->ok);
  for (const Runtime runtime : {Runtime::rccl, Runtime::mscclExecutorNccl}) {
    QCOMPARE(lowering::lower(fabric, *schedule, {.runtime = runtime}).error().code, ErrorCode::badUsage);
  }
  QCOMPARE(lowering::lower(fabric, *schedule, {.instances = 2}).error().code, ErrorCode::badUsage);
}

void LoweringStepsTest::refusals_data() {
  QTest::addColumn<int>("collective");
  QTest::addColumn<bool>("hasAmounts");
  QTest::addColumn<int>("runtime");
  QTest::addColumn<QString>("says");
  const auto row = [](const char* name, Collective collective, bool hasAmounts, Runtime runtime, const char* says) {
    QTest::newRow(name) << static_cast<int>(collective) << hasAmounts << static_cast<int>(runtime) << says;
  };
  row("gather", Collective::gather, false, Runtime::msccl, "msccl does not support gather");
  row("scatter", Collective::scatter, false, Runtime::msccl, "msccl does not support scatter");
  row("amounts", Collective::allgather, true, Runtime::msccl, "an equal share");
  row("alltoallv", Collective::alltoall, true, Runtime::rccl, "an equal share");
  row("copies", Collective::alltoall, false, Runtime::rccl60, "cpy is not built into rccl-6.0");
}

void LoweringStepsTest::refusals() {
  QFETCH(int, collective);
  QFETCH(bool, hasAmounts);
  QFETCH(int, runtime);
  QFETCH(QString, says);
  const fabric::Fabric fabric = presetFabric("complete gpus=3");
  StepSchedule schedule = baseline(fabric, "direct", static_cast<Collective>(collective));
  if (hasAmounts) {
    std::vector<std::int64_t> amounts(static_cast<std::size_t>(schedule.goal.shardCount()), 1);
    amounts[1] = 2;
    schedule.goal = schedule::CollectiveTable::make(static_cast<Collective>(collective), 3, {}, amounts).value();
  }
  const auto refused = lowering::lower(fabric, schedule, {.runtime = static_cast<Runtime>(runtime)});
  QVERIFY(!refused);
  const std::string text = describe(refused.error());
  QVERIFY2(QString::fromStdString(text).contains(says) && !refused.error().fix.empty(), text.c_str());
}

/// Files can say anything.
void LoweringStepsTest::brokenShape_data() {
  QTest::addColumn<int>("shard");
  QTest::addColumn<int>("begin");
  QTest::addColumn<int>("end");
  QTest::addColumn<int>("from");
  QTest::addColumn<int>("to");
  QTest::addColumn<int>("route");
  QTest::addColumn<int>("step");
  QTest::newRow("shard") << 3 << 0 << 1 << 0 << 1 << -1 << 0;
  QTest::newRow("empty piece") << 0 << 1 << 1 << 0 << 1 << -1 << 0;
  QTest::newRow("piece beyond its shard") << 0 << 0 << 2 << 0 << 1 << -1 << 0;
  QTest::newRow("rank") << 0 << 0 << 1 << 0 << 3 << -1 << 0;
  QTest::newRow("negative rank") << 0 << 0 << 1 << -1 << 1 << -1 << 0;
  QTest::newRow("to itself") << 0 << 0 << 1 << 1 << 1 << -1 << 0;
  QTest::newRow("route") << 0 << 0 << 1 << 0 << 1 << 99 << 0;
  QTest::newRow("step") << 0 << 0 << 1 << 0 << 1 << -1 << 7;
}

void LoweringStepsTest::brokenShape() {
  QFETCH(int, shard);
  QFETCH(int, begin);
  QFETCH(int, end);
  QFETCH(int, from);
  QFETCH(int, to);
  QFETCH(int, route);
  QFETCH(int, step);
  const fabric::Fabric fabric = presetFabric("complete gpus=3");
  StepSchedule schedule = baseline(fabric, "direct", Collective::allgather);
  schedule.transfers.add({shard, begin, end, from, to, static_cast<schedule::PathId>(route), step, false});
  const auto refused = lowering::lower(fabric, schedule);
  QCOMPARE(refused.error().code, ErrorCode::badInput);
  QCOMPARE(toText(refused.error().where.element), "transfer " + std::to_string(schedule.transfers.size() - 1));
}

QTEST_GUILESS_MAIN(LoweringStepsTest)
#include "tst_lowering_steps.moc"
