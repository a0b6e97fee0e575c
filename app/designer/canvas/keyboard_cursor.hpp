// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointF>

#include "designer/canvas/canvas_scene.hpp"

/// Where the keyboard cursor of a canvas goes next. Invalid: there is nothing to go to.
namespace coppice::designer {

/// The next thing in the direction (a unit vector), seen from the current one, or from `middle` where nothing is
/// current. @param nodesOnly passes over folded boxes
[[nodiscard]] ElementId elementInDirection(const CanvasScene& scene, const ElementId& current, const QPointF& middle,
                                           const QPointF& direction, bool nodesOnly);
/// The next one, or the one before, in the order of the ids.
[[nodiscard]] ElementId elementInOrder(const CanvasScene& scene, const ElementId& current, int by, bool nodesOnly);

}  // namespace coppice::designer
