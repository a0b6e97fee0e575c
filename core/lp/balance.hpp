// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "flow/feasibility.hpp"
#include "lp/work_limit.hpp"

/// Exact linear and integer programs over the cuts of a fabric.
///
/// A capacity vector c is FEASIBLE for supplies r when every node set Q that holds a GPU has in(Q) + r(Q) >= K, with
/// K the sum of r (Tarjan / Theorem 30 of the dissertation, in its maximum-flow form). A forest whose trees are never
/// copied by a switch exists within c exactly when some c' <= c is feasible and has equal ingress and egress at every
/// node that is not a GPU: the directed splitting theorem of Bang-Jensen, Frank and Jackson asks for balance only at
/// the nodes that are split away.
namespace coppice::lp {

using CapacityArc = flow::CapacityArc<std::int64_t>;

/// Capacities in trees on a digraph of GPUs and relays (switches, NICs).
struct BalanceProblem {
  int nodeCount = 0;
  std::vector<bool> isGpu;             ///< per node
  std::vector<CapacityArc> arcs;       ///< parallel arcs are allowed; no self-loops
  std::vector<std::int64_t> supplies;  ///< r(v) >= 0 per node; 0 for every relay; the sum K must be positive
  /// Worth of one unit kept on each arc, |w| <= 10^6; a negative one asks for the arc to be emptied where possible.
  /// Empty = 1 each.
  std::vector<std::int64_t> weights = {};
};

enum class BalanceStatus {
  found,       ///< capacities is balanced at every relay and feasible (checked by integer max flows)
  impossible,  ///< proved exactly that no such integer vector exists
  undecided    ///< neither within the budget of work
};

struct SubCapacity {
  BalanceStatus status = BalanceStatus::undecided;
  std::vector<std::int64_t> capacities = {};  ///< c' per arc of the problem; filled when found
  std::int64_t removed = 0;                   ///< sum of c - c'
  /// No integer vector that is feasible and balanced keeps more (more worth, where weights are given); proved.
  bool minRemoved = false;
  std::string reason = {};  ///< for a person: which test decided
};

/// An integer c' <= c, balanced at every relay and feasible, with as little removed (or as much worth kept) as the
/// search can tell; or a proof that none exists. Linear program over a growing list of cuts, then branching with an
/// exact Farkas certificate at every closed branch, then Z3 (when built in) on the same cuts. Errors: badUsage (sizes
/// or values that break the rules above), overflow, cancelled.
Result<SubCapacity> balancedSubCapacity(const BalanceProblem& problem, const Progress& progress = {},
                                        Milliseconds budget = Milliseconds(10000));

struct RateArc {
  int tail = 0;
  int head = 0;
  Bandwidth bandwidth;  ///< > 0
};

/// Bandwidths on a digraph of GPUs and relays, which may be unbalanced anywhere.
struct RateProblem {
  int nodeCount = 0;
  std::vector<bool> isGpu;  ///< per node
  std::vector<RateArc> arcs;
  /// Relative data of each node, 0 for relays, not all zero; empty = 1 per GPU.
  std::vector<std::int64_t> amounts = {};
};

struct AttainableRate {
  /// x: the largest rate per unit of amount at which relays that never copy can deliver everything to every GPU, GB/s.
  /// 1/x is the time per unit of amount. Zero when some GPU cannot be reached.
  Bandwidth rate;
  /// The same from the cuts of the full bandwidths alone; rate <= cutRate.
  Bandwidth cutRate;
  bool keepsCutBound = false;  ///< rate == cutRate
  bool wasBalanced = false;    ///< every relay was balanced, so nothing had to be removed
  /// Witness: bandwidths[i] / denominator GB/s on arc i is at most its bandwidth, balanced at every relay, and feasible
  /// for `rate` (checked by integer max flows).
  std::vector<std::int64_t> bandwidths = {};
  std::int64_t denominator = 1;
};

/// The largest attainable rate, exactly. Errors: badUsage, overflow, cancelled, limit (not settled within the budget).
Result<AttainableRate> attainableRate(const RateProblem& problem, const Progress& progress = {},
                                      Milliseconds budget = Milliseconds(10000));

}  // namespace coppice::lp
