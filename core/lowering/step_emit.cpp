// SPDX-License-Identifier: Apache-2.0
#include "lowering/step_emit.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/checked.hpp"
#include "lowering/scratch.hpp"
#include "lowering/sums.hpp"
#include "lowering/writer.hpp"

namespace coppice::lowering {

namespace {

using program::Buffer;
using program::Slot;
using program::Step;
using program::StepType;

/// What a rank has of an item. Without a slot: its own data, or nothing.
struct Cell {
  Slot slot = {};
  StepPlace writer = {};
  std::vector<StepPlace> readers = {};  ///< since it was written; for scratch alone
  int uses = 0;                         ///< messages still to come that leave or reach the rank with it
  std::vector<Addend> addends = {};     ///< RCCL: arrivals of a sum that is not there yet
  std::vector<StepPlace> before = {};   ///< RCCL: what the sum has to wait for besides
};

class StepEmitter {
public:
  StepEmitter(const StepWork& work, const Plan& plan, const StepCopies& copies, const Options& options,
              const Progress& progress)
      : m_work(work),
        m_plan(plan),
        m_copies(copies),
        m_options(options),
        m_progress(progress),
        m_isRccl(program::isRccl(options.runtime)),
        m_writer(plan, copies.need, options),
        m_scratch(static_cast<std::size_t>(work.gpuCount)),
        m_sentBy(work.messages.size()) {}

  program::Program run() {
    layOut();
    countUses();
    emitCopies();
    for (const Event& event : m_plan.order) {
      throwIfCancelled(m_progress);
      if (event.receives) {
        emitReceive(event.message);
      } else {
        emitSend(event.message);
      }
    }
    std::vector<int> scratch;
    for (const Scratch& mine : m_scratch) {
      scratch.push_back(mine.size());
    }
    return sideBySide(std::move(m_writer.program()), m_work.placement.slices(), scratch, m_options);
  }

private:
  Cell& cell(int item, int rank) { return m_cells[m_work.cell(item, rank)]; }
  [[nodiscard]] const Item& itemOf(const StepMessage& message) const { return m_work.items[message.firstItem]; }

  void layOut() {
    std::vector<program::RankProgram>& ranks = m_writer.program().ranks;
    for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) {
      ranks[rank].inputChunks = m_work.placement.declaredInput(rank);
      ranks[rank].outputChunks = m_work.placement.declaredOutput(rank);
    }
    m_writer.program().chunksPerLoop = m_work.placement.chunksPerLoop();
  }

  void countUses() {
    for (const StepMessage& message : m_work.messages) {
      for (int item = message.firstItem; item < message.firstItem + message.items; ++item) {
        ++cell(item, message.from).uses;
        ++cell(item, message.to).uses;
      }
    }
  }

  void emitCopies() {
    for (int rank = 0; rank < m_work.gpuCount; ++rank) {
      const int first = static_cast<int>(m_plan.blocks[rank].size());
      int next = 0;
      for (const StepCopies::Run& run : m_copies.runsOf[rank]) {
        const int block = first + next++ % m_copies.need[rank].blocks;
        const StepPlace place = m_writer.append(rank, block, StepType::copy, run.from, run.to, run.count, {});
        for (int i = 0; m_work.placement.sendsCopies() && i < run.items; ++i) {
          const Item& item = m_work.items[run.firstItem + i];
          Cell& mine = cell(run.firstItem + i, rank);
          mine.slot = m_work.placement.result(item.shard, item.start);
          mine.writer = place;
        }
      }
    }
  }

  /// What a rank would send, or add to.
  [[nodiscard]] Slot valueOf(const Cell& mine, const Item& item, int rank) const {
    return mine.slot.offset >= 0 ? mine.slot : m_work.placement.contribution(rank, item.shard, item.start);
  }

  /// One message less that needs the rank's cells. The last one frees their scratch.
  void use(const StepMessage& message, int rank) {
    for (int i = message.firstItem; i < message.firstItem + message.items; ++i) {
      Cell& mine = cell(i, rank);
      if (--mine.uses == 0 && mine.slot.offset >= 0 && mine.slot.buffer == Buffer::scratch) {
        std::vector<StepPlace> last = mine.readers.empty() ? std::vector{mine.writer} : std::move(mine.readers);
        m_scratch[rank].giveBack(mine.slot.offset, m_work.items[i].count, std::move(last));
        mine.slot = {};
      }
    }
  }

  void emitSend(int m) {
    const StepMessage& message = m_work.messages[m];
    const int block = m_plan.connections[m_plan.connectionOf[m]].sendBlock;
    std::vector<StepPlace> after;
    for (int i = message.firstItem; i < message.firstItem + message.items; ++i) {
      after.push_back(cell(i, message.from).writer);
    }
    const Slot from = valueOf(cell(message.firstItem, message.from), itemOf(message), message.from);
    const StepPlace place = m_writer.append(message.from, block, StepType::send, from, Slot{}, message.count, after);
    noteSent(m, place);
  }

  void noteSent(int m, StepPlace place) {
    const StepMessage& message = m_work.messages[m];
    m_sentBy[m] = place;
    for (int i = message.firstItem; i < message.firstItem + message.items; ++i) {
      Cell& mine = cell(i, message.from);
      if (mine.slot.buffer == Buffer::scratch) {
        mine.readers.push_back(place);
      }
    }
    use(message, message.from);
  }

  /// Tells the sending step, for readers of the program, where its data lands. Forwarding copies need their own slot.
  void noteLanding(int m, Slot landing) {
    Step& sender = m_writer.stepAt(m_work.messages[m].from, m_sentBy[m]);
    if (sender.type == StepType::send || sender.type == StepType::recvReduceSend) {
      sender.dst = landing;
    }
  }

  /// Where the sender has the message's data, for readers of the program.
  Slot sourceOf(int m) {
    const Step& sender = m_writer.stepAt(m_work.messages[m].from, m_sentBy[m]);
    const bool isForwarded = sender.type == StepType::recvCopySend || sender.type == StepType::recvReduceCopySend;
    return isForwarded ? sender.dst : sender.src;
  }

  /// Where the message's data is to lie at its receiver.
  Scratch::Run placeFor(const StepMessage& message, int block, Slot& slot) {
    const Item& item = itemOf(message);
    Cell& mine = cell(message.firstItem, message.to);
    if (const auto room = m_work.placement.room(message.to, item.shard, item.start)) {
      slot = *room;
      return {};
    }
    if (mine.slot.offset >= 0) {
      slot = mine.slot;
      return {};
    }
    Scratch::Run run = m_scratch[message.to].take(item.count, block);
    slot = {Buffer::scratch, run.offset};
    return run;
  }

  void emitReceive(int m) {
    const StepMessage& message = m_work.messages[m];
    const int next = m_plan.next[m];
    StepPlace place;
    if (!message.reduces) {
      place = emitStore(m);
    } else if (m_isRccl) {
      emitSplitReduce(m);
    } else {
      place = emitReduce(m);
    }
    use(message, message.to);
    if (next >= 0) {
      noteSent(next, place);
    }
  }

  void settle(const StepMessage& message, Slot slot, StepPlace place) {
    int before = 0;
    for (int i = message.firstItem; i < message.firstItem + message.items; ++i) {
      Cell& mine = cell(i, message.to);
      mine.slot = {slot.buffer, slot.offset + before};
      mine.writer = place;
      mine.readers.clear();
      before += m_work.items[i].count;
    }
  }

  StepPlace emitStore(int m) {
    const StepMessage& message = m_work.messages[m];
    const int block = m_plan.connections[m_plan.connectionOf[m]].recvBlock;
    Slot slot;
    std::vector<StepPlace> after = placeFor(message, block, slot).after;
    for (const int sending : m_work.waits[m].sendings) {
      after.push_back(m_sentBy[sending]);
    }
    if (m_work.waits[m].sendings.empty()) {
      addWriters(m, after);
    }
    const StepType type = m_plan.next[m] >= 0 ? StepType::recvCopySend : StepType::recv;
    const Slot source = type == StepType::recv ? sourceOf(m) : slot;
    const StepPlace place = m_writer.append(message.to, block, type, source, slot, message.count, after);
    noteLanding(m, slot);
    settle(message, slot, place);
    return place;
  }

  /// Those of the values that the message is added to or overwrites.
  void addWriters(int m, std::vector<StepPlace>& after) {
    const StepMessage& message = m_work.messages[m];
    if (m_work.waits[m].arrivals.empty()) {
      return;
    }
    for (int i = message.firstItem; i < message.firstItem + message.items; ++i) {
      after.push_back(cell(i, message.to).writer);
    }
  }

  [[nodiscard]] bool hasValue(const StepMessage& message) {
    return cell(message.firstItem, message.to).slot.offset >= 0 ||
           m_work.placement.isSource(message.to, itemOf(message).shard);
  }

  StepPlace emitReduce(int m) {
    const StepMessage& message = m_work.messages[m];
    if (!hasValue(message)) {
      return emitStore(m);
    }
    const int block = m_plan.connections[m_plan.connectionOf[m]].recvBlock;
    const bool sends = m_plan.next[m] >= 0;
    const Slot operand = valueOf(cell(message.firstItem, message.to), itemOf(message), message.to);
    std::vector<StepPlace> after;
    addWriters(m, after);
    if (sends && message.isPassedOn) {
      const StepPlace place =
          m_writer.append(message.to, block, StepType::recvReduceSend, operand, Slot{}, message.count, after);
      noteLanding(m, operand);
      return place;
    }
    Slot sum;
    for (const StepPlace use : placeFor(message, block, sum).after) {
      after.push_back(use);
    }
    if (operand == sum) {
      for (const int sending : m_work.waits[m].sendings) {
        after.push_back(m_sentBy[sending]);
      }
    }
    const StepType type = sends ? StepType::recvReduceCopySend : StepType::recvReduceCopy;
    const StepPlace place = m_writer.append(message.to, block, type, operand, sum, message.count, after);
    noteLanding(m, sum);
    settle(message, sum, place);
    return place;
  }

  /// Receive, then reduce: for runtimes without the fused kernels. See sums.hpp.
  void emitSplitReduce(int m) {
    const StepMessage& message = m_work.messages[m];
    const Item& item = itemOf(message);
    const int rank = message.to;
    const int block = m_plan.connections[m_plan.connectionOf[m]].recvBlock;
    const bool isLast = message.position + 1 == message.arrivals;
    Cell& mine = cell(message.firstItem, rank);
    for (const int sending : m_work.waits[m].sendings) {
      mine.before.push_back(m_sentBy[sending]);
    }
    Slot sum;
    std::vector<StepPlace> sumAfter;
    if (isLast) {
      sumAfter = placeFor(message, block, sum).after;
    }
    const bool hasOwn = hasValue(message);
    const Slot own = hasOwn ? valueOf(mine, item, rank) : Slot{};
    const bool landsInSum = isLast && !(hasOwn && own == sum);
    Scratch::Run run;
    if (!landsInSum) {
      run = m_scratch[rank].take(message.count, block);
    }
    const Slot landing = landsInSum ? sum : Slot{Buffer::scratch, run.offset};
    const StepPlace here = m_writer.append(rank, block, StepType::recv, sourceOf(m), landing, message.count,
                                           landsInSum ? sumAfter : run.after);
    noteLanding(m, landing);
    if (!isLast && static_cast<int>(mine.addends.size()) + 1 < kMaxAddends) {
      mine.addends.push_back({landing, here});
      return;
    }
    if (!isLast) {
      const StepPlace summed = addUp(rank, block, std::exchange(mine.addends, {}), landing, message.count, {});
      mine.addends.assign(1, {landing, summed});
      return;
    }
    finishSum(message, block, landsInSum, hasOwn, {own, mine.writer}, sum, {landing, here});
  }

  /// What another threadblock left in o: only a step that has o as its source is sure to read it as it is (see
  /// verify::checkMemoryOrder). So it is added to the arrival, and the sum copied back.
  [[nodiscard]] bool mustReadAgain(const Addend& own, int block) const {
    return own.slot.buffer == Buffer::output && own.place.block >= 0 && own.place.block != block &&
           program::isBuilt(StepType::copy, m_options.runtime);
  }

  /// The last arrival's threadblock adds everything up.
  void finishSum(const StepMessage& message, int block, bool landsInSum, bool hasOwn, const Addend& own, Slot sum,
                 const Addend& last) {
    Cell& mine = cell(message.firstItem, message.to);
    std::vector<Addend> addends = std::exchange(mine.addends, {});
    std::vector<StepPlace> before = std::exchange(mine.before, {});
    if (!landsInSum && mustReadAgain(own, block)) {
      addends.insert(addends.begin(), own);  // the step that waits for all is then one that reads o
      const StepPlace summed = addUp(message.to, block, addends, last.slot, message.count, {});
      before.push_back(summed);
      settle(message, sum, m_writer.append(message.to, block, StepType::copy, last.slot, sum, message.count, before));
      m_scratch[message.to].giveBack(last.slot.offset, message.count, {mine.writer});
      return;
    }
    if (landsInSum && hasOwn) {
      addends.insert(addends.begin(), own);
    } else if (!landsInSum) {
      addends.push_back(last);
      before.push_back(own.place);
    }
    const StepPlace summed = addUp(message.to, block, addends, sum, message.count, std::move(before));
    settle(message, sum, addends.empty() ? last.place : summed);
  }

  /// As ProgramWriter::addUp(); frees the scratch of the shares.
  StepPlace addUp(int rank, int block, const std::vector<Addend>& addends, Slot into, int count,
                  std::vector<StepPlace> before) {
    const StepPlace place = m_writer.addUp(rank, block, addends, into, count, std::move(before));
    for (const Addend& addend : addends) {
      if (addend.slot.buffer == Buffer::scratch && addend.slot != into) {
        m_scratch[rank].giveBack(addend.slot.offset, count, {place});
      }
    }
    return place;
  }

  const StepWork& m_work;
  const Plan& m_plan;
  const StepCopies& m_copies;
  const Options& m_options;
  const Progress& m_progress;
  const bool m_isRccl;
  ProgramWriter m_writer;
  std::vector<Scratch> m_scratch;   ///< by rank
  std::vector<StepPlace> m_sentBy;  ///< by message: the step that sends it
  std::unordered_map<std::int64_t, Cell> m_cells;
};

/// Where something arrives.
std::unordered_set<std::int64_t> cellsOfArrivals(const StepWork& work) {
  std::unordered_set<std::int64_t> cells;
  for (const StepMessage& message : work.messages) {
    for (int i = message.firstItem; i < message.firstItem + message.items; ++i) {
      cells.insert(work.cell(i, message.to));
    }
  }
  return cells;
}

}  // namespace

StepCopies planCopies(const StepWork& work, const Options& options) {
  StepCopies copies;
  copies.runsOf.resize(work.gpuCount);
  copies.need.resize(work.gpuCount);
  if (options.inPlace) {
    return copies;
  }
  const program::RuntimeLimits& limit = program::limits(options.runtime);
  const Placement& placement = work.placement;
  std::vector<std::int64_t> own(work.gpuCount, 0);
  const std::unordered_set<std::int64_t> arrived = cellsOfArrivals(work);
  for (int i = 0; i < static_cast<int>(work.items.size()); ++i) {
    const Item& item = work.items[i];
    for (const int rank : placement.sources(item.shard)) {
      if (!placement.isDestination(rank, item.shard) || arrived.contains(work.cell(i, rank))) {
        continue;
      }
      own[rank] += item.count;
      const Slot from = placement.contribution(rank, item.shard, item.start);
      const Slot to = placement.result(item.shard, item.start);
      std::vector<StepCopies::Run>& runs = copies.runsOf[rank];
      const bool continues = !runs.empty() && runs.back().firstItem + runs.back().items == i &&
                             work.items[i - 1].shard == item.shard && runs.back().count + item.count <= limit.count;
      if (continues) {
        ++runs.back().items;
        runs.back().count += item.count;
      } else {
        runs.push_back({i, 1, from, to, item.count});
      }
    }
  }
  // Enough threadblocks that the copies keep up with the collective.
  constexpr int kMaxBlocks = 8;
  for (int rank = 0; rank < work.gpuCount; ++rank) {
    CopyNeed& need = copies.need[rank];
    need.steps = static_cast<int>(copies.runsOf[rank].size());
    const Int128 rate =
        static_cast<Int128>(std::max<std::int64_t>(work.algbw.gigabytesPerSecond().numerator(), 0)) * own[rank];
    const Int128 unit = static_cast<Int128>(work.algbw.gigabytesPerSecond().denominator()) *
                        (placement.chunksOfAll() * options.instances) * kBlockRate;
    const int min = (need.steps + limit.stepsPerThreadBlock - 1) / limit.stepsPerThreadBlock;
    const auto wanted = static_cast<int>(std::clamp<Int128>((rate + unit - 1) / unit, 1, kMaxBlocks));
    need.blocks = std::min(std::max(wanted, min), need.steps);
  }
  return copies;
}

program::Program emit(const StepWork& work, const Plan& plan, const StepCopies& copies, const Options& options,
                      const Progress& progress) {
  return StepEmitter(work, plan, copies, options, progress).run();
}

}  // namespace coppice::lowering
