// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "schedule/forest.hpp"
#include "simulate/job.hpp"

namespace coppice::simulate {

/// Trees as messages: every edge of a tree is a connection that sends the tree's pieces in order. In an out-tree a
/// piece leaves a GPU when it has arrived there; in an in-tree when it has arrived from all children. The repeats
/// of a run are the pieces of every tree. Equal trees of one entry go side by side.
///
/// Where a switch multicasts or adds up, an edge takes only the links beyond it; its message starts like any other.
///
/// One job for each half: the halves of an allreduce run after each other, as its algbw counts them.
///
/// Errors: badInput (a schedule of another fabric; a route along a missing link), limit (the trees, written out, need
/// more than schedule::kMaxWrittenBytes), overflow, cancelled.
[[nodiscard]] Result<std::vector<Job>> forestJobs(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                                  const Model& model, const Progress& progress = {});

}  // namespace coppice::simulate
