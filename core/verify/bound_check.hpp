// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/progress.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "schedule/collective_table.hpp"
#include "schedule/forest.hpp"
#include "verify/fault_log.hpp"

/// Upper bounds on throughput, proved by cuts and by max flow. A bound is a rate in GB/s for a direction (out:
/// allgather and broadcast; in: reduce_scatter and reduce, that is out on the transposed fabric) and a demand per rank.
namespace coppice::verify {

/// Sum of the bandwidths that leave (out) or enter (in) S.
[[nodiscard]] Bandwidth crossingBandwidth(const fabric::Fabric& fabric, std::span<const fabric::NodeIndex> nodes,
                                          schedule::Direction direction);

/// Faults of the set itself: out of range, not ascending, holding all GPUs, demand not the sum over its ranks or zero.
[[nodiscard]] bool isSoundCut(const fabric::Fabric& fabric, const schedule::Cut& cut,
                              std::span<const std::int64_t> demand, const ElementRef& element, FaultLog& log);

enum class RateProof {
  tooHigh,     ///< some cut allows less
  achievable,  ///< every GPU can receive the rate, and no cut shows that this is all
  exact        ///< every GPU can receive the rate, and a cut allows no more
};

struct RateVerdict {
  RateProof proof = RateProof::tooHigh;
  fabric::Rank starved = -1;                ///< tooHigh: the GPU that cannot receive it
  std::vector<fabric::NodeIndex> cutNodes;  ///< tooHigh: a cut that forbids it; exact: one that meets it
};

/// Theorem 23 by one LEMON max flow per GPU: source to rank v with x * demand(v), x = rate / total demand; the rate is
/// achievable iff every GPU receives x * total demand. Bandwidths are scaled to integers. Throws OverflowError where
/// they leave 64 bits, CancelledError.
/// @param isTransitive the caller has shown that symmetries of the fabric take rank 0 to every rank, and all ranks have
/// the same demand: the flow to rank 0 is then as large as that to any other, and is enough
[[nodiscard]] RateVerdict proveRate(const fabric::Fabric& fabric, std::span<const std::int64_t> demand,
                                    schedule::Direction direction, const Bandwidth& rate, bool isTransitive,
                                    const Progress& progress);

/// The same for gather and scatter, by one LEMON max flow between the root and all other ranks: exact iff the shards
/// can move at this rate and some node set without the root, which holds data, has no more than that leaving (gather)
/// or entering (scatter) it. tooHigh: `cutNodes` is a set that forbids the rate. @pre gather or scatter with data to
/// move Throws OverflowError.
[[nodiscard]] RateVerdict proveShardRate(const fabric::Fabric& fabric, const schedule::CollectiveTable& goal,
                                         const Bandwidth& rate);

}  // namespace coppice::verify
