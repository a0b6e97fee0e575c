// SPDX-License-Identifier: Apache-2.0
#include "groups/classes.hpp"

#include <algorithm>
#include <compare>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <tuple>

#include "base/disjoint_sets.hpp"
#include "symmetry/fabric_parts.hpp"
#include "symmetry/groups.hpp"

namespace coppice::groups {
namespace {

using schedule::ConcurrentDemand;
using schedule::ConcurrentGroup;
using symmetry::Parts;

constexpr std::int64_t kSymmetryWork = std::int64_t{1} << 27;

bool relaysAt(const ConcurrentDemand& demand, const fabric::Node& node) {
  return node.rank >= 0 && !demand.relays.empty() && demand.relays[node.rank];
}

/// The fabric, with a node for each group that has arcs to its members.
symmetry::ColouredDigraph graphOf(const fabric::Fabric& fabric, const ConcurrentDemand& demand) {
  symmetry::ColouredDigraph graph;
  symmetry::Numbering<std::tuple<int, int, Rational>> nodes;
  for (const fabric::Node& node : fabric.nodes()) {
    graph.colourOf.push_back(nodes({-1, static_cast<int>(node.kind), Rational(relaysAt(demand, node) ? 1 : 0)}));
  }
  symmetry::Numbering<std::pair<int, Bandwidth>> arcs;
  for (const fabric::Arc& arc : fabric.arcs()) {
    graph.arcs.push_back({arc.tail, arc.head, arcs({0, arc.bandwidth})});
  }
  for (const ConcurrentGroup& group : demand.groups) {
    const int node = graph.nodeCount();
    graph.colourOf.push_back(nodes({static_cast<int>(group.collective), 0, group.weight}));
    for (std::size_t place = 0; place < group.ranks.size(); ++place) {
      const bool isRoot = isRooted(group.collective) && static_cast<int>(place) == group.root;
      graph.arcs.push_back({node, fabric.gpus()[group.ranks[place]], arcs({isRoot ? 2 : 1, Bandwidth()})});
    }
  }
  return graph;
}

/// Parts of the fabric with the groups that lie in one of them.
Parts withGroups(Parts parts, const fabric::Fabric& fabric, const ConcurrentDemand& demand) {
  for (const ConcurrentGroup& group : demand.groups) {
    int part = parts[fabric.gpus()[group.ranks.front()]];
    for (const fabric::Rank rank : group.ranks) {
      part = parts[fabric.gpus()[rank]] == part ? part : -1;
    }
    parts.push_back(part);
  }
  return parts;
}

/// Each group with those of its GPUs that are in no other.
Parts singleGroups(const fabric::Fabric& fabric, const ConcurrentDemand& demand) {
  Parts parts(fabric.nodes().size() + demand.groups.size(), -1);
  for (std::size_t i = 0; i < demand.groups.size(); ++i) {
    parts[fabric.nodes().size() + i] = static_cast<int>(i);
    for (const fabric::Rank rank : demand.groups[i].ranks) {
      int& part = parts[fabric.gpus()[rank]];
      part = part == -1 ? static_cast<int>(i) : -2;
    }
  }
  std::replace(parts.begin(), parts.end(), -2, -1);
  return parts;
}

/// Parts of the fabric, such as boxes, that groups tie to each other.
Parts tiedParts(const Parts& parts, const fabric::Fabric& fabric, const ConcurrentDemand& demand) {
  DisjointSets sets(parts.size());
  std::map<int, int> firstOf;
  for (std::size_t node = 0; node < fabric.nodes().size(); ++node) {
    if (parts[node] >= 0) {
      sets.join(firstOf.try_emplace(parts[node], static_cast<int>(node)).first->second, static_cast<int>(node));
    }
  }
  for (std::size_t i = 0; i < demand.groups.size(); ++i) {
    for (const fabric::Rank rank : demand.groups[i].ranks) {
      sets.join(static_cast<int>(fabric.nodes().size() + i), fabric.gpus()[rank]);
    }
  }
  Parts tied(parts.size(), -1);
  for (std::size_t node = 0; node < parts.size(); ++node) {
    const bool isTied =
        node >= fabric.nodes().size() || parts[node] >= 0 || fabric.nodes()[node].kind == fabric::NodeKind::gpu;
    tied[node] = isTied ? sets.find(static_cast<int>(node)) : -1;
  }
  return tied;
}

std::vector<Parts> candidatesOf(const fabric::Fabric& fabric, const ConcurrentDemand& demand) {
  std::vector<Parts> candidates;
  std::vector<Parts> tied;
  for (Parts& parts : symmetry::candidateParts(symmetry::graphOf(fabric), fabric)) {
    candidates.push_back(withGroups(std::move(parts), fabric, demand));
    tied.push_back(tiedParts(candidates.back(), fabric, demand));
  }
  candidates.insert(candidates.begin() + (candidates.empty() ? 0 : 1), singleGroups(fabric, demand));
  std::move(tied.begin(), tied.end(), std::back_inserter(candidates));
  return candidates;
}

/// Groups whose ranks follow each other at one distance, as in a mesh.
struct MeshAxis {
  int stride = 0;
  int size = 0;
  friend auto operator<=>(const MeshAxis&, const MeshAxis&) = default;
};

std::set<MeshAxis> axesOf(const fabric::Fabric& fabric, const ConcurrentDemand& demand) {
  constexpr std::size_t kMaxAxes = 8;
  std::set<MeshAxis> axes;
  for (const ConcurrentGroup& group : demand.groups) {
    const int stride = group.ranks[1] - group.ranks[0];
    const auto size = static_cast<int>(group.ranks.size());
    bool isAxis = stride > 0 && axes.size() < kMaxAxes && fabric.gpuCount() % (std::int64_t{stride} * size) == 0;
    for (std::size_t place = 1; isAxis && place < group.ranks.size(); ++place) {
      isAxis = group.ranks[place] - group.ranks[place - 1] == stride;
    }
    if (isAxis) {
      axes.insert({stride, size});
    }
  }
  return axes;
}

/// Ranks in cycles of `size`, `stride` apart, each to the next one: images of the GPUs.
std::vector<int> rotated(const fabric::Fabric& fabric, int stride, int size) {
  std::vector<int> images;
  for (int rank = 0; rank < fabric.gpuCount(); ++rank) {
    const bool isLast = rank / stride % size == size - 1;
    images.push_back(fabric.gpus()[isLast ? rank - stride * (size - 1) : rank + stride]);
  }
  return images;
}

/// Orbits of the group that the permutations generate.
symmetry::Orbits orbitsUnder(const symmetry::ColouredDigraph& graph, std::span<const symmetry::Permutation> shifts) {
  DisjointSets nodes(graph.colourOf.size());
  DisjointSets arcs(graph.arcs.size());
  std::map<std::pair<int, int>, int> arcAt;
  for (std::size_t arc = 0; arc < graph.arcs.size(); ++arc) {
    arcAt.emplace(std::pair(graph.arcs[arc].tail, graph.arcs[arc].head), static_cast<int>(arc));
  }
  symmetry::Orbits orbits;
  for (const symmetry::Permutation& shift : shifts) {
    orbits.generators.emplace_back();
    for (int node = 0; node < graph.nodeCount(); ++node) {
      nodes.join(node, shift[node]);
      if (shift[node] != node) {
        orbits.generators.back().emplace_back(node, shift[node]);
      }
    }
    for (std::size_t arc = 0; arc < graph.arcs.size(); ++arc) {
      arcs.join(static_cast<int>(arc), arcAt.at({shift[graph.arcs[arc].tail], shift[graph.arcs[arc].head]}));
    }
  }
  for (int node = 0; node < graph.nodeCount(); ++node) {
    orbits.ofNode.push_back(nodes.find(node));
  }
  for (std::size_t arc = 0; arc < graph.arcs.size(); ++arc) {
    orbits.ofArc.push_back(arcs.find(static_cast<int>(arc)));
  }
  return orbits;
}

/// Where groups are axes of a mesh, rotations of the ranks along them that are symmetries, if they make all GPUs alike.
/// They find at once what a search for symmetries does not find in large meshes.
std::optional<symmetry::Orbits> meshOrbits(const symmetry::ColouredDigraph& graph, const fabric::Fabric& fabric,
                                           const ConcurrentDemand& demand, const Progress& progress) {
  const std::set<MeshAxis> axes = axesOf(fabric, demand);
  if (axes.empty()) {
    return std::nullopt;
  }
  symmetry::Lifting lifting(graph, fabric.gpus());
  std::vector<symmetry::Permutation> found;
  DisjointSets alike(fabric.nodes().size());
  const auto areAlike = [&](std::span<const int> images) {
    for (std::size_t rank = 0; rank < images.size(); ++rank) {
      if (alike.find(fabric.gpus()[rank]) != alike.find(images[rank])) {
        return false;
      }
    }
    return true;
  };
  const auto add = [&](int stride, int size) {
    throwIfCancelled(progress);
    const std::vector<int> images = rotated(fabric, stride, size);
    if (areAlike(images)) {
      return;
    }
    if (auto symmetry = lifting.find(images)) {
      for (std::size_t rank = 0; rank < images.size(); ++rank) {
        alike.join(fabric.gpus()[rank], images[rank]);
      }
      found.push_back(*std::move(symmetry));
    }
  };
  for (const auto& [stride, size] : axes) {
    add(stride, size);
  }
  // Boxes, and those of one leaf, may be part of an axis: then it rotates by such blocks, and within them.
  for (const auto& [stride, size] : axes) {
    for (int outer = size; outer > 1; --outer) {
      for (int inner = 1; size % outer == 0 && inner < outer; ++inner) {
        if (outer % inner == 0) {
          add(stride * inner, outer / inner);
        }
      }
    }
  }
  const std::vector<int> all(static_cast<std::size_t>(fabric.gpuCount()), fabric.gpus().front());
  return areAlike(all) ? std::optional(orbitsUnder(graph, found)) : std::nullopt;
}

symmetry::Orbits findOrbits(const symmetry::ColouredDigraph& graph, const fabric::Fabric& fabric,
                            const ConcurrentDemand& demand, const Progress& progress) {
  if (auto orbits = meshOrbits(graph, fabric, demand, progress)) {
    return *std::move(orbits);
  }
  return symmetry::orbitsOf(graph, candidatesOf(fabric, demand), kSymmetryWork, progress, true);
}

/// The shares of one group, with roots by class: `amount` is per image until the images are counted.
void addShares(const ConcurrentDemand& demand, int group, int images, const std::vector<int>& classOfPlace,
               std::vector<Share>& shares) {
  const ConcurrentGroup& of = demand.groups[group];
  const auto size = static_cast<std::int64_t>(of.ranks.size());
  std::map<int, std::pair<int, std::int64_t>> roots;  // by class: its first place, and how many
  for (std::size_t place = 0; place < of.ranks.size(); ++place) {
    ++roots.try_emplace(classOfPlace[place], static_cast<int>(place), 0).first->second.second;
  }
  const Rational whole = of.weight * Rational(images);
  if (isRooted(of.collective)) {
    shares.push_back({group, {of.root}, movesShards(of.collective) ? whole / Rational(size) : whole});
  } else if (of.collective == Collective::allreduce) {
    Share share{group, {}, whole};
    for (const auto& [orbit, root] : roots) {
      share.roots.push_back(root.first);
    }
    shares.push_back(std::move(share));
  } else {
    for (const auto& [orbit, root] : roots) {
      shares.push_back({group, {root.first}, whole * Rational(root.second, size)});
    }
  }
}

}  // namespace

std::vector<char> usableNodes(const fabric::Fabric& fabric, const ConcurrentDemand& demand,
                              const ConcurrentGroup& group) {
  std::vector<char> usable;
  usable.reserve(fabric.nodes().size());
  for (const fabric::Node& node : fabric.nodes()) {
    usable.push_back(node.kind != fabric::NodeKind::gpu || relaysAt(demand, node) ? 1 : 0);
  }
  for (const fabric::Rank rank : group.ranks) {
    usable[fabric.gpus()[rank]] = 1;
  }
  return usable;
}

Classes classesOf(const fabric::Fabric& fabric, const ConcurrentDemand& demand, const Progress& progress) {
  const symmetry::ColouredDigraph graph = graphOf(fabric, demand);
  const symmetry::Orbits orbits = findOrbits(graph, fabric, demand, progress);
  Classes classes;
  const auto nodes = static_cast<std::size_t>(fabric.nodeCount());
  std::vector<int> images(demand.groups.size(), 0);
  for (std::size_t i = 0; i < demand.groups.size(); ++i) {
    ++images[static_cast<std::size_t>(orbits.ofNode[nodes + i]) - nodes];
  }
  // Which links a group may use: those between two usable nodes. Every GPU in a group or that relays has them all but
  // those to GPUs of other groups.
  std::vector<std::vector<int>> groupsOf(fabric.gpus().size());
  for (std::size_t i = 0; i < demand.groups.size(); ++i) {
    for (const fabric::Rank rank : demand.groups[i].ranks) {
      groupsOf[rank].push_back(static_cast<int>(i));
    }
  }
  const auto isOpen = [&](const fabric::Node& node) {
    return node.kind != fabric::NodeKind::gpu || relaysAt(demand, node);
  };
  const auto isUsed = [&](const fabric::Node& a, const fabric::Node& b) {
    if (isOpen(a) || isOpen(b)) {
      const fabric::Node& other = isOpen(a) ? b : a;
      return isOpen(other) || !groupsOf[other.rank].empty();
    }
    const std::vector<int>& first = groupsOf[a.rank];
    const std::vector<int>& second = groupsOf[b.rank];
    return std::any_of(first.begin(), first.end(),
                       [&](int group) { return std::binary_search(second.begin(), second.end(), group); });
  };
  std::map<int, int> numberOf;
  for (std::size_t arc = 0; arc < fabric.arcs().size(); ++arc) {
    const fabric::Arc& at = fabric.arcs()[arc];
    if (!isUsed(fabric.nodes()[at.tail], fabric.nodes()[at.head])) {
      classes.ofArc.push_back(-1);
      continue;
    }
    const int number = numberOf.try_emplace(orbits.ofArc[arc], static_cast<int>(numberOf.size())).first->second;
    classes.linkCount.resize(numberOf.size(), 0);
    ++classes.linkCount[number];
    classes.ofArc.push_back(number);
  }
  std::size_t member = fabric.arcs().size();
  for (std::size_t i = 0; i < demand.groups.size(); ++i) {
    const std::size_t size = demand.groups[i].ranks.size();
    classes.ofGroup.push_back(static_cast<int>(static_cast<std::size_t>(orbits.ofNode[nodes + i]) - nodes));
    if (images[i] > 0) {
      addShares(demand, static_cast<int>(i), images[i],
                {orbits.ofArc.begin() + static_cast<std::ptrdiff_t>(member),
                 orbits.ofArc.begin() + static_cast<std::ptrdiff_t>(member + size)},
                classes.shares);
    }
    member += size;
  }
  for (const auto& generator : orbits.generators) {
    std::vector<std::pair<fabric::NodeIndex, fabric::NodeIndex>> moved;
    for (const auto& [node, image] : generator) {
      if (node < fabric.nodeCount()) {
        moved.emplace_back(node, image);
      }
    }
    if (!moved.empty()) {
      classes.symmetries.push_back(std::move(moved));
    }
  }
  return classes;
}

}  // namespace coppice::groups
