// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <vector>

#include "designer/canvas/overlay.hpp"
#include "designer/document/model.hpp"
#include "workflow/sketch_plan.hpp"

namespace coppice::designer {

/// GPUs that are drawn as one area: an orbit, or those of a switch.
struct SketchArea {
  std::vector<int> gpus;  ///< of all boxes; empty = nothing
  QString label;
};

/// A sketch on the drawing: GPUs that send to other boxes and those that receive are ringed, the links between them are
/// arrows, and what is chosen is an area.
[[nodiscard]] Overlay sketchOverlay(const workflow::FittedSketch& sketch, const Model& model, const SketchArea& area);

}  // namespace coppice::designer
