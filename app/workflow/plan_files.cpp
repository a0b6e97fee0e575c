// SPDX-License-Identifier: Apache-2.0
#include "workflow/plan_files.hpp"

#include <ostream>
#include <utility>

#include "base/text.hpp"
#include "io/files.hpp"
#include "io/forest_json.hpp"
#include "io/plan_json.hpp"
#include "io/schedule_json.hpp"

namespace coppice::workflow {

Outcome writeSchedule(std::ostream& out, const AnySchedule& schedule, const fabric::Fabric& fabric,
                      const fabric::Description& description, const io::Origin& origin, const Progress& progress) {
  if (const auto* forest = std::get_if<schedule::Schedule>(&schedule)) {
    return io::writeForestJson(out, *forest, fabric, &description, progress, origin);
  }
  return io::writeScheduleJson(out, std::get<schedule::StepSchedule>(schedule), fabric, &description, progress, origin);
}

Result<std::vector<PlanFiles>> writePlan(const std::filesystem::path& folder, std::span<const Contender> contenders,
                                         const SwitchPlan& plan, const Destination& destination,
                                         const Progress& progress) {
  if (const Outcome made = io::makeFolder(folder); !made) {
    return made.error();
  }
  std::vector<PlanFiles> files;
  std::vector<io::PlanEntry> entries;
  for (const PlannedProgram& program : plan.programs) {
    const Contender& contender = contenders[program.contender];
    const Playable& playable = contender.playable;
    const bool isForest = std::holds_alternative<schedule::Schedule>(*playable.schedule);
    PlanFiles written{program.name + std::string(destination.extension()),
                      program.name + (isForest ? ".forest.json" : ".schedule.json")};
    if (Outcome saved = io::saveFile(folder / written.program, program.text); !saved) {
      return saved.error();
    }
    const auto write = [&](std::ostream& out) {
      return writeSchedule(out, *playable.schedule, playable.loaded->fabric, playable.loaded->description,
                           {.method = contender.method}, progress);
    };
    if (Outcome saved = io::saveFile(folder / written.schedule, write); !saved) {
      return saved.error();
    }
    entries.push_back({playable.name, program.first, program.last, written.program, written.schedule});
    files.push_back(std::move(written));
  }
  const Playable& first = contenders.front().playable;
  const io::PlanHead head{first.fabric().name(), first.fabric().digest(), std::string(first.subject->collectiveName()),
                          std::string(destination.id())};
  if (Outcome saved = io::saveFile(folder / "plan.json", io::planJson(head, entries)); !saved) {
    return saved.error();
  }
  return files;
}

}  // namespace coppice::workflow
