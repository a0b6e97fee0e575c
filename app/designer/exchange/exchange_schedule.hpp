// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "designer/schedules/question_panel.hpp"
#include "designer/schedules/schedule_result.hpp"
#include "workflow/exchange_request.hpp"

namespace coppice::designer {

/// An exchange with the links that limit it.
struct ShownExchange {
  workflow::NamedExchange exchange;
  std::vector<workflow::CutLinks> limits;
};

/// How long exchanges take on one state of a fabric, or why that is not known. Immutable.
struct ExchangeAnswer : PanelAnswer {
  std::optional<fabric::Fabric> fabric = {};
  /// The file that gave the bytes; empty where they were computed or pasted.
  std::string demandFile = {};
  std::vector<ShownExchange> exchanges = {};  ///< the dispatch as placed goes first, where the placement was improved
  alltoall::ExpertPlacement givenPlacement = {};
  alltoall::ExpertPlacement placement = {};
};
using ExchangeAnswerPtr = std::shared_ptr<const ExchangeAnswer>;

/// For another thread. After a stop the answer is worthless.
[[nodiscard]] ExchangeAnswerPtr answerExchange(const Snapshot& snapshot, const workflow::Values& values,
                                               const Progress& progress);

/// "Dispatch"
[[nodiscard]] QString exchangeTitle(const workflow::NamedExchange& exchange);

/// The routing of an exchange as a schedule, verified and measured. It can be generated again: its options have the
/// file of the bytes, or the bytes themselves. Meant for another thread. Errors: those of alltoall::scheduleOf and
/// examineSchedule.
[[nodiscard]] Result<ScheduleResultPtr> scheduleExchange(const fabric::Description& facts, const ExchangeAnswer& answer,
                                                         std::size_t index, const Progress& progress);

}  // namespace coppice::designer
