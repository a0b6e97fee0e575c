// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/progress.hpp"
#include "sketch/plan.hpp"
#include "taccl/problem.hpp"

namespace coppice::taccl {

/// What no schedule of the problem is shorter than, symmetric or not.
struct Bound {
  Ticks time = 0;
  sketch::BoundReason reason;
};

/// The largest of several relaxations, each of which drops all of a schedule but one machine or one cut. Sets of GPUs
/// are cut in nodes of up to 8. Cancelling leaves relaxations out.
[[nodiscard]] Bound lowerBound(const Problem& problem, const Progress& progress = {});

/// No schedule of the problem that uses only these orbits of links within nodes is shorter; the largest number where
/// they do not join all. Quick: paths and links between nodes alone.
[[nodiscard]] Ticks lowerBoundWithin(const Problem& problem, const std::vector<char>& linkOrbits);

/// The minimum time in which batches of jobs, each batch taking alpha + size * beta on one machine and then
/// spread[size - 1] more beside others, are at their end. `ready` ascends. 0 for no job.
[[nodiscard]] Ticks batchTime(const std::vector<Ticks>& ready, Ticks alpha, Ticks beta,
                              const std::vector<Ticks>& spread);

/// The minimum time in which n chunks arrive in batches at a GPU that sends all but `own` of them on, one at a time,
/// each taking `forward`.
[[nodiscard]] Ticks forwardTime(int n, int own, Ticks alpha, Ticks beta, int max, Ticks forward);

}  // namespace coppice::taccl
