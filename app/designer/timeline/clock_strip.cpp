// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/timeline/clock_strip.hpp"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>

#include "designer/theme/fonts.hpp"
#include "designer/theme/scales.hpp"
#include "designer/theme/theme.hpp"
#include "designer/timeline/time_text.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr int kNames = 18;
constexpr int kRight = 8;
constexpr int kRowHeight = 18;

}  // namespace

ClockStrip::ClockStrip(PlayClock& clock, QWidget* parent) : QWidget(parent), m_clock(clock) {
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Time"));
  setToolTip(tr("What all GPUs send over time. Click or drag to move the clock; Space plays."));
  connect(&m_clock, &PlayClock::timeChanged, this, qOverload<>(&QWidget::update));
  connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

void ClockStrip::setRows(std::vector<Row> rows) {
  m_rows = std::move(rows);
  m_max = 0;
  for (const Row& row : m_rows) {
    for (const double rate : row.rates) {
      m_max = std::max(m_max, rate);
    }
  }
  updateGeometry();
  update();
}

QSize ClockStrip::sizeHint() const {
  constexpr int kWidth = 300;
  return {kWidth, minimumSizeHint().height()};
}

QSize ClockStrip::minimumSizeHint() const {
  constexpr int kWidth = 120;
  constexpr int kRows = 2;
  return {kWidth, kRows * kRowHeight};
}

double ClockStrip::xAt(double time) const {
  return kNames + (m_clock.end() > 0 ? time / m_clock.end() : 0) * (width() - kNames - kRight);
}

void ClockStrip::paintRow(QPainter& painter, const Row& row, int index, const QRectF& place) const {
  const Theme& theme = Theme::instance();
  const QColor color = category(index, theme.scheme());
  painter.setFont(uiFont(11.5, QFont::DemiBold));
  painter.setPen(theme.color(Token::text));
  painter.drawText(QRectF(0, place.top(), kNames, place.height()), Qt::AlignCenter, row.name);
  painter.setPen(theme.color(Token::line));
  painter.drawLine(QPointF(kNames, place.bottom()), QPointF(width() - kRight, place.bottom()));
  if (row.rates.empty() || m_max <= 0) {
    return;
  }
  const double end = xAt(row.end);
  const double step = (end - kNames) / static_cast<double>(row.rates.size());
  QPainterPath path(QPointF(kNames, place.bottom()));
  constexpr double kGap = 2;
  for (std::size_t at = 0; at < row.rates.size(); ++at) {
    const double y = place.bottom() - (place.height() - kGap) * row.rates[at] / m_max;
    path.lineTo(kNames + static_cast<double>(at) * step, y);
    path.lineTo(kNames + static_cast<double>(at + 1) * step, y);
  }
  path.lineTo(end, place.bottom());
  QColor fill = color;
  constexpr float kFill = 0.3F;
  fill.setAlphaF(kFill);
  painter.setPen(QPen(color, 1));
  painter.setBrush(fill);
  painter.drawPath(path);
  const QString text = timeText(row.end);
  painter.setFont(figureFont(10.5));
  const double width = painter.fontMetrics().horizontalAdvance(text);
  constexpr double kTextGap = 4;
  const bool isOutside = end + kTextGap + width < this->width();
  painter.setPen(theme.color(Token::muted));
  if (isOutside) {
    painter.drawText(QRectF(end + kTextGap, place.top(), width + 1, place.height()), Qt::AlignVCenter | Qt::AlignLeft,
                     text);
  }
}

void ClockStrip::paintEvent(QPaintEvent*) {
  const Theme& theme = Theme::instance();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.fillRect(QRectF(kNames, 0, width() - kNames - kRight, height()), theme.color(Token::canvas));
  const double rowHeight = height() / std::max(1.0, static_cast<double>(m_rows.size()));
  for (std::size_t row = 0; row < m_rows.size(); ++row) {
    paintRow(painter, m_rows[row], static_cast<int>(row),
             QRectF(kNames, static_cast<double>(row) * rowHeight, width() - kNames - kRight, rowHeight - 1));
  }
  if (m_clock.time()) {
    painter.setPen(QPen(theme.color(Token::text), 1.5));
    const double x = xAt(*m_clock.time());
    painter.drawLine(QPointF(x, 0), QPointF(x, height()));
  }
  if (hasFocus()) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(theme.color(Token::accent));
    painter.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
  }
}

void ClockStrip::moveTo(double x) {
  m_clock.setTime((x - kNames) / std::max(1, width() - kNames - kRight) * m_clock.end());
}

void ClockStrip::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) {
    moveTo(event->position().x());
  }
}

void ClockStrip::mouseMoveEvent(QMouseEvent* event) {
  if ((event->buttons() & Qt::LeftButton) != 0) {
    moveTo(event->position().x());
  }
}

void ClockStrip::keyPressEvent(QKeyEvent* event) {
  constexpr double kSteps = 100;
  const double step = m_clock.end() / kSteps;
  switch (event->key()) {
    case Qt::Key_Left:
      m_clock.setTime(m_clock.time().value_or(0) - step);
      break;
    case Qt::Key_Right:
      m_clock.setTime(m_clock.time().value_or(0) + step);
      break;
    case Qt::Key_Home:
      m_clock.setTime(0);
      break;
    case Qt::Key_End:
      m_clock.setTime(m_clock.end());
      break;
    case Qt::Key_BracketLeft:
      Q_EMIT stepWanted(-1);
      break;
    case Qt::Key_BracketRight:
      Q_EMIT stepWanted(1);
      break;
    case Qt::Key_Space:
      m_clock.setPlaying(!m_clock.isPlaying());
      break;
    default:
      QWidget::keyPressEvent(event);
      return;
  }
  event->accept();
}

}  // namespace coppice::designer
