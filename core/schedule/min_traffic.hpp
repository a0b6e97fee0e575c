// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/progress.hpp"
#include "base/rational.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "schedule/collective_table.hpp"

namespace coppice::schedule {

inline constexpr int kMaxMinTrafficGpus = 2048;

/// The minimum traffic of a collective, where switches do not copy or add up: bytes over all links per byte of M.
/// alltoall, gather and scatter: the sum over shards of the links between source and destination. allgather, broadcast,
/// reduce and reduce_scatter: a minimum spanning tree over the GPUs, weighted by links; allreduce: two of them.
/// Absent for custom collectives, for more than kMaxMinTrafficGpus GPUs, and for trees where two GPUs are not equally
/// far apart in both directions. Errors: infeasible (GPUs that are not joined), overflow, cancelled.
[[nodiscard]] Result<std::optional<Rational>> minTraffic(const fabric::Fabric& fabric, const CollectiveTable& goal,
                                                         const Progress& progress = {});

}  // namespace coppice::schedule
