// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/progress.hpp"
#include "base/rational.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/repair/kept_trees.hpp"
#include "schedule/expansion.hpp"
#include "schedule/forest.hpp"

/// A schedule for a fabric that has lost parts, with as much as it can keep of the schedule from before.
namespace coppice::forestcoll {

struct RepairOptions {
  /// How much of the changed fabric's optimum may be given up to keep more trees and to need fewer copies: from 0 to
  /// below 1.
  Rational maxLoss = Rational(0);
  /// Every unaffected tree stays, whatever algbw that leaves.
  bool keepAll = false;
  /// By half (reduce, broadcast), in the order of TreeReader: these trees stay, as far as they are unaffected, whatever
  /// algbw that leaves, and all others are packed beside them from scratch.
  std::optional<std::array<LockedTrees, 2>> locked = {};
  int heightEffort = 1;                                    ///< see Request
  std::int64_t maxTreeBytes = schedule::kMaxWrittenBytes;  ///< see Request
};

/// Both forests of an allreduce together. Different trees are counted once, whatever their multiplicity.
struct RepairCount {
  std::int64_t unaffectedTrees = 0;  ///< of the old schedule, of whose copies any may stay
  std::int64_t keptTrees = 0;        ///< of which copies stay
  std::int64_t reroutedTrees = 0;    ///< between the same GPUs along other links: programs send the same
  std::int64_t newTrees = 0;
  Rational unaffected;  ///< share of the data (of the roots that are left) that unaffected copies carry
  Rational kept;        ///< share of the data that stays on its old trees
  Rational rerouted;    ///< share of the data that goes between the same GPUs along other links
};

struct Repaired {
  schedule::Schedule schedule;  ///< of the changed fabric; each root has a multiple of its old trees
  Bandwidth optimum;            ///< of the changed fabric, with switches that only forward
  Bandwidth keepingAll;         ///< what is possible where every unaffected tree stays; 0 = not known
  RepairCount count;
  bool isFromNothing = false;  ///< no repair was found, and the schedule is a new one
};

/// The algbw that the options ask for, at most `optimum`: unaffected trees stay, as long as the rest
/// can be packed beside them in time, and else those that waste links at the cuts are released. Of the others, those
/// stay between the same GPUs for whose edges other routes are found. New trees are made by switch removal and packing,
/// with the copies of each root that are still lost. Which parts have failed is seen from both fabrics, by the ids of
/// nodes. Not verified here. Errors: badUsage (halves that overlap, trees that switches copy or sum, collectives
/// without trees), infeasible (the root has failed, nothing is left to send), limit, overflow, cancelled.
[[nodiscard]] Result<Repaired> repaired(const fabric::Fabric& before, const schedule::Schedule& old,
                                        const fabric::Fabric& after, const RepairOptions& options = {},
                                        const Progress& progress = {});

}  // namespace coppice::forestcoll
