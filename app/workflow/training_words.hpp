// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "workflow/training_choice.hpp"

/// Plans of a training step in the words that people use, and what limits them.
namespace coppice::workflow {

struct AxisUse {
  std::string word;  ///< "tp"
  std::int64_t size = 1;
  std::int64_t stride = 1;  ///< ranks from one GPU of a group to the next
  std::string text;         ///< "tensor parallel, with sequence parallel"
};
/// Of the axes of size above 1, fastest first.
[[nodiscard]] std::vector<AxisUse> axisUses(const training::StepDemand& demand, const training::StepPlan& plan);

/// A collective of an axis, or what a pipeline hands on, in the whole step.
struct CommunicationPart {
  std::string word;
  std::string collective;
  Rational time;  ///< ns
  Bandwidth rate;
  std::vector<CutLinks> cut;
};
struct Limits {
  bool isCommunication = false;          ///< otherwise computation, with the bubble
  std::vector<CommunicationPart> parts;  ///< largest first; their times sum to the plan's communication
};
[[nodiscard]] Limits limitsOf(const training::StepDemand& demand, const TrainingChoice& choice,
                              const training::StepPlan& plan);

/// What a little more of something gives: the step of the same plan, and for memory that of the best plan of the
/// layout.
struct Gain {
  enum class Of { compute, links, memory };
  Of of = Of::compute;
  CutLinks links;  ///< one more GB/s on each of them, as far as the prices of the shared cuts tell: at most this much
  Rational overlapped;  ///< ns of the step afterwards
  Rational inSequence;  ///< the same without overlap
};
/// One more TFLOP/s of each GPU, one more GB/s on each class of links in the cuts, one more GB of memory; each alone.
/// Errors: those of training::bestStep.
[[nodiscard]] Result<std::vector<Gain>> gainsOf(const training::StepDemand& demand, const Limits& limits,
                                                const training::StepPlan& plan, const Progress& progress);

}  // namespace coppice::workflow
