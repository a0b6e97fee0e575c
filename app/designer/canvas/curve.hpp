// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainterPath>
#include <QPointF>
#include <QRectF>
#include <array>
#include <vector>

namespace coppice::designer {

/// How a link runs: a straight line, or consecutive cubic Bézier pieces.
class Curve {
public:
  QPointF from;
  QPointF to;
  /// What is between, 3k − 1 points for k pieces: control, control (, joint, control, control)*. Empty: straight.
  std::vector<QPointF> inner = {};

  static Curve line(const QPointF& a, const QPointF& b) { return {a, b, {}}; }
  static Curve cubic(const QPointF& a, const QPointF& control1, const QPointF& control2, const QPointF& b) {
    return {a, b, {control1, control2}};
  }
  /// Vertical at both ends, as a cable hangs.
  static Curve cable(const QPointF& a, const QPointF& b);

  bool operator==(const Curve&) const = default;
  [[nodiscard]] bool isStraight() const { return inner.empty(); }
  /// Continues from the end, straight or by a piece.
  void lineOn(const QPointF& next);
  void cubicOn(const QPointF& control1, const QPointF& control2, const QPointF& next);
  /// Continues vertically at both ends; straight where no bend is needed.
  void cableOn(const QPointF& next);

  /// t runs from 0 to 1 about evenly along the whole.
  [[nodiscard]] QPointF at(double t) const;
  /// Direction at t, not of unit length.
  [[nodiscard]] QPointF tangent(double t) const;
  [[nodiscard]] QRectF bounds() const;
  /// Of each piece.
  void boundsOfPieces(std::vector<QRectF>& result) const;
  /// As points, few where it is straight.
  [[nodiscard]] std::vector<QPointF> points() const;
  [[nodiscard]] double distanceTo(const QPointF& point) const;
  [[nodiscard]] bool meets(const QRectF& rect) const;
  /// The same, moved sideways (positive: to the right of its direction as seen in y-down scene).
  [[nodiscard]] Curve shifted(double distance) const;
  [[nodiscard]] Curve reversed() const;
  void appendTo(QPainterPath& path) const;
  [[nodiscard]] QPainterPath path() const;

private:
  using Piece = std::array<QPointF, 4>;
  [[nodiscard]] std::size_t pieces() const { return inner.empty() ? 1 : (inner.size() + 1) / 3; }
  [[nodiscard]] Piece piece(std::size_t at) const;
  /// The piece at t, and how far along it.
  [[nodiscard]] std::pair<Piece, double> pieceAt(double t) const;
};

/// The segment between two points meets the rectangle.
[[nodiscard]] bool segmentMeets(const QPointF& a, const QPointF& b, const QRectF& rect);

}  // namespace coppice::designer
