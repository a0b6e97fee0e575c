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

/// What of a sketch is drawn.
struct SketchView {
  SketchArea area;
  /// In place of senders and receivers: each orbit of the symmetry in a colour of its own.
  std::vector<std::vector<int>> orbits;
};

/// A sketch on the drawing: GPUs that send to other boxes and those that receive are ringed, or those of each orbit;
/// the links between boxes are arrows, and what is chosen is an area.
[[nodiscard]] Overlay sketchOverlay(const workflow::FittedSketch& sketch, const Model& model, const SketchView& view);

}  // namespace coppice::designer
