// SPDX-License-Identifier: Apache-2.0
#include "workflow/find_topology.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "alltoall/alltoall.hpp"
#include "base/text.hpp"
#include "finder/distances.hpp"
#include "finder/drawn.hpp"
#include "verify/exchange_check.hpp"
#include "workflow/options.hpp"
#include "workflow/sizes.hpp"

namespace coppice::workflow {
namespace {

/// The reduce_scatter of a large generalized Kautz graph, and the check of a large graph, take too long to be done
/// unasked: N^2 d steps.
constexpr std::int64_t kMaxReduceScatterSteps = 400'000'000;
constexpr std::int64_t kMaxCheckSteps = 30'000'000;

std::int64_t allTargetSteps(const finder::Entry& entry) {
  return std::int64_t{entry.nodes} * entry.nodes * entry.degree;
}

/// An all-to-all is solved up to this many nodes: where all are alike, where few classes of links differ (line graphs
/// of such ones), and in general.
constexpr int kMaxSymmetricNodes = 512;
constexpr int kMaxLineGraphNodes = 128;
constexpr int kMaxAlltoallNodes = 40;
constexpr lp::Milliseconds kAlltoallWork(300);

/// sum of distances over N^2.
Rational meanDistanceOf(const bfb::Loads& loads) {
  std::int64_t sum = 0;
  for (std::size_t step = 0; step < loads.pairs.size(); ++step) {
    sum += static_cast<std::int64_t>(step + 1) * loads.pairs[step];
  }
  return {sum, std::int64_t{loads.nodeCount} * loads.nodeCount};
}

/// BFB on the built graph, by code of its own; its mean distance. Errors: verification where it disagrees.
Result<Rational> checkEntry(const finder::Entry& entry, const topology::Digraph& graph, const Progress& progress) {
  const auto loads = bfb::loads(asBfb(graph), {}, progress);
  if (!loads) {
    return loads.error();
  }
  const Rational distance = meanDistanceOf(*loads);
  if (entry.meanDistance && *entry.meanDistance != distance) {
    return Error{ErrorCode::verification,
                 finder::nameOf(*entry.construction) + ": found with a mean distance of " +
                     entry.meanDistance->toString() + ", but it is " + distance.toString(),
                 "please report this"};
  }
  if (loads->steps() != entry.steps || loads->bandwidthTime() != entry.bandwidthTime) {
    return Error{ErrorCode::verification,
                 finder::nameOf(*entry.construction) + ": found with " + std::to_string(entry.steps) +
                     " steps and T_B " + entry.bandwidthTime.toString() + ", but BFB on it has " +
                     std::to_string(loads->steps()) + " and " + loads->bandwidthTime().toString(),
                 "please report this"};
  }
  return distance;
}

/// All nodes are alike, or the graph has few nodes.
bool isQuick(int nodes, bool isSymmetric, bool isLineGraph) {
  return nodes <= (isSymmetric ? kMaxSymmetricNodes : (isLineGraph ? kMaxLineGraphNodes : kMaxAlltoallNodes));
}

/// Costs that are known, and whose they are.
struct KnownCosts {
  std::vector<finder::Cost> costs;
  std::vector<std::size_t> indices;
};

KnownCosts knownCosts(std::span<const FoundTopology> found, Collective collective) {
  KnownCosts known;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (const auto cost = costOf(found[i], collective)) {
      known.costs.push_back(*cost);
      known.indices.push_back(i);
    }
  }
  return known;
}

/// Values of the dissertation's formulas stand as they are; distances are those of the graph, where it can be built.
Result<FoundTopology> withDistances(FoundTopology found, const Progress& progress) {
  if (allTargetSteps(found.entry) > kMaxCheckSteps) {
    return found;
  }
  const auto graph = finder::build(*found.entry.construction);
  if (!graph) {
    return graph.error();
  }
  const auto loads = bfb::loads(asBfb(*graph), {}, progress);
  if (!loads) {
    return loads.error();
  }
  found.diameter = loads->steps();
  const auto alltoall = alltoallTime(*graph, meanDistanceOf(*loads), isQuick(graph->nodes, false, false), progress);
  if (!alltoall) {
    return alltoall.error();
  }
  found.alltoall = *alltoall;
  return found;
}

/// No slower in any of the three, by what is proved of both.
bool isAsGood(const FoundTopology& a, const FoundTopology& b) {
  return a.entry.steps <= b.entry.steps && a.entry.bandwidthTime <= b.entry.bandwidthTime && a.alltoall &&
         a.alltoall->reached && b.alltoall && *a.alltoall->reached <= b.alltoall->least;
}

}  // namespace

Result<TopologyTimes> readTopologyTimes(const TopologyTimesText& text) {
  TopologyTimes times;
  const auto alpha = Rational::parse(text.alpha);
  if (!alpha || *alpha < Rational(0)) {
    return optionError("alpha", inQuotes(text.alpha) + " is not a latency", "give microseconds, 0 or more");
  }
  const auto bandwidth = Bandwidth::parse(text.bandwidth);
  if (!bandwidth || !bandwidth->isPositive()) {
    return optionError("bandwidth", inQuotes(text.bandwidth) + " is not a bandwidth",
                       text.ports > 0 ? "give the bandwidth of one link, such as 25 or 200Gb/s"
                                      : "give the bandwidth of all ports of a node together, such as 100 or 800Gb/s");
  }
  const auto collective = parseCollective(text.collective);
  if (!collective || (*collective != Collective::allgather && *collective != Collective::reduceScatter &&
                      *collective != Collective::allreduce && *collective != Collective::alltoall)) {
    return optionError("collective", inQuotes(text.collective) + " has no such times",
                       "use allgather, reduce_scatter, allreduce or alltoall");
  }
  times.model = {ExactMicroseconds(*alpha), *bandwidth * Rational(std::max(text.ports, 1))};
  times.collective = *collective;
  for (const std::string& size : text.sizes) {
    const std::size_t at = size.find('=');
    const auto bytes = parseBytes(size.substr(0, at), "size");
    if (!bytes) {
      return bytes.error();
    }
    const auto weight = at == std::string::npos ? Result<Rational>(Rational(1)) : Rational::parse(size.substr(at + 1));
    if (!weight || !weight->isPositive()) {
      return optionError("size", inQuotes(size) + " has no such weight",
                         "give SIZE or SIZE=WEIGHT with a weight above 0, for example 1MiB=20");
    }
    times.sizes.push_back({Rational(*bytes), *weight});
  }
  return times;
}

Result<NodeRange> parseNodeRange(const std::string& text) {
  NodeRange range;
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto dots = text.find("..");
  bool isGood = dots != std::string::npos;
  if (isGood) {
    const auto a = std::from_chars(begin, begin + dots, range.first);
    const auto b = std::from_chars(begin + dots + 2, end, range.last);
    isGood = a.ec == std::errc() && a.ptr == begin + dots && b.ec == std::errc() && b.ptr == end;
  }
  if (!isGood || range.first < 2 || range.last < range.first) {
    return optionError("all-n", inQuotes(text) + " is not a range of numbers of nodes",
                       "give FIRST..LAST with 2 or more, for example 2..2000");
  }
  return range;
}

Result<FoundTopology> completed(finder::Entry entry, const Progress& progress) {
  FoundTopology found{std::move(entry)};
  const finder::Entry& known = found.entry;
  if (!known.isExact) {
    return withDistances(std::move(found), progress);
  }
  found.diameter = known.steps;
  const bool isCheap =
      known.construction->operation != finder::Operation::kautz || allTargetSteps(known) <= kMaxReduceScatterSteps;
  if (isCheap) {
    const auto value = finder::reduceScatterValue(known, progress);
    if (!value) {
      return value.error();
    }
    found.reduceScatterTime = value->bandwidthTime(known.nodes, known.degree);
  }
  if (allTargetSteps(known) <= kMaxCheckSteps) {
    const auto graph = finder::build(*known.construction);
    if (!graph) {
      return graph.error();
    }
    const auto distance = checkEntry(known, *graph, progress);
    if (!distance) {
      return distance.error();
    }
    found.isChecked = true;
    const auto alltoall = alltoallTime(
        *graph, *distance,
        isQuick(known.nodes, known.isSymmetric, known.construction->operation == finder::Operation::lineGraph),
        progress);
    if (!alltoall) {
      return alltoall.error();
    }
    found.alltoall = *alltoall;
  } else if (known.meanDistance || finder::distanceStarts(known) * known.nodes <= kMaxCheckSteps / known.degree) {
    const auto distance =
        known.meanDistance ? Result<Rational>(*known.meanDistance) : finder::meanDistance(known, progress);
    if (!distance) {
      return distance.error();
    }
    found.alltoall = AlltoallTime{*distance};
  }
  return found;
}

Result<AlltoallTime> alltoallTime(const topology::Digraph& graph, const Rational& meanDistance, bool isSolved,
                                  const Progress& progress) {
  if (!isSolved) {
    return AlltoallTime{meanDistance};
  }
  // Links of 1 GB/s, so that a node has `degree`: T_A is degree over nodes and the rate of a pair.
  const auto description = topology::describe(graph, Bandwidth(1));
  if (!description) {
    return description.error();
  }
  const auto fabric = fabric::Fabric::build(*description);
  if (!fabric) {
    return fabric.error();
  }
  const auto optimum = alltoall::optimum(*fabric, {.budget = kAlltoallWork}, progress);
  if (!optimum) {
    return optimum.error();
  }
  const auto upper = verify::provenExchangeBound(*fabric, optimum->demand, optimum->lengths, progress);
  if (!upper) {
    return upper.error();
  }
  const auto lower = verify::provenExchangeRate(*fabric, optimum->demand, optimum->routing, progress);
  if (!lower) {
    return lower.error();
  }
  const Rational whole(graph.degree, graph.nodes);
  return AlltoallTime{std::max(meanDistance, whole / upper->gigabytesPerSecond()), whole / lower->gigabytesPerSecond()};
}

Result<std::vector<FoundTopology>> findTopologies(finder::Finder& finder, const finder::Query& query,
                                                  const Progress& progress, std::vector<std::string>* notes) {
  auto front = finder.front(query, progress, notes);
  if (!front) {
    return front.error();
  }
  std::vector<FoundTopology> found;
  for (finder::Entry& entry : *front) {
    if (notes != nullptr) {
      for (std::string& note : finder::standInNotes(*entry.construction)) {
        notes->push_back(std::move(note));
      }
    }
    auto one = completed(std::move(entry), progress);
    if (!one) {
      return one.error();
    }
    const bool isUseless =
        query.hasAlltoall &&
        std::any_of(found.begin(), found.end(), [&](const FoundTopology& other) { return isAsGood(other, *one); });
    if (!isUseless) {
      found.push_back(*std::move(one));
    }
  }
  return found;
}

std::optional<finder::Cost> costOf(const FoundTopology& found, Collective collective) {
  if (collective == Collective::alltoall) {
    return found.alltoall && found.alltoall->reached
               ? std::optional(finder::Cost{found.entry.steps, *found.alltoall->reached})
               : std::nullopt;
  }
  const finder::Cost allgather{found.entry.steps, found.entry.bandwidthTime};
  if (collective == Collective::allgather) {
    return allgather;
  }
  // The dissertation takes both halves to be equal.
  const auto back = found.entry.isExact ? found.reduceScatterTime : std::optional(found.entry.bandwidthTime);
  if (!back) {
    return std::nullopt;
  }
  const finder::Cost reduceScatter{found.entry.steps, *back};
  return collective == Collective::reduceScatter ? reduceScatter : allgather + reduceScatter;
}

std::vector<finder::SizeRange> fastestBySize(std::span<const FoundTopology> found, const TopologyTimes& times) {
  const KnownCosts known = knownCosts(found, times.collective);
  if (known.costs.empty()) {
    return {};
  }
  std::vector<finder::SizeRange> ranges = finder::fastestBySize(known.costs, times.model);
  for (finder::SizeRange& range : ranges) {
    range.entry = known.indices[range.entry];
  }
  return ranges;
}

std::optional<std::size_t> fastestFor(std::span<const FoundTopology> found, const TopologyTimes& times) {
  const KnownCosts known = knownCosts(found, times.collective);
  if (known.costs.empty() || times.sizes.empty()) {
    return std::nullopt;
  }
  return known.indices[finder::fastestFor(known.costs, times.model, times.sizes)];
}

Result<ChangeQuestion> readChange(const ChangeText& text) {
  static constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {
      {"us", 1}, {"ms", 1'000}, {"s", 1'000'000}, {"min", 60'000'000}, {"h", 3'600'000'000}};
  const std::size_t end = text.time.find_last_of("0123456789.") + 1;
  const auto number = Rational::parse(text.time.substr(0, end));
  const std::string_view unit = std::string_view(text.time).substr(end);
  const auto* const known =
      std::find_if(std::begin(kUnits), std::end(kUnits), [&](const auto& each) { return each.first == unit; });
  if (!number || *number < Rational(0) || known == std::end(kUnits)) {
    return optionError("reconfiguration", inQuotes(text.time) + " is not a time",
                       "give a number with us, ms, s, min or h, for example 10ms");
  }
  ChangeQuestion question{ExactMicroseconds(*number * Rational(known->second)), {}};
  if (text.jobSteps > 0) {
    question.jobSteps = Rational(text.jobSteps);
  }
  return question;
}

Result<Present> presentTopology(const fabric::Fabric& fabric, const TopologyTimes& times, const Progress& progress) {
  const auto read = topology::readFabric(fabric);
  if (!read) {
    return read.error();
  }
  const topology::Digraph& graph = read->graph;
  if (std::int64_t{graph.nodes} * graph.nodes > kMaxReduceScatterSteps / graph.degree) {
    return optionError("present", "its cost takes too long at this size", "give a fabric of fewer GPUs");
  }
  const bfb::Digraph links = asBfb(graph);
  const auto forth = bfb::loads(links, {}, progress);
  if (!forth) {
    return forth.error();
  }
  const auto back = bfb::loads(bfb::transposed(links), {}, progress);
  if (!back) {
    return back.error();
  }
  const finder::Cost allgather{forth->steps(), forth->bandwidthTime()};
  const finder::Cost reduceScatter{back->steps(), back->bandwidthTime()};
  Present present{{}, {times.model.alpha, read->perLink * Rational(graph.degree)}};
  switch (times.collective) {
    case Collective::allgather:
      present.cost = allgather;
      return present;
    case Collective::reduceScatter:
      present.cost = reduceScatter;
      return present;
    case Collective::alltoall:
      break;
    default:
      present.cost = allgather + reduceScatter;
      return present;
  }
  const auto alltoall = alltoallTime(graph, meanDistanceOf(*forth), graph.nodes <= kMaxSymmetricNodes, progress);
  if (!alltoall) {
    return alltoall.error();
  }
  if (!alltoall->reached) {
    return Error{ErrorCode::infeasible, "the time of an all-to-all on the present fabric is not known at this size",
                 "compare allreduce, or see coppice-cli alltoall"};
  }
  present.cost = {forth->steps(), *alltoall->reached};
  return present;
}

std::optional<Change> changeTo(const FoundTopology& found, const Present& present, const TopologyTimes& times,
                               const ChangeQuestion& question) {
  const auto cost = costOf(found, times.collective);
  if (!cost) {
    return std::nullopt;
  }
  Change change;
  for (const finder::WeightedSize& size : times.sizes) {
    change.present += finder::timeOf(present.cost, present.model, size.bytes) * size.weight;
    change.changed += finder::timeOf(*cost, times.model, size.bytes) * size.weight;
  }
  const Rational saved = change.present.count() - change.changed.count();
  if (saved.isPositive()) {
    change.paysFrom = (question.time.count() / saved).floor() + 1;
  }
  if (question.jobSteps) {
    change.gain = ExactMicroseconds(saved * *question.jobSteps - question.time.count());
  }
  return change;
}

Result<fabric::Description> fabricOf(const finder::Entry& entry, Bandwidth bandwidth) {
  const auto graph = finder::build(*entry.construction);
  if (!graph) {
    return graph.error();
  }
  return topology::describe(*graph, bandwidth / Rational(entry.degree));
}

bfb::Digraph asBfb(const topology::Digraph& graph) {
  bfb::Digraph result;
  result.nodeCount = graph.nodes;
  result.links.reserve(graph.heads.size());
  for (int v = 0; v < graph.nodes; ++v) {
    for (const int head : graph.out(v)) {
      result.links.push_back({v, head, 1});
    }
  }
  return result;
}

}  // namespace coppice::workflow
