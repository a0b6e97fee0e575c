// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QMainWindow>
#include <QPointer>
#include <QStackedWidget>
#include <QStringList>
#include <QTabWidget>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "designer/document/edits.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/window/action_registry.hpp"
#include "designer/window/dock_layouts.hpp"
#include "designer/window/editor.hpp"
#include "designer/window/prompts.hpp"
#include "designer/window/start_page.hpp"
#include "designer/window/status_strip.hpp"

class QDockWidget;
class QTableView;
class QTreeView;
class QUndoGroup;
class QUndoView;

namespace coppice::designer {

class BoundCard;
class CardLoader;
class ContextMenus;
class FilterTable;
class FindBar;
class HelpWindow;
class LayoutJob;
class Minimap;
class PalettePanel;
class PaneFrame;
class PropertiesPanel;
class RankingPanel;
class RunActivity;
class ScheduleActivity;
struct ScheduleResult;
class TemplateDialog;
class TemplateStore;
class Tour;
class WhatIfPanel;
struct PaletteEntry;

struct WindowOptions {
  /// Where journals of untitled documents and notes of all journals go; empty = no journals.
  QString recoveryFolder = {};
  /// Where a person's own templates are; empty = none can be saved.
  QString templatesFolder = {};
  /// Docks, recent files and shortcuts are read from and written to QSettings.
  bool keepsSettings = true;
};

/// Wiring only: tabs of documents, docks that follow the current one, actions.
class MainWindow : public QMainWindow {
  Q_OBJECT

public:
  explicit MainWindow(WindowOptions options = {}, std::unique_ptr<Prompts> prompts = std::make_unique<Prompts>(),
                      QWidget* parent = nullptr);
  ~MainWindow() override;

  [[nodiscard]] ActionRegistry& actions() { return m_actions; }
  /// nullptr on the start page.
  [[nodiscard]] Editor* currentEditor() const;
  [[nodiscard]] std::vector<Editor*> editors() const;
  [[nodiscard]] Mode mode() const { return m_layouts.mode(); }
  void setMode(Mode mode);
  [[nodiscard]] const DockLayouts& layouts() const { return m_layouts; }

  Editor* newDocument();
  /// Opens whatever the file is; a fabric of another format arrives as a new, unsaved document. Shows what went wrong.
  /// A file that is open already comes to the front. Returns nullptr on failure.
  Editor* openFile(const QString& path);
  /// All of them; whatever went wrong is shown in one message.
  void openFiles(const QStringList& paths);
  Editor* openPreset(const QString& name);
  /// Puts a model into a new tab, unsaved.
  Editor* adopt(Model model, std::vector<Finding> findings, const QString& name, const QString& path = {});
  bool save(Editor* editor);
  bool saveAs(Editor* editor);
  /// Asks about unsaved changes. Returns false if the person would rather not.
  bool closeEditor(Editor* editor);

  /// Journals of programs that are gone: offers them for recovery, in one dialog. Call once after start.
  void offerRecovery();
  /// The files of the last session.
  void restoreSession();
  /// From now on the open files are remembered with each change, so that they come back after a crash too.
  void keepSession();
  /// Starts the tour, unless it was ever started before.
  void offerTour();

Q_SIGNALS:
  void modeChanged(coppice::designer::Mode mode);

protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

private:
  void createActions();
  void createFileActions();
  void createEditActions();
  void createArrangeActions();
  void createViewActions();
  void createMenus();
  void createToolBar();
  void createDocks();
  /// The dock `<id>Dock` with the action view.<id>; shown in these modes unless somebody arranges it otherwise.
  QDockWidget* addDock(const QString& id, const QString& title, QWidget* content, Qt::DockWidgetArea area,
                       std::vector<Mode> modes = {kModes.begin(), kModes.end()}, bool isOnSmallScreens = true);

  void currentChanged();
  void updateActions();
  void updateTitles();
  void updateRecentMenu();
  void addRecent(const QString& path);
  void forgetRecent(const QString& path);
  Editor* addEditor(std::unique_ptr<Editor> editor);
  void setQuestion(Collective collective);

  /// Runs an edit on the current document; the fill gets its selection.
  void edit(const QString& text, const std::function<void(Edit&, const std::set<ElementId>&)>& fill);
  void insertNode(fabric::NodeKind kind);
  void paste();
  void pasteText(const QString& text);
  void copy();
  void replicate();
  void linkByPattern();
  void openBeside(QDialog* dialog);
  void exportAs();
  void showPalette();
  void selectInViews();

  WindowOptions m_options;
  std::unique_ptr<Prompts> m_prompts;
  ActionRegistry m_actions;
  DockLayouts m_layouts{*this};
  QStringList m_recent;

  QStackedWidget* m_pages = nullptr;
  StartPage* m_start = nullptr;
  QTabWidget* m_tabs = nullptr;
  StatusStrip* m_strip = nullptr;
  QComboBox* m_collectives = nullptr;
  QMenu* m_recentMenu = nullptr;
  QUndoGroup* m_undoGroup = nullptr;
  QUndoView* m_history = nullptr;
  QTreeView* m_outline = nullptr;
  QTableView* m_nodes = nullptr;
  QTableView* m_links = nullptr;
  QTableView* m_problems = nullptr;
  PropertiesPanel* m_properties = nullptr;
  BoundCard* m_boundCard = nullptr;
  Minimap* m_minimap = nullptr;
  RankingPanel* m_upgrades = nullptr;
  RankingPanel* m_damage = nullptr;
  WhatIfPanel* m_whatIf = nullptr;
  bool m_isSelecting = false;
  QStringList* m_failures = nullptr;  ///< of the files that are being opened together

  // ---- the frame of the window: modes, layouts, panes (main_window_shell.cpp)
  void createFrameActions();
  void createThemeActions();
  /// While docks come and go, the drawing stays in the middle of its view, and whole where it was.
  void keepSight();
  void toggleDocks();
  void cyclePanes(int by);
  /// The tool bar shows the collective and root of the current document.
  void updateQuestion();
  /// The root of broadcast and reduce; hidden for the others.
  void updateRoots();
  QComboBox* m_roots = nullptr;
  QAction* m_rootsAction = nullptr;
  void addCloseButton(int tab);
  /// Asks about every document with unsaved changes, then saves and gives up what was answered.
  bool mayCloseAll();
  void dropEditor(Editor* editor);
  void saveSession(const Editor* front);
  void rememberSession();
  bool m_keepsSession = false;
  /// A new tab with what the journal held, which then is in a journal of its own.
  Editor* restore(Recovered recovered, const QString& journal);
  void restoreView(Editor* editor);
  std::map<Editor*, QByteArray> m_pendingViews;  ///< of the last session, until the tab is shown

  // ---- elements, and what a document has to say (main_window_elements.cpp)
  void createElementActions();
  /// Around what is selected; the new box is selected then, and asks for its name.
  void boxSelection();
  void tellOfChangeOnDisk(Editor* editor);
  void reloadFromDisk(Editor* editor);
  ContextMenus* m_menus = nullptr;
  PaneFrame* m_paneFrame = nullptr;

  // ---- finding (main_window_find.cpp)
  void createFindActions();
  void goToNextProblem();
  FindBar* m_find = nullptr;
  FilterTable* m_nodesPane = nullptr;
  FilterTable* m_linksPane = nullptr;
  FilterTable* m_problemsPane = nullptr;

  // ---- devices and templates (main_window_palette.cpp)
  void createPalette();
  void createPaletteActions();
  void chooseEntry(const PaletteEntry& entry);
  void openTemplate(const PaletteEntry& entry);
  /// In the middle of the view, beside what stands there, where no centre is given.
  void placeEntry(const PaletteEntry& entry, const std::optional<QPointF>& centre);
  void insertPart(const Model& part, const QString& name, const std::optional<QPointF>& centre);
  [[nodiscard]] QPointF snappedCentre(const Model& part, const std::optional<QPointF>& centre) const;
  void saveTemplate();
  bool dropEntry(const QDropEvent& event);
  /// What is dragged out of the palette; nullopt: something else.
  [[nodiscard]] std::optional<Model> draggedPart(const QMimeData& carried) const;
  void dropPart(const QMimeData& carried, const QPointF& centre);
  CardLoader* m_loader = nullptr;
  TemplateStore* m_templates = nullptr;
  PalettePanel* m_palette = nullptr;
  QPointer<TemplateDialog> m_templateDialog;

  // ---- schedules (main_window_schedule.cpp)
  void createScheduleActions();
  void createScheduleMenu();
  void createScheduleDocks();
  void showSchedulesOf(Editor* editor);
  /// The tool bar and the bound are about the schedule that was chosen.
  void followSchedule();
  QPointer<QObject> m_followedBook;
  int m_followedSchedule = 0;
  void updateScheduleActions();
  void openForest(const std::shared_ptr<const ScheduleResult>& result, const QString& path, bool isInferred);
  ScheduleActivity* m_schedule = nullptr;

  // ---- machines and runs (main_window_run.cpp)
  void createRunActions();
  void createRunMenu();
  void createRunDocks();
  void showRunsOf(Editor* editor);
  void updateRunActions();
  RunActivity* m_run = nullptr;

  // ---- automatic layout (main_window_layout.cpp)
  void createLayoutActions();
  void createLayoutMenu(QMenu* arrange);
  void updateLayoutActions(bool isOpen);
  LayoutJob* m_layout = nullptr;

  // ---- pictures (main_window_extras.cpp)
  void createPictureActions();
  void exportPicture();

  // ---- help (main_window_help.cpp)
  void createHelpActions();
  void showHelp(const QString& topic);
  /// About what has the keyboard.
  [[nodiscard]] QString helpTopicHere() const;
  void startTour();
  QPointer<HelpWindow> m_help;
  QPointer<Tour> m_tour;
};

}  // namespace coppice::designer
