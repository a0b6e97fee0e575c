// SPDX-License-Identifier: Apache-2.0
#include "threads/threads_backend.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <numeric>
#include <system_error>

#include "base/checked.hpp"
#include "base/memory.hpp"
#include "engine/buffers.hpp"
#include "engine/run_failures.hpp"
#include "engine/script.hpp"
#include "engine/within_memory.hpp"
#include "mscclpp/plan_backend.hpp"
#include "threads/cores.hpp"
#include "threads/scheduler.hpp"
#include "threads/worker_pool.hpp"

namespace coppice::executor {
namespace {

constexpr std::int64_t kStreamBytes = std::int64_t{128} << 10;
constexpr std::int64_t kBytesPerWorker = std::int64_t{5} << 19;    // less does not pay for waking another core
constexpr std::int64_t kFineBytesPerWorker = 4 * kBytesPerWorker;  // in small operations, which one core does as fast
constexpr std::int64_t kCopyBytes = std::int64_t{64} << 20;        // of the measurement, per worker
constexpr std::int64_t kMaxCopyBytes = std::int64_t{1} << 30;      // of all workers
constexpr int kMaxWorkers = 256;

class ThreadsBackend : public Backend {
public:
  explicit ThreadsBackend(int workers) : m_pool(workers) {}

  BackendInfo info() const override {
    return {.name = "threads",
            .label = "all ranks in one process: the schedule's data and order, not a network",
            .summary = std::to_string(m_pool.size()) + (m_pool.size() == 1 ? " worker" : " workers"),
            .facts = {{"kernels", kernelWidth()}, {"workers", std::to_string(m_pool.size())}}};
  }
  MemoryNeed need(const Plan& plan, const Geometry& geometry) const override;
  std::int64_t pieceBytes(const Plan& plan, DataType type, std::int64_t bytes) const override;
  Outcome prepare(const Plan& plan, const Geometry& geometry) override;
  std::vector<int> localRanks() const override {
    std::vector<int> ranks(m_layouts.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
  }
  RankBuffers buffers(int rank) override {
    return {.input = base(rank, program::Buffer::input), .output = base(rank, program::Buffer::output)};
  }
  std::int64_t damagedGuards() override;
  RunResult run(const RunRequest& request) override;
  void abort() noexcept override { m_isAborted = true; }
  std::vector<program::TraceEvent> takeTrace(std::int64_t& dropped) override {
    dropped = 0;
    return m_scheduler ? m_scheduler->takeTrace(dropped) : std::vector<program::TraceEvent>();
  }
  double measureMemory(std::stop_token stop) override;

private:
  Outcome tryPrepare(const Plan& plan, const Geometry& geometry);
  [[nodiscard]] std::byte* base(int rank, program::Buffer buffer) const {
    return m_state.bases[static_cast<std::size_t>(rank) * 3 + static_cast<std::size_t>(buffer)];
  }
  [[nodiscard]] int home(std::size_t rank, std::size_t ranks) const {
    return static_cast<int>(rank * static_cast<std::size_t>(m_pool.size()) / ranks);
  }

  WorkerPool m_pool;
  Script m_script;
  Geometry m_geometry;
  std::vector<Mapping> m_memory;  ///< per rank
  Mapping m_slots;
  std::vector<BufferLayout> m_layouts;
  SharedState m_state;
  int m_active = 1;
  std::atomic<bool> m_isAborted = false;
  std::unique_ptr<Scheduler> m_scheduler;
};

std::int64_t slotMemory(const Plan& plan, const Geometry& geometry) {
  return checkedMul(checkedMul(static_cast<std::int64_t>(plan.connections.size()), std::int64_t{geometry.depth}),
                    geometry.slotBytes);
}

MemoryNeed ThreadsBackend::need(const Plan& plan, const Geometry& geometry) const {
  std::int64_t bytes = slotMemory(plan, geometry);
  for (int rank = 0; rank < plan.rankCount(); ++rank) {
    bytes = checkedAdd(bytes, layOutBuffers(plan, geometry, rank).bytes);
  }
  const auto control = static_cast<std::int64_t>(
      plan.steps.size() * (sizeof(Op) + sizeof(PlanStep)) +
      plan.connections.size() * (2 * sizeof(Counter) + sizeof(Message) * static_cast<std::size_t>(geometry.depth)) +
      plan.blocks.size() * 4 * sizeof(Counter));
  return {.hostBytes = checkedAdd(bytes, control)};
}

std::int64_t ThreadsBackend::pieceBytes(const Plan& /*plan*/, DataType /*type*/, std::int64_t /*bytes*/) const {
  return kStreamBytes;
}

Outcome ThreadsBackend::prepare(const Plan& plan, const Geometry& geometry) {
  return withinMemory([&] { return tryPrepare(plan, geometry); });
}

Outcome ThreadsBackend::tryPrepare(const Plan& plan, const Geometry& geometry) {
  m_scheduler.reset();
  m_geometry = geometry;
  m_script = makeScript(plan, geometry, true);
  const auto ranks = static_cast<std::size_t>(plan.rankCount());
  m_memory.resize(ranks);
  m_layouts.clear();
  std::vector<char> isNew(ranks, 0);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    m_layouts.push_back(layOutBuffers(plan, geometry, static_cast<int>(rank)));
    const Result<bool> grown = m_memory[rank].reserve(m_layouts[rank].bytes);
    if (!grown) {
      m_layouts.clear();
      return grown.error();
    }
    isNew[rank] = *grown ? 1 : 0;
  }
  if (const Result<bool> grown = m_slots.reserve(slotMemory(plan, geometry)); !grown) {
    return grown.error();
  }
  // New memory is touched first by the worker that will run the rank, so that it is near its core.
  m_pool.run(m_pool.size(), [&](int worker) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      if (home(rank, ranks) != worker) {
        continue;
      }
      std::byte* block = m_memory[rank].data();
      if (isNew[rank] != 0) {
        std::memset(block, 0, static_cast<std::size_t>(m_memory[rank].size()));
      }
      writeGuards(block, m_layouts[rank]);
    }
  });
  m_state = {};
  m_state.slots = m_slots.data();
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (const program::Buffer buffer : {program::Buffer::input, program::Buffer::output, program::Buffer::scratch}) {
      m_state.bases.push_back(m_memory[rank].data() + m_layouts[rank].start(buffer));
    }
  }
  m_state.tails = std::vector<Counter>(plan.connections.size());
  m_state.heads = std::vector<Counter>(plan.connections.size());
  m_state.messages.resize(plan.connections.size() * static_cast<std::size_t>(geometry.depth));
  m_state.flags = std::vector<Counter>(plan.blocks.size());
  std::int64_t footprint = 0;
  for (const BufferLayout& layout : m_layouts) {
    footprint += layout.bytes;
  }
  const std::int64_t traffic = trafficOf(plan, geometry).direct;
  m_scheduler = std::make_unique<Scheduler>(plan, m_script, m_state, geometry.type, m_geometry,
                                            footprint > sharedCacheBytes() / 2, m_isAborted);
  const std::int64_t each = m_scheduler->isFine() ? kFineBytesPerWorker : kBytesPerWorker;
  m_active = static_cast<int>(std::clamp<std::int64_t>(traffic / each, 1, m_pool.size()));
  return Done{};
}

std::int64_t ThreadsBackend::damagedGuards() {
  std::int64_t damaged = 0;
  for (std::size_t rank = 0; rank < m_layouts.size(); ++rank) {
    damaged += executor::damagedGuards(m_memory[rank].data(), m_layouts[rank]);
  }
  return damaged;
}

RunResult ThreadsBackend::run(const RunRequest& request) {
  if (!m_scheduler) {
    return unpreparedRun();
  }
  try {
    m_isAborted = false;
    m_scheduler->begin(request, m_active);
    const std::stop_callback onStop(request.stop, [this] { abort(); });
    const auto start = std::chrono::steady_clock::now();
    m_pool.run(m_active, [this](int worker) { m_scheduler->work(worker); });
    RunTimes times;
    times.total = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (auto failure = m_scheduler->finish(times.seconds)) {
      m_scheduler.reset();  // counters are amid a run; prepare makes new ones
      return *std::move(failure);
    }
    return times;
  } catch (const std::bad_alloc&) {
    return RunFailure{.exit = program::RunExit::machineLacks,
                      .error = {.code = ErrorCode::limit, .message = "not enough memory for the run"}};
  }
}

double ThreadsBackend::measureMemory(std::stop_token stop) {
  constexpr int kRounds = 5;
  const std::int64_t workers = m_pool.size();
  const std::int64_t spare = std::min(kMaxCopyBytes, availableMemory().value_or(kMaxCopyBytes) / 4);
  const std::int64_t length = std::min(kCopyBytes, spare / 2 / workers) / kStreamBytes * kStreamBytes;
  std::vector<Mapping> memory(workers);
  for (Mapping& mapping : memory) {
    if (length == 0 || !mapping.reserve(2 * length)) {
      return 0;
    }
  }
  m_pool.run(m_pool.size(),
             [&](int worker) { std::memset(memory[worker].data(), worker + 1, static_cast<std::size_t>(2 * length)); });
  double best = 0;
  for (int round = 0; round < kRounds && !stop.stop_requested(); ++round) {
    const auto start = std::chrono::steady_clock::now();
    m_pool.run(m_pool.size(), [&](int worker) {
      std::byte* data = memory[worker].data();
      for (std::int64_t at = 0; at < length; at += kStreamBytes) {
        copyBytes(data + length + at, data + at, kStreamBytes, Store::streamed);
      }
    });
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, 2.0 * static_cast<double>(length * workers) / seconds);
  }
  return best;
}

program::BackendNote probe() {
  const int cores = allowedCores();
  return {.name = "threads",
          .available = true,
          .reason = std::to_string(cores) + (cores == 1 ? " core" : " cores") + ", " + kernelWidth() + " kernels"};
}

Result<std::unique_ptr<Backend>> create(const BackendOptions& options) {
  const int workers = std::clamp(options.workers > 0 ? options.workers : allowedCores(), 1, kMaxWorkers);
  try {
    if (options.executionPlan) {
      return makePlanBackend(options.executionPlan, options.workers);
    }
    return std::unique_ptr<Backend>(std::make_unique<ThreadsBackend>(workers));
  } catch (const std::system_error&) {
    return Error{.code = ErrorCode::limit,
                 .message = "the system does not provide " + std::to_string(workers) + " threads",
                 .fix = "use fewer with --workers"};
  }
}

}  // namespace

const BackendKind& threadsBackend() {
  static const BackendKind kind = {.name = "threads", .probe = &probe, .create = &create};
  return kind;
}

}  // namespace coppice::executor
