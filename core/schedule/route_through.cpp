// SPDX-License-Identifier: Apache-2.0
#include "schedule/route_through.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/rows.hpp"
#include "base/text.hpp"

namespace coppice::schedule {
namespace {

using fabric::Fabric;
using fabric::NodeIndex;
using Route = std::vector<NodeIndex>;

/// Flows of single units, each along a cheapest path of what the ones before have left (Suurballe, 1974).
class UnitFlows {
public:
  explicit UnitFlows(int nodeCount) : m_out(static_cast<std::size_t>(nodeCount)) {}

  void add(int tail, int head, int cost) {
    m_out[tail].push_back(static_cast<int>(m_arcs.size()));
    m_arcs.push_back({head, cost, true});
    m_out[head].push_back(static_cast<int>(m_arcs.size()));
    m_arcs.push_back({tail, -cost, false});
  }

  /// False where there is no further path.
  bool augment(int source, int sink) {
    std::vector<int> cost(m_out.size(), std::numeric_limits<int>::max());
    std::vector<int> via(m_out.size(), -1);
    std::vector<bool> isQueued(m_out.size(), false);
    std::deque<int> queue{source};
    cost[source] = 0;
    while (!queue.empty()) {
      const int node = queue.front();
      queue.pop_front();
      isQueued[node] = false;
      for (const int arc : m_out[node]) {
        const Arc& at = m_arcs[arc];
        if (at.isFree && cost[node] + at.cost < cost[at.head]) {
          cost[at.head] = cost[node] + at.cost;
          via[at.head] = arc;
          if (!isQueued[at.head]) {
            isQueued[at.head] = true;
            queue.push_back(at.head);
          }
        }
      }
    }
    if (via[sink] < 0) {
      return false;
    }
    for (int node = sink; node != source; node = m_arcs[via[node] ^ 1].head) {
      m_arcs[via[node]].isFree = false;
      m_arcs[via[node] ^ 1].isFree = true;
    }
    return true;
  }

  /// The nodes of one of the paths from a node on, which is taken out.
  std::vector<int> takePath(int source, int sink) {
    std::vector<int> path{source};
    while (path.back() != sink) {
      // Arcs that were added have even numbers.
      const auto used =
          std::ranges::find_if(m_out[path.back()], [&](int arc) { return arc % 2 == 0 && !m_arcs[arc].isFree; });
      m_arcs[*used].isFree = true;
      path.push_back(m_arcs[*used].head);
    }
    return path;
  }

private:
  struct Arc {
    int head = 0;
    int cost = 0;
    bool isFree = false;
  };
  std::vector<Arc> m_arcs;  ///< each beside its way back
  std::vector<std::vector<int>> m_out;
};

class ThroughSearch {
public:
  ThroughSearch(const Fabric& fabric, NodeIndex from, NodeIndex to, std::span<const NodeIndex> through)
      : m_fabric(fabric), m_from(from), m_to(to), m_through(through.begin(), through.end()) {}

  /// Empty where there is none. @param isSure that it is a shortest one, or that there is none
  Route run(bool& isSure) {
    isSure = true;
    const bool isAtEnd = m_through.size() == 1 && (m_through[0] == m_from || m_through[0] == m_to);
    if (!isAtEnd && std::ranges::any_of(m_through, [&](NodeIndex node) { return !isEnd(node) && !isRelay(node); })) {
      return {};
    }
    if (!isAtEnd) {
      Route route = byFlow();
      if (route.empty() || isRoute(route)) {
        return route;
      }
    }
    return byTrying(isSure);
  }

private:
  static constexpr int kMaxTried = 2'000'000;

  [[nodiscard]] bool isEnd(NodeIndex node) const { return node == m_from || node == m_to; }
  [[nodiscard]] bool isRelay(NodeIndex node) const { return m_fabric.nodes()[node].kind != fabric::NodeKind::gpu; }
  [[nodiscard]] bool isRoute(const Route& route) const {
    for (std::size_t i = 0; i + 1 < route.size(); ++i) {
      if (!m_fabric.findArc(route[i], route[i + 1])) {
        return false;
      }
    }
    return true;
  }

  /// Where links are taken to run both ways. Each node but the one that is passed has a way in and a way out, joined
  /// once.
  [[nodiscard]] Route byFlow() const {
    const int nodes = m_fabric.nodeCount();
    const int source = 2 * nodes;
    const int sink = source + 1;
    UnitFlows flows(sink + 1);
    const bool isLink = m_through.size() > 1;
    const auto isPassed = [&](NodeIndex node) { return !isLink && node == m_through[0]; };
    const auto in = [](NodeIndex node) { return 2 * node; };
    const auto out = [&](NodeIndex node) { return isPassed(node) ? source : 2 * node + 1; };
    for (NodeIndex node = 0; node < nodes; ++node) {
      if (isRelay(node) && !isPassed(node)) {
        flows.add(in(node), out(node), 0);
      }
    }
    flows.add(in(m_from), sink, 0);
    flows.add(in(m_to), sink, 0);
    for (const NodeIndex end : m_through) {
      if (isLink) {
        flows.add(source, in(end), 0);
      }
    }
    for (const fabric::Arc& arc : m_fabric.arcs()) {
      const auto add = [&](NodeIndex tail, NodeIndex head) {
        if (isRelay(tail) && !isPassed(head) && (isRelay(head) || isEnd(head))) {
          flows.add(out(tail), in(head), 1);
        }
      };
      add(arc.tail, arc.head);
      if (!m_fabric.findArc(arc.head, arc.tail)) {
        add(arc.head, arc.tail);
      }
    }
    if (!flows.augment(source, sink) || !flows.augment(source, sink)) {
      return {};
    }
    Route toFrom;
    Route toTo;
    for (int i = 0; i < 2; ++i) {
      const std::vector<int> path = flows.takePath(source, sink);
      Route nodesOf;
      for (const int node : path) {
        if (node == source && !isLink) {
          nodesOf.push_back(m_through[0]);
        } else if (node < source && node % 2 == 0) {
          nodesOf.push_back(node / 2);
        }
      }
      (nodesOf.back() == m_from ? toFrom : toTo) = std::move(nodesOf);
    }
    std::ranges::reverse(toFrom);
    toFrom.insert(toFrom.end(), toTo.begin() + (isLink ? 0 : 1), toTo.end());
    return toFrom;
  }

  /// All routes, the shortest first.
  Route byTrying(bool& isSure) {
    m_arcsOut = numbersByRow(m_fabric.nodeCount(), m_fabric.arcs(), &fabric::Arc::tail);
    const std::vector<int> left = linksTo(m_to);
    if (left[m_from] < 0) {
      return {};
    }
    const auto relays = static_cast<int>(
        std::ranges::count_if(m_fabric.nodes(), [](const auto& node) { return node.kind != fabric::NodeKind::gpu; }));
    std::vector<bool> isUsed(static_cast<std::size_t>(m_fabric.nodeCount()), false);
    int tried = 0;
    for (int length = left[m_from]; length <= relays + 1; ++length) {
      Route route{m_from};
      isUsed[m_from] = true;
      if (extend(route, isUsed, left, length, tried)) {
        return route;
      }
      isUsed[m_from] = false;
      if (tried > kMaxTried) {
        isSure = false;
        return {};
      }
    }
    return {};
  }

  /// By node: links to it, through relays; -1 = there is no way.
  [[nodiscard]] std::vector<int> linksTo(NodeIndex end) const {
    const auto arcsIn = numbersByRow(m_fabric.nodeCount(), m_fabric.arcs(), &fabric::Arc::head);
    std::vector<int> links(static_cast<std::size_t>(m_fabric.nodeCount()), -1);
    links[end] = 0;
    std::vector<NodeIndex> queue{end};
    for (std::size_t i = 0; i < queue.size(); ++i) {
      for (const std::int32_t arc : arcsIn[queue[i]]) {
        const NodeIndex tail = m_fabric.arcs()[arc].tail;
        if (links[tail] < 0) {
          links[tail] = links[queue[i]] + 1;
          if (isRelay(tail)) {
            queue.push_back(tail);
          }
        }
      }
    }
    return links;
  }

  [[nodiscard]] bool passes(const Route& route) const {
    const auto first = std::ranges::find(route, m_through[0]);
    if (m_through.size() == 1 || first == route.end()) {
      return first != route.end();
    }
    return (first != route.begin() && *(first - 1) == m_through[1]) ||
           (first + 1 != route.end() && *(first + 1) == m_through[1]);
  }

  bool extend(Route& route, std::vector<bool>& isUsed, const std::vector<int>& left, int length, int& tried) {
    if (route.back() == m_to) {
      return length == 0 && passes(route);
    }
    for (const std::int32_t arc : m_arcsOut[route.back()]) {
      const NodeIndex next = m_fabric.arcs()[arc].head;
      if (isUsed[next] || left[next] < 0 || left[next] > length - 1 || (!isRelay(next) && next != m_to)) {
        continue;
      }
      if (++tried > kMaxTried) {
        return false;
      }
      route.push_back(next);
      isUsed[next] = true;
      if (extend(route, isUsed, left, length - 1, tried)) {
        return true;
      }
      isUsed[next] = false;
      route.pop_back();
    }
    return false;
  }

  const Fabric& m_fabric;
  NodeIndex m_from;
  NodeIndex m_to;
  Route m_through;
  Rows<std::int32_t> m_arcsOut;  ///< by tail, into Fabric::arcs()
};

}  // namespace

Result<std::vector<NodeIndex>> routeThrough(const Fabric& fabric, NodeIndex from, NodeIndex to,
                                            std::span<const NodeIndex> through) {
  bool isSure = false;
  Route route = ThroughSearch(fabric, from, to, through).run(isSure);
  if (route.empty()) {
    const auto named = [&](NodeIndex node) { return inQuotes(fabric.nodes()[node].id); };
    const std::string what =
        named(through.front()) + (through.size() > 1 ? " and " + named(through.back()) : std::string());
    if (!isSure) {
      return Error{ErrorCode::limit,
                   "no route from " + named(from) + " to " + named(to) + " through " + what +
                       " was found, and one-way links leave too many to try them all",
                   "choose a switch or a link nearer to the two"};
    }
    return Error{ErrorCode::infeasible,
                 "no route from " + named(from) + " to " + named(to) + " leads through " + what +
                     " without other GPUs and without passing a node twice",
                 "choose a switch or a link between the two"};
  }
  return route;
}

}  // namespace coppice::schedule
