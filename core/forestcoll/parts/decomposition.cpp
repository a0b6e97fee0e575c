// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/parts/decomposition.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/checked.hpp"
#include "base/parallel.hpp"
#include "forestcoll/boxes/relayed_stars.hpp"
#include "forestcoll/boxes/star_routing.hpp"
#include "forestcoll/boxes/two_level.hpp"
#include "forestcoll/parts/border_migration.hpp"
#include "forestcoll/parts/part_search.hpp"
#include "forestcoll/path_recovery.hpp"
#include "forestcoll/switch_removal.hpp"
#include "forestcoll/tree_packing.hpp"

namespace coppice::forestcoll {
namespace {

using schedule::FactoredForest;
using std::int64_t;
using Oracle = flow::FeasibilityOracle<int64_t>;

/// Numbers equal lists in the order of their first appearance.
template <typename Value>
class Interner {
public:
  int idOf(const std::vector<Value>& list) {
    static_assert(std::is_trivially_copyable_v<Value>);
    std::string key(list.size() * sizeof(Value), '\0');
    if (!list.empty()) {
      std::memcpy(key.data(), list.data(), key.size());
    }
    const auto [entry, isNew] = m_ids.try_emplace(std::move(key), static_cast<int>(m_ids.size()));
    m_isNew = isNew;
    return entry->second;
  }
  [[nodiscard]] bool wasNew() const { return m_isNew; }

private:
  std::unordered_map<std::string, int> m_ids;
  bool m_isNew = false;
};

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
  int shape = 0;
  std::vector<int64_t> ownLeft;  ///< by leaf: roots not yet used
  std::vector<int64_t> left;     ///< by tree of the shape: copies not yet used
};

/// What composing needs to know of a part's shape.
struct ShapeFacts {
  std::vector<std::vector<int>> treesAt;  ///< by leaf
  std::vector<int> leafDepth;             ///< [tree * leaves + leaf]
  std::vector<int> outLeaf;               ///< by port
  std::vector<int> inLeaf;
  int leaves = 0;
};

/// Several ways through one arc of the outside.
struct Strand {
  int outPort = 0;
  int inPort = 0;
  int64_t left = 0;
  int64_t full = 0;
};

class Decomposition {
public:
  Decomposition(const Network& network, const std::vector<int64_t>& supply, const SolvePart& solve,
                const Progress& progress)
      : m_network(network), m_supply(supply), m_solve(solve), m_progress(progress) {}

  /// @param flexible the arcs of the outside for trees of one's own choice, which keep the switches balanced themselves
  std::optional<FactoredForest> run(const std::vector<std::vector<int>>& family, const BorderMigration& migration,
                                    const std::vector<BorderArc>& flexible, const HasBetter& hasBetter) {
    collectParts(family, migration);
    collectOutside(flexible);
    if (!packStars()) {
      if (hasBetter()) {
        return std::nullopt;
      }
      if (!packRelayedStars()) {
        collectOutside(migration.crossings());
        packOutside();
      }
    }
    solveParts();
    compose();
    return std::move(m_result);
  }

private:
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
  void solveParts() {
    std::unordered_map<std::string, int> known;
    std::vector<Part*> different;  // by shape
    for (Part& part : m_parts) {
      std::string key;
      const auto append = [&](int64_t value) {
        char bytes[sizeof value];
        std::memcpy(bytes, &value, sizeof value);
        key.append(bytes, sizeof value);
      };
      const auto appendPorts = [&](const std::vector<std::vector<int>>& ports) {
        append(static_cast<int64_t>(ports.size()));
        for (const std::vector<int>& port : ports) {
          append(static_cast<int64_t>(port.size()));
          std::for_each(port.begin(), port.end(), append);
        }
      };
      append(part.network.nodeCount);
      std::for_each(part.network.isGpu.begin(), part.network.isGpu.end(), append);
      std::for_each(part.network.gpus.begin(), part.network.gpus.end(), append);
      std::for_each(part.supply.begin(), part.supply.end(), append);
      append(static_cast<int64_t>(part.capacities.size()));
      for (std::size_t i = 0; i < part.capacities.size(); ++i) {
        append(int64_t{part.capacities[i].tail} * part.network.nodeCount + part.capacities[i].head);
        append(part.capacities[i].capacity);
        append(part.fullCapacities[i].capacity);
      }
      appendPorts(part.outPorts);
      appendPorts(part.inPorts);
      const auto [entry, isNew] = known.try_emplace(std::move(key), static_cast<int>(different.size()));
      part.shape = entry->second;
      if (isNew) {
        different.push_back(&part);
      }
    }
    std::vector<schedule::Forest> forests(different.size());
    parallelFor(different.size(), [&](std::size_t i) {
      Part& part = *different[i];
      part.network.demand = part.supply;
      forests[i] = m_solve(part.network, part.capacities, part.fullCapacities, part.supply);
    });
    for (std::size_t i = 0; i < different.size(); ++i) {
      addShape(*different[i], forests[i]);
      forests[i] = {};
    }
    for (Part& part : m_parts) {
      const FactoredForest::Shape& shape = m_result.shapes[part.shape];
      for (const FactoredForest::PartTree& tree : shape.trees) {
        part.left.push_back(tree.multiplicity);
      }
      FactoredForest::Instance instance;
      instance.shape = part.shape;
      instance.children = part.gpus;
      instance.switches.assign(part.switches.begin(), part.switches.end());
      m_result.instances.push_back(std::move(instance));
    }
  }

  /// The part's own forest, in the numbers of its leaves and switches.
  void addShape(const Part& part, const schedule::Forest& forest) {
    FactoredForest::Shape shape;
    ShapeFacts facts;
    facts.leaves = static_cast<int>(part.gpus.size());
    facts.treesAt.resize(part.gpus.size());
    shape.childShape.assign(part.gpus.size(), FactoredForest::kGpu);
    shape.switchCount = static_cast<int>(part.switches.size());
    Interner<int> vias;
    const auto viaOf = [&](const std::vector<int>& switches) {
      const int id = vias.idOf(switches);
      if (vias.wasNew()) {
        shape.viaSwitches.insert(shape.viaSwitches.end(), switches.begin(), switches.end());
        shape.viaStart.push_back(static_cast<int64_t>(shape.viaSwitches.size()));
      }
      return id;
    };
    const auto portsFrom = [&](const std::vector<std::vector<int>>& ports, std::vector<FactoredForest::Port>& into,
                               std::vector<int>& leaves) {
      for (const std::vector<int>& port : ports) {
        into.push_back({port.front(), viaOf({port.begin() + 1, port.end()})});
        leaves.push_back(port.front());
      }
    };
    viaOf({});
    portsFrom(part.outPorts, shape.outPorts, facts.outLeaf);
    portsFrom(part.inPorts, shape.inPorts, facts.inLeaf);
    std::vector<int> switchOf(part.nodes.size(), -1);
    for (std::size_t i = 0; i < part.switches.size(); ++i) {
      switchOf[m_localOf[part.switches[i]]] = static_cast<int>(i);
    }
    std::vector<int> viaOfPath(forest.paths.size());
    std::vector<int> switches;
    for (schedule::PathId path = 0; path < forest.paths.size(); ++path) {
      const auto nodes = forest.paths[path];
      switches.clear();
      for (std::size_t i = 1; i + 1 < nodes.size(); ++i) {
        switches.push_back(switchOf[nodes[i]]);
      }
      viaOfPath[path] = viaOf(switches);
    }
    Interner<FactoredForest::Choice> patterns;
    std::vector<FactoredForest::Choice> choices;
    for (const schedule::Tree& tree : forest.trees) {
      const auto edges = forest.edgesOf(tree);
      const int id = static_cast<int>(shape.trees.size());
      const std::size_t firstDepth = facts.leafDepth.size();
      facts.leafDepth.resize(firstDepth + part.gpus.size(), 0);
      shape.skeletons.push_back({tree.root, static_cast<int64_t>(shape.arcs.size())});
      choices.assign(1, {1, 0, 0, 0, 0});
      for (const schedule::TreeEdge& edge : edges) {
        shape.arcs.push_back({edge.parent, edge.child});
        facts.leafDepth[firstDepth + static_cast<std::size_t>(edge.child)] =
            facts.leafDepth[firstDepth + static_cast<std::size_t>(edge.parent)] + 1;
        addChoice(choices, {1, viaOfPath[edge.path], 0, 0, 0});
      }
      facts.treesAt[tree.root].push_back(id);
      shape.trees.push_back({id, patternOf(shape, patterns, choices), tree.root, tree.multiplicity});
    }
    m_result.shapes.push_back(std::move(shape));
    m_facts.push_back(std::move(facts));
  }

  static void addChoice(std::vector<FactoredForest::Choice>& choices, const FactoredForest::Choice& next) {
    FactoredForest::Choice& last = choices.back();
    if (last.via == next.via && last.tailPort == next.tailPort && last.headPort == next.headPort &&
        last.innerTree == next.innerTree) {
      ++last.count;
    } else {
      choices.push_back(next);
    }
  }

  static int patternOf(FactoredForest::Shape& shape, Interner<FactoredForest::Choice>& known,
                       const std::vector<FactoredForest::Choice>& choices) {
    const int id = known.idOf(choices);
    if (known.wasNew()) {
      shape.patterns.push_back({static_cast<int64_t>(shape.choices.size()), static_cast<int64_t>(choices.size())});
      shape.choices.insert(shape.choices.end(), choices.begin(), choices.end());
    }
    return id;
  }

  /// What a step of an outside tree settles; the root step has only an inner tree and, in `strand`, the root's leaf.
  struct Decision {
    int atom = -1;
    int outStrand = -1;
    int inStrand = -1;
    int innerTree = 0;
  };
  /// Equal copies of an outside tree with what they have settled so far; its resources are charged already.
  struct Piece {
    int64_t multiplicity = 0;
    std::vector<Decision> decisions;
  };

  /// First and last arc of an atom's route and the switches between.
  struct Way {
    int firstArc = 0;
    int lastArc = 0;
    int via = 0;
  };

  /// The outside's trees where they can be stars.
  bool packStars() {
    auto stars = growStars(m_outer, m_outerFull, m_outerSupply, m_progress);
    if (!stars) {
      return false;
    }
    m_outside = *std::move(stars);
    useFully();
    return true;
  }

  bool packRelayedStars() {
    auto relayed = growRelayedStars(m_outer, m_outerFull, m_outerSupply, m_progress);
    if (!relayed) {
      return false;
    }
    m_outside = *std::move(relayed);
    useFully();
    return true;
  }

  /// The outside's trees where they cannot.
  void packOutside() {
    m_outside.topology = removeSwitches(m_outer, m_outer.arcs, m_outerSupply, m_progress, SplitOptions{});
    m_outside.logical = logicalProblem(m_outer, m_outside.topology, m_outerSupply);
    m_outside.trees = packTrees(m_outside.logical.packing, m_progress);
  }

  /// Routes for trees of one's own choice keep the switches balanced themselves, so that nothing is trimmed away.
  void useFully() {
    for (Strand& strand : m_strands) {
      strand.left = strand.full;
    }
  }

  void compose() {
    const LogicalTopology& topology = m_outside.topology;
    const LogicalProblem& logical = m_outside.logical;
    std::vector<PackedTree>& packed = m_outside.trees;
    std::stable_sort(packed.begin(), packed.end(),
                     [](const PackedTree& a, const PackedTree& b) { return a.root < b.root; });

    FactoredForest::Shape top;
    FactoredForest::Instance instance;
    m_leafStart.push_back(0);
    for (std::size_t i = 0; i < m_outerPart.size(); ++i) {
      const int part = m_outerPart[i];
      top.childShape.push_back(part >= 0 ? m_parts[part].shape : FactoredForest::kGpu);
      instance.children.push_back(part >= 0 ? part : m_outerRank[i]);
      m_leafStart.push_back(m_leafStart.back() + (part >= 0 ? static_cast<int>(m_parts[part].gpus.size()) : 1));
    }
    top.switchCount = static_cast<int>(m_outerSwitches.size());
    instance.switches.assign(m_outerSwitches.begin(), m_outerSwitches.end());
    const std::vector<Way> ways = waysOf(topology, logical, top);

    m_atomLeft.resize(topology.atoms.size());
    for (std::size_t i = 0; i < topology.atoms.size(); ++i) {
      m_atomLeft[i] = topology.atoms[i].capacity;
    }
    m_entryDepth.assign(m_outerPart.size(), 0);
    m_entryTree.assign(m_outerPart.size(), 0);
    Interner<FactoredForest::Choice> patterns;
    std::vector<FactoredForest::Choice> choices;
    std::vector<Piece> stack;
    int64_t done = 0;
    for (PackedTree& tree : packed) {
      throwIfCancelled(m_progress);
      m_progress.report("composing", static_cast<double>(done++) / static_cast<double>(packed.size()));
      const int skeleton = static_cast<int>(top.skeletons.size());
      top.skeletons.push_back({tree.root, static_cast<int64_t>(top.arcs.size())});
      for (const int arc : tree.arcs) {
        top.arcs.push_back({logical.packing.arcs[arc].tail, logical.packing.arcs[arc].head});
      }
      stack.push_back({tree.multiplicity, {}});
      while (!stack.empty()) {
        Piece piece = std::move(stack.back());
        stack.pop_back();
        settle(piece, tree, logical, ways, stack);
        const Decision& first = piece.decisions.front();
        const int rootPart = m_outerPart[tree.root];
        choices.assign(1, {1, 0, 0, 0, first.innerTree});
        for (std::size_t i = 1; i < piece.decisions.size(); ++i) {
          const Decision& decision = piece.decisions[i];
          addChoice(choices, {1, ways[decision.atom].via, m_strands[decision.outStrand].outPort,
                              m_strands[decision.inStrand].inPort, decision.innerTree});
        }
        const int rootLeaf =
            m_leafStart[tree.root] +
            (rootPart >= 0 ? m_result.shapes[m_parts[rootPart].shape].trees[first.innerTree].rootLeaf : 0);
        top.trees.push_back({skeleton, patternOf(top, patterns, choices), rootLeaf, piece.multiplicity});
      }
      tree.arcs.clear();
      tree.arcs.shrink_to_fit();
    }
    const auto rankOfRoot = [&](const FactoredForest::PartTree& tree) {
      const int node = top.skeletons[tree.skeleton].root;
      const int part = m_outerPart[node];
      return part >= 0 ? m_parts[part].gpus[tree.rootLeaf - m_leafStart[node]] : m_outerRank[node];
    };
    std::stable_sort(top.trees.begin(), top.trees.end(),
                     [&](const auto& a, const auto& b) { return rankOfRoot(a) < rankOfRoot(b); });
    instance.shape = static_cast<int>(m_result.shapes.size());
    m_result.shapes.push_back(std::move(top));
    m_result.top = static_cast<int>(m_result.instances.size());
    m_result.instances.push_back(std::move(instance));
  }

  std::vector<Way> waysOf(const LogicalTopology& topology, const LogicalProblem& logical,
                          FactoredForest::Shape& top) const {
    std::vector<Way> ways(topology.atoms.size());
    Interner<int> vias;
    std::vector<int> switches;
    const auto viaOf = [&] {
      const int id = vias.idOf(switches);
      if (vias.wasNew()) {
        top.viaSwitches.insert(top.viaSwitches.end(), switches.begin(), switches.end());
        top.viaStart.push_back(static_cast<int64_t>(top.viaSwitches.size()));
      }
      return id;
    };
    viaOf();
    for (const int atom : logical.atoms) {
      Way& way = ways[atom];
      for (way.firstArc = atom; topology.atoms[way.firstArc].first >= 0;) {
        way.firstArc = topology.atoms[way.firstArc].first;
      }
      for (way.lastArc = atom; topology.atoms[way.lastArc].second >= 0;) {
        way.lastArc = topology.atoms[way.lastArc].second;
      }
      const std::vector<int> nodes = route(topology.atoms, atom);
      switches.clear();
      for (std::size_t i = 1; i + 1 < nodes.size(); ++i) {
        switches.push_back(nodes[i] - m_firstSwitch);
      }
      way.via = viaOf();
    }
    return ways;
  }

  [[nodiscard]] int depthAt(int node, int outPort) const {
    const int part = m_outerPart[node];
    if (part < 0) {
      return m_entryDepth[node];
    }
    const ShapeFacts& facts = m_facts[m_parts[part].shape];
    return m_entryDepth[node] +
           facts.leafDepth[static_cast<std::size_t>(m_entryTree[node]) * static_cast<std::size_t>(facts.leaves) +
                           static_cast<std::size_t>(facts.outLeaf[outPort])];
  }

  /// Settles all steps of the piece; copies for which a resource does not suffice go back on the stack with the choices
  /// so far.
  void settle(Piece& piece, const PackedTree& tree, const LogicalProblem& logical, const std::vector<Way>& ways,
              std::vector<Piece>& stack) {
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
        chooseWay(logical, ways, arc, piece.multiplicity, decision);
        charges.push_back(&m_atomLeft[decision.atom]);
        charges.push_back(&m_strands[decision.outStrand].left);
        if (decision.inStrand != decision.outStrand) {
          charges.push_back(&m_strands[decision.inStrand].left);
        }
        if (part >= 0) {
          leaf = m_facts[m_parts[part].shape].inLeaf[m_strands[decision.inStrand].inPort];
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
    for (const int tree : m_facts[part.shape].treesAt[leaf]) {
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
  void chooseWay(const LogicalProblem& logical, const std::vector<Way>& ways, int arc, int64_t wanted,
                 Decision& decision) const {
    const int min = m_entryDepth[logical.packing.arcs[arc].tail];
    int bestDepth = 0;
    int64_t bestRoom = 0;
    for (int j = logical.atomStart[arc]; j < logical.atomStart[static_cast<std::size_t>(arc) + 1]; ++j) {
      const int atom = logical.atoms[j];
      if (m_atomLeft[atom] == 0) {
        continue;
      }
      const int firstArc = ways[atom].firstArc;
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
    const Way& way = ways[decision.atom];
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
  const SolvePart& m_solve;
  const Progress& m_progress;
  FactoredForest m_result;
  std::vector<int> m_partOf;  // by network node
  std::vector<Part> m_parts;
  std::vector<ShapeFacts> m_facts;  // by shape
  std::vector<int> m_rankOf;        // by network node
  std::vector<int> m_localOf;       // by network node: number within its part

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

  std::vector<int> m_leafStart;  // by terminal of the outside
  std::vector<int64_t> m_atomLeft;
  std::vector<int> m_entryDepth;  // by terminal, in the current tree
  std::vector<int> m_entryTree;
};

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

std::optional<FactoredForest> growByParts(const Network& network, const std::vector<TreeArc>& capacities,
                                          const std::vector<TreeArc>& fullCapacities,
                                          const std::vector<int64_t>& supply, const SolvePart& solve,
                                          const HasBetter& hasBetter, const Progress& progress) {
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
      return Decomposition(network, supply, solve, progress).run(family, migration, flexible, hasBetter);
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
