// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "lp/program_support.hpp"

namespace coppice::lp {

enum class IntegerStatus { found, impossible, undecided };

struct IntegerAnswer {
  IntegerStatus status = IntegerStatus::undecided;
  std::vector<std::int64_t> values;  ///< one per column, when found
  std::string reason = {};
};

/// True when this build has Z3.
[[nodiscard]] bool hasIntegerProgram();

/// Integers within the columns' bounds that satisfy all rows (costs are ignored), decided by Z3 within the budget, from
/// which the units of work that Z3 counts are taken. undecided without Z3, when the budget is spent, or when Z3 fails.
/// Cancellation interrupts Z3; throws CancelledError.
IntegerAnswer solveInteger(const std::vector<Column>& columns, const std::vector<Row>& rows, WorkBudget& budget,
                           const Progress& progress);

}  // namespace coppice::lp
