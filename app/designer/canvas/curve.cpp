// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/curve.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace coppice::designer {
namespace {

constexpr double kMinPull = 16;
constexpr int kSteps = 16;  // of a bent piece

QPointF cubicAt(const std::array<QPointF, 4>& p, double t) {
  const double u = 1 - t;
  return u * u * u * p[0] + 3 * u * u * t * p[1] + 3 * u * t * t * p[2] + t * t * t * p[3];
}

bool isLine(const std::array<QPointF, 4>& p) {
  return p[0] == p[1] && p[2] == p[3];
}

}  // namespace

Curve Curve::cable(const QPointF& a, const QPointF& b) {
  Curve curve{a, a, {}};
  curve.cableOn(b);
  return curve;
}

void Curve::lineOn(const QPointF& next) {
  if (next == to) {
    return;
  }
  if (inner.empty() && from == to) {
    to = next;
    return;
  }
  cubicOn(to, next, next);
}

void Curve::cubicOn(const QPointF& control1, const QPointF& control2, const QPointF& next) {
  if (inner.empty() && from != to) {
    inner = {from, to};  // what was straight becomes a piece
  }
  if (!inner.empty()) {
    inner.push_back(to);
  }
  inner.push_back(control1);
  inner.push_back(control2);
  to = next;
}

void Curve::cableOn(const QPointF& next) {
  const double rise = next.y() - to.y();
  if (std::abs(next.x() - to.x()) < 0.5) {
    lineOn({to.x(), next.y()});
    return;
  }
  const double pull = std::copysign(std::max(std::abs(rise) * 0.5, std::min(kMinPull, std::abs(rise))), rise);
  cubicOn(to + QPointF(0, pull), next - QPointF(0, pull), next);
}

Curve::Piece Curve::piece(std::size_t at) const {
  if (inner.empty()) {
    return {from, from, to, to};
  }
  return {at == 0 ? from : inner[3 * at - 1], inner[3 * at], inner[3 * at + 1],
          3 * at + 2 < inner.size() ? inner[3 * at + 2] : to};
}

std::pair<Curve::Piece, double> Curve::pieceAt(double t) const {
  const std::size_t count = pieces();
  if (count == 1) {
    return {piece(0), t};
  }
  double total = 0;
  const auto lengthOf = [](const Piece& p) {
    return (std::hypot(p[3].x() - p[0].x(), p[3].y() - p[0].y()) +
            std::hypot(p[1].x() - p[0].x(), p[1].y() - p[0].y()) +
            std::hypot(p[2].x() - p[1].x(), p[2].y() - p[1].y()) +
            std::hypot(p[3].x() - p[2].x(), p[3].y() - p[2].y())) /
           2;
  };
  for (std::size_t i = 0; i < count; ++i) {
    total += lengthOf(piece(i));
  }
  double left = std::clamp(t, 0.0, 1.0) * total;
  for (std::size_t i = 0; i < count; ++i) {
    const Piece p = piece(i);
    const double length = lengthOf(p);
    if (left <= length || i + 1 == count) {
      return {p, length > 0 ? std::clamp(left / length, 0.0, 1.0) : 0.0};
    }
    left -= length;
  }
  return {piece(0), t};
}

QPointF Curve::at(double t) const {
  if (isStraight()) {
    return from + (to - from) * t;
  }
  const auto [p, s] = pieceAt(t);
  return isLine(p) ? p[0] + (p[3] - p[0]) * s : cubicAt(p, s);
}

QPointF Curve::tangent(double t) const {
  if (isStraight()) {
    return to - from;
  }
  const auto [p, s] = pieceAt(t);
  if (isLine(p)) {
    return p[3] - p[0];
  }
  const double u = 1 - s;
  return 3 * u * u * (p[1] - p[0]) + 6 * u * s * (p[2] - p[1]) + 3 * s * s * (p[3] - p[2]);
}

QRectF Curve::bounds() const {
  double left = std::min(from.x(), to.x());
  double right = std::max(from.x(), to.x());
  double top = std::min(from.y(), to.y());
  double bottom = std::max(from.y(), to.y());
  for (const QPointF& point : inner) {
    left = std::min(left, point.x());
    right = std::max(right, point.x());
    top = std::min(top, point.y());
    bottom = std::max(bottom, point.y());
  }
  return {left, top, right - left, bottom - top};
}

void Curve::boundsOfPieces(std::vector<QRectF>& result) const {
  result.clear();
  for (std::size_t i = 0; i < pieces(); ++i) {
    const Piece p = piece(i);
    const auto [left, right] = std::minmax({p[0].x(), p[1].x(), p[2].x(), p[3].x()});
    const auto [top, bottom] = std::minmax({p[0].y(), p[1].y(), p[2].y(), p[3].y()});
    result.emplace_back(left, top, right - left, bottom - top);
  }
}

std::vector<QPointF> Curve::points() const {
  std::vector<QPointF> result{from};
  for (std::size_t i = 0; i < pieces(); ++i) {
    const Piece p = piece(i);
    if (!isLine(p)) {
      for (int step = 1; step < kSteps; ++step) {
        result.push_back(cubicAt(p, static_cast<double>(step) / kSteps));
      }
    }
    result.push_back(p[3]);
  }
  return result;
}

double Curve::distanceTo(const QPointF& point) const {
  const std::vector<QPointF> line = points();
  double best = std::hypot(point.x() - from.x(), point.y() - from.y());
  for (std::size_t i = 1; i < line.size(); ++i) {
    const QPointF along = line[i] - line[i - 1];
    const double length = QPointF::dotProduct(along, along);
    const double t = length > 0 ? std::clamp(QPointF::dotProduct(point - line[i - 1], along) / length, 0.0, 1.0) : 0.0;
    const QPointF off = point - (line[i - 1] + t * along);
    best = std::min(best, std::hypot(off.x(), off.y()));
  }
  return best;
}

bool segmentMeets(const QPointF& a, const QPointF& b, const QRectF& rect) {
  // Liang and Barsky: the part of the segment inside each of the four half planes.
  double enter = 0;
  double leave = 1;
  const QPointF d = b - a;
  const auto clip = [&](double p, double q) {
    if (p == 0) {
      return q >= 0;
    }
    const double t = q / p;
    if (p < 0) {
      enter = std::max(enter, t);
    } else {
      leave = std::min(leave, t);
    }
    return enter <= leave;
  };
  return clip(-d.x(), a.x() - rect.left()) && clip(d.x(), rect.right() - a.x()) && clip(-d.y(), a.y() - rect.top()) &&
         clip(d.y(), rect.bottom() - a.y());
}

bool Curve::meets(const QRectF& rect) const {
  const auto misses = [&](double left, double right, double top, double bottom) {
    return left > rect.right() || right < rect.left() || top > rect.bottom() || bottom < rect.top();
  };
  for (std::size_t i = 0; i < pieces(); ++i) {
    const Piece p = piece(i);
    const auto [left, right] = std::minmax({p[0].x(), p[1].x(), p[2].x(), p[3].x()});
    const auto [top, bottom] = std::minmax({p[0].y(), p[1].y(), p[2].y(), p[3].y()});
    if (misses(left, right, top, bottom)) {
      continue;
    }
    QPointF last = p[0];
    const int steps = isLine(p) ? 1 : kSteps;
    for (int step = 1; step <= steps; ++step) {
      const QPointF next = step == steps ? p[3] : cubicAt(p, static_cast<double>(step) / steps);
      if (!misses(std::min(last.x(), next.x()), std::max(last.x(), next.x()), std::min(last.y(), next.y()),
                  std::max(last.y(), next.y())) &&
          segmentMeets(last, next, rect)) {
        return true;
      }
      last = next;
    }
  }
  return false;
}

Curve Curve::shifted(double distance) const {
  const auto normal = [&](const QPointF& along) {
    const double length = std::hypot(along.x(), along.y());
    return length > 0 ? QPointF(-along.y() / length, along.x() / length) * distance : QPointF();
  };
  // Each control moves with the end of its piece, and joints with the direction there.
  Curve result = *this;
  const std::size_t count = pieces();
  for (std::size_t i = 0; i < count; ++i) {
    const Piece p = piece(i);
    const QPointF first = normal(p[1] != p[0] ? p[1] - p[0] : p[3] - p[0]);
    const QPointF last = normal(p[3] != p[2] ? p[3] - p[2] : p[3] - p[0]);
    if (i == 0) {
      result.from += first;
    }
    if (!inner.empty()) {
      result.inner[3 * i] += first;
      result.inner[3 * i + 1] += last;
    }
    if (i + 1 == count) {
      result.to += last;
    } else {
      result.inner[3 * i + 2] += last;
    }
  }
  return result;
}

Curve Curve::reversed() const {
  return {to, from, {inner.rbegin(), inner.rend()}};
}

void Curve::appendTo(QPainterPath& path) const {
  path.moveTo(from);
  for (std::size_t i = 0; i < pieces(); ++i) {
    const Piece p = piece(i);
    if (isLine(p)) {
      path.lineTo(p[3]);
    } else {
      path.cubicTo(p[1], p[2], p[3]);
    }
  }
}

QPainterPath Curve::path() const {
  QPainterPath result;
  appendTo(result);
  return result;
}

}  // namespace coppice::designer
