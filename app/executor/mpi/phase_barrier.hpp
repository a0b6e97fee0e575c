// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "mpi/mpi_world.hpp"

namespace coppice::executor {

/// The barriers between the phases of a run, one after the other. A process comes to one and goes on looking after its
/// work and its neighbours. Everything here is called by the main thread alone.
class PhaseBarrier {
public:
  explicit PhaseBarrier(MpiWorld& world) : m_world(world) {}
  PhaseBarrier(const PhaseBarrier&) = delete;
  PhaseBarrier& operator=(const PhaseBarrier&) = delete;

  /// All processes, at the start of a run.
  void begin() { m_started = 0; }
  /// This process has come to the next one. @pre !isUnderWay()
  void arrive();
  [[nodiscard]] bool isUnderWay() const { return m_isUnderWay; }
  /// Whether all have come, which ends it. @pre isUnderWay()
  [[nodiscard]] bool hasPassed();
  /// All processes, at the end of a run, which some may have left one barrier later than others: all come to the last
  /// one. Errors: of a process that is lost.
  Outcome settle();

private:
  MpiWorld& m_world;
  std::int64_t m_started = 0;  ///< in this run
  bool m_isUnderWay = false;
  MPI_Request m_request = MPI_REQUEST_NULL;
};

}  // namespace coppice::executor
