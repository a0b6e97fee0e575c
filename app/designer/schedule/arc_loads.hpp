// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/progress.hpp"
#include "base/rational.hpp"
#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"

namespace coppice::designer {

/// What the forests of a schedule send over one arc of its fabric.
struct ArcLoad {
  fabric::NodeIndex tail = 0;
  fabric::NodeIndex head = 0;
  Rational bandwidth;                   ///< GB/s, parallel links together
  std::array<std::int64_t, 2> trees{};  ///< that cross it: in the reduce forest, in the broadcast forest
  std::array<Rational, 2> rates{};      ///< GB/s while that forest runs at its algbw: trees / scale
  Rational rate;                        ///< the larger of both
  bool isBusiest = false;               ///< no arc is used to a larger share
};

/// One entry for each arc of the fabric, in its order. Trees are read one by one, so that memory grows with the GPUs
/// and arcs alone. Throws OverflowError, CancelledError.
/// @pre the schedule has passed the verifier on this fabric
[[nodiscard]] std::vector<ArcLoad> arcLoads(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                            const Progress& progress = {});

}  // namespace coppice::designer
