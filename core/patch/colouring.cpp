// SPDX-License-Identifier: Apache-2.0
#include "patch/colouring.hpp"

#include <algorithm>
#include <numeric>

#include "base/rows.hpp"
#include "flow/max_flow.hpp"

namespace coppice::patch {
namespace {

using std::size_t;
using Arc = std::pair<int, int>;

/// The chosen arcs out of or into every node.
Rows<size_t> arcsByNode(int nodes, const std::vector<size_t>& chosen, const std::vector<Arc>& arcs, int Arc::*node) {
  return Rows<size_t>(static_cast<size_t>(nodes), [&](const auto& add) {
    for (const size_t arc : chosen) {
      add(arcs[arc].*node, arc);
    }
  });
}

/// Perfect matching of a regular bipartite multigraph: an arc of every tail, heads distinct.
std::vector<size_t> matching(int nodes, const std::vector<size_t>& chosen, const std::vector<Arc>& arcs) {
  const int source = 2 * nodes;
  flow::MaxFlow flow(2 * nodes + 2);
  for (const size_t arc : chosen) {
    flow.addArc(arcs[arc].first, nodes + arcs[arc].second, 1);
  }
  for (int node = 0; node < nodes; ++node) {
    flow.addArc(source, node, 1);
    flow.addArc(nodes + node, source + 1, 1);
  }
  flow.run(source, source + 1);
  std::vector<size_t> matched;
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (flow.flow(static_cast<int>(i)) > 0) {
      matched.push_back(chosen[i]);
    }
  }
  return matched;
}

class Colouring {
public:
  Colouring(int nodes, std::vector<Arc> arcs) : m_nodes(nodes), m_arcs(std::move(arcs)), m_colours(m_arcs.size(), 0) {}

  /// @pre `chosen` is regular of this degree
  void colour(std::vector<size_t> chosen, int degree, int firstColour) {
    if (degree == 1) {
      for (const size_t arc : chosen) {
        m_colours[arc] = firstColour;
      }
      return;
    }
    if (degree % 2 == 1) {
      const std::vector<size_t> matched = matching(m_nodes, chosen, m_arcs);
      std::vector<char> isMatched(m_arcs.size(), 0);
      for (const size_t arc : matched) {
        isMatched[arc] = 1;
        m_colours[arc] = firstColour;
      }
      std::erase_if(chosen, [&](size_t arc) { return isMatched[arc] != 0; });
      colour(std::move(chosen), degree - 1, firstColour + 1);
      return;
    }
    auto [first, second] = split(chosen);
    colour(std::move(first), degree / 2, firstColour);
    colour(std::move(second), degree / 2, firstColour + degree / 2);
  }

  [[nodiscard]] const std::vector<int>& colours() const { return m_colours; }

private:
  /// Closed walks that take an arc forward and the next backward: every node gives half of its arcs to either part.
  std::pair<std::vector<size_t>, std::vector<size_t>> split(const std::vector<size_t>& chosen) const {
    const Rows<size_t> out = arcsByNode(m_nodes, chosen, m_arcs, &Arc::first);
    const Rows<size_t> in = arcsByNode(m_nodes, chosen, m_arcs, &Arc::second);
    std::vector<size_t> nextOut(static_cast<size_t>(m_nodes), 0);
    std::vector<size_t> nextIn(static_cast<size_t>(m_nodes), 0);
    std::vector<char> isUsed(m_arcs.size(), 0);
    const auto take = [&](const Rows<size_t>& side, std::vector<size_t>& next, int node) {
      const auto arcs = side[node];
      size_t& at = next[static_cast<size_t>(node)];
      while (at < arcs.size() && isUsed[arcs[at]] != 0) {
        ++at;
      }
      if (at == arcs.size()) {
        return static_cast<size_t>(-1);
      }
      isUsed[arcs[at]] = 1;
      return arcs[at];
    };
    std::pair<std::vector<size_t>, std::vector<size_t>> parts;
    for (int start = 0; start < m_nodes; ++start) {
      int tail = start;
      for (size_t forward = take(out, nextOut, tail); forward != static_cast<size_t>(-1);
           forward = take(out, nextOut, tail)) {
        parts.first.push_back(forward);
        const size_t backward = take(in, nextIn, m_arcs[forward].second);
        parts.second.push_back(backward);
        tail = m_arcs[backward].first;
      }
    }
    return parts;
  }

  int m_nodes;
  std::vector<Arc> m_arcs;
  std::vector<int> m_colours;
};

}  // namespace

int largestDegree(int nodes, std::span<const Arc> arcs) {
  std::vector<int> out(static_cast<size_t>(nodes), 0);
  std::vector<int> in(static_cast<size_t>(nodes), 0);
  int largest = 0;
  for (const auto& [tail, head] : arcs) {
    largest = std::max({largest, ++out[static_cast<size_t>(tail)], ++in[static_cast<size_t>(head)]});
  }
  return largest;
}

std::vector<int> colourArcs(int nodes, std::span<const Arc> arcs) {
  const int degree = largestDegree(nodes, arcs);
  if (degree == 0) {
    return {};
  }
  std::vector<Arc> padded(arcs.begin(), arcs.end());
  std::vector<int> out(static_cast<size_t>(nodes), degree);
  std::vector<int> in(static_cast<size_t>(nodes), degree);
  for (const auto& [tail, head] : arcs) {
    --out[static_cast<size_t>(tail)];
    --in[static_cast<size_t>(head)];
  }
  // Arcs that stand for unused ports make the graph regular.
  for (int tail = 0, head = 0; tail < nodes; ++tail) {
    while (out[static_cast<size_t>(tail)] > 0) {
      while (in[static_cast<size_t>(head)] == 0) {
        ++head;
      }
      padded.emplace_back(tail, head);
      --out[static_cast<size_t>(tail)];
      --in[static_cast<size_t>(head)];
    }
  }
  std::vector<size_t> all(padded.size());
  std::iota(all.begin(), all.end(), size_t{0});
  Colouring colouring(nodes, std::move(padded));
  colouring.colour(std::move(all), degree, 0);
  return {colouring.colours().begin(), colouring.colours().begin() + static_cast<std::ptrdiff_t>(arcs.size())};
}

std::vector<bool> eulerDirections(int nodes, std::span<const Arc> edges) {
  // A further node takes one edge from every node of odd degree.
  std::vector<Arc> all(edges.begin(), edges.end());
  std::vector<std::vector<size_t>> at(static_cast<size_t>(nodes) + 1);
  const auto add = [&](size_t edge) {
    at[static_cast<size_t>(all[edge].first)].push_back(edge);
    at[static_cast<size_t>(all[edge].second)].push_back(edge);
  };
  for (size_t edge = 0; edge < edges.size(); ++edge) {
    add(edge);
  }
  for (int node = 0; node < nodes; ++node) {
    if (at[static_cast<size_t>(node)].size() % 2 == 1) {
      all.emplace_back(node, nodes);
      add(all.size() - 1);
    }
  }
  std::vector<bool> isForward(all.size(), true);
  std::vector<char> isUsed(all.size(), 0);
  for (int start = 0; start <= nodes; ++start) {
    // A closed walk leaves every node as often as it enters it.
    int node = start;
    for (;;) {
      auto& list = at[static_cast<size_t>(node)];
      while (!list.empty() && isUsed[list.back()] != 0) {
        list.pop_back();
      }
      if (list.empty()) {
        break;
      }
      const size_t edge = list.back();
      isUsed[edge] = 1;
      isForward[edge] = all[edge].first == node;
      node = isForward[edge] ? all[edge].second : all[edge].first;
    }
  }
  isForward.resize(edges.size());
  return isForward;
}

}  // namespace coppice::patch
