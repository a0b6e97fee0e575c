// SPDX-License-Identifier: Apache-2.0
#include "judged_text.hpp"

#include <optional>
#include <ostream>
#include <string>

#include "base/formatted.hpp"
#include "input.hpp"
#include "schedule/tree_reader.hpp"
#include "text.hpp"
#include "workflow/make_schedule.hpp"
#include "workflow/plan_files.hpp"

namespace coppice::cli {
namespace {

/// The minimum traffic, and the links that carry most for their bandwidth.
void describeLinks(const fabric::Fabric& fabric, const workflow::JudgedSchedule& judged, Report& report) {
  if (judged.minTraffic) {
    report.json["least_traffic"] = judged.minTraffic->toString();
    report.text += "              the minimum is " + judged.minTraffic->toString() + "\n";
  }
  constexpr std::size_t kListed = 3;
  report.json["busiest_links"] = Json::array();
  for (const workflow::BusyLink& link : workflow::busiestLinks(fabric, *judged.cost, kListed)) {
    const fabric::Arc& arc = fabric.arcs()[link.arc];
    report.json["busiest_links"].push_back({{"from", fabric.nodes()[arc.tail].id},
                                            {"to", fabric.nodes()[arc.head].id},
                                            {"traffic", link.traffic.toString()},
                                            {"t_b", toFraction(link.time)}});
    report.text += "  busy link   " + named(fabric.nodes()[arc.tail].id) + " -> " + named(fabric.nodes()[arc.head].id) +
                   ", " + link.traffic.toString() + " bytes per byte of the data at " + gigabytes(arc.bandwidth) + "\n";
  }
}

}  // namespace

void describeTrees(const schedule::Schedule& schedule, Report& report) {
  std::int64_t trees = 0;
  for (const auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
    trees += *forest ? schedule::sizeOf(**forest).trees : 0;
  }
  report.json["trees"] = trees;
  report.json["forest_algbw"] = toFraction(schedule.algbw);
  report.json["forest_algbw_GBps"] = toGBps(schedule.algbw);
  report.text +=
      "  trees       " + counted(trees, "different tree") + ", " + gigabytes(schedule.algbw) + " pipelined, verified\n";
}

void describeJudged(const fabric::Fabric& fabric, const workflow::JudgedSchedule& judged, Report& report) {
  const Collective collective = collectiveOf(judged.schedule);
  const auto* steps = std::get_if<schedule::StepSchedule>(&judged.schedule);
  report.json["collective"] = toString(collective);
  if (const auto root = rootOf(judged.schedule)) {
    report.json["root"] = *root;
  }
  report.json["gpus"] = fabric.gpuCount();
  report.json["form"] = steps ? (steps->isSynchronous ? "steps" : "order") : "forest";
  report.json["algbw"] = toFraction(judged.algbw);
  report.json["algbw_GBps"] = toGBps(judged.algbw);
  const Bandwidth bus = busbw(collective, judged.algbw, fabric.gpuCount());
  report.json["busbw"] = toFraction(bus);
  report.json["busbw_GBps"] = toGBps(bus);
  report.json["steps"] = judged.steps;
  report.text += "  schedule    " + std::string(toString(collective)) + " on " + named(fabric.name()) + ", " +
                 counted(fabric.gpuCount(), "GPU") + "\n";
  report.text += "  throughput  " + gigabytes(judged.algbw) + " (busbw " + gigabytes(bus) + ")\n";
  report.text += "  steps       " + std::to_string(judged.steps) +
                 (steps && steps->isSynchronous ? "\n" : ", the longest chain of transfers\n");
  if (judged.cost) {
    describeCost(*judged.cost, report.json, report.text);
    describeLinks(fabric, judged, report);
  } else {
    report.json["t_b"] = toFraction(judged.algbw.inverse());
  }
}

void describeCost(const schedule::StepCost& cost, Json& json, std::string& text) {
  json["rounds"] = cost.rounds;
  json["t_b"] = toFraction(cost.timePerByte);
  json["stretch"] = {{"max", cost.maxStretch}, {"mean", cost.meanStretch}};
  json["traffic"] = cost.totalTraffic.toString();
  text += "  stretch     " + withPlaces(cost.meanStretch, 2) + " links per transfer on average (by bytes), at most " +
          std::to_string(cost.maxStretch) + "\n";
  text += "  traffic     " + cost.totalTraffic.toString() + " bytes over all links per byte of the data\n";
}

Outcome deliverSchedule(const std::string& output, const schedule::AnySchedule& schedule,
                        const workflow::LoadedFabric& loaded, bool json, const Progress& progress, Report& report) {
  const auto* steps = std::get_if<schedule::StepSchedule>(&schedule);
  std::optional<schedule::AnySchedule> trees;
  if (steps != nullptr && output.ends_with(".forest.json")) {
    auto made = workflow::treesOf(loaded.fabric, *steps, progress);
    if (!made) {
      return made.error();
    }
    describeTrees(*made, report);
    trees = *std::move(made);
  }
  const auto write = [&](std::ostream& out) {
    return workflow::writeSchedule(out, trees ? *trees : schedule, loaded.fabric, loaded.description, progress);
  };
  return deliver(output, write, "  schedule    ", json, report);
}

}  // namespace coppice::cli
