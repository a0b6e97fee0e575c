// SPDX-License-Identifier: Apache-2.0
#include "symmetry/orbits.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/disjoint_sets.hpp"
#include "base/rows.hpp"
#include "symmetry/automorphisms.hpp"

namespace coppice::symmetry {
namespace {

using std::int64_t;

struct HashOfInts {
  std::size_t operator()(const std::vector<int>& values) const {
    std::uint64_t hash = values.size();
    for (const int value : values) {
      hash = (hash ^ static_cast<std::uint32_t>(value)) * 0x9e3779b97f4a7c15U;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

/// A graph in which equal parts are contracted step by step.
///
/// Why symmetries of what is left are symmetries of the whole: the copies of a part have no arcs between them, since
/// each would have to lead to the same node outside of all copies. A node outside, or a copy of another part, has equal
/// arcs to every copy. So a symmetry that takes a part, with its number of copies, to another one takes the copies of
/// the one to the copies of the other. Arcs inside a contracted part get a colour of their own, since these alone do
/// not lead from each copy to each.
class Contraction {
public:
  Contraction(const ColouredDigraph& whole, bool wantsGenerators)
      : m_whole(whole), m_colourOf(whole.colourOf), m_arcs(whole.arcs), m_standsIn(whole.colourOf.size()) {
    std::iota(m_standsIn.begin(), m_standsIn.end(), 0);
    if (wantsGenerators) {
      for (std::size_t node = 0; node < m_standsIn.size(); ++node) {
        m_copies.push_back({static_cast<int>(node)});
      }
    }
    for (int& colour : m_colourOf) {
      colour = m_colours({colour, 0});
    }
    for (ColouredArc& arc : m_arcs) {
      arc.colour = m_arcColours({arc.colour, 0});
    }
  }

  void contract(const Parts& partOf) {
    ++m_step;
    const auto nodeCount = m_colourOf.size();
    if (nodeCount == 0) {
      return;
    }
    const int partCount = 1 + *std::max_element(partOf.begin(), partOf.end());
    const Rows<int> members(static_cast<std::size_t>(std::max(0, partCount)), [&](const auto& add) {
      for (std::size_t node = 0; node < nodeCount; ++node) {
        if (isLeft(node) && partOf[node] >= 0) {
          add(partOf[node], static_cast<int>(node));
        }
      }
    });
    m_placeOf.assign(nodeCount, 0);
    for (std::size_t part = 0; part < members.rowCount(); ++part) {
      for (std::size_t i = 0; i < members.size(part); ++i) {
        m_placeOf[members[part][i]] = static_cast<int>(i);
      }
    }
    const Rows<int> arcsOf(nodeCount, [&](const auto& add) {
      for (int arc = 0; arc < static_cast<int>(m_arcs.size()); ++arc) {
        add(m_arcs[arc].tail, 2 * arc);
        add(m_arcs[arc].head, 2 * arc + 1);
      }
    });
    std::unordered_map<std::vector<int>, std::pair<int, int>, HashOfInts> equal;  // the first part, copies
    bool isSmaller = false;
    for (std::size_t part = 0; part < members.rowCount(); ++part) {
      if (members.size(part) == 0) {
        continue;
      }
      const auto [found, isNew] =
          equal.try_emplace(signatureOf(members[part], partOf, arcsOf), static_cast<int>(part), 0);
      ++found->second.second;
      if (!isNew && !m_copies.empty()) {
        exchange(members[found->second.first], members[part]);
      }
      for (std::size_t i = 0; i < members.size(part) && !isNew; ++i) {
        m_standsIn[members[part][i]] = members[found->second.first][i];
        isSmaller = true;
      }
    }
    if (!isSmaller) {
      return;
    }
    // Colours are numbered in the order of the parts, so that they do not depend on the order of the hash table.
    std::vector<int> countOf(members.rowCount(), 1);
    for (const auto& [signature, copies] : equal) {
      countOf[copies.first] = copies.second;
    }
    for (std::size_t part = 0; part < members.rowCount(); ++part) {
      for (const int node : members[part]) {
        if (countOf[part] > 1) {
          m_colourOf[node] = m_colours({m_colourOf[node], countOf[part]});
        }
      }
    }
    std::erase_if(m_arcs, [this](const ColouredArc& arc) { return !isLeft(arc.tail) || !isLeft(arc.head); });
    for (ColouredArc& arc : m_arcs) {
      const int part = partOf[arc.tail];
      if (part >= 0 && part == partOf[arc.head] && countOf[part] > 1) {
        arc.colour = m_arcColours({arc.colour, m_step});
      }
    }
  }

  Orbits finish(int64_t maxWork, const Progress& progress) {
    std::vector<int> left;
    std::vector<int> numberOf(m_standsIn.size(), -1);
    ColouredDigraph rest;
    for (std::size_t node = 0; node < m_standsIn.size(); ++node) {
      if (isLeft(node)) {
        numberOf[node] = static_cast<int>(left.size());
        left.push_back(static_cast<int>(node));
        rest.colourOf.push_back(m_colourOf[node]);
      }
    }
    for (const ColouredArc& arc : m_arcs) {
      rest.arcs.push_back({numberOf[arc.tail], numberOf[arc.head], arc.colour});
    }
    const std::vector<Permutation> found = generators(rest, maxWork, progress);
    DisjointSets nodes(m_standsIn.size());
    for (std::size_t node = 0; node < m_standsIn.size(); ++node) {
      nodes.join(static_cast<int>(node), m_standsIn[node]);
    }
    for (const Permutation& image : found) {
      for (std::size_t i = 0; i < left.size(); ++i) {
        nodes.join(left[i], left[image[i]]);
      }
    }
    Orbits orbits;
    for (std::size_t node = 0; node < m_standsIn.size(); ++node) {
      orbits.ofNode.push_back(nodes.find(static_cast<int>(node)));
    }
    findArcOrbits(found, left, numberOf, orbits);
    if (!m_copies.empty()) {
      for (const Permutation& image : found) {
        std::vector<std::pair<int, int>> moves;
        for (std::size_t i = 0; i < left.size(); ++i) {
          const std::vector<int>& from = m_copies[left[i]];
          const std::vector<int>& to = m_copies[left[image[i]]];
          for (std::size_t copy = 0; copy < from.size() && from[copy] != to[copy]; ++copy) {
            moves.emplace_back(from[copy], to[copy]);
          }
        }
        m_generators.push_back(std::move(moves));
      }
      orbits.generators = std::move(m_generators);
    }
    return orbits;
  }

private:
  [[nodiscard]] bool isLeft(std::size_t node) const { return m_standsIn[node] == static_cast<int>(node); }
  int standIn(int node) {
    while (m_standsIn[node] != node) {
      node = m_standsIn[node] = m_standsIn[m_standsIn[node]];
    }
    return node;
  }

  /// Exchanges two equal parts with all copies that are contracted into them, and adds the second one's to the first.
  void exchange(std::span<const int> part, std::span<const int> other) {
    std::vector<std::pair<int, int>> moves;
    for (std::size_t i = 0; i < part.size(); ++i) {
      const std::vector<int>& there = m_copies[other[i]];
      std::vector<int>& here = m_copies[part[i]];
      for (std::size_t copy = 0; copy < there.size(); ++copy) {
        moves.emplace_back(here[copy], there[copy]);
        moves.emplace_back(there[copy], here[copy]);
      }
      here.insert(here.end(), there.begin(), there.end());
    }
    m_generators.push_back(std::move(moves));
  }

  /// Equal for parts that can be exchanged, and only for these.
  std::vector<int> signatureOf(std::span<const int> part, const Parts& partOf, const Rows<int>& arcsOf) {
    std::vector<int> signature;
    for (const int node : part) {
      m_ends.clear();
      for (const int end : arcsOf[node]) {
        const ColouredArc& arc = m_arcs[end / 2];
        const int other = end % 2 == 0 ? arc.head : arc.tail;
        const bool isInside = partOf[other] == partOf[node];
        m_ends.push_back({isInside ? -1 - m_placeOf[other] : other, end % 2, arc.colour});
      }
      std::sort(m_ends.begin(), m_ends.end());
      signature.push_back(m_colourOf[node]);
      signature.push_back(static_cast<int>(m_ends.size()));
      for (const auto& end : m_ends) {
        signature.insert(signature.end(), end.begin(), end.end());
      }
    }
    return signature;
  }

  void findArcOrbits(const std::vector<Permutation>& found, const std::vector<int>& left,
                     const std::vector<int>& numberOf, Orbits& orbits) {
    // Arcs that end at the same stand-ins and have the same colour are equal.
    const auto arcCount = m_whole.arcs.size();
    std::vector<std::array<int, 3>> keys;
    std::vector<int> order(arcCount);
    for (const ColouredArc& arc : m_whole.arcs) {
      keys.push_back({standIn(arc.tail), standIn(arc.head), arc.colour});
    }
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] < keys[b]; });
    DisjointSets arcs(arcCount);
    std::vector<int> firsts;
    for (std::size_t i = 0; i < arcCount; ++i) {
      if (i > 0 && keys[order[i]] == keys[firsts.back()]) {
        arcs.join(firsts.back(), order[i]);
      } else {
        firsts.push_back(order[i]);
      }
    }
    for (const Permutation& image : found) {
      for (const int arc : firsts) {
        const std::array<int, 3> wanted{left[image[numberOf[keys[arc][0]]]], left[image[numberOf[keys[arc][1]]]],
                                        keys[arc][2]};
        const auto at = std::lower_bound(firsts.begin(), firsts.end(), wanted,
                                         [&](int a, const std::array<int, 3>& key) { return keys[a] < key; });
        arcs.join(arc, *at);
      }
    }
    for (std::size_t arc = 0; arc < arcCount; ++arc) {
      orbits.ofArc.push_back(arcs.find(static_cast<int>(arc)));
    }
  }

  const ColouredDigraph& m_whole;
  std::vector<int> m_colourOf;      // of what is left
  std::vector<ColouredArc> m_arcs;  // of what is left
  std::vector<int> m_standsIn;      // by node one that is equal and may be left
  /// By node that is left: the nodes that it stands for, itself first; those of a part in the same order. Empty where
  /// generators are not wanted.
  std::vector<std::vector<int>> m_copies;
  std::vector<std::vector<std::pair<int, int>>> m_generators;
  Numbering<std::pair<int, int>> m_colours;
  Numbering<std::pair<int, int>> m_arcColours;
  int m_step = 0;
  std::vector<int> m_placeOf;
  std::vector<std::array<int, 3>> m_ends;
};

}  // namespace

Orbits orbitsOf(const ColouredDigraph& graph, std::span<const Parts> candidates, int64_t maxWork,
                const Progress& progress, bool wantsGenerators) {
  Contraction contraction(graph, wantsGenerators);
  for (const Parts& parts : candidates) {
    throwIfCancelled(progress);
    contraction.contract(parts);
  }
  return contraction.finish(maxWork, progress);
}

}  // namespace coppice::symmetry
