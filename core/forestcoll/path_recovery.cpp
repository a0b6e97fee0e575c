// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/path_recovery.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/checked.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;

}  // namespace

LogicalProblem logicalProblem(const Network& network, const LogicalTopology& topology,
                              const std::vector<int64_t>& supply) {
  LogicalProblem logical;
  PackingProblem& problem = logical.packing;
  std::vector<int> rankOf(static_cast<std::size_t>(network.nodeCount), -1);
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
  // Pairs of plain numbers sort much faster than atoms looked up at every comparison.
  struct Key {
    std::uint64_t ends;
    int hops;
    int atom;
  };
  std::vector<Key> keys;
  keys.reserve(live.size());
  for (const int index : live) {
    const Atom& atom = topology.atoms[index];
    const auto tail = static_cast<std::uint64_t>(rankOf[atom.tail]);
    const auto head = static_cast<std::uint64_t>(rankOf[atom.head]);
    keys.push_back({tail << 32U | head, hops[index], index});
  }
  std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    return std::tie(a.ends, a.hops, a.atom) < std::tie(b.ends, b.hops, b.atom);
  });
  std::transform(keys.begin(), keys.end(), live.begin(), [](const Key& key) { return key.atom; });
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

schedule::Forest recoverPaths(const LogicalTopology& topology, const LogicalProblem& logical,
                              std::vector<PackedTree>&& packed, const Rational& scale, const Progress& progress) {
  schedule::Forest forest;
  forest.direction = schedule::Direction::out;
  forest.gpuCount = logical.packing.nodeCount;
  forest.treesOfRoot = logical.packing.supply;
  forest.scale = scale;
  std::stable_sort(packed.begin(), packed.end(),
                   [](const PackedTree& a, const PackedTree& b) { return a.root < b.root; });

  std::vector<int64_t> left(topology.atoms.size());
  for (std::size_t i = 0; i < topology.atoms.size(); ++i) {
    left[i] = topology.atoms[i].capacity;
  }
  std::vector<schedule::PathId> pathOf(topology.atoms.size(), -1);
  const auto pathId = [&](int atom) {
    if (pathOf[atom] < 0) {
      pathOf[atom] = forest.paths.add(route(topology.atoms, atom));
    }
    return pathOf[atom];
  };

  struct Piece {
    int64_t multiplicity = 0;
    std::vector<int> atoms;
  };
  std::vector<int> depth(static_cast<std::size_t>(logical.packing.nodeCount), 0);
  std::vector<int> order;
  std::vector<int> byDepth;
  std::vector<Piece> stack;
  forest.edges.reserve(packed.size() * static_cast<std::size_t>(std::max(0, logical.packing.nodeCount - 1)));
  for (PackedTree& tree : packed) {
    throwIfCancelled(progress);
    // Breadth-first order: parents already come first, so a stable sort by depth does it.
    int deepest = 0;
    depth[tree.root] = 0;
    for (const int arc : tree.arcs) {
      depth[logical.packing.arcs[arc].head] = depth[logical.packing.arcs[arc].tail] + 1;
      deepest = std::max(deepest, depth[logical.packing.arcs[arc].head]);
    }
    byDepth.assign(static_cast<std::size_t>(deepest) + 2, 0);
    for (const int arc : tree.arcs) {
      ++byDepth[static_cast<std::size_t>(depth[logical.packing.arcs[arc].head]) + 1];
    }
    std::partial_sum(byDepth.begin(), byDepth.end(), byDepth.begin());
    order.resize(tree.arcs.size());
    for (const int arc : tree.arcs) {
      order[byDepth[depth[logical.packing.arcs[arc].head]]++] = arc;
    }
    stack.push_back({tree.multiplicity, {}});
    while (!stack.empty()) {
      Piece piece = std::move(stack.back());
      stack.pop_back();
      for (std::size_t i = piece.atoms.size(); i < order.size(); ++i) {
        const int arc = order[i];
        int choice = -1;
        for (int j = logical.atomStart[arc]; j < logical.atomStart[static_cast<std::size_t>(arc) + 1]; ++j) {
          const int atom = logical.atoms[j];
          if (left[atom] >= piece.multiplicity) {
            choice = atom;  // atoms are sorted by the length of their routes
            break;
          }
          if (left[atom] > 0 && (choice < 0 || left[atom] > left[choice])) {
            choice = atom;
          }
        }
        if (choice < 0) {
          throw Failure{{ErrorCode::internal, "path recovery ran out of capacity"}};
        }
        if (left[choice] < piece.multiplicity) {
          stack.push_back({piece.multiplicity - left[choice], piece.atoms});
          piece.multiplicity = left[choice];
        }
        piece.atoms.push_back(choice);
      }
      forest.trees.push_back({tree.root, piece.multiplicity, static_cast<int64_t>(forest.edges.size())});
      for (std::size_t i = 0; i < order.size(); ++i) {
        left[piece.atoms[i]] -= piece.multiplicity;
        const TreeArc& arc = logical.packing.arcs[order[i]];
        forest.edges.push_back({arc.tail, arc.head, pathId(piece.atoms[i]), 0});
      }
    }
    tree.arcs.clear();
    tree.arcs.shrink_to_fit();
  }
  return forest;
}

}  // namespace coppice::forestcoll
