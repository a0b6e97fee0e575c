// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/training/step_view.hpp"

#include <QVBoxLayout>
#include <array>
#include <chrono>
#include <utility>

#include "designer/document/error_text.hpp"
#include "designer/timeline/time_text.hpp"
#include "workflow/training_timeline.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

/// Colours: forward, backward, bubble, then the axes.
int categoryOf(const training::StepEvent& event) {
  constexpr int kBubble = 2;
  switch (event.kind) {
    case training::StepEvent::Kind::compute:
      return event.isBackward ? 1 : 0;
    case training::StepEvent::Kind::bubble:
      return kBubble;
    case training::StepEvent::Kind::communication:
      break;
  }
  return kBubble + 1 + event.axis;
}

}  // namespace

StepView::StepView(QWidget* parent)
    : QWidget(parent),
      m_text(new QLabel(this)),
      m_view(new TimelineView(this)),
      m_job([this](const PlayedPtr& played) { take(played); }, 0ms) {
  setObjectName(u"trainingTimeline"_s);
  m_text->setObjectName(u"trainingTimelineText"_s);
  m_text->setWordWrap(true);
  m_view->setAccessibleName(tr("Timeline of a step"));
  m_view->setToolTip(tr("W and S zoom, A and D move, F shows the whole step; Shift with dragging measures"));
  auto* layout = new QVBoxLayout(this);
  constexpr int kGap = 6;
  layout->setContentsMargins(0, kGap, 0, 0);
  layout->setSpacing(kGap);
  layout->addWidget(m_text);
  layout->addWidget(m_view, 1);
  connect(m_view, &TimelineView::pointed, this, [this](const TimelineLane*, const TimelineBar* bar) { tell(bar); });
  show(nullptr, -1);
}

void StepView::show(const TrainingAnswerPtr& answer, int plan) {
  m_answer = answer;
  m_plan = plan;
  m_job.cancel();
  m_played.reset();
  m_view->setLanes(std::vector<TimelineLane>());
  m_isDue = m_answer && m_plan >= 0 && m_plan < static_cast<int>(m_answer->choice.plans.size());
  m_view->setMessage(m_isDue ? tr("Computing…") : tr("The timeline of a step will be drawn here"));
  m_text->clear();
  if (isVisible()) {
    ask();
  }
}

void StepView::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  ask();
}

void StepView::ask() {
  if (!std::exchange(m_isDue, false)) {
    return;
  }
  m_job.submit([answer = m_answer, row = static_cast<std::size_t>(m_plan)](std::stop_token stop) {
    Progress progress;
    progress.stop = std::move(stop);
    const workflow::TrainingRequest& request = *answer->request;
    Played played{training::timelineOf(request.demand, answer->choice.plans[row], request.timeline, progress)};
    if (played.timeline) {
      played.lanes = lanesOf(*played.timeline);
    }
    return std::make_shared<const Played>(std::move(played));
  });
}

TimelineLanes StepView::lanesOf(const training::StepTimeline& timeline) {
  std::array<TimelineLane, training::kParallelAxes + 1> rows;
  for (std::size_t i = 0; i < timeline.events.size(); ++i) {
    const training::StepEvent& event = timeline.events[i];
    TimelineBar bar;
    bar.begin = timeline.nanoseconds(event.begin);
    bar.end = timeline.nanoseconds(event.end);
    bar.category = categoryOf(event);
    bar.number = event.layer;
    bar.item = static_cast<std::uint32_t>(i);
    rows[workflow::rowOf(event)].bars.push_back(bar);
  }
  std::vector<TimelineLane> lanes;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!rows[row].bars.empty()) {
      rows[row].name = QString::fromStdString(workflow::rowName(row));
      lanes.push_back(std::move(rows[row]));
    }
  }
  return TimelineLanes(std::move(lanes));
}

void StepView::take(const PlayedPtr& played) {
  m_played = played;
  if (!m_played->timeline) {
    m_view->setMessage(sentence(m_played->timeline.error()));
    return;
  }
  m_view->setLanes(m_played->lanes);
  tell(nullptr);
}

void StepView::tell(const TimelineBar* bar) {
  if (!m_played || !m_played->timeline) {
    return;
  }
  const training::StepTimeline& timeline = *m_played->timeline;
  if (bar == nullptr) {
    QStringList exposed;
    for (const workflow::ExposedPart& part : workflow::exposedParts(timeline)) {
      constexpr double kNanoseconds = 1e6;  // in a millisecond
      exposed << tr("%1 for %2").arg(timeText(part.milliseconds * kNanoseconds), QString::fromStdString(part.word));
    }
    const QString waits = exposed.isEmpty() ? tr("All communication hides behind computation.")
                                            : tr("Computation waits %1.").arg(exposed.join(u", "_s));
    m_text->setText(
        tr("A step takes %1 with this overlap. %2").arg(timeText(timeline.nanoseconds(timeline.length)), waits));
    return;
  }
  const training::StepEvent& event = timeline.events[bar->item];
  m_text->setText(tr("%1, %2 of layer %3, micro-batch %4: %5")
                      .arg(QString::fromStdString(workflow::eventWords(timeline, event)),
                           event.isBackward ? tr("backward pass") : tr("forward pass"))
                      .arg(event.layer)
                      .arg(event.microBatch)
                      .arg(timeText(bar->end - bar->begin)));
}

}  // namespace coppice::designer
