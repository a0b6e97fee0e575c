// SPDX-License-Identifier: Apache-2.0
#include "workflow/sculpt.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"
#include "forestcoll/repair/overlapped.hpp"
#include "schedule/expansion.hpp"
#include "schedule/fixed_k.hpp"
#include "schedule/link_loads.hpp"
#include "workflow/guarded.hpp"
#include "workflow/make_schedule.hpp"

namespace coppice::workflow {
namespace {

using schedule::Schedule;

using fabric::Fabric;
using fabric::NodeIndex;
using schedule::Forest;
using schedule::NewParent;

template <typename AnySchedule>
auto& forestOf(AnySchedule& schedule, std::size_t half) {
  return half == 0 ? schedule.reduceForest : schedule.broadcastForest;
}

/// What of which half is to change: the tree that was asked for first, then its mirror image.
struct HalfChange {
  std::size_t half = 1;
  NewParent change;          ///< with its route
  schedule::RouteChange of;  ///< its links
};

NewParent mirrored(const Fabric& fabric, const NewParent& change, std::int64_t tree) {
  NewParent result = change;
  result.tree = tree;
  std::ranges::reverse(result.route);
  for (std::size_t i = 0; i + 1 < result.route.size(); ++i) {
    if (!fabric.findArc(result.route[i], result.route[i + 1])) {
      throw Failure{{ErrorCode::infeasible,
                     "the other half has the same tree turned round, and the link from " +
                         inQuotes(fabric.nodes()[result.route[i + 1]].id) + " to " +
                         inQuotes(fabric.nodes()[result.route[i]].id) + " has no way back",
                     "choose a route of links with both directions"}};
    }
  }
  return result;
}

std::vector<HalfChange> changesOf(const Fabric& fabric, const Schedule& schedule, std::size_t half,
                                  const NewParent& change) {
  const std::optional<Forest>& forest = forestOf(schedule, half);
  if (!forest) {
    throw Failure{{ErrorCode::badUsage, "the schedule has no trees of that half", "choose one of its trees"}};
  }
  std::vector<HalfChange> changes{{half, change, orThrow(schedule::routeChange(fabric, *forest, change))}};
  changes[0].change.route = changes[0].of.route;
  if (const std::optional<Forest>& other = forestOf(schedule, 1 - half)) {
    if (const auto tree = schedule::mirroredTree(*forest, change.tree, *other)) {
      const NewParent back = mirrored(fabric, changes[0].change, *tree);
      changes.push_back({1 - half, back, orThrow(schedule::routeChange(fabric, *other, back))});
    }
  }
  return changes;
}

/// What the busiest link of the loads needs.
struct Needed {
  InverseBandwidth scale;
  std::int32_t arc = 0;
  std::int64_t trees = 0;
};

Needed neededBy(const Fabric& fabric, const std::vector<std::int64_t>& loads) {
  Needed needed;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const InverseBandwidth scale = Rational(loads[i]) / fabric.arcs()[i].bandwidth;
    if (scale > needed.scale) {
      needed = {scale, static_cast<std::int32_t>(i), loads[i]};
    }
  }
  return needed;
}

std::vector<std::int64_t> sumOf(std::vector<std::int64_t> loads, const std::vector<std::int64_t>& others) {
  for (std::size_t i = 0; i < loads.size(); ++i) {
    loads[i] = checkedAdd(loads[i], others[i]);
  }
  return loads;
}

/// GB/s of halves that run one after the other, by the trees and the scale of each.
Bandwidth inSequence(const std::vector<std::pair<std::int64_t, InverseBandwidth>>& halves) {
  InverseBandwidth time;
  for (const auto& [trees, scale] : halves) {
    time += scale / Rational(trees);
  }
  return time.inverse();
}

/// algbw of the forests as they are, and k where that is below the bound.
void restate(const Fabric& fabric, Schedule& schedule, const Progress& progress) {
  if (schedule.overlapped) {
    // Both share the links, and have one scale.
    const auto loadsOf = [&](const Forest& forest) {
      return schedule::linkLoads(fabric, forest, {.ownCopies = schedule.ownCopies}, progress);
    };
    const auto loads = sumOf(loadsOf(*schedule.reduceForest), loadsOf(*schedule.broadcastForest));
    schedule.reduceForest->scale = schedule.broadcastForest->scale = neededBy(fabric, loads).scale;
    schedule.algbw = schedule.broadcastForest->algbw();
    return;
  }
  std::vector<std::pair<std::int64_t, InverseBandwidth>> halves;
  for (const auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
    if (*forest) {
      halves.emplace_back((*forest)->treeCount(), (*forest)->scale);
    }
  }
  schedule.algbw = inSequence(halves);
  if (schedule.algbw < schedule.bound && !schedule.fixedK) {
    schedule::stateFixedK(schedule);
  }
}

}  // namespace

Result<Sculpted> sculpted(const Fabric& fabric, const Schedule& schedule, std::size_t half, const NewParent& change,
                          const Progress& progress) {
  return guarded<Sculpted>([&]() -> Result<Sculpted> {
    const std::vector<HalfChange> changes = changesOf(fabric, schedule, half, change);
    Sculpted result{schedule, half, change.tree, changes.size() > 1};
    for (const HalfChange& each : changes) {
      auto& forest = forestOf(result.schedule, each.half);
      forest = orThrow(schedule::expanded(*forest, fabric, schedule::kMaxWrittenBytes, progress));
      schedule::EditedForest edited = orThrow(schedule::withNewParent(fabric, *forest, each.change, progress));
      forest = std::move(edited.forest);
      if (each.half == half) {
        result.tree = edited.tree;
      }
    }
    restate(fabric, result.schedule, progress);
    if (const auto verdict = requireVerified(fabric, result.schedule, progress); !verdict) {
      return verdict.error();
    }
    return result;
  });
}

Result<Forecast> forecast(const Fabric& fabric, const Schedule& schedule, LoadsOfHalves loads, std::size_t half,
                          const NewParent& change) {
  return guarded<Forecast>([&]() -> Result<Forecast> {
    const std::vector<HalfChange> changes = changesOf(fabric, schedule, half, change);
    for (const HalfChange& each : changes) {
      for (const std::int32_t arc : each.of.freed) {
        --loads[each.half][arc];
      }
      for (const std::int32_t arc : each.of.taken) {
        loads[each.half][arc] = checkedAdd(loads[each.half][arc], std::int64_t{1});
      }
    }
    Forecast result{{}, changes[0].of.route, 0, 0, changes.size() > 1};
    if (schedule.overlapped) {
      const Needed needed = neededBy(fabric, sumOf(loads[0], loads[1]));
      result.algbw = Rational(schedule.broadcastForest->treeCount()) / needed.scale;
      result.busiestArc = needed.arc;
      result.treesOnIt = needed.trees;
      return result;
    }
    std::vector<std::pair<std::int64_t, InverseBandwidth>> halves;
    std::optional<Needed> worst;
    for (const std::size_t each : {std::size_t{0}, std::size_t{1}}) {
      const std::optional<Forest>& forest = forestOf(schedule, each);
      if (!forest) {
        continue;
      }
      const bool isChanged =
          std::ranges::any_of(changes, [&](const HalfChange& changed) { return changed.half == each; });
      const Needed needed = neededBy(fabric, loads[each]);
      // A half that stays keeps its scale, which may be more than its links need.
      halves.emplace_back(forest->treeCount(), isChanged ? needed.scale : forest->scale);
      if (!worst || (isChanged && each == half)) {
        worst = needed;
      }
    }
    result.algbw = inSequence(halves);
    result.busiestArc = worst->arc;
    result.treesOnIt = worst->trees;
    return result;
  });
}

Result<forestcoll::Repaired> aroundLocked(const fabric::Fabric& fabric, const Schedule& schedule,
                                          const std::array<forestcoll::LockedTrees, 2>& locked,
                                          const Progress& progress) {
  return guarded<forestcoll::Repaired>([&]() -> Result<forestcoll::Repaired> {
    if (locked[0].empty() && locked[1].empty()) {
      return Error{ErrorCode::badUsage, "no tree is locked", "lock the trees that are to stay"};
    }
    forestcoll::RepairOptions options;
    options.locked = locked;
    auto made = schedule.overlapped ? forestcoll::aroundLockedHalves(fabric, schedule, locked, {}, progress)
                                    : orThrow(forestcoll::repaired(fabric, schedule, fabric, options, progress));
    if (const auto verdict = requireVerified(fabric, made.schedule, progress); !verdict) {
      return verdict.error();
    }
    return made;
  });
}

}  // namespace coppice::workflow
