// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "plan/plan.hpp"

/// How many blocks of how many threads run a plan. Needs no GPU.
namespace coppice::executor::cuda {

/// Threads of a block, by preference.
inline constexpr std::array<int, 4> kThreadChoices = {256, 128, 64, 32};

/// Blocks that wait for each other must all be on the device at once.
struct DeviceRoom {
  int multiprocessors = 0;
  std::array<int, kThreadChoices.size()> blocksEach = {};  ///< on one multiprocessor, with kThreadChoices

  [[nodiscard]] std::int64_t resident(std::size_t choice) const {
    return std::int64_t{multiprocessors} * blocksEach[choice];
  }
};

struct Shape {
  int threads = 0;
  int strands = 1;
};

/// The most threads with which everything is resident, and then as many strands as there is room for.
/// @param blocks threadblocks of the plan on each device
/// Errors: unavailable, naming both numbers.
Result<Shape> chooseShape(const std::vector<std::int64_t>& blocks, const std::vector<DeviceRoom>& rooms,
                          std::int64_t tiles);

/// Rank r of n on d devices: in order, as evenly as can be.
[[nodiscard]] std::vector<int> spreadRanks(int ranks, int devices);

[[nodiscard]] std::vector<std::int64_t> blocksOnDevices(const Plan& plan, const std::vector<int>& deviceOfRank,
                                                        int devices);

/// The piece (SizeOptions::pieceBytes) that gives every strand the same number of tiles: at least 16, so that one hop
/// of a tree works while the next moves what came before, but not below 16 KiB nor above 512 KiB.
[[nodiscard]] std::int64_t choosePiece(const Plan& plan, std::int64_t bytes, int strands);

}  // namespace coppice::executor::cuda
