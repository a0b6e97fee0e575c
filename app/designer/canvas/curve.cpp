// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/curve.hpp"

#include <algorithm>
#include <cmath>

namespace coppice::designer {

QPointF Curve::at(double t) const {
  const double u = 1 - t;
  return u * u * u * from + 3 * u * u * t * control1 + 3 * u * t * t * control2 + t * t * t * to;
}

QPointF Curve::tangent(double t) const {
  if (isStraight()) {
    return to - from;
  }
  const double u = 1 - t;
  return 3 * u * u * (control1 - from) + 6 * u * t * (control2 - control1) + 3 * t * t * (to - control2);
}

QRectF Curve::bounds() const {
  const auto [left, right] = std::minmax({from.x(), control1.x(), control2.x(), to.x()});
  const auto [top, bottom] = std::minmax({from.y(), control1.y(), control2.y(), to.y()});
  return {left, top, right - left, bottom - top};
}

std::vector<QPointF> Curve::points(int pieces) const {
  if (isStraight()) {
    return {from, to};
  }
  std::vector<QPointF> result;
  result.reserve(static_cast<std::size_t>(pieces) + 1);
  for (int i = 0; i <= pieces; ++i) {
    result.push_back(at(static_cast<double>(i) / pieces));
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
  const QRectF all = bounds();
  if (all.left() > rect.right() || all.right() < rect.left() || all.top() > rect.bottom() ||
      all.bottom() < rect.top()) {
    return false;
  }
  QPointF last = from;
  const int pieces = isStraight() ? 1 : 16;
  for (int i = 1; i <= pieces; ++i) {
    const QPointF next = at(static_cast<double>(i) / pieces);
    if (segmentMeets(last, next, rect)) {
      return true;
    }
    last = next;
  }
  return false;
}

Curve Curve::shifted(double distance) const {
  const auto normal = [&](double t) {
    const QPointF along = tangent(t);
    const double length = std::hypot(along.x(), along.y());
    return length > 0 ? QPointF(-along.y() / length, along.x() / length) : QPointF();
  };
  const QPointF start = distance * normal(0.02);
  const QPointF end = distance * normal(0.98);
  return {from + start, control1 + start, control2 + end, to + end};
}

void Curve::appendTo(QPainterPath& path) const {
  path.moveTo(from);
  if (isStraight()) {
    path.lineTo(to);
  } else {
    path.cubicTo(control1, control2, to);
  }
}

QPainterPath Curve::path() const {
  QPainterPath result;
  appendTo(result);
  return result;
}

}  // namespace coppice::designer
