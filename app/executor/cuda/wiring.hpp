// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cuda/device_plan.hpp"
#include "cuda/pack.hpp"
#include "plan/plan.hpp"

/// Where the memory of a run lies, and the views of it that the blocks get. Needs no GPU.
namespace coppice::executor::cuda {

/// Which device can read and write which: reach[a][b], itself included.
using Reach = std::vector<std::vector<bool>>;

/// Memory places are the devices, and after them the host: connections between devices that do not reach each other
/// both ways go through host memory.
struct Placement {
  int devices = 0;
  std::vector<int> deviceOfRank;
  std::vector<int> dataPlace;  ///< by connection: stamps and slots lie at the receiver
  std::vector<int> headPlace;  ///< the count of consumed messages lies at the sender
  std::vector<bool> canPull;
  std::vector<std::int64_t> ring;     ///< by connection: number of its slots in their place; -1 = it needs none
  std::vector<std::int64_t> ringsAt;  ///< by place

  [[nodiscard]] int host() const { return devices; }
};
/// Rings are left to placeRings.
[[nodiscard]] Placement placeConnections(const Plan& plan, const std::vector<int>& deviceOfRank, const Reach& reach);
void placeRings(const PackedPlan& packed, Placement& placement);

/// Control words of one place, in words from the start of zeroed memory, strand after strand. Every place has room for
/// the words of all connections and threadblocks, so that a word has the same place everywhere.
struct ControlLayout {
  std::int64_t heads = 0;  ///< after the stamps
  std::int64_t flags = 0;
  std::int64_t counters = 0;
  std::int64_t stampStride = 0;
  std::int64_t strandWords = 0;
};
[[nodiscard]] ControlLayout layOutControl(const Plan& plan, int depth);

/// Memory as the devices see it.
struct Addresses {
  std::vector<std::array<unsigned char*, 3>> base;  ///< by rank: input, output, scratch
  std::vector<Word*> control;                       ///< by place; null where nothing lies
  std::vector<unsigned char*> rings;                ///< by place; slots
  std::vector<const PackedOp*> ops;                 ///< by device
  std::vector<Word*> progress;                      ///< by device, one for each of its views
  std::vector<TraceSlot*> trace;                    ///< by device, traceRoom for each of its views; null = none
  std::uint32_t traceRoom = 0;
};

/// The grid of each device: all its threadblocks in strand 0, then in strand 1, and so on.
struct Grid {
  std::vector<int> blocks;  ///< of the plan, in one strand
  std::vector<BlockView> views;
};
[[nodiscard]] std::vector<Grid> wire(const Plan& plan, const PackedPlan& packed, const Placement& placement,
                                     const RunView& run, const Addresses& addresses);

}  // namespace coppice::executor::cuda
