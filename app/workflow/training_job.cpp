// SPDX-License-Identifier: Apache-2.0
#include "workflow/training_job.hpp"

#include <algorithm>
#include <map>

namespace coppice::workflow {

Collective collectiveOf(training::Conversion conversion) {
  switch (conversion) {
    case training::Conversion::allgather:
      return Collective::allgather;
    case training::Conversion::reduceScatter:
      return Collective::reduceScatter;
    case training::Conversion::allreduce:
      return Collective::allreduce;
    case training::Conversion::alltoall:
      break;
  }
  return Collective::alltoall;
}

Result<PricedGroups> priceGroups(const fabric::Fabric& fabric, std::vector<schedule::ConcurrentGroup> groups,
                                 const Progress& progress) {
  schedule::ConcurrentDemand demand;
  demand.groups = std::move(groups);
  auto optimum = provedConcurrent(fabric, demand, progress);
  if (!optimum && optimum.error().code == ErrorCode::infeasible) {
    demand.relays.assign(fabric.gpus().size(), true);
    optimum = provedConcurrent(fabric, demand, progress);
  }
  if (!optimum) {
    return optimum.error();
  }
  return PricedGroups{std::move(demand), *std::move(optimum)};
}

Bandwidth algbwOf(training::Conversion conversion, const Rational& rate, std::int64_t size) {
  return Bandwidth(conversion == training::Conversion::alltoall ? rate / Rational(size) : rate);
}

Result<std::vector<PricedAxis>> priceMesh(const fabric::Fabric& fabric, const std::string& mesh,
                                          const Progress& progress) {
  const auto sizes = groups::parseMesh(mesh);
  if (!sizes) {
    return optionError("mesh", sizes.error().message, sizes.error().fix);
  }
  std::vector<PricedAxis> axes;
  for (std::size_t i = 0; i < sizes->size(); ++i) {
    PricedAxis priced;
    priced.axis.size = (*sizes)[i];
    priced.axis.rates.fill(Rational(1));
    for (std::size_t c = 0; c < training::kConversions && priced.axis.size > 1; ++c) {
      const Collective collective = collectiveOf(static_cast<training::Conversion>(c));
      auto groups = groups::meshGroups(*sizes, static_cast<int>(i), fabric.gpuCount(), collective);
      if (!groups) {
        return optionError("mesh", groups.error().message, groups.error().fix);
      }
      const auto answer = priceGroups(fabric, *std::move(groups), progress);
      if (!answer) {
        return answer.error();
      }
      const groups::Optimum& optimum = answer->optimum;
      const Rational rate = optimum.upper.gigabytesPerSecond();
      const bool isAlltoall = static_cast<training::Conversion>(c) == training::Conversion::alltoall;
      priced.axis.rates[c] = isAlltoall ? rate * Rational(priced.axis.size) : rate;
      priced.cuts[c] = sharedCut(fabric, optimum);
      priced.isExact = priced.isExact && optimum.isExact();
    }
    axes.push_back(std::move(priced));
  }
  std::int64_t product = 1;
  for (const int size : *sizes) {
    product = product > fabric.gpuCount() ? product : product * size;
  }
  if (product != fabric.gpuCount()) {
    return optionError(
        "mesh",
        "the sizes of the mesh do not multiply to the " + std::to_string(fabric.gpuCount()) + " GPUs of the fabric",
        "give sizes whose product is " + std::to_string(fabric.gpuCount()));
  }
  return axes;
}

std::vector<ConversionTime> conversionTimes(const training::Problem& problem, const training::Plan& plan) {
  std::map<std::pair<int, training::Conversion>, Rational> sums;
  for (std::size_t i = 0; i < plan.strategies.size(); ++i) {
    const training::Node& node = problem.nodes[i];
    const training::Strategy& strategy = plan.strategies[i];
    for (std::size_t input = 0; input < node.inputs.size(); ++input) {
      const auto steps = training::conversionSteps(problem, node.inputs[input],
                                                   plan.strategies[node.inputs[input]].output, strategy.inputs[input]);
      for (const training::ConversionStep& step : steps.value_or(std::vector<training::ConversionStep>())) {
        sums[{step.axis, step.conversion}] += step.time * node.times * Rational(strategy.isDropped ? 2 : 1);
      }
    }
  }
  std::vector<ConversionTime> times;
  for (const auto& [key, time] : sums) {
    times.push_back({key.first, key.second, time});
  }
  std::stable_sort(times.begin(), times.end(),
                   [](const ConversionTime& a, const ConversionTime& b) { return a.time > b.time; });
  return times;
}

}  // namespace coppice::workflow
