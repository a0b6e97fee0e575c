// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <QtTest>

#include "executor/cuda/plan_cases.hpp"
#include "support/sample_programs.hpp"

using namespace coppice;
using namespace coppice::executor;
using namespace coppice::executor::cuda::test;

namespace {

/// Both ranks first receive.
program::Program deadlocking() {
  program::Program program = samples::ringAllgather(2, 1, true);
  for (auto& rank : program.ranks) {
    std::swap(rank.threadBlocks[0].steps[0], rank.threadBlocks[0].steps[1]);
  }
  return program;
}

}  // namespace

/// The plug-in itself. Everything but loading it needs a GPU.
class TestExecutorGpu : public QObject {
  Q_OBJECT

private slots:
  void initTestCase();
  void loads();
  void refusesWithoutGpu();
  void collectives_data();
  void collectives();
  void types_data();
  void types();
  void sizes_data();
  void sizes();
  void ragged();
  void iterations();
  void deadlock();
  void cancelled();
  void tooManyBlocks();
  void tooMuchMemory();
  void needsVirtual();
  void traces();
  void plans_data();
  void plans();
  void plansBySwitches();
  void planDeadlock();

private:
  /// @param plan null = a program
  std::unique_ptr<Backend> open(int ranks, const SharedPlan& plan = {});
  /// The reason to skip, or empty.
  [[nodiscard]] QString lacking() const {
    return m_note.available ? QString() : "skipped: needs a GPU (" + QString::fromStdString(m_note.reason) + ")";
  }

  const BackendKind* m_kind = nullptr;
  program::BackendNote m_note;
};

#define NEEDS_GPU()               \
  if (!lacking().isEmpty()) {     \
    QSKIP(qPrintable(lacking())); \
  }                               \
  static_assert(true)

void TestExecutorGpu::initTestCase() {
  void* library = dlopen(COPPICE_CUDA_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  QVERIFY2(library != nullptr, dlerror());
  using Entry = const BackendKind* (*)(int);
  const auto entry = reinterpret_cast<Entry>(dlsym(library, kBackendSymbol));
  QVERIFY(entry != nullptr);
  QVERIFY(entry(kBackendAbi + 1) == nullptr);
  m_kind = entry(kBackendAbi);
  QVERIFY(m_kind != nullptr);
  m_note = m_kind->probe();
}

std::unique_ptr<Backend> TestExecutorGpu::open(int ranks, const SharedPlan& plan) {
  auto backend = m_kind->create({.ranks = ranks, .virtualRanks = true, .executionPlan = plan});
  if (!backend) {
    qWarning("%s", describe(backend.error()).c_str());
    return nullptr;
  }
  return *std::move(backend);
}

void TestExecutorGpu::loads() {
  QCOMPARE(m_kind->name, std::string("cuda"));
  QCOMPARE(m_note.name, std::string("cuda"));
  QVERIFY(!m_note.reason.empty());
  QVERIFY(m_note.available || !m_note.fix.empty());
}

void TestExecutorGpu::refusesWithoutGpu() {
  if (m_note.available) {
    QSKIP("skipped: there is a GPU");
  }
  const auto backend = m_kind->create({.ranks = 2, .virtualRanks = true});
  QVERIFY(!backend);
  QVERIFY(backend.error().code == ErrorCode::unavailable);
  QCOMPARE(backend.error().message, m_note.reason);
  QCOMPARE(m_kind->ranks({}), 0);
}

void TestExecutorGpu::collectives_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QString>("boxes");
  QTest::addColumn<Collective>("collective");
  for (const Collective collective : kCollectives) {
    const std::string name(toString(collective));
    QTest::addRow("8 virtual ranks, %s", name.c_str()) << "dgx-h100"
                                                       << "1" << collective;
    QTest::addRow("16 virtual ranks, %s", name.c_str()) << "dgx-a100"
                                                        << "2" << collective;
  }
}

void TestExecutorGpu::collectives() {
  NEEDS_GPU();
  QFETCH(QString, preset);
  QFETCH(QString, boxes);
  QFETCH(Collective, collective);
  const auto made = generated(preset.toStdString(), {{"boxes", boxes.toStdString()}}, collective);
  QVERIFY2(made, describe(made ? Error{} : made.error()).c_str());
  for (const bool inPlace : {true, false}) {
    const auto program = made->lowered(inPlace);
    QVERIFY2(program, describe(program ? Error{} : program.error()).c_str());
    const PlanSet set = plansOf(*program);
    QVERIFY(set.ok);
    const auto backend = open(planOf(set).rankCount());
    QVERIFY(backend);
    for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{4}, std::int64_t{100'004}, std::int64_t{16} << 20}) {
      const std::int64_t piece = backend->pieceBytes(planOf(set), DataType::float32, bytes);
      const QString fault = runAndCheck(*backend, planOf(set), {.bytes = bytes, .piece = piece}, set.depth);
      QVERIFY2(fault.isEmpty(), qPrintable(QString("%1 bytes: ").arg(bytes) + fault));
    }
  }
}

void TestExecutorGpu::types_data() {
  QTest::addColumn<int>("type");
  for (const DataType type : kAllTypes) {
    QTest::addRow("%s", std::string(toString(type)).c_str()) << static_cast<int>(type);
  }
}

void TestExecutorGpu::types() {
  NEEDS_GPU();
  QFETCH(int, type);
  for (const ReduceOp op : kAllOps) {
    for (const auto& program : {samples::ringAllreduce(8, true), samples::ringReduceScatter(16, false),
                                samples::chainAllreduce(4, 5), samples::chainReduce(5, 2, false)}) {
      const PlanSet set = plansOf(program);
      QVERIFY(set.ok);
      const auto backend = open(planOf(set).rankCount());
      QVERIFY(backend);
      for (const std::int64_t bytes : {3992, 1 << 20}) {
        const QString fault =
            runAndCheck(*backend, planOf(set),
                        {.type = static_cast<DataType>(type), .op = op, .bytes = bytes, .piece = 8192}, set.depth);
        QVERIFY2(fault.isEmpty(), qPrintable(QString::fromStdString(std::string(toString(op))) + " " + fault));
      }
    }
  }
}

void TestExecutorGpu::sizes_data() {
  QTest::addColumn<QString>("name");
  for (const auto& [name, program] : samples::allPrograms()) {
    QTest::addRow("%s", name.c_str()) << QString::fromStdString(name);
  }
}

void TestExecutorGpu::sizes() {
  NEEDS_GPU();
  QFETCH(QString, name);
  for (const auto& [known, program] : samples::allPrograms()) {
    if (known != name.toStdString()) {
      continue;
    }
    const PlanSet set = plansOf(program);
    QVERIFY(set.ok);
    const auto backend = open(planOf(set).rankCount());
    QVERIFY(backend);
    for (const std::int64_t bytes : {0, 1, 97, 4096, 30001, 1000003}) {
      for (const std::int64_t piece : {64, 4096, 65536}) {
        const QString fault =
            runAndCheck(*backend, planOf(set), {.type = DataType::int8, .bytes = bytes, .piece = piece}, set.depth);
        QVERIFY2(fault.isEmpty(), qPrintable(QString("%1 bytes, piece %2: ").arg(bytes).arg(piece) + fault));
      }
    }
  }
}

/// Many steps and messages a few bytes long, at every misalignment.
void TestExecutorGpu::ragged() {
  NEEDS_GPU();
  const PlanSet set = plansOf(samples::chainBroadcast(3, 700, true));
  QVERIFY(set.ok);
  const auto backend = open(3);
  QVERIFY(backend);
  for (int bytes = 700; bytes < 700 * 37; bytes += 1009) {
    const QString fault =
        runAndCheck(*backend, planOf(set), {.type = DataType::uint8, .bytes = bytes, .piece = 24}, set.depth);
    QVERIFY2(fault.isEmpty(), qPrintable(fault));
  }
}

/// More iterations than are launched at once; the last has the data of one, since allgather repeats itself.
void TestExecutorGpu::iterations() {
  NEEDS_GPU();
  const PlanSet set = plansOf(samples::ringAllgather(4, 1, true));
  const auto backend = open(4);
  QVERIFY(backend);
  const Geometry geometry = makeGeometry(planOf(set), {.bytes = 1 << 20, .pieceBytes = 16384}).value();
  QVERIFY(backend->prepare(planOf(set), geometry));
  const Reference reference(planOf(set), geometry, ReduceOp::sum, kDataSeed);
  QVERIFY(reference.fill(*backend));
  const RunResult result = backend->run({.iterations = 50});
  QVERIFY(result);
  QCOMPARE(result.times().seconds.size(), 50U);
  QVERIFY(result.times().total > 0);
  const auto report = reference.check(*backend);
  QVERIFY(report);
  QCOMPARE(report->wrong, std::int64_t{0});
}

/// Found within seconds, named, and the context stays usable.
void TestExecutorGpu::deadlock() {
  NEEDS_GPU();
  const PlanSet set = makePlans(deadlocking(), {.unchecked = true}).value();
  const auto backend = open(2);
  QVERIFY(backend);
  QVERIFY(backend->prepare(planOf(set), makeGeometry(planOf(set), {.bytes = 4096}).value()));
  const RunResult result = backend->run({});
  QVERIFY(!result);
  QVERIFY(result.failure().exit == program::RunExit::hang);
  QVERIFY(result.failure().stuck);
  QVERIFY(result.failure().stuck->isDeadlock);
  QCOMPARE(result.failure().stuck->cycle.size(), 2U);
  const PlanSet good = plansOf(samples::ringAllgather(2, 1, true));
  const QString fault = runAndCheck(*backend, planOf(good), {.bytes = 65536}, good.depth);
  QVERIFY2(fault.isEmpty(), qPrintable(fault));
}

void TestExecutorGpu::cancelled() {
  NEEDS_GPU();
  const PlanSet set = makePlans(deadlocking(), {.unchecked = true}).value();
  const auto backend = open(2);
  QVERIFY(backend);
  QVERIFY(backend->prepare(planOf(set), makeGeometry(planOf(set), {.bytes = 4096}).value()));
  std::stop_source source;
  source.request_stop();
  const RunResult result = backend->run({.stop = source.get_token()});
  QVERIFY(!result);
  QVERIFY(result.failure().exit == program::RunExit::cancelled);
}

/// One threadblock more than a GPU holds is refused before anything is launched, with both numbers.
void TestExecutorGpu::tooManyBlocks() {
  NEEDS_GPU();
  constexpr int kBlocks = 1024;
  constexpr int kRanks = 64;
  program::Program program = samples::chainBroadcast(kRanks, 1, true);
  for (auto& rank : program.ranks) {
    rank.threadBlocks.resize(kBlocks);
  }
  const PlanSet set = makePlans(program, {.unchecked = true}).value();
  QVERIFY(set.ok);
  const auto backend = open(kRanks);
  QVERIFY(backend);
  const Outcome refused = backend->prepare(planOf(set), makeGeometry(planOf(set), {.bytes = 4096}).value());
  QVERIFY(!refused);
  QVERIFY(refused.error().code == ErrorCode::unavailable);
  QVERIFY(!refused.error().fix.empty());
}

void TestExecutorGpu::tooMuchMemory() {
  NEEDS_GPU();
  const PlanSet set = plansOf(samples::ringAllgather(4, 1, true));
  const auto backend = open(4);
  QVERIFY(backend);
  const std::int64_t huge = std::int64_t{1} << 42;
  const std::int64_t piece = backend->pieceBytes(planOf(set), DataType::float32, huge);
  const Outcome refused =
      backend->prepare(planOf(set), makeGeometry(planOf(set), {.bytes = huge, .pieceBytes = piece}).value());
  QVERIFY(!refused);
  QVERIFY(refused.error().code == ErrorCode::limit);
}

void TestExecutorGpu::needsVirtual() {
  NEEDS_GPU();
  const int devices = m_kind->ranks({});
  const auto refused = m_kind->create({.ranks = devices + 1});
  QVERIFY(!refused);
  QVERIFY(refused.error().fix.find("--virtual") != std::string::npos);
  const auto shared = open(devices + 1);
  QVERIFY(shared);
  QVERIFY(shared->info().label.find("rehearsal") != std::string::npos);
}

void TestExecutorGpu::traces() {
  NEEDS_GPU();
  const PlanSet set = plansOf(samples::ringAllgather(3, 1, true));
  const auto backend = open(3);
  QVERIFY(backend);
  const Geometry geometry = makeGeometry(planOf(set), {.bytes = 3 * 4096, .pieceBytes = 1024}).value();
  QVERIFY(backend->prepare(planOf(set), geometry));
  for (int round = 0; round < 2; ++round) {
    QVERIFY(backend->run({.trace = true}));
    std::int64_t dropped = 0;
    const auto events = backend->takeTrace(dropped);
    QCOMPARE(dropped, std::int64_t{0});
    std::size_t messages = 0;
    for (const PlanStep& step : planOf(set).steps) {
      messages += step.count > 0 ? 1 : 0;
    }
    QCOMPARE(events.size(), messages * static_cast<std::size_t>(geometry.tiles));
    for (const auto& event : events) {
      QVERIFY(event.start_ns >= 0 && event.start_ns <= event.end_ns);
    }
  }
}

void TestExecutorGpu::plans_data() {
  collectives_data();
}

/// Execution plans of MSCCL++: signals in place, packets out of place.
void TestExecutorGpu::plans() {
  NEEDS_GPU();
  QFETCH(QString, preset);
  QFETCH(QString, boxes);
  QFETCH(Collective, collective);
  for (const program::Protocol protocol : {program::Protocol::simple, program::Protocol::ll}) {
    int root = -1;
    const auto plan = executionPlanOf({preset.toStdString(),
                                       {{"boxes", boxes.toStdString()}},
                                       collective,
                                       protocol,
                                       protocol == program::Protocol::simple},
                                      root);
    QVERIFY2(plan, plan ? "" : describe(plan.error()).c_str());
    const auto backend = open(static_cast<int>((*plan)->gpus.size()), *plan);
    QVERIFY(backend);
    for (const std::int64_t units : {1, 37, 4096}) {
      for (const DataType type : {DataType::float32, DataType::int8, DataType::bfloat16}) {
        const QString fault = runPlan(*backend, **plan, root, units, type);
        QVERIFY2(fault.isEmpty(), qPrintable(QString("%1 units: ").arg(units) + fault));
      }
    }
  }
}

void TestExecutorGpu::plansBySwitches() {
  NEEDS_GPU();
  for (const char* boxes : {"1", "2"}) {
    const auto plan = switchPlan(boxes, 2, true);
    QVERIFY2(plan, plan ? "" : describe(plan.error()).c_str());
    const auto backend = open(static_cast<int>((*plan)->gpus.size()), *plan);
    QVERIFY(backend);
    for (const std::int64_t units : {1, 512}) {
      const QString fault = runPlan(*backend, **plan, -1, units);
      QVERIFY2(fault.isEmpty(), qPrintable(fault));
    }
  }
}

/// A signal that nobody sends: named, and the context stays usable.
void TestExecutorGpu::planDeadlock() {
  NEEDS_GPU();
  int root = -1;
  const SharedPlan good =
      executionPlanOf({"complete", {{"gpus", "2"}}, Collective::allgather, program::Protocol::simple, true}, root)
          .value();
  mscclpp::ExecutionPlan hanging = *good;
  for (mscclpp::Gpu& gpu : hanging.gpus) {
    gpu.blocks[0].ops.push_back(
        {.type = mscclpp::OpType::wait, .channelType = mscclpp::ChannelType::memory, .channels = {0}});
  }
  const auto plan = std::make_shared<const mscclpp::ExecutionPlan>(hanging);
  const auto backend = open(2, plan);
  QVERIFY(backend);
  QVERIFY(runPlan(*backend, *plan, root, 1).contains("waits for a signal from rank"));
  const auto second = open(2, good);
  QVERIFY(second);
  const QString fault = runPlan(*second, *good, root, 1);
  QVERIFY2(fault.isEmpty(), qPrintable(fault));
}

QTEST_GUILESS_MAIN(TestExecutorGpu)
#include "tst_executor_gpu.moc"
