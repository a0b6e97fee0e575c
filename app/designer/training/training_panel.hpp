// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QStackedWidget>
#include <QTableWidget>

#include "designer/schedules/question_panel.hpp"
#include "designer/training/graph_details.hpp"
#include "designer/training/plan_details.hpp"
#include "designer/training/training_search.hpp"

namespace coppice::designer {

/// A training step on the current fabric: what is asked, the plans, best first, and the chosen one. A file with a
/// model or a graph can be dropped onto it.
class TrainingPanel : public QuestionPanel {
  Q_OBJECT

public:
  explicit TrainingPanel(QWidget* parent = nullptr);

  [[nodiscard]] QTableWidget& table() { return *m_table; }
  [[nodiscard]] PlanDetails& details() { return *m_details; }
  [[nodiscard]] GraphDetails& graph() { return *m_graph; }
  /// What the chosen row of the plan is about; empty without a current answer.
  [[nodiscard]] Overlay marks() const override;

protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void showAnswer(const PanelAnswerPtr& answer) override;
  [[nodiscard]] QString stateOf(const PanelAnswer& answer) const override;

private:
  [[nodiscard]] QWidget* makePlans();
  void showPlan();

  TrainingAnswerPtr m_answer;
  QLabel* m_headline;
  QTableWidget* m_table;
  PlanDetails* m_details;
  GraphDetails* m_graph;
  QStackedWidget* m_found;  ///< plans of a model, or of a graph
};

}  // namespace coppice::designer
