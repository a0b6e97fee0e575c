// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/in_network/mixture_forest.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "base/checked.hpp"
#include "forestcoll/network.hpp"
#include "forestcoll/packing/growth.hpp"

namespace coppice::forestcoll {
namespace {

using fabric::Fabric;
using fabric::NodeIndex;
using schedule::Forest;
using std::int64_t;

/// The largest rate, in units of the mixture's denominator, of which every number of the kind is a multiple: that of
/// one of its trees.
int64_t rateOfTree(const TreeShare& share) {
  int64_t divisor = 0;
  for (const auto* values : {&share.roots, &share.bandwidths}) {
    for (const int64_t value : *values) {
      divisor = std::gcd(divisor, value);
    }
  }
  return divisor;
}

/// The same for all kinds together.
int64_t rateOfTree(const TreeMixture& mixture) {
  int64_t divisor = 0;
  for (const TreeShare& share : mixture.kinds) {
    divisor = std::gcd(divisor, rateOfTree(share));
  }
  return divisor;
}

/// Images of a kind share its trees evenly: trees of the mixture for one tree of the kind, of each image.
int64_t treesPerImage(const TreeMixture& mixture, const TreeShare& share) {
  int64_t common = 1;
  for (const TreeShare& each : mixture.kinds) {
    common = leastCommonMultiple(common, static_cast<int64_t>(each.images.size()));
  }
  return common / static_cast<int64_t>(share.images.size());
}

/// Out-trees over GPUs and the relays that are reached, which come after the GPUs as ranks.
Forest growKind(const Fabric& fabric, const TreeShare& share, int64_t divisor, const InverseBandwidth& scale,
                const Request& request, const Progress& progress, StageClock& clock) {
  Network network;
  network.nodeCount = fabric.nodeCount();
  network.isGpu.assign(static_cast<std::size_t>(fabric.nodeCount()), 0);
  network.demand.assign(static_cast<std::size_t>(fabric.nodeCount()), 0);
  network.gpus.assign(fabric.gpus().begin(), fabric.gpus().end());
  for (NodeIndex node = 0; node < fabric.nodeCount(); ++node) {
    if (share.reaches[node]) {
      network.gpus.push_back(node);
    }
  }
  std::vector<int64_t> supply(static_cast<std::size_t>(fabric.nodeCount()), 0);
  for (std::size_t rank = 0; rank < share.roots.size(); ++rank) {
    supply[network.gpus[rank]] = share.roots[rank] / divisor;
  }
  for (const int terminal : network.gpus) {
    network.isGpu[terminal] = 1;
    network.demand[terminal] = supply[terminal];
    network.totalDemand = checkedAdd(network.totalDemand, supply[terminal]);
  }
  network.unit = scale.inverse();
  for (std::size_t arc = 0; arc < fabric.arcs().size(); ++arc) {
    const auto& [tail, head, bandwidth, latency] = fabric.arcs()[arc];
    network.arcs.push_back(share.isIn ? TreeArc{head, tail, share.bandwidths[arc] / divisor}
                                      : TreeArc{tail, head, share.bandwidths[arc] / divisor});
  }
  const std::vector<TreeArc> capacities = network.arcs;
  GrowthOptions options;
  // What a kind has of the links is mostly tight, so that on large fabrics much effort finds no lower trees.
  constexpr std::size_t kManyTerminals = 512;
  options.heightEffort = std::max(0, request.heightEffort - (network.gpus.size() > kManyTerminals ? 1 : 0));
  options.maxTreeBytes = request.maxTreeBytes;
  options.canRotate = false;  // rotations would have to keep the relays too
  return growForest(fabric, {network, capacities, supply, scale}, options, progress, clock);
}

/// Writes trees over GPUs alone, from trees that reach relays too.
class GpuForest {
public:
  GpuForest(const Fabric& fabric, const InverseBandwidth& scale) {
    m_forest.direction = schedule::Direction::out;
    m_forest.gpuCount = fabric.gpuCount();
    m_forest.scale = scale;
    m_forest.treesOfRoot.assign(static_cast<std::size_t>(fabric.gpuCount()), 0);
  }

  /// The image of a forest, `times` as many of its trees.
  void add(const Fabric& fabric, const Forest& forest, const symmetry::Permutation& image, int64_t times,
           const Progress& progress) {
    const auto rankOf = [&](fabric::Rank rank) { return fabric.nodes()[image[fabric.gpus()[rank]]].rank; };
    const int gpus = m_forest.gpuCount;
    m_parent.assign(static_cast<std::size_t>(forest.gpuCount), {});
    std::vector<int> order;
    for (std::size_t t = 0; t < forest.trees.size(); ++t) {
      throwIfCancelled(progress);
      const schedule::Tree& tree = forest.trees[t];
      for (const schedule::TreeEdge& edge : forest.edgesOf(tree)) {
        m_parent[edge.child] = {edge.parent, edge.path};
      }
      // GPUs by their number of GPUs from the root: breadth first among these, whatever lies between.
      order.clear();
      m_depth.assign(static_cast<std::size_t>(forest.gpuCount), 0);
      for (const schedule::TreeEdge& edge : forest.edgesOf(tree)) {
        m_depth[edge.child] = m_depth[edge.parent] + (edge.child < gpus ? 1 : 0);
        if (edge.child < gpus) {
          order.push_back(edge.child);
        }
      }
      std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return m_depth[a] < m_depth[b]; });
      const schedule::Tree written{rankOf(tree.root), checkedMul(tree.multiplicity, times),
                                   static_cast<int64_t>(m_forest.edges.size())};
      m_servedIn.resize(static_cast<std::size_t>(forest.gpuCount), -1);
      ++m_tree;
      for (const int gpu : order) {
        schedule::TreeEdge edge = edgeTo(forest, gpu, image);
        edge.parent = rankOf(edge.parent);
        edge.child = rankOf(edge.child);
        m_forest.edges.push_back(edge);
      }
      m_forest.trees.push_back(written);
      m_forest.treesOfRoot[written.root] = checkedAdd(m_forest.treesOfRoot[written.root], written.multiplicity);
    }
  }

  Forest take() {
    std::stable_sort(m_forest.trees.begin(), m_forest.trees.end(),
                     [](const schedule::Tree& a, const schedule::Tree& b) { return a.root < b.root; });
    return std::move(m_forest);
  }

private:
  struct Parent {
    int rank = 0;
    schedule::PathId path = 0;
  };

  schedule::TreeEdge edgeTo(const Forest& forest, int gpu, const symmetry::Permutation& image) {
    // Towards the root, to the next GPU.
    m_way.clear();
    int at = gpu;
    do {
      m_way.push_back(at);
      at = m_parent[at].rank;
    } while (at >= m_forest.gpuCount);
    std::reverse(m_way.begin(), m_way.end());
    schedule::TreeEdge edge{at, gpu, 0, 0};
    m_nodes.clear();
    for (const int terminal : m_way) {
      const schedule::PathId path = m_parent[terminal].path;
      const auto nodes = forest.paths[path];
      m_nodes.insert(m_nodes.end(), nodes.begin() + (m_nodes.empty() ? 0 : 1), nodes.end());
      if (terminal >= m_forest.gpuCount) {
        if (m_servedIn[terminal] == m_tree) {
          edge.pruned = static_cast<std::int32_t>(m_nodes.size()) - 1;
        }
        m_servedIn[terminal] = m_tree;
      }
    }
    for (NodeIndex& node : m_nodes) {
      node = image[node];
    }
    const auto [found, isNew] = m_paths.try_emplace(m_nodes, m_forest.paths.size());
    if (isNew) {
      m_forest.paths.add(m_nodes);
    }
    edge.path = found->second;
    return edge;
  }

  Forest m_forest;
  std::vector<Parent> m_parent;  ///< by terminal
  std::vector<int> m_depth;
  std::vector<int> m_servedIn;  ///< by terminal: the last tree whose data it got
  int m_tree = 0;
  std::vector<int> m_way;
  std::vector<NodeIndex> m_nodes;
  std::map<std::vector<NodeIndex>, schedule::PathId> m_paths;
};

}  // namespace

MixtureSize sizeOf(const Fabric& fabric, const TreeMixture& mixture) {
  const int64_t divisor = rateOfTree(mixture);
  MixtureSize size;
  size.treesOfRoot.assign(static_cast<std::size_t>(fabric.gpuCount()), 0);
  bool isFirst = true;
  for (const TreeShare& share : mixture.kinds) {
    const int64_t times = treesPerImage(mixture, share);
    if (isFirst) {
      size.scale = InverseBandwidth(mixture.denominator, divisor) *
                   Rational(checkedMul(times, static_cast<int64_t>(share.images.size())));
    }
    if (share.isIn != mixture.kinds.front().isIn) {
      continue;
    }
    isFirst = false;
    for (const symmetry::Permutation& image : share.images) {
      for (fabric::Rank rank = 0; rank < fabric.gpuCount(); ++rank) {
        int64_t& trees = size.treesOfRoot[fabric.nodes()[image[fabric.gpus()[rank]]].rank];
        trees = checkedAdd(trees, checkedMul(times, share.roots[rank] / divisor));
      }
    }
  }
  return size;
}

MixtureForests growMixture(const Fabric& fabric, const TreeMixture& mixture, const Request& request,
                           const Progress& progress, StageClock& clock) {
  const int64_t divisor = rateOfTree(mixture);
  const InverseBandwidth scale = sizeOf(fabric, mixture).scale;
  std::optional<GpuForest> out;
  std::optional<GpuForest> in;
  for (const TreeShare& share : mixture.kinds) {
    auto& forest = share.isIn ? in : out;
    if (!forest) {
      forest.emplace(fabric, scale);
    }
    // Fewer and thicker trees where a kind alone allows them.
    const int64_t own = rateOfTree(share);
    const Forest kind =
        growKind(fabric, share, own, InverseBandwidth(mixture.denominator, own), request, progress, clock);
    const int64_t times = checkedMul(treesPerImage(mixture, share), own / divisor);
    for (const symmetry::Permutation& image : share.images) {
      forest->add(fabric, kind, image, times, progress);
    }
  }
  MixtureForests forests;
  if (out) {
    forests.broadcast = out->take();
  }
  if (in) {
    forests.reduce = schedule::reversed(in->take());
  } else if (mixture.isMirrored && forests.broadcast) {
    forests.reduce = schedule::reversed(*forests.broadcast);
  }
  clock.done("trees");
  return forests;
}

}  // namespace coppice::forestcoll
