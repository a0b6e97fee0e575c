// SPDX-License-Identifier: Apache-2.0
#include "verify/mscclpp_machine.hpp"

#include <algorithm>

namespace coppice::verify {

namespace mscclpp_run {

namespace {

constexpr std::int64_t kMaxCells = std::int64_t{1} << 24;
constexpr std::uint64_t kMaxEvents = std::uint64_t{1} << 26;

}  // namespace

Run::Run(const ExecutionPlan& plan, const MscclppShape& shape, const MscclppCheckOptions& options,
         MscclppFaults& faults, const Progress& progress)
    : m_plan(plan),
      m_shape(shape),
      m_faults(faults),
      m_progress(progress),
      m_layout(plan, shape),
      m_goal(plan, shape, m_layout, m_values, options, faults) {}

Result<MscclppOutcome> Run::run() {
  if (m_layout.cells() > kMaxCells) {
    return Error{ErrorCode::limit,
                 "the plan has " + std::to_string(m_layout.cells()) + " parts of chunks; at most " +
                     std::to_string(kMaxCells) + " are followed",
                 "verify a plan with fewer chunks"};
  }
  makeActors();
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

void Run::makeActors() {
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
  m_seen.emplace(m_actors);
  m_ended.emplace(m_actors);
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
  m_callers.resize(m_plan.gpus.size());
}

void Run::noteUsers(const Block& block, const Operation& op) {
  if (!mscclpp::shapeOf(op.type).takesSemaphores) {
    return;
  }
  // Releases have even marks, acquires odd ones.
  for (const int id : op.semaphores) {
    m_semaphores[block.rank][id].users.insert(2 * block.index + (op.type == OpType::semAcquire ? 1 : 0));
  }
}

void Run::pairEnds() {
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

void Run::startLaunch() {
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
    mark(callerOf(rank), caller);
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

void Run::finishLaunch() {
  for (int rank = 0; rank < static_cast<int>(m_plan.gpus.size()); ++rank) {
    MscclppTimes& caller = m_callers[rank];
    for (int b = m_firstBlock[rank]; b < m_firstBlock[rank + 1]; ++b) {
      nop(m_blocks[b]);
      join(callerOf(rank), caller, m_blocks[b].base);
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
                      "semaphore " + std::to_string(id) + " starts with " + std::to_string(before) + " and ends with " +
                          std::to_string(m_semaphores[rank][id].value) + ": the next launch finds it so",
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

void Run::checkLeft(int rank, std::int64_t cell, const MscclppTimes& caller) {
  MscclppCell& at = m_cells[cell];
  const auto tell = [&](const MscclppAccess& access, const char* does) {
    const MscclppInstance& instance = m_instances[access.instance];
    if (!instance.isCaller && instance.place.rank >= 0) {
      const bool isRelaxed = m_ended->knows(caller.ended, access.actor, access.epoch);
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

void Run::checkBalance() {
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

std::string Run::channelText(const End& end) {
  return std::string(end.isPort ? "port" : "memory") + " channel " + std::to_string(end.number);
}

bool Run::play() {
  m_isReady.assign(m_blocks.size(), false);
  m_sharing.clear();
  m_packetSleepers.assign(m_plan.gpus.size(), {});
  for (std::size_t index = 0; index < m_blocks.size(); ++index) {
    wake(static_cast<int>(index));
  }
  while (!m_ready.empty()) {
    throwIfCancelled(m_progress);
    Block& block = m_blocks[m_ready.front()];
    m_isReady[m_ready.front()] = false;
    m_ready.pop_front();
    // Where it cannot go on, it sleeps at what it waits for.
    while (!block.isDone && step(block, false)) {
    }
    // Semaphores that several threadblocks share: those that wait there are let through as late as can be, so that
    // all that may come before has come.
    while (m_ready.empty() && !m_sharing.empty()) {
      const int index = *m_sharing.begin();
      m_sharing.erase(m_sharing.begin());
      if (step(m_blocks[index], true)) {
        wake(index);
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

void Run::wake(int block) {
  if (!m_isReady[block]) {
    m_isReady[block] = true;
    m_ready.push_back(block);
  }
}

void Run::wakeAll(std::vector<int>& sleepers) {
  for (const int block : sleepers) {
    wake(block);
  }
  sleepers.clear();
}

const Operation* Run::current(const Block& block, OpPlace& place) const {
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

std::int64_t Run::unitOf(const Block& block) const {
  const Operation& op = m_plan.gpus[block.rank].blocks[block.index].ops[block.op];
  return op.type != OpType::pipeline ? 0 : std::max<std::int64_t>(1, op.unitBytes / m_shape.cellBytes);
}

std::int64_t Run::piecesOf(const Operation& pipeline) const {
  const std::int64_t unit = std::max<std::int64_t>(1, pipeline.unitBytes / m_shape.cellBytes);
  return (pipeline.unitChunks * m_shape.cellsPerChunk + unit - 1) / unit;
}

void Run::advance(Block& block) {
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

bool Run::step(Block& block, bool mayShare) {
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

bool Run::execute(Block& block, const Operation& op, const OpPlace& place, bool mayShare) {
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

}  // namespace mscclpp_run

Result<MscclppOutcome> runMscclpp(const mscclpp::ExecutionPlan& plan, const MscclppShape& shape,
                                  const MscclppCheckOptions& options, MscclppFaults& faults, const Progress& progress) {
  return mscclpp_run::Run(plan, shape, options, faults, progress).run();
}

}  // namespace coppice::verify
