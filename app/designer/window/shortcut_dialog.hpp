// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDialog>
#include <QKeySequenceEdit>
#include <QLabel>
#include <QTreeWidget>

#include "designer/workspace/action_registry.hpp"

namespace coppice::designer {

/// All actions with their shortcuts, to read and to change.
class ShortcutDialog : public QDialog {
  Q_OBJECT

public:
  explicit ShortcutDialog(ActionRegistry& actions, QWidget* parent = nullptr);

private:
  void fill();
  void filter(const QString& typed);
  void showCurrent();
  [[nodiscard]] QAction* current() const;

  ActionRegistry& m_actions;
  QTreeWidget* m_tree;
  QKeySequenceEdit* m_edit;
  QLabel* m_hint;
};

}  // namespace coppice::designer
