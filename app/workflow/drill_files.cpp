// SPDX-License-Identifier: Apache-2.0
#include "workflow/drill_files.hpp"

#include <ostream>
#include <set>
#include <string_view>
#include <utility>

#include "base/ascii.hpp"
#include "base/file_name.hpp"
#include "base/one_line.hpp"
#include "io/files.hpp"
#include "io/forest_json.hpp"
#include "live/damaged_fabric.hpp"
#include "workflow/export_program.hpp"
#include "workflow/facts.hpp"

namespace coppice::workflow {
namespace {

Result<std::string> programText(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                const Destination& destination, const std::string& fileName,
                                std::optional<program::UsedSizes>& used, const Progress& progress) {
  lowering::Options lowered;
  lowered.runtime = destination.runtime;
  if (destination.target != nullptr) {
    auto exported = destination.target->write(fabric, schedule, lowered, fileName, progress);
    return exported ? Result<std::string>(std::move(exported->text)) : exported.error();
  }
  auto exported = requireProgram(fabric, schedule::AnySchedule(schedule), lowered, fileName, progress);
  if (!exported) {
    return exported.error();
  }
  used = exported->used;
  return std::move(exported->xml);
}

Json toJson(const SwitchingEntry& entry) {
  Json json = {{"part", live::toString(entry.failure.part)}, {"name", entry.failure.name}};
  if (entry.impossible) {
    json["impossible"] = describe(*entry.impossible);
    return json;
  }
  json["schedule_file"] = entry.files.schedule;
  if (!entry.files.program.empty()) {
    json["program"] = entry.files.program;
  } else if (!entry.files.reason.empty()) {
    json["no_program"] = entry.files.reason;
  }
  if (entry.files.used) {
    json["used_at"] = program::describe(*entry.files.used);
  }
  json["algbw"] = toFraction(entry.algbw);
  json["bound"] = toFraction(entry.optimum);
  json["moved"] = entry.moved.toString();
  if (!entry.gpus.empty()) {
    json["gpus"] = entry.gpus;
  }
  return json;
}

/// For a cell of a table in Markdown.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char c : oneLine(text)) {
    escaped += (c == '|' ? "\\" : "") + std::string(1, c);
  }
  return escaped;
}

std::string fileCell(const DrillFiles& files) {
  const std::string schedule = "`" + files.schedule + "`";
  return files.program.empty() ? schedule + (files.reason.empty() ? "" : " (no program: " + cell(files.reason) + ")")
                               : "`" + files.program + "`";
}

std::string markdown(const SwitchingPlan& plan) {
  const fabric::Fabric& fabric = plan.base.loaded.fabric;
  const schedule::Schedule& schedule = plan.base.schedule;
  std::string text =
      "# When a part fails\n\n" + std::string(toString(schedule.collective)) + " on " + cell(fabric.name()) + ", " +
      std::to_string(fabric.gpuCount()) + " GPUs. In use: " + fileCell(plan.inUse) + ", " + gigabytes(schedule.algbw) +
      ".\n\n" +
      "1. Keep this folder on every host.\n"
      "2. When a part fails, let no process start the collective again, and find the part below.\n"
      "3. Load its file on every rank. A runtime reads a program when a communicator is created, so "
      "create a new one.\n"
      "4. Where GPUs are gone, the new communicator is without them, and the ranks behind them move "
      "up; `gpus` in switching.json lists the GPUs by rank.\n"
      "5. When the part is back, load the file in use before in the same way.\n\n"
      "A runtime takes a program only for calls that its chunks divide (*used at*), and runs an algorithm of its "
      "own for others, without a message.\n\n"
      "Trees that did not use the part stay as they were. *Moved* is the share of the data that takes "
      "new trees; where it is 0 %, the GPUs send the same as before, and the network routes around the "
      "part. Beside each program, its schedule (`.forest.json`) has the same name; `coppice-cli "
      "verify` and `simulate` read it.\n\n"
      "| failed | load | algbw | of the bound | moved | ranks | used at |\n|---|---|---|---|---|---|---|\n";
  for (const SwitchingEntry& entry : plan.entries) {
    text += "| " + cell(live::described(entry.failure)) + " | ";
    if (entry.impossible) {
      text += "none: " + cell(entry.impossible->message) + " | | | | | |\n";
      continue;
    }
    text += fileCell(entry.files) + " | " + gigabytes(entry.algbw) + " | " + percent(entry.algbw / entry.optimum) +
            " | " + percent(entry.moved) + " | " +
            (entry.gpus.empty() ? "the same" : std::to_string(entry.gpus.size()) + " left") + " | " +
            (entry.files.used ? cell(program::describe(*entry.files.used)) : "") + " |\n";
  }
  return text;
}

}  // namespace

std::vector<std::string> drillFileNames(const std::vector<DrillCase>& cases) {
  std::vector<std::string> names;
  std::set<std::string> used = {"in-use", "switching"};
  for (const DrillCase& each : cases) {
    const std::string name = asFileName(live::described(each.failure));
    std::string unique = name;
    // File systems may take upper case for lower case.
    for (int i = 2; !used.insert(lowered(unique)).second; ++i) {
      unique = name + "-" + std::to_string(i);
    }
    names.push_back(std::move(unique));
  }
  return names;
}

Result<DrillFiles> writeDrillFiles(const std::filesystem::path& folder, const std::string& name,
                                   const fabric::Fabric& fabric, const fabric::Description& description,
                                   const schedule::Schedule& schedule, const io::Origin& origin,
                                   const std::optional<Destination>& destination, const Progress& progress) {
  DrillFiles files;
  files.schedule = name + ".forest.json";
  const auto write = [&](std::ostream& out) {
    return io::writeForestJson(out, schedule, fabric, &description, progress, origin);
  };
  if (const Outcome saved = io::saveFile(folder / files.schedule, write); !saved) {
    return saved.error();
  }
  if (!destination) {
    return files;
  }
  const std::string fileName = name + std::string(destination->extension());
  const auto program = programText(fabric, schedule, *destination, fileName, files.used, progress);
  if (!program) {
    if (program.error().code != ErrorCode::limit) {
      return program.error();
    }
    files.reason = program.error().message;
    return files;
  }
  files.program = fileName;
  if (const Outcome saved = io::saveFile(folder / fileName, *program); !saved) {
    return saved.error();
  }
  return files;
}

Outcome writeSwitchingPlan(const std::filesystem::path& folder, const SwitchingPlan& plan) {
  const fabric::Fabric& fabric = plan.base.loaded.fabric;
  Json failures = Json::array();
  for (const SwitchingEntry& entry : plan.entries) {
    failures.push_back(toJson(entry));
  }
  Json json = {{"format", "coppice-switching"},
               {"version", 1},
               {"fabric", fabric.name()},
               {"digest", fabric.digest()},
               {"collective", toString(plan.base.schedule.collective)},
               {"in_use", {{"schedule_file", plan.inUse.schedule}, {"algbw", toFraction(plan.base.schedule.algbw)}}},
               {"failures", std::move(failures)}};
  if (plan.destination) {
    json["target"] = plan.destination->id();
    json["in_use"]["program"] = plan.inUse.program;
  }
  const std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (const Outcome saved = io::saveFile(folder / "switching.json", text); !saved) {
    return saved;
  }
  return io::saveFile(folder / "switching.md", markdown(plan));
}

}  // namespace coppice::workflow
