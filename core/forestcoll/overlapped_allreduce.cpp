// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/overlapped_allreduce.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "forestcoll/guarded.hpp"
#include "forestcoll/packing/growth.hpp"
#include "lp/allreduce_bound.hpp"
#include "schedule/from_forest.hpp"

namespace coppice::forestcoll {
namespace {

using fabric::Fabric;
using std::int64_t;

/// One tree moves divisor / denominator GB/s, the largest rate of which every share is a multiple.
struct TreeRate {
  int64_t divisor = 0;
  InverseBandwidth perGigabyte;  ///< trees per GB/s
};

TreeRate treeRateOf(const lp::AllreduceShares& shares) {
  TreeRate rate;
  for (const auto* values : {&shares.roots, &shares.broadcast, &shares.reduction}) {
    for (const int64_t value : *values) {
      rate.divisor = std::gcd(rate.divisor, value);
    }
  }
  rate.perGigabyte = InverseBandwidth(shares.denominator, rate.divisor);
  return rate;
}

/// Out-trees on the fabric within the shares of its arcs.
schedule::Forest growWithin(const Fabric& fabric, const std::vector<int64_t>& roots,
                            const std::vector<int64_t>& shareOfArc, const TreeRate& rate, const Request& request,
                            const Progress& progress, StageClock& clock) {
  std::vector<int64_t> demand = roots;
  const int64_t common = std::reduce(demand.begin(), demand.end(), int64_t{0}, std::gcd<int64_t, int64_t>);
  for (int64_t& each : demand) {
    each /= common;
  }
  Network network = makeNetwork(fabric, demand);
  network.unit = rate.perGigabyte.inverse();
  std::vector<int64_t> supply(network.nodeCount, 0);
  for (std::size_t rank = 0; rank < roots.size(); ++rank) {
    supply[network.gpus[rank]] = roots[rank] / rate.divisor;
  }
  for (std::size_t arc = 0; arc < shareOfArc.size(); ++arc) {
    network.arcs[arc].capacity = shareOfArc[arc] / rate.divisor;
  }
  const std::vector<TreeArc> capacities = network.arcs;
  GrowthOptions options;
  options.heightEffort = request.heightEffort;
  return growForest(fabric, {network, capacities, supply, rate.perGigabyte}, options, progress, clock);
}

/// By arc of the transpose: the share of the arc that it turns round.
std::vector<int64_t> turned(const Fabric& fabric, const Fabric& transpose, const std::vector<int64_t>& shareOfArc) {
  std::vector<int64_t> result;
  for (const fabric::Arc& arc : transpose.arcs()) {
    result.push_back(shareOfArc[*fabric.findArc(arc.head, arc.tail)]);
  }
  return result;
}

/// Both halves in one phase: a piece is broadcast as soon as its root has reduced it.
schedule::StepSchedule inOnePhase(schedule::StepSchedule schedule) {
  schedule::TransferList merged;
  merged.reserve(schedule.transfers.size());
  for (std::size_t i = 0; i < schedule.transfers.size(); ++i) {
    schedule::Transfer transfer = schedule.transfers[i];
    transfer.step = 0;
    merged.add(transfer);
  }
  schedule.transfers = std::move(merged);
  schedule.stepCount = 1;
  return schedule;
}

}  // namespace

Result<Routed> overlapAllreduce(const Fabric& fabric, const Request& request, const Progress& progress) {
  return guarded<Routed>(request, [&]() -> Result<Routed> {
    if (request.collective != Collective::allreduce) {
      return Error{ErrorCode::badUsage, "only allreduce has a reduction and a broadcast that can overlap"};
    }
    Routed routed;
    StageClock clock(routed.seconds);
    auto bound = lp::allreduceBound(fabric, {.budget = request.allreduceBudget, .wantsShares = true}, progress);
    if (!bound) {
      return bound.error();
    }
    if (!bound->shares) {
      return Error{ErrorCode::limit, "The linear program of this allreduce was not solved: " + bound->reason,
                   "use the method forestcoll, which reduces first and broadcasts then, or allow more seconds"};
    }
    const lp::AllreduceShares& shares = *bound->shares;
    clock.done("linear_program");
    const TreeRate rate = treeRateOf(shares);
    schedule::Schedule both;
    both.collective = Collective::allreduce;
    both.fabricName = fabric.name();
    both.fabricDigest = fabric.digest();
    both.algbw = bound->algbw;
    both.broadcastForest = growWithin(fabric, shares.roots, shares.broadcast, rate, request, progress, clock);
    const Fabric transpose = fabric.transposed();
    both.reduceForest = schedule::reversed(growWithin(
        transpose, shares.roots, turned(fabric, transpose, shares.reduction), rate, request, progress, clock));
    auto steps = schedule::stepScheduleOf(fabric, both, 1, progress);
    if (!steps) {
      return steps.error();
    }
    routed.schedule = inOnePhase(*std::move(steps));
    routed.schedule.method = "overlapped ForestColl";
    routed.schedule.algbw = bound->algbw;
    routed.optimum.gpuCount = fabric.gpuCount();
    routed.optimum.algbw = bound->algbw;
    routed.optimum.inverseRate = Rational(fabric.gpuCount()) / bound->algbw;
    clock.done("transfers");
    return routed;
  });
}

}  // namespace coppice::forestcoll
