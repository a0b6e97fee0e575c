// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

class QMenu;
class QMenuBar;

namespace coppice::designer {

class ActionRegistry;
class DockLayouts;

/// The menus of the window, with the actions of the frame and of all features.
/// @pre all of them are registered, and all docks are there. @return the empty menu of recent files
QMenu* fillMenuBar(QMenuBar& bar, const ActionRegistry& actions, const DockLayouts& layouts);

}  // namespace coppice::designer
