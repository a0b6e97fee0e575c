// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "command.hpp"
#include "workflow/compare.hpp"

/// What `compare` and `best` both say.
namespace coppice::cli {

/// The exact figures of each: "schedules".
void describeContenders(std::span<const workflow::Contender> contenders, Report& report);
/// Times of each by size, the best at each size, and from which size on to use which.
void describeTimes(std::span<const workflow::Contender> contenders, const workflow::Comparison& comparison,
                   Report& report);
/// The bands alone: "switch_over".
void describeBands(std::span<const workflow::Contender> contenders, const workflow::Comparison& comparison,
                   Report& report);
/// What came of each method: "methods".
void describeTried(std::span<const workflow::Tried> tried, Report& report);
/// Methods that did not make a schedule, or not one that can be exported, with their reasons, under this key.
void describeRefused(std::span<const workflow::Refused> refused, const char* key, Report& report);

}  // namespace coppice::cli
