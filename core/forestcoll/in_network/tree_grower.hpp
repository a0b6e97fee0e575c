// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "fabric/fabric.hpp"
#include "forestcoll/in_network/tree_mixture.hpp"

namespace coppice::forestcoll {

/// A tree over all GPUs. `path` leads from the parent to the child and holds both.
struct GrownTree {
  struct Edge {
    int parent = 0;
    int child = 0;
    std::vector<fabric::NodeIndex> path;
  };
  int root = 0;
  std::vector<Edge> edges;                ///< parents before children
  std::vector<std::pair<int, int>> uses;  ///< links in ascending order, and how often the tree passes them
};

/// What links weigh, by link, >= 0: `first` when a tree passes a link for the first time; each further time as much as
/// the last time, times `factor`, and `more`.
struct LinkWeights {
  explicit LinkWeights(std::size_t links) : first(links, 0), factor(links, 1), more(links, 0) {}

  std::vector<double> first;
  std::vector<double> factor;
  std::vector<double> more;
};
/// What a tree weighs that passes the links so often.
[[nodiscard]] double weightOf(const std::vector<std::pair<int, int>>& uses, const LinkWeights& weights);

/// Grows trees along cheapest paths (Takahashi and Matsuyama, Math. Japonica 24 (1980)).
class TreeGrower {
public:
  explicit TreeGrower(const TreeGraph& graph);
  /// Links have the numbers 0, 1, 2, ...
  void addLink(int a, int b);

  /// Joins the nearest GPU again and again, over paths from the tree through relays.
  /// @param hop weight of a GPU between a node and the root: keeps trees low
  /// @param mayBranch by node: relays at which the tree may branch
  /// @param spansRelays reaches all of these, like GPUs: then, without plain relays, no tree of that kind weighs less
  [[nodiscard]] GrownTree grow(const LinkWeights& weights, int root, double hop, const std::vector<bool>& mayBranch,
                               bool spansRelays);

  std::size_t work = 0;  ///< numbers touched until now

private:
  struct Neighbour {
    int node = 0;
    int link = 0;
  };
  struct Label {
    double distance = std::numeric_limits<double>::infinity();
    int from = -1;
    int link = -1;  ///< from there
    int depth = 0;
    bool isInTree = false;
  };
  struct Farther {
    bool operator()(const std::pair<double, int>& a, const std::pair<double, int>& b) const { return a > b; }
  };

  [[nodiscard]] double distanceOf(int node);
  [[nodiscard]] bool leadsThrough(int node, int relay) const;
  void visitNeighbours(int node, double distance);
  void join(int node, int depth, double hop);
  std::size_t connect(int node, double hop, const std::vector<bool>& mayBranch, bool spansRelays, GrownTree& tree);
  void relabel(int relay);
  void dropBareRelays(GrownTree& tree) const;
  void countUses(GrownTree& tree);

  std::vector<bool> m_isGpu;
  std::size_t m_gpuCount = 0;
  int m_linkCount = 0;
  std::vector<std::vector<Neighbour>> m_neighbours;
  std::vector<Label> m_label;
  const LinkWeights* m_weights = nullptr;
  std::vector<int> m_times;    ///< by link: how often the tree passes it
  std::vector<double> m_next;  ///< by link: what it weighs when the tree passes it once more
  std::priority_queue<std::pair<double, int>, std::vector<std::pair<double, int>>, Farther> m_heap;
};

}  // namespace coppice::forestcoll
