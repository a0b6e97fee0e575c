// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <string>

#include "base/text.hpp"
#include "baselines/baselines.hpp"
#include "command.hpp"
#include "input.hpp"
#include "judged_text.hpp"
#include "text.hpp"
#include "workflow/generator.hpp"
#include "workflow/make_schedule.hpp"
#include "workflow/request.hpp"

namespace coppice::cli {
namespace {

struct BaselineOptions {
  std::string name;
  FabricOptions fabric;
  std::string collective = "allgather";
  std::string root;
  std::string output;
};

Report listAll() {
  Report report;
  report.json["baselines"] = Json::array();
  for (const baselines::Baseline& baseline : baselines::list()) {
    Json collectives = Json::array();
    std::string names;
    for (const Collective collective : baseline.collectives) {
      collectives.push_back(toString(collective));
      names += (names.empty() ? "" : ", ") + std::string(toString(collective));
    }
    report.json["baselines"].push_back({{"name", baseline.name},
                                        {"title", baseline.title},
                                        {"about", baseline.about},
                                        {"collectives", std::move(collectives)}});
    std::string name(baseline.name);
    name.resize(std::max<std::size_t>(name.size(), 20), ' ');
    report.text += name + " " + std::string(baseline.about) + "\n" + std::string(21, ' ') + names + "\n";
  }
  return report;
}

Result<Report> run(const BaselineOptions& options, bool json, const Progress& progress) {
  if (options.name == "list") {
    return listAll();
  }
  if (baselines::find(options.name) == nullptr) {
    std::string names;
    for (const baselines::Baseline& baseline : baselines::list()) {
      names += (names.empty() ? "" : ", ") + std::string(baseline.name);
    }
    return Error{ErrorCode::badUsage, "There is no baseline " + inQuotes(options.name), "choose one of " + names};
  }
  if (options.fabric.source.empty()) {
    return Error{ErrorCode::badUsage, "no fabric is given",
                 "name one after the baseline, for example baseline " + options.name + " preset:dgx-a100,boxes=2"};
  }
  if (!options.output.empty()) {
    if (const Outcome kept = keepInput(options.fabric.source, options.output); !kept) {
      return kept.error();
    }
  }
  const auto loaded = loadFabric(options.fabric, progress);
  if (!loaded) {
    return loaded.error();
  }
  const auto collective = parseCollective(options.collective);
  if (!collective) {
    return Error{ErrorCode::badUsage, "--collective: " + inQuotes(options.collective) + " is not a collective",
                 "use allgather, reduce_scatter, allreduce, broadcast, reduce, alltoall, gather or scatter"};
  }
  workflow::Demand demand{.collective = *collective};
  if (!options.root.empty()) {
    const auto read = workflow::readGpu(loaded->fabric, options.root, "root");
    if (!read) {
      return read.error();
    }
    demand.root = *read;
  } else if (isRooted(*collective)) {
    demand.root = 0;
  }
  auto made = workflow::makeSchedule(loaded->fabric, *workflow::findGenerator(options.name), demand, {}, progress);
  if (!made) {
    return made.error();
  }
  const std::optional<Bandwidth> bound = made->bound;
  const auto judged = workflow::measured(loaded->fabric, *std::move(made), progress);
  if (!judged) {
    return judged.error();
  }
  Report report;
  report.json["baseline"] = options.name;
  describeJudged(loaded->fabric, *judged, report);
  if (bound) {
    report.json["optimum_algbw"] = toFraction(*bound);
    report.json["share_of_optimum"] = (judged->algbw / *bound).toString();
    report.text += "  optimum     " + gigabytes(*bound) + "; this is " + percent(judged->algbw / *bound) + " of it\n";
  }
  report.json["import_findings"] = toJson(loaded->findings);
  report.text += lines(loaded->findings);
  if (!options.output.empty()) {
    if (const Outcome written = deliverSchedule(options.output, judged->schedule, *loaded, json, progress, report);
        !written) {
      return written.error();
    }
  }
  return report;
}

}  // namespace

void addBaseline(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(
      app, invocation, "baseline", "Generate a schedule that is in use today, verified, with its exact throughput",
      "  coppice-cli baseline list\n"
      "  coppice-cli baseline multi-ring examples/2x-dgx-a100.fabric.json\n"
      "  coppice-cli baseline pairwise preset:dgx-h100 -c alltoall -o pairwise.schedule.json\n"
      "  coppice-cli baseline double-binary-tree preset:mi250,boxes=2 -c allreduce --json");
  auto options = std::make_shared<BaselineOptions>();
  sub.add_option("name", options->name, "Name of the baseline; list for all")->required();
  addFabricOptions(sub, options->fabric);
  sub.get_option("fabric")->required(false);
  sub.add_option("-c,--collective", options->collective,
                 "allgather, reduce_scatter, allreduce, broadcast, reduce, alltoall, gather or scatter")
      ->capture_default_str();
  sub.add_option("--root", options->root, "Id or rank of the root of a rooted collective; default: rank 0");
  sub.add_option("-o,--output", options->output, "Write the schedule to this file; - for standard output");
  sub.callback([options, &invocation] {
    invocation.action = [options, &invocation](const Progress& progress) {
      return run(*options, invocation.json, progress);
    };
  });
}

}  // namespace coppice::cli
