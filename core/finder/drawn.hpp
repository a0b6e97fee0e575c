// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "finder/construction.hpp"

/// Graphs that the dissertation only draws (Figures A.8 and A.9), with what Table A.3 states of them.
namespace coppice::finder {

struct Drawn {
  std::string_view name;
  int nodes = 0;
  int degree = 0;
  int steps = 0;  ///< of a schedule with T_B = (N-1)/N that is not BFB
};

[[nodiscard]] std::span<const Drawn> drawnGraphs();

/// What is built in place of a drawn graph: one with its nodes and degree that takes no more steps than stated, with
/// T_B = (N-1)/N, both by BFB. Found among Cayley digraphs; it is not the drawn graph itself. nullptr for another name.
[[nodiscard]] ConstructionPtr standIn(std::string_view name);

/// "Diamond is only drawn in the dissertation; …": one sentence for each drawn graph in a construction.
[[nodiscard]] std::vector<std::string> standInNotes(const Construction& construction);

}  // namespace coppice::finder
