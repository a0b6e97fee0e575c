// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/live_painter.hpp"

#include <QFontMetricsF>
#include <algorithm>

#include "designer/canvas/canvas_painter.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/theme.hpp"

namespace coppice::designer {

LivePainter::LivePainter(QPainter& painter, const CanvasScene& scene, const Viewpoint& viewpoint, const QSize& view)
    : m_painter(painter), m_scene(scene), m_viewpoint(viewpoint), m_view(view) {}

void LivePainter::outline(const ElementId& id, double distance, const QPen& pen) {
  m_painter.setBrush(Qt::NoBrush);
  if (const LineItem* line = m_scene.line(id.link())) {
    QPen wide = pen;
    wide.setWidthF(lineWidth(line->bandwidth) + pen.widthF());
    m_painter.setPen(wide);
    m_painter.drawPath(line->curve.path());
    return;
  }
  const QRectF rect = m_scene.rectOf(id);
  if (!rect.isNull()) {
    const double radius = std::min(14.0, rect.height() / 2) + distance;
    const QRectF frame = rect.adjusted(-distance, -distance, distance, distance);
    m_painter.save();
    clipTitles(frame.adjusted(-px(4), -px(4), px(4), px(4)));
    m_painter.setPen(pen);
    // Corners of less than this many pixels are not seen as round.
    constexpr double kMinRadius = 2.5;
    if (radius * m_viewpoint.scale < kMinRadius) {
      m_painter.drawRect(frame);
    } else {
      m_painter.drawRoundedRect(frame, radius, radius);
    }
    m_painter.restore();
  }
}

void LivePainter::clipTitles(const QRectF& part) {
  QPainterPath titles;
  const Detail detail = detailAt(m_viewpoint.scale, m_scene.lines().size(), m_scene.bounds());
  CanvasPainter painter(m_scene, Theme::instance().colors(), {});
  for (const QRectF& title : painter.titleRects(m_viewpoint.scale, detail, part)) {
    titles.addRect(title);
  }
  if (!titles.isEmpty()) {
    QPainterPath whole;
    whole.addRect(part);
    m_painter.setClipPath(whole.subtracted(titles), Qt::IntersectClip);
  }
}

void LivePainter::paintHovered(const ElementId& id) {
  const Colors& colors = Theme::instance().colors();
  outline(id, px(3), QPen(mixed(colors[Token::canvas], colors[Token::accent], 0.6), px(1.5)));
}

void LivePainter::paintCursor(const ElementId& id) {
  QPen pen(Theme::instance().color(Token::accent), px(1.5));
  pen.setDashPattern({1.5, 2});
  outline(id, px(6), pen);
}

void LivePainter::stroke(QPainter& painter, const Curve& curve, const QColor& color, double width) {
  QPen pen(color, width);
  pen.setCapStyle(Qt::RoundCap);
  painter.setPen(pen);
  painter.setBrush(Qt::NoBrush);
  painter.drawPath(curve.path());
}

void LivePainter::paintWay(const std::vector<LinkId>& way) {
  QColor color = Theme::instance().color(Token::accent);
  constexpr float kOpacity = 0.45F;
  color.setAlphaF(kOpacity);
  for (const LinkId link : way) {
    if (const LineItem* line = m_scene.line(link)) {
      stroke(m_painter, line->curve, color, lineWidth(line->bandwidth) + px(6));
    }
  }
}

void LivePainter::paintPointNote(const PointNote& note) {
  const LineItem* line = m_scene.line(note.over.link());
  const QRectF rect = m_scene.rectOf(note.over);
  const QPointF place = line != nullptr ? line->curve.at(0.5) : QPointF(rect.center().x(), rect.bottom());
  m_painter.save();
  m_painter.resetTransform();
  paintNote(note.note, m_viewpoint.toView(place));
  m_painter.restore();
}

void LivePainter::paintMotion(const Motion& motion, MotionLanes& lanes) {
  const MotionStyle style(m_viewpoint.scale);
  for (const auto& [lane, flow] : lanes.busiest(motion)) {
    stroke(m_painter, lanes.curveOf(lane, style.aside()), flow->color, style.widthOf(flow->share));
  }
  paintArrivals(motion, style);
  m_painter.setPen(QPen(Theme::instance().color(Token::canvas), style.rim));
  for (const Motion::Piece& piece : motion.pieces) {
    if (const auto lane = lanes.laneOf(piece.step)) {
      m_painter.setBrush(piece.color);
      m_painter.drawEllipse(lanes.curveOf(*lane, style.aside()).at(std::clamp(piece.at, 0.0, 1.0)), style.radius(),
                            style.radius());
    }
  }
}

void LivePainter::paintArrivals(const Motion& motion, const MotionStyle& style) {
  for (const Motion::Arrival& arrival : motion.arrivals) {
    paintArrival(arrival, style);
  }
}

void LivePainter::paintArrival(const Motion::Arrival& arrival, const MotionStyle& style) {
  const QRectF rect = m_scene.rectOf(arrival.gpu);
  if (rect.isNull()) {
    return;
  }
  const Colors& colors = Theme::instance().colors();
  constexpr double kHeight = 0.14;
  constexpr double kInset = 0.12;
  const double height = rect.height() * kHeight;
  const double inset = rect.width() * kInset;
  QRectF bar(rect.left() + inset, rect.bottom() - 2 * height, rect.width() - 2 * inset, height);
  m_painter.setPen(Qt::NoPen);
  m_painter.setBrush(mixed(colors[Token::gpuFill], colors[Token::gpuLine], 0.35));
  m_painter.drawRect(bar);
  bar.setWidth(bar.width() * arrival.share);
  m_painter.setBrush(colors[Token::accent]);
  m_painter.drawRect(bar);
  if (arrival.merging > 0) {
    QColor ring = colors[Token::accent];
    ring.setAlphaF(static_cast<float>(arrival.merging));
    outline(arrival.gpu, style.unit * 2, QPen(ring, style.unit * 3));
  }
}

void LivePainter::paintPulse(const ElementId& id, double share) {
  QColor color = Theme::instance().color(Token::accent);
  color.setAlphaF(static_cast<float>(1 - share));
  outline(id, px(4 + 22 * share), QPen(color, px(3)));
}

void LivePainter::paintLineLabel(const LineItem& line, const std::optional<HoverNote>& note) {
  constexpr QSizeF kPadding(18, 0);
  constexpr double kHeight = 22;
  const Colors& colors = Theme::instance().colors();
  m_painter.save();
  m_painter.resetTransform();
  m_painter.setFont(uiFont(11.5, QFont::DemiBold));
  const double words = m_painter.fontMetrics().boundingRect(line.label).width();
  QRectF rect(0, 0, words + kPadding.width(), kHeight);
  rect.moveCenter(m_viewpoint.toView(line.curve.at(0.5)));
  m_painter.setPen(QPen(colors[Token::line], 1));
  m_painter.setBrush(colors[Token::panel]);
  m_painter.drawRoundedRect(rect, kHeight / 2, kHeight / 2);
  m_painter.setPen(colors[Token::text]);
  m_painter.drawText(rect, Qt::AlignCenter, line.label);
  if (note) {
    paintNote(*note, rect.center());
  }
  m_painter.restore();
}

void LivePainter::paintNote(const HoverNote& note, const QPointF& place) {
  constexpr double kRow = 19;
  constexpr double kPadding = 10;
  constexpr double kColumnGap = 18;
  constexpr double kAway = 18;
  const QFont head = uiFont(11.5, QFont::DemiBold);
  const QFont name = uiFont(11.5);
  const QFont figure = figureFont(11);
  double names = 0;
  double figures = 0;
  for (const auto& [left, right] : note.rows) {
    names = std::max(names, QFontMetricsF(name).horizontalAdvance(left));
    figures = std::max(figures, right.isEmpty() ? 0.0 : QFontMetricsF(figure).horizontalAdvance(right) + kColumnGap);
  }
  const QSizeF size(std::max(names + figures, QFontMetricsF(head).horizontalAdvance(note.title)) + 2 * kPadding,
                    kRow * static_cast<double>(note.rows.size() + 1) + kPadding);
  QRectF frame(QPointF(place.x() - size.width() / 2, place.y() + kAway), size);
  if (frame.bottom() > m_view.height() - 4) {
    frame.moveBottom(place.y() - kAway);
  }
  frame.moveLeft(std::clamp(frame.left(), 4.0, std::max(4.0, m_view.width() - size.width() - 4)));
  frame.moveTop(std::max(4.0, frame.top()));
  const Colors& colors = Theme::instance().colors();
  m_painter.setPen(QPen(colors[Token::line], 1));
  m_painter.setBrush(colors[Token::panel]);
  m_painter.drawRoundedRect(frame, 8, 8);
  QRectF row(frame.left() + kPadding, frame.top() + kPadding / 2, size.width() - 2 * kPadding, kRow);
  m_painter.setFont(head);
  m_painter.setPen(colors[Token::text]);
  m_painter.drawText(row, Qt::AlignLeft | Qt::AlignVCenter, note.title);
  for (const auto& [left, right] : note.rows) {
    row.translate(0, kRow);
    m_painter.setFont(name);
    m_painter.setPen(colors[Token::muted]);
    m_painter.drawText(row, Qt::AlignLeft | Qt::AlignVCenter, left);
    m_painter.setFont(figure);
    m_painter.setPen(colors[Token::text]);
    m_painter.drawText(row, Qt::AlignRight | Qt::AlignVCenter, right);
  }
}

}  // namespace coppice::designer
