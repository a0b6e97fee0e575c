// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/window/schedule_pictures.hpp"

#include <QCoreApplication>
#include <QEventLoop>
#include <QFile>
#include <QTimer>
#include <algorithm>
#include <functional>
#include <utility>

#include "designer/compare/compare_panel.hpp"
#include "designer/document/figures.hpp"
#include "designer/playback/playback.hpp"
#include "designer/program/program_panel.hpp"
#include "designer/render/film.hpp"
#include "designer/render/picture.hpp"
#include "designer/replay/replay.hpp"
#include "designer/schedules/schedule_book.hpp"
#include "designer/timeline/time_text.hpp"
#include "designer/timeline/timeline_view.hpp"
#include "designer/trees/fabric_map.hpp"
#include "designer/trees/transfer_model.hpp"
#include "io/files.hpp"
#include "io/forest_json.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

/// Lets timers and other threads' answers in until it holds.
void waitUntil(const std::function<bool()>& isDone) {
  QEventLoop loop;
  QTimer timer;
  QObject::connect(&timer, &QTimer::timeout, &loop, [&] {
    if (isDone()) {
      loop.quit();
    }
  });
  constexpr int kMilliseconds = 10;
  timer.start(kMilliseconds);
  if (!isDone()) {
    loop.exec();
  }
}

Result<PlaybackPtr> playbackOf(const ImageRequest& request, const ScheduleResultPtr& result) {
  const bool isOfProgram = request.mode == ImageRequest::Mode::timeline && request.lanes == Playback::LaneKind::blocks;
  return Playback::record(result, request.bytes, {},
                          isOfProgram ? Playback::Played::program : Playback::Played::schedule);
}

Result<double> nanosecondsOf(const PlayTime& time, const Playback& run) {
  const double nanoseconds = time.isShare ? time.value * run.duration() : time.value;
  if (nanoseconds > run.duration()) {
    return Error{ErrorCode::badUsage, "--time: the run ends after " + timeText(run.duration()).toStdString(),
                 "give an earlier time, or 100%"};
  }
  return nanoseconds;
}

QString captionOf(const Playback& run, double time) {
  return QCoreApplication::translate("Film", "%1 of %2 · %3 · %4 GB/s")
      .arg(timeText(time), timeText(run.duration()), bytesText(run.bytes()),
           QString::number(run.row().algbw.gigabytesPerSecond(), 'f', 2));
}

/// The widget at this size, unless the request names another.
Outcome saveWidget(QWidget& widget, const QSize& usual, const ImageRequest& request) {
  const QSize size = request.picture.fit.isEmpty() ? usual : request.picture.fit.toSize();
  if (size.width() < widget.minimumSizeHint().width() || size.height() < widget.minimumSizeHint().height()) {
    return Error{ErrorCode::badUsage,
                 "--size: the picture needs " + std::to_string(widget.minimumSizeHint().width()) + "x" +
                     std::to_string(widget.minimumSizeHint().height()) + " pixels or more",
                 "give a larger size, and --scale to make it smaller"};
  }
  widget.resize(size);
  // A picture has no keyboard.
  if (QWidget* focus = widget.focusWidget()) {
    focus->clearFocus();
  }
  QCoreApplication::sendPostedEvents();
  QCoreApplication::processEvents();
  return saveWidgetPicture(widget, request.picture, request.output);
}

}  // namespace

Outcome showStep(EditorContext& editor, const ImageRequest& request, const ScheduleResultPtr& result) {
  const schedule::StepSchedule* steps = result->stepSchedule();
  if (steps == nullptr) {
    return Error{ErrorCode::badUsage, "--step: a schedule of trees has no steps",
                 "give --trees, or a schedule in steps, as --method ring makes"};
  }
  if (*request.step > steps->stepCount) {
    return Error{ErrorCode::badUsage,
                 "--step: the schedule has steps 1 to " + std::to_string(steps->stepCount) + ", not " +
                     std::to_string(*request.step),
                 "give one of them"};
  }
  TransferModel transfers;
  transfers.setResult(result);
  transfers.setFilter({.step = *request.step - 1});
  Overlay overlay;
  overlay.trees = transferMarks(transfers, {}, FabricMap(*result, editor.model()), {});
  overlay.isRestDimmed = true;
  editor.canvas().setOverlay(std::move(overlay));
  return Done{};
}

Outcome showMoment(EditorContext& editor, ImageRequest& request, const ScheduleResultPtr& result) {
  const auto run = playbackOf(request, result);
  if (!run) {
    return run.error();
  }
  const auto time = nanosecondsOf(*request.time, **run);
  if (!time) {
    return time.error();
  }
  editor.canvas().setMotion((*run)->motionAt(*time, FabricMap(*result, editor.model())));
  request.picture.caption = captionOf(**run, *time);
  return Done{};
}

Outcome saveTimeline(const ImageRequest& request, const ScheduleResultPtr& result) {
  const auto run = playbackOf(request, result);
  if (!run) {
    return run.error();
  }
  TimelineView view;
  view.setLanes(TimelineLanes((*run)->lanes(request.lanes), &Playback::waitName), (*run)->duration());
  if (request.time) {
    const auto time = nanosecondsOf(*request.time, **run);
    if (!time) {
      return time.error();
    }
    view.setCursor(*time);
  }
  constexpr int kWidth = 1200;
  constexpr int kMaxFrameHeight = 900;
  return saveWidget(view, {kWidth, std::min(view.heightForAll(), kMaxFrameHeight)}, request);
}

Outcome saveComparison(const ImageRequest& request, const std::vector<ScheduleResultPtr>& results) {
  std::vector<ComparedSchedule> compared;
  for (const ScheduleResultPtr& result : results) {
    compared.push_back({static_cast<int>(compared.size()) + 1, ScheduleBook::nameFor(*result), result});
  }
  ComparePanel panel;
  constexpr QSize kSize(1200, 420);
  panel.resize(kSize);
  panel.setSchedules(std::move(compared), 1);
  panel.show();
  waitUntil([&] { return panel.isSettled(); });
  return saveWidget(panel, kSize, request);
}

Outcome saveProgramPicture(const ImageRequest& request) {
  const auto xml = io::readFile(QFile::encodeName(request.input).toStdString(), io::kMaxForestBytes);
  if (!xml) {
    return xml.error();
  }
  ProgramPanel panel;
  constexpr QSize kSize(1280, 620);
  panel.resize(kSize);
  panel.show();
  panel.open(request.input, *xml);
  waitUntil([&] { return !panel.isReading(); });
  if (!panel.reading()) {
    // One sentence, or two with what to do.
    const QString detail = panel.rows().empty() ? panel.verdict() : panel.rows().front().detail;
    return Error{ErrorCode::badInput, detail.toStdString(), {}};
  }
  return saveWidget(panel, kSize, request);
}

Outcome saveFilm(EditorContext& editor, const ImageRequest& request, const ScheduleResultPtr& result) {
  const auto run = playbackOf(request, result);
  if (!run) {
    return run.error();
  }
  auto writer = FilmWriter::create(request.output, request.film->framesPerSecond);
  if (!writer) {
    return writer.error();
  }
  const FabricMap map(*result, editor.model());
  PictureOptions picture = request.picture;
  const int frames = request.film->frameCount();
  for (int frame = 0; frame < frames; ++frame) {
    const double time = (*run)->duration() * frame / (frames - 1);
    editor.canvas().setMotion((*run)->motionAt(time, map));
    picture.caption = captionOf(**run, time);
    const auto image = drawImage(editor.canvas(), picture);
    if (!image) {
      return image.error();
    }
    if (Outcome added = (*writer)->add(*image); !added) {
      return added;
    }
  }
  return (*writer)->finish();
}

Outcome saveReplay(EditorContext& editor, const ImageRequest& request, const ScheduleResultPtr& result) {
  const auto run = playbackOf(request, result);
  if (!run) {
    return run.error();
  }
  const auto page = replayPage(editor.canvas(), **run, FabricMap(*result, editor.model()),
                               {.picture = request.picture, .seconds = request.film->seconds});
  if (!page) {
    return page.error();
  }
  return io::saveFile(QFile::encodeName(request.output).toStdString(),
                      std::string_view(page->constData(), static_cast<std::size_t>(page->size())));
}

}  // namespace coppice::designer
