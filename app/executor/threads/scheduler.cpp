// SPDX-License-Identifier: Apache-2.0
#include "threads/scheduler.hpp"

#include <algorithm>

#include "engine/run_failures.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace coppice::executor {
namespace {

constexpr std::int64_t kMinMoved = std::int64_t{16} << 10;  // operations of less run wherever they are met
constexpr int kSpinsAtHome = 32;                            // before a worker looks at the queues of others
constexpr int kSpins = 2000;  // about 20 us before it sleeps, less than waking it again takes
constexpr std::size_t kMaxTraceEvents = std::size_t{1} << 18;   // of a worker
constexpr std::int64_t kDivisionBytes = std::int64_t{1} << 20;  // of one task

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

}  // namespace

/// The interpreter's view of one worker. Alone, it runs all tasks, and no other thread reads what it writes.
template <bool kAlone>
class Scheduler::Host {
public:
  static constexpr bool kIsAlone = kAlone;

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
  [[nodiscard]] std::atomic<std::uint64_t>& tail(int connection) const { return m_state.tails[connection].value; }
  [[nodiscard]] std::atomic<std::uint64_t>& head(int connection) const { return m_state.heads[connection].value; }
  [[nodiscard]] std::atomic<std::uint64_t>& flag(int block) const { return m_state.flags[block].value; }
  void sent(int connection) {
    m_scheduler.wake<kAlone>(m_worker, m_scheduler.m_plan.connections[connection].recvBlock, Wait::data);
  }
  void consumed(int connection) {
    m_scheduler.wake<kAlone>(m_worker, m_scheduler.m_plan.connections[connection].sendBlock, Wait::space);
  }
  void published(int block) {
    for (const int dependent : m_scheduler.m_dependents[block]) {
      m_scheduler.wake<kAlone>(m_worker, dependent, Wait::flag);
    }
  }
  [[nodiscard]] bool belongsHere(const Op& op, std::int64_t tile) const {
    if (kAlone || m_isGuest) {
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
    Worker& worker = *m_scheduler.m_workers[m_worker];
    if (worker.trace.size() >= kMaxTraceEvents) {
      ++worker.dropped;
      return;
    }
    const auto since = [&](Clock::time_point time) {
      return std::chrono::duration_cast<std::chrono::nanoseconds>(time - m_scheduler.m_origin).count();
    };
    const PlanBlock& owner = m_scheduler.m_plan.blocks[block];
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
  m_isFine = std::all_of(script.ops.begin(), script.ops.end(),
                         [&](const Op& op) { return script.bytesOf(op, 0) < kMinMoved; });
  for (std::size_t block = 0; block < plan.blocks.size(); ++block) {
    for (int step = plan.blocks[block].firstStep; step < plan.blocks[block].endStep; ++step) {
      if (const int target = plan.steps[step].waitBlock; target >= 0) {
        std::vector<int>& dependents = m_dependents[target];
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
  m_keepsOwn = m_isFine || workers == 1;
  m_lanes = std::max<std::int64_t>(1, std::max(m_plan.inputChunks, m_plan.outputChunks));
  m_workersPerLane = std::max<std::int64_t>(1, workers / m_lanes);
  while (m_workers.size() < static_cast<std::size_t>(workers)) {
    m_workers.push_back(std::make_unique<Worker>());
  }
  for (const auto& worker : m_workers) {
    worker->queue.clear();
    worker->queued = 0;
    worker->stack.clear();
    worker->isActive = false;
    worker->done = 0;
    worker->trace.clear();
    worker->dropped = 0;
    if (request.trace) {
      worker->trace.reserve(kMaxTraceEvents);
    }
  }
  m_seconds.clear();
  m_seconds.reserve(std::max(0, request.iterations));
  m_stuck.reset();
  m_queued = 0;
  m_hungry = 0;
  m_isOver = false;
  m_dividing = false;
  m_origin = Clock::now();
  m_iterationStart = m_origin;
  if (request.iterations <= 0 || m_blocks.empty()) {
    m_seconds.assign(std::max(0, request.iterations), 0);
    m_isOver = true;
    return;
  }
  startIteration(0);
}

/// Nothing is queued, nothing runs. Makes every block ready; the worker is active then.
void Scheduler::startIteration(int worker) {
  for (std::size_t block = m_blocks.size(); block-- > 0;) {
    m_blocks[block].cursor.tile = 0;
    m_blocks[block].cursor.op = m_script.blocks[block].firstOp;
    m_blocks[block].parked.store(0, std::memory_order_relaxed);
    const int byRank = m_plan.blocks[block].rank * m_active / m_plan.rankCount();
    const int home = homeOf(static_cast<int>(block), byRank);
    m_workers[home]->parcel.push_back(static_cast<int>(block));
  }
  m_live = 1;
  m_workers[worker]->isActive = true;
  sendParcels(worker);
}

/// By a worker that is counted: what was put aside for the others goes into their queues, the own onto the own stack.
void Scheduler::sendParcels(int worker) {
  for (int to = 0; to < m_active; ++to) {
    std::vector<int>& parcel = m_workers[to]->parcel;
    if (to == worker && m_keepsOwn) {
      m_workers[worker]->stack = parcel;
    } else if (!parcel.empty()) {
      push(to, parcel.data(), parcel.size());
    }
    parcel.clear();
  }
}

void Scheduler::work(int worker) {
  if (m_active == 1) {
    workAs<true>(worker);
  } else {
    workAs<false>(worker);
  }
}

template <bool kIsAlone>
void Scheduler::workAs(int worker) {
  Worker& own = *m_workers[worker];
  int spins = 0;
  bool isHungry = false;
  while (!m_isOver.load(std::memory_order_acquire)) {
    if (!own.stack.empty()) {
      if (!kIsAlone && own.stack.size() > 1 && m_hungry.load(std::memory_order_relaxed) > 0 &&
          own.queued.load(std::memory_order_relaxed) == 0) {
        share(worker);
      }
      const int task = own.stack.back();
      own.stack.pop_back();
      runTask<kIsAlone>(worker, task, true);
      continue;
    }
    bool isOwn = true;
    int task = takeOwn(worker);
    if (task < 0 && own.isActive) {
      own.isActive = false;
      if (m_live.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        endOfActivity(worker);
      }
      continue;
    }
    if (task < 0 && spins >= kSpinsAtHome) {
      if (!isHungry) {
        isHungry = true;
        m_hungry.fetch_add(1, std::memory_order_relaxed);
      }
      if (spins % kSpinsAtHome == 0) {
        task = takeOther(worker);
        isOwn = m_keepsOwn;
      }
    }
    if (task >= 0) {
      if (isHungry) {
        isHungry = false;
        m_hungry.fetch_sub(1, std::memory_order_relaxed);
      }
      spins = 0;
      runTask<kIsAlone>(worker, task, isOwn);
      continue;
    }
    if (++spins < kSpins) {
      pause();
      continue;
    }
    spins = kSpinsAtHome;
    rest(worker);
  }
}

template <bool kIsAlone>
void Scheduler::runTask(int worker, int task, bool isOwn) {
  if (!m_dividing) {
    runBlock<kIsAlone>(worker, task, isOwn);
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
}

template <bool kIsAlone>
void Scheduler::runBlock(int worker, int block, bool isOwn) {
  Host<kIsAlone> host(*this, worker, !isOwn);
  Interpreter interpreter(m_view, host);
  Block& task = m_blocks[block];
  while (true) {
    const Wait wait = interpreter.advance(block, task.cursor);
    if (m_isAborted.load(std::memory_order_relaxed)) {
      endRun();
      return;
    }
    if (wait == Wait::done) {
      ++m_workers[worker]->done;
      return;
    }
    if (wait == Wait::none) {
      schedule(worker, block);
      return;
    }
    if (!park<kIsAlone>(worker, block, wait)) {
      return;
    }
  }
}

template <bool kIsAlone>
bool Scheduler::park(int worker, int block, Wait wait) {
  Block& task = m_blocks[block];
  if constexpr (kIsAlone) {
    task.parked.store(static_cast<std::uint8_t>(wait), std::memory_order_relaxed);
    return false;
  }
  Host<kIsAlone> host(*this, worker);
  Interpreter interpreter(m_view, host);
  // Once parked, another worker may take the block; what is needed of it is copied before.
  const Cursor cursor = task.cursor;
  const Op& op = m_script.ops[cursor.op];
  task.parked.store(static_cast<std::uint8_t>(wait), std::memory_order_seq_cst);
  if (interpreter.obstacle(op, m_plan.blocks[block], cursor) == wait) {
    return false;
  }
  auto expected = static_cast<std::uint8_t>(wait);
  return task.parked.compare_exchange_strong(expected, 0, std::memory_order_seq_cst);
}

/// Nothing is queued, nothing runs.
void Scheduler::endOfActivity(int worker) {
  std::size_t done = 0;
  for (int other = 0; other < m_active; ++other) {
    done += static_cast<std::size_t>(m_workers[other]->done);
  }
  if (done != m_blocks.size()) {
    std::vector<Position> positions;
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
    for (int rank = 0; rank < m_plan.rankCount(); ++rank) {
      for (int piece = 0; piece < pieces && (m_plan.root < 0 || rank == m_plan.root); ++piece) {
        m_workers[rank * m_active / m_plan.rankCount()]->parcel.push_back(rank * pieces + piece);
      }
    }
    m_live = 1;
    m_workers[worker]->isActive = true;
    sendParcels(worker);
    return;
  }
  m_dividing = false;
  m_view.tilesBefore += static_cast<std::uint64_t>(m_script.tiles);
  const Clock::time_point now = Clock::now();
  m_seconds.push_back(std::chrono::duration<double>(now - m_iterationStart).count());
  m_iterationStart = now;
  for (int other = 0; other < m_active; ++other) {
    m_workers[other]->done = 0;
  }
  if (static_cast<int>(m_seconds.size()) >= m_request.iterations) {
    endRun();
    return;
  }
  startIteration(worker);
}

template <bool kIsAlone>
void Scheduler::wake(int worker, int block, Wait wait) {
  Block& task = m_blocks[block];
  auto expected = static_cast<std::uint8_t>(wait);
  if constexpr (kIsAlone) {
    if (task.parked.load(std::memory_order_relaxed) == expected) {
      task.parked.store(0, std::memory_order_relaxed);
      m_workers[worker]->stack.push_back(block);
    }
    return;
  }
  if (task.parked.load(std::memory_order_seq_cst) == expected &&
      task.parked.compare_exchange_strong(expected, 0, std::memory_order_seq_cst)) {
    schedule(worker, block);
  }
}

void Scheduler::schedule(int worker, int block) {
  if (m_keepsOwn) {
    m_workers[worker]->stack.push_back(block);
    return;
  }
  push(homeOf(block, worker), &block, 1);
}

/// Gives the older half of the stack away.
void Scheduler::share(int worker) {
  std::vector<int>& stack = m_workers[worker]->stack;
  const std::size_t half = stack.size() / 2;
  push(worker, stack.data(), half);
  stack.erase(stack.begin(), stack.begin() + static_cast<std::ptrdiff_t>(half));
}

int Scheduler::homeOf(const Op& op, std::int64_t tile) const {
  if (op.lane < 0 || m_active == 1 || m_script.bytesOf(op, tile) < kMinMoved) {
    return -1;
  }
  return static_cast<int>(op.lane * m_active / m_lanes + tile % m_workersPerLane);
}

int Scheduler::homeOf(int block, int otherwise) const {
  const Cursor& cursor = m_blocks[block].cursor;
  const ScriptBlock& range = m_script.blocks[block];
  const bool wraps = cursor.op == range.endOp;
  if (range.firstOp == range.endOp) {
    return otherwise;
  }
  const Op& op = m_script.ops[wraps ? range.firstOp : cursor.op];
  const int home = homeOf(op, cursor.tile + (wraps ? 1 : 0));
  return home < 0 ? otherwise : home;
}

/// Into a worker's queue. By a worker that is counted.
void Scheduler::push(int worker, const int* tasks, std::size_t count) {
  m_live.fetch_add(static_cast<int>(count), std::memory_order_relaxed);
  Worker& owner = *m_workers[worker];
  {
    const std::lock_guard lock(owner.mutex);
    owner.queue.insert(owner.queue.end(), tasks, tasks + count);
    owner.queued.store(static_cast<int>(owner.queue.size()), std::memory_order_relaxed);
  }
  m_queued.fetch_add(static_cast<int>(count), std::memory_order_seq_cst);
  if (m_sleepers.load(std::memory_order_seq_cst) == 0) {
    return;
  }
  if (owner.isAsleep.load(std::memory_order_seq_cst)) {
    rouse(worker);
    return;
  }
  for (int other = 0; other < m_active; ++other) {
    if (m_workers[other]->isAsleep.load(std::memory_order_seq_cst)) {
      rouse(other);
      return;
    }
  }
}

/// The newest of the own queue, and the worker is active; -1 = it is empty. Where operations are small, all the others
/// come onto the stack.
int Scheduler::takeOwn(int worker) {
  Worker& own = *m_workers[worker];
  if (own.queued.load(std::memory_order_relaxed) == 0) {
    return -1;
  }
  int count = 0;
  int task = -1;
  {
    const std::lock_guard lock(own.mutex);
    if (own.queue.empty()) {
      return -1;
    }
    task = own.queue.back();
    own.queue.pop_back();
    count = 1;
    if (m_keepsOwn) {
      own.stack.insert(own.stack.end(), own.queue.begin(), own.queue.end());
      count += static_cast<int>(own.queue.size());
      own.queue.clear();
    }
    own.queued.store(static_cast<int>(own.queue.size()), std::memory_order_relaxed);
  }
  m_queued.fetch_sub(count, std::memory_order_seq_cst);
  activate(own, count);
  return task;
}

/// What was counted as tasks in a queue is from now on counted as one worker. Never zero in between.
void Scheduler::activate(Worker& worker, int tasks) {
  const int surplus = worker.isActive ? tasks : tasks - 1;
  worker.isActive = true;
  if (surplus > 0) {
    m_live.fetch_sub(surplus, std::memory_order_acq_rel);
  }
}

/// The oldest of another queue, and the worker is active; -1 = all are empty. Where operations are small, half of that
/// queue comes along.
int Scheduler::takeOther(int worker) {
  Worker& own = *m_workers[worker];
  for (int offset = 1; offset < m_active; ++offset) {
    Worker& other = *m_workers[(worker + offset) % m_active];
    if (other.queued.load(std::memory_order_relaxed) == 0) {
      continue;
    }
    const std::lock_guard lock(other.mutex);
    if (other.queue.empty()) {
      continue;
    }
    const int task = other.queue.front();
    const std::size_t count = m_keepsOwn ? (other.queue.size() + 1) / 2 : 1;
    const auto end = other.queue.begin() + static_cast<std::ptrdiff_t>(count);
    own.stack.insert(own.stack.end(), other.queue.begin() + 1, end);
    other.queue.erase(other.queue.begin(), end);
    other.queued.store(static_cast<int>(other.queue.size()), std::memory_order_relaxed);
    m_queued.fetch_sub(static_cast<int>(count), std::memory_order_seq_cst);
    activate(own, static_cast<int>(count));
    return task;
  }
  return -1;
}

void Scheduler::rest(int worker) {
  Worker& own = *m_workers[worker];
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
  m_workers[worker]->awakes.notify_one();
}

void Scheduler::endRun() {
  m_isOver.store(true, std::memory_order_seq_cst);
  for (int worker = 0; worker < m_active; ++worker) {
    rouse(worker);
  }
}

std::optional<RunFailure> Scheduler::finish(std::vector<double>& seconds) {
  seconds = m_seconds;
  if (m_stuck) {
    return deadlockedRun(*m_stuck);
  }
  return m_isAborted.load() ? std::optional(stoppedRun()) : std::nullopt;
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
