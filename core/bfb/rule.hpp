// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/progress.hpp"
#include "bfb/schedule.hpp"
#include "fabric/fabric.hpp"

namespace coppice::bfb {

/// generate() with Request::byRule. Let the rotations take rank 0 to rank u by s_u, and let rank 0 get chunk x of the
/// shard of v over the link from w. Then s_u takes this to: u gets chunk x of s_u(v) over the link from s_u(w). With
/// u = s_v^-1(0) that is the shard of rank 0: so u hangs below s_u(w) in the tree of chunk x, and its depth is the
/// distance from v to 0. All trees of rank 0 follow from what rank 0 gets; those of the others are their images.
///
/// Loads: every image of a link is used by the images of what uses it, so that all links of a class are alike, and the
/// load of each step is that at rank 0. Throws Failure, OverflowError, CancelledError.
[[nodiscard]] Generated makeByRule(const fabric::Fabric& fabric, const Request& request, const Progress& progress);

/// More transfers than memory holds, on a fabric that has such rotations.
[[nodiscard]] bool needsRule(const fabric::Fabric& fabric, const Request& request);

}  // namespace coppice::bfb
