// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "lp/work_limit.hpp"

namespace coppice::lp {

enum class BoundStatus {
  exact,       ///< algbw is the optimum of the linear program, proved on both sides
  upperBound,  ///< no allreduce by trees is faster than algbw (proved); whether algbw is reached is open
  notComputed  ///< too large, or its budget of work ended before any useful bound
};

/// A solution of the program, as whole numbers over one denominator, in GB/s.
struct AllreduceShares {
  std::int64_t denominator = 1;
  std::vector<std::int64_t> roots;      ///< x by rank
  std::vector<std::int64_t> broadcast;  ///< by arc of the fabric: for the out-trees
  std::vector<std::int64_t> reduction;  ///< by arc of the fabric: for the in-trees
};

struct AllreduceBound {
  BoundStatus status = BoundStatus::notComputed;
  Bandwidth algbw = {};  ///< X = M / T; 0 when notComputed
  /// algbw equals the known value that was passed in, so that value is optimal.
  bool knownIsOptimal = false;
  int cuts = 0;                                ///< cut constraints that the proof used
  std::string reason = {};                     ///< for a person
  std::optional<AllreduceShares> shares = {};  ///< where wantsShares and the status is exact
};

struct AllreduceOptions {
  /// An allreduce algbw known to be reached (reduce-scatter then allgather); meeting it ends the search at once.
  std::optional<Bandwidth> known = {};
  Milliseconds budget = Milliseconds(5000);
  /// The solution itself as well; `known` then ends nothing early.
  bool wantsShares = false;
};

/// The allreduce linear program of App. B.7 on the fabric itself: x_v per GPU, and for every arc a share for the
/// reduce in-trees and one for the broadcast out-trees, c_RE + c_BC <= b, each balanced at every switch and nic;
/// in_BC(Q) + x(Q) >= X and out_RE(Q) + x(Q) >= X for every Q with a GPU; maximise X = sum of x. Balance at the relays
/// replaces the dissertation's commodity flows between pairs of GPUs and is equivalent by directed splitting. Where
/// every link is duplex the reduce shares are taken as the broadcast shares turned round, which loses nothing (average
/// a solution with its mirror image).
/// Errors: overflow, cancelled.
Result<AllreduceBound> allreduceBound(const fabric::Fabric& fabric, const AllreduceOptions& options = {},
                                      const Progress& progress = {});

}  // namespace coppice::lp
