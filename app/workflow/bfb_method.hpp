// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "bfb/schedule.hpp"
#include "workflow/front_method.hpp"
#include "workflow/generator.hpp"

namespace coppice::workflow {

/// Breadth-first broadcast, with the number of chunks and the removal of switches.
[[nodiscard]] Generator bfbMethod();
/// In steps and as trees; through switches where there are any.
[[nodiscard]] FrontMethod bfbFront();
[[nodiscard]] std::vector<Option> bfbOptions();
/// What BFB is asked with these options. Errors: badUsage.
[[nodiscard]] Result<bfb::Request> bfbRequest(const Demand& demand, const OptionValues& values);

}  // namespace coppice::workflow
