// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/snapping.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "designer/document/measures.hpp"

namespace coppice::designer {
namespace {

constexpr double kView = 900;  // how far to look for things to align with
constexpr std::size_t kMaxOthers = 400;

struct Match {
  double distance = 0;
  double correction = 0;
  double place = 0;
  QRectF other;
  bool isFound = false;
};

void match(Match& best, double own, double other, const QRectF& rect, double reach) {
  const double distance = std::abs(other - own);
  if (distance <= reach && (!best.isFound || distance < best.distance)) {
    best = {distance, other - own, other, rect, true};
  }
}

double toGrid(double value) {
  return std::round(value / kGridStep) * kGridStep;
}

}  // namespace

Snapped snapped(const CanvasScene& scene, const QRectF& rect, const QPointF& by, const std::set<ElementId>& moving,
                double reach) {
  const QRectF moved = rect.translated(by);
  Match x;
  Match y;
  std::vector<std::uint32_t> near;
  scene.nodesIn(moved.adjusted(-kView, -kView, kView, kView), near);
  if (near.size() <= kMaxOthers) {
    for (const std::uint32_t at : near) {
      const NodeItem& item = scene.nodes()[at];
      if (moving.contains(item.id)) {
        continue;
      }
      const QRectF& other = item.rect;
      // Middles first: they win over edges at the same distance.
      match(x, moved.center().x(), other.center().x(), other, reach);
      match(x, moved.left(), other.left(), other, reach);
      match(x, moved.right(), other.right(), other, reach);
      match(y, moved.center().y(), other.center().y(), other, reach);
      match(y, moved.top(), other.top(), other, reach);
      match(y, moved.bottom(), other.bottom(), other, reach);
    }
  }
  Snapped result;
  const QPointF centre = moved.center();
  result.by = by + QPointF(x.isFound ? x.correction : toGrid(centre.x()) - centre.x(),
                           y.isFound ? y.correction : toGrid(centre.y()) - centre.y());
  const QRectF final = rect.translated(result.by);
  if (x.isFound) {
    result.guides.emplace_back(x.place, std::min(final.top(), x.other.top()), x.place,
                               std::max(final.bottom(), x.other.bottom()));
  }
  if (y.isFound) {
    result.guides.emplace_back(std::min(final.left(), y.other.left()), y.place,
                               std::max(final.right(), y.other.right()), y.place);
  }
  return result;
}

}  // namespace coppice::designer
