// SPDX-License-Identifier: GPL-3.0-or-later
#include <QActionGroup>
#include <QDir>
#include <QDockWidget>
#include <QLabel>
#include <QMenuBar>
#include <QSettings>
#include <QToolBar>
#include <QToolButton>

#include "designer/features/bound/bound_feature.hpp"
#include "designer/features/files/file_feature.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/icons.hpp"
#include "designer/theme/theme.hpp"
#include "designer/window/command_palette.hpp"
#include "designer/window/main_window.hpp"
#include "designer/window/shortcut_dialog.hpp"

using namespace Qt::StringLiterals;

/// Actions of the frame itself, and where the actions of all features appear.
namespace coppice::designer {
namespace {

const QString kThemeKey = u"window/theme"_s;

/// An empty id is a separator.
void fill(QMenu* menu, const ActionRegistry& actions, const QStringList& ids) {
  for (const QString& id : ids) {
    if (id.isEmpty()) {
      menu->addSeparator();
    } else {
      menu->addAction(actions[id]);
    }
  }
}

QStringList editMenu() {
  return {u"edit.undo"_s,
          u"edit.redo"_s,
          {},
          u"edit.cut"_s,
          u"edit.copy"_s,
          u"edit.paste"_s,
          {},
          u"edit.duplicate"_s,
          u"edit.array"_s,
          u"edit.link-pattern"_s,
          u"edit.delete"_s,
          u"edit.rename"_s,
          u"edit.bandwidth"_s,
          u"edit.save-template"_s,
          {},
          u"select.all"_s,
          u"select.none"_s,
          u"select.same-kind"_s,
          u"select.neighbours"_s,
          u"select.box"_s,
          {},
          u"edit.find"_s,
          u"edit.find-next"_s,
          u"edit.find-previous"_s,
          u"edit.go-to"_s};
}

QStringList arrangeMenu() {
  return {{},
          u"arrange.left"_s,
          u"arrange.centre"_s,
          u"arrange.right"_s,
          u"arrange.top"_s,
          u"arrange.middle"_s,
          u"arrange.bottom"_s,
          {},
          u"arrange.distribute-h"_s,
          u"arrange.distribute-v"_s,
          u"arrange.circle"_s,
          u"arrange.grid"_s,
          {},
          u"arrange.box"_s,
          u"arrange.unbox"_s,
          u"arrange.fold"_s,
          u"arrange.unfold"_s,
          u"arrange.fold-all"_s,
          u"arrange.unfold-all"_s,
          u"arrange.detach"_s,
          {},
          u"arrange.pin"_s,
          u"arrange.unpin"_s};
}

QStringList layoutMenu() {
  return {u"layout.best"_s,     u"layout.rails"_s,
          u"layout.circle"_s,   u"layout.grid"_s,
          u"layout.distance"_s, {},
          u"layout.layered"_s,  u"layout.force"_s,
          u"layout.circular"_s, {},
          u"layout.stop"_s};
}

QStringList scheduleMenu() {
  return {u"schedule.generate"_s,
          u"schedule.options"_s,
          u"schedule.synthesize"_s,
          u"schedule.rerun"_s,
          u"schedule.cancel"_s,
          {},
          u"schedule.trees-of-selection"_s,
          u"schedule.clear-trees"_s,
          u"schedule.heat"_s,
          u"schedule.play"_s,
          u"schedule.side-by-side"_s,
          u"schedule.traffic"_s,
          u"schedule.program"_s,
          {},
          u"schedule.open-run"_s,
          u"schedule.paste-run"_s,
          u"schedule.profile"_s,
          {},
          u"schedule.export"_s,
          u"schedule.export-plan"_s,
          u"schedule.copy-command"_s,
          {},
          u"schedule.rename"_s,
          u"schedule.delete"_s,
          {},
          u"schedule.folder"_s};
}

QStringList sketchMenu() {
  return {u"sketch.propose"_s,
          u"sketch.open"_s,
          u"sketch.save"_s,
          u"sketch.save-topology"_s,
          {},
          u"sketch.point"_s,
          u"sketch.make-senders"_s,
          u"sketch.make-receivers"_s,
          {},
          u"sketch.start"_s,
          u"sketch.stop"_s};
}

QStringList runMenu() {
  return {u"run.start"_s,  u"run.stop"_s,   u"run.again"_s, u"run.join"_s, {}, u"run.file"_s, u"run.bundle"_s, {},
          u"run.detect"_s, u"run.compare"_s};
}

}  // namespace

void MainWindow::createFrameActions() {
  createModeActions();
  m_actions.add({u"view.toggle-docks"_s,
                 tr("Canvas &Only"),
                 tr("Hide or show all docks"),
                 {QKeySequence(u"Ctrl+\\"_s), QKeySequence(u"Ctrl+Shift+F11"_s)}},
                [this](bool) { toggleDocks(); });
  m_actions.add({u"view.reset-layout"_s, tr("R&eset Layout"), tr("Restore the default dock layout for all modes")},
                [this](bool) { m_layouts.reset(); });
  m_actions.add({u"view.next-pane"_s,
                 tr("Next &Pane"),
                 tr("Move the focus to the next dock or the drawing"),
                 {QKeySequence(u"F6"_s)}},
                [this](bool) { cyclePanes(1); });
  m_actions.add({u"view.previous-pane"_s,
                 tr("Pre&vious Pane"),
                 tr("Move the focus to the previous dock or the drawing"),
                 {QKeySequence(u"Shift+F6"_s)}},
                [this](bool) { cyclePanes(-1); });
  m_actions.add({u"view.palette"_s,
                 tr("&Command Palette…"),
                 tr("Run any command by its name"),
                 {QKeySequence(u"Ctrl+Shift+P"_s)}},
                [this](bool) {
                  auto* palette = new CommandPalette(m_actions, this);
                  palette->move(mapToGlobal(QPoint(width() / 2 - palette->width() / 2, height() / 6)));
                  palette->show();
                });
  m_actions.add(
      {u"help.shortcuts"_s, tr("&Keyboard Shortcuts…"), tr("See and change the shortcuts"), {QKeySequence(u"?"_s)}},
      [this](bool) {
        auto* dialog = new ShortcutDialog(m_actions, this);
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        dialog->open();
      });
  m_actions.add({u"file.quit"_s, tr("&Quit"), tr("Close all tabs and quit"), {QKeySequence(u"Ctrl+Q"_s)}},
                [this](bool) { close(); });
  createThemeActions();
}

void MainWindow::createModeActions() {
  const auto add = [this](Mode mode, const QString& text, const QString& tip, const QString& keys) {
    m_actions.add({u"mode."_s + nameOf(mode), text, tip, {QKeySequence(keys)}, nameOf(mode), true},
                  [this, mode](bool) { m_workspace.setMode(mode); });
  };
  add(Mode::draw, tr("&Draw"), tr("Build the fabric"), u"Ctrl+1"_s);
  add(Mode::analyse, tr("&Analyse"), tr("See what limits it"), u"Ctrl+2"_s);
  add(Mode::schedule, tr("&Schedule"), tr("See the trees"), u"Ctrl+3"_s);
  add(Mode::run, tr("&Run"), tr("Run it on real machines and measure it"), u"Ctrl+4"_s);
  m_actions[u"mode.draw"_s]->setChecked(true);
}

void MainWindow::createThemeActions() {
  struct Named {
    SchemeChoice choice;
    QString id;
    QString text;
    QString tip;
    QString icon;
  };
  const Named choices[] = {
      {SchemeChoice::system,
       u"theme.system"_s,
       tr("As the &System"),
       tr("Follow the colour scheme of the desktop"),
       {}},
      {SchemeChoice::light, u"theme.light"_s, tr("&Light"), tr("Always use light colours"), u"light"_s},
      {SchemeChoice::dark, u"theme.dark"_s, tr("&Dark"), tr("Always use dark colours"), u"dark"_s}};
  if (m_options.keepsSettings) {
    const QString wanted = QSettings().value(kThemeKey).toString();
    for (const Named& each : choices) {
      if (each.id == wanted) {
        Theme::instance().setChoice(each.choice);
      }
    }
  }
  auto* group = new QActionGroup(this);
  for (const Named& each : choices) {
    QAction* action = m_actions.add({each.id, each.text, each.tip, {}, each.icon, true},
                                    [this, id = each.id, choice = each.choice](bool) {
                                      Theme::instance().setChoice(choice);
                                      if (m_options.keepsSettings) {
                                        QSettings().setValue(kThemeKey, id);
                                      }
                                    });
    group->addAction(action);
    action->setChecked(Theme::instance().choice() == each.choice);
  }
}

void MainWindow::createMenus() {
  QMenu* file = menuBar()->addMenu(tr("&File"));
  fill(file, m_actions, {u"file.new"_s, u"file.find-topology"_s, u"file.open"_s});
  m_recentMenu = file->addMenu(tr("Open &Recent"));
  fill(file, m_actions,
       {{},
        u"file.save"_s,
        u"file.save-as"_s,
        u"file.export"_s,
        u"file.export-picture"_s,
        {},
        u"file.close"_s,
        u"file.quit"_s});
  fill(menuBar()->addMenu(tr("&Edit")), m_actions, editMenu());
  createViewMenu();
  fill(menuBar()->addMenu(tr("&Insert")), m_actions,
       {u"insert.search"_s, {}, u"insert.gpu"_s, u"insert.nic"_s, u"insert.switch"_s});
  QMenu* arrange = menuBar()->addMenu(tr("&Arrange"));
  fill(arrange->addMenu(tr("&Layout")), m_actions, layoutMenu());
  fill(arrange, m_actions, arrangeMenu());
  QMenu* schedule = menuBar()->addMenu(tr("S&chedule"));
  fill(schedule, m_actions, scheduleMenu());
  QMenu* sketch = schedule->addMenu(tr("Comm&unication Sketch"));
  fill(sketch, m_actions, sketchMenu());
  sketch->setIcon(icon(u"sketch"_s));
  fill(menuBar()->addMenu(tr("&Run")), m_actions, runMenu());
  fill(menuBar()->addMenu(tr("&Help")), m_actions,
       {u"help.contents"_s, u"help.glossary"_s, u"help.tour"_s, {}, u"help.shortcuts"_s, {}, u"help.about"_s});
  for (const QAction* menu : menuBar()->actions()) {
    for (QAction* action : menu->menu()->actions()) {
      if (action->menu() != nullptr && action->icon().isNull()) {
        action->setIcon(blankIcon());
      }
    }
  }
  // Shortcuts work also where no menu shows the action.
  for (QAction* action : m_actions.all()) {
    addAction(action);
  }
}

void MainWindow::createViewMenu() {
  QMenu* view = menuBar()->addMenu(tr("&View"));
  fill(view, m_actions,
       {u"mode.draw"_s,
        u"mode.analyse"_s,
        u"mode.schedule"_s,
        u"mode.run"_s,
        u"analyse.next-cut"_s,
        u"analyse.next-problem"_s,
        {}});
  fill(view->addMenu(tr("&Zoom")), m_actions,
       {u"zoom.fit"_s, u"zoom.selection"_s, u"zoom.actual"_s, u"zoom.in"_s, u"zoom.out"_s});
  fill(view->addMenu(tr("&Tools")), m_actions,
       {u"tool.select"_s, u"tool.pan"_s, u"tool.link"_s, u"tool.box"_s, u"tool.text"_s});
  QMenu* docks = view->addMenu(tr("Doc&ks"));
  for (const DockLayouts::Place& place : m_layouts.places()) {
    docks->addAction(place.dock->toggleViewAction());
  }
  fill(view->addMenu(tr("T&heme")), m_actions, {u"theme.system"_s, u"theme.light"_s, u"theme.dark"_s});
  fill(view, m_actions,
       {{},
        u"view.palette"_s,
        {},
        u"view.toggle-docks"_s,
        u"view.reset-layout"_s,
        u"view.next-pane"_s,
        u"view.previous-pane"_s,
        u"view.context-menu"_s});
}

void MainWindow::createToolBar() {
  QToolBar* bar = addToolBar(tr("Main tool bar"));
  bar->setObjectName(u"mainToolBar"_s);
  bar->setMovable(false);
  bar->setContextMenuPolicy(Qt::PreventContextMenu);
  auto* logo = new QLabel(tr("coppice"), bar);
  constexpr double kLogoPixels = 17;
  logo->setFont(uiFont(kLogoPixels, QFont::Bold));
  logo->setProperty("role", u"logo"_s);
  constexpr QMargins kLogoMargins(8, 0, 16, 2);
  logo->setContentsMargins(kLogoMargins);
  bar->addWidget(logo);
  const auto add = [&](const QString& id, Qt::ToolButtonStyle style, const char* role = nullptr) {
    QAction* action = m_actions[id];
    bar->addAction(action);
    if (auto* button = qobject_cast<QToolButton*>(bar->widgetForAction(action))) {
      button->setObjectName(u"tool-"_s + id);
      button->setToolButtonStyle(style);
      button->setFocusPolicy(Qt::TabFocus);
      button->setAccessibleName(ActionRegistry::plainText(action));
      if (role != nullptr) {
        button->setProperty("role", QLatin1String(role));
      }
    }
  };
  for (const QString& id : {u"mode.draw"_s, u"mode.analyse"_s, u"mode.schedule"_s, u"mode.run"_s}) {
    add(id, Qt::ToolButtonTextBesideIcon);
  }
  bar->addSeparator();
  for (const QString& id : {u"tool.select"_s, u"tool.pan"_s, u"tool.link"_s, u"tool.box"_s, u"tool.text"_s}) {
    add(id, Qt::ToolButtonIconOnly);
  }
  bar->addSeparator();
  add(u"edit.undo"_s, Qt::ToolButtonIconOnly);
  add(u"edit.redo"_s, Qt::ToolButtonIconOnly);
  bar->addSeparator();
  m_bound->addQuestionTo(*bar);
  // After the lists, so that none of them moves when the roots come and go.
  auto* spring = new QWidget(bar);
  spring->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  bar->addWidget(spring);
  add(u"schedule.generate"_s, Qt::ToolButtonTextOnly, "primary");
  add(u"schedule.export"_s, Qt::ToolButtonTextOnly, "plain");
  add(u"run.start"_s, Qt::ToolButtonTextOnly, "plain");
}

void MainWindow::updateRecent() {
  m_start->setRecent(m_files->recent());
  m_recentMenu->clear();
  for (const QString& path : m_files->recent()) {
    QString text = QDir::toNativeSeparators(path);
    QAction* action = m_recentMenu->addAction(text.replace(u'&', u"&&"_s));
    connect(action, &QAction::triggered, m_files, [this, path] { m_files->openFile(path); });
  }
  m_recentMenu->setEnabled(!m_files->recent().isEmpty());
}

}  // namespace coppice::designer
