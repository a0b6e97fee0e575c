// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "base/checked.hpp"
#include "base/rational.hpp"
#include "base/rows.hpp"
#include "baselines/builder.hpp"

/// MultiTree (Huang et al., ISCA 2021): one tree from every GPU, all grown together. In each step the trees take turns;
/// a tree gains the nearest GPU that free links reach from the GPUs which it had when the step began. A link carries as
/// many shards in a step as its bandwidth holds that of the narrowest link.
namespace coppice::baselines {
namespace {

using fabric::NodeIndex;
using fabric::Rank;

struct TreeHop {
  int step = 0;
  Rank root = 0;
  Rank from = 0;
  Rank to = 0;
  std::vector<NodeIndex> nodes;
};

class MultiTree {
public:
  /// `fabric` is the one on which data flow from the roots.
  explicit MultiTree(const fabric::Fabric& fabric, const Progress& progress)
      : m_fabric(fabric),
        m_progress(progress),
        m_firstArc(rowStarts(fabric.nodeCount(), fabric.arcs(), &fabric::Arc::tail)) {
    Rational narrowest = fabric.arcs().front().bandwidth.gigabytesPerSecond();
    for (const fabric::Arc& arc : fabric.arcs()) {
      narrowest = std::min(narrowest, arc.bandwidth.gigabytesPerSecond());
    }
    for (const fabric::Arc& arc : fabric.arcs()) {
      m_width.push_back((arc.bandwidth.gigabytesPerSecond() / narrowest).floor());
    }
  }

  std::vector<TreeHop> run() {
    const int n = m_fabric.gpuCount();
    m_since.assign(n, std::vector<int>(n, -1));
    std::vector<int> missing(n, n - 1);
    for (Rank root = 0; root < n; ++root) {
      m_since[root][root] = 0;
    }
    for (int step = 0; std::any_of(missing.begin(), missing.end(), [](int m) { return m > 0; }); ++step) {
      m_free = m_width;
      bool isGrowing = true;
      while (isGrowing) {
        isGrowing = false;
        for (int turn = 0; turn < n; ++turn) {
          throwIfCancelled(m_progress);
          const Rank root = (turn + step) % n;  // rotates, so that no tree is always the last
          if (missing[root] > 0 && grow(root, step)) {
            --missing[root];
            isGrowing = true;
          }
        }
      }
      const auto left = static_cast<double>(std::count_if(missing.begin(), missing.end(), [](int m) { return m > 0; }));
      m_progress.report("growing trees", 1 - left / n);
    }
    return std::move(m_hops);
  }

private:
  /// One hop to the nearest GPU outside of the tree over free links; breadth first from the tree's GPUs.
  bool grow(Rank root, int step) {
    std::vector<int>& since = m_since[root];
    m_parent.assign(m_fabric.nodeCount(), -1);
    m_queue.clear();
    for (Rank rank = 0; rank < m_fabric.gpuCount(); ++rank) {
      if (since[rank] >= 0 && since[rank] <= step) {
        const NodeIndex node = m_fabric.gpus()[rank];
        m_parent[node] = node;
        m_queue.push_back(node);
      }
    }
    const std::size_t starts = m_queue.size();
    for (std::size_t head = 0; head < m_queue.size(); ++head) {
      const NodeIndex node = m_queue[head];
      const fabric::Node& description = m_fabric.nodes()[node];
      if (head >= starts && description.kind == fabric::NodeKind::gpu) {
        if (since[description.rank] < 0) {
          take(root, step, node);
          since[description.rank] = step + 1;
          return true;
        }
        continue;
      }
      for (auto arc = m_firstArc[node]; arc < m_firstArc[node + 1]; ++arc) {
        const NodeIndex next = m_fabric.arcs()[arc].head;
        if (m_free[arc] > 0 && m_parent[next] < 0) {
          m_parent[next] = node;
          m_queue.push_back(next);
        }
      }
    }
    return false;
  }

  void take(Rank root, int step, NodeIndex target) {
    TreeHop hop{step, root, 0, m_fabric.nodes()[target].rank, {target}};
    while (m_parent[hop.nodes.back()] != hop.nodes.back()) {
      const NodeIndex head = hop.nodes.back();
      const NodeIndex tail = m_parent[head];
      --m_free[*m_fabric.findArc(tail, head)];
      hop.nodes.push_back(tail);
    }
    std::reverse(hop.nodes.begin(), hop.nodes.end());
    hop.from = m_fabric.nodes()[hop.nodes.front()].rank;
    m_hops.push_back(std::move(hop));
  }

  const fabric::Fabric& m_fabric;
  const Progress& m_progress;
  std::vector<std::int32_t> m_firstArc;   ///< by node
  std::vector<std::int64_t> m_width;      ///< by arc: shards per step
  std::vector<std::int64_t> m_free;       ///< by arc: of m_width, in this step
  std::vector<std::vector<int>> m_since;  ///< by root and rank: the first step in which it can send; -1 = not in yet
  std::vector<NodeIndex> m_parent;
  std::vector<NodeIndex> m_queue;
  std::vector<TreeHop> m_hops;
};

}  // namespace

void addMultiTree(Builder& builder) {
  const Collective collective = builder.collective();
  const bool isAllreduce = collective == Collective::allreduce;
  if (isAllreduce) {
    builder.setDenominator(builder.ranks());
  }
  const auto send = [&](int step, const TreeHop& hop, Rank from, Rank to, bool isReduction) {
    const std::int64_t first = isAllreduce ? hop.root : 0;
    builder.send(step, isAllreduce ? 0 : hop.root, first, isAllreduce ? first + 1 : builder.denominator(), from, to,
                 builder.addRoute(hop.nodes), isReduction);
  };
  int steps = 0;
  if (collective != Collective::allgather) {
    // The trees of the transposed fabric, played backwards.
    auto hops = MultiTree(builder.fabric().transposed(), builder.progress()).run();
    steps = hops.back().step + 1;
    for (TreeHop& hop : hops) {
      std::reverse(hop.nodes.begin(), hop.nodes.end());
      send(steps - 1 - hop.step, hop, hop.to, hop.from, true);
    }
  }
  if (collective != Collective::reduceScatter) {
    for (const TreeHop& hop : MultiTree(builder.fabric(), builder.progress()).run()) {
      send(steps + hop.step, hop, hop.from, hop.to, false);
    }
  }
}

}  // namespace coppice::baselines
