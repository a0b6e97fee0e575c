// SPDX-License-Identifier: Apache-2.0
#include "verify/mscclpp_verifier.hpp"

#include <algorithm>
#include <new>

#include "base/gpu_names.hpp"
#include "verify/mscclpp_faults.hpp"
#include "verify/mscclpp_run.hpp"
#include "verify/mscclpp_shape.hpp"

namespace coppice::verify {

namespace {

Result<MscclppVerdict> judgeExecutionPlan(const mscclpp::ExecutionPlan& plan, const MscclppCheckOptions& options,
                                          const Progress& progress) {
  MscclppVerdict verdict;
  verdict.ranks = static_cast<int>(plan.gpus.size());
  verdict.multiprocessors = options.multiprocessors ? *options.multiprocessors : namedMultiprocessors(plan.name);
  for (const mscclpp::Gpu& gpu : plan.gpus) {
    verdict.mostBlocks = std::max(verdict.mostBlocks, static_cast<int>(gpu.blocks.size()));
    for (const mscclpp::ThreadBlock& block : gpu.blocks) {
      verdict.mostOps = std::max(verdict.mostOps, mscclpp::countOps(block));
    }
  }
  MscclppFaults faults;
  checkMscclppStructure(plan, verdict.multiprocessors, faults);
  verdict.isRunnable = !faults.hasErrors();
  if (verdict.isRunnable) {
    for (const MscclppShape& shape : shapesOf(plan)) {
      const auto outcome = runMscclpp(plan, shape, options, faults, progress);
      if (!outcome) {
        return outcome.error();
      }
      verdict.root = outcome->root;
      verdict.isResultJudged = outcome->isJudged;
      if (faults.hasErrors()) {
        break;
      }
    }
  }
  if (!verdict.isResultJudged) {
    faults.plan(
        MscclppRule::result, Severity::warning,
        "\"" + plan.collective + "\" does not say what the result is: it was not judged",
        "name a collective: allgather, reducescatter, allreduce, broadcast, reduce or alltoall; or give --goal");
  }
  verdict.ok = !faults.hasErrors();
  verdict.findings = faults.take();
  return verdict;
}

}  // namespace

Result<MscclppVerdict> verifyExecutionPlan(const mscclpp::ExecutionPlan& plan, const MscclppCheckOptions& options,
                                           const Progress& progress) {
  try {
    return judgeExecutionPlan(plan, options, progress);
  } catch (const CancelledError&) {
    return Error{ErrorCode::cancelled, "verifying was cancelled"};
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::limit, "not enough memory to verify the plan", "verify a plan with fewer threadblocks"};
  }
}

}  // namespace coppice::verify
