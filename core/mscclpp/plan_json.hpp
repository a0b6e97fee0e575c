// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "mscclpp/execution_plan.hpp"

/// Execution plans as JSON, in the schema of MSCCL++ 0.8 and later.
namespace coppice::mscclpp {

/// The largest text that is read.
inline constexpr std::size_t kMaxPlanBytes = std::size_t{256} << 20;

/// Whether a JSON text looks like an execution plan (it has "gpus" with "threadblocks"), by its words alone.
[[nodiscard]] bool looksLikePlan(std::string_view text);

/// Reads what the executor reads, with its defaults; keys that it does not know are ignored. Errors: badInput, naming
/// rank, threadblock and operation, where the executor would refuse the file or stop on it (a key that is missing or of
/// the wrong type, an operation without a name that it knows); limit (size, numbers of ranks and operations). Whatever
/// the executor does not check itself is left to verify::verifyPlan.
[[nodiscard]] Result<ExecutionPlan> readPlan(std::string_view text, const std::string& fileName = {});

/// One operation per line. Same plan, same text.
void writePlan(std::ostream& out, const ExecutionPlan& plan);
[[nodiscard]] std::string writePlan(const ExecutionPlan& plan);

}  // namespace coppice::mscclpp
