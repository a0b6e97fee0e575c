// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/shell.hpp"
#include "optimum_groups.hpp"
#include "text.hpp"
#include "workflow/clock.hpp"
#include "workflow/concurrent_schedules.hpp"

namespace coppice::cli {

Result<Report> groupsGenerate(const GroupOptions& options, const FabricOptions& source,
                              const workflow::DemandText& demandText, const std::string& output,
                              const Progress& progress) {
  const auto asked = readGroups(options, source, demandText, progress);
  if (!asked) {
    return asked.error();
  }
  workflow::Clock clock;
  const fabric::Fabric& fabric = asked->loaded.fabric;
  const auto optimum = workflow::provedConcurrent(fabric, asked->demand, progress);
  if (!optimum) {
    return optimum.error();
  }
  const auto schedules = workflow::scheduleGroups(fabric, asked->demand, *optimum, progress);
  if (!schedules) {
    return schedules.error();
  }
  const double seconds = clock.lap();
  std::vector<std::string> files;
  if (!output.empty()) {
    auto written = workflow::writeGroups(output, asked->demand, *schedules, &asked->loaded.description, progress);
    if (!written) {
      return written.error();
    }
    files = *std::move(written);
  }
  Report report;
  report.json = {{"ok", true},
                 {"fabric", fabric.name()},
                 {"digest", fabric.digest()},
                 {"rate", toFraction(optimum->lower)},
                 {"rate_GBps", toGBps(optimum->lower)},
                 {"exact", optimum->isExact()},
                 {"upper_rate", toFraction(optimum->upper)},
                 {"groups", Json::array()}};
  std::size_t reached = 0;
  Rational least(1);
  for (std::size_t i = 0; i < schedules->size(); ++i) {
    const workflow::GroupSchedule& each = (*schedules)[i];
    const schedule::ConcurrentGroup& group = asked->demand.groups[i];
    const Bandwidth algbw = schedule::algbwOf(each.judged.made.schedule);
    const Rational part = std::min(Rational(1), algbw / each.wanted);
    reached += part == Rational(1) ? 1 : 0;
    least = std::min(least, part);
    Json row = {{"ranks", group.ranks},
                {"collective", toString(group.collective)},
                {"algbw", toFraction(algbw)},
                {"algbw_GBps", toGBps(algbw)},
                {"wanted", toFraction(each.wanted)},
                {"verified", each.judged.verdict.ok}};
    if (!files.empty()) {
      row["file"] = files[i];
    }
    report.json["groups"].push_back(std::move(row));
  }
  // What all of them reach is between this and upper_rate.
  const Bandwidth together = optimum->lower * least;
  report.json["reached"] = reached;
  report.json["schedules_rate"] = toFraction(together);
  report.json["schedules_rate_GBps"] = toGBps(together);
  report.json["seconds"] = seconds;
  report.text = counted(schedules->size(), "schedule") + " that can run at the same time, " + gigabytes(together) +
                workflow::eachWords(asked->demand) +
                (together == optimum->upper ? ", the exact optimum\n"
                                            : "; nothing is above " + gigabytes(optimum->upper) + "\n") +
                "  fabric      " + named(fabric.name()) + ", " + counted(fabric.gpuCount(), "GPU") + "\n";
  if (reached < schedules->size()) {
    report.text += "  reached     by " + std::to_string(reached) + " of them; the others reach at least " +
                   percent(least) + " within their shares of the links\n";
  }
  report.text +=
      "  verified    every schedule on the shares of the links that it may use, and that all shares fit the links\n";
  if (!files.empty()) {
    report.text += "  schedules   " + files.front() + (files.size() > 1 ? " to " + files.back() : "") + " in " +
                   output + ", each with its group's part of the fabric\n  together    coppice-cli simulate " +
                   shellWord(output) + "\n";
  }
  report.text += lines(asked->loaded.findings) + "  time        " + duration(seconds) + " with verification\n";
  return report;
}

}  // namespace coppice::cli
