// SPDX-License-Identifier: Apache-2.0
#include "symmetry/set_orbit.hpp"

#include <compare>
#include <cstdint>
#include <map>

#include "base/disjoint_sets.hpp"
#include "symmetry/groups.hpp"

namespace coppice::symmetry {
namespace {

using Moves = SetOrbits::Moves;

/// A name for a set of nodes that follows when few of them change: the sum of numbers that look random, twice. Sets of
/// one name are taken for equal.
class SetName {
public:
  void add(int node) {
    m_first += mixed(static_cast<std::uint64_t>(node) * 2 + 1);
    m_second += mixed(~(static_cast<std::uint64_t>(node) * 2));
  }
  void remove(int node) {
    m_first -= mixed(static_cast<std::uint64_t>(node) * 2 + 1);
    m_second -= mixed(~(static_cast<std::uint64_t>(node) * 2));
  }
  friend auto operator<=>(const SetName&, const SetName&) = default;

private:
  /// The finalizer of splitmix64.
  static std::uint64_t mixed(std::uint64_t value) {
    value += 0x9e3779b97f4a7c15U;
    value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31U);
  }

  std::uint64_t m_first = 0;
  std::uint64_t m_second = 0;
};

std::uint64_t endsOf(int tail, int head) {
  return static_cast<std::uint64_t>(tail) << 32U | static_cast<std::uint32_t>(head);
}

/// `first`, then `generator`, then `back`: the nodes that this moves.
Moves composedMoves(const Permutation& first, const Moves& generator, const Permutation& back) {
  Permutation whole = identity(static_cast<int>(first.size()));
  for (const auto& [from, to] : generator) {
    whole[from] = to;
  }
  Moves moves;
  for (std::size_t node = 0; node < first.size(); ++node) {
    const auto from = static_cast<int>(node);
    if (const int to = back[whole[first[node]]]; to != from) {
      moves.emplace_back(from, to);
    }
  }
  return moves;
}

/// The inverse of `back`, then `generator`, then `back`: the generator with other names for the nodes.
Moves renamed(const Moves& generator, const Permutation& back) {
  Moves moves;
  for (const auto& [from, to] : generator) {
    moves.emplace_back(back[from], back[to]);
  }
  return moves;
}

}  // namespace

/// Orbits of the group that symmetries generate, taken up one by one.
class SetOrbits::Stabiliser {
public:
  explicit Stabiliser(const SetOrbits& all)
      : m_all(all),
        m_nodes(all.m_graph.colourOf.size()),
        m_arcs(all.m_graph.arcs.size()),
        m_image(identity(all.m_graph.nodeCount())) {}

  void add(const Moves& moves) {
    for (const auto& [from, to] : moves) {
      m_image[from] = to;
    }
    for (const auto& [from, to] : moves) {
      m_nodes.join(from, to);
      for (const int arc : m_all.m_arcsAt[static_cast<std::size_t>(from)]) {
        const ColouredArc& at = m_all.m_graph.arcs[arc];
        m_arcs.join(arc, m_all.m_arcOf.at(endsOf(m_image[at.tail], m_image[at.head])));
      }
    }
    for (const auto& [from, to] : moves) {
      m_image[from] = from;
    }
  }

  void write(SetOrbit& orbit) {
    for (std::size_t node = 0; node < m_all.m_graph.colourOf.size(); ++node) {
      orbit.ofNode.push_back(m_nodes.find(static_cast<int>(node)));
    }
    for (std::size_t arc = 0; arc < m_all.m_graph.arcs.size(); ++arc) {
      orbit.ofArc.push_back(m_arcs.find(static_cast<int>(arc)));
    }
  }

private:
  const SetOrbits& m_all;
  DisjointSets m_nodes;
  DisjointSets m_arcs;
  Permutation m_image;  ///< of the symmetry that is being added
};

SetOrbits::SetOrbits(const ColouredDigraph& graph, std::span<const Moves> generators)
    : m_graph(graph), m_generators(generators), m_arcsAt(graph.colourOf.size(), [&](const auto& add) {
        for (std::size_t i = 0; i < graph.arcs.size(); ++i) {
          add(graph.arcs[i].tail, static_cast<int>(i));
          add(graph.arcs[i].head, static_cast<int>(i));
        }
      }) {
  m_arcOf.reserve(graph.arcs.size());
  for (std::size_t i = 0; i < graph.arcs.size(); ++i) {
    m_arcOf.emplace(endsOf(graph.arcs[i].tail, graph.arcs[i].head), static_cast<int>(i));
  }
}

std::optional<SetOrbit> SetOrbits::of(const std::vector<bool>& set, std::size_t max) const {
  struct Image {
    std::vector<bool> set;
    SetName name;
    Permutation back;  ///< the inverse of the symmetry that makes it
  };
  const int nodeCount = m_graph.nodeCount();
  SetOrbit orbit;
  orbit.images.push_back(identity(nodeCount));
  std::vector<Image> images{{set, {}, identity(nodeCount)}};
  for (int node = 0; node < nodeCount; ++node) {
    if (set[node]) {
      images.front().name.add(node);
    }
  }
  std::map<SetName, std::size_t> seen{{images.front().name, 0}};
  Stabiliser stabiliser(*this);
  for (std::size_t i = 0; i < images.size(); ++i) {
    for (const Moves& generator : m_generators) {
      SetName name = images[i].name;
      for (const auto& [from, to] : generator) {
        if (images[i].set[to]) {
          name.remove(to);
        }
        if (images[i].set[from]) {
          name.add(to);
        }
      }
      const auto [found, isNew] = seen.try_emplace(name, images.size());
      if (!isNew) {
        const Permutation& back = images[found->second].back;
        stabiliser.add(found->second == i ? renamed(generator, back) : composedMoves(orbit.images[i], generator, back));
        continue;
      }
      if (images.size() == max) {
        return std::nullopt;
      }
      Image image{images[i].set, name, images[i].back};
      Permutation whole = orbit.images[i];
      for (const auto& [from, to] : generator) {
        image.set[to] = images[i].set[from];
        image.back[to] = images[i].back[from];
        whole[images[i].back[from]] = to;
      }
      orbit.images.push_back(std::move(whole));
      images.push_back(std::move(image));
    }
  }
  stabiliser.write(orbit);
  return orbit;
}

}  // namespace coppice::symmetry
