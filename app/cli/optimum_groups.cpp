// SPDX-License-Identifier: Apache-2.0
#include "optimum_groups.hpp"

#include <algorithm>

#include "base/one_line.hpp"
#include "text.hpp"
#include "workflow/clock.hpp"

namespace coppice::cli {
namespace {

constexpr std::size_t kMaxTextLines = 12;

using schedule::ConcurrentDemand;
using schedule::ConcurrentGroup;

Json ranksOf(const ConcurrentGroup& group) {
  return Json(group.ranks);
}

std::string groupLines(const ConcurrentDemand& demand, const groups::Optimum& optimum) {
  const std::vector<workflow::AlikeGroups> alike = workflow::alikeGroups(demand, optimum);
  std::string text;
  for (std::size_t i = 0; i < std::min(alike.size(), kMaxTextLines); ++i) {
    const ConcurrentGroup& first = demand.groups[alike[i].groups.front()];
    const std::size_t count = alike[i].groups.size();
    std::string ranks;
    for (std::size_t place = 0; place < std::min<std::size_t>(first.ranks.size(), 4); ++place) {
      ranks += (place == 0 ? "" : ", ") + std::to_string(first.ranks[place]);
    }
    text += std::string(text.empty() ? "  groups      " : "              ") + std::to_string(count) + " " +
            std::string(toString(first.collective)) + " of " + counted(first.ranks.size(), "GPU") + " (" + ranks +
            (first.ranks.size() > 4 ? ", …" : "") + (count > 1 ? "; …" : "") +
            "): " + gigabytes(optimum.upper * first.weight) + " each, " + percent(alike[i].demand) + " of the cut\n";
  }
  if (alike.size() > kMaxTextLines) {
    text += "              and " + std::to_string(alike.size() - kMaxTextLines) + " more kinds of groups\n";
  }
  return text;
}

}  // namespace

std::string cutLines(const fabric::Fabric& fabric, const std::vector<workflow::CutLinks>& cut) {
  std::string text;
  for (std::size_t i = 0; i < std::min(cut.size(), kMaxTextLines); ++i) {
    const workflow::CutLinks& links = cut[i];
    const fabric::Arc& arc = fabric.arcs()[links.arcs.front()];
    const auto kind = [&](fabric::NodeIndex node) { return std::string(toString(fabric.nodes()[node].kind)); };
    text += std::string(i == 0 ? "  shared cut  " : "              ") + counted(links.arcs.size(), "link") + " " +
            kind(arc.tail) + " -> " + kind(arc.head) + " of " + gigabytes(links.bandwidth) + " (" +
            oneLine(fabric.nodes()[arc.tail].id) + " -> " + oneLine(fabric.nodes()[arc.head].id) +
            (links.arcs.size() > 1 ? ", …" : "") + "), price " + links.price.toString() +
            (links.arcs.size() > 1 ? " each" : "") + "\n";
  }
  if (cut.size() > kMaxTextLines) {
    text += "              and " + std::to_string(cut.size() - kMaxTextLines) + " more kinds of links\n";
  }
  return text;
}

void addGroupOptions(CLI::App& sub, GroupOptions& options) {
  const std::string heading = "Several collectives at once";
  addOptions(sub, workflow::groupOptions(), options.values, heading);
  sub.add_flag("--relay-gpus", options.relayGpus, "With --gpus or --place: the other GPUs stay, and pass data on")
      ->group(heading);
}

Outcome checkGroupOptions(const GroupOptions& options, const FabricOptions& fabric) {
  const auto fault = [](const char* option, const char* what, const char* fix) -> Outcome {
    return workflow::optionError(option, what, fix);
  };
  const bool isNamed =
      options.values.contains("groups") || options.values.contains("mesh") || options.values.contains("ranks");
  const bool isPlaced = options.placement.contains("place");
  if (options.placement.contains("free") && !isPlaced) {
    return fault("free", "no GPUs are chosen", "add --place, for example --place 8");
  }
  if (isPlaced && isNamed) {
    return fault("place", "the GPUs of groups are named", "leave --groups, --ranks and --mesh out");
  }
  if (options.relayGpus && fabric.gpus.empty() && !isPlaced) {
    return fault("relay-gpus", "all GPUs take part", "choose those that do with --gpus");
  }
  if (options.relayGpus && isNamed) {
    return fault("relay-gpus", "it is for one group, that of --gpus", "use --relay with groups");
  }
  for (const char* option : {"axis", "relay"}) {
    if (options.values.contains(option) && !isNamed) {
      return fault(option, "there are no groups", "add --groups, --ranks or --mesh");
    }
  }
  const auto file = options.values.find("groups");
  if (file != options.values.end() && file->second == "-" && fabric.source == "-") {
    return fault("groups", "standard input is the fabric already", "name a file");
  }
  return Done{};
}

Result<AskedGroups> readGroups(const GroupOptions& options, const FabricOptions& source,
                               const workflow::DemandText& demandText, const Progress& progress) {
  FabricOptions whole = source;
  if (options.relayGpus) {
    whole.gpus.clear();
  }
  auto loaded = loadFabric(whole, progress);
  if (!loaded) {
    return loaded.error();
  }
  if (!demandText.amounts.empty()) {
    return workflow::optionError("amounts", "all ranks of a group have equal data", "leave it out");
  }
  if (!demandText.root.empty() && !options.relayGpus) {
    return workflow::optionError("root", "each group has its own", "write it into the file of groups");
  }
  auto text = options.relayGpus ? Result(workflow::ConcurrentText{.members = source.gpus})
                                : workflow::readGroupOptions(options.values);
  if (!text) {
    return text.error();
  }
  text->demand = demandText;
  text->standardInput = readStandardInput;
  auto demand = workflow::readConcurrent(loaded->description, loaded->fabric, *text);
  return demand ? Result(AskedGroups{*std::move(loaded), *std::move(demand)}) : demand.error();
}

Result<Report> groupsOptimum(const GroupOptions& options, const FabricOptions& source,
                             const workflow::DemandText& demandText, const Progress& progress) {
  const auto asked = readGroups(options, source, demandText, progress);
  if (!asked) {
    return asked.error();
  }
  workflow::Clock clock;
  const LoadedFabric* loaded = &asked->loaded;
  const schedule::ConcurrentDemand* demand = &asked->demand;
  const fabric::Fabric& fabric = loaded->fabric;
  const auto optimum = workflow::provedConcurrent(fabric, *demand, progress);
  if (!optimum) {
    return optimum.error();
  }
  const double seconds = clock.lap();
  const std::vector<workflow::CutLinks> cut = workflow::sharedCut(fabric, *optimum);
  Report report;
  Json& json = report.json;
  json["ok"] = true;
  json["fabric"] = fabric.name();
  json["digest"] = fabric.digest();
  json["gpus"] = fabric.gpuCount();
  json["status"] = optimum->isExact() ? "exact" : "upper_limit";
  json["rate"] = toFraction(optimum->upper);
  json["rate_GBps"] = toGBps(optimum->upper);
  json["exact"] = optimum->isExact();
  json["lower_rate"] = toFraction(optimum->lower);
  json["lower_rate_GBps"] = toGBps(optimum->lower);
  json["relay"] = std::any_of(demand->relays.begin(), demand->relays.end(), [](bool relays) { return relays; });
  json["groups"] = Json::array();
  for (std::size_t i = 0; i < demand->groups.size(); ++i) {
    const ConcurrentGroup& group = demand->groups[i];
    Json each = {
        {"ranks", ranksOf(group)}, {"collective", toString(group.collective)}, {"weight", group.weight.toString()}};
    if (isRooted(group.collective)) {
      each["root"] = group.ranks[group.root];
    }
    each["algbw"] = toFraction(optimum->upper * group.weight);
    each["demand"] = optimum->demands[i].toString();
    json["groups"].push_back(std::move(each));
  }
  const std::vector<Rational> prices = workflow::linkPrices(fabric, *optimum);
  json["cut"] = {{"links", Json::array()}};
  for (std::size_t arc = 0; arc < prices.size(); ++arc) {
    if (prices[arc].isPositive()) {
      const fabric::Arc& at = fabric.arcs()[arc];
      json["cut"]["links"].push_back({{"src", fabric.nodes()[at.tail].id},
                                      {"dst", fabric.nodes()[at.head].id},
                                      {"bandwidth", toFraction(at.bandwidth)},
                                      {"price", prices[arc].toString()}});
    }
  }
  json["import_findings"] = toJson(loaded->findings);
  json["seconds"] = seconds;
  report.text = counted(demand->groups.size(), "group") + " at once: " +
                (optimum->isExact() ? gigabytes(optimum->upper) + workflow::eachWords(*demand) + ", the exact optimum\n"
                                    : "at most " + gigabytes(optimum->upper) + workflow::eachWords(*demand) +
                                          "; trees are known for " + gigabytes(optimum->lower) + "\n") +
                "  fabric      " + named(fabric.name()) + ", " + counted(fabric.gpuCount(), "GPU") + "\n" +
                groupLines(*demand, *optimum) + cutLines(fabric, cut) + lines(loaded->findings) + "  time        " +
                duration(seconds) + "\n";
  return report;
}

}  // namespace coppice::cli
