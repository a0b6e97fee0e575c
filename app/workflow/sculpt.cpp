// SPDX-License-Identifier: Apache-2.0
#include "workflow/sculpt.hpp"

#include <optional>
#include <utility>

#include "base/failure.hpp"
#include "schedule/expansion.hpp"
#include "schedule/fixed_k.hpp"
#include "workflow/guarded.hpp"
#include "workflow/make_schedule.hpp"

namespace coppice::workflow {
namespace {

using schedule::Schedule;

/// algbw of the forests as they are, and k where that is below the bound.
void restate(Schedule& schedule) {
  InverseBandwidth time;
  for (const auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
    time += *forest ? (*forest)->algbw().inverse() : InverseBandwidth();
  }
  schedule.algbw = time.inverse();
  if (schedule.algbw < schedule.bound && !schedule.fixedK) {
    schedule::stateFixedK(schedule);
  }
}

void requireApart(const Schedule& schedule) {
  if (schedule.overlapped) {
    throw Failure{{ErrorCode::badUsage,
                   "the halves of this allreduce run at the same time and share the links, so "
                   "that one tree cannot be changed alone",
                   "generate it without overlap"}};
  }
}

}  // namespace

Result<Sculpted> sculpted(const fabric::Fabric& fabric, const Schedule& schedule, std::size_t half,
                          const schedule::NewParent& change, const Progress& progress) {
  return guarded<Sculpted>([&]() -> Result<Sculpted> {
    requireApart(schedule);
    Sculpted result{schedule, half, change.tree};
    auto& forest = half == 0 ? result.schedule.reduceForest : result.schedule.broadcastForest;
    if (!forest) {
      return Error{ErrorCode::badUsage, "the schedule has no trees of that half", "choose one of its trees"};
    }
    forest = orThrow(schedule::expanded(*forest, fabric, schedule::kMaxWrittenBytes, progress));
    schedule::EditedForest edited = orThrow(schedule::withNewParent(fabric, *forest, change, progress));
    forest = std::move(edited.forest);
    result.tree = edited.tree;
    restate(result.schedule);
    if (const auto verdict = requireVerified(fabric, result.schedule, progress); !verdict) {
      return verdict.error();
    }
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
    auto made = orThrow(forestcoll::repaired(fabric, schedule, fabric, options, progress));
    if (const auto verdict = requireVerified(fabric, made.schedule, progress); !verdict) {
      return verdict.error();
    }
    return made;
  });
}

}  // namespace coppice::workflow
