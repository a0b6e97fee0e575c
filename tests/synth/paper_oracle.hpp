// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

/// The constraints of the paper (Cai et al., PPoPP 2021, section 3.4, C1 to C6) for Z3, written from the paper alone:
/// the synthesis under test shares no code with it.
namespace paper {

struct Bandwidth {
  std::vector<int> arcs;  ///< into Instance::arcs
  int perRound = 0;
};

struct Instance {
  int nodes = 0;
  std::vector<std::pair<int, int>> arcs;
  std::vector<Bandwidth> bandwidths;
  std::vector<std::vector<bool>> pre;   ///< by chunk, then node
  std::vector<std::vector<bool>> post;  ///< by chunk, then node
  int steps = 0;
  int rounds = 0;
};

/// nullopt where Z3 gives no answer within the milliseconds.
[[nodiscard]] std::optional<bool> isSatisfiable(const Instance& instance, unsigned milliseconds);

}  // namespace paper
