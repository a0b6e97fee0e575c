// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "fabric/fabric.hpp"
#include "symmetry/orbits.hpp"

namespace coppice::symmetry {

/// Kinds and abilities of nodes and bandwidths of arcs as colours; node i and arc i are those of the fabric. Where
/// amounts are given, by rank, GPUs of different ones get different colours.
[[nodiscard]] ColouredDigraph graphOf(const fabric::Fabric& fabric, std::span<const std::int64_t> amounts = {});

/// Candidates for orbitsOf: single nodes; boxes, innermost first; what hangs together by the GPUs and the nodes at most
/// 1, 2, ... hops from one, such as a pod below its spine; single nodes again.
/// @param boxOf by node: its box ("outer/inner"), or nothing
[[nodiscard]] std::vector<Parts> candidateParts(const ColouredDigraph& graph, std::span<const std::string_view> boxOf,
                                                const std::vector<bool>& isGpu);
[[nodiscard]] std::vector<Parts> candidateParts(const ColouredDigraph& graph, const fabric::Fabric& fabric);

}  // namespace coppice::symmetry
