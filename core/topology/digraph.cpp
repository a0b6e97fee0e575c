// SPDX-License-Identifier: Apache-2.0
#include "topology/digraph.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "topology/layout.hpp"

namespace coppice::topology {
namespace {

using std::size_t;

std::string gpuId(int node) {
  return "g" + std::to_string(node);
}

/// Nodes that `start` reaches.
std::vector<char> reached(const Digraph& graph, int start) {
  std::vector<char> isReached(static_cast<size_t>(graph.nodes), 0);
  std::vector<int> queue{start};
  isReached[static_cast<size_t>(start)] = 1;
  for (size_t at = 0; at < queue.size(); ++at) {
    for (const int next : graph.out(queue[at])) {
      if (isReached[static_cast<size_t>(next)] == 0) {
        isReached[static_cast<size_t>(next)] = 1;
        queue.push_back(next);
      }
    }
  }
  return isReached;
}

/// How many links lead from each node to each head, heads ascending.
std::vector<std::pair<int, int>> merged(std::span<const int> heads) {
  std::vector<int> sorted(heads.begin(), heads.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::pair<int, int>> result;
  for (const int head : sorted) {
    if (result.empty() || result.back().first != head) {
      result.emplace_back(head, 0);
    }
    ++result.back().second;
  }
  return result;
}

int multiplicity(const std::vector<std::pair<int, int>>& row, int head) {
  const auto it = std::lower_bound(row.begin(), row.end(), std::pair(head, 0));
  return it != row.end() && it->first == head ? it->second : 0;
}

std::vector<std::vector<std::pair<int, int>>> mergedRows(const Digraph& graph) {
  std::vector<std::vector<std::pair<int, int>>> rows;
  rows.reserve(static_cast<size_t>(graph.nodes));
  for (int v = 0; v < graph.nodes; ++v) {
    rows.push_back(merged(graph.out(v)));
  }
  return rows;
}

}  // namespace

Digraph transposed(const Digraph& graph) {
  Digraph result = graph;
  std::vector<int> next(static_cast<size_t>(graph.nodes), 0);
  for (int v = 0; v < graph.nodes; ++v) {
    for (const int head : graph.out(v)) {
      const int slot = next[static_cast<size_t>(head)]++;
      result.heads[static_cast<size_t>(head) * static_cast<size_t>(graph.degree) + static_cast<size_t>(slot)] = v;
    }
  }
  return result;
}

std::int64_t selfLoopCount(const Digraph& graph) {
  std::int64_t count = 0;
  for (int v = 0; v < graph.nodes; ++v) {
    const auto out = graph.out(v);
    count += std::count(out.begin(), out.end(), v);
  }
  return count;
}

bool isDuplex(const Digraph& graph) {
  const auto rows = mergedRows(graph);
  for (int v = 0; v < graph.nodes; ++v) {
    for (const auto& [head, count] : rows[static_cast<size_t>(v)]) {
      if (multiplicity(rows[static_cast<size_t>(head)], v) != count) {
        return false;
      }
    }
  }
  return true;
}

bool isSimple(const Digraph& graph) {
  for (int v = 0; v < graph.nodes; ++v) {
    const auto row = merged(graph.out(v));
    if (row.size() != static_cast<size_t>(graph.degree) || multiplicity(row, v) > 0) {
      return false;
    }
  }
  return true;
}

std::optional<std::pair<int, int>> unreachablePair(const Digraph& graph) {
  // A regular digraph is balanced, so what node 0 reaches also reaches node 0.
  const auto isReached = reached(graph, 0);
  const auto missing = std::find(isReached.begin(), isReached.end(), 0);
  if (missing == isReached.end()) {
    return std::nullopt;
  }
  return std::pair(0, static_cast<int>(missing - isReached.begin()));
}

Outcome checkSize(const std::string& name, std::int64_t nodes, std::int64_t degree) {
  if (nodes < 2) {
    return Error{ErrorCode::badUsage, name + " has fewer than two nodes, so there is nothing to send",
                 "choose two nodes or more"};
  }
  if (degree < 1) {
    return Error{ErrorCode::badUsage, name + " has no links", "choose a degree of 1 or more"};
  }
  if (nodes > kMaxNodes || degree > kMaxArcs / nodes) {
    return Error{
        ErrorCode::limit,
        name + " would have " + std::to_string(nodes) + " nodes with " + std::to_string(degree) + " links each",
        "choose at most " + std::to_string(kMaxNodes) + " nodes and " + std::to_string(kMaxArcs) + " links"};
  }
  return Done{};
}

Result<fabric::Description> describe(const Digraph& graph, Bandwidth perLink) {
  if (Outcome sized = checkSize(graph.name, graph.nodes, graph.degree); !sized) {
    return sized.error();
  }
  if (const auto pair = unreachablePair(graph)) {
    return Error{ErrorCode::infeasible,
                 graph.name + ": no path leads from " + gpuId(pair->first) + " to " + gpuId(pair->second),
                 "choose parameters that join all nodes"};
  }
  fabric::Description description;
  description.name = graph.name;
  const std::vector<fabric::Position> places = positions(graph);
  for (int v = 0; v < graph.nodes; ++v) {
    fabric::NodeDescription node;
    node.id = gpuId(v);
    node.rank = v;
    node.position = places[static_cast<size_t>(v)];
    description.nodes.push_back(std::move(node));
  }
  const auto rows = mergedRows(graph);
  const auto add = [&](int from, int to, int count, bool isDuplexLink) {
    if (count == 0) {
      return;
    }
    fabric::LinkDescription link;
    link.src = gpuId(from);
    link.dst = gpuId(to);
    link.bandwidth = toExactText(perLink);
    link.duplex = isDuplexLink;
    link.count = count;
    description.links.push_back(std::move(link));
  };
  for (int v = 0; v < graph.nodes; ++v) {
    for (const auto& [head, count] : rows[static_cast<size_t>(v)]) {
      if (head == v) {
        continue;
      }
      const int back = multiplicity(rows[static_cast<size_t>(head)], v);
      const int both = std::min(count, back);
      if (v < head) {
        add(v, head, both, true);
      }
      add(v, head, count - both, false);
    }
  }
  return description;
}

Result<FabricGraph> readFabric(const fabric::Fabric& fabric) {
  for (const fabric::Node& node : fabric.nodes()) {
    if (node.kind != fabric::NodeKind::gpu) {
      return Error{ErrorCode::badUsage, inQuotes(node.id) + " is not a GPU; only fabrics of GPUs alone are expanded",
                   "use a fabric whose GPUs are linked directly"};
    }
  }
  FabricGraph result;
  result.perLink = commonUnit(fabric.arcs(), &fabric::Arc::bandwidth);
  Digraph& graph = result.graph;
  graph.name = fabric.name();
  graph.nodes = fabric.gpuCount();
  std::vector<std::vector<int>> heads(static_cast<size_t>(graph.nodes));
  std::vector<std::int64_t> in(static_cast<size_t>(graph.nodes), 0);
  std::int64_t arcs = 0;
  for (const fabric::Arc& arc : fabric.arcs()) {
    const Rational count = arc.bandwidth / result.perLink;
    arcs = checkedAdd(arcs, count.numerator());
    if (arcs > kMaxArcs) {
      return Error{ErrorCode::limit,
                   "in unit links of " + toExactText(result.perLink) + " GB/s the fabric has more than " +
                       std::to_string(kMaxArcs) + " links",
                   "give links bandwidths that are small multiples of one another"};
    }
    const int tail = fabric.nodes()[static_cast<size_t>(arc.tail)].rank;
    const int head = fabric.nodes()[static_cast<size_t>(arc.head)].rank;
    heads[static_cast<size_t>(tail)].insert(heads[static_cast<size_t>(tail)].end(),
                                            static_cast<size_t>(count.numerator()), head);
    in[static_cast<size_t>(head)] += count.numerator();
  }
  graph.degree = static_cast<int>(heads.front().size());
  for (int v = 0; v < graph.nodes; ++v) {
    const auto at = static_cast<size_t>(v);
    if (heads[at].size() != static_cast<size_t>(graph.degree) || in[at] != graph.degree) {
      const std::string& id = fabric.nodes()[static_cast<size_t>(fabric.gpus()[at])].id;
      return Error{ErrorCode::badUsage,
                   inQuotes(id) + " has " + std::to_string(heads[at].size()) + " out-links and " +
                       std::to_string(in[at]) + " in-links of " + toExactText(result.perLink) + " GB/s, not " +
                       std::to_string(graph.degree) + " of each as the first GPU has out",
                   "use a fabric in which all GPUs have equally many links"};
    }
    graph.heads.insert(graph.heads.end(), heads[at].begin(), heads[at].end());
  }
  return result;
}

}  // namespace coppice::topology
