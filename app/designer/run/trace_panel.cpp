// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/trace_panel.hpp"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "designer/run/panel_parts.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/scales.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr int kLaneHeight = 18;
constexpr int kHead = 22;
constexpr int kNames = 96;
constexpr double kMinSpan = 50;  // ns

QString timeText(double nanoseconds) {
  if (nanoseconds >= 1e6) {
    return QString::number(nanoseconds / 1e6, 'g', 4) + u" ms"_s;
  }
  if (nanoseconds >= 1e3) {
    return QString::number(nanoseconds / 1e3, 'g', 4) + u" µs"_s;
  }
  return QString::number(nanoseconds, 'f', 0) + u" ns"_s;
}

/// 1, 2 or 5 times a power of ten.
double roundStep(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least) {
      return factor * power;
    }
  }
  return 10 * power;
}

}  // namespace

TraceView::TraceView(QWidget* parent) : QAbstractScrollArea(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setFrameShape(QFrame::NoFrame);
  viewport()->setMouseTracking(true);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setAccessibleName(tr("Trace"));
  connect(&Theme::instance(), &Theme::changed, viewport(), qOverload<>(&QWidget::update));
}

void TraceView::setEvents(const std::vector<program::TraceEvent>& events) {
  std::map<std::pair<int, int>, Lane> lanes;
  double end = 1;
  for (const program::TraceEvent& event : events) {
    if (event.end_ns < event.start_ns || event.start_ns < 0) {
      continue;
    }
    Lane& lane =
        lanes.try_emplace({event.rank, event.threadBlock}, Lane{event.rank, event.threadBlock, {}, 0}).first->second;
    lane.events.push_back(event);
    lane.longest = std::max(lane.longest, event.end_ns - event.start_ns);
    end = std::max(end, static_cast<double>(event.end_ns));
  }
  m_lanes.clear();
  for (auto& [key, lane] : lanes) {
    std::sort(lane.events.begin(), lane.events.end(),
              [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
    m_lanes.push_back(std::move(lane));
  }
  m_end = end;
  showAll();
}

void TraceView::showAll() {
  m_from = 0;
  m_to = m_end;
  updateBars();
  viewport()->update();
}

void TraceView::updateBars() {
  const int all = laneCount() * kLaneHeight;
  const int room = viewport()->height() - kHead;
  verticalScrollBar()->setRange(0, std::max(0, all - room));
  verticalScrollBar()->setPageStep(std::max(1, room));
  verticalScrollBar()->setSingleStep(kLaneHeight);
}

void TraceView::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  updateBars();
}

double TraceView::xAt(double time) const {
  return kNames + (time - m_from) / (m_to - m_from) * (viewport()->width() - kNames);
}

double TraceView::timeAt(double x) const {
  return m_from + (x - kNames) / std::max(1, viewport()->width() - kNames) * (m_to - m_from);
}

void TraceView::paintEvent(QPaintEvent*) {
  const Theme& theme = Theme::instance();
  QPainter painter(viewport());
  painter.fillRect(viewport()->rect(), theme.color(Token::canvas));
  const double width = viewport()->width();
  // The head: times.
  painter.setFont(figureFont(10.5));
  constexpr double kTickRoom = 110;
  const double step = roundStep((m_to - m_from) * kTickRoom / std::max(1.0, width - kNames));
  for (double tick = std::ceil(m_from / step) * step; tick <= m_to; tick += step) {
    const double x = xAt(tick);
    painter.setPen(theme.color(Token::grid));
    painter.drawLine(QPointF(x, kHead), QPointF(x, viewport()->height()));
    painter.setPen(theme.color(Token::muted));
    painter.drawText(QRectF(x + 3, 0, kTickRoom, kHead), Qt::AlignVCenter | Qt::AlignLeft, timeText(tick));
  }
  painter.setClipRect(QRectF(0, kHead, width, viewport()->height() - kHead));
  const int scroll = verticalScrollBar()->value();
  const int first = scroll / kLaneHeight;
  const int last = std::min(laneCount() - 1, (scroll + viewport()->height()) / kLaneHeight);
  int lastRank = -1;
  for (int i = first; i <= last; ++i) {
    const Lane& lane = m_lanes[static_cast<std::size_t>(i)];
    const double y = kHead + i * kLaneHeight - scroll;
    painter.setPen(lane.rank != lastRank ? theme.color(Token::line) : theme.color(Token::grid));
    painter.drawLine(QPointF(0, y), QPointF(width, y));
    lastRank = lane.rank;
    painter.setPen(theme.color(Token::muted));
    painter.drawText(QRectF(10, y, kNames - 14, kLaneHeight), Qt::AlignVCenter | Qt::AlignLeft,
                     tr("rank %1 tb %2").arg(lane.rank).arg(lane.threadBlock));
    painter.save();
    painter.setClipRect(QRectF(kNames, y, width - kNames, kLaneHeight), Qt::IntersectClip);
    // From the first event that can reach into the picture. Several that fall on one pixel are drawn as one.
    const auto from = std::lower_bound(
        lane.events.begin(), lane.events.end(), m_from - static_cast<double>(lane.longest),
        [](const program::TraceEvent& event, double time) { return static_cast<double>(event.start_ns) < time; });
    double drawnTo = -1;
    for (auto it = from; it != lane.events.end() && static_cast<double>(it->start_ns) <= m_to; ++it) {
      const double left = xAt(static_cast<double>(it->start_ns));
      const double right = std::max(xAt(static_cast<double>(it->end_ns)), left + 1);
      if (right <= drawnTo) {
        continue;
      }
      drawnTo = std::floor(right);
      const QRectF bar(left, y + 3, right - left, kLaneHeight - 6);
      const QColor color = category(it->step, theme.scheme());
      painter.fillRect(bar, color);
      constexpr double kTextRoom = 26;
      if (bar.width() > kTextRoom) {
        painter.setPen(contrast(color, QColor(Qt::white)) > 3 ? QColor(Qt::white) : QColor(Qt::black));
        painter.drawText(bar.adjusted(3, 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft, QString::number(it->step));
      }
    }
    painter.restore();
  }
  if (hasFocus()) {
    painter.setClipping(false);
    painter.setPen(theme.color(Token::accent));
    painter.drawRect(viewport()->rect().adjusted(0, 0, -1, -1));
  }
}

void TraceView::zoom(double factor, double around) {
  const double span = std::clamp((m_to - m_from) * factor, std::min(kMinSpan, m_end), m_end);
  const double share = (around - m_from) / (m_to - m_from);
  m_from = std::clamp(around - share * span, 0.0, m_end - span);
  m_to = m_from + span;
  viewport()->update();
}

void TraceView::pan(double share) {
  const double span = m_to - m_from;
  m_from = std::clamp(m_from + share * span, 0.0, m_end - span);
  m_to = m_from + span;
  viewport()->update();
}

void TraceView::keyPressEvent(QKeyEvent* event) {
  constexpr double kIn = 0.7;
  constexpr double kPan = 0.15;
  const double middle = (m_from + m_to) / 2;
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
    default:
      QAbstractScrollArea::keyPressEvent(event);
      return;
  }
  event->accept();
}

void TraceView::wheelEvent(QWheelEvent* event) {
  if (event->modifiers() == Qt::ShiftModifier) {
    QAbstractScrollArea::wheelEvent(event);
    return;
  }
  zoom(std::pow(0.999, event->angleDelta().y()), timeAt(event->position().x()));
  event->accept();
}

void TraceView::mousePressEvent(QMouseEvent* event) {
  m_grip = event->position();
}

void TraceView::mouseMoveEvent(QMouseEvent* event) {
  if ((event->buttons() & Qt::LeftButton) != 0) {
    const QPointF by = event->position() - m_grip;
    m_grip = event->position();
    pan(-by.x() / std::max(1, viewport()->width() - kNames));
    verticalScrollBar()->setValue(verticalScrollBar()->value() - static_cast<int>(by.y()));
    viewport()->update();
    return;
  }
  if (const program::TraceEvent* at = eventAt(event->position())) {
    Q_EMIT pointed(tr("rank %1, threadblock %2, step %3, tile %4: %5, from %6")
                       .arg(at->rank)
                       .arg(at->threadBlock)
                       .arg(at->step)
                       .arg(at->tile)
                       .arg(timeText(static_cast<double>(at->end_ns - at->start_ns)),
                            timeText(static_cast<double>(at->start_ns))));
  } else {
    Q_EMIT pointed({});
  }
}

const program::TraceEvent* TraceView::eventAt(const QPointF& position) const {
  const int lane = static_cast<int>((position.y() - kHead + verticalScrollBar()->value()) / kLaneHeight);
  if (position.y() < kHead || position.x() < kNames || lane < 0 || lane >= laneCount()) {
    return nullptr;
  }
  const double time = timeAt(position.x());
  const double near = (m_to - m_from) / std::max(1, viewport()->width() - kNames);
  const Lane& row = m_lanes[static_cast<std::size_t>(lane)];
  for (const program::TraceEvent& event : row.events) {
    if (static_cast<double>(event.start_ns) - near > time) {
      break;
    }
    if (static_cast<double>(event.end_ns) + near >= time) {
      return &event;
    }
  }
  return nullptr;
}

TracePanel::TracePanel(QWidget* parent)
    : QWidget(parent),
      m_pages(new QStackedWidget(this)),
      m_which(new QComboBox(this)),
      m_text(new QLabel(this)),
      m_view(new TraceView(this)) {
  setUpPanel(this, u"runTrace"_s, tr("Trace"));
  m_which->setObjectName(u"traceWhich"_s);
  m_which->setAccessibleName(tr("Size"));
  m_text->setProperty("role", u"muted"_s);
  m_text->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  auto* head = new QHBoxLayout;
  constexpr int kMargin = 12;
  constexpr int kSmall = 6;
  head->setContentsMargins(kMargin, kSmall, kMargin, kSmall);
  head->setSpacing(kSmall);
  head->addWidget(m_which);
  head->addSpacing(kMargin);
  head->addWidget(m_text, 1);
  auto* page = new QWidget(this);
  auto* inner = new QVBoxLayout(page);
  inner->setContentsMargins({});
  inner->setSpacing(0);
  inner->addLayout(head);
  inner->addWidget(m_view, 1);
  m_pages->addWidget(emptyLabel(
      tr("Tick “Record a trace” and run: when each step of each threadblock ran is drawn here, by rank."), this));
  m_pages->addWidget(page);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->addWidget(m_pages);
  connect(m_which, &QComboBox::currentIndexChanged, this, &TracePanel::showTrace);
  connect(m_view, &TraceView::pointed, this, [this](const QString& text) {
    m_text->setText(text.isEmpty() ? tr("W S zoom · A D move · F all · colours are steps") : text);
  });
}

void TracePanel::setRun(std::shared_ptr<const RunData> run) {
  if (m_data != run) {
    m_data = std::move(run);
    m_shownEvents = 0;
    const QSignalBlocker quiet(m_which);
    m_which->clear();
  }
  follow();
}

void TracePanel::follow() {
  const bool hasTrace = m_data && !m_data->traces().empty();
  m_pages->setCurrentIndex(hasTrace ? 1 : 0);
  if (!hasTrace) {
    return;
  }
  if (m_which->count() != static_cast<int>(m_data->traces().size())) {
    const QSignalBlocker quiet(m_which);
    const int before = m_which->currentIndex();
    m_which->clear();
    for (const auto& [key, events] : m_data->traces()) {
      m_which->addItem(key.second ? tr("%1, in place").arg(sizeText(key.first)) : sizeText(key.first));
    }
    m_which->setCurrentIndex(before >= 0 ? before : m_which->count() - 1);
  }
  const auto chosen = std::next(m_data->traces().begin(), m_which->currentIndex());
  if (chosen->second.size() != m_shownEvents) {
    showTrace();
  }
}

void TracePanel::showTrace() {
  if (!m_data || m_which->currentIndex() < 0 || m_which->currentIndex() >= static_cast<int>(m_data->traces().size())) {
    return;
  }
  const auto chosen = std::next(m_data->traces().begin(), m_which->currentIndex());
  m_shownEvents = chosen->second.size();
  m_view->setEvents(chosen->second);
  m_text->setText(m_data->droppedEvents() > 0 ? tr("%1 events did not fit").arg(m_data->droppedEvents())
                                              : tr("W S zoom · A D move · F all · colours are steps"));
}

}  // namespace coppice::designer
