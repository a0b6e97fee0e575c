// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPoint>
#include <QPointF>
#include <QSize>
#include <QSizeF>
#include <array>
#include <cstddef>

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
/// The top left corner, likewise, for a bar at the lower edge of the view: at the left, else in the middle or at the
/// right where it covers less there.
[[nodiscard]] QPoint placeBar(const QSize& bar, const CanvasScene& scene, const Viewpoint& viewpoint,
                              const QSize& view);

}  // namespace coppice::designer
