// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "fabric/fabric.hpp"

namespace coppice::fabric {

/// The box of each node as the links show it: GPUs that are joined without the network between them, with the switches
/// and NICs that are theirs. NICs end a box; in a fabric without NICs, or where they do not separate the GPUs, the
/// slowest links are taken away until the GPUs fall apart, and what is left together is a box. Boxes have two GPUs or
/// more each, and no GPU is joined directly to one of another box. Names are "box0", "box1", ... in the order of ranks;
/// empty for nodes of the network. All empty where the fabric has no such boxes.
[[nodiscard]] std::vector<std::string> structuralBoxes(const Fabric& fabric);

/// The fabric with boxes: itself where a node has one, or none are found; else with those of structuralBoxes. Nodes,
/// arcs and digest stay as they are.
[[nodiscard]] Fabric withBoxes(const Fabric& fabric);

}  // namespace coppice::fabric
