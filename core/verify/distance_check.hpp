// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"

namespace coppice::verify {

/// "In this step the shards of `jobs` GPUs must reach `gpu`, and every shortest path of each ends on one of `arcs`", so
/// that the step takes at least jobs / (bandwidth of the arcs). When reducing, the same against the links: the sums for
/// `jobs` GPUs must leave `gpu` over `arcs`.
struct StepClaim {
  int distance = 1;  ///< t: between the GPUs and `gpu`
  fabric::Rank gpu = 0;
  bool isReducing = false;
  std::vector<int> arcs;  ///< into Fabric::arcs(): into `gpu`, or when reducing out of it
  InverseBandwidth time;  ///< claimed: shards per GB/s
};

/// Checks such claims by plain breadth-first search, sharing nothing with generators: the GPUs are counted, the
/// claims are as many as the largest distance, and one stands for each distance. @pre all nodes are GPUs. Findings name
/// the step. Errors: overflow, cancelled, badUsage (a fabric with relays).
/// @param isTransitive the caller has shown that symmetries of the fabric take rank 0 to every rank: the distances from
/// rank 0 are then those from all
Result<std::vector<Finding>> checkStepClaims(const fabric::Fabric& fabric, const std::vector<StepClaim>& claims,
                                             const Progress& progress = {}, bool isTransitive = false);

}  // namespace coppice::verify
