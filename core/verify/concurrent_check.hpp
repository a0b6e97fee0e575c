// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "schedule/concurrent.hpp"

/// Judges what proves the rate of several collectives at once (schedule/concurrent.hpp) from the fabric alone.
namespace coppice::verify {

/// What the prices prove: L is at most this. Checks that every symmetry keeps kinds, links, bandwidths, prices, relays
/// and groups, so that one group of those that they take to each other shows what all demand; then finds distances by
/// relaxing arcs and cheapest trees by contracting cycles. Errors: verification (one price for each arc, none negative,
/// not all demands 0; a symmetry that is none), overflow, cancelled.
Result<Bandwidth> provenConcurrentBound(const fabric::Fabric& fabric, const schedule::ConcurrentDemand& demand,
                                        const schedule::ConcurrentProof& proof, const Progress& progress = {});

/// What the trees reach: L is at least this. Checks the symmetries in the same way; that paths are links one after the
/// other over nodes that the group may use, that the paths of a tree reach every member (or come from every one) from
/// where data are, and that every root of every group has trees, its own or those of an image. A link carries the mean
/// of what its images carry. Errors: verification naming the tree, overflow, cancelled.
Result<Bandwidth> provenConcurrentRate(const fabric::Fabric& fabric, const schedule::ConcurrentDemand& demand,
                                       const schedule::ConcurrentProof& proof, const Progress& progress = {});

/// The shares of all groups fit the links together, and each group has only links between nodes that it may use.
/// Errors: verification naming the link; overflow.
[[nodiscard]] Outcome checkShares(const fabric::Fabric& fabric, const schedule::ConcurrentDemand& demand,
                                  const schedule::LinkShares& shares);

}  // namespace coppice::verify
