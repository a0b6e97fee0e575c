// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cuda/gpus.hpp"
#include "cuda/station.hpp"
#include "cuda/team.hpp"
#include "mpi/mpi_world.hpp"

namespace coppice::executor::cuda {

/// Memory that other processes map comes in pieces that the driver shares with nothing else.
inline constexpr std::int64_t kShareUnit = std::int64_t{2} << 20;

/// What the processes of a host reach of each other's memory: arenas of their GPUs, as far as these can be mapped, and
/// host memory that they share. All processes make the same calls in the same order, but for unmap and unpin.
class NeighbourMemory {
public:
  NeighbourMemory(MpiWorld& world, Gpus& gpus, Station& station) : m_world(world), m_gpus(gpus), m_station(station) {}

  struct Trial {
    Reach reach;      ///< by device of the run
    std::string why;  ///< the first reason why a device of a neighbour cannot be mapped; empty = all can
  };
  /// Finds out which devices can be mapped. Errors: those of Gpus, of a process that is lost.
  Result<Trial> tryOut(const Team& team);

  /// Reserves what the layout needs in all processes, and maps it again where anything grows. Errors: limit, those of
  /// Gpus, of a process that is lost.
  Outcome reserve(const Station::Layout& layout);
  [[nodiscard]] const Neighbourhood& view() const { return m_view; }
  /// Makes the control words clean that the processes of this host share. @pre reserve
  void clearWords(const Station::Layout& layout);

  /// Gives back what is mapped. @pre nothing runs
  void unmap();
  /// The same for the devices' way to host memory.
  void unpin();

private:
  Outcome offerTokens(std::string& offers, std::string& why);
  [[nodiscard]] std::string takeTokens(const Team& team, int device, const std::vector<std::string>& offers,
                                       std::vector<bool>& row);
  Outcome offerArenas(std::string& offers);
  Outcome takeArenas(std::string_view offers);
  Outcome exchangeArenas();
  Outcome shareHostMemory(const Station::Layout& layout);
  /// Of devices of the run: each reaches the other.
  [[nodiscard]] bool areMapped(int a, int b) const;
  [[nodiscard]] bool isOwn(int device) const { return m_station.crew().processOfDevice[device] == m_world.process(); }

  MpiWorld& m_world;
  Gpus& m_gpus;
  Station& m_station;
  Neighbourhood m_view;
  SharedSegment m_shared;
};

}  // namespace coppice::executor::cuda
