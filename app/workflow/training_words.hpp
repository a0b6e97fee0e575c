// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workflow/training_choice.hpp"
#include "workflow/training_request.hpp"

/// Plans of a training step in the words that people use, and what limits them.
namespace coppice::workflow {

struct StepFigures {
  Rational tokensPerSecond;           ///< at most, if computation and communication overlap
  Rational utilization;               ///< of the peak: MFU
  std::optional<Rational> days = {};  ///< at least, of the whole training; where its tokens are asked
};
/// @param step  ns
[[nodiscard]] StepFigures figuresOf(const TrainingRequest& request, std::int64_t gpus, const Rational& step);

struct AxisUse {
  std::string word;  ///< "tp"
  std::int64_t size = 1;
  std::int64_t stride = 1;  ///< ranks from one GPU of a group to the next
  std::string text = {};    ///< "tensor parallel, with sequence parallel"
  int zeroStage = -1;       ///< data, context and expert axes: 0 = weights replicated, to 3; -1 = nothing of the kind
  bool isSequence = false;  ///< the tensor axis divides tokens outside the products
  bool isUsual = true;      ///< false: of the tensor axis, a division that other tools have no name for
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
  bool passesOthers = false;  ///< as PricedGroups::passesOthers()
};
/// The links that limit it, and whether it passes GPUs of other groups.
[[nodiscard]] std::string limitWords(const fabric::Fabric& fabric, const CommunicationPart& part);

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
/// "one more GB/s on each of 16 links of 50 GB/s such as b0g0 -> b0nic".
[[nodiscard]] std::string gainWords(const fabric::Fabric& fabric, const Gain& gain);
/// One more TFLOP/s of each GPU, one more GB/s on each class of links in the cuts, one more GB of memory; each alone.
/// Errors: those of training::bestStep.
[[nodiscard]] Result<std::vector<Gain>> gainsOf(const training::StepDemand& demand, const Limits& limits,
                                                const training::StepPlan& plan, const Progress& progress);

/// Why there is no plan: "no plan fits into the 80 GB of a GPU; tp8 dp2 with 4 micro-batches takes 93 GB".
/// @pre choice.plans is empty
[[nodiscard]] std::string noPlanWords(const TrainingRequest& request, const TrainingChoice& choice);

}  // namespace coppice::workflow
