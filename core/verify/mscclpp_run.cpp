// SPDX-License-Identifier: Apache-2.0
#include "verify/mscclpp_run.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "verify/mscclpp_goal.hpp"
#include "verify/mscclpp_memory.hpp"
#include "verify/mscclpp_values.hpp"

namespace coppice::verify {

namespace {

using mscclpp::ChannelType;
using mscclpp::ChunkRun;
using mscclpp::ExecutionPlan;
using mscclpp::Gpu;
using mscclpp::Operation;
using mscclpp::OpPlace;
using mscclpp::OpType;
using mscclpp::ThreadBlock;
using program::Buffer;
using RunPlace = ChunkRun::Place;

constexpr std::int64_t kMaxCells = std::int64_t{1} << 24;
/// Clocks of all threadblocks together.
constexpr std::size_t kMaxClocks = std::size_t{1} << 28;
constexpr std::uint64_t kMaxEvents = std::uint64_t{1} << 26;

/// A signal on its way, or a release: what its sender knew.
struct Notice {
  std::shared_ptr<const MscclppTimes> times;
  bool isRelaxed = false;
};

/// One end of a channel.
struct End {
  int rank = -1;
  int peer = -1;
  bool isPort = false;
  int number = 0;                   ///< among those of its type
  int other = -1;                   ///< the paired end, -1 = none
  std::deque<Notice> notices = {};  ///< for the waits of this end
  int sent = 0;                     ///< in this launch
  int waited = 0;
  OpPlace lastSignal = {};
  // Who used it last, to see that no two threadblocks do without order.
  std::int32_t signaller = -1;
  std::uint32_t signalEpoch = 0;
  std::int32_t waiter = -1;
  std::uint32_t waitEpoch = 0;
  // Ports: the proxy.
  std::int32_t actor = -1;
  std::unique_ptr<MscclppTimes> proxy = {};
  std::int32_t pusher = -1;
  std::uint32_t pushEpoch = 0;
  int pushLane = -1;
};

struct Semaphore {
  int value = 0;
  int acquires = 0;
  struct Release {
    std::int32_t actor = 0;
    std::uint32_t epoch = 0;
    std::shared_ptr<const MscclppTimes> times = {};
  };
  std::vector<Release> releases = {};
  std::vector<std::pair<std::int32_t, std::uint32_t>> acquirers = {};
  std::set<int> users = {};
};

struct Barrier {
  std::vector<int> arrived = {};
  std::vector<std::pair<std::int32_t, std::uint32_t>> last = {};  ///< who left it last, and when
  std::set<int> freed = {};
};

struct Block {
  int rank = 0;
  int index = 0;
  std::size_t op = 0;
  std::size_t inner = 0;
  std::int64_t piece = 0;  ///< of a pipeline
  bool isDone = false;
  bool isAtBarrier = false;
  MscclppTimes base = {};
  std::map<int, MscclppTimes> lanes = {};    ///< what single threads heard since the last nop
  std::unique_ptr<MscclppClock> flags = {};  ///< what packets told since the last nop
};

/// A run of cells as an operation meets it.
struct Cells {
  std::int64_t first = 0;
  std::int64_t count = 0;      ///< of data; packets take twice as many cells
  std::int64_t wrapFrom = -1;  ///< start of a chunk of scratch that comes round; -1 = it does not
  bool isPacked = false;
};

class Run {
public:
  Run(const ExecutionPlan& plan, const MscclppShape& shape, int root, MscclppFaults& faults, const Progress& progress)
      : m_plan(plan),
        m_shape(shape),
        m_faults(faults),
        m_progress(progress),
        m_layout(plan, shape),
        m_goal(plan, shape, m_layout, m_values, root, faults) {}

  Result<MscclppOutcome> run() {
    if (m_layout.cells() > kMaxCells) {
      return Error{ErrorCode::limit,
                   "the plan has " + std::to_string(m_layout.cells()) + " parts of chunks; at most " +
                       std::to_string(kMaxCells) + " are followed",
                   "verify a plan with fewer chunks"};
    }
    makeActors();
    if (m_blocks.size() * m_actors > kMaxClocks) {
      return Error{ErrorCode::limit,
                   std::to_string(m_blocks.size()) + " threadblocks and " + std::to_string(m_actors) +
                       " actors are more than can be followed",
                   "verify a plan with fewer threadblocks"};
    }
    m_cells.resize(static_cast<std::size_t>(m_layout.cells()));
    const int launches = m_plan.doublesScratch ? 4 : 2;
    for (m_launch = 1; m_launch <= launches; ++m_launch) {
      startLaunch();
      if (!play()) {
        break;  // a deadlock has been said
      }
      finishLaunch();
      if (m_faults.hasErrors()) {
        break;
      }
    }
    return m_goal.outcome();
  }

private:
  void makeActors() {
    m_firstBlock.push_back(0);
    const auto ranks = static_cast<int>(m_plan.gpus.size());
    for (int rank = 0; rank < ranks; ++rank) {
      const Gpu& gpu = m_plan.gpus[rank];
      for (int index = 0; index < static_cast<int>(gpu.blocks.size()); ++index) {
        m_blocks.push_back({.rank = rank, .index = index});
      }
      m_firstBlock.push_back(static_cast<int>(m_blocks.size()));
    }
    m_firstCaller = static_cast<int>(m_blocks.size());
    m_actors = m_blocks.size() + m_plan.gpus.size();
    m_memoryEnds.resize(m_plan.gpus.size());
    m_portEnds.resize(m_plan.gpus.size());
    for (int rank = 0; rank < ranks; ++rank) {
      const auto add = [&](const std::vector<int>& peers, bool isPort, std::vector<int>& into) {
        for (int i = 0; i < static_cast<int>(peers.size()); ++i) {
          into.push_back(static_cast<int>(m_ends.size()));
          m_ends.push_back({.rank = rank, .peer = peers[i], .isPort = isPort, .number = i});
          if (isPort) {
            m_ends.back().actor = static_cast<std::int32_t>(m_actors++);
          }
        }
      };
      add(m_plan.gpus[rank].memoryPeers, false, m_memoryEnds[rank]);
      add(m_plan.gpus[rank].portPeers, true, m_portEnds[rank]);
    }
    pairEnds();
    for (End& end : m_ends) {
      if (end.isPort) {
        end.proxy = std::make_unique<MscclppTimes>(blank());
      }
    }
    for (Block& block : m_blocks) {
      block.base = blank();
    }
    for (const Gpu& gpu : m_plan.gpus) {
      std::vector<Semaphore>& semaphores = m_semaphores.emplace_back();
      for (const int value : gpu.semaphores) {
        semaphores.push_back({.value = value});
      }
      m_barriers.emplace_back(mscclpp::kMaxBarriers);
    }
    for (const Block& block : m_blocks) {
      for (const Operation& op : m_plan.gpus[block.rank].blocks[block.index].ops) {
        noteUsers(block, op);
        for (const Operation& inner : op.inner) {
          noteUsers(block, inner);
        }
      }
    }
    m_callers.assign(m_plan.gpus.size(), blank());
  }
  void noteUsers(const Block& block, const Operation& op) {
    if (!mscclpp::shapeOf(op.type).takesSemaphores) {
      return;
    }
    // Releases have even marks, acquires odd ones.
    for (const int id : op.semaphores) {
      m_semaphores[block.rank][id].users.insert(2 * block.index + (op.type == OpType::semAcquire ? 1 : 0));
    }
  }
  [[nodiscard]] MscclppTimes blank() const { return {MscclppClock(m_actors, 0), MscclppClock(m_actors, 0)}; }

  /// The k-th of one rank to another is paired with the k-th of the other to the one.
  void pairEnds() {
    std::map<std::tuple<bool, int, int>, std::vector<int>> byPeer;
    for (int i = 0; i < static_cast<int>(m_ends.size()); ++i) {
      byPeer[{m_ends[i].isPort, m_ends[i].rank, m_ends[i].peer}].push_back(i);
    }
    for (const auto& [key, mine] : byPeer) {
      const auto& [isPort, rank, peer] = key;
      const auto theirs = byPeer.find({isPort, peer, rank});
      for (std::size_t k = 0; theirs != byPeer.end() && k < std::min(mine.size(), theirs->second.size()); ++k) {
        m_ends[mine[k]].other = theirs->second[k];
      }
    }
  }

  [[nodiscard]] int actorOf(const Block& block) const { return m_firstBlock[block.rank] + block.index; }
  [[nodiscard]] int callerOf(int rank) const { return m_firstCaller + rank; }

  // Launches.

  void startLaunch() {
    m_sentWith.clear();
    for (int rank = 0; rank < static_cast<int>(m_plan.gpus.size()); ++rank) {
      MscclppTimes& caller = m_callers[rank];
      const auto epoch = static_cast<std::uint32_t>(m_launch);
      m_instances.push_back({.place = {rank, -1, -1}, .launch = m_launch, .isCaller = true});
      const auto instance = static_cast<std::int32_t>(m_instances.size()) - 1;
      for (const auto& [first, last] : m_layout.callersOf(rank)) {
        for (std::int64_t cell = first; cell < last; ++cell) {
          write(cell, {callerOf(rank), epoch, instance, 0}, caller, MscclppValues::kUndefined);
        }
      }
      const std::int64_t inputs = m_plan.gpus[rank].inputChunks * m_shape.cellsPerChunk;
      for (std::int64_t i = 0; i < inputs; ++i) {
        m_cells[m_layout.inputOf(rank) + i].value = m_values.input(m_launch, rank, i);
      }
      caller.seen[callerOf(rank)] = epoch;
      caller.ended[callerOf(rank)] = epoch;
      for (int b = m_firstBlock[rank]; b < m_firstBlock[rank + 1]; ++b) {
        Block& block = m_blocks[b];
        block.op = 0;
        block.inner = 0;
        block.piece = 0;
        block.isDone = false;
        block.base = caller;
      }
    }
  }

  /// The caller goes on when all threadblocks of the rank have ended.
  void finishLaunch() {
    for (int rank = 0; rank < static_cast<int>(m_plan.gpus.size()); ++rank) {
      MscclppTimes& caller = m_callers[rank];
      for (int b = m_firstBlock[rank]; b < m_firstBlock[rank + 1]; ++b) {
        nop(m_blocks[b]);
        caller.join(m_blocks[b].base);
      }
      for (Semaphore& semaphore : m_semaphores[rank]) {
        semaphore.releases.clear();
        semaphore.acquirers.clear();
        semaphore.acquires = 0;
      }
      for (std::size_t id = 0; id < m_semaphores[rank].size(); ++id) {
        const int before = m_plan.gpus[rank].semaphores[id];
        if (m_semaphores[rank][id].value != before) {
          m_faults.rank(MscclppRule::balance, rank,
                        "semaphore " + std::to_string(id) + " starts with " + std::to_string(before) +
                            " and ends with " + std::to_string(m_semaphores[rank][id].value) +
                            ": the next launch finds it so",
                        "acquire it as often as it is released");
        }
      }
      m_goal.check(rank, m_launch, m_cells);
      for (const auto& [first, last] : m_layout.callersOf(rank)) {
        for (std::int64_t cell = first; cell < last; ++cell) {
          checkLeft(rank, cell, caller);
        }
      }
    }
    checkBalance();
  }

  /// The caller reads and writes its buffers from here on.
  void checkLeft(int rank, std::int64_t cell, const MscclppTimes& caller) {
    MscclppCell& at = m_cells[cell];
    const auto tell = [&](const MscclppAccess& access, const char* does) {
      const MscclppInstance& instance = m_instances[access.instance];
      if (!instance.isCaller && instance.place.rank >= 0) {
        const bool isRelaxed = caller.ended[access.actor] >= access.epoch;
        m_faults.fault(
            MscclppRule::race, instance.place,
            std::string(does) + " " + nameOf(cell) +
                (isRelaxed ? ", and relaxed signals alone tell rank " : ", and nothing tells rank ") +
                std::to_string(rank) + " that this has ended when it leaves",
            isRelaxed ? "use signal and wait at the end: relaxed ones, and flags of packets, order no data"
                      : "signal rank " + std::to_string(rank) + " behind it (after a nop), and let it wait at the end");
      }
    };
    if (!isOrdered(at.write, caller, false)) {
      tell(at.write, "writes");
      at.write.actor = -1;
    }
    for (const MscclppAccess& read : at.reads) {
      if (!isOrdered(read, caller, true)) {
        tell(read, "reads");
      }
    }
    at.reads.clear();
  }

  void checkBalance() {
    for (End& end : m_ends) {
      const bool isPaired = end.other >= 0;
      const int waited = isPaired ? m_ends[end.other].waited : 0;
      if (end.sent != waited) {
        m_faults.fault(
            MscclppRule::balance, end.lastSignal,
            "rank " + std::to_string(end.rank) + " signals rank " + std::to_string(end.peer) + " " +
                std::to_string(end.sent) + " times on " + channelText(end) + ", and that waits " +
                std::to_string(waited) + " times" +
                (isPaired ? ": the next launch starts with the rest" : ": it has no channel of that number back"),
            isPaired ? "add a wait for every signal" : "connect the same number of channels both ways");
      }
    }
    for (End& end : m_ends) {
      end.sent = 0;
      end.waited = 0;
    }
  }

  static std::string channelText(const End& end) {
    return std::string(end.isPort ? "port" : "memory") + " channel " + std::to_string(end.number);
  }

  // The run.

  /// False after a deadlock.
  bool play() {
    bool moves = true;
    while (moves) {
      moves = false;
      throwIfCancelled(m_progress);
      for (Block& block : m_blocks) {
        while (!block.isDone && step(block, false)) {
          moves = true;
        }
      }
      // Semaphores that several threadblocks share: those that wait there are let through as late as can be, so that
      // all that may come before has come.
      for (Block& block : m_blocks) {
        if (!moves && !block.isDone && step(block, true)) {
          moves = true;
        }
      }
      if (m_events > kMaxEvents) {
        m_faults.plan(MscclppRule::limit, Severity::error, "the plan runs more operations than are followed",
                      "verify a smaller plan");
        return false;
      }
    }
    const bool isDone = std::all_of(m_blocks.begin(), m_blocks.end(), [](const Block& block) { return block.isDone; });
    if (!isDone) {
      tellDeadlock();
    }
    return isDone;
  }

  [[nodiscard]] const Operation* current(const Block& block, OpPlace& place) const {
    const ThreadBlock& tb = m_plan.gpus[block.rank].blocks[block.index];
    if (block.op >= tb.ops.size()) {
      return nullptr;
    }
    const Operation& op = tb.ops[block.op];
    place = {block.rank, block.index, static_cast<int>(block.op)};
    if (op.type != OpType::pipeline) {
      return &op;
    }
    if (op.inner.empty()) {
      return nullptr;
    }
    place.inner = static_cast<int>(block.inner);
    return &op.inner[block.inner];
  }
  [[nodiscard]] std::int64_t unitOf(const Block& block) const {
    const Operation& op = m_plan.gpus[block.rank].blocks[block.index].ops[block.op];
    return op.type != OpType::pipeline ? 0 : std::max<std::int64_t>(1, op.unitBytes / m_shape.cellBytes);
  }
  [[nodiscard]] std::int64_t piecesOf(const Operation& pipeline) const {
    const std::int64_t unit = std::max<std::int64_t>(1, pipeline.unitBytes / m_shape.cellBytes);
    return (pipeline.unitChunks * m_shape.cellsPerChunk + unit - 1) / unit;
  }

  void advance(Block& block) {
    const ThreadBlock& tb = m_plan.gpus[block.rank].blocks[block.index];
    const Operation& op = tb.ops[block.op];
    if (op.type == OpType::pipeline) {
      if (++block.inner < op.inner.size()) {
        return;
      }
      block.inner = 0;
      if (++block.piece < piecesOf(op)) {
        return;
      }
      block.piece = 0;
    }
    ++block.op;
  }

  /// One operation; false where it has to wait.
  bool step(Block& block, bool mayShare) {
    if (m_events > kMaxEvents) {
      return false;
    }
    OpPlace place;
    const Operation* op = current(block, place);
    if (op == nullptr) {
      const ThreadBlock& tb = m_plan.gpus[block.rank].blocks[block.index];
      if (block.op < tb.ops.size()) {
        ++block.op;  // an empty pipeline
        return true;
      }
      block.isDone = true;
      return true;
    }
    if (!execute(block, *op, place, mayShare)) {
      return false;
    }
    ++m_events;
    advance(block);
    return true;
  }

  bool execute(Block& block, const Operation& op, const OpPlace& place, bool mayShare) {
    switch (op.type) {
      case OpType::nop:
        nop(block);
        return true;
      case OpType::flush:
      case OpType::pipeline:
        return true;
      case OpType::barrier:
        return barrier(block, op, place);
      case OpType::semAcquire:
        return acquire(block, op, mayShare);
      case OpType::semRelease:
        release(block, op);
        return true;
      case OpType::signal:
      case OpType::relaxedSignal:
        signal(block, op, place);
        return true;
      case OpType::wait:
      case OpType::relaxedWait:
        return wait(block, op, place);
      default:
        return move(block, op, place);
    }
  }

  // Synchronisation.

  /// Everything that the threads of a block did and heard is known to all of them.
  void nop(Block& block) {
    for (const auto& [lane, times] : block.lanes) {
      block.base.join(times);
    }
    block.lanes.clear();
    if (block.flags) {
      block.base.joinEnded(*block.flags);
      block.flags.reset();
    }
    const int actor = actorOf(block);
    ++block.base.seen[actor];
    ++block.base.ended[actor];
  }
  [[nodiscard]] std::uint32_t epochOf(const Block& block) const { return block.base.seen[actorOf(block)] + 1; }
  MscclppTimes& laneOf(Block& block, int lane) {
    const auto found = block.lanes.find(lane);
    return found != block.lanes.end() ? found->second : block.lanes.emplace(lane, block.base).first->second;
  }
  [[nodiscard]] const MscclppTimes& knownTo(const Block& block, int lane) const {
    const auto found = block.lanes.find(lane);
    return found != block.lanes.end() ? found->second : block.base;
  }

  bool barrier(Block& block, const Operation& op, const OpPlace& place) {
    if (op.barrierBlocks <= 1) {
      nop(block);
      return true;
    }
    Barrier& barrier = m_barriers[block.rank][op.barrier];
    const int actor = actorOf(block);
    if (!block.isAtBarrier) {
      nop(block);
      block.isAtBarrier = true;
      const bool isKnown = std::all_of(barrier.last.begin(), barrier.last.end(),
                                       [&](const auto& left) { return block.base.ended[left.first] >= left.second; });
      if (!isKnown) {
        m_faults.fault(MscclppRule::barrier, place,
                       "barrier " + std::to_string(op.barrier) +
                           " is used by other threadblocks too, without an order between them and this one",
                       "count all threadblocks that use it, or take another barrier_id");
      }
      barrier.arrived.push_back(actor);
      if (static_cast<int>(barrier.arrived.size()) == op.barrierBlocks) {
        MscclppTimes all = block.base;
        for (const int other : barrier.arrived) {
          all.join(m_blocks[other].base);
        }
        barrier.last.clear();
        for (const int other : barrier.arrived) {
          Block& member = m_blocks[other];
          const std::uint32_t mine = member.base.seen[other];
          member.base = all;
          nop(member);
          barrier.last.emplace_back(other, mine + 1);
          barrier.freed.insert(other);
        }
        barrier.arrived.clear();
      }
    }
    if (!barrier.freed.contains(actor)) {
      return false;
    }
    barrier.freed.erase(actor);
    block.isAtBarrier = false;
    return true;
  }

  void release(Block& block, const Operation& op) {
    for (std::size_t lane = 0; lane < op.semaphores.size(); ++lane) {
      Semaphore& semaphore = m_semaphores[block.rank][op.semaphores[lane]];
      ++semaphore.value;
      semaphore.releases.push_back({actorOf(block), epochOf(block),
                                    std::make_shared<const MscclppTimes>(knownTo(block, static_cast<int>(lane)))});
    }
  }

  static bool isShared(const Semaphore& semaphore) {
    int releasers = 0;
    int acquirers = 0;
    for (const int user : semaphore.users) {
      (user % 2 == 0 ? releasers : acquirers) += 1;
    }
    return releasers > 1 || acquirers > 1;
  }

  bool acquire(Block& block, const Operation& op, bool mayShare) {
    std::map<int, int> wanted;
    for (const int id : op.semaphores) {
      ++wanted[id];
    }
    for (const auto& [id, count] : wanted) {
      const Semaphore& semaphore = m_semaphores[block.rank][id];
      if (semaphore.value < count || (!mayShare && isShared(semaphore))) {
        return false;
      }
    }
    for (std::size_t lane = 0; lane < op.semaphores.size(); ++lane) {
      const int id = op.semaphores[lane];
      Semaphore& semaphore = m_semaphores[block.rank][id];
      --semaphore.value;
      ++semaphore.acquires;
      MscclppTimes& mine = laneOf(block, static_cast<int>(lane));
      const int actor = actorOf(block);
      // Acquires that are certain to come before this one, and it.
      int certain = 1;
      for (const auto& [other, epoch] : semaphore.acquirers) {
        certain += other == actor || mine.ended[other] >= epoch ? 1 : 0;
      }
      semaphore.acquirers.emplace_back(actor, epochOf(block));
      const int needed = certain - m_plan.gpus[block.rank].semaphores[id];
      joinReleases(semaphore, needed, mine);
    }
    return true;
  }

  /// Of which releases an acquire is certain: those without which fewer than needed could have come.
  static void joinReleases(const Semaphore& semaphore, int needed, MscclppTimes& mine) {
    const auto& releases = semaphore.releases;
    const bool isSingle = std::all_of(releases.begin(), releases.end(), [&](const Semaphore::Release& release) {
      return release.actor == releases.front().actor;
    });
    if (isSingle) {
      // The latest of those needed knows of the ones before.
      if (needed > 0 && static_cast<std::size_t>(needed) <= releases.size()) {
        mine.join(*releases[static_cast<std::size_t>(needed) - 1].times);
      }
      return;
    }
    for (std::size_t i = 0; i < releases.size(); ++i) {
      int without = 0;
      for (std::size_t j = 0; j < releases.size() && without < needed; ++j) {
        const bool isAfter = releases[j].actor == releases[i].actor
                                 ? j > i
                                 : releases[j].times->ended[releases[i].actor] >= releases[i].epoch;
        without += j != i && !isAfter ? 1 : 0;
      }
      if (without < needed) {
        mine.join(*releases[i].times);
      }
    }
  }

  [[nodiscard]] End& endOf(const Block& block, const Operation& op, std::size_t index) {
    const ThreadBlock& tb = m_plan.gpus[block.rank].blocks[block.index];
    const bool isPort = op.channelType == ChannelType::port;
    const int channel = (isPort ? tb.portChannels : tb.memoryChannels)[op.channels[index]];
    return m_ends[(isPort ? m_portEnds : m_memoryEnds)[block.rank][channel]];
  }

  void checkUser(const Block& block, std::int32_t& user, std::uint32_t& epoch, const MscclppTimes& known,
                 const End& end, const char* does, const OpPlace& place) {
    const int actor = actorOf(block);
    if (user >= 0 && user != actor && known.ended[user] < epoch) {
      m_faults.fault(MscclppRule::channel, place,
                     "threadblock " + std::to_string(m_blocks[user].index) + " " + does + " on " + channelText(end) +
                         " to rank " + std::to_string(end.peer) + " too, without an order between the two",
                     "give each threadblock channels of its own");
    }
    user = actor;
    epoch = block.base.seen[actor] + 1;
  }

  void signal(Block& block, const Operation& op, const OpPlace& place) {
    for (std::size_t lane = 0; lane < op.channels.size(); ++lane) {
      End& end = endOf(block, op, lane);
      const MscclppTimes& known = knownTo(block, static_cast<int>(lane));
      if (end.isPort) {
        push(block, end, known, static_cast<int>(lane), place, true);
        sendSignal(end, *end.proxy, false, place);
      } else {
        checkUser(block, end.signaller, end.signalEpoch, known, end, "signals", place);
        sendSignal(end, known, op.type == OpType::relaxedSignal, place);
      }
    }
  }
  void sendSignal(End& end, const MscclppTimes& known, bool isRelaxed, const OpPlace& place) {
    ++end.sent;
    end.lastSignal = place;
    if (end.other >= 0) {
      m_ends[end.other].notices.push_back({std::make_shared<const MscclppTimes>(known), isRelaxed});
    }
  }

  bool wait(Block& block, const Operation& op, const OpPlace& place) {
    for (std::size_t lane = 0; lane < op.channels.size(); ++lane) {
      if (endOf(block, op, lane).notices.empty()) {
        return false;
      }
    }
    for (std::size_t lane = 0; lane < op.channels.size(); ++lane) {
      End& end = endOf(block, op, lane);
      MscclppTimes& mine = laneOf(block, static_cast<int>(lane));
      checkUser(block, end.waiter, end.waitEpoch, mine, end, "waits", place);
      const Notice notice = std::move(end.notices.front());
      end.notices.pop_front();
      ++end.waited;
      mine.joinEnded(notice.times->ended);
      // A port has no relaxed wait.
      if (end.isPort || (!notice.isRelaxed && op.type == OpType::wait)) {
        mine.joinSeen(notice.times->seen);
      }
    }
    return true;
  }

  /// A thread asks the proxy, which does all in the order in which it was asked.
  void push(Block& block, End& end, const MscclppTimes& known, int lane, const OpPlace& place, bool isSignal) {
    const int actor = actorOf(block);
    const bool isSame = end.pusher == actor;
    const bool isLater = end.pusher < 0 || known.ended[end.pusher] >= end.pushEpoch || (isSame && lane == end.pushLane);
    if (!isLater && (isSignal || !isSame)) {
      m_faults.fault(MscclppRule::port, place,
                     isSame ? "two threads ask for transfers and a signal on " + channelText(end) +
                                  " without a nop between them: the signal may go first"
                            : "threadblock " + std::to_string(m_blocks[end.pusher].index) + " uses " +
                                  channelText(end) + " too, without an order between the two",
                     isSame ? "put a nop between them, or use pws" : "give each threadblock channels of its own");
    }
    end.pusher = actor;
    end.pushEpoch = block.base.seen[actor] + 1;
    end.pushLane = lane;
    end.proxy->join(known);
  }

  // Data.

  [[nodiscard]] int half() const { return m_plan.doublesScratch ? (m_launch + 1) % 2 : 0; }

  /// @param position bytes of a pipeline's pieces before this one, in cells; unit 0 = no pipeline
  [[nodiscard]] Cells cellsOf(const Operation& op, const ChunkRun& run, int owner, Buffer buffer, bool isPacked,
                              bool isRemote, std::int64_t offset, std::int64_t unit) const {
    Cells cells{.isPacked = isPacked};
    const bool isScratch = buffer == Buffer::scratch;
    const std::int64_t stride = isScratch ? m_shape.scratchStride : m_shape.cellsPerChunk;
    // Remote plain scratch is addressed without the half of this launch.
    const int part = isRemote && !isPacked ? 0 : half();
    const std::int64_t base = buffer == Buffer::input    ? m_layout.inputOf(owner)
                              : buffer == Buffer::output ? m_layout.outputOf(owner)
                                                         : m_layout.scratchOf(owner, part);
    const std::int64_t size = run.size * m_shape.cellsPerChunk;
    // As the executor cuts a run among the threadblocks of a group.
    const auto cut = [&](std::int64_t at) {
      return at * (size / op.groupSize) + std::min<std::int64_t>(at, size % op.groupSize);
    };
    std::int64_t first = cut(op.groupIndex);
    std::int64_t count = cut(op.groupIndex + 1) - first;
    if (unit > 0 && !isPacked) {
      count = std::clamp<std::int64_t>(count - offset, 0, unit);
      if (isScratch && m_shape.wrapsScratch) {
        cells.wrapFrom = base + run.index * stride;
        first += offset % stride;
      } else {
        first += offset;
      }
    }
    cells.first = base + (isPacked ? 2 : 1) * (run.index * stride + first);
    cells.count = count;
    return cells;
  }
  [[nodiscard]] std::int64_t cellAt(const Cells& cells, std::int64_t i) const {
    return cells.isPacked ? cells.first + 2 * i : cells.first + i;
  }

  [[nodiscard]] std::vector<Cells> resolve(const Block& block, const Operation& op, const ChunkRun& run, bool isPacked,
                                           std::int64_t offset, std::int64_t unit) const {
    const Gpu& gpu = m_plan.gpus[block.rank];
    const ThreadBlock& tb = gpu.blocks[block.index];
    if (run.place == RunPlace::local) {
      return {cellsOf(op, run, block.rank, run.buffer, isPacked, false, offset, unit)};
    }
    if (run.place == RunPlace::remote) {
      const auto& list = op.channelType == ChannelType::port ? tb.portBuffers : tb.memoryBuffers;
      const mscclpp::RemoteBuffer& remote = gpu.remoteBuffers[list[run.id]];
      return {cellsOf(op, run, remote.rank, remote.buffer, isPacked, true, offset, unit)};
    }
    std::vector<Cells> all;
    const mscclpp::SwitchGroup& group = gpu.switchGroups[tb.switchGroups[run.id]];
    for (const int member : group.ranks) {
      all.push_back(cellsOf(op, run, member, group.buffer, isPacked, true, offset, unit));
    }
    return all;
  }

  std::int32_t newInstance(const OpPlace& place) {
    m_instances.push_back({.place = place, .launch = m_launch});
    return static_cast<std::int32_t>(m_instances.size()) - 1;
  }

  /// Sources and destinations of one transfer.
  struct Transfer {
    std::vector<Cells> sources = {};
    std::vector<Cells> destinations = {};
  };

  bool move(Block& block, const Operation& op, const OpPlace& place) {
    const std::int64_t unit = unitOf(block);
    const std::int64_t offset = unit * block.piece;
    const auto plain = [&](const ChunkRun& run) { return resolve(block, op, run, false, offset, unit); };
    const auto packed = [&](const ChunkRun& run) { return resolve(block, op, run, true, offset, unit); };
    const auto into = [](std::vector<Cells>& all, std::vector<Cells> more) {
      all.insert(all.end(), more.begin(), more.end());
    };
    std::vector<Transfer> transfers;
    const bool isPort = op.channelType == ChannelType::port && mscclpp::shapeOf(op.type).port;
    const auto pairs = [&](bool packsSources, bool packsDestinations) {
      for (std::size_t i = 0; i < op.destinations.size(); ++i) {
        transfers.push_back({packsSources ? packed(op.sources[i]) : plain(op.sources[i]),
                             packsDestinations ? packed(op.destinations[i]) : plain(op.destinations[i])});
      }
    };
    const auto reduction = [&](bool isPacked, std::size_t plainDestinations) {
      Transfer& transfer = transfers.emplace_back();
      for (std::size_t i = 0; i < op.sources.size(); ++i) {
        into(transfer.sources, isPacked && i > 0 ? packed(op.sources[i]) : plain(op.sources[i]));
      }
      for (std::size_t i = 0; i < op.destinations.size(); ++i) {
        into(transfer.destinations, i < plainDestinations ? plain(op.destinations[i]) : packed(op.destinations[i]));
      }
    };
    switch (op.type) {
      case OpType::put:
      case OpType::putWithSignal:
      case OpType::putWithSignalAndFlush:
      case OpType::get:
        pairs(false, false);
        break;
      case OpType::copy:
      case OpType::multiStore:
        transfers.push_back({plain(op.sources[0]), plain(op.destinations[0])});
        break;
      case OpType::reduce:
      case OpType::reduceSend:
      case OpType::readReduce:
      case OpType::readReduceSend:
      case OpType::multiLoadReduceStore:
        reduction(false, op.destinations.size());
        break;
      case OpType::putPackets:
        pairs(isPort, true);
        break;
      case OpType::copyPackets:
        transfers.push_back({plain(op.sources[0]), packed(op.destinations[0])});
        break;
      case OpType::unpackPackets:
        transfers.push_back({packed(op.sources[0]), plain(op.destinations[0])});
        break;
      case OpType::readPutPackets:
      case OpType::multiStorePackets: {
        Transfer& transfer = transfers.emplace_back();
        transfer.sources = packed(op.sources[0]);
        for (const ChunkRun& run : op.destinations) {
          into(transfer.destinations, packed(run));
        }
        break;
      }
      default:  // reductions of packets
        reduction(true, 1);
        break;
    }
    const bool waits = mscclpp::shapeOf(op.type).readsPackets;
    if (waits && !hasPackets(transfers)) {
      return false;
    }
    if (isPort) {
      moveByPort(block, op, place, transfers, waits);
      return true;
    }
    const std::int32_t instance = newInstance(place);
    MscclppTimes times = block.base;
    if (waits) {
      hearFlags(block, transfers, times);
    }
    const MscclppAccess access{actorOf(block), epochOf(block), instance, 0};
    for (const Transfer& transfer : transfers) {
      transferCells(transfer, access, times);
    }
    return true;
  }

  [[nodiscard]] bool hasPackets(const std::vector<Transfer>& transfers) const {
    for (const Transfer& transfer : transfers) {
      for (const Cells& source : transfer.sources) {
        for (std::int64_t i = 0; source.isPacked && i < source.count; ++i) {
          if (m_cells[cellAt(source, i)].packetLaunch != m_launch) {
            return false;
          }
        }
      }
    }
    return true;
  }

  /// What the writers of packets had done before has ended; nothing says that it can be read.
  void hearFlags(Block& block, const std::vector<Transfer>& transfers, MscclppTimes& times) {
    if (!block.flags) {
      block.flags = std::make_unique<MscclppClock>(m_actors, 0);
    }
    for (const Transfer& transfer : transfers) {
      for (const Cells& source : transfer.sources) {
        if (!source.isPacked) {
          continue;
        }
        std::int32_t last = -1;
        for (std::int64_t i = 0; i < source.count; ++i) {
          const std::int32_t writer = m_cells[cellAt(source, i)].write.instance;
          const auto known = m_sentWith.find(writer);
          if (writer == last || known == m_sentWith.end()) {
            continue;
          }
          last = writer;
          times.joinEnded(*known->second);
        }
      }
    }
    for (std::size_t i = 0; i < block.flags->size(); ++i) {
      (*block.flags)[i] = std::max((*block.flags)[i], times.ended[i]);
    }
  }

  void moveByPort(Block& block, const Operation& op, const OpPlace& place, const std::vector<Transfer>& transfers,
                  bool waits) {
    if (waits) {
      // The threads wait for the flags and meet before one of them asks the proxy.
      MscclppTimes times = block.base;
      hearFlags(block, transfers, times);
      nop(block);
    }
    std::vector<Transfer> single;
    for (const Transfer& transfer : transfers) {
      for (const Cells& destination : transfer.destinations) {
        single.push_back({transfer.sources, {destination}});
      }
    }
    for (std::size_t lane = 0; lane < single.size(); ++lane) {
      End& end = endOf(block, op, lane);
      const bool signals = op.type == OpType::putWithSignal || op.type == OpType::putWithSignalAndFlush;
      push(block, end, knownTo(block, static_cast<int>(lane)), static_cast<int>(lane), place, signals);
      checkEnd(end, single[lane].destinations.front(), place);
      const std::int32_t instance = newInstance(place);
      // Its packets arrive when it has read what they hold.
      const std::uint32_t epoch = ++end.proxy->seen[end.actor];
      end.proxy->ended[end.actor] = epoch;
      transferCells(single[lane], {end.actor, epoch, instance, 0}, *end.proxy);
      if (signals) {
        sendSignal(end, *end.proxy, false, place);
      }
      if (op.type == OpType::putWithSignalAndFlush) {
        laneOf(block, static_cast<int>(lane)).join(*end.proxy);
      }
    }
  }

  /// A port carries data to the rank that it is connected to.
  void checkEnd(const End& end, const Cells& destination, const OpPlace& place) {
    const int owner = ownerOf(destination.first);
    if (owner != end.peer) {
      m_faults.fault(MscclppRule::port, place,
                     "the transfer goes to rank " + std::to_string(owner) + " by " + channelText(end) +
                         ", which is connected to rank " + std::to_string(end.peer),
                     "name the channel of the rank that owns the destination");
    }
  }

  void transferCells(const Transfer& transfer, MscclppAccess access, const MscclppTimes& times) {
    for (const Cells& destination : transfer.destinations) {
      if (destination.isPacked) {
        m_instances[access.instance].packets.push_back(destination.first);
      }
    }
    std::int64_t count = transfer.sources.empty() ? 0 : transfer.sources.front().count;
    for (const auto* runs : {&transfer.sources, &transfer.destinations}) {
      for (const Cells& cells : *runs) {
        count = std::min(count, cells.count);
      }
    }
    for (std::int64_t i = 0; i < count; ++i) {
      access.position = static_cast<std::int32_t>(i);
      int value = -1;
      for (const Cells& source : transfer.sources) {
        const int part = readCell(source, i, access, times);
        value = value < 0 ? part : m_values.add(value, part);
      }
      for (const Cells& destination : transfer.destinations) {
        writeCell(destination, i, access, times, value);
      }
    }
  }

  int readCell(const Cells& cells, std::int64_t i, const MscclppAccess& access, const MscclppTimes& times) {
    const std::int64_t at = cellAt(cells, i);
    if (!cells.isPacked) {
      read(at, access, times);
      return m_cells[at].packetLaunch != 0 ? MscclppValues::kUndefined : m_cells[at].value;
    }
    for (const std::int64_t cell : {at, at + 1}) {
      note(m_cells[cell].reads, access);
    }
    return m_cells[at].value;
  }

  void writeCell(const Cells& cells, std::int64_t i, const MscclppAccess& access, const MscclppTimes& times,
                 int value) {
    const std::int64_t at = cellAt(cells, i);
    if (!cells.isPacked) {
      write(at, access, times, value);
      m_cells[at].packetLaunch = 0;
      return;
    }
    if (m_sentWith.find(access.instance) == m_sentWith.end()) {
      m_sentWith.emplace(access.instance, std::make_shared<const MscclppClock>(times.ended));
    }
    for (const std::int64_t cell : {at, at + 1}) {
      if (m_cells[cell].packetLaunch == m_launch && m_faults.wants(MscclppRule::packet)) {
        m_faults.fault(MscclppRule::packet, m_instances[access.instance].place,
                       "writes packets to " + nameOf(cell) + " for the second time in a launch, after " +
                           whoText(m_cells[cell].write) + ": their flags are equal, and readers may take either",
                       "give every message packets of its own");
      }
      write(cell, access, times, value);
      m_cells[cell].packetLaunch = m_launch;
    }
  }

  static void note(std::vector<MscclppAccess>& reads, const MscclppAccess& access) {
    std::erase_if(
        reads, [&](const MscclppAccess& other) { return other.actor == access.actor && other.epoch < access.epoch; });
    reads.push_back(access);
  }

  void read(std::int64_t cell, const MscclppAccess& access, const MscclppTimes& times) {
    MscclppCell& at = m_cells[cell];
    if (!isSameOperation(at.write, access, false) && !isOrdered(at.write, times, false)) {
      tellRace(cell, at.write, "writes", access, "reads", times);
    }
    note(at.reads, access);
  }

  void write(std::int64_t cell, const MscclppAccess& access, const MscclppTimes& times, int value) {
    MscclppCell& at = m_cells[cell];
    if (!isSameOperation(at.write, access, true) && !isOrdered(at.write, times, false)) {
      tellRace(cell, at.write, "writes", access, "writes", times);
    }
    for (const MscclppAccess& other : at.reads) {
      if (!isSameOperation(other, access, false) && !isOrdered(other, times, true) &&
          !isChained(other, access, times)) {
        tellRace(cell, other, "reads", access, "writes", times);
      }
    }
    at.reads.clear();
    at.write = access;
    at.value = value;
  }

  /// The same thread of the same operation, which reads before it writes.
  static bool isSameOperation(const MscclppAccess& first, const MscclppAccess& second, bool bothWrite) {
    return first.instance == second.instance && first.position == second.position && !bothWrite;
  }

  [[nodiscard]] bool isOrdered(const MscclppAccess& first, const MscclppTimes& times, bool isRead) const {
    if (first.actor < 0 || times.seen[first.actor] >= first.epoch) {
      return true;
    }
    const MscclppInstance& instance = m_instances[first.instance];
    if ((isRead || instance.isCaller) && times.ended[first.actor] >= first.epoch) {
      return true;
    }
    // What a rank did in an earlier launch has ended, and can be read, when it starts the next one. A proxy may be
    // behind.
    const bool isProxy = static_cast<std::size_t>(first.actor) >= m_blocks.size() + m_plan.gpus.size();
    return !isProxy && times.ended[callerOf(instance.place.rank)] > static_cast<std::uint32_t>(instance.launch);
  }

  /// Whether a read has ended because packets told so: what it read went into packets, position by position, and
  /// the reader of these has ended, or is the one that writes now, at the same position.
  [[nodiscard]] bool isChained(const MscclppAccess& first, const MscclppAccess& second,
                               const MscclppTimes& times) const {
    const int launch = m_instances[first.instance].launch;
    std::set<std::pair<std::int32_t, std::int32_t>> met;
    std::vector<std::pair<std::int32_t, std::int32_t>> open{{first.instance, first.position}};
    while (!open.empty()) {
      const auto [instance, position] = open.back();
      open.pop_back();
      if (!met.emplace(instance, position).second) {
        continue;
      }
      for (const std::int64_t packets : m_instances[instance].packets) {
        for (const MscclppAccess& reader : m_cells[packets + 2 * std::int64_t{position}].reads) {
          if (m_instances[reader.instance].launch != launch) {
            continue;
          }
          if ((reader.instance == second.instance && reader.position == second.position) ||
              times.ended[reader.actor] >= reader.epoch) {
            return true;
          }
          open.emplace_back(reader.instance, reader.position);
        }
      }
    }
    return false;
  }

  // Texts.

  [[nodiscard]] int ownerOf(std::int64_t cell) const {
    int owner = 0;
    for (int rank = 0; rank < static_cast<int>(m_plan.gpus.size()); ++rank) {
      if (std::min(m_layout.inputOf(rank), m_layout.outputOf(rank)) <= cell) {
        owner = rank;
      }
    }
    return owner;
  }
  [[nodiscard]] std::string nameOf(std::int64_t cell) const {
    const int rank = ownerOf(cell);
    char letter = 's';
    std::int64_t first = m_layout.scratchOf(rank, 0);
    std::int64_t stride = m_shape.scratchStride;
    if (cell < first) {
      const std::int64_t in = m_layout.inputOf(rank);
      const std::int64_t ins = m_plan.gpus[rank].inputChunks * m_shape.cellsPerChunk;
      const bool isInput = cell >= in && cell < in + ins && (!m_plan.inPlace || m_layout.outputOf(rank) >= in);
      letter = isInput ? 'i' : 'o';
      first = isInput ? in : m_layout.outputOf(rank);
      stride = m_shape.cellsPerChunk;
    }
    std::int64_t chunk = (cell - first) / std::max<std::int64_t>(1, stride);
    if (letter == 's' && m_plan.hasPackets()) {
      const std::int64_t half = m_layout.scratchOf(rank, 1) - m_layout.scratchOf(rank, 0);
      chunk = (half > 0 ? (cell - first) % half : cell - first) / std::max<std::int64_t>(1, 2 * stride);
    }
    return std::string(1, letter) + "[" + std::to_string(chunk) + "] of rank " + std::to_string(rank);
  }
  [[nodiscard]] std::string whoText(const MscclppAccess& access) const {
    const MscclppInstance& instance = m_instances[access.instance];
    if (instance.isCaller) {
      return "the caller of rank " + std::to_string(instance.place.rank);
    }
    const Operation* op = opAt(instance.place);
    return placeText(instance.place) + (op == nullptr ? "" : " (" + std::string(toString(op->type)) + ")");
  }
  [[nodiscard]] const Operation* opAt(const OpPlace& place) const {
    if (place.block < 0) {
      return nullptr;
    }
    const Operation& op = m_plan.gpus[place.rank].blocks[place.block].ops[place.op];
    return place.inner < 0 ? &op : &op.inner[place.inner];
  }

  void tellRace(std::int64_t cell, const MscclppAccess& first, const char* firstDoes, const MscclppAccess& second,
                const char* secondDoes, const MscclppTimes& times) {
    if (!m_told
             .emplace(m_instances[first.instance].place.rank, m_instances[first.instance].place.block,
                      m_instances[first.instance].place.op, m_instances[second.instance].place.rank,
                      m_instances[second.instance].place.block, m_instances[second.instance].place.op)
             .second) {
      return;
    }
    const MscclppInstance& before = m_instances[first.instance];
    const MscclppInstance& now = m_instances[second.instance];
    const OpPlace& place = now.isCaller ? before.place : now.place;
    const bool isSameBlock = !before.isCaller && before.place.rank == now.place.rank &&
                             before.place.block == now.place.block && before.launch == now.launch;
    std::string text = std::string(secondDoes) + " " + nameOf(cell) + ", which " + whoText(first) + " " + firstDoes;
    std::string fix;
    const bool isProxy = static_cast<std::size_t>(first.actor) >= m_blocks.size() + m_plan.gpus.size();
    if (before.isCaller) {
      text += " until rank " + std::to_string(before.place.rank) + " enters the launch, and nothing says that it has";
      fix =
          "let rank " + std::to_string(before.place.rank) + " signal first (rlxsignal), and wait for it (rlxwait, nop)";
    } else if (isProxy) {
      text += " by a port, and nothing says that the proxy is done";
      fix = "wait for a signal that the peer sends after it has the data";
    } else if (before.launch != now.launch) {
      text += " in the launch before, and nothing says that this has ended";
      fix = "exchange signals with rank " + std::to_string(before.place.rank) + " at the start or the end of a launch";
    } else if (isSameBlock) {
      text += ": the threads of the block share out the two differently, without a nop between";
      fix = "put a nop between the two";
    } else if (times.ended[first.actor] >= first.epoch) {
      text += ": it has ended by then, but relaxed signals and flags of packets order no data";
      fix = "use signal and wait between the two";
    } else {
      text += ", and no signal, semaphore or barrier orders the two (without a nop before it, one tells nothing)";
      fix = before.place.rank == now.place.rank
                ? "order the threadblocks: nop and sem_release behind the first, sem_acquire and nop before the second"
                : "nop and signal behind the first, wait and nop before the second";
    }
    m_faults.fault(MscclppRule::race, place, text, fix);
  }

  void tellDeadlock() {
    int listed = 0;
    for (const Block& block : m_blocks) {
      if (block.isDone) {
        continue;
      }
      OpPlace place;
      const Operation* op = current(block, place);
      if (op == nullptr || listed++ >= 8) {
        continue;
      }
      tellStuck(block, *op, place);
    }
  }
  void tellStuck(const Block& block, const Operation& op, const OpPlace& place) {
    std::string text = std::string(toString(op.type)) + " waits without end";
    std::string fix = "look at what it waits for: no order of the threadblocks gets past it";
    if (op.type == OpType::wait || op.type == OpType::relaxedWait) {
      for (std::size_t lane = 0; lane < op.channels.size(); ++lane) {
        const End& end = endOf(block, op, lane);
        if (!end.notices.empty()) {
          continue;
        }
        text += ": signal " + std::to_string(end.waited + 1) + " of rank " + std::to_string(end.peer) + " on " +
                channelText(end) + " does not come";
        fix = end.other < 0 ? "rank " + std::to_string(end.peer) + " has no channel of that number back: connect one"
                            : "let rank " + std::to_string(end.peer) +
                                  " signal, and see that it does not wait for this threadblock before";
        break;
      }
    } else if (op.type == OpType::semAcquire) {
      text += ": a semaphore is not released again";
      fix = "release it once for every time that it is acquired, in a threadblock that gets there";
    } else if (op.type == OpType::barrier) {
      text += ": of " + std::to_string(op.barrierBlocks) + " threadblocks, " +
              std::to_string(m_barriers[block.rank][op.barrier].arrived.size()) + " have come to barrier " +
              std::to_string(op.barrier);
      fix = "num_threadblocks must be the number of threadblocks that meet there";
    } else {
      text += " for packets that nobody writes, or that come from what waits for it";
      fix = "write them once in every launch (ppkt, cpkt, respkt), at that index";
    }
    m_faults.fault(MscclppRule::deadlock, place, text, fix);
  }

  const ExecutionPlan& m_plan;
  MscclppShape m_shape;
  MscclppFaults& m_faults;
  const Progress& m_progress;
  MscclppLayout m_layout;
  MscclppValues m_values;
  MscclppGoal m_goal;
  int m_launch = 1;
  std::uint64_t m_events = 0;
  std::size_t m_actors = 0;
  int m_firstCaller = 0;
  std::vector<Block> m_blocks;
  std::vector<int> m_firstBlock;  ///< by rank; one more at the end
  std::vector<End> m_ends;
  std::vector<std::vector<int>> m_memoryEnds;  ///< by rank and channel
  std::vector<std::vector<int>> m_portEnds;
  std::vector<std::vector<Semaphore>> m_semaphores;
  std::vector<std::vector<Barrier>> m_barriers;
  std::vector<MscclppTimes> m_callers;
  std::vector<MscclppCell> m_cells;
  std::vector<MscclppInstance> m_instances;
  /// By instance that wrote packets: what had ended before.
  std::map<std::int32_t, std::shared_ptr<const MscclppClock>> m_sentWith;
  std::set<std::tuple<int, int, int, int, int, int>> m_told;
};

}  // namespace

Result<MscclppOutcome> runMscclpp(const ExecutionPlan& plan, const MscclppShape& shape, int root, MscclppFaults& faults,
                                  const Progress& progress) {
  return Run(plan, shape, root, faults, progress).run();
}

}  // namespace coppice::verify
