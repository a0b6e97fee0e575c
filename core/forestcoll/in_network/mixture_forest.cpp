// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/in_network/mixture_forest.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "base/checked.hpp"
#include "forestcoll/in_network/gpu_forest.hpp"
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

std::vector<NodeIndex> relaysOf(const TreeShare& share) {
  std::vector<NodeIndex> relays;
  for (std::size_t node = 0; node < share.reaches.size(); ++node) {
    if (share.reaches[node]) {
      relays.push_back(static_cast<NodeIndex>(node));
    }
  }
  return relays;
}

/// Out-trees over GPUs and the relays that are reached, which come after the GPUs as ranks.
Forest growKind(const Fabric& fabric, const TreeShare& share, int64_t divisor, const InverseBandwidth& scale,
                const Request& request, std::uint64_t maxWork, const Progress& progress, StageClock& clock) {
  Network network;
  network.nodeCount = fabric.nodeCount();
  network.isGpu.assign(static_cast<std::size_t>(fabric.nodeCount()), 0);
  network.demand.assign(static_cast<std::size_t>(fabric.nodeCount()), 0);
  network.gpus.assign(fabric.gpus().begin(), fabric.gpus().end());
  const std::vector<NodeIndex> relays = relaysOf(share);
  network.gpus.insert(network.gpus.end(), relays.begin(), relays.end());
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
  options.mayRace = maxWork == 0;
  options.firstWork = maxWork;
  options.canRotate = false;  // rotations would have to keep the relays too
  return growForest(fabric, {network, capacities, supply, scale}, options, progress, clock);
}

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

int64_t treesOfKind(const TreeShare& share) {
  const int64_t divisor = rateOfTree(share);
  int64_t trees = 0;
  for (const int64_t root : share.roots) {
    trees = checkedAdd(trees, root / divisor);
  }
  return trees;
}

MixtureForests growMixture(const Fabric& fabric, const TreeMixture& mixture, const Request& request,
                           std::uint64_t maxWork, const Progress& progress, StageClock& clock) {
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
        growKind(fabric, share, own, InverseBandwidth(mixture.denominator, own), request, maxWork, progress, clock);
    const int64_t times = checkedMul(treesPerImage(mixture, share), own / divisor);
    const std::vector<NodeIndex> relays = relaysOf(share);
    forest->expect(kind.trees.size() * share.images.size());
    for (const symmetry::Permutation& image : share.images) {
      forest->add(kind, relays, image, times, progress);
    }
    clock.done("trees");
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
  clock.done("turning");
  return forests;
}

}  // namespace coppice::forestcoll
