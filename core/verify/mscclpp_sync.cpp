// SPDX-License-Identifier: Apache-2.0
#include "verify/mscclpp_machine.hpp"

#include <algorithm>

// What signals, semaphores, barriers, nops and ports say.
namespace coppice::verify::mscclpp_run {

void Run::nop(Block& block) {
  const int actor = actorOf(block);
  for (const auto& [lane, times] : block.lanes) {
    join(actor, block.base, times);
  }
  block.lanes.clear();
  block.base.ended = m_ended->join(actor, block.base.ended, block.flags);
  block.flags = MscclppHistory::kNothing;
  mark(actor, block.base);
}

MscclppTimes& Run::laneOf(Block& block, int lane) {
  const auto found = block.lanes.find(lane);
  return found != block.lanes.end() ? found->second : block.lanes.emplace(lane, block.base).first->second;
}

const MscclppTimes& Run::knownTo(const Block& block, int lane) const {
  const auto found = block.lanes.find(lane);
  return found != block.lanes.end() ? found->second : block.base;
}

bool Run::barrier(Block& block, const Operation& op, const OpPlace& place) {
  if (op.barrierBlocks <= 1) {
    nop(block);
    return true;
  }
  Barrier& barrier = m_barriers[block.rank][op.barrier];
  const int actor = actorOf(block);
  if (!block.isAtBarrier) {
    nop(block);
    block.isAtBarrier = true;
    barrier.arrived.push_back(actor);
    if (static_cast<int>(barrier.arrived.size()) == op.barrierBlocks) {
      MscclppTimes all = block.base;
      for (const int other : barrier.arrived) {
        join(actor, all, m_blocks[other].base);
      }
      // One that still waits for the time before would miss its end, unless it belongs to this time too.
      const bool haveLeft = std::all_of(barrier.last.begin(), barrier.last.end(), [&](const auto& left) {
        return std::find(barrier.arrived.begin(), barrier.arrived.end(), left.first) != barrier.arrived.end() ||
               m_ended->knows(all.ended, left.first, left.second);
      });
      if (!haveLeft) {
        m_faults.fault(MscclppRule::barrier, place,
                       "barrier " + std::to_string(op.barrier) +
                           " is used by other threadblocks too, without an order between them and this one",
                       "count all threadblocks that use it, or take another barrier_id");
      }
      barrier.last.clear();
      for (const int other : barrier.arrived) {
        Block& member = m_blocks[other];
        const std::uint32_t mine = m_seen->epochOf(other);
        member.base = all;
        nop(member);
        barrier.last.emplace_back(other, mine + 1);
        barrier.freed.insert(other);
        wake(other);
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

void Run::release(Block& block, const Operation& op) {
  for (std::size_t lane = 0; lane < op.semaphores.size(); ++lane) {
    Semaphore& semaphore = m_semaphores[block.rank][op.semaphores[lane]];
    ++semaphore.value;
    wakeAll(semaphore.sleepers);
    semaphore.releases.push_back({actorOf(block), epochOf(block), knownTo(block, static_cast<int>(lane))});
  }
}

bool Run::isShared(const Semaphore& semaphore) {
  int releasers = 0;
  int acquirers = 0;
  for (const int user : semaphore.users) {
    (user % 2 == 0 ? releasers : acquirers) += 1;
  }
  return releasers > 1 || acquirers > 1;
}

bool Run::acquire(Block& block, const Operation& op, bool mayShare) {
  std::map<int, int> wanted;
  for (const int id : op.semaphores) {
    ++wanted[id];
  }
  for (const auto& [id, count] : wanted) {
    Semaphore& semaphore = m_semaphores[block.rank][id];
    if (semaphore.value < count) {
      semaphore.sleepers.push_back(actorOf(block));
      return false;
    }
    if (!mayShare && isShared(semaphore)) {
      m_sharing.insert(actorOf(block));
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
      certain += other == actor || m_ended->knows(mine.ended, other, epoch) ? 1 : 0;
    }
    semaphore.acquirers.emplace_back(actor, epochOf(block));
    const int needed = certain - m_plan.gpus[block.rank].semaphores[id];
    joinReleases(semaphore, needed, actor, mine);
  }
  return true;
}

void Run::joinReleases(const Semaphore& semaphore, int needed, int actor, MscclppTimes& mine) {
  const auto& releases = semaphore.releases;
  const bool isSingle = std::all_of(releases.begin(), releases.end(), [&](const Semaphore::Release& release) {
    return release.actor == releases.front().actor;
  });
  if (isSingle) {
    // The latest of those needed knows of the ones before.
    if (needed > 0 && static_cast<std::size_t>(needed) <= releases.size()) {
      join(actor, mine, releases[static_cast<std::size_t>(needed) - 1].times);
    }
    return;
  }
  for (std::size_t i = 0; i < releases.size(); ++i) {
    int without = 0;
    for (std::size_t j = 0; j < releases.size() && without < needed; ++j) {
      const bool isAfter = releases[j].actor == releases[i].actor
                               ? j > i
                               : m_ended->knows(releases[j].times.ended, releases[i].actor, releases[i].epoch);
      without += j != i && !isAfter ? 1 : 0;
    }
    if (without < needed) {
      join(actor, mine, releases[i].times);
    }
  }
}

End& Run::endOf(const Block& block, const Operation& op, std::size_t index) {
  const ThreadBlock& tb = m_plan.gpus[block.rank].blocks[block.index];
  const bool isPort = op.channelType == ChannelType::port;
  const int channel = (isPort ? tb.portChannels : tb.memoryChannels)[op.channels[index]];
  return m_ends[(isPort ? m_portEnds : m_memoryEnds)[block.rank][channel]];
}

void Run::checkUser(const Block& block, std::int32_t& user, std::uint32_t& epoch, const MscclppTimes& known,
                    const End& end, const char* does, const OpPlace& place) {
  const int actor = actorOf(block);
  if (user >= 0 && user != actor && !m_ended->knows(known.ended, user, epoch)) {
    m_faults.fault(MscclppRule::channel, place,
                   "threadblock " + std::to_string(m_blocks[user].index) + " " + does + " on " + channelText(end) +
                       " to rank " + std::to_string(end.peer) + " too, without an order between the two",
                   "give each threadblock channels of its own");
  }
  user = actor;
  epoch = epochOf(block);
}

void Run::signal(Block& block, const Operation& op, const OpPlace& place) {
  for (std::size_t lane = 0; lane < op.channels.size(); ++lane) {
    End& end = endOf(block, op, lane);
    const MscclppTimes& known = knownTo(block, static_cast<int>(lane));
    if (end.isPort) {
      push(block, end, known, static_cast<int>(lane), place, true);
      sendSignal(end, end.proxy, false, place);
    } else {
      checkUser(block, end.signaller, end.signalEpoch, known, end, "signals", place);
      sendSignal(end, known, op.type == OpType::relaxedSignal, place);
    }
  }
}

void Run::sendSignal(End& end, const MscclppTimes& known, bool isRelaxed, const OpPlace& place) {
  ++end.sent;
  end.lastSignal = place;
  if (end.other >= 0) {
    m_ends[end.other].notices.push_back({known, isRelaxed});
    wakeAll(m_ends[end.other].sleepers);
  }
}

bool Run::wait(Block& block, const Operation& op, const OpPlace& place) {
  for (std::size_t lane = 0; lane < op.channels.size(); ++lane) {
    End& end = endOf(block, op, lane);
    if (end.notices.empty()) {
      end.sleepers.push_back(actorOf(block));
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
    mine.ended = m_ended->join(actorOf(block), mine.ended, notice.times.ended);
    // A port has no relaxed wait.
    if (end.isPort || (!notice.isRelaxed && op.type == OpType::wait)) {
      mine.seen = m_seen->join(actorOf(block), mine.seen, notice.times.seen);
    }
  }
  return true;
}

void Run::push(Block& block, End& end, const MscclppTimes& known, int lane, const OpPlace& place, bool isSignal) {
  const int actor = actorOf(block);
  const bool isSame = end.pusher == actor;
  const bool isLater =
      end.pusher < 0 || m_ended->knows(known.ended, end.pusher, end.pushEpoch) || (isSame && lane == end.pushLane);
  if (!isLater && (isSignal || !isSame)) {
    m_faults.fault(MscclppRule::port, place,
                   isSame ? "two threads ask for transfers and a signal on " + channelText(end) +
                                " without a nop between them: the signal may go first"
                          : "threadblock " + std::to_string(m_blocks[end.pusher].index) + " uses " + channelText(end) +
                                " too, without an order between the two",
                   isSame ? "put a nop between them, or use pws" : "give each threadblock channels of its own");
  }
  end.pusher = actor;
  end.pushEpoch = epochOf(block);
  end.pushLane = lane;
  join(end.actor, end.proxy, known);
}

}  // namespace coppice::verify::mscclpp_run
