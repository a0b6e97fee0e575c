// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <memory>
#include <optional>

#include "designer/schedules/question_panel.hpp"
#include "fabric/fabric.hpp"
#include "workflow/step_unit.hpp"
#include "workflow/training_choice.hpp"
#include "workflow/training_graph.hpp"
#include "workflow/training_request.hpp"
#include "workflow/training_words.hpp"

namespace coppice::designer {

/// The plans of a training step on one state of a fabric, or why there are none. Immutable.
struct TrainingAnswer : PanelAnswer {
  std::optional<fabric::Fabric> fabric = {};
  // Of a model:
  std::optional<workflow::TrainingRequest> request = {};
  workflow::TrainingChoice choice = {};
  // Of a file with a graph:
  std::optional<workflow::GraphRequest> graph = {};
  std::vector<workflow::MeshAnswer> meshes = {};

  [[nodiscard]] bool hasPlans() const { return !choice.plans.empty(); }
  [[nodiscard]] bool isGraph() const { return graph.has_value(); }
};
using TrainingAnswerPtr = std::shared_ptr<const TrainingAnswer>;

/// For another thread. After a stop the answer is worthless.
[[nodiscard]] TrainingAnswerPtr searchTraining(const Snapshot& snapshot, const workflow::Values& values,
                                               const Progress& progress);

/// What the panel says of one plan.
struct PlanText {
  /// "412.5 ms per step on 128 GPUs (H100): at most 254,000 tokens/s, 1,984 per GPU, 51.2 % of the peak (MFU)"
  QString headline;
  QStringList axes;   ///< "tp 8: tensor parallel, with sequence parallel"
  QString limitedBy;  ///< "Limited by communication"
};
[[nodiscard]] PlanText textOf(const TrainingAnswer& answer, const training::StepPlan& plan);

/// Of the best plan, for all of them.
[[nodiscard]] workflow::StepUnit unitOf(const TrainingAnswer& answer);
/// "412.5": a time of a step in that unit.
[[nodiscard]] QString inUnit(const workflow::StepUnit& unit, const Rational& nanoseconds);
/// With its unit: "412.5 ms", "60.22 s".
[[nodiscard]] QString stepTime(const Rational& nanoseconds);
/// "412.500"
[[nodiscard]] QString microseconds(const Rational& nanoseconds);
/// "12.345"
[[nodiscard]] QString megabytes(const Rational& bytes);

}  // namespace coppice::designer
