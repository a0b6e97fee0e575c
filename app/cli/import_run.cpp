// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "base/comma_list.hpp"
#include "base/formatted.hpp"
#include "base/one_line.hpp"
#include "command.hpp"
#include "fabric/fabric.hpp"
#include "input.hpp"
#include "io/schedule_json.hpp"
#include "text.hpp"
#include "workflow/imported_run.hpp"
#include "workflow/lost_time.hpp"
#include "workflow/nccl_bundle.hpp"
#include "workflow/run_doubts.hpp"

namespace coppice::cli {
namespace {

constexpr std::size_t kMaxLogBytes = std::size_t{1} << 30;
constexpr std::size_t kListedRanks = 32;
constexpr std::size_t kListedRings = 8;

struct ImportRunOptions {
  std::vector<std::string> files;
  FabricOptions fabric;
  std::string collective;  ///< empty = the one with the most sizes
  std::string output;
};

template <typename T>
Json orNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json choiceJson(const nccl::Choice& choice) {
  return {{"collective", choice.collective},
          {"bytes", choice.bytes},
          {"algorithm", choice.algorithm},
          {"protocol", choice.protocol},
          {"channels", orNull(choice.channels)},
          {"logged_bytes", choice.loggedBytes},
          {"estimated_us", choice.time ? Json(choice.time->count()) : Json(nullptr)},
          {"times", choice.times}};
}

Json communicatorJson(const nccl::Communicator& communicator) {
  Json places = Json::array();
  for (const nccl::RankPlace& place : communicator.places) {
    places.push_back({{"host", place.host}, {"device", place.device}, {"bus_id", place.busId}});
  }
  Json json = {{"id", communicator.id},       {"ranks", communicator.ranks},
               {"hosts", communicator.hosts}, {"host_count", communicator.hostCount()},
               {"places", std::move(places)}, {"channels", communicator.channels},
               {"rings", Json::array()},      {"ring_channels", Json::array()},
               {"trees", Json::array()},      {"tree_channels", Json::array()},
               {"choices", Json::array()}};
  for (const nccl::LoggedRing& ring : communicator.rings) {
    json["rings"].push_back(ring.ranks);
    json["ring_channels"].push_back(ring.channel);
  }
  for (const nccl::LoggedTree& tree : communicator.trees) {
    json["trees"].push_back(tree.parents);
    json["tree_channels"].push_back(tree.channel);
  }
  for (const nccl::Choice& choice : communicator.choices) {
    json["choices"].push_back(choiceJson(choice));
  }
  json["nvls_heads"] = Json::array();
  for (const nccl::NvlsHeads& heads : communicator.nvls) {
    json["nvls_heads"].push_back({{"channel", heads.channel}, {"ranks", heads.ranks}});
  }
  json["estimates"] = Json::array();
  for (const nccl::Estimate& estimate : communicator.estimates) {
    json["estimates"].push_back({{"collective", estimate.collective},
                                 {"algorithm", estimate.algorithm},
                                 {"protocol", estimate.protocol},
                                 {"latency_us", estimate.latency.count()},
                                 {"algbw", estimate.algbw.gigabytesPerSecond()}});
  }
  json["missing"] = communicator.missing;
  json["notes"] = communicator.notes;
  return json;
}

std::string ranksText(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size() && i < kListedRanks; ++i) {
    text += (i == 0 ? "" : " ") + std::to_string(ranks[i]);
  }
  return text + (ranks.size() > kListedRanks ? " ..." : "");
}

/// Equal rings on one line.
std::string ringsText(const std::vector<nccl::LoggedRing>& rings) {
  std::vector<std::pair<const nccl::LoggedRing*, int>> distinct;
  for (const nccl::LoggedRing& ring : rings) {
    const auto same =
        std::find_if(distinct.begin(), distinct.end(), [&](const auto& one) { return one.first->ranks == ring.ranks; });
    if (same != distinct.end()) {
      ++same->second;
    } else {
      distinct.emplace_back(&ring, 1);
    }
  }
  std::string text;
  for (std::size_t i = 0; i < distinct.size() && i < kListedRings; ++i) {
    text += "    " + std::to_string(distinct[i].second) + "x  " + ranksText(distinct[i].first->ranks) + "\n";
  }
  return text + (distinct.size() > kListedRings
                     ? "    and " + std::to_string(distinct.size() - kListedRings) + " others\n"
                     : "");
}

void describeCommunicator(const nccl::Communicator& communicator, Report& report) {
  report.json["communicators"].push_back(communicatorJson(communicator));
  const std::string hosts = commaListOfFirst(kListedRings, communicator.hosts, oneLine);
  const bool isEachNamed = static_cast<int>(communicator.hosts.size()) == communicator.hostCount();
  report.text += "communicator" + (communicator.id.empty() ? "" : " " + oneLine(communicator.id)) + ": " +
                 counted(communicator.ranks, "rank");
  if (communicator.hostCount() > 0) {
    report.text += " on " + counted(communicator.hostCount(), "host");
    report.text += hosts.empty() ? "" : " (" + hosts + (isEachNamed ? "" : " and others") + ")";
  }
  report.text += "\n";
  if (!communicator.rings.empty()) {
    report.text += "  rings       " + std::to_string(communicator.rings.size()) + "\n" + ringsText(communicator.rings);
  }
  if (!communicator.trees.empty()) {
    std::string roots;
    for (std::size_t i = 0; i < communicator.trees.size() && i < kListedRanks; ++i) {
      const auto& parents = communicator.trees[i].parents;
      roots += (i == 0 ? "" : " ") + std::to_string(std::find(parents.begin(), parents.end(), -1) - parents.begin());
    }
    report.text += "  trees       " + std::to_string(communicator.trees.size()) + ", with roots " + roots + "\n";
  }
  if (!communicator.nvls.empty()) {
    report.text += "  NVLS        " + counted(static_cast<std::int64_t>(communicator.nvls.size()), "channel") + "\n";
  }
  if (!communicator.choices.empty()) {
    report.text +=
        formatted("  %-14s  %14s  %-10s  %-8s  %8s\n", "chosen", "size (B)", "algorithm", "protocol", "channels");
    for (const nccl::Choice& choice : communicator.choices) {
      report.text += formatted("  %-14s  %14lld  %-10s  %-8s  %8s", oneLine(choice.collective).c_str(),
                               static_cast<long long>(choice.bytes), oneLine(choice.algorithm).c_str(),
                               oneLine(choice.protocol).c_str(),
                               choice.channels ? std::to_string(*choice.channels).c_str() : "-") +
                     "\n";
    }
  }
  for (const std::string& note : communicator.notes) {
    report.text += "  note        " + note + "\n";
  }
}

void describeMeasurements(const workflow::ImportedRun& run, Report& report) {
  report.json["measured"] = Json::array();
  for (const workflow::MeasuredRun& measured : run.measured) {
    Json rows = Json::array();
    report.text += "measured: " + oneLine(measured.name) +
                   (measured.line > 0 ? ", line " + std::to_string(measured.line) : "") +
                   (measured.collective.empty() ? "" : ", " + oneLine(measured.collective)) + "\n" +
                   formatted("  %16s  %12s  %12s\n", "size (B)", "time (us)", "algbw (GB/s)");
    for (const io::NcclRow& row : measured.rows) {
      const auto& time = row.outOfPlace ? row.outOfPlace : row.inPlace;
      if (!time) {
        continue;
      }
      rows.push_back({{"size", row.size},
                      {"time_us", time->time.count()},
                      {"algbw", time->algbw.gigabytesPerSecond()},
                      {"busbw", time->busbw.gigabytesPerSecond()},
                      {"wrong", orNull(time->wrong)}});
      report.text += formatted("  %16lld  %12.2f  %12.2f%s\n", static_cast<long long>(row.size), time->time.count(),
                               time->algbw.gigabytesPerSecond(), time->wrong.value_or(0) > 0 ? "  wrong results" : "");
    }
    report.json["measured"].push_back({{"file", measured.name},
                                       {"line", measured.line},
                                       {"collective", measured.collective},
                                       {"fits", measured.fits},
                                       {"ranks", measured.ranks},
                                       {"rows", std::move(rows)}});
  }
  report.json["calls"] = Json::array();
  if (!run.calls.empty()) {
    report.text += formatted("  %-14s  %14s  %6s  %12s  %12s  %s\n", "calls", "size (B)", "count", "median (us)",
                             "algbw (GB/s)", "slowest rank");
  }
  for (const nccl::InspectedCalls& calls : run.calls) {
    report.json["calls"].push_back({{"communicator", calls.communicator},
                                    {"collective", calls.collective},
                                    {"ranks", calls.ranks},
                                    {"bytes", calls.bytes},
                                    {"calls", calls.calls},
                                    {"time_us", calls.time.count()},
                                    {"algbw", calls.algbw.gigabytesPerSecond()},
                                    {"busbw", calls.busbw.gigabytesPerSecond()},
                                    {"slowest_rank", orNull(calls.slowestRank)},
                                    {"late", Json::array()}});
    for (const nccl::LateRank& late : calls.late) {
      report.json["calls"].back()["late"].push_back(
          {{"rank", late.rank}, {"calls", late.calls}, {"lost_us", late.lost.count()}});
    }
    report.text += formatted("  %-14s  %14lld  %6d  %12.2f  %12.2f  %s\n", oneLine(calls.collective).c_str(),
                             static_cast<long long>(calls.bytes), calls.calls, calls.time.count(),
                             calls.algbw.gigabytesPerSecond(),
                             calls.slowestRank ? std::to_string(*calls.slowestRank).c_str() : "-");
  }
}

Json loadJson(const fabric::Fabric& fabric, const nccl::Load* load, const Bandwidth& bound) {
  if (load == nullptr) {
    return nullptr;
  }
  const fabric::Arc& arc = fabric.arcs()[load->arc];
  return {{"algbw", toFraction(load->algbw)},
          {"algbw_GBps", toGBps(load->algbw)},
          {"share", toGBps(load->algbw) / toGBps(bound)},
          {"limited_by", {{"from", fabric.nodes()[arc.tail].id}, {"to", fabric.nodes()[arc.head].id}}}};
}

void describeRas(const workflow::ImportedRun& run, Report& report) {
  report.json["ras"] = Json::array();
  for (const nccl::RasStatus& status : run.ras) {
    Json communicators = Json::array();
    for (const std::string& problem : status.problems) {
      report.text += "RAS: " + oneLine(problem) + "\n";
    }
    if (status.communicators.empty() && status.problems.empty()) {
      report.text += "RAS: no problem\n";
    }
    for (const nccl::RasCommunicator& each : status.communicators) {
      Json outliers = Json::array();
      for (const std::string& problem : each.problems) {
        report.text += "RAS: communicator " + oneLine(each.id) + ": " + oneLine(problem) + "\n";
      }
      for (const nccl::RasRank& rank : each.outliers) {
        outliers.push_back({{"rank", rank.rank},
                            {"host", rank.host},
                            {"process", rank.process},
                            {"gpu", rank.gpu},
                            {"what", rank.what},
                            {"behind", rank.behind}});
        report.text += "  rank " + std::to_string(rank.rank) + (rank.host.empty() ? "" : " on " + oneLine(rank.host)) +
                       ": " + oneLine(rank.what) +
                       (rank.behind > 0 ? ", " + std::to_string(rank.behind) + " behind" : "") + "\n";
      }
      communicators.push_back(
          {{"id", each.id}, {"ranks", each.ranks}, {"problems", each.problems}, {"outliers", std::move(outliers)}});
    }
    report.json["ras"].push_back(
        {{"version", status.version}, {"problems", status.problems}, {"communicators", std::move(communicators)}});
  }
}

Json sizeJson(const workflow::RunSize& size) {
  return {{"bytes", size.bytes},
          {"algorithm", size.algorithm},
          {"protocol", size.protocol},
          {"channels", orNull(size.channels)},
          {"algbw", size.reachable ? Json(toFraction(*size.reachable)) : Json(nullptr)},
          {"estimated_us", size.estimated ? Json(size.estimated->count()) : Json(nullptr)},
          {"predicted_us", size.predicted ? Json(size.predicted->count()) : Json(nullptr)},
          {"measured_us", size.measured ? Json(size.measured->count()) : Json(nullptr)},
          {"measured_algbw", size.algbw ? Json(size.algbw->gigabytesPerSecond()) : Json(nullptr)},
          {"faster", size.faster.empty() ? Json(nullptr) : Json(size.faster)},
          {"faster_us", size.fasterTime ? Json(size.fasterTime->count()) : Json(nullptr)},
          {"slowest_rank", orNull(size.slowestRank)}};
}

std::string timeText(const std::optional<Microseconds>& time) {
  return time ? formatted("%.2f", time->count()) : "-";
}

/// What was chosen, expected and measured at each size, and what is expected to be faster.
void describeSizes(const std::vector<workflow::RunSize>& sizes, const workflow::RunOnFabric& on, Json& json,
                   Report& report) {
  bool hasHead = false;
  for (const workflow::RunSize& size : sizes) {
    if (size.collective != toString(on.collective)) {
      continue;
    }
    json.push_back(sizeJson(size));
    if (!hasHead) {
      hasHead = true;
      report.text +=
          formatted("  %14s  %-16s  %12s  %12s  %13s  %13s  %12s  %8s  %s\n", "size (B)", "chosen", "NCCL (us)",
                    "bound (us)", "predicted (us)", "measured (us)", "algbw (GB/s)", "of bound", "faster");
    }
    const std::string share =
        size.algbw ? formatted("%.1f %%", 100 * size.algbw->gigabytesPerSecond() / toGBps(on.bound)) : "-";
    report.text +=
        formatted("  %14lld  %-16s  %12s  %12.2f  %14s  %13s  %12s  %8s  ", static_cast<long long>(size.bytes),
                  size.algorithm.empty() ? "-" : oneLine(size.algorithm + " " + size.protocol).c_str(),
                  timeText(size.estimated).c_str(), static_cast<double>(size.bytes) / 1000 / toGBps(on.bound),
                  timeText(size.predicted).c_str(), timeText(size.measured).c_str(),
                  size.algbw ? formatted("%.2f", size.algbw->gigabytesPerSecond()).c_str() : "-", share.c_str()) +
        (size.faster.empty() ? "-" : oneLine(size.faster)) +
        (size.fasterTime ? formatted(" (%.2f us)", size.fasterTime->count()) : "") + "\n";
  }
}

/// "out.txt", or "out.txt:7" where the file holds several runs.
std::string shortName(const workflow::ImportedRun& run, const workflow::MeasuredRun& measured) {
  const auto isSameFile = [&](const workflow::MeasuredRun& other) { return other.name == measured.name; };
  const bool isAlone = std::count_if(run.measured.begin(), run.measured.end(), isSameFile) < 2;
  return oneLine(measured.name.substr(measured.name.find_last_of('/') + 1)) +
         (isAlone || measured.line == 0 ? "" : ":" + std::to_string(measured.line));
}

/// Several measurements of one collective beside each other: as the folder of `export --target nccl-bundle` makes them.
void describeRuns(const workflow::ImportedRun& run, const workflow::RunOnFabric& on, Json& json, Report& report) {
  constexpr std::size_t kMaxRuns = 8;
  json["runs"] = Json::array();
  std::vector<const workflow::MeasuredRun*> runs;
  for (const workflow::MeasuredRun& measured : run.measured) {
    if (measured.mayBeOf(toString(on.collective)) && runs.size() < kMaxRuns) {
      runs.push_back(&measured);
    }
  }
  if (runs.size() < 2) {
    return;
  }
  std::map<std::int64_t, std::vector<std::optional<double>>> rows;
  std::string head = formatted("  %14s  %10s", "algbw (GB/s)", "bound");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    json["runs"].push_back(runs[i]->name);
    head += formatted("  %14s", shortName(run, *runs[i]).c_str());
    for (const io::NcclRow& row : runs[i]->rows) {
      if (const auto& time = row.outOfPlace ? row.outOfPlace : row.inPlace) {
        rows[row.size].resize(runs.size());
        rows[row.size][i] = time->algbw.gigabytesPerSecond();
      }
    }
  }
  report.text += head + "\n";
  for (const auto& [size, values] : rows) {
    report.text += formatted("  %14lld  %10.2f", static_cast<long long>(size), toGBps(on.bound));
    for (const auto& value : values) {
      report.text += formatted("  %14s", value ? formatted("%.2f", *value).c_str() : "-");
    }
    report.text += "\n";
  }
}

/// Where the time went, by link and by rank.
void describeLost(const fabric::Fabric& fabric, const workflow::LostTime& lost, Json& json, Report& report) {
  constexpr std::size_t kListedLost = 8;
  Json links = Json::array();
  Json ranks = Json::array();
  for (const workflow::LostTime::Link& link : lost.links) {
    const fabric::Arc& arc = fabric.arcs()[link.arc];
    links.push_back({{"from", fabric.nodes()[arc.tail].id},
                     {"to", fabric.nodes()[arc.head].id},
                     {"lost_us", link.lost.count()},
                     {"busy_us", link.busy.count()}});
  }
  for (const workflow::LostTime::Rank& rank : lost.ranks) {
    ranks.push_back({{"rank", rank.rank},
                     {"host", rank.host},
                     {"calls", rank.calls},
                     {"lost_us", rank.lost.count()},
                     {"state", rank.state}});
  }
  json["lost"] = {{"measured_us", lost.measured.count()},
                  {"bound_us", lost.bound.count()},
                  {"congestion_us", lost.congestion.count()},
                  {"rest_us", lost.rest().count()},
                  {"links", std::move(links)},
                  {"ranks", std::move(ranks)}};
  if (lost.measured > Microseconds(0)) {
    report.text += formatted("  lost        of %.2f us measured: bound %.2f, congestion %.2f, rest %.2f us\n",
                             lost.measured.count(), lost.bound.count(), lost.congestion.count(), lost.rest().count());
  }
  for (std::size_t i = 0; i < std::min(lost.links.size(), kListedLost); ++i) {
    const fabric::Arc& arc = fabric.arcs()[lost.links[i].arc];
    report.text += "  by link     " + oneLine(fabric.nodes()[arc.tail].id) + " -> " +
                   oneLine(fabric.nodes()[arc.head].id) + formatted(": %.2f us", lost.links[i].lost.count()) + "\n";
  }
  for (std::size_t i = 0; i < std::min(lost.ranks.size(), kListedLost); ++i) {
    const workflow::LostTime::Rank& rank = lost.ranks[i];
    report.text += "  by rank     " + std::to_string(rank.rank) +
                   (rank.host.empty() ? "" : " on " + oneLine(rank.host)) + ": " +
                   (rank.calls > 0 ? formatted("%.2f us, last in ", rank.lost.count()) + counted(rank.calls, "call")
                                   : oneLine(rank.state)) +
                   (rank.calls > 0 && !rank.state.empty() ? "; " + oneLine(rank.state) : "") + "\n";
  }
}

void describeDoubts(const std::vector<Finding>& doubts, Report& report) {
  report.text += lines(doubts);
  for (Json& doubt : toJson(doubts)) {
    report.json["doubts"].push_back(std::move(doubt));
  }
}

/// NCCL's rings and trees beside the bound, and what each choice loses.
Outcome describeOnFabric(const ImportRunOptions& options, const workflow::ImportedRun& run, bool json,
                         const Progress& progress, Report& report) {
  if (run.largest() == nullptr && run.graphs.empty() && run.measured.empty() && run.calls.empty() && run.ras.empty()) {
    return Error{ErrorCode::badInput, "the files say nothing of a run", "give a log of NCCL_DEBUG=INFO"};
  }
  const auto collective = workflow::comparedCollective(run, options.collective);
  if (!collective) {
    return collective.error();
  }
  const auto loaded = loadFabric(options.fabric, progress);
  if (!loaded) {
    return loaded.error();
  }
  const fabric::Fabric& fabric = loaded->fabric;
  const auto channels = workflow::channelsOf(fabric, run);
  if (!channels) {
    return channels.error();
  }
  const auto on = workflow::runOnFabric(fabric, *channels, *collective, progress);
  if (!on) {
    return on.error();
  }
  Json measured = {{"name", fabric.name()},
                   {"collective", toString(*collective)},
                   {"bound", {{"algbw", toFraction(on->bound)}, {"algbw_GBps", toGBps(on->bound)}}},
                   {"rings", loadJson(fabric, on->loadOf("Ring"), on->bound)},
                   {"trees", loadJson(fabric, on->loadOf("Tree"), on->bound)},
                   {"nvls", loadJson(fabric, on->loadOf("NVLS"), on->bound)},
                   {"nvls_tree", loadJson(fabric, on->loadOf("NVLSTree"), on->bound)},
                   {"collnet_direct", loadJson(fabric, on->loadOf("CollNetDirect"), on->bound)},
                   {"collnet_chain", loadJson(fabric, on->loadOf("CollNetChain"), on->bound)},
                   {"choices", Json::array()}};
  report.text += std::string(toString(*collective)) + " on " + named(fabric.name()) + "\n  bound         " +
                 gigabytes(on->bound) + "\n";
  for (const nccl::Reach& reach : on->reaches) {
    report.text += formatted("  %-13s ", std::string(reach.algorithm).c_str()) +
                   workflow::worthText(fabric, reach.load, on->bound) + "\n";
  }
  const std::vector<workflow::RunSize> sizes = workflow::runSizes(run, *on);
  describeSizes(sizes, *on, measured["choices"], report);
  describeRuns(run, *on, measured, report);
  describeLost(fabric, workflow::lostTime(run, *on, sizes), measured, report);
  describeDoubts(workflow::doubtsOn(run, *on, fabric.gpuCount(), sizes), report);
  report.json["fabric"] = std::move(measured);
  if (!options.output.empty()) {
    const auto schedule = workflow::ringSchedule(fabric, channels->rings, *collective, 0, "nccl-run", progress);
    if (!schedule) {
      return schedule.error();
    }
    return deliver(
        options.output,
        [&](std::ostream& out) {
          return io::writeScheduleJson(out, *schedule, fabric, &loaded->description, progress);
        },
        "  schedule    ", json, report);
  }
  return Done{};
}

Result<Report> run(const ImportRunOptions& options, bool json, const Progress& progress) {
  std::vector<workflow::RunFile> files;
  for (const std::string& name : options.files) {
    if (const Outcome kept = keepInput(name, options.output); !kept) {
      return kept.error();
    }
    auto text = readText(name, kMaxLogBytes);
    if (!text) {
      return text.error();
    }
    files.push_back({inputName(name), *std::move(text)});
  }
  const auto imported = workflow::importRun(files);
  if (!imported) {
    return imported.error();
  }
  Report report;
  report.json = {{"ok", true},
                 {"version", imported->log.version},
                 {"library", imported->log.library},
                 {"communicators", Json::array()}};
  if (!imported->log.version.empty()) {
    report.text += imported->log.library + " " + imported->log.version + "\n";
  }
  for (const nccl::Communicator& communicator : imported->log.communicators) {
    describeCommunicator(communicator, report);
  }
  describeMeasurements(*imported, report);
  report.json["doubts"] = Json::array();
  describeDoubts(imported->doubts, report);
  describeRas(*imported, report);
  report.json["graphs"] = Json::array();
  for (const workflow::NamedGraphs& graphs : imported->graphs) {
    report.text += "graphs: " + oneLine(graphs.name) + "\n" + lines(graphs.findings);
    Json list = Json::array();
    for (const nccl::Graph& graph : graphs.graphs.graphs) {
      Json rows = Json::array();
      for (const nccl::GraphChannel& channel : graph.channels) {
        rows.push_back({{"nets", channel.nets}, {"devices", channel.devices}});
      }
      report.text += "  graph " + std::to_string(graph.id) + ": pattern " + std::to_string(graph.pattern) + ", " +
                     counted(static_cast<std::int64_t>(graph.channels.size()), "channel") + " at " + graph.speedIntra +
                     " GB/s\n";
      list.push_back({{"id", graph.id}, {"pattern", graph.pattern}, {"channels", std::move(rows)}});
    }
    report.json["graphs"].push_back(
        {{"file", graphs.name}, {"graphs", std::move(list)}, {"findings", toJson(graphs.findings)}});
  }
  report.json["topologies"] = imported->topologies;
  for (const std::string& topology : imported->topologies) {
    report.text += "topology: " + oneLine(topology) + "; coppice-cli import makes a fabric of it\n";
  }
  report.json["settings"] = imported->log.settings;
  report.json["warnings"] = imported->log.warnings;
  for (const std::string& warning : imported->log.warnings) {
    report.text += "warning of " + imported->log.library + ": " + oneLine(warning) + "\n";
  }
  std::vector<std::string> missing = imported->missing;
  if (options.fabric.source.empty() && !imported->missingMachine.empty()) {
    missing.push_back(imported->missingMachine);
  }
  report.json["missing"] = missing;
  if (!options.fabric.source.empty()) {
    if (const Outcome told = describeOnFabric(options, *imported, json, progress, report); !told) {
      return told.error();
    }
  } else if (!options.output.empty()) {
    return Error{ErrorCode::badUsage, "a schedule needs the fabric that was run on", "give --fabric"};
  }
  for (const std::string& each : missing) {
    report.text += "missing: " + each + "\n";
  }
  return report;
}

}  // namespace

void addImportRun(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(
      app, invocation, "import-run", "Read what NCCL or RCCL chose in a run from its logs, and what that can reach",
      "  coppice-cli import-run nccl.log\n"
      "  coppice-cli import-run log.*.* all_reduce.txt --fabric cluster.fabric.json\n"
      "  coppice-cli import-run nccl.log --fabric preset:dgx-h100,boxes=2 -o rings.schedule.json\n"
      "  coppice-cli import-run nccl.log graph.xml inspector.jsonl --json");
  auto options = std::make_shared<ImportRunOptions>();
  sub.add_option("files", options->files,
                 "Logs of NCCL_DEBUG=INFO, graph dumps, output or -J files of nccl-tests, Inspector files, answers of "
                 "RAS; - for standard input")
      ->required();
  sub.add_option("--fabric", options->fabric.source, "The fabric that was run on: its bound beside NCCL's rings");
  sub.add_option("-c,--collective", options->collective,
                 "Collective that is compared (default: the one with the most sizes)");
  sub.add_option("-o,--output", options->output,
                 "Write NCCL's rings as a schedule to this file; - for standard output");
  sub.callback([options, &invocation] {
    options->fabric.standardInput = readStandardInput;
    invocation.action = [options, &invocation](const Progress& progress) {
      return run(*options, invocation.json, progress);
    };
  });
}

}  // namespace coppice::cli
