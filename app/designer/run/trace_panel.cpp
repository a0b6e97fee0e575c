// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/trace_panel.hpp"
#include "designer/theme/panel_widgets.hpp"

#include <QHBoxLayout>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <map>
#include <utility>

#include "designer/document/figures.hpp"
#include "designer/run/panel_parts.hpp"
#include "designer/timeline/time_text.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

/// A lane for each threadblock, by rank.
std::vector<TimelineLane> lanesOf(const std::vector<program::TraceEvent>& events) {
  std::map<std::pair<int, int>, TimelineLane> lanes;
  for (std::size_t item = 0; item < events.size(); ++item) {
    const program::TraceEvent& event = events[item];
    if (event.end_ns < event.start_ns || event.start_ns < 0) {
      continue;
    }
    lanes[{event.rank, event.threadBlock}].bars.push_back({static_cast<double>(event.start_ns),
                                                           static_cast<double>(event.end_ns), event.step, event.step,
                                                           static_cast<std::uint32_t>(item), false});
  }
  std::vector<TimelineLane> result;
  int lastRank = -1;
  for (auto& [key, lane] : lanes) {
    lane.name = TracePanel::tr("rank %1 tb %2").arg(key.first).arg(key.second);
    lane.beginsGroup = key.first != std::exchange(lastRank, key.first);
    result.push_back(std::move(lane));
  }
  return result;
}

}  // namespace

TracePanel::TracePanel(QWidget* parent)
    : QWidget(parent),
      m_pages(new QStackedWidget(this)),
      m_which(new QComboBox(this)),
      m_text(new QLabel(this)),
      m_view(new TimelineView(this)) {
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
  m_pages->addWidget(emptyLabel(
      tr("Tick “Record a trace” and run: when each step of each threadblock ran is drawn here, by rank."), this));
  m_pages->addWidget(panelPage(head, m_view, this));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->addWidget(m_pages);
  connect(m_which, &QComboBox::currentIndexChanged, this, &TracePanel::showTrace);
  connect(m_view, &TimelineView::pointed, this, [this](const TimelineLane*, const TimelineBar* bar) { tell(bar); });
}

void TracePanel::tell(const TimelineBar* bar) {
  if (bar == nullptr) {
    m_text->setText(tr("W S zoom · A D move · F all · colours are steps"));
    return;
  }
  const program::TraceEvent& at = m_events[bar->item];
  m_text->setText(tr("rank %1, threadblock %2, step %3, tile %4: %5, from %6")
                      .arg(at.rank)
                      .arg(at.threadBlock)
                      .arg(at.step)
                      .arg(at.tile)
                      .arg(timeText(bar->end - bar->begin), timeText(bar->begin)));
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
      const QString size = roughBytes(static_cast<double>(key.first));
      m_which->addItem(key.second ? tr("%1, in place").arg(size) : size);
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
  m_events = chosen->second;
  m_view->setLanes(lanesOf(m_events));
  m_text->setText(m_data->droppedEvents() > 0 ? tr("%1 events were dropped").arg(m_data->droppedEvents())
                                              : tr("W S zoom · A D move · F all · colours are steps"));
}

}  // namespace coppice::designer
