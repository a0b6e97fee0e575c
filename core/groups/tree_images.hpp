// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "groups/groups.hpp"
#include "schedule/concurrent.hpp"

namespace coppice::groups {

/// The trees of the proof with all their images under its symmetries, by group; the weight of a tree is divided evenly
/// among its images in a group. Together they load the links as linkShares() says. Nothing where there are more than
/// `maxTrees` of them, two groups are the same, or weights leave 64 bits. Throws CancelledError.
[[nodiscard]] std::optional<std::vector<std::vector<schedule::ConcurrentTree>>> treesWithImages(
    const fabric::Fabric& fabric, const schedule::ConcurrentDemand& demand, const Optimum& optimum,
    std::size_t maxTrees, const Progress& progress);

}  // namespace coppice::groups
