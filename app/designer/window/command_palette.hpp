// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDialog>
#include <QLineEdit>
#include <QListWidget>

#include "designer/workspace/action_registry.hpp"

namespace coppice::designer {

/// All actions by name: type, Enter runs. What cannot be run now is greyed.
class CommandPalette : public QDialog {
  Q_OBJECT

public:
  explicit CommandPalette(const ActionRegistry& actions, QWidget* parent = nullptr);

protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

private:
  void fill(const QString& typed);
  void run();

  const ActionRegistry& m_actions;
  QLineEdit* m_input;
  QListWidget* m_list;
};

}  // namespace coppice::designer
