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
using symmetry::ColouredDigraph;

constexpr std::int64_t kMaxWork = std::int64_t{1} << 24;

/// The graph with a node for each box, linked to what lies in it, so that symmetries keep boxes whole.
class BoxedGraph {
public:
  BoxedGraph(const Fabric& fabric, ColouredDigraph graph) : m_graph(std::move(graph)) {
    for (const fabric::Node& node : fabric.nodes()) {
      m_boxOf.push_back(node.box);
      m_isGpu.push_back(node.kind == fabric::NodeKind::gpu);
    }
    // Colours of their own: of arcs, behind those there are; of nodes too.
    int arcColour = 0;
    for (const symmetry::ColouredArc& arc : m_graph.arcs) {
      arcColour = std::max(arcColour, arc.colour + 1);
    }
    const int nodeColour = *std::ranges::max_element(m_graph.colourOf) + 1;
    const int count = fabric.nodeCount();
    for (int node = 0; node < count; ++node) {
      const std::string_view box = fabric.nodes()[node].box;
      int inner = node;
      for (int level = levelOf(box); level > 0; --level) {
        const auto [at, isNew] = m_nodeOfBox.try_emplace(fabric::boxAtLevel(box, level), m_graph.nodeCount());
        if (isNew) {
          m_graph.colourOf.push_back(nodeColour + level);
          m_boxOf.push_back(at->first);
          m_isGpu.push_back(false);
        }
        m_graph.arcs.push_back({at->second, inner, arcColour});
        if (!isNew) {
          break;
        }
        inner = at->second;
      }
    }
  }

  [[nodiscard]] int nodeOf(std::string_view box) const { return m_nodeOfBox.at(box); }
  [[nodiscard]] symmetry::Orbits orbits(const Progress& progress) const {
    return symmetry::orbitsOf(m_graph, symmetry::candidateParts(m_graph, m_boxOf, m_isGpu), kMaxWork, progress);
  }

private:
  static int levelOf(std::string_view box) {
    return box.empty() ? 0 : static_cast<int>(std::ranges::count(box, '/')) + 1;
  }

  ColouredDigraph m_graph;
  std::vector<std::string_view> m_boxOf;
  std::vector<bool> m_isGpu;
  std::map<std::string_view, int> m_nodeOfBox;
};

/// What failures of a class have in common.
using Signature = std::vector<std::tuple<int, int, Rational>>;

}  // namespace

std::vector<std::size_t> failureClasses(const Fabric& fabric, std::span<const std::int64_t> amounts,
                                        std::span<const PartFailure> failures, const Progress& progress) {
  const ColouredDigraph graph = symmetry::graphOf(fabric, amounts);
  const symmetry::Orbits orbits =
      symmetry::orbitsOf(graph, symmetry::candidateParts(graph, fabric), kMaxWork, progress);
  const bool hasBoxes = std::ranges::any_of(failures, [](const PartFailure& f) { return f.part == Part::box; });
  const BoxedGraph boxed(fabric, hasBoxes ? graph : ColouredDigraph{std::vector<int>(1, 0), {}});
  const symmetry::Orbits ofBoxes = hasBoxes ? boxed.orbits(progress) : symmetry::Orbits();
  std::map<Signature, std::size_t> known;
  std::vector<std::size_t> first;
  first.reserve(failures.size());
  for (std::size_t i = 0; i < failures.size(); ++i) {
    const PartFailure& failure = failures[i];
    Signature signature;
    if (failure.part == Part::group) {
      signature.emplace_back(-1, static_cast<int>(i), Rational());
    } else if (failure.part == Part::box) {
      signature.emplace_back(-2, ofBoxes.ofNode[boxed.nodeOf(failure.name)], Rational());
    } else {
      for (const fabric::NodeIndex node : failure.nodes) {
        signature.emplace_back(0, orbits.ofNode[node], Rational());
      }
      for (const PartFailure::Loss& loss : failure.losses) {
        const auto arc = fabric.findArc(loss.tail, loss.head);
        signature.emplace_back(1, arc ? orbits.ofArc[*arc] : -1, loss.bandwidth.gigabytesPerSecond());
      }
      std::ranges::sort(signature);
    }
    first.push_back(known.try_emplace(std::move(signature), i).first->second);
  }
  return first;
}

}  // namespace coppice::live
