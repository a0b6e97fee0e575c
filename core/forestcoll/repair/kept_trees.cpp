// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/repair/kept_trees.hpp"

#include <algorithm>
#include <utility>

#include "base/checked.hpp"
#include "forestcoll/repair/detours.hpp"
#include "forestcoll/repair/old_routes.hpp"

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

/// By rank that of the other fabric; -1 = gone.
std::vector<Rank> ranksInOther(const Fabric& fabric, std::span<const NodeIndex> nodes, const Fabric& other) {
  std::vector<Rank> ranks;
  for (const NodeIndex gpu : fabric.gpus()) {
    ranks.push_back(nodes[gpu] < 0 ? -1 : other.nodes()[nodes[gpu]].rank);
  }
  return ranks;
}

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

KeptTrees::KeptTrees(const Fabric& before, const Forest& old, const Fabric& after, const LockedTrees* locked)
    : m_gpuCount(after.gpuCount()),
      m_load(after.arcs().size(), 0),
      m_lost(static_cast<std::size_t>(after.gpuCount()), 0) {
  addTrees(before, old, after, locked);
  releaseLostBandwidth(before, old, after);
}

void KeptTrees::addTrees(const Fabric& before, const Forest& old, const Fabric& after, const LockedTrees* locked) {
  const std::vector<NodeIndex> nodes = nodesInOther(before, after);
  const std::vector<Rank> ranks = ranksInOther(before, nodes, after);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank] >= 0) {
      m_lost[ranks[rank]] = old.treesOfRoot[rank];
      m_allCopies = checkedAdd(m_allCopies, old.treesOfRoot[rank]);
    }
  }
  m_lostCopies = m_allCopies;
  OldRoutes routes(old, nodes, after);
  std::vector<std::int32_t> arcs;
  for (std::size_t i = 0; i < old.trees.size(); ++i) {
    const schedule::Tree& tree = old.trees[i];
    const bool mayStay = locked == nullptr || locked->contains(static_cast<int64_t>(i));
    if (ranks[tree.root] < 0 || !mayStay) {
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
    addUses(static_cast<std::int32_t>(m_trees.size()), arcs, m_uses);
    m_trees.push_back({ranks[tree.root], tree.multiplicity, static_cast<int64_t>(i), firstEdge});
    m_lost[ranks[tree.root]] -= tree.multiplicity;
    m_lostCopies -= tree.multiplicity;
  }
  for (const Use& use : m_uses) {
    m_load[use.arc] = checkedAdd(m_load[use.arc], checkedMul<int64_t>(m_trees[use.tree].copies, use.times));
  }
  indexUses();
}

void KeptTrees::indexUses() {
  m_usesByTree.assign(m_trees.size(), [&](const auto& add) {
    for (const Use& use : m_uses) {
      add(use.tree, use);
    }
  });
  m_usesByArc.assign(m_load.size(), [&](const auto& add) {
    for (const Use& use : m_uses) {
      add(use.arc, use);
    }
  });
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

/// What rerouting looks up, and the tree that is being laid.
struct KeptTrees::Rerouting {
  const Fabric& after;
  std::vector<NodeIndex> nodes;
  std::vector<Rank> ranks;
  OldRoutes routes;
  DetourFinder detours;
  std::vector<std::int32_t> arcs = {};

  Rerouting(const Fabric& before, const Forest& old, const Fabric& changed, std::span<const int64_t> room)
      : after(changed),
        nodes(nodesInOther(before, changed)),
        ranks(ranksInOther(before, nodes, changed)),
        routes(old, nodes, changed),
        detours(changed, room) {}
};

void KeptTrees::reroute(const Fabric& before, const Forest& old, const Fabric& after, std::span<const int64_t> room,
                        const Progress& progress) {
  constexpr std::uint64_t kMaxWork = std::uint64_t{1} << 28;
  if (m_lostCopies == 0) {
    return;
  }
  std::vector<int64_t> kept(old.trees.size(), 0);
  for (const Tree& tree : m_trees) {
    kept[tree.source] = tree.copies;
  }
  Rerouting rerouting(before, old, after, room);
  for (std::size_t i = 0; i < old.trees.size() && rerouting.detours.work() < kMaxWork; ++i) {
    throwIfCancelled(progress);
    const int64_t copies = old.trees[i].multiplicity - kept[i];
    if (copies > 0 && rerouting.ranks[old.trees[i].root] >= 0) {
      addRerouted(old, i, copies, rerouting);
    }
  }
  indexUses();
}

/// All copies together, or none.
void KeptTrees::addRerouted(const Forest& old, std::size_t tree, int64_t copies, Rerouting& rerouting) {
  const std::size_t firstEdge = m_edges.size();
  std::vector<std::int32_t>& arcs = rerouting.arcs;
  const auto take = [&](std::int32_t arc) {
    m_load[arc] += copies;
    arcs.push_back(arc);
  };
  bool isWhole = true;
  for (const TreeEdge& edge : old.edgesOf(old.trees[tree])) {
    const Rank parent = rerouting.ranks[edge.parent];
    const Rank child = rerouting.ranks[edge.child];
    if (child < 0) {
      continue;
    }
    isWhole = parent >= 0;
    if (!isWhole) {
      break;
    }
    schedule::PathId path = rerouting.routes.numberOf(edge.path, m_paths);
    const auto ofEdge = rerouting.routes.arcsOf(edge.path);
    const bool hasRoom = path >= 0 && std::ranges::all_of(ofEdge, [&](std::int32_t arc) {
                           return rerouting.detours.room(arc) - m_load[arc] >= copies;
                         });
    if (hasRoom) {
      std::ranges::for_each(ofEdge, take);
    } else {
      const auto route =
          rerouting.detours.find(rerouting.after.gpus()[parent], rerouting.after.gpus()[child], copies, m_load);
      isWhole = !route.empty();
      if (!isWhole) {
        break;
      }
      for (std::size_t i = 0; i + 1 < route.size(); ++i) {
        take(rerouting.detours.arc(route[i], route[i + 1]));
      }
      path = m_paths.add(route);
    }
    m_edges.push_back({parent, child, path, 0});
  }
  if (!isWhole) {
    m_edges.resize(firstEdge);
    for (const std::int32_t arc : arcs) {
      m_load[arc] -= copies;
    }
    arcs.clear();
    return;
  }
  const Rank root = rerouting.ranks[old.trees[tree].root];
  addUses(static_cast<std::int32_t>(m_trees.size()), arcs, m_uses);
  m_trees.push_back({root, copies, static_cast<int64_t>(tree), static_cast<int64_t>(firstEdge), true});
  m_lost[root] -= copies;
  m_lostCopies -= copies;
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
