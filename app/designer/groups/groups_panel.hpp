// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QTableWidget>
#include <optional>
#include <vector>

#include "designer/canvas/overlay.hpp"
#include "designer/schedules/question_panel.hpp"
#include "groups/groups.hpp"

namespace coppice::designer {

/// How fast groups are that run at the same time on one state of a fabric.
struct GroupsAnswer : PanelAnswer {
  std::optional<fabric::Fabric> fabric = {};
  schedule::ConcurrentDemand demand = {};
  std::optional<groups::Optimum> optimum = {};
  std::vector<workflow::AlikeGroups> alike = {};
  std::vector<workflow::CutLinks> cut = {};
};
using GroupsAnswerPtr = std::shared_ptr<const GroupsAnswer>;

/// Groups of GPUs, by a mesh or from a file, whose collectives run at the same time: the exact rate, the groups that
/// are alike, and the shared cut.
class GroupsPanel : public QuestionPanel {
  Q_OBJECT

public:
  explicit GroupsPanel(QWidget* parent = nullptr);

  /// One of the groups of the chosen row, and the links of the shared cut; empty without a current answer.
  [[nodiscard]] Overlay marks() const override;

protected:
  void showAnswer(const PanelAnswerPtr& answer) override;
  [[nodiscard]] QString stateOf(const PanelAnswer& answer) const override;

private:
  void fillGroups();
  void fillCut();

  GroupsAnswerPtr m_answer;
  QLabel* m_headline;
  QTableWidget* m_groups;
  QTableWidget* m_cut;
};

}  // namespace coppice::designer
