// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "schedule/rank_pattern.hpp"

namespace coppice::verify {

/// How long a pattern takes per byte of M with this GPU at each rank: its steps one after another, each as long as its
/// fullest link. Data go along shortest routes, through other GPUs only where nothing else leads there, and reach each
/// node on the way evenly over its widest links of these. Added up link by link, in fractions, by searches of its own.
/// Errors: verification (the order is none of the GPUs; a message stays at its place), overflow, cancelled.
[[nodiscard]] Result<InverseBandwidth> provenOrderTime(const fabric::Fabric& fabric,
                                                       const schedule::RankPattern& pattern,
                                                       std::span<const fabric::Rank> order,
                                                       const Progress& progress = {});

}  // namespace coppice::verify
