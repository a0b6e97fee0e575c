// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/repair/kept_trees.hpp"

#include <algorithm>
#include <utility>

#include "base/checked.hpp"
#include "schedule/arc_finder.hpp"

namespace coppice::forestcoll {
namespace {

using fabric::Fabric;
using fabric::NodeIndex;
using fabric::Rank;
using schedule::Forest;
using schedule::TreeEdge;
using std::int64_t;

std::vector<NodeIndex> nodesInOther(const Fabric& fabric, const Fabric& other) {
  std::vector<NodeIndex> nodes;
  nodes.reserve(fabric.nodes().size());
  for (const fabric::Node& node : fabric.nodes()) {
    const auto found = other.find(node.id);
    nodes.push_back(found && other.nodes()[*found].kind == node.kind ? *found : -1);
  }
  return nodes;
}

/// The routes of the old forest on the changed fabric.
class Routes {
public:
  Routes(const Forest& old, std::span<const NodeIndex> nodes, const Fabric& after)
      : m_old(old), m_nodes(nodes), m_arcFinder(after, schedule::Direction::out), m_known(old.paths.size()) {}

  /// The route's number among those of the changed fabric; -1 = it is broken.
  schedule::PathId numberOf(schedule::PathId path, schedule::PathPool& paths) {
    Known& known = m_known[path];
    if (!known.isRead) {
      known.isRead = true;
      read(path, known, paths);
    }
    return known.path;
  }
  [[nodiscard]] std::span<const std::int32_t> arcsOf(schedule::PathId path) const {
    const Known& known = m_known[path];
    return {m_arcs.data() + known.firstArc, static_cast<std::size_t>(known.arcs)};
  }

private:
  struct Known {
    bool isRead = false;
    schedule::PathId path = -1;
    std::size_t firstArc = 0;
    int arcs = 0;
  };

  void read(schedule::PathId path, Known& known, schedule::PathPool& paths) {
    std::vector<NodeIndex> route;
    for (const NodeIndex node : m_old.paths[path]) {
      route.push_back(m_nodes[node]);
    }
    known.firstArc = m_arcs.size();
    for (std::size_t i = 0; i + 1 < route.size(); ++i) {
      const std::int32_t arc =
          route[i] < 0 || route[i + 1] < 0 ? schedule::kNoArc : m_arcFinder.find(route[i], route[i + 1]);
      if (arc == schedule::kNoArc) {
        m_arcs.resize(known.firstArc);
        return;
      }
      m_arcs.push_back(arc);
    }
    known.arcs = static_cast<int>(m_arcs.size() - known.firstArc);
    known.path = paths.add(route);
  }

  const Forest& m_old;
  std::span<const NodeIndex> m_nodes;
  schedule::ArcFinder m_arcFinder;
  std::vector<Known> m_known;
  std::vector<std::int32_t> m_arcs;
};

/// Equal arcs of one tree become one use.
void addUses(std::int32_t tree, std::vector<std::int32_t>& arcs, std::vector<KeptTrees::Use>& uses) {
  std::sort(arcs.begin(), arcs.end());
  for (std::size_t i = 0; i < arcs.size();) {
    const std::size_t first = i;
    while (i < arcs.size() && arcs[i] == arcs[first]) {
      ++i;
    }
    uses.push_back({tree, arcs[first], static_cast<std::int32_t>(i - first)});
  }
  arcs.clear();
}

}  // namespace

KeptTrees::KeptTrees(const Fabric& before, const Forest& old, const Fabric& after)
    : m_gpuCount(after.gpuCount()),
      m_load(after.arcs().size(), 0),
      m_lost(static_cast<std::size_t>(after.gpuCount()), 0) {
  addTrees(before, old, after);
  releaseLostBandwidth(before, old, after);
}

void KeptTrees::addTrees(const Fabric& before, const Forest& old, const Fabric& after) {
  const std::vector<NodeIndex> nodes = nodesInOther(before, after);
  std::vector<Rank> ranks;
  for (const NodeIndex gpu : before.gpus()) {
    ranks.push_back(nodes[gpu] < 0 ? -1 : after.nodes()[nodes[gpu]].rank);
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank] >= 0) {
      m_lost[ranks[rank]] = old.treesOfRoot[rank];
      m_allCopies = checkedAdd(m_allCopies, old.treesOfRoot[rank]);
    }
  }
  m_lostCopies = m_allCopies;
  Routes routes(old, nodes, after);
  std::vector<Use> uses;
  std::vector<std::int32_t> arcs;
  for (std::size_t i = 0; i < old.trees.size(); ++i) {
    const schedule::Tree& tree = old.trees[i];
    if (ranks[tree.root] < 0) {
      continue;
    }
    const auto firstEdge = static_cast<int64_t>(m_edges.size());
    bool isWhole = true;
    for (const TreeEdge& edge : old.edgesOf(tree)) {
      if (ranks[edge.child] < 0) {
        continue;  // cut off; where a GPU below it is left, the edge to that one is broken
      }
      const schedule::PathId path = ranks[edge.parent] < 0 ? -1 : routes.numberOf(edge.path, m_paths);
      isWhole = path >= 0;
      if (!isWhole) {
        break;
      }
      m_edges.push_back({ranks[edge.parent], ranks[edge.child], path, 0});
      const auto ofEdge = routes.arcsOf(edge.path);
      arcs.insert(arcs.end(), ofEdge.begin(), ofEdge.end());
    }
    if (!isWhole) {
      m_edges.resize(static_cast<std::size_t>(firstEdge));
      arcs.clear();
      continue;
    }
    addUses(static_cast<std::int32_t>(m_trees.size()), arcs, uses);
    m_trees.push_back({ranks[tree.root], tree.multiplicity, static_cast<int64_t>(i), firstEdge});
    m_lost[ranks[tree.root]] -= tree.multiplicity;
    m_lostCopies -= tree.multiplicity;
  }
  countUses(uses, after.arcs().size());
}

void KeptTrees::countUses(const std::vector<Use>& uses, std::size_t arcs) {
  m_usesByTree.assign(m_trees.size(), [&](const auto& add) {
    for (const Use& use : uses) {
      add(use.tree, use);
    }
  });
  m_usesByArc.assign(arcs, [&](const auto& add) {
    for (const Use& use : uses) {
      add(use.arc, use);
    }
  });
  for (const Use& use : uses) {
    m_load[use.arc] = checkedAdd(m_load[use.arc], checkedMul<int64_t>(m_trees[use.tree].copies, use.times));
  }
}

void KeptTrees::releaseLostBandwidth(const Fabric& before, const Forest& old, const Fabric& after) {
  for (std::size_t i = 0; i < after.arcs().size(); ++i) {
    const fabric::Arc& arc = after.arcs()[i];
    const auto tail = before.find(after.nodes()[arc.tail].id);
    const auto head = before.find(after.nodes()[arc.head].id);
    const auto was = tail && head ? before.findArc(*tail, *head) : std::nullopt;
    if (!was || before.arcs()[*was].bandwidth <= arc.bandwidth) {
      continue;
    }
    const int64_t left = (old.scale * arc.bandwidth).floor();
    const auto uses = usesOfArc(i);
    for (std::size_t u = uses.size(); u-- > 0 && m_load[i] > left;) {
      const int64_t needed = (m_load[i] - left + uses[u].times - 1) / uses[u].times;
      release(static_cast<std::size_t>(uses[u].tree), std::min(needed, m_trees[uses[u].tree].copies));
    }
  }
}

void KeptTrees::release(std::size_t tree, int64_t copies) {
  m_trees[tree].copies -= copies;
  m_lost[m_trees[tree].root] += copies;
  m_lostCopies += copies;
  for (const Use& use : usesOfTree(tree)) {
    m_load[use.arc] -= copies * use.times;
  }
}

}  // namespace coppice::forestcoll
