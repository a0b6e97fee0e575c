// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/legend_placement.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace coppice::designer {
namespace {

std::array<std::size_t, 3> coveredBy(const QRectF& rect, const CanvasScene& scene, const QRectF& seen) {
  std::vector<std::uint32_t> near;
  scene.nodesIn(rect, near);
  const auto nodes = std::count_if(near.begin(), near.end(),
                                   [&](std::uint32_t node) { return scene.nodes()[node].rect.intersects(rect); });
  // A box that fills the view is everywhere.
  const auto boxes = std::count_if(scene.boxes().begin(), scene.boxes().end(), [&](const BoxItem& box) {
    return box.rect.intersects(rect) && !box.rect.contains(seen);
  });
  scene.linesIn(rect, near);
  const auto lines = std::count_if(near.begin(), near.end(),
                                   [&](std::uint32_t line) { return scene.lines()[line].curve.meets(rect); });
  return {static_cast<std::size_t>(nodes), static_cast<std::size_t>(boxes), static_cast<std::size_t>(lines)};
}

}  // namespace

LegendPlace placeLegend(const QSizeF& legend, const CanvasScene& scene, const Viewpoint& viewpoint, const QSize& view) {
  constexpr double kClearance = 6;
  const double left = kLegendMargin + legend.width();
  const double right = view.width() - kLegendMargin;
  const double top = kLegendMargin;
  const double bottom = std::max(top, view.height() - kLegendMargin - legend.height());
  const double middle = std::max(top, (view.height() - legend.height()) / 2.0);
  const QRectF seen(viewpoint.toScene({0, 0}), QSizeF(view) / viewpoint.scale);
  std::optional<LegendPlace> best;
  for (const QPointF& corner : {QPointF(right, top), QPointF(left, top), QPointF(right, bottom), QPointF(left, bottom),
                                QPointF(right, middle), QPointF(left, middle)}) {
    const QRectF onView =
        QRectF(corner - QPointF(legend.width(), 0), legend).adjusted(-kClearance, -kClearance, kClearance, kClearance);
    const QRectF rect(viewpoint.toScene(onView.topLeft()), onView.size() / viewpoint.scale);
    const LegendPlace place{corner, coveredBy(rect, scene, seen)};
    if (!best || place.covered < best->covered) {
      best = place;
    }
    if (best->covered == std::array<std::size_t, 3>{}) {
      break;
    }
  }
  return *best;
}

QPoint placeBar(const QSize& bar, const CanvasScene& scene, const std::vector<QRectF>& titles, const QRectF& legend,
                const Viewpoint& viewpoint, const QSize& view) {
  constexpr int kMargin = static_cast<int>(kLegendMargin);
  const QRectF seen(viewpoint.toScene({0, 0}), QSizeF(view) / viewpoint.scale);
  std::optional<std::pair<std::array<std::size_t, 3>, QPoint>> best;
  for (const int top : {view.height() - bar.height() - kMargin, kMargin, (view.height() - bar.height()) / 2}) {
    for (const int left : {kMargin, (view.width() - bar.width()) / 2, view.width() - bar.width() - kMargin}) {
      const QPoint corner(left, top);
      const QRectF rect(viewpoint.toScene(corner), QSizeF(bar) / viewpoint.scale);
      const auto [nodes, boxes, lines] = coveredBy(rect, scene, seen);
      const auto names =
          std::count_if(titles.begin(), titles.end(), [&](const QRectF& title) { return title.intersects(rect); });
      // A line that passes below it stays in view.
      const std::array<std::size_t, 3> covered{legend.intersects(QRectF(corner, bar)) ? 1U : 0U,
                                               nodes + static_cast<std::size_t>(names), boxes};
      if (!best || covered < best->first) {
        best = {covered, corner};
      }
    }
  }
  return best->second;
}

}  // namespace coppice::designer
