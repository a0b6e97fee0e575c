// SPDX-License-Identifier: Apache-2.0
//
// Frames of the canvas off screen, with a fabric of 5,000 nodes and 20,000 links by default: time to open, until links
// have found their ways, frames while panning, zooming and dragging (median and worst, CPU time of this thread), and
// memory.
//     bench_canvas [boxes of 8 GPUs and 8 NICs]

#include <sys/resource.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QImage>
#include <QPainter>
#include <QThread>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "designer/canvas/canvas_view.hpp"
#include "designer/document/fabric_file.hpp"
#include "designer/theme/theme.hpp"

using namespace coppice;
using namespace coppice::designer;

namespace {

double now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

/// Boxes of 8 GPUs in a full mesh of rings, 8 NICs and a switch; every NIC on four leaves: about four links a node.
fabric::Description fabricOf(int boxes) {
  fabric::Description description;
  description.name = "bench";
  const int columns = std::max(1, static_cast<int>(std::sqrt(boxes)));
  constexpr int kLeaves = 64;
  const auto link = [&](const std::string& a, const std::string& b, const char* bandwidth) {
    description.links.push_back({.src = a, .dst = b, .bandwidth = bandwidth});
  };
  for (int leaf = 0; leaf < kLeaves; ++leaf) {
    description.nodes.push_back({.id = "leaf" + std::to_string(leaf),
                                 .kind = "switch",
                                 .position = fabric::Position{.x = columns * 1000.0 * leaf / kLeaves, .y = -600}});
  }
  for (int box = 0; box < boxes; ++box) {
    const std::string prefix = "b" + std::to_string(box);
    const double x = 1000.0 * (box % columns);
    const double y = 500.0 * (box / columns);
    description.nodes.push_back({.id = prefix + "nvs",
                                 .kind = "switch",
                                 .box = prefix,
                                 .position = fabric::Position{.x = x + 350, .y = y + 200}});
    for (int i = 0; i < 8; ++i) {
      const std::string gpu = prefix + "g" + std::to_string(i);
      const std::string nic = prefix + "nic" + std::to_string(i);
      description.nodes.push_back(
          {.id = gpu, .box = prefix, .position = fabric::Position{.x = x + 100.0 * i, .y = y + 100}});
      description.nodes.push_back(
          {.id = nic, .kind = "nic", .box = prefix, .position = fabric::Position{.x = x + 100.0 * i, .y = y}});
      link(gpu, prefix + "nvs", "450");
      link(gpu, nic, "50");
      for (int plane = 0; plane < 6; ++plane) {
        link(nic, "leaf" + std::to_string((box * 8 + i + plane * 11) % kLeaves), "50");
      }
    }
  }
  return description;
}

void report(const char* name, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  std::printf("%-22s median %7.2f ms   worst %7.2f ms   (%zu frames)\n", name, times[times.size() / 2], times.back(),
              times.size());
}

}  // namespace

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication application(argc, argv);
  Theme::instance().applyTo(application);
  Theme::instance().setAnimated(false);
  const int boxes = argc > 1 ? std::clamp(std::atoi(argv[1]), 1, 20000) : 294;
  const std::string text = [&] {
    Model model = readModel(fabricOf(boxes)).model;
    return writeFabricFile(model);
  }();

  const double start = now();
  auto read = readFabricFile(text, "bench");
  if (!read) {
    std::fprintf(stderr, "cannot read the fabric: %s\n", read.error().message.c_str());
    return 1;
  }
  Document document;
  Selection selection(document);
  document.reset(std::move(read->model), true);
  const double opened = now();
  CanvasView view(document, selection);
  view.resize(1600, 1000);
  view.show();
  QImage frame(view.size(), QImage::Format_RGB32);
  const auto paint = [&] {
    const double before = now();
    view.render(&frame);
    return now() - before;
  };
  const double built = now();
  const double first = paint();
  std::printf("%zu nodes, %zu links: read %.0f ms, geometry %.0f ms, first frame %.0f ms\n",
              document.model().nodes().size(), document.model().links().size(), opened - start, built - opened, first);
  {
    QElapsedTimer wall;
    wall.start();
    std::vector<double> steps;
    constexpr qint64 kLongest = 600000;
    while (!view.scene().isRouted() && wall.elapsed() < kLongest) {
      QThread::msleep(1);
      const double before = now();
      QCoreApplication::processEvents();
      steps.push_back(now() - before);
    }
    std::printf("links found their ways %lld ms later\n", static_cast<long long>(wall.elapsed()));
    report("  meanwhile, per event", steps);
    steps.clear();
    for (int i = 0; i < 60; ++i) {
      steps.push_back(paint());
    }
    report("  frames after", steps);
  }

  const auto pan = [&](const char* name, double zoom) {
    view.setZoom(zoom);
    view.complete();
    std::vector<double> times;
    for (int i = 0; i < 300; ++i) {
      view.panBy({12 * std::cos(i * 0.05), 9 * std::sin(i * 0.03)});
      times.push_back(paint());
    }
    report(name, times);
  };
  pan("pan, whole", view.zoom());
  pan("pan, mid", 0.2);
  pan("pan, near", 0.5);
  std::vector<double> times;
  view.zoomToFit();
  for (int i = 0; i < 300; ++i) {
    view.zoomAbout(view.zoom() * (i < 150 ? 1.03 : 1 / 1.03), {700, 400});
    times.push_back(paint());
  }
  report("zoom in and out", times);
  // What follows once the zoom rests: the drawing at its new scale, step by step.
  view.zoomAbout(0.2, {700, 400});
  QThread::msleep(200);
  times.clear();
  for (int i = 0; i < 40; ++i) {
    times.push_back(paint());
  }
  report("settle after a zoom", times);

  view.setZoom(0.6);
  paint();
  const GestureId gesture = document.beginGesture();
  const std::set<ElementId> one{NodeId{70}};
  view.centreOn(*one.begin());
  times.clear();
  std::vector<double> edits;
  view.complete();
  QThread::msleep(200);
  for (int i = 0; i < 200; ++i) {
    const double before = now();
    document.edit(
        "drag",
        [&](Edit& edit) {
          edits::move(edit, one, {2, i % 2 == 0 ? 1.0 : -1.0});
        },
        gesture);
    edits.push_back(now() - before);
    times.push_back(edits.back() + paint());
  }
  report("drag one node", times);
  report("  without painting", edits);

  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("memory at most %.0f MB\n", static_cast<double>(usage.ru_maxrss) / 1024);
  return 0;
}
