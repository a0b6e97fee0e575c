// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/analysis/bandwidth_curve.hpp"

#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <utility>

#include "base/units.hpp"
#include "designer/document/figures.hpp"
#include "designer/theme/theme.hpp"

namespace coppice::designer {
namespace {

constexpr double kCurveTick = 5;
constexpr double kCurveDot = 4;

}  // namespace

BandwidthCurve::BandwidthCurve(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("whatIfCurve"));
  setAccessibleName(tr("Bound over bandwidth"));
  setCursor(Qt::PointingHandCursor);
}

void BandwidthCurve::setWhatIf(WhatIf whatIf) {
  m_whatIf = std::move(whatIf);
  m_change = {};
  QWidget::update();
}

void BandwidthCurve::setChange(const Bandwidth& change) {
  m_change = change;
  QWidget::update();
}

QSize BandwidthCurve::sizeHint() const {
  constexpr QSize kSize(420, 150);
  return kSize;
}

QSize BandwidthCurve::minimumSizeHint() const {
  constexpr QSize kSize(160, 70);
  return kSize;
}

QRectF BandwidthCurve::plot() const {
  const QFontMetricsF metrics(font());
  constexpr qreal kRoom = 10;
  return QRectF(rect()).adjusted(kRoom, metrics.height() + kRoom / 2, -kRoom, -metrics.height() - kRoom / 2);
}

void BandwidthCurve::drag(const QMouseEvent* event) {
  const QRectF area = plot();
  if (!m_whatIf.curve.points.empty() && area.width() > 0) {
    Q_EMIT dragged(std::clamp((event->position().x() - area.left()) / area.width(), 0.0, 1.0));
  }
}

void BandwidthCurve::mousePressEvent(QMouseEvent* event) {
  drag(event);
}

void BandwidthCurve::mouseMoveEvent(QMouseEvent* event) {
  drag(event);
}

/// From changes and bounds to pixels.
struct BandwidthCurve::Scale {
  QRectF area;
  double begin = 0;
  double width = 1;
  double top = 1;

  [[nodiscard]] qreal x(const Bandwidth& change) const {
    return area.left() + (toGBps(change) - begin) / width * area.width();
  }
  [[nodiscard]] qreal y(const Bandwidth& algbw) const { return area.bottom() - toGBps(algbw) / top * area.height(); }
  /// Left end of a text of this width that is centred at x and stays inside.
  [[nodiscard]] qreal leftOf(qreal at, qreal textWidth) const {
    return std::clamp(at - textWidth / 2, area.left(), std::max(area.left(), area.right() - textWidth));
  }
};

void BandwidthCurve::paintEvent(QPaintEvent*) {
  const auto& points = m_whatIf.curve.points;
  const QRectF area = plot();
  if (points.size() < 2 || area.width() <= 0 || area.height() <= 0) {
    return;
  }
  Scale scale{.area = area,
              .begin = toGBps(points.front().change),
              .width = toGBps(points.back().change) - toGBps(points.front().change)};
  const auto highest = std::ranges::max_element(points, {}, &live::CurvePoint::algbw);
  scale.top = highest->algbw.isPositive() ? toGBps(highest->algbw) : 1;
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  paintCurve(painter, scale);
  paintTexts(painter, scale);
  paintChange(painter, scale);
  paintBound(painter, scale);
}

void BandwidthCurve::paintCurve(QPainter& painter, const Scale& scale) const {
  const auto& points = m_whatIf.curve.points;
  const Colors& colors = Theme::instance().colors();
  painter.setPen(QPen(colors[Token::line], 1));
  painter.drawLine(scale.area.bottomLeft(), scale.area.bottomRight());
  painter.setPen(QPen(colors[Token::muted], 1, Qt::DashLine));
  const qreal zero = scale.x(Bandwidth());
  painter.drawLine(QPointF(zero, scale.area.top()), QPointF(zero, scale.area.bottom()));

  QPainterPath path;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const QPointF at(scale.x(points[i].change), scale.y(points[i].algbw));
    i == 0 ? path.moveTo(at) : path.lineTo(at);
  }
  constexpr double kLineWidth = 2;
  painter.setPen(QPen(colors[Token::accent], kLineWidth, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
  painter.drawPath(path);
  // Where another cut takes over: a tick on the axis, which the slider under it runs along.
  painter.setPen(QPen(colors[Token::muted], 1));
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    const qreal tick = scale.x(points[i].change);
    painter.drawLine(QPointF(tick, scale.area.bottom() - kCurveTick), QPointF(tick, scale.area.bottom() + kCurveTick));
  }
  painter.setPen(QPen(colors[Token::accent], kLineWidth));
  painter.setBrush(colors[Token::panel]);
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    painter.drawEllipse(QPointF(scale.x(points[i].change), scale.y(points[i].algbw)), kCurveDot, kCurveDot);
  }
}

/// Each break point's bandwidth below its dot, where there is room, and what the axes are.
void BandwidthCurve::paintTexts(QPainter& painter, const Scale& scale) const {
  const Colors& colors = Theme::instance().colors();
  const QFontMetricsF metrics(font());
  painter.setPen(colors[Token::muted]);
  qreal used = -1;
  // Links of one bandwidth: what they have there; else by how much each changes.
  const bool isOneBandwidth = m_whatIf.min == m_whatIf.max;
  const double min = isOneBandwidth ? toGBps(m_whatIf.min) : 0;
  for (const live::CurvePoint& point : m_whatIf.curve.points) {
    constexpr int kDigits = 6;
    const double value = min + toGBps(point.change);
    const QString text =
        (min > 0 || value <= 0 ? QString() : QStringLiteral("+")) + QString::number(value, 'g', kDigits);
    const qreal wide = metrics.horizontalAdvance(text);
    const qreal left = scale.leftOf(scale.x(point.change), wide);
    if (left > used) {
      painter.drawText(QPointF(left, scale.area.bottom() + metrics.ascent() + kCurveTick + 1), text);
      used = left + wide + metrics.averageCharWidth();
    }
  }
  // The curve leaves room there: it rises from the left.
  const QString across =
      isOneBandwidth ? tr("GB/s of each link, per direction") : tr("change of each link, GB/s per direction");
  painter.setPen(colors[Token::faint]);
  painter.drawText(scale.area.adjusted(0, 0, -2, -3), Qt::AlignRight | Qt::AlignBottom, across);
}

/// The bound at the change, and beside it, above all curves, what the axis upwards is.
void BandwidthCurve::paintBound(QPainter& painter, const Scale& scale) const {
  const Colors& colors = Theme::instance().colors();
  const QFontMetricsF metrics(font());
  const qreal base = scale.area.top() - metrics.descent() - 2;
  const QString value = decimal(valueAt(m_whatIf.curve, m_change).algbw) + QStringLiteral(" GB/s");
  const qreal valueWide = metrics.horizontalAdvance(value);
  const qreal left = scale.leftOf(scale.x(m_change), valueWide);
  painter.setPen(colors[Token::text]);
  painter.drawText(QPointF(left, base), value);
  const QString up = tr("bound, GB/s");
  const qreal wide = metrics.horizontalAdvance(up);
  const qreal right = scale.area.right() - wide;
  painter.setPen(colors[Token::faint]);
  if (scale.area.left() + wide + metrics.height() < left) {
    painter.drawText(QPointF(scale.area.left(), base), up);
  } else if (left + valueWide + metrics.height() < right) {
    painter.drawText(QPointF(right, base), up);
  }
}

void BandwidthCurve::paintChange(QPainter& painter, const Scale& scale) const {
  const Colors& colors = Theme::instance().colors();
  const CurveValue now = valueAt(m_whatIf.curve, m_change);
  const qreal x = scale.x(m_change);
  painter.setPen(QPen(colors[Token::text], 1));
  painter.drawLine(QPointF(x, scale.area.top()), QPointF(x, scale.area.bottom()));
  painter.setBrush(colors[Token::accent]);
  painter.setPen(Qt::NoPen);
  painter.drawEllipse(QPointF(x, scale.y(now.algbw)), kCurveDot + 1, kCurveDot + 1);
}

}  // namespace coppice::designer
