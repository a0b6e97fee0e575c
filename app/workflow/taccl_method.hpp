// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "sketch/model.hpp"
#include "taccl/synthesis.hpp"
#include "workflow/method.hpp"

namespace coppice::workflow {

/// TACCL with a sketch that the program proposes (sketch::propose).
[[nodiscard]] Method tacclMethod();

/// Makespan and bound of a plan, with what proves it, and how the search went. Times are in the model's unit.
/// @param unit of the times, for people: " us"
[[nodiscard]] std::vector<Fact> planFacts(const sketch::Model& model, const taccl::Synthesis& synthesis,
                                          const std::string& unit);

}  // namespace coppice::workflow
