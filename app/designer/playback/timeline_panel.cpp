// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/playback/timeline_panel.hpp"

#include <QHBoxLayout>
#include <QVBoxLayout>
#include <algorithm>
#include <chrono>
#include <utility>

#include "designer/document/counted.hpp"
#include "designer/document/error_text.hpp"
#include "designer/document/figures.hpp"
#include "designer/schedules/prediction.hpp"
#include "designer/schedules/simulation_settings.hpp"
#include "designer/schedules/size_list.hpp"
#include "designer/theme/elided_label.hpp"
#include "designer/theme/empty_page.hpp"
#include "designer/theme/icons.hpp"
#include "designer/theme/panel_widgets.hpp"
#include "designer/timeline/time_text.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

constexpr int kThousand = 1000;

TimelineLanes lanesOf(const PlaybackPtr& run, Playback::LaneKind kind, Playback::ColorBy color,
                      const Progress& progress) {
  return run->messageCount() > Playback::kManyMessages ? Playback::lanesOnDemand(run, kind, color, progress)
                                                       : TimelineLanes(run->lanes(kind, color), &Playback::waitName);
}

}  // namespace

TimelinePanel::TimelinePanel(QWidget* parent)
    : QWidget(parent),
      m_pages(new QStackedWidget(this)),
      m_controls(new PlayControls(m_clock, u"timeline"_s, tr("message of the critical path"), this)),
      m_size(new QComboBox(this)),
      m_lanes(new QComboBox(this)),
      m_color(new QComboBox(this)),
      m_which(new QComboBox(this)),
      m_save(iconButton(u"timelineSave"_s, u"save"_s, tr("Save as a trace for Perfetto or Chrome, or as a picture…"),
                        this)),
      m_progress(new QProgressBar(this)),
      m_cancel(new QPushButton(tr("Cancel"), this)),
      m_text(new ElidedLabel(this)),
      m_view(new TimelineView(this)),
      m_seen(*this, [this](bool isSeen) { follow(isSeen); }),
      m_job([this](const Answer& answer) { receive(answer); }, 0ms) {
  setObjectName(u"timelinePanel"_s);
  setProperty("role", u"panel"_s);
  setAttribute(Qt::WA_StyledBackground);
  auto* empty = new EmptyPage(
      tr("A simulated run of the schedule: which link carries which data, and when. It is played on the drawing."),
      tr("Generate"), m_pages);
  connect(empty, &EmptyPage::clicked, this, &TimelinePanel::generateWanted);
  m_pages->addWidget(empty);
  m_pages->addWidget(makeBody());
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins({});
  outer->addWidget(m_pages);

  connect(m_controls, &PlayControls::stepWanted, this, &TimelinePanel::stepCritical);
  connect(m_save, &QToolButton::clicked, this, &TimelinePanel::saveWanted);
  connect(m_cancel, &QPushButton::clicked, this, [this] {
    if (m_isRecording) {
      m_job.cancel();
      m_isRecording = false;
      m_problem = tr("Cancelled.");
    } else {
      m_isRecordWanted = m_result != nullptr;
      record();
    }
    refresh();
  });
  connect(&m_tick, &QTimer::timeout, this, &TimelinePanel::refresh);
  connect(m_size, &QComboBox::currentIndexChanged, this, [this] {
    m_isRecordWanted = m_result != nullptr;
    record();
  });
  connect(m_lanes, &QComboBox::currentIndexChanged, this, &TimelinePanel::orderLanes);
  connect(m_color, &QComboBox::currentIndexChanged, this, [this] {
    orderLanes();
    Q_EMIT timeChanged();
  });
  connect(m_which, &QComboBox::currentIndexChanged, this, [this] {
    refresh();
    Q_EMIT timeChanged();
  });
  connect(&SimulationSettings::instance(), &SimulationSettings::changed, this, [this] {
    m_isRecordWanted = m_result != nullptr && !m_measured;
    record();
  });
  connect(m_view, &TimelineView::cursorMoved, this, [this](double time) { setTime(time); });
  connect(m_view, &TimelineView::stepWanted, this, &TimelinePanel::stepCritical);
  connect(m_view, &TimelineView::playWanted, this, [this] { setPlaying(!isPlaying()); });
  connect(m_view, &TimelineView::rangeChosen, this, [this](double begin, double end) {
    if (m_playback && end > begin) {
      m_text->setText(playback()->describeRange(begin, end));
    } else {
      refresh();
    }
  });
  connect(m_view, &TimelineView::pointed, this, [this](const TimelineLane* lane, const TimelineBar* bar) {
    if (bar != nullptr && m_playback) {
      m_text->setText(runOf(*lane).describe(bar->item));
    } else if (!m_view->range()) {
      refresh();
    }
  });
  connect(&m_clock, &PlayClock::timeChanged, this, [this] {
    m_view->setCursor(time());
    refresh();
    Q_EMIT timeChanged();
  });
  refresh();
}

TimelinePanel::~TimelinePanel() = default;

QWidget* TimelinePanel::makeBody() {
  m_size->setObjectName(u"timelineSize"_s);
  m_size->setAccessibleName(tr("Size of the collective"));
  fillWithSizes(*m_size);
  m_lanes->setObjectName(u"timelineLanes"_s);
  m_lanes->setAccessibleName(tr("Lanes"));
  m_lanes->addItem(tr("Links"), static_cast<int>(Playback::LaneKind::links));
  m_lanes->addItem(tr("Sending GPUs"), static_cast<int>(Playback::LaneKind::gpus));
  m_lanes->addItem(tr("Trees or steps"), static_cast<int>(Playback::LaneKind::parts));
  m_lanes->addItem(tr("Threadblocks"), static_cast<int>(Playback::LaneKind::blocks));
  m_color->setObjectName(u"timelineColor"_s);
  m_color->setAccessibleName(tr("What gives the colour"));
  m_color->setToolTip(m_color->accessibleName());
  m_color->addItem(tr("by root's box"), static_cast<int>(Playback::ColorBy::boxes));
  m_color->addItem(tr("by tree or step"), static_cast<int>(Playback::ColorBy::parts));
  m_color->addItem(tr("by shard"), static_cast<int>(Playback::ColorBy::shards));
  m_which->setObjectName(u"timelineWhich"_s);
  m_which->setAccessibleName(tr("Run that the drawing plays"));
  m_which->setToolTip(m_which->accessibleName());
  m_which->addItems({tr("Plan"), tr("Run")});
  m_which->hide();
  m_text->setObjectName(u"timelineText"_s);
  m_text->setProperty("role", u"muted"_s);
  m_text->setToolTip(
      tr("W S zoom, A D move, F all, Shift+drag measures. The orange line is the critical path, with what each "
         "message waited for."));
  m_progress->setObjectName(u"timelineProgress"_s);
  m_progress->setAccessibleName(tr("Progress"));
  m_progress->setRange(0, kThousand);
  m_progress->setTextVisible(false);
  constexpr int kProgressWidth = 120;
  m_progress->setFixedWidth(kProgressWidth);
  m_cancel->setObjectName(u"timelineCancel"_s);
  using namespace std::chrono_literals;
  m_tick.setInterval(100ms);
  return panelPage(controlRow({m_controls, m_size, m_lanes, m_color, m_which, m_save, m_progress, m_cancel}, m_text),
                   m_view, m_pages);
}

void TimelinePanel::setBytes(std::int64_t bytes) {
  chooseSize(*m_size, bytes);
}

void TimelinePanel::setResult(ScheduleResultPtr result) {
  if (m_result == result) {
    return;
  }
  m_result = std::move(result);
  m_measured.reset();
  // An answer that is under way belongs to the schedule before.
  m_job.cancel();
  m_isRecording = false;
  m_pages->setCurrentIndex(m_result ? 1 : 0);
  m_isRecordWanted = m_result != nullptr;
  record();
}

void TimelinePanel::setRuns(PlaybackPtr planned, PlaybackPtr measured) {
  if (m_measured == measured && (!measured || m_playback == planned)) {
    return;
  }
  setTime(std::nullopt);
  if (!measured) {
    m_measured.reset();
    m_isRecordWanted = m_result != nullptr;
    record();
    return;
  }
  m_isRecordWanted = false;
  m_problem.clear();
  m_playback = std::move(planned);
  m_measured = std::move(measured);
  m_view->setLanes(TimelineLanes());
  m_clock.setEnd(duration());
  orderLanes();
  refresh();
  Q_EMIT timeChanged();
}

double TimelinePanel::duration() const {
  return std::max(m_playback ? m_playback->duration() : 0, m_measured ? m_measured->duration() : 0);
}

const Playback& TimelinePanel::runOf(const TimelineLane& lane) const {
  return m_measured && lane.source == 1 ? *m_measured : *m_playback;
}

void TimelinePanel::follow(bool isSeen) {
  if (!isSeen) {
    // Behind another tab a run goes on playing, but none is simulated unless it is to be played.
    if (m_isRecording && !m_isPlayWanted) {
      m_job.cancel();
      m_isRecording = false;
      m_isRecordWanted = true;
    }
    return;
  }
  record();
  if (m_areLanesWanted && m_playback) {
    m_areLanesWanted = false;
    orderLanes();
  }
}

void TimelinePanel::hideEvent(QHideEvent* event) {
  QWidget::hideEvent(event);
  // Lanes of large runs fill the memory, and are made again in a moment.
  if (m_playback && m_playback->messageCount() > Playback::kManyMessages) {
    m_view->setLanes(TimelineLanes());
    m_areLanesWanted = true;
  }
}

void TimelinePanel::setPlaying(bool isPlaying) {
  m_isPlayWanted = isPlaying && m_clock.end() <= 0;
  m_clock.setPlaying(isPlaying);
  if (m_isPlayWanted && !m_isRecording) {
    m_isRecordWanted = m_isRecordWanted || m_playback == nullptr;
    record();
  }
}

void TimelinePanel::record() {
  if (!m_isRecordWanted || (!m_seen.isSeen() && !m_isPlayWanted)) {
    // What was there is of another schedule or size.
    if (!m_result || m_isRecordWanted) {
      m_job.cancel();
      m_isRecording = false;
      m_playback.reset();
      m_view->setLanes(TimelineLanes());
      m_clock.setPlaying(false);
      m_clock.setEnd(0);
    }
    refresh();
    return;
  }
  m_isRecordWanted = false;
  m_playback.reset();
  m_problem.clear();
  m_areLanesWanted = false;
  m_view->setLanes(TimelineLanes());
  m_clock.setEnd(0);
  m_played = played();
  m_isRecording = true;
  m_jobProgress = std::make_shared<JobProgress>();
  m_job.submit([result = m_result, bytes = sizeIn(*m_size), kind = laneKind(), color = colorBy(), played = m_played,
                shown = m_jobProgress](std::stop_token stop) {
    const Progress progress = JobProgress::forCore(shown, std::move(stop));
    auto recorded = std::make_shared<Recorded>();
    auto playback = Playback::record(result, bytes, progress, played);
    if (playback) {
      recorded->playback = *std::move(playback);
      recorded->lanes = lanesOf(recorded->playback, kind, color, progress);
    } else {
      recorded->problem = sentence(playback.error());
    }
    return recorded;
  });
  refresh();
}

void TimelinePanel::receive(const Answer& answer) {
  m_isRecording = false;
  m_isPlayWanted = false;
  m_playback = answer->playback;
  m_measured = answer->measured;
  m_problem = answer->problem;
  if (m_playback) {
    m_view->setLanes(std::move(answer->lanes), duration());
    // The same run in other lanes keeps its time.
    if (m_clock.end() != duration()) {
      m_clock.setEnd(duration());
    }
    m_view->setCursor(time());
  }
  refresh();
  Q_EMIT timeChanged();
}

Playback::LaneKind TimelinePanel::laneKind() const {
  return static_cast<Playback::LaneKind>(m_lanes->currentData().toInt());
}

void TimelinePanel::orderLanes() {
  // While a run is simulated, it brings its lanes. A measured run is of a program, and so is its plan.
  if (m_playback && (m_measured || m_played == played())) {
    m_job.submit(
        [playback = m_playback, measured = m_measured, kind = laneKind(), color = colorBy()](std::stop_token stop) {
          Progress progress;
          progress.stop = std::move(stop);
          return std::make_shared<Recorded>(Recorded{
              playback,
              measured,
              {},
              measured ? TimelineLanes(Playback::lanesOfBoth(*playback, *measured, kind, color), &Playback::waitName)
                       : lanesOf(playback, kind, color, progress)});
        });
  } else if (m_result) {
    m_isRecordWanted = true;
    record();
  }
}

Playback::Played TimelinePanel::played() const {
  return laneKind() == Playback::LaneKind::blocks ? Playback::Played::program : Playback::Played::schedule;
}

Playback::ColorBy TimelinePanel::colorBy() const {
  return static_cast<Playback::ColorBy>(m_color->currentData().toInt());
}

void TimelinePanel::stepCritical(int direction) {
  if (!m_playback || m_playback->criticalTimes().empty()) {
    return;
  }
  setPlaying(false);
  const std::vector<double>& times = m_playback->criticalTimes();
  if (direction > 0) {
    const auto next = time() ? std::upper_bound(times.begin(), times.end(), *time()) : times.begin();
    setTime(next != times.end() ? *next : duration());
  } else if (time()) {
    const auto at = std::lower_bound(times.begin(), times.end(), *time());
    setTime(at != times.begin() ? *std::prev(at) : 0);
  }
}

void TimelinePanel::refresh() {
  showState();
  Q_EMIT stateChanged();
}

void TimelinePanel::showState() {
  m_save->setEnabled(m_playback != nullptr);
  const bool isCancelled = m_problem == tr("Cancelled.");
  m_progress->setVisible(m_isRecording);
  m_cancel->setVisible(m_isRecording || isCancelled);
  m_cancel->setText(isCancelled ? tr("Simulate") : tr("Cancel"));
  if (m_isRecording) {
    m_progress->setValue(static_cast<int>(m_jobProgress->state().fraction * kThousand));
    m_tick.start();
  } else {
    m_tick.stop();
  }
  m_lanes->setItemText(m_lanes->findData(static_cast<int>(Playback::LaneKind::parts)),
                       m_playback ? m_playback->partsName() : tr("Trees or steps"));
  m_which->setVisible(m_measured != nullptr);
  m_size->setVisible(m_measured == nullptr);
  m_view->setMessage(m_playback ? QString() : m_problem);
  if (!m_playback) {
    m_text->setText(m_isRecording ? tr("Simulating…") : QString());
    return;
  }
  const QString about = m_playback->sample().isEmpty() ? QString() : u"≈ "_s;
  m_text->setToolTip(
      m_playback->sample().isEmpty()
          ? tr("W S zoom, A D move, F all, Shift+drag measures. The line is the critical path, with what "
               "each message waited for.")
          : tr("About: %1.").arg(m_playback->sample()));
  const QString speed =
      m_measured
          ? tr("%1: planned %2, measured %3")
                .arg(bytesText(m_measured->bytes()), timeText(m_playback->duration()), timeText(m_measured->duration()))
          : about + tr("%1, %2 GB/s")
                        .arg(timeText(m_playback->duration()),
                             QString::number(m_playback->row().algbw.gigabytesPerSecond(), 'f', 2));
  m_text->setText(time() ? tr("%1 of %2 · %3 under way")
                               .arg(timeText(*time()), speed,
                                    counted(playback()->activeCount(*time()), tr("message"), tr("messages")))
                         : speed + u" · "_s +
                               (m_playback->sample().isEmpty()
                                    ? tr("W S zoom · A D move · Shift+drag measures · orange: critical path")
                                    : m_playback->sample()));
}

}  // namespace coppice::designer
