// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QPoint>

#include "designer/workspace/action_registry.hpp"
#include "designer/workspace/workspace.hpp"

class QAbstractItemView;
class QMenu;

namespace coppice::designer {

/// The menus of elements: on the drawing, in the outline and in the tables, by the right button, the Menu key or
/// Shift+F10. They hold actions of the registry, with their shortcuts.
class ContextMenus : public QObject {
  Q_OBJECT

public:
  /// @param window parent of the menus
  ContextMenus(const ActionRegistry& actions, const Workspace& workspace, QWidget* window);

  void attach(EditorContext& editor);
  /// Its rows must have kElementRole.
  void attach(QAbstractItemView& view);
  /// Opens what the widget with the focus has for a menu.
  static void openAtFocus();

private:
  void open(EditorContext& editor, const ElementId& id, const QPoint& globalPlace);

  const ActionRegistry& m_actions;
  const Workspace& m_workspace;
  QWidget* m_window;
};

}  // namespace coppice::designer
