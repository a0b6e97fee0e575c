// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/collective.hpp"
#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/rows.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "lowering/lowering.hpp"
#include "lowering/moves.hpp"
#include "program/program.hpp"
#include "schedule/forest.hpp"

/// Internal to core/lowering: what has to be moved, before any threadblock exists.
namespace coppice::lowering {

/// One spanning tree by rank; the same shape serves in-trees and out-trees.
struct TreeShape {
  int root = 0;
  std::vector<int> parent;        ///< by rank, -1 at the root
  std::vector<int> breadthFirst;  ///< all ranks, root first
  Rows<int> children;             ///< by rank
  std::vector<int> depth;         ///< hops from the root
  std::vector<int> height;        ///< hops to the deepest leaf below
  std::vector<Parity> parityOf;   ///< by child rank: of the edge to its parent
};

/// A run of chunks that always moves as one: along one in-tree, one out-tree, or first one and then the other.
struct Part {
  int root = 0;
  int start = 0;  ///< chunk in the full buffer of one instance
  int count = 0;  ///< 1 .. the runtime's count limit
  int reduceTree = -1;
  int broadcastTree = -1;
};

/// Which way one phase's messages run. A message is named by the tree edge's child end.
enum class Phase { reduce, broadcast };

/// All data movement of one instance.
struct Work {
  Collective collective = Collective::allgather;
  int gpuCount = 0;
  int root = -1;            ///< broadcast and reduce
  int chunks = 0;           ///< full buffer
  int rootChunks = 0;       ///< the most of one root: k without its common divisor
  std::vector<int> slices;  ///< by rank, its first chunk; one more at the end (allgather, reduce_scatter); else empty
  Bandwidth algbw;          ///< for choosing the number of channels
  std::vector<Part> parts;  ///< ascending by start
  std::vector<TreeShape> reduceTrees;
  std::vector<TreeShape> broadcastTrees;
  std::vector<Phase> phases;  ///< in order of time: one, or two for allreduce

  [[nodiscard]] const TreeShape& tree(int part, Phase phase) const {
    const Part& p = parts[part];
    return phase == Phase::reduce ? reduceTrees[p.reduceTree] : broadcastTrees[p.broadcastTree];
  }
  [[nodiscard]] bool hasPhase(Phase phase) const {
    return phase == Phase::reduce ? phases.front() == Phase::reduce : phases.back() == Phase::broadcast;
  }
  /// Messages are numbered part by part, phase by phase, child by child; the root's own number stays unused.
  [[nodiscard]] int messageCount() const { return static_cast<int>(parts.size() * phases.size()) * gpuCount; }
  [[nodiscard]] int message(int part, Phase phase, int childRank) const {
    const int at = phases.size() == 2 && phase == Phase::broadcast ? 1 : 0;
    return (part * static_cast<int>(phases.size()) + at) * gpuCount + childRank;
  }
  [[nodiscard]] int partOf(int message) const { return message / gpuCount / static_cast<int>(phases.size()); }
  [[nodiscard]] Phase phaseOf(int message) const {
    return phases[static_cast<std::size_t>(message / gpuCount) % phases.size()];
  }
  [[nodiscard]] int childOf(int message) const { return message % gpuCount; }
};

/// Reads the schedule's trees into parts. Errors: badInput for a schedule that does not fit the fabric or is not made
/// of spanning trees; limit where the collective cannot be cut into equal chunks the runtime can address.
/// Throws OverflowError, CancelledError.
Result<Work> makeWork(const fabric::Fabric& fabric, const schedule::Schedule& schedule, const Options& options,
                      const Progress& progress);

/// The same with parts of at most `max` chunks. A step passes data on when it has all of it, so long chains of steps
/// with large counts are slow to fill.
[[nodiscard]] Work withSmallerParts(const Work& work, int max);

/// What would make a program fit that is too large.
[[nodiscard]] std::string suggestedFix(const Work& work, const Options& options);

}  // namespace coppice::lowering
