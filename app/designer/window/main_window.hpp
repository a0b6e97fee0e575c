// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QMainWindow>
#include <QStackedWidget>
#include <QTabWidget>
#include <map>
#include <memory>
#include <vector>

#include "designer/window/dock_layouts.hpp"
#include "designer/window/start_page.hpp"
#include "designer/window/status_strip.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

class BoundFeature;
class CardLoader;
class EditFeature;
class FileFeature;
class FindFeature;
class HelpFeature;
class PaletteFeature;
class PaneFrame;

/// The frame: tabs, docks and their layouts by mode, menus, tool bar. What the program does is in its features.
///
/// Members are destroyed from the last to the first: the workspace closes its documents while all that listens to it is
/// there; then the features go, then the actions. The widgets follow as children of the window.
class MainWindow : public QMainWindow {
  Q_OBJECT

public:
  explicit MainWindow(WindowOptions options = {}, std::unique_ptr<Prompts> prompts = std::make_unique<Prompts>(),
                      QWidget* parent = nullptr);
  ~MainWindow() override;

  [[nodiscard]] Workspace& workspace() { return m_workspace; }
  [[nodiscard]] ActionRegistry& actions() { return m_actions; }
  [[nodiscard]] const DockLayouts& layouts() const { return m_layouts; }
  [[nodiscard]] FileFeature& files() { return *m_files; }
  [[nodiscard]] HelpFeature& help() { return *m_help; }

protected:
  QMenu* createPopupMenu() override;
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

private:
  void createPages();
  void createFeatures();
  template <typename Made, typename... More>
  Made* addFeature(More&... more);
  void connectWorkspace();
  void connectPages();

  // ---- tabs (main_window.cpp)
  void addTab(EditorContext& context);
  void removeTab(EditorContext& context);
  void showTabMenu(const QPoint& position);
  void showCurrent();
  void showMode(Mode mode);
  void updateTitles();

  // ---- menus and tool bar (main_window_menus.cpp)
  void createFrameActions();
  void createModeActions();
  void createMenus();
  void createToolBar();
  void updateRecent();

  // ---- docks and panes (main_window_docks.cpp)
  void addDock(const DockSpec& spec);
  QDockWidget* makeDock(const DockSpec& spec);
  /// In front, with the keyboard in this part of it.
  static void showDock(QDockWidget& dock, QWidget* content);
  /// While docks come and go, the drawing stays in the middle of its view, and whole where it was.
  void preserveViewport();
  void toggleDocks();
  void cyclePanes(int by);

  WindowOptions m_options;
  std::unique_ptr<Prompts> m_prompts;
  ActionRegistry m_actions;
  DockLayouts m_layouts{*this};

  QStackedWidget* m_pages = nullptr;
  CardLoader* m_loader = nullptr;
  StartPage* m_start = nullptr;
  QTabWidget* m_tabs = nullptr;
  StatusStrip* m_strip = nullptr;
  QMenu* m_recentMenu = nullptr;
  std::map<Mode, QList<QAction*>> m_modeTools;  ///< places in the tool bar
  PaneFrame* m_paneFrame = nullptr;

  std::vector<std::unique_ptr<Feature>> m_features;
  FileFeature* m_files = nullptr;
  PaletteFeature* m_palette = nullptr;
  BoundFeature* m_bound = nullptr;
  EditFeature* m_edit = nullptr;
  FindFeature* m_find = nullptr;
  HelpFeature* m_help = nullptr;

  Workspace m_workspace;  ///< the last: closed before all that listens to it
};

}  // namespace coppice::designer
