// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/collective.hpp"
#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "lowering/lowering.hpp"
#include "schedule/forest.hpp"

/// Whether trees fit a runtime, for less than it takes to lower them.
namespace coppice::lowering {

/// What a program of some trees takes.
struct Footprint {
  int threadBlocks = 0;    ///< of the rank with the most
  bool isWritten = false;  ///< false: the threadblocks are planned, and no step is written
};

/// Small programs are written; of large ones the threadblocks, channels and steps are planned, which decides whether
/// lower() finds a program (but for scratch out of place). Errors: as lower().
[[nodiscard]] Result<Footprint> footprint(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                          const Options& options, const Progress& progress = {});

/// Messages that the trees of a schedule send, images included.
[[nodiscard]] std::int64_t messagesOf(const schedule::Schedule& schedule);

/// Why no schedule of this collective on that many GPUs fits, whatever its trees: every rank takes part in the part of
/// every root. Nothing where one may fit.
[[nodiscard]] std::optional<Error> neverFits(int gpuCount, Collective collective, const Options& options);

}  // namespace coppice::lowering
