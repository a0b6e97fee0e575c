// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <variant>
#include <vector>

#include "fabric/description.hpp"

namespace coppice::fabric {

/// Index into Description::nodes.
struct NodeRef {
  std::size_t index = 0;
};
/// Index into Description::links.
struct LinkRef {
  std::size_t index = 0;
};
/// What of a description a finding is about; monostate = the fabric as a whole.
using ElementRef = std::variant<std::monostate, NodeRef, LinkRef>;

struct PlacedFinding {
  Finding finding;
  ElementRef element;
};

/// What validate() finds, each with the element for code to act on.
[[nodiscard]] std::vector<PlacedFinding> validateElements(const Description& description);

}  // namespace coppice::fabric
