// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/stack_shape.hpp"

#include <algorithm>
#include <cmath>

namespace coppice::designer {
namespace {

constexpr QSizeF kCell(40, 24);
constexpr double kCellGap = 8;
constexpr double kStackMargin = 20;
constexpr double kAspect = 2.2;     // of the cells together
constexpr double kTextWidth = 380;  // for the text
constexpr double kTextShare = 0.2;  // height of the text to the width
constexpr double kKeptOff = 110;    // from switches at least, so that links have their curves between
constexpr double kOffShare = 0.3;   // the same as a share of the height

/// As many to a row as give the aspect; if a few more divide the boxes evenly, these.
std::size_t columnsOf(std::size_t boxes) {
  const double ideal =
      std::sqrt(static_cast<double>(boxes) * kAspect * (kCell.height() + kCellGap) / (kCell.width() + kCellGap));
  const auto first = static_cast<std::size_t>(std::ceil(ideal));
  const auto last = static_cast<std::size_t>(ideal * 1.4);
  for (std::size_t columns = first; columns <= last; ++columns) {
    if (boxes % columns == 0) {
      return columns;
    }
  }
  return std::min(first, boxes);
}

}  // namespace

StackShape stackShape(std::size_t boxes) {
  const std::size_t columns = columnsOf(boxes);
  const std::size_t rows = (boxes + columns - 1) / columns;
  const QSizeF step(kCell.width() + kCellGap, kCell.height() + kCellGap);
  const double cellsWidth = step.width() * static_cast<double>(columns) - kCellGap;
  const double cellsHeight = step.height() * static_cast<double>(rows) - kCellGap;
  StackShape shape;
  const double width = std::max(kTextWidth, cellsWidth + 2 * kStackMargin);
  shape.textHeight = width * kTextShare;
  const double height = shape.textHeight + cellsHeight + kStackMargin;
  shape.rect = QRectF(-width / 2, -height / 2, width, height);
  const QPointF corner(-cellsWidth / 2, shape.rect.top() + shape.textHeight);
  shape.cells.reserve(boxes);
  for (std::size_t i = 0; i < boxes; ++i) {
    const QPointF at(step.width() * static_cast<double>(i % columns), step.height() * static_cast<double>(i / columns));
    shape.cells.emplace_back(corner + at, kCell);
  }
  return shape;
}

StackShape enlarged(StackShape shape, double room, double linked) {
  constexpr double kShare = 0.45;
  constexpr double kMax = 8;
  const double by = std::clamp(std::min(room, linked * kShare) / shape.rect.width(), 1.0, kMax);
  const auto grown = [&](const QRectF& rect) { return QRectF(rect.topLeft() * by, rect.size() * by); };
  shape.rect = grown(shape.rect);
  for (QRectF& cell : shape.cells) {
    cell = grown(cell);
  }
  shape.textHeight *= by;
  return shape;
}

QPointF freeCentre(const QRectF& rect, const QPointF& wanted, const std::vector<QRectF>& others) {
  const double off = std::max(kKeptOff, rect.height() * kOffShare);
  const auto moved = [&](bool isUp) {
    QRectF at = rect.translated(wanted - rect.center());
    // Each step passes one that is in the way, so it ends.
    for (bool isFree = false; !isFree;) {
      isFree = true;
      for (const QRectF& other : others) {
        if (other.adjusted(-kCellGap, 1 - off, kCellGap, off - 1).intersects(at)) {
          isUp ? at.moveBottom(other.top() - off) : at.moveTop(other.bottom() + off);
          isFree = false;
        }
      }
    }
    return at.center();
  };
  const QPointF up = moved(true);
  const QPointF down = moved(false);
  return wanted.y() - up.y() <= down.y() - wanted.y() ? up : down;
}

}  // namespace coppice::designer
