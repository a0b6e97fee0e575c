// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/progress.hpp"
#include "base/result.hpp"
#include "mscclpp/execution_plan.hpp"
#include "verify/mscclpp_faults.hpp"
#include "verify/mscclpp_shape.hpp"
#include "verify/mscclpp_verifier.hpp"

/// Internal to the check of execution plans: the plan in action.
namespace coppice::verify {

/// What is known of the result.
struct MscclppOutcome {
  int root = -1;
  bool isJudged = true;
};

/// Runs the plan at one size, several launches one after the other. @pre checkMscclppStructure found no error
/// Errors: limit, cancelled.
[[nodiscard]] Result<MscclppOutcome> runMscclpp(const mscclpp::ExecutionPlan& plan, const MscclppShape& shape,
                                                const MscclppCheckOptions& options, MscclppFaults& faults,
                                                const Progress& progress);

}  // namespace coppice::verify
