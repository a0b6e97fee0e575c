// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLineF>
#include <QPointF>
#include <QRectF>
#include <set>
#include <vector>

#include "designer/canvas/canvas_scene.hpp"

namespace coppice::designer {

struct Snapped {
  QPointF by;                  ///< the movement, corrected
  std::vector<QLineF> guides;  ///< along what things now are in line
};

/// Corrects a movement of `rect` by `by`: to the edges and middles of other shapes near it, else to the grid (the
/// rectangle's centre).
/// @param moving elements that do not count as others
/// @param reach how near is near, scene units
[[nodiscard]] Snapped snapped(const CanvasScene& scene, const QRectF& rect, const QPointF& by,
                              const std::set<ElementId>& moving, double reach);

}  // namespace coppice::designer
