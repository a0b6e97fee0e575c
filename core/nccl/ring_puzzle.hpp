// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

namespace coppice::nccl {

/// What is known of the ring of one channel.
struct RingFacts {
  std::vector<int> next = {};                     ///< by rank; -1 = not known
  std::vector<std::vector<int>> candidates = {};  ///< by rank: who may follow, the likeliest first
};

/// All ranks from 0 on, once round; nullopt where the facts leave it open or no ring has them. Of several rings the one
/// in which the likeliest follows everywhere, if it is one. Gives up after a number of steps.
[[nodiscard]] std::optional<std::vector<int>> solveRing(const RingFacts& facts);

/// The cycle of these successors from rank 0 on; nullopt where it does not pass all.
[[nodiscard]] std::optional<std::vector<int>> cycleOf(const std::vector<int>& next);

}  // namespace coppice::nccl
