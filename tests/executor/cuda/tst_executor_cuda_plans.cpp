// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <cstring>
#include <functional>
#include <set>

#include "cuda/plan_wiring.hpp"
#include "executor/cuda/host_gpus.hpp"
#include "executor/cuda/plan_cases.hpp"
#include "mscclpp/plan_backend.hpp"

using namespace coppice;
using namespace coppice::executor;
using namespace coppice::executor::cuda::test;
using mscclpp::ChannelType;
using mscclpp::ChunkRun;
using mscclpp::ExecutionPlan;
using mscclpp::Operation;
using mscclpp::OpType;
using program::Buffer;

namespace {

constexpr std::size_t kInput = 0;
constexpr std::size_t kOutput = 1;
constexpr std::size_t kScratch = 2;

ChunkRun local(Buffer buffer, int index, int size = 1) {
  return {.place = ChunkRun::Place::local, .buffer = buffer, .index = index, .size = size};
}
ChunkRun remote(std::size_t id, int index, int size = 1) {
  return {.place = ChunkRun::Place::remote, .id = static_cast<int>(id), .index = index, .size = size};
}
ChunkRun switched(std::size_t id, int index, int size = 1) {
  return {.place = ChunkRun::Place::switched, .id = static_cast<int>(id), .index = index, .size = size};
}
ChunkRun in(int index, int size = 1) {
  return local(Buffer::input, index, size);
}
ChunkRun out(int index, int size = 1) {
  return local(Buffer::output, index, size);
}
ChunkRun scratch(int index, int size = 1) {
  return local(Buffer::scratch, index, size);
}

Operation moving(OpType type, std::vector<ChunkRun> sources, std::vector<ChunkRun> destinations,
                 ChannelType channel = ChannelType::none) {
  Operation op{
      .type = type, .channelType = channel, .sources = std::move(sources), .destinations = std::move(destinations)};
  if (channel == ChannelType::port) {
    op.channels.assign(op.destinations.size(), 0);
  }
  return op;
}
Operation syncing(OpType type, ChannelType channel = ChannelType::memory) {
  return {.type = type, .channelType = channel, .channels = {0}};
}
/// Both ranks have come so far.
std::vector<Operation> handshake() {
  return {{.type = OpType::nop}, syncing(OpType::signal), syncing(OpType::wait), {.type = OpType::nop}};
}

using Ops = std::vector<Operation>;

/// What the threadblocks of a rank run.
using BlocksOf = std::function<std::vector<Ops>(int rank)>;

/// Two ranks. Each reaches all buffers of the other by memory and by ports, and both by a switch.
ExecutionPlan pairOf(const BlocksOf& blocksOf) {
  ExecutionPlan plan{.name = "pair", .collective = "allreduce", .protocol = "LL"};
  for (const int peer : {1, 0}) {
    mscclpp::Gpu& gpu = plan.gpus.emplace_back();
    gpu.inputChunks = gpu.outputChunks = 4;
    gpu.scratchChunks = 8;
    gpu.memoryPeers = gpu.portPeers = {peer};
    gpu.semaphores = {0, 1};
    for (const Buffer buffer : {Buffer::input, Buffer::output, Buffer::scratch}) {
      gpu.remoteBuffers.push_back({.rank = peer, .buffer = buffer, .byMemory = true, .byPort = true});
      gpu.switchGroups.push_back({.buffer = buffer, .size = 8, .ranks = {0, 1}});
    }
    for (const Ops& ops : blocksOf(1 - peer)) {
      gpu.blocks.push_back({.memoryChannels = {0},
                            .portChannels = {0},
                            .switchGroups = {0, 1, 2},
                            .memoryBuffers = {0, 1, 2},
                            .portBuffers = {0, 1, 2},
                            .ops = ops});
    }
  }
  return plan;
}

ExecutionPlan pairOf(const std::vector<Ops>& blocks) {
  return pairOf([&](int /*rank*/) { return blocks; });
}

Ops joined(Ops all, const Ops& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// Between two handshakes.
ExecutionPlan around(const std::function<Ops(int rank)>& opsOf) {
  return pairOf([&](int rank) { return std::vector<Ops>{joined(joined(handshake(), opsOf(rank)), handshake())}; });
}
ExecutionPlan around(const Ops& ops) {
  return around([&](int /*rank*/) { return ops; });
}

/// What the operations of a plan are to show, by name.
std::vector<std::pair<std::string, ExecutionPlan>> allCases() {
  using enum OpType;
  constexpr auto kMemory = ChannelType::memory;
  constexpr auto kPort = ChannelType::port;
  constexpr auto kSwitch = ChannelType::switched;
  std::vector<std::pair<std::string, ExecutionPlan>> all;
  const auto add = [&](const std::string& name, const Ops& ops) { all.emplace_back(name, around(ops)); };
  add("copy", {moving(copy, {in(1, 3)}, {out(0, 3)})});
  add("put", {moving(put, {in(0), in(2)}, {remote(kOutput, 3), remote(kOutput, 0)}, kMemory)});
  add("put by port", {moving(put, {in(0, 2)}, {remote(kOutput, 2, 2)}, kPort),
                      syncing(signal, kPort),
                      syncing(wait, kPort),
                      {.type = flush, .channelType = kPort, .channels = {0}}});
  add("pws", {moving(putWithSignal, {in(1)}, {remote(kScratch, 5)}, kPort),
              syncing(wait, kPort),
              {.type = nop},
              moving(copy, {scratch(5)}, {out(1)})});
  add("pwsf", {moving(putWithSignalAndFlush, {in(1), in(2)}, {remote(kScratch, 5), remote(kScratch, 2)}, kPort),
               syncing(wait, kPort),
               syncing(relaxedWait, kPort),
               {.type = nop},
               moving(reduce, {scratch(5), scratch(2)}, {out(1)})});
  add("get", {moving(get, {remote(kInput, 2)}, {out(2)}, kMemory)});
  add("re", {moving(reduce, {in(0, 2), in(1, 2), in(2, 2)}, {out(1, 2)})});
  add("re into an operand",
      {moving(copy, {in(0)}, {out(0)}), {.type = nop}, moving(reduce, {in(1), in(2), out(0)}, {out(0)})});
  add("res", {moving(reduceSend, {in(0), in(1)}, {out(0), remote(kOutput, 1), remote(kOutput, 2)}, kMemory)});
  add("rre", {moving(readReduce, {in(0, 4), remote(kInput, 0, 4)}, {out(0, 4)}, kMemory)});
  add("rres", {moving(readReduceSend, {in(0), remote(kInput, 1)}, {out(0), remote(kOutput, 1)}, kMemory)});
  all.emplace_back(
      "glres", around([&](int rank) {
        return joined(
            joined({moving(multiLoadReduceStore, {switched(kInput, rank)}, {switched(kScratch, rank)}, kSwitch)},
                   handshake()),
            {moving(copy, {scratch(0, 2)}, {out(2, 2)})});
      }));
  all.emplace_back("gstore", around([&](int rank) {
                     return joined(
                         joined({moving(multiStore, {in(3)}, {switched(kScratch, rank)}, kSwitch)}, handshake()),
                         {moving(copy, {scratch(0, 2)}, {out(1, 2)})});
                   }));
  add("ppkt and upkt", {moving(putPackets, {in(0, 2)}, {remote(kScratch, 2, 2)}, kMemory),
                        moving(unpackPackets, {scratch(2, 2)}, {out(1, 2)})});
  add("ppkt by port", {moving(copyPackets, {in(1)}, {scratch(0)}),
                       {.type = nop},
                       moving(putPackets, {scratch(0)}, {remote(kScratch, 3)}, kPort),
                       moving(unpackPackets, {scratch(3)}, {out(2)})});
  add("cpkt", {moving(copyPackets, {in(2)}, {scratch(1)}), moving(unpackPackets, {scratch(1)}, {out(0)})});
  for (const ChannelType type : {kMemory, kPort}) {
    add(type == kPort ? "rppkt by port" : "rppkt",
        {moving(putPackets, {in(0)}, {remote(kScratch, 0)}, kMemory),
         moving(readPutPackets, {scratch(0)}, {remote(kScratch, 1), remote(kScratch, 2)}, type),
         moving(unpackPackets, {scratch(1)}, {out(0)}), moving(unpackPackets, {scratch(2)}, {out(3)})});
  }
  const Operation send = moving(putPackets, {in(0), in(1)}, {remote(kScratch, 0), remote(kScratch, 1)}, kMemory);
  add("repkt", {send, moving(reducePackets, {in(3), scratch(0), scratch(1)}, {out(0)})});
  add("respkt",
      {send, moving(reduceSendPackets, {in(3), scratch(0), scratch(1)}, {out(0), remote(kScratch, 4)}, kMemory),
       moving(unpackPackets, {scratch(4)}, {out(1)})});
  add("recpkt", {send, moving(reduceCopyPackets, {in(3), scratch(0), scratch(1)}, {out(0), scratch(6)}),
                 moving(unpackPackets, {scratch(6)}, {out(1)})});
  add("recspkt", {send,
                  moving(reduceCopySendPackets, {in(3), scratch(0), scratch(1)},
                         {out(0), scratch(6), remote(kScratch, 7)}, kMemory),
                  moving(unpackPackets, {scratch(6)}, {out(1)}), moving(unpackPackets, {scratch(7)}, {out(2)})});
  all.emplace_back("gstorepkt", around([&](int rank) -> Ops {
                     return {moving(copyPackets, {in(0)}, {scratch(2)}),
                             moving(multiStorePackets, {scratch(2)}, {switched(kScratch, 4 + rank)}, kSwitch),
                             moving(reducePackets, {in(1), scratch(4), scratch(5)}, {out(3)})};
                   }));

  add("pipeline", {{.type = pipeline,
                    .unitBytes = 48,
                    .unitChunks = 2,
                    .inner = {moving(copy, {in(1, 2)}, {scratch(0, 2)}),
                              {.type = nop},
                              moving(reduce, {scratch(0, 2), in(0, 2)}, {out(2, 2)}),
                              {.type = nop}}}});
  ExecutionPlan wrapping = around(
      {{.type = pipeline,
        .unitBytes = 512,
        .unitChunks = 1,
        .inner = {
            moving(copy, {in(1)}, {scratch(3)}), {.type = nop}, moving(copy, {scratch(3)}, {out(2)}), {.type = nop}}}});
  wrapping.reusesResources = true;
  for (mscclpp::Gpu& gpu : wrapping.gpus) {
    gpu.scratchChunks = 1 << 16;  // of 1024 bytes
  }
  all.emplace_back("scratch that comes round", wrapping);
  ExecutionPlan doubled = around({send,
                                  moving(reducePackets, {in(3), scratch(0), scratch(1)}, {out(0)}),
                                  moving(copy, {in(2)}, {scratch(6)}),
                                  {.type = nop},
                                  moving(copy, {scratch(6)}, {out(2)})});
  doubled.doublesScratch = true;
  all.emplace_back("two halves of scratch", doubled);

  // Three threadblocks.
  const auto part = [](int index) {
    Operation op = moving(copy, {in(0, 4)}, {out(0, 4)});
    op.groupIndex = index;
    op.groupSize = 3;
    return op;
  };
  all.emplace_back("group", pairOf({{part(0)}, {part(1)}, {part(2)}}));
  const Operation meet{.type = barrier, .barrier = 3, .barrierBlocks = 3};
  all.emplace_back("barrier",
                   pairOf({{moving(copy, {in(0)}, {scratch(0)}), meet, meet, moving(copy, {scratch(1)}, {out(0)})},
                           {moving(copy, {in(1)}, {scratch(1)}), meet, meet, moving(copy, {scratch(2)}, {out(1)})},
                           {moving(copy, {in(2)}, {scratch(2)}), meet, meet, moving(copy, {scratch(0)}, {out(2)})}}));
  all.emplace_back("semaphores",
                   pairOf({{moving(copy, {in(3)}, {scratch(0)}), {.type = semRelease, .semaphores = {0, 1}}},
                           {{.type = semAcquire, .semaphores = {0, 1}},
                            moving(copy, {scratch(0)}, {out(0)}),
                            {.type = semRelease, .semaphores = {1}},
                            {.type = semAcquire, .semaphores = {1}}}}));
  all.back().second.gpus[0].semaphores = all.back().second.gpus[1].semaphores = {0, 0};
  Operation relaxed = syncing(relaxedSignal);
  all.emplace_back("relaxed signal", pairOf({{relaxed, syncing(relaxedWait), moving(copy, {in(0)}, {out(3)})}}));
  return all;
}

/// Results of three launches with data that tells ranks, places and elements apart.
std::vector<std::vector<std::byte>> resultsOf(Backend& backend, const ExecutionPlan& plan, DataType type,
                                              std::int64_t chunkBytes, QString& fault) {
  const Plan shell = shellOf(plan, -1);
  const std::int64_t bytes = chunkBytes * plan.gpus[0].inputChunks;
  const auto geometry = makeGeometry(shell, {.type = type, .bytes = bytes, .pieceBytes = bytes});
  if (const Outcome ready = backend.prepare(shell, geometry.value()); !ready) {
    fault = QString::fromStdString(describe(ready.error()));
    return {};
  }
  std::vector<std::vector<std::byte>> results;
  for (int launch = 0; launch < 3; ++launch) {
    for (int rank = 0; rank < 2; ++rank) {
      std::vector<std::byte> data(static_cast<std::size_t>(bytes));
      for (std::size_t i = 0; i < data.size(); ++i) {
        data[i] = static_cast<std::byte>((i * 7 + i / 251 + static_cast<std::size_t>(rank) * 101 + launch * 13) & 0x3F);
      }
      std::vector<std::byte> empty(data.size(), std::byte{0});
      const RankBuffers buffers = backend.buffers(rank);
      if (buffers.input != nullptr) {
        std::memcpy(buffers.input, data.data(), data.size());
        std::memcpy(buffers.output, empty.data(), empty.size());
      } else if (!backend.write(rank, BufferKind::input, 0, data) ||
                 !backend.write(rank, BufferKind::output, 0, empty)) {
        fault = "the data cannot be written";
        return {};
      }
    }
    const RunResult run = backend.run({.stallSeconds = 100});
    if (!run) {
      fault = QString::fromStdString(describe(run.failure().error));
      return {};
    }
    for (int rank = 0; rank < 2; ++rank) {
      std::vector<std::byte>& data = results.emplace_back(static_cast<std::size_t>(bytes));
      const RankBuffers buffers = backend.buffers(rank);
      if (buffers.output != nullptr) {
        std::memcpy(data.data(), buffers.output, data.size());
      } else if (!backend.read(rank, BufferKind::output, 0, data)) {
        fault = "the data cannot be read";
        return {};
      }
    }
  }
  if (backend.damagedGuards() != 0) {
    fault = "guards are damaged";
  }
  return results;
}

const cuda::Reach kTwoDevices = {{true, true}, {true, true}};

}  // namespace

/// Execution plans of MSCCL++ by the interpreter of GPUs, on host threads.
class TestExecutorCudaPlans : public QObject {
  Q_OBJECT

private slots:
  void operations_data();
  void operations();
  void coversAllOperations();
  void presets_data();
  void presets();
  void switches_data();
  void switches();
  void deadlock();
  void cancelled();
  void iterations();
  void refusals();
  void sizes();
};

void TestExecutorCudaPlans::operations_data() {
  QTest::addColumn<int>("number");
  const auto all = allCases();
  for (std::size_t number = 0; number < all.size(); ++number) {
    QTest::newRow(all[number].first.c_str()) << static_cast<int>(number);
  }
}

/// The same bytes as on threads, whose machine shares with this interpreter only where data lies.
void TestExecutorCudaPlans::operations() {
  QFETCH(int, number);
  const auto plan = std::make_shared<const ExecutionPlan>(allCases()[static_cast<std::size_t>(number)].second);
  for (const DataType type : {DataType::int32, DataType::uint8, DataType::float16}) {
    for (const std::int64_t chunkBytes : {16, 1008, 2560}) {
      QString fault;
      const auto threads = makePlanBackend(plan, 1);
      const auto expected = resultsOf(*threads, *plan, type, chunkBytes, fault);
      QVERIFY2(fault.isEmpty(), qPrintable(fault));
      QVERIFY(
          std::any_of(expected.back().begin(), expected.back().end(), [](std::byte b) { return b != std::byte{0}; }));
      for (const unsigned lanes : {1U, 3U}) {
        const auto backend =
            hostPlanBackend(plan, {.lanes = lanes, .reach = lanes == 1 ? kTwoDevices : cuda::Reach{{true}}});
        QVERIFY2(backend, backend ? "" : describe(backend.error()).c_str());
        const auto found = resultsOf(**backend, *plan, type, chunkBytes, fault);
        QVERIFY2(fault.isEmpty(), qPrintable(fault));
        QVERIFY2(found == expected, qPrintable(QString("%1 bytes, %2 lanes").arg(chunkBytes).arg(lanes)));
      }
    }
  }
}

void TestExecutorCudaPlans::coversAllOperations() {
  std::set<OpType> seen;
  for (const auto& [name, plan] : allCases()) {
    for (const mscclpp::ThreadBlock& block : plan.gpus[0].blocks) {
      for (const Operation& op : block.ops) {
        seen.insert(op.type);
      }
    }
  }
  QCOMPARE(static_cast<int>(seen.size()), mscclpp::kOpTypes);
}

void TestExecutorCudaPlans::presets_data() {
  constexpr int kMaxGpus = 8;
  QTest::addColumn<QString>("preset");
  QTest::addColumn<Collective>("collective");
  for (const presets::Preset& preset : presets::catalogue()) {
    const auto description = presets::make(preset.name, {});
    const auto fabric = description ? fabric::Fabric::build(*description) : description.error();
    for (const Collective collective :
         fabric && fabric->gpuCount() <= kMaxGpus ? kCollectives : decltype(kCollectives)()) {
      QTest::addRow("%s %s", preset.name.c_str(), std::string(toString(collective)).c_str())
          << QString::fromStdString(preset.name) << collective;
    }
  }
}

void TestExecutorCudaPlans::presets() {
  QFETCH(QString, preset);
  QFETCH(Collective, collective);
  for (const program::Protocol protocol : {program::Protocol::simple, program::Protocol::ll}) {
    const bool inPlace = protocol == program::Protocol::simple;
    int root = -1;
    const auto plan = executionPlanOf({preset.toStdString(), {}, collective, protocol, inPlace}, root);
    QVERIFY2(plan, plan ? "" : describe(plan.error()).c_str());
    const auto backend = hostPlanBackend(*plan, {.reach = kTwoDevices});
    QVERIFY2(backend, backend ? "" : describe(backend.error()).c_str());
    const QString fault = runPlan(**backend, **plan, root, 3, DataType::int32);
    QVERIFY2(fault.isEmpty(), qPrintable(fault));
  }
}

void TestExecutorCudaPlans::switches_data() {
  QTest::addColumn<QString>("boxes");
  QTest::addColumn<int>("instances");
  QTest::newRow("one box") << "1" << 1;
  QTest::newRow("one box, four instances") << "1" << 4;
  QTest::newRow("two boxes") << "2" << 1;
}

void TestExecutorCudaPlans::switches() {
  QFETCH(QString, boxes);
  QFETCH(int, instances);
  for (const bool inPlace : {true, false}) {
    const auto plan = switchPlan(boxes.toStdString(), instances, inPlace);
    QVERIFY2(plan, plan ? "" : describe(plan.error()).c_str());
    const auto backend = hostPlanBackend(*plan, {});
    QVERIFY2(backend, backend ? "" : describe(backend.error()).c_str());
    QVERIFY((*backend)->info().facts.contains("switch channels"));
    const QString fault = runPlan(**backend, **plan, -1, 2);
    QVERIFY2(fault.isEmpty(), qPrintable(fault));
  }
}

/// Both wait for a second signal.
void TestExecutorCudaPlans::deadlock() {
  Ops ops = handshake();
  ops.push_back(syncing(OpType::wait));
  const auto plan = std::make_shared<const ExecutionPlan>(pairOf({ops}));
  const auto backend = hostPlanBackend(plan, {.deadlockSeconds = 0.2});
  QVERIFY(backend);
  const Plan shell = shellOf(*plan, -1);
  const Geometry geometry = makeGeometry(shell, {.bytes = 64, .pieceBytes = 64}).value();
  QVERIFY((*backend)->prepare(shell, geometry));
  const RunResult result = (*backend)->run({});
  QVERIFY(!result);
  QVERIFY(result.failure().exit == program::RunExit::hang);
  QVERIFY(result.failure().stuck && result.failure().stuck->isDeadlock);
  const std::string& text = result.failure().stuck->text;
  QVERIFY2(text.find("threadblock 0, operation 4 (wait) waits for a signal from rank") != std::string::npos,
           text.c_str());
  QVERIFY(!(*backend)->run({}));  // before the next preparation
  // Packets that do not come.
  const auto waiting =
      std::make_shared<const ExecutionPlan>(pairOf({{moving(OpType::unpackPackets, {scratch(0)}, {out(0)})}}));
  const auto second = hostPlanBackend(waiting, {.deadlockSeconds = 0.2});
  QVERIFY((*second)->prepare(shell, geometry));
  const RunResult stuck = (*second)->run({});
  QVERIFY(!stuck);
  QVERIFY2(stuck.failure().error.message.find("(upkt) waits for packets") != std::string::npos,
           stuck.failure().error.message.c_str());
}

void TestExecutorCudaPlans::cancelled() {
  const auto plan = std::make_shared<const ExecutionPlan>(pairOf({{syncing(OpType::wait)}}));
  const auto backend = hostPlanBackend(plan, {});
  const Plan shell = shellOf(*plan, -1);
  QVERIFY((*backend)->prepare(shell, makeGeometry(shell, {.bytes = 64, .pieceBytes = 64}).value()));
  std::stop_source source;
  source.request_stop();
  const RunResult result = (*backend)->run({.stop = source.get_token()});
  QVERIFY(!result);
  QVERIFY(result.failure().exit == program::RunExit::cancelled);
}

/// More launches than are made at once.
void TestExecutorCudaPlans::iterations() {
  int root = -1;
  const auto plan =
      executionPlanOf({"complete", {{"gpus", "3"}}, Collective::allgather, program::Protocol::ll, false}, root);
  QVERIFY2(plan, plan ? "" : describe(plan.error()).c_str());
  const auto backend = hostPlanBackend(*plan, {});
  const Plan shell = shellOf(**plan, root);
  const std::int64_t bytes = sizeUnit(**plan);
  const Geometry geometry = makeGeometry(shell, {.bytes = bytes, .pieceBytes = bytes}).value();
  QVERIFY((*backend)->prepare(shell, geometry));
  const Reference reference(shell, geometry, ReduceOp::sum, kDataSeed);
  QVERIFY(reference.fill(**backend));
  const RunResult result = (*backend)->run({.iterations = 40});
  QVERIFY(result);
  QCOMPARE(result.times().seconds.size(), 40U);
  const auto report = reference.check(**backend);
  QVERIFY(report);
  QCOMPARE(report->wrong, std::int64_t{0});
}

void TestExecutorCudaPlans::refusals() {
  const auto plan = std::make_shared<const ExecutionPlan>(around(Ops()));
  const auto apart = hostPlanBackend(plan, {.reach = {{true, false}, {true, true}}});
  QVERIFY(!apart);
  QVERIFY(apart.error().code == ErrorCode::unavailable);
  QVERIFY2(apart.error().message.find("rank 0 reads or writes memory of rank 1, but GPU 0") != std::string::npos,
           apart.error().message.c_str());
  QVERIFY(apart.error().fix.find("--backend threads") != std::string::npos);

  ExecutionPlan uneven = *plan;
  uneven.alignment = 8;
  const auto refused = hostPlanBackend(std::make_shared<const ExecutionPlan>(uneven), {});
  QVERIFY(!refused);
  QVERIFY(refused.error().message.find("multiples of 16") != std::string::npos);

  ExecutionPlan wide = *plan;
  wide.gpus[0].switchGroups[0].ranks.assign(257, 0);
  const auto switched = hostPlanBackend(std::make_shared<const ExecutionPlan>(wide), {});
  QVERIFY(!switched);
  QVERIFY(switched.error().message.find("257 GPUs") != std::string::npos);
}

void TestExecutorCudaPlans::sizes() {
  const auto plan = std::make_shared<const ExecutionPlan>(around(Ops()));
  const auto backend = hostPlanBackend(plan, {});
  const Plan shell = shellOf(*plan, -1);
  const Outcome odd = (*backend)->prepare(shell, makeGeometry(shell, {.bytes = 80, .pieceBytes = 80}).value());
  QVERIFY(!odd);
  QVERIFY(odd.error().fix.find("multiples of 64") != std::string::npos);
  const std::int64_t large = std::int64_t{6} << 30;
  const Outcome long32 = (*backend)->prepare(shell, makeGeometry(shell, {.bytes = large, .pieceBytes = large}).value());
  QVERIFY(!long32);
  QVERIFY(long32.error().message.find("32 bits") != std::string::npos);
  const std::int64_t full = std::int64_t{3} << 30;
  const Outcome more = (*backend)->prepare(shell, makeGeometry(shell, {.bytes = full, .pieceBytes = full}).value());
  QVERIFY(!more);
  QVERIFY(more.error().code == ErrorCode::limit);
  QVERIFY((*backend)->need(shell, makeGeometry(shell, {.bytes = full, .pieceBytes = full}).value()).deviceBytes > full);
}

QTEST_GUILESS_MAIN(TestExecutorCudaPlans)
#include "tst_executor_cuda_plans.moc"
