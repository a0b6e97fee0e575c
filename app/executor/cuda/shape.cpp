// SPDX-License-Identifier: Apache-2.0
#include "cuda/shape.hpp"

#include <algorithm>
#include <string>

namespace coppice::executor::cuda {
namespace {

constexpr std::int64_t kMaxStrands = 64;
constexpr std::int64_t kTilesOfStrand = 16;
constexpr std::int64_t kSmallestPiece = std::int64_t{16} << 10;
constexpr std::int64_t kLargestPiece = std::int64_t{512} << 10;
constexpr std::int64_t kLine = 128;

std::int64_t divideUp(std::int64_t value, std::int64_t by) {
  return value / by + (value % by != 0 ? 1 : 0);
}

}  // namespace

Result<Shape> chooseShape(const std::vector<std::int64_t>& blocks, const std::vector<DeviceRoom>& rooms,
                          std::int64_t tiles) {
  for (std::size_t choice = 0; choice < kThreadChoices.size(); ++choice) {
    std::int64_t strands = std::min(kMaxStrands, std::max<std::int64_t>(1, tiles));
    for (std::size_t device = 0; device < rooms.size(); ++device) {
      if (blocks[device] > 0) {
        strands = std::min(strands, rooms[device].resident(choice) / blocks[device]);
      }
    }
    if (strands > 0) {
      return Shape{.threads = kThreadChoices[choice], .strands = static_cast<int>(strands)};
    }
  }
  std::size_t fullest = 0;
  constexpr std::size_t kSmallest = kThreadChoices.size() - 1;
  while (fullest + 1 < rooms.size() && blocks[fullest] <= rooms[fullest].resident(kSmallest)) {
    ++fullest;
  }
  return Error{.code = ErrorCode::unavailable,
               .message = "GPU " + std::to_string(fullest) + " of the run has " + std::to_string(blocks[fullest]) +
                          " threadblocks to run, which wait for each other, and holds " +
                          std::to_string(rooms[fullest].resident(kSmallest)) + " at once, with " +
                          std::to_string(kThreadChoices[kSmallest]) + " threads each",
               .fix = "make the schedule with fewer channels or instances, or run fewer ranks on a GPU"};
}

std::vector<int> spreadRanks(int ranks, int devices) {
  std::vector<int> device(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    device[rank] = static_cast<int>(std::int64_t{rank} * std::min(ranks, devices) / ranks);
  }
  return device;
}

std::vector<std::int64_t> blocksOnDevices(const Plan& plan, const std::vector<int>& deviceOfRank, int devices) {
  std::vector<std::int64_t> blocks(static_cast<std::size_t>(devices));
  for (const PlanBlock& block : plan.blocks) {
    ++blocks[deviceOfRank[block.rank]];
  }
  return blocks;
}

std::int64_t choosePiece(const Plan& plan, std::int64_t bytes, int strands) {
  const bool isShared = plan.operation == Collective::allgather || plan.operation == Collective::reduceScatter ||
                        plan.operation == Collective::alltoall || plan.operation == Collective::gather ||
                        plan.operation == Collective::scatter;
  const std::int64_t part = bytes / (isShared ? plan.rankCount() : 1);
  const std::int64_t chunk = std::max<std::int64_t>(1, divideUp(part, plan.chunksPerPart));
  const std::int64_t rounds = std::max(kTilesOfStrand, divideUp(chunk, strands * kLargestPiece));
  const std::int64_t piece = divideUp(chunk, strands * rounds);
  return std::max(kSmallestPiece, divideUp(piece, kLine) * kLine);
}

}  // namespace coppice::executor::cuda
