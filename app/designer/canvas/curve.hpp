// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainterPath>
#include <QPointF>
#include <QRectF>
#include <vector>

namespace coppice::designer {

/// One cubic Bézier: how every link runs.
struct Curve {
  QPointF from;
  QPointF control1;
  QPointF control2;
  QPointF to;

  [[nodiscard]] bool isStraight() const { return control1 == from && control2 == to; }
  [[nodiscard]] QPointF at(double t) const;
  /// Direction at t, not of unit length.
  [[nodiscard]] QPointF tangent(double t) const;
  [[nodiscard]] QRectF bounds() const;
  /// As points, few where it is straight.
  [[nodiscard]] std::vector<QPointF> points(int pieces = 16) const;
  [[nodiscard]] double distanceTo(const QPointF& point) const;
  [[nodiscard]] bool meets(const QRectF& rect) const;
  /// The same, moved sideways (positive: to the right of its direction as seen in y-down scene).
  [[nodiscard]] Curve shifted(double distance) const;
  void appendTo(QPainterPath& path) const;
  [[nodiscard]] QPainterPath path() const;

  static Curve line(const QPointF& a, const QPointF& b) { return {a, a, b, b}; }
};

/// The segment between two points meets the rectangle.
[[nodiscard]] bool segmentMeets(const QPointF& a, const QPointF& b, const QRectF& rect);

}  // namespace coppice::designer
