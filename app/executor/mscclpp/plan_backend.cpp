// SPDX-License-Identifier: Apache-2.0
#include "mscclpp/plan_backend.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "base/checked.hpp"
#include "engine/buffers.hpp"
#include "engine/kernels.hpp"
#include "engine/run_failures.hpp"
#include "engine/within_memory.hpp"
#include "mscclpp/plan_machine.hpp"
#include "mscclpp/plan_shell.hpp"
#include "threads/cores.hpp"
#include "threads/worker_pool.hpp"

namespace coppice::executor {
namespace {

constexpr int kMaxPlanWorkers = 64;

class PlanBackend : public Backend {
public:
  PlanBackend(std::shared_ptr<const mscclpp::ExecutionPlan> plan, int workers)
      : m_plan(std::move(plan)), m_pool(workers) {}

  BackendInfo info() const override {
    return {.name = "threads",
            .label = "all ranks in one process, as MSCCL++'s kernel runs a plan: its data and order, not a network",
            .summary = std::to_string(m_pool.size()) + (m_pool.size() == 1 ? " worker" : " workers"),
            .facts = {{"kernels", kernelWidth()}, {"workers", std::to_string(m_pool.size())}}};
  }
  MemoryNeed need(const Plan& plan, const Geometry& geometry) const override {
    std::int64_t bytes = 0;
    const std::int64_t chunkBytes = checkedMul(geometry.chunkElements, geometry.elementBytes);
    for (int rank = 0; rank < plan.rankCount(); ++rank) {
      bytes = checkedAdd(bytes, layOutBuffers(plan, geometry, rank).bytes);
      bytes = checkedAdd(bytes, scratchBytes(*m_plan, rank, chunkBytes));
    }
    return {.hostBytes = bytes};
  }
  std::int64_t pieceBytes(const Plan& /*plan*/, DataType /*type*/, std::int64_t bytes) const override {
    return std::max<std::int64_t>(bytes, 1);  // chunks move whole
  }
  Outcome prepare(const Plan& plan, const Geometry& geometry) override {
    return withinMemory([&] { return tryPrepare(plan, geometry); });
  }
  std::vector<int> localRanks() const override {
    std::vector<int> ranks(m_plan->gpus.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
  }
  RankBuffers buffers(int rank) override {
    return {.input = m_memory[rank].data() + m_layouts[rank].input,
            .output = m_memory[rank].data() + m_layouts[rank].output};
  }
  std::int64_t damagedGuards() override {
    std::int64_t damaged = 0;
    for (std::size_t rank = 0; rank < m_layouts.size(); ++rank) {
      damaged += executor::damagedGuards(m_memory[rank].data(), m_layouts[rank]);
    }
    return damaged;
  }
  RunResult run(const RunRequest& request) override;
  void abort() noexcept override { m_isAborted = true; }
  std::vector<program::TraceEvent> takeTrace(std::int64_t& dropped) override {
    dropped = 0;
    return {};
  }
  double measureMemory(std::stop_token /*stop*/) override { return 0; }

private:
  Outcome tryPrepare(const Plan& plan, const Geometry& geometry) {
    m_machine.reset();
    const std::int64_t chunkBytes = geometry.chunkElements * geometry.elementBytes;
    if (Outcome whole = requireWholeChunks(*m_plan, chunkBytes); !whole) {
      return whole;
    }
    const std::size_t ranks = m_plan->gpus.size();
    m_memory.resize(ranks);
    m_scratch.resize(ranks);
    m_layouts.clear();
    m_machine.emplace(*m_plan, localRanks(), geometry.type, chunkBytes, m_pool.size());
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const auto at = static_cast<int>(rank);
      m_layouts.push_back(layOutBuffers(plan, geometry, at));
      const std::int64_t scratch = scratchBytes(*m_plan, at, chunkBytes);
      for (const auto& [mapping, bytes] :
           {std::pair(&m_memory[rank], m_layouts[rank].bytes), std::pair(&m_scratch[rank], scratch)}) {
        if (const Result<bool> grown = mapping->reserve(std::max<std::int64_t>(bytes, 64)); !grown) {
          m_layouts.clear();
          m_machine.reset();
          return grown.error();
        }
        // Flags of packets of an earlier size must not be taken for new ones.
        std::memset(mapping->data(), 0, static_cast<std::size_t>(bytes));
      }
      writeGuards(m_memory[rank].data(), m_layouts[rank]);
      m_machine->memory()[rank] =
          memoryOf(*m_plan, at, chunkBytes, m_memory[rank].data(), m_layouts[rank], m_scratch[rank].data());
    }
    return Done{};
  }

  std::shared_ptr<const mscclpp::ExecutionPlan> m_plan;
  WorkerPool m_pool;
  std::vector<Mapping> m_memory;  ///< by rank
  std::vector<Mapping> m_scratch;
  std::vector<BufferLayout> m_layouts;
  std::optional<PlanMachine> m_machine;
  std::atomic<bool> m_isAborted = false;
  std::uint64_t m_seed = 1;
};

RunResult PlanBackend::run(const RunRequest& request) {
  if (!m_machine) {
    return unpreparedRun();
  }
  m_isAborted = false;
  m_machine->begin(request.iterations, m_seed++);
  const std::stop_callback onStop(request.stop, [this] { abort(); });
  const auto start = std::chrono::steady_clock::now();
  m_pool.run(m_pool.size(), [&](int worker) { m_machine->work(worker, m_isAborted, request.stallSeconds); });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (m_isAborted) {
    m_machine.reset();
    return stoppedRun();
  }
  if (m_machine->isStalled()) {
    const std::string text = m_machine->stuckText();
    m_machine.reset();
    return RunFailure{.exit = program::RunExit::hang,
                      .error = {.code = ErrorCode::verification,
                                .message = "nothing moves: " + text,
                                .fix = "coppice-cli verify says what it waits for"},
                      .stuck = program::StuckRecord{.isDeadlock = false, .text = text}};
  }
  return RunTimes{.seconds = {seconds.count() / request.iterations}, .total = seconds.count()};
}

}  // namespace

std::unique_ptr<Backend> makePlanBackend(std::shared_ptr<const mscclpp::ExecutionPlan> plan, int workers) {
  return std::make_unique<PlanBackend>(std::move(plan),
                                       std::clamp(workers > 0 ? workers : allowedCores(), 1, kMaxPlanWorkers));
}

}  // namespace coppice::executor
