// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/path_recovery.hpp"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "base/checked.hpp"
#include "base/rows.hpp"

namespace coppice::forestcoll {
using std::int64_t;

namespace {

/// A stable sort by a small key (counting sort). @pre `sorted` has the size of `items`, keys are below `limit`
template <typename KeyOf>
void sortByCount(const std::vector<int>& items, std::vector<int>& sorted, int limit, const KeyOf& keyOf) {
  std::vector<int> place = rowStarts(static_cast<std::size_t>(limit), items, keyOf);
  for (const int item : items) {
    sorted[place[keyOf(item)]++] = item;
  }
}

}  // namespace

LogicalProblem logicalProblem(const Network& network, const LogicalTopology& topology,
                              const std::vector<int64_t>& supply) {
  LogicalProblem logical;
  PackingProblem& problem = logical.packing;
  std::vector<int> rankOf(network.nodeCount, -1);
  problem.nodeCount = static_cast<int>(network.gpus.size());
  for (std::size_t rank = 0; rank < network.gpus.size(); ++rank) {
    rankOf[network.gpus[rank]] = static_cast<int>(rank);
    problem.supply.push_back(supply[network.gpus[rank]]);
  }
  std::vector<int> hops(topology.atoms.size(), 1);
  std::vector<int>& live = logical.atoms;
  for (std::size_t i = 0; i < topology.atoms.size(); ++i) {
    const Atom& atom = topology.atoms[i];
    if (atom.first >= 0) {
      hops[i] = hops[atom.first] + hops[atom.second];
    }
    if (atom.capacity > 0) {
      live.push_back(static_cast<int>(i));
    }
  }
  // By tail, head and hops; the counts of the first two sort in linear time, and few atoms have equal ends.
  std::vector<int> byHead(live.size());
  sortByCount(live, byHead, network.nodeCount, [&](int atom) { return rankOf[topology.atoms[atom].head]; });
  sortByCount(byHead, live, network.nodeCount, [&](int atom) { return rankOf[topology.atoms[atom].tail]; });
  for (std::size_t first = 0; first < live.size();) {
    const Atom& atom = topology.atoms[live[first]];
    std::size_t end = first + 1;
    while (end < live.size() && topology.atoms[live[end]].tail == atom.tail &&
           topology.atoms[live[end]].head == atom.head) {
      ++end;
    }
    if (end - first > 1) {
      std::stable_sort(live.begin() + static_cast<std::ptrdiff_t>(first),
                       live.begin() + static_cast<std::ptrdiff_t>(end),
                       [&](int a, int b) { return hops[a] < hops[b]; });
    }
    first = end;
  }
  std::vector<int>& start = logical.atomStart;
  for (std::size_t i = 0; i < live.size(); ++i) {
    const Atom& atom = topology.atoms[live[i]];
    const int tail = rankOf[atom.tail];
    const int head = rankOf[atom.head];
    if (problem.arcs.empty() || problem.arcs.back().tail != tail || problem.arcs.back().head != head) {
      start.push_back(static_cast<int>(i));
      problem.arcs.push_back({tail, head, atom.capacity});
    } else {
      problem.arcs.back().capacity = checkedAdd(problem.arcs.back().capacity, atom.capacity);
    }
  }
  start.push_back(static_cast<int>(live.size()));
  return logical;
}

namespace {

/// Arcs of a tree with their ends, by ascending depth. Keeps its memory from one tree to the next.
class DepthOrder {
public:
  struct Step {
    int arc = 0;
    int tail = 0;
    int head = 0;
  };

  explicit DepthOrder(const PackingProblem& problem)
      : m_arcs(problem.arcs), m_depth(static_cast<std::size_t>(problem.nodeCount), 0) {}

  /// Parents come first in the tree, so a stable sort by depth makes it breadth-first. Valid until the next call.
  std::span<const Step> of(const PackedTree& tree) {
    m_steps.clear();
    m_depth[tree.root] = 0;
    int deepest = 0;
    bool isSorted = true;
    for (const int arc : tree.arcs) {
      const TreeArc& ends = m_arcs[arc];
      const int depth = m_depth[ends.tail] + 1;
      m_depth[ends.head] = depth;
      isSorted = isSorted && depth >= deepest;
      deepest = std::max(deepest, depth);
      m_steps.push_back({arc, ends.tail, ends.head});
    }
    if (isSorted) {
      return m_steps;
    }
    m_byDepth.assign(static_cast<std::size_t>(deepest) + 1, [this](const auto& add) {
      for (const Step& step : m_steps) {
        add(m_depth[step.head], step);
      }
    });
    return m_byDepth.entries();
  }

private:
  const std::vector<TreeArc>& m_arcs;
  std::vector<int> m_depth;  // by node
  std::vector<Step> m_steps;
  Rows<Step> m_byDepth;
};

/// What is left of the atoms behind the arcs, in the order of LogicalProblem::atoms.
class AtomRoom {
public:
  AtomRoom(const LogicalTopology& topology, const LogicalProblem& logical, schedule::PathPool& paths)
      : m_logical(logical), m_paths(paths), m_routes(topology.atoms) {
    m_atoms.reserve(logical.atoms.size());
    for (const int atom : logical.atoms) {
      m_atoms.push_back({topology.atoms[atom].capacity, -1});
    }
  }

  /// The place of an atom of the arc: the shortest that takes all copies, else the one with the most room.
  [[nodiscard]] int choose(int arc, int64_t copies) const {
    int choice = -1;
    for (int i = m_logical.atomStart[arc]; i < m_logical.atomStart[static_cast<std::size_t>(arc) + 1]; ++i) {
      const int64_t left = m_atoms[i].left;
      if (left >= copies) {
        return i;
      }
      if (left > 0 && (choice < 0 || left > m_atoms[choice].left)) {
        choice = i;
      }
    }
    if (choice < 0) {
      throw Failure{{ErrorCode::internal, "path recovery ran out of capacity"}};
    }
    return choice;
  }
  [[nodiscard]] int64_t left(int place) const { return m_atoms[place].left; }

  /// The route of the atom, with room taken off it.
  schedule::PathId take(int place, int64_t copies) {
    OfAtom& atom = m_atoms[place];
    atom.left -= copies;
    if (atom.path < 0) {
      atom.path = m_paths.add(m_routes.of(m_logical.atoms[place]));
    }
    return atom.path;
  }

private:
  struct OfAtom {
    int64_t left = 0;
    schedule::PathId path = -1;  ///< -1 until the first use
  };

  const LogicalProblem& m_logical;
  schedule::PathPool& m_paths;
  RouteReader m_routes;
  std::vector<OfAtom> m_atoms;
};

}  // namespace

schedule::Forest recoverPaths(const LogicalTopology& topology, const LogicalProblem& logical,
                              std::vector<PackedTree>&& packed, const InverseBandwidth& scale,
                              const Progress& progress) {
  schedule::Forest forest;
  forest.direction = schedule::Direction::out;
  forest.gpuCount = logical.packing.nodeCount;
  forest.treesOfRoot = logical.packing.supply;
  forest.scale = scale;
  std::stable_sort(packed.begin(), packed.end(),
                   [](const PackedTree& a, const PackedTree& b) { return a.root < b.root; });

  /// Equal copies of a tree with the atoms that they have chosen so far.
  struct Piece {
    int64_t multiplicity = 0;
    std::vector<int> places;
  };
  AtomRoom room(topology, logical, forest.paths);
  DepthOrder order(logical.packing);
  std::vector<Piece> stack;
  std::vector<int> places;
  forest.edges.reserve(packed.size() * static_cast<std::size_t>(std::max(0, logical.packing.nodeCount - 1)));
  for (PackedTree& tree : packed) {
    throwIfCancelled(progress);
    const auto steps = order.of(tree);
    stack.push_back({tree.multiplicity, {}});
    while (!stack.empty()) {
      int64_t multiplicity = stack.back().multiplicity;
      places.assign(stack.back().places.begin(), stack.back().places.end());
      stack.pop_back();
      for (std::size_t i = places.size(); i < steps.size(); ++i) {
        const int choice = room.choose(steps[i].arc, multiplicity);
        if (room.left(choice) < multiplicity) {
          stack.push_back({multiplicity - room.left(choice), places});
          multiplicity = room.left(choice);
        }
        places.push_back(choice);
      }
      forest.trees.push_back({tree.root, multiplicity, static_cast<int64_t>(forest.edges.size())});
      for (std::size_t i = 0; i < steps.size(); ++i) {
        forest.edges.push_back({steps[i].tail, steps[i].head, room.take(places[i], multiplicity), 0});
      }
    }
    tree.arcs.clear();
    tree.arcs.shrink_to_fit();
  }
  return forest;
}

}  // namespace coppice::forestcoll
