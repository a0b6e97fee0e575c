// SPDX-License-Identifier: Apache-2.0
#include "judged_text.hpp"

#include <optional>
#include <ostream>
#include <string>

#include "base/one_line.hpp"
#include "base/shell.hpp"
#include "facts_text.hpp"
#include "input.hpp"
#include "schedule/tree_reader.hpp"
#include "text.hpp"
#include "workflow/make_schedule.hpp"
#include "workflow/plan_files.hpp"

namespace coppice::cli {

void describeTrees(const schedule::Schedule& schedule, Report& report) {
  std::int64_t trees = 0;
  for (const auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
    trees += *forest ? schedule::sizeOf(**forest).trees : 0;
  }
  report.json["trees"] = trees;
  report.json["forest_algbw"] = toFraction(schedule.algbw);
  report.json["forest_algbw_GBps"] = toGBps(schedule.algbw);
  report.text +=
      "  trees       " + counted(trees, "different tree") + ", " + gigabytes(schedule.algbw) + " pipelined, verified\n";
}

void describeOrigin(const io::Origin& origin, Report& report) {
  if (origin.method.empty()) {
    return;
  }
  std::string text = origin.method;
  Json options = Json::object();
  constexpr std::size_t kMaxShown = 60;
  for (const auto& [name, value] : origin.options) {
    text += " --" + name;
    if (value != "true") {
      text += " " + (value.size() <= kMaxShown ? shellWord(value) : std::to_string(value.size()) + " bytes");
    }
    options[name] = value;
  }
  report.json["made_by"] = {{"method", origin.method}, {"options", std::move(options)}};
  report.text += factLine("made by", oneLine(text));
}

Outcome deliverSchedule(const std::string& output, const schedule::AnySchedule& schedule,
                        const workflow::LoadedFabric& loaded, const io::Origin& origin, bool json,
                        const Progress& progress, Report& report, bool asTrees) {
  const auto* steps = std::get_if<schedule::StepSchedule>(&schedule);
  std::optional<schedule::AnySchedule> trees;
  if (steps != nullptr && (asTrees || output.ends_with(".forest.json"))) {
    auto made = workflow::treesOf(loaded.fabric, *steps, progress);
    if (!made) {
      return made.error();
    }
    describeTrees(*made, report);
    trees = *std::move(made);
  }
  const auto write = [&](std::ostream& out) {
    return workflow::writeSchedule(out, trees ? *trees : schedule, loaded.fabric, loaded.description, origin, progress);
  };
  return deliver(output, write, "  schedule    ", json, report);
}

}  // namespace coppice::cli
