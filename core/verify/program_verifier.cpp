// SPDX-License-Identifier: Apache-2.0
#include "verify/program_verifier.hpp"

#include <algorithm>
#include <new>
#include <string>

#include "base/checked.hpp"
#include "verify/program_data.hpp"
#include "verify/program_deadlock.hpp"
#include "verify/program_execution.hpp"
#include "verify/program_flat.hpp"
#include "verify/program_memory.hpp"
#include "verify/program_messages.hpp"
#include "verify/program_races.hpp"
#include "verify/program_values.hpp"

namespace coppice::verify {
namespace {

using program::FindingSink;
using program::Program;

struct IgnoreStudy {
  void operator()(const Event& /*event*/) const {}
};

bool isOverlapping(const FlatStep& step, const Layout& layout, int rank) {
  if (step.count < 1 || !usesSource(step.type) || !usesDestination(step.type)) {
    return false;
  }
  const std::uint32_t src = layout.location(rank, step.srcBuffer, step.srcOffset);
  const std::uint32_t dst = layout.location(rank, step.dstBuffer, step.dstOffset);
  return src != dst && (src < dst ? dst - src : src - dst) < static_cast<std::uint32_t>(step.count);
}

class Verification {
public:
  Verification(const Program& program, const ProgramCheckOptions& options, const Progress& progress)
      : m_program(program),
        m_options(options),
        m_progress(progress),
        m_goal(goalOf(program)),
        m_depth(static_cast<std::uint32_t>(program::connectionDepth(program.protocol))) {}

  ProgramVerdict run();

private:
  void checkVariant(const FlatProgram& flat, bool inPlace);
  void chooseMessageSize(const FlatProgram& flat);
  void checkOverlaps(const FlatProgram& flat, const Layout& layout);
  /// The size window that frees a deadlock, as part of a fix; empty where none does.
  std::string windowRemedy(const FlatProgram& flat);

  const Program& m_program;
  const ProgramCheckOptions& m_options;
  const Progress& m_progress;
  Collective m_goal;
  std::uint32_t m_depth;
  int m_chunksPerMessage = 1;
  FindingSink m_sink;
  int m_root = -1;
  bool m_stops = false;
};

ProgramVerdict Verification::run() {
  ProgramVerdict verdict;
  verdict.collective = m_program.collective;
  verdict.ranks = static_cast<int>(m_program.ranks.size());
  verdict.multiprocessors = multiprocessorsOf(m_program, m_options);
  m_progress.report("verifying", 0);
  const int ranks = verdict.ranks;
  m_root = m_options.root >= 0 ? m_options.root : m_program.root;
  if (m_root >= ranks) {
    m_root = -1;
    if (m_sink.wants(static_cast<int>(Check::shape), Severity::error)) {
      m_sink.add(static_cast<int>(Check::shape), {.severity = Severity::error,
                                                  .code = ErrorCode::badUsage,
                                                  .text = "the root that is asked for is not a rank of this program"});
    }
  }
  if (const auto flat = checkStructure(m_program, m_options, m_progress, m_sink)) {
    chooseMessageSize(*flat);
    const bool outOfPlace = m_program.outOfPlace || !m_program.inPlace;
    if (m_program.inPlace) {
      checkVariant(*flat, true);
      m_progress.report("verifying", outOfPlace ? 0.5 : 1);
    }
    if (outOfPlace && !m_stops) {
      checkVariant(*flat, false);
      m_progress.report("verifying", 1);
    }
  }
  verdict.ok = !m_sink.hasErrors();
  verdict.root = isRooted(m_goal) ? m_root : -1;
  verdict.findings = m_sink.take();
  return verdict;
}

/// One chunk per message is the hardest case, and the one of large sizes: what runs then runs with fuller messages too
/// (each message maps to one of the finer ones, in order), and what is ordered then stays ordered. Only where the size
/// window rules that case out, and it would deadlock, fuller messages are assumed, with a warning.
void Verification::chooseMessageSize(const FlatProgram& flat) {
  const int fuller = fullestMessage(m_program, m_options.runtime);
  if (fuller == 1) {
    return;
  }
  IgnoreStudy ignore;
  Execution single(flat, m_depth, 1, ignore, m_progress);
  if (single.run() || !Execution(flat, m_depth, fuller, ignore, m_progress).run()) {
    return;
  }
  m_chunksPerMessage = fuller;
  if (m_sink.wants(static_cast<int>(Check::deadlockBySize), Severity::warning)) {
    const Deadlock deadlock = explainDeadlock(m_program, flat, single.states(), m_depth, 1, m_progress);
    m_sink.add(static_cast<int>(Check::deadlockBySize),
               {.severity = Severity::warning,
                .code = ErrorCode::verification,
                .text = "only the size window prevents a deadlock: up to maxBytes=" +
                        std::to_string(m_program.maxBytes) + ", with the runtime's default buffers, " +
                        std::to_string(fuller) + " chunks travel in one message; with one each, " + deadlock.cycle,
                .fix = deadlock.remedy,
                .where = {.element = deadlock.place}});
  }
}

void Verification::checkVariant(const FlatProgram& flat, bool inPlace) {
  const Layout layout(m_program, m_goal, inPlace);
  checkOverlaps(flat, layout);
  Values values(flat, static_cast<int>(m_program.ranks.size()));
  DataRun data(flat, layout, values, m_depth, m_chunksPerMessage, m_sink);
  Execution execution(flat, m_depth, m_chunksPerMessage, data, m_progress);
  if (execution.run()) {
    const int root = data.checkResult(m_goal, m_root);
    m_root = root >= 0 ? root : m_root;
    if (m_goal == Collective::custom) {
      data.checkCustom(m_options.custom);
    }
    checkRaces(m_program, flat, layout, data.history(), m_depth, m_chunksPerMessage, m_progress, m_sink);
    if (program::isRccl(m_options.runtime) && !m_sink.hasErrors()) {
      checkMemoryOrder(m_program, flat, layout, data.history(), m_chunksPerMessage, m_options.runtime, m_progress,
                       m_sink);
    }
    return;
  }
  m_stops = true;
  const Deadlock deadlock =
      explainDeadlock(m_program, flat, execution.states(), m_depth, m_chunksPerMessage, m_progress);
  if (m_sink.wants(static_cast<int>(Check::deadlock), Severity::error)) {
    m_sink.add(static_cast<int>(Check::deadlock), {.severity = Severity::error,
                                                   .code = ErrorCode::verification,
                                                   .text = "deadlock: " + deadlock.cycle,
                                                   .fix = deadlock.remedy + windowRemedy(flat),
                                                   .where = {.element = deadlock.place}});
  }
}

std::string Verification::windowRemedy(const FlatProgram& flat) {
  const auto window = windowThatFrees(m_program, flat, m_options.runtime, m_progress);
  return window ? "; with maxBytes=" + std::to_string(*window) + " in place of " + std::to_string(m_program.maxBytes) +
                      " it does not stop, as long as the runtime has its default buffers"
                : "";
}

void Verification::checkOverlaps(const FlatProgram& flat, const Layout& layout) {
  for (std::size_t block = 0; block < flat.blocks.size(); ++block) {
    for (auto step = flat.blocks[block].firstStep; step < flat.blocks[block].endStep; ++step) {
      if (isOverlapping(flat.steps[step], layout, flat.blocks[block].rank) &&
          m_sink.wants(static_cast<int>(Check::overlap), Severity::error)) {
        m_sink.add(static_cast<int>(Check::overlap),
                   {.severity = Severity::error,
                    .code = ErrorCode::verification,
                    .text = "reads and writes overlapping chunks of the same memory at different offsets",
                    .fix = "split the step",
                    .where = {.element = stepElement(flat, static_cast<int>(block), step)}});
      }
    }
  }
}

}  // namespace

Result<ProgramVerdict> verifyProgram(const Program& program, const ProgramCheckOptions& options,
                                     const Progress& progress) {
  if (program.ranks.empty()) {
    return Error{.code = ErrorCode::badInput,
                 .message = "the program has no ranks",
                 .fix = "give one gpu element for each rank"};
  }
  try {
    return Verification(program, options, progress).run();
  } catch (const CancelledError&) {
    return Error{.code = ErrorCode::cancelled, .message = "the verification was cancelled"};
  } catch (const MemoryLimitError&) {
    return Error{.code = ErrorCode::limit, .message = "the program is too large to be verified"};
  } catch (const std::bad_alloc&) {
    return Error{.code = ErrorCode::limit, .message = "not enough memory to verify the program"};
  } catch (const OverflowError& error) {
    return Error{.code = ErrorCode::overflow, .message = error.what()};
  }
}

}  // namespace coppice::verify
