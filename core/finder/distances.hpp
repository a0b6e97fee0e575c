// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/progress.hpp"
#include "base/rational.hpp"
#include "base/result.hpp"
#include "finder/finder.hpp"
#include "finder/profile.hpp"

/// Distances, which bound the time of an all-to-all: T_A M/B, where M is the buffer of a node. Every pair's bytes use
/// at least as many links as their distance, so that T_A is at least the mean distance over all pairs, a node and
/// itself included (A.1.5 with all lengths 1).
namespace coppice::finder {

/// From the jobs of one target, where all have as many nodes at each distance.
[[nodiscard]] Rational meanDistance(const Profile& profile, int nodes);
/// Nodes from which distances are measured: one where the entry is symmetric, of a line graph of such a one those that
/// begin at one node of it, else all.
[[nodiscard]] std::int64_t distanceStarts(const Entry& entry);
/// On the built graph, from these nodes. Throws CancelledError. Errors: those of build().
[[nodiscard]] Result<Rational> meanDistance(const Entry& entry, const Progress& progress = {});
/// The least of any graph of that many nodes and links (Moore). @pre nodes >= 2, degree >= 1
[[nodiscard]] Rational leastMeanDistance(std::int64_t nodes, std::int64_t degree);

/// Of three goals: no other entry has as few steps, as low a T_B and as low a mean distance. Ascending by steps, then
/// T_B. Of equals as paretoFront. @pre all entries have a mean distance
[[nodiscard]] std::vector<Entry> paretoFrontOfThree(std::vector<Entry> entries);

}  // namespace coppice::finder
