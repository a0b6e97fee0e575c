// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string>

#include "verify/mscclpp_faults.hpp"

namespace coppice::verify {

namespace {

using mscclpp::ChannelType;
using mscclpp::ChunkRun;
using mscclpp::ExecutionPlan;
using mscclpp::Gpu;
using mscclpp::Operation;
using mscclpp::OpPlace;
using mscclpp::OpShape;
using mscclpp::OpType;
using mscclpp::ThreadBlock;
using program::Buffer;
using RunPlace = ChunkRun::Place;

std::string number(std::int64_t value) {
  return std::to_string(value);
}

bool isSync(OpType type) {
  return type == OpType::signal || type == OpType::relaxedSignal || type == OpType::wait ||
         type == OpType::relaxedWait || type == OpType::flush;
}

/// Its buffers of the other side are remote from the first entry on.
bool isPut(OpType type) {
  return type == OpType::put || type == OpType::putWithSignal || type == OpType::putWithSignalAndFlush ||
         type == OpType::putPackets || type == OpType::readPutPackets;
}

class StructureCheck {
public:
  StructureCheck(const ExecutionPlan& plan, int multiprocessors, MscclppFaults& faults)
      : m_plan(plan), m_multiprocessors(multiprocessors), m_faults(faults) {}

  void run() {
    checkTop();
    for (m_rank = 0; m_rank < static_cast<int>(m_plan.gpus.size()); ++m_rank) {
      checkGpu(m_plan.gpus[m_rank]);
    }
    if (!m_faults.hasErrors()) {
      checkGroups();
    }
  }

private:
  [[nodiscard]] bool isRank(int rank) const { return rank >= 0 && rank < static_cast<int>(m_plan.gpus.size()); }

  void checkTop() {
    if (m_plan.name.empty()) {
      m_faults.plan(MscclppRule::limit, Severity::warning,
                    "the plan has no name: the executor keeps one context for each name",
                    "give every plan of a process a name of its own");
    }
    if (m_plan.threadsPerBlock < 32 || m_plan.threadsPerBlock > mscclpp::kMaxThreads) {
      m_faults.plan(MscclppRule::limit, Severity::error,
                    "num_threads_per_block is " + number(m_plan.threadsPerBlock) + "; kernels are built for 32 to 1024",
                    "use 1024");
    }
    if (m_plan.alignment < 16 || m_plan.alignment % 16 != 0) {
      m_faults.plan(MscclppRule::limit, Severity::error,
                    "buffer_alignment is " + number(m_plan.alignment) +
                        ": reductions take 16 bytes at a time, and index the rest wrongly",
                    "use 16 or a multiple of it");
    }
    if (static_cast<std::uint64_t>(m_plan.minBytes) > m_plan.maxBytes) {
      m_faults.plan(MscclppRule::limit, Severity::error, "min_message_size is above max_message_size: no call fits",
                    "give a window that holds a size");
    }
    if (m_plan.collective == "reduce_scatter") {
      m_faults.plan(MscclppRule::operation, Severity::warning,
                    "the NCCL interface asks for \"reducescatter\": it never finds \"reduce_scatter\"",
                    "write reducescatter");
    }
  }

  void checkGpu(const Gpu& gpu) {
    if (gpu.inputChunks <= 0 || gpu.outputChunks <= 0) {
      m_faults.rank(MscclppRule::chunks, m_rank,
                    "input_chunks " + number(gpu.inputChunks) + ", output_chunks " + number(gpu.outputChunks) +
                        ": the executor divides by both, and a 0 ends the process",
                    "give the chunks of both buffers, also of one that is not used");
    }
    if (gpu.scratchChunks < 0) {
      m_faults.rank(MscclppRule::chunks, m_rank, "scratch_chunks is negative", "give 0 or more");
    }
    for (const auto* peers : {&gpu.memoryPeers, &gpu.portPeers}) {
      for (const int peer : *peers) {
        if (!isRank(peer) || peer == m_rank) {
          m_faults.rank(MscclppRule::channel, m_rank, "a channel is connected to rank " + number(peer),
                        "connect it to another rank of the plan");
        }
      }
    }
    for (const auto& remote : gpu.remoteBuffers) {
      if (!isRank(remote.rank) || remote.rank == m_rank) {
        m_faults.rank(MscclppRule::remoteBuffer, m_rank, "a remote buffer is that of rank " + number(remote.rank),
                      "name another rank of the plan");
      }
    }
    for (const auto& group : gpu.switchGroups) {
      std::set<int> members(group.ranks.begin(), group.ranks.end());
      if (members.size() != group.ranks.size() || !members.contains(m_rank) ||
          !std::all_of(members.begin(), members.end(), [&](int rank) { return isRank(rank); })) {
        m_faults.rank(MscclppRule::channel, m_rank,
                      "the ranks of a switch group are not distinct ranks of the plan with this one",
                      "list every member once, this rank among them");
      }
    }
    if (static_cast<int>(gpu.blocks.size()) > m_multiprocessors) {
      m_faults.rank(MscclppRule::residency, m_rank,
                    number(static_cast<std::int64_t>(gpu.blocks.size())) + " threadblocks; a GPU runs " +
                        number(m_multiprocessors) + " at once, and they wait for each other",
                    "use fewer threadblocks, or name a larger GPU (--multiprocessors)");
    }
    for (m_block = 0; m_block < static_cast<int>(gpu.blocks.size()); ++m_block) {
      checkBlock(gpu, gpu.blocks[m_block]);
    }
  }

  /// The members of a group connect to it together, each in the order of its own list.
  void checkGroups() {
    std::vector<std::size_t> next(m_plan.gpus.size(), 0);
    const auto connects = [&](int rank, const mscclpp::SwitchGroup& group) {
      const auto& list = m_plan.gpus[rank].switchGroups;
      return next[rank] < list.size() && list[next[rank]].ranks == group.ranks &&
             list[next[rank]].buffer == group.buffer;
    };
    for (bool moves = true; moves;) {
      moves = false;
      for (int rank = 0; rank < static_cast<int>(next.size()); ++rank) {
        while (next[rank] < m_plan.gpus[rank].switchGroups.size()) {
          const mscclpp::SwitchGroup& group = m_plan.gpus[rank].switchGroups[next[rank]];
          if (!std::all_of(group.ranks.begin(), group.ranks.end(),
                           [&](int member) { return connects(member, group); })) {
            break;
          }
          for (const int member : group.ranks) {
            ++next[member];
          }
          moves = true;
        }
      }
    }
    for (int rank = 0; rank < static_cast<int>(next.size()); ++rank) {
      if (next[rank] == m_plan.gpus[rank].switchGroups.size()) {
        continue;
      }
      const mscclpp::SwitchGroup& group = m_plan.gpus[rank].switchGroups[next[rank]];
      const auto missing =
          std::find_if(group.ranks.begin(), group.ranks.end(), [&](int member) { return !connects(member, group); });
      m_faults.rank(MscclppRule::channel, rank,
                    "switch group " + number(static_cast<std::int64_t>(next[rank])) + " waits for rank " +
                        number(missing == group.ranks.end() ? rank : *missing) +
                        ", which does not connect to a group of these ranks and this buffer next: members connect "
                        "together",
                    "list every group at all of its members, with the same ranks and buffer, in one order");
      return;
    }
  }

  void blockFault(MscclppRule rule, const std::string& text, std::string fix) {
    m_faults.fault(rule, {m_rank, m_block, 0}, text, std::move(fix));
  }

  void checkBlock(const Gpu& gpu, const ThreadBlock& block) {
    const auto list = [&](const std::vector<int>& ids, std::size_t size, int max, MscclppRule rule, const char* what) {
      if (ids.size() > static_cast<std::size_t>(max)) {
        blockFault(rule,
                   "the threadblock lists " + number(static_cast<std::int64_t>(ids.size())) + " " + what +
                       "; the executor has room for " + number(max) + " and does not check",
                   "spread them over more threadblocks");
      }
      for (const int id : ids) {
        if (id < 0 || static_cast<std::size_t>(id) >= size) {
          blockFault(rule,
                     "the threadblock lists " + std::string(what) + " with number " + number(id) + "; the rank has " +
                         number(static_cast<std::int64_t>(size)),
                     "number them from 0 in the order of the rank's list");
        }
      }
    };
    list(block.memoryChannels, gpu.memoryPeers.size(), mscclpp::kMaxChannelsOfBlock, MscclppRule::channel,
         "memory channels");
    list(block.portChannels, gpu.portPeers.size(), mscclpp::kMaxChannelsOfBlock, MscclppRule::channel, "port channels");
    list(block.switchGroups, gpu.switchGroups.size(), mscclpp::kMaxChannelsOfBlock, MscclppRule::channel,
         "switch groups");
    list(block.memoryBuffers, gpu.remoteBuffers.size(), mscclpp::kMaxBuffersOfBlock, MscclppRule::remoteBuffer,
         "remote buffers for memory channels");
    list(block.portBuffers, gpu.remoteBuffers.size(), mscclpp::kMaxBuffersOfBlock, MscclppRule::remoteBuffer,
         "remote buffers for port channels");
    const auto access = [&](const std::vector<int>& ids, bool mscclpp::RemoteBuffer::*by, const char* type) {
      for (const int id : ids) {
        if (id >= 0 && static_cast<std::size_t>(id) < gpu.remoteBuffers.size() && !(gpu.remoteBuffers[id].*by)) {
          blockFault(MscclppRule::remoteBuffer,
                     "remote buffer " + number(id) + " is accessed by " + type +
                         " channels, which its access_channel_types do not list",
                     "list " + std::string(type) + " there");
        }
      }
    };
    access(block.memoryBuffers, &mscclpp::RemoteBuffer::byMemory, "memory");
    access(block.portBuffers, &mscclpp::RemoteBuffer::byPort, "port");
    if (const int ops = mscclpp::countOps(block); ops > mscclpp::kMaxOps) {
      blockFault(MscclppRule::limit,
                 "the threadblock has " + number(ops) + " operations; the executor takes at most 64",
                 "join chunks, or spread the operations over more threadblocks");
    }
    for (int op = 0; op < static_cast<int>(block.ops.size()); ++op) {
      checkOp(gpu, block, block.ops[op], {m_rank, m_block, op});
      checkPipeline(gpu, block, block.ops[op], {m_rank, m_block, op});
    }
  }

  void checkPipeline(const Gpu& gpu, const ThreadBlock& block, const Operation& op, OpPlace place) {
    if (op.type != OpType::pipeline) {
      return;
    }
    if (op.unitBytes < 16 || op.unitBytes % 16 != 0 || op.unitChunks < 1) {
      m_faults.fault(
          MscclppRule::pipeline, place,
          "a pipeline of " + number(op.unitChunks) + " chunks in pieces of " + number(op.unitBytes) + " bytes",
          "give 1 chunk or more, and a unit_size that is a multiple of 16");
    }
    if (op.inner.size() > static_cast<std::size_t>(mscclpp::kMaxInnerOps)) {
      m_faults.fault(MscclppRule::limit, place, "more than 255 operations in a pipeline", "split it");
    }
    for (int i = 0; i < static_cast<int>(op.inner.size()); ++i) {
      place.inner = i;
      checkOp(gpu, block, op.inner[i], place);
      checkSpan(op, op.inner[i], place);
    }
  }

  /// The rest of a buffer is computed without a sign: an operation that ends before the last piece begins copies out of
  /// bounds.
  void checkSpan(const Operation& pipeline, const Operation& op, const OpPlace& place) {
    const OpShape& shape = mscclpp::shapeOf(op.type);
    if (shape.readsPackets || shape.writesPackets) {
      m_faults.warn(MscclppRule::pipeline, place,
                    std::string(toString(op.type)) + " takes no pieces: every iteration runs all of it",
                    "keep packets out of pipelines");
      return;
    }
    for (const auto* runs : {&op.sources, &op.destinations}) {
      for (const ChunkRun& run : *runs) {
        if (run.size < pipeline.unitChunks) {
          m_faults.fault(MscclppRule::pipeline, place,
                         std::string(toString(op.type)) + " takes " + number(run.size) + " chunks of the " +
                             number(pipeline.unitChunks) +
                             " that the pipeline goes through: its size falls below zero and it copies out of bounds",
                         "give it as many chunks as iter_context has, or a pipeline of its own");
          return;
        }
      }
    }
    if (op.groupSize > 1) {
      m_faults.fault(MscclppRule::pipeline, place,
                     "a part of a group in a pipeline: it ends before the last piece, and its size falls below zero",
                     "take the group apart, or leave the pipeline out");
    }
  }

  void checkOp(const Gpu& gpu, const ThreadBlock& block, const Operation& op, const OpPlace& place) {
    const OpShape& shape = mscclpp::shapeOf(op.type);
    const std::string name(toString(op.type));
    checkCounts(op, shape, name, place);
    checkChannels(block, op, shape, name, place);
    checkSemaphores(gpu, op, shape, name, place);
    if (op.type == OpType::barrier) {
      if (op.barrier < 0 || op.barrier >= mscclpp::kMaxBarriers) {
        m_faults.fault(MscclppRule::barrier, place, "barrier_id is " + number(op.barrier) + "; a GPU has 16 of them",
                       "use 0 to 15");
      }
      if (op.barrierBlocks < 1 || op.barrierBlocks > static_cast<int>(gpu.blocks.size())) {
        m_faults.fault(MscclppRule::barrier, place,
                       "a barrier of " + number(op.barrierBlocks) + " threadblocks; the rank has " +
                           number(static_cast<std::int64_t>(gpu.blocks.size())),
                       "count the threadblocks that meet there");
      }
    }
    if (op.groupSize < 1 || op.groupIndex < 0 || op.groupIndex >= op.groupSize) {
      m_faults.fault(MscclppRule::group, place,
                     "part " + number(op.groupIndex) + " of a group of " + number(op.groupSize) + " threadblocks",
                     "number the threadblocks of a group from 0 to tbg_size - 1");
    }
    if (op.type == OpType::pipeline) {
      return;
    }
    for (std::size_t i = 0; i < op.sources.size(); ++i) {
      checkRun(gpu, block, op, op.sources[i], true, i, place);
    }
    for (std::size_t i = 0; i < op.destinations.size(); ++i) {
      checkRun(gpu, block, op, op.destinations[i], false, i, place);
    }
    checkSizes(op, name, place);
    checkKernel(op, name, place);
  }

  void checkCounts(const Operation& op, const OpShape& shape, const std::string& name, const OpPlace& place) {
    const auto count = [&](std::size_t found, int min, int max, const char* what) {
      if (found < static_cast<std::size_t>(min) || found > static_cast<std::size_t>(max)) {
        const std::string takes = min == max ? number(min) : number(min) + " to " + number(max);
        m_faults.fault(
            found > static_cast<std::size_t>(mscclpp::kMaxRunsOfOp) ? MscclppRule::limit : MscclppRule::operation,
            place, name + " has " + number(static_cast<std::int64_t>(found)) + " " + what + "; it takes " + takes,
            max == 1 ? "give one: the kernel reads no more" : "give as many as the kernel reads");
      }
    };
    count(op.sources.size(), shape.minSources, shape.maxSources, "entries of src_buff");
    count(op.destinations.size(), shape.minDestinations, shape.maxDestinations, "entries of dst_buff");
    const bool isPair = isPut(op.type) && op.type != OpType::readPutPackets;
    if ((isPair || op.type == OpType::get) && op.sources.size() != op.destinations.size()) {
      m_faults.fault(MscclppRule::operation, place,
                     name + " has " + number(static_cast<std::int64_t>(op.sources.size())) + " sources and " +
                         number(static_cast<std::int64_t>(op.destinations.size())) +
                         " destinations: the i-th goes to the i-th",
                     "give as many of both");
    }
  }

  void checkChannels(const ThreadBlock& block, const Operation& op, const OpShape& shape, const std::string& name,
                     const OpPlace& place) {
    const bool fits = op.channelType == ChannelType::memory ? shape.memory
                      : op.channelType == ChannelType::port ? shape.port
                                                            : !(shape.memory || shape.port);
    if (!fits) {
      const std::string wants = shape.memory && shape.port ? "memory or port"
                                : shape.memory             ? "memory"
                                : shape.port               ? "port"
                                                           : "none";
      const bool isHarmless = !shape.memory && !shape.port;
      if (isHarmless) {
        const bool isNamed = op.channelType == ChannelType::switched || op.channelType == ChannelType::none ||
                             std::all_of(op.sources.begin(), op.sources.end(),
                                         [](const ChunkRun& run) { return run.place == RunPlace::local; });
        if (isNamed) {
          return;
        }
      }
      m_faults.fault(
          MscclppRule::operation, place,
          name + " has channel_type " + std::string(toString(op.channelType)) + "; the kernel knows " + wants,
          "set channel_type");
      return;
    }
    const bool isPort = op.channelType == ChannelType::port;
    const std::size_t needed = isSync(op.type) ? 1 : isPort && isPut(op.type) ? op.destinations.size() : 0;
    if (op.channels.size() < needed) {
      m_faults.fault(MscclppRule::channel, place,
                     name + " has " + number(static_cast<std::int64_t>(op.channels.size())) + " channel_ids for " +
                         number(static_cast<std::int64_t>(needed)) + " transfers",
                     isSync(op.type) ? "name a channel" : "name a channel for each destination");
    }
    if (op.channels.size() > static_cast<std::size_t>(mscclpp::kMaxChannelsOfOp)) {
      m_faults.fault(MscclppRule::limit, place,
                     name + " has " + number(static_cast<std::int64_t>(op.channels.size())) +
                         " channel_ids; the executor has room for 8 and does not check",
                     "split it");
    }
    if (needed == 0) {
      return;
    }
    const std::vector<int>& list = isPort ? block.portChannels : block.memoryChannels;
    std::set<int> distinct;
    for (const int id : op.channels) {
      if (id < 0 || static_cast<std::size_t>(id) >= list.size()) {
        m_faults.fault(MscclppRule::channel, place,
                       name + " names channel " + number(id) + " of the threadblock, which lists " +
                           number(static_cast<std::int64_t>(list.size())) + " " +
                           std::string(toString(op.channelType)) + " channels",
                       "channel_ids are places in the threadblock's own list");
      }
      if (isSync(op.type) && !distinct.insert(id).second) {
        m_faults.fault(MscclppRule::channel, place,
                       name + " names channel " + number(id) + " twice: two threads share its counter",
                       "name it once, in two operations");
      }
    }
  }

  void checkSemaphores(const Gpu& gpu, const Operation& op, const OpShape& shape, const std::string& name,
                       const OpPlace& place) {
    if (!shape.takesSemaphores) {
      return;
    }
    if (op.semaphores.empty()) {
      m_faults.fault(MscclppRule::semaphore, place, name + " has no semaphore_ids", "name one");
    }
    if (op.semaphores.size() > static_cast<std::size_t>(mscclpp::kMaxSemaphoresOfOp)) {
      m_faults.fault(MscclppRule::limit, place, name + " has more than 16 semaphore_ids", "split it");
    }
    for (const int id : op.semaphores) {
      if (id < 0 || static_cast<std::size_t>(id) >= gpu.semaphores.size()) {
        m_faults.fault(MscclppRule::semaphore, place,
                       name + " names semaphore " + number(id) + "; the rank has " +
                           number(static_cast<std::int64_t>(gpu.semaphores.size())),
                       "number them from 0 in the order of the rank's list");
      }
    }
  }

  /// Which kinds of place an entry may be.
  static bool mayStand(const Operation& op, const ChunkRun& run, bool isSource, std::size_t index) {
    const bool isLocal = run.place == RunPlace::local;
    switch (op.type) {
      case OpType::get:
        return isSource ? run.place == RunPlace::remote : isLocal;
      case OpType::readReduce:
      case OpType::readReduceSend:
        return index == 0 ? isLocal : run.place == RunPlace::remote;
      case OpType::reduceSend:
      case OpType::reduceSendPackets:
        return isSource || index == 0 ? isLocal : run.place == RunPlace::remote;
      case OpType::reduceCopySendPackets:
        return isSource || index < 2 ? isLocal : run.place == RunPlace::remote;
      case OpType::multiLoadReduceStore:
        return run.place == RunPlace::switched;
      case OpType::multiStore:
      case OpType::multiStorePackets:
        return isSource ? isLocal : run.place == RunPlace::switched;
      default:
        return isPut(op.type) && !isSource ? run.place == RunPlace::remote : isLocal;
    }
  }

  /// Entries that the kernel looks for in packets, which are in scratch.
  static bool isInPackets(const Operation& op, bool isSource, std::size_t index) {
    const OpShape& shape = mscclpp::shapeOf(op.type);
    if (!shape.readsPackets && !shape.writesPackets) {
      return false;
    }
    switch (op.type) {
      case OpType::putPackets:
        return !isSource || op.channelType == ChannelType::port;
      case OpType::copyPackets:
        return !isSource;
      case OpType::unpackPackets:
        return isSource;
      case OpType::readPutPackets:
      case OpType::multiStorePackets:
        return true;
      default:  // reductions: own operand and result are plain
        return index > 0;
    }
  }

  void checkRun(const Gpu& gpu, const ThreadBlock& block, const Operation& op, const ChunkRun& run, bool isSource,
                std::size_t index, const OpPlace& place) {
    const std::string entry = (isSource ? "src_buff" : "dst_buff") + std::string(" entry ") +
                              number(static_cast<std::int64_t>(index)) + " of " + std::string(toString(op.type));
    if (!mayStand(op, run, isSource, index)) {
      m_faults.fault(MscclppRule::operation, place, entry + " is in the wrong kind of buffer",
                     "local: type; of another rank: buffer_id; of a switch group: switch_channel_id");
      return;
    }
    std::vector<int> owners;
    Buffer buffer = run.buffer;
    if (run.place == RunPlace::local) {
      owners = {m_rank};
    } else if (run.place == RunPlace::remote) {
      const std::vector<int>& list = op.channelType == ChannelType::port ? block.portBuffers : block.memoryBuffers;
      if (run.id < 0 || static_cast<std::size_t>(run.id) >= list.size()) {
        m_faults.fault(MscclppRule::remoteBuffer, place,
                       entry + " names remote buffer " + number(run.id) + " of the threadblock, which lists " +
                           number(static_cast<std::int64_t>(list.size())),
                       "buffer_id is a place in the threadblock's own list of that channel type");
        return;
      }
      const int id = list[run.id];
      if (id < 0 || static_cast<std::size_t>(id) >= gpu.remoteBuffers.size() || !isRank(gpu.remoteBuffers[id].rank)) {
        return;  // said of the lists
      }
      owners = {gpu.remoteBuffers[id].rank};
      buffer = gpu.remoteBuffers[id].buffer;
    } else {
      if (run.id < 0 || static_cast<std::size_t>(run.id) >= block.switchGroups.size()) {
        m_faults.fault(MscclppRule::channel, place,
                       entry + " names switch group " + number(run.id) + " of the threadblock",
                       "switch_channel_id is a place in the threadblock's own list");
        return;
      }
      const int id = block.switchGroups[run.id];
      if (id < 0 || static_cast<std::size_t>(id) >= gpu.switchGroups.size()) {
        return;
      }
      owners = gpu.switchGroups[id].ranks;
      buffer = gpu.switchGroups[id].buffer;
    }
    const bool packed = isInPackets(op, isSource, index);
    if (packed && buffer != Buffer::scratch) {
      m_faults.fault(MscclppRule::packet, place, entry + " holds packets and is not in scratch",
                     "keep packets in scratch (s)");
      return;
    }
    if (packed && !m_plan.hasPackets()) {
      m_faults.fault(MscclppRule::packet, place,
                     entry + " holds packets, which take twice the room, and the protocol is " + m_plan.protocol,
                     "write \"protocol\": \"LL\"");
    }
    for (const int owner : owners) {
      if (!isRank(owner)) {
        continue;
      }
      checkBounds(run, buffer, owner, entry, place);
    }
  }

  void checkBounds(const ChunkRun& run, Buffer buffer, int owner, const std::string& entry, const OpPlace& place) {
    const Gpu& gpu = m_plan.gpus[owner];
    const int chunks = buffer == Buffer::input    ? gpu.inputChunks
                       : buffer == Buffer::output ? gpu.outputChunks
                                                  : gpu.scratchChunks;
    if (run.size < 1 || run.index < 0) {
      m_faults.fault(MscclppRule::bounds, place,
                     entry + " has index " + number(run.index) + " and size " + number(run.size),
                     "give an index from 0 and a size from 1");
    } else if (std::int64_t{run.index} + run.size > chunks) {
      m_faults.fault(MscclppRule::bounds, place,
                     entry + " takes " + std::string(1, program::letter(buffer)) + "[" + number(run.index) + "-" +
                         number(std::int64_t{run.index} + run.size - 1) + "] of rank " + number(owner) +
                         ", which has " + number(chunks) + " chunks there",
                     "keep index + size within the chunks of the buffer's owner: the executor does not check");
    }
  }

  /// One size for all that an operation adds up or copies.
  void checkSizes(const Operation& op, const std::string& name, const OpPlace& place) {
    const bool isPair = (isPut(op.type) && op.type != OpType::readPutPackets) || op.type == OpType::get;
    for (std::size_t i = 0; i < op.destinations.size(); ++i) {
      const std::size_t other = isPair ? i : 0;
      if (other < op.sources.size() && op.sources[other].size != op.destinations[i].size) {
        m_faults.fault(MscclppRule::operation, place,
                       name + " has " + number(op.sources[other].size) + " chunks at one end and " +
                           number(op.destinations[i].size) + " at the other",
                       "give both the same size");
        return;
      }
    }
    for (std::size_t i = 1; !isPair && i < op.sources.size(); ++i) {
      if (op.sources[i].size != op.sources[0].size) {
        m_faults.fault(MscclppRule::operation, place, name + " adds up runs of different sizes",
                       "give all sources one size");
        return;
      }
    }
  }

  /// What the kernels do otherwise than a reader of the file expects.
  void checkKernel(const Operation& op, const std::string& name, const OpPlace& place) {
    const bool isMemory = op.channelType == ChannelType::memory;
    switch (op.type) {
      case OpType::putWithSignal:
      case OpType::putWithSignalAndFlush:
        if (isMemory) {
          m_faults.fault(MscclppRule::kernel, place, name + " on a memory channel copies and does not signal",
                         "use put, nop and signal");
        } else if (op.type == OpType::putWithSignalAndFlush) {
          m_faults.warn(MscclppRule::release, place,
                        "pwsf runs as pws in releases 0.8 and 0.9: it does not wait for the proxy",
                        "learn from a signal of the peer that the source is free");
        }
        break;
      case OpType::flush:
        m_faults.warn(MscclppRule::kernel, place,
                      "flush does nothing: the kernel takes the number of its channels from dst_buff",
                      "learn from a signal of the peer that the source is free");
        break;
      case OpType::put:
        for (const ChunkRun& source : op.sources) {
          if (isMemory && source.place == RunPlace::local && source.buffer != op.sources[0].buffer) {
            m_faults.fault(MscclppRule::kernel, place,
                           "put takes the buffer of its first source for all, and these differ",
                           "split it: one put for each buffer");
            break;
          }
        }
        break;
      case OpType::putPackets:
        if (!isMemory) {
          m_faults.warn(MscclppRule::kernel, place,
                        "ppkt by a port takes packets as its source, and works in the first context of a process alone",
                        "use cpkt and rppkt");
        }
        for (const ChunkRun& source : op.sources) {
          if (isMemory && source.buffer != op.sources[0].buffer) {
            m_faults.fault(MscclppRule::kernel, place,
                           "ppkt takes the buffer of its first source for all, and these differ",
                           "split it: one ppkt for each buffer");
            break;
          }
        }
        break;
      case OpType::get:
        for (std::size_t i = 0; i < std::min(op.sources.size(), op.destinations.size()); ++i) {
          if (op.sources[i].index != op.destinations[i].index) {
            m_faults.fault(MscclppRule::kernel, place,
                           "get exchanges the offsets of source (" + number(op.sources[i].index) +
                               ") and destination (" + number(op.destinations[i].index) + ")",
                           "use equal indices, or let the owner put");
          }
        }
        break;
      default:
        break;
    }
    if (!mscclpp::shapeOf(op.type).since.empty()) {
      m_faults.warn(
          MscclppRule::release, place,
          name + " is new in " + std::string(mscclpp::shapeOf(op.type).since) + ": older executors refuse the plan",
          "use operations of 0.8 where older releases must run it");
    }
  }

  const ExecutionPlan& m_plan;
  int m_multiprocessors;
  MscclppFaults& m_faults;
  int m_rank = 0;
  int m_block = 0;
};

}  // namespace

void checkMscclppStructure(const ExecutionPlan& plan, int multiprocessors, MscclppFaults& faults) {
  StructureCheck(plan, multiprocessors, faults).run();
}

}  // namespace coppice::verify
