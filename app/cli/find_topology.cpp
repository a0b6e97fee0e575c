// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "command.hpp"
#include "finder/distances.hpp"
#include "finder/finder.hpp"
#include "finder/time_model.hpp"
#include "input.hpp"
#include "io/fabric_json.hpp"
#include "text.hpp"
#include "topology_text.hpp"
#include "workflow/find_topology.hpp"
#include "workflow/options.hpp"
#include "workflow/sizes.hpp"

namespace coppice::cli {
namespace {

using workflow::FoundTopology;
using workflow::TopologyTimes;

struct FindTopologyOptions {
  int nodes = 0;
  int degree = 0;
  std::string range;
  bool isDuplex = false;
  bool isPaper = false;
  int maxSteps = 0;
  bool onlyOptimal = false;
  std::string goal = "allreduce";
  workflow::TopologyTimesText times;
  workflow::ChangeText change;
  std::string present;
  int index = -1;
  std::string output;
};

finder::Query queryOf(const FindTopologyOptions& options, int nodes) {
  finder::Query query;
  query.nodes = nodes;
  query.degree = options.degree;
  query.isDuplex = options.isDuplex;
  query.isPaper = options.isPaper;
  if (options.maxSteps != 0) {
    query.maxSteps = options.maxSteps;
  }
  query.onlyOptimal = options.onlyOptimal;
  query.hasAlltoall = options.goal == "alltoall";
  return query;
}

Json alltoallJson(const std::optional<workflow::AlltoallTime>& alltoall) {
  if (!alltoall) {
    return {};
  }
  return {{"t_a", alltoall->reached ? Json(alltoall->reached->toString()) : Json()},
          {"least_t_a", alltoall->least.toString()},
          {"least_t_a_float", alltoall->least.toDouble()},
          {"exact", alltoall->isExact()}};
}

/// "17/10 = 1.7", or the range that it is in.
std::string alltoallText(const std::optional<workflow::AlltoallTime>& alltoall) {
  if (!alltoall) {
    return "not computed";
  }
  if (alltoall->isExact()) {
    return toDecimal(alltoall->least, 4);
  }
  return alltoall->reached ? toDecimal(alltoall->least, 4) + " to " + toDecimal(*alltoall->reached, 4)
                           : "at least " + toDecimal(alltoall->least, 4);
}

Json rowJson(const FoundTopology& row, std::size_t index) {
  const finder::Entry& entry = row.entry;
  Json json;
  json["index"] = index;
  json["steps"] = entry.steps;
  json["t_b"] = entry.bandwidthTime.toString();
  json["t_b_float"] = entry.bandwidthTime.toDouble();
  json["t_b_reduce_scatter"] = row.reduceScatterTime ? Json(row.reduceScatterTime->toString()) : Json();
  json["diameter"] = row.diameter ? Json(*row.diameter) : Json();
  json["alltoall"] = alltoallJson(row.alltoall);
  json["construction"] = finder::nameOf(*entry.construction);
  json["tree"] = toJson(*entry.construction);
  json["duplex"] = entry.isDuplex;
  json["bw_optimal"] = entry.isBandwidthOptimal();
  json["moore_optimal"] = entry.steps == finder::mooreSteps(entry.nodes, entry.degree);
  json["exact"] = entry.isExact;
  json["checked"] = row.isChecked;
  json["grows_to"] = Json::array();
  for (const finder::Growth& growth : finder::growths(entry)) {
    json["grows_to"].push_back({{"by", growth.by}, {"nodes", growth.nodes}, {"degree", growth.degree}});
  }
  return json;
}

std::string line(const FoundTopology& row, std::size_t index) {
  std::string text = "  " + std::to_string(index) + "  " + std::to_string(row.entry.steps) +
                     (row.entry.steps == 1 ? " step" : " steps");
  text.resize(std::max<std::size_t>(text.size() + 1, 16), ' ');
  const std::string time = row.entry.bandwidthTime.toString();
  text += time + " = " + toDecimal(row.entry.bandwidthTime, 4);
  text.resize(std::max<std::size_t>(text.size() + 1, 36), ' ');
  text += alltoallText(row.alltoall);
  text.resize(std::max<std::size_t>(text.size() + 1, 53), ' ');
  return text + finder::nameOf(*row.entry.construction) + (row.entry.isDuplex ? "  (duplex)" : "") + "\n";
}

/// Times of the sizes, the fastest entry for all of them, and the sizes at which the fastest entry changes.
void addTimes(const std::vector<FoundTopology>& rows, const TopologyTimes& question, Report& report) {
  const std::vector<finder::SizeRange> ranges = workflow::fastestBySize(rows, question);
  if (ranges.empty()) {
    return;
  }
  const std::string name(toString(question.collective));
  report.json["collective"] = name;
  report.json["fastest_by_size"] = Json::array();
  report.text += "  fastest " + name + ":";
  const char* separator = " ";
  for (const finder::SizeRange& range : ranges) {
    report.json["fastest_by_size"].push_back({{"from_bytes", range.fromBytes.toString()}, {"index", range.entry}});
    report.text += separator + std::string("entry ") + std::to_string(range.entry) +
                   (range.fromBytes.isZero() ? "" : " from " + workflow::byteSize(range.fromBytes.floor()));
    separator = ", ";
  }
  report.text += "\n";
  for (const finder::WeightedSize& size : question.sizes) {
    report.text += "  " + workflow::byteSize(size.bytes.numerator()) + ":";
    separator = " ";
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto cost = workflow::costOf(rows[i], question.collective);
      if (!cost) {
        continue;
      }
      const Rational time = finder::timeOf(*cost, question.model, size.bytes).count();
      report.json["front"][i]["times_us"].push_back(
          {{"bytes", size.bytes.numerator()}, {"time", time.toString()}, {"time_us", time.toDouble()}});
      report.text += separator + std::to_string(i) + " takes " + toDecimal(time, 1) + " us";
      separator = ", ";
    }
    report.text += "\n";
  }
  if (const auto best = workflow::fastestFor(rows, question)) {
    report.json["fastest"] = *best;
    report.text += "  fastest for these sizes: entry " + std::to_string(*best) + "\n";
  }
}

std::string changeText(const workflow::Change& change, const workflow::ChangeQuestion& question) {
  std::string text = "a step takes " + toDecimal(change.changed.count(), 1) + " us in place of " +
                     toDecimal(change.present.count(), 1) + " us: ";
  if (!change.paysFrom) {
    return text + "a change never pays";
  }
  const Rational seconds = change.present.count() * Rational(*change.paysFrom) / Rational(1'000'000);
  text += "a change pays from " + counted(*change.paysFrom, "step") + " on (" + workflow::duration(seconds.toDouble()) +
          " of calls)";
  if (change.gain) {
    const double gain = change.gain->count().toDouble() / 1e6;
    text += "; over " + question.jobSteps->toString() + " steps it " + (gain > 0 ? "gains " : "loses ") +
            workflow::duration(gain > 0 ? gain : -gain);
  }
  return text;
}

/// From which length of a job a change to each entry pays.
Outcome addChanges(const std::vector<FoundTopology>& rows, const FindTopologyOptions& options,
                   const TopologyTimes& times, const Progress& progress, Report& report) {
  if (options.change.time.empty() && options.present.empty()) {
    return Done{};
  }
  if (options.change.time.empty() || options.present.empty() || times.sizes.empty()) {
    return Error{ErrorCode::badUsage, "a change is judged by its time, the present fabric and the calls of a step",
                 "give --reconfiguration, --present and --size"};
  }
  const auto question = workflow::readChange(options.change);
  if (!question) {
    return question.error();
  }
  const auto loaded = loadFabric({.source = options.present, .standardInput = readStandardInput}, progress);
  if (!loaded) {
    return loaded.error();
  }
  if (loaded->fabric.gpuCount() != options.nodes) {
    return workflow::optionError("present", "it has " + counted(loaded->fabric.gpuCount(), "GPU"),
                                 "give a fabric of " + std::to_string(options.nodes));
  }
  const auto present = workflow::presentTopology(loaded->fabric, times, progress);
  if (!present) {
    return present.error();
  }
  report.json["changes"] = Json::array();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto change = workflow::changeTo(rows[i], *present, times, *question);
    report.json["changes"].push_back(
        !change ? Json()
                : Json{{"index", i},
                       {"present_us", change->present.count().toString()},
                       {"changed_us", change->changed.count().toString()},
                       {"pays_from_steps", change->paysFrom ? Json(*change->paysFrom) : Json()},
                       {"gain_us", change->gain ? Json(change->gain->count().toString()) : Json()}});
    report.text += "  to entry " + std::to_string(i) + ": " +
                   (change ? changeText(*change, *question) : std::string("its time is not known")) + "\n";
  }
  return Done{};
}

Outcome writeFabric(const std::vector<FoundTopology>& rows, const FindTopologyOptions& options,
                    const TopologyTimes& question, bool json, Report& report) {
  std::size_t index = options.index < 0 ? 0 : static_cast<std::size_t>(options.index);
  if (options.index < 0 && report.json.contains("fastest")) {
    index = report.json["fastest"].get<std::size_t>();
  }
  if (index >= rows.size()) {
    return workflow::optionError(
        "index", "the front has no entry " + std::to_string(options.index),
        rows.empty() ? "loosen the limits; the front is empty" : "choose from 0 to " + std::to_string(rows.size() - 1));
  }
  const auto description = workflow::fabricOf(rows[index].entry, question.model.bandwidth);
  if (!description) {
    return description.error();
  }
  report.json["written_index"] = index;
  return deliver(options.output, io::writeFabricJson(*description), "  entry " + std::to_string(index) + " written to ",
                 json, report);
}

Result<Report> runOne(const FindTopologyOptions& options, const TopologyTimes& question, bool json,
                      const Progress& progress) {
  finder::Finder finder;
  std::vector<std::string> notes;
  const auto rows = workflow::findTopologies(finder, queryOf(options, options.nodes), progress, &notes);
  if (!rows) {
    return rows.error();
  }
  const Rational min(options.nodes - 1, options.nodes);
  const int moore = finder::mooreSteps(options.nodes, options.degree);
  Report report;
  report.json = {{"nodes", options.nodes},
                 {"degree", options.degree},
                 {"duplex", options.isDuplex},
                 {"least_steps", moore},
                 {"least_t_b", min.toString()},
                 {"least_t_a", finder::leastMeanDistance(options.nodes, options.degree).toString()}};
  report.text = counted(options.nodes, "node") + " of degree " + std::to_string(options.degree) + ": at least " +
                counted(moore, "step") + ", T_B " + min.toString() + " M/B, and for an all-to-all " +
                toDecimal(finder::leastMeanDistance(options.nodes, options.degree), 4) +
                " M/B\n      steps     T_B                 all-to-all       construction\n";
  report.json["front"] = Json::array();
  for (const FoundTopology& row : *rows) {
    const std::size_t index = report.json["front"].size();
    report.json["front"].push_back(rowJson(row, index));
    report.text += line(row, index);
  }
  addTimes(*rows, question, report);
  if (const Outcome added = addChanges(*rows, options, question, progress, report); !added) {
    return added.error();
  }
  report.json["notes"] = notes;
  for (const std::string& note : notes) {
    report.text += "  note: " + note + "\n";
  }
  if (rows->empty()) {
    report.failure = "no topology meets these limits";
  } else if (!options.output.empty()) {
    if (const Outcome written = writeFabric(*rows, options, question, json, report); !written) {
      return written.error();
    }
  }
  return report;
}

Result<Report> runRange(const FindTopologyOptions& options, workflow::NodeRange range, const Progress& progress) {
  if (!options.output.empty()) {
    return workflow::optionError("output", "a range has no single fabric to write", "give one number with -n");
  }
  finder::Finder finder;
  Report report;
  report.json = {{"degree", options.degree}, {"duplex", options.isDuplex}, {"fronts", Json::array()}};
  for (int nodes = range.first; nodes <= range.last; ++nodes) {
    progress.report("fronts", static_cast<double>(nodes - range.first) / (range.last - range.first + 1));
    const auto front = finder.front(queryOf(options, nodes), progress);
    if (!front) {
      return front.error();
    }
    Json entries = Json::array();
    report.text += std::to_string(nodes) + ":";
    for (const finder::Entry& entry : *front) {
      const std::string name = finder::nameOf(*entry.construction);
      entries.push_back({{"steps", entry.steps}, {"t_b", entry.bandwidthTime.toString()}, {"construction", name}});
      if (entry.meanDistance) {
        entries.back()["least_t_a"] = entry.meanDistance->toString();
      }
      report.text += "  " + std::to_string(entry.steps) + " " + toDecimal(entry.bandwidthTime, 4) + " " + name;
    }
    report.text += "\n";
    report.json["fronts"].push_back({{"nodes", nodes}, {"front", std::move(entries)}});
  }
  return report;
}

Result<Report> run(const FindTopologyOptions& options, bool json, const Progress& progress) {
  const auto range = options.range.empty() ? Result<workflow::NodeRange>(workflow::NodeRange{})
                                           : workflow::parseNodeRange(options.range);
  if (!range) {
    return range.error();
  }
  if (options.range.empty() == (options.nodes == 0)) {
    return Error{ErrorCode::badUsage, "the number of nodes is given by -n or as a range by --all-n",
                 "give one of them"};
  }
  if (options.isPaper && options.isDuplex) {
    return workflow::optionError("duplex", "the values of the dissertation do not distinguish one-way from duplex",
                                 "leave --paper or --duplex out");
  }
  const auto question = workflow::readTopologyTimes(options.times);
  if (!question) {
    return question.error();
  }
  return options.range.empty() ? runOne(options, *question, json, progress) : runRange(options, *range, progress);
}

}  // namespace

void addFindTopology(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(
      app, invocation, "find-topology", "Find the best topologies for N nodes with d ports each",
      "  coppice-cli find-topology -n 1024 -d 4\n"
      "  coppice-cli find-topology -n 16 -d 4 --duplex --size 1MiB -o sixteen.fabric.json\n"
      "  coppice-cli find-topology -n 1024 -d 4 --alpha 10 --bandwidth 100Gb/s --size 1MiB=20 --size 1GiB\n"
      "  coppice-cli find-topology -n 16 -d 4 --duplex --goal alltoall -c alltoall --size 64MiB\n"
      "  coppice-cli find-topology -n 16 -d 4 --duplex --present preset:torus,dims=4x4 --reconfiguration 10ms \\\n"
      "    --size 1MiB=20 --job-steps 100000\n"
      "  coppice-cli find-topology --all-n 5..12 -d 4 --json");
  auto options = std::make_shared<FindTopologyOptions>();
  sub.add_option("-n,--nodes", options->nodes, "Number of nodes");
  sub.add_option("-d,--degree", options->degree, "Ports of a node: links out and links in")->required();
  sub.add_option("--all-n", options->range, "FIRST..LAST: the front of every number of nodes");
  sub.add_flag("--duplex", options->isDuplex, "Only topologies whose links all run both ways");
  sub.add_flag("--paper", options->isPaper, "Only the base graphs and formulas of the dissertation, for comparison");
  sub.add_option("--max-steps", options->maxSteps, "Only topologies of at most this many steps");
  sub.add_flag("--optimal", options->onlyOptimal, "Only topologies of optimal bandwidth, T_B = (N-1)/N");
  sub.add_option("--goal", options->goal,
                 "What makes the front: allreduce (steps and T_B), or alltoall: the time of an all-to-all as well")
      ->capture_default_str()
      ->check(CLI::IsMember({"allreduce", "alltoall"}));
  sub.add_option("--alpha", options->times.alpha, "Latency of a step in microseconds")->capture_default_str();
  sub.add_option("--bandwidth", options->times.bandwidth, "Bandwidth of all ports of a node together, per direction")
      ->capture_default_str();
  sub.add_option("--size", options->times.sizes,
                 "Size of a call, or SIZE=WEIGHT; several: the entry with the lowest weighted sum is the best");
  sub.add_option("-c,--collective", options->times.collective,
                 "Times of allgather, reduce_scatter, allreduce or alltoall")
      ->capture_default_str();
  sub.add_option("--present", options->present, "The fabric as it is wired, to judge a change by");
  sub.add_option("--reconfiguration", options->change.time,
                 "Time of a change, such as 10ms (optical switch) or 5min (patch panel): from how many steps it pays");
  sub.add_option("--job-steps", options->change.jobSteps,
                 "Steps of the job, each with the calls of --size (weights: calls of that size): what a change gains")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  sub.add_option("--index", options->index, "Entry to write; default: the fastest for --size, else 0");
  sub.add_option("-o,--output", options->output, "Write the fabric of that entry; - for standard output");
  sub.callback([options, &invocation] {
    invocation.action = [options, &invocation](const Progress& progress) {
      return run(*options, invocation.json, progress);
    };
  });
}

}  // namespace coppice::cli
