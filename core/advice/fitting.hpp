// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/rational.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"
#include "lowering/lowering.hpp"
#include "schedule/forest.hpp"

/// What to generate instead of a schedule whose program does not fit a runtime.
namespace coppice::advice {

/// Settings of generation whose program fits, as tried out.
struct Fit {
  std::optional<std::int64_t> k = {};  ///< trees per root
  std::optional<int> maxPeers = {};    ///< the limit of peers per GPU that it was generated with
  std::optional<int> peers = {};       ///< and how many the GPU with the most has then
  Bandwidth algbw;
  Rational share;        ///< of the optimum
  int height = 0;        ///< GPU-to-GPU hops of the highest tree
  int threadBlocks = 0;  ///< of the rank with the most
};

/// The request that a schedule answers; settings that a schedule does not state have their defaults.
[[nodiscard]] forestcoll::Request requestOf(const schedule::Schedule& schedule);

/// Tries fewer trees, fewer peers and both, largest first, and returns the first of each kind that fits, fastest first;
/// both only where fewer peers alone are not enough. Empty where nothing fits. Each try generates and lowers, which
/// takes as long as doing so by hand. The schedules are not verified: the caller that takes an offer generates it
/// again.
/// @param request for the settings besides trees and peers: what the schedule was generated with
/// Errors: cancelled; those of forestcoll::optimum.
[[nodiscard]] Result<std::vector<Fit>> whatFits(const fabric::Fabric& fabric, const forestcoll::Request& request,
                                                const schedule::Schedule& schedule, const lowering::Options& options,
                                                const Progress& progress = {});

}  // namespace coppice::advice
