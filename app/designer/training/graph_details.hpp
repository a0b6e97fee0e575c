// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QTabWidget>
#include <QTableWidget>

#include "designer/canvas/overlay.hpp"
#include "designer/training/plan_chart.hpp"
#include "designer/training/training_search.hpp"

namespace coppice::designer {

class EditorContext;

/// The plans of a graph: its meshes, the front of one of them, and of one plan the states of all tensors and what is
/// moved.
class GraphDetails : public QTabWidget {
  Q_OBJECT

public:
  explicit GraphDetails(QWidget* parent = nullptr);

  /// @param answer nullptr = none
  void show(const TrainingAnswerPtr& answer);
  /// Of the chosen plan, in two lines; empty without one.
  [[nodiscard]] QString headline() const;
  /// A group of the axis of the chosen row of what is moved, and the links that limit it; empty where no row is chosen.
  [[nodiscard]] Overlay marksOf(const EditorContext& context) const;

Q_SIGNALS:
  /// Another plan.
  void planChosen();
  /// Another row of what is moved was chosen, or none is chosen.
  void partChosen();

private:
  [[nodiscard]] const workflow::MeshAnswer* mesh() const;
  /// Of the chosen mesh; nullptr without one.
  [[nodiscard]] const training::Plan* plan() const;
  void showMesh();
  void showPlan();
  void fillParts();

  TrainingAnswerPtr m_answer;
  QTableWidget* m_meshes;
  QTableWidget* m_plans;
  QTableWidget* m_states;
  QTableWidget* m_parts;
  PlanChart* m_chart;
  std::vector<workflow::ConversionTime> m_moved;  ///< by row of m_parts
};

}  // namespace coppice::designer
