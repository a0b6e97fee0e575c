// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointF>
#include <QRectF>
#include <cstddef>
#include <vector>

/// Where a stack of equal boxes is drawn: lines of text, and below them a cell for each box.
namespace coppice::designer {

struct StackShape {
  QRectF rect;                ///< around the origin
  std::vector<QRectF> cells;  ///< in rows, in the order of the boxes
  double textHeight = 0;      ///< above the cells
};

/// As small as can be read beside a few switches.
[[nodiscard]] StackShape stackShape(std::size_t boxes);

/// The shape enlarged, no wider than the room that its boxes have, to stand out beside what they are linked to.
[[nodiscard]] StackShape enlarged(StackShape shape, double room, double linked);

/// The centre nearest to the wanted one, straight above or below it, where the rectangle keeps off the others.
[[nodiscard]] QPointF freeCentre(const QRectF& rect, const QPointF& wanted, const std::vector<QRectF>& others);

}  // namespace coppice::designer
