// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <algorithm>

#include "alltoall/alltoall.hpp"
#include "base/bus_factor.hpp"
#include "fabric/likely_gpu.hpp"
#include "forestcoll/forestcoll.hpp"
#include "forestcoll/tied_cuts.hpp"
#include "live/cut_bound.hpp"
#include "live/failures.hpp"
#include "live/prices.hpp"
#include "modules.hpp"
#include "schedule/bound_scope.hpp"
#include "unwrap.hpp"
#include "workflow/alltoall_method.hpp"
#include "workflow/concurrent.hpp"
#include "workflow/fabric_source.hpp"
#include "workflow/options.hpp"
#include "workflow/proved_optimum.hpp"
#include "workflow/request.hpp"
#include "workflow/training_choice.hpp"
#include "workflow/training_request.hpp"
#include "workflow/training_words.hpp"

namespace coppice::python {
namespace {

using workflow::LoadedFabric;
using workflow::Values;

struct Question {
  std::string collective;
  std::string root;
  std::string amounts;
  Values limits;

  [[nodiscard]] workflow::DemandText demand() const { return {collective, root, amounts}; }
};

py::dict limitOf(const forestcoll::AllreduceLimit& limit, const Bandwidth& algbw) {
  py::dict dict;
  dict["algbw"] = fraction(limit.algbw);
  dict["exact"] = limit.isExact || limit.algbw == algbw;
  dict["reached"] = limit.algbw == algbw;
  return dict;
}

py::dict cutOf(const fabric::Fabric& fabric, const schedule::Cut& cut) {
  py::list nodes;
  for (const fabric::NodeIndex node : cut.nodes) {
    nodes.append(fabric.nodes()[node].id);
  }
  py::dict dict;
  dict["nodes"] = std::move(nodes);
  dict["demand"] = cut.demand;
  dict["bandwidth"] = fraction(cut.exitBandwidth);
  return dict;
}

struct Answered {
  forestcoll::Request request;
  forestcoll::Optimum optimum;
  forestcoll::TiedCuts cuts;
};

py::dict forestOptimum(const LoadedFabric& loaded, const Question& question, const py::object& listener) {
  const fabric::Fabric& fabric = loaded.fabric;
  const Answered answered = compute(listener, [&](const Progress& progress) -> Result<Answered> {
    const auto request = workflow::readRequest(fabric, question.demand(), question.limits);
    if (!request) {
      return request.error();
    }
    auto optimum = workflow::provedOptimum(fabric, *request, progress);
    if (!optimum) {
      return optimum.error();
    }
    Answered all{*request, *std::move(optimum), {}};
    if (!all.optimum.bottlenecks.empty()) {
      auto tied = forestcoll::tiedCuts(fabric, *request, all.optimum.bottlenecks.front(), progress);
      if (!tied) {
        return tied.error();
      }
      all.cuts = *std::move(tied);
    }
    return all;
  });
  const auto& [request, optimum, tied] = answered;
  const bool isForTrees =
      !optimum.ignoresSwitches && (request.collective == Collective::allreduce ? optimum.allreduceLimit.has_value()
                                                                               : optimum.boundProof.has_value());
  const schedule::BoundScope scope =
      schedule::boundScope(fabric, request.collective, {!optimum.bottlenecks.empty(), isForTrees});
  py::dict dict;
  dict["collective"] = std::string(toString(request.collective));
  dict["gpus"] = optimum.gpuCount;
  dict["algbw"] = fraction(optimum.algbw);
  dict["busbw"] = fraction(optimum.algbw * busFactor(request.collective, optimum.gpuCount));
  dict["exact"] = request.collective != Collective::allreduce ||
                  (optimum.allreduceLimit && optimum.allreduceLimit->algbw == optimum.algbw);
  dict["scope"] = std::string(schedule::sentenceOf(scope));
  dict["trees_per_root"] = optimum.treesPerRoot;
  dict["note"] = optimum.note;
  py::list cuts;
  for (const schedule::Cut& cut : tied.cuts) {
    cuts.append(cutOf(fabric, cut));
  }
  dict["cuts"] = std::move(cuts);
  dict["cut_count"] = tied.count;
  dict["cut_count_exact"] = tied.isExact;
  dict["allreduce_bound"] =
      optimum.allreduceLimit ? py::object(limitOf(*optimum.allreduceLimit, optimum.algbw)) : py::object(py::none());
  if (optimum.plainSwitches) {
    py::dict plain;
    plain["algbw"] = fraction(optimum.plainSwitches->algbw);
    plain["allreduce_bound"] =
        optimum.plainSwitches->allreduceLimit
            ? py::object(limitOf(*optimum.plainSwitches->allreduceLimit, optimum.plainSwitches->algbw))
            : py::object(py::none());
    dict["plain_switches"] = std::move(plain);
  } else {
    dict["plain_switches"] = py::none();
  }
  return dict;
}

py::dict alltoallOptimum(const LoadedFabric& loaded, const Question& question, const py::object& listener) {
  const auto found =
      compute(listener, [&](const Progress& progress) -> Result<std::shared_ptr<const alltoall::Optimum>> {
        if (const auto demand = workflow::readDemand(loaded.fabric, question.demand()); !demand) {
          return demand.error();
        }
        if (!question.limits.empty()) {
          return workflow::optionError(question.limits.begin()->first, "it applies to trees, and alltoall has none",
                                       "leave it out");
        }
        return workflow::verifiedAlltoall(loaded.fabric, {}, progress);
      });
  const Bandwidth upper = found->upper * Rational(found->gpuCount);
  py::dict dict;
  dict["collective"] = "alltoall";
  dict["gpus"] = found->gpuCount;
  dict["algbw"] = fraction(upper);
  dict["busbw"] = fraction(upper * busFactor(Collective::alltoall, found->gpuCount));
  dict["exact"] = found->isExact();
  dict["reached"] = fraction(found->lower * Rational(found->gpuCount));
  return dict;
}

py::dict optimum(const LoadedFabric& loaded, const std::string& collective, const std::string& root,
                 const std::string& amounts, const Values& limits, const py::object& listener) {
  const Question question{collective, root, amounts, limits};
  return parseCollective(collective) == Collective::alltoall ? alltoallOptimum(loaded, question, listener)
                                                             : forestOptimum(loaded, question, listener);
}

Result<live::CutBound> cutBound(const LoadedFabric& loaded, const Question& question, const Progress& progress) {
  if (parseCollective(question.collective) == Collective::alltoall) {
    return workflow::optionError("collective", "the effect of fabric changes on alltoall cannot be computed",
                                 "use another collective, or ask for the optimum of both fabrics");
  }
  const auto request = workflow::readRequest(loaded.fabric, question.demand(), question.limits);
  if (!request) {
    return request.error();
  }
  return live::CutBound::create(loaded.fabric, *request, progress);
}

struct Priced {
  std::vector<live::LinkGroup> groups;
  std::vector<live::RankedPrice> ranking;
};

/// (name, links as (source, target), gain, loss, change above or None, change below or None), the best first.
py::list prices(const LoadedFabric& loaded, const std::string& collective, const std::string& root,
                const std::string& amounts, const Values& limits, bool byClass, const py::object& listener) {
  const Question question{collective, root, amounts, limits};
  const Priced priced = compute(listener, [&](const Progress& progress) -> Result<Priced> {
    const auto bound = cutBound(loaded, question, progress);
    if (!bound) {
      return bound.error();
    }
    Priced all;
    if (byClass) {
      all.groups = live::linkClasses(loaded.fabric);
    } else {
      auto groups = live::groupsOf(loaded.fabric, loaded.description);
      if (!groups) {
        return groups.error();
      }
      all.groups = *std::move(groups);
    }
    auto ranking = live::rankPrices(*bound, all.groups, progress);
    if (!ranking) {
      return ranking.error();
    }
    all.ranking = *std::move(ranking);
    return all;
  });
  py::list list;
  for (const live::RankedPrice& ranked : priced.ranking) {
    const live::LinkGroup& group = priced.groups[ranked.group];
    py::list links;
    for (const live::GroupArc& arc : group.arcs) {
      links.append(py::make_tuple(loaded.fabric.nodes()[arc.src].id, loaded.fabric.nodes()[arc.dst].id));
    }
    list.append(py::make_tuple(group.name, std::move(links), fraction(ranked.price.raise), fraction(ranked.price.lower),
                               fraction(ranked.price.nextAbove), fraction(ranked.price.nextBelow)));
  }
  return list;
}

struct Failed {
  std::vector<live::PartFailure> failures;
  std::vector<live::Damage> ranking;
};

/// (part, name, algbw left, loss, GPUs left, reason or ""), the worst first.
py::list failures(const LoadedFabric& loaded, const std::string& collective, const std::string& root,
                  const std::string& amounts, const Values& limits, const std::vector<std::string>& parts,
                  const py::object& listener) {
  const Question question{collective, root, amounts, limits};
  const auto isWanted = [&](const live::PartFailure& failure) {
    return std::find(parts.begin(), parts.end(), live::toString(failure.part)) != parts.end();
  };
  const Failed failed = compute(listener, [&](const Progress& progress) -> Result<Failed> {
    const auto bound = cutBound(loaded, question, progress);
    if (!bound) {
      return bound.error();
    }
    const bool hasBoxes = std::find(parts.begin(), parts.end(), "box") != parts.end();
    Failed all{live::singleFailures(loaded.description, hasBoxes), {}};
    std::erase_if(all.failures, [&](const live::PartFailure& failure) { return !isWanted(failure); });
    auto ranking = live::rankFailures(*bound, all.failures, progress);
    if (!ranking) {
      return ranking.error();
    }
    all.ranking = *std::move(ranking);
    return all;
  });
  py::list list;
  for (const live::Damage& damage : failed.ranking) {
    const live::PartFailure& failure = failed.failures[damage.failure];
    list.append(py::make_tuple(std::string(live::toString(failure.part)), failure.name, fraction(damage.algbw),
                               fraction(damage.loss), damage.gpuCount, damage.finding ? damage.finding->text : ""));
  }
  return list;
}

/// {"rate", "reached", "exact", "cut": [(source, target, bandwidth, price)]}: the links of the shared cut, with what
/// one more GB/s adds to the rate.
/// @param groups text of a file of groups, or empty for those of a mesh
py::dict optimumOfGroups(const LoadedFabric& loaded, const std::string& groups, const std::string& mesh,
                         const std::string& axes, const std::string& collective, bool relay,
                         const py::object& listener) {
  const workflow::ConcurrentText text = groupsText(groups, mesh, axes, collective, relay);
  const groups::Optimum optimum = compute(listener, [&](const Progress& progress) -> Result<groups::Optimum> {
    const auto demand = workflow::readConcurrent(loaded.description, loaded.fabric, text);
    if (!demand) {
      return demand.error();
    }
    return workflow::provedConcurrent(loaded.fabric, *demand, progress);
  });
  const std::vector<Rational> prices = workflow::linkPrices(loaded.fabric, optimum);
  py::list cut;
  for (std::size_t i = 0; i < prices.size(); ++i) {
    if (prices[i].isPositive()) {
      const fabric::Arc& arc = loaded.fabric.arcs()[i];
      cut.append(py::make_tuple(loaded.fabric.nodes()[arc.tail].id, loaded.fabric.nodes()[arc.head].id,
                                fraction(arc.bandwidth), fraction(prices[i])));
    }
  }
  py::dict dict;
  dict["rate"] = fraction(optimum.upper);
  dict["reached"] = fraction(optimum.lower);
  dict["exact"] = optimum.isExact();
  dict["cut"] = std::move(cut);
  return dict;
}

/// [(layout, {axis: size}, micro-batches, step, compute, bubble, communication, memory, tokens per second, MFU,
/// [(axis, size, stride, use)], [(axis, collective, time, rate, links)])], best first.
py::list train(const LoadedFabric& loaded, const Values& options, const py::object& listener) {
  struct Chosen {
    workflow::TrainingRequest request;
    workflow::TrainingChoice choice;
  };
  const Chosen chosen = compute(listener, [&](const Progress& progress) -> Result<Chosen> {
    auto request = workflow::readTraining(options, fabric::namesOf(loaded.fabric));
    if (!request) {
      return request.error();
    }
    auto choice = workflow::chooseTraining(loaded.fabric, request->demand, request->limits, progress);
    if (!choice) {
      return choice.error();
    }
    if (choice->plans.empty()) {
      return Error{ErrorCode::infeasible, workflow::noPlanWords(*request, *choice), {}};
    }
    return Chosen{*std::move(request), *std::move(choice)};
  });
  py::list plans;
  for (const training::StepPlan& plan : chosen.choice.plans) {
    const workflow::StepFigures figures =
        workflow::figuresOf(chosen.request, loaded.fabric.gpuCount(), plan.overlapped());
    py::dict sizes;
    for (int axis = 0; axis < training::kParallelAxes; ++axis) {
      sizes[training::kParallelWords[axis]] = plan.priced.layout.sizes[axis];
    }
    py::list axes;
    for (const workflow::AxisUse& use : workflow::axisUses(chosen.request.demand, plan)) {
      axes.append(py::make_tuple(use.word, use.size, use.stride, use.text));
    }
    py::list parts;
    for (const workflow::CommunicationPart& part :
         workflow::limitsOf(chosen.request.demand, chosen.choice, plan).parts) {
      parts.append(py::make_tuple(part.word, part.collective, fraction(part.time), fraction(part.rate),
                                  workflow::limitWords(loaded.fabric, part)));
    }
    plans.append(py::make_tuple(plan.priced.layout.text(), std::move(sizes), plan.microBatches,
                                fraction(plan.overlapped()), fraction(plan.cost.compute), fraction(plan.bubble),
                                fraction(plan.cost.communication), fraction(plan.cost.memory),
                                fraction(figures.tokensPerSecond), fraction(figures.utilization), std::move(axes),
                                std::move(parts)));
  }
  return plans;
}

}  // namespace

void defineQuestions(py::module_& module) {
  module.def("optimum", &optimum);
  module.def("optimum_of_groups", &optimumOfGroups);
  module.def("prices", &prices);
  module.def("failures", &failures);
  module.def("train", &train);
}

}  // namespace coppice::python
