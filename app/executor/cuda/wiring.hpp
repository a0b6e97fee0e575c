// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cuda/device_plan.hpp"
#include "cuda/pack.hpp"
#include "plan/plan.hpp"

/// Where the memory of a run is, and the views of it that the blocks get. Needs no GPU.
namespace coppice::executor::cuda {

/// Which device can read and write which: reach[a][b], itself included.
using Reach = std::vector<std::vector<bool>>;

/// The devices of a run, in the order of the processes that hold them, and who holds them.
struct Crew {
  std::vector<int> processOfDevice;
  std::vector<int> hostOfProcess;
  std::vector<int> deviceOfRank;
  Reach reach;

  [[nodiscard]] int devices() const { return static_cast<int>(processOfDevice.size()); }
  [[nodiscard]] int processes() const { return static_cast<int>(hostOfProcess.size()); }
  [[nodiscard]] int processOf(int rank) const { return processOfDevice[deviceOfRank[rank]]; }
};
/// One process holds all devices; ranks are spread over them.
[[nodiscard]] Crew crewOfOne(int ranks, const Reach& reach);

/// One end of a connection: where its words and slots are.
struct ConnectionEnd {
  int dataPlace = 0;       ///< stamps and slots
  int headPlace = 0;       ///< the count of consumed messages
  std::int64_t ring = -1;  ///< number of its slots in dataPlace; -1 = it needs none
};

/// Memory places are the devices, then memory of each host that its processes share, then memory of each process on its
/// host. Where the devices reach each other both ways, stamps and slots are at the receiver and the count of consumed
/// messages at the sender. Otherwise all three are in host memory: of the process if it has both ends, else of the
/// host, else (behind a network) each end has its own, and the process moves what is there.
struct Placement {
  int devices = 0;
  int hosts = 0;
  int processes = 0;
  std::vector<int> deviceOfRank;
  std::vector<ConnectionEnd> sendEnd;  ///< by connection
  std::vector<ConnectionEnd> recvEnd;
  std::vector<bool> isNetworked;
  std::vector<bool> canPull;
  std::vector<std::int64_t> ringsAt;  ///< by place

  [[nodiscard]] int sharedPlace(int host) const { return devices + host; }
  [[nodiscard]] int privatePlace(int process) const { return devices + hosts + process; }
  [[nodiscard]] int places() const { return devices + hosts + processes; }
  /// Whether words of a connection are there.
  [[nodiscard]] bool isUsed(int place) const;
};
/// Rings are left to placeRings.
[[nodiscard]] Placement placeConnections(const Plan& plan, const Crew& crew);
void placeRings(const PackedPlan& packed, Placement& placement);

/// Control words of one place, in words from the start of zeroed memory, strand after strand. Every place has room for
/// the words of all connections and threadblocks, so that a word has the same place everywhere.
struct ControlLayout {
  std::int64_t heads = 0;  ///< after the stamps
  std::int64_t flags = 0;
  std::int64_t counters = 0;
  std::int64_t stampStride = 0;
  std::int64_t strandWords = 0;

  [[nodiscard]] std::int64_t stampsOf(int connection) const { return stampStride * connection; }
  [[nodiscard]] std::int64_t headOf(int connection) const { return heads + std::int64_t{kFlagStride} * connection; }
};
[[nodiscard]] ControlLayout layOutControl(const Plan& plan, int depth);

/// Memory as one device sees it; null where it sees none.
struct Addresses {
  std::vector<std::array<unsigned char*, 3>> base;  ///< by rank: input, output, scratch
  std::vector<Word*> control;                       ///< by place
  std::vector<unsigned char*> rings;                ///< by place; slots
  const PackedOp* ops = nullptr;
  Word* progress = nullptr;    ///< one for each view of the device
  TraceSlot* trace = nullptr;  ///< traceRoom for each view; null = none
  std::uint32_t traceRoom = 0;

  /// Slots of a connection's end in a strand; null where it has none.
  [[nodiscard]] unsigned char* ring(const Placement& placement, const ConnectionEnd& end, const RunView& run,
                                    std::int64_t strand) const {
    const auto place = static_cast<std::size_t>(end.dataPlace);
    return end.ring < 0 ? nullptr
                        : rings[place] + (strand * placement.ringsAt[place] + end.ring) * run.depth * run.slotStride;
  }
};

/// The grid of a device: all its threadblocks in strand 0, then in strand 1, and so on.
struct Grid {
  std::vector<int> blocks;  ///< of the plan, in one strand
  std::vector<BlockView> views;
};
[[nodiscard]] Grid wire(const Plan& plan, const PackedPlan& packed, const Placement& placement, const RunView& run,
                        const Addresses& addresses, int device);

}  // namespace coppice::executor::cuda
