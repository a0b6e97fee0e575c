// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

class QObject;

namespace coppice::designer {

class ActionRegistry;

/// The actions theme.system, theme.light and theme.dark, of which one is checked.
/// @param keepsSettings  the choice is restored now, and stored when it changes
void addThemeActions(ActionRegistry& actions, bool keepsSettings, QObject* parent);

}  // namespace coppice::designer
