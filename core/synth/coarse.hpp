// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "synth/problem.hpp"

namespace coppice::synth {

/// The problem with one arc for each pair of ranks that reach each other directly, and limits that hold for every
/// route: what leaves or enters a rank, or a part of the fabric that its links and lower switches join, over the links
/// that do so. Every solution of the problem is one of this problem, so bounds of this one hold for it; and it stays
/// small where there are many routes. @pre the topology has its links
[[nodiscard]] Problem coarse(const Problem& problem);

}  // namespace coppice::synth
