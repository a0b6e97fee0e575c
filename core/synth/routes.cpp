// SPDX-License-Identifier: Apache-2.0
#include "synth/routes.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

namespace coppice::synth {
namespace {

using fabric::NodeIndex;
using fabric::NodeKind;

/// Nodes that the search for all simple paths may visit.
constexpr std::int64_t kMaxVisits = 30'000'000;

struct TooMany {};
/// Collects the routes that start at one GPU.
class RouteSearch {
public:
  RouteSearch(const fabric::Fabric& fabric, std::size_t room) : m_fabric(fabric), m_room(room) {
    m_out.resize(fabric.nodeCount());
    for (int arc = 0; arc < static_cast<int>(fabric.arcs().size()); ++arc) {
      m_out[fabric.arcs()[arc].tail].push_back(arc);
    }
    m_isOn.assign(fabric.nodeCount(), false);
  }

  /// By the receiving node. Throws TooMany.
  std::map<NodeIndex, std::vector<Route>> from(NodeIndex gpu) {
    m_found.clear();
    m_count = 0;
    walk(gpu);
    return std::move(m_found);
  }

private:
  void walk(NodeIndex node) {
    if (++m_visits > kMaxVisits) {
      throw TooMany{};
    }
    m_isOn[node] = true;
    for (const int arc : m_out[node]) {
      const NodeIndex next = m_fabric.arcs()[arc].head;
      if (m_isOn[next]) {
        continue;
      }
      m_route.push_back(arc);
      if (m_fabric.nodes()[next].kind == NodeKind::gpu) {
        if (++m_count > m_room) {
          throw TooMany{};
        }
        m_found[next].push_back(m_route);
      } else {
        walk(next);
      }
      m_route.pop_back();
    }
    m_isOn[node] = false;
  }

  const fabric::Fabric& m_fabric;
  std::size_t m_room;
  std::size_t m_count = 0;
  std::int64_t m_visits = 0;
  std::vector<std::vector<int>> m_out;
  std::vector<bool> m_isOn;
  Route m_route;
  std::map<NodeIndex, std::vector<Route>> m_found;
};

/// Drops a route where another uses only a part of its links.
void dropDominated(std::vector<Route>& routes) {
  std::stable_sort(routes.begin(), routes.end(), [](const Route& a, const Route& b) { return a.size() < b.size(); });
  std::vector<std::vector<int>> kept;
  std::vector<Route> result;
  for (const Route& route : routes) {
    std::vector<int> sorted = route;
    std::sort(sorted.begin(), sorted.end());
    const bool isDominated = std::any_of(kept.begin(), kept.end(), [&](const std::vector<int>& other) {
      return std::includes(sorted.begin(), sorted.end(), other.begin(), other.end());
    });
    if (!isDominated) {
      kept.push_back(std::move(sorted));
      result.push_back(route);
    }
  }
  routes = std::move(result);
}

/// The routes of fewest links from one GPU.
class ShortestRoutes {
public:
  ShortestRoutes(const fabric::Fabric& fabric, NodeIndex gpu)
      : m_fabric(fabric), m_distance(fabric.nodeCount(), -1), m_into(fabric.nodeCount()) {
    std::vector<std::vector<int>> out(fabric.nodeCount());
    for (int arc = 0; arc < static_cast<int>(fabric.arcs().size()); ++arc) {
      out[fabric.arcs()[arc].tail].push_back(arc);
    }
    std::vector<NodeIndex> queue{gpu};
    m_distance[gpu] = 0;
    for (std::size_t head = 0; head < queue.size(); ++head) {
      const NodeIndex node = queue[head];
      if (node != gpu && fabric.nodes()[node].kind == NodeKind::gpu) {
        continue;
      }
      for (const int arc : out[node]) {
        const NodeIndex next = fabric.arcs()[arc].head;
        if (m_distance[next] < 0) {
          m_distance[next] = m_distance[node] + 1;
          queue.push_back(next);
        }
        if (m_distance[next] == m_distance[node] + 1) {
          m_into[next].push_back(arc);
        }
      }
    }
  }

  [[nodiscard]] bool reaches(NodeIndex node) const { return m_distance[node] > 0; }

  /// Different numbers choose different links where there is a choice.
  [[nodiscard]] Route route(NodeIndex to, std::size_t number) const {
    Route route;
    for (NodeIndex node = to; m_distance[node] > 0; node = m_fabric.arcs()[route.back()].tail) {
      const auto& into = m_into[node];
      route.push_back(into[number % into.size()]);
      number /= into.size();
    }
    std::reverse(route.begin(), route.end());
    return route;
  }

private:
  const fabric::Fabric& m_fabric;
  std::vector<int> m_distance;
  std::vector<std::vector<int>> m_into;
};

}  // namespace

std::optional<std::vector<Route>> allRoutes(const fabric::Fabric& fabric, std::size_t max) {
  std::vector<Route> all;
  try {
    RouteSearch search(fabric, max);
    for (const NodeIndex gpu : fabric.gpus()) {
      for (auto& [receiver, routes] : search.from(gpu)) {
        dropDominated(routes);
        std::move(routes.begin(), routes.end(), std::back_inserter(all));
        if (all.size() > max) {
          return std::nullopt;
        }
      }
    }
  } catch (const TooMany&) {
    return std::nullopt;
  }
  return all;
}

std::optional<std::vector<Route>> shortestRoutes(const fabric::Fabric& fabric, std::size_t max, std::size_t inAll) {
  std::vector<Route> all;
  for (std::size_t rank = 0; rank < fabric.gpus().size(); ++rank) {
    const ShortestRoutes search(fabric, fabric.gpus()[rank]);
    for (std::size_t other = 0; other < fabric.gpus().size(); ++other) {
      if (other == rank || !search.reaches(fabric.gpus()[other])) {
        continue;
      }
      std::vector<Route> routes;
      for (std::size_t number = 0; number < max; ++number) {
        Route route = search.route(fabric.gpus()[other], rank + other + number);
        if (std::find(routes.begin(), routes.end(), route) == routes.end()) {
          routes.push_back(std::move(route));
        }
      }
      // In one order for all pairs, so that symmetries are found.
      std::sort(routes.begin(), routes.end());
      std::move(routes.begin(), routes.end(), std::back_inserter(all));
      if (all.size() > inAll) {
        return std::nullopt;
      }
    }
  }
  return all;
}

}  // namespace coppice::synth
