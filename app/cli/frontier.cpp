// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "base/one_line.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "floor_options.hpp"
#include "input.hpp"
#include "text.hpp"
#include "train_model.hpp"
#include "workflow/clock.hpp"
#include "workflow/frontier.hpp"
#include "workflow/options.hpp"

namespace coppice::cli {
namespace {

using workflow::FrontierPoint;

struct FrontierOptions {
  PartsOptions parts;
  std::string box = "dgx-h100";
  int gpus = 64;
  std::vector<std::string> set;
  std::vector<std::string> networks;
  std::vector<std::string> oversubscriptions = {"1", "2", "4"};
  std::vector<std::string> tapers = {"1", "2"};
  std::vector<int> planes = {2, 4};
  std::vector<std::string> nics;
  workflow::Values training;
  bool isAll = false;
  std::string folder;
};

Result<std::vector<Rational>> readRatios(const std::vector<std::string>& texts, const char* option) {
  std::vector<Rational> ratios;
  for (const std::string& text : texts) {
    const std::string number = text.ends_with(":1") ? text.substr(0, text.size() - 2) : text;
    const auto ratio = Rational::parse(number);
    if (!ratio || *ratio < Rational(1)) {
      return workflow::optionError(option, inQuotes(text) + " is not a ratio of 1:1 or more",
                                   "give numbers such as 1,2,4 or 3/2");
    }
    ratios.push_back(*ratio);
  }
  return ratios;
}

Result<workflow::VariantRequest> readVariants(const FrontierOptions& options) {
  workflow::VariantRequest request{.box = options.box, .gpus = options.gpus};
  auto arguments = workflow::parseArguments(options.set);
  if (!arguments) {
    return arguments.error();
  }
  request.arguments = *std::move(arguments);
  request.networks = options.networks;
  auto oversubscriptions = readRatios(options.oversubscriptions, "oversubscription");
  if (!oversubscriptions) {
    return oversubscriptions.error();
  }
  auto tapers = readRatios(options.tapers, "taper");
  if (!tapers) {
    return tapers.error();
  }
  request.oversubscriptions = *std::move(oversubscriptions);
  request.tapers = *std::move(tapers);
  request.planes = options.planes;
  for (const std::string& text : options.nics) {
    const auto nic = Bandwidth::parse(text);
    if (!nic || !nic->isPositive()) {
      return workflow::optionError("nic", inQuotes(text) + " is not a rate above 0",
                                   "give GB/s of a GPU's NIC, such as 50");
    }
    request.nics.push_back(*nic);
  }
  return request;
}

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
  std::string text = "     " + column("price", kAmount) + column("watts", kAmount) + column("allreduce", kRate) +
                     column("alltoall", kRate) + (hasStep ? column("step ms", kAmount) : std::string()) + "network\n";
  for (const FrontierPoint& point : frontier.points) {
    if (!point.isOnFront && !isAll) {
      continue;
    }
    const workflow::NetworkBounds& bounds = point.bounds;
    text += (point.isOnFront ? "  *  " : "     ") + column(toDecimal(point.bill.total.price), kAmount) +
            column(toDecimal(point.bill.total.watts), kAmount) +
            column(rangeText(bounds.allreduce, bounds.allreduceUpper), kRate) +
            column(rangeText(bounds.alltoall, bounds.alltoallUpper), kRate) +
            (hasStep ? column(bounds.step      ? milliseconds(*bounds.step)
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
  const auto parts = readParts(options.parts);
  if (!parts) {
    return parts.error();
  }
  const auto floor = readFloor(options.parts);
  if (!floor) {
    return floor.error();
  }
  auto variants = readVariants(options);
  if (!variants) {
    return variants.error();
  }
  workflow::FrontierRequest request{*std::move(variants), *floor};
  if (!options.training.empty()) {
    auto training = workflow::readTraining(options.training);
    if (!training) {
      return training.error();
    }
    request.training = *std::move(training);
  }
  workflow::Clock clock;
  const auto frontier = workflow::findFrontier(request, *parts, progress);
  if (!frontier) {
    return frontier.error();
  }
  const auto front = std::count_if(frontier->points.begin(), frontier->points.end(),
                                   [](const FrontierPoint& point) { return point.isOnFront; });
  Report report;
  report.json = {
      {"ok", true},     {"box", options.box},      {"gpus", options.gpus},      {"variants", frontier->variants},
      {"front", front}, {"points", Json::array()}, {"not_built", Json::array()}};
  for (const FrontierPoint& point : frontier->points) {
    report.json["points"].push_back(pointJson(point, *parts));
  }
  for (const workflow::NotBuilt& each : frontier->notBuilt) {
    report.json["not_built"].push_back({{"network", each.name}, {"reason", each.reason}});
  }
  report.text = std::to_string(options.gpus) + " GPUs in boxes of " + oneLine(options.box) + ": " +
                counted(static_cast<std::int64_t>(frontier->variants), "network") +
                ", of which no other is as good as " + std::to_string(front) + " (*)\n" +
                "     price and watts of the network alone; allreduce and alltoall in GB/s of algbw\n" +
                tableText(*frontier, options.isAll, request.training.has_value()) + notBuiltText(frontier->notBuilt);
  if (!parts->has(bom::PartKind::nic)) {
    report.text += "  not in it   NICs, as the table of parts has none\n";
  }
  if (!options.folder.empty()) {
    const auto stems = workflow::writeFrontier(options.folder, *frontier, *parts);
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
  sub.add_option("--box", options->box, "Preset of the boxes (preset list)")->capture_default_str();
  sub.add_option("--gpus", options->gpus, "GPUs in all boxes")->capture_default_str();
  sub.add_option("--set", options->set, "KEY=VALUE: another parameter of the preset, such as sharp=true");
  sub.add_option("--network", options->networks,
                 "Networks to try: simple, planes, rail-only, rails, leaf-spine, two-plane, three-tier; by default all")
      ->delimiter(',');
  sub.add_option("--oversubscription", options->oversubscriptions, "Ratios from leaves or rails to spines")
      ->delimiter(',')
      ->capture_default_str();
  sub.add_option("--taper", options->tapers, "Ratios from spines to cores, of three-tier")
      ->delimiter(',')
      ->capture_default_str();
  sub.add_option("--planes", options->planes, "Numbers of planes, of the network planes")
      ->delimiter(',')
      ->capture_default_str();
  sub.add_option("--nic", options->nics, "GB/s of a GPU's NIC to try; by default as the preset has it")->delimiter(',');
  addPartsOptions(sub, options->parts);
  // The days of a whole training are those of a step, times a number that is the same for all.
  std::vector<workflow::Option> training = workflow::trainingOptions();
  std::erase_if(training, [](const workflow::Option& option) { return option.name == "tokens"; });
  addOptions(sub, training, options->training, "Training step");
  sub.add_flag("--all", options->isAll, "Also list the networks that another one is as good as");
  sub.add_option("-o,--output", options->folder,
                 "Folder for frontier.csv, and the fabric, bill and cable list of each network of the front");
  sub.callback([options, &invocation] {
    invocation.action = [options](const Progress& progress) { return run(*options, progress); };
  });
}

}  // namespace coppice::cli
