// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "forestcoll/packing/growth.hpp"

namespace coppice::forestcoll {

/// Near-optimal forests under a cap on their height: what is given up is throughput, and how much is exact.
///
/// More capacity per tree (a larger U) gives the packing room to stay low. U is raised in steps until a forest of at
/// most that height is found, then halved in towards the last that failed. The scale of the result is not U but what
/// its trees really need: the largest load / bandwidth. "Best" is best found: whether a lower U would do is not proved.
/// @param optimal the problem at the throughput optimum, with its U as scale
/// Throws Failure: infeasible where no tree of that height exists, limit where none was found; OverflowError,
/// CancelledError.
[[nodiscard]] schedule::Forest growUnderCap(const fabric::Fabric& fabric, const GrowthProblem& optimal,
                                            const GrowthOptions& options, const Progress& progress, StageClock& clock);

}  // namespace coppice::forestcoll
