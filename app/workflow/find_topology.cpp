// SPDX-License-Identifier: Apache-2.0
#include "workflow/find_topology.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text.hpp"
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
                      *collective != Collective::allreduce)) {
    return optionError("collective", inQuotes(text.collective) + " has no such times",
                       "use allgather, reduce_scatter or allreduce");
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
    return found;
  }
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
    if (const Outcome checked = checkEntry(known, *graph, progress); !checked) {
      return checked.error();
    }
    found.isChecked = true;
  }
  return found;
}

Result<std::vector<FoundTopology>> findTopologies(finder::Finder& finder, const finder::Query& query,
                                                  const Progress& progress, std::vector<std::string>* notes) {
  auto front = finder.front(query, progress, notes);
  if (!front) {
    return front.error();
  }
  std::vector<FoundTopology> found;
  for (finder::Entry& entry : *front) {
    auto one = completed(std::move(entry), progress);
    if (!one) {
      return one.error();
    }
    found.push_back(*std::move(one));
  }
  return found;
}

std::optional<finder::Cost> costOf(const FoundTopology& found, Collective collective) {
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
