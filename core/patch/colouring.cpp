// SPDX-License-Identifier: Apache-2.0
#include "patch/colouring.hpp"

#include <algorithm>
#include <numeric>

namespace coppice::patch {
namespace {

using std::size_t;
using Arc = std::pair<int, int>;

/// Arcs by node: CSR.
class ByNode {
public:
  ByNode(int nodes, const std::vector<size_t>& chosen, const std::vector<Arc>& arcs, bool byTail)
      : m_first(static_cast<size_t>(nodes) + 1, 0), m_arcs(chosen.size()) {
    const auto nodeOf = [&](size_t arc) { return static_cast<size_t>(byTail ? arcs[arc].first : arcs[arc].second); };
    for (const size_t arc : chosen) {
      ++m_first[nodeOf(arc) + 1];
    }
    std::partial_sum(m_first.begin(), m_first.end(), m_first.begin());
    std::vector<size_t> next(m_first.begin(), m_first.end() - 1);
    for (const size_t arc : chosen) {
      m_arcs[next[nodeOf(arc)]++] = arc;
    }
  }

  [[nodiscard]] std::span<const size_t> of(int node) const {
    const auto at = static_cast<size_t>(node);
    return std::span<const size_t>(m_arcs).subspan(m_first[at], m_first[at + 1] - m_first[at]);
  }

private:
  std::vector<size_t> m_first;
  std::vector<size_t> m_arcs;
};

/// Perfect matching of a regular bipartite multigraph by Hopcroft and Karp: an arc of every tail, heads distinct.
class Matching {
public:
  Matching(int nodes, const std::vector<size_t>& chosen, const std::vector<Arc>& arcs)
      : m_nodes(nodes), m_arcs(arcs), m_out(nodes, chosen, arcs, true) {
    m_arcOfTail.assign(static_cast<size_t>(nodes), kNone);
    m_tailOfHead.assign(static_cast<size_t>(nodes), -1);
    while (layer()) {
      m_at.assign(static_cast<size_t>(nodes), 0);
      for (int tail = 0; tail < nodes; ++tail) {
        if (m_arcOfTail[static_cast<size_t>(tail)] == kNone) {
          augment(tail);
        }
      }
    }
  }

  [[nodiscard]] const std::vector<size_t>& arcs() const { return m_arcOfTail; }

private:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  /// Distances from free tails; false where no free head is reached.
  bool layer() {
    m_level.assign(static_cast<size_t>(m_nodes), -1);
    std::vector<int> queue;
    for (int tail = 0; tail < m_nodes; ++tail) {
      if (m_arcOfTail[static_cast<size_t>(tail)] == kNone) {
        m_level[static_cast<size_t>(tail)] = 0;
        queue.push_back(tail);
      }
    }
    bool isFound = false;
    for (size_t at = 0; at < queue.size(); ++at) {
      for (const size_t arc : m_out.of(queue[at])) {
        const int next = m_tailOfHead[static_cast<size_t>(m_arcs[arc].second)];
        if (next < 0) {
          isFound = true;
        } else if (m_level[static_cast<size_t>(next)] < 0) {
          m_level[static_cast<size_t>(next)] = m_level[static_cast<size_t>(queue[at])] + 1;
          queue.push_back(next);
        }
      }
    }
    return isFound;
  }

  /// Depth first without recursion, as paths may be as long as there are nodes.
  void augment(int start) {
    std::vector<int> path{start};
    while (!path.empty()) {
      const int tail = path.back();
      size_t& at = m_at[static_cast<size_t>(tail)];
      const auto out = m_out.of(tail);
      if (at == out.size()) {
        m_level[static_cast<size_t>(tail)] = -1;
        path.pop_back();
        if (!path.empty()) {
          ++m_at[static_cast<size_t>(path.back())];
        }
        continue;
      }
      const int next = m_tailOfHead[static_cast<size_t>(m_arcs[out[at]].second)];
      if (next < 0) {
        for (const int on : path) {
          const size_t arc = m_out.of(on)[m_at[static_cast<size_t>(on)]];
          m_arcOfTail[static_cast<size_t>(on)] = arc;
          m_tailOfHead[static_cast<size_t>(m_arcs[arc].second)] = on;
        }
        return;
      }
      if (m_level[static_cast<size_t>(next)] == m_level[static_cast<size_t>(tail)] + 1) {
        path.push_back(next);
      } else {
        ++at;
      }
    }
  }

  int m_nodes;
  const std::vector<Arc>& m_arcs;
  ByNode m_out;
  std::vector<size_t> m_arcOfTail;
  std::vector<int> m_tailOfHead;
  std::vector<int> m_level;
  std::vector<size_t> m_at;
};

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
      const std::vector<size_t> matched = Matching(m_nodes, chosen, m_arcs).arcs();
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
    const ByNode out(m_nodes, chosen, m_arcs, true);
    const ByNode in(m_nodes, chosen, m_arcs, false);
    std::vector<size_t> nextOut(static_cast<size_t>(m_nodes), 0);
    std::vector<size_t> nextIn(static_cast<size_t>(m_nodes), 0);
    std::vector<char> isUsed(m_arcs.size(), 0);
    const auto take = [&](const ByNode& side, std::vector<size_t>& next, int node) {
      const auto arcs = side.of(node);
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
