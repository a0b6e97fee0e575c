// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "base/units.hpp"
#include "fabric/fabric.hpp"

namespace coppice::lp {

/// By node: the number of its set, from 0 on; -1 for switches and nics outside all sets.
using Partition = std::vector<int>;

/// What no allreduce by trees can beat, in GB/s, by one line of arithmetic instead of the linear program of B.7.
///
/// Let Q_1 .. Q_p be disjoint node sets that together hold all GPUs, each at least one. With the shares c (broadcast)
/// and r (reduction) of the links, c + r <= b, and X = sum of x, the program demands in_c(Q_i) + x(Q_i) >= X and
/// out_r(Q_i) + x(Q_i) >= X. Summed over i: sum in_c(Q_i) >= (p-1) X, and the same for out_r. Outside the sets there
/// are only relays, which c leaves balanced, so sum out_c(Q_i) = sum in_c(Q_i). Together
///
///     2 (p-1) X <= sum out_c(Q_i) + sum out_r(Q_i) <= sum B+(Q_i),    and likewise with what enters.
///
/// Reduce-scatter then allgather reaches this wherever its bottleneck cuts are the Q_i of such a partition: equal GPUs,
/// equal boxes. @pre p >= 2 sets that cover all GPUs. Throws OverflowError.
[[nodiscard]] Bandwidth allreducePartitionBound(const fabric::Fabric& fabric, const Partition& partition);

/// Partitions that a fabric suggests: single GPUs, and boxes of every level of nesting.
[[nodiscard]] std::vector<Partition> naturalPartitions(const fabric::Fabric& fabric);

}  // namespace coppice::lp
