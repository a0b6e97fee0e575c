// SPDX-License-Identifier: Apache-2.0
#include "workflow/training_words.hpp"

#include <algorithm>
#include <array>

#include "base/counted.hpp"
#include "base/failure.hpp"
#include "workflow/facts.hpp"

namespace coppice::workflow {
namespace {

using training::kPipeline;
using training::Plan;
using training::Problem;
using training::Role;
using training::StepPlan;

/// The state of a tensor on an axis, by its name.
training::Dim stateOf(const Problem& problem, const Plan& plan, const std::string& name, std::size_t axis) {
  const auto found = std::find_if(problem.nodes.begin(), problem.nodes.end(),
                                  [&](const training::Node& node) { return node.name == name; });
  return plan.strategies[static_cast<std::size_t>(found - problem.nodes.begin())].output[axis];
}

/// Of the matrices of the feed-forward part, which are the largest.
int zeroStageOf(const Problem& problem, const Plan& plan, std::size_t axis) {
  if (stateOf(problem, plan, "w1", axis) >= 0) {
    return 3;
  }
  if (stateOf(problem, plan, "dw1_sum", axis) >= 0) {
    return 2;
  }
  return stateOf(problem, plan, "w1_stored", axis) >= 0 ? 1 : 0;
}

void setParallel(const std::string& name, const Problem& problem, const Plan& plan, std::size_t axis, AxisUse& use) {
  static constexpr std::array<const char*, 4> kStages{"weights replicated", "optimizer divided (ZeRO-1)",
                                                      "gradients and optimizer divided (ZeRO-2)",
                                                      "weights, gradients and optimizer divided (FSDP, ZeRO-3)"};
  use.zeroStage = zeroStageOf(problem, plan, axis);
  use.text = name + " parallel, " + kStages[static_cast<std::size_t>(use.zeroStage)];
}

void setUse(const Problem& problem, const Plan& plan, Role role, std::size_t axis, AxisUse& use) {
  const auto nameOf = [&](training::Dim dim) { return dim >= 0 ? problem.dims[dim].name : std::string(); };
  switch (role) {
    case Role::data:
      setParallel("data", problem, plan, axis, use);
      return;
    case Role::context:
      setParallel("context", problem, plan, axis, use);
      return;
    case Role::expert:
      if (nameOf(stateOf(problem, plan, "u", axis)) == "e") {
        use.text = "expert parallel, tokens dispatched by alltoall";
      } else {
        setParallel("data", problem, plan, axis, use);
      }
      return;
    case Role::tensor:
      break;
  }
  use.isSequence = nameOf(stateOf(problem, plan, "x", axis)) == "s";
  const bool isInnerDivided = nameOf(stateOf(problem, plan, "u", axis)) == "f";
  const std::string heads = nameOf(stateOf(problem, plan, "o", axis));
  const bool areHeadsDivided = heads == "n" || heads == "g";
  use.isUsual = isInnerDivided && areHeadsDivided;
  use.text = isInnerDivided   ? std::string("tensor parallel") + (use.isSequence ? ", with sequence parallel" : "")
             : use.isSequence ? "tokens divided, weights gathered"
                              : "no division of the feed-forward part";
  if (isInnerDivided && !areHeadsDivided) {
    use.text += heads.empty() ? ", attention replicated" : ", attention divided by tokens";
  }
}

std::vector<Gain> everyGain(const training::StepDemand& demand, const Limits& limits, const StepPlan& plan,
                            const Progress& progress) {
  const auto afterwards = [](Gain::Of of, const CutLinks& links, const Rational& compute, const Rational& moved) {
    return Gain{of, links, std::max(compute, moved), compute + moved};
  };
  const Rational compute = plan.cost.compute + plan.bubble;
  const Rational& moved = plan.cost.communication;
  std::vector<Gain> gains;
  constexpr std::int64_t kTera = 1000;
  gains.push_back(
      afterwards(Gain::Of::compute, {}, compute * demand.gflops / (demand.gflops + Rational(kTera)), moved));
  std::vector<CutLinks> classes;
  for (const CommunicationPart& part : limits.parts) {
    for (const CutLinks& links : part.cut) {
      if (std::none_of(classes.begin(), classes.end(), [&](const CutLinks& each) { return each.arcs == links.arcs; })) {
        classes.push_back(links);
      }
    }
  }
  for (const CutLinks& links : classes) {
    Rational after;
    for (const CommunicationPart& part : limits.parts) {
      // The rate is the sum of bandwidths times prices: what one more GB/s adds to it, as a part of it.
      Rational rate;
      Rational more;
      for (const CutLinks& each : part.cut) {
        rate += each.part();
        more +=
            each.arcs == links.arcs ? each.price * Rational(static_cast<std::int64_t>(each.arcs.size())) : Rational();
      }
      after += rate.isPositive() ? part.time * rate / (rate + more) : part.time;
    }
    gains.push_back(afterwards(Gain::Of::links, links, compute, after));
  }
  training::StepDemand roomier = demand;
  roomier.memory += Rational(1'000'000'000);
  const auto answer = training::bestStep(roomier, plan.priced, nullptr, progress);
  if (!answer) {
    throw Failure{answer.error()};
  }
  if (answer->best) {
    const bool isBetter = answer->best->isBetterThan(plan);
    const StepPlan& best = isBetter ? *answer->best : plan;
    gains.push_back({Gain::Of::memory, {}, best.overlapped(), best.inSequence()});
  }
  return gains;
}

}  // namespace

StepFigures figuresOf(const TrainingRequest& request, std::int64_t gpus, const Rational& step) {
  const training::Job& job = request.demand.job;
  StepFigures figures;
  figures.tokensPerSecond = Rational(job.batch) * Rational(job.sequence) * Rational(1'000'000'000) / step;
  figures.utilization =
      training::modelOperations(request.demand.model, job) / Rational(gpus) / request.peakGflops / step;
  if (request.tokens) {
    constexpr std::int64_t kDay = 86'400;
    figures.days = *request.tokens / figures.tokensPerSecond / Rational(kDay);
  }
  return figures;
}

std::vector<AxisUse> axisUses(const training::StepDemand& demand, const StepPlan& plan) {
  std::vector<AxisUse> uses;
  const auto problem = blockOf(demand, plan.priced, plan.microBatches);
  if (!problem) {
    return uses;
  }
  const std::vector<Role> roles = plan.priced.roles();
  const auto dropped = std::count_if(plan.block.strategies.begin(), plan.block.strategies.end(),
                                     [](const training::Strategy& strategy) { return strategy.isDropped; });
  for (const int axis : plan.priced.layout.order) {
    AxisUse use{training::kParallelWords[axis], plan.priced.layout.sizes[axis], plan.priced.layout.stride(axis)};
    if (use.size == 1) {
      continue;
    }
    if (axis == kPipeline) {
      use.text = "stages of a pipeline of " + std::to_string(layersOf(demand.model, plan.priced.layout)) + " layers";
    } else {
      const auto place = std::find(roles.begin(), roles.end(), static_cast<Role>(axis)) - roles.begin();
      setUse(*problem, plan.block, static_cast<Role>(axis), static_cast<std::size_t>(place), use);
    }
    uses.push_back(std::move(use));
  }
  if (dropped > 0) {
    uses.push_back({"again", dropped, 0, "tensors of a block computed again in the backward pass"});
  }
  return uses;
}

Limits limitsOf(const training::StepDemand& demand, const TrainingChoice& choice, const StepPlan& plan) {
  Limits limits;
  limits.isCommunication = plan.cost.communication > plan.cost.compute + plan.bubble;
  const auto problem = blockOf(demand, plan.priced, plan.microBatches);
  if (!problem) {
    return limits;
  }
  const training::Layout& layout = plan.priced.layout;
  const std::vector<Role> roles = plan.priced.roles();
  const Rational layers(layersOf(demand.model, layout));
  Rational rest = plan.cost.communication;
  for (const ConversionTime& each : conversionTimes(*problem, plan.block)) {
    const auto axis = static_cast<int>(roles[each.axis]);
    const AxisPrice& price = choice.axes.at({layout.sizes[axis], layout.stride(axis)});
    const auto conversion = static_cast<std::size_t>(each.conversion);
    limits.parts.push_back({training::kParallelWords[axis], std::string(toString(collectiveOf(each.conversion))),
                            each.time * layers, algbwOf(each.conversion, price.rates[conversion], layout.sizes[axis]),
                            price.cuts[conversion], price.passesOthers});
    rest -= limits.parts.back().time;
  }
  if (rest.isPositive()) {
    const HandOnPrice& price = choice.handOns.at({layout.stages(), layout.stride(kPipeline)});
    limits.parts.push_back(
        {training::kParallelWords[kPipeline], "send", rest, price.rate, price.cut, price.passesOthers});
  }
  std::stable_sort(limits.parts.begin(), limits.parts.end(),
                   [](const CommunicationPart& a, const CommunicationPart& b) { return a.time > b.time; });
  return limits;
}

std::string limitWords(const fabric::Fabric& fabric, const CommunicationPart& part) {
  return cutWords(fabric, part.cut) + (part.passesOthers ? ", through GPUs of other groups" : "");
}

std::string gainWords(const fabric::Fabric& fabric, const Gain& gain) {
  switch (gain.of) {
    case Gain::Of::compute:
      return "one more TFLOP/s of each GPU";
    case Gain::Of::memory:
      return "one more GB of memory, in this layout";
    case Gain::Of::links:
      break;
  }
  return "one more GB/s on each of " + cutWords(fabric, {gain.links});
}

std::string noPlanWords(const TrainingRequest& request, const TrainingChoice& choice) {
  const auto gigabytesOf = [](const Rational& bytes) { return toDecimal(bytes / Rational(1'000'000'000), 2) + " GB"; };
  if (choice.leftOut > 0 && choice.leftOut == choice.layouts) {
    return "none of " + counted(choice.layouts, "layout") + " of the GPUs has a price: " + choice.leftOutFor;
  }
  if (choice.tried == 0) {
    const training::StepDemand& demand = request.demand;
    return "no layout of the GPUs fits the plan" +
           (demand.microBatches > 0 ? "; " + counted(demand.microBatches, "micro-batch", "micro-batches") +
                                          " must divide the sequences of each data parallel group evenly"
                                    : std::string()) +
           (demand.interleave > 1
                ? "; with vp=" + std::to_string(demand.interleave) + " a stage needs at least " +
                      counted(demand.interleave, "layer") + ", and the micro-batches must be a multiple of pp"
                : std::string());
  }
  std::string text = "no plan fits into the " + gigabytesOf(request.demand.memory) + " of a GPU";
  if (choice.smallest) {
    const StepPlan& plan = *choice.smallest;
    text += "; " + plan.priced.layout.text() + " with " + counted(plan.microBatches, "micro-batch", "micro-batches") +
            " takes " + gigabytesOf(plan.cost.memory) +
            (request.demand.job.mayRecompute ? "" : "; --recompute takes less");
  }
  return text;
}

Result<std::vector<Gain>> gainsOf(const training::StepDemand& demand, const Limits& limits, const StepPlan& plan,
                                  const Progress& progress) {
  return coppice::guarded([&] { return everyGain(demand, limits, plan, progress); });
}

}  // namespace coppice::workflow
