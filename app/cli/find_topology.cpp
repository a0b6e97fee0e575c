// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <memory>

#include "base/text.hpp"
#include "bfb/bfb.hpp"
#include "command.hpp"
#include "finder/finder.hpp"
#include "finder/time_model.hpp"
#include "input.hpp"
#include "io/fabric_json.hpp"
#include "text.hpp"
#include "topology_text.hpp"
#include "workflow/options.hpp"
#include "workflow/sizes.hpp"

namespace coppice::cli {
namespace {

struct Options {
  int nodes = 0;
  int degree = 0;
  std::string range;
  bool isDuplex = false;
  bool isPaper = false;
  int maxSteps = 0;
  bool onlyOptimal = false;
  std::string alpha = "10";
  std::string bandwidth = "100";
  std::vector<std::string> sizes;
  std::string collective = "allreduce";
  int index = -1;
  std::string output;
};

/// One entry with what the report adds to it.
struct Row {
  finder::Entry entry;
  std::optional<Rational> reduceScatterTime;  ///< absent where it was not computed
  bool isChecked = false;                     ///< BFB on the built graph has the stated values
};

struct Question {
  finder::TimeModel model;
  Bandwidth bandwidth;
  std::vector<finder::WeightedSize> sizes;
  Collective collective = Collective::allreduce;
};

/// The reduce_scatter of a large generalized Kautz graph, and the check of a large graph, take too long to be done
/// unasked: N^2 d steps.
constexpr std::int64_t kMaxReduceScatterSteps = 400'000'000;
constexpr std::int64_t kMaxCheckSteps = 30'000'000;

std::int64_t allTargetSteps(const finder::Entry& entry) {
  return std::int64_t{entry.nodes} * entry.nodes * entry.degree;
}

Result<Question> readQuestion(const Options& options) {
  Question question;
  const auto alpha = Rational::parse(options.alpha);
  if (!alpha || *alpha < Rational(0)) {
    return workflow::optionError("alpha", inQuotes(options.alpha) + " is not a latency",
                                 "give microseconds, 0 or more");
  }
  const auto bandwidth = Bandwidth::parse(options.bandwidth);
  if (!bandwidth || !bandwidth->gigabytesPerSecond().isPositive()) {
    return workflow::optionError("bandwidth", inQuotes(options.bandwidth) + " is not a bandwidth",
                                 "give the bandwidth of all ports of a node together, such as 100 or 800Gb/s");
  }
  const auto collective = parseCollective(options.collective);
  if (!collective || (*collective != Collective::allgather && *collective != Collective::reduceScatter &&
                      *collective != Collective::allreduce)) {
    return workflow::optionError("collective", inQuotes(options.collective) + " has no such times",
                                 "use allgather, reduce_scatter or allreduce");
  }
  question.bandwidth = *bandwidth;
  question.model = {*alpha, bandwidth->gigabytesPerSecond() * Rational(1000)};
  question.collective = *collective;
  for (const std::string& text : options.sizes) {
    const std::size_t at = text.find('=');
    const auto bytes = workflow::parseBytes(text.substr(0, at), "size");
    if (!bytes) {
      return bytes.error();
    }
    const auto weight = at == std::string::npos ? Result<Rational>(Rational(1)) : Rational::parse(text.substr(at + 1));
    if (!weight || !weight->isPositive()) {
      return workflow::optionError("size", inQuotes(text) + " has no such weight",
                                   "give SIZE or SIZE=WEIGHT with a weight above 0, as in 1MiB=20");
    }
    question.sizes.push_back({Rational(*bytes), *weight});
  }
  return question;
}

/// "5..12" or one number.
Result<std::pair<int, int>> readRange(const Options& options) {
  if (options.range.empty()) {
    return std::pair(options.nodes, options.nodes);
  }
  int first = 0;
  int last = 0;
  const char* end = options.range.data() + options.range.size();
  const auto dots = options.range.find("..");
  bool isGood = dots != std::string::npos;
  if (isGood) {
    const auto a = std::from_chars(options.range.data(), options.range.data() + dots, first);
    const auto b = std::from_chars(options.range.data() + dots + 2, end, last);
    isGood = a.ec == std::errc() && a.ptr == options.range.data() + dots && b.ec == std::errc() && b.ptr == end;
  }
  if (!isGood || first < 2 || last < first) {
    return workflow::optionError("all-n", inQuotes(options.range) + " is not a range of numbers of nodes",
                                 "give FIRST..LAST with 2 or more, as in 2..2000");
  }
  return std::pair(first, last);
}

finder::Query queryOf(const Options& options, int nodes) {
  finder::Query query;
  query.nodes = nodes;
  query.degree = options.degree;
  query.isDuplex = options.isDuplex;
  query.isPaper = options.isPaper;
  if (options.maxSteps != 0) {
    query.maxSteps = options.maxSteps;
  }
  query.onlyOptimal = options.onlyOptimal;
  return query;
}

/// BFB on the built graph, by code of its own. Errors: verification where it disagrees.
Outcome checkEntry(const finder::Entry& entry, const topology::Digraph& graph, const Progress& progress) {
  const auto loads = bfb::loads(asBfb(graph), {}, progress);
  if (!loads) {
    return loads.error();
  }
  if (loads->steps() != entry.steps || loads->bandwidthTime() != entry.bandwidthTime) {
    return Error{ErrorCode::verification,
                 finder::nameOf(*entry.construction) + ": found with " + std::to_string(entry.steps) +
                     " steps and T_B " + entry.bandwidthTime.toString() + ", but BFB on it has " +
                     std::to_string(loads->steps()) + " and " + loads->bandwidthTime().toString(),
                 "please report this"};
  }
  return Done{};
}

Result<Row> completed(finder::Entry entry, const Progress& progress) {
  Row row{std::move(entry), {}, false};
  const finder::Entry& known = row.entry;
  if (!known.isExact) {
    return row;
  }
  const bool isCheap =
      known.construction->operation != finder::Operation::kautz || allTargetSteps(known) <= kMaxReduceScatterSteps;
  if (isCheap) {
    const auto value = finder::reduceScatterValue(known, progress);
    if (!value) {
      return value.error();
    }
    row.reduceScatterTime = value->bandwidthTime(known.nodes, known.degree);
  }
  if (allTargetSteps(known) <= kMaxCheckSteps) {
    const auto graph = finder::build(*known.construction);
    if (!graph) {
      return graph.error();
    }
    if (const Outcome checked = checkEntry(known, *graph, progress); !checked) {
      return checked.error();
    }
    row.isChecked = true;
  }
  return row;
}

/// The halves that the collective has; nullopt where one of them is unknown.
std::optional<finder::Cost> costOf(const Row& row, Collective collective) {
  const finder::Cost allgather{row.entry.steps, row.entry.bandwidthTime};
  if (collective == Collective::allgather) {
    return allgather;
  }
  // The dissertation takes both halves to be equal.
  const auto back = row.entry.isExact ? row.reduceScatterTime : std::optional(row.entry.bandwidthTime);
  if (!back) {
    return std::nullopt;
  }
  const finder::Cost reduceScatter{row.entry.steps, *back};
  return collective == Collective::reduceScatter ? reduceScatter : allgather + reduceScatter;
}

Json rowJson(const Row& row, std::size_t index) {
  const finder::Entry& entry = row.entry;
  Json json;
  json["index"] = index;
  json["steps"] = entry.steps;
  json["t_b"] = entry.bandwidthTime.toString();
  json["t_b_float"] = entry.bandwidthTime.toDouble();
  json["t_b_reduce_scatter"] = row.reduceScatterTime ? Json(row.reduceScatterTime->toString()) : Json();
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

std::string line(const Row& row, std::size_t index) {
  std::string text = "  " + std::to_string(index) + "  " + std::to_string(row.entry.steps) +
                     (row.entry.steps == 1 ? " step" : " steps");
  text.resize(std::max<std::size_t>(text.size() + 1, 16), ' ');
  const std::string time = row.entry.bandwidthTime.toString();
  text += time + " = " + toDecimal(row.entry.bandwidthTime, 4);
  text.resize(std::max<std::size_t>(text.size() + 1, 36), ' ');
  return text + finder::nameOf(*row.entry.construction) + (row.entry.isDuplex ? "  (duplex)" : "") + "\n";
}

/// Times of the sizes, the fastest entry for all of them, and the sizes at which the fastest entry changes.
void addTimes(const std::vector<Row>& rows, const Question& question, Report& report) {
  std::vector<finder::Cost> costs;
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (const auto cost = costOf(rows[i], question.collective)) {
      costs.push_back(*cost);
      indices.push_back(i);
    }
  }
  if (costs.empty()) {
    return;
  }
  const std::string name(toString(question.collective));
  report.json["collective"] = name;
  report.json["fastest_by_size"] = Json::array();
  report.text += "  fastest " + name + ":";
  const char* separator = " ";
  for (const finder::SizeRange& range : finder::fastestBySize(costs, question.model)) {
    const std::size_t index = indices[range.entry];
    report.json["fastest_by_size"].push_back({{"from_bytes", range.fromBytes.toString()}, {"index", index}});
    report.text += separator + std::string("entry ") + std::to_string(index) +
                   (range.fromBytes.isZero() ? "" : " from " + workflow::byteSize(range.fromBytes.floor()));
    separator = ", ";
  }
  report.text += "\n";
  for (const finder::WeightedSize& size : question.sizes) {
    report.text += "  " + workflow::byteSize(size.bytes.numerator()) + ":";
    for (std::size_t i = 0; i < costs.size(); ++i) {
      const Rational time = finder::timeOf(costs[i], question.model, size.bytes);
      report.json["front"][indices[i]]["times_us"].push_back(
          {{"bytes", size.bytes.numerator()}, {"time", time.toString()}, {"time_us", time.toDouble()}});
      report.text += (i == 0 ? " " : ", ") + std::to_string(indices[i]) + " takes " + toDecimal(time, 1) + " us";
    }
    report.text += "\n";
  }
  if (!question.sizes.empty()) {
    const std::size_t best = indices[finder::fastestFor(costs, question.model, question.sizes)];
    report.json["fastest"] = best;
    report.text += "  fastest for these sizes: entry " + std::to_string(best) + "\n";
  }
}

Outcome writeFabric(const std::vector<Row>& rows, const Options& options, const Question& question, bool json,
                    Report& report) {
  std::size_t index = options.index < 0 ? 0 : static_cast<std::size_t>(options.index);
  if (options.index < 0 && report.json.contains("fastest")) {
    index = report.json["fastest"].get<std::size_t>();
  }
  if (index >= rows.size()) {
    return workflow::optionError(
        "index", "the front has no entry " + std::to_string(options.index),
        rows.empty() ? "loosen the limits; the front is empty" : "choose from 0 to " + std::to_string(rows.size() - 1));
  }
  const auto graph = finder::build(*rows[index].entry.construction);
  if (!graph) {
    return graph.error();
  }
  const Bandwidth perLink(question.bandwidth.gigabytesPerSecond() / Rational(options.degree));
  const auto description = topology::describe(*graph, perLink);
  if (!description) {
    return description.error();
  }
  report.json["written_index"] = index;
  return deliver(options.output, io::writeFabricJson(*description), "  entry " + std::to_string(index) + " written to ",
                 json, report);
}

Result<Report> runOne(const Options& options, const Question& question, bool json, const Progress& progress) {
  finder::Finder finder;
  std::vector<std::string> notes;
  const auto front = finder.front(queryOf(options, options.nodes), progress, &notes);
  if (!front) {
    return front.error();
  }
  const Rational least(options.nodes - 1, options.nodes);
  const int moore = finder::mooreSteps(options.nodes, options.degree);
  Report report;
  report.json = {{"nodes", options.nodes},
                 {"degree", options.degree},
                 {"duplex", options.isDuplex},
                 {"least_steps", moore},
                 {"least_t_b", least.toString()}};
  report.text = counted(options.nodes, "node") + " of degree " + std::to_string(options.degree) + ": at least " +
                counted(moore, "step") + " and T_B " + least.toString() + " M/B\n";
  report.json["front"] = Json::array();
  std::vector<Row> rows;
  for (const finder::Entry& entry : *front) {
    auto row = completed(entry, progress);
    if (!row) {
      return row.error();
    }
    report.json["front"].push_back(rowJson(*row, rows.size()));
    report.text += line(*row, rows.size());
    rows.push_back(*std::move(row));
  }
  addTimes(rows, question, report);
  report.json["notes"] = notes;
  for (const std::string& note : notes) {
    report.text += "  note: " + note + "\n";
  }
  if (rows.empty()) {
    report.failure = "no topology meets these limits";
  } else if (!options.output.empty()) {
    if (const Outcome written = writeFabric(rows, options, question, json, report); !written) {
      return written.error();
    }
  }
  return report;
}

Result<Report> runRange(const Options& options, std::pair<int, int> range, const Progress& progress) {
  if (!options.output.empty()) {
    return workflow::optionError("output", "a range has no single fabric to write", "give one number with -n");
  }
  finder::Finder finder;
  Report report;
  report.json = {{"degree", options.degree}, {"duplex", options.isDuplex}, {"fronts", Json::array()}};
  for (int nodes = range.first; nodes <= range.second; ++nodes) {
    progress.report("fronts", static_cast<double>(nodes - range.first) / (range.second - range.first + 1));
    const auto front = finder.front(queryOf(options, nodes), progress);
    if (!front) {
      return front.error();
    }
    Json entries = Json::array();
    report.text += std::to_string(nodes) + ":";
    for (const finder::Entry& entry : *front) {
      const std::string name = finder::nameOf(*entry.construction);
      entries.push_back({{"steps", entry.steps}, {"t_b", entry.bandwidthTime.toString()}, {"construction", name}});
      report.text += "  " + std::to_string(entry.steps) + " " + toDecimal(entry.bandwidthTime, 4) + " " + name;
    }
    report.text += "\n";
    report.json["fronts"].push_back({{"nodes", nodes}, {"front", std::move(entries)}});
  }
  return report;
}

Result<Report> run(const Options& options, bool json, const Progress& progress) {
  const auto range = readRange(options);
  if (!range) {
    return range.error();
  }
  if (options.range.empty() == (options.nodes == 0)) {
    return Error{ErrorCode::badUsage, "the number of nodes is given by -n or as a range by --all-n",
                 "give one of them"};
  }
  if (options.isPaper && options.isDuplex) {
    return workflow::optionError("duplex", "the values of the dissertation do not tell one-way from duplex",
                                 "leave --paper or --duplex out");
  }
  const auto question = readQuestion(options);
  if (!question) {
    return question.error();
  }
  return options.range.empty() ? runOne(options, *question, json, progress) : runRange(options, *range, progress);
}

}  // namespace

void addFindTopology(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(
      app, invocation, "find-topology", "Which topologies N nodes of d ports can be cabled as",
      "  coppice-cli find-topology -n 1024 -d 4\n"
      "  coppice-cli find-topology -n 16 -d 4 --duplex --size 1MiB -o sixteen.fabric.json\n"
      "  coppice-cli find-topology -n 1024 -d 4 --alpha 10 --bandwidth 100Gb/s --size 1MiB=20 --size 1GiB\n"
      "  coppice-cli find-topology --all-n 5..12 -d 4 --json");
  auto options = std::make_shared<Options>();
  sub.add_option("-n,--nodes", options->nodes, "Number of nodes");
  sub.add_option("-d,--degree", options->degree, "Ports of a node: links out and links in")->required();
  sub.add_option("--all-n", options->range, "FIRST..LAST: the front of every number of nodes");
  sub.add_flag("--duplex", options->isDuplex, "Only topologies whose links all run both ways");
  sub.add_flag("--paper", options->isPaper, "Only the base graphs and formulas of the dissertation, for comparison");
  sub.add_option("--max-steps", options->maxSteps, "Only topologies of at most this many steps");
  sub.add_flag("--optimal", options->onlyOptimal, "Only topologies of optimal bandwidth, T_B = (N-1)/N");
  sub.add_option("--alpha", options->alpha, "Latency of a step in microseconds")->capture_default_str();
  sub.add_option("--bandwidth", options->bandwidth, "Bandwidth of all ports of a node together, per direction")
      ->capture_default_str();
  sub.add_option("--size", options->sizes, "Size of a call, or SIZE=WEIGHT; several: the least weighted sum is best");
  sub.add_option("-c,--collective", options->collective, "Times of allgather, reduce_scatter or allreduce")
      ->capture_default_str();
  sub.add_option("--index", options->index, "Entry to write; default: the fastest for --size, else 0");
  sub.add_option("-o,--output", options->output, "Write the fabric of that entry; - for standard output");
  sub.callback([options, &invocation] {
    invocation.action = [options, &invocation](const Progress& progress) {
      return run(*options, invocation.json, progress);
    };
  });
}

}  // namespace coppice::cli
