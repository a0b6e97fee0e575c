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
  Bandwidth algbw = {};
  Rational share = {};     ///< of the optimum
  int height = 0;          ///< GPU-to-GPU hops of the highest tree
  int threadBlocks = 0;    ///< of the rank with the most
  bool isWritten = false;  ///< false: its threadblocks are planned, and its steps are not written
};

/// What was found, and how far the search went.
struct Fits {
  std::vector<Fit> fits = {};  ///< fastest first
  /// No trees on this many GPUs fit, so that none were tried.
  std::optional<Error> never = {};
  /// "k = 1, 28 peers": what was not tried, as the search ends after an amount of work.
  std::vector<Fit> untried = {};  ///< k and maxPeers alone
};

/// The request that a schedule answers; settings that a schedule does not state have their defaults.
[[nodiscard]] forestcoll::Request requestOf(const schedule::Schedule& schedule);

/// Messages of all schedules that are tried: 1,024 GPUs take 1 or 2 millions for each, about a second.
inline constexpr std::int64_t kMaxTriedMessages = 4'000'000;

/// Tries fewer peers, fewer trees and both, largest first, and returns the first of each kind that fits, fastest first;
/// both only where fewer peers alone are not enough. Each try generates a schedule, and writes its program or, of large
/// ones, plans it (lowering::footprint). The schedules are not verified: the caller that takes an offer generates it
/// again.
/// @param request for the settings besides trees and peers: what the schedule was generated with
/// @param maxMessages of all tries; beyond them nothing more is tried
/// Errors: cancelled; those of forestcoll::optimum.
[[nodiscard]] Result<Fits> whatFits(const fabric::Fabric& fabric, const forestcoll::Request& request,
                                    const schedule::Schedule& schedule, const lowering::Options& options,
                                    const Progress& progress = {}, std::int64_t maxMessages = kMaxTriedMessages);

}  // namespace coppice::advice
