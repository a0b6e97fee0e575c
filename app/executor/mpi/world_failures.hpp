// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "engine/backend.hpp"
#include "mpi/mpi_world.hpp"

/// Ends of runs that only runs of several processes have.
namespace coppice::executor {

/// A call between processes has failed.
[[nodiscard]] RunFailure brokenRun(const MpiWorld& world, const Error& error);
/// A process is gone, or nothing has moved for too long. Gives the world up.
/// @param verdict lost or stall @param culprit the process that it names; -1 = none
/// @param stuck of a stall: what is known of where the ranks stand
[[nodiscard]] RunFailure abandonedRun(MpiWorld& world, Verdict verdict, int culprit, double stallSeconds,
                                      std::optional<program::StuckRecord> stuck);

}  // namespace coppice::executor
