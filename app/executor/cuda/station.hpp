// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <optional>
#include <span>
#include <vector>

#include "cuda/gpus.hpp"
#include "cuda/pack.hpp"
#include "cuda/progress.hpp"
#include "cuda/shape.hpp"
#include "cuda/wiring.hpp"
#include "engine/backend.hpp"
#include "engine/buffers.hpp"
#include "engine/script.hpp"

namespace coppice::executor::cuda {

/// Memory of other processes, as the devices of this one see it.
struct Neighbourhood {
  /// By own device, then by device of the run; null = not mapped. What is on own devices is left empty.
  std::vector<std::vector<std::array<unsigned char*, kSharedArenas>>> arenas;
  /// Memory that the processes of this host share: control words, then slots. Null = none.
  unsigned char* shared = nullptr;
};

/// A plan on the GPUs of one process: what it takes, where it is, how it is started. Alone or one of several.
class Station {
public:
  /// Bytes.
  struct Sizes {
    std::vector<std::array<std::int64_t, kArenas>> arenas;  ///< by own device
    std::int64_t control = 0;                               ///< of every place
    std::int64_t operations = 0;                            ///< at the start of a program arena; then views
    std::int64_t progress = 0;
    std::int64_t privateRings = 0;
    std::int64_t sharedRings = 0;
    bool usesPrivate = false;
    bool usesShared = false;

    [[nodiscard]] std::int64_t onDevice(std::size_t device) const;
    [[nodiscard]] std::int64_t onFullestDevice() const;
    [[nodiscard]] std::int64_t shared() const { return usesShared ? control + sharedRings : 0; }
  };
  /// A plan laid out for a number of strands.
  struct Layout {
    Placement placement;
    PackedPlan packed;
    RunView run;
    int threads = 0;
    Sizes sizes;
    std::vector<std::int64_t> blockOfRank;  ///< where its buffers begin on its device
  };

  explicit Station(Gpus& gpus) : m_gpus(gpus) {}

  /// How many processes run blocks on each own device at once: all blocks that wait for each other must find room, so
  /// each process takes its part. Before load.
  void shareDevices(std::vector<int> processes) { m_shares = std::move(processes); }
  /// Asks the devices for their room. Errors: those of Gpus::load.
  Outcome load(DataType type);
  /// By own device, for the type loaded last.
  [[nodiscard]] const std::vector<DeviceRoom>& rooms() const { return m_rooms; }
  /// The run's devices, of which those of `process` are the own ones.
  /// @param unit that sizes of memory for other processes are multiples of
  void join(Crew crew, int process, std::int64_t unit);
  [[nodiscard]] const Crew& crew() const { return m_crew; }
  /// Position of an own device in the run.
  [[nodiscard]] int place(int device) const { return m_firstDevice + device; }

  /// Errors: limit, unavailable (blocks that are not co-resident). Throws OverflowError.
  /// @pre the crew is for the ranks of the plan
  Result<Layout> layOut(const Plan& plan, const Geometry& geometry, std::int64_t maxStrands) const {
    return layOut(plan, geometry, m_crew, maxStrands);
  }
  /// The same for a crew with the same devices and other ranks.
  Result<Layout> layOut(const Plan& plan, const Geometry& geometry, const Crew& crew, std::int64_t maxStrands) const;
  /// With fewer strands where their slots would not fit. Errors: also limit (memory).
  Result<Layout> layOutWithin(const Plan& plan, const Geometry& geometry, std::int64_t maxStrands);

  /// Whether memory that other processes may have mapped must be given back first.
  [[nodiscard]] bool mustGrow(const Layout& layout) const;
  /// Reserves what the layout needs; contents are lost.
  Outcome reserve(const Layout& layout);
  /// Makes runs of the plan possible: clean words, guards, views. After reserve.
  Outcome settle(const Plan& plan, const Geometry& geometry, Layout layout, const Neighbourhood& neighbours);
  [[nodiscard]] bool isReady() const { return m_layout.has_value(); }
  void drop() { m_layout.reset(); }
  // As Backend has them.
  Outcome write(int rank, BufferKind kind, std::int64_t offset, std::span<const std::byte> data);
  Outcome read(int rank, BufferKind kind, std::int64_t offset, std::span<std::byte> data);
  std::int64_t damagedGuards();

  // ---- @pre isReady()

  [[nodiscard]] const Layout& layout() const { return *m_layout; }
  [[nodiscard]] const Plan& plan() const { return *m_plan; }
  [[nodiscard]] const Script& script() const { return m_script; }
  /// As the host sees it.
  [[nodiscard]] const Addresses& addresses() const { return m_hostAddresses; }
  [[nodiscard]] std::vector<int> localRanks() const;
  /// Before the launches of a run.
  Outcome begin(const RunRequest& request);
  Outcome launch(int slot, bool first);
  /// Whether the run ends with divide.
  [[nodiscard]] bool divides() const { return m_divides; }
  Outcome divide(int slot);
  [[nodiscard]] ProgressWords progress() const;
  /// Of the own blocks, as they are now.
  [[nodiscard]] StrandWords standings() const;
  /// @param origin nanoseconds of the steady clock that count as 0
  std::vector<program::TraceEvent> takeTrace(std::int64_t origin, std::int64_t& dropped);

  /// Tells the blocks to stop, or that they need not. From any thread and signal handlers.
  void setAbort(Word value) noexcept;
  /// Before anything else.
  Outcome openAbort();
  void closeAbort() noexcept { m_abortWord = nullptr; }

private:
  Outcome wireUp(bool traces);
  Outcome beginTrace();
  [[nodiscard]] std::vector<std::int64_t> ownBlocks(const Plan& plan, const Crew& crew) const;
  /// Own device of a local rank.
  [[nodiscard]] int deviceOf(int rank) const { return m_layout->placement.deviceOfRank[rank] - m_firstDevice; }
  [[nodiscard]] unsigned char* blockOf(int rank) const;

  Gpus& m_gpus;
  Crew m_crew;
  int m_process = 0;
  int m_firstDevice = 0;
  std::int64_t m_unit = 1;
  std::vector<int> m_shares;  ///< by own device; empty = none is shared
  std::vector<DeviceRoom> m_rooms;

  const Plan* m_plan = nullptr;
  Geometry m_geometry;
  Script m_script;
  std::optional<Layout> m_layout;
  std::vector<Addresses> m_addresses;  ///< by own device
  Addresses m_hostAddresses;
  std::vector<Grid> m_grids;           ///< by own device
  std::vector<std::int64_t> m_clocks;  ///< by own device: offset to the host's
  RunView m_view;
  bool m_isTracing = false;
  bool m_divides = false;
  Word m_tilesBefore = 0;  ///< of earlier launches since settle
  std::atomic<Word*> m_abortWord = nullptr;
};

}  // namespace coppice::executor::cuda
