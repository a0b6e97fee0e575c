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
  std::optional<TreePlan> plan;
  std::optional<AllreduceLimit> limit;
  std::optional<schedule::TreeBoundProof> proof;
};

/// The part of what a mixture reaches that few trees must reach to take the place of very many.
const Rational kNearlyAll(49, 50);
/// The part that is enough where the trees of a mixture take more work than is allowed.
const Rational kEnough(19, 20);

/// Steps for the trees of a kind of a mixture before few trees are looked for; more where more work is allowed. Where
/// many GPUs share the links in fractions, more steps rarely help.
std::uint64_t growthWork(const Fabric& fabric, const Request& request) {
  constexpr std::uint64_t kFewGpus = 256;
  const auto gpus = static_cast<std::uint64_t>(fabric.gpuCount());
  const auto times = request.allreduceBudget / Request().allreduceBudget;
  return (gpus <= kFewGpus ? 50'000'000 : 30'000'000 + 16 * gpus * gpus) *
         static_cast<std::uint64_t>(std::max<std::int64_t>(1, times));
}

TreeDemand demandOf(const Request& request, bool plainSwitches) {
  return {.collective = request.collective,
          .amounts = request.amounts,
          .plainSwitches = plainSwitches,
          .ownCopies = request.ownCopies,
          .budget = request.allreduceBudget};
}

/// A mixture of which trees are found in moderate time, and a moderate number of them. Without symmetry or slack, kinds
/// share the links in fractions that hundreds of thousands of trees make up.
bool isCoarse(const Fabric& fabric, const TreeMixture& mixture) {
  constexpr std::int64_t kMaxTrees = 1024;  // of each root
  return std::all_of(mixture.kinds.begin(), mixture.kinds.end(),
                     [&](const TreeShare& share) { return treesOfKind(share) / fabric.gpuCount() <= kMaxTrees; });
}

/// Each image of a kind has trees of its own, which are written one by one.
bool hasManyTrees(const Fabric& fabric, const TreeMixture& mixture) {
  constexpr std::int64_t kMany = 1'000'000;  // edges
  std::int64_t trees = 0;
  for (const TreeShare& share : mixture.kinds) {
    trees += static_cast<std::int64_t>(share.images.size()) *
             std::count_if(share.roots.begin(), share.roots.end(), [](std::int64_t root) { return root > 0; });
  }
  return trees * fabric.gpuCount() > kMany;
}

/// A mixture where its trees are easily found, and few trees that are found one by one where they reach more, or as
/// much in place of many, or nearly as much as a mixture whose trees are not easily found.
std::optional<TreePlan> bestPlan(const Fabric& fabric, const TreeDemand& demand, TreeBound& bound,
                                 const Progress& progress) {
  const Rational kGoodEnough(499, 500);
  TreePlan plan;
  plan.mixture = bound.mixture ? std::move(bound.mixture) : bestMixture(fabric, demand, bound.algbw, progress);
  const bool isEasy = plan.mixture && isCoarse(fabric, *plan.mixture);
  const bool isMany = plan.mixture && hasManyTrees(fabric, *plan.mixture);
  if (isEasy && !isMany && plan.mixture->algbw >= bound.algbw) {
    return plan;
  }
  const bool isGood = isEasy && plan.mixture->algbw >= bound.algbw * kGoodEnough;
  plan.columns = treesByColumns(fabric, demand, plan.mixture, bound.algbw,
                                isGood ? ColumnEffort::quick : ColumnEffort::thorough, progress);
  if (plan.columns && plan.mixture) {
    const Bandwidth enough = isEasy ? plan.mixture->algbw : plan.mixture->algbw * kNearlyAll;
    if (plan.columns->algbw < enough || (isEasy && !isMany && plan.columns->algbw == enough)) {
      plan.fewTrees = std::exchange(plan.columns, std::nullopt);
    }
  }
  if (plan.columns) {
    plan.mixture.reset();
  }
  return plan.mixture || plan.columns ? std::optional(std::move(plan)) : std::nullopt;
}

/// @param planned what is reached without them, with the best k
SharedTrees shareTrees(const Fabric& fabric, const Request& request, const Bandwidth& planned, bool plainSwitches,
                       const Progress& progress) {
  const bool isAllreduce = request.collective == Collective::allreduce;
  const bool mayShare =
      !isAllreduce || (request.overlap != Overlap::never && !limitsTrees(request) && !request.maxHeight);
  const bool mustShare = isAllreduce && request.overlap == Overlap::always && mayShare;
  SharedTrees shared;
  const TreeDemand demand = demandOf(request, plainSwitches);
  TreeBound bound;
  try {
    bound = treeBound(fabric, demand, mustShare ? std::nullopt : std::optional(planned), progress);
    if (bound.status == lp::BoundStatus::notComputed) {
      return shared;
    }
    if (mayShare && (mustShare || bound.algbw > planned)) {
      shared.plan = bestPlan(fabric, demand, bound, progress);
      if (shared.plan && shared.plan->algbw() <= planned && !mustShare) {
        shared.plan.reset();
      }
    }
  } catch (const OverflowError&) {
    // Numbers too wide for the program leave only its answer out; the plan does not depend on it.
    return {};
  }
  const Bandwidth reached = shared.plan ? shared.plan->algbw() : planned;
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

bool branchesAtSwitches(const TreePlan& plan) {
  if (plan.columns) {
    const std::vector<schedule::TreeEdge>& edges = plan.columns->outTrees.edges;
    return std::any_of(edges.begin(), edges.end(), [](const schedule::TreeEdge& edge) { return edge.pruned > 0; });
  }
  return std::any_of(plan.mixture->kinds.begin(), plan.mixture->kinds.end(), [](const TreeShare& share) {
    return std::find(share.reaches.begin(), share.reaches.end(), true) != share.reaches.end();
  });
}

/// The answer is that of the plan.
void adopt(const Fabric& fabric, const Request& request, const TreePlan& plan, std::int64_t totalDemand,
           Optimum& optimum) {
  const MixtureSize size = plan.columns ? MixtureSize{plan.columns->outTrees.scale, plan.columns->outTrees.treesOfRoot}
                                        : sizeOf(fabric, *plan.mixture);
  const auto [least, most] = std::minmax_element(size.treesOfRoot.begin(), size.treesOfRoot.end());
  const bool isAllreduce = request.collective == Collective::allreduce;
  optimum.algbw = plan.algbw();
  optimum.inverseRate = Rational(totalDemand) / plan.algbw();
  optimum.scale = size.scale;
  optimum.treesPerRoot = *least == *most ? *least : 0;
  optimum.integralScale = optimum.scale;
  optimum.integralTreesPerRoot = optimum.treesPerRoot;
  optimum.isMinimumK = false;
  optimum.overlapped = isAllreduce;
  if (isAllreduce) {
    optimum.bottlenecks.clear();  // those of the halves, which prove nothing here
  }
  optimum.usesSwitches = branchesAtSwitches(plan);
  optimum.usedSubCapacity = false;
  optimum.note.clear();
}

}  // namespace

std::optional<TreePlan> shareLinks(const Fabric& fabric, const Request& request, const Planned& planned,
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
      optimum.plainSwitches->algbw = plain.plan ? plain.plan->algbw() : planned.algbw;
      optimum.plainSwitches->allreduceLimit = plain.limit;
    }
  }
  if (isAllreduce) {
    optimum.allreduceLimit = shared.limit;
  }
  if (isAllreduce || shared.plan) {
    optimum.boundProof = std::move(shared.proof);
  }
  if (shared.plan) {
    adopt(fabric, request, *shared.plan, planned.totalDemand, optimum);
  }
  return std::move(shared.plan);
}

bool canBeWritten(const Fabric& fabric, const TreePlan& plan, const Request& request) {
  if (plan.columns) {
    return true;
  }
  const TreeMixture& mixture = *plan.mixture;
  std::int64_t roots = 0;
  for (const TreeShare& share : mixture.kinds) {
    if (share.isIn == mixture.kinds.front().isIn) {
      roots += static_cast<std::int64_t>(share.images.size()) *
               std::count_if(share.roots.begin(), share.roots.end(), [](std::int64_t trees) { return trees > 0; });
    }
  }
  return schedule::writtenBytes(roots, fabric.gpuCount(), 0) <= request.maxTreeBytes;
}

MixtureForests growPlan(const Fabric& fabric, TreePlan&& plan, const Request& request, const Planned& planned,
                        Optimum& optimum, const Progress& progress, StageClock& clock) {
  if (plan.mixture) {
    const TreeDemand demand = demandOf(request, request.plainSwitches);
    const bool hasOther = !demand.ownCopies && isMirrored(treeGraph(fabric), demand);
    try {
      return growMixture(fabric, *plan.mixture, request, hasOther ? growthWork(fabric, request) : 0, progress, clock);
    } catch (const WorkLimitReached&) {
      if (!hasOther) {
        throw;  // the limit is the caller's
      }
    }
    plan.columns = plan.fewTrees ? std::move(plan.fewTrees)
                                 : treesByColumns(fabric, demand, plan.mixture, plan.mixture->algbw,
                                                  ColumnEffort::thorough, progress);
    clock.done("trees one by one");
    if (!plan.columns || plan.columns->algbw < plan.mixture->algbw * kEnough) {
      return growMixture(fabric, *plan.mixture, request, 0, progress, clock);
    }
    const Bandwidth possible = plan.mixture->algbw;
    plan.mixture.reset();
    adopt(fabric, request, plan, planned.totalDemand, optimum);
    if (optimum.algbw < possible) {
      optimum.note = "trees that reach " + toDecimal(possible, 4) +
                     " GB/s exist; finding them takes more work than is allowed (allreduce-time)";
    }
    if (optimum.allreduceLimit) {
      optimum.allreduceLimit->isReached = optimum.allreduceLimit->algbw == optimum.algbw;
    }
  }
  MixtureForests forests;
  forests.reduce = schedule::reversed(plan.columns->outTrees);
  forests.broadcast = std::move(plan.columns->outTrees);
  return forests;
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
