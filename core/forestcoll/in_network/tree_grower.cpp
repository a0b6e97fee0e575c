// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/in_network/tree_grower.hpp"

#include <algorithm>
#include <utility>

namespace coppice::forestcoll {

double weightOf(const std::vector<std::pair<int, int>>& uses, const LinkWeights& weights) {
  double sum = 0;
  for (const auto& [link, times] : uses) {
    double next = weights.first[link];
    for (int i = 0; i < times; ++i) {
      sum += next;
      next = next * weights.factor[link] + weights.more[link];
    }
  }
  return sum;
}

TreeGrower::TreeGrower(const TreeGraph& graph) : m_gpuCount(graph.gpus.size()) {
  const auto count = static_cast<std::size_t>(graph.nodeCount);
  m_isGpu.assign(count, false);
  for (const int gpu : graph.gpus) {
    m_isGpu[gpu] = true;
  }
  m_neighbours.resize(count);
  m_label.resize(count);
}

void TreeGrower::addLink(int a, int b) {
  m_neighbours[a].push_back({b, m_linkCount});
  m_neighbours[b].push_back({a, m_linkCount});
  ++m_linkCount;
  m_times.push_back(0);
}

GrownTree TreeGrower::grow(const LinkWeights& weights, int root, double hop, const std::vector<bool>& mayBranch,
                           bool spansRelays) {
  std::fill(m_label.begin(), m_label.end(), Label());
  m_weights = &weights;
  m_next = weights.first;
  m_heap = {};
  GrownTree tree;
  tree.root = root;
  join(root, 0, hop);
  std::size_t missing = m_gpuCount - 1;
  if (spansRelays) {
    missing += static_cast<std::size_t>(std::count(mayBranch.begin(), mayBranch.end(), true));
  }
  while (missing > 0 && !m_heap.empty()) {
    const auto [distance, node] = m_heap.top();
    m_heap.pop();
    Label& label = m_label[node];
    ++work;
    if (distance > label.distance) {
      continue;
    }
    if (const double now = distanceOf(node); now > distance) {
      label.distance = now;
      m_heap.emplace(now, node);
      continue;
    }
    const bool isWanted = m_isGpu[node] || (spansRelays && mayBranch[node]);
    if (!label.isInTree && isWanted) {
      missing -= connect(node, hop, mayBranch, spansRelays, tree);
    } else {
      visitNeighbours(node, distance);
    }
  }
  dropBareRelays(tree);
  countUses(tree);
  return tree;
}

/// From the tree, with what the links of the way weigh now: the tree may pass some since the label was set.
double TreeGrower::distanceOf(int node) {
  double sum = 0;
  while (!m_label[node].isInTree) {
    sum += m_next[m_label[node].link];
    node = m_label[node].from;
    ++work;
  }
  return sum + m_label[node].distance;
}

/// Whether the way from the tree to a node leads through a relay: labels that relabel() left too low could close a
/// circle.
bool TreeGrower::leadsThrough(int node, int relay) const {
  if (m_isGpu[relay]) {
    return false;
  }
  while (node != relay && !m_label[node].isInTree) {
    node = m_label[node].from;
  }
  return node == relay;
}

void TreeGrower::visitNeighbours(int node, double distance) {
  for (const Neighbour& to : m_neighbours[node]) {
    Label& next = m_label[to.node];
    ++work;
    if (const double length = distance + m_next[to.link];
        !next.isInTree && length < next.distance && !leadsThrough(node, to.node)) {
      next.distance = length;
      next.from = node;
      next.link = to.link;
      m_heap.emplace(length, to.node);
    }
  }
}

void TreeGrower::join(int node, int depth, double hop) {
  Label& label = m_label[node];
  label.isInTree = true;
  label.depth = depth;
  label.distance = hop * depth;
  m_heap.emplace(label.distance, node);
}

/// The path to the node joins the tree, and what can branch on it. How many came in that were missing.
std::size_t TreeGrower::connect(int node, double hop, const std::vector<bool>& mayBranch, bool spansRelays,
                                GrownTree& tree) {
  std::vector<fabric::NodeIndex> path{node};
  while (!m_label[path.back()].isInTree) {
    const int link = m_label[path.back()].link;
    m_next[link] = m_next[link] * m_weights->factor[link] + m_weights->more[link];
    path.push_back(m_label[path.back()].from);
  }
  std::reverse(path.begin(), path.end());
  std::size_t start = 0;
  std::size_t wanted = 0;
  for (std::size_t i = 1; i < path.size(); ++i) {
    const int at = path[i];
    if (!m_isGpu[at] && !mayBranch[at]) {
      continue;
    }
    const int parent = path[start];
    tree.edges.push_back(
        {parent,
         at,
         {path.begin() + static_cast<std::ptrdiff_t>(start), path.begin() + static_cast<std::ptrdiff_t>(i) + 1}});
    wanted += m_isGpu[at] || spansRelays ? 1 : 0;
    join(at, m_label[parent].depth + (m_isGpu[at] ? 1 : 0), hop);
    start = i;
  }
  for (std::size_t i = 1; i < path.size(); ++i) {
    if (!m_label[path[i]].isInTree) {
      relabel(path[i]);
    }
  }
  return wanted;
}

/// The way from the tree to a relay that was passed may weigh more now. Labels behind it may be too low since; their
/// paths are sound.
void TreeGrower::relabel(int relay) {
  Label& label = m_label[relay];
  label.distance = std::numeric_limits<double>::infinity();
  for (const Neighbour& from : m_neighbours[relay]) {
    ++work;
    const Label& near = m_label[from.node];
    if (const double length = near.distance + m_next[from.link]; near.isInTree && length < label.distance) {
      label = {length, from.node, from.link, 0, false};
    }
  }
  m_heap.emplace(label.distance, relay);
}

/// Relays without children carry nothing.
void TreeGrower::dropBareRelays(GrownTree& tree) const {
  std::vector<int> children(m_label.size(), 0);
  for (const GrownTree::Edge& edge : tree.edges) {
    ++children[edge.parent];
  }
  std::vector<GrownTree::Edge> kept;
  for (auto edge = tree.edges.rbegin(); edge != tree.edges.rend(); ++edge) {
    if (m_isGpu[edge->child] || children[edge->child] > 0) {
      kept.push_back(std::move(*edge));
    } else {
      --children[edge->parent];
    }
  }
  std::reverse(kept.begin(), kept.end());
  tree.edges = std::move(kept);
}

void TreeGrower::countUses(GrownTree& tree) {
  std::fill(m_times.begin(), m_times.end(), 0);
  for (const GrownTree::Edge& edge : tree.edges) {
    for (std::size_t i = 1; i < edge.path.size(); ++i) {
      // From the end with fewer links.
      int at = edge.path[i - 1];
      int other = edge.path[i];
      if (m_neighbours[other].size() < m_neighbours[at].size()) {
        std::swap(at, other);
      }
      ++m_times[std::find_if(m_neighbours[at].begin(), m_neighbours[at].end(), [&](const Neighbour& neighbour) {
                  return neighbour.node == other;
                })->link];
    }
  }
  for (int link = 0; link < m_linkCount; ++link) {
    if (m_times[link] > 0) {
      tree.uses.emplace_back(link, m_times[link]);
    }
  }
}

}  // namespace coppice::forestcoll
