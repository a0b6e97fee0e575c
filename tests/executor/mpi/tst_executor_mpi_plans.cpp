// SPDX-License-Identifier: Apache-2.0
#include <QTemporaryDir>
#include <QtTest>
#include <csignal>
#include <map>
#include <string>
#include <vector>

#include "baselines/baselines.hpp"
#include "executor/mpi/mpi_run.hpp"
#include "forestcoll/forestcoll.hpp"
#include "lowering/lowering.hpp"
#include "mscclpp/from_program.hpp"
#include "mscclpp/from_trees.hpp"
#include "mscclpp/plan_json.hpp"
#include "presets/presets.hpp"
#include "verify/mscclpp_verifier.hpp"

using namespace coppice;
using executor::test::MpiRun;
using executor::test::sharedMemory;
using mscclpp::ChannelType;
using mscclpp::ChunkRun;
using mscclpp::OpType;
using program::Buffer;

namespace {

constexpr int kRanks = 4;

fabric::Fabric fabricOf(const std::string& preset, const std::map<std::string, std::string>& arguments) {
  return fabric::Fabric::build(presets::make(preset, arguments).value()).value();
}

/// Trees on four GPUs, two in each box, so that memory and port channels both occur.
mscclpp::ExecutionPlan byTrees(Collective collective, program::Protocol protocol, bool inPlace,
                               const std::vector<std::int64_t>& amounts = {}) {
  const fabric::Fabric fabric = fabricOf("complete", {{"gpus", "4"}});
  forestcoll::Request request{.collective = collective};
  request.amounts = amounts;
  request.plainSwitches = true;
  if (isRooted(collective)) {
    request.root = 2;
  }
  const schedule::Schedule schedule = forestcoll::generate(fabric, request).value().schedule;
  const program::Program program =
      lowering::lower(fabric, schedule,
                      {.runtime = program::Runtime::mscclpp, .protocol = protocol, .inPlace = inPlace})
          .value();
  return mscclpp::fromProgram(program, {.boxOf = {0, 0, 1, 1}, .amounts = amounts}).value();
}

mscclpp::ExecutionPlan bySwitches() {
  const fabric::Fabric fabric = fabricOf("gb200-nvl72", {{"racks", "2"}, {"gpus", "4"}, {"nvls", "true"}});
  const schedule::AnySchedule schedule =
      baselines::generate("nvls-tree", fabric, {.collective = Collective::allreduce}).value();
  return mscclpp::fromTrees(fabric, std::get<schedule::Schedule>(schedule),
                            {.boxOf = {0, 0, 0, 0, 1, 1, 1, 1}, .name = "switches"})
      .value();
}

mscclpp::Operation onAll(OpType type) {
  return {.type = type, .channelType = ChannelType::memory, .channels = {0, 1, 2}};
}

/// Every rank pulls its two chunks from all others and puts the sums back: one by a pipeline, one by two threadblocks.
mscclpp::ExecutionPlan pulling() {
  mscclpp::ExecutionPlan plan{.name = "pulling", .collective = "allreduce", .inPlace = true};
  for (int rank = 0; rank < kRanks; ++rank) {
    mscclpp::Gpu gpu{.inputChunks = 2 * kRanks, .outputChunks = 2 * kRanks};
    const ChunkRun own{.buffer = Buffer::input, .index = 2 * rank, .size = 1};
    mscclpp::Operation sum{.type = OpType::readReduceSend, .channelType = ChannelType::memory};
    sum.sources = sum.destinations = {own};
    for (int peer = 0; peer < kRanks; ++peer) {
      if (peer != rank) {
        const ChunkRun theirs{.place = ChunkRun::Place::remote,
                              .id = static_cast<int>(gpu.memoryPeers.size()),
                              .index = 2 * rank,
                              .size = 1};
        sum.sources.push_back(theirs);
        sum.destinations.push_back(theirs);
        gpu.memoryPeers.push_back(peer);
        gpu.remoteBuffers.push_back({.rank = peer, .buffer = Buffer::input, .byMemory = true});
      }
    }
    mscclpp::Operation half = sum;
    half.groupSize = 2;
    for (auto* const runs : {&half.sources, &half.destinations}) {
      for (ChunkRun& run : *runs) {
        ++run.index;
      }
    }
    const mscclpp::Operation meet{.type = OpType::barrier, .barrier = 0, .barrierBlocks = 2};
    for (const int part : {0, 1}) {
      mscclpp::ThreadBlock block{.memoryChannels = {0, 1, 2}, .memoryBuffers = {0, 1, 2}};
      half.groupIndex = part;
      if (part == 0) {
        block.ops = {onAll(OpType::relaxedSignal), onAll(OpType::relaxedWait), {.type = OpType::nop}};
      }
      block.ops.push_back(meet);
      block.ops.push_back(half);
      if (part == 1) {
        block.ops.push_back(
            {.type = OpType::pipeline, .unitBytes = 512, .unitChunks = 1, .inner = {sum, {.type = OpType::nop}}});
      }
      block.ops.push_back(meet);
      if (part == 0) {
        block.ops.push_back(onAll(OpType::signal));
        block.ops.push_back(onAll(OpType::wait));
      }
      gpu.blocks.push_back(block);
    }
    plan.gpus.push_back(gpu);
  }
  return plan;
}

mscclpp::ExecutionPlan planOf(const QString& name) {
  using enum program::Protocol;
  return name == "allreduce"        ? byTrees(Collective::allreduce, simple, true)
         : name == "packets"        ? byTrees(Collective::allreduce, ll, false)
         : name == "unequal shares" ? byTrees(Collective::reduceScatter, simple, false, {3, 1, 2, 1})
         : name == "broadcast"      ? byTrees(Collective::broadcast, ll, true)
         : name == "switches"       ? bySwitches()
                                    : pulling();
}

}  // namespace

/// Execution plans of MSCCL++ with a process for each rank.
class ExecutorMpiPlansTest : public QObject {
  Q_OBJECT

private slots:
  void cleanup() { QCOMPARE(sharedMemory(), QStringList()); }
  void runs_data();
  void runs();
  void tellsWhereItWaits_data();
  void tellsWhereItWaits();
  void namesTheRankThatDied_data();
  void namesTheRankThatDied();
  void needsTheProcesses();
  void tellsThatSizesAreRounded();
  void gpusOfOneProcess();

private:
  QString write(const mscclpp::ExecutionPlan& plan) {
    const QString path = m_folder.filePath("plan.json");
    QFile file(path);
    const std::string text = mscclpp::writePlan(plan);
    return file.open(QIODevice::WriteOnly) && file.write(text.data(), static_cast<qint64>(text.size())) > 0 ? path
                                                                                                            : QString();
  }

  QTemporaryDir m_folder;
};

void ExecutorMpiPlansTest::runs_data() {
  QTest::addColumn<QString>("plan");
  QTest::addColumn<int>("processesOfHost");
  for (const QString& plan :
       QStringList{"allreduce", "packets", "unequal shares", "broadcast", "switches", "pulling"}) {
    for (const int processes : {4, 2, 1}) {
      QTest::newRow(qPrintable(plan + ", hosts of " + QString::number(processes))) << plan << processes;
    }
  }
}

/// Data is right whether ranks share memory or not, or some do.
void ExecutorMpiPlansTest::runs() {
  NEEDS_MPIRUN();
  QFETCH(QString, plan);
  QFETCH(int, processesOfHost);
  const mscclpp::ExecutionPlan built = planOf(plan);
  const auto verdict = verify::verifyExecutionPlan(built);
  QVERIFY(verdict.hasValue());
  QVERIFY2(verdict->ok, verdict->ok ? "" : describe(verdict->findings.front()).c_str());
  MpiRun run({write(built), "-b", "4K", "-e", "300K", "-f", "64", "-n", "5", "-w", "1", "--type", "float"},
             processesOfHost);
  QVERIFY2(run.finish() == 0, qPrintable(run.errors()));
  const auto results = run.all<program::ResultRecord>();
  QCOMPARE(results.size(), std::size_t{2});
  for (const program::ResultRecord& result : results) {
    QCOMPARE(result.wrong.value_or(-1), 0);
  }
}

void ExecutorMpiPlansTest::tellsWhereItWaits_data() {
  QTest::addColumn<int>("processesOfHost");
  QTest::newRow("shared memory") << 4;
  QTest::newRow("network") << 1;
}

void ExecutorMpiPlansTest::tellsWhereItWaits() {
  NEEDS_MPIRUN();
  QFETCH(int, processesOfHost);
  mscclpp::ExecutionPlan plan = pulling();
  plan.gpus[3].blocks[0].ops.erase(plan.gpus[3].blocks[0].ops.end() - 2);  // its signal at the end
  // Beside other work a rank may not answer for a second, and with less patience it would be the one that is named.
  MpiRun run({write(plan), "-b", "4K", "-e", "4K", "--unchecked", "--stall", "10"}, processesOfHost);
  QCOMPARE(run.finish(), 5);
  const auto* end = run.last<program::EndRecord>();
  QVERIFY(end != nullptr);
  QVERIFY2(end->reason.find("rank 0, threadblock 0, operation 7 (wait) waits") != std::string::npos,
           end->reason.c_str());
}

void ExecutorMpiPlansTest::namesTheRankThatDied_data() {
  tellsWhereItWaits_data();
}

void ExecutorMpiPlansTest::namesTheRankThatDied() {
  NEEDS_MPIRUN();
  QFETCH(int, processesOfHost);
  MpiRun run({write(pulling()), "-b", "4K", "-e", "4K", "-n", "100000000", "-w", "0"}, processesOfHost);
  QVERIFY(run.waitUntilInside(kRanks));
  QCOMPARE(::kill(run.members(kRanks)[2], SIGKILL), 0);
  QCOMPARE(run.finish(), 6);
  const auto* end = run.last<program::EndRecord>();
  QVERIFY(end != nullptr);
  QVERIFY2(end->reason.find("rank 2") != std::string::npos, end->reason.c_str());
}

void ExecutorMpiPlansTest::needsTheProcesses() {
  NEEDS_MPIRUN();
  MpiRun run({write(pulling()), "-b", "4K", "--ranks", "5"});
  QVERIFY(run.finish() != 0);
  const auto* end = run.last<program::EndRecord>();
  QVERIFY(end != nullptr);
  QVERIFY2(end->reason.find("for 4 ranks, not 5") != std::string::npos, end->reason.c_str());
}

void ExecutorMpiPlansTest::tellsThatSizesAreRounded() {
  NEEDS_MPIRUN();
  MpiRun run({write(pulling()), "-b", "1000", "-e", "1000"});
  QCOMPARE(run.finish(), 0);
  const auto* plan = run.last<program::PlanRecord>();
  QVERIFY(plan != nullptr && !plan->findings.empty());
  QVERIFY2(plan->findings.back().text.find("multiples of 128 bytes") != std::string::npos,
           plan->findings.back().text.c_str());
  const auto* result = run.last<program::ResultRecord>();
  QVERIFY(result != nullptr);
  QCOMPARE(result->size, std::int64_t{1024});
}

/// Refused before anything is started, with or without GPUs.
void ExecutorMpiPlansTest::gpusOfOneProcess() {
  for (const QStringList& words : {QStringList{"--processes", "2"}, QStringList{"--launch", "mpirun"}}) {
    executor::test::ExecRun run(COPPICE_EXEC, QStringList{write(pulling()), "--backend", "cuda"} + words,
                                executor::test::mpiEnvironment());
    QCOMPARE(run.finish(), 1);
    const auto* error = run.last<program::ErrorRecord>();
    QVERIFY(error != nullptr);
    QVERIFY2(error->error.message.find("on the GPUs of one process") != std::string::npos,
             error->error.message.c_str());
    QVERIFY(error->error.fix.find("--backend mpi") != std::string::npos);
  }
}

QTEST_GUILESS_MAIN(ExecutorMpiPlansTest)
#include "tst_executor_mpi_plans.moc"
