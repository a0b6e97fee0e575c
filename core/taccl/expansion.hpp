// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/collective.hpp"
#include "sketch/plan.hpp"
#include "taccl/decoder.hpp"
#include "taccl/problem.hpp"

namespace coppice::taccl {

/// What the decoder makes of a solution for one chunk of each orbit, for all chunks; sorted as in a plan.
[[nodiscard]] std::vector<sketch::Message> expand(const Problem& problem, Collective collective,
                                                  const Solution& solution);

/// By start, then link and chunks.
void sortMessages(std::vector<sketch::Message>& messages);

}  // namespace coppice::taccl
