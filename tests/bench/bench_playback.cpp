// SPDX-License-Identifier: Apache-2.0
//
// A schedule that is played on the drawing, off screen: frames (what is under way, and the painting; median and worst,
// processor time of this thread), and the longest time that the window's thread was busy between two events while the
// schedule is taken by the canvas, the timeline and the loads.
//     bench_playback [GPUs, a multiple of 8, default 64] [method, default forestcoll] [bytes, default 64 MiB]
//                    [second method: both are then played side by side]

#include <sys/resource.h>

#include <QApplication>
#include <QImage>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "designer/canvas/canvas_view.hpp"
#include "designer/canvas/live_painter.hpp"
#include "designer/compare/side_by_side_panel.hpp"
#include "designer/document/fabric_file.hpp"
#include "designer/playback/playback.hpp"
#include "designer/playback/timeline_panel.hpp"
#include "designer/theme/theme.hpp"
#include "designer/trees/fabric_map.hpp"
#include "designer/trees/loads_panel.hpp"
#include "presets/presets.hpp"
#include "support/window_turns.hpp"

using namespace coppice;
using namespace coppice::designer;
using test::threadTime;

namespace {

void report(const char* name, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  std::printf("%-26s median %7.2f ms   worst %7.2f ms   (%zu)\n", name, times[times.size() / 2], times.back(),
              times.size());
}

void tell(const char* name, double milliseconds) {
  std::printf("%-26s longest turn of the window's thread %7.2f ms\n", name, milliseconds);
}

}  // namespace

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication application(argc, argv);
  Theme::instance().applyTo(application);
  Theme::instance().setAnimated(false);
  const int gpus = argc > 1 ? std::clamp(std::atoi(argv[1]), 8, 8192) : 64;
  const std::int64_t bytes = argc > 3 ? std::atoll(argv[3]) : std::int64_t{1} << 26;
  const auto made = presets::make("dgx-a100", {{"boxes", std::to_string(gpus / 8)}});
  if (!made) {
    std::fprintf(stderr, "%s\n", describe(made.error()).c_str());
    return 1;
  }
  Document document;
  Selection selection(document);
  document.reset(readModel(*made).model, true);
  ScheduleOptions options;
  options.method = argc > 2 ? argv[2] : "forestcoll";
  const auto schedule = makeSchedule(document.model().description(), options, {});
  if (!schedule) {
    std::fprintf(stderr, "%s\n", describe(schedule.error()).c_str());
    return 1;
  }
  const ScheduleResultPtr result = *schedule;
  const double before = threadTime();
  const auto recorded = Playback::record(result, bytes, {});
  if (!recorded) {
    std::fprintf(stderr, "%s\n", describe(recorded.error()).c_str());
    return 1;
  }
  const PlaybackPtr run = *recorded;
  std::printf("%d GPUs, %s: %zu messages, simulated in %.0f ms of processor time\n", gpus, options.method.c_str(),
              run->messageCount(), threadTime() - before);

  CanvasView view(document, selection);
  view.resize(1600, 1000);
  view.show();
  view.finishRouting();
  view.zoomToFit();
  view.complete();
  QImage frame(view.size(), QImage::Format_RGB32);
  view.render(&frame);
  const double mapped = threadTime();
  const FabricMap map(*result, document.model());
  std::printf("%-26s %7.2f ms\n", "map of the fabric", threadTime() - mapped);
  std::vector<double> moving;
  std::vector<double> painting;
  std::vector<double> all;
  constexpr int kFrames = 240;
  for (int i = 0; i < kFrames; ++i) {
    const double start = threadTime();
    view.setMotion(run->motionAt(run->duration() * i / kFrames, map));
    const double moved = threadTime();
    view.render(&frame);
    const double painted = threadTime();
    moving.push_back(moved - start);
    painting.push_back(painted - moved);
    all.push_back(painted - start);
  }
  report("what is under way", moving);
  report("painting", painting);
  report("frame", all);
  // Every lane stroked in every frame, as LivePainter does for pictures of any kind.
  std::vector<double> plain;
  MotionLanes lanes(view.scene());
  for (int i = 0; i < kFrames; i += 8) {
    const Motion motion = run->motionAt(run->duration() * i / kFrames, map);
    const double start = threadTime();
    QPainter painter(&frame);
    painter.setRenderHint(QPainter::Antialiasing);
    const Viewpoint viewpoint{view.zoom(), view.toView({0, 0})};
    painter.translate(viewpoint.offset);
    painter.scale(viewpoint.scale, viewpoint.scale);
    LivePainter(painter, view.scene(), viewpoint, view.size()).paintMotion(motion, lanes);
    painter.end();
    plain.push_back(threadTime() - start);
  }
  report("motion, without a cache", plain);
  view.setMotion({});

  test::WindowTurns turns;
  const auto atOnce = [] { return true; };
  TimelinePanel timeline;
  timeline.resize(1600, 260);
  timeline.show();
  tell("timeline", turns.longest([&] { timeline.setResult(result); }, [&] { return timeline.view().laneCount() > 0; }));
  tell("timeline, painted", turns.longest([&] { timeline.grab(); }, atOnce));
  LoadsPanel loads;
  loads.resize(500, 600);
  loads.show();
  tell("loads", turns.longest([&] { loads.setResult(result); }, atOnce));
  tell("loads, painted", turns.longest([&] { loads.grab(); }, atOnce));
  const auto tellMemory = [](const char* name) {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf("%-26s %7.0f MB\n", name, static_cast<double>(usage.ru_maxrss) / 1024);
  };
  tellMemory("memory");
  if (argc > 4) {
    options.method = argv[4];
    const auto second = makeSchedule(document.model().description(), options, {});
    if (!second) {
      std::fprintf(stderr, "%s\n", describe(second.error()).c_str());
      return 1;
    }
    timeline.hide();
    SideBySidePanel sides;
    sides.resize(1600, 260);
    sides.setBytes(bytes);
    sides.setSchedules({{1, "A", result}, {2, "B", *second}});
    tell("side by side", turns.longest([&] { sides.show(); }, [&] { return sides.playback(0) && sides.playback(1); }));
    tell("side by side, painted", turns.longest([&] { sides.grab(); }, atOnce));
    tellMemory("memory, side by side");
  }
  return 0;
}
