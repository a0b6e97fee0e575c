// SPDX-License-Identifier: Apache-2.0
// bench_edit: the time from an edit of a document to its new bound, as the status strip gets it, and the longest time
// for which the window's thread was busy with it. Medians and maxima over edits of single links, DGX A100 boxes.
#include <QCoreApplication>
#include <QElapsedTimer>
#include <QTimer>
#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <vector>

#include "designer/document/edits.hpp"
#include "designer/document/fabric_file.hpp"
#include "designer/jobs/live_bound.hpp"
#include "presets/presets.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;

namespace {
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}
}  // namespace

int main(int argc, char** argv) {
  QCoreApplication app(argc, argv);
  struct Case {
    const char* preset;
    std::map<std::string, std::string> arguments;
    int edits;
  };
  const std::vector<Case> cases = {
      {"dgx-a100", {{"boxes", "8"}}, 41}, {"dgx-a100", {{"boxes", "64"}}, 41}, {"dgx-a100", {{"boxes", "512"}}, 21}};
  std::printf("%8s %8s | %26s | %26s\n", "GPUs", "links", "edit to bound, ms (max)", "window's thread, ms (max)");
  for (const Case& c : cases) {
    Document document;
    document.reset(readModel(*presets::make(c.preset, c.arguments)).model, true);
    LiveBound live(document);
    const auto wait = [&](double& held) {
      QElapsedTimer slice;
      while (!live.isCurrent()) {
        slice.start();
        QCoreApplication::processEvents(QEventLoop::AllEvents);
        const double ms = static_cast<double>(slice.nsecsElapsed()) / 1e6;
        held = std::max(held, ms);
        if (!live.isCurrent() && ms < 0.01) {
          QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
        }
      }
    };
    double ignored = 0;
    QElapsedTimer first;
    first.start();
    wait(ignored);
    const double loading = static_cast<double>(first.nsecsElapsed()) / 1e6;
    std::vector<LinkId> links;
    for (const auto& [id, link] : document.model().links()) {
      links.push_back(id);
    }
    std::mt19937 random(7);
    std::vector<double> whole;
    std::vector<double> blocked;
    for (int i = 0; i < c.edits; ++i) {
      const LinkId id = links[random() % links.size()];
      QElapsedTimer clock;
      clock.start();
      document.edit(u"x"_s, [&](Edit& edit) {
        edits::changeLinks(edit, std::vector{id}, [&](Link& link) { link.bandwidth = std::to_string(100 + i); });
      });
      double held = static_cast<double>(clock.nsecsElapsed()) / 1e6;
      wait(held);
      whole.push_back(static_cast<double>(clock.nsecsElapsed()) / 1e6);
      blocked.push_back(held);
    }
    std::printf("%8d %8zu | %12.2f (%9.2f) | %12.3f (%9.3f) | first %.1f ms, %s\n", live.bound()->gpuCount,
                links.size(), median(whole), *std::max_element(whole.begin(), whole.end()), median(blocked),
                *std::max_element(blocked.begin(), blocked.end()), loading, qPrintable(live.bound()->headline()));
    std::fflush(stdout);
  }
  return 0;
}
