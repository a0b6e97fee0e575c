// SPDX-License-Identifier: Apache-2.0
#include "live/failure_classes.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "fabric/box_path.hpp"
#include "symmetry/fabric_parts.hpp"
#include "symmetry/orbits.hpp"

namespace coppice::live {
namespace {

using fabric::Fabric;

constexpr std::int64_t kMaxWork = std::int64_t{1} << 24;

int levelOf(std::string_view box) {
  return box.empty() ? 0 : static_cast<int>(std::ranges::count(box, '/')) + 1;
}

/// A node more for each box, linked to what lies in it, so that symmetries keep boxes whole. Their numbers.
std::map<std::string_view, int> addBoxes(SymmetricFabric& fabric) {
  // Colours of their own: of arcs, behind those there are; of nodes too.
  int arcColour = 0;
  for (const symmetry::ColouredArc& arc : fabric.graph.arcs) {
    arcColour = std::max(arcColour, arc.colour + 1);
  }
  const int nodeColour = *std::ranges::max_element(fabric.graph.colourOf) + 1;
  std::map<std::string_view, int> nodeOfBox;
  const int count = fabric.graph.nodeCount();
  for (int node = 0; node < count; ++node) {
    const std::string_view box = fabric.boxOf[node];
    int inner = node;
    for (int level = levelOf(box); level > 0; --level) {
      const auto [at, isNew] = nodeOfBox.try_emplace(fabric::boxAtLevel(box, level), fabric.graph.nodeCount());
      if (isNew) {
        fabric.graph.colourOf.push_back(nodeColour + level);
        fabric.boxOf.push_back(at->first);
        fabric.isGpu.push_back(false);
      }
      fabric.graph.arcs.push_back({at->second, inner, arcColour});
      if (!isNew) {
        break;
      }
      inner = at->second;
    }
  }
  return nodeOfBox;
}

/// What failures of a class have in common.
using Signature = std::vector<std::tuple<int, int, Rational>>;

}  // namespace

symmetry::Orbits SymmetricFabric::orbits(const Progress& progress) const {
  return symmetry::orbitsOf(graph, symmetry::candidateParts(graph, boxOf, isGpu), kMaxWork, progress);
}

std::vector<std::size_t> failureClasses(const Fabric& fabric, std::span<const std::int64_t> amounts,
                                        std::span<const PartFailure> failures, const Progress& progress) {
  SymmetricFabric symmetric{symmetry::graphOf(fabric, amounts), {}, {}};
  for (const fabric::Node& node : fabric.nodes()) {
    symmetric.boxOf.push_back(node.box);
    symmetric.isGpu.push_back(node.kind == fabric::NodeKind::gpu);
  }
  return failureClasses(std::move(symmetric), failures, progress);
}

std::vector<std::size_t> failureClasses(SymmetricFabric fabric, std::span<const PartFailure> failures,
                                        const Progress& progress) {
  const symmetry::Orbits orbits = fabric.orbits(progress);
  std::map<std::pair<int, int>, int> orbitOfArc;
  for (std::size_t arc = 0; arc < orbits.ofArc.size(); ++arc) {
    orbitOfArc.emplace(std::pair(fabric.graph.arcs[arc].tail, fabric.graph.arcs[arc].head), orbits.ofArc[arc]);
  }
  std::map<std::string_view, int> nodeOfBox;
  symmetry::Orbits ofBoxes;
  if (std::ranges::any_of(failures, [](const PartFailure& f) { return f.part == Part::box; })) {
    nodeOfBox = addBoxes(fabric);
    ofBoxes = fabric.orbits(progress);
  }
  std::map<Signature, std::size_t> known;
  std::vector<std::size_t> first;
  first.reserve(failures.size());
  for (std::size_t i = 0; i < failures.size(); ++i) {
    const PartFailure& failure = failures[i];
    Signature signature;
    if (failure.part == Part::group) {
      signature.emplace_back(-1, static_cast<int>(i), Rational());
    } else if (failure.part == Part::box) {
      signature.emplace_back(-2, ofBoxes.ofNode[nodeOfBox.at(failure.name)], Rational());
    } else {
      for (const fabric::NodeIndex node : failure.nodes) {
        signature.emplace_back(0, orbits.ofNode[node], Rational());
      }
      for (const PartFailure::Loss& loss : failure.losses) {
        const auto arc = orbitOfArc.find({loss.tail, loss.head});
        signature.emplace_back(1, arc != orbitOfArc.end() ? arc->second : -1, loss.bandwidth.gigabytesPerSecond());
      }
      std::ranges::sort(signature);
    }
    first.push_back(known.try_emplace(std::move(signature), i).first->second);
  }
  return first;
}

}  // namespace coppice::live
