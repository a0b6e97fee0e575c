// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/checked.hpp"
#include "base/progress.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"
#include "verify/fault_log.hpp"

namespace coppice::verify {

/// What the forest must be, and how to call it.
struct ForestExpectation {
  schedule::Direction direction = schedule::Direction::out;
  /// Relative data per rank; trees per root must be in this proportion. Empty: any trees per root, at least one in all.
  std::vector<std::int64_t> demand;
  std::optional<std::int64_t> fixedK;  ///< then trees per root must be fixedK * demand
  std::string name = "forest";         ///< "reduce forest" and "broadcast forest" where a schedule has two
  std::int64_t maxEdges = 0;           ///< of forests with rotations that have more, see isBySymmetry
  bool ownCopies = false;              ///< as schedule::Schedule::ownCopies
  /// Another forest uses the links at the same time: the caller compares the loads with the capacities (checkLoads).
  bool sharesLinks = false;
};

/// What the trees say, whatever the schedule claims.
struct ForestFacts {
  Bandwidth algbw;  ///< K / scale, GB/s; 0 where the forest is too broken to have one
  /// Largest load / bandwidth over arcs, trees per GB/s; the scale that limits it where it leaves 64 bits.
  InverseBandwidth busiestLoad;
  /// Only the trees of rank 0 were read, and the rotations were shown to be symmetries (symmetry_check.hpp).
  bool isBySymmetry = false;
  /// Trees by arc, where the forest shares the links; empty where it is too broken to have loads.
  std::vector<Int128> loadOfArc = {};
};

/// Trees, routes, pruning, multiplicities and loads of one forest, in time linear in its edges and routes. Believes
/// nothing about indices. A rotation that is not a symmetry is a fault where only the trees of rank 0 are read, even
/// if its images happen to fit. Faults go to the log. Throws OverflowError, CancelledError.
ForestFacts checkForest(const fabric::Fabric& fabric, const schedule::Forest& forest,
                        const ForestExpectation& expectation, FaultLog& log, const Progress& progress);

/// Faults of links that carry more than floor(scale * bandwidth) trees. Returns what ForestFacts::busiestLoad is.
/// @param whose "" or " of both forests", in the text  @param owner where the links are named: a forest, or nothing
/// Throws OverflowError.
InverseBandwidth checkLoads(const fabric::Fabric& fabric, std::span<const Int128> loadOfArc,
                            const InverseBandwidth& scale, std::string_view whose, const ElementRef& owner,
                            FaultLog& log);

}  // namespace coppice::verify
