// SPDX-License-Identifier: Apache-2.0
#include "live_input.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/text.hpp"
#include "base/units.hpp"
#include "schedule/bound_scope.hpp"
#include "text.hpp"

namespace coppice::cli {
namespace {

/// Columns as a reader counts them: bytes that begin a UTF-8 character.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

schedule::BoundScope scopeOf(const LoadedLive& input) {
  const bool ignoresSwitches =
      input.request.plainSwitches &&
      schedule::canGain(schedule::switchAbilities(input.loaded.fabric), input.request.collective);
  return schedule::boundScope(input.loaded.fabric, input.request.collective,
                              {.hasCut = true, .isForTrees = input.bound.answer().isForTrees && !ignoresSwitches});
}

}  // namespace

Result<LoadedLive> loadLive(const FabricOptions& fabric, const workflow::DemandText& demand,
                            const workflow::Values& switches, const Progress& progress) {
  auto loaded = loadFabric(fabric, progress);
  if (!loaded) {
    return loaded.error();
  }
  if (const auto asked = workflow::readCollective(demand.collective); asked && *asked == Collective::alltoall) {
    return workflow::optionError("collective", "the effect of fabric changes on alltoall cannot be computed",
                                 "use another collective, or run optimum -c alltoall on both fabrics");
  }
  const auto request = workflow::readRequest(loaded->fabric, demand, switches);
  if (!request) {
    return request.error();
  }
  auto bound = live::CutBound::create(loaded->fabric, *request, progress);
  if (!bound) {
    return bound.error();
  }
  return LoadedLive{*std::move(loaded), *request, *std::move(bound)};
}

Json headJson(const LoadedLive& input) {
  const fabric::Fabric& fabric = input.loaded.fabric;
  Json json;
  json["ok"] = true;
  json["fabric"] = fabric.name();
  json["digest"] = fabric.digest();
  json["collective"] = toString(input.request.collective);
  if (input.request.root) {
    const auto rank = static_cast<std::size_t>(*input.request.root);
    json["root"] = fabric.nodes()[fabric.gpus()[rank]].id;
  }
  json["gpus"] = fabric.gpuCount();
  json["bound"] = toFraction(input.bound.answer().algbw);
  json["bound_GBps"] = toGBps(input.bound.answer().algbw);
  json["balanced"] = input.bound.answer().isBalanced;
  json["bound_scope"] = schedule::sentenceOf(scopeOf(input));
  return json;
}

std::string headText(const LoadedLive& input) {
  std::string text = "  fabric      " + named(input.loaded.fabric.name()) + ", " +
                     counted(input.loaded.fabric.gpuCount(), "GPU") + "\n";
  if (!input.bound.answer().isBalanced && !input.bound.answer().isForTrees && !movesShards(input.request.collective)) {
    text +=
        "  note        ingress and egress differ at some switches, so this is the bound of the cuts; what switches\n"
        "              that only forward can reach may be less (coppice-cli optimum says)\n";
  }
  text += boundNote(scopeOf(input));
  return text;
}

Result<std::set<live::Part>> parseParts(const std::string& option, const std::string& text) {
  std::set<live::Part> parts;
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');) {
    bool isKnown = false;
    for (const live::Part part :
         {live::Part::link, live::Part::nic, live::Part::switchNode, live::Part::gpu, live::Part::box}) {
      if (item == live::toString(part)) {
        parts.insert(part);
        isKnown = true;
      }
    }
    if (!isKnown) {
      return workflow::optionError(option, inQuotes(item) + " is not a part that can fail",
                                   "use link, nic, switch, gpu or box, separated by commas");
    }
  }
  return parts;
}

Bandwidth bandwidthBetween(const fabric::Fabric& fabric, fabric::NodeIndex src, fabric::NodeIndex dst) {
  const auto arc = fabric.findArc(src, dst);
  return arc ? fabric.arcs()[*arc].bandwidth : Bandwidth();
}

RowsShown rowsShown(const std::optional<int>& top, std::size_t all) {
  constexpr int kRows = 20;
  const auto upTo = [all](int wanted) { return wanted > 0 ? static_cast<std::size_t>(wanted) : all; };
  return {upTo(top.value_or(0)), upTo(top.value_or(kRows))};
}

void closeReport(Report& report, const LoadedLive& input, double seconds) {
  report.json["import_findings"] = toJson(input.loaded.findings);
  report.json["seconds"] = seconds;
  report.text += lines(input.loaded.findings) + "  time        " + duration(seconds) + "\n";
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], width(row[i]));
    }
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += "  " + row[i];
      if (i + 1 < row.size()) {
        text += std::string(widths[i] - width(row[i]), ' ');
      }
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  return text;
}

std::string exactAndDecimal(const Rational& value) {
  return value.isInteger() ? value.toString() : value.toString() + " = " + toDecimal(value, 4);
}

}  // namespace coppice::cli
