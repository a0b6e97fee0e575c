// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "training/step.hpp"
#include "workflow/training_job.hpp"

/// The choice among all ways to run a training step on a fabric: sizes of the parallel axes, their order, micro-batches
/// and states.
namespace coppice::workflow {

/// What is moved along one axis of ranks, with all its groups at once.
struct AxisPrice {
  std::array<Rational, training::kConversions> rates = {};  ///< as training::Axis::rates
  std::array<std::vector<CutLinks>, training::kConversions> cuts = {};
  bool isExact = true;
  bool passesOthers = false;  ///< as PricedGroups::passesOthers()
};
/// Of two stages that follow each other, in both directions, with all at once.
struct HandOnPrice {
  Bandwidth rate = Bandwidth(Rational(1));  ///< of both together
  std::vector<CutLinks> cut = {};
  bool isExact = true;
  bool passesOthers = false;
};
using AxisKey = std::pair<std::int64_t, std::int64_t>;  ///< size, stride of the ranks

struct TrainingChoice {
  std::vector<training::StepPlan> plans;  ///< best first, at most one of a layout
  /// Where no plan fits: that with the least memory.
  std::optional<training::StepPlan> smallest;
  std::map<AxisKey, AxisPrice> axes;
  std::map<AxisKey, HandOnPrice> handOns;
  std::set<AxisKey> unpriced;  ///< axes that cannot be priced
  std::size_t layouts = 0;
  std::int64_t tried = 0;       ///< layouts with numbers of micro-batches that the demand allows
  std::int64_t searches = 0;    ///< fronts that were searched
  std::int64_t cut = 0;         ///< those whose bound is not better than a plan that was found
  std::size_t leftOut = 0;      ///< layouts whose groups cannot be priced, or whose exact times are too large
  std::string leftOutFor = {};  ///< the first reason
  std::optional<double>
      least;  ///< ns: no plan of the layouts takes less, but for those left out; nothing without plans
};

/// Tries all layouts, several at a time; the answer does not depend on how many. Layouts that equal rates make equal
/// are searched once. Errors: badUsage naming --plan, those of provedConcurrent and findFront; cancelled.
[[nodiscard]] Result<TrainingChoice> chooseTraining(const fabric::Fabric& fabric, const training::StepDemand& demand,
                                                    const training::LayoutLimits& limits, const Progress& progress);

}  // namespace coppice::workflow
