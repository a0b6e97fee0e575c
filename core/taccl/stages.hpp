// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "sketch/plan.hpp"
#include "taccl/problem.hpp"
#include "taccl/search.hpp"
#include "taccl/send_graph.hpp"

/// The three stages of the paper: a mixed-integer program chooses ways, a heuristic their order, a second program the
/// chunks that go together. Programs are solved in floating point by another program; what is kept of them are choices,
/// and all times are computed from these exactly.
namespace coppice::taccl {

/// How one stage went.
struct StageReport {
  std::string part;    ///< of an allreduce: "reduce_scatter" or "allgather"
  std::string stage;   ///< "routing", "ordering", "scheduling"
  std::string status;  ///< "optimal", "feasible", "undecided"; of ordering "heuristic"
  double seconds = 0;
  Rational makespan;            ///< in the terms of the stage: routing pays the alpha of every chunk
  std::optional<double> cost;   ///< what the program minimizes: makespan and, by the policy, connections
  std::optional<double> bound;  ///< of that cost, as the solver states it
  std::string reason;           ///< of undecided
};

struct StageOptions {
  double seconds = 60;
  int threads = 1;
  std::uint64_t seed = 1;
  bool usesSymmetry = true;
  ConnectionGoal goal = ConnectionGoal::free;
  /// Called with each better makespan.
  std::function<void(Ticks makespan)> onBetter = {};
};

/// What the first stage decides.
struct Routing {
  Trees trees;
  StageReport report;
  std::vector<std::string> ignored;  ///< offsets that do not keep what is sent
};

/// By item with a send: its place in the one order that all machines keep, and what starts a message. The first stage's
/// trees with times that follow from both.
struct Timetable {
  std::vector<Ticks> start;  ///< by item
  std::vector<Ticks> end;    ///< by item
  std::vector<int> message;  ///< by item between nodes: equal for those that go together
  Ticks makespan = 0;
};

/// Throws CancelledError. Errors: infeasible, limit, those of lp::solveMixed.
Result<Routing> chooseRoutes(const Problem& problem, const SendGraph& graph, Collective collective, int root,
                             const StageOptions& options, double seconds, const Progress& progress);

/// The items with a send in the order in which each machine takes them.
[[nodiscard]] std::vector<int> orderSends(const Problem& problem, const SendGraph& graph, const Trees& trees,
                                          const Progress& progress);

/// Times of sends in a given order; `isFirst`, by item: starts a message. nullopt where the order cannot be kept.
[[nodiscard]] std::optional<Timetable> timetableOf(const Problem& problem, const SendGraph& graph, const Trees& trees,
                                                   const std::vector<int>& order, const std::vector<char>& isFirst);

struct Scheduling {
  Timetable times;
  StageReport report;
};

/// Errors: those of lp::solveMixed. A cancellation keeps what there is.
Result<Scheduling> scheduleSends(const Problem& problem, const SendGraph& graph, const Trees& trees,
                                 const std::vector<int>& order, const StageOptions& options, double seconds,
                                 const Progress& progress);

struct Staged {
  std::vector<sketch::Message> messages;
  Ticks makespan = 0;
  std::vector<StageReport> stages;
  std::vector<std::string> ignored;  ///< offsets, as Problem::ignored
};

/// All three. `problem` has all chunks (no symmetry is divided out). A cancellation after the second stage keeps what
/// there is; throws CancelledError before. Errors: as the stages.
Result<Staged> runStages(const Problem& problem, Collective collective, int root, const StageOptions& options,
                         const Progress& progress);

}  // namespace coppice::taccl
