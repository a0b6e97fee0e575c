// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "training/layout.hpp"
#include "training/search.hpp"

/// The time and memory of a whole step: blocks in the stages of a pipeline, embedding and output.
namespace coppice::training {

/// A layout with what its axes move on the fabric.
struct PricedLayout {
  Layout layout;
  std::array<Axis, kRoles> axes = {};  ///< by role
  /// GB/s of what two stages exchange together, with all stages at once; of one stage nothing.
  Rational handOn = 1;

  /// Axes of size above 1, by role; at least one.
  [[nodiscard]] std::vector<Role> roles() const;
};

/// What a step asks of the device and its software.
struct StepDemand {
  Model model;
  Job job;
  Rational gflops = 1;            ///< of a device
  Rational memory = 0;            ///< bytes of a device
  std::int64_t interleave = 1;    ///< parts of each stage: the bubble is divided by them, and each hands on
  std::int64_t microBatches = 0;  ///< that are given; 0 = any
};

/// A way to run the whole step.
struct StepPlan {
  PricedLayout priced;
  std::int64_t microBatches = 1;
  Plan block;       ///< of one block, for all micro-batches
  Cost cost;        ///< of the step: the device with the most compute; memory of the first stage
  Rational bubble;  ///< ns in which a device waits for the first and the last micro-batches

  /// If communication hides behind the computation where it can: nothing can be faster in this model.
  [[nodiscard]] Rational overlapped() const { return std::max(cost.compute + bubble, cost.communication); }
  [[nodiscard]] Rational inSequence() const { return cost.compute + bubble + cost.communication; }
  /// Shorter, at equal time with less to hide, then with less memory.
  [[nodiscard]] bool isBetterThan(const StepPlan& other) const;
};

/// Layers of the longest stage.
[[nodiscard]] std::int64_t layersOf(const Model& model, const Layout& layout);

/// The graph of a block as the plan's search had it.
[[nodiscard]] Result<Problem> blockOf(const StepDemand& demand, const PricedLayout& priced, std::int64_t microBatches);

/// Compute and bubble that no plan of the layout is below, ns.
[[nodiscard]] Rational leastTime(const StepDemand& demand, const Layout& layout, std::int64_t microBatches);

/// The best plan of a layout that was found.
struct LayoutAnswer {
  std::optional<StepPlan> best;      ///< fits into the memory
  std::optional<StepPlan> smallest;  ///< where none fits: that with the least memory
  std::optional<double> least;       ///< ns that no plan of those that were searched is below
  std::int64_t tried = 0;            ///< numbers of micro-batches that the demand allows
  std::int64_t searches = 0;         ///< numbers of micro-batches that were searched
  std::int64_t cut = 0;              ///< those that their bound shows to be no better than `known`
  bool isComplete = true;            ///< otherwise a search was out of work, and its bound is that of computation
};
/// Plans of least weighted cost, for several weights; the weights that bound all plans end the search.
/// @param known  a plan that is there already; what is not better may be missing.
/// Errors: overflow, cancelled, limit.
[[nodiscard]] Result<LayoutAnswer> bestStep(const StepDemand& demand, const PricedLayout& priced, const StepPlan* known,
                                            const Progress& progress);

}  // namespace coppice::training
