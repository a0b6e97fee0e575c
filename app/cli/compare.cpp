// SPDX-License-Identifier: Apache-2.0
#include "compare.hpp"

#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "compared_text.hpp"
#include "input.hpp"
#include "method_list.hpp"
#include "play_options.hpp"
#include "program/program.hpp"
#include "workflow/compare.hpp"
#include "workflow/schedule_file.hpp"
#include "workflow/sizes.hpp"

namespace coppice::cli {
namespace {

struct CompareOptions {
  std::vector<std::string> inputs;
  std::string fabric = {};
  std::string runtime = "msccl";
  MethodListOptions methods = {};
  SizeOptions sizes = {};
  ModelOptions model = {};
  std::string resolution = {};
  bool bestPieces = false;
  bool noBarriers = false;
};

/// Files to compare: all, or with --method those after the fabric.
Result<std::vector<workflow::Contender>> loadFiles(const CompareOptions& options, std::size_t first,
                                                   const simulate::Model& model, const Progress& progress) {
  const auto runtime = program::parseRuntime(options.runtime, "--runtime");
  if (!runtime) {
    return runtime.error();
  }
  std::vector<workflow::Contender> contenders;
  for (std::size_t i = first; i < options.inputs.size(); ++i) {
    progress.report("judging", static_cast<double>(i) / static_cast<double>(options.inputs.size()));
    auto playable =
        workflow::loadPlayable({.file = options.inputs[i],
                                .fabric = options.fabric,
                                .runtime = *runtime,
                                .standardInput = readStandardInput,
                                .model = model,
                                .barriers = options.noBarriers ? simulate::Barriers::none : simulate::Barriers::steps,
                                .profile = options.model.profile},
                               progress);
    if (!playable) {
      return playable.error();
    }
    auto contender = workflow::contenderOf(*std::move(playable), progress);
    if (!contender) {
      Error error = contender.error();
      if (error.where.file.empty()) {
        error.where.file = inputName(options.inputs[i]);
      }
      return error;
    }
    contenders.push_back(*std::move(contender));
  }
  return contenders;
}

/// Without a method, a fabric alone is compared by all of them. Standard input can be read only once, so it is not
/// asked.
bool isFabric(const std::string& input) {
  if (input == "-") {
    return false;
  }
  if (input.starts_with(workflow::kPresetPrefix)) {
    return true;
  }
  const auto text = readText(input);
  return text && workflow::scheduleFileKind(*text) == workflow::ScheduleFileKind::none;
}

Result<std::vector<workflow::Contender>> makeContenders(const CompareOptions& options, const simulate::Model& model,
                                                        std::vector<workflow::Refused>& refused,
                                                        std::vector<workflow::Tried>& tried, const Progress& progress) {
  auto made = makeByMethods(
      options.inputs.front(), options.methods,
      {.model = model, .barriers = options.noBarriers ? simulate::Barriers::none : simulate::Barriers::steps},
      options.model.profile, progress);
  if (!made) {
    return made.error();
  }
  refused = std::move(made->refused);
  tried = std::move(made->tried);
  auto files = loadFiles(options, 1, model, progress);
  if (!files) {
    return files.error();
  }
  std::move(files->begin(), files->end(), std::back_inserter(made->contenders));
  return std::move(made->contenders);
}

Result<Report> run(CompareOptions options, const Progress& progress) {
  if (options.methods.names.empty() && isFabric(options.inputs.front())) {
    options.methods.names = "all";
  }
  const auto sizes = sizesOf(options.sizes);
  if (!sizes) {
    return sizes.error();
  }
  const auto model = modelOf(options.model);
  if (!model) {
    return model.error();
  }
  workflow::SweepOptions sweep{.sizes = *sizes, .bestPieces = options.bestPieces};
  if (!options.resolution.empty()) {
    const auto bytes = workflow::parseBytes(options.resolution, "resolution");
    if (!bytes || *bytes < 1) {
      return bytes ? workflow::optionError("resolution", "the resolution is at least one byte", "give 1")
                   : bytes.error();
    }
    sweep.resolution = *bytes;
  }
  std::vector<workflow::Refused> refused;
  std::vector<workflow::Tried> tried;
  auto contenders = options.methods.names.empty() ? loadFiles(options, 0, *model, progress)
                                                  : makeContenders(options, *model, refused, tried, progress);
  if (!contenders) {
    return contenders.error();
  }
  if (contenders->empty()) {
    return noneMade(refused);
  }
  if (const Outcome comparable = workflow::requireComparable(*contenders); !comparable) {
    return comparable.error();
  }
  workflow::agreeOnBound(*contenders);
  const auto comparison = workflow::compare(*contenders, sweep, progress);
  if (!comparison) {
    return comparison.error();
  }
  Report report;
  report.json["ok"] = true;
  describeContenders(*contenders, report);
  describeTimes(*contenders, *comparison, report);
  describeBands(*contenders, *comparison, report);
  if (!options.methods.names.empty()) {
    describeTried(tried, report);
    describeRefused(refused, "refused", report);
  }
  return report;
}

}  // namespace

void addCompare(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(
      app, invocation, "compare", "Compare schedules: exact figures, simulated times, switch-over sizes",
      "  coppice-cli compare ring.schedule.json allgather.forest.json -b 64K -e 1G\n"
      "  coppice-cli compare preset:dgx-a100,boxes=2 --method forestcoll,multi-ring,multitree -c allgather\n"
      "  coppice-cli compare cluster.fabric.json --method all -c allreduce --json\n"
      "  coppice-cli compare ours.xml theirs.xml --fabric cluster.fabric.json -c allreduce");
  auto options = std::make_shared<CompareOptions>();
  sub.add_option("inputs", options->inputs,
                 "Schedules (.forest.json, .schedule.json), MSCCL XML or tree XML of one fabric; or the fabric, for "
                 "which schedules are generated first (--method, default: all), and further schedules")
      ->required();
  addMethodListOptions(sub, options->methods);
  sub.add_option("--fabric", options->fabric, "The fabric: needed for XML");
  sub.add_option("--runtime", options->runtime, "MSCCL XML: runtime whose rules apply: " + program::runtimeNames())
      ->capture_default_str();
  options->sizes.factor = "4";
  addSizeOptions(sub, options->sizes);
  sub.add_option("--resolution", options->resolution,
                 "Find switch-over sizes within this many bytes; 1 = to the byte (default: 1/1024 of the size)");
  sub.add_flag("--best-pieces", options->bestPieces, "Search the number of pieces with the minimum time at each size");
  sub.add_flag(
      "--no-barriers", options->noBarriers,
      "Schedules in steps: a transfer starts when its sender has the data, not when the previous step has ended");
  addModelOptions(sub, options->model);
  sub.callback([options, &invocation] {
    invocation.action = [options](const Progress& progress) { return run(*options, progress); };
  });
}

}  // namespace coppice::cli
