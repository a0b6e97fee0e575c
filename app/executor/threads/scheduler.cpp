// SPDX-License-Identifier: Apache-2.0
#include "threads/scheduler.hpp"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace coppice::executor {
namespace {

constexpr std::int64_t kLeastMoved = std::int64_t{16} << 10;  // operations of less run wherever they are met
constexpr int kSpinsAtHome = 32;                              // before a worker looks at the queues of others
constexpr int kSpins = 2000;  // about 20 us before it sleeps, less than waking it again takes
constexpr std::size_t kMostEvents = std::size_t{1} << 18;       // of a worker
constexpr std::int64_t kDivisionBytes = std::int64_t{1} << 20;  // of one task

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

}  // namespace

/// The interpreter's view of one worker.
class Scheduler::Host {
public:
  /// @param isGuest the worker took the block from another and runs one operation of it, wherever its data belongs
  Host(Scheduler& scheduler, int worker, bool isGuest = false)
      : m_scheduler(scheduler),
        m_state(scheduler.m_state),
        m_worker(worker),
        m_isGuest(isGuest),
        m_slotBytes(scheduler.m_script.slotBytes),
        m_depth(static_cast<std::uint64_t>(scheduler.m_script.depth)) {}

  [[nodiscard]] std::byte* base(int rank, program::Buffer buffer) const {
    return m_state.bases[static_cast<std::size_t>(rank) * 3 + static_cast<std::size_t>(buffer)];
  }
  [[nodiscard]] std::size_t slotNumber(int connection, std::uint64_t message) const {
    return static_cast<std::size_t>(connection) * m_depth + message % m_depth;
  }
  [[nodiscard]] std::byte* slot(int connection, std::uint64_t message) const {
    return m_state.slots + slotNumber(connection, message) * static_cast<std::size_t>(m_slotBytes);
  }
  [[nodiscard]] Message& message(int connection, std::uint64_t number) const {
    return m_state.messages[slotNumber(connection, number)];
  }
  [[nodiscard]] std::atomic<std::uint64_t>& tail(int connection) const {
    return m_state.tails[static_cast<std::size_t>(connection)].value;
  }
  [[nodiscard]] std::atomic<std::uint64_t>& head(int connection) const {
    return m_state.heads[static_cast<std::size_t>(connection)].value;
  }
  [[nodiscard]] std::atomic<std::uint64_t>& flag(int block) const {
    return m_state.flags[static_cast<std::size_t>(block)].value;
  }
  void sent(int connection) {
    m_scheduler.wake(m_worker, m_scheduler.m_plan.connections[static_cast<std::size_t>(connection)].recvBlock,
                     Wait::data);
  }
  void consumed(int connection) {
    m_scheduler.wake(m_worker, m_scheduler.m_plan.connections[static_cast<std::size_t>(connection)].sendBlock,
                     Wait::space);
  }
  void published(int block) {
    for (const int dependent : m_scheduler.m_dependents[static_cast<std::size_t>(block)]) {
      m_scheduler.wake(m_worker, dependent, Wait::flag);
    }
  }
  [[nodiscard]] bool belongsHere(const Op& op, std::int64_t tile) const {
    if (m_isGuest) {
      return true;
    }
    const int home = m_scheduler.homeOf(op, tile);
    return home < 0 || home == m_worker;
  }
  [[nodiscard]] bool keepsOn() const { return !m_isGuest && !m_scheduler.m_isAborted.load(std::memory_order_relaxed); }
  void begins(const Op& /*op*/) {
    if (m_scheduler.m_request.trace) {
      m_start = Clock::now();
    }
  }
  void ends(int block, const Op& op, std::int64_t tile) {
    if (!m_scheduler.m_request.trace) {
      return;
    }
    Worker& worker = *m_scheduler.m_workers[static_cast<std::size_t>(m_worker)];
    if (worker.trace.size() >= kMostEvents) {
      ++worker.dropped;
      return;
    }
    const auto since = [&](Clock::time_point time) {
      return std::chrono::duration_cast<std::chrono::nanoseconds>(time - m_scheduler.m_origin).count();
    };
    const PlanBlock& owner = m_scheduler.m_plan.blocks[static_cast<std::size_t>(block)];
    worker.trace.push_back({.rank = owner.rank,
                            .threadBlock = owner.id,
                            .step = op.number,
                            .tile = static_cast<int>(tile),
                            .start_ns = since(m_start),
                            .end_ns = since(Clock::now())});
  }

private:
  Scheduler& m_scheduler;
  SharedState& m_state;
  int m_worker;
  bool m_isGuest;
  std::int64_t m_slotBytes;
  std::uint64_t m_depth;
  Clock::time_point m_start;
};

Scheduler::Scheduler(const Plan& plan, const Script& script, SharedState& state, DataType type,
                     const Geometry& geometry, bool streams, const std::atomic<bool>& isAborted)
    : m_plan(plan),
      m_script(script),
      m_state(state),
      m_geometry(geometry),
      m_dependents(plan.blocks.size()),
      m_blocks(plan.blocks.size()),
      m_isAborted(isAborted) {
  m_view = {.plan = &plan, .script = &script, .type = type, .streams = streams};
  for (std::size_t block = 0; block < plan.blocks.size(); ++block) {
    for (int step = plan.blocks[block].firstStep; step < plan.blocks[block].endStep; ++step) {
      if (const int target = plan.steps[static_cast<std::size_t>(step)].waitBlock; target >= 0) {
        std::vector<int>& dependents = m_dependents[static_cast<std::size_t>(target)];
        if (dependents.empty() || dependents.back() != static_cast<int>(block)) {
          dependents.push_back(static_cast<int>(block));
        }
      }
    }
  }
}

void Scheduler::begin(const RunRequest& request, int workers) {
  m_request = request;
  m_view.op = request.op;
  m_active = workers;
  m_lanes = std::max<std::int64_t>(1, std::max(m_plan.inputChunks, m_plan.outputChunks));
  m_workersPerLane = std::max<std::int64_t>(1, workers / m_lanes);
  while (m_workers.size() < static_cast<std::size_t>(workers)) {
    m_workers.push_back(std::make_unique<Worker>());
  }
  for (const auto& worker : m_workers) {
    worker->queue.clear();
    worker->queued = 0;
    worker->trace.clear();
    worker->dropped = 0;
    if (request.trace) {
      worker->trace.reserve(kMostEvents);
    }
  }
  m_seconds.clear();
  m_seconds.reserve(static_cast<std::size_t>(std::max(0, request.iterations)));
  m_stuck.reset();
  m_queued = 0;
  m_isOver = false;
  m_dividing = false;
  m_origin = Clock::now();
  m_iterationStart = m_origin;
  if (request.iterations <= 0 || m_blocks.empty()) {
    m_seconds.assign(static_cast<std::size_t>(std::max(0, request.iterations)), 0);
    m_isOver = true;
    return;
  }
  startIteration(0);
}

/// Nothing runs. Makes every block ready.
void Scheduler::startIteration(int worker) {
  m_done = 0;
  int tasks = 0;
  for (std::size_t block = 0; block < m_blocks.size(); ++block) {
    m_blocks[block].cursor.tile = 0;
    m_blocks[block].cursor.op = m_script.blocks[block].firstOp;
    m_blocks[block].parked.store(0, std::memory_order_relaxed);
    ++tasks;
  }
  m_live = tasks + 1;  // this worker counts until all are queued
  for (std::size_t block = m_blocks.size(); block-- > 0;) {
    const int byRank = m_plan.blocks[block].rank * m_active / m_plan.rankCount();
    push(homeOf(static_cast<int>(block), byRank), static_cast<int>(block));
  }
  leave(worker);
}

void Scheduler::work(int worker) {
  int spins = 0;
  while (!m_isOver.load(std::memory_order_acquire)) {
    int task = takeOwn(worker);
    const bool isOwn = task >= 0;
    if (task < 0 && spins >= kSpinsAtHome && spins % kSpinsAtHome == 0) {
      task = takeOther(worker);
    }
    if (task >= 0) {
      spins = 0;
      runTask(worker, task, isOwn);
      continue;
    }
    if (++spins < kSpins) {
      pause();
      continue;
    }
    spins = 0;
    rest(worker);
  }
}

void Scheduler::runTask(int worker, int task, bool isOwn) {
  if (!m_dividing) {
    runBlock(worker, task, isOwn);
    return;
  }
  const int pieces = static_cast<int>(m_geometry.outputElements * m_geometry.elementBytes / kDivisionBytes) + 1;
  const int rank = task / pieces;
  const std::int64_t begin = task % pieces * kDivisionBytes;
  const std::int64_t whole = m_geometry.outputElements * m_geometry.elementBytes;
  divideBytes(
      m_geometry.type,
      m_state.bases[static_cast<std::size_t>(rank) * 3 + static_cast<std::size_t>(program::Buffer::output)] + begin,
      std::min(kDivisionBytes, whole - begin), m_plan.rankCount());
  leave(worker);
}

void Scheduler::runBlock(int worker, int block, bool isOwn) {
  Host host(*this, worker, !isOwn);
  Interpreter interpreter(m_view, host);
  Block& task = m_blocks[static_cast<std::size_t>(block)];
  while (true) {
    const Wait wait = interpreter.advance(block, task.cursor);
    if (m_isAborted.load(std::memory_order_relaxed)) {
      endRun();
      return;
    }
    if (wait == Wait::done) {
      m_done.fetch_add(1, std::memory_order_relaxed);
      leave(worker);
      return;
    }
    if (wait == Wait::none) {
      push(homeOf(block, worker), block);
      return;
    }
    if (!park(worker, block, wait)) {
      leave(worker);
      return;
    }
  }
}

bool Scheduler::park(int worker, int block, Wait wait) {
  Host host(*this, worker);
  Interpreter interpreter(m_view, host);
  Block& task = m_blocks[static_cast<std::size_t>(block)];
  // Once parked, another worker may take the block; what is needed of it is copied before.
  const Cursor cursor = task.cursor;
  const Op& op = m_script.ops[static_cast<std::size_t>(cursor.op)];
  task.parked.store(static_cast<std::uint8_t>(wait), std::memory_order_seq_cst);
  if (interpreter.obstacle(op, m_plan.blocks[static_cast<std::size_t>(block)], cursor) == wait) {
    return false;
  }
  auto expected = static_cast<std::uint8_t>(wait);
  return task.parked.compare_exchange_strong(expected, 0, std::memory_order_seq_cst);
}

/// A task ends or is parked.
void Scheduler::leave(int worker) {
  if (m_live.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    endOfActivity(worker);
  }
}

/// Nothing is queued, nothing runs.
void Scheduler::endOfActivity(int worker) {
  const bool reachedEnd = m_done.load(std::memory_order_relaxed) == static_cast<int>(m_blocks.size());
  if (!reachedEnd) {
    std::vector<Position> positions;
    Host host(*this, worker);
    for (const Block& block : m_blocks) {
      const auto parked = static_cast<Wait>(block.parked.load(std::memory_order_relaxed));
      positions.push_back(
          {.wait = parked == Wait::none ? Wait::done : parked, .tile = block.cursor.tile, .op = block.cursor.op});
    }
    m_stuck = explainStuck(m_plan, m_script, positions, true);
    endRun();
    return;
  }
  if (m_request.op == ReduceOp::avg && reduces(m_plan.operation) && !m_dividing) {
    m_dividing = true;
    const int pieces = static_cast<int>(m_geometry.outputElements * m_geometry.elementBytes / kDivisionBytes) + 1;
    m_live = 1;
    for (int rank = 0; rank < m_plan.rankCount(); ++rank) {
      for (int piece = 0; piece < pieces && (m_plan.root < 0 || rank == m_plan.root); ++piece) {
        m_live.fetch_add(1, std::memory_order_relaxed);
        push(rank * m_active / m_plan.rankCount(), rank * pieces + piece);
      }
    }
    leave(worker);
    return;
  }
  m_dividing = false;
  m_view.tilesBefore += static_cast<std::uint64_t>(m_script.tiles);
  const Clock::time_point now = Clock::now();
  m_seconds.push_back(std::chrono::duration<double>(now - m_iterationStart).count());
  m_iterationStart = now;
  if (static_cast<int>(m_seconds.size()) >= m_request.iterations) {
    endRun();
    return;
  }
  startIteration(worker);
}

void Scheduler::wake(int worker, int block, Wait wait) {
  Block& task = m_blocks[static_cast<std::size_t>(block)];
  auto expected = static_cast<std::uint8_t>(wait);
  if (task.parked.load(std::memory_order_seq_cst) == expected &&
      task.parked.compare_exchange_strong(expected, 0, std::memory_order_seq_cst)) {
    m_live.fetch_add(1, std::memory_order_relaxed);
    push(homeOf(block, worker), block);
  }
}

int Scheduler::homeOf(const Op& op, std::int64_t tile) const {
  if (op.lane < 0 || m_active == 1 || m_script.bytesOf(op, tile) < kLeastMoved) {
    return -1;
  }
  return static_cast<int>(op.lane * m_active / m_lanes + tile % m_workersPerLane);
}

int Scheduler::homeOf(int block, int otherwise) const {
  const Cursor& cursor = m_blocks[static_cast<std::size_t>(block)].cursor;
  const ScriptBlock& range = m_script.blocks[static_cast<std::size_t>(block)];
  const bool wraps = cursor.op == range.endOp;
  if (range.firstOp == range.endOp) {
    return otherwise;
  }
  const Op& op = m_script.ops[static_cast<std::size_t>(wraps ? range.firstOp : cursor.op)];
  const int home = homeOf(op, cursor.tile + (wraps ? 1 : 0));
  return home < 0 ? otherwise : home;
}

void Scheduler::push(int worker, int task) {
  Worker& owner = *m_workers[static_cast<std::size_t>(worker)];
  {
    const std::lock_guard lock(owner.mutex);
    owner.queue.push_back(task);
    owner.queued.store(static_cast<int>(owner.queue.size()), std::memory_order_relaxed);
  }
  m_queued.fetch_add(1, std::memory_order_seq_cst);
  if (m_sleepers.load(std::memory_order_seq_cst) == 0) {
    return;
  }
  if (owner.isAsleep.load(std::memory_order_seq_cst)) {
    rouse(worker);
    return;
  }
  for (int other = 0; other < m_active; ++other) {
    if (m_workers[static_cast<std::size_t>(other)]->isAsleep.load(std::memory_order_seq_cst)) {
      rouse(other);
      return;
    }
  }
}

/// The newest of the own queue; -1 = it is empty.
int Scheduler::takeOwn(int worker) {
  Worker& own = *m_workers[static_cast<std::size_t>(worker)];
  if (own.queued.load(std::memory_order_relaxed) == 0) {
    return -1;
  }
  const std::lock_guard lock(own.mutex);
  if (own.queue.empty()) {
    return -1;
  }
  const int task = own.queue.back();
  own.queue.pop_back();
  own.queued.store(static_cast<int>(own.queue.size()), std::memory_order_relaxed);
  m_queued.fetch_sub(1, std::memory_order_seq_cst);
  return task;
}

/// The oldest of another queue; -1 = all are empty.
int Scheduler::takeOther(int worker) {
  for (int offset = 1; offset < m_active; ++offset) {
    Worker& other = *m_workers[static_cast<std::size_t>((worker + offset) % m_active)];
    if (other.queued.load(std::memory_order_relaxed) == 0) {
      continue;
    }
    const std::lock_guard lock(other.mutex);
    if (other.queue.empty()) {
      continue;
    }
    const int task = other.queue.front();
    other.queue.pop_front();
    other.queued.store(static_cast<int>(other.queue.size()), std::memory_order_relaxed);
    m_queued.fetch_sub(1, std::memory_order_seq_cst);
    return task;
  }
  return -1;
}

void Scheduler::rest(int worker) {
  Worker& own = *m_workers[static_cast<std::size_t>(worker)];
  std::unique_lock lock(m_restMutex);
  own.isAsleep.store(true, std::memory_order_seq_cst);
  m_sleepers.fetch_add(1, std::memory_order_seq_cst);
  own.awakes.wait(lock, [this] {
    return m_queued.load(std::memory_order_seq_cst) > 0 || m_isOver.load(std::memory_order_seq_cst);
  });
  m_sleepers.fetch_sub(1, std::memory_order_seq_cst);
  own.isAsleep.store(false, std::memory_order_seq_cst);
}

void Scheduler::rouse(int worker) {
  { const std::lock_guard lock(m_restMutex); }
  m_workers[static_cast<std::size_t>(worker)]->awakes.notify_one();
}

void Scheduler::endRun() {
  m_isOver.store(true, std::memory_order_seq_cst);
  for (int worker = 0; worker < m_active; ++worker) {
    rouse(worker);
  }
}

std::optional<RunFailure> Scheduler::finish(std::vector<double>& seconds) {
  seconds = m_seconds;
  std::optional<RunFailure> failure;
  if (m_stuck) {
    failure.emplace();
    failure->exit = program::RunExit::hang;
    failure->error.code = ErrorCode::verification;
    failure->error.message = m_stuck->text;
    failure->error.fix = "the schedule itself waits in a circle; verify it";
    failure->stuck = m_stuck;
  } else if (m_isAborted.load()) {
    failure.emplace();
    failure->exit = program::RunExit::cancelled;
    failure->error.code = ErrorCode::cancelled;
    failure->error.message = "the run was stopped";
  }
  return failure;
}

std::vector<program::TraceEvent> Scheduler::takeTrace(std::int64_t& dropped) {
  std::vector<program::TraceEvent> events;
  dropped = 0;
  for (const auto& worker : m_workers) {
    events.insert(events.end(), worker->trace.begin(), worker->trace.end());
    dropped += worker->dropped;
    worker->trace.clear();
  }
  std::sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  return events;
}

}  // namespace coppice::executor
