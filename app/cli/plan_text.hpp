// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command.hpp"
#include "mscclpp/execution_plan.hpp"
#include "verify/mscclpp_verifier.hpp"

/// Execution plans of MSCCL++ as `export` and `verify` show them.
namespace coppice::cli {

/// Adds protocol, threadblocks, operations, channels and the window of sizes.
void describePlan(const mscclpp::ExecutionPlan& plan, const verify::MscclppVerdict& verdict, Report& report);

}  // namespace coppice::cli
