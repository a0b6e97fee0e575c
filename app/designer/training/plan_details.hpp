// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QTabWidget>
#include <QTableWidget>
#include <memory>
#include <vector>

#include "designer/canvas/overlay.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/training/plan_chart.hpp"
#include "designer/training/step_view.hpp"
#include "designer/training/training_search.hpp"

namespace coppice::designer {

class EditorContext;

/// One plan of an answer: what is moved along which axis and what limits it, what more of something gives, one step
/// over time, and where the plan is among the others.
class PlanDetails : public QTabWidget {
  Q_OBJECT

public:
  explicit PlanDetails(QWidget* parent = nullptr);

  /// @param answer nullptr = none @param plan row; -1 = none
  void show(const TrainingAnswerPtr& answer, int plan);
  /// A group of the axis of the chosen row, and the links that limit it; empty where no row is chosen.
  [[nodiscard]] Overlay marksOf(const EditorContext& context) const;

Q_SIGNALS:
  /// Another row of what is moved was chosen, or none is chosen.
  void partChosen();
  void planClicked(int row);

private:
  using Gains = std::shared_ptr<const Result<std::vector<workflow::Gain>>>;
  void fillParts();
  void askGains();
  void fillGains(const Gains& gains);
  /// Ranks of one group of an axis. @param word as training::kParallelWords
  [[nodiscard]] std::vector<fabric::Rank> groupOf(const std::string& word) const;
  [[nodiscard]] const training::StepPlan* plan() const;

  TrainingAnswerPtr m_answer;
  int m_plan = -1;
  workflow::Limits m_limits;
  QTableWidget* m_parts;
  QTableWidget* m_gains;
  StepView* m_step;
  PlanChart* m_chart;
  LatestJob<Gains> m_gainJob;
};

}  // namespace coppice::designer
