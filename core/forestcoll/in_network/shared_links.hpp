// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "base/progress.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/in_network/mixture_forest.hpp"
#include "forestcoll/in_network/tree_columns.hpp"
#include "forestcoll/in_network/tree_mixture.hpp"
#include "forestcoll/optimum.hpp"
#include "forestcoll/request.hpp"
#include "forestcoll/stage_clock.hpp"

namespace coppice::forestcoll {

/// What is reached by trees that do not share the links otherwise: of an allreduce, by its halves one after the other.
struct Planned {
  Bandwidth algbw;               ///< with the best k
  std::int64_t totalDemand = 0;  ///< as Optimum::inverseRate counts it
};

/// Trees that share the links: a mixture whose trees are still to be grown, or the trees.
struct TreePlan {
  std::optional<TreeMixture> mixture;
  std::optional<ColumnTrees> columns;
  std::optional<ColumnTrees> fewTrees;  ///< that reach less than the mixture: in case its trees take too much work

  [[nodiscard]] const Bandwidth& algbw() const { return columns ? columns->algbw : mixture->algbw; }
};

/// Adds to the answer what trees that share the links reach, what no trees can beat, and the same on plain switches;
/// the trees, where they reach more than was planned. An allreduce may gain, whose halves may overlap, and an allgather
/// or reduce_scatter on switches that copy or sum where links differ by direction. Where numbers are too wide for the
/// program, the answer stays as it is. Throws Failure, OverflowError, CancelledError.
[[nodiscard]] std::optional<TreePlan> shareLinks(const fabric::Fabric& fabric, const Request& request,
                                                 const Planned& planned, Optimum& optimum, const Progress& progress);

/// Every tree is written edge by edge: whether that stays within maxTreeBytes.
[[nodiscard]] bool canBeWritten(const fabric::Fabric& fabric, const TreePlan& plan, const Request& request);

/// The trees of the plan, in both directions. Where those of a mixture take much work, trees that are found one by one
/// take their place, if they reach nearly as much: then the optimum says what these reach, and why.
/// Throws Failure, OverflowError, CancelledError.
[[nodiscard]] MixtureForests growPlan(const fabric::Fabric& fabric, TreePlan&& plan, const Request& request,
                                      const Planned& planned, Optimum& optimum, const Progress& progress,
                                      StageClock& clock);

/// Goes back to the optimum as it was before shareLinks(), keeps what was said of the bound, and notes why.
void keepPlanned(const Optimum& planned, Optimum& optimum);

}  // namespace coppice::forestcoll
