// SPDX-License-Identifier: Apache-2.0
#include "lowering/emit.hpp"

#include <algorithm>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/checked.hpp"
#include "lowering/sums.hpp"
#include "lowering/tree_moves.hpp"
#include "lowering/writer.hpp"

namespace coppice::lowering {

namespace {

using program::Buffer;
using program::Slot;
using program::Step;
using program::StepType;

class Emitter {
public:
  Emitter(const Work& work, const Plan& plan, const Copies& copies, const Options& options, const Progress& progress)
      : m_work(work),
        m_plan(plan),
        m_copies(copies),
        m_options(options),
        m_progress(progress),
        m_last(work.parts.size() * static_cast<std::size_t>(work.gpuCount)),
        m_arrivals(m_last.size(), 0),
        m_partial(m_last.size(), Slot{Buffer::scratch, -1}),
        m_sentBy(static_cast<std::size_t>(work.messageCount())),
        m_scratch(static_cast<std::size_t>(work.gpuCount), 0),
        m_writer(plan, copies.need, options) {}

  program::Program run(StepOrigins* origins) {
    layOut();
    emitCopies();
    for (const Event& event : m_plan.order) {
      throwIfCancelled(m_progress);
      m_writer.setOrigin(originOf(event));
      if (event.receives) {
        emitReceive(event.message);
      } else {
        emitSend(event.message);
      }
    }
    if (origins != nullptr) {
      *origins = m_writer.takeOrigins(m_options.instances);
    }
    return sideBySide(std::move(m_writer.program()),
                      m_work.slices.empty() ? std::vector<int>{0, m_work.chunks} : m_work.slices, m_scratch, m_options);
  }

private:
  [[nodiscard]] const Part& partOf(int message) const { return m_work.parts[m_work.partOf(message)]; }
  [[nodiscard]] std::size_t cell(int part, int rank) const {
    return static_cast<std::size_t>(part) * static_cast<std::size_t>(m_work.gpuCount) + static_cast<std::size_t>(rank);
  }

  /// Of the steps of an event: its message, and the one that is fused with it.
  [[nodiscard]] StepOrigin originOf(const Event& event) const {
    StepOrigin origin;
    const auto add = [&](int message) {
      const Part& part = partOf(message);
      if (m_work.phaseOf(message) == Phase::reduce) {
        origin.reduceTree = part.reduceTree;
      } else {
        origin.broadcastTree = part.broadcastTree;
      }
    };
    add(event.message);
    if (event.receives && m_plan.next[event.message] >= 0) {
      add(m_plan.next[event.message]);
    }
    return origin;
  }

  void layOut() {
    for (int rank = 0; rank < m_work.gpuCount; ++rank) {
      const int slice = m_work.slices.empty() ? m_work.chunks : m_work.slices[rank + 1] - m_work.slices[rank];
      program::RankProgram& mine = m_writer.program().ranks[rank];
      if (m_options.inPlace) {
        (readsInput() ? mine.inputChunks : mine.outputChunks) = m_work.chunks;
      } else {
        mine.inputChunks = m_work.collective == Collective::allgather ? slice : m_work.chunks;
        mine.outputChunks = m_work.collective == Collective::reduceScatter ? slice : m_work.chunks;
      }
    }
    m_writer.program().chunksPerLoop = m_work.chunks;
  }

  /// In place, the collectives that only reduce work in the input buffer, the others in the output buffer.
  [[nodiscard]] bool readsInput() const { return !m_work.hasPhase(Phase::broadcast); }

  /// Where a rank's own contribution to a part lies.
  [[nodiscard]] Slot inputOf(int part) const {
    const Part& p = m_work.parts[part];
    return {m_options.inPlace && !readsInput() ? Buffer::output : Buffer::input, p.start};
  }
  /// Where a gathered or broadcast part lies.
  [[nodiscard]] Slot resultOf(int part) const { return {Buffer::output, m_work.parts[part].start}; }
  /// Where a rank keeps partial sums of a part; the root's is the final place.
  Slot partialOf(int part, int rank) {
    const Part& p = m_work.parts[part];
    if (m_options.inPlace) {
      return inputOf(part);
    }
    if (m_work.hasPhase(Phase::broadcast)) {
      return resultOf(part);
    }
    if (rank == p.root) {
      return {Buffer::output, m_work.slices.empty() ? p.start : p.start - m_work.slices[p.root]};
    }
    Slot& slot = m_partial[cell(part, rank)];
    if (slot.offset < 0) {
      slot.offset = takeScratch(rank, p.count);
    }
    return slot;
  }
  int takeScratch(int rank, int count) {
    const int offset = m_scratch[rank];
    m_scratch[rank] += count;
    return offset;
  }
  /// What a reducing step adds the arriving data to.
  Slot operandOf(int part, int rank) {
    return m_arrivals[cell(part, rank)] == 0 ? inputOf(part) : partialOf(part, rank);
  }

  StepPlace append(int rank, int id, StepType type, Slot src, Slot dst, int count, StepPlace after) {
    return m_writer.append(rank, id, type, src, dst, count, std::span(&after, 1));
  }

  void emitCopies() {
    for (int rank = 0; rank < m_work.gpuCount; ++rank) {
      const CopyNeed& need = m_copies.need[rank];
      const int first = static_cast<int>(m_plan.blocks[rank].size());
      const std::vector<Copies::Run>& runs = m_copies.runsOf[rank];
      const int shift = m_work.slices.empty() ? 0 : m_work.slices[rank];
      auto part = static_cast<int>(std::lower_bound(m_work.parts.begin(), m_work.parts.end(),
                                                    runs.empty() ? 0 : runs.front().start,
                                                    [](const Part& p, int start) { return p.start < start; }) -
                                   m_work.parts.begin());
      for (std::size_t i = 0; i < runs.size(); ++i) {
        const StepPlace place =
            append(rank, first + static_cast<int>(i % static_cast<std::size_t>(need.blocks)), StepType::copy,
                   {Buffer::input, runs[i].start - shift}, {Buffer::output, runs[i].start}, runs[i].count, {});
        for (; part < static_cast<int>(m_work.parts.size()) && m_work.parts[part].start < runs[i].start + runs[i].count;
             ++part) {
          m_last[cell(part, rank)] = place;
        }
      }
    }
  }

  /// The slot a message comes from, as its sender knows it.
  Slot sourceOf(int message) {
    const int part = m_work.partOf(message);
    return m_work.phaseOf(message) == Phase::broadcast ? resultOf(part) : operandOf(part, endsOf(m_work, message).from);
  }
  /// Tells the sending step, for readers of the program, where its data lands. Forwarding copies need their own slot.
  void noteLanding(int message, Slot landing) {
    const StepPlace by = m_sentBy[message];
    Step& sender = m_writer.stepAt(endsOf(m_work, message).from, by);
    if (sender.type == StepType::send || sender.type == StepType::recvReduceSend) {
      sender.dst = landing;
    }
  }

  void emitSend(int message) {
    const Ends ends = endsOf(m_work, message);
    const Connection& connection = m_plan.connections[m_plan.connectionOf[message]];
    m_sentBy[message] = append(ends.from, connection.sendBlock, StepType::send, sourceOf(message), Slot{},
                               partOf(message).count, m_last[cell(m_work.partOf(message), ends.from)]);
  }

  void emitReceive(int message) {
    const int part = m_work.partOf(message);
    const int count = partOf(message).count;
    const int rank = endsOf(m_work, message).to;
    const int id = m_plan.connections[m_plan.connectionOf[message]].recvBlock;
    const int next = m_plan.next[message];
    StepPlace& last = m_last[cell(part, rank)];
    StepPlace place;
    if (m_work.phaseOf(message) == Phase::broadcast) {
      const StepType type = next >= 0 ? StepType::recvCopySend : StepType::recv;
      // What this overwrites has been read: the data came through the root, which waited for every rank's share.
      place = last = append(rank, id, type, resultOf(part), resultOf(part), count, {});
      noteLanding(message, resultOf(part));
    } else if (program::isRccl(m_options.runtime)) {
      emitSplitReduce(message);
    } else {
      const Slot operand = operandOf(part, rank);
      ++m_arrivals[cell(part, rank)];
      if (next >= 0 && m_work.phaseOf(next) == Phase::reduce) {
        place = append(rank, id, StepType::recvReduceSend, operand, Slot{}, count, last);
        noteLanding(message, operand);
      } else {
        const StepType type = next >= 0 ? StepType::recvReduceCopySend : StepType::recvReduceCopy;
        const Slot sum = partialOf(part, rank);
        place = last = append(rank, id, type, operand, sum, count, last);
        noteLanding(message, sum);
      }
    }
    if (next >= 0) {
      m_sentBy[next] = place;
    }
  }

  /// Receive, then reduce: for runtimes without the fused kernels. See sums.hpp.
  void emitSplitReduce(int message) {
    const int part = m_work.partOf(message);
    const int count = partOf(message).count;
    const int rank = endsOf(m_work, message).to;
    const int id = m_plan.connections[m_plan.connectionOf[message]].recvBlock;
    const std::size_t mine = cell(part, rank);
    std::vector<Addend>& addends = m_addends[mine];
    const auto arrivals = static_cast<int>(m_work.tree(part, Phase::reduce).children[rank].size());
    const bool isLast = ++m_arrivals[mine] == arrivals;
    const Slot sum = partialOf(part, rank);
    const bool ownIsElsewhere = inputOf(part) != sum;
    const Slot landing = isLast && ownIsElsewhere ? sum : Slot{Buffer::scratch, takeScratch(rank, count)};
    const StepPlace here = append(rank, id, StepType::recv, sourceOf(message), landing, count, {});
    noteLanding(message, landing);
    if (!isLast && static_cast<int>(addends.size()) + 1 < kMaxAddends) {
      addends.push_back({landing, here});
      return;
    }
    if (isLast && ownIsElsewhere) {
      m_last[mine] = append(rank, id, StepType::reduce, inputOf(part), sum, count, {});
    } else if (isLast) {
      addends.push_back({landing, here});
    }
    const StepPlace summed = m_writer.addUp(rank, id, addends, isLast ? sum : landing, count);
    if (!isLast) {
      addends.assign(1, {landing, summed});
      return;
    }
    m_last[mine] = summed.block >= 0 ? summed : m_last[mine];
    m_addends.erase(mine);
  }

  const Work& m_work;
  const Plan& m_plan;
  const Copies& m_copies;
  const Options& m_options;
  const Progress& m_progress;
  std::vector<StepPlace> m_last;    ///< by (part, rank): the step after which the rank's value is there
  std::vector<int> m_arrivals;      ///< by (part, rank): contributions added so far
  std::vector<Slot> m_partial;      ///< by (part, rank): scratch for partial sums
  std::vector<StepPlace> m_sentBy;  ///< by message: the step that sends it
  std::vector<int> m_scratch;       ///< by rank: chunks taken
  ProgramWriter m_writer;
  std::unordered_map<std::size_t, std::vector<Addend>> m_addends;  ///< RCCL: by (part, rank)
};

}  // namespace

Copies planCopies(const Work& work, const Options& options) {
  Copies copies;
  copies.runsOf.resize(work.gpuCount);
  copies.need.resize(work.gpuCount);
  if (options.inPlace || work.hasPhase(Phase::reduce)) {
    return copies;
  }
  const program::RuntimeLimits& limit = program::limits(options.runtime);
  std::vector<std::int64_t> own(work.gpuCount, 0);
  for (const Part& part : work.parts) {
    own[part.root] += part.count;
  }
  // Enough threadblocks that the copies keep up with the collective.
  constexpr int kMaxBlocks = 8;
  std::vector<int> longest(work.gpuCount, limit.count);
  for (int rank = 0; rank < work.gpuCount; ++rank) {
    const Int128 rate =
        static_cast<Int128>(std::max<std::int64_t>(work.algbw.gigabytesPerSecond().numerator(), 0)) * own[rank];
    const Int128 unit = static_cast<Int128>(work.algbw.gigabytesPerSecond().denominator()) *
                        (static_cast<std::int64_t>(work.chunks) * options.instances) * kBlockRate;
    const auto wanted = static_cast<int>(std::clamp<Int128>((rate + unit - 1) / unit, 1, kMaxBlocks));
    copies.need[rank].blocks = wanted;
    longest[rank] = static_cast<int>(std::min<std::int64_t>(limit.count, (own[rank] + wanted - 1) / wanted));
  }
  for (const Part& part : work.parts) {
    std::vector<Copies::Run>& runs = copies.runsOf[part.root];
    if (!runs.empty() && runs.back().count + part.count <= longest[part.root]) {
      runs.back().count += part.count;
    } else {
      runs.push_back({part.start, part.count});
    }
  }
  for (int rank = 0; rank < work.gpuCount; ++rank) {
    CopyNeed& need = copies.need[rank];
    need.steps = static_cast<int>(copies.runsOf[rank].size());
    const int min = (need.steps + limit.stepsPerThreadBlock - 1) / limit.stepsPerThreadBlock;
    need.blocks = std::min(std::max(need.blocks, min), need.steps);
  }
  return copies;
}

program::Program emit(const Work& work, const Plan& plan, const Copies& copies, const Options& options,
                      const Progress& progress, StepOrigins* origins) {
  return Emitter(work, plan, copies, options, progress).run(origins);
}

}  // namespace coppice::lowering
