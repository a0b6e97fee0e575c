// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QTableWidget>
#include <memory>
#include <optional>
#include <vector>

#include "designer/canvas/overlay.hpp"
#include "designer/schedules/question_panel.hpp"
#include "workflow/placement.hpp"

namespace coppice::designer {

/// Which GPUs of one state of a fabric a job should get.
struct PlacementAnswer : PanelAnswer {
  std::optional<fabric::Fabric> fabric = {};
  schedule::PlacementQuestion question = {};
  std::optional<groups::Placement> placement = {};
  std::vector<workflow::CutLinks> cut = {};
};
using PlacementAnswerPtr = std::shared_ptr<const PlacementAnswer>;

/// Which k of the free GPUs a job should get: the best choice found, and a bound that no choice exceeds.
class PlacementPanel : public QuestionPanel {
  Q_OBJECT

public:
  explicit PlacementPanel(QWidget* parent = nullptr);

  /// The chosen GPUs, and the links that limit them; empty without a current answer.
  [[nodiscard]] Overlay marks() const override;
  /// Selects the chosen GPUs in the drawing.
  void selectChosen();

protected:
  void showAnswer(const PanelAnswerPtr& answer) override;
  [[nodiscard]] QString stateOf(const PanelAnswer& answer) const override;

private:
  [[nodiscard]] std::vector<NodeId> chosenNodes() const;
  void fillBoxes();

  PlacementAnswerPtr m_answer;
  QLabel* m_headline;
  QTableWidget* m_boxes;
};

}  // namespace coppice::designer
