// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace coppice::dot {

/// dot, neato, fdp, sfdp or circo.
[[nodiscard]] bool isLayoutEngine(std::string_view name);

/// One line "name x y" for each node of the DOT graph: its centre in points, y upwards, as the engine places it. Names
/// with blanks are refused, as the lines would be ambiguous.
/// Errors: badInput (not one DOT graph, names), unavailable (Graphviz lacks the engine's plugin), internal (the engine
/// failed).
[[nodiscard]] Result<std::string> layOut(const std::string& text, const std::string& engine);

}  // namespace coppice::dot
