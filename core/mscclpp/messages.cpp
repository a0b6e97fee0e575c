// SPDX-License-Identifier: Apache-2.0
#include "mscclpp/messages.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace coppice::mscclpp {

namespace {

using program::RankProgram;
using program::Slot;
using program::Step;
using program::StepType;

Error notPaired(int from, int to, int channel) {
  return {ErrorCode::badInput,
          "the sends from rank " + std::to_string(from) + " to rank " + std::to_string(to) + " on channel " +
              std::to_string(channel) + " do not match what is received",
          "export a program that the verifier accepts"};
}

}  // namespace

Result<Messages> Messages::of(const program::Program& program, const std::vector<int>& boxOf) {
  Messages made(program);
  const auto ranks = static_cast<int>(program.ranks.size());
  made.m_firstBlock.push_back(0);
  made.m_firstStep.push_back(0);
  for (const RankProgram& rank : program.ranks) {
    made.m_firstBlock.push_back(made.m_firstBlock.back() + static_cast<int>(rank.threadBlocks.size()));
    for (const program::ThreadBlock& block : rank.threadBlocks) {
      made.m_firstStep.push_back(made.m_firstStep.back() + block.steps.size());
    }
  }
  made.m_blocks = static_cast<std::size_t>(made.m_firstBlock.back());
  made.m_received.assign(made.m_firstStep.back(), -1);
  made.m_sent.assign(made.m_firstStep.back(), -1);
  made.m_linkIn.assign(made.m_blocks, -1);
  made.m_linkOut.assign(made.m_blocks, -1);

  std::map<std::tuple<int, int, int>, std::pair<int, int>> ends;  // sending and receiving threadblock
  const auto enter = [&](int from, int to, int channel, int block, bool sends) {
    auto& both = ends.try_emplace({from, to, channel}, -1, -1).first->second;
    int& end = sends ? both.first : both.second;
    const bool isFree = end < 0;
    end = block;
    return isFree;
  };
  for (int rank = 0; rank < ranks; ++rank) {
    const auto& blocks = program.ranks[rank].threadBlocks;
    for (int block = 0; block < static_cast<int>(blocks.size()); ++block) {
      const program::ThreadBlock& tb = blocks[block];
      const auto some = [&](bool (*does)(StepType)) {
        return std::any_of(tb.steps.begin(), tb.steps.end(), [&](const Step& step) { return does(step.type); });
      };
      if ((some(program::sends) && !enter(rank, tb.sendPeer, tb.channel, block, true)) ||
          (some(program::receives) && !enter(tb.recvPeer, rank, tb.channel, block, false))) {
        return notPaired(rank, tb.sendPeer, tb.channel);
      }
    }
  }
  for (const auto& [key, both] : ends) {
    const auto& [from, to, channel] = key;
    const auto [sendBlock, recvBlock] = both;
    if (sendBlock < 0 || recvBlock < 0 || from < 0 || to < 0 || from >= ranks || to >= ranks) {
      return notPaired(from, to, channel);
    }
    const auto link = static_cast<int>(made.m_links.size());
    made.m_links.push_back({from, to, sendBlock, recvBlock, !boxOf.empty() && boxOf[from] != boxOf[to]});
    made.m_linkOut[made.m_firstBlock[from] + sendBlock] = link;
    made.m_linkIn[made.m_firstBlock[to] + recvBlock] = link;
    const std::vector<Step>& out = program.ranks[from].threadBlocks[sendBlock].steps;
    const std::vector<Step>& in = program.ranks[to].threadBlocks[recvBlock].steps;
    std::size_t r = 0;
    for (std::size_t s = 0; s < out.size(); ++s) {
      if (!program::sends(out[s].type)) {
        continue;
      }
      while (r < in.size() && !program::receives(in[r].type)) {
        ++r;
      }
      if (r == in.size() || in[r].count != out[s].count) {
        return notPaired(from, to, channel);
      }
      const auto message = static_cast<int>(made.m_messages.size());
      made.m_messages.push_back({.link = link,
                                 .sending = {from, sendBlock, static_cast<int>(s)},
                                 .receiving = {to, recvBlock, static_cast<int>(r)},
                                 .count = out[s].count});
      made.m_sent[made.indexOf(from, sendBlock, static_cast<int>(s))] = message;
      made.m_received[made.indexOf(to, recvBlock, static_cast<int>(r))] = message;
      ++r;
    }
    if (std::any_of(in.begin() + static_cast<std::ptrdiff_t>(r), in.end(),
                    [](const Step& step) { return program::receives(step.type); })) {
      return notPaired(from, to, channel);
    }
  }
  return made;
}

/// Runs the program without bounds on what a connection holds.
Outcome Messages::order() {
  const std::size_t steps = m_firstStep.back();
  m_order.reserve(steps);
  std::vector<int> next(m_blocks, 0);
  const auto ranks = static_cast<int>(m_program.ranks.size());
  for (std::size_t before = steps; before != m_order.size();) {
    before = m_order.size();
    for (int rank = 0; rank < ranks; ++rank) {
      const auto& blocks = m_program.ranks[rank].threadBlocks;
      for (int block = 0; block < static_cast<int>(blocks.size()); ++block) {
        int& at = next[m_firstBlock[rank] + block];
        for (; at < static_cast<int>(blocks[block].steps.size()); ++at) {
          const Step& step = blocks[block].steps[at];
          if (step.dependsOnTb >= 0 && next[m_firstBlock[rank] + step.dependsOnTb] <= step.dependsOnStep) {
            break;
          }
          if (const int message = received(rank, block, at); message >= 0) {
            const StepRef& sending = m_messages[message].sending;
            if (next[m_firstBlock[sending.rank] + sending.block] <= sending.step) {
              break;
            }
          }
          m_order.push_back({rank, block, at});
        }
      }
    }
  }
  if (m_order.size() != steps) {
    return Error{ErrorCode::badInput, "steps of the program wait for each other",
                 "export a program that the verifier accepts"};
  }
  return Done{};
}

/// Notes of every step which steps of one rank come before it.
void Messages::know(int rank) {
  m_knownRank = rank;
  m_width = m_program.ranks[rank].threadBlocks.size();
  m_known.assign(m_firstStep.back() * m_width, 0);
  const auto join = [&](std::size_t into, std::size_t from) {
    for (std::size_t column = 0; column < m_width; ++column) {
      std::uint16_t& known = m_known[into * m_width + column];
      known = std::max(known, m_known[from * m_width + column]);
    }
  };
  for (const StepRef& at : m_order) {
    const Step& step = m_program.ranks[at.rank].threadBlocks[at.block].steps[at.step];
    const std::size_t here = indexOf(at.rank, at.block, at.step);
    if (m_received[here] >= 0) {
      const StepRef& sending = m_messages[m_received[here]].sending;
      join(here, indexOf(sending.rank, sending.block, sending.step));
    }
    if (at.step > 0) {
      join(here, here - 1);
    }
    if (step.dependsOnTb >= 0) {
      join(here, indexOf(at.rank, step.dependsOnTb, step.dependsOnStep));
    }
    if (at.rank == rank) {
      m_known[here * m_width + static_cast<std::size_t>(at.block)] =
          static_cast<std::uint16_t>(std::min(at.step + 1, 0xFFFF));
    }
  }
}

bool Messages::isBefore(const StepRef& first, const StepRef& second) const {
  if (first.rank == second.rank && first.block == second.block) {
    return first.step < second.step;
  }
  if (first.rank != m_knownRank || first.step >= 0xFFFE) {
    return false;
  }
  const std::size_t here = indexOf(second.rank, second.block, second.step);
  return m_known[here * m_width + static_cast<std::size_t>(first.block)] > first.step;
}

void Messages::listAccesses() {
  const auto ranks = static_cast<int>(m_program.ranks.size());
  m_touching.resize(m_program.ranks.size());
  for (int rank = 0; rank < ranks; ++rank) {
    const auto& blocks = m_program.ranks[rank].threadBlocks;
    for (int block = 0; block < static_cast<int>(blocks.size()); ++block) {
      for (int at = 0; at < static_cast<int>(blocks[block].steps.size()); ++at) {
        const Step& step = blocks[block].steps[at];
        const auto add = [&](const Slot& slot, bool writes, int message) {
          auto& of = m_touching[rank];
          for (int chunk = slot.offset; chunk < slot.offset + step.count; ++chunk) {
            const auto cell = static_cast<std::size_t>(chunk) * 3 + static_cast<std::size_t>(slot.buffer);
            if (of.size() <= cell) {
              of.resize(cell + 1);
            }
            of[cell].push_back(static_cast<int>(m_accesses.size()));
          }
          m_accesses.push_back({{rank, block, at}, slot, step.count, writes, message});
        };
        const bool reads = program::usesSource(step.type);
        if (reads) {
          add(step.src, false, -1);
        }
        if (step.type == StepType::recvCopySend || step.type == StepType::reduce) {
          add(step.dst, false, -1);
        }
        if (program::usesDestination(step.type)) {
          add(step.dst, true, m_received[indexOf(rank, block, at)]);
        }
      }
    }
  }
}

/// Straight to its place if nothing there happens between the sending and the receiving.
void Messages::decideLanding(Message& message) const {
  const StepRef& receiving = message.receiving;
  const Step& step = m_program.ranks[receiving.rank].threadBlocks[receiving.block].steps[receiving.step];
  message.isDirect = false;
  if (step.type != StepType::recv && step.type != StepType::recvCopySend) {
    return;
  }
  for (int chunk = step.dst.offset; chunk < step.dst.offset + message.count; ++chunk) {
    const std::size_t cell = static_cast<std::size_t>(chunk) * 3 + static_cast<std::size_t>(step.dst.buffer);
    for (const int id : m_touching[receiving.rank][cell]) {
      const Access& access = m_accesses[id];
      const bool isOwn = access.step.block == receiving.block && access.step.step == receiving.step;
      if (isOwn || isBefore(access.step, message.sending)) {
        continue;
      }
      // What another message brings may be there as early as it is sent.
      const StepRef& earliest = access.message >= 0 ? m_messages[access.message].sending : access.step;
      if (!isBefore(receiving, earliest)) {
        return;
      }
    }
  }
  message.isDirect = true;
  message.landing = step.dst;
}

/// A port reads its source when it comes to it, at the latest before the message is received: who writes there, and
/// does not come before the sending. @pre know(the sending rank)
std::vector<StepRef> Messages::writersBehind(const Message& message) const {
  std::vector<StepRef> found;
  const StepRef& sending = message.sending;
  const Step& step = m_program.ranks[sending.rank].threadBlocks[sending.block].steps[sending.step];
  if (!m_links[message.link].isPort || step.type == StepType::recvReduceSend) {
    return found;  // the sum has a place of its own
  }
  const Slot source = step.type == StepType::send ? step.src : step.dst;
  int last = -1;
  for (int chunk = source.offset; chunk < source.offset + message.count; ++chunk) {
    const std::size_t cell = static_cast<std::size_t>(chunk) * 3 + static_cast<std::size_t>(source.buffer);
    for (const int id : m_touching[sending.rank][cell]) {
      const Access& access = m_accesses[id];
      const bool isOwn = access.step.block == sending.block && access.step.step == sending.step;
      if (access.writes && !isOwn && id != last && !isBefore(access.step, sending)) {
        found.push_back(access.message >= 0 ? m_messages[access.message].sending : access.step);
        last = id;
      }
    }
  }
  return found;
}

/// @pre know(its rank)
std::vector<StepRef> Messages::findWritesBefore(const StepRef& here) const {
  const Step& step = m_program.ranks[here.rank].threadBlocks[here.block].steps[here.step];
  std::vector<StepRef> found;
  if (!program::usesDestination(step.type)) {
    return found;
  }
  int last = -1;
  for (int chunk = step.dst.offset; chunk < step.dst.offset + step.count; ++chunk) {
    const std::size_t cell = static_cast<std::size_t>(chunk) * 3 + static_cast<std::size_t>(step.dst.buffer);
    for (const int id : m_touching[here.rank][cell]) {
      const Access& access = m_accesses[id];
      if (access.writes && id != last && access.step.block != here.block && isBefore(access.step, here)) {
        found.push_back(access.step);
        last = id;
      }
    }
  }
  return found;
}

/// One rank after the other, as what all steps know of all others would take too much memory.
Outcome Messages::decide() {
  if (Outcome ordered = order(); !ordered) {
    return ordered;
  }
  listAccesses();
  const auto ranks = static_cast<int>(m_program.ranks.size());
  std::vector<std::vector<StepRef>> writers(m_messages.size());
  m_writesBefore.assign(m_firstStep.back(), {});
  for (int rank = 0; rank < ranks; ++rank) {
    know(rank);
    for (std::size_t i = 0; i < m_messages.size(); ++i) {
      if (m_messages[i].receiving.rank == rank) {
        decideLanding(m_messages[i]);
      }
      if (m_messages[i].sending.rank == rank) {
        writers[i] = writersBehind(m_messages[i]);
      }
    }
    const auto& blocks = m_program.ranks[rank].threadBlocks;
    for (int block = 0; block < static_cast<int>(blocks.size()); ++block) {
      for (int at = 0; at < static_cast<int>(blocks[block].steps.size()); ++at) {
        m_writesBefore[indexOf(rank, block, at)] = findWritesBefore({rank, block, at});
      }
    }
  }
  for (int rank = 0; rank < ranks; ++rank) {
    bool isKnown = false;
    for (std::size_t i = 0; i < m_messages.size(); ++i) {
      Message& message = m_messages[i];
      if (message.receiving.rank != rank || writers[i].empty()) {
        continue;
      }
      if (!std::exchange(isKnown, true)) {
        know(rank);
      }
      message.copiesSource = std::any_of(writers[i].begin(), writers[i].end(),
                                         [&](const StepRef& writer) { return !isBefore(message.receiving, writer); });
    }
  }
  m_known = {};
  return Done{};
}

}  // namespace coppice::mscclpp
