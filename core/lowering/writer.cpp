// SPDX-License-Identifier: Apache-2.0
#include "lowering/writer.hpp"

#include <algorithm>
#include <utility>

namespace coppice::lowering {

using program::Buffer;
using program::Slot;
using program::Step;
using program::StepType;

ProgramWriter::ProgramWriter(const Plan& plan, const std::vector<CopyNeed>& copies, const Options& options)
    : m_isRccl(program::isRccl(options.runtime)), m_origins(plan.blocks.size()), m_waited(plan.blocks.size()) {
  m_program.ranks.resize(plan.blocks.size());
  m_program.protocol = options.protocol.value_or(program::Protocol::simple);
  m_program.channels = plan.channels;
  for (std::size_t rank = 0; rank < plan.blocks.size(); ++rank) {
    std::vector<program::ThreadBlock>& blocks = m_program.ranks[rank].threadBlocks;
    for (const BlockPlan& block : plan.blocks[rank]) {
      const int out = block.sendConnection;
      const int in = block.recvConnection;
      program::ThreadBlock made;
      made.sendPeer = out < 0 ? -1 : plan.connections[out].to;
      made.recvPeer = in < 0 ? -1 : plan.connections[in].from;
      made.channel = plan.connections[out < 0 ? in : out].channel;
      blocks.push_back(std::move(made));
    }
    blocks.resize(blocks.size() + static_cast<std::size_t>(copies[rank].blocks));
    m_origins[rank].resize(blocks.size());
    m_waited[rank].assign(blocks.size(), std::vector<Waited>(blocks.size()));
  }
}

/// A wait of RCCL orders memory only if the step that is waited for does not write scratch and the one that waits reads
/// o (see verify::checkMemoryOrder), so such a wait is not redundant after another one.
bool ProgramWriter::mustWait(int rank, int block, StepPlace place, bool acquires) {
  const bool releases = m_isRccl && stepAt(rank, place).dst.buffer != Buffer::scratch;
  Waited& waited = m_waited[rank][block][place.block];
  const bool isOrdered = releases && acquires;
  if ((isOrdered ? waited.acquired : releases ? waited.released : waited.any) >= place.step) {
    return false;
  }
  waited.any = std::max(waited.any, place.step);
  waited.released = releases ? std::max(waited.released, place.step) : waited.released;
  waited.acquired = isOrdered ? std::max(waited.acquired, place.step) : waited.acquired;
  return true;
}

StepPlace ProgramWriter::append(int rank, int block, StepType type, Slot src, Slot dst, int count,
                                std::span<const StepPlace> after) {
  // Of each other threadblock, the latest.
  std::vector<StepPlace>& waits = m_after;
  waits.assign(after.begin(), after.end());
  std::sort(waits.begin(), waits.end());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const StepPlace place = waits[i];
    const bool isLatest = i + 1 == waits.size() || waits[i + 1].block != place.block;
    if (isLatest && place.block >= 0 && place.block != block &&
        mustWait(rank, block, place, src.buffer == Buffer::output)) {
      waits[kept++] = place;
    }
  }
  waits.resize(kept);
  std::vector<Step>& steps = m_program.ranks[rank].threadBlocks[block].steps;
  for (std::size_t i = 0; i <= waits.size(); ++i) {
    const bool isLast = i + 1 >= waits.size();
    Step step;
    if (isLast) {
      step = {.type = type, .src = src, .dst = dst, .count = count};
    }
    if (i < waits.size()) {
      step.dependsOnTb = waits[i].block;
      step.dependsOnStep = waits[i].step;
      stepAt(rank, waits[i]).hasDependent = true;
    }
    steps.push_back(step);
    m_origins[rank][block].push_back(m_origin);
    if (isLast) {
      break;
    }
  }
  return {block, static_cast<int>(steps.size()) - 1};
}

StepPlace ProgramWriter::addUp(int rank, int block, const std::vector<Addend>& addends, Slot into, int count,
                               std::vector<StepPlace> before) {
  for (const Addend& addend : addends) {
    before.push_back(addend.place);
  }
  StepPlace place;
  for (std::size_t i = 0; i < addends.size(); ++i) {
    place = append(rank, block, StepType::reduce, addends[i].slot, into, count,
                   i == 0 ? std::span<const StepPlace>(before) : std::span<const StepPlace>());
  }
  return place;
}

StepOrigins ProgramWriter::takeOrigins(int instances) {
  for (auto& blocks : m_origins) {
    const std::size_t count = blocks.size();
    blocks.reserve(count * static_cast<std::size_t>(instances));
    for (std::size_t at = count; at < count * static_cast<std::size_t>(instances); ++at) {
      blocks.push_back(blocks[at - count]);
    }
  }
  return std::move(m_origins);
}

program::Program sideBySide(program::Program single, const std::vector<int>& slices, const std::vector<int>& scratch,
                            const Options& options) {
  const int copies = options.instances;
  const int stride = *std::max_element(scratch.begin(), scratch.end());
  const int channels = options.channels == ChannelPolicy::nicPlanes && copies > 1
                           ? single.channels + single.channels % 2
                           : single.channels;
  for (std::size_t rank = 0; rank < single.ranks.size(); ++rank) {
    program::RankProgram& mine = single.ranks[rank];
    const auto moved = [&](Slot slot, int instance) {
      if (slot.offset < 0) {
        return slot;
      }
      if (slot.buffer == Buffer::scratch) {
        slot.offset += instance * stride;
        return slot;
      }
      const int size = slot.buffer == Buffer::input ? mine.inputChunks : mine.outputChunks;
      // `size` is one slice or all of them.
      if (size != slices.back()) {
        slot.offset += instance * size;
        return slot;
      }
      const auto next = std::upper_bound(slices.begin(), slices.end(), slot.offset);
      const int first = *(next - 1);
      slot.offset = first * copies + instance * (*next - first) + slot.offset - first;
      return slot;
    };
    const auto blocks = static_cast<int>(mine.threadBlocks.size());
    std::vector<program::ThreadBlock> all;
    all.reserve(static_cast<std::size_t>(blocks) * static_cast<std::size_t>(copies));
    for (int instance = 0; instance < copies; ++instance) {
      for (program::ThreadBlock made : mine.threadBlocks) {
        const bool hasPeer = made.sendPeer >= 0 || made.recvPeer >= 0;
        made.channel += hasPeer ? instance * channels : 0;
        for (Step& step : made.steps) {
          step.src = moved(step.src, instance);
          step.dst = moved(step.dst, instance);
          step.dependsOnTb += step.dependsOnTb >= 0 ? instance * blocks : 0;
        }
        all.push_back(std::move(made));
      }
    }
    mine.threadBlocks = std::move(all);
    mine.inputChunks *= copies;
    mine.outputChunks *= copies;
    mine.scratchChunks = scratch[rank] == 0 ? 0 : stride * (copies - 1) + scratch[rank];
  }
  single.channels = channels * (copies - 1) + single.channels;
  single.chunksPerLoop *= copies;
  return single;
}

}  // namespace coppice::lowering
