// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "base/one_line.hpp"
#include "bill_text.hpp"
#include "command.hpp"
#include "input.hpp"
#include "text.hpp"
#include "workflow/clock.hpp"
#include "workflow/frontier_request.hpp"

namespace coppice::cli {
namespace {

using workflow::FrontierPoint;

struct FrontierOptions {
  workflow::Values values;
  bool isAll = false;
  std::string folder;
};

std::string rangeText(const Bandwidth& reached, const Bandwidth& upper) {
  return toDecimal(reached) + (upper == reached ? "" : " to " + toDecimal(upper));
}

Json pointJson(const FrontierPoint& point, const bom::Parts& parts) {
  const workflow::NetworkBounds& bounds = point.bounds;
  Json json{{"network", point.name},
            {"chosen_for", point.preference == bom::Preference::price ? "price" : "watts"},
            {"on_front", point.isOnFront},
            {"allreduce", toFraction(bounds.allreduce)},
            {"allreduce_at_most", toFraction(bounds.allreduceUpper)},
            {"alltoall", toFraction(bounds.alltoall)},
            {"alltoall_at_most", toFraction(bounds.alltoallUpper)},
            {"step_ns", bounds.step ? Json(bounds.step->toString()) : Json(nullptr)}};
  json.update(billJson(point.bill, parts));
  return json;
}

/// One row per point, those of the front marked.
std::string tableText(const workflow::Frontier& frontier, bool isAll, bool hasStep) {
  const auto column = [](std::string text, std::size_t width) {
    text.resize(std::max(text.size() + 2, width), ' ');
    return text;
  };
  constexpr std::size_t kAmount = 13;
  constexpr std::size_t kRate = 20;
  const workflow::StepUnit unit = workflow::stepUnit(frontier);
  std::string text = "     " + column("price", kAmount) + column("watts", kAmount) + column("allreduce", kRate) +
                     column("alltoall", kRate) +
                     (hasStep ? column("step " + std::string(unit.name), kAmount) : std::string()) + "network\n";
  for (const FrontierPoint& point : frontier.points) {
    if (!point.isOnFront && !isAll) {
      continue;
    }
    const workflow::NetworkBounds& bounds = point.bounds;
    text += (point.isOnFront ? "  *  " : "     ") + column(toDecimal(point.bill.total.price), kAmount) +
            column(toDecimal(point.bill.total.watts), kAmount) +
            column(rangeText(bounds.allreduce, bounds.allreduceUpper), kRate) +
            column(rangeText(bounds.alltoall, bounds.alltoallUpper), kRate) +
            (hasStep ? column(bounds.step      ? unit.text(*bounds.step)
                              : bounds.hasStep ? "no plan fits"
                                               : "not computed",
                              kAmount)
                     : std::string()) +
            oneLine(point.name) + (point.preference == bom::Preference::watts ? ", fewest watts" : "") + "\n";
  }
  return text;
}

/// The same reason once, with the networks that it holds for.
std::string notBuiltText(const std::vector<workflow::NotBuilt>& notBuilt) {
  constexpr std::size_t kMaxRows = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(notBuilt.size(), kMaxRows); ++i) {
    text += std::string(i == 0 ? "  not built   " : "              ") + oneLine(notBuilt[i].name) + ": " +
            oneLine(notBuilt[i].reason) + "\n";
  }
  if (notBuilt.size() > kMaxRows) {
    text += "              and " + std::to_string(notBuilt.size() - kMaxRows) + " more; --json lists all\n";
  }
  return text;
}

Result<Report> run(const FrontierOptions& options, const Progress& progress) {
  const auto question = workflow::readFrontier(options.values);
  if (!question) {
    return question.error();
  }
  const workflow::FrontierRequest& request = question->request;
  const bom::Parts& parts = question->priced.parts;
  workflow::Clock clock;
  const auto frontier = workflow::findFrontier(request, parts, progress);
  if (!frontier) {
    return frontier.error();
  }
  const auto front = std::count_if(frontier->points.begin(), frontier->points.end(),
                                   [](const FrontierPoint& point) { return point.isOnFront; });
  Report report;
  report.json = {{"ok", true},
                 {"box", request.variants.box},
                 {"gpus", request.variants.gpus},
                 {"variants", frontier->variants},
                 {"front", front},
                 {"points", Json::array()},
                 {"not_built", Json::array()}};
  for (const FrontierPoint& point : frontier->points) {
    report.json["points"].push_back(pointJson(point, parts));
  }
  for (const workflow::NotBuilt& each : frontier->notBuilt) {
    report.json["not_built"].push_back({{"network", each.name}, {"reason", each.reason}});
  }
  report.text = std::to_string(request.variants.gpus) + " GPUs in boxes of " + oneLine(request.variants.box) + ": " +
                counted(static_cast<std::int64_t>(frontier->variants), "network") +
                ", of which no other is as good as " + std::to_string(front) + " (*)\n" +
                "     price and watts of the network alone; allreduce and alltoall in GB/s of algbw\n" +
                tableText(*frontier, options.isAll, request.training.has_value()) + notBuiltText(frontier->notBuilt);
  report.text += partsNotes(question->priced);
  report.json["sample"] = question->priced.isSample;
  if (!options.folder.empty()) {
    const auto stems = workflow::writeFrontier(options.folder, *frontier, parts);
    if (!stems) {
      return stems.error();
    }
    report.json["folder"] = options.folder;
    report.json["files"] = *stems;
    report.text += "  written     frontier.csv, and fabric, bill and cable list of " +
                   counted(static_cast<std::int64_t>(stems->size()), "network") + " in " + oneLine(options.folder) +
                   "\n";
  }
  report.json["seconds"] = clock.lap();
  report.text += "  time        " + duration(report.json["seconds"].get<double>()) + "\n";
  return report;
}

}  // namespace

void addFrontier(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(
      app, invocation, "frontier",
      "Price and watts of the networks that can join boxes, against allreduce, alltoall and a training step",
      "  coppice-cli frontier --box dgx-h100 --gpus 64 --parts parts.csv\n"
      "  coppice-cli frontier --box dgx-h100 --gpus 128 --parts quotes.csv --nic 25,50,100 --model llama-3-70b\n"
      "  coppice-cli frontier --box hgx-mi300x --gpus 64 --parts quotes.csv --network leaf-spine,rails -o networks");
  auto options = std::make_shared<FrontierOptions>();
  addOptions(sub, workflow::networkOptions(), options->values);
  addPartsOptions(sub, options->values);
  addOptions(sub, workflow::stepOptions(), options->values, workflow::stepOptions().front().group);
  sub.add_flag("--all", options->isAll, "Also list the networks that another one is as good as");
  sub.add_option("-o,--output", options->folder,
                 "Folder for frontier.csv, and the fabric, bill and cable list of each network of the front");
  sub.callback([options, &invocation] {
    invocation.action = [options](const Progress& progress) { return run(*options, progress); };
  });
}

}  // namespace coppice::cli
