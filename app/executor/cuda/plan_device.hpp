// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cuda/device_plan.hpp"

/// What the interpreter of execution plans of MSCCL++ reads: the operations of threadblocks at one size, with all
/// addresses. Compiled as C++17 for the device and as C++20 for the host.
namespace coppice::executor::cuda {

/// What an operation does. Operations that MSCCL++ distinguishes only by where data lies and by its packets are one.
enum class PlanAct : std::uint8_t { nothing, barrier, acquire, release, signal, wait, move, pipeline };

/// Words that threadblocks share begin a cache line each.
inline constexpr unsigned kPlanLine = 16;
/// Of an end of a channel: signals that came, and signals that were waited for.
inline constexpr unsigned kArrived = 0;
inline constexpr unsigned kAwaited = 1;
/// Of a barrier: threadblocks that have come, and how often all have.
inline constexpr unsigned kCome = 0;
inline constexpr unsigned kRound = 1;

struct DeviceOp {
  PlanAct act = PlanAct::nothing;
  bool isRelaxed = false;           ///< signal: orders no data
  std::uint16_t words = 0;          ///< semaphores, or ends of channels; move: those that it signals afterwards
  std::uint32_t firstWord = 0;      ///< into PlanView::words
  std::uint32_t firstTransfer = 0;  ///< move
  std::uint32_t transfers = 0;
  std::uint32_t blocks = 0;  ///< barrier: that meet
  std::uint32_t inner = 0;   ///< pipeline: operations after it that it repeats
  std::uint32_t pieces = 0;  ///< pipeline: times
  std::int64_t unitBytes = 0;
};

/// Every destination gets the sum of the sources, 16 bytes at a time.
struct DeviceTransfer {
  std::int64_t bytes = 0;      ///< of data, in all pieces; a multiple of 16
  std::uint32_t firstRun = 0;  ///< plain sources, sources in packets, plain destinations, destinations in packets
  std::uint16_t plainSources = 0;
  std::uint16_t packedSources = 0;
  std::uint16_t plainDestinations = 0;
  std::uint16_t packedDestinations = 0;
  bool isSliced = false;     ///< each piece of a pipeline takes a part
  bool copiesFlags = false;  ///< packets move as they are, whatever their flags

  [[nodiscard]] COPPICE_GPU unsigned sources() const { return plainSources + packedSources; }
  [[nodiscard]] COPPICE_GPU unsigned runs() const { return sources() + plainDestinations + packedDestinations; }
};
/// Runs of a transfer: those of switch channels are one for each GPU of the group.
inline constexpr unsigned kMaxRuns = 512;

struct DeviceRun {
  unsigned char* at = nullptr;  ///< in the first piece of a launch with an odd flag
  std::int64_t half = 0;        ///< added where the flag is even
  std::int64_t wrap = 0;        ///< pieces come round after this many bytes; 0 = they do not
  bool isSliced = false;
};

/// One threadblock of a rank: what one block of the grid runs.
struct PlanView {
  const DeviceOp* ops = nullptr;
  const DeviceTransfer* transfers = nullptr;
  const DeviceRun* runs = nullptr;
  Word* const* words = nullptr;
  Word* progress = nullptr;  ///< in host memory
  std::uint32_t opCount = 0;
  std::uint32_t unused = 0;
};

/// What all blocks of a launch share.
struct PlanRun {
  const Word* abort = nullptr;
  std::uint32_t flag = 0;  ///< of packets: launches since the preparation, this one included
  bool isSystemWide = false;
};

}  // namespace coppice::executor::cuda
