// SPDX-License-Identifier: Apache-2.0
#include "workflow/plan_files.hpp"

#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "base/text.hpp"
#include "io/files.hpp"
#include "io/forest_json.hpp"
#include "io/schedule_json.hpp"

namespace coppice::workflow {

Outcome writeSchedule(std::ostream& out, const AnySchedule& schedule, const fabric::Fabric& fabric,
                      const fabric::Description& description, const Progress& progress) {
  if (const auto* forest = std::get_if<schedule::Schedule>(&schedule)) {
    return io::writeForestJson(out, *forest, fabric, &description, schedule::ForestForm::automatic, progress);
  }
  return io::writeScheduleJson(out, std::get<schedule::StepSchedule>(schedule), fabric, &description, progress);
}

Result<std::vector<PlanFiles>> writePlan(const std::filesystem::path& folder, std::span<const Contender> contenders,
                                         const SwitchPlan& plan, program::Runtime runtime, const Progress& progress) {
  using Json = nlohmann::ordered_json;
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    return Error{ErrorCode::io,
                 "the folder " + inQuotes(folder.string()) + " could not be created: " + failed.message(),
                 "choose another folder"};
  }
  std::vector<PlanFiles> files;
  Json programs = Json::array();
  for (const PlannedProgram& program : plan.programs) {
    const Playable& playable = contenders[program.contender].playable;
    const bool isForest = std::holds_alternative<schedule::Schedule>(*playable.schedule);
    PlanFiles written{program.name + ".xml", program.name + (isForest ? ".forest.json" : ".schedule.json")};
    if (Outcome saved = io::saveFile(folder / written.program, program.xml); !saved) {
      return saved.error();
    }
    const auto write = [&](std::ostream& out) {
      return writeSchedule(out, *playable.schedule, playable.loaded->fabric, playable.loaded->description, progress);
    };
    if (Outcome saved = io::saveFile(folder / written.schedule, write); !saved) {
      return saved.error();
    }
    programs.push_back({{"method", playable.name},
                        {"first", program.first},
                        {"last", program.last},
                        {"program", written.program},
                        {"schedule_file", written.schedule}});
    files.push_back(std::move(written));
  }
  const Playable& first = contenders.front().playable;
  const Json file = {{"format", "coppice-plan"},
                     {"version", 1},
                     {"fabric", first.fabric().name()},
                     {"digest", first.fabric().digest()},
                     {"collective", first.subject->collectiveName()},
                     {"target", program::toString(runtime)},
                     {"programs", std::move(programs)}};
  const std::string text = file.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (Outcome saved = io::saveFile(folder / "plan.json", text); !saved) {
    return saved.error();
  }
  return files;
}

}  // namespace coppice::workflow
