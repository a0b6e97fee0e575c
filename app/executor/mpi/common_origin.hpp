// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "mpi/mpi_world.hpp"

namespace coppice::executor {

/// A moment that is the same in all processes, by the clock of this one: where their traces begin. All processes call
/// it. Errors: of a process that is lost.
[[nodiscard]] Result<std::chrono::steady_clock::time_point> commonOrigin(MpiWorld& world);

}  // namespace coppice::executor
