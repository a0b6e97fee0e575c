// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "fabric/description.hpp"
#include "presets/arguments.hpp"
#include "presets/builder.hpp"

namespace coppice::presets {

/// Boxes whose GPUs all hang on one switch inside the box, joined by a scale-out network. One entry per box.
struct SwitchedBoxes {
  std::string name;
  std::string boxPrefix = "b";  ///< of box names; node ids always begin with b<number>
  std::string network;
  std::vector<int> gpus;
  std::vector<Bandwidth> inner;  ///< GPU to the switch of its box
  std::vector<Bandwidth> nic;    ///< GPU to the scale-out network
  Capability innerCapability = Capability::none;
};

[[nodiscard]] fabric::Description switchedBoxes(const SwitchedBoxes& boxes, const Arguments& arguments);

/// "2x DGX A100", or "DGX A100" for one.
[[nodiscard]] std::string countedName(int count, const std::string& what);

}  // namespace coppice::presets
