// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "fabric/fabric.hpp"

namespace coppice::fabric {

/// GPUs that share an innermost box.
struct GpuBox {
  std::string name;         ///< empty = outside all boxes
  std::vector<Rank> ranks;  ///< ascending
};

/// The boxes with GPUs, in the order of their first GPUs.
struct GpuBoxes {
  std::vector<GpuBox> boxes;
  std::vector<int> boxOf;  ///< by rank, index into `boxes`

  [[nodiscard]] std::vector<std::vector<Rank>> ranks() const;
};

/// What GPUs outside all boxes are: one group, or a group each.
enum class Unboxed { together, alone };

[[nodiscard]] GpuBoxes gpuBoxes(const Fabric& fabric, Unboxed unboxed = Unboxed::together);

}  // namespace coppice::fabric
