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

/// What became of writing the schedules of an answer.
struct WrittenGroups : TimedAnswer {
  QString folder = {};
  std::size_t schedules = 0;
  std::size_t reached = 0;  ///< that reach their group's rate
};
using WrittenGroupsPtr = std::shared_ptr<const WrittenGroups>;

/// Groups of GPUs, by a mesh, from a file or as they are selected, whose collectives run at the same time: the exact
/// rate, the groups that are alike, and the shared cut; and a schedule for each of them.
class GroupsPanel : public QuestionPanel {
  Q_OBJECT

public:
  explicit GroupsPanel(QWidget* parent = nullptr);

  /// The groups, those of the chosen row with their rate, and the links of the shared cut; empty without a current
  /// answer. Of many groups, some of the chosen row.
  [[nodiscard]] Overlay marks() const override;
  /// Makes a group of the selected GPUs, beside those that are there, and asks again.
  void addSelected();
  /// Makes the schedules of the current answer and writes them into the folder, as `generate --groups -o` does.
  void write(const QString& folder);
  [[nodiscard]] bool isWriting() const { return m_writing.isRunning(); }

Q_SIGNALS:
  /// The user wants the schedules of the current answer in a folder.
  void folderAsked();

protected:
  /// A mesh that fits the GPUs of the fabric.
  void adaptForm() override;
  void showAnswer(const PanelAnswerPtr& answer) override;
  [[nodiscard]] QString stateOf(const PanelAnswer& answer) const override;

private:
  [[nodiscard]] QWidget* makeButtons();
  void fillGroups();
  void fillCut();
  void showWritten(const WrittenGroupsPtr& written);
  void refreshWriting();

  GroupsAnswerPtr m_answer;
  QLabel* m_headline;
  QTableWidget* m_groups;
  QTableWidget* m_cut;
  QPushButton* m_write;
  QLabel* m_written;
  QLabel* m_hint;  ///< under the button that adds what is selected
  LatestJob<WrittenGroupsPtr> m_writing;
};

}  // namespace coppice::designer
