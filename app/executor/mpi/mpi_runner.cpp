// SPDX-License-Identifier: Apache-2.0
#include "mpi/mpi_runner.hpp"

#include <sched.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "engine/run_failures.hpp"
#include "mpi/common_origin.hpp"
#include "mpi/jitter.hpp"
#include "mpi/record.hpp"
#include "mpi/spin_limit.hpp"
#include "mpi/world_failures.hpp"
#include "threads/cores.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace coppice::executor {
namespace {

constexpr auto kTick = std::chrono::milliseconds(100);
constexpr auto kNetworkNap = std::chrono::microseconds(50);
constexpr int kMaxReserved = 1 << 16;                        // iterations
constexpr std::size_t kMaxEvents = std::size_t{1} << 18;     // of a worker
constexpr std::int64_t kLargeBytes = std::int64_t{1} << 20;  // from here on data takes longer than to wake a process
constexpr auto kLongYield = std::chrono::microseconds(500);
constexpr int kGateLooks = 200;     // at the start of a run of short messages
constexpr int kLooksPerClock = 32;  // a worker with a core of its own reads the clock once in this many looks
constexpr auto kMoveInterval = std::chrono::milliseconds(1);

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

/// What a process tells the others about one of its blocks.
struct SentPosition {
  std::int64_t tile = 0;
  std::int32_t block = 0;
  std::int32_t op = 0;
  std::uint32_t wait = 0;
  std::uint32_t unused = 0;
};

}  // namespace

/// The interpreter's view of one worker.
class MpiRunner::Host {
public:
  Host(MpiRunner& runner, int worker)
      : m_runner(runner),
        m_setup(runner.m_setup),
        m_worker(worker),
        m_slotBytes(static_cast<std::size_t>(runner.m_setup.script.slotBytes)),
        m_depth(static_cast<std::uint64_t>(runner.m_setup.script.depth)),
        m_jitter(runner.m_jitterSeconds, runner.m_world.process(), worker) {}

  [[nodiscard]] std::byte* base(int rank, program::Buffer buffer) const {
    return m_setup.bases[static_cast<std::size_t>(rank) * 3 + static_cast<std::size_t>(buffer)];
  }
  [[nodiscard]] const ConnectionView& view(int connection) const { return m_setup.connections[connection]; }
  [[nodiscard]] std::byte* slot(int connection, std::uint64_t message) const {
    return view(connection).slots + message % m_depth * m_slotBytes;
  }
  [[nodiscard]] Message& message(int connection, std::uint64_t number) const {
    return view(connection).messages[number % m_depth];
  }
  [[nodiscard]] std::atomic<std::uint64_t>& tail(int connection) const { return *view(connection).tail; }
  [[nodiscard]] std::atomic<std::uint64_t>& head(int connection) const { return *view(connection).head; }
  [[nodiscard]] std::atomic<std::uint64_t>& flag(int block) const { return m_setup.flags[block]->value; }
  void sent(int connection) { call(view(connection).receiverSeat); }
  void consumed(int connection) { call(view(connection).senderSeat); }
  void published(int /*block*/) { call(m_runner.m_world.seat()); }
  /// A process that is woken often comes to the core of the one that wakes it, and stays there as long as the other
  /// cores are busy. To search there would only hold up the other one: this worker moves to a core where no process of
  /// the run was last seen.
  /// @return whether it has a core of its own, as far as can be seen
  bool keepOwnCore() {
    if (m_runner.m_workers > 1) {
      return true;
    }
    const int core = ::sched_getcpu();
    const int own = m_runner.m_world.seat();
    const auto seats = static_cast<int>(m_runner.m_world.neighbours().size());
    m_runner.m_seat.core.store(core, std::memory_order_relaxed);
    bool isShared = false;
    m_cores.clear();
    for (int seat = 0; seat < seats; ++seat) {
      m_cores.push_back(m_runner.m_host.seat(seat).core.load(std::memory_order_relaxed));
      isShared |= seat != own && m_cores.back() == core;
    }
    if (!isShared) {
      return true;
    }
    const Clock::time_point now = Clock::now();
    if (now - m_moved < kMoveInterval || !moveOffCores(m_cores)) {
      return false;
    }
    m_moved = Clock::now();
    m_runner.m_seat.core.store(::sched_getcpu(), std::memory_order_relaxed);
    return true;
  }
  [[nodiscard]] bool keepsOn() const {
    // The main thread also moves what goes over the network.
    return !(m_runner.m_isNetworked && m_worker == 0) && !m_runner.m_isAborted.load(std::memory_order_relaxed) &&
           m_runner.verdict() == Verdict::none;
  }
  void begins(const Op& /*op*/) {
    m_jitter.rest();
    if (m_runner.m_request.trace) {
      m_start = Clock::now();
    }
  }
  void ends(int block, const Op& op, std::int64_t tile) {
    m_runner.m_seat.progress.fetch_add(1, std::memory_order_relaxed);
    if (!m_runner.m_request.trace) {
      return;
    }
    Trace& trace = m_runner.m_traces[m_worker];
    if (trace.events.size() >= kMaxEvents) {
      ++trace.dropped;
      return;
    }
    const auto since = [&](Clock::time_point time) {
      return std::chrono::duration_cast<std::chrono::nanoseconds>(time - m_runner.m_traceOrigin).count();
    };
    const PlanBlock& owner = m_setup.plan->blocks[block];
    trace.events.push_back({.rank = owner.rank,
                            .threadBlock = owner.id,
                            .step = op.number,
                            .tile = static_cast<int>(tile),
                            .start_ns = since(m_start),
                            .end_ns = since(Clock::now())});
  }

private:
  /// The other end may wait. Seat -1 is behind the network: the proxy sees it, in the main thread.
  void call(int seat) {
    const int own = m_runner.m_world.seat();
    if (seat < 0) {
      seat = own;
    }
    if (seat != own || m_runner.m_workers > 1) {
      m_runner.m_host.wake(seat);
    }
  }

  MpiRunner& m_runner;
  const RankSetup& m_setup;
  int m_worker;
  std::size_t m_slotBytes;
  std::uint64_t m_depth;
  Jitter m_jitter;
  Clock::time_point m_start;
  Clock::time_point m_moved;
  std::vector<int> m_cores;  ///< of the processes, as last seen
};

struct MpiRunner::Context {
  Context(MpiRunner& runner, int number)
      : worker(number),
        patience(runner.m_patience),
        yields(patience.yields),
        view{.plan = runner.m_setup.plan,
             .script = &runner.m_setup.script,
             .op = runner.m_request.op,
             .type = runner.m_setup.geometry.type,
             .streams = runner.m_setup.streams},
        host(runner, number),
        interpreter(view, host) {}

  /// A look found work, after `looks` in vain.
  void succeed(int looks) {
    if (looks > patience.spins) {
      yields = std::min(yields * 2 + 1, patience.yields);
    }
  }
  /// Whether to look again, after `looks` in vain. May give the core away.
  bool mayLookAgain(int looks) {
    if (!patience.isTimed) {
      return looks < patience.spins || (looks < patience.spins + yields && yield());
    }
    if (looks % kLooksPerClock != 0) {
      return true;
    }
    const Clock::time_point now = Clock::now();
    if (looks == kLooksPerClock) {
      waitStart = now;
    }
    return now - waitStart < spinLimit.current() && host.keepOwnCore();
  }
  /// Gives the core away. @return whether it came back soon
  bool yield() {
    const Clock::time_point start = Clock::now();
    std::this_thread::yield();
    if (Clock::now() - start < kLongYield) {
      return true;
    }
    yields /= 2;  // something else is busy here: a sleeper that is woken goes first
    return false;
  }
  /// The worker has slept, or found work in its last look before that.
  void wakeUp() {
    if (patience.isTimed) {
      spinLimit.slept(Clock::now() - waitStart);
      return;
    }
    // Two that only sleep and wake each other never find work in a short look, so now and then they yield once.
    constexpr int kSleepsToTryAgain = 32;
    if (++sleeps % kSleepsToTryAgain == 0 && yields == 0) {
      yields = std::min(1, patience.yields);
    }
  }

  int worker;
  int next = 0;  ///< block to look at first
  const Patience patience;
  int yields = 0;  ///< now, up to Patience::yields
  int sleeps = 0;
  SpinLimit spinLimit;
  Clock::time_point waitStart;
  RunView view;
  Host host;
  Interpreter<Host> interpreter;
};

MpiRunner::MpiRunner(MpiWorld& world, RankSetup setup, int workers)
    : m_world(world),
      m_host(world.host()),
      m_seat(world.host().seat(world.seat())),
      m_setup(std::move(setup)),
      m_workers(workers),
      m_isNetworked(world.isNetworked()),
      m_patience(patience()),
      m_jitterSeconds(Jitter::longest()),
      m_proxy(world.comm()),
      m_watch(world.watchComm()),
      m_hostWatch(world),
      m_tasks(static_cast<std::size_t>(m_setup.endBlock - m_setup.firstBlock)),
      m_traces(static_cast<std::size_t>(workers)),
      m_barrier(world) {
  for (std::size_t i = 0; i < m_tasks.size(); ++i) {
    m_tasks[i].cursor.op = m_setup.script.blocks[static_cast<std::size_t>(m_setup.firstBlock) + i].firstOp;
  }
  m_seat.workers.store(workers);
  for (std::size_t i = 0; i < m_setup.connections.size(); ++i) {
    const PlanConnection& connection = m_setup.plan->connections[i];
    ConnectionView& view = m_setup.connections[i];
    if (connection.sendRank == world.process() && view.receiverSeat < 0) {
      m_proxy.addSender(connection.recvRank, connection.channel,
                        sendingEnd(view, m_setup.script.depth, m_setup.script.slotBytes));
    } else if (connection.recvRank == world.process() && view.senderSeat < 0) {
      m_proxy.addReceiver(connection.sendRank, connection.channel,
                          receivingEnd(view, m_setup.script.depth, m_setup.script.slotBytes));
    }
  }
  m_proxy.start(m_setup.script.depth);
}

std::uint64_t MpiRunner::phase() const {
  return (m_isNetworked || m_setup.runsAhead ? m_ownPhases : m_host.phase).load(std::memory_order_seq_cst);
}

/// To sleep and be woken takes longer than to move a short message. A worker with a core of its own keeps looking for a
/// while (SpinLimit); where processes share cores, it gives its core to the others before it sleeps.
MpiRunner::Patience MpiRunner::patience() const {
  if (m_isNetworked) {
    return {.spins = 4, .yields = 60};
  }
  if (m_setup.geometry.size >= kLargeBytes) {
    return {.spins = 64};
  }
  const bool isCrowded = static_cast<int>(m_world.neighbours().size()) * m_workers > allowedCores();
  return isCrowded ? Patience{.spins = 4, .yields = 100} : Patience{.isTimed = true};
}

/// Whether all processes have finished the run. @pre this one has
bool MpiRunner::isOver() const {
  return !m_setup.runsAhead || m_firstPhase == m_endPhase ||
         m_host.phase.load(std::memory_order_seq_cst) != m_hostPhase;
}

Verdict MpiRunner::verdict() const {
  return m_isNetworked ? static_cast<Verdict>(m_networkVerdict.load(std::memory_order_seq_cst) & 0xFFU)
                       : m_host.verdict();
}

Outcome MpiRunner::begin(const RunRequest& request) {
  m_request = request;
  m_world.setPatience(request.stallSeconds);
  m_isAborted = false;
  m_finished = 0;
  m_seconds.clear();
  m_seconds.reserve(std::clamp(request.iterations, 0, kMaxReserved));
  m_phasesPerRun = request.op == ReduceOp::avg && reduces(m_setup.plan->operation) ? 2 : 1;
  for (Trace& trace : m_traces) {
    trace.events.clear();
    trace.dropped = 0;
    if (request.trace) {
      trace.events.reserve(kMaxEvents);
    }
  }
  m_barrier.begin();
  m_hasArrived = false;
  m_networkVerdict = 0;
  // Everybody has left the run before; what they share is set between two gates.
  if (const Outcome outcome = m_world.gate(); !outcome) {
    return outcome;
  }
  if (m_world.seat() == 0) {
    int workers = 0;
    for (std::size_t local = 0; local < m_world.neighbours().size(); ++local) {
      Seat& seat = m_host.seat(static_cast<int>(local));
      seat.sleepers.store(0);
      workers += seat.workers.load();
    }
    m_host.active.store(workers);
    m_host.arrived.store(0);
    m_host.judgement.store(0);
  }
  m_firstPhase = phase();
  m_hostPhase = m_host.phase.load();
  m_endPhase = m_firstPhase + static_cast<std::uint64_t>(std::max(request.iterations, 0)) * m_phasesPerRun;
  m_notedPhase = m_firstPhase;
  if (m_isNetworked) {
    m_watch.begin(request.stallSeconds);
  }
  // Short runs are timed from here: all leave this gate at nearly the same time.
  if (const Outcome outcome = m_world.gate(m_setup.runsAhead ? kGateLooks : 0); !outcome) {
    return outcome;
  }
  if (request.trace) {
    const auto origin = commonOrigin(m_world);
    if (!origin) {
      return origin.error();
    }
    m_traceOrigin = *origin;
  }
  m_origin = Clock::now();
  m_runStart = m_origin;
  m_looked = m_origin;
  m_hostWatch.begin(request.stallSeconds);
  return Done{};
}

void MpiRunner::work(int worker) {
  Context context(*this, worker);
  int looks = 0;
  while (verdict() == Verdict::none) {
    const std::uint64_t now = phase();
    if (worker == 0) {
      notePhases(now);
      stopIfAsked();
    }
    const bool isAtEnd = now >= m_endPhase;
    if (isAtEnd && isOver()) {
      break;
    }
    bool moved = false;
    const std::uint64_t since = now - m_firstPhase;
    if (!isAtEnd && since % m_phasesPerRun == 0) {
      context.view.tilesBefore =
          (m_runsBefore + since / m_phasesPerRun) * static_cast<std::uint64_t>(m_setup.script.tiles);
      moved = scan(context, now);
    }
    if (worker == 0 && !isAtEnd && m_doneBySelf != now && (m_tasks.empty() || since % m_phasesPerRun != 0)) {
      m_doneBySelf = now;
      if (since % m_phasesPerRun != 0) {
        divide();
      }
      arrive();
      moved = true;
    }
    if (worker == 0 && m_isNetworked) {
      moved |= pollNetwork(!moved);
    }
    if (moved) {
      context.succeed(looks);
      looks = 0;
    } else if (context.mayLookAgain(++looks)) {
      pause();
    } else {
      looks = 0;
      rest(context, now);
      context.wakeUp();
    }
  }
  m_host.active.fetch_sub(1, std::memory_order_seq_cst);
}

bool MpiRunner::scan(Context& context, std::uint64_t now) {
  const std::uint64_t run = m_runsBefore + (now - m_firstPhase) / m_phasesPerRun;
  const auto count = static_cast<int>(m_tasks.size());
  bool moved = false;
  for (int i = 0; i < count; ++i) {
    const int at = (context.next + i) % count;
    Task& task = m_tasks[at];
    if (m_workers > 1 && task.isTaken.exchange(true, std::memory_order_acquire)) {
      continue;
    }
    if (task.runs == run) {
      const int block = m_setup.firstBlock + at;
      const std::int64_t tile = task.cursor.tile;
      const std::int32_t op = task.cursor.op;
      const Wait wait = context.interpreter.advance(block, task.cursor);
      const bool hasMoved =
          wait == Wait::none || wait == Wait::done || task.cursor.tile != tile || task.cursor.op != op;
      moved |= hasMoved;
      PublicPosition& position = *m_setup.positions[block];
      position.tile.store(task.cursor.tile, std::memory_order_relaxed);
      position.op.store(task.cursor.op, std::memory_order_relaxed);
      position.wait.store(static_cast<std::uint32_t>(wait), std::memory_order_relaxed);
      if (wait == Wait::done) {
        task.cursor.tile = 0;
        task.cursor.op = m_setup.script.blocks[block].firstOp;
        ++task.runs;
        if (m_workers > 1) {
          task.isTaken.store(false, std::memory_order_release);
        }
        if (m_finished.fetch_add(1, std::memory_order_acq_rel) + 1 == count) {
          m_finished.store(0, std::memory_order_relaxed);
          arrive();
        }
        continue;
      }
    }
    if (m_workers > 1) {
      task.isTaken.store(false, std::memory_order_release);
    }
  }
  if (count > 0) {
    context.next = (context.next + 1) % count;
  }
  return moved;
}

void MpiRunner::rest(Context& context, std::uint64_t now) {
  const bool isMain = context.worker == 0;
  const std::uint32_t seen = m_seat.bell.load(std::memory_order_acquire);
  const std::uint32_t announced = m_host.announce(m_world.seat());
  const bool isAtEnd = now >= m_endPhase;
  bool moved = isAtEnd ? isOver() : (now - m_firstPhase) % m_phasesPerRun == 0 && scan(context, now);
  if (isMain && m_isNetworked) {
    moved |= pollNetwork(!moved);
  }
  if (moved || phase() != now || verdict() != Verdict::none) {
    m_host.stayAwake(m_world.seat(), announced);
    return;
  }
  if (isMain && m_isNetworked) {
    // Nothing rings for what comes over the network.
    futexWait(m_seat.bell, seen, kNetworkNap);
    m_host.stayAwake(m_world.seat(), announced);
    return;
  }
  if (m_host.active.fetch_sub(1, std::memory_order_seq_cst) == 1 && !m_isNetworked) {
    declare(Verdict::deadlock, -1);
  }
  // A bell may ring late, for a sleep that was taken back: only a call for this sleep ends it.
  for (std::uint32_t rung = seen; !m_host.isCalled(m_world.seat(), announced);
       rung = m_seat.bell.load(std::memory_order_seq_cst)) {
    if (!futexWait(m_seat.bell, rung, kTick) && isMain) {
      stopIfAsked();
      lookAround();
    }
  }
}

/// This process has done its part of the phase.
void MpiRunner::arrive() {
  if (m_isNetworked) {
    m_hasArrived.store(true, std::memory_order_seq_cst);
    if (m_workers > 1) {
      m_host.wake(m_world.seat());
    }
    return;
  }
  if (m_setup.runsAhead && m_ownPhases.fetch_add(1, std::memory_order_seq_cst) + 1 != m_endPhase) {
    if (m_workers > 1) {
      m_host.wake(m_world.seat());
    }
    return;
  }
  arriveAtHost();
}

/// The last process of the host lets all continue.
void MpiRunner::arriveAtHost() {
  const auto seats = static_cast<std::uint32_t>(m_world.neighbours().size());
  if (m_host.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == seats) {
    m_host.arrived.store(0, std::memory_order_relaxed);
    m_host.phase.fetch_add(1, std::memory_order_seq_cst);
    m_host.wakeAll(static_cast<int>(seats));
  }
}

bool MpiRunner::pollNetwork(bool isIdle) {
  bool moved = m_proxy.poll();
  if (moved) {
    ++m_messages;
  }
  if (!m_barrier.isUnderWay() && m_hasArrived.load(std::memory_order_acquire)) {
    m_barrier.arrive();
    moved = true;
  }
  if (m_barrier.isUnderWay() && m_barrier.hasPassed()) {
    m_hasArrived.store(false, std::memory_order_relaxed);
    m_ownPhases.fetch_add(1, std::memory_order_seq_cst);
    moved = true;
  }
  if (moved && m_workers > 1) {
    m_host.wake(m_world.seat());
  }
  const Clock::time_point now = Clock::now();
  if (now - m_looked > kTick) {
    m_looked = now;
    char state = 'R';
    if (const int rank = m_world.findLost(state); rank >= 0) {
      declare(Verdict::lost, rank);
      return true;
    }
  }
  const bool areOthersAsleep = m_workers == 1 || m_host.sleepersAt(m_world.seat()) >= m_workers - 1;
  const Standing own = {.isIdle = isIdle && !moved && areOthersAsleep ? 1 : 0,
                        .wantsStop = m_isAborted.load() ? 1 : 0,
                        .progress = m_seat.progress.load() + m_messages + phase(),
                        .handed = m_proxy.handed(),
                        .taken = m_proxy.taken()};
  if (const Verdict given = m_watch.poll(own); given != Verdict::none) {
    declare(given, m_watch.culprit());
  }
  return moved;
}

/// Main thread, when asleep on a host without network: is anything wrong with the neighbours?
void MpiRunner::lookAround() {
  if (const HostWatch::Finding found = m_hostWatch.look(phase()); found.verdict != Verdict::none) {
    declare(found.verdict, found.rank);
  }
}

void MpiRunner::stopIfAsked() {
  if (m_isAborted.load(std::memory_order_relaxed) && !m_isNetworked && verdict() == Verdict::none) {
    // A launcher that lost a rank asks the others to stop: the loss is what counts.
    char state = 'R';
    const int rank = m_world.findLost(state);
    declare(rank >= 0 ? Verdict::lost : Verdict::cancelled, rank);
  }
}

void MpiRunner::declare(Verdict what, int rank) {
  if (m_isNetworked) {
    std::uint64_t expected = 0;
    m_networkVerdict.compare_exchange_strong(
        expected, static_cast<std::uint64_t>(rank + 1) << 32U | static_cast<std::uint64_t>(what));
    m_host.wake(m_world.seat());
    return;
  }
  m_host.declare(what, rank);
  m_host.wakeAll(static_cast<int>(m_world.neighbours().size()));
}

/// The end of avg, after everybody has read what he needs.
void MpiRunner::divide() {
  const Plan& plan = *m_setup.plan;
  const int rank = m_world.process();
  if (rank < plan.rankCount() && (plan.root < 0 || plan.root == rank)) {
    divideBytes(m_setup.geometry.type,
                m_setup.bases[static_cast<std::size_t>(rank) * 3 + static_cast<std::size_t>(program::Buffer::output)],
                m_setup.geometry.outputElements * m_setup.geometry.elementBytes, plan.rankCount());
  }
}

void MpiRunner::notePhases(std::uint64_t now) {
  for (; m_notedPhase < now; ++m_notedPhase) {
    if ((m_notedPhase + 1 - m_firstPhase) % m_phasesPerRun == 0) {
      const Clock::time_point time = Clock::now();
      m_seconds.push_back(std::chrono::duration<double>(time - m_runStart).count());
      m_runStart = time;
    }
  }
}

/// All processes that are alive agree on how the run ended.
Outcome MpiRunner::settle(Verdict& agreed) {
  if (!m_isNetworked) {
    const Outcome outcome = m_world.gate();
    agreed = m_host.verdict();
    return outcome;
  }
  if (Outcome settled = m_barrier.settle(); !settled) {
    return settled;
  }
  agreed = m_watch.end();
  return Done{};
}

std::optional<RunFailure> MpiRunner::finish(RunTimes& times) {
  Verdict agreed = verdict();
  const std::uint64_t word = m_isNetworked ? m_networkVerdict.load() : m_host.judgement.load();
  int culprit = static_cast<int>(word >> 32U) - 1;
  if (agreed != Verdict::lost && agreed != Verdict::stall) {
    if (const Outcome outcome = settle(agreed); !outcome) {
      return brokenRun(m_world, outcome.error());
    }
    culprit = agreed == Verdict::lost || agreed == Verdict::stall ? m_host.culprit() : -1;
  }
  if (agreed != Verdict::none) {
    return explain(agreed, culprit);
  }
  times.seconds = m_seconds;
  times.total = std::chrono::duration<double>(m_runStart - m_origin).count();
  m_runsBefore += static_cast<std::uint64_t>(m_request.iterations);
  return std::nullopt;
}

std::vector<Position> MpiRunner::positions() {
  std::vector<Position> all(m_setup.plan->blocks.size());
  for (std::size_t block = 0; block < all.size(); ++block) {
    if (const PublicPosition* known = m_setup.positions[block]) {
      const auto wait = static_cast<Wait>(known->wait.load());
      all[block] = {.wait = wait == Wait::none ? Wait::done : wait, .tile = known->tile.load(), .op = known->op.load()};
    }
  }
  return all;
}

/// Adds what the other hosts know of their blocks. All processes call it.
void MpiRunner::exchange(std::vector<Position>& positions) {
  std::string own;
  for (int block = m_setup.firstBlock; block < m_setup.endBlock; ++block) {
    const Position& position = positions[block];
    put(own, SentPosition{.tile = position.tile,
                          .block = block,
                          .op = position.op,
                          .wait = static_cast<std::uint32_t>(position.wait)});
  }
  const auto parts = m_world.gatherAll(own);
  for (const std::string& part : parts ? *parts : std::vector<std::string>()) {
    std::string_view rest = part;
    for (SentPosition sent; take(rest, sent);) {
      positions[sent.block] = {.wait = static_cast<Wait>(sent.wait), .tile = sent.tile, .op = sent.op};
    }
  }
}

RunFailure MpiRunner::explain(Verdict what, int culprit) {
  if (what == Verdict::cancelled) {
    return stoppedRun();
  }
  std::vector<Position> all = positions();
  if (what == Verdict::deadlock) {
    if (m_isNetworked) {
      exchange(all);
    }
    return deadlockedRun(explainStuck(*m_setup.plan, m_setup.script, all, true));
  }
  return abandonedRun(m_world, what, culprit, m_request.stallSeconds,
                      explainStuck(*m_setup.plan, m_setup.script, all, false));
}

std::vector<program::TraceEvent> MpiRunner::takeTrace(std::int64_t& dropped) {
  std::vector<program::TraceEvent> events;
  dropped = 0;
  for (Trace& trace : m_traces) {
    events.insert(events.end(), trace.events.begin(), trace.events.end());
    dropped += trace.dropped;
    trace.events.clear();
  }
  std::sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  return events;
}

}  // namespace coppice::executor
