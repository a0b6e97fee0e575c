// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/checked.hpp"
#include "schedule/arc_finder.hpp"
#include "schedule/forest.hpp"
#include "schedule/rotation.hpp"
#include "schedule/tree_reader.hpp"

namespace coppice::schedule {
namespace {

using fabric::NodeIndex;
using fabric::NodeKind;

/// What lies between two GPUs.
struct Distance {
  std::int32_t hops = 0;
  std::int32_t links = 0;
  std::int64_t picoseconds = 0;  ///< the largest int64 where it would leave that

  friend Distance operator+(const Distance& a, const Distance& b) {
    Distance sum{a.hops + b.hops, a.links + b.links, 0};
    if (__builtin_add_overflow(a.picoseconds, b.picoseconds, &sum.picoseconds)) {
      sum.picoseconds = std::numeric_limits<std::int64_t>::max();
    }
    return sum;
  }
  /// The largest of each, which may be of different leaves.
  void raise(const Distance& other) {
    hops = std::max(hops, other.hops);
    links = std::max(links, other.links);
    picoseconds = std::max(picoseconds, other.picoseconds);
  }
};

/// How long routes are; their latencies are 0 without a fabric.
class RouteLengths {
public:
  explicit RouteLengths(const fabric::Fabric* fabric) {
    if (fabric != nullptr) {
      m_arcs.emplace(*fabric, Direction::out);
      for (const fabric::Arc& arc : fabric->arcs()) {
        m_latency.push_back(latencyPicoseconds(*fabric, arc));
      }
    }
  }

  /// @param route in the direction of the data
  [[nodiscard]] Distance of(std::span<const NodeIndex> route) const {
    Distance length{1, static_cast<std::int32_t>(route.size()) - 1, 0};
    for (std::size_t i = 0; m_arcs && i + 1 < route.size(); ++i) {
      const std::int32_t arc = m_arcs->find(route[i], route[i + 1]);
      length = length + Distance{0, 0, arc == kNoArc ? 0 : m_latency[arc]};
    }
    return length;
  }

private:
  std::optional<ArcFinder> m_arcs;
  std::vector<std::int64_t> m_latency;  ///< by arc
};

/// Collects the trees' heights.
class Summary {
public:
  void add(const Distance& height, std::int64_t multiplicity) {
    const auto weight = static_cast<double>(multiplicity);
    m_max.raise(height);
    m_hops += weight * height.hops;
    m_links += weight * height.links;
    m_picoseconds += weight * static_cast<double>(height.picoseconds);
    m_weight += weight;
  }
  [[nodiscard]] Heights result() const {
    constexpr double kPicoseconds = 1e6;
    const double weight = m_weight > 0 ? m_weight : 1;
    return {m_max.hops,
            m_hops / weight,
            m_max.links,
            m_links / weight,
            Microseconds(static_cast<double>(m_max.picoseconds) / kPicoseconds),
            Microseconds(m_picoseconds / weight / kPicoseconds)};
  }

private:
  Distance m_max;
  double m_hops = 0;
  double m_links = 0;
  double m_picoseconds = 0;
  double m_weight = 0;
};

Heights measure(const Forest& forest, const fabric::Fabric* fabric, const Progress& progress) {
  if (forest.gpuCount < 1) {
    return {};
  }
  const RouteLengths lengths(fabric);
  // Images are as high as the trees of rank 0, unless their links have other latencies.
  const bool areAlike = fabric == nullptr || keepsLatencies(*fabric, forest.rotations);
  std::vector<Distance> lengthOf;  // by route
  for (PathId id = 0; areAlike && id < forest.paths.size(); ++id) {
    lengthOf.push_back(lengths.of(forest.paths[id]));
  }
  TreeReader reader(forest);
  Summary summary;
  std::vector<Distance> distanceOf(forest.gpuCount);
  for (std::int64_t tree = 0; tree < (areAlike ? std::ssize(forest.trees) : reader.size()); ++tree) {
    throwIfCancelled(progress);
    const TreeReader::View view = reader.read(tree);
    Distance height;
    distanceOf[view.root] = {};
    for (const TreeEdge& edge : view.edges) {
      distanceOf[edge.child] =
          distanceOf[edge.parent] + (areAlike ? lengthOf[edge.path] : lengths.of(reader.path(edge)));
      height.raise(distanceOf[edge.child]);
    }
    summary.add(height, view.multiplicity);
  }
  return summary.result();
}

}  // namespace

Heights heights(const Forest& forest) {
  return measure(forest, nullptr, {});
}

int maxHeight(const Forest& forest) {
  int max = 0;
  std::vector<int> depthOf(std::max(forest.gpuCount, 0));
  for (const Tree& tree : forest.trees) {
    depthOf[tree.root] = 0;
    for (const TreeEdge& edge : forest.edgesOf(tree)) {
      const int depth = depthOf[edge.parent] + 1;
      depthOf[edge.child] = depth;
      max = std::max(max, depth);
    }
  }
  return max;
}

Heights heights(const Forest& forest, const fabric::Fabric& fabric, const Progress& progress) {
  return measure(forest, &fabric, progress);
}

std::int64_t latencyPicoseconds(const fabric::Fabric& fabric, const fabric::Arc& arc) {
  constexpr std::int64_t kPerMicrosecond = 1'000'000;
  constexpr std::int64_t kMax = 1'000'000 * kPerMicrosecond;
  if (arc.latency) {
    const Int128 doubled =
        Int128{arc.latency->count().numerator()} * (2 * kPerMicrosecond) / arc.latency->count().denominator();
    return static_cast<std::int64_t>(std::clamp<Int128>((doubled + 1) / 2, 0, kMax));
  }
  const NodeKind tail = fabric.nodes()[arc.tail].kind;
  const NodeKind head = fabric.nodes()[arc.head].kind;
  const auto joins = [&](NodeKind a, NodeKind b) { return (tail == a && head == b) || (tail == b && head == a); };
  if (joins(NodeKind::gpu, NodeKind::gpu)) {
    return kPerMicrosecond * 7 / 10;
  }
  if (joins(NodeKind::gpu, NodeKind::switchNode)) {
    return kPerMicrosecond * 35 / 100;
  }
  if (joins(NodeKind::gpu, NodeKind::nic)) {
    return kPerMicrosecond;
  }
  if (joins(NodeKind::nic, NodeKind::switchNode)) {
    return kPerMicrosecond * 125 / 100;
  }
  return joins(NodeKind::nic, NodeKind::nic) ? kPerMicrosecond * 25 / 10 : kPerMicrosecond / 2;
}

}  // namespace coppice::schedule
