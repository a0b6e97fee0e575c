// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/progress.hpp"
#include "base/result.hpp"
#include "groups/groups.hpp"
#include "schedule/concurrent.hpp"

namespace coppice::groups {

/// What the trees of the proof put on each link at the rate optimum.lower, group by group. The trees stand for the mean
/// of their images under all symmetries, so that a group and a link have as much as any pair that a symmetry takes them
/// to. A group whose links have these bandwidths alone reaches optimum.lower times its weight: the mean of flows is a
/// flow of the same amount, and what obeys the cuts can be packed with trees (dissertation, chapter 4). Groups with a
/// root also get some of what is left of the way back, since all GPUs of a fabric reach each other. Errors: overflow,
/// limit (too many links for all groups together), cancelled.
[[nodiscard]] Result<schedule::LinkShares> linkShares(const fabric::Fabric& fabric,
                                                      const schedule::ConcurrentDemand& demand, const Optimum& optimum,
                                                      const Progress& progress);

}  // namespace coppice::groups
