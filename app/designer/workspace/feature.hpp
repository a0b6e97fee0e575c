// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QString>
#include <functional>
#include <initializer_list>
#include <vector>

#include "designer/workspace/action_registry.hpp"
#include "designer/workspace/prompts.hpp"
#include "designer/workspace/workspace.hpp"

class QWidget;

namespace coppice::designer {

struct WindowOptions {
  /// Where journals of untitled documents and notes of all journals go; empty = no journals.
  QString recoveryFolder = {};
  /// Where a person's own templates are; empty = none can be saved.
  QString templatesFolder = {};
  /// Docks, recent files and shortcuts are read from and written to QSettings.
  bool keepsSettings = true;
};

/// A dock that has several views.
struct DockGroup {
  QString id = {};
  QString title = {};
};

/// A dock of a feature. The window gives it the object name `<id>Dock` and the action `view.<id>`.
struct DockSpec {
  QString id;
  QString title;
  QWidget* content = nullptr;
  Qt::DockWidgetArea area = Qt::BottomDockWidgetArea;
  /// Shown in these modes unless the user arranges it otherwise.
  std::vector<Mode> modes = {kModes.begin(), kModes.end()};
  bool isOnSmallScreens = true;
  /// It is one of the views of this dock, whose place is that of its first view. `view.<id>` shows the view.
  DockGroup group = {};
  /// Below the drawing: the part of the window's height that it begins with; 0 = as the others.
  double height = 0;
};

/// What the window offers to its features. All of it outlives them but the workspace, which is closed before.
struct FeatureHost {
  Workspace& workspace;
  ActionRegistry& actions;
  Prompts& prompts;
  QWidget* window;  ///< parent of dialogs and docks
  std::function<void(const DockSpec&)> addDock;
  const WindowOptions& options;
};

/// A part of the program that a user would name: its constructor registers actions and docks, and it follows the
/// workspace. Widgets that it makes are children of the window and outlive it.
class Feature : public QObject {
  Q_OBJECT

public:
  ~Feature() override;

protected:
  explicit Feature(const FeatureHost& host);

  /// nullptr on the start page.
  [[nodiscard]] EditorContext* current() const { return m_workspace.current(); }
  void enable(std::initializer_list<const char*> actions, bool isEnabled);
  /// Adds an action that does nothing while no document is open.
  QAction* addForCurrent(const ActionSpec& spec, std::function<void(EditorContext&)> run);

  Workspace& m_workspace;
  ActionRegistry& m_actions;
  Prompts& m_prompts;
  QWidget* m_window;
};

}  // namespace coppice::designer
