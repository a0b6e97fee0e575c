// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"
#include "schedule/step_schedule.hpp"

namespace coppice::schedule {

/// 1 GiB of edges.
inline constexpr std::int64_t kMaxTreeEdges = std::int64_t{1} << 26;

/// The trees that the pieces of the shards travel on. Every point of a shard takes one tree: what stores it spans the
/// GPUs from its owner, what reduces it spans them to its owner. Points that take the same tree are one tree; its
/// multiplicity is their number on the schedule's grid, divided by what all multiplicities have in common. Steps are
/// left out: the trees of a forest are pipelined, so that its throughput is at least that of the steps. Routes stay as
/// they are; transfers without one get a shortest one. An allreduce in one phase without steps becomes halves that
/// overlap.
///
/// States algbw and, as the trees of each root, fixedK, unless halves overlap; neither a bound nor cuts.
/// Errors: badUsage (the collective has no trees; some piece does not travel on a tree, reaches a GPU twice or not at
/// all; an allreduce in phases or steps whose pieces are not owned
/// evenly), limit (more than maxEdges edges), infeasible, overflow,
/// cancelled.
Result<Schedule> forestOf(const fabric::Fabric& fabric, const StepSchedule& schedule,
                          std::int64_t maxEdges = kMaxTreeEdges, const Progress& progress = {});

}  // namespace coppice::schedule
