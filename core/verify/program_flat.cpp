// SPDX-License-Identifier: Apache-2.0
#include "verify/program_flat.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/checked.hpp"
#include "base/gpu_names.hpp"
#include "base/text.hpp"

namespace coppice::verify {
namespace {

using program::Buffer;
using program::FindingSink;
using program::Program;
using program::RankProgram;
using program::Runtime;
using program::Step;
using program::StepType;
using program::ThreadBlock;

constexpr int kMaxRanks = 1024;        // children of one XML element
constexpr int kMaxFused = 16;          // sources that one fused reduction holds
constexpr int kDeviceBytesShift = 36;  // 64 GiB: no scratch buffer above this can be allocated

std::int64_t allShares(const Program& program) {
  return std::int64_t{program.chunksPerLoop} * static_cast<std::int64_t>(program.ranks.size());
}

/// nchunksperloop counts the chunks of one rank's share, see BufferSizes.
bool countsOneShare(const Program& program, Collective goal) {
  if ((goal != Collective::gather && goal != Collective::scatter) || program.ranks.size() < 2) {
    return false;
  }
  const std::int64_t all = allShares(program);
  bool isShare = false;
  bool isWhole = false;
  for (const RankProgram& rank : program.ranks) {
    const int longer = goal == Collective::gather ? rank.outputChunks : rank.inputChunks;
    const int shorter = goal == Collective::gather ? rank.inputChunks : rank.outputChunks;
    if (longer > 0 && longer == all) {
      return true;
    }
    isShare = isShare || shorter == program.chunksPerLoop;
    isWhole = isWhole || longer == program.chunksPerLoop;
  }
  return isShare && !isWhole;
}

class StructureCheck {
public:
  StructureCheck(const Program& program, const ProgramCheckOptions& options, const Progress& progress,
                 FindingSink& sink)
      : m_program(program),
        m_runtime(options.runtime),
        m_multiprocessors(multiprocessorsOf(program, options)),
        m_limits(program::limits(options.runtime)),
        m_progress(progress),
        m_sink(sink),
        m_goal(goalOf(program)),
        m_isGoalKnown(m_goal != Collective::custom || !options.custom.empty()) {}

  std::optional<FlatProgram> run();

private:
  void checkHead();
  void checkWindow();
  void checkRank(int rank);
  void checkBuffers(int rank);
  void checkPeersPerChannel(int rank);
  void checkBlock(int rank, int id);
  void checkStep(int rank, int id, int index);
  void checkSlot(int rank, int id, int index, const program::Slot& slot, int count, const char* word);
  void checkReduceChains(int rank, int id);
  void checkDependency(int rank, int id, int index, FlatStep& flat);
  void layOut(int rank);
  void connect();
  void matchMessages();
  void reportUselessFlags();

  [[nodiscard]] bool isMsccl() const { return m_runtime == Runtime::msccl; }
  [[nodiscard]] const RankProgram& rankProgram(int rank) const { return m_program.ranks[rank]; }
  [[nodiscard]] int ranks() const { return static_cast<int>(m_program.ranks.size()); }

  static ElementRef place(int rank) { return {RefKind::rank, rank}; }
  static ElementRef place(int rank, int id) { return place(rank).with({RefKind::threadblock, id}); }
  static ElementRef place(int rank, int id, int index) { return place(rank, id).with({RefKind::step, index}); }
  /// makeText is called only if the finding will be listed.
  template <typename MakeText>
  void report(Check check, Severity severity, ErrorCode code, ElementRef element, MakeText makeText,
              const char* fix = "") {
    if (m_sink.wants(static_cast<int>(check), severity)) {
      m_sink.add(static_cast<int>(check), {.severity = severity,
                                           .code = code,
                                           .text = makeText(),
                                           .fix = fix,
                                           .where = {.element = std::move(element)}});
    }
  }
  /// A fault that makes execution meaningless.
  template <typename MakeText>
  void blockingFault(Check check, ElementRef element, MakeText makeText, const char* fix = "") {
    m_executable = false;
    report(check, Severity::error, ErrorCode::verification, std::move(element), makeText, fix);
  }
  template <typename MakeText>
  void limitFault(ElementRef element, MakeText makeText, const char* fix = "") {
    report(Check::limits, Severity::error, ErrorCode::limit, std::move(element), makeText, fix);
  }

  const Program& m_program;
  Runtime m_runtime;
  int m_multiprocessors;
  const program::RuntimeLimits& m_limits;
  const Progress& m_progress;
  FindingSink& m_sink;
  Collective m_goal;
  bool m_isGoalKnown;
  BufferSizes m_caller;
  bool m_executable = true;
  FlatProgram m_flat;
};

std::optional<FlatProgram> StructureCheck::run() {
  m_caller = callerBuffers(m_program, m_goal);
  checkHead();
  checkWindow();
  if (ranks() > kMaxRanks) {
    blockingFault(Check::shape, {}, [&] {
      return std::to_string(ranks()) + " ranks; the runtimes' table of one element's children ends at 1024";
    });
    return std::nullopt;
  }
  std::size_t steps = 0;
  for (const RankProgram& rank : m_program.ranks) {
    for (const ThreadBlock& block : rank.threadBlocks) {
      steps += block.steps.size();
    }
  }
  m_flat.steps.reserve(steps);
  m_flat.firstBlock.push_back(0);
  for (int rank = 0; rank < ranks(); ++rank) {
    throwIfCancelled(m_progress);
    checkRank(rank);
    layOut(rank);
  }
  if (!m_executable) {
    return std::nullopt;
  }
  connect();
  if (m_executable) {
    matchMessages();
  }
  reportUselessFlags();
  if (!m_executable) {
    return std::nullopt;
  }
  return std::move(m_flat);
}

void StructureCheck::checkHead() {
  if (!m_program.inPlace && !m_program.outOfPlace && !isMsccl()) {
    report(Check::shape, Severity::error, ErrorCode::verification, {},
           [] { return std::string("neither inplace nor outofplace is set: the runtime never uses the program"); });
  }
  if (m_program.channels < 1 || m_program.channels > m_limits.channels) {
    limitFault({}, [&] {
      return "nchannels=" + std::to_string(m_program.channels) + "; " + std::string(toString(m_runtime)) +
             " has 1 to " + std::to_string(m_limits.channels);
    });
  }
  if (m_program.chunksPerLoop < 1) {
    blockingFault(Check::shape, {},
                  [&] { return "nchunksperloop=" + std::to_string(m_program.chunksPerLoop) + " must be positive"; });
  } else if (m_program.chunksPerLoop > m_limits.offset + 1) {
    m_executable = false;
    limitFault({}, [&] {
      return "nchunksperloop=" + std::to_string(m_program.chunksPerLoop) + "; offsets end at " +
             std::to_string(m_limits.offset);
    });
  } else if (isShared(m_goal) && !countsOneShare(m_program, m_goal) && m_program.chunksPerLoop % ranks() != 0) {
    blockingFault(Check::shape, {}, [&] {
      return "nchunksperloop=" + std::to_string(m_program.chunksPerLoop) + " is not a multiple of the " +
             std::to_string(ranks()) + " ranks";
    });
  } else if (m_caller.input > m_limits.offset + 1 || m_caller.output > m_limits.offset + 1) {
    m_executable = false;
    limitFault({}, [&] {
      return "nchunksperloop=" + std::to_string(m_program.chunksPerLoop) + " for each of " + std::to_string(ranks()) +
             " ranks; offsets end at " + std::to_string(m_limits.offset);
    });
  }
  if ((m_goal == Collective::gather || m_goal == Collective::scatter) && ranks() > 1 &&
      !countsOneShare(m_program, m_goal)) {
    report(
        Check::collective, Severity::warning, ErrorCode::verification, {},
        [&] {
          return "nchunksperloop=" + std::to_string(m_program.chunksPerLoop) +
                 " is read as the chunks of the root's buffer; runtimes that know " + m_program.collectiveText +
                 " divide one rank's share by it";
        },
        "to run it there, set nchunksperloop to the chunks of one rank's share");
  }
  if (!m_isGoalKnown) {
    report(Check::collective, Severity::error, ErrorCode::verification, {}, [&] {
      return "the result of coll=" + inQuotes(m_program.collectiveText) +
             " is not defined, so it is not judged; races, deadlock and limits are";
    });
  }
  if (isMsccl() && m_goal == Collective::alltoall && m_program.name == "2D") {
    report(Check::shape, Severity::error, ErrorCode::verification, {}, [] {
      return std::string("an alltoall algorithm named 2D starts a built-in one of MSCCL instead of these steps");
    });
  }
}

void StructureCheck::checkWindow() {
  const std::int64_t min = m_program.minBytes;
  const std::int64_t max = m_program.maxBytes;
  if (min < 0 || max < 0) {
    report(Check::window, Severity::error, ErrorCode::verification, {},
           [] { return std::string("minBytes and maxBytes must not be negative"); });
  } else if (min > max && (isMsccl() || max != 0)) {
    report(Check::window, Severity::error, ErrorCode::verification, {},
           [&] { return "minBytes=" + std::to_string(min) + " is above maxBytes=" + std::to_string(max); });
  } else if (isMsccl() && min == max) {
    report(
        Check::window, Severity::warning, ErrorCode::verification, {},
        [] { return std::string("the size window is empty: MSCCL takes minBytes <= size < maxBytes"); },
        "raise maxBytes");
  }
  if (!isMsccl() || max <= 0 || m_program.chunksPerLoop < 1) {
    return;
  }
  int scratch = 0;
  for (const RankProgram& rank : m_program.ranks) {
    scratch = std::max(scratch, rank.scratchChunks);
  }
  const Int128 bytes = Int128{max} * scratch / m_program.chunksPerLoop;
  if (bytes >> kDeviceBytesShift != 0) {
    report(
        Check::scratch, Severity::error, ErrorCode::limit, {},
        [&] {
          return "maxBytes=" + std::to_string(max) + " with " + std::to_string(scratch) +
                 " scratch chunks asks for more than 64 GiB of scratch when the communicator is made: its creation "
                 "fails";
        },
        "lower maxBytes");
  }
}

void StructureCheck::checkRank(int rank) {
  const RankProgram& program = rankProgram(rank);
  const int blocks = static_cast<int>(std::min<std::size_t>(program.threadBlocks.size(), 1U << 30));
  checkBuffers(rank);
  if (blocks > m_limits.threadBlocksPerRank) {
    limitFault(place(rank), [&] {
      return std::to_string(blocks) + " threadblocks; " + std::string(toString(m_runtime)) + " takes " +
             std::to_string(m_limits.threadBlocksPerRank) + " per rank";
    });
  } else if (blocks > m_multiprocessors) {
    report(
        Check::residents, Severity::error, ErrorCode::limit, place(rank),
        [&] {
          return std::to_string(blocks) + " threadblocks do not fit " + std::to_string(m_multiprocessors) +
                 " multiprocessors at once; the ones that run wait forever for the others";
        },
        "use fewer threadblocks");
  }
  std::size_t nodes = 1 + m_program.ranks.size() + program.threadBlocks.size();
  for (const ThreadBlock& block : program.threadBlocks) {
    nodes += block.steps.size();
  }
  if (nodes > static_cast<std::size_t>(m_limits.xmlNodes)) {
    limitFault(place(rank), [&] {
      return std::to_string(nodes) + " XML elements (algo, every gpu, its own tb and step); the parser's table holds " +
             std::to_string(m_limits.xmlNodes);
    });
  }
  checkPeersPerChannel(rank);
  for (int id = 0; id < blocks; ++id) {
    checkBlock(rank, id);
  }
}

void StructureCheck::checkBuffers(int rank) {
  const RankProgram& program = rankProgram(rank);
  const auto check = [&](int declared, int caller, const char* word) {
    const bool wrong = isMsccl() ? declared != 0 && declared != caller : declared > caller;
    if (declared < 0) {
      blockingFault(Check::buffers, place(rank),
                    [&] { return std::string(word) + "=" + std::to_string(declared) + " must not be negative"; });
    } else if (wrong) {
      report(Check::buffers, isMsccl() ? Severity::error : Severity::warning, ErrorCode::verification, place(rank),
             [&] {
               return std::string(word) + "=" + std::to_string(declared) + ", but the collective's buffer has " +
                      std::to_string(caller) + " chunks" + (isMsccl() ? ": the rank rejects the program" : "");
             });
    }
  };
  check(program.inputChunks, m_caller.input, "i_chunks");
  check(program.outputChunks, m_caller.output, "o_chunks");
  if (program.scratchChunks < 0) {
    blockingFault(Check::buffers, place(rank), [] { return std::string("s_chunks must not be negative"); });
  } else if (program.scratchChunks > m_limits.offset + 1) {
    m_executable = false;
    limitFault(place(rank), [&] {
      return "s_chunks=" + std::to_string(program.scratchChunks) + "; offsets end at " +
             std::to_string(m_limits.offset);
    });
  }
}

void StructureCheck::checkPeersPerChannel(int rank) {
  std::unordered_map<std::uint64_t, int> owners;  // (side, channel, peer) -> threadblock
  std::unordered_map<std::uint64_t, int> counts;  // (side, channel) -> threadblocks
  const auto& blocks = rankProgram(rank).threadBlocks;
  for (std::size_t id = 0; id < blocks.size(); ++id) {
    for (const bool sending : {true, false}) {
      const int peer = sending ? blocks[id].sendPeer : blocks[id].recvPeer;
      if (peer < 0 || peer >= ranks()) {
        continue;
      }
      const std::uint64_t channel = static_cast<std::uint32_t>(blocks[id].channel);
      const std::uint64_t side = channel << 1 | (sending ? 1U : 0U);
      const auto [owner, isNew] = owners.emplace(side << 30 | static_cast<std::uint64_t>(peer), static_cast<int>(id));
      if (!isNew) {
        blockingFault(
            Check::owner, place(rank, static_cast<int>(id)),
            [&, first = owner->second] {
              return std::string(sending ? "sends to" : "receives from") + " rank " + std::to_string(peer) +
                     " on channel " + std::to_string(channel) + " as threadblock " + std::to_string(first) +
                     " does; a connection has one owner on each side";
            },
            "use another channel");
      }
      if (++counts[side] == m_limits.peersPerChannel + 1) {
        limitFault(place(rank), [&] {
          return "more than " + std::to_string(m_limits.peersPerChannel) + " threadblocks with a " +
                 (sending ? "send" : "recv") + " peer on channel " + std::to_string(channel);
        });
      }
    }
  }
}

void StructureCheck::checkBlock(int rank, int id) {
  const ThreadBlock& block = rankProgram(rank).threadBlocks[id];
  if (block.channel < 0 || block.channel >= m_program.channels) {
    blockingFault(
        Check::channel, place(rank, id),
        [&] {
          return "channel " + std::to_string(block.channel) +
                 " is not below nchannels=" + std::to_string(m_program.channels) + ", so it is never connected";
        },
        "raise nchannels");
  }
  for (const int peer : {block.sendPeer, block.recvPeer}) {
    if (peer == rank || peer < -1 || peer >= ranks()) {
      blockingFault(Check::peer, place(rank, id), [&] {
        return peer == rank ? "its peer is the rank itself" : "peer " + std::to_string(peer) + " is not a rank";
      });
    }
  }
  if (block.steps.size() > static_cast<std::size_t>(m_limits.stepsPerThreadBlock)) {
    limitFault(place(rank, id), [&] {
      return std::to_string(block.steps.size()) + " steps; " + std::string(toString(m_runtime)) + " takes " +
             std::to_string(m_limits.stepsPerThreadBlock) + " per threadblock";
    });
  }
  for (std::size_t index = 0; index < block.steps.size(); ++index) {
    checkStep(rank, id, static_cast<int>(index));
  }
  if (!block.steps.empty() && block.steps.back().type == StepType::nop) {
    report(
        Check::nop, Severity::warning, ErrorCode::verification,
        place(rank, id, static_cast<int>(block.steps.size()) - 1),
        [] { return std::string("a nop at the end of a threadblock is dropped without waiting"); }, "remove it");
  }
  if (!program::isRccl(m_runtime)) {
    checkReduceChains(rank, id);
  }
}

void StructureCheck::checkStep(int rank, int id, int index) {
  const ThreadBlock& block = rankProgram(rank).threadBlocks[id];
  const Step& step = block.steps[index];
  const auto type = [&] { return std::string(toString(step.type)); };
  if (!program::isBuilt(step.type, m_runtime)) {
    report(
        Check::type, Severity::error, ErrorCode::verification, place(rank, id, index),
        [&] { return program::unbuiltText(step.type, m_runtime); }, program::unbuiltFix(m_runtime).c_str());
  }
  if (sends(step.type) && block.sendPeer < 0) {
    blockingFault(Check::peer, place(rank, id, index),
                  [&] { return type() + " sends, but the threadblock has no send peer"; });
  }
  if (receives(step.type) && block.recvPeer < 0) {
    blockingFault(Check::peer, place(rank, id, index),
                  [&] { return type() + " receives, but the threadblock has no recv peer"; });
  }
  if (step.type == StepType::nop) {
    const bool waits = step.dependsOnTb >= 0;
    if (!waits) {
      report(
          Check::nop, Severity::error, ErrorCode::verification, place(rank, id, index),
          [] { return std::string("a nop without dependency shifts the runtime's step numbers"); }, "remove it");
    }
    const auto next = static_cast<std::size_t>(index) + 1;
    if (waits && next < block.steps.size() && block.steps[next].type != StepType::nop &&
        block.steps[next].dependsOnTb < 0) {
      report(
          Check::nop, Severity::error, ErrorCode::verification, place(rank, id, index + 1),
          [] { return std::string("a step without dependency after a waiting nop: the rank rejects the program"); },
          "move the nop's dependency onto the step");
    }
    return;
  }
  if (step.count < 0 || step.count > m_limits.count) {
    m_executable = false;
    report(
        Check::count, Severity::error, ErrorCode::limit, place(rank, id, index),
        [&] {
          return "moves " + std::to_string(step.count) + " chunks; a step takes 1 to " + std::to_string(m_limits.count);
        },
        "split it");
    return;
  }
  if (step.count == 0) {
    report(
        Check::count, Severity::warning, ErrorCode::verification, place(rank, id, index),
        [&] { return type() + " of no chunks does nothing"; }, "remove it");
  }
  if (usesSource(step.type)) {
    checkSlot(rank, id, index, step.src, step.count, "reads");
  }
  if (usesDestination(step.type)) {
    checkSlot(rank, id, index, step.dst, step.count, "writes");
  }
}

void StructureCheck::checkSlot(int rank, int id, int index, const program::Slot& slot, int count, const char* word) {
  const RankProgram& program = rankProgram(rank);
  const int chunks = slot.buffer == Buffer::input    ? std::min(program.inputChunks, m_caller.input)
                     : slot.buffer == Buffer::output ? std::min(program.outputChunks, m_caller.output)
                                                     : program.scratchChunks;
  if (slot.offset < 0 || std::int64_t{slot.offset} + count > chunks) {
    blockingFault(
        Check::offset, place(rank, id, index),
        [&] {
          const std::string buffer(1, letter(slot.buffer));
          return std::string(word) + " " + buffer + "[" + std::to_string(slot.offset) + "] to " + buffer + "[" +
                 std::to_string(std::int64_t{slot.offset} + std::max(count, 1) - 1) + "], but " + buffer + " has " +
                 std::to_string(chunks) + " chunks";
        },
        "the offsets and counts must stay inside the buffers that the rank declares");
  }
  if (slot.offset > m_limits.offset) {
    limitFault(place(rank, id, index), [&] {
      return "offset " + std::to_string(slot.offset) + " is above " + std::to_string(m_limits.offset);
    });
  }
}

/// Consecutive `re` steps into one slot are fused: one count for all, and a bounded number of sources. In Simple the
/// destination is one of them.
void StructureCheck::checkReduceChains(int rank, int id) {
  const auto& steps = rankProgram(rank).threadBlocks[id].steps;
  const int longest = m_program.protocol == program::Protocol::simple ? kMaxFused - 1 : kMaxFused;
  int chain = 0;
  for (std::size_t index = 0; index < steps.size(); ++index) {
    if (steps[index].type != StepType::reduce) {
      chain = 0;
      continue;
    }
    const bool joins = chain > 0 && steps[index].dependsOnTb < 0 && !steps[index - 1].hasDependent &&
                       steps[index].src.buffer == steps[index - 1].src.buffer &&
                       steps[index].dst == steps[index - 1].dst;
    chain = joins ? chain + 1 : 1;
    if (joins && steps[index].count != steps[index - 1].count) {
      report(
          Check::reduceChain, Severity::error, ErrorCode::verification, place(rank, id, static_cast<int>(index)),
          [&] {
            return "re with cnt=" + std::to_string(steps[index].count) +
                   " is fused with the one before, which has cnt=" + std::to_string(steps[index - 1].count) +
                   "; the runtime uses the last count for all";
          },
          "give them equal counts, or break the chain with hasdep=1");
    }
    if (chain == longest + 1) {
      report(
          Check::reduceChain, Severity::error, ErrorCode::limit, place(rank, id, static_cast<int>(index)),
          [&] {
            return "more than " + std::to_string(longest) + " re steps are fused into one, the most in " +
                   std::string(toString(m_program.protocol));
          },
          "break the chain with hasdep=1");
    }
  }
}

void StructureCheck::checkDependency(int rank, int id, int index, FlatStep& flat) {
  const auto& blocks = rankProgram(rank).threadBlocks;
  const Step& step = blocks[id].steps[index];
  const int target = step.dependsOnTb;
  if (target < 0) {
    return;
  }
  const auto what = [&] {
    return "waits for threadblock " + std::to_string(target) + " step " + std::to_string(step.dependsOnStep);
  };
  if (static_cast<std::size_t>(target) >= blocks.size() || step.dependsOnStep < 0 ||
      static_cast<std::size_t>(step.dependsOnStep) >= blocks[target].steps.size()) {
    blockingFault(Check::dependency, place(rank, id, index),
                  [&] { return what() + ", which does not exist: it waits forever"; });
    return;
  }
  if (target > m_limits.dependencyTb) {
    limitFault(
        place(rank, id, index),
        [&] {
          return what() + "; dependencies reach threadblock " + std::to_string(m_limits.dependencyTb) + " at most";
        },
        "give the threadblocks that others wait for the low ids");
  }
  if (target == id && step.dependsOnStep >= index) {
    blockingFault(Check::dependency, place(rank, id, index),
                  [&] { return what() + ", which is itself or comes after it: it waits forever"; });
    return;
  }
  const auto& steps = blocks[target].steps;
  std::size_t found = static_cast<std::size_t>(step.dependsOnStep);
  while (found < steps.size() && !(steps[found].hasDependent && steps[found].type != StepType::nop)) {
    ++found;
  }
  if (found == steps.size() || (target == id && found >= static_cast<std::size_t>(index))) {
    blockingFault(
        Check::dependency, place(rank, id, index),
        [&] { return what() + ", but no step from there on has hasdep=1: it waits forever"; },
        "set hasdep=1 on the step that is waited for");
    return;
  }
  if (found != static_cast<std::size_t>(step.dependsOnStep)) {
    report(
        Check::dependency, Severity::warning, ErrorCode::verification, place(rank, id, index),
        [&] {
          return what() + ", which publishes nothing; it continues when step " + std::to_string(found) + " is done";
        },
        "set hasdep=1 on the step that is waited for, and never wait for a nop");
  } else if (target == id) {
    report(
        Check::dependency, Severity::warning, ErrorCode::verification, place(rank, id, index),
        [&] { return what() + " of its own threadblock, which program order ensures"; }, "remove the dependency");
  }
  flat.waitsForBlock = m_flat.firstBlock[rank] + target;
  flat.waitsForStep = static_cast<std::uint32_t>(found);  // made flat when all threadblocks of the rank are laid out
}

void StructureCheck::layOut(int rank) {
  const auto& blocks = rankProgram(rank).threadBlocks;
  const int first = m_flat.firstBlock.back();
  for (std::size_t id = 0; id < blocks.size(); ++id) {
    FlatBlock block = {.rank = rank, .id = static_cast<int>(id)};
    block.firstStep = static_cast<std::uint32_t>(m_flat.steps.size());
    for (std::size_t index = 0; index < blocks[id].steps.size(); ++index) {
      const Step& step = blocks[id].steps[index];
      FlatStep flat = {.type = step.type,
                       .srcBuffer = step.src.buffer,
                       .dstBuffer = step.dst.buffer,
                       .publishes = step.hasDependent && step.type != StepType::nop,
                       .exchanges = (sends(step.type) || receives(step.type)) && step.count > 0,
                       .count = step.count,
                       .srcOffset = step.src.offset,
                       .dstOffset = step.dst.offset};
      checkDependency(rank, static_cast<int>(id), static_cast<int>(index), flat);
      m_flat.steps.push_back(flat);
    }
    block.endStep = static_cast<std::uint32_t>(m_flat.steps.size());
    m_flat.blocks.push_back(block);
  }
  m_flat.firstBlock.push_back(static_cast<int>(m_flat.blocks.size()));
  for (auto block = static_cast<std::size_t>(first); block < m_flat.blocks.size(); ++block) {
    for (auto step = m_flat.blocks[block].firstStep; step < m_flat.blocks[block].endStep; ++step) {
      if (FlatStep& flat = m_flat.steps[step]; flat.waitsForBlock >= 0) {
        flat.waitsForStep += m_flat.blocks[flat.waitsForBlock].firstStep;
        m_flat.steps[flat.waitsForStep].isTarget = true;
      }
    }
  }
}

void StructureCheck::connect() {
  std::unordered_map<std::uint64_t, int> known;  // (sender rank, receiver rank, channel) -> connection
  const auto connectionOf = [&](int sender, int receiver, int channel) {
    const auto key = static_cast<std::uint64_t>(sender) << 42 | static_cast<std::uint64_t>(receiver) << 32 |
                     static_cast<std::uint32_t>(channel);
    const auto [entry, isNew] = known.emplace(key, static_cast<int>(m_flat.connections.size()));
    if (isNew) {
      m_flat.connections.emplace_back();
    }
    return entry->second;
  };
  for (std::size_t index = 0; index < m_flat.blocks.size(); ++index) {
    FlatBlock& flat = m_flat.blocks[index];
    const ThreadBlock& block = rankProgram(flat.rank).threadBlocks[flat.id];
    bool sending = false;
    bool receiving = false;
    for (auto step = flat.firstStep; step < flat.endStep; ++step) {
      sending = sending || (m_flat.steps[step].exchanges && sends(m_flat.steps[step].type));
      receiving = receiving || (m_flat.steps[step].exchanges && receives(m_flat.steps[step].type));
    }
    if (sending) {
      flat.sendConnection = connectionOf(flat.rank, block.sendPeer, block.channel);
      m_flat.connections[flat.sendConnection].sender = static_cast<int>(index);
    }
    if (receiving) {
      flat.recvConnection = connectionOf(block.recvPeer, flat.rank, block.channel);
      m_flat.connections[flat.recvConnection].receiver = static_cast<int>(index);
    }
  }
}

/// The k-th sending step of a connection pairs with the k-th receiving one, and both move the same count.
void StructureCheck::matchMessages() {
  for (const Connection& connection : m_flat.connections) {
    if (connection.sender < 0 || connection.receiver < 0) {
      const bool sends = connection.sender >= 0;
      const FlatBlock& block = m_flat.blocks[sends ? connection.sender : connection.receiver];
      const ThreadBlock& owner = rankProgram(block.rank).threadBlocks[block.id];
      blockingFault(
          Check::unmatched, place(block.rank, block.id),
          [&] {
            const std::string peer = "rank " + std::to_string(sends ? owner.sendPeer : owner.recvPeer);
            return (sends ? "sends to " : "receives from ") + peer + " on channel " + std::to_string(owner.channel) +
                   ", but no threadblock of " + peer + (sends ? " receives from " : " sends to ") + "rank " +
                   std::to_string(block.rank) + " there";
          },
          "both ends of a connection need a threadblock on the same channel");
      continue;
    }
    const FlatBlock& sender = m_flat.blocks[connection.sender];
    const FlatBlock& receiver = m_flat.blocks[connection.receiver];
    std::uint32_t out = sender.firstStep;
    std::uint32_t in = receiver.firstStep;
    std::size_t pairs = 0;
    while (true) {
      const auto isSend = [&](const FlatStep& step) { return step.exchanges && sends(step.type); };
      const auto isRecv = [&](const FlatStep& step) { return step.exchanges && receives(step.type); };
      while (out < sender.endStep && !isSend(m_flat.steps[out])) {
        ++out;
      }
      while (in < receiver.endStep && !isRecv(m_flat.steps[in])) {
        ++in;
      }
      const bool hasOut = out < sender.endStep;
      const bool hasIn = in < receiver.endStep;
      if (!hasOut && !hasIn) {
        break;
      }
      if (hasOut != hasIn) {
        blockingFault(
            Check::unmatched,
            hasOut ? stepElement(m_flat, connection.sender, out) : stepElement(m_flat, connection.receiver, in),
            [&] {
              const FlatBlock& other = hasOut ? receiver : sender;
              return std::string(hasOut ? "sends" : "receives") + " message " + std::to_string(pairs + 1) +
                     " of its connection, but rank " + std::to_string(other.rank) + ", threadblock " +
                     std::to_string(other.id) + (hasOut ? " receives " : " sends ") + std::to_string(pairs);
            },
            "each send needs its receive, in the same order");
        break;
      }
      if (m_flat.steps[out].count != m_flat.steps[in].count) {
        blockingFault(
            Check::countMismatch, stepElement(m_flat, connection.receiver, in),
            [&] {
              return "receives " + std::to_string(m_flat.steps[in].count) + " chunks where " +
                     toText(stepElement(m_flat, connection.sender, out)) + " sends " +
                     std::to_string(m_flat.steps[out].count);
            },
            "both steps of a message need the same cnt");
      }
      ++pairs;
      ++out;
      ++in;
    }
  }
}

void StructureCheck::reportUselessFlags() {
  std::size_t useless = 0;
  ElementRef first;
  for (std::size_t block = 0; block < m_flat.blocks.size(); ++block) {
    for (auto step = m_flat.blocks[block].firstStep; step < m_flat.blocks[block].endStep; ++step) {
      if (m_flat.steps[step].publishes && !m_flat.steps[step].isTarget && useless++ == 0) {
        first = stepElement(m_flat, static_cast<int>(block), step);
      }
    }
  }
  if (useless > 0) {
    report(
        Check::uselessFlag, Severity::note, ErrorCode::verification, first,
        [&] {
          return std::to_string(useless) +
                 " steps have hasdep=1 although no step waits for them (the first one is shown)";
        },
        "set hasdep=0 there: each flag costs time");
  }
}

}  // namespace

Collective goalOf(const Program& program) {
  if (program.collectiveText.empty()) {
    return program.collective;
  }
  const auto known = parseCollective(program.collectiveText);
  return known.value_or(Collective::custom);
}

bool isShared(Collective goal) {
  return goal == Collective::allgather || goal == Collective::reduceScatter || goal == Collective::alltoall ||
         goal == Collective::gather || goal == Collective::scatter;
}

int chunksPerShare(const Program& program, Collective goal) {
  const int ranks = std::max(1, static_cast<int>(program.ranks.size()));
  return isShared(goal) && !countsOneShare(program, goal) ? program.chunksPerLoop / ranks : program.chunksPerLoop;
}

BufferSizes callerBuffers(const Program& program, Collective goal) {
  const int part = chunksPerShare(program, goal);
  const std::int64_t all = countsOneShare(program, goal) ? allShares(program) : program.chunksPerLoop;
  const int whole = static_cast<int>(std::min<std::int64_t>(all, std::numeric_limits<int>::max()));
  switch (goal) {
    case Collective::allgather:
    case Collective::gather:
      return {.input = part, .output = whole};
    case Collective::reduceScatter:
    case Collective::scatter:
      return {.input = whole, .output = part};
    case Collective::allreduce:
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::alltoall:
    case Collective::custom:
      return {.input = whole, .output = whole};
  }
  return {};
}

ElementRef stepElement(const FlatProgram& flat, int block, std::uint32_t step) {
  const FlatBlock& owner = flat.blocks[block];
  return ElementRef(RefKind::rank, owner.rank)
      .with({RefKind::threadblock, owner.id})
      .with({RefKind::step, step - owner.firstStep});
}

std::string nameOperation(const Program& program, const FlatProgram& flat, int block, std::uint32_t step) {
  const FlatBlock& owner = flat.blocks[block];
  const ThreadBlock& source = program.ranks[owner.rank].threadBlocks[owner.id];
  const StepType type = flat.steps[step].type;
  std::string text = toText(stepElement(flat, block, step)) + " (" + std::string(toString(type));
  text += receives(type) ? " from rank " + std::to_string(source.recvPeer) : "";
  text += sends(type) ? " to rank " + std::to_string(source.sendPeer) : "";
  return text + ")";
}

int multiprocessorsOf(const Program& program, const ProgramCheckOptions& options) {
  return options.multiprocessors ? *options.multiprocessors : namedMultiprocessors(program.name);
}

std::optional<FlatProgram> checkStructure(const Program& program, const ProgramCheckOptions& options,
                                          const Progress& progress, FindingSink& sink) {
  return StructureCheck(program, options, progress, sink).run();
}

}  // namespace coppice::verify
