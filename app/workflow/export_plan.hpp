// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "lowering/lowering.hpp"
#include "mscclpp/execution_plan.hpp"
#include "schedule/step_schedule.hpp"
#include "verify/mscclpp_verifier.hpp"

/// From a schedule that has passed the verifier to an execution plan of MSCCL++.
namespace coppice::workflow {

struct ExportedPlan {
  std::string text;  ///< JSON
  mscclpp::ExecutionPlan plan;
  verify::MscclppVerdict verdict;
  double lowering = 0;   ///< seconds
  double verifying = 0;  ///< seconds
};

/// The boxes of the ranks, as numbers; empty where the fabric names none.
[[nodiscard]] std::vector<int> boxesOf(const fabric::Fabric& fabric);

/// Lowers to a program, from that to a plan, writes it, reads it back and judges what was read.
/// Errors: those of lowering::lower and mscclpp::fromProgram (limit: it does not fit); verification where the plan is
/// refused. A plan that is returned may be written.
[[nodiscard]] Result<ExportedPlan> exportPlan(const fabric::Fabric& fabric, const schedule::AnySchedule& schedule,
                                              const lowering::Options& options, const std::string& fileName,
                                              const Progress& progress);

}  // namespace coppice::workflow
