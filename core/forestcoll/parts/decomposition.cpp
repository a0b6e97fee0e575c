// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/parts/decomposition.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/checked.hpp"
#include "base/parallel.hpp"
#include "forestcoll/boxes/relayed_stars.hpp"
#include "forestcoll/boxes/star_routing.hpp"
#include "forestcoll/boxes/two_level.hpp"
#include "forestcoll/breadth_first.hpp"
#include "forestcoll/parts/border_migration.hpp"
#include "forestcoll/parts/part_search.hpp"
#include "forestcoll/path_recovery.hpp"
#include "forestcoll/switch_removal.hpp"
#include "forestcoll/tree_packing.hpp"
#include "schedule/expansion.hpp"
#include "schedule/route_index.hpp"
#include "schedule/tree_reader.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;
using Oracle = flow::FeasibilityOracle<int64_t>;

}  // namespace

class PartForest::Work {
public:
  /// @param flexible the arcs of the outside for trees of one's own choice, which keep the switches balanced themselves
  Work(const Network& network, const std::vector<int64_t>& supply, const std::vector<std::vector<int>>& family,
       const BorderMigration& migration, const std::vector<BorderArc>& flexible, const Progress& progress)
      : m_network(network), m_supply(supply), m_crossings(migration.crossings()) {
    collectParts(family, migration);
    collectOutside(flexible);
    if (auto stars = growStars(m_outer, m_outerFull, m_outerSupply, progress)) {
      m_outside = *std::move(stars);
      m_hasStars = true;
      useFully();
    }
  }

  [[nodiscard]] bool hasStars() const { return m_hasStars; }

  void grow(const SolvePart& solve, const Progress& progress) {
    if (!m_hasStars) {
      growOutside(progress);
    }
    solveParts(solve);
    compose(progress);
  }

private:
  friend class PartForest;
  friend class Writer;

  /// A part while its forest is put together.
  struct Part {
    std::vector<int> nodes;     ///< of the network, ascending
    std::vector<int> gpus;      ///< ranks, ascending
    std::vector<int> switches;  ///< of the network, ascending
    Network network;            ///< its own, nodes numbered as in `nodes`
    std::vector<TreeArc> capacities;
    std::vector<TreeArc> fullCapacities;  ///< before trimming
    std::vector<int64_t> supply;
    std::vector<std::vector<int>> outPorts;  ///< (leaf, own switches ...)
    std::vector<std::vector<int>> inPorts;
    int solved = 0;                ///< into the solved parts
    std::vector<int64_t> ownLeft;  ///< by leaf: roots not yet used
    std::vector<int64_t> left;     ///< by tree of the part: copies not yet used
  };

  /// The trees of a part, and of all that are equal to it; ranks are its leaves.
  struct SolvedPart {
    schedule::Forest forest;
    std::vector<std::vector<int>> treesAt;  ///< by leaf: the trees rooted there
    std::vector<int> depth;                 ///< [tree * leaves + leaf]
    std::vector<int> height;                ///< by tree
  };

  /// Several ways through one arc of the outside.
  struct Strand {
    int outPort = 0;
    int inPort = 0;
    int64_t left = 0;
    int64_t full = 0;
  };

  void collectParts(const std::vector<std::vector<int>>& family, const BorderMigration& migration) {
    m_partOf = migration.partOf();
    const std::vector<int64_t> entries = migration.entries();
    m_rankOf.assign(m_network.nodeCount, -1);
    for (std::size_t rank = 0; rank < m_network.gpus.size(); ++rank) {
      m_rankOf[m_network.gpus[rank]] = static_cast<int>(rank);
    }
    m_localOf.assign(m_network.nodeCount, -1);
    m_parts.resize(family.size());
    for (std::size_t f = 0; f < family.size(); ++f) {
      Part& part = m_parts[f];
      part.nodes = family[f];
      std::sort(part.nodes.begin(), part.nodes.end());
      part.network.nodeCount = static_cast<int>(part.nodes.size());
      part.network.unit = Bandwidth(1);
      part.supply.assign(part.nodes.size(), 0);
      for (std::size_t i = 0; i < part.nodes.size(); ++i) {
        const int node = part.nodes[i];
        m_localOf[node] = static_cast<int>(i);
        part.network.isGpu.push_back(m_network.isGpu[node]);
        if (m_network.isGpu[node] != 0) {
          part.gpus.push_back(m_rankOf[node]);
          part.supply[i] = m_supply[node] + entries[node];
        } else {
          part.switches.push_back(node);
        }
      }
      std::sort(part.gpus.begin(), part.gpus.end());
      for (const int rank : part.gpus) {
        part.network.gpus.push_back(m_localOf[m_network.gpus[rank]]);
        part.ownLeft.push_back(m_supply[m_network.gpus[rank]]);
      }
    }
    std::vector<BorderArc> own;
    std::copy_if(migration.arcs().begin(), migration.arcs().end(), std::back_inserter(own), [&](const BorderArc& arc) {
      return arc.full > 0 && m_partOf[arc.tail] >= 0 && m_partOf[arc.tail] == m_partOf[arc.head];
    });
    std::sort(own.begin(), own.end(), [&](const BorderArc& a, const BorderArc& b) {
      return std::pair(m_localOf[a.tail], m_localOf[a.head]) < std::pair(m_localOf[b.tail], m_localOf[b.head]);
    });
    for (const BorderArc& arc : own) {
      Part& part = m_parts[m_partOf[arc.tail]];
      part.capacities.push_back({m_localOf[arc.tail], m_localOf[arc.head], arc.capacity});
      part.fullCapacities.push_back({m_localOf[arc.tail], m_localOf[arc.head], arc.full});
    }
    for (Part& part : m_parts) {
      part.network.arcs = part.capacities;
    }
  }

  /// Number of the port, made when new.
  int portOf(std::vector<std::vector<int>>& ports, std::map<std::vector<int>, int>& known, const Part& part, int gpu,
             const std::vector<int>& via) {
    std::vector<int> port{
        static_cast<int>(std::lower_bound(part.gpus.begin(), part.gpus.end(), m_rankOf[gpu]) - part.gpus.begin())};
    for (const int node : via) {
      port.push_back(
          static_cast<int>(std::lower_bound(part.switches.begin(), part.switches.end(), node) - part.switches.begin()));
    }
    const auto [entry, isNew] = known.try_emplace(port, static_cast<int>(ports.size()));
    if (isNew) {
      ports.push_back(std::move(port));
    }
    return entry->second;
  }

  /// By node: its part, where it is a GPU; switches of parts that stand on a way out are nodes of the outside too.
  [[nodiscard]] int partOfEnd(int node) const { return m_network.isGpu[node] != 0 ? m_partOf[node] : -1; }

  void collectTerminals() {
    // GPUs and parts in the order of their lowest ranks, then switches.
    m_outer = {};
    m_outerOf.assign(m_network.nodeCount, -1);
    m_outer.unit = Bandwidth(1);
    m_outerPart.clear();
    m_outerRank.clear();
    m_outerSupply.clear();
    std::vector<int> outerOfPart(m_parts.size(), -1);
    for (const int gpu : m_network.gpus) {
      const int part = m_partOf[gpu];
      if (part >= 0 && outerOfPart[part] >= 0) {
        m_outerSupply[outerOfPart[part]] += m_supply[gpu];
      } else {
        const int node = m_outer.nodeCount++;
        m_outer.gpus.push_back(node);
        m_outer.isGpu.push_back(1);
        m_outerPart.push_back(part);
        m_outerRank.push_back(m_rankOf[gpu]);
        m_outerSupply.push_back(m_supply[gpu]);
        if (part >= 0) {
          outerOfPart[part] = node;
        }
      }
      m_outerOf[gpu] = part >= 0 ? outerOfPart[part] : m_outer.nodeCount - 1;
    }
    m_firstSwitch = m_outer.nodeCount;
  }

  void collectSwitches(const std::vector<BorderArc>& arcs) {
    std::vector<char> isOuter(m_network.nodeCount, 0);
    for (int node = 0; node < m_network.nodeCount; ++node) {
      isOuter[node] = m_network.isGpu[node] == 0 && m_partOf[node] < 0 ? 1 : 0;
    }
    for (const BorderArc& arc : arcs) {
      for (const int node : {arc.tail, arc.head}) {
        isOuter[node] = isOuter[node] != 0 || m_network.isGpu[node] == 0 ? 1 : 0;
      }
    }
    m_outerSwitches.clear();
    for (int node = 0; node < m_network.nodeCount; ++node) {
      if (isOuter[node] != 0) {
        m_outerOf[node] = m_outer.nodeCount++;
        m_outer.isGpu.push_back(0);
        m_outerSupply.push_back(0);
        m_outerSwitches.push_back(node);
      }
    }
  }

  void collectOutside(const std::vector<BorderArc>& arcs) {
    collectTerminals();
    collectSwitches(arcs);
    m_outerFull.clear();
    m_strandStart.clear();
    m_strands.clear();
    for (Part& part : m_parts) {
      part.outPorts.clear();
      part.inPorts.clear();
    }

    struct Crossing {
      int tail;
      int head;
      Strand strand;
    };
    std::vector<std::map<std::vector<int>, int>> knownOut(m_parts.size());
    std::vector<std::map<std::vector<int>, int>> knownIn(m_parts.size());
    std::vector<Crossing> crossings;
    for (const BorderArc& arc : arcs) {
      const int from = partOfEnd(arc.tail);
      const int to = partOfEnd(arc.head);
      Strand strand;
      strand.left = arc.capacity;
      strand.full = arc.full;
      if (from >= 0) {
        Part& part = m_parts[from];
        strand.outPort = portOf(part.outPorts, knownOut[from], part, arc.tail, arc.tailVia);
      }
      if (to >= 0) {
        Part& part = m_parts[to];
        strand.inPort = portOf(part.inPorts, knownIn[to], part, arc.head, arc.headVia);
      }
      crossings.push_back({m_outerOf[arc.tail], m_outerOf[arc.head], strand});
    }
    std::stable_sort(crossings.begin(), crossings.end(), [](const Crossing& a, const Crossing& b) {
      return std::tuple(a.tail, a.head, a.strand.outPort, a.strand.inPort) <
             std::tuple(b.tail, b.head, b.strand.outPort, b.strand.inPort);
    });
    // Arcs that were trimmed away altogether come last: only star routing may use them.
    std::vector<std::size_t> groupStart;
    for (std::size_t i = 0; i < crossings.size(); ++i) {
      if (i == 0 || crossings[i].tail != crossings[i - 1].tail || crossings[i].head != crossings[i - 1].head) {
        groupStart.push_back(i);
      }
    }
    groupStart.push_back(crossings.size());
    for (const bool isLeft : {true, false}) {
      for (std::size_t g = 0; g + 1 < groupStart.size(); ++g) {
        TreeArc arc{crossings[groupStart[g]].tail, crossings[groupStart[g]].head, 0};
        TreeArc full = arc;
        for (std::size_t i = groupStart[g]; i < groupStart[g + 1]; ++i) {
          arc.capacity += crossings[i].strand.left;
          full.capacity += crossings[i].strand.full;
        }
        if ((arc.capacity > 0) != isLeft) {
          continue;
        }
        m_strandStart.push_back(static_cast<int>(m_strands.size()));
        for (std::size_t i = groupStart[g]; i < groupStart[g + 1]; ++i) {
          m_strands.push_back(crossings[i].strand);
        }
        m_outer.arcs.push_back(arc);
        m_outerFull.push_back(full);
      }
    }
    m_strandStart.push_back(static_cast<int>(m_strands.size()));
    m_outer.demand = m_outerSupply;
  }

  /// Equal parts are solved once, different ones at the same time.
  void solveParts(const SolvePart& solve) {
    std::map<std::vector<int64_t>, int> known;
    std::vector<Part*> different;
    for (Part& part : m_parts) {
      std::vector<int64_t> key{part.network.nodeCount};
      key.insert(key.end(), part.network.isGpu.begin(), part.network.isGpu.end());
      key.insert(key.end(), part.network.gpus.begin(), part.network.gpus.end());
      key.insert(key.end(), part.supply.begin(), part.supply.end());
      for (std::size_t i = 0; i < part.capacities.size(); ++i) {
        key.insert(key.end(), {part.capacities[i].tail, part.capacities[i].head, part.capacities[i].capacity,
                               part.fullCapacities[i].capacity});
      }
      const auto [entry, isNew] = known.try_emplace(std::move(key), static_cast<int>(different.size()));
      part.solved = entry->second;
      if (isNew) {
        different.push_back(&part);
      }
    }
    m_solved.resize(different.size());
    parallelFor(different.size(), [&](std::size_t i) {
      Part& part = *different[i];
      part.network.demand = part.supply;
      m_solved[i].forest = solve(part.network, part.capacities, part.fullCapacities, part.supply);
    });
    for (SolvedPart& solved : m_solved) {
      measure(solved);
    }
    for (Part& part : m_parts) {
      for (const schedule::Tree& tree : m_solved[part.solved].forest.trees) {
        part.left.push_back(tree.multiplicity);
      }
    }
  }

  static void measure(SolvedPart& solved) {
    const auto leaves = static_cast<std::size_t>(solved.forest.gpuCount);
    solved.treesAt.resize(leaves);
    for (const schedule::Tree& tree : solved.forest.trees) {
      solved.treesAt[tree.root].push_back(static_cast<int>(solved.height.size()));
      solved.depth.resize(solved.depth.size() + leaves, 0);
      int* const depth = solved.depth.data() + solved.depth.size() - leaves;
      for (const schedule::TreeEdge& edge : solved.forest.edgesOf(tree)) {
        depth[edge.child] = depth[edge.parent] + 1;
      }
      solved.height.push_back(*std::max_element(depth, depth + leaves));
    }
  }

  /// What a step of an outside tree settles; the root step has only an inner tree.
  struct Decision {
    int atom = -1;
    int outStrand = -1;
    int inStrand = -1;
    int innerTree = -1;  ///< of the part; -1 = a GPU by itself
  };
  /// Equal copies of an outside tree, settled.
  struct ComposedTree {
    int outer = 0;  ///< into the outside's trees
    fabric::Rank root = 0;
    int64_t multiplicity = 0;
    std::vector<Decision> decisions;
  };
  /// Equal copies of an outside tree with what they have settled so far; its resources are charged already.
  struct Piece {
    int64_t multiplicity = 0;
    std::vector<Decision> decisions;
  };

  /// First and last arc of an atom's route.
  struct Way {
    int firstArc = 0;
    int lastArc = 0;
  };

  /// The outside's trees where they cannot be stars.
  void growOutside(const Progress& progress) {
    if (auto relayed = growRelayedStars(m_outer, m_outerFull, m_outerSupply, progress)) {
      m_outside = *std::move(relayed);
      useFully();
      return;
    }
    collectOutside(m_crossings);
    m_outside.topology = removeSwitches(m_outer, m_outer.arcs, m_outerSupply, progress, SplitOptions{});
    m_outside.logical = logicalProblem(m_outer, m_outside.topology, m_outerSupply);
    m_outside.trees = packTrees(m_outside.logical.packing, progress);
  }

  /// Routes for trees of one's own choice keep the switches balanced themselves, so that nothing is trimmed away.
  void useFully() {
    for (Strand& strand : m_strands) {
      strand.left = strand.full;
    }
  }

  void compose(const Progress& progress) {
    const LogicalProblem& logical = m_outside.logical;
    std::vector<PackedTree>& packed = m_outside.trees;
    std::stable_sort(packed.begin(), packed.end(),
                     [](const PackedTree& a, const PackedTree& b) { return a.root < b.root; });
    findWays();
    for (const Atom& atom : m_outside.topology.atoms) {
      m_atomLeft.push_back(atom.capacity);
    }
    m_entryDepth.assign(m_outerPart.size(), 0);
    m_entryTree.assign(m_outerPart.size(), 0);
    std::vector<Piece> stack;
    for (std::size_t i = 0; i < packed.size(); ++i) {
      throwIfCancelled(progress);
      progress.report("composing", static_cast<double>(i) / static_cast<double>(packed.size()));
      const PackedTree& tree = packed[i];
      stack.push_back({tree.multiplicity, {}});
      while (!stack.empty()) {
        Piece piece = std::move(stack.back());
        stack.pop_back();
        settle(piece, tree, logical, stack);
        const int part = m_outerPart[tree.root];
        const fabric::Rank root =
            part < 0 ? m_outerRank[tree.root]
                     : m_parts[part].gpus[solvedOf(part).forest.trees[piece.decisions.front().innerTree].root];
        m_trees.push_back({static_cast<int>(i), root, piece.multiplicity, std::move(piece.decisions)});
        noteHeight();
      }
    }
    std::stable_sort(m_trees.begin(), m_trees.end(),
                     [](const ComposedTree& a, const ComposedTree& b) { return a.root < b.root; });
  }

  void findWays() {
    const std::vector<Atom>& atoms = m_outside.topology.atoms;
    m_ways.resize(atoms.size());
    for (const int atom : m_outside.logical.atoms) {
      Way& way = m_ways[atom];
      for (way.firstArc = atom; atoms[way.firstArc].first >= 0;) {
        way.firstArc = atoms[way.firstArc].first;
      }
      for (way.lastArc = atom; atoms[way.lastArc].second >= 0;) {
        way.lastArc = atoms[way.lastArc].second;
      }
    }
  }

  /// The GPU by which a step leaves its tail, a terminal of the outside.
  [[nodiscard]] fabric::Rank exitOf(int tail, const Decision& decision) const {
    const int part = m_outerPart[tail];
    return part < 0 ? m_outerRank[tail]
                    : m_parts[part].gpus[m_parts[part].outPorts[m_strands[decision.outStrand].outPort].front()];
  }
  [[nodiscard]] fabric::Rank entryOf(int head, const Decision& decision) const {
    const int part = m_outerPart[head];
    return part < 0 ? m_outerRank[head]
                    : m_parts[part].gpus[m_parts[part].inPorts[m_strands[decision.inStrand].inPort].front()];
  }

  /// The whole route of a step, in nodes of the network.
  void readRoute(const TreeArc& arc, const Decision& decision, RouteReader& reader, std::vector<int>& nodes) const {
    const auto addSwitches = [&](int part, const std::vector<int>& port) {
      for (std::size_t i = 1; i < port.size(); ++i) {
        nodes.push_back(m_parts[part].switches[port[i]]);
      }
    };
    nodes.assign(1, m_network.gpus[exitOf(arc.tail, decision)]);
    if (const int part = m_outerPart[arc.tail]; part >= 0) {
      addSwitches(part, m_parts[part].outPorts[m_strands[decision.outStrand].outPort]);
    }
    const std::vector<int>& outside = reader.of(decision.atom);
    for (std::size_t i = 1; i + 1 < outside.size(); ++i) {
      nodes.push_back(m_outerSwitches[outside[i] - m_firstSwitch]);
    }
    if (const int part = m_outerPart[arc.head]; part >= 0) {
      addSwitches(part, m_parts[part].inPorts[m_strands[decision.inStrand].inPort]);
    }
    nodes.push_back(m_network.gpus[entryOf(arc.head, decision)]);
  }

  [[nodiscard]] const SolvedPart& solvedOf(int part) const { return m_solved[m_parts[part].solved]; }

  /// After all steps of a tree.
  void noteHeight() {
    for (std::size_t node = 0; node < m_outerPart.size(); ++node) {
      const int part = m_outerPart[node];
      const int inside = part < 0 ? 0 : solvedOf(part).height[m_entryTree[node]];
      m_maxHeight = std::max(m_maxHeight, m_entryDepth[node] + inside);
    }
  }

  [[nodiscard]] int depthAt(int node, int outPort) const {
    const int part = m_outerPart[node];
    if (part < 0) {
      return m_entryDepth[node];
    }
    const SolvedPart& solved = solvedOf(part);
    const auto place =
        std::int64_t{m_entryTree[node]} * solved.forest.gpuCount + m_parts[part].outPorts[outPort].front();
    return m_entryDepth[node] + solved.depth[place];
  }

  /// Settles all steps of the piece; copies for which a resource does not suffice go back on the stack with the choices
  /// so far.
  void settle(Piece& piece, const PackedTree& tree, const LogicalProblem& logical, std::vector<Piece>& stack) {
    const auto charge = [&](int64_t& left) {
      if (left < piece.multiplicity) {
        stack.push_back({piece.multiplicity - left, piece.decisions});
        piece.multiplicity = left;
      }
    };
    const std::size_t replayed = piece.decisions.size();
    std::vector<int64_t*> charges;
    piece.decisions.reserve(tree.arcs.size() + 1);
    for (std::size_t step = 0; step <= tree.arcs.size(); ++step) {
      const bool isRoot = step == 0;
      const int head = isRoot ? tree.root : logical.packing.arcs[tree.arcs[step - 1]].head;
      const int part = m_outerPart[head];
      if (step < replayed) {
        note(head, isRoot ? -1 : logical.packing.arcs[tree.arcs[step - 1]].tail, piece.decisions[step]);
        continue;
      }
      Decision decision;
      charges.clear();
      int leaf = 0;
      if (isRoot) {
        if (part >= 0) {
          leaf = bestOf(m_parts[part].ownLeft, piece.multiplicity);
          charges.push_back(&m_parts[part].ownLeft[leaf]);
        }
      } else {
        const int arc = tree.arcs[step - 1];
        chooseWay(logical, arc, piece.multiplicity, decision);
        charges.push_back(&m_atomLeft[decision.atom]);
        charges.push_back(&m_strands[decision.outStrand].left);
        if (decision.inStrand != decision.outStrand) {
          charges.push_back(&m_strands[decision.inStrand].left);
        }
        if (part >= 0) {
          leaf = m_parts[part].inPorts[m_strands[decision.inStrand].inPort].front();
        }
      }
      if (part >= 0) {
        Part& entered = m_parts[part];
        decision.innerTree = bestTree(entered, leaf, piece.multiplicity);
        charges.push_back(&entered.left[decision.innerTree]);
      }
      for (int64_t* left : charges) {
        charge(*left);
      }
      for (int64_t* left : charges) {
        *left -= piece.multiplicity;
      }
      piece.decisions.push_back(decision);
      note(head, isRoot ? -1 : logical.packing.arcs[tree.arcs[step - 1]].tail, decision);
    }
  }

  /// Depths after a step.
  void note(int head, int tail, const Decision& decision) {
    m_entryDepth[head] = tail < 0 ? 0 : depthAt(tail, m_strands[decision.outStrand].outPort) + 1;
    m_entryTree[head] = decision.innerTree;
  }

  /// The first resource that suffices, else the largest.
  static int bestOf(const std::vector<int64_t>& left, int64_t wanted) {
    int best = -1;
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (left[i] == wanted) {
        return static_cast<int>(i);
      }
      if (left[i] > 0 && (best < 0 || left[i] > left[best])) {
        best = static_cast<int>(i);
      }
    }
    if (best < 0) {
      throw Failure{{ErrorCode::internal, "composition ran out of roots"}};
    }
    return best;
  }

  int bestTree(const Part& part, int leaf, int64_t wanted) const {
    int best = -1;
    for (const int tree : m_solved[part.solved].treesAt[leaf]) {
      const int64_t left = part.left[tree];
      if (left == wanted) {
        return tree;
      }
      if (left > 0 && (best < 0 || left > part.left[best])) {
        best = tree;
      }
    }
    if (best < 0) {
      throw Failure{{ErrorCode::internal, "composition ran out of trees inside a part"}};
    }
    return best;
  }

  /// The shallowest way out of the tail, then one that all copies can take; into the head one that all copies can take.
  void chooseWay(const LogicalProblem& logical, int arc, int64_t wanted, Decision& decision) const {
    const int min = m_entryDepth[logical.packing.arcs[arc].tail];
    int bestDepth = 0;
    int64_t bestRoom = 0;
    for (int j = logical.atomStart[arc]; j < logical.atomStart[static_cast<std::size_t>(arc) + 1]; ++j) {
      const int atom = logical.atoms[j];
      if (m_atomLeft[atom] == 0) {
        continue;
      }
      const int firstArc = m_ways[atom].firstArc;
      for (int s = m_strandStart[firstArc]; s < m_strandStart[static_cast<std::size_t>(firstArc) + 1]; ++s) {
        if (m_strands[s].left == 0) {
          continue;
        }
        const int depth = depthAt(m_outer.arcs[firstArc].tail, m_strands[s].outPort);
        const int64_t room = std::min({m_atomLeft[atom], m_strands[s].left, wanted});
        if (decision.atom < 0 || depth < bestDepth || (depth == bestDepth && room > bestRoom)) {
          decision.atom = atom;
          decision.outStrand = s;
          bestDepth = depth;
          bestRoom = room;
        }
      }
      if (decision.atom >= 0 && bestRoom == wanted && bestDepth == min) {
        break;
      }
    }
    if (decision.atom < 0) {
      throw Failure{{ErrorCode::internal, "composition ran out of capacity between parts"}};
    }
    const Way& way = m_ways[decision.atom];
    if (way.firstArc == way.lastArc) {
      decision.inStrand = decision.outStrand;
      return;
    }
    int64_t max = 0;
    for (int s = m_strandStart[way.lastArc]; s < m_strandStart[static_cast<std::size_t>(way.lastArc) + 1]; ++s) {
      const int64_t room = std::min(m_strands[s].left, wanted);
      if (room > max) {
        decision.inStrand = s;
        max = room;
        if (room == wanted) {
          break;
        }
      }
    }
    if (decision.inStrand < 0) {
      throw Failure{{ErrorCode::internal, "composition ran out of capacity into a part"}};
    }
  }

  const Network& m_network;
  const std::vector<int64_t>& m_supply;
  std::vector<BorderArc> m_crossings;
  std::vector<int> m_partOf;  // by network node
  std::vector<Part> m_parts;
  std::vector<SolvedPart> m_solved;
  std::vector<int> m_rankOf;   // by network node
  std::vector<int> m_localOf;  // by network node: number within its part

  Network m_outer;
  std::vector<int> m_outerOf;        // by network node
  std::vector<int> m_outerPart;      // by terminal of the outside: part or -1
  std::vector<int> m_outerRank;      // by terminal of the outside: its lowest rank
  std::vector<int> m_outerSwitches;  // network nodes
  int m_firstSwitch = 0;             // outside nodes from here on are switches
  std::vector<int64_t> m_outerSupply;
  std::vector<TreeArc> m_outerFull;
  std::vector<int> m_strandStart;  // by arc of the outside
  std::vector<Strand> m_strands;
  TwoLevelForest m_outside;  // its trees and their routes; nodes are terminals
  bool m_hasStars = false;

  std::vector<Way> m_ways;  // by atom
  std::vector<int64_t> m_atomLeft;
  std::vector<int> m_entryDepth;  // by terminal, in the current tree
  std::vector<int> m_entryTree;
  std::vector<ComposedTree> m_trees;  // by root, ascending
  int m_maxHeight = 0;
};

/// Writes the composed trees edge by edge.
class PartForest::Writer {
public:
  explicit Writer(const Work& work)
      : m_work(work), m_order(static_cast<int>(work.m_network.gpus.size())), m_innerPaths(work.m_parts.size()) {
    for (std::size_t part = 0; part < work.m_parts.size(); ++part) {
      m_innerPaths[part].assign(work.solvedOf(static_cast<int>(part)).forest.paths.size(), kNew);
    }
  }

  schedule::Forest run(const InverseBandwidth& scale, int64_t maxBytes, const Progress& progress) {
    const Network& network = m_work.m_network;
    schedule::Forest forest;
    forest.gpuCount = static_cast<int>(network.gpus.size());
    for (const int gpu : network.gpus) {
      forest.treesOfRoot.push_back(m_work.m_supply[gpu]);
    }
    forest.scale = scale;
    const auto trees = static_cast<int64_t>(m_work.m_trees.size());
    if (const int64_t bytes = schedule::writtenBytes(trees, forest.gpuCount, 0); bytes > maxBytes) {
      throw Failure{schedule::treesTooLarge(trees, bytes, maxBytes)};
    }
    forest.trees.reserve(m_work.m_trees.size());
    forest.edges.reserve(m_work.m_trees.size() * (network.gpus.size() - 1));
    for (const Work::ComposedTree& tree : m_work.m_trees) {
      throwIfCancelled(progress);
      progress.report("expanding", static_cast<double>(forest.trees.size()) / static_cast<double>(trees));
      const std::size_t first = forest.edges.size();
      forest.trees.push_back({tree.root, tree.multiplicity, static_cast<int64_t>(first)});
      collect(tree);
      m_order.append(tree.root, m_edges, forest.edges);
      for (std::size_t i = first; i < forest.edges.size(); ++i) {
        forest.edges[i].path = pathOf(m_routes[forest.edges[i].path], tree);
      }
    }
    forest.paths = m_index.takePaths();
    return forest;
  }

private:
  static constexpr schedule::PathId kNew = -1;

  /// What an edge runs on: a route of a part, or with part -1 what a step of the outside tree decided.
  struct Route {
    int part = -1;
    int number = 0;
  };

  /// The edges of the tree, each with its place in m_routes as a route.
  void collect(const Work::ComposedTree& tree) {
    m_edges.clear();
    m_routes.clear();
    const PackedTree& outer = m_work.m_outside.trees[tree.outer];
    addInner(outer.root, tree.decisions.front().innerTree);
    for (std::size_t step = 1; step < tree.decisions.size(); ++step) {
      const TreeArc& arc = m_work.m_outside.logical.packing.arcs[outer.arcs[step - 1]];
      const Work::Decision& decision = tree.decisions[step];
      add({m_work.exitOf(arc.tail, decision), m_work.entryOf(arc.head, decision), 0, 0}, {-1, static_cast<int>(step)});
      addInner(arc.head, decision.innerTree);
    }
  }

  void addInner(int terminal, int innerTree) {
    const int part = m_work.m_outerPart[terminal];
    if (part < 0) {
      return;
    }
    const std::vector<int>& gpus = m_work.m_parts[part].gpus;
    const schedule::Forest& forest = m_work.solvedOf(part).forest;
    for (const schedule::TreeEdge& edge : forest.edgesOf(forest.trees[innerTree])) {
      add({gpus[edge.parent], gpus[edge.child], 0, 0}, {part, edge.path});
    }
  }

  void add(schedule::TreeEdge edge, const Route& route) {
    edge.path = static_cast<schedule::PathId>(m_routes.size());
    m_edges.push_back(edge);
    m_routes.push_back(route);
  }

  schedule::PathId pathOf(const Route& route, const Work::ComposedTree& tree) {
    if (route.part < 0) {
      const int arc = m_work.m_outside.trees[tree.outer].arcs[static_cast<std::size_t>(route.number) - 1];
      m_work.readRoute(m_work.m_outside.logical.packing.arcs[arc], tree.decisions[route.number], m_reader, m_nodes);
      return m_index.idOf(m_nodes);
    }
    schedule::PathId& known = m_innerPaths[route.part][route.number];
    if (known == kNew) {
      m_nodes.clear();
      for (const int node : m_work.solvedOf(route.part).forest.paths[route.number]) {
        m_nodes.push_back(m_work.m_parts[route.part].nodes[node]);
      }
      known = m_index.idOf(m_nodes);
    }
    return known;
  }

  const Work& m_work;
  BreadthFirst m_order;
  RouteReader m_reader{m_work.m_outside.topology.atoms};
  schedule::RouteIndex m_index;
  std::vector<std::vector<schedule::PathId>> m_innerPaths;  ///< by part, then its own route
  std::vector<schedule::TreeEdge> m_edges;                  ///< of the tree
  std::vector<Route> m_routes;                              ///< by edge of the tree
  std::vector<fabric::NodeIndex> m_nodes;
};

namespace {

/// Arcs of the outside for trees of one's own choice: data may leave a part by any of its border links, as far as its
/// GPUs have the capacity, since a switch that is not trimmed on its way out need not stay balanced by itself.
std::vector<BorderArc> flexibleCrossings(const Network& network, const std::vector<TreeArc>& capacities,
                                         const std::vector<TreeArc>& fullCapacities,
                                         const std::vector<std::vector<int>>& family,
                                         const BorderMigration& migration) {
  // Where each switch of the border is reached from one node alone, as a NIC from its GPU, there is nothing to choose,
  // and the outside is several times smaller without them.
  std::unordered_map<int, int> tailOf;
  const bool isChoice = std::any_of(migration.ways().begin(), migration.ways().end(), [&](const TreeArc& way) {
    return way.capacity > 0 && tailOf.try_emplace(way.head, way.tail).first->second != way.tail;
  });
  if (!isChoice) {
    return migration.crossings();
  }
  const BorderMigration entering(network, capacities, fullCapacities, family, BorderMigration::Ends::heads);
  if (entering.entries() != migration.entries()) {
    return migration.crossings();
  }
  std::vector<BorderArc> arcs = entering.crossings();
  for (const TreeArc& way : migration.ways()) {
    arcs.push_back({way.tail, way.head, way.capacity, way.capacity, {}, {}});
  }
  return arcs;
}

}  // namespace

PartForest::PartForest(std::unique_ptr<Work> work) : m_work(std::move(work)) {}
PartForest::~PartForest() = default;
PartForest::PartForest(PartForest&&) noexcept = default;
PartForest& PartForest::operator=(PartForest&&) noexcept = default;

bool PartForest::hasStars() const {
  return m_work->hasStars();
}

void PartForest::grow(const SolvePart& solve, const Progress& progress) {
  m_work->grow(solve, progress);
}

int PartForest::maxHeight() const {
  return m_work->m_maxHeight;
}

std::size_t PartForest::treeCount() const {
  return m_work->m_trees.size();
}

schedule::Forest PartForest::write(const InverseBandwidth& scale, int64_t maxBytes, const Progress& progress) const {
  return Writer(*m_work).run(scale, maxBytes, progress);
}

std::optional<PartForest> PartForest::split(const Network& network, const std::vector<TreeArc>& capacities,
                                            const std::vector<TreeArc>& fullCapacities,
                                            const std::vector<int64_t>& supply, const Progress& progress) {
  std::vector<std::vector<int>> family = tightParts(network, capacities, supply, progress);
  constexpr int kTries = 3;
  for (int attempt = 0; attempt < kTries && !family.empty(); ++attempt) {
    const BorderMigration migration(network, capacities, fullCapacities, family, BorderMigration::Ends::both);
    std::vector<char> drop(family.size(), 0);
    for (std::size_t f = 0; f < family.size(); ++f) {
      drop[f] = migration.endsAtGpus()[f] != 0 ? 0 : 1;
    }
    bool isRight = std::count(drop.begin(), drop.end(), 1) == 0;
    if (isRight) {
      std::vector<TreeArc> arcs;
      for (const BorderArc& arc : migration.arcs()) {
        if (arc.capacity > 0) {
          arcs.push_back({arc.tail, arc.head, arc.capacity});
        }
      }
      Oracle oracle(network.nodeCount, arcs, supply, network.gpus);
      const auto violated = oracle.violations(64, progress);
      isRight = violated.empty();
      for (const auto& violation : violated) {
        for (const int node : violation.nodes) {
          if (migration.partOf()[node] >= 0) {
            drop[migration.partOf()[node]] = 1;
          }
        }
      }
    }
    if (isRight) {
      const auto flexible = flexibleCrossings(network, capacities, fullCapacities, family, migration);
      return PartForest(std::make_unique<Work>(network, supply, family, migration, flexible, progress));
    }
    std::vector<std::vector<int>> kept;
    for (std::size_t f = 0; f < family.size(); ++f) {
      if (drop[f] == 0) {
        kept.push_back(std::move(family[f]));
      }
    }
    family = std::move(kept);
  }
  return std::nullopt;
}

}  // namespace coppice::forestcoll
