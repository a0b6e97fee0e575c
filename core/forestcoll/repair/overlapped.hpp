// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "base/progress.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/repair/repair.hpp"
#include "schedule/forest.hpp"

namespace coppice::forestcoll {

/// The best allreduce whose halves run at the same time and that has the locked trees of both, and as much of each root
/// as before. The links are divided between the halves by a linear program that knows what the locked trees take
/// (lp/shared_halves.hpp), and each half is packed beside its locked trees within its part. Where the program is not
/// settled within its work, each half keeps the part that its trees have now, so that the result is no slower than the
/// schedule as it is: `optimum` is 0 then, and else what the program proves. Not verified here.
/// @pre locked trees by number, reduce forest first. Errors: those of repaired(). Throws Failure, OverflowError,
/// CancelledError.
[[nodiscard]] Repaired aroundLockedHalves(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                          const std::array<LockedTrees, 2>& locked, const RepairOptions& options,
                                          const Progress& progress);

}  // namespace coppice::forestcoll
