// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/program/ring_view.hpp"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "designer/program/program_text.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr std::size_t kMaxDrawn = 12;
constexpr QSizeF kWideBox(182, 36);
constexpr QSizeF kNarrowBox(112, 36);  // two beside each other in a small dock
constexpr int kWide = 420;

/// Where the line from the middle of `from` to `to` leaves the box.
QPointF edgeOf(const QRectF& from, const QPointF& to) {
  const QPointF by = to - from.center();
  const double x = std::abs(by.x()) < 1e-6 ? 1e9 : (from.width() / 2 + 3) / std::abs(by.x());
  const double y = std::abs(by.y()) < 1e-6 ? 1e9 : (from.height() / 2 + 3) / std::abs(by.y());
  return from.center() + by * std::min({x, y, 1.0});
}

void drawArrow(QPainter& painter, const QPointF& from, const QPointF& to, const QPointF& bend) {
  QPainterPath path(from);
  path.quadTo(bend, to);
  painter.setBrush(Qt::NoBrush);
  painter.drawPath(path);
  const double angle = std::atan2(to.y() - bend.y(), to.x() - bend.x());
  constexpr double kHead = 9;
  constexpr double kSpread = 0.4;
  painter.setBrush(painter.pen().color());
  painter.drawPolygon(QPolygonF{to, to - kHead * QPointF(std::cos(angle - kSpread), std::sin(angle - kSpread)),
                                to - kHead * QPointF(std::cos(angle + kSpread), std::sin(angle + kSpread))});
}

}  // namespace

RingView::RingView(QWidget* parent) : QWidget(parent) {
  setObjectName(u"programRing"_s);
  setAccessibleName(tr("Ring of waits"));
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

QSize RingView::sizeHint() const {
  return {420, 260};
}
QSize RingView::minimumSizeHint() const {
  return {300, 120};
}

void RingView::setReading(ProgramReadingPtr reading) {
  m_reading = std::move(reading);
  m_current.reset();
  update();
}

void RingView::setCurrent(std::optional<program::StepPlace> place) {
  m_current = place;
  update();
}

const std::vector<verify::RingStep>* RingView::ring() const {
  return m_reading && !m_reading->study().ring.empty() ? &m_reading->study().ring : nullptr;
}

std::vector<int> RingView::shown() const {
  std::vector<int> indices;
  if (ring() == nullptr) {
    return indices;
  }
  const std::size_t count = ring()->size();
  for (std::size_t at = 0; at < std::min(count, kMaxDrawn); ++at) {
    indices.push_back(static_cast<int>(at));
  }
  if (count > kMaxDrawn) {
    indices.back() = static_cast<int>(count) - 1;
    indices[kMaxDrawn - 2] = -1;
  }
  return indices;
}

QRectF RingView::boxOf(int at, int count) const {
  const QSizeF size = width() < kWide ? kNarrowBox : kWideBox;
  const double angle = 2 * std::numbers::pi * at / std::max(1, count) - std::numbers::pi / 2;
  const QPointF reach((width() - size.width()) / 2 - 8, (height() - size.height()) / 2 - 8);
  QPointF middle = QPointF(width(), height()) / 2.0;
  if (count == 2) {  // side by side, so that the two arrows have room
    middle.rx() += (at == 0 ? -1 : 1) * std::min(reach.x(), 1.1 * size.width());
  } else if (count > 1) {
    constexpr double kWidest = 1.8;
    const double across = std::min(reach.x(), kWidest * reach.y() + size.width());
    middle += QPointF(std::cos(angle) * across, std::sin(angle) * reach.y());
  }
  return {middle - QPointF(size.width(), size.height()) / 2, size};
}

void RingView::paintEvent(QPaintEvent* /*event*/) {
  const Theme& theme = Theme::instance();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.fillRect(rect(), theme.color(Token::canvas));
  const std::vector<int> all = shown();
  const int count = static_cast<int>(all.size());
  const QPointF middle = QPointF(width(), height()) / 2.0;
  painter.setFont(figureFont(11));
  for (int at = 0; at < count; ++at) {
    const QRectF from = boxOf(at, count);
    const QRectF to = boxOf((at + 1) % count, count);
    QPointF bend = (from.center() + to.center()) / 2.0;
    const QPointF out = bend - middle;
    const double length = std::hypot(out.x(), out.y());
    bend += count == 2 ? QPointF(0, at == 0 ? -46 : 46) : length > 1 ? out / length * 18 : QPointF(0, -40);
    const int index = all[at];
    painter.setPen(QPen(theme.color(Token::error), 1.6, index < 0 ? Qt::DashLine : Qt::SolidLine));
    if (count == 1) {
      painter.drawArc(QRectF(from.center() + QPointF(-24, -44), QSizeF(48, 44)), 0, 180 * 16);
    } else {
      drawArrow(painter, edgeOf(from, bend), edgeOf(to, bend), bend);
    }
    if (index >= 0) {
      const QString word = waitTitle((*ring())[index].reason);
      const QPointF tip = (from.center() + to.center()) / 4.0 + bend / 2.0;
      QRectF label(QPointF(), QSizeF(painter.fontMetrics().horizontalAdvance(word) + 8.0, 16));
      label.moveCenter(tip);
      painter.fillRect(label, theme.color(Token::canvas));
      painter.setPen(theme.color(Token::muted));
      painter.drawText(label, Qt::AlignCenter, word);
    }
  }
  for (int at = 0; at < count; ++at) {
    const QRectF box = boxOf(at, count);
    const int index = all[at];
    if (index < 0) {
      painter.setPen(theme.color(Token::muted));
      painter.fillRect(box, theme.color(Token::canvas));
      painter.drawText(box, Qt::AlignCenter, tr("%1 more").arg(ring()->size() - kMaxDrawn + 1));
      continue;
    }
    const verify::RingStep& step = (*ring())[index];
    const bool isCurrent = m_current == step.place;
    painter.setBrush(isCurrent ? theme.color(Token::accentSoft) : theme.color(Token::field));
    painter.setPen(QPen(isCurrent ? theme.color(Token::accent) : theme.color(Token::line), isCurrent ? 2 : 1));
    painter.drawRoundedRect(box, 6, 6);
    painter.setPen(theme.color(Token::text));
    const QRectF half(box.topLeft() + QPointF(0, 2), QSizeF(box.width(), box.height() / 2 - 1));
    const bool isNarrow = box.width() < kWideBox.width();
    const QString rank = tr("rank %1").arg(step.place.rank);
    const QString place = tr("tb %1 · step %2").arg(step.place.threadBlock).arg(step.place.step);
    painter.drawText(half, Qt::AlignCenter, isNarrow ? rank : rank + u" · "_s + place);
    painter.setPen(theme.color(Token::muted));
    painter.drawText(
        half.translated(0, half.height() - 1), Qt::AlignCenter,
        isNarrow ? place : QString::fromStdString(program::operationText(m_reading->program(), step.place)));
  }
  if (hasFocus()) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(theme.color(Token::accent));
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }
}

void RingView::mousePressEvent(QMouseEvent* event) {
  const std::vector<int> all = shown();
  for (std::size_t at = 0; at < all.size(); ++at) {
    if (all[at] >= 0 && boxOf(static_cast<int>(at), static_cast<int>(all.size())).contains(event->position())) {
      Q_EMIT chosen((*ring())[all[at]].place);
      return;
    }
  }
}

void RingView::mouseMoveEvent(QMouseEvent* event) {
  const std::vector<int> all = shown();
  QString tip;
  for (std::size_t at = 0; at < all.size(); ++at) {
    if (all[at] >= 0 && boxOf(static_cast<int>(at), static_cast<int>(all.size())).contains(event->position())) {
      tip = QString::fromStdString(verify::describe(m_reading->program(), (*ring())[all[at]]));
    }
  }
  setToolTip(tip);
  setCursor(tip.isEmpty() ? Qt::ArrowCursor : Qt::PointingHandCursor);
}

void RingView::keyPressEvent(QKeyEvent* event) {
  const bool isNext = event->key() == Qt::Key_Right || event->key() == Qt::Key_Down;
  const bool isPrevious = event->key() == Qt::Key_Left || event->key() == Qt::Key_Up;
  if (ring() == nullptr || (!isNext && !isPrevious)) {
    QWidget::keyPressEvent(event);
    return;
  }
  const auto here = std::find_if(ring()->begin(), ring()->end(),
                                 [this](const verify::RingStep& step) { return m_current == step.place; });
  const auto count = static_cast<std::ptrdiff_t>(ring()->size());
  const std::ptrdiff_t at = here == ring()->end() ? (isNext ? -1 : 0) : here - ring()->begin();
  Q_EMIT chosen((*ring())[(at + (isNext ? 1 : count - 1)) % count].place);
}

}  // namespace coppice::designer
