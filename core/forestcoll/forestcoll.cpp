// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/forestcoll.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/checked.hpp"
#include "base/comma_list.hpp"
#include "fabric/balance.hpp"
#include "forestcoll/even_balance.hpp"
#include "forestcoll/fixed_k.hpp"
#include "forestcoll/guarded.hpp"
#include "forestcoll/in_network/mixture_forest.hpp"
#include "forestcoll/in_network/shared_links.hpp"
#include "forestcoll/minimum_k.hpp"
#include "forestcoll/network.hpp"
#include "forestcoll/optimality.hpp"
#include "forestcoll/packing/growth.hpp"
#include "forestcoll/packing/height_cap.hpp"
#include "forestcoll/single_root/shard_bound.hpp"
#include "forestcoll/single_root/shard_routes.hpp"
#include "lp/balance.hpp"

namespace coppice::forestcoll {
namespace {

using fabric::Fabric;
using std::int64_t;

bool needsIn(Collective collective) {
  return collective == Collective::reduceScatter || collective == Collective::reduce ||
         collective == Collective::allreduce;
}

bool needsOut(Collective collective) {
  return !needsIn(collective) || collective == Collective::allreduce;
}

/// Same bandwidth there and back on every pair, so that trees may be turned round in place.
bool isSymmetric(const Fabric& fabric) {
  return std::all_of(fabric.arcs().begin(), fabric.arcs().end(), [&](const fabric::Arc& arc) {
    const auto back = fabric.findArc(arc.head, arc.tail);
    return back && fabric.arcs()[*back].bandwidth == arc.bandwidth;
  });
}

[[noreturn]] void fail(ErrorCode code, std::string message, std::string fix = {}, const ElementRef& element = {}) {
  throw Failure{{code, std::move(message), std::move(fix), {.element = element}}};
}

/// a(v) by rank without a common divisor.
std::vector<int64_t> demandByRank(const Fabric& fabric, const Request& request) {
  const int count = fabric.gpuCount();
  if (request.fixedK && request.maxK) {
    fail(ErrorCode::badUsage, "a fixed k and a maximum k cannot be combined", "give one of them");
  }
  if ((request.fixedK && *request.fixedK < 1) || (request.maxK && *request.maxK < 1)) {
    fail(ErrorCode::badUsage, "k must be at least 1", "give a whole number of trees per root");
  }
  if (request.maxLoss && (request.fixedK || request.maxK)) {
    fail(ErrorCode::badUsage, "an accepted loss and a number of trees cannot be combined", "give one of them");
  }
  if (request.maxLoss && (!request.maxLoss->isPositive() || *request.maxLoss >= Rational(1))) {
    fail(ErrorCode::badUsage, "the accepted loss must be above 0 % and below 100 %", "give for example 1 %");
  }
  if (request.maxHeight && *request.maxHeight < 1) {
    fail(ErrorCode::badUsage, "trees have a height of at least 1", "use a height of 1 or more");
  }
  constexpr int64_t kMaxScans = 10000;
  if (request.maxK && *request.maxK > kMaxScans) {
    fail(ErrorCode::badUsage, "the largest k that can be tried is " + std::to_string(kMaxScans), "give a smaller one");
  }
  if (isRooted(request.collective)) {
    if (!request.root) {
      fail(ErrorCode::badUsage, std::string(toString(request.collective)) + " needs a root", "name the root GPU");
    }
    if (*request.root < 0 || *request.root >= count) {
      fail(ErrorCode::badUsage, "rank " + std::to_string(*request.root) + " does not exist",
           "the fabric has ranks 0 to " + std::to_string(count - 1));
    }
    if (!request.amounts.empty()) {
      fail(ErrorCode::badUsage, "amounts do not apply to a collective with a single root", "leave them out");
    }
    std::vector<int64_t> demand(count, 0);
    demand[*request.root] = 1;
    return demand;
  }
  if (request.root) {
    fail(ErrorCode::badUsage, std::string(toString(request.collective)) + " has no root", "leave the root out");
  }
  if (request.amounts.empty()) {
    return std::vector<int64_t>(static_cast<std::size_t>(count), 1);
  }
  if (request.collective == Collective::allreduce) {
    fail(ErrorCode::badUsage, "allreduce has no amounts per rank", "leave them out");
  }
  if (request.amounts.size() != static_cast<std::size_t>(count)) {
    fail(ErrorCode::badUsage,
         std::to_string(request.amounts.size()) + " amounts for " + std::to_string(count) + " GPUs",
         "give one amount per rank");
  }
  int64_t divisor = 0;
  for (const int64_t amount : request.amounts) {
    if (amount < 0) {
      fail(ErrorCode::badUsage, "an amount is negative", "amounts are 0 or more");
    }
    divisor = std::gcd(divisor, amount);
  }
  if (divisor == 0) {
    fail(ErrorCode::badUsage, "all amounts are zero", "give at least one rank something to send");
  }
  std::vector<int64_t> demand = request.amounts;
  for (int64_t& amount : demand) {
    amount /= divisor;
  }
  return demand;
}

/// Everything that later stages need about one direction of data.
struct Plan {
  Network network;                    ///< bandwidths that the capacities were scaled from
  InverseBandwidth inverseRate;       ///< reached: U / k in 1/(GB/s)
  InverseBandwidth boundInverseRate;  ///< of the cuts (or of the attainable rate, where that is lower)
  int64_t k = 0;
  InverseBandwidth scale;  ///< U in trees per GB/s
  int64_t integralK = 0;   ///< k and U of B.5.1
  InverseBandwidth integralScale;
  bool isMinimumK = false;
  std::vector<TreeArc> capacities;  ///< trees per arc; balanced at switches, feasible
  std::vector<schedule::Cut> cuts;
  bool usedSubCapacity = false;
  std::string note;
};

std::string nameOf(const Fabric& fabric, int node) {
  return "\"" + fabric.nodes()[node].id + "\"";
}

ElementRef nodeElement(const Fabric& fabric, int node) {
  return {RefKind::node, fabric.nodes()[node].id, node};
}

std::string balanceAdvice(const Fabric& fabric) {
  const auto changes = fabric::smallestBalanceChange(fabric);
  if (!changes || changes->empty()) {
    return "make ingress and egress equal at every switch and nic";
  }
  constexpr std::size_t kMost = 4;
  return "the smallest change that balances the fabric: " +
         commaListOfFirst(kMost, *changes, [](const auto& change) { return fabric::describe(change); });
}

std::string unbalancedText(const Fabric& fabric, const std::vector<int>& nodes) {
  constexpr std::size_t kMost = 3;
  return commaListOfFirst(kMost, nodes, [&](int node) {
    return nameOf(fabric, node) + " (in " + toExactText(fabric.ingress(node)) + ", out " +
           toExactText(fabric.egress(node)) + " GB/s)";
  });
}

/// An integer vector below the capacities that is balanced at the switches and still feasible, if one exists; by an
/// integer program alone.
lp::SubCapacity balanceByProgram(const Network& network, const std::vector<TreeArc>& capacities,
                                 const std::vector<int64_t>& supply, const Progress& progress) {
  lp::BalanceProblem problem;
  problem.nodeCount = network.nodeCount;
  problem.isGpu.assign(network.isGpu.begin(), network.isGpu.end());
  for (const TreeArc& arc : capacities) {
    problem.arcs.push_back({arc.tail, arc.head, arc.capacity});
  }
  problem.supplies = supply;
  auto found = lp::balancedSubCapacity(problem, progress);
  if (!found) {
    throw Failure{found.error()};
  }
  return std::move(*found);
}

/// The same, by a guess that is quicker and gives lower trees where it succeeds, and else by the program.
lp::SubCapacity balanceCapacities(const Network& network, const std::vector<TreeArc>& capacities,
                                  const std::vector<int64_t>& supply, const Progress& progress) {
  if (auto even = evenlyBalanced(network, capacities, supply, progress)) {
    lp::SubCapacity found;
    found.status = lp::BalanceStatus::found;
    found.capacities = *std::move(even);
    return found;
  }
  return balanceByProgram(network, capacities, supply, progress);
}

void adopt(std::vector<TreeArc>& capacities, const lp::SubCapacity& sub) {
  for (std::size_t i = 0; i < capacities.size(); ++i) {
    capacities[i].capacity = sub.capacities[i];
  }
}

/// k = q and U = p for 1/x* = p/q (Prop. in B.5.1; the network's bandwidths have no common divisor).
void scaleToOptimum(Plan& plan, const Rational& ratio) {
  plan.k = ratio.denominator();
  plan.scale = Rational(ratio.numerator()) / plan.network.unit;
  plan.integralK = plan.k;
  plan.integralScale = plan.scale;
  plan.inverseRate = ratio / plan.network.unit;
  plan.capacities = plan.network.arcs;
  for (TreeArc& arc : plan.capacities) {
    arc.capacity = checkedMul(arc.capacity, ratio.numerator());
  }
  requireFits(plan.capacities, plan.network, plan.k);
}

void noteRounding(Plan& plan, int64_t k) {
  plan.usedSubCapacity = true;
  if (plan.note.empty()) {
    plan.note = "rounding to k = " + std::to_string(k) +
                " leaves switches unbalanced; a balanced part of the rounded capacities, which is enough, is used";
  }
}

/// After scaleToOptimum: replaces its k by the smallest one that reaches the same rate, with capacities that are
/// balanced at the switches. Without copying in switches some balanced integer vector below the capacities must be
/// feasible too.
void takeFewestTrees(Plan& plan, const Rational& ratio, const Progress& progress) {
  constexpr std::uint64_t kMaxWork = std::uint64_t{1} << 28;
  Progress limited = progress;
  limited.work = std::make_shared<WorkMeter>(kMaxWork);
  plan.isMinimumK = true;
  try {
    MinimumK search(plan.network, ratio, plan.cuts, plan.integralK);
    for (int64_t k = search.next(limited); k < plan.integralK; k = search.next(limited)) {
      const Rational scale = ratio * Rational(k);
      std::vector<TreeArc> capacities = scaledArcs(plan.network, scale);
      if (!unbalancedSwitches(plan.network, capacities).empty()) {
        const lp::SubCapacity sub = balanceCapacities(plan.network, capacities, supplies(plan.network, k), progress);
        plan.isMinimumK = plan.isMinimumK && sub.status != lp::BalanceStatus::undecided;
        if (sub.status != lp::BalanceStatus::found) {
          continue;
        }
        adopt(capacities, sub);
        noteRounding(plan, k);
      }
      plan.k = k;
      plan.scale = scale / plan.network.unit;
      plan.capacities = std::move(capacities);
      return;
    }
  } catch (const WorkLimitReached&) {
    plan.isMinimumK = false;
  }
}

/// The optimum of the cuts by a guess: capacities that reach it show that nothing is lost, without any linear program.
bool adoptEvenlyBalanced(Plan& plan, const Rational& ratio, const Progress& progress) {
  Plan trial = plan;
  try {
    scaleToOptimum(trial, ratio);
  } catch (const OverflowError&) {
    return false;  // a lower rate may need fewer trees
  }
  const auto even = evenlyBalanced(trial.network, trial.capacities, supplies(trial.network, trial.k), progress);
  if (!even) {
    return false;
  }
  plan = std::move(trial);
  for (std::size_t i = 0; i < plan.capacities.size(); ++i) {
    plan.capacities[i].capacity = (*even)[i];
  }
  return true;
}

/// Bandwidths that relays can use without copying, where a switch is not balanced.
void planUnbalanced(const Fabric& fabric, Plan& plan, const CutRatio& worst, const Progress& progress) {
  const std::vector<int> culprits = unbalancedSwitches(plan.network, plan.network.arcs);
  const std::string differ = "ingress and egress differ at " + unbalancedText(fabric, culprits) + "; ";
  const char* const keepsBound = "leaving part of the links unused balances them and keeps the cut bound";
  if (adoptEvenlyBalanced(plan, worst.value(), progress)) {
    plan.usedSubCapacity = true;
    plan.note = differ + keepsBound;
    takeFewestTrees(plan, worst.value(), progress);
    return;
  }
  lp::RateProblem problem;
  problem.nodeCount = plan.network.nodeCount;
  problem.isGpu.assign(plan.network.isGpu.begin(), plan.network.isGpu.end());
  for (const fabric::Arc& arc : fabric.arcs()) {
    problem.arcs.push_back({arc.tail, arc.head, arc.bandwidth});
  }
  problem.amounts = plan.network.demand;
  const auto rate = lp::attainableRate(problem, progress);
  if (!rate) {
    if (rate.error().code == ErrorCode::cancelled || rate.error().code == ErrorCode::overflow) {
      throw Failure{rate.error()};
    }
    fail(ErrorCode::unbalanced,
         "ingress and egress differ at " + unbalancedText(fabric, culprits) +
             ", and the best rate without copying in switches could not be determined (" + rate.error().message + ")",
         balanceAdvice(fabric), nodeElement(fabric, culprits.front()));
  }
  if (!rate->rate.isPositive()) {
    fail(ErrorCode::infeasible,
         "switches that only forward cannot deliver to every GPU: ingress and egress differ at " +
             unbalancedText(fabric, culprits),
         balanceAdvice(fabric), nodeElement(fabric, culprits.front()));
  }
  plan.usedSubCapacity = true;
  plan.note = differ;
  if (rate->keepsCutBound) {
    plan.note += keepsBound;
    const Rational ratio = worst.value();
    scaleToOptimum(plan, ratio);
    // The guess has failed for these capacities.
    const lp::SubCapacity sub =
        balanceByProgram(plan.network, plan.capacities, supplies(plan.network, plan.k), progress);
    if (sub.status == lp::BalanceStatus::found) {
      adopt(plan.capacities, sub);
      takeFewestTrees(plan, ratio, progress);
      return;
    }
  } else {
    plan.note += "switches that only forward reach " + toDecimal(rate->rate, 4) +
                 " GB/s per unit of demand at most, below the cuts' " + toDecimal(rate->cutRate, 4);
    plan.cuts.clear();
  }
  // The witness's own denominators decide k.
  int64_t divisor = 0;
  for (const int64_t bandwidth : rate->bandwidths) {
    divisor = std::gcd(divisor, bandwidth);
  }
  if (divisor == 0) {
    fail(ErrorCode::internal, "the balanced sub-capacity is empty");
  }
  for (std::size_t i = 0; i < plan.network.arcs.size(); ++i) {
    plan.network.arcs[i].capacity = rate->bandwidths[i] / divisor;
  }
  plan.network.unit = Bandwidth(divisor, rate->denominator);
  const CutRatio witness = worstCut(plan.network, progress);
  scaleToOptimum(plan, witness.value());
  if (plan.inverseRate != rate->rate.inverse()) {
    fail(ErrorCode::internal, "the balanced sub-capacity does not reach the rate it was found for");
  }
  plan.boundInverseRate = plan.inverseRate;
}

/// U* for one k with capacities that are balanced at the switches.
struct FixedScale {
  Rational scale;  ///< in network units
  std::vector<TreeArc> capacities;
  bool usedSubCapacity = false;
};

FixedScale fixedScale(const Fabric& fabric, const Network& network, int64_t k, const Rational& lowerBound,
                      const std::optional<Rational>& giveUpAbove, const Progress& progress) {
  Rational scale = minScale(network, k, lowerBound * Rational(k), progress);
  const std::vector<int64_t> supply = supplies(network, k);
  while (true) {
    throwIfCancelled(progress);
    FixedScale result{scale, scaledArcs(network, scale), false};
    if (giveUpAbove && scale / Rational(k) >= *giveUpAbove) {
      return result;
    }
    const std::vector<int> culprits = unbalancedSwitches(network, result.capacities);
    if (culprits.empty()) {
      return result;
    }
    // Rounding one-way links left a switch unbalanced: a forest exists exactly if some balanced integer vector below
    // the rounded one is feasible; if none is, the next larger U is the next candidate (Thm 34 is monotone in U).
    const lp::SubCapacity sub = balanceCapacities(network, result.capacities, supply, progress);
    if (sub.status == lp::BalanceStatus::found) {
      adopt(result.capacities, sub);
      result.usedSubCapacity = true;
      return result;
    }
    if (sub.status == lp::BalanceStatus::undecided) {
      fail(ErrorCode::unbalanced,
           "with k = " + std::to_string(k) + " the rounded capacities are unbalanced at " +
               nameOf(fabric, culprits.front()) + ", and whether a balanced part of them suffices is undecided (" +
               sub.reason + ")",
           "try another k, or make the links duplex", nodeElement(fabric, culprits.front()));
    }
    scale = nextScale(network, scale);
  }
}

void adoptFixed(Plan& plan, int64_t k, FixedScale&& found) {
  plan.k = k;
  plan.scale = found.scale / plan.network.unit;
  plan.inverseRate = plan.scale / Rational(k);
  plan.capacities = std::move(found.capacities);
  if (found.usedSubCapacity) {
    noteRounding(plan, k);
  }
}

Plan planForest(const Fabric& fabric, const std::vector<int64_t>& demand, const Request& request,
                const Progress& progress);

/// The smallest k that loses no more than request.maxLoss of what the best k reaches.
Plan planWithLoss(const Fabric& fabric, const std::vector<int64_t>& demand, const Request& request,
                  const Progress& progress) {
  Request lossless = request;
  lossless.maxLoss.reset();
  Plan exact = planForest(fabric, demand, lossless, progress);
  Plan plan;
  plan.network = makeNetwork(fabric, demand);
  plan.boundInverseRate = exact.boundInverseRate;
  plan.cuts = exact.cuts;
  plan.integralK = exact.integralK;
  plan.integralScale = exact.integralScale;
  const Rational exactTime = exact.inverseRate * plan.network.unit;
  const Rational maxTime = exactTime / (Rational(1) - *request.maxLoss);
  MinimumK search(plan.network, maxTime, {}, exact.k);
  for (int64_t k = search.next(progress); k < exact.k; k = search.next(progress)) {
    FixedScale found = fixedScale(fabric, plan.network, k, exactTime, std::nullopt, progress);
    if (found.scale / Rational(k) <= maxTime) {
      adoptFixed(plan, k, std::move(found));
      return plan;
    }
  }
  return exact;
}

Plan planForest(const Fabric& fabric, const std::vector<int64_t>& demand, const Request& request,
                const Progress& progress) {
  Plan plan;
  plan.network = makeNetwork(fabric, demand);
  const CutRatio worst = worstCut(plan.network, progress);
  const Rational ratio = worst.value();
  plan.boundInverseRate = ratio / plan.network.unit;
  plan.integralK = ratio.denominator();
  plan.integralScale = Rational(ratio.numerator()) / plan.network.unit;
  plan.cuts = bottleneckCuts(plan.network, worst, progress);
  const bool isBalanced = plan.network.isBalancedAtSwitches();

  if (!limitsTrees(request)) {
    if (isBalanced) {
      scaleToOptimum(plan, ratio);
      takeFewestTrees(plan, ratio, progress);
    } else {
      planUnbalanced(fabric, plan, worst, progress);
    }
    return plan;
  }

  if (request.maxLoss) {
    return planWithLoss(fabric, demand, request, progress);
  }

  FixedScale best;
  int64_t bestK = 0;
  const int64_t first = request.fixedK.value_or(1);
  const int64_t last = request.fixedK.value_or(request.maxK.value_or(1));
  for (int64_t k = first; k <= last; ++k) {
    const std::optional<Rational> toBeat =
        bestK > 0 ? std::optional<Rational>(best.scale / Rational(bestK)) : std::nullopt;
    FixedScale candidate = fixedScale(fabric, plan.network, k, ratio, toBeat, progress);
    if (!toBeat || candidate.scale / Rational(k) < *toBeat) {
      best = std::move(candidate);
      bestK = k;
    }
    if (best.scale / Rational(bestK) == ratio) {
      break;  // no k is faster than the cut bound
    }
  }
  adoptFixed(plan, bestK, std::move(best));
  return plan;
}

Bandwidth algbwOf(const Plan& plan) {
  return Rational(plan.network.totalDemand) / plan.inverseRate;
}

/// Both directions of data of a collective; the reducing one is planned on the transpose.
struct Plans {
  std::optional<Plan> in;
  std::optional<Plan> out;
  bool shared = false;  ///< allreduce on a symmetric fabric: `out` serves both, turned round
};

Plans makePlans(const Fabric& fabric, const std::optional<Fabric>& transpose, const Request& request,
                const Progress& progress) {
  const std::vector<int64_t> demand = demandByRank(fabric, request);
  Plans plans;
  plans.shared = request.collective == Collective::allreduce && !transpose;
  if (request.maxLoss && needsIn(request.collective) && needsOut(request.collective) && !plans.shared) {
    // Both halves have one k: the minimum with which both together lose no more.
    Request one = request;
    one.maxLoss.reset();
    plans.out = planForest(fabric, demand, one, progress);
    plans.in = planForest(*transpose, demand, one, progress);
    const InverseBandwidth maxTime =
        (plans.in->inverseRate + plans.out->inverseRate) / (Rational(1) - *request.maxLoss);
    for (int64_t k = 1; k < std::max(plans.in->k, plans.out->k); ++k) {
      one.fixedK = k;
      Plan out = planForest(fabric, demand, one, progress);
      Plan in = planForest(*transpose, demand, one, progress);
      if (in.inverseRate + out.inverseRate <= maxTime) {
        plans.out = std::move(out);
        plans.in = std::move(in);
        break;
      }
    }
    return plans;
  }
  if (request.maxK && needsIn(request.collective) && needsOut(request.collective) && !plans.shared) {
    // Both halves have one k: the one with the minimum time of both together, the smallest on a tie.
    for (int64_t k = 1; k <= *request.maxK; ++k) {
      Request one = request;
      one.maxK.reset();
      one.fixedK = k;
      Plan out = planForest(fabric, demand, one, progress);
      Plan in = planForest(*transpose, demand, one, progress);
      const bool isAtBound = out.inverseRate == out.boundInverseRate && in.inverseRate == in.boundInverseRate;
      if (!plans.out || in.inverseRate + out.inverseRate < plans.in->inverseRate + plans.out->inverseRate) {
        plans.in = std::move(in);
        plans.out = std::move(out);
      }
      if (isAtBound) {
        break;
      }
    }
    return plans;
  }
  if (needsOut(request.collective)) {
    plans.out = planForest(fabric, demand, request, progress);
  }
  if (needsIn(request.collective) && !plans.shared) {
    plans.in = planForest(transpose ? *transpose : fabric, demand, request, progress);
  }
  return plans;
}

/// Gives both halves the same number of trees per root, each tree its share less.
void shareK(Plan& in, Plan& out) {
  const int64_t common = checkedMul(in.k / std::gcd(in.k, out.k), out.k);
  for (Plan* const plan : {&in, &out}) {
    const int64_t factor = common / plan->k;
    plan->k = common;
    plan->scale = plan->scale * Rational(factor);
    for (TreeArc& arc : plan->capacities) {
      arc.capacity = checkedMul(arc.capacity, factor);
    }
  }
}

std::optional<Fabric> transposeIfNeeded(const Fabric& fabric, const Request& request) {
  if (needsIn(request.collective) && !isSymmetric(fabric)) {
    return fabric.transposed();
  }
  return std::nullopt;
}

Optimum summarise(const Fabric& fabric, const Plans& plans) {
  const Plan& first = plans.out ? *plans.out : *plans.in;
  Optimum optimum;
  optimum.gpuCount = fabric.gpuCount();
  optimum.inverseRate = first.inverseRate;
  optimum.algbw = algbwOf(first);
  optimum.treesPerRoot = first.k;
  optimum.scale = first.scale;
  optimum.integralTreesPerRoot = first.integralK;
  optimum.integralScale = first.integralScale;
  optimum.isMinimumK = first.isMinimumK;
  optimum.bottlenecks = first.cuts;
  optimum.usedSubCapacity = first.usedSubCapacity;
  optimum.note = first.note;
  if (plans.shared) {
    optimum.inverseRate = first.inverseRate * Rational(2);
    optimum.algbw = optimum.algbw / Rational(2);
  } else if (plans.in && plans.out) {
    optimum.inverseRate = plans.in->inverseRate + plans.out->inverseRate;
    optimum.algbw = (algbwOf(*plans.in).inverse() + algbwOf(*plans.out).inverse()).inverse();
    if (plans.in->boundInverseRate > plans.out->boundInverseRate) {
      optimum.bottlenecks = plans.in->cuts;  // the bound's slower half, whichever rounding to k made slower
    }
    if (plans.in->inverseRate > plans.out->inverseRate) {
      optimum.treesPerRoot = plans.in->k;
      optimum.scale = plans.in->scale;
      optimum.integralTreesPerRoot = plans.in->integralK;
      optimum.integralScale = plans.in->integralScale;
    }
    optimum.isMinimumK = plans.in->isMinimumK && plans.out->isMinimumK;
    optimum.usedSubCapacity = plans.in->usedSubCapacity || plans.out->usedSubCapacity;
    if (optimum.note.empty()) {
      optimum.note = plans.in->note;
    }
  }
  return optimum;
}

/// GB/s of the cut bounds (or attainable rates) alone, both halves of an allreduce one after the other.
Bandwidth boundOf(const Plans& plans) {
  InverseBandwidth inverse;  // time per unit of data
  for (const std::optional<Plan>* plan : {&plans.in, &plans.out}) {
    if (*plan) {
      inverse += (**plan).boundInverseRate / Rational((**plan).network.totalDemand);
    }
  }
  return (plans.shared ? inverse * Rational(2) : inverse).inverse();
}

Planned plannedOf(const Plans& plans) {
  return {boundOf(plans), (plans.out ? *plans.out : *plans.in).network.totalDemand};
}

/// An allgather or reduce_scatter that reaches the cuts of the whole fabric names them.
void addCuts(const Fabric& fabric, const std::optional<Fabric>& transpose, const Request& request, Optimum& optimum,
             const Progress& progress) {
  const bool isIn = request.collective == Collective::reduceScatter;
  const Network network = makeNetwork(isIn && transpose ? *transpose : fabric, demandByRank(fabric, request));
  const CutRatio worst = worstCut(network, progress);
  optimum.bottlenecks.clear();
  if (worst.value() / network.unit == optimum.inverseRate) {
    optimum.bottlenecks = bottleneckCuts(network, worst, progress);
  }
}

/// @param fabric the one that was planned on (the transpose for reductions)
schedule::Forest growForest(const Plan& plan, const Fabric& fabric, const Request& request, const Progress& progress,
                            StageClock& clock) {
  const std::vector<int64_t> supply = supplies(plan.network, plan.k);
  const GrowthProblem problem{plan.network, plan.capacities, supply, plan.scale};
  GrowthOptions options;
  options.heightEffort = request.heightEffort;
  options.maxTreeBytes = request.maxTreeBytes;
  if (request.maxHeight) {
    options.maxHeight = *request.maxHeight;
    return growUnderCap(fabric, problem, options, progress, clock);
  }
  return growForest(fabric, problem, options, progress, clock);
}

/// What the forests say, one after the other where there are two.
Bandwidth reachedBy(const schedule::Schedule& schedule) {
  InverseBandwidth inverse;
  for (const auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
    if (*forest) {
      inverse += (*forest)->algbw().inverse();
    }
  }
  return inverse.inverse();
}

}  // namespace

bool limitsTrees(const Request& request) {
  return request.fixedK || request.maxK || request.maxLoss;
}

Request withoutTreeLimits(Request request) {
  request.fixedK.reset();
  request.maxK.reset();
  request.maxLoss.reset();
  return request;
}

Result<Optimum> optimum(const Fabric& fabric, const Request& request, const Progress& progress) {
  return guarded<Optimum>(request, [&] {
    if (movesShards(request.collective)) {
      const ShardProblem problem = shardProblem(fabric, request);
      const Rational ratio = worstShardCut(problem, progress).value();
      return shardOptimum(problem, ratio, tightShardCuts(problem, ratio, progress));
    }
    const std::optional<Fabric> transpose = transposeIfNeeded(fabric, request);
    const Plans plans = makePlans(fabric, transpose, request, progress);
    Optimum result = summarise(fabric, plans);
    if (shareLinks(fabric, request, plannedOf(plans), result, progress) && !result.overlapped) {
      addCuts(fabric, transpose, request, result, progress);
    }
    return result;
  });
}

Result<Generated> generate(const Fabric& fabric, const Request& request, const Progress& progress) {
  return guarded<Generated>(request, [&] {
    if (movesShards(request.collective)) {
      fail(ErrorCode::badUsage, "no trees make a " + std::string(toString(request.collective)),
           "route its shards (routeShards)");
    }
    Generated generated;
    StageClock clock(generated.seconds);
    const std::optional<Fabric> transpose = transposeIfNeeded(fabric, request);
    Plans plans = makePlans(fabric, transpose, request, progress);
    if (request.maxHeight && plans.in && plans.out) {
      shareK(*plans.in, *plans.out);  // below the bound a schedule states one k
    }
    generated.optimum = summarise(fabric, plans);
    clock.done("optimum");
    const Optimum planned = generated.optimum;
    std::optional<TreePlan> shared = shareLinks(fabric, request, plannedOf(plans), generated.optimum, progress);
    if (shared && !canBeWritten(fabric, *shared, request)) {
      keepPlanned(planned, generated.optimum);
      shared.reset();
    }
    if (shared && !generated.optimum.overlapped) {
      addCuts(fabric, transpose, request, generated.optimum, progress);
    }
    clock.done("shared_links");

    schedule::Schedule& result = generated.schedule;
    result.collective = request.collective;
    result.fabricName = fabric.name();
    result.fabricDigest = fabric.digest();
    result.root = request.root;
    if (!request.amounts.empty()) {
      result.amounts = demandByRank(fabric, request);
    }
    result.bottlenecks = generated.optimum.bottlenecks;
    result.algbw = generated.optimum.algbw;
    if (generated.optimum.allreduceLimit) {
      result.allreduceBound = generated.optimum.allreduceLimit->algbw;
    }
    result.bound = boundOf(plans);
    if (request.fixedK || request.maxK || (request.maxLoss && result.algbw < result.bound)) {
      result.fixedK = generated.optimum.treesPerRoot;
    }

    if (shared) {
      MixtureForests forests =
          growPlan(fabric, *std::move(shared), request, plannedOf(plans), generated.optimum, progress, clock);
      result.reduceForest = std::move(forests.reduce);
      result.broadcastForest = std::move(forests.broadcast);
      result.algbw = generated.optimum.algbw;
      result.overlapped = generated.optimum.overlapped;
      result.ownCopies = request.ownCopies && generated.optimum.usesSwitches;
      result.bound = generated.optimum.allreduceLimit ? generated.optimum.allreduceLimit->algbw
                     : generated.optimum.boundProof   ? generated.optimum.boundProof->bound
                                                      : result.algbw;
      result.bottlenecks = result.overlapped ? std::vector<schedule::Cut>() : generated.optimum.bottlenecks;
      return generated;
    }
    if (plans.out) {
      result.broadcastForest = growForest(*plans.out, fabric, request, progress, clock);
    }
    if (plans.shared) {
      result.reduceForest = schedule::reversed(*result.broadcastForest);
    } else if (plans.in) {
      result.reduceForest =
          schedule::reversed(growForest(*plans.in, transpose ? *transpose : fabric, request, progress, clock));
    }
    if (request.maxHeight) {
      result.algbw = reachedBy(result);
      if (result.algbw < result.bound) {
        result.fixedK = generated.optimum.treesPerRoot;
      }
    }
    clock.done("routes");
    return generated;
  });
}

Result<Routed> routeShards(const Fabric& fabric, const Request& request, const Progress& progress) {
  return guarded<Routed>(request, [&] {
    if (!movesShards(request.collective)) {
      fail(ErrorCode::badUsage, std::string(toString(request.collective)) + " moves no shards to or from one root",
           "ask for gather or scatter");
    }
    Routed routed;
    StageClock clock(routed.seconds);
    const ShardProblem problem = shardProblem(fabric, request);
    const Rational ratio = worstShardCut(problem, progress).value();
    const TiedCuts cuts = tightShardCuts(problem, ratio, progress);
    routed.optimum = shardOptimum(problem, ratio, cuts);
    clock.done("optimum");
    const PieceCount pieces = minPieces(problem, ratio, cuts, progress);
    clock.done("pieces");
    routed.schedule = shardRoutes(fabric, request, problem, pieces, progress);
    routed.schedule.algbw = routed.optimum.algbw;
    clock.done("routes");
    return routed;
  });
}

}  // namespace coppice::forestcoll
