// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/collective.hpp"
#include "base/result.hpp"
#include "schedule/collective_table.hpp"
#include "synth/topology.hpp"

namespace coppice::synth {

/// Chunks that start at the same ranks and must reach the same ranks.
struct ChunkClass {
  std::vector<bool> pre;
  std::vector<bool> post;
};

/// A flow that the chunks of a group must be able to make together, per unit of chunks per class.
struct Requirement {
  int group = 0;                       ///< whose sends carry it
  std::map<int, std::int64_t> supply;  ///< by rank; positive
  std::map<int, std::int64_t> demand;  ///< by rank; positive
};

/// A collective without reductions on a topology, in the terms of the paper's section 3.2. An instance has `n` chunks
/// in each class; chunk i of class c is numbered c * n + i.
struct Problem {
  Topology topology;
  std::vector<ChunkClass> classes;
  /// The chunk count C that people state, per chunk of each class: C = n * divisor.
  std::int64_t divisor = 1;
  /// Groups of classes whose sends may be added up without losing a bound: all of one source, or of one destination.
  int groups = 0;
  std::vector<int> groupOf;  ///< by class
  std::vector<Requirement> requirements;
  /// One flow decides: every chunk has one source and one destination, and either all sources or all destinations are
  /// the same.
  bool isSingleFlow = false;
};

/// A send of one chunk over one arc in one step, from 0.
struct Send {
  int chunk = 0;
  int arc = 0;
  int step = 0;

  friend auto operator<=>(const Send&, const Send&) = default;
};

/// Rounds of each step and sends; the sends in order of steps.
struct Steps {
  std::vector<std::int64_t> rounds;
  std::vector<Send> sends;
};

/// The problem of a collective whose chunks are not combined, or, for reduce and reduce_scatter, of the dual collective
/// on the transposed fabric (broadcast, allgather): invert() turns its solution round. Errors: badUsage (allreduce,
/// a missing root, shards of unequal shares), infeasible (a destination that no source reaches).
Result<Problem> problemOf(Topology topology, const schedule::CollectiveTable& goal);

/// The same on a fabric: transposed where the dual collective is solved. Errors: those of topologyOf too; badInput
/// (nothing has to be sent).
Result<Problem> problemOn(const fabric::Fabric& fabric, const schedule::CollectiveTable& goal, const UnitChoice& unit);

/// The collective that is solved in place of one that combines; others are their own.
[[nodiscard]] Collective dualOf(Collective collective);

/// How many chunks that people count go into one chunk of each class.
[[nodiscard]] std::int64_t divisorOf(const schedule::CollectiveTable& goal);

/// Greatest number of hops from a source to a destination: no schedule has fewer steps.
[[nodiscard]] int minSteps(const Problem& problem);

/// Plays the steps: nullopt where they solve the instance, else what is wrong. Used to check results of the search;
/// core/verify judges the schedule again, from the fabric alone.
[[nodiscard]] std::optional<std::string> faultOf(const Problem& problem, std::int64_t n, const Steps& steps);

/// Drops sends that bring a rank what it has or gets from another, and sends that no rank needs: then every rank gets
/// each chunk at most once.
void prune(const Problem& problem, std::int64_t n, Steps& steps);

}  // namespace coppice::synth
