// SPDX-License-Identifier: Apache-2.0
#include "mscclpp/from_program.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "base/rational.hpp"
#include "mscclpp/block_writer.hpp"
#include "mscclpp/finish_plan.hpp"
#include "mscclpp/messages.hpp"

namespace coppice::mscclpp {

namespace {

using program::Program;
using program::Slot;
using program::Step;
using program::StepType;
using RunPlace = ChunkRun::Place;

/// A place in a buffer of another rank, or in packets.
struct Target {
  int rank = 0;
  Slot slot = {};
};

class Lowering {
public:
  Lowering(const Program& program, const PlanOptions& options, Messages& messages)
      : m_program(program),
        m_options(options),
        m_messages(messages),
        m_isPackets(program.protocol == program::Protocol::ll),
        m_scratch(program.ranks.size()),
        m_packets(program.ranks.size(), 0) {}

  Result<ExecutionPlan> run() {
    layOut();
    placeMessages();
    for (int rank = 0; rank < ranks(); ++rank) {
      if (const Outcome written = writeRank(rank); !written) {
        return written.error();
      }
    }
    finishScratch();
    if (const Outcome bounded = setWindow(m_plan, windowOf()); !bounded) {
      return bounded.error();
    }
    return std::move(m_plan);
  }

private:
  [[nodiscard]] int ranks() const { return static_cast<int>(m_program.ranks.size()); }
  [[nodiscard]] const Step& stepAt(const StepRef& at) const {
    return m_program.ranks[at.rank].threadBlocks[at.block].steps[at.step];
  }

  void layOut() {
    m_plan.name = m_program.name;
    m_plan.collective = m_program.collective == Collective::reduceScatter
                            ? "reducescatter"
                            : std::string(program::collectiveName(m_program));
    m_plan.protocol = m_isPackets ? "LL" : "Simple";
    m_plan.inPlace = m_program.inPlace;
    m_plan.doublesScratch = m_isPackets;
    m_plan.gpus.resize(m_program.ranks.size());
    for (int rank = 0; rank < ranks(); ++rank) {
      Gpu& gpu = m_plan.gpus[rank];
      gpu.inputChunks = isInputShare(m_program.collective) ? shareOf(rank) : wholeChunks();
      gpu.outputChunks = isOutputShare(m_program.collective) ? shareOf(rank) : wholeChunks();
      const bool isShared = isInputShare(m_program.collective) || isOutputShare(m_program.collective);
      if (isShared && shareOf(rank) == 0) {
        gpu.hasNoShare = true;
        (isInputShare(m_program.collective) ? gpu.inputChunks : gpu.outputChunks) = 1;
      }
      m_scratch[rank] = m_program.ranks[rank].scratchChunks;
    }
  }

  /// The executor compares the bytes of the input; programs of scatter count those of a share.
  [[nodiscard]] WindowRequest windowOf() const {
    WindowRequest window{m_program.chunksPerLoop, m_program.minBytes, m_program.maxBytes};
    if (m_program.collective == Collective::scatter) {
      window.chunksPerLoop *= ranks();
      window.minBytes *= ranks();
      constexpr std::int64_t kMost = std::int64_t{1} << 32;
      window.maxBytes = std::min(window.maxBytes, kMost) * ranks();
    }
    return window;
  }

  static bool isInputShare(Collective collective) {
    return collective == Collective::allgather || collective == Collective::gather;
  }
  static bool isOutputShare(Collective collective) {
    return collective == Collective::reduceScatter || collective == Collective::scatter;
  }
  /// Chunks of a buffer with the shares of all ranks.
  [[nodiscard]] int wholeChunks() const {
    return movesShards(m_program.collective) ? m_program.chunksPerLoop * ranks() : m_program.chunksPerLoop;
  }
  [[nodiscard]] int shareOf(int rank) const {
    if (m_options.amounts.empty()) {
      return wholeChunks() / ranks();
    }
    const std::int64_t all = std::accumulate(m_options.amounts.begin(), m_options.amounts.end(), std::int64_t{0});
    return static_cast<int>((Rational(wholeChunks()) * Rational(m_options.amounts[rank], all)).numerator());
  }

  /// In place, all but allgather use the input alone: the executor has two pointers to it, and one is enough.
  [[nodiscard]] Buffer bufferOf(Buffer buffer) const {
    const bool isInput = m_program.inPlace && m_program.collective != Collective::allgather;
    return buffer == Buffer::output && isInput ? Buffer::input : buffer;
  }
  [[nodiscard]] ChunkRun local(const Slot& slot, int count) const {
    return {RunPlace::local, bufferOf(slot.buffer), -1, slot.offset, count};
  }
  Slot takeScratch(int rank, int count) {
    m_scratch[rank] += count;
    return {Buffer::scratch, m_scratch[rank] - count};
  }
  /// In chunks of packets; they begin behind the plain scratch: see packetBase.
  Slot takePackets(int rank, int count) {
    m_packets[rank] += count;
    return {Buffer::scratch, m_packets[rank] - count};
  }

  // First all scratch, since both ends of a message must agree on it.
  void placeMessages() {
    m_copied.assign(m_messages.all().size(), Slot{});
    for (std::size_t i = 0; i < m_messages.all().size(); ++i) {
      Message& message = m_messages.all()[i];
      const Link& link = m_messages.links()[message.link];
      if (m_isPackets) {
        message.isDirect = false;
        message.landing = takePackets(link.to, message.count);
        const StepType type = stepAt(message.sending).type;
        if (link.isPort && type != StepType::recvCopySend) {
          m_copied[i] = takePackets(link.from, message.count);
        }
        continue;
      }
      if (!message.isDirect) {
        message.landing = takeScratch(link.to, message.count);
      }
    }
    for (std::size_t i = 0; i < m_messages.all().size(); ++i) {
      const Message& message = m_messages.all()[i];
      const StepRef& sending = message.sending;
      const StepType type = stepAt(sending).type;
      if (m_isPackets) {
        continue;
      }
      const int in = m_messages.received(sending.rank, sending.block, sending.step);
      const bool isStaged = type == StepType::recvCopySend && !m_messages.all()[in].isDirect;
      if (message.copiesSource && type != StepType::recvReduceSend && !isStaged) {
        m_copied[i] = takeScratch(sending.rank, message.count);
      }
    }
    for (int rank = 0; m_isPackets && rank < ranks(); ++rank) {
      const auto& blocks = m_program.ranks[rank].threadBlocks;
      for (std::size_t block = 0; block < blocks.size(); ++block) {
        for (std::size_t step = 0; step < blocks[block].steps.size(); ++step) {
          if (blocks[block].steps[step].type == StepType::recvReduceSend) {
            m_sums[{rank, static_cast<int>(block), static_cast<int>(step)}] =
                takeScratch(rank, blocks[block].steps[step].count);
          }
        }
      }
    }
    m_packetBase.resize(m_program.ranks.size());
    for (int rank = 0; rank < ranks(); ++rank) {
      // A chunk of packets is as long as two plain ones.
      m_packetBase[rank] = (m_scratch[rank] + 1) / 2;
    }
  }
  [[nodiscard]] ChunkRun packets(int rank, const Slot& slot, int count) const {
    return {RunPlace::local, Buffer::scratch, -1, m_packetBase[rank] + slot.offset, count};
  }

  void finishScratch() {
    for (int rank = 0; rank < ranks(); ++rank) {
      m_plan.gpus[rank].scratchChunks =
          m_isPackets ? std::max(m_packetBase[rank] + m_packets[rank], m_scratch[rank]) : m_scratch[rank];
    }
  }

  // One threadblock of the program, as those of the plan see it.
  struct Ends {
    int in = -1;   ///< link
    int out = -1;  ///< link
    ChannelType inType = ChannelType::none;
    ChannelType outType = ChannelType::none;
    int inChannel = -1;   ///< in the threadblock's list of inType
    int outChannel = -1;  ///< in the threadblock's list of outType
  };

  /// A channel of a rank to a peer of its own for a link. Both ends are opened in the order of links, so that the k-th
  /// of one rank is the k-th of the other.
  void openChannels() {
    if (!m_channelAt.empty()) {
      return;
    }
    for (std::size_t i = 0; i < m_messages.links().size(); ++i) {
      const Link& link = m_messages.links()[i];
      const auto open = [&](int rank, int peer) {
        std::vector<int>& peers = link.isPort ? m_plan.gpus[rank].portPeers : m_plan.gpus[rank].memoryPeers;
        peers.push_back(peer);
        return static_cast<int>(peers.size()) - 1;
      };
      const int at = open(link.from, link.to);
      m_channelAt.emplace_back(at, open(link.to, link.from));
    }
  }

  /// A run in the receiver's buffer, by its number in the threadblock's list.
  ChunkRun remote(int rank, const Message& message) {
    const Link& link = m_messages.links()[message.link];
    const Buffer buffer = bufferOf(message.landing.buffer);
    const int id = remoteBuffer(m_plan.gpus[rank], link.to, buffer, link.isPort);
    std::vector<int>& refs = link.isPort ? m_block.portBuffers : m_block.memoryBuffers;
    auto found = std::find(refs.begin(), refs.end(), id);
    if (found == refs.end()) {
      refs.push_back(id);
      found = refs.end() - 1;
    }
    const int index = m_isPackets ? m_packetBase[link.to] + message.landing.offset : message.landing.offset;
    return {RunPlace::remote, Buffer::input, static_cast<int>(found - refs.begin()), index, message.count};
  }

  Ends endsOf(int rank, int block) {
    Ends ends{m_messages.linkIn(rank, block), m_messages.linkOut(rank, block)};
    const auto enter = [&](int link, bool isOut, ChannelType& type) {
      type = m_messages.links()[link].isPort ? ChannelType::port : ChannelType::memory;
      std::vector<int>& list = type == ChannelType::port ? m_block.portChannels : m_block.memoryChannels;
      list.push_back(isOut ? m_channelAt[link].first : m_channelAt[link].second);
      return static_cast<int>(list.size()) - 1;
    };
    if (ends.in >= 0) {
      ends.inChannel = enter(ends.in, false, ends.inType);
    }
    if (ends.out >= 0) {
      ends.outChannel = enter(ends.out, true, ends.outType);
    }
    return ends;
  }

  static Operation onChannel(OpType type, ChannelType channelType, int channel) {
    return {.type = type, .channelType = channelType, .channels = {channel}};
  }
  static Operation moving(OpType type, std::vector<ChunkRun> sources, std::vector<ChunkRun> destinations) {
    return {.type = type, .sources = std::move(sources), .destinations = std::move(destinations)};
  }

  /// Where data may go one way (rooted and custom collectives, ranks without data), a sender never hears of its
  /// receiver.
  [[nodiscard]] bool asksFirst() const {
    const bool allSend = !isRooted(m_program.collective) && m_program.collective != Collective::custom &&
                         std::find(m_options.amounts.begin(), m_options.amounts.end(), 0) == m_options.amounts.end();
    return !m_isPackets || !allSend;
  }

  Outcome writeRank(int rank) {
    openChannels();
    findSemaphores(rank);
    Gpu& gpu = m_plan.gpus[rank];
    const auto& blocks = m_program.ranks[rank].threadBlocks;
    std::vector<ThreadBlock> lists(blocks.size());
    std::vector<BlockWriter> writers(blocks.size());
    for (std::size_t block = 0; block < blocks.size(); ++block) {
      m_block = {};
      writeBlock(rank, static_cast<int>(block), writers[block]);
      lists[block] = std::move(m_block);
    }
    gpu.semaphores.assign(static_cast<std::size_t>(m_semaphores), 0);
    for (std::size_t block = 0; block < blocks.size(); ++block) {
      appendBlock(gpu, lists[block], writers[block]);
    }
    return requireBlocks(gpu, rank, m_options.maxBlocks, "use a smaller k, fewer instances or fewer chunks");
  }

  /// Which waits between threadblocks are needed, and the semaphore of each pair.
  void findSemaphores(int rank) {
    m_semaphores = 0;
    m_acquires.clear();
    m_releases.clear();
    const auto& blocks = m_program.ranks[rank].threadBlocks;
    for (int block = 0; block < static_cast<int>(blocks.size()); ++block) {
      std::map<int, int> waited;  // by threadblock: the latest step
      for (int at = 0; at < static_cast<int>(blocks[block].steps.size()); ++at) {
        const Step& step = blocks[block].steps[at];
        std::vector<StepRef> before;
        if (m_isPackets) {
          before = m_messages.writesBefore({rank, block, at});
        }
        if (step.dependsOnTb >= 0 && step.dependsOnTb != block) {
          before.push_back({rank, step.dependsOnTb, step.dependsOnStep});
        }
        // The latest step of each threadblock stands for those before it.
        std::map<int, int> latest;
        for (const StepRef& other : before) {
          int& found = latest.try_emplace(other.block, -1).first->second;
          found = std::max(found, other.step);
        }
        for (const auto& [other, otherStep] : latest) {
          const auto [entry, isNew] = waited.try_emplace(other, -1);
          if (otherStep <= entry->second) {
            continue;
          }
          if (isNew) {
            m_semaphoreOf[{other, block}] = m_semaphores++;
          }
          entry->second = otherStep;
          const int semaphore = m_semaphoreOf[{other, block}];
          m_acquires[{block, at}].push_back(semaphore);
          m_releases[{other, otherStep}].push_back(semaphore);
        }
      }
    }
  }

  void writeBlock(int rank, int block, BlockWriter& writer) {
    const Ends ends = endsOf(rank, block);
    writer.startBundle();
    if (ends.in >= 0 && asksFirst()) {
      writer.relaxed(onChannel(OpType::relaxedSignal, ends.inType, ends.inChannel));
    }
    if (ends.out >= 0 && asksFirst()) {
      writer.relaxed(onChannel(OpType::relaxedWait, ends.outType, ends.outChannel));
    }
    const auto& steps = m_program.ranks[rank].threadBlocks[block].steps;
    for (int at = 0; at < static_cast<int>(steps.size()); ++at) {
      writer.startBundle();
      if (const auto found = m_acquires.find({block, at}); found != m_acquires.end()) {
        forEach(found->second, OpType::semAcquire, [&](Operation op) { writer.hear(std::move(op)); });
      }
      const StepRef here{rank, block, at};
      if (m_isPackets) {
        writePackets(here, ends, writer);
      } else {
        writeSimple(here, ends, writer);
      }
      if (const auto found = m_releases.find({block, at}); found != m_releases.end()) {
        forEach(found->second, OpType::semRelease, [&](Operation op) { writer.tell(std::move(op)); });
      }
    }
    // What a port has to send is read in the sender's buffer: it stays until the receiver has all.
    if (ends.inType == ChannelType::port && !m_isPackets) {
      writer.startBundle();
      writer.tell(onChannel(OpType::signal, ChannelType::port, ends.inChannel));
    }
    if (ends.outType == ChannelType::port && !m_isPackets) {
      writer.startBundle();
      writer.hear(onChannel(OpType::wait, ChannelType::port, ends.outChannel));
    }
  }

  template <typename Add>
  static void forEach(const std::vector<int>& semaphores, OpType type, const Add& add) {
    for (std::size_t first = 0; first < semaphores.size(); first += kMaxSemaphoresOfOp) {
      const std::size_t end = std::min(semaphores.size(), first + kMaxSemaphoresOfOp);
      add({.type = type,
           .semaphores = {semaphores.begin() + static_cast<std::ptrdiff_t>(first),
                          semaphores.begin() + static_cast<std::ptrdiff_t>(end)}});
    }
  }

  /// Writes a message from own chunks, and tells its receiver.
  void send(int rank, int id, ChunkRun source, const Ends& ends, BlockWriter& writer) {
    const Message& message = m_messages.all()[id];
    if (ends.outType == ChannelType::memory) {
      Operation op = moving(OpType::put, {source}, {remote(rank, message)});
      op.channelType = ChannelType::memory;
      writer.move(std::move(op), {{source, false}});
      writer.tell(onChannel(OpType::signal, ChannelType::memory, ends.outChannel));
      return;
    }
    if (m_copied[id].offset >= 0) {
      const ChunkRun copied = local(m_copied[id], message.count);
      writer.move(moving(OpType::copy, {source}, {copied}), {{source, false}, {copied, true}});
      source = copied;
    }
    Operation op = moving(OpType::putWithSignal, {source}, {remote(rank, message)});
    op.channelType = ChannelType::port;
    op.channels = {ends.outChannel};
    writer.move(std::move(op), {{source, false}}, true);
  }

  void writeSimple(const StepRef& here, const Ends& ends, BlockWriter& writer) {
    const Step& step = stepAt(here);
    const int in = m_messages.received(here.rank, here.block, here.step);
    const int out = m_messages.sent(here.rank, here.block, here.step);
    const ChunkRun src = local(step.src, step.count);
    const ChunkRun dst = local(step.dst, step.count);
    ChunkRun landed;
    bool isDirect = false;
    if (in >= 0) {
      landed = local(m_messages.all()[in].landing, step.count);
      isDirect = m_messages.all()[in].isDirect;
      writer.hear(onChannel(OpType::wait, ends.inType, ends.inChannel));
    }
    switch (step.type) {
      case StepType::nop:
        break;
      case StepType::send:
        send(here.rank, out, src, ends, writer);
        break;
      case StepType::copy:
        writer.move(moving(OpType::copy, {src}, {dst}), {{src, false}, {dst, true}});
        break;
      case StepType::reduce:
        writer.move(moving(OpType::reduce, {dst, src}, {dst}), {{src, false}, {dst, true}});
        break;
      case StepType::recv:
      case StepType::recvCopySend:
        if (!isDirect) {
          writer.move(moving(OpType::copy, {landed}, {dst}), {{landed, false}, {dst, true}});
        }
        if (out >= 0) {
          send(here.rank, out, landed, ends, writer);
        }
        break;
      case StepType::recvReduceCopy:
        writer.move(moving(OpType::reduce, {src, landed}, {dst}), {{src, false}, {landed, false}, {dst, true}});
        break;
      case StepType::recvReduceSend:
      case StepType::recvReduceCopySend: {
        const ChunkRun sum = step.type == StepType::recvReduceSend ? landed : dst;
        if (ends.outType == ChannelType::memory) {
          // Sums up and writes the sum to the peer in one pass.
          Operation op = moving(OpType::reduceSend, {src, landed}, {sum, remote(here.rank, m_messages.all()[out])});
          op.channelType = ChannelType::memory;
          writer.move(std::move(op), {{src, false}, {landed, false}, {sum, true}});
          writer.tell(onChannel(OpType::signal, ChannelType::memory, ends.outChannel));
        } else {
          writer.move(moving(OpType::reduce, {src, landed}, {sum}), {{src, false}, {landed, false}, {sum, true}});
          send(here.rank, out, sum, ends, writer);
        }
        break;
      }
    }
  }

  /// Writes packets of own plain chunks, or passes packets on.
  void sendPackets(const StepRef& here, int id, ChunkRun source, bool isPacked, const Ends& ends, BlockWriter& writer) {
    const Message& message = m_messages.all()[id];
    if (ends.outType == ChannelType::memory) {
      Operation op =
          moving(isPacked ? OpType::readPutPackets : OpType::putPackets, {source}, {remote(here.rank, message)});
      op.channelType = ChannelType::memory;
      writer.move(std::move(op), isPacked ? std::vector<Touch>{} : std::vector<Touch>{{source, false}});
      return;
    }
    if (!isPacked) {
      const ChunkRun packed = packets(here.rank, m_copied[id], message.count);
      writer.move(moving(OpType::copyPackets, {source}, {packed}), {{source, false}});
      source = packed;
    }
    Operation op = moving(OpType::readPutPackets, {source}, {remote(here.rank, message)});
    op.channelType = ChannelType::port;
    op.channels = {ends.outChannel};
    writer.move(std::move(op), {});
  }

  void writePackets(const StepRef& here, const Ends& ends, BlockWriter& writer) {
    const Step& step = stepAt(here);
    const int in = m_messages.received(here.rank, here.block, here.step);
    const int out = m_messages.sent(here.rank, here.block, here.step);
    const ChunkRun src = local(step.src, step.count);
    const ChunkRun dst = local(step.dst, step.count);
    const ChunkRun landed = in >= 0 ? packets(here.rank, m_messages.all()[in].landing, step.count) : ChunkRun{};
    switch (step.type) {
      case StepType::nop:
        break;
      case StepType::send:
        sendPackets(here, out, src, false, ends, writer);
        break;
      case StepType::copy:
        writer.move(moving(OpType::copy, {src}, {dst}), {{src, false}, {dst, true}});
        break;
      case StepType::reduce:
        writer.move(moving(OpType::reduce, {dst, src}, {dst}), {{src, false}, {dst, true}});
        break;
      case StepType::recv:
      case StepType::recvCopySend:
        if (out >= 0) {
          sendPackets(here, out, landed, true, ends, writer);
        }
        writer.move(moving(OpType::unpackPackets, {landed}, {dst}), {{dst, true}});
        break;
      case StepType::recvReduceCopy:
        writer.move(moving(OpType::reducePackets, {src, landed}, {dst}), {{src, false}, {dst, true}});
        break;
      case StepType::recvReduceSend:
      case StepType::recvReduceCopySend: {
        const ChunkRun sum = step.type == StepType::recvReduceSend
                                 ? local(m_sums.at({here.rank, here.block, here.step}), step.count)
                                 : dst;
        if (ends.outType == ChannelType::memory) {
          Operation op =
              moving(OpType::reduceSendPackets, {src, landed}, {sum, remote(here.rank, m_messages.all()[out])});
          op.channelType = ChannelType::memory;
          writer.move(std::move(op), {{src, false}, {sum, true}});
        } else {
          writer.move(moving(OpType::reducePackets, {src, landed}, {sum}), {{src, false}, {sum, true}});
          sendPackets(here, out, sum, false, ends, writer);
        }
        break;
      }
    }
  }

  const Program& m_program;
  const PlanOptions& m_options;
  Messages& m_messages;
  const bool m_isPackets;
  ExecutionPlan m_plan;
  std::vector<int> m_scratch;                    ///< by rank: plain chunks taken
  std::vector<int> m_packets;                    ///< by rank: chunks of packets taken
  std::vector<int> m_packetBase;                 ///< by rank: the first chunk of packets
  std::vector<Slot> m_copied;                    ///< by message: where its source is copied or packed; -1 = it is not
  std::map<std::array<int, 3>, Slot> m_sums;     ///< LL, by rank, threadblock and step: sums that are passed on
  std::vector<std::pair<int, int>> m_channelAt;  ///< by link: channel of its sender, of its receiver
  ThreadBlock m_block;                           ///< lists of the threadblock being written
  int m_semaphores = 0;                          ///< of the rank being written
  std::map<std::pair<int, int>, int> m_semaphoreOf;            ///< by releasing and acquiring threadblock
  std::map<std::pair<int, int>, std::vector<int>> m_acquires;  ///< by threadblock and step
  std::map<std::pair<int, int>, std::vector<int>> m_releases;
};

}  // namespace

Result<ExecutionPlan> fromProgram(const Program& program, const PlanOptions& options) {
  if (program.protocol == program::Protocol::ll128) {
    return Error{ErrorCode::badUsage, "MSCCL++ has no LL128", "use Simple or LL"};
  }
  if (program.inPlace && movesShards(program.collective)) {
    return Error{ErrorCode::badUsage, "plans of " + std::string(toString(program.collective)) + " are out of place",
                 "export it with --out-of-place"};
  }
  auto messages = Messages::of(program, options.boxOf);
  if (!messages) {
    return messages.error();
  }
  if (const Outcome decided = messages->decide(); !decided) {
    return decided.error();
  }
  return Lowering(program, options, *messages).run();
}

}  // namespace coppice::mscclpp
