// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <memory>

#include "designer/jobs/timed_answer.hpp"
#include "workflow/frontier_request.hpp"

namespace coppice::designer {

/// The priced networks, or why there are none. Immutable.
struct FrontierAnswer : TimedAnswer {
  bom::Parts parts = {};
  bool isSample = false;
  bool hasStep = false;  ///< a training step was asked for
  workflow::Frontier frontier = {};
  workflow::StepUnit stepUnit = workflow::stepUnit(0);
};
using FrontierAnswerPtr = std::shared_ptr<const FrontierAnswer>;

/// For another thread. After a stop the answer is worthless.
[[nodiscard]] FrontierAnswerPtr searchFrontier(const workflow::Values& values, const Progress& progress);

/// "206.45", or "200 to 206.45" where what is known to be reached is less than the bound.
[[nodiscard]] QString rangeText(const Bandwidth& reached, const Bandwidth& upper);
/// "30.11", or why there is none.
[[nodiscard]] QString stepText(const workflow::NetworkBounds& bounds, const workflow::StepUnit& unit);
/// "8 Switch 32 x 400G, 64 NIC 1 x 400G … 128 cables of 0.6 to 4.05 m in 3 racks"
[[nodiscard]] QString billText(const bom::Bill& bill, const bom::Parts& parts);

}  // namespace coppice::designer
