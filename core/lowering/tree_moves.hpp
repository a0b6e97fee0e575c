// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lowering/moves.hpp"
#include "lowering/order.hpp"
#include "lowering/plan.hpp"
#include "lowering/work.hpp"

/// Internal to core/lowering: the messages of trees and their order.
namespace coppice::lowering {

/// Messages have the numbers of Work::message.
[[nodiscard]] Moves movesOf(const Work& work, const Options& options, const Progress& progress);

/// Adds the order. Errors: infeasible where the run of StepOrder::asTheyCome gets stuck. Throws CancelledError.
[[nodiscard]] Outcome orderTrees(const Work& work, const Moves& moves, const Options& options, const Style& style,
                                 Plan& plan, const Progress& progress);

/// Ranks at the two ends of a message, in the direction of the data.
struct Ends {
  int from = 0;
  int to = 0;
};
[[nodiscard]] Ends endsOf(const Work& work, int message);

}  // namespace coppice::lowering
