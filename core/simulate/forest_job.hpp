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
/// With own copies (Schedule::ownCopies), the link back to a GPU that sends to such a switch, or from a GPU that takes
/// the sum there, carries one message more: the copy is part of the result, the own contribution part of the sum.
///
/// One job for each half: the halves of an allreduce run after each other, as its algbw counts them. Where they
/// overlap, one job has both, and a piece leaves its root when the sum of that piece has arrived there. Labels of the
/// out-trees then go on where those of the in-trees end.
///
/// Errors: badInput (a schedule of another fabric; a route along a missing link; overlapping halves with different
/// shares of the roots), limit (the trees, written out, need
/// more than schedule::kMaxWrittenBytes), overflow, cancelled.
[[nodiscard]] Result<std::vector<Job>> forestJobs(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                                  const Model& model, const Progress& progress = {});

}  // namespace coppice::simulate
