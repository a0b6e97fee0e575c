// SPDX-License-Identifier: Apache-2.0
#include "measured_text.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "base/formatted.hpp"
#include "base/one_line.hpp"
#include "input.hpp"
#include "io/forest_json.hpp"
#include "text.hpp"

namespace coppice::cli {
namespace {

std::string nodeName(const fabric::Fabric& fabric, fabric::NodeIndex node) {
  return fabric.nodes()[node].id;
}

Json timeJson(const std::optional<io::NcclTime>& time, Microseconds predicted) {
  if (!time) {
    return nullptr;
  }
  return {{"time_us", time->time.count()},
          {"algbw", time->algbw.gigabytesPerSecond()},
          {"busbw", time->busbw.gigabytesPerSecond()},
          {"ratio", time->time / predicted}};
}

std::string timeText(const std::optional<io::NcclTime>& time, Microseconds predicted) {
  return time ? formatted("  %12.2f  %7.2f", time->time.count(), time->time / predicted)
              : formatted("  %12s  %7s", "-", "-");
}

/// Sizes that were measured and predicted.
void addRows(const workflow::MeasuredRun& run, const std::vector<simulate::Row>& predicted, Json& json,
             std::string& text) {
  Json rows = Json::array();
  std::string lines;
  for (const simulate::Row& row : predicted) {
    const auto found = std::find_if(run.rows.begin(), run.rows.end(),
                                    [&](const io::NcclRow& measured) { return measured.size == row.size; });
    if (found == run.rows.end()) {
      continue;
    }
    rows.push_back({{"size", row.size},
                    {"predicted_us", row.time.count()},
                    {"out_of_place", timeJson(found->outOfPlace, row.time)},
                    {"in_place", timeJson(found->inPlace, row.time)}});
    lines += formatted("%16lld  %14.2f", static_cast<long long>(row.size), row.time.count()) +
             timeText(found->outOfPlace, row.time) + timeText(found->inPlace, row.time) + "\n";
  }
  if (!lines.empty()) {
    text += formatted("%16s  %14s  %12s  %7s  %12s  %7s\n", "size (B)", "predicted (us)", "out of place", "ratio",
                      "in place", "ratio") +
            lines;
  }
  json["rows"] = std::move(rows);
}

Json partJson(const simulate::ComparedPart& part) {
  Json json = {{"planned_us", part.planned.count()}, {"measured_us", part.measured.count()}};
  json["ratio"] = part.ratio() ? Json(*part.ratio()) : Json(nullptr);
  json["lost_us"] = part.lost().count();
  json["planned_end_us"] = part.plannedEnd.count();
  json["measured_end_us"] = part.measuredEnd.count();
  return json;
}

std::string partText(const std::string& name, const simulate::ComparedPart& part) {
  const std::string ratio = part.ratio() ? formatted("%8.2f", *part.ratio()) : formatted("%8s", "-");
  return "  " + oneLine(name) + ": busy " +
         formatted("%.2f us, planned %.2f us", part.measured.count(), part.planned.count()) + ", ratio" + ratio +
         formatted(", lost %.2f us\n", part.lost().count());
}

void addTrace(const workflow::MeasuredTrace& trace, const simulate::Comparison& comparison,
              const fabric::Fabric& fabric, int parts, Json& json, std::string& text) {
  text +=
      formatted("\ntrace of %lld bytes, %s: planned %.2f us, measured %.2f us\n", static_cast<long long>(trace.size),
                trace.inPlace ? "in place" : "out of place", comparison.planned.count(), comparison.measured.count());
  Json one = {{"size", trace.size},
              {"in_place", trace.inPlace},
              {"events", trace.events.size()},
              {"planned_us", comparison.planned.count()},
              {"measured_us", comparison.measured.count()}};
  const auto shown = [&](const std::vector<simulate::ComparedPart>& all) {
    return std::span(all).first(std::min(all.size(), static_cast<std::size_t>(parts)));
  };
  Json links = Json::array();
  text += "links by time lost\n";
  for (const simulate::ComparedPart& part : shown(comparison.links)) {
    const fabric::Arc& arc = fabric.arcs()[part.index];
    Json link = {{"from", nodeName(fabric, arc.tail)}, {"to", nodeName(fabric, arc.head)}};
    link.update(partJson(part));
    links.push_back(std::move(link));
    text += partText(nodeName(fabric, arc.tail) + " -> " + nodeName(fabric, arc.head), part);
  }
  Json ranks = Json::array();
  text += "ranks by time lost while they send\n";
  for (const simulate::ComparedPart& part : shown(comparison.ranks)) {
    Json rank = {{"rank", part.index}};
    rank.update(partJson(part));
    ranks.push_back(std::move(rank));
    text += partText("rank " + std::to_string(part.index), part);
  }
  one["links"] = std::move(links);
  one["ranks"] = std::move(ranks);
  json["traces"].push_back(std::move(one));
}

Result<std::shared_ptr<const program::Program>> programOf(const workflow::Playable& playable, bool inPlace,
                                                          const Progress& progress) {
  if (playable.program) {
    return playable.program;
  }
  auto program = workflow::executedProgram(playable.fabric(), *playable.schedule, inPlace, progress);
  if (!program) {
    return program.error();
  }
  return std::make_shared<const program::Program>(*std::move(program));
}

}  // namespace

Result<workflow::MeasuredRun> loadMeasured(const std::string& file, const workflow::Playable& playable) {
  const auto text = readText(file, io::kMaxForestBytes);
  if (!text) {
    return text.error();
  }
  auto run = workflow::readMeasuredRun(*text, inputName(file), playable.subject->collectiveName());
  if (!run) {
    return run;
  }
  if (Outcome fits = workflow::checkSubject(*run, playable.subject->collectiveName(), playable.fabric().gpuCount());
      !fits) {
    return fits.error();
  }
  return run;
}

std::vector<std::int64_t> sizesOf(const workflow::MeasuredRun& run) {
  std::vector<std::int64_t> sizes;
  for (const io::NcclRow& row : run.rows) {
    sizes.push_back(row.size);
  }
  for (const workflow::MeasuredTrace& trace : run.traces) {
    sizes.push_back(trace.size);
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

Outcome describeMeasured(const workflow::MeasuredRun& run, const workflow::Playable& playable,
                         const simulate::Model& model, const std::vector<simulate::Row>& predicted, int parts,
                         const Progress& progress, Report& report) {
  Json json = {{"file", run.name}};
  report.text += "\nmeasured: " + oneLine(run.name) + "\n";
  if (!run.label.empty()) {
    json["label"] = run.label;
    report.text += "  " + oneLine(run.label) + "\n";
  }
  addRows(run, predicted, json, report.text);
  json["traces"] = Json::array();
  for (const workflow::MeasuredTrace& trace : run.traces) {
    if (trace.size != predicted.back().size) {
      continue;
    }
    auto program = programOf(playable, trace.inPlace, progress);
    if (!program) {
      return program.error();
    }
    const auto compared = workflow::compareTrace(playable.fabric(), *std::move(program), trace, model, progress);
    if (!compared) {
      return compared.error();
    }
    addTrace(trace, compared->comparison, playable.fabric(), parts, json, report.text);
  }
  if (run.droppedEvents > 0) {
    json["dropped_events"] = run.droppedEvents;
    report.text += "  " + counted(run.droppedEvents, "event") + " did not fit into the trace and " +
                   (run.droppedEvents == 1 ? "is" : "are") + " not compared.\n";
  }
  report.json["measured"] = std::move(json);
  return Done{};
}

}  // namespace coppice::cli
