// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPoint>
#include <QPointF>
#include <QRectF>
#include <QSize>
#include <QSizeF>
#include <array>
#include <cstddef>
#include <vector>

#include "designer/canvas/camera.hpp"
#include "designer/canvas/canvas_scene.hpp"

namespace coppice::designer {

/// Margin of a legend within its view, pixels.
inline constexpr double kLegendMargin = 14;

/// Where a legend covers as little of the drawing as possible.
struct LegendPlace {
  QPointF corner;                        ///< top right, pixels of the view
  std::array<std::size_t, 3> covered{};  ///< how many nodes, boxes and lines are under it
};
[[nodiscard]] LegendPlace placeLegend(const QSizeF& legend, const CanvasScene& scene, const Viewpoint& viewpoint,
                                      const QSize& view);
/// The top left corner, likewise, for a bar: at the left of the lower edge of the view, else where it covers less in
/// the middle, at the right, on the upper edge, or half way up.
/// @param titles of boxes, scene units @param legend pixels of the view; empty = there is none
[[nodiscard]] QPoint placeBar(const QSize& bar, const CanvasScene& scene, const std::vector<QRectF>& titles,
                              const QRectF& legend, const Viewpoint& viewpoint, const QSize& view);

}  // namespace coppice::designer
