// SPDX-License-Identifier: Apache-2.0
#include "alltoall/symmetry.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>

#include "schedule/arc_finder.hpp"

namespace coppice::alltoall {
namespace {

using fabric::NodeIndex;
using Colour = std::uint64_t;
using Colours = std::vector<Colour>;

/// Few orbits of links make the program small enough.
constexpr int kFewOrbits = 24;
/// Links and nodes that the search for further symmetries may look at.
constexpr std::int64_t kMaxWork = std::int64_t{1} << 27;

Colour mix(Colour value) {
  // splitmix64 (Steele, Lea and Flood 2014)
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

class Search {
public:
  Search(const Network& network, std::size_t maxElements, const Progress& progress)
      : m_network(network),
        m_maxElements(maxElements),
        m_progress(progress),
        m_finder(network.fabric, schedule::Direction::out) {
    Permutation identity(network.nodeCount());
    std::iota(identity.begin(), identity.end(), 0);
    m_elements.push_back(std::move(identity));
    m_known.insert(m_elements.front());
    updateOrbits();
  }

  SymmetryGroup run() {
    tryShifts();
    tryFurther();
    return describe();
  }

private:
  [[nodiscard]] bool isEnough() const { return m_arcOrbits <= kFewOrbits && m_sourceOrbits == 1; }

  // Colour refinement. Colours are equal exactly where the refinement cannot tell nodes apart (but for collisions of
  // 64 bits, which isSymmetry catches), and do not depend on the numbering.

  [[nodiscard]] Colours startColours() const {
    Colours colours(m_network.nodeCount());
    for (NodeIndex node = 0; node < m_network.nodeCount(); ++node) {
      const fabric::Node& at = m_network.fabric.nodes()[node];
      colours[node] = mix(static_cast<Colour>(at.kind) * 4 + (at.multicast ? 2 : 0) + (at.aggregation ? 1 : 0));
    }
    return colours;
  }

  static std::size_t distinct(const Colours& colours) {
    Colours sorted = colours;
    std::sort(sorted.begin(), sorted.end());
    return static_cast<std::size_t>(std::unique(sorted.begin(), sorted.end()) - sorted.begin());
  }

  void refine(Colours& colours) {
    std::size_t classes = distinct(colours);
    for (;;) {
      m_work += m_network.arcCount() + 8 * m_network.nodeCount();  // nodes are sorted
      Colours next(colours.size());
      for (NodeIndex node = 0; node < m_network.nodeCount(); ++node) {
        next[node] = mix(colours[node] ^ 0x1234567U);
      }
      for (int arc = 0; arc < m_network.arcCount(); ++arc) {
        const fabric::Arc& at = m_network.fabric.arcs()[arc];
        const auto width = static_cast<Colour>(m_network.capacity[arc]);
        next[at.tail] += mix(colours[at.head] * 3 + mix(width));
        next[at.head] += mix(colours[at.tail] * 5 + mix(width + 1));
      }
      const std::size_t more = distinct(next);
      colours = std::move(next);
      if (more <= classes) {
        return;
      }
      classes = more;
    }
  }

  [[nodiscard]] bool isSymmetry(const Permutation& image) const {
    for (NodeIndex node = 0; node < m_network.nodeCount(); ++node) {
      if (m_network.fabric.nodes()[node].kind != m_network.fabric.nodes()[image[node]].kind) {
        return false;
      }
    }
    for (int arc = 0; arc < m_network.arcCount(); ++arc) {
      const fabric::Arc& at = m_network.fabric.arcs()[arc];
      const auto other = m_finder.find(image[at.tail], image[at.head]);
      if (other == schedule::kNoArc || m_network.capacity[other] != m_network.capacity[arc]) {
        return false;
      }
    }
    return true;
  }

  /// The permutation that takes nodes to those of the same colour; of several, the i-th to the i-th.
  [[nodiscard]] std::optional<Permutation> matched(const Colours& from, const Colours& to) const {
    std::map<Colour, std::vector<NodeIndex>> targets;
    for (NodeIndex node = 0; node < m_network.nodeCount(); ++node) {
      targets[to[node]].push_back(node);
    }
    std::map<Colour, std::size_t> used;
    Permutation image(from.size());
    for (NodeIndex node = 0; node < m_network.nodeCount(); ++node) {
      const auto found = targets.find(from[node]);
      std::size_t& next = used[from[node]];
      if (found == targets.end() || next >= found->second.size()) {
        return std::nullopt;
      }
      image[node] = found->second[next++];
    }
    return isSymmetry(image) ? std::optional(std::move(image)) : std::nullopt;
  }

  /// Ranks are written in digits; one of them counts on.
  void tryShifts() {
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
        if (tryShift(stride, base)) {
          break;
        }
      }
    }
  }

  bool tryShift(int stride, int base) {
    const int ranks = m_network.fabric.gpuCount();
    Colours from = startColours();
    Colours to = from;
    for (int rank = 0; rank < ranks; ++rank) {
      const int digit = rank / stride % base;
      const int shifted = rank + ((digit + 1) % base - digit) * stride;
      from[m_network.fabric.gpus()[rank]] = mix(static_cast<Colour>(rank) + 1000);
      to[m_network.fabric.gpus()[shifted]] = mix(static_cast<Colour>(rank) + 1000);
    }
    if (m_network.nodeCount() > ranks) {
      refine(from);
      refine(to);
    }
    const auto image = matched(from, to);
    return image && extend(*image);
  }

  /// Maps the first GPU of each colour to the others of that colour, wherever that is possible.
  void tryFurther() {
    m_work = 0;
    Colours base = startColours();
    refine(base);
    std::map<Colour, NodeIndex> firstOf;
    for (const NodeIndex gpu : m_network.fabric.gpus()) {
      throwIfCancelled(m_progress);
      const NodeIndex first = firstOf.try_emplace(base[gpu], gpu).first->second;
      if (m_work >= kMaxWork || isEnough()) {
        return;
      }
      const bool isOneOrbit = m_sourceOrbits == static_cast<int>(firstOf.size());
      if (gpu == first || (m_sourceOrbit[gpu] == m_sourceOrbit[first] && !isOneOrbit)) {
        continue;
      }
      Colours from = base;
      Colours to = base;
      from[first] = to[gpu] = 1;
      if (auto image = complete(std::move(from), std::move(to), 0)) {
        extend(*image);
      }
    }
  }

  /// Tells further nodes apart, one at a time, until the colours decide.
  std::optional<Permutation> complete(Colours from, Colours to, int depth) {
    constexpr int kMaxDepth = 64;
    refine(from);
    refine(to);
    std::map<Colour, std::vector<NodeIndex>> cells;
    std::map<Colour, std::vector<NodeIndex>> targets;
    for (NodeIndex node = 0; node < m_network.nodeCount(); ++node) {
      cells[from[node]].push_back(node);
      targets[to[node]].push_back(node);
    }
    const std::vector<NodeIndex>* open = nullptr;
    const std::vector<NodeIndex>* choices = nullptr;
    for (const auto& [colour, cell] : cells) {
      const auto found = targets.find(colour);
      if (found == targets.end() || found->second.size() != cell.size()) {
        return std::nullopt;
      }
      if (cell.size() > 1 && (open == nullptr || cell.size() < open->size())) {
        open = &cell;
        choices = &found->second;
      }
    }
    if (open == nullptr || depth >= kMaxDepth) {
      return matched(from, to);
    }
    if (auto image = matched(from, to)) {
      return image;
    }
    for (const NodeIndex choice : *choices) {
      if (m_work >= kMaxWork) {
        return std::nullopt;
      }
      Colours nextFrom = from;
      Colours nextTo = to;
      nextFrom[open->front()] = nextTo[choice] = mix(static_cast<Colour>(depth) + 7);
      if (auto image = complete(std::move(nextFrom), std::move(nextTo), depth + 1)) {
        return image;
      }
    }
    return std::nullopt;
  }

  /// Adds a generator, if the group stays small and some orbits join.
  bool extend(const Permutation& generator) {
    if (m_known.contains(generator)) {
      return false;
    }
    std::vector<Permutation> generators = m_generators;
    generators.push_back(generator);
    std::vector<Permutation> elements = {m_elements.front()};
    std::set<Permutation> known = {m_elements.front()};
    for (std::size_t i = 0; i < elements.size(); ++i) {
      for (const Permutation& by : generators) {
        Permutation product(by.size());
        for (std::size_t node = 0; node < by.size(); ++node) {
          product[node] = by[elements[i][node]];
        }
        if (known.insert(product).second) {
          elements.push_back(std::move(product));
          if (elements.size() > m_maxElements) {
            return false;
          }
        }
      }
    }
    const int before = m_arcOrbits + m_sourceOrbits;
    std::swap(m_elements, elements);
    std::swap(m_generators, generators);
    updateOrbits();
    if (m_arcOrbits + m_sourceOrbits == before) {
      std::swap(m_elements, elements);
      std::swap(m_generators, generators);
      return false;
    }
    m_known = std::move(known);
    return true;
  }

  /// Orbits under the generators, as classes of a union-find.
  void updateOrbits() {
    std::vector<int> nodes(m_network.nodeCount());
    std::vector<int> arcs(m_network.arcCount());
    std::iota(nodes.begin(), nodes.end(), 0);
    std::iota(arcs.begin(), arcs.end(), 0);
    for (const Permutation& by : m_generators) {
      for (NodeIndex node = 0; node < m_network.nodeCount(); ++node) {
        join(nodes, node, by[node]);
      }
      for (int arc = 0; arc < m_network.arcCount(); ++arc) {
        const fabric::Arc& at = m_network.fabric.arcs()[arc];
        join(arcs, arc, m_finder.find(by[at.tail], by[at.head]));
      }
    }
    m_sourceOrbit.assign(nodes.size(), -1);
    std::set<int> sources;
    for (const NodeIndex gpu : m_network.fabric.gpus()) {
      m_sourceOrbit[gpu] = root(nodes, gpu);
      sources.insert(m_sourceOrbit[gpu]);
    }
    m_sourceOrbits = static_cast<int>(sources.size());
    m_arcOrbit.assign(arcs.size(), -1);
    std::map<int, int> numbers;
    for (int arc = 0; arc < m_network.arcCount(); ++arc) {
      m_arcOrbit[arc] = numbers.try_emplace(root(arcs, arc), static_cast<int>(numbers.size())).first->second;
    }
    m_arcOrbits = static_cast<int>(numbers.size());
  }

  static int root(std::vector<int>& parent, int at) {
    while (parent[at] != at) {
      at = parent[at] = parent[parent[at]];
    }
    return at;
  }
  static void join(std::vector<int>& parent, int a, int b) { parent[root(parent, a)] = root(parent, b); }

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
  std::vector<Permutation> m_elements;
  std::vector<Permutation> m_generators;
  std::set<Permutation> m_known;
  std::vector<int> m_sourceOrbit;  ///< by node; -1 at relays
  int m_sourceOrbits = 0;
  std::vector<int> m_arcOrbit;
  int m_arcOrbits = 0;
  std::int64_t m_work = 0;
};

}  // namespace

SymmetryGroup findSymmetries(const Network& network, std::size_t maxElements, const Progress& progress) {
  return Search(network, maxElements, progress).run();
}

}  // namespace coppice::alltoall
