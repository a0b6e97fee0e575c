// SPDX-License-Identifier: Apache-2.0
#include "alltoall/symmetry.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/disjoint_sets.hpp"
#include "schedule/arc_finder.hpp"
#include "symmetry/automorphisms.hpp"
#include "symmetry/free_group.hpp"
#include "symmetry/groups.hpp"

namespace coppice::alltoall {
namespace {

using fabric::NodeIndex;

/// Few orbits of links make the program small enough.
constexpr int kFewOrbits = 24;
/// Of nauty, which looks for further symmetries.
constexpr std::int64_t kMaxWork = std::int64_t{1} << 27;

/// Links with their bandwidths, and beside them what pairs of GPUs exchange where that differs.
symmetry::ColouredDigraph graphOf(const Network& network) {
  symmetry::ColouredDigraph graph;
  for (const fabric::Node& node : network.fabric.nodes()) {
    graph.colourOf.push_back(static_cast<int>(node.kind) * 4 + (node.multicast ? 2 : 0) + (node.aggregation ? 1 : 0));
  }
  const bool isEven = network.demand.isEven();
  const auto amount = [&](NodeIndex from, NodeIndex to) {
    const bool isPair = !isEven && network.fabric.nodes()[from].kind == fabric::NodeKind::gpu;
    return isPair ? network.amount(from, to) : 0;
  };
  symmetry::Numbering<std::pair<std::int64_t, std::int64_t>> colours;  // of bandwidth and amount
  std::set<std::pair<NodeIndex, NodeIndex>> linked;
  for (int arc = 0; arc < network.arcCount(); ++arc) {
    const fabric::Arc& ends = network.fabric.arcs()[arc];
    graph.arcs.push_back({ends.tail, ends.head, colours({network.capacity[arc], amount(ends.tail, ends.head)})});
    linked.emplace(ends.tail, ends.head);
  }
  if (!isEven) {
    for (const NodeIndex from : network.fabric.gpus()) {
      for (const NodeIndex to : network.fabric.gpus()) {
        if (amount(from, to) > 0 && !linked.contains({from, to})) {
          graph.arcs.push_back({from, to, colours({0, amount(from, to)})});
        }
      }
    }
  }
  return graph;
}

class Search {
public:
  Search(const Network& network, std::size_t maxElements, const Progress& progress)
      : m_network(network),
        m_maxElements(maxElements),
        m_progress(progress),
        m_finder(network.fabric, schedule::Direction::out),
        m_graph(maxElements > 1 ? graphOf(network) : symmetry::ColouredDigraph()),
        m_elements(1, symmetry::identity(network.nodeCount())) {
    updateOrbits();
  }

  SymmetryGroup run() {
    if (m_maxElements > 1) {
      tryShifts();
      tryFurther();
    }
    return describe();
  }

private:
  [[nodiscard]] bool isEnough() const { return m_arcOrbits <= kFewOrbits && m_sourceOrbits == 1; }

  /// Ranks are written in digits; one of them counts on.
  void tryShifts() {
    symmetry::Lifting lifting(m_graph, m_network.fabric.gpus());
    const int ranks = m_network.fabric.gpuCount();
    for (int stride = 1; stride < ranks; ++stride) {
      if (ranks % stride != 0) {
        continue;
      }
      for (int base = ranks / stride; base >= 2; --base) {
        if ((ranks / stride) % base != 0) {
          continue;
        }
        throwIfCancelled(m_progress);
        if (isEnough()) {
          return;
        }
        std::vector<NodeIndex> images;
        for (int rank = 0; rank < ranks; ++rank) {
          const int digit = rank / stride % base;
          images.push_back(m_network.fabric.gpus()[rank + ((digit + 1) % base - digit) * stride]);
        }
        if (const auto image = lifting.find(images); image && extend(*image)) {
          break;
        }
      }
    }
  }

  /// A free group, then symmetries that take a GPU to the others of its orbit.
  void tryFurther() {
    if (isEnough()) {
      return;
    }
    const std::vector<Permutation> generators = symmetry::generators(m_graph, kMaxWork, m_progress);
    for (const auto& group : symmetry::freeGroups(generators, m_network.fabric.gpus(), 1, m_progress)) {
      for (const Permutation& each : group) {
        extend(each);
      }
    }
    std::vector<char> isReached(m_graph.colourOf.size(), 0);
    for (const NodeIndex first : m_network.fabric.gpus()) {
      if (isReached[first] != 0) {
        continue;
      }
      isReached[first] = 1;
      std::vector<std::pair<NodeIndex, Permutation>> reached{{first, m_elements.front()}};
      for (std::size_t i = 0; i < reached.size(); ++i) {
        for (const Permutation& generator : generators) {
          const NodeIndex next = generator[reached[i].first];
          if (std::exchange(isReached[next], char{1}) == 0) {
            throwIfCancelled(m_progress);
            reached.emplace_back(next, symmetry::composed(reached[i].second, generator));
            extend(reached.back().second);
            if (isEnough()) {
              return;
            }
          }
        }
      }
    }
  }

  /// Adds a generator, if the group stays small and some orbits join.
  bool extend(const Permutation& generator) {
    std::vector<Permutation> generators = m_generators;
    generators.push_back(generator);
    const int before = m_arcOrbits + m_sourceOrbits;
    std::swap(m_generators, generators);
    updateOrbits();
    // Orbits are quick, elements are not.
    if (m_arcOrbits + m_sourceOrbits != before) {
      auto elements = symmetry::closure(m_generators, m_maxElements);
      if (elements && elements->size() != m_elements.size()) {
        m_elements = *std::move(elements);
        return true;
      }
    }
    std::swap(m_generators, generators);
    updateOrbits();
    return false;
  }

  /// Orbits under the generators.
  void updateOrbits() {
    const auto nodeCount = static_cast<std::size_t>(m_network.nodeCount());
    DisjointSets nodes(nodeCount);
    DisjointSets arcs(static_cast<std::size_t>(m_network.arcCount()));
    for (const Permutation& by : m_generators) {
      for (NodeIndex node = 0; node < m_network.nodeCount(); ++node) {
        nodes.join(node, by[node]);
      }
      for (int arc = 0; arc < m_network.arcCount(); ++arc) {
        const fabric::Arc& at = m_network.fabric.arcs()[arc];
        arcs.join(arc, m_finder.find(by[at.tail], by[at.head]));
      }
    }
    m_sourceOrbit.assign(nodeCount, -1);
    std::set<int> sources;
    for (const NodeIndex gpu : m_network.fabric.gpus()) {
      m_sourceOrbit[gpu] = nodes.find(gpu);
      sources.insert(m_sourceOrbit[gpu]);
    }
    m_sourceOrbits = static_cast<int>(sources.size());
    symmetry::Numbering<int> numbers;
    m_arcOrbit.clear();
    m_arcOrbits = 0;
    for (int arc = 0; arc < m_network.arcCount(); ++arc) {
      m_arcOrbit.push_back(numbers(arcs.find(arc)));
      m_arcOrbits = std::max(m_arcOrbits, m_arcOrbit.back() + 1);
    }
  }

  SymmetryGroup describe() {
    SymmetryGroup group;
    group.orbitOfArc = m_arcOrbit;
    group.arcOrbits = m_arcOrbits;
    std::map<int, std::size_t> at;
    for (const NodeIndex gpu : m_network.fabric.gpus()) {
      const auto [found, isNew] = at.try_emplace(m_sourceOrbit[gpu], group.sources.size());
      if (isNew) {
        group.sources.push_back(gpu);
        group.sourceWeight.push_back(0);
      }
      ++group.sourceWeight[found->second];
    }
    group.elements = std::move(m_elements);
    return group;
  }

  const Network& m_network;
  std::size_t m_maxElements;
  const Progress& m_progress;
  schedule::ArcFinder m_finder;
  symmetry::ColouredDigraph m_graph;
  std::vector<Permutation> m_elements;
  std::vector<Permutation> m_generators;
  std::vector<int> m_sourceOrbit;  ///< by node; -1 at relays
  int m_sourceOrbits = 0;
  std::vector<int> m_arcOrbit;
  int m_arcOrbits = 0;
};

}  // namespace

SymmetryGroup findSymmetries(const Network& network, std::size_t maxElements, const Progress& progress) {
  return Search(network, maxElements, progress).run();
}

}  // namespace coppice::alltoall
