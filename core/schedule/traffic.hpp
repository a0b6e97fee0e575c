// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/progress.hpp"
#include "base/rational.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "schedule/step_schedule.hpp"

namespace coppice::schedule {

/// What each of some GPUs, or groups of them, sends to each other one: bytes per byte of M, exactly.
struct Traffic {
  int size = 0;
  std::vector<Rational> shares;  ///< by sender, then receiver

  [[nodiscard]] const Rational& share(int from, int to) const {
    return shares[static_cast<std::size_t>(from) * static_cast<std::size_t>(size) + static_cast<std::size_t>(to)];
  }
};

/// By rank, from the transfers or the edges of the trees. What a switch copies or adds up on the way counts once for
/// each receiver, or sender. Memory grows with the square of the GPUs. Errors: overflow, cancelled.
/// @pre the schedule has passed the verifier on this fabric
[[nodiscard]] Result<Traffic> trafficOf(const fabric::Fabric& fabric, const AnySchedule& schedule,
                                        const Progress& progress = {});

/// Summed up over groups; what stays within a group is on the diagonal. @param groupOf by GPU, 0 to groups - 1
/// Throws OverflowError.
[[nodiscard]] Traffic groupedTraffic(const Traffic& traffic, std::span<const int> groupOf, int groups);

}  // namespace coppice::schedule
