// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/in_network/shared_links.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/checked.hpp"
#include "forestcoll/in_network/mixture_forest.hpp"
#include "schedule/bound_scope.hpp"
#include "schedule/tree_reader.hpp"

namespace coppice::forestcoll {
namespace {

using fabric::Fabric;

/// Trees that share the links at the same time, where they reach more than what was planned.
struct SharedTrees {
  std::optional<TreeMixture> mixture;
  std::optional<AllreduceLimit> limit;
  std::optional<schedule::TreeBoundProof> proof;
};

/// @param planned what is reached without them, with the best k
SharedTrees shareTrees(const Fabric& fabric, const Request& request, const Bandwidth& planned, bool plainSwitches,
                       const Progress& progress) {
  const bool isAllreduce = request.collective == Collective::allreduce;
  const bool mayShare =
      !isAllreduce || (request.overlap != Overlap::never && !limitsTrees(request) && !request.maxHeight);
  const bool mustShare = isAllreduce && request.overlap == Overlap::always && mayShare;
  SharedTrees shared;
  const TreeDemand demand{.collective = request.collective,
                          .amounts = request.amounts,
                          .plainSwitches = plainSwitches,
                          .ownCopies = request.ownCopies,
                          .budget = request.allreduceBudget};
  TreeBound bound;
  try {
    bound = treeBound(fabric, demand, mustShare ? std::nullopt : std::optional(planned), progress);
    if (bound.status == lp::BoundStatus::notComputed) {
      return shared;
    }
    if (mayShare && (mustShare || bound.algbw > planned)) {
      shared.mixture = bound.mixture ? std::move(bound.mixture) : bestMixture(fabric, demand, bound.algbw, progress);
      if (shared.mixture && shared.mixture->algbw <= planned && !mustShare) {
        shared.mixture.reset();
      }
    }
  } catch (const OverflowError&) {
    // Numbers too wide for the program leave only its answer out; the plan does not depend on it.
    return {};
  }
  const Bandwidth reached = shared.mixture ? shared.mixture->algbw : planned;
  shared.limit = AllreduceLimit{bound.algbw, bound.status == lp::BoundStatus::exact, bound.algbw == reached};
  shared.proof = std::move(bound.proof);
  return shared;
}

/// Some switch can do what the collective has use for.
bool hasUsefulSwitches(const Fabric& fabric, const Request& request) {
  return schedule::canGain(schedule::switchAbilities(fabric), request.collective);
}

/// Collectives of which trees that share the links have more to say than what was planned: allreduce, whose halves may
/// overlap, and those that gain from switches which copy or sum where links differ by direction.
bool mayShareTrees(const Fabric& fabric, const Request& request, bool plainSwitches) {
  if (request.allreduceBudget.count() <= 0) {
    return false;
  }
  if (request.collective == Collective::allreduce) {
    return true;
  }
  if (limitsTrees(request) || request.maxHeight) {
    return false;
  }
  const bool gains = request.collective == Collective::allgather || request.collective == Collective::reduceScatter;
  return gains && !plainSwitches && !fabric.isBalanced() && hasUsefulSwitches(fabric, request);
}

/// The answer is that of the mixture.
void adopt(const Fabric& fabric, const Request& request, const TreeMixture& mixture, std::int64_t totalDemand,
           Optimum& optimum) {
  const MixtureSize size = sizeOf(fabric, mixture);
  const auto [least, most] = std::minmax_element(size.treesOfRoot.begin(), size.treesOfRoot.end());
  const bool isAllreduce = request.collective == Collective::allreduce;
  optimum.algbw = mixture.algbw;
  optimum.inverseRate = Rational(totalDemand) / mixture.algbw;
  optimum.scale = size.scale;
  optimum.treesPerRoot = *least == *most ? *least : 0;
  optimum.integralScale = optimum.scale;
  optimum.integralTreesPerRoot = optimum.treesPerRoot;
  optimum.isMinimumK = false;
  optimum.overlapped = isAllreduce;
  if (isAllreduce) {
    optimum.bottlenecks.clear();  // those of the halves, which prove nothing here
  }
  optimum.usesSwitches = std::any_of(mixture.kinds.begin(), mixture.kinds.end(), [](const TreeShare& share) {
    return std::find(share.reaches.begin(), share.reaches.end(), true) != share.reaches.end();
  });
  optimum.usedSubCapacity = false;
  optimum.note.clear();
}

}  // namespace

std::optional<TreeMixture> shareLinks(const Fabric& fabric, const Request& request, const Planned& planned,
                                      Optimum& optimum, const Progress& progress) {
  const bool isAllreduce = request.collective == Collective::allreduce;
  optimum.halvesAlgbw = isAllreduce ? optimum.algbw : Bandwidth();
  optimum.ignoresSwitches = request.plainSwitches && hasUsefulSwitches(fabric, request);
  if (!mayShareTrees(fabric, request, request.plainSwitches)) {
    return std::nullopt;
  }
  SharedTrees shared = shareTrees(fabric, request, planned.algbw, request.plainSwitches, progress);
  if (!request.plainSwitches && hasUsefulSwitches(fabric, request)) {
    optimum.plainSwitches = WithPlainSwitches{planned.algbw};
    if (isAllreduce && shared.limit && shared.limit->algbw == planned.algbw) {
      optimum.plainSwitches->allreduceLimit = shared.limit;  // what is below it and reaches the same
    } else if (isAllreduce) {
      const SharedTrees plain = shareTrees(fabric, request, planned.algbw, true, progress);
      optimum.plainSwitches->algbw = plain.mixture ? plain.mixture->algbw : planned.algbw;
      optimum.plainSwitches->allreduceLimit = plain.limit;
    }
  }
  if (isAllreduce) {
    optimum.allreduceLimit = shared.limit;
  }
  if (isAllreduce || shared.mixture) {
    optimum.boundProof = std::move(shared.proof);
  }
  if (shared.mixture) {
    adopt(fabric, request, *shared.mixture, planned.totalDemand, optimum);
  }
  return std::move(shared.mixture);
}

bool canBeWritten(const Fabric& fabric, const TreeMixture& mixture, const Request& request) {
  std::int64_t roots = 0;
  for (const TreeShare& share : mixture.kinds) {
    if (share.isIn == mixture.kinds.front().isIn) {
      roots += static_cast<std::int64_t>(share.images.size()) *
               std::count_if(share.roots.begin(), share.roots.end(), [](std::int64_t trees) { return trees > 0; });
    }
  }
  return schedule::writtenBytes(roots, fabric.gpuCount(), 0) <= request.maxTreeBytes;
}

void keepPlanned(const Optimum& planned, Optimum& optimum) {
  const Bandwidth shared = optimum.algbw;
  Optimum kept = planned;
  kept.halvesAlgbw = optimum.halvesAlgbw;
  kept.ignoresSwitches = optimum.ignoresSwitches;
  kept.boundProof = std::move(optimum.boundProof);
  kept.plainSwitches = std::move(optimum.plainSwitches);
  kept.allreduceLimit = optimum.allreduceLimit;
  if (kept.allreduceLimit) {
    kept.allreduceLimit->isReached = false;
  }
  kept.note += (kept.note.empty() ? "" : "; ") + std::string("trees that reach ") + toDecimal(shared, 4) +
               " GB/s exist, but written one by one they would not fit into memory";
  optimum = std::move(kept);
}

}  // namespace coppice::forestcoll
