// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "schedule/forest.hpp"
#include "simulate/job.hpp"

namespace coppice::simulate {

inline constexpr std::int64_t kNoMessageLimit = std::numeric_limits<std::int64_t>::max();

/// Roots whose trees are simulated, of all.
struct Sample {
  std::int64_t roots = 0;
  std::int64_t of = 0;

  [[nodiscard]] bool isPart() const { return roots < of; }
};

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
/// With a limit of messages, the trees of some roots stand for all where there would be more: those of whole boxes,
/// spread evenly, each as heavy as the trees that it stands for. Every root must have as many trees as the others.
///
/// Errors: badInput (a schedule of another fabric; a route along a missing link; overlapping halves with different
/// shares of the roots), limit (the trees, written out, need more than schedule::kMaxWrittenBytes; more than
/// maxMessages where no roots can stand for the others), overflow, cancelled.
[[nodiscard]] Result<std::vector<Job>> forestJobs(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                                  const Model& model, const Progress& progress = {},
                                                  std::int64_t maxMessages = kNoMessageLimit);

/// How many roots of the schedule are simulated with that limit; as many as it has where all are.
[[nodiscard]] Sample sampleOf(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                              std::int64_t maxMessages);

}  // namespace coppice::simulate
