// SPDX-License-Identifier: Apache-2.0
#include "compared_text.hpp"

#include <algorithm>
#include <string>

#include "base/error_names.hpp"
#include "base/formatted.hpp"
#include "base/one_line.hpp"
#include "text.hpp"
#include "workflow/sizes.hpp"

namespace coppice::cli {
namespace {

std::string padded(std::string text, std::size_t width, bool left = false) {
  const std::string blanks(text.size() < width ? width - text.size() : 0, ' ');
  return left ? blanks + text : text + blanks;
}

std::size_t nameWidth(std::span<const workflow::Contender> contenders) {
  std::size_t width = 8;
  for (const workflow::Contender& contender : contenders) {
    width = std::max(width, oneLine(contender.playable.name).size());
  }
  return width;
}

const char* formOf(const workflow::Playable& playable) {
  if (!playable.schedule) {
    return "program";
  }
  const auto* steps = std::get_if<schedule::StepSchedule>(&*playable.schedule);
  return steps ? (steps->isSynchronous ? "steps" : "order") : "forest";
}

Json jsonOf(const workflow::Contender& contender) {
  const workflow::Playable& playable = contender.playable;
  Json json = {{"name", playable.name}, {"kind", toString(playable.kind)}, {"form", formOf(playable)}};
  if (!contender.method.empty()) {
    json["method"] = contender.method;
  }
  if (contender.algbw) {
    json["algbw"] = toFraction(*contender.algbw);
    json["algbw_GBps"] = toGBps(*contender.algbw);
    json["t_b"] = toFraction(contender.algbw->inverse());
  }
  if (contender.bound) {
    json["optimum_algbw"] = toFraction(*contender.bound);
    json["share_of_optimum"] = (*contender.algbw / *contender.bound).toString();
    json["bound_scope"] = schedule::sentenceOf(contender.boundScope);
  }
  json["steps"] = contender.steps;
  json["stretch"] = {{"max", contender.maxStretch}, {"mean", contender.meanStretch}};
  json["traffic"] = contender.exactTraffic ? Json(contender.exactTraffic->toString()) : Json(contender.traffic);
  if (contender.minTraffic) {
    json["least_traffic"] = contender.minTraffic->toString();
  }
  if (contender.busiestArc >= 0) {
    const fabric::Fabric& fabric = playable.fabric();
    const fabric::Arc& arc = fabric.arcs()[contender.busiestArc];
    json["busiest_link"] = {{"from", fabric.nodes()[arc.tail].id},
                            {"to", fabric.nodes()[arc.head].id},
                            {"bytes_per_byte", contender.busiestShare}};
  }
  return json;
}

}  // namespace

void describeContenders(std::span<const workflow::Contender> contenders, Report& report) {
  const workflow::Playable& first = contenders.front().playable;
  report.json["fabric"] = first.fabric().name();
  report.json["ranks"] = first.fabric().gpuCount();
  report.json["collective"] = first.subject->collectiveName();
  report.text += first.subject->collectiveName() + " on " + named(first.fabric().name()) + ", " +
                 counted(first.fabric().gpuCount(), "GPU") + "\n\n";
  const std::size_t width = nameWidth(contenders);
  report.text += "  " + padded("", width) + "   algbw (GB/s)     of bound   steps   links per transfer   traffic\n";
  Json list = Json::array();
  for (const workflow::Contender& contender : contenders) {
    list.push_back(jsonOf(contender));
    const std::string traffic =
        withPlaces(contender.traffic, 2) +
        (contender.minTraffic ? " of min. " + withPlaces(contender.minTraffic->toDouble(), 2) : "");
    report.text +=
        "  " + padded(oneLine(contender.playable.name), width) +
        padded(contender.algbw ? withPlaces(toGBps(*contender.algbw), 2) : "-", 15, true) +
        padded(contender.bound && contender.algbw ? percent(*contender.algbw / *contender.bound) : "-", 13, true) +
        padded(std::to_string(contender.steps), 8, true) +
        padded(withPlaces(contender.meanStretch, 2) + ", max. " + std::to_string(contender.maxStretch), 21, true) +
        "   " + traffic + "\n";
    report.text += lines(contender.notes);
  }
  const auto bounded = std::ranges::find_if(contenders, [](const auto& each) { return each.bound.has_value(); });
  report.text += bounded != contenders.end() ? boundNote(bounded->boundScope) : std::string();
  report.json["schedules"] = std::move(list);
}

void describeTimes(std::span<const workflow::Contender> contenders, const workflow::Comparison& comparison,
                   Report& report) {
  const std::size_t width = nameWidth(contenders);
  Json best = Json::array();
  for (std::size_t c = 0; c < contenders.size(); ++c) {
    Json& json = report.json["schedules"][c];
    json["rows"] = Json::array();
    json["best"] = Json::array();
    for (std::size_t i = 0; i < comparison.best.size(); ++i) {
      const simulate::Row& row = comparison.rows[c][i];
      json["rows"].push_back({{"size", row.size},
                              {"time_us", row.time.count()},
                              {"algbw", row.algbw.gigabytesPerSecond()},
                              {"busbw", row.busbw.gigabytesPerSecond()},
                              {"pieces", row.pieces},
                              {"resolution_us", row.resolution.count()},
                              {"best", comparison.best[i] == c}});
      if (comparison.best[i] == c) {
        json["best"].push_back(row.size);
      }
    }
  }
  report.text += "\n  simulated, in us; * = the fastest\n";
  for (std::size_t i = 0; i < comparison.best.size(); ++i) {
    const simulate::Row& fastest = comparison.rows[comparison.best[i]][i];
    best.push_back({{"size", fastest.size},
                    {"schedule", contenders[comparison.best[i]].playable.name},
                    {"time_us", fastest.time.count()},
                    {"algbw", fastest.algbw.gigabytesPerSecond()}});
    report.text += "  " + std::to_string(fastest.size) + " bytes (" + workflow::byteSize(fastest.size) + ")\n";
    for (std::size_t c = 0; c < contenders.size(); ++c) {
      const simulate::Row& row = comparison.rows[c][i];
      report.text += (comparison.best[i] == c ? "  * " : "    ") + padded(oneLine(contenders[c].playable.name), width) +
                     padded(withPlaces(row.time.count(), 2), 15, true) +
                     padded(withPlaces(row.algbw.gigabytesPerSecond(), 2), 12, true) + " GB/s\n";
    }
  }
  report.json["best"] = std::move(best);
}

void describeBands(std::span<const workflow::Contender> contenders, const workflow::Comparison& comparison,
                   Report& report) {
  Json bands = Json::array();
  report.text += "\n";
  for (const workflow::Band& band : comparison.bands) {
    const std::string& name = contenders[band.contender].playable.name;
    bands.push_back({{"from", band.from}, {"schedule", name}, {"resolution", band.resolution}});
    report.text += "  from " + std::to_string(band.from) + " bytes (" + workflow::byteSize(band.from) + ")  " +
                   oneLine(name) +
                   (band.resolution > 1 ? ", within " + counted(band.resolution, "byte") : std::string()) + "\n";
  }
  report.json["switch_over"] = std::move(bands);
}

void describeTried(std::span<const workflow::Tried> tried, Report& report) {
  Json list = Json::array();
  std::size_t width = 0;
  for (const workflow::Tried& each : tried) {
    width = std::max(width, each.method.size());
  }
  report.text += "\n  methods tried\n";
  for (const workflow::Tried& each : tried) {
    const auto schedules = static_cast<std::int64_t>(each.schedules);
    list.push_back({{"method", each.method}, {"schedules", schedules}, {"seconds", each.seconds}});
    report.text += "  " + padded(each.method, width) + "  " +
                   padded(schedules > 0 ? counted(schedules, "schedule") : "nothing", 13) + " " +
                   duration(each.seconds) + "\n";
  }
  report.json["methods"] = std::move(list);
}

void describeRefused(std::span<const workflow::Refused> refused, const char* key, Report& report) {
  Json list = Json::array();
  for (const workflow::Refused& each : refused) {
    list.push_back({{"method", each.method}, {"code", nameOf(each.error.code)}, {"reason", describe(each.error)}});
    report.text += "  without " + each.method + ": " + oneLine(describe(each.error)) + "\n";
  }
  report.json[key] = std::move(list);
}

}  // namespace coppice::cli
