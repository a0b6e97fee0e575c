// SPDX-License-Identifier: GPL-3.0-or-later
#include <QDir>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenuBar>
#include <QToolBar>
#include <QToolButton>

#include "designer/features/bound/bound_feature.hpp"
#include "designer/features/files/file_feature.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/window/command_palette.hpp"
#include "designer/window/main_window.hpp"
#include "designer/window/menu_bar.hpp"
#include "designer/window/preferences_dialog.hpp"
#include "designer/window/shortcut_dialog.hpp"
#include "designer/window/theme_actions.hpp"

using namespace Qt::StringLiterals;

/// Actions of the frame itself, menus and tool bar.
namespace coppice::designer {

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
  m_actions.add({u"edit.preferences"_s,
                 tr("Preference&s…"),
                 tr("Theme, wheel, schedules, simulation and shortcuts"),
                 {QKeySequence(u"Ctrl+,"_s)},
                 u"settings"_s},
                [this](bool) {
                  auto* dialog = new PreferencesDialog(m_actions, this);
                  dialog->setAttribute(Qt::WA_DeleteOnClose);
                  dialog->open();
                });
  m_actions.add({u"file.quit"_s, tr("&Quit"), tr("Close all tabs and quit"), {QKeySequence(u"Ctrl+Q"_s)}},
                [this](bool) { close(); });
  addThemeActions(m_actions, m_options.keepsSettings, this);
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

void MainWindow::createMenus() {
  m_recentMenu = fillMenuBar(*menuBar(), m_actions, m_layouts);
  // Shortcuts work also where no menu shows the action.
  for (QAction* action : m_actions.all()) {
    addAction(action);
  }
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
  // Each mode has its tools in this place.
  const auto addTools = [&](Mode mode, const QStringList& ids, Qt::ToolButtonStyle style) {
    auto* tools = new QWidget(bar);
    auto* line = new QHBoxLayout(tools);
    line->setContentsMargins({});
    line->setSpacing(bar->layout()->spacing());
    for (const QString& id : ids) {
      auto* button = new QToolButton(tools);
      button->setDefaultAction(m_actions[id]);
      button->setObjectName(u"tool-"_s + id);
      button->setToolButtonStyle(style);
      button->setIconSize(bar->iconSize());
      button->setAutoRaise(true);
      button->setFocusPolicy(Qt::TabFocus);
      button->setAccessibleName(ActionRegistry::plainText(m_actions[id]));
      line->addWidget(button);
    }
    m_modeTools[mode] = {bar->addWidget(tools), bar->addSeparator()};
  };
  addTools(Mode::draw, {u"tool.select"_s, u"tool.pan"_s, u"tool.link"_s, u"tool.box"_s, u"tool.text"_s},
           Qt::ToolButtonIconOnly);
  addTools(Mode::analyse, {u"tool.select"_s, u"tool.pan"_s, u"analyse.next-cut"_s}, Qt::ToolButtonIconOnly);
  addTools(Mode::schedule, {u"schedule.options"_s, u"schedule.play"_s, u"schedule.side-by-side"_s, u"schedule.heat"_s},
           Qt::ToolButtonIconOnly);
  addTools(Mode::run, {u"run.stop"_s, u"run.detect"_s}, Qt::ToolButtonIconOnly);
  showMode(m_workspace.mode());
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
