// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <vector>

#include "designer/canvas/overlay.hpp"
#include "designer/document/model.hpp"
#include "workflow/sketch_plan.hpp"

namespace coppice::designer {

/// A sketch on the drawing: GPUs that send to other boxes and those that receive are ringed, the links between them are
/// arrows, and an orbit is an area. @param orbit GPUs of all boxes; empty = none @param number of the orbit, from 0
[[nodiscard]] Overlay sketchOverlay(const workflow::FittedSketch& sketch, const Model& model,
                                    const std::vector<int>& orbit, int number);

}  // namespace coppice::designer
