// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "schedule/forest.hpp"
#include "schedule/tree_bound.hpp"

namespace coppice::forestcoll {

/// What no allreduce by trees can beat (linear program of B.7, with what the switches can do).
struct AllreduceLimit {
  Bandwidth algbw;
  bool isExact = false;    ///< the program's optimum, proved on both sides; otherwise a proved upper bound on it
  bool isReached = false;  ///< with the best k, so that nothing is left to gain
};

/// The same collective where no switch copies or sums.
struct WithPlainSwitches {
  Bandwidth algbw;
  std::optional<AllreduceLimit> allreduceLimit = {};
};

/// The exact answer to "how fast can this possibly be".
struct Optimum {
  int gpuCount = 0;
  /// 1/x*: the largest demand(S) / B+(S); with a fixed k, U*/k. Time = (M / total demand) * inverseRate.
  InverseBandwidth inverseRate;
  Bandwidth algbw;                ///< total demand / inverseRate (allreduce: 1/(1/RS + 1/AG), or that of `overlapped`)
  std::int64_t treesPerRoot = 0;  ///< k that is used; gather and scatter have no trees
  InverseBandwidth scale;         ///< U of that k
  /// The k and U of the dissertation (B.5.1), with which the capacity of every link is a whole number of trees.
  std::int64_t integralTreesPerRoot = 0;
  InverseBandwidth integralScale;
  /// No smaller k reaches the same algbw, proved by cuts (MinimumK). False with fixedK and maxK, where the search ended
  /// at its limit of work, and where forwarding alone, not a cut, sets the rate.
  bool isMinimumK = false;
  std::vector<schedule::Cut> bottlenecks;  ///< at least one; first the minimal one found, then others, distinct
  /// The fabric was not balanced and a switch-balanced sub-capacity that provably keeps the optimum was used.
  bool usedSubCapacity = false;
  std::string note = {};  ///< for a person, when usedSubCapacity
  /// allreduce: in-trees and out-trees that run at the same time reach more than reduce-scatter then allgather, and set
  /// algbw and inverseRate; treesPerRoot is 0 where roots have different numbers of trees.
  bool overlapped = false;
  Bandwidth halvesAlgbw = {};  ///< allreduce: reduce-scatter then allgather
  /// Switches that copy or sum are what algbw needs: trees branch there.
  bool usesSwitches = false;
  bool ignoresSwitches = false;  ///< the request asked for plain switches, and the fabric has others
  /// Why no trees do better, where the linear program was solved; of `allreduceLimit`, or of algbw.
  std::optional<schedule::TreeBoundProof> boundProof = {};
  /// Where the fabric has switches that the collective can use, unless they were left out by the request.
  std::optional<WithPlainSwitches> plainSwitches = {};
  /// allreduce only; absent when left out, or when its budget of work ended before it proved anything.
  std::optional<AllreduceLimit> allreduceLimit = {};
};

}  // namespace coppice::forestcoll
