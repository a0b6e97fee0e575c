// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/timeline/timeline_view.hpp"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QThreadPool>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "designer/theme/fonts.hpp"
#include "designer/theme/scales.hpp"
#include "designer/theme/theme.hpp"
#include "designer/timeline/time_text.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr int kLaneHeight = 18;
constexpr int kHead = 22;
constexpr int kNameWidth = 132;
constexpr double kMinSpan = 50;  // ns

/// 1, 2 or 5 times a power of ten.
double roundStep(double min) {
  const double power = std::pow(10, std::floor(std::log10(min)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= min) {
      return factor * power;
    }
  }
  return 10 * power;
}

/// The part of a line between two heights. @pre it meets them
QLineF within(const QLineF& line, double top, double bottom) {
  const double rise = line.dy();
  if (std::abs(rise) <= bottom - top) {
    return line;
  }
  const double first = std::clamp((top - line.y1()) / rise, 0.0, 1.0);
  const double last = std::clamp((bottom - line.y1()) / rise, 0.0, 1.0);
  return {line.pointAt(std::min(first, last)), line.pointAt(std::max(first, last))};
}

}  // namespace

TimelineView::TimelineView(QWidget* parent) : QAbstractScrollArea(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setFrameShape(QFrame::NoFrame);
  viewport()->setMouseTracking(true);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setAccessibleName(tr("Timeline"));
  connect(&Theme::instance(), &Theme::changed, viewport(), qOverload<>(&QWidget::update));
}

TimelineLanes::TimelineLanes(std::vector<TimelineLane> all, WaitName waitName) : lanes(std::move(all)) {
  std::vector<std::set<std::size_t>> known;  // items by run: those with several links stand in several lanes
  longest.assign(lanes.size(), 0);
  for (std::size_t at = 0; at < lanes.size(); ++at) {
    std::vector<TimelineBar>& bars = lanes[at].bars;
    const auto isBefore = [](const TimelineBar& a, const TimelineBar& b) { return a.begin < b.begin; };
    if (!std::is_sorted(bars.begin(), bars.end(), isBefore)) {
      std::sort(bars.begin(), bars.end(), isBefore);
    }
    const auto run = static_cast<std::size_t>(lanes[at].source);
    if (run >= paths.size()) {
      paths.resize(run + 1);
      known.resize(run + 1);
    }
    for (const TimelineBar& bar : bars) {
      longest[at] = std::max(longest[at], bar.end - bar.begin);
      end = std::max(end, bar.end);
      if (bar.isCritical && known[run].insert(bar.item).second) {
        paths[run].push_back({at, bar.begin, bar.end, waitName != nullptr ? waitName(bar.wait) : ""});
      }
    }
  }
  for (std::vector<TimelineLanes::PathBar>& path : paths) {
    std::stable_sort(path.begin(), path.end(), [](const TimelineLanes::PathBar& a, const TimelineLanes::PathBar& b) {
      return a.begin < b.begin;
    });
  }
}

void TimelineView::setLanes(TimelineLanes lanes, double end) {
  std::swap(m_shown, lanes);
  // Millions of bars take long to go.
  QThreadPool::globalInstance()->start([before = std::make_shared<TimelineLanes>(std::move(lanes))] {});
  m_filled.clear();
  m_end = std::max({end, m_shown.end, 1.0});
  m_range.reset();
  m_cursor.reset();
  showAll();
}

void TimelineView::setMessage(const QString& message) {
  if (m_message != message) {
    m_message = message;
    viewport()->update();
  }
}

const TimelineLane& TimelineView::lane(std::size_t at) const {
  TimelineLane& lane = m_shown.lanes[at];
  if (m_shown.barsOf && lane.bars.empty()) {
    lane.bars = m_shown.barsOf(at);
    m_filled.push_back(at);
    // More than any window shows.
    constexpr std::size_t kMaxFilled = 256;
    if (m_filled.size() > kMaxFilled) {
      m_shown.lanes[m_filled.front()].bars = {};
      m_filled.erase(m_filled.begin());
    }
  }
  return lane;
}

std::size_t TimelineView::pathLength() const {
  std::size_t length = 0;
  for (const std::vector<TimelineLanes::PathBar>& path : m_shown.paths) {
    length += path.size();
  }
  return length;
}

int TimelineView::heightForAll() const {
  return kHead + laneCount() * kLaneHeight + 1;
}

void TimelineView::setCursor(std::optional<double> time) {
  m_cursor = time;
  if (time && (*time < m_from || *time > m_to)) {
    const double span = m_to - m_from;
    constexpr double kLead = 0.1;
    m_from = std::clamp(*time - kLead * span, 0.0, m_end - span);
    m_to = m_from + span;
  }
  viewport()->update();
}

void TimelineView::showAll() {
  m_from = 0;
  m_to = m_end;
  updateBars();
  viewport()->update();
}

void TimelineView::updateBars() {
  const int all = laneCount() * kLaneHeight;
  const int room = viewport()->height() - kHead;
  verticalScrollBar()->setRange(0, std::max(0, all - room));
  verticalScrollBar()->setPageStep(std::max(1, room));
  verticalScrollBar()->setSingleStep(kLaneHeight);
}

void TimelineView::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  updateBars();
}

double TimelineView::xAt(double time) const {
  return kNameWidth + (time - m_from) / (m_to - m_from) * (viewport()->width() - kNameWidth);
}

double TimelineView::timeAt(double x) const {
  return m_from + (x - kNameWidth) / std::max(1, viewport()->width() - kNameWidth) * (m_to - m_from);
}

void TimelineView::paintEvent(QPaintEvent*) {
  const Theme& theme = Theme::instance();
  QPainter painter(viewport());
  painter.fillRect(viewport()->rect(), theme.color(Token::canvas));
  paintHead(painter);
  painter.setClipRect(QRectF(0, kHead, viewport()->width(), viewport()->height() - kHead));
  const int scroll = verticalScrollBar()->value();
  const int last = std::min(laneCount() - 1, (scroll + viewport()->height()) / kLaneHeight);
  for (int at = scroll / kLaneHeight; at <= last; ++at) {
    paintLane(painter, at, kHead + at * kLaneHeight - scroll);
  }
  painter.setClipRect(QRectF(kNameWidth, kHead, viewport()->width() - kNameWidth, viewport()->height() - kHead));
  paintPath(painter);
  painter.setClipping(false);
  paintCursor(painter);
  if (hasFocus()) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(theme.color(Token::accent));
    painter.drawRect(viewport()->rect().adjusted(0, 0, -1, -1));
  }
}

void TimelineView::paintHead(QPainter& painter) const {
  if (m_shown.lanes.empty()) {
    constexpr int kMargin = 24;
    painter.setPen(Theme::instance().color(Token::muted));
    painter.drawText(viewport()->rect().adjusted(kMargin, kMargin, -kMargin, -kMargin),
                     Qt::AlignCenter | Qt::TextWordWrap, m_message);
    return;
  }
  const Theme& theme = Theme::instance();
  painter.setFont(figureFont(10.5));
  constexpr double kTickRoom = 110;
  const double width = viewport()->width();
  const double step = roundStep((m_to - m_from) * kTickRoom / std::max(1.0, width - kNameWidth));
  for (double tick = std::ceil(m_from / step) * step; tick <= m_to; tick += step) {
    const double x = xAt(tick);
    painter.setPen(theme.color(Token::grid));
    painter.drawLine(QPointF(x, kHead), QPointF(x, viewport()->height()));
    painter.setPen(theme.color(Token::muted));
    const QString text = tick == 0 ? u"0"_s : timeText(tick);
    if (x + 3 + painter.fontMetrics().horizontalAdvance(text) <= width) {
      painter.drawText(QRectF(x + 3, 0, kTickRoom, kHead), Qt::AlignVCenter | Qt::AlignLeft, text);
    }
  }
  if (m_range) {
    QColor fill = theme.color(Token::accent);
    fill.setAlphaF(0.12F);
    painter.fillRect(QRectF(QPointF(xAt(m_range->first), 0), QPointF(xAt(m_range->second), viewport()->height())),
                     fill);
  }
}

void TimelineView::paintLane(QPainter& painter, int at, double y) const {
  const Theme& theme = Theme::instance();
  const TimelineLane& lane = this->lane(static_cast<std::size_t>(at));
  const double width = viewport()->width();
  painter.setPen(lane.beginsGroup ? theme.color(Token::line) : theme.color(Token::grid));
  painter.drawLine(QPointF(0, y), QPointF(width, y));
  painter.setPen(theme.color(Token::muted));
  const QRectF name(10, y, kNameWidth - 14, kLaneHeight);
  painter.drawText(name, Qt::AlignVCenter | Qt::AlignLeft,
                   painter.fontMetrics().elidedText(lane.name, Qt::ElideMiddle, static_cast<int>(name.width())));
  painter.save();
  painter.setClipRect(QRectF(kNameWidth, y, width - kNameWidth, kLaneHeight), Qt::IntersectClip);
  paintBars(painter, lane, m_shown.longest[at], y);
  painter.restore();
}

void TimelineView::paintBars(QPainter& painter, const TimelineLane& lane, double longest, double y) const {
  const Theme& theme = Theme::instance();
  // From the first bar that can reach into the picture. Several that fall on one pixel are drawn as one.
  const auto from = std::lower_bound(lane.bars.begin(), lane.bars.end(), m_from - longest,
                                     [](const TimelineBar& bar, double time) { return bar.begin < time; });
  double drawnTo = -1;
  // A number stands on what is left of its bar to be seen: messages of one link may overlap in time.
  struct Number {
    QRectF rect;
    int text = 0;
    QColor ground;
  };
  std::optional<Number> number;
  constexpr double kTextRoom = 26;
  const auto paintNumber = [&](double before) {
    if (number && std::min(before, number->rect.right()) - number->rect.left() > kTextRoom) {
      constexpr double kMinContrast = 3;
      painter.setPen(contrast(number->ground, QColor(Qt::white)) > kMinContrast ? QColor(Qt::white)
                                                                                : QColor(Qt::black));
      painter.drawText(number->rect.adjusted(3, 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft,
                       QString::number(number->text));
    }
    number.reset();
  };
  for (auto bar = from; bar != lane.bars.end() && bar->begin <= m_to; ++bar) {
    const double left = xAt(bar->begin);
    const double right = std::max(xAt(bar->end), left + 1);
    if (right <= drawnTo && !bar->isCritical) {
      continue;
    }
    drawnTo = std::max(drawnTo, std::floor(right));
    paintNumber(left);
    const QRectF rect(left, y + 3, right - left, kLaneHeight - 6);
    const QColor color = mutedHue(bar->category, theme.scheme());
    painter.fillRect(rect, color);
    if (bar->isCritical) {
      painter.setPen(QPen(theme.color(Token::cut), 1.5));
      painter.setBrush(Qt::NoBrush);
      painter.drawRect(rect.adjusted(0, -1, -0.5, 1));
    }
    number = {rect, bar->number, color};
  }
  paintNumber(viewport()->width());
}

void TimelineView::paintPath(QPainter& painter) const {
  const Theme& theme = Theme::instance();
  const int scroll = verticalScrollBar()->value();
  const auto middleOf = [&](const TimelineLanes::PathBar& bar) {
    return kHead + (static_cast<double>(bar.lane) + 0.5) * kLaneHeight - scroll;
  };
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setFont(figureFont(9.5));
  const double bottom = viewport()->height();
  for (const std::vector<TimelineLanes::PathBar>& path : m_shown.paths) {
    auto next = std::lower_bound(path.begin(), path.end(), m_from,
                                 [](const TimelineLanes::PathBar& bar, double time) { return bar.begin < time; });
    double textTo = 0;
    double pixel = -1;
    int onPixel = 0;
    // From what ended to what could begin then.
    for (next += next == path.begin() && next != path.end() ? 1 : 0; next != path.end(); ++next) {
      const TimelineLanes::PathBar& before = *std::prev(next);
      if (before.end > m_to) {
        break;
      }
      const QPointF from(xAt(before.end), middleOf(before));
      const QPointF to(xAt(next->begin), middleOf(*next));
      // Where all of it is above or below, or hidden by what one pixel shows already, nothing is to be seen.
      constexpr int kMaxOnPixel = 8;
      onPixel = to.x() - pixel < 1 ? onPixel + 1 : 0;
      pixel = onPixel == 0 ? to.x() : pixel;
      if (std::max(from.y(), to.y()) < kHead || std::min(from.y(), to.y()) > bottom || onPixel > kMaxOnPixel) {
        continue;
      }
      // What reaches far out of the view costs as much as its length.
      const QLineF line = within(QLineF(from, to), kHead - kLaneHeight, bottom + kLaneHeight);
      painter.setPen(QPen(theme.color(Token::cut), 1.5));
      painter.drawLine(line);
      const QString reason = QLatin1String(next->wait);
      const double width = painter.fontMetrics().horizontalAdvance(reason) + 6;
      const QRectF ground(to.x() - width - 3, to.y() - kLaneHeight / 2.0 + 2, width, kLaneHeight - 4);
      if (!reason.isEmpty() && ground.left() > textTo && ground.left() > kNameWidth &&
          ground.left() > xAt(before.begin)) {
        painter.fillRect(ground, theme.color(Token::panel));
        painter.setPen(theme.color(Token::cut));
        painter.drawText(ground, Qt::AlignCenter, reason);
        textTo = ground.right();
      }
    }
  }
  painter.restore();
}

void TimelineView::paintCursor(QPainter& painter) const {
  if (!m_cursor || *m_cursor < m_from || *m_cursor > m_to) {
    return;
  }
  painter.setPen(QPen(Theme::instance().color(Token::text), 1));
  const double x = xAt(*m_cursor);
  painter.drawLine(QPointF(x, 0), QPointF(x, viewport()->height()));
}

void TimelineView::zoom(double factor, double around) {
  const double span = std::clamp((m_to - m_from) * factor, std::min(kMinSpan, m_end), m_end);
  const double share = (around - m_from) / (m_to - m_from);
  m_from = std::clamp(around - share * span, 0.0, m_end - span);
  m_to = m_from + span;
  viewport()->update();
}

void TimelineView::pan(double share) {
  const double span = m_to - m_from;
  m_from = std::clamp(m_from + share * span, 0.0, m_end - span);
  m_to = m_from + span;
  viewport()->update();
}

void TimelineView::keyPressEvent(QKeyEvent* event) {
  constexpr double kIn = 0.7;
  constexpr double kPan = 0.15;
  const double middle = m_cursor && *m_cursor >= m_from && *m_cursor <= m_to ? *m_cursor : (m_from + m_to) / 2;
  switch (event->key()) {
    case Qt::Key_W:
      zoom(kIn, middle);
      break;
    case Qt::Key_S:
      zoom(1 / kIn, middle);
      break;
    case Qt::Key_A:
    case Qt::Key_Left:
      pan(-kPan);
      break;
    case Qt::Key_D:
    case Qt::Key_Right:
      pan(kPan);
      break;
    case Qt::Key_F:
      showAll();
      break;
    case Qt::Key_BracketLeft:
      Q_EMIT stepWanted(-1);
      break;
    case Qt::Key_BracketRight:
      Q_EMIT stepWanted(1);
      break;
    case Qt::Key_Space:
      Q_EMIT playWanted();
      break;
    default:
      QAbstractScrollArea::keyPressEvent(event);
      return;
  }
  event->accept();
}

void TimelineView::wheelEvent(QWheelEvent* event) {
  if (event->modifiers() == Qt::ShiftModifier) {
    QAbstractScrollArea::wheelEvent(event);
    return;
  }
  constexpr double kPerUnit = 0.999;
  zoom(std::pow(kPerUnit, event->angleDelta().y()), timeAt(event->position().x()));
  event->accept();
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
  m_grip = event->position();
  m_pressed = m_grip;
  m_isMeasuring = event->modifiers() == Qt::ShiftModifier;
}

void TimelineView::measure(double x) {
  const auto [begin, end] = std::minmax(timeAt(m_pressed.x()), timeAt(x));
  m_range = std::pair(std::clamp(begin, 0.0, m_end), std::clamp(end, 0.0, m_end));
  viewport()->update();
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
  if ((event->buttons() & Qt::LeftButton) != 0) {
    if (m_isMeasuring) {
      measure(event->position().x());
      return;
    }
    const QPointF by = event->position() - m_grip;
    m_grip = event->position();
    pan(-by.x() / std::max(1, viewport()->width() - kNameWidth));
    verticalScrollBar()->setValue(verticalScrollBar()->value() - static_cast<int>(by.y()));
    viewport()->update();
    return;
  }
  const auto [lane, bar] = barAt(event->position());
  Q_EMIT pointed(lane, bar);
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
  constexpr double kStill = 4;
  const bool isClick = (event->position() - m_pressed).manhattanLength() < kStill;
  if (m_isMeasuring && !isClick) {
    measure(event->position().x());
    Q_EMIT rangeChosen(m_range->first, m_range->second);
  } else if (isClick && event->button() == Qt::LeftButton && event->position().x() >= kNameWidth) {
    if (m_range) {
      m_range.reset();
      Q_EMIT rangeChosen(0, 0);
    }
    const double time = std::clamp(timeAt(event->position().x()), 0.0, m_end);
    viewport()->update();
    Q_EMIT cursorMoved(time);
  }
  m_isMeasuring = false;
}

std::pair<const TimelineLane*, const TimelineBar*> TimelineView::barAt(const QPointF& position) const {
  const int at = static_cast<int>((position.y() - kHead + verticalScrollBar()->value()) / kLaneHeight);
  if (position.y() < kHead || position.x() < kNameWidth || at < 0 || at >= laneCount()) {
    return {nullptr, nullptr};
  }
  const double time = timeAt(position.x());
  const double near = (m_to - m_from) / std::max(1, viewport()->width() - kNameWidth);
  const TimelineLane& lane = this->lane(static_cast<std::size_t>(at));
  const auto first = std::lower_bound(lane.bars.begin(), lane.bars.end(), time - m_shown.longest[at] - near,
                                      [](const TimelineBar& bar, double begin) { return bar.begin < begin; });
  for (auto bar = first; bar != lane.bars.end() && bar->begin - near <= time; ++bar) {
    if (bar->end + near >= time) {
      return {&lane, &*bar};
    }
  }
  return {&lane, nullptr};
}

}  // namespace coppice::designer
