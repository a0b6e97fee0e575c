// SPDX-License-Identifier: Apache-2.0
#include "synth/topology.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "synth/routes.hpp"

namespace coppice::synth {
namespace {

using fabric::NodeIndex;

Bandwidth defaultUnit(const fabric::Fabric& fabric, const std::vector<bool>& isUsed) {
  std::vector<Bandwidth> used;
  for (std::size_t arc = 0; arc < fabric.arcs().size(); ++arc) {
    if (isUsed[arc]) {
      used.push_back(fabric.arcs()[arc].bandwidth);
    }
  }
  const Bandwidth divisor = commonUnit(used);
  const auto [min, largest] = std::minmax_element(used.begin(), used.end());
  return *largest / divisor > Rational(kFinestUnit) ? *min : divisor;
}

/// The arcs of each link; links of one set of arcs are merged, and sets that follow from a larger one are left out.
std::vector<Limit> limitsFrom(const std::vector<std::vector<int>>& arcsOfLink, const std::vector<Rational>& perRound) {
  std::map<std::vector<int>, Rational> tightest;
  for (std::size_t link = 0; link < arcsOfLink.size(); ++link) {
    if (arcsOfLink[link].empty()) {
      continue;
    }
    const auto [found, isNew] = tightest.try_emplace(arcsOfLink[link], perRound[link]);
    if (!isNew) {
      found->second = std::min(found->second, perRound[link]);
    }
  }
  std::vector<Limit> all;
  for (const auto& [arcs, rate] : tightest) {
    all.push_back({arcs, rate});
  }
  std::vector<std::vector<int>> having;
  for (int i = 0; i < static_cast<int>(all.size()); ++i) {
    for (const int arc : all[i].arcs) {
      having.resize(std::max<std::size_t>(having.size(), arc + 1));
      having[arc].push_back(i);
    }
  }
  std::vector<Limit> kept;
  for (const Limit& limit : all) {
    const auto& others = having[limit.arcs.front()];
    const bool follows = std::any_of(others.begin(), others.end(), [&](int other) {
      const Limit& larger = all[other];
      return larger.arcs.size() > limit.arcs.size() && larger.perRound <= limit.perRound &&
             std::includes(larger.arcs.begin(), larger.arcs.end(), limit.arcs.begin(), limit.arcs.end());
    });
    if (!follows) {
      kept.push_back(limit);
    }
  }
  return kept;
}

std::vector<int> breadthFirst(const Topology& topology, const std::vector<bool>& flagged, bool forward) {
  std::vector<int> distance(topology.nodes, -1);
  std::vector<int> queue;
  for (int node = 0; node < topology.nodes; ++node) {
    if (flagged[node]) {
      distance[node] = 0;
      queue.push_back(node);
    }
  }
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const int node = queue[head];
    for (const int arc : forward ? topology.out[node] : topology.in[node]) {
      const int next = forward ? topology.arcs[arc].to : topology.arcs[arc].from;
      if (distance[next] < 0) {
        distance[next] = distance[node] + 1;
        queue.push_back(next);
      }
    }
  }
  return distance;
}

}  // namespace

void indexArcs(Topology& topology) {
  topology.out.assign(topology.nodes, {});
  topology.in.assign(topology.nodes, {});
  topology.limitsOf.assign(topology.arcs.size(), {});
  for (int arc = 0; arc < static_cast<int>(topology.arcs.size()); ++arc) {
    topology.out[topology.arcs[arc].from].push_back(arc);
    topology.in[topology.arcs[arc].to].push_back(arc);
  }
  topology.isIntegral = true;
  for (int limit = 0; limit < static_cast<int>(topology.limits.size()); ++limit) {
    topology.isIntegral = topology.isIntegral && topology.limits[limit].perRound.isInteger();
    for (const int arc : topology.limits[limit].arcs) {
      topology.limitsOf[arc].push_back(limit);
    }
  }
}

Result<Topology> topologyOf(const fabric::Fabric& fabric, const UnitChoice& choice) {
  Topology topology;
  topology.nodes = fabric.gpuCount();
  topology.fabricNodes = fabric.nodeCount();
  topology.gpus.assign(fabric.gpus().begin(), fabric.gpus().end());
  std::map<std::string, int> boxes;
  for (const NodeIndex gpu : topology.gpus) {
    const std::string& box = fabric.nodes()[gpu].box;
    topology.boxOf.push_back(box.empty() ? -1 : boxes.try_emplace(box, static_cast<int>(boxes.size())).first->second);
  }
  auto routes = allRoutes(fabric, kMaxArcs);
  if (!routes) {
    topology.isPartial = true;
    const std::size_t pairs = static_cast<std::size_t>(topology.nodes) * static_cast<std::size_t>(topology.nodes);
    routes = shortestRoutes(fabric, std::clamp(kMaxArcs / pairs, std::size_t{1}, kMaxRoutesOfPair), kMaxArcs);
  }
  if (!routes) {
    return Error{ErrorCode::limit,
                 "The fabric has more than " + std::to_string(kMaxArcs) +
                     " pairs of GPUs that reach each other directly, too many to search",
                 "choose forestcoll, or keep fewer GPUs"};
  }
  std::vector<std::vector<int>> arcsOfLink(fabric.arcs().size());
  std::vector<bool> isUsed(fabric.arcs().size(), false);
  for (const Route& route : *routes) {
    LogicalArc arc{fabric.nodes()[fabric.arcs()[route.front()].tail].rank,
                   fabric.nodes()[fabric.arcs()[route.back()].head].rank,
                   {fabric.arcs()[route.front()].tail}};
    for (const int link : route) {
      arc.nodes.push_back(fabric.arcs()[link].head);
      arcsOfLink[link].push_back(static_cast<int>(topology.arcs.size()));
      isUsed[link] = true;
    }
    topology.arcs.push_back(std::move(arc));
  }
  topology.unit = choice.unit ? *choice.unit : defaultUnit(fabric, isUsed);
  if (!topology.unit.isPositive()) {
    return Error{ErrorCode::badUsage,
                 "The unit must be positive",
                 "give a bandwidth in GB/s",
                 {.element = {RefKind::option, "--unit"}}};
  }
  std::vector<Rational> perRound;
  for (std::size_t link = 0; link < fabric.arcs().size(); ++link) {
    const fabric::Arc& arc = fabric.arcs()[link];
    perRound.push_back(choice.isOneBandwidth ? Rational(1) : arc.bandwidth / topology.unit);
    if (isUsed[link] && perRound.back() < Rational(1)) {
      return Error{ErrorCode::badUsage,
                   "The unit of " + toFraction(topology.unit) + " GB/s is above the bandwidth of the link from " +
                       inQuotes(fabric.nodes()[arc.tail].id) + " to " + inQuotes(fabric.nodes()[arc.head].id) + ", " +
                       toFraction(arc.bandwidth) + " GB/s, so that no chunk fits into a round",
                   "give a unit of at most " + toFraction(arc.bandwidth) + " GB/s",
                   {.element = {RefKind::option, "--unit"}}};
    }
    topology.links.push_back({arc.tail, arc.head, perRound.back()});
  }
  topology.limits = limitsFrom(arcsOfLink, perRound);
  indexArcs(topology);
  return topology;
}

Rational rateOver(const Topology& topology, std::span<const int> arcs) {
  std::map<int, int> held;  // by limit, how many of the arcs
  for (const int arc : arcs) {
    for (const int limit : topology.limitsOf[arc]) {
      ++held[limit];
    }
  }
  Rational rate = 0;
  std::set<int> counted;
  for (const int arc : arcs) {
    const auto& limits = topology.limitsOf[arc];
    if (std::any_of(limits.begin(), limits.end(), [&](int limit) { return counted.contains(limit); })) {
      continue;
    }
    const int widest = *std::max_element(limits.begin(), limits.end(), [&](int a, int b) {
      return std::pair(held[a], topology.limits[b].perRound) < std::pair(held[b], topology.limits[a].perRound);
    });
    counted.insert(widest);
    rate += topology.limits[widest].perRound;
  }
  return rate;
}

std::vector<int> distancesFrom(const Topology& topology, const std::vector<bool>& flagged) {
  return breadthFirst(topology, flagged, true);
}

std::vector<int> distancesTo(const Topology& topology, const std::vector<bool>& flagged) {
  return breadthFirst(topology, flagged, false);
}

}  // namespace coppice::synth
