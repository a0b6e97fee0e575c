// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "bfb/bfb.hpp"
#include "bfb/class_flow.hpp"

namespace coppice::bfb {

/// The links into every node, self-loops left out, in the order of (head - tail) mod N: on circulants, tori and Cayley
/// graphs equal problems then look equal.
class InLinks {
public:
  explicit InLinks(const Digraph& digraph);

  [[nodiscard]] int nodeCount() const { return static_cast<int>(m_first.size()) - 1; }
  /// Indices into Digraph::links; position j is bit j of the masks at this node.
  [[nodiscard]] std::span<const int> linksInto(int node) const { return cut(m_links, m_first, node); }
  [[nodiscard]] std::span<const int> tailsInto(int node) const { return cut(m_tails, m_first, node); }
  [[nodiscard]] std::span<const std::int64_t> widthsInto(int node) const { return cut(m_widths, m_first, node); }
  /// Empty where the digraph has none.
  [[nodiscard]] std::span<const Rational> latenciesInto(int node) const {
    return m_latencies.empty() ? std::span<const Rational>() : cut(m_latencies, m_first, node);
  }
  /// The tails, each once.
  [[nodiscard]] std::span<const int> neighboursInto(int node) const {
    return cut(m_neighbours, m_firstNeighbour, node);
  }
  /// Words of a mask: enough for the node with the most links.
  [[nodiscard]] std::size_t words() const { return m_words; }

private:
  template <typename T>
  static std::span<const T> cut(const std::vector<T>& all, const std::vector<std::size_t>& first, int node) {
    const auto at = static_cast<std::size_t>(node);
    return std::span<const T>(all).subspan(first[at], first[at + 1] - first[at]);
  }

  std::vector<std::size_t> m_first;
  std::vector<int> m_links;
  std::vector<int> m_tails;
  std::vector<std::int64_t> m_widths;
  std::vector<Rational> m_latencies;
  std::vector<std::size_t> m_firstNeighbour;
  std::vector<int> m_neighbours;
  std::size_t m_words = 1;
};

/// All nodes by their distance to a target, each with the in-links of the target on which its shortest paths end:
/// backward breadth-first search, in which a node's mask is the union of those of its next nodes.
class Levels {
public:
  explicit Levels(const InLinks& in);

  /// False where some node has no path to the target: see unreached().
  bool find(int target);
  /// The target's eccentricity.
  [[nodiscard]] int count() const { return static_cast<int>(m_start.size()) - 2; }
  /// Nodes at distance t, 1 <= t <= count().
  [[nodiscard]] std::span<const int> nodes(int t) const {
    const auto at = static_cast<std::size_t>(t);
    return std::span<const int>(m_queue).subspan(m_start[at], m_start[at + 1] - m_start[at]);
  }
  [[nodiscard]] std::span<const Word> mask(int node) const {
    return std::span<const Word>(m_masks).subspan(static_cast<std::size_t>(node) * m_words, m_words);
  }
  /// To the target; -1 = no path.
  [[nodiscard]] int distance(int node) const { return m_distance[node]; }
  /// After find() returned false.
  [[nodiscard]] int unreached() const;

  /// The problem of a step: classes in ascending order of their masks. `classOf`, where given, gets the class of each
  /// of nodes(t).
  void group(int t, StepProblem& problem, std::vector<std::uint32_t>* classOf);

private:
  void reach(int node, int next);
  void groupByTable(std::span<const int> nodes, StepProblem& problem, std::vector<std::uint32_t>* classOf);
  void groupBySorting(std::span<const int> nodes, StepProblem& problem, std::vector<std::uint32_t>* classOf);

  const InLinks& m_in;
  std::size_t m_words;
  std::vector<int> m_distance;
  std::vector<Word> m_masks;
  std::vector<int> m_queue;
  std::vector<std::size_t> m_start;  ///< by distance, into m_queue
  int m_target = -1;
  std::vector<std::uint32_t> m_table;  ///< by mask, for few links: shards, then the class
  std::vector<Word> m_touched;
  std::vector<std::uint32_t> m_order;
};

/// The distinct problems, each solved once. Equal histograms on equal links are the same problem, wherever they occur.
class Problems {
public:
  /// Index of the problem.
  std::size_t add(const StepProblem& problem);
  [[nodiscard]] std::size_t size() const { return m_values.size(); }
  [[nodiscard]] const StepProblem& problem(std::size_t at) const { return m_problems[at]; }
  [[nodiscard]] const StepLoad& value(std::size_t at) const { return m_values[at]; }

private:
  void describe(const StepProblem& problem);

  std::unordered_map<std::string, std::size_t> m_known;
  std::vector<StepProblem> m_problems;
  std::vector<StepLoad> m_values;
  std::string m_key;
};

}  // namespace coppice::bfb
