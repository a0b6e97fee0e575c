// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "mscclpp/execution_plan.hpp"
#include "verify/program_verifier.hpp"

/// Whether an execution plan of MSCCL++ does what it says, in every order in which the GPU may run it.
namespace coppice::verify {

struct MscclppCheckOptions {
  /// Threadblocks that a GPU runs at once; nullopt = by the name of the plan, see namedMultiprocessors().
  std::optional<int> multiprocessors = {};
  int root = -1;  ///< of broadcast and reduce; -1 = inferred
  /// What a plan computes whose `collective` does not say it. Empty = its result is not judged.
  std::vector<CustomShard> custom = {};
};

struct MscclppVerdict {
  bool ok = false;  ///< no finding is an error
  /// All lists, limits and bounds are right: it can be run, whatever comes of it.
  bool isRunnable = false;
  std::vector<Finding> findings;
  int ranks = 0;
  int root = -1;               ///< of rooted collectives, as given or inferred
  bool isResultJudged = true;  ///< false where `collective` does not define the result
  int multiprocessors = 0;     ///< threadblocks that a GPU was taken to run at once
  int mostBlocks = 0;          ///< of a rank
  int mostOps = 0;             ///< of a threadblock
};

/// Checks, in this order, and stops after the first kind that fails:
/// - lists and limits: every number that the executor takes as an index, its compile-time limits, the counts of chunks,
///   operations that the kernels run otherwise than written (put and signal on memory channels, exchanged offsets);
/// - the plan in action, several launches one after the other. All threadblocks of a rank run at once. Each carries
///   what happened before: by the order of its operations between two nops, by signals (released behind a nop, acquired
///   before one), semaphores, barriers, and the flags of packets. Every access of every part of every buffer is held
///   against the earlier ones: two that touch the same place, one of them writing, must be ordered, also across ranks,
///   across launches, and against the caller's own use of its buffers between launches;
/// - that all channels and semaphores are left as they were found, and nothing waits without end;
/// - the result, by symbolic sums: every chunk holds exactly what the collective says.
///
/// Pipelines are run with one and with several iterations per chunk, and where scratch is reused, until it comes round.
/// Parts of groups of threadblocks are those of sizes that all groups divide.
///
/// Errors: limit (more cells or threadblocks than are followed), cancelled.
[[nodiscard]] Result<MscclppVerdict> verifyExecutionPlan(const mscclpp::ExecutionPlan& plan,
                                                         const MscclppCheckOptions& options = {},
                                                         const Progress& progress = {});

}  // namespace coppice::verify
