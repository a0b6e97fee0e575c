// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>
#include <string>

#include "baselines/baselines.hpp"
#include "executor/support.hpp"
#include "fabric/fabric.hpp"
#include "lowering/lowering.hpp"
#include "presets/presets.hpp"
#include "schedule/step_cost.hpp"
#include "schedule/step_routes.hpp"
#include "support/overlapped_bound.hpp"
#include "verify/custom_goal.hpp"
#include "verify/schedule_verifier.hpp"
#include "verify/step_verifier.hpp"

using namespace coppice;
using namespace coppice::executor;
using namespace coppice::executor::test;

namespace {

constexpr int kMaxGpus = 32;

fabric::Fabric built(const std::string& preset, const std::map<std::string, std::string>& arguments) {
  return fabric::Fabric::build(presets::make(preset, arguments).value()).value();
}

const std::map<std::string, fabric::Fabric>& fabrics() {
  static const std::map<std::string, fabric::Fabric> kFabrics = [] {
    std::map<std::string, fabric::Fabric> made;
    for (const presets::Preset& preset : presets::catalogue()) {
      fabric::Fabric fabric = built(preset.name, {});
      if (fabric.gpuCount() <= kMaxGpus) {
        made.emplace(preset.name, std::move(fabric));
      }
    }
    // NVLink SHARP needs one box alone, or SHARP between the boxes.
    made.emplace("dgx-h100 with SHARP", built("dgx-h100", {{"boxes", "2"}, {"sharp", "true"}}));
    return made;
  }();
  return kFabrics;
}

/// A table of shards, its schedule on a full mesh, and what is lowered from it.
struct Custom {
  fabric::Fabric fabric;
  schedule::StepSchedule schedule;
};

std::vector<int> someOf(int ranks, std::mt19937& dice) {
  std::vector<int> chosen;
  for (int rank = 0; rank < ranks; ++rank) {
    if (dice() % 2 == 0) {
      chosen.push_back(rank);
    }
  }
  return chosen.empty() ? std::vector<int>{static_cast<int>(dice() % static_cast<unsigned>(ranks))} : chosen;
}

/// Copies come from any source, some through a third rank. Sums are made at the first destination.
void addTransfers(const schedule::CustomShard& row, int shard, int ranks, std::mt19937& dice,
                  schedule::StepSchedule& made) {
  const auto isSource = [&](int rank) { return std::ranges::count(row.sources, rank) > 0; };
  const auto add = [&](int from, int to, int step, bool reduces) {
    made.transfers.add({.shard = shard,
                        .begin = 0,
                        .end = made.denominator,
                        .from = from,
                        .to = to,
                        .step = step,
                        .reduces = reduces});
  };
  if (row.combines) {
    const int first = row.destinations.front();
    for (const int source : row.sources) {
      if (source != first) {
        add(source, first, 0, true);
      }
    }
    for (const int rank : row.destinations) {
      if (rank != first) {
        add(first, rank, 1, false);
      }
    }
    return;
  }
  std::set<int> relays;
  for (const int rank : row.destinations) {
    const int from = row.sources[dice() % row.sources.size()];
    const auto relay = static_cast<int>(dice() % static_cast<unsigned>(ranks));
    const bool isRelayed =
        relay != from && relay != rank && !isSource(relay) && std::ranges::count(row.destinations, relay) == 0;
    if (isSource(rank)) {
      continue;
    }
    if (isRelayed && relays.insert(relay).second) {
      add(from, relay, 0, false);
    }
    add(isRelayed ? relay : from, rank, 1, false);
  }
}

Custom randomCustom(int seed) {
  std::mt19937 dice(static_cast<unsigned>(seed));
  const int ranks = 3 + seed % 4;
  const auto mesh = presets::make("complete", {{"gpus", std::to_string(ranks)}}).value();
  Custom custom{fabric::Fabric::build(mesh).value(), {}};
  std::vector<schedule::CustomShard> rows;
  for (const std::size_t count = 1 + dice() % 5; rows.size() < count;) {
    const bool combines = dice() % 2 == 0;
    const Rational share(static_cast<std::int64_t>(1 + dice() % 3), 4);
    rows.push_back({share, someOf(ranks, dice), someOf(ranks, dice), combines});
  }
  schedule::StepSchedule& made = custom.schedule;
  made.goal = schedule::CollectiveTable::custom(ranks, rows).value();
  made.fabricDigest = custom.fabric.digest();
  made.denominator = 1 + seed % 2;
  made.stepCount = 2;
  for (std::size_t shard = 0; shard < rows.size(); ++shard) {
    addTransfers(rows[shard], static_cast<int>(shard), ranks, dice, made);
  }
  made.transfers.sortBySteps();
  if (!schedule::addRoutes(custom.fabric, made)) {
    qFatal("no routes");
  }
  made.algbw = made.transfers.empty() ? Bandwidth() : schedule::stepCost(custom.fabric, made)->algbw;
  return custom;
}

std::string faultOf(const fabric::Fabric& fabric, const schedule::AnySchedule& schedule) {
  if (const auto* forest = std::get_if<schedule::Schedule>(&schedule)) {
    const auto verdict = verify::verifySchedule(fabric, coppice::test::withBound(fabric, *forest), {.maxFlow = false});
    return verdict && verdict->ok ? "" : "the trees are wrong";
  }
  const auto verdict = verify::verifySteps(fabric, std::get<schedule::StepSchedule>(schedule));
  return !verdict ? describe(verdict.error()) : verdict->ok ? "" : describe(verdict->findings.front());
}

}  // namespace

/// Every baseline, for every collective that it makes, on every preset up to 32 GPUs that supports it: generated,
/// verified, lowered, verified as a program, and run on real data. And custom collectives.
class ExecutorBaselinesTest : public QObject {
  Q_OBJECT

private slots:
  void presets_data();
  void presets();
  void allRan();
  void customTables_data();
  void customTables();
  void customFaults();

private:
  std::unique_ptr<Backend> m_backend = makeThreads(2);
  std::set<std::string> m_ran;           ///< "ring allgather"
  std::set<std::string> m_needSwitches;  ///< the same, of those that were refused
  std::size_t m_turn = 0;
};

void ExecutorBaselinesTest::presets_data() {
  QTest::addColumn<QString>("preset");
  for (const auto& [name, fabric] : fabrics()) {
    QTest::newRow(name.c_str()) << QString::fromStdString(name);
  }
}

void ExecutorBaselinesTest::presets() {
  QFETCH(QString, preset);
  const fabric::Fabric& fabric = fabrics().at(preset.toStdString());
  int ran = 0;
  for (const baselines::Baseline& baseline : baselines::list()) {
    for (const Collective collective : baseline.collectives) {
      const std::string name = std::string(baseline.name) + " " + std::string(toString(collective));
      baselines::Request request{.collective = collective};
      if (isRooted(collective)) {
        request.root = fabric.gpuCount() / 3;
      }
      const auto schedule = baselines::generate(baseline.name, fabric, request);
      if (!schedule) {
        QVERIFY2(schedule.error().code == ErrorCode::infeasible, (name + ": " + describe(schedule.error())).c_str());
        continue;
      }
      const std::string fault = faultOf(fabric, *schedule);
      QVERIFY2(fault.empty(), (name + ": " + fault).c_str());
      const bool isRare = collective == Collective::gather || collective == Collective::scatter;
      const auto runtime = isRare ? program::Runtime::mscclExecutorNccl : program::Runtime::msccl;
      // In place and out of place change places from one program to the next.
      const bool inPlace = ++m_turn % 2 == 0 && lowering::hasInPlace(collective);
      const auto program = lowering::lower(fabric, *schedule, {.runtime = runtime, .inPlace = inPlace});
      if (!program && baseline.isForest && program.error().code == ErrorCode::unavailable) {
        m_needSwitches.insert(name);
        continue;
      }
      QVERIFY2(program.hasValue(), program ? "" : (name + ": " + describe(program.error())).c_str());
      const Job job = jobOf(*program, {.runtime = runtime, .root = request.root.value_or(-1)});
      QVERIFY2(job.inPlace.has_value() == inPlace && job.outOfPlace.has_value() != inPlace, name.c_str());
      BenchOptions options = checking(4 * 1021 * (1 + static_cast<std::int64_t>(m_turn % 3)));
      options.types = {kAllTypes[m_turn % std::size(kAllTypes)]};
      options.ops = {kAllOps[m_turn % std::size(kAllOps)]};
      const Ran outcome = runJob(*m_backend, job, options);
      QVERIFY2(outcome.fault().empty(),
               (name + (inPlace ? " in place: " : " out of place: ") + outcome.fault()).c_str());
      m_ran.insert(name);
      ++ran;
    }
  }
  QVERIFY(ran > 0);
}

/// Some preset supports each of them, but for those that no program can say because switches sum and copy in them.
void ExecutorBaselinesTest::allRan() {
  for (const baselines::Baseline& baseline : baselines::list()) {
    for (const Collective collective : baseline.collectives) {
      const std::string name = std::string(baseline.name) + " " + std::string(toString(collective));
      QVERIFY2(m_ran.contains(name) || m_needSwitches.contains(name), name.c_str());
    }
  }
}

void ExecutorBaselinesTest::customTables_data() {
  QTest::addColumn<int>("seed");
  for (int seed = 0; seed < 40; ++seed) {
    QTest::addRow("%d", seed) << seed;
  }
}

/// Collectives that only a table defines: verified as transfers, then as programs, then run.
void ExecutorBaselinesTest::customTables() {
  QFETCH(int, seed);
  const Custom custom = randomCustom(seed);
  if (custom.schedule.transfers.empty()) {
    return;  // everybody has what is needed
  }
  QCOMPARE(faultOf(custom.fabric, custom.schedule), std::string());
  for (const bool inPlace : {true, false}) {
    const auto program = lowering::lower(custom.fabric, custom.schedule, {.inPlace = inPlace});
    QVERIFY2(program.hasValue(), program ? "" : describe(program.error()).c_str());
    const auto rows = verify::customGoal(custom.schedule.goal, custom.fabric.gpuCount(), program->chunksPerLoop);
    QVERIFY2(rows.hasValue(), rows ? "" : describe(rows.error()).c_str());
    const auto set = makePlans(*program, {.custom = *rows});
    QVERIFY2(set && set->ok, set ? firstError(set->findings).c_str() : "");
    const Job job = jobOf(*program, {.custom = *rows});
    for (const std::int64_t bytes : {std::int64_t{8}, std::int64_t{4099}, std::int64_t{3} << 20}) {
      BenchOptions options = checking(bytes);
      options.types = {kAllTypes[static_cast<std::size_t>(seed) % std::size(kAllTypes)]};
      options.ops = {std::array{ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max}[seed % 4]};
      const Ran ran = runJob(*m_backend, job, options);
      QVERIFY2(ran.fault().empty(), ran.fault().c_str());
      QCOMPARE(ran.all<program::SummaryRecord>().size(), std::size_t{1});
    }
  }
}

/// A table that the program does not do is refused; run nevertheless, the data show it.
void ExecutorBaselinesTest::customFaults() {
  int refused = 0;
  int seen = 0;
  for (int seed = 0; seed < 40; ++seed) {
    const Custom custom = randomCustom(seed);
    const auto program = lowering::lower(custom.fabric, custom.schedule, {.inPlace = false});
    if (custom.schedule.transfers.empty() || !program) {
      continue;
    }
    const auto rows = *verify::customGoal(custom.schedule.goal, custom.fabric.gpuCount(), program->chunksPerLoop);
    QVERIFY(!makePlans(*program, {})->ok);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      auto wrong = rows;
      wrong[row].sources = {};
      for (int rank = 0; rank < custom.fabric.gpuCount(); ++rank) {
        if (std::ranges::count(rows[row].sources, rank) == 0) {
          wrong[row].sources.push_back(rank);  // those that do not have it
        }
      }
      if (wrong[row].sources.empty()) {
        continue;
      }
      QVERIFY(!makePlans(*program, {.custom = wrong})->ok);
      ++refused;
      auto set = makePlans(*program, {.custom = wrong, .unchecked = true});
      QVERIFY2(set && set->ok, set ? firstError(set->findings).c_str() : "");
      Job job;
      job.outOfPlace = std::move(set->outOfPlace);
      job.depth = set->depth;
      BenchOptions options = checking(4096);
      options.types = {DataType::int32};
      const Ran ran = runJob(*m_backend, job, options);
      QVERIFY(ran.end.exit == program::RunExit::wrongResult);
      ++seen;
      if (job.any().combines()) {
        options.ops = {ReduceOp::avg};
        const Ran average = runJob(*m_backend, job, options);
        QVERIFY(average.end.exit == program::RunExit::badUsage);
        QVERIFY2(average.end.reason.find("avg") != std::string::npos, average.end.reason.c_str());
      }
    }
  }
  QVERIFY2(refused > 20 && seen == refused, std::to_string(refused).c_str());
}

QTEST_GUILESS_MAIN(ExecutorBaselinesTest)
#include "tst_executor_baselines.moc"
