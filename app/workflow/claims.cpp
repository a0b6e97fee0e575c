// SPDX-License-Identifier: Apache-2.0
#include "workflow/claims.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "verify/exchange_check.hpp"
#include "verify/plan_check.hpp"
#include "verify/rounds_check.hpp"
#include "verify/rule_check.hpp"
#include "verify/tree_bound_check.hpp"

namespace coppice::workflow {
namespace {

Finding wrongClaim(std::string text) {
  return {.severity = Severity::error, .code = ErrorCode::verification, .text = std::move(text)};
}

void append(std::vector<Finding> findings, ClaimVerdict& verdict) {
  verdict.findings.insert(verdict.findings.end(), std::make_move_iterator(findings.begin()),
                          std::make_move_iterator(findings.end()));
}

Outcome checkRounds(const fabric::Fabric& fabric, const schedule::AnySchedule& schedule, const RoundsClaim& claim,
                    const Progress& progress, ClaimVerdict& verdict) {
  const auto* steps = std::get_if<schedule::StepSchedule>(&schedule);
  if (steps == nullptr) {
    return Error{ErrorCode::badInput, "trees have no rounds"};
  }
  auto overfull = verify::checkRounds(fabric, *steps, claim.unit, progress);
  if (!overfull) {
    return overfull.error();
  }
  append(*std::move(overfull), verdict);
  return Done{};
}

/// The loads of the steps as the trees of rank 0 and the rotations show them.
Outcome checkDepths(const fabric::Fabric& fabric, const schedule::AnySchedule& schedule, const DepthClaim& claim,
                    const Progress& progress, ClaimVerdict& verdict) {
  const auto* forests = std::get_if<schedule::Schedule>(&schedule);
  if (forests == nullptr) {
    return Error{ErrorCode::badInput, "only trees have depths"};
  }
  schedule::StepCost cost;
  for (const auto* forest : {&forests->reduceForest, &forests->broadcastForest}) {
    if (!*forest) {
      continue;
    }
    const auto times = verify::stepTimesByRule(fabric, **forest, progress);
    if (!times) {
      return times.error();
    }
    for (const InverseBandwidth& time : *times) {
      cost.stepLoads.push_back({-1, time / claim.shardsPerCollective});
      cost.timePerByte += time / claim.shardsPerCollective;
    }
  }
  cost.steps = static_cast<std::int32_t>(cost.stepLoads.size());
  cost.rounds = cost.steps;
  cost.algbw = cost.timePerByte.inverse();
  bool isAsClaimed = cost.steps == claim.steps && cost.algbw == claim.algbw &&
                     (claim.atMost.empty() || claim.atMost.size() == cost.stepLoads.size());
  for (std::size_t t = 0; isAsClaimed && t < claim.atMost.size(); ++t) {
    isAsClaimed = cost.stepLoads[t].time * claim.shardsPerCollective <= claim.atMost[t];
  }
  if (!isAsClaimed) {
    verdict.findings.push_back(wrongClaim("the steps of the rule differ from the claimed ones"));
  }
  verdict.depthCost = std::move(cost);
  return Done{};
}

Outcome checkExchange(const fabric::Fabric& fabric, const schedule::AnySchedule* schedule,
                      const alltoall::Optimum& claim, const Progress& progress, ClaimVerdict& verdict) {
  const auto upper = verify::provenExchangeBound(fabric, claim.demand, claim.lengths, progress);
  if (!upper) {
    return upper.error();
  }
  const auto lower = verify::provenExchangeRate(fabric, claim.demand, claim.routing, progress);
  if (!lower) {
    return lower.error();
  }
  if (*upper != claim.upper || *lower != claim.lower) {
    verdict.findings.push_back(wrongClaim("the certificates of the all-to-all give " + toFraction(*lower) + " and " +
                                          toFraction(*upper) + ", not the rates that were claimed"));
  }
  if (schedule != nullptr &&
      schedule::algbwOf(*schedule) != claim.lower * alltoall::meanBuffer(claim.demand, fabric.gpuCount())) {
    verdict.findings.push_back(wrongClaim("the schedule is not as fast as its routing"));
  }
  return Done{};
}

/// Whether a switch copies or sums.
bool isPruned(const schedule::Schedule& schedule) {
  return std::ranges::any_of(std::array{&schedule.reduceForest, &schedule.broadcastForest}, [](const auto* forest) {
    return *forest && std::ranges::any_of((*forest)->edges, [](const auto& edge) { return edge.pruned > 0; });
  });
}

verify::TreeBoundGoal treeBoundGoal(const schedule::AnySchedule& schedule, bool plainSwitches) {
  verify::TreeBoundGoal goal{.collective = schedule::collectiveOf(schedule), .plainSwitches = plainSwitches};
  if (const auto* forests = std::get_if<schedule::Schedule>(&schedule)) {
    goal.demand = forests->amounts;
  } else {
    const auto amounts = std::get<schedule::StepSchedule>(schedule).goal.amounts();
    goal.demand.assign(amounts.begin(), amounts.end());
  }
  return goal;
}

Outcome checkTreeBound(const fabric::Fabric& fabric, const schedule::AnySchedule& schedule, const Claims& claims,
                       const Progress& progress, ClaimVerdict& verdict) {
  const schedule::TreeBoundProof& proof = *claims.treeBound;
  auto checked = verify::checkTreeBound(fabric, proof, treeBoundGoal(schedule, claims.plainSwitches), progress);
  if (!checked) {
    return checked.error();
  }
  const std::size_t before = verdict.findings.size();
  append(std::move(checked->findings), verdict);
  const auto* forests = std::get_if<schedule::Schedule>(&schedule);
  if (forests == nullptr) {
    return Done{};
  }
  const bool isAllreduce = forests->collective == Collective::allreduce;
  const std::optional<Bandwidth> stated = isAllreduce ? forests->allreduceBound : forests->bound;
  if (stated != proof.bound) {
    verdict.findings.push_back(wrongClaim("the proof by trees shows a bound of " + toFraction(proof.bound) +
                                          " GB/s, the schedule states " + (stated ? toFraction(*stated) : "none") +
                                          (isAllreduce ? " as the bound of all allreduces" : "")));
  }
  if (claims.plainSwitches && isPruned(*forests)) {
    verdict.findings.push_back(
        wrongClaim("the proof by trees takes all switches as plain, but a switch copies or sums in the schedule"));
  }
  verdict.provesBound = forests->bound == proof.bound && verdict.findings.size() == before;
  return Done{};
}

}  // namespace

Result<ClaimVerdict> checkClaims(const fabric::Fabric& fabric, const schedule::AnySchedule* schedule,
                                 const Claims& claims, const Progress& progress) {
  ClaimVerdict verdict;
  if (schedule != nullptr && claims.rounds) {
    if (const Outcome checked = checkRounds(fabric, *schedule, *claims.rounds, progress, verdict); !checked) {
      return checked.error();
    }
  }
  if (schedule != nullptr && claims.depths) {
    if (const Outcome checked = checkDepths(fabric, *schedule, *claims.depths, progress, verdict); !checked) {
      return checked.error();
    }
  }
  if (!claims.steps.empty()) {
    // The check of the depths has shown that the rotations are symmetries.
    auto findings = verify::checkStepClaims(fabric, claims.steps, progress, verdict.depthCost.has_value());
    if (!findings) {
      return findings.error();
    }
    append(*std::move(findings), verdict);
  }
  if (claims.exchange) {
    if (const Outcome checked = checkExchange(fabric, schedule, *claims.exchange, progress, verdict); !checked) {
      return checked.error();
    }
  }
  if (claims.plan) {
    auto plan = verify::checkPlan(claims.plan->model, claims.plan->plan, progress);
    if (!plan) {
      return plan.error();
    }
    if (!plan->ok) {
      append(std::move(plan->findings), verdict);
    }
  }
  if (claims.treeBound && schedule == nullptr) {
    return Error{ErrorCode::badInput, "a bound by trees is claimed without a schedule"};
  }
  if (claims.treeBound) {
    if (const Outcome checked = checkTreeBound(fabric, *schedule, claims, progress, verdict); !checked) {
      return checked.error();
    }
  }
  return verdict;
}

const Finding* firstFault(const std::vector<Finding>& findings) {
  const auto fault = std::find_if(findings.begin(), findings.end(),
                                  [](const Finding& finding) { return finding.severity == Severity::error; });
  if (fault != findings.end()) {
    return &*fault;
  }
  return findings.empty() ? nullptr : &findings.front();
}

Error rejected(const std::vector<Finding>& findings) {
  const Finding* fault = firstFault(findings);
  return {ErrorCode::verification,
          "the schedule did not pass the verifier" + (fault == nullptr ? "" : ": " + fault->text),
          {},
          fault == nullptr ? Place{} : fault->where};
}

}  // namespace coppice::workflow
