// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QByteArray>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "forestcoll/fixed_k.hpp"
#include "forestcoll/forestcoll.hpp"
#include "forestcoll/network.hpp"
#include "forestcoll/switch_removal.hpp"

/// The stages of ForestColl by themselves: what each of them gets, and what is true of what it returns.
namespace coppice::test {

/// What the stages get for an allgather at the optimum.
struct Posed {
  fabric::Fabric fabric;
  forestcoll::Network network;
  forestcoll::Optimum optimum;
  std::vector<std::int64_t> supply;
  std::vector<forestcoll::TreeArc> capacities;
};

inline Posed pose(const fabric::Description& description) {
  auto fabric = fabric::Fabric::build(description);
  if (!fabric) {
    qFatal("%s", describe(fabric.error()).c_str());
  }
  auto optimum = forestcoll::optimum(*fabric, {});
  if (!optimum) {
    qFatal("%s", describe(optimum.error()).c_str());
  }
  const std::vector<std::int64_t> demand(static_cast<std::size_t>(fabric->gpuCount()), 1);
  forestcoll::Network network = forestcoll::makeNetwork(*fabric, demand);
  std::vector<std::int64_t> supply = forestcoll::supplies(network, optimum->treesPerRoot);
  auto capacities = forestcoll::scaledArcs(network, optimum->scale * network.unit);
  return {std::move(*fabric), std::move(network), std::move(*optimum), std::move(supply), std::move(capacities)};
}

/// Every route is a walk of links from GPU to GPU, and all together fit the links. Empty = right.
inline QByteArray checkRoutes(const Posed& posed, const forestcoll::LogicalTopology& topology) {
  std::map<std::pair<int, int>, std::int64_t> left;
  for (const auto& arc : posed.capacities) {
    left[{arc.tail, arc.head}] = arc.capacity;
  }
  for (std::size_t i = 0; i < topology.atoms.size(); ++i) {
    const forestcoll::Atom& atom = topology.atoms[i];
    if (atom.capacity == 0) {
      continue;
    }
    const std::vector<int> route = forestcoll::route(topology.atoms, static_cast<int>(i));
    if (route.front() != atom.tail || route.back() != atom.head) {
      return "a route does not join the ends of its arc";
    }
    for (std::size_t hop = 0; hop + 1 < route.size(); ++hop) {
      const auto link = left.find({route[hop], route[hop + 1]});
      if (link == left.end()) {
        return "a route uses a link that does not exist";
      }
      link->second -= atom.capacity;
      if (link->second < 0) {
        return "the routes overload a link";
      }
    }
    for (const int end : {atom.tail, atom.head}) {
      if (posed.network.isGpu[end] == 0) {
        return "a switch is left";
      }
    }
  }
  return {};
}

}  // namespace coppice::test
