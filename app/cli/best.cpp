// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <utility>

#include "base/one_line.hpp"
#include "compare.hpp"
#include "compared_text.hpp"
#include "method_list.hpp"
#include "play_options.hpp"
#include "program/program.hpp"
#include "text.hpp"
#include "words.hpp"
#include "workflow/compare.hpp"
#include "workflow/plan_files.hpp"
#include "workflow/target.hpp"

namespace coppice::cli {
namespace {

struct BestOptions {
  std::string fabric;
  /// Searches of minutes are for who asks for them.
  MethodListOptions methods = {.names = "all", .collective = "allreduce", .totalTime = 8};
  SizeOptions sizes = {.factor = "4", .defaultFirst = 1024};
  ModelOptions model = {};
  std::string folder = {};
  int destination = 0;  ///< of workflow::destinations()
};

const workflow::Destination& destinationOf(const BestOptions& options) {
  return workflow::destinations()[static_cast<std::size_t>(options.destination)];
}

Outcome writePlan(const BestOptions& options, std::span<const workflow::Contender> contenders,
                  const workflow::SwitchPlan& plan, Report& report, const Progress& progress) {
  const auto files = workflow::writePlan(options.folder, contenders, plan, destinationOf(options), progress);
  if (!files) {
    return files.error();
  }
  Json programs = Json::array();
  report.text += "\n  programs of " + std::string(destinationOf(options).id()) + "\n";
  for (std::size_t i = 0; i < plan.programs.size(); ++i) {
    const workflow::PlannedProgram& program = plan.programs[i];
    const std::string& name = contenders[program.contender].playable.name;
    programs.push_back({{"method", name},
                        {"first", program.first},
                        {"last", program.last},
                        {"program", (*files)[i].program},
                        {"schedule_file", (*files)[i].schedule}});
    report.text += "  " + std::to_string(program.first) + " to " + std::to_string(program.last) + " bytes  " +
                   oneLine(name) + ", " + (*files)[i].program + "\n";
  }
  report.json["folder"] = options.folder;
  report.json["programs"] = std::move(programs);
  report.text += "\n  written     " + counted(static_cast<std::int64_t>(plan.programs.size()), "program") +
                 " and plan.json in " + oneLine(options.folder) + "\n";
  return Done{};
}

Result<Report> run(const BestOptions& options, const Progress& progress) {
  const auto sizes = sizesOf(options.sizes);
  if (!sizes) {
    return sizes.error();
  }
  const auto model = modelOf(options.model);
  if (!model) {
    return model.error();
  }
  auto made =
      makeByMethods(options.fabric, options.methods, {.model = *model, .areForPrograms = !options.folder.empty()},
                    options.model.profile, progress);
  if (!made) {
    return made.error();
  }
  auto& contenders = made->contenders;
  if (contenders.empty()) {
    return noneMade(made->refused);
  }
  const workflow::SweepOptions sweep{.sizes = *sizes};
  workflow::agreeOnBound(contenders);
  auto comparison = workflow::compare(contenders, sweep, progress);
  if (!comparison) {
    return comparison.error();
  }
  Report report;
  report.json["ok"] = true;
  describeContenders(contenders, report);
  describeTimes(contenders, *comparison, report);
  describeBands(contenders, *comparison, report);
  describeTried(made->tried, report);
  describeRefused(made->refused, "refused", report);
  if (options.folder.empty()) {
    return report;
  }
  const auto plan = workflow::switchPlan(contenders, *std::move(comparison), sweep, destinationOf(options), progress);
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
      app, invocation, "best", "Find the best schedule of all methods for each band of sizes, as a set of programs",
      "  coppice-cli best preset:dgx-a100,boxes=2 -c allreduce -b 1K -e 1G\n"
      "  coppice-cli best cluster.fabric.json -c allgather -b 64K -e 1G -o plan --target msccl-executor-nccl");
  auto options = std::make_shared<BestOptions>();
  sub.add_option("fabric", options->fabric,
                 "Fabric file, schedule (its fabric), - for standard input, or preset:NAME,key=value,…")
      ->required();
  addMethodListOptions(sub, options->methods);
  addSizeOptions(sub, options->sizes);
  addModelOptions(sub, options->model);
  sub.add_option("-o,--output", options->folder,
                 "Write a verified program for each band, restricted to its sizes, and plan.json into this folder");
  Words<int> destinations;
  for (const workflow::Destination& each : workflow::destinations()) {
    destinations.emplace_back(each.id(), static_cast<int>(destinations.size()));
  }
  addWord<int>(sub, "--target", options->destination, destinations,
               program::runtimeNames() + "; " + workflow::targetHelp() +
                   ": in the protocol that the simulation finds faster, where there are two")
      ->default_str("msccl");
  sub.callback([options, &invocation] {
    invocation.action = [options](const Progress& progress) { return run(*options, progress); };
  });
}

}  // namespace coppice::cli
