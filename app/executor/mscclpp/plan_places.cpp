// SPDX-License-Identifier: Apache-2.0
#include "mscclpp/plan_places.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace coppice::executor {

using mscclpp::Buffer;
using mscclpp::ChannelType;
using mscclpp::ChunkRun;
using mscclpp::Operation;
using mscclpp::OpType;

namespace {

/// Where the part of a threadblock of a group begins.
std::int64_t cutOf(std::int64_t bytes, std::int64_t alignment, int index, int parts) {
  const std::int64_t units = bytes / alignment;
  return (index * (units / parts) + std::min<std::int64_t>(index, units % parts)) * alignment;
}

/// Finds the runs of one operation.
class RunFinder {
public:
  RunFinder(const mscclpp::ExecutionPlan& plan, std::int64_t chunkBytes, int rank, int block, const Operation& outer,
            const Operation& op)
      : m_plan(plan), m_chunkBytes(chunkBytes), m_rank(rank), m_block(block), m_outer(outer), m_op(op) {}

  void add(std::vector<RunPlace>& into, const ChunkRun& run, bool isPacked) const {
    const mscclpp::Gpu& gpu = m_plan.gpus[m_rank];
    const mscclpp::ThreadBlock& block = gpu.blocks[m_block];
    if (run.place == ChunkRun::Place::local) {
      into.push_back(placeOf(run, m_rank, run.buffer, isPacked, false));
    } else if (run.place == ChunkRun::Place::remote) {
      const auto& list = m_op.channelType == ChannelType::port ? block.portBuffers : block.memoryBuffers;
      const mscclpp::RemoteBuffer& remote = gpu.remoteBuffers[list[run.id]];
      into.push_back(placeOf(run, remote.rank, remote.buffer, isPacked, true));
    } else {
      const mscclpp::SwitchGroup& group = gpu.switchGroups[block.switchGroups[run.id]];
      for (const int member : group.ranks) {
        into.push_back(placeOf(run, member, group.buffer, isPacked, true));
      }
    }
  }

private:
  [[nodiscard]] RunPlace placeOf(const ChunkRun& run, int owner, Buffer buffer, bool isPacked, bool isRemote) const {
    RunPlace place{.start = {.rank = owner, .buffer = buffer}, .isPacked = isPacked};
    const bool isScratch = buffer == Buffer::scratch;
    std::int64_t stride = m_chunkBytes;
    if (isScratch && m_plan.reusesResources) {
      const std::int64_t chunks = m_plan.gpus[m_rank].scratchChunks;
      const std::int64_t all = mscclpp::kReusedScratchBytes / (m_plan.doublesScratch ? 2 : 1);
      place.wrap = ((all + chunks - 1) / chunks + m_plan.alignment - 1) / m_plan.alignment * m_plan.alignment;
      stride = std::min(stride, place.wrap);
    }
    // Remote plain scratch is addressed without the half of the launch.
    if (isScratch && m_plan.doublesScratch && (isPacked || !isRemote)) {
      place.half = scratchBytes(m_plan, owner, m_chunkBytes) / 2;
    }
    if (m_outer.type == OpType::pipeline && !isPacked) {
      place.unitBytes = m_outer.unitBytes;
    }
    const std::int64_t size = run.size * m_chunkBytes;
    const std::int64_t first = cutOf(size, m_plan.alignment, m_op.groupIndex, m_op.groupSize);
    place.bytes = cutOf(size, m_plan.alignment, m_op.groupIndex + 1, m_op.groupSize) - first;
    place.start.offset = (isPacked ? 2 : 1) * (run.index * stride + first);
    return place;
  }

  const mscclpp::ExecutionPlan& m_plan;
  std::int64_t m_chunkBytes;
  int m_rank;
  int m_block;
  const Operation& m_outer;
  const Operation& m_op;
};

/// One destination each.
std::vector<RunTransfer> splitOf(const std::vector<RunTransfer>& transfers) {
  std::vector<RunTransfer> single;
  for (const RunTransfer& transfer : transfers) {
    for (const RunPlace& destination : transfer.destinations) {
      single.push_back({.sources = transfer.sources, .destinations = {destination}, .waits = transfer.waits});
    }
  }
  return single;
}

}  // namespace

std::int64_t scratchBytes(const mscclpp::ExecutionPlan& plan, int rank, std::int64_t chunkBytes) {
  const std::int64_t chunks = plan.gpus[rank].scratchChunks;
  if (plan.reusesResources && chunks > 0) {
    return mscclpp::kReusedScratchBytes;
  }
  return chunks * chunkBytes * (plan.hasPackets() ? 2 : 1) * (plan.doublesScratch ? 2 : 1);
}

FarPlace RunPlace::placeAt(std::uint32_t flag, std::int64_t piece) const {
  FarPlace place = start;
  const std::int64_t offset = unitBytes * piece;
  place.offset += (flag % 2 == 0 ? half : 0) + (wrap > 0 ? offset % wrap : offset);
  return place;
}

std::int64_t RunPlace::bytesAt(std::int64_t piece) const {
  return unitBytes == 0 ? bytes : std::clamp<std::int64_t>(bytes - unitBytes * piece, 0, unitBytes);
}

std::int64_t RunTransfer::bytesAt(std::int64_t piece) const {
  std::int64_t bytes = sources.front().bytesAt(piece);
  for (const auto* runs : {&sources, &destinations}) {
    for (const RunPlace& run : *runs) {
      bytes = std::min(bytes, run.bytesAt(piece));
    }
  }
  return bytes;
}

bool movesByPort(const Operation& op) {
  return op.channelType == ChannelType::port && mscclpp::shapeOf(op.type).port;
}

std::vector<RunTransfer> transfersOf(const mscclpp::ExecutionPlan& plan, std::int64_t chunkBytes, int rank, int block,
                                     const Operation& outer, const Operation& op) {
  const RunFinder finder(plan, chunkBytes, rank, block, outer, op);
  const mscclpp::OpShape& shape = mscclpp::shapeOf(op.type);
  const bool isPort = movesByPort(op);
  std::vector<RunTransfer> transfers;
  const bool isPair = op.type == OpType::put || op.type == OpType::putWithSignal ||
                      op.type == OpType::putWithSignalAndFlush || op.type == OpType::get ||
                      op.type == OpType::putPackets;
  if (isPair) {
    // Ports know no packets: those of a putPackets lie there already.
    const bool isPacked = op.type == OpType::putPackets;
    for (std::size_t i = 0; i < op.destinations.size(); ++i) {
      RunTransfer& transfer = transfers.emplace_back();
      finder.add(transfer.sources, op.sources[i], isPacked && isPort);
      finder.add(transfer.destinations, op.destinations[i], isPacked);
    }
    return transfers;
  }
  // Which entries are in packets: all sources but the own operand of a reduction, all destinations but its result.
  const bool passesOn =
      op.type == OpType::readPutPackets || op.type == OpType::multiStorePackets || op.type == OpType::copyPackets;
  RunTransfer& transfer = transfers.emplace_back();
  transfer.waits = shape.readsPackets;
  for (std::size_t i = 0; i < op.sources.size(); ++i) {
    finder.add(transfer.sources, op.sources[i], shape.readsPackets && (op.sources.size() == 1 || i > 0));
  }
  for (std::size_t i = 0; i < op.destinations.size(); ++i) {
    finder.add(transfer.destinations, op.destinations[i], shape.writesPackets && (passesOn || i > 0));
  }
  return isPort ? splitOf(transfers) : transfers;
}

std::int64_t piecesOf(const Operation& pipeline, std::int64_t chunkBytes) {
  return (pipeline.unitChunks * chunkBytes + pipeline.unitBytes - 1) / pipeline.unitBytes;
}

ChannelEnds::ChannelEnds(const mscclpp::ExecutionPlan& plan)
    : m_plan(plan), m_memory(plan.gpus.size()), m_ports(plan.gpus.size()) {
  std::map<std::tuple<bool, int, int>, std::vector<int>> byPeer;
  for (int rank = 0; rank < static_cast<int>(plan.gpus.size()); ++rank) {
    const mscclpp::Gpu& gpu = plan.gpus[rank];
    for (const bool isPort : {false, true}) {
      for (const int peer : isPort ? gpu.portPeers : gpu.memoryPeers) {
        const auto end = static_cast<int>(m_ends.size());
        (isPort ? m_ports : m_memory)[rank].push_back(end);
        byPeer[{isPort, rank, peer}].push_back(end);
        m_ends.push_back({.rank = rank});
      }
    }
  }
  for (const auto& [key, mine] : byPeer) {
    const auto& [isPort, rank, peer] = key;
    const auto theirs = byPeer.find({isPort, peer, rank});
    for (std::size_t k = 0; theirs != byPeer.end() && k < std::min(mine.size(), theirs->second.size()); ++k) {
      m_ends[mine[k]].other = theirs->second[k];
    }
  }
}

int ChannelEnds::endOf(int rank, int block, const Operation& op, std::size_t index) const {
  const mscclpp::ThreadBlock& own = m_plan.gpus[rank].blocks[block];
  const bool isPort = op.channelType == ChannelType::port;
  const int channel = (isPort ? own.portChannels : own.memoryChannels)[op.channels[index]];
  return (isPort ? m_ports : m_memory)[rank][channel];
}

}  // namespace coppice::executor
