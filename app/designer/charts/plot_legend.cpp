// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/charts/plot_legend.hpp"

#include <QFontMetricsF>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "designer/theme/fonts.hpp"
#include "designer/theme/theme.hpp"

namespace coppice::designer {
namespace {

constexpr double kTextPixels = 10.5;
constexpr double kMarkWidth = 20;
constexpr double kToName = 5;
constexpr double kBetween = 14;
constexpr double kRowHeight = 17;

/// With its corners on a circle of diameter 1 around the origin, one of them at the top; a star has a second circle.
QPainterPath cornered(int corners, double inner) {
  QPolygonF outline;
  const int count = inner > 0 ? 2 * corners : corners;
  for (int at = 0; at < count; ++at) {
    const double radius = inner > 0 && at % 2 == 1 ? inner : 0.5;
    const double angle = 2 * std::numbers::pi * at / count;
    outline << QPointF(radius * std::sin(angle), -radius * std::cos(angle));
  }
  QPainterPath path;
  path.addPolygon(outline);
  path.closeSubpath();
  return path;
}

QPainterPath pathOf(QScatterSeries::MarkerShape shape) {
  constexpr double kInnerOfStar = 0.2;
  QPainterPath path;
  switch (shape) {
    case QScatterSeries::MarkerShapeRectangle:
      path.addRect(-0.5, -0.5, 1, 1);
      return path;
    case QScatterSeries::MarkerShapeRotatedRectangle:
      return cornered(4, 0);
    case QScatterSeries::MarkerShapeTriangle:
      return cornered(3, 0);
    case QScatterSeries::MarkerShapePentagon:
      return cornered(5, 0);
    case QScatterSeries::MarkerShapeStar:
      return cornered(5, kInnerOfStar);
    case QScatterSeries::MarkerShapeCircle:
      break;
  }
  path.addEllipse(QPointF(), 0.5, 0.5);
  return path;
}

}  // namespace

void PlotLegend::setKeys(std::vector<Key> keys) {
  prepareGeometryChange();
  m_keys = std::move(keys);
  m_places.clear();
  m_size = {};
}

QSizeF PlotLegend::sizeOf(const Key& key, double width) const {
  // A pixel more than the text needs, lest rounding elides it.
  const double text = std::ceil(QFontMetricsF(uiFont(kTextPixels)).horizontalAdvance(key.name)) + 1;
  return {std::min(kMarkWidth + kToName + text, width), kRowHeight};
}

void PlotLegend::layOutRows(double width) {
  prepareGeometryChange();
  m_places.clear();
  m_size = {};
  QPointF place;
  for (const Key& key : m_keys) {
    const QSizeF size = sizeOf(key, width);
    if (place.x() > 0 && place.x() + size.width() > width) {
      place = {0, place.y() + kRowHeight};
    }
    m_places.push_back({place, size});
    m_size = m_size.expandedTo({place.x() + size.width(), place.y() + kRowHeight});
    place.rx() += size.width() + kBetween;
  }
}

void PlotLegend::layOutColumn(double width) {
  prepareGeometryChange();
  m_places.clear();
  m_size = {};
  for (const Key& key : m_keys) {
    const QSizeF size = sizeOf(key, width);
    m_places.push_back({{0, m_size.height()}, size});
    m_size = {std::max(m_size.width(), size.width()), m_size.height() + kRowHeight};
  }
}

QString PlotLegend::textOf(std::size_t key) const {
  return QFontMetricsF(uiFont(kTextPixels))
      .elidedText(m_keys[key].name, Qt::ElideRight, m_places[key].width() - kMarkWidth - kToName);
}

void PlotLegend::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
  painter->setRenderHint(QPainter::Antialiasing);
  painter->setFont(uiFont(kTextPixels));
  for (std::size_t at = 0; at < m_places.size(); ++at) {
    const QRectF& place = m_places[at];
    paintMark(*painter, m_keys[at], {place.topLeft(), QSizeF(kMarkWidth, kRowHeight)});
    painter->setPen(Theme::instance().color(Token::text));
    painter->drawText(place.adjusted(kMarkWidth + kToName, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, textOf(at));
  }
}

void PlotLegend::paintMark(QPainter& painter, const Key& key, const QRectF& mark) {
  const PlotStyle& style = key.style;
  const QBrush fill(style.fill.isValid() ? style.fill : style.color);
  const QPen outline = style.width > 0 ? QPen(style.color, style.width, style.dash) : QPen(Qt::NoPen);
  if (key.kind == PlotKind::area || key.kind == PlotKind::bars) {
    constexpr double kHeight = 9;
    painter.setPen(outline);
    painter.setBrush(fill);
    painter.drawRect(QRectF(mark.left(), mark.center().y() - kHeight / 2, mark.width(), kHeight));
    return;
  }
  if (key.kind == PlotKind::line) {
    painter.setPen(outline);
    painter.drawLine(QPointF(mark.left(), mark.center().y()), QPointF(mark.right(), mark.center().y()));
  }
  if (style.marker > 0) {
    constexpr double kMost = 11;
    const double side = std::min(style.marker, kMost);
    painter.setPen(key.kind == PlotKind::line ? QPen(Qt::NoPen) : QPen(style.color, style.width));
    painter.setBrush(key.kind == PlotKind::line ? QBrush(style.color) : fill);
    painter.drawPath(QTransform().translate(mark.center().x(), mark.center().y()).scale(side, side).map(
        pathOf(style.shape)));
  }
}

}  // namespace coppice::designer
