// SPDX-License-Identifier: Apache-2.0
#include "verify/mscclpp_machine.hpp"

#include <algorithm>

// What operations read and write.
namespace coppice::verify::mscclpp_run {

Cells Run::cellsOf(const Operation& op, const ChunkRun& run, int owner, Buffer buffer, bool isPacked, bool isRemote,
                   std::int64_t offset, std::int64_t unit) const {
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

std::int64_t Run::cellAt(const Cells& cells, std::int64_t i) const {
  return cells.isPacked ? cells.first + 2 * i : cells.first + i;
}

std::vector<Cells> Run::resolve(const Block& block, const Operation& op, const ChunkRun& run, bool isPacked,
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

std::int32_t Run::newInstance(const OpPlace& place) {
  m_instances.push_back({.place = place, .launch = m_launch});
  return static_cast<std::int32_t>(m_instances.size()) - 1;
}

bool Run::move(Block& block, const Operation& op, const OpPlace& place) {
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
  if (waits && !hasPackets(block, transfers)) {
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

bool Run::hasPackets(const Block& block, const std::vector<Transfer>& transfers) {
  for (const Transfer& transfer : transfers) {
    for (const Cells& source : transfer.sources) {
      for (std::int64_t i = 0; source.isPacked && i < source.count; ++i) {
        if (m_cells[cellAt(source, i)].packetLaunch != m_launch) {
          m_packetSleepers[ownerOf(source.first)].push_back(actorOf(block));
          return false;
        }
      }
    }
  }
  return true;
}

void Run::hearFlags(Block& block, const std::vector<Transfer>& transfers, MscclppTimes& times) {
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
        times.ended = m_ended->join(actorOf(block), times.ended, known->second);
      }
    }
  }
  block.flags = m_ended->join(actorOf(block), block.flags, times.ended);
}

void Run::moveByPort(Block& block, const Operation& op, const OpPlace& place, const std::vector<Transfer>& transfers,
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
    mark(end.actor, end.proxy);
    const std::uint32_t epoch = m_seen->epochOf(end.actor);
    transferCells(single[lane], {end.actor, epoch, instance, 0}, end.proxy);
    if (signals) {
      sendSignal(end, end.proxy, false, place);
    }
    if (op.type == OpType::putWithSignalAndFlush) {
      join(actorOf(block), laneOf(block, static_cast<int>(lane)), end.proxy);
    }
  }
}

void Run::checkEnd(const End& end, const Cells& destination, const OpPlace& place) {
  const int owner = ownerOf(destination.first);
  if (owner != end.peer) {
    m_faults.fault(MscclppRule::port, place,
                   "the transfer goes to rank " + std::to_string(owner) + " by " + channelText(end) +
                       ", which is connected to rank " + std::to_string(end.peer),
                   "name the channel of the rank that owns the destination");
  }
}

void Run::transferCells(const Transfer& transfer, MscclppAccess access, const MscclppTimes& times) {
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
  for (const Cells& destination : transfer.destinations) {
    if (destination.isPacked) {
      wakeAll(m_packetSleepers[ownerOf(destination.first)]);
    }
  }
}

int Run::readCell(const Cells& cells, std::int64_t i, const MscclppAccess& access, const MscclppTimes& times) {
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

void Run::writeCell(const Cells& cells, std::int64_t i, const MscclppAccess& access, const MscclppTimes& times,
                    int value) {
  const std::int64_t at = cellAt(cells, i);
  if (!cells.isPacked) {
    write(at, access, times, value);
    m_cells[at].packetLaunch = 0;
    return;
  }
  m_sentWith.try_emplace(access.instance, times.ended);
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

void Run::note(std::vector<MscclppAccess>& reads, const MscclppAccess& access) {
  std::erase_if(reads,
                [&](const MscclppAccess& other) { return other.actor == access.actor && other.epoch < access.epoch; });
  reads.push_back(access);
}

void Run::read(std::int64_t cell, const MscclppAccess& access, const MscclppTimes& times) {
  MscclppCell& at = m_cells[cell];
  if (!isSameOperation(at.write, access, false) && !isOrdered(at.write, times, false)) {
    tellRace(cell, at.write, "writes", access, "reads", times);
  }
  note(at.reads, access);
}

void Run::write(std::int64_t cell, const MscclppAccess& access, const MscclppTimes& times, int value) {
  MscclppCell& at = m_cells[cell];
  if (!isSameOperation(at.write, access, true) && !isOrdered(at.write, times, false)) {
    tellRace(cell, at.write, "writes", access, "writes", times);
  }
  for (const MscclppAccess& other : at.reads) {
    if (!isSameOperation(other, access, false) && !isOrdered(other, times, true) && !isChained(other, access, times)) {
      tellRace(cell, other, "reads", access, "writes", times);
    }
  }
  at.reads.clear();
  at.write = access;
  at.value = value;
}

bool Run::isSameOperation(const MscclppAccess& first, const MscclppAccess& second, bool bothWrite) {
  return first.instance == second.instance && first.position == second.position && !bothWrite;
}

bool Run::isOrdered(const MscclppAccess& first, const MscclppTimes& times, bool isRead) {
  if (first.actor < 0) {
    return true;
  }
  const MscclppInstance& instance = m_instances[first.instance];
  // What a rank did in an earlier launch has ended, and can be read, when it starts the next one. A proxy may be
  // behind.
  const bool isProxy = static_cast<std::size_t>(first.actor) >= m_blocks.size() + m_plan.gpus.size();
  const auto next = static_cast<std::uint32_t>(instance.launch) + 1;
  if (!isProxy && instance.launch < m_launch && m_ended->knows(times.ended, callerOf(instance.place.rank), next)) {
    return true;
  }
  // Whatever is seen has ended.
  return isRead || instance.isCaller ? m_ended->knows(times.ended, first.actor, first.epoch)
                                     : m_seen->knows(times.seen, first.actor, first.epoch);
}

bool Run::isChained(const MscclppAccess& first, const MscclppAccess& second, const MscclppTimes& times) {
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
            m_ended->knows(times.ended, reader.actor, reader.epoch)) {
          return true;
        }
        open.emplace_back(reader.instance, reader.position);
      }
    }
  }
  return false;
}

}  // namespace coppice::verify::mscclpp_run
