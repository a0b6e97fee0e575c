// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "designer/workspace/action_registry.hpp"
#include "designer/workspace/pick_popup.hpp"

namespace coppice::designer {

/// All actions by name: type, Enter runs. What cannot be run now is greyed.
class CommandPalette : public PickPopup {
  Q_OBJECT

public:
  explicit CommandPalette(const ActionRegistry& actions, QWidget* parent = nullptr);

protected:
  void fill(const QString& typed) override;
  void take(const QListWidgetItem& item) override;

private:
  const ActionRegistry& m_actions;
};

}  // namespace coppice::designer
