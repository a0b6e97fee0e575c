// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/checked.hpp"
#include "training/step.hpp"

/// One step on a device of the first stage: what it computes and what is moved, one after the other and at the same
/// time.
namespace coppice::training {

struct TimelineOptions {
  Rational bucket = 25 << 20;  ///< bytes of gradients of a device that are reduced together, as DDP does by default
  bool isPrefetched = true;    ///< weights are gathered one layer before they are used
};

/// Whole numbers of the unit that all times of a timeline share.
using Ticks = Int128;

struct StepEvent {
  enum class Kind { compute, bubble, communication };
  Kind kind = Kind::compute;
  int node = -1;  ///< of the block's graph; -1 = embedding and output, a bucket of gradients, or what a stage hands on
  int axis = -1;  ///< of communication: a role, or kPipeline
  Conversion conversion = Conversion::allgather;  ///< of communication on other axes than the pipeline
  bool isBackward = false;
  std::int32_t layer = 0;  ///< of the stage
  std::int32_t microBatch = 0;
  Ticks begin = 0;
  Ticks end = 0;
};

/// Exact: `compute`, `bubble` and `communication` are those of the plan, and `length` is at least what the plan takes
/// overlapped and at most what it takes in sequence.
struct StepTimeline {
  std::vector<std::string> names;  ///< of the block's nodes
  std::vector<StepEvent> events;   ///< in the order in which the device issues them
  Ticks perNanosecond = 1;
  Ticks length = 0;
  Ticks compute = 0;
  Ticks bubble = 0;
  Ticks communication = 0;
  /// By role, then the pipeline: communication for which the computation waits, or that is left at the end. They and
  /// compute and bubble sum to the length.
  std::array<Ticks, kParallelAxes> exposed = {};

  /// Throws OverflowError.
  [[nodiscard]] Ticks ticksOf(const Rational& nanoseconds) const;
  /// For display.
  [[nodiscard]] double nanoseconds(Ticks ticks) const;
};

/// The device computes one operation at a time, in the order of the block's graph, and moves one tensor at a time, as
/// the plan's cost adds them up. An operation waits for the conversions of its inputs, an alltoall to experts among
/// them. Weights are gathered while the same operation of the layer before computes. Gradients are reduced when a
/// bucket of them is there, and nothing waits for them. Micro-batches follow 1F1B, with the plan's bubble; what a stage
/// hands on occupies the links, and nothing waits for it. Embedding and output follow the last layer, a third forward.
/// Errors: overflow, limit (events), cancelled, those of blockOf.
[[nodiscard]] Result<StepTimeline> timelineOf(const StepDemand& demand, const StepPlan& plan,
                                              const TimelineOptions& options, const Progress& progress);

}  // namespace coppice::training
