// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "designer/charts/plot.hpp"
#include "designer/training/training_search.hpp"

namespace coppice::designer {

/// Time of a step against memory of a GPU, a point for each plan; the chosen one stands out.
class PlanChart : public Plot {
  Q_OBJECT

public:
  explicit PlanChart(QWidget* parent = nullptr);

  /// @param answer nullptr = none @param chosen row; -1 = none
  void show(const TrainingAnswerPtr& answer, int chosen);

Q_SIGNALS:
  void planClicked(int row);

private:
  void draw();

  TrainingAnswerPtr m_answer;
  int m_chosen = -1;
  std::size_t m_all = 0;  ///< item of all plans
};

}  // namespace coppice::designer
