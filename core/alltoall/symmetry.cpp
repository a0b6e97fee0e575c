// SPDX-License-Identifier: Apache-2.0
#include "alltoall/symmetry.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "base/disjoint_sets.hpp"
#include "schedule/arc_finder.hpp"
#include "symmetry/automorphisms.hpp"
#include "symmetry/free_group.hpp"
#include "symmetry/groups.hpp"
#include "symmetry/twins.hpp"

namespace coppice::alltoall {
namespace {

using fabric::NodeIndex;
using fabric::Rank;
using std::int64_t;

/// Few orbits of links make the program small enough.
constexpr int kFewOrbits = 24;
/// Where GPUs send different amounts: orbits of links and of GPUs.
constexpr int kFewColumns = 64;
/// There too: images of nodes in products of symmetries, after which no more groups are tried.
constexpr std::size_t kMaxComposed = std::size_t{1} << 29;
/// Of nauty, which looks for further symmetries.
constexpr int64_t kMaxWork = int64_t{1} << 27;
/// Pairs of GPUs that exchange unusual amounts, beyond which nothing is looked for.
constexpr std::size_t kMaxUnusual = std::size_t{1} << 18;

/// What pairs of GPUs exchange, in short: GPUs whose amounts are the same in another order are of one class, and only
/// amounts that differ from the most frequent one between two classes are told.
class Amounts {
public:
  explicit Amounts(const Network& network) : m_network(network), m_gpus(network.demand.isEven() ? 0 : gpuCount()) {
    symmetry::Numbering<std::pair<std::vector<int64_t>, std::vector<int64_t>>> classes;
    for (Rank gpu = 0; gpu < m_gpus; ++gpu) {
      std::vector<int64_t> out;
      std::vector<int64_t> in;
      for (Rank other = 0; other < m_gpus; ++other) {
        out.push_back(amount(gpu, other));
        in.push_back(amount(other, gpu));
      }
      std::ranges::sort(out);
      std::ranges::sort(in);
      m_classOf.push_back(classes({std::move(out), std::move(in)}));
    }
    std::map<std::pair<int, int>, std::map<int64_t, int>> pairs;
    for (Rank from = 0; from < m_gpus; ++from) {
      for (Rank to = 0; to < m_gpus; ++to) {
        pairs[{m_classOf[from], m_classOf[to]}][amount(from, to)] += from == to ? 0 : 1;
      }
    }
    for (const auto& [key, counts] : pairs) {
      m_usual[key] = std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; })->first;
    }
  }

  [[nodiscard]] int classOf(const fabric::Node& node) const {
    return m_gpus == 0 || node.rank < 0 ? 0 : m_classOf[node.rank];
  }
  /// Where it is another than usual between their classes.
  [[nodiscard]] std::optional<int64_t> unusual(Rank from, Rank to) const {
    if (m_gpus == 0 || from < 0 || to < 0 || from == to) {
      return std::nullopt;
    }
    const int64_t own = amount(from, to);
    return own == m_usual.at({m_classOf[from], m_classOf[to]}) ? std::nullopt : std::optional(own);
  }

private:
  [[nodiscard]] int gpuCount() const { return m_network.fabric.gpuCount(); }
  [[nodiscard]] int64_t amount(Rank from, Rank to) const { return m_network.demand.amount(from, to, gpuCount()); }

  const Network& m_network;
  int m_gpus;  ///< 0: all pairs exchange the same
  std::vector<int> m_classOf;
  std::map<std::pair<int, int>, int64_t> m_usual;
};

/// Links with their bandwidths, and beside them pairs of GPUs that exchange unusual amounts; nullopt where those are
/// too many.
std::optional<symmetry::ColouredDigraph> graphOf(const Network& network) {
  const Amounts amounts(network);
  const auto& nodes = network.fabric.nodes();
  symmetry::ColouredDigraph graph;
  symmetry::Numbering<std::tuple<fabric::NodeKind, bool, bool, int>> nodeColours;
  for (const fabric::Node& node : nodes) {
    graph.colourOf.push_back(nodeColours({node.kind, node.multicast, node.aggregation, amounts.classOf(node)}));
  }
  symmetry::Numbering<std::pair<int64_t, std::optional<int64_t>>> colours;  // of bandwidth and amount
  std::set<std::pair<NodeIndex, NodeIndex>> linked;
  for (int arc = 0; arc < network.arcCount(); ++arc) {
    const fabric::Arc& ends = network.fabric.arcs()[arc];
    const auto amount = amounts.unusual(nodes[ends.tail].rank, nodes[ends.head].rank);
    graph.arcs.push_back({ends.tail, ends.head, colours({network.capacity[arc], amount})});
    linked.emplace(ends.tail, ends.head);
  }
  if (network.demand.isEven()) {
    return graph;
  }
  const std::size_t most = graph.arcs.size() + kMaxUnusual;
  for (const NodeIndex from : network.fabric.gpus()) {
    for (const NodeIndex to : network.fabric.gpus()) {
      const auto amount = amounts.unusual(nodes[from].rank, nodes[to].rank);
      if (amount && !linked.contains({from, to})) {
        graph.arcs.push_back({from, to, colours({0, amount})});
      }
    }
    if (graph.arcs.size() > most) {
      return std::nullopt;
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
        m_elements(1, symmetry::identity(network.nodeCount())) {
    if (auto graph = m_maxElements > 1 ? graphOf(network) : std::nullopt) {
      m_graph = *std::move(graph);
    } else {
      m_maxElements = 1;
    }
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
  [[nodiscard]] int columns() const { return m_arcOrbits + m_sourceOrbits; }
  [[nodiscard]] bool isEnough() const {
    return m_network.demand.isEven() ? m_arcOrbits <= kFewOrbits && m_sourceOrbits == 1
                                     : columns() <= kFewColumns || m_composed > kMaxComposed;
  }

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

  /// A free group, powers of products, then symmetries that take a GPU to the others of its orbit.
  void tryFurther() {
    if (isEnough()) {
      return;
    }
    const symmetry::Twins twins = m_network.demand.isEven() ? symmetry::Twins{} : symmetry::twinsOf(m_graph);
    const std::vector<Permutation> generators = generatorsOf(twins);
    if (!m_network.demand.isEven()) {
      tryPowers(twins, generators);
    }
    for (const auto& group : symmetry::freeGroups(generators, m_network.fabric.gpus(), 1, m_progress)) {
      for (const Permutation& each : group) {
        if (!isEnough()) {
          extend(each);
        }
      }
    }
    tryTransversals(generators);
  }

  /// Of uneven amounts, symmetries with the orbits of all: nauty searches long where very many GPUs can be exchanged.
  [[nodiscard]] std::vector<Permutation> generatorsOf(const symmetry::Twins& twins) const {
    if (twins.classes.empty()) {
      return symmetry::generators(m_graph, kMaxWork, m_progress);
    }
    std::vector<Permutation> found;
    for (const std::size_t size : sizesOf(twins)) {
      found.push_back(symmetry::turned(twins, size, m_graph.nodeCount()));
    }
    for (const Permutation& image : symmetry::generators(twins.contracted, kMaxWork, m_progress)) {
      found.push_back(symmetry::expanded(twins, image, m_graph.nodeCount()));
    }
    return found;
  }

  /// Symmetries that move as many nodes each, such as swaps of two boxes, mostly form a tree, whose product in any
  /// order takes all of these round. Of such products, of them together, and of twins in cycles of some length, those
  /// powers are added that join the most orbits for their elements.
  void tryPowers(const symmetry::Twins& twins, std::span<const Permutation> generators) {
    std::map<std::ptrdiff_t, Permutation> byMoved;
    for (const Permutation& generator : generators) {
      std::ptrdiff_t moved = 0;
      for (int node = 0; node < m_graph.nodeCount(); ++node) {
        moved += generator[node] != node ? 1 : 0;
      }
      const auto [product, isNew] = byMoved.try_emplace(moved, generator);
      if (!isNew) {
        product->second = symmetry::composed(product->second, generator);
      }
    }
    std::vector<Permutation> products;
    Permutation together = m_elements.front();
    for (auto& [moved, product] : byMoved) {
      together = symmetry::composed(together, product);
      products.push_back(together);
      products.push_back(std::move(product));
    }
    struct Power {
      Permutation image;
      double elements;
      double gain;
    };
    std::vector<Power> powers;
    for (const Permutation& product : products) {
      const auto order = symmetry::commonMultiple(symmetry::cycleLengths(product, m_network.fabric.gpus())).value_or(0);
      for (int64_t elements = 2; elements <= std::min(order, static_cast<int64_t>(m_maxElements)); ++elements) {
        if (order % elements == 0) {
          powers.push_back({symmetry::power(product, order / elements), static_cast<double>(elements), 0});
        }
      }
    }
    const std::set<std::size_t> sizes = sizesOf(twins);
    for (std::size_t length = 2; !sizes.empty() && length <= std::min(*sizes.rbegin(), m_maxElements); ++length) {
      powers.push_back({symmetry::turned(twins, length, m_graph.nodeCount()), static_cast<double>(length), 0});
    }
    while (!isEnough() && !powers.empty()) {
      throwIfCancelled(m_progress);
      const int before = columns();
      for (Power& each : powers) {
        m_generators.push_back(each.image);
        updateOrbits();
        each.gain = (before - columns()) / std::log2(each.elements);
        m_generators.pop_back();
      }
      updateOrbits();
      std::erase_if(powers, [](const Power& each) { return each.gain <= 0; });
      std::ranges::stable_sort(powers, std::greater<>(), &Power::gain);
      const auto added =
          std::ranges::find_if(powers, [&](const Power& each) { return isEnough() || extend(each.image); });
      powers.erase(powers.begin(), added == powers.end() ? added : added + 1);
    }
  }

  [[nodiscard]] static std::set<std::size_t> sizesOf(const symmetry::Twins& twins) {
    std::set<std::size_t> sizes;
    for (const std::vector<int>& nodes : twins.classes) {
      sizes.insert(nodes.size());
    }
    return sizes;
  }

  /// Symmetries that take the first GPU of each orbit to the others.
  void tryTransversals(std::span<const Permutation> generators) {
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
    const int before = columns();
    std::swap(m_generators, generators);
    updateOrbits();
    // Orbits are quick, elements are not.
    if (columns() != before) {
      auto elements = symmetry::closure(m_generators, m_maxElements);
      m_composed += (elements ? elements->size() : m_maxElements) * m_generators.size() * m_graph.colourOf.size();
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
  std::size_t m_composed = 0;  ///< images of nodes in the products of all groups that were tried
};

}  // namespace

SymmetryGroup findSymmetries(const Network& network, std::size_t maxElements, const Progress& progress) {
  return Search(network, maxElements, progress).run();
}

}  // namespace coppice::alltoall
