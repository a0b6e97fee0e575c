// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/analysis/bandwidth_curve.hpp"

#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <utility>

#include "base/units.hpp"
#include "designer/theme/theme.hpp"

namespace coppice::designer {
namespace {

QString decimal(const Rational& value) {
  return QString::fromStdString(toDecimal(value));
}

}  // namespace

BandwidthCurve::BandwidthCurve(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("whatIfCurve"));
  setAccessibleName(tr("Bound over bandwidth"));
  setCursor(Qt::PointingHandCursor);
}

void BandwidthCurve::setWhatIf(WhatIf whatIf) {
  m_whatIf = std::move(whatIf);
  m_change = Rational(0);
  QWidget::update();
}

void BandwidthCurve::setChange(const Rational& change) {
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

void BandwidthCurve::paintEvent(QPaintEvent*) {
  const auto& points = m_whatIf.curve.points;
  const QRectF area = plot();
  if (points.size() < 2 || area.width() <= 0 || area.height() <= 0) {
    return;
  }
  const Colors& colors = Theme::instance().colors();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const double begin = points.front().change.toDouble();
  const double width = points.back().change.toDouble() - begin;
  double top = 0;
  for (const live::CurvePoint& point : points) {
    top = std::max(top, point.algbw.toDouble());
  }
  top = top > 0 ? top : 1;
  const auto xOf = [&](const Rational& change) {
    return area.left() + (change.toDouble() - begin) / width * area.width();
  };
  const auto yOf = [&](const Rational& algbw) { return area.bottom() - algbw.toDouble() / top * area.height(); };

  painter.setPen(QPen(colors[Token::line], 1));
  painter.drawLine(area.bottomLeft(), area.bottomRight());
  painter.setPen(QPen(colors[Token::muted], 1, Qt::DashLine));
  painter.drawLine(QPointF(xOf(Rational(0)), area.top()), QPointF(xOf(Rational(0)), area.bottom()));

  QPainterPath path;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const QPointF at(xOf(points[i].change), yOf(points[i].algbw));
    i == 0 ? path.moveTo(at) : path.lineTo(at);
  }
  constexpr double kLineWidth = 2;
  painter.setPen(QPen(colors[Token::accent], kLineWidth, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
  painter.drawPath(path);
  // Where another cut takes over: a tick on the axis, which the slider under it runs along.
  constexpr double kTick = 5;
  painter.setPen(QPen(colors[Token::muted], 1));
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    const qreal tick = xOf(points[i].change);
    painter.drawLine(QPointF(tick, area.bottom() - kTick), QPointF(tick, area.bottom() + kTick));
  }
  painter.setPen(QPen(colors[Token::accent], kLineWidth));
  constexpr double kDot = 4;
  painter.setBrush(colors[Token::panel]);
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    painter.drawEllipse(QPointF(xOf(points[i].change), yOf(points[i].algbw)), kDot, kDot);
  }

  // Words: each break point's bandwidth below its dot, where there is room.
  const QFontMetricsF metrics(font());
  painter.setPen(colors[Token::muted]);
  qreal used = -1;
  const auto label = [&](const Rational& change, const QString& text) {
    const qreal wide = metrics.horizontalAdvance(text);
    const qreal left = std::clamp(xOf(change) - wide / 2, area.left(), std::max(area.left(), area.right() - wide));
    if (left > used) {
      painter.drawText(QPointF(left, area.bottom() + metrics.ascent() + kTick + 1), text);
      used = left + wide + metrics.averageCharWidth();
    }
  };
  // Links of one bandwidth: what they have there; else by how much each changes.
  const double least = m_whatIf.least == m_whatIf.most ? m_whatIf.least.toDouble() : 0;
  for (const live::CurvePoint& point : points) {
    constexpr int kDigits = 6;
    const double value = least + point.change.toDouble();
    label(point.change,
          (least > 0 || value <= 0 ? QString() : QStringLiteral("+")) + QString::number(value, 'g', kDigits));
  }

  // What the axes are, where the curve leaves room: it rises from the left.
  const QString across = m_whatIf.least == m_whatIf.most ? tr("GB/s of each link, per direction")
                                                         : tr("change of each link, GB/s per direction");
  painter.setPen(colors[Token::faint]);
  painter.drawText(area.adjusted(0, 0, -2, -3), Qt::AlignRight | Qt::AlignBottom, across);
  painter.drawText(area.adjusted(2, 0, 0, 0), Qt::AlignLeft | Qt::AlignTop, tr("bound, GB/s"));

  const CurveValue now = valueAt(m_whatIf.curve, m_change);
  const qreal x = xOf(m_change);
  painter.setPen(QPen(colors[Token::text], 1));
  painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
  painter.setBrush(colors[Token::accent]);
  painter.setPen(Qt::NoPen);
  painter.drawEllipse(QPointF(x, yOf(now.algbw)), kDot + 1, kDot + 1);
  painter.setPen(colors[Token::text]);
  const QString text = decimal(now.algbw) + QStringLiteral(" GB/s");
  const qreal wide = metrics.horizontalAdvance(text);
  painter.drawText(QPointF(std::clamp(x - wide / 2, area.left(), std::max(area.left(), area.right() - wide)),
                           area.top() - metrics.descent() - 2),
                   text);
}

}  // namespace coppice::designer
