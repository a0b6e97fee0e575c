// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "plan/proofs.hpp"
#include "verify/program_deadlock.hpp"
#include "verify/program_execution.hpp"
#include "verify/program_flat.hpp"
#include "verify/program_values.hpp"
#include "verify/program_verifier.hpp"

namespace coppice::executor {
namespace {

using program::Program;
using program::StepType;
using verify::FlatProgram;

constexpr int kDefaultDepth = 8;
constexpr std::size_t kMaxRanks = 1024;
constexpr std::size_t kMaxBlocks = 1024;  // of a rank
constexpr std::size_t kMaxSteps = 65536;  // of a threadblock
constexpr std::size_t kMaxAllSteps = std::size_t{1} << 23;
constexpr int kMaxChunks = 32768;  // of a buffer
constexpr int kMaxDepth = 1024;

struct Ignore {
  void operator()(const verify::Event& /*event*/) const {}
};

Finding fault(ErrorCode code, std::string text, std::string fix = {}, ElementRef element = {}) {
  return {.severity = Severity::error,
          .code = code,
          .text = std::move(text),
          .fix = std::move(fix),
          .where = {.element = std::move(element)}};
}

/// The limits of this executor; beyond them nothing else is looked at.
std::optional<Finding> exceededLimit(const Program& program) {
  const auto over = [](const std::string& what, std::size_t amount, std::size_t limit, ElementRef element = {}) {
    return fault(ErrorCode::limit,
                 what + ": " + std::to_string(amount) + ", the executor takes " + std::to_string(limit) + " at most",
                 {}, std::move(element));
  };
  if (program.ranks.empty()) {
    return fault(ErrorCode::badInput, "the program has no ranks", "give one gpu element for each rank");
  }
  if (program.ranks.size() > kMaxRanks) {
    return over("ranks", program.ranks.size(), kMaxRanks);
  }
  if (program.chunksPerLoop > kMaxChunks) {
    return over("nchunksperloop", static_cast<std::size_t>(program.chunksPerLoop), kMaxChunks);
  }
  std::size_t all = 0;
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    const program::RankProgram& own = program.ranks[rank];
    const ElementRef place{RefKind::rank, rank};
    if (own.threadBlocks.size() > kMaxBlocks) {
      return over("threadblocks", own.threadBlocks.size(), kMaxBlocks, place);
    }
    if (own.scratchChunks > kMaxChunks) {
      return over("chunks of scratch", static_cast<std::size_t>(own.scratchChunks), kMaxChunks, place);
    }
    for (std::size_t id = 0; id < own.threadBlocks.size(); ++id) {
      const std::size_t steps = own.threadBlocks[id].steps.size();
      all += steps;
      if (steps > kMaxSteps) {
        return over("steps", steps, kMaxSteps, place.with({RefKind::threadblock, id}));
      }
    }
  }
  if (all > kMaxAllSteps) {
    return over("steps in all", all, kMaxAllSteps);
  }
  return std::nullopt;
}

/// Adds what core found. Limits of GPU runtimes do not bind this executor.
void addFindings(std::vector<Finding> findings, PlanSet& set) {
  for (Finding& finding : findings) {
    if (finding.code == ErrorCode::limit && finding.severity == Severity::error) {
      finding.severity = Severity::warning;
      finding.text += " (GPU runtimes refuse this; here it runs)";
    }
    set.ok = set.ok && finding.severity != Severity::error;
    set.findings.push_back(std::move(finding));
  }
}

class Planner {
public:
  Planner(const Program& program, const PlanOptions& options, const Progress& progress)
      : m_program(program), m_options(options), m_progress(progress), m_goal(verify::goalOf(program)) {}

  PlanSet run();

private:
  int verified(PlanSet& set);
  void adviseDepth(Finding& finding) const;
  [[nodiscard]] bool runsAt(const FlatProgram& flat, std::uint32_t depth) const;
  void checkDepth(const FlatProgram& flat, PlanSet& set);
  [[nodiscard]] int smallestDepth(const FlatProgram& flat, int max) const;
  [[nodiscard]] Plan layOut(const FlatProgram& flat, Place place, int root) const;

  const Program& m_program;
  const PlanOptions& m_options;
  const Progress& m_progress;
  Collective m_goal;
};

PlanSet Planner::run() {
  PlanSet set;
  set.ok = true;
  set.depth =
      m_options.depth > 0 ? m_options.depth : std::max(kDefaultDepth, program::connectionDepth(m_program.protocol));
  const auto refuse = [&](Finding finding) {
    set.findings.push_back(std::move(finding));
    set.ok = false;
    return std::move(set);
  };
  if (m_options.depth < 0 || set.depth > kMaxDepth) {
    return refuse(fault(ErrorCode::badUsage, "the depth of connections is 1 to " + std::to_string(kMaxDepth)));
  }
  if (auto exceeded = exceededLimit(m_program)) {
    return refuse(std::move(*exceeded));
  }
  if (m_goal == Collective::custom && m_options.custom.empty()) {
    return refuse(fault(ErrorCode::verification,
                        "what coll=" + inQuotes(m_program.collectiveText) + " computes is not defined",
                        "give its table of shards (--goal TABLE), or run the .schedule.json that it is made of"));
  }
  const int root = m_options.unchecked ? std::max(0, m_options.root) : verified(set);
  if (!set.ok) {
    return set;
  }
  program::FindingSink sink;
  const auto flat = verify::checkStructure(
      m_program, {.runtime = m_options.runtime, .multiprocessors = std::numeric_limits<int>::max()}, m_progress, sink);
  if (!flat) {
    addFindings(sink.take(), set);
    if (set.ok) {
      return refuse(fault(ErrorCode::verification, "the program cannot be laid out for execution"));
    }
    return set;
  }
  if (!m_options.unchecked) {
    checkDepth(*flat, set);
  }
  if (set.ok) {
    if (m_program.inPlace) {
      set.inPlace = layOut(*flat, Place::inPlace, root);
    }
    if (m_program.outOfPlace || !m_program.inPlace) {
      set.outOfPlace = layOut(*flat, Place::outOfPlace, root);
    }
  }
  return set;
}

/// Symbolic execution by core. @return the root
int Planner::verified(PlanSet& set) {
  Program deeper;
  const Program* judged = &m_program;
  if (m_options.depth > program::connectionDepth(m_program.protocol)) {
    deeper = m_program;  // judged at the depth asked for, not at the protocol's
    deeper.protocol = program::Protocol::ll;
    judged = &deeper;
  }
  auto verdict = verify::verifyProgram(*judged,
                                       {.runtime = m_options.runtime,
                                        .root = m_options.root,
                                        .multiprocessors = std::numeric_limits<int>::max(),
                                        .custom = m_options.custom},
                                       m_progress);
  if (!verdict) {
    if (verdict.error().code == ErrorCode::cancelled) {
      throw CancelledError{};
    }
    const Error& error = verdict.error();
    addFindings({fault(ErrorCode::verification, error.message, error.fix)}, set);
    return -1;
  }
  for (Finding& finding : verdict->findings) {
    if (finding.severity == Severity::error && finding.text.starts_with("deadlock: ")) {
      adviseDepth(finding);
    }
  }
  addFindings(std::move(verdict->findings), set);
  return verdict->root;
}

/// Connections here may be deeper than the protocol has them.
void Planner::adviseDepth(Finding& finding) const {
  program::FindingSink sink;
  const auto flat = verify::checkStructure(
      m_program, {.runtime = m_options.runtime, .multiprocessors = std::numeric_limits<int>::max()}, m_progress, sink);
  if (flat && runsAt(*flat, kMaxDepth)) {
    finding.fix +=
        "; where only this executor is to run it, --depth " + std::to_string(smallestDepth(*flat, kMaxDepth));
  }
}

bool Planner::runsAt(const FlatProgram& flat, std::uint32_t depth) const {
  Ignore ignore;
  return verify::Execution(flat, depth, 1, ignore, m_progress).run();
}

void Planner::checkDepth(const FlatProgram& flat, PlanSet& set) {
  Ignore ignore;
  const auto depth = static_cast<std::uint32_t>(set.depth);
  verify::Execution execution(flat, depth, 1, ignore, m_progress);
  if (execution.run()) {
    return;
  }
  const verify::Deadlock deadlock = verify::explainDeadlock(m_program, flat, execution.states(), depth, 1, m_progress);
  addFindings({fault(ErrorCode::verification,
                     "deadlock with connections " + std::to_string(set.depth) + " deep: " + deadlock.cycle,
                     deadlock.remedy, deadlock.place)},
              set);
}

int Planner::smallestDepth(const FlatProgram& flat, int max) const {
  int low = 1;
  int high = max;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (runsAt(flat, static_cast<std::uint32_t>(middle))) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

Plan Planner::layOut(const FlatProgram& flat, Place place, int root) const {
  Plan plan;
  plan.name = m_program.name;
  plan.operation = m_goal;
  plan.place = place;
  plan.root = isRooted(plan.operation) ? root : -1;
  const verify::BufferSizes caller = verify::callerBuffers(m_program, m_goal);
  plan.chunksPerLoop = std::max(caller.input, caller.output);
  plan.inputChunks = caller.input;
  plan.outputChunks = caller.output;
  plan.chunksPerPart = verify::chunksPerShare(m_program, m_goal);
  plan.channels = m_program.channels;
  if (m_goal == Collective::custom) {
    plan.custom = m_options.custom;
  }

  for (std::size_t rank = 0; rank < m_program.ranks.size(); ++rank) {
    plan.ranks.push_back({.firstBlock = flat.firstBlock[rank],
                          .endBlock = flat.firstBlock[rank + 1],
                          .scratchChunks = std::max(0, m_program.ranks[rank].scratchChunks)});
  }
  for (const verify::FlatBlock& block : flat.blocks) {
    const program::ThreadBlock& source = m_program.ranks[block.rank].threadBlocks[block.id];
    plan.blocks.push_back({.rank = block.rank,
                           .id = block.id,
                           .channel = source.channel,
                           .firstStep = static_cast<int>(block.firstStep),
                           .endStep = static_cast<int>(block.endStep),
                           .sendConnection = block.sendConnection,
                           .recvConnection = block.recvConnection});
  }
  for (const verify::FlatStep& step : flat.steps) {
    PlanStep out = {.type = step.type,
                    .srcBuffer = step.srcBuffer,
                    .dstBuffer = step.dstBuffer,
                    .publishes = step.isTarget,
                    .srcOffset = step.srcOffset,
                    .dstOffset = step.dstOffset,
                    .count = step.count,
                    .waitBlock = step.waitsForBlock};
    if (step.waitsForBlock >= 0) {
      out.waitStep = static_cast<int>(step.waitsForStep - flat.blocks[step.waitsForBlock].firstStep);
    }
    plan.steps.push_back(out);
  }
  for (const verify::Connection& connection : flat.connections) {
    const PlanBlock& sender = plan.blocks[connection.sender];
    const PlanBlock& receiver = plan.blocks[connection.receiver];
    PlanConnection out = {.sendRank = sender.rank,
                          .recvRank = receiver.rank,
                          .channel = sender.channel,
                          .sendBlock = connection.sender,
                          .recvBlock = connection.receiver};
    int in = receiver.firstStep;
    for (int step = sender.firstStep; step < sender.endStep; ++step) {
      const auto sending = static_cast<std::size_t>(step);
      if (!flat.steps[sending].exchanges || !program::sends(flat.steps[sending].type)) {
        continue;
      }
      while (!flat.steps[in].exchanges || !program::receives(flat.steps[in].type)) {
        ++in;
      }
      plan.steps[sending].peerSend = in;
      plan.steps[in].peerRecv = step;
      out.messagesPerTile += flat.steps[sending].count;
      ++in;
    }
    plan.connections.push_back(out);
  }
  if (m_options.unchecked) {
    plan.needsEqualChunks = true;
    return plan;
  }
  const int depth = m_options.depth > 0 ? m_options.depth : kDefaultDepth;
  plan.smallestDepth = smallestDepth(flat, depth);
  prove(flat, verify::Layout(m_program, m_goal, place == Place::inPlace), static_cast<std::uint32_t>(depth), plan,
        m_progress);
  // A custom collective is defined by shares, which chunks of unequal length would not have.
  plan.needsEqualChunks = plan.needsEqualChunks || m_goal == Collective::custom;
  return plan;
}

}  // namespace

bool Plan::combines() const {
  return reduces(operation) ||
         std::any_of(custom.begin(), custom.end(), [](const verify::CustomShard& shard) { return shard.combines; });
}

ElementRef stepElement(const Plan& plan, int block, int step) {
  const PlanBlock& owner = plan.blocks[block];
  return ElementRef(RefKind::rank, owner.rank)
      .with({RefKind::threadblock, owner.id})
      .with({RefKind::step, step - owner.firstStep});
}

std::string nameStep(const Plan& plan, int block, int step) {
  const PlanBlock& owner = plan.blocks[block];
  const StepType type = plan.steps[step].type;
  std::string text = toText(stepElement(plan, block, step)) + " (" + std::string(program::toString(type));
  if (program::receives(type) && owner.recvConnection >= 0) {
    text += " from rank " + std::to_string(plan.connections[owner.recvConnection].sendRank);
  }
  if (program::sends(type) && owner.sendConnection >= 0) {
    text += " to rank " + std::to_string(plan.connections[owner.sendConnection].recvRank);
  }
  return text + ")";
}

Result<PlanSet> makePlans(const Program& program, const PlanOptions& options, const Progress& progress) {
  try {
    return Planner(program, options, progress).run();
  } catch (const CancelledError&) {
    return Error{.code = ErrorCode::cancelled, .message = "the check of the schedule was cancelled"};
  } catch (const verify::MemoryLimitError&) {
    return Error{.code = ErrorCode::limit, .message = "the schedule is too large to be checked"};
  } catch (const std::bad_alloc&) {
    return Error{.code = ErrorCode::limit, .message = "not enough memory to check the schedule"};
  } catch (const OverflowError& error) {
    return Error{.code = ErrorCode::overflow, .message = error.what()};
  }
}

}  // namespace coppice::executor
