// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "training/block.hpp"
#include "training/search.hpp"
#include "workflow/concurrent.hpp"

/// A training step on a fabric: a mesh of its GPUs, priced by what all groups of an axis reach at once.
namespace coppice::workflow {

/// The collective of a conversion.
[[nodiscard]] Collective collectiveOf(training::Conversion conversion);

struct PricedGroups {
  schedule::ConcurrentDemand demand;
  groups::Optimum optimum;

  /// GPUs pass on data of groups that they are not in.
  [[nodiscard]] bool passesOthers() const { return !demand.relays.empty(); }
};
/// What groups reach that run at the same time. Where one has no path over its own GPUs and relays, such as every other
/// GPU of a ring, or one GPU of each rail in another box, data pass other GPUs. Errors: those of provedConcurrent.
[[nodiscard]] Result<PricedGroups> priceGroups(const fabric::Fabric& fabric,
                                               std::vector<schedule::ConcurrentGroup> groups, const Progress& progress);

struct PricedAxis {
  training::Axis axis;
  /// By conversion, what limits it; empty for an axis of one GPU.
  std::array<std::vector<CutLinks>, training::kConversions> cuts = {};
  bool isExact = true;  ///< otherwise the rates are upper bounds
};
/// As nccl-tests counts it: of an alltoall what one GPU has, of the others what the group holds together.
/// @param rate  of training::Axis: of what the group holds together
[[nodiscard]] Bandwidth algbwOf(training::Conversion conversion, const Rational& rate, std::int64_t size);

/// One for each size; the last axis is the fastest in rank order. The rate of alltoall counts what the group holds
/// together, size times its algbw. Errors: badUsage naming --mesh; those of provedConcurrent.
[[nodiscard]] Result<std::vector<PricedAxis>> priceMesh(const fabric::Fabric& fabric, const std::string& mesh,
                                                        const Progress& progress);

/// What limits the communication of a plan: the time of each conversion on each axis, ns.
struct ConversionTime {
  int axis = 0;
  training::Conversion conversion = training::Conversion::allgather;
  Rational time;
};
/// Largest first. Times sum to the plan's communication, but for Node::sent.
[[nodiscard]] std::vector<ConversionTime> conversionTimes(const training::Problem& problem, const training::Plan& plan);

}  // namespace coppice::workflow
