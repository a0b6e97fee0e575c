// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/packing/height_cap.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "base/checked.hpp"
#include "forestcoll/fixed_k.hpp"
#include "forestcoll/packing/low_packing.hpp"
#include "forestcoll/path_recovery.hpp"
#include "forestcoll/switch_removal.hpp"
#include "schedule/tree_reader.hpp"

namespace coppice::forestcoll {
namespace {

using fabric::Fabric;
using std::int64_t;

constexpr int kMedium = 256;  // GPUs: larger fabrics are grown by parts; as a whole only those without switches

/// Hops from GPU to GPU, with any number of switches between, are the minimum that a tree can do with.
void requireReachable(const Fabric& fabric, const Network& network, const std::vector<int64_t>& supply, int maxHeight,
                      const Progress& progress) {
  std::vector<std::vector<int>> next(network.nodeCount);
  for (const TreeArc& arc : network.arcs) {
    next[arc.tail].push_back(arc.head);
  }
  std::vector<int> hops;
  std::deque<int> queue;
  int farthest = 0;
  int from = -1;
  int to = -1;
  for (const int root : network.gpus) {
    if (supply[root] == 0) {
      continue;
    }
    throwIfCancelled(progress);
    hops.assign(network.nodeCount, -1);
    hops[root] = 0;
    queue.assign(1, root);
    while (!queue.empty()) {
      const int node = queue.front();
      queue.pop_front();
      for (const int head : next[node]) {
        const bool isGpu = network.isGpu[head] != 0;
        const int through = hops[node] + (isGpu ? 1 : 0);
        if (hops[head] < 0 || through < hops[head]) {
          hops[head] = through;
          // Arriving at a GPU costs a hop, passing a switch does not: switches go first.
          isGpu ? queue.push_back(head) : queue.push_front(head);
        }
      }
    }
    for (const int gpu : network.gpus) {
      if (hops[gpu] > farthest) {
        farthest = hops[gpu];
        from = root;
        to = gpu;
      }
    }
  }
  if (farthest > maxHeight) {
    throw Failure{{ErrorCode::infeasible,
                   "no tree of height " + std::to_string(maxHeight) + " exists: from \"" + fabric.nodes()[from].id +
                       "\" to \"" + fabric.nodes()[to].id + "\" it takes " + std::to_string(farthest) + " hops",
                   "allow a height of at least " + std::to_string(farthest)}};
  }
}

/// The largest load / bandwidth over links, in trees per GB/s.
InverseBandwidth neededScale(const Fabric& fabric, const schedule::Forest& forest, const Progress& progress) {
  schedule::TreeReader reader(forest);
  std::vector<int64_t> load(fabric.arcs().size(), 0);
  for (int64_t i = 0; i < reader.size(); ++i) {
    throwIfCancelled(progress);
    const auto tree = reader.read(i);
    for (const auto& edge : tree.edges) {
      const auto path = reader.path(edge);
      for (std::size_t hop = 0; hop + 1 < path.size(); ++hop) {
        const auto arc = fabric.findArc(path[hop], path[hop + 1]);
        if (!arc) {
          throw Failure{{ErrorCode::internal, "a tree uses a link that the fabric does not have"}};
        }
        load[*arc] = checkedAdd(load[*arc], tree.multiplicity);
      }
    }
  }
  InverseBandwidth scale;
  for (std::size_t i = 0; i < load.size(); ++i) {
    if (load[i] > 0) {
      scale = std::max(scale, Rational(load[i]) / fabric.arcs()[i].bandwidth);
    }
  }
  return scale;
}

/// Low trees of the whole with nothing trimmed, since a cap needs the room that trimming takes away; or nothing.
std::optional<schedule::Forest> growWithRoom(const GrowthProblem& problem, const GrowthOptions& options,
                                             const Progress& progress, StageClock& clock) {
  const LogicalTopology topology = removeSwitches(problem.network, problem.capacities, problem.supply, progress);
  clock.done("splitting");
  const LogicalProblem logical = logicalProblem(problem.network, topology, problem.supply);
  auto packed =
      packLow(logical.packing, progress, {.maxHeight = options.maxHeight, .effort = std::max(1, options.heightEffort)});
  clock.done("packing");
  if (!packed) {
    return std::nullopt;
  }
  return recoverPaths(topology, logical, *std::move(packed), problem.scale, progress);
}

}  // namespace

schedule::Forest growUnderCap(const Fabric& fabric, const GrowthProblem& optimal, const GrowthOptions& options,
                              const Progress& progress, StageClock& clock) {
  const Network& network = optimal.network;
  requireReachable(fabric, network, optimal.supply, options.maxHeight, progress);
  const auto tryAt = [&](const Rational& factor) -> std::optional<schedule::Forest> {
    std::vector<TreeArc> capacities = optimal.capacities;
    if (factor.denominator() == 1) {
      for (TreeArc& arc : capacities) {
        arc.capacity = checkedMul(arc.capacity, factor.numerator());
      }
    } else {
      capacities = scaledArcs(network, optimal.scale * network.unit * factor);
      if (!unbalancedSwitches(network, capacities).empty()) {
        return std::nullopt;  // rounding did that to one-way links; whole multiples stay balanced
      }
    }
    const GrowthProblem problem{network, capacities, optimal.supply, optimal.scale * factor};
    std::optional<schedule::Forest> forest;
    if (factor == Rational(1) || fabric.gpuCount() > kMedium) {
      forest = growForest(fabric, problem, options, progress, clock);
    }
    if (!forest || schedule::maxHeight(*forest) > options.maxHeight) {
      const bool isTooLarge = fabric.gpuCount() > kMedium && fabric.gpuCount() < network.nodeCount;
      forest = isTooLarge ? std::nullopt : growWithRoom(problem, options, progress, clock);
    }
    if (forest) {
      forest->scale = neededScale(fabric, *forest, progress);
    }
    clock.done("height cap");
    return forest;
  };
  const auto keepBetter = [](std::optional<schedule::Forest>& best, schedule::Forest&& candidate) {
    if (!best || candidate.scale < best->scale) {
      best = std::move(candidate);
    }
  };
  std::optional<schedule::Forest> best;
  Rational failed(1);
  Rational found(1);
  for (const Rational& factor : {Rational(1), Rational(9, 8), Rational(5, 4), Rational(3, 2), Rational(2), Rational(3),
                                 Rational(4), Rational(6), Rational(8), Rational(16), Rational(32), Rational(64)}) {
    progress.report("height cap", 0);
    if (auto forest = tryAt(factor)) {
      keepBetter(best, *std::move(forest));
      found = factor;
      break;
    }
    failed = factor;
  }
  if (!best) {
    throw Failure{{ErrorCode::limit,
                   "no forest of height " + std::to_string(options.maxHeight) +
                       " was found, not even at a 64th of the optimal throughput",
                   "allow a greater height"}};
  }
  constexpr int kHalvings = 5;
  for (int i = 0; i < kHalvings && failed < found; ++i) {
    const Rational middle = (failed + found) / Rational(2);
    if (auto forest = tryAt(middle)) {
      keepBetter(best, *std::move(forest));
      found = middle;
    } else {
      failed = middle;
    }
  }
  return *std::move(best);
}

}  // namespace coppice::forestcoll
