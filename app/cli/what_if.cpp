// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "base/one_line.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "command.hpp"
#include "live/prices.hpp"
#include "live_input.hpp"
#include "text.hpp"

namespace coppice::cli {
namespace {

struct WhatIfOptions {
  FabricOptions fabric;
  workflow::DemandText demand;
  workflow::Values switches;
  std::pair<std::string, std::string> link = {};
  std::string lowest = "0";
  std::string highest = {};
  bool isOneWay = false;
  bool isWholeClass = false;
};

Result<Bandwidth> parseEnd(const std::string& text, const std::string& option) {
  const auto bandwidth = Bandwidth::parse(text);
  if (!bandwidth) {
    return Error{ErrorCode::badUsage, option + ": " + bandwidth.error().message, bandwidth.error().fix};
  }
  if (*bandwidth < Bandwidth()) {
    return Error{ErrorCode::badUsage, option + ": " + inQuotes(text) + " is below 0", "give 0 or more"};
  }
  return *bandwidth;
}

/// The links to change, named; all have the bandwidth of the named link.
Result<live::LinkGroup> chosenLinks(const fabric::Fabric& fabric, const WhatIfOptions& options) {
  const auto src = fabric.find(options.link.first);
  const auto dst = fabric.find(options.link.second);
  if (!src || !dst) {
    return Error{ErrorCode::badUsage,
                 "--link: there is no node " + inQuotes(src ? options.link.second : options.link.first),
                 "name the two ends of a link by their ids"};
  }
  if (!fabric.findArc(*src, *dst)) {
    return Error{ErrorCode::badUsage,
                 "--link: no link runs from " + inQuotes(options.link.first) + " to " + inQuotes(options.link.second),
                 "name the two ends of a link of the fabric"};
  }
  if (options.isWholeClass) {
    for (live::LinkGroup& group : live::linkClasses(fabric)) {
      for (const live::GroupArc& arc : group.arcs) {
        if (arc.src == *src && arc.dst == *dst) {
          return std::move(group);
        }
      }
    }
  }
  live::LinkGroup group{options.link.first + (options.isOneWay ? " -> " : " - ") + options.link.second,
                        {{*src, *dst, 1}}};
  if (!options.isOneWay) {
    if (bandwidthBetween(fabric, *src, *dst) != bandwidthBetween(fabric, *dst, *src)) {
      return Error{ErrorCode::badUsage, "--link: the two directions of this link differ",
                   "add --one-way to change only the one from " + inQuotes(options.link.first)};
    }
    group.arcs.push_back({*dst, *src, 1});
  }
  return group;
}

Result<Report> run(const WhatIfOptions& options, const Progress& progress) {
  const auto lowest = parseEnd(options.lowest, "--lowest");
  if (!lowest) {
    return lowest.error();
  }
  auto input = loadLive(options.fabric, options.demand, options.switches, progress);
  if (!input) {
    return input.error();
  }
  const auto group = chosenLinks(input->loaded.fabric, options);
  if (!group) {
    return group.error();
  }
  const Bandwidth now = bandwidthBetween(input->loaded.fabric, group->arcs.front().src, group->arcs.front().dst);
  Bandwidth highest = std::max(now, *lowest) * Rational(4);
  if (!options.highest.empty()) {
    const auto given = parseEnd(options.highest, "--highest");
    if (!given) {
      return given.error();
    }
    highest = *given;
  }
  if (highest < *lowest) {
    return Error{ErrorCode::badUsage, "--highest is below --lowest", "give the smaller bandwidth to --lowest"};
  }
  const auto started = std::chrono::steady_clock::now();
  const auto curve = live::curveOf(input->bound, *group, *lowest - now, highest - now, progress);
  if (!curve) {
    return curve.error();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;

  Report report;
  report.json = headJson(*input);
  report.json["links"] = group->name;
  report.json["arcs"] = group->arcs.size();
  report.json["now"] = toFraction(now);
  report.json["now_GBps"] = toGBps(now);
  report.json["piecewise_linear"] = curve->isPiecewiseLinear;
  report.json["points"] = Json::array();
  report.text = "what-if of " + std::string(toString(input->request.collective)) + ", " +
                gigabytes(input->bound.answer().algbw) + " with " + oneLine(group->name) + " at " + gigabytes(now) +
                "\n" + headText(*input);
  const std::size_t links = group->arcs.size();
  if (options.isWholeClass) {
    report.text += "  changed     " + std::to_string(links) + " directions of links together\n";
  }
  std::vector<std::vector<std::string>> rows{{"bandwidth", "bound", "gain per GB/s from there"}};
  const auto addNow = [&] { rows.push_back({gigabytes(now) + " (now)", gigabytes(input->bound.answer().algbw), ""}); };
  bool isNowListed = now < *lowest || now > highest;
  for (const live::CurvePoint& point : curve->points) {
    const Bandwidth bandwidth = point.change + now;
    if (!isNowListed && bandwidth > now) {
      addNow();
      isNowListed = true;
    }
    isNowListed = isNowListed || bandwidth == now;
    report.json["points"].push_back({{"bandwidth", toFraction(bandwidth)},
                                     {"bandwidth_GBps", toGBps(bandwidth)},
                                     {"algbw", toFraction(point.algbw)},
                                     {"algbw_GBps", toGBps(point.algbw)},
                                     {"slope_before", point.slopeBefore.toString()},
                                     {"slope_after", point.slopeAfter.toString()}});
    const bool isLast = &point == &curve->points.back();
    rows.push_back({gigabytes(bandwidth) + (bandwidth == now ? " (now)" : ""), gigabytes(point.algbw),
                    isLast ? "" : exactAndDecimal(point.slopeAfter)});
  }
  report.text += table(rows);
  if (!curve->isPiecewiseLinear) {
    report.text += "  note        between these points the bound of the two halves is curved\n";
  }
  closeReport(report, *input, seconds.count());
  return report;
}

}  // namespace

void addWhatIf(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(
      app, invocation, "what-if", "Compute the bound as a function of a link's bandwidth, with every break point",
      "  coppice-cli what-if examples/2x-dgx-a100.fabric.json --link b0g0 b0nvs\n"
      "  coppice-cli what-if preset:mi250,boxes=4 --link b0g0 sw --class --lowest 10 --highest 64\n"
      "  coppice-cli what-if cluster.fabric.json --link leaf0 spine1 --one-way --json");
  auto options = std::make_shared<WhatIfOptions>();
  addFabricOptions(sub, options->fabric);
  addDemandOptions(sub, options->demand);
  addOptions(sub, {workflow::plainSwitchesOption()}, options->switches);
  sub.add_option("--link", options->link, "The two ends of the link; parallel links are added up")->required();
  sub.add_option("--lowest", options->lowest, "First bandwidth, such as 0, 12.5 or 400Gb/s")->capture_default_str();
  sub.add_option("--highest", options->highest, "Last bandwidth; default: four times the current one");
  auto* oneWay =
      sub.add_flag("--one-way", options->isOneWay, "Change only the direction from the first end to the second");
  sub.add_flag("--class", options->isWholeClass,
               "Change every link of its class: same kinds of ends, within or between boxes, same bandwidth")
      ->excludes(oneWay);
  sub.callback([options, &invocation] {
    invocation.action = [options](const Progress& progress) { return run(*options, progress); };
  });
}

}  // namespace coppice::cli
