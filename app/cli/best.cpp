// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "base/one_line.hpp"
#include "base/text.hpp"
#include "compare.hpp"
#include "compared_text.hpp"
#include "input.hpp"
#include "judged_text.hpp"
#include "method_list.hpp"
#include "play_options.hpp"
#include "program/program.hpp"
#include "text.hpp"
#include "words.hpp"
#include "workflow/compare.hpp"
#include "workflow/switch_plan.hpp"

namespace coppice::cli {
namespace {

struct Options {
  std::string fabric;
  MethodListOptions methods = {.names = "all", .collective = "allreduce"};
  SizeOptions sizes = {.factor = "4", .defaultFirst = 1024};
  ModelOptions model = {};
  std::string folder = {};
  program::Runtime runtime = program::Runtime::msccl;
};

/// Writes a file of the plan; its name goes into `json`.
Outcome writeFile(const std::filesystem::path& folder, const std::string& name, std::string text, const char* key,
                  Json& json) {
  const std::string path = (folder / name).string();
  if (const Outcome saved = io::saveFile(path,
                                         [&](std::ostream& out) -> Outcome {
                                           out << text;
                                           return Done{};
                                         });
      !saved) {
    return saved;
  }
  json[key] = name;
  return Done{};
}

/// The schedule beside its program, so that it can be verified and simulated again.
Outcome writeSchedule(const std::filesystem::path& folder, const workflow::PlannedProgram& program,
                      const workflow::Playable& playable, Json& json, const Progress& progress) {
  const bool isForest = std::holds_alternative<schedule::Schedule>(*playable.schedule);
  const std::string name = program.name + (isForest ? ".forest.json" : ".schedule.json");
  Report ignored;
  json["schedule_file"] = name;
  return deliverSchedule((folder / name).string(), *playable.schedule, *playable.loaded, true, progress, ignored);
}

/// Programs, schedules, and plan.json, which says what is for which sizes.
Outcome writePlan(const Options& options, std::span<const workflow::Contender> contenders,
                  const workflow::SwitchPlan& plan, Report& report, const Progress& progress) {
  std::error_code failed;
  const std::filesystem::path folder(options.folder);
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    return Error{ErrorCode::io, "the folder " + inQuotes(options.folder) + " could not be created: " + failed.message(),
                 "give -o another name"};
  }
  Json programs = Json::array();
  report.text += "\n  programs of " + std::string(program::toString(options.runtime)) + "\n";
  for (const workflow::PlannedProgram& program : plan.programs) {
    const workflow::Playable& playable = contenders[program.contender].playable;
    Json json = {{"method", playable.name}, {"first", program.first}, {"last", program.last}};
    if (const Outcome written = writeFile(folder, program.name + ".xml", program.xml, "program", json); !written) {
      return written;
    }
    if (const Outcome written = writeSchedule(folder, program, playable, json, progress); !written) {
      return written;
    }
    programs.push_back(std::move(json));
    report.text += "  " + std::to_string(program.first) + " to " + std::to_string(program.last) + " bytes  " +
                   oneLine(playable.name) + ", " + program.name + ".xml\n";
  }
  Json file = {{"format", "coppice-plan"},
               {"version", 1},
               {"fabric", contenders.front().playable.fabric().name()},
               {"digest", contenders.front().playable.fabric().digest()},
               {"collective", contenders.front().playable.subject->collectiveName()},
               {"target", program::toString(options.runtime)},
               {"programs", programs}};
  Json ignored;
  if (const Outcome written = writeFile(
          folder, "plan.json", file.dump(1, ' ', false, Json::error_handler_t::replace) + "\n", "file", ignored);
      !written) {
    return written;
  }
  report.json["folder"] = options.folder;
  report.json["programs"] = std::move(programs);
  report.text += "\n  written     " + counted(static_cast<std::int64_t>(plan.programs.size()), "program") +
                 " and plan.json in " + oneLine(options.folder) + "\n";
  return Done{};
}

Result<Report> run(const Options& options, const Progress& progress) {
  const auto sizes = sizesOf(options.sizes);
  if (!sizes) {
    return sizes.error();
  }
  const auto model = modelOf(options.model);
  if (!model) {
    return model.error();
  }
  auto made = makeByMethods(options.fabric, options.methods, {.model = *model}, progress);
  if (!made) {
    return made.error();
  }
  const auto& contenders = made->contenders;
  if (contenders.empty()) {
    return noneMade(made->refused);
  }
  const workflow::SweepOptions sweep{.sizes = *sizes};
  auto comparison = workflow::compare(contenders, sweep, progress);
  if (!comparison) {
    return comparison.error();
  }
  Report report;
  report.json["ok"] = true;
  describeContenders(contenders, report);
  describeTimes(contenders, *comparison, report);
  describeBands(contenders, *comparison, report);
  describeRefused(made->refused, "refused", report);
  if (options.folder.empty()) {
    return report;
  }
  const auto plan =
      workflow::switchPlan(contenders, *std::move(comparison), sweep, {.runtime = options.runtime}, progress);
  if (!plan) {
    return plan.error();
  }
  if (const Outcome written = writePlan(options, contenders, *plan, report, progress); !written) {
    return written.error();
  }
  describeRefused(plan->refused, "not_exported", report);
  return report;
}

}  // namespace

void addBest(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(
      app, invocation, "best", "The best schedule of all methods for each band of sizes, as a set of programs",
      "  coppice-cli best preset:dgx-a100,boxes=2 -c allreduce -b 1K -e 1G\n"
      "  coppice-cli best cluster.fabric.json -c allgather -b 64K -e 1G -o plan --target msccl-executor-nccl");
  auto options = std::make_shared<Options>();
  sub.add_option("fabric", options->fabric,
                 "Fabric file, schedule (its fabric), - for standard input, or preset:NAME,key=value,…")
      ->required();
  addMethodListOptions(sub, options->methods);
  addSizeOptions(sub, options->sizes);
  addModelOptions(sub, options->model);
  sub.add_option("-o,--output", options->folder,
                 "Write a verified program for each band, with its window of sizes, and plan.json into this folder");
  std::vector<std::pair<std::string, program::Runtime>> runtimes;
  for (const program::Runtime runtime : program::kRuntimes) {
    runtimes.emplace_back(program::toString(runtime), runtime);
  }
  addWord<program::Runtime>(sub, "--target", options->runtime, runtimes, program::runtimeNames())->default_str("msccl");
  sub.callback([options, &invocation] {
    invocation.action = [options](const Progress& progress) { return run(*options, progress); };
  });
}

}  // namespace coppice::cli
