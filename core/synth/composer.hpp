// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/progress.hpp"
#include "synth/search.hpp"

namespace coppice::synth {

/// On equal boxes: TwoLevel for an allgather, ScatterGather for a broadcast, nothing for others. `progress` must
/// outlive the searches that use it.
[[nodiscard]] ComposerMaker composersOfBoxes(std::uint64_t seed, const Progress& progress);

}  // namespace coppice::synth
