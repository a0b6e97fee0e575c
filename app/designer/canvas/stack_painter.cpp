// SPDX-License-Identifier: GPL-3.0-or-later
// Equal boxes drawn as one: what they are and reach together, and a cell for each.
#include <QFontMetricsF>
#include <algorithm>

#include "designer/canvas/canvas_painter.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/scales.hpp"

namespace coppice::designer {
namespace {

constexpr double kStackPixels = 6;

}  // namespace

void CanvasPainter::paintStack(QPainter& painter, const NodeItem& stack) const {
  const double height = stack.textHeight;
  paintCentred(painter, stack, stack.label, uiFont(100, QFont::DemiBold), m_colors[Token::text], {0.20, 0.32 * height});
  const QStringList lines = stack.detail.split(u'\n');
  constexpr double kDetail = 0.19;
  for (qsizetype i = 0; i < lines.size(); ++i) {
    paintCentred(painter, stack, lines[i], uiFont(100), m_colors[Token::muted],
                 {0.52 + 0.25 * static_cast<double>(i), kDetail * height});
  }
  for (const NodeItem::Cell& cell : stack.cells) {
    paintCell(painter, cell);
  }
  paintHullsOver(painter, stack);
}

void CanvasPainter::paintHullsOver(QPainter& painter, const NodeItem& stack) const {
  if (m_state.layer == nullptr) {
    return;
  }
  painter.save();
  painter.setClipRect(stack.rect, Qt::IntersectClip);
  painter.setBrush(Qt::NoBrush);
  for (std::size_t i = 0; i < m_state.layer->hulls().size(); ++i) {
    painter.setPen(hullPen(m_state.layer->overlay().hulls[i]));
    painter.drawPath(m_state.layer->hulls()[i]);
  }
  painter.restore();
}

void CanvasPainter::paintCentred(QPainter& painter, const NodeItem& stack, const QString& text, const QFont& font,
                                 const QColor& ink, const TextLine& line) const {
  const QFontMetricsF metrics(font);
  const double width = metrics.horizontalAdvance(text) / 100;
  const double size = std::min(line.size, stack.rect.width() * 0.94 / std::max(width, 0.01));
  if (size * m_scale < kStackPixels) {
    return;
  }
  painter.save();
  painter.translate(stack.rect.center().x(), stack.rect.top() + stack.textHeight * line.at);
  painter.scale(size / 100, size / 100);
  painter.setFont(font);
  painter.setPen(ink);
  painter.drawText(QPointF(-width * 50, (metrics.ascent() - metrics.descent()) / 2), text);
  painter.restore();
}

void CanvasPainter::paintCell(QPainter& painter, const NodeItem::Cell& cell) const {
  const OverlayLayer::CellLoad* load = m_state.layer != nullptr ? m_state.layer->onCell(cell.box) : nullptr;
  const bool isOn = isSelected(cell.box);
  QColor fill = m_colors[isOn ? Token::accentSoft : Token::gpuFill];
  if (load != nullptr) {
    fill = heat(load->max, m_colors.scheme());
  }
  const Token rim = load != nullptr && load->isBottleneck ? Token::cut : isOn ? Token::accent : Token::gpuLine;
  const double width = cell.rect.width() * m_scale;
  if (constexpr double kPlain = 7; width < kPlain) {
    painter.fillRect(cell.rect, load != nullptr ? fill : m_colors[rim]);
    return;
  }
  painter.setBrush(fill);
  painter.setPen(QPen(m_colors[rim], rim == Token::gpuLine ? std::max(1.0, px(0.8)) : std::max(1.6, px(1.6))));
  painter.drawRoundedRect(cell.rect, 5, 5);
}

}  // namespace coppice::designer
