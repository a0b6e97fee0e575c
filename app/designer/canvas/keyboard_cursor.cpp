// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/keyboard_cursor.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace coppice::designer {

ElementId elementInDirection(const CanvasScene& scene, const ElementId& current, const QPointF& middle,
                             const QPointF& direction, bool nodesOnly) {
  const QRectF start = scene.rectOf(current);
  const QPointF from = start.isNull() ? middle : start.center();
  double best = 0;
  ElementId target;
  for (const NodeItem& node : scene.nodes()) {
    if (node.id == current || (nodesOnly && node.id.kind != ElementKind::node)) {
      continue;
    }
    const QPointF to = node.rect.center() - from;
    const double along = QPointF::dotProduct(to, direction);
    const double across = std::abs(to.x() * direction.y() - to.y() * direction.x());
    if (along <= 1 && !start.isNull()) {
      continue;
    }
    // What is straight ahead counts as nearer.
    const double cost = std::hypot(along, 2 * across);
    if (!target.isValid() || cost < best) {
      best = cost;
      target = node.id;
    }
  }
  return target;
}

ElementId elementInOrder(const CanvasScene& scene, const ElementId& current, int by, bool nodesOnly) {
  std::vector<ElementId> all;
  for (const NodeItem& node : scene.nodes()) {
    if (!nodesOnly || node.id.kind == ElementKind::node) {
      all.push_back(node.id);
    }
  }
  if (all.empty()) {
    return {};
  }
  const auto found = std::find(all.begin(), all.end(), current);
  const auto count = static_cast<std::ptrdiff_t>(all.size());
  const std::ptrdiff_t next =
      found == all.end() ? (by > 0 ? 0 : count - 1) : ((found - all.begin()) + by + count) % count;
  return all[next];
}

}  // namespace coppice::designer
