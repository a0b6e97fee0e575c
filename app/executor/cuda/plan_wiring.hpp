// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cuda/plan_device.hpp"
#include "cuda/wiring.hpp"
#include "mscclpp/execution_plan.hpp"
#include "mscclpp/plan_places.hpp"

/// An execution plan as its interpreter reads it, and where its memory is. Needs no GPU.
namespace coppice::executor::cuda {

/// Words that ranks signal and count with, in zeroed memory of each rank's device: a line for each end of a channel,
/// each semaphore and each barrier of the rank.
class PlanControl {
public:
  explicit PlanControl(const mscclpp::ExecutionPlan& plan);

  [[nodiscard]] const ChannelEnds& channels() const { return m_channels; }
  /// Words of a rank.
  [[nodiscard]] std::int64_t wordsOf(int rank) const;
  [[nodiscard]] std::int64_t endAt(int end) const;
  [[nodiscard]] std::int64_t semaphoreAt(int rank, int semaphore) const;
  [[nodiscard]] std::int64_t barrierAt(int rank, int barrier) const;

private:
  const mscclpp::ExecutionPlan& m_plan;
  ChannelEnds m_channels;
  std::vector<int> m_firstEnd;  ///< by rank
};

/// Where ranks' memory is, as all devices see it. Zeros where only counts are asked for.
struct PlanAddresses {
  std::vector<std::array<std::uintptr_t, 3>> buffers;  ///< by rank: input, output, scratch
  std::vector<std::uintptr_t> control;                 ///< by rank
};

/// What one device runs.
struct PlanGrid {
  struct Block {
    int rank = 0;
    int index = 0;
    std::size_t firstOp = 0;
    std::size_t opCount = 0;
  };
  std::vector<Block> blocks;
  std::vector<DeviceOp> ops;
  std::vector<mscclpp::OpPlace> places;  ///< by operation
  std::vector<DeviceTransfer> transfers;
  std::vector<DeviceRun> runs;
  std::vector<std::uintptr_t> words;

  /// In memory of the device: operations, transfers, runs, words, views.
  [[nodiscard]] std::int64_t bytes() const;
  /// That memory. @param at where it will be  @param progress a word for each block
  [[nodiscard]] std::vector<unsigned char> packed(unsigned char* at, Word* progress) const;
  [[nodiscard]] const PlanView* views(const unsigned char* at) const;

private:
  [[nodiscard]] std::array<std::int64_t, 5> starts() const;
};
/// @param ranks those of the device
[[nodiscard]] PlanGrid wirePlan(const mscclpp::ExecutionPlan& plan, std::int64_t chunkBytes, const PlanControl& control,
                                const PlanAddresses& addresses, const std::vector<int>& ranks);

/// Whether the GPUs of one process can run the plan. Errors: unavailable, with the ranks whose devices do not reach
/// each other, or the operation that is too wide.
[[nodiscard]] Outcome requirePlanOnGpus(const mscclpp::ExecutionPlan& plan, const std::vector<int>& deviceOfRank,
                                        const Reach& reach);

/// "rank 1, threadblock 0, operation 4 (wait) waits for a signal from rank 3".
[[nodiscard]] std::string waitText(const mscclpp::ExecutionPlan& plan, const mscclpp::OpPlace& place);

}  // namespace coppice::executor::cuda
