// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDialog>

#include "designer/workspace/action_registry.hpp"

namespace coppice::designer {

/// What a person sets once: the actions for it, which menus have too, in one place. Everything holds at once.
class PreferencesDialog : public QDialog {
  Q_OBJECT

public:
  explicit PreferencesDialog(ActionRegistry& actions, QWidget* parent = nullptr);

private:
  /// A tick box that is that action.
  [[nodiscard]] QWidget* boxOf(const QString& id);
  [[nodiscard]] QWidget* buttonOf(const QString& id, const QString& text);

  ActionRegistry& m_actions;
};

}  // namespace coppice::designer
