// SPDX-License-Identifier: Apache-2.0
#include "mpi/mpi_plan_backend.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "base/checked.hpp"
#include "engine/buffers.hpp"
#include "engine/pause.hpp"
#include "engine/run_failures.hpp"
#include "engine/within_memory.hpp"
#include "mpi/plan_traffic.hpp"
#include "mpi/waiting.hpp"
#include "mpi/world_backend.hpp"
#include "mpi/world_failures.hpp"
#include "mscclpp/plan_machine.hpp"
#include "mscclpp/plan_shell.hpp"
#include "threads/worker_pool.hpp"

namespace coppice::executor {
namespace {

constexpr std::int64_t kPage = 4096;
constexpr auto kTick = std::chrono::milliseconds(100);

/// Where everything is in the memory that a host's processes share, in bytes.
struct PlanSegment {
  std::vector<BufferLayout> buffers;  ///< by rank
  std::vector<std::int64_t> ranks;    ///< by rank; -1 = on another host
  std::vector<std::int64_t> scratch;  ///< by rank
  std::vector<std::int64_t> ends;     ///< by rank: where what it owns ends
  std::int64_t bytes = 0;
};

std::int64_t toPages(std::int64_t bytes) {
  return checkedAdd(bytes, kPage - 1) / kPage * kPage;
}

/// All channels have a counter, those of other hosts too.
std::int64_t counterBytes(const mscclpp::ExecutionPlan& plan) {
  std::size_t count = 1;
  for (const mscclpp::Gpu& gpu : plan.gpus) {
    count += gpu.memoryPeers.size() + gpu.portPeers.size();
  }
  return toPages(static_cast<std::int64_t>(count * sizeof(SignalCounter)));
}

PlanSegment layOut(const mscclpp::ExecutionPlan& plan, const Plan& shell, const Geometry& geometry,
                   const MpiWorld& world) {
  const std::int64_t chunkBytes = checkedMul(geometry.chunkElements, geometry.elementBytes);
  PlanSegment segment;
  std::int64_t at = counterBytes(plan);
  for (int rank = 0; rank < static_cast<int>(plan.gpus.size()); ++rank) {
    segment.buffers.push_back(layOutBuffers(shell, geometry, rank));
    const bool isHere = world.seatOf(rank) >= 0;
    segment.ranks.push_back(isHere ? at : -1);
    if (isHere) {
      at = checkedAdd(at, toPages(segment.buffers.back().bytes));
    }
    segment.scratch.push_back(at);
    if (isHere) {
      at = checkedAdd(at, toPages(scratchBytes(plan, rank, chunkBytes)));
    }
    segment.ends.push_back(at);
  }
  segment.bytes = at;
  return segment;
}

class MpiPlanBackend : public WorldBackend {
public:
  MpiPlanBackend(std::unique_ptr<MpiWorld> world, std::shared_ptr<const mscclpp::ExecutionPlan> plan, int workers)
      : WorldBackend(std::move(world)),
        m_plan(std::move(plan)),
        m_pool(workers),
        m_rank(m_world->process() < static_cast<int>(m_plan->gpus.size()) ? m_world->process() : -1),
        m_watch(m_world->watchComm()) {}
  ~MpiPlanBackend() override { drop(); }

  BackendInfo info() const override {
    BackendInfo info = worldInfo(m_pool.size());
    info.label = "as MSCCL++'s kernel runs a plan: its data and order" +
                 (info.label.empty() ? std::string() : "; " + info.label);
    return info;
  }
  MemoryNeed need(const Plan& plan, const Geometry& geometry) const override {
    return {.hostBytes = layOut(*m_plan, plan, geometry, *m_world).bytes};
  }
  std::int64_t pieceBytes(const Plan& /*plan*/, DataType /*type*/, std::int64_t bytes) const override {
    return std::max<std::int64_t>(bytes, 1);  // chunks move whole
  }
  Outcome prepare(const Plan& plan, const Geometry& geometry) override;
  std::vector<int> localRanks() const override { return m_rank >= 0 ? std::vector<int>{m_rank} : std::vector<int>(); }
  RankBuffers buffers(int rank) override {
    std::byte* const block = m_segment.data() + m_layout.ranks[rank];
    return {.input = block + m_layout.buffers[rank].input, .output = block + m_layout.buffers[rank].output};
  }
  std::int64_t damagedGuards() override {
    return m_rank < 0 ? 0
                      : executor::damagedGuards(m_segment.data() + m_layout.ranks[m_rank], m_layout.buffers[m_rank]);
  }
  RunResult run(const RunRequest& request) override;
  void abort() noexcept override { m_isAborted = true; }
  std::vector<program::TraceEvent> takeTrace(std::int64_t& dropped) override {
    dropped = 0;
    return {};
  }
  double measureMemory(std::stop_token /*stop*/) override { return 0; }

private:
  /// The main thread's part in moving data, with a look at the other processes.
  class WatchedTraffic : public PlanTraffic {
  public:
    WatchedTraffic(MpiPlanBackend& backend, const std::vector<int>& peers)
        : PlanTraffic(backend.m_world->comm(), peers, *backend.m_machine, backend.m_rank), m_backend(backend) {}
    bool poll() override {
      const bool moved = PlanTraffic::poll();
      m_backend.lookAround();
      return moved;
    }

  private:
    MpiPlanBackend& m_backend;
  };

  void drop();
  Outcome share(const Plan& plan, const Geometry& geometry);
  void makeMachine(const Geometry& geometry);
  void lookAround();
  void judge(Verdict verdict, int culprit);
  [[nodiscard]] bool isCutOff() const {
    return m_verdict == Verdict::lost || (m_verdict == Verdict::stall && m_culprit >= 0);
  }
  bool settle();
  RunFailure explain(double stallSeconds);

  std::shared_ptr<const mscclpp::ExecutionPlan> m_plan;
  WorkerPool m_pool;
  int m_rank = -1;
  SharedSegment m_segment;
  PlanSegment m_layout;
  std::optional<PlanMachine> m_machine;
  std::unique_ptr<WatchedTraffic> m_traffic;
  Watch m_watch;
  Verdict m_verdict = Verdict::none;
  int m_culprit = -1;
  std::chrono::steady_clock::time_point m_looked;
  std::atomic<bool> m_isAborted = false;
  std::atomic<bool> m_stops = false;
  std::uint64_t m_seed = 1;
};

/// The run before has ended or failed; nothing of it is under way.
void MpiPlanBackend::drop() {
  if (m_traffic && !m_world->isBroken()) {
    m_traffic->close();
  }
  m_traffic.reset();
  m_machine.reset();
}

Outcome MpiPlanBackend::share(const Plan& plan, const Geometry& geometry) {
  const Outcome laidOut = withinMemory([&]() -> Outcome {
    m_layout = layOut(*m_plan, plan, geometry, *m_world);
    return Done{};
  });
  if (Outcome agreed = m_world->agree(laidOut); !agreed) {
    return agreed;
  }
  const auto isNew = m_world->grow(m_segment, m_layout.bytes);
  if (!isNew) {
    return isNew.error();
  }
  return Done{};
}

void MpiPlanBackend::makeMachine(const Geometry& geometry) {
  const std::int64_t chunkBytes = geometry.chunkElements * geometry.elementBytes;
  m_machine.emplace(*m_plan, localRanks(), geometry.type, chunkBytes, m_pool.size());
  m_machine->shareCounters(reinterpret_cast<SignalCounter*>(m_segment.data()));
  std::vector<int> far;
  const auto ranks = static_cast<int>(m_plan->gpus.size());
  for (int rank = 0; rank < ranks; ++rank) {
    if (m_layout.ranks[rank] >= 0) {
      m_machine->memory()[rank] = memoryOf(*m_plan, rank, chunkBytes, m_segment.data() + m_layout.ranks[rank],
                                           m_layout.buffers[rank], m_segment.data() + m_layout.scratch[rank]);
    } else if (m_rank >= 0) {
      far.push_back(rank);
    }
  }
  m_traffic = std::make_unique<WatchedTraffic>(*this, far);
  m_machine->setNetwork(m_traffic.get());
}

Outcome MpiPlanBackend::prepare(const Plan& plan, const Geometry& geometry) {
  if (Outcome enough = requireProcesses(plan.rankCount()); !enough) {
    return enough;
  }
  if (Outcome whole = requireWholeChunks(*m_plan, geometry.chunkElements * geometry.elementBytes); !whole) {
    return whole;
  }
  drop();
  if (Outcome shared = share(plan, geometry); !shared) {
    return shared;
  }
  // Counters, and flags of packets of an earlier size, must not be taken for new ones.
  if (m_world->seat() == 0) {
    std::memset(m_segment.data(), 0, static_cast<std::size_t>(counterBytes(*m_plan)));
  }
  if (m_rank >= 0) {
    std::byte* const block = m_segment.data() + m_layout.ranks[m_rank];
    std::memset(block, 0, static_cast<std::size_t>(m_layout.ends[m_rank] - m_layout.ranks[m_rank]));
    writeGuards(block, m_layout.buffers[m_rank]);
  }
  const Outcome made = withinMemory([&]() -> Outcome {
    makeMachine(geometry);
    return Done{};
  });
  if (Outcome agreed = m_world->agree(made); !agreed) {
    drop();
    return agreed;
  }
  return m_world->gate();
}

void MpiPlanBackend::judge(Verdict verdict, int culprit) {
  m_verdict = verdict;
  m_culprit = culprit;
  m_stops = true;
}

/// Whether all processes are there, move, and have not been told to stop.
void MpiPlanBackend::lookAround() {
  if (m_verdict != Verdict::none) {
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now - m_looked > kTick) {
    m_looked = now;
    char state = 'R';
    if (const int rank = m_world->findLost(state); rank >= 0) {
      judge(Verdict::lost, rank);
      return;
    }
  }
  // That nothing can ever move again is not proved here: a plan that was verified has no deadlock.
  const Verdict verdict =
      m_watch.poll({.wantsStop = m_isAborted.load() ? 1 : 0, .progress = m_machine->moves() + m_traffic->moves()});
  if (verdict != Verdict::none) {
    judge(verdict, m_watch.culprit());
  }
}

/// Until everything has arrived everywhere, whether the run ended or was stopped. @return false where a process is lost
bool MpiPlanBackend::settle() {
  const auto waitWhile = [&](const auto& isOpen) {
    for (Pause pause(kYields); isOpen() && !isCutOff(); pause.rest()) {
      if (m_traffic->poll()) {
        pause.restart();
      }
    }
  };
  for (std::int64_t all = 1; all != 0 && !isCutOff();) {
    waitWhile([&] { return !m_traffic->isQuiet(); });
    if (isCutOff()) {
      return false;
    }
    std::int64_t own = m_traffic->balance();
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(&own, &all, 1, MPI_INT64_T, MPI_SUM, m_world->comm(), &request);
    waitWhile([&] { return !isDone(request); });
  }
  if (isCutOff()) {
    return false;
  }
  if (const Verdict agreed = m_watch.end(); m_verdict == Verdict::none) {
    m_verdict = agreed;
  }
  return true;
}

RunResult MpiPlanBackend::run(const RunRequest& request) {
  if (!m_machine) {
    return unpreparedRun();
  }
  m_isAborted = false;
  m_stops = false;
  m_verdict = Verdict::none;
  m_culprit = -1;
  m_world->setPatience(request.stallSeconds);
  if (const Outcome gate = m_world->gate(); !gate) {
    return brokenRun(*m_world, gate.error());
  }
  m_machine->begin(request.iterations, m_seed++ * static_cast<std::uint64_t>(m_world->processes()) +
                                           static_cast<std::uint64_t>(m_world->process()));
  m_watch.begin(request.stallSeconds);
  if (const Outcome gate = m_world->gate(); !gate) {
    return brokenRun(*m_world, gate.error());
  }
  const auto start = std::chrono::steady_clock::now();
  m_looked = start;
  {
    const std::stop_callback onStop(request.stop, [this] { abort(); });
    m_pool.run(m_pool.size(), [&](int worker) { m_machine->work(worker, m_stops, 0); });
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (!settle() || m_verdict != Verdict::none) {
    return explain(request.stallSeconds);
  }
  return RunTimes{.seconds = {seconds.count() / request.iterations}, .total = seconds.count()};
}

RunFailure MpiPlanBackend::explain(double stallSeconds) {
  if (m_verdict == Verdict::cancelled) {
    drop();
    return stoppedRun();
  }
  std::string text = m_machine->stuckText();
  if (isCutOff()) {
    RunFailure failure = abandonedRun(*m_world, m_verdict, m_culprit, stallSeconds,
                                      program::StuckRecord{.isDeadlock = false, .text = text});
    drop();
    return failure;
  }
  // All are there and wait: the first that does says for what.
  const auto texts = m_world->gatherAll(text);
  for (const std::string& other : texts ? *texts : std::vector<std::string>()) {
    text = text.empty() || m_world->process() != 0 ? other : text;
  }
  drop();
  return {.exit = program::RunExit::hang,
          .error = {.code = ErrorCode::verification,
                    .message = "nothing has moved for " + std::to_string(std::lround(stallSeconds)) + " s: " + text,
                    .fix = "coppice-cli verify says what it waits for"},
          .stuck = program::StuckRecord{.isDeadlock = false, .text = text}};
}

}  // namespace

std::unique_ptr<Backend> makeMpiPlanBackend(std::unique_ptr<MpiWorld> world,
                                            std::shared_ptr<const mscclpp::ExecutionPlan> plan, int workers) {
  return std::make_unique<MpiPlanBackend>(std::move(world), std::move(plan), workers);
}

}  // namespace coppice::executor
