// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QPoint>
#include <functional>

#include "designer/window/action_registry.hpp"
#include "designer/window/editor.hpp"

class QAbstractItemView;
class QMenu;

namespace coppice::designer {

/// The menus of elements: on the drawing, in the outline and in the tables, by the right button, the Menu key or
/// Shift+F10. They hold actions of the registry, with their shortcuts.
class ContextMenus : public QObject {
  Q_OBJECT

public:
  /// @param current the editor that is shown; nullptr on the start page
  ContextMenus(const ActionRegistry& actions, std::function<Editor*()> current, QWidget* window);

  void attach(Editor& editor);
  /// Its rows must have kElementRole.
  void attach(QAbstractItemView& view);
  /// Opens what the widget with the focus has for a menu.
  static void openAtFocus();

private:
  void open(Editor& editor, const ElementId& id, const QPoint& globalPlace);

  const ActionRegistry& m_actions;
  std::function<Editor*()> m_current;
  QWidget* m_window;
};

}  // namespace coppice::designer
