// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <ostream>

#include "base/text.hpp"
#include "baselines/baselines.hpp"
#include "command.hpp"
#include "forestcoll/forestcoll.hpp"
#include "input.hpp"
#include "io/forest_json.hpp"
#include "io/schedule_json.hpp"
#include "judged_text.hpp"
#include "text.hpp"
#include "workflow/baseline.hpp"
#include "workflow/request.hpp"

namespace coppice::cli {
namespace {

struct Options {
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

Result<Report> run(const Options& options, bool json, const Progress& progress) {
  if (options.name == "list") {
    return listAll();
  }
  if (options.fabric.source.empty()) {
    return Error{ErrorCode::badUsage, "no fabric is given",
                 "name one after the baseline, as in baseline " + options.name + " preset:dgx-a100,boxes=2"};
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
  std::optional<fabric::Rank> root;
  if (!options.root.empty()) {
    const auto read = workflow::readGpu(loaded->fabric, options.root, "root");
    if (!read) {
      return read.error();
    }
    root = *read;
  }
  const auto judged = workflow::makeBaseline(options.name, loaded->fabric, *collective, root, progress);
  if (!judged) {
    return judged.error();
  }
  Report report;
  report.json["baseline"] = options.name;
  describeJudged(loaded->fabric, *judged, report);
  if (parseForestCollective(options.collective)) {
    forestcoll::Request request;
    request.collective = *collective;
    request.root = isRooted(*collective) ? std::optional(root.value_or(0)) : std::nullopt;
    request.allreduceBudget = std::chrono::milliseconds(0);
    const auto optimum = forestcoll::optimum(loaded->fabric, request, progress);
    if (!optimum) {
      return optimum.error();
    }
    report.json["optimum_algbw"] = optimum->algbw.toString();
    report.json["share_of_optimum"] = (judged->algbw / optimum->algbw).toString();
    report.text += "  optimum     " + gigabytes(optimum->algbw) + "; this is " +
                   percent(judged->algbw, optimum->algbw) + " of it\n";
  }
  report.json["import_findings"] = toJson(loaded->findings);
  report.text += lines(loaded->findings);
  if (!options.output.empty()) {
    const auto write = [&](std::ostream& out) {
      if (const auto* forest = std::get_if<schedule::Schedule>(&judged->schedule)) {
        return io::writeForestJson(out, *forest, loaded->fabric, &loaded->description, schedule::ForestForm::automatic,
                                   progress);
      }
      return io::writeScheduleJson(out, std::get<schedule::StepSchedule>(judged->schedule), loaded->fabric,
                                   &loaded->description, progress);
    };
    if (const Outcome kept = keepInput(options.fabric.source, options.output); !kept) {
      return kept.error();
    }
    if (const Outcome written = deliver(options.output, write, "  schedule    ", json, report); !written) {
      return written.error();
    }
  }
  return report;
}

}  // namespace

void addBaseline(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(
      app, invocation, "baseline", "A schedule that people run today, verified, with its exact throughput",
      "  coppice-cli baseline list\n"
      "  coppice-cli baseline multi-ring examples/2x-dgx-a100.fabric.json\n"
      "  coppice-cli baseline pairwise preset:dgx-h100 -c alltoall -o pairwise.schedule.json\n"
      "  coppice-cli baseline double-binary-tree preset:mi250,boxes=2 -c allreduce --json");
  auto options = std::make_shared<Options>();
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
