// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/playback/timeline_feature.hpp"

#include <QFile>
#include <QFileInfo>
#include <ostream>

#include "designer/charts/picture_file.hpp"
#include "designer/document/error_text.hpp"
#include "designer/render/picture.hpp"
#include "designer/theme/theme.hpp"
#include "designer/timeline/time_text.hpp"
#include "io/files.hpp"
#include "simulate/report.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr int kFramesPerSecond = 25;

}  // namespace

TimelineFeature::TimelineFeature(const FeatureHost& host, ScheduleFeature& schedules)
    : Feature(host), m_schedules(schedules), m_panel(new TimelinePanel(m_window)) {
  addActions();
  host.addDock({u"timeline"_s, tr("Lanes"), m_panel, Qt::BottomDockWidgetArea, {Mode::schedule}, true, timelineDock()});
  connect(&m_schedules, &ScheduleFeature::currentChanged, this, &TimelineFeature::follow);
  connect(&m_workspace, &Workspace::currentChanged, this, &TimelineFeature::follow);
  connect(&m_workspace, &Workspace::modeChanged, this, [this](Mode mode) {
    if (mode != Mode::schedule) {
      m_panel->setTime(std::nullopt);
    }
    showBar();
  });
  connect(m_panel, &TimelinePanel::timeChanged, this, &TimelineFeature::show);
  connect(&Theme::instance(), &Theme::changed, this, &TimelineFeature::show);
  connect(&m_schedules, &ScheduleFeature::playedBy, this, [this](const QObject* player) {
    if (player != this) {
      m_panel->setTime(std::nullopt);
    }
  });
  connect(&m_workspace, &Workspace::removed, this, [this](EditorContext* context) { m_bars.erase(context); });
  connect(&m_schedules, &ScheduleFeature::overlayChanged, this, &TimelineFeature::showBar);
  connect(m_panel, &TimelinePanel::generateWanted, &m_schedules, &ScheduleFeature::generate);
  connect(m_panel, &TimelinePanel::saveWanted, this, &TimelineFeature::save);
}

void TimelineFeature::addActions() {
  m_actions.add({u"schedule.play"_s,
                 tr("&Play"),
                 tr("Play the schedule on the drawing, or pause"),
                 {QKeySequence(u"Ctrl+K, Space"_s)},
                 u"run"_s},
                [this](bool) {
                  play();
                  if (!m_schedules.frontPlayer() && m_panel->isVisible()) {
                    // Space, [ and ] go to the lanes.
                    m_panel->view().setFocus(Qt::ShortcutFocusReason);
                  }
                });
  m_actions.add({u"file.export-film"_s,
                 tr("Export Fil&m…"),
                 tr("Save the run as it plays on the drawing, as an animated WebP or as numbered PNG files"),
                 {QKeySequence(u"Ctrl+K, Z"_s)},
                 u"image"_s},
                [this](bool) { startFilm(); });
  m_nextFrame.setInterval(0);
  connect(&m_nextFrame, &QTimer::timeout, this, &TimelineFeature::addFrame);
  enable({"schedule.play", "file.export-film"}, false);
  connect(&m_workspace, &Workspace::added, this, [this](EditorContext* context) {
    m_bars[context] = new PlayBar(*m_panel, context->canvas());
    showBar();
    connect(&context->canvas(), &CanvasView::playWanted, this, [this] {
      if (m_workspace.mode() == Mode::schedule && m_actions[u"schedule.play"_s]->isEnabled()) {
        play();
      }
    });
  });
}

void TimelineFeature::play() {
  if (m_schedules.frontPlayer()) {
    m_schedules.frontPlayer()();
    return;
  }
  m_workspace.setMode(Mode::schedule);
  m_panel->setPlaying(!m_panel->isPlaying());
}

void TimelineFeature::follow() {
  const ScheduleBook* book = m_schedules.book();
  const ScheduleEntry* entry = book != nullptr ? book->current() : nullptr;
  // Links of a fabric that has changed would play what cannot be.
  m_result = entry != nullptr && entry->result && book->isFresh(*entry) ? entry->result : nullptr;
  m_panel->setResult(m_result);
  enable({"schedule.play", "file.export-film"}, m_result != nullptr);
  showBar();
  show();
}

void TimelineFeature::showBar() {
  for (const auto& [context, bar] : m_bars) {
    if (bar) {
      bar->setVisible(context == current() && m_result && m_workspace.mode() == Mode::schedule &&
                      !m_schedules.frontPlayer());
    }
  }
}

void TimelineFeature::show() {
  CanvasView* canvas = current() != nullptr ? &current()->canvas() : nullptr;
  const bool isPlayed = canvas != nullptr && m_panel->time() && m_panel->playback() && m_result &&
                        &m_panel->playback()->result() == m_result.get();
  m_schedules.setPlayed(this, isPlayed);
  // What others play on the drawing stays.
  if (m_canvas && (m_canvas != canvas || !isPlayed)) {
    m_canvas->setMotion({});
    m_canvas.clear();
  }
  if (!isPlayed) {
    return;
  }
  m_canvas = canvas;
  const std::uint64_t revision = current()->document().factRevision();
  if (!m_map || m_mapResult != m_result || m_mapRevision != revision) {
    m_map = std::make_unique<FabricMap>(*m_result, current()->model());
    m_mapResult = m_result;
    m_mapRevision = revision;
  }
  canvas->setMotion(m_panel->playback()->motionAt(*m_panel->time(), *m_map, m_panel->colorBy()));
}

void TimelineFeature::startFilm() {
  m_workspace.setMode(Mode::schedule);
  if (!m_panel->playback()) {
    m_panel->setPlaying(true);
    m_workspace.say(tr("The run is being simulated: export the film when it plays"));
    return;
  }
  const QString suffix = canWrite(FilmFormat::webp) ? u".webp"_s : u".png"_s;
  const QString path = m_prompts.fileToSave(m_window, u"schedule"_s + suffix, tr("Films (*.webp *.png)"));
  if (path.isEmpty()) {
    return;
  }
  auto writer = FilmWriter::create(path, kFramesPerSecond);
  if (!writer) {
    m_prompts.failure(m_window, tr("Export Film"), errorText(writer.error()));
    return;
  }
  m_panel->setPlaying(false);
  m_film = Film{*std::move(writer), path, m_panel->playback(), 0};
  m_nextFrame.start();
}

void TimelineFeature::addFrame() {
  constexpr int kFrames = static_cast<int>(PlayClock::kSecondsPerRun * kFramesPerSecond);
  if (!m_film || m_panel->playback() != m_film->run || current() == nullptr || m_workspace.mode() != Mode::schedule) {
    endFilm(Error{ErrorCode::cancelled, "the film was cancelled", "leave the schedule as it is while it is written"});
    return;
  }
  if (m_film->frame == kFrames) {
    endFilm(m_film->writer->finish());
    return;
  }
  const double time = m_film->run->duration() * m_film->frame / (kFrames - 1);
  m_panel->setTime(time);
  PictureOptions options;
  options.format = PictureFormat::png;
  options.part = PicturePart::visible;
  options.scheme = Theme::instance().scheme();
  options.caption = timeText(time);
  const Result<QImage> frame = drawImage(current()->canvas(), options);
  if (const Outcome added = frame ? m_film->writer->add(*frame) : Outcome(frame.error()); !added) {
    endFilm(added);
    return;
  }
  ++m_film->frame;
  constexpr int kEvery = 10;
  if (m_film->frame % kEvery == 0) {
    m_workspace.say(tr("Film: frame %1 of %2").arg(m_film->frame).arg(kFrames));
  }
}

void TimelineFeature::endFilm(const Outcome& outcome) {
  m_nextFrame.stop();
  const QString name = m_film ? QFileInfo(m_film->path).fileName() : QString();
  m_film.reset();
  m_panel->setTime(std::nullopt);
  if (outcome) {
    m_workspace.say(tr("Exported %1").arg(name));
  } else {
    m_prompts.failure(m_window, tr("Export Film"), errorText(outcome.error()));
  }
}

void TimelineFeature::save() {
  const QString path =
      m_prompts.fileToSave(m_window, u"schedule.trace.json"_s, tr("Traces (*.json)") + u";;"_s + pictureFilter());
  if (path.isEmpty() || !m_panel->playback()) {
    return;
  }
  const bool isPicture = !path.endsWith(u".json"_s, Qt::CaseInsensitive);
  QWidget& drawn = *m_panel->view().viewport();
  const Outcome saved =
      isPicture
          ? savePictureFile(path, drawn.size(), tr("Timeline"), [&](QPainter& painter) { drawn.render(&painter); })
          : io::saveFile(QFile::encodeName(path).toStdString(), [this](std::ostream& out) -> Outcome {
              simulate::writeTrace(out, m_panel->playback()->details());
              return Done{};
            });
  if (saved) {
    m_workspace.say(tr("Saved %1").arg(QFileInfo(path).fileName()));
  } else {
    m_prompts.failure(m_window, isPicture ? tr("Save Picture") : tr("Save Trace"), sentence(saved.error()));
  }
}

}  // namespace coppice::designer
