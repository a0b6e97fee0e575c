// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDialog>
#include <QLineEdit>
#include <QListWidget>

#include "designer/window/action_registry.hpp"

namespace coppice::designer {

/// How well typed text fits a title: letters in order, better at the beginnings of words and in a row; below 0 = not at
/// all. Case does not count.
[[nodiscard]] int fuzzyScore(const QString& typed, const QString& title);

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
