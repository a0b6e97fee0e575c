// SPDX-License-Identifier: GPL-3.0-or-later
#include <QActionGroup>
#include <QApplication>
#include <QDockWidget>
#include <QLabel>
#include <QSettings>
#include <QStatusBar>
#include <QTimer>
#include <QToolBar>
#include <QToolButton>
#include <algorithm>
#include <functional>
#include <utility>

#include "designer/theme/fonts.hpp"
#include "designer/theme/icons.hpp"
#include "designer/theme/theme.hpp"
#include "designer/window/dock_title.hpp"
#include "designer/window/main_window.hpp"
#include "designer/window/pane_frame.hpp"

using namespace Qt::StringLiterals;

/// The frame of the window: modes and their layouts, tool bar, docks, panes.
namespace coppice::designer {
namespace {

const QString kThemeKey = u"window/theme"_s;
/// A list that is filled when somebody looks at it.
class RootCombo : public QComboBox {
public:
  RootCombo(std::function<void()> fill, QWidget* parent) : QComboBox(parent), m_fill(std::move(fill)) {}
  void showPopup() override {
    m_fill();
    QComboBox::showPopup();
  }

private:
  std::function<void()> m_fill;
};

/// The first widget in the tree that takes the keyboard.
QWidget* firstFocusable(QWidget* root) {
  if (root->isEnabled() && root->isVisible() && (root->focusPolicy() & Qt::TabFocus) != 0) {
    return root;
  }
  const QList<QWidget*> children = root->findChildren<QWidget*>();
  const auto found = std::find_if(children.begin(), children.end(), [](const QWidget* child) {
    return child->isEnabled() && child->isVisible() && (child->focusPolicy() & Qt::TabFocus) != 0;
  });
  return found != children.end() ? *found : nullptr;
}

}  // namespace

void MainWindow::createFrameActions() {
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
  createThemeActions();
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
    QAction* action = m_actions.find(id);
    if (action == nullptr) {
      return;
    }
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
  m_collectives = new QComboBox(bar);
  m_collectives->setObjectName(u"collective"_s);
  m_collectives->setAccessibleName(tr("Collective"));
  m_collectives->setToolTip(tr("The collective of the bound"));
  for (const Collective collective : {Collective::allgather, Collective::reduceScatter, Collective::allreduce,
                                      Collective::broadcast, Collective::reduce}) {
    m_collectives->addItem(collectiveName(collective), static_cast<int>(collective));
  }
  connect(m_collectives, &QComboBox::activated, this,
          [this] { setQuestion(static_cast<Collective>(m_collectives->currentData().toInt())); });
  bar->addWidget(m_collectives);
  m_roots = new RootCombo([this] { updateRoots(); }, bar);
  m_roots->setObjectName(u"root"_s);
  m_roots->setAccessibleName(tr("Root"));
  m_roots->setToolTip(tr("The GPU that sends to all or reduces from all"));
  connect(m_roots, &QComboBox::activated, this, [this] {
    if (Editor* editor = currentEditor()) {
      Question question = editor->bound().question();
      question.root = NodeId{m_roots->currentData().toUInt()};
      editor->bound().setQuestion(question);
    }
  });
  m_rootsAction = bar->addWidget(m_roots);
  m_rootsAction->setVisible(false);
  // After the lists, so that none of them moves when the roots come and go.
  auto* spring = new QWidget(bar);
  spring->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  bar->addWidget(spring);
  add(u"schedule.generate"_s, Qt::ToolButtonTextOnly, "primary");
  add(u"schedule.export"_s, Qt::ToolButtonTextOnly, "plain");
  add(u"run.start"_s, Qt::ToolButtonTextOnly, "plain");
}

QDockWidget* MainWindow::addDock(const QString& id, const QString& title, QWidget* content, Qt::DockWidgetArea area,
                                 std::vector<Mode> modes, bool isOnSmallScreens) {
  auto* dock = new QDockWidget(title, this);
  dock->setObjectName(id + u"Dock"_s);
  dock->setWidget(content);
  dock->setTitleBarWidget(new DockTitle(dock));
  m_layouts.add({dock, area, std::move(modes), isOnSmallScreens});
  m_actions.add({u"view."_s + id, tr("Show %1").arg(title), tr("Show this dock")}, [dock](bool) {
    dock->show();
    dock->raise();
    if (QWidget* first = firstFocusable(dock->widget())) {
      first->setFocus(Qt::ShortcutFocusReason);
    }
  });
  const auto refresh = [this] {
    QTimer::singleShot(0, this, [this] {
      for (const DockLayouts::Place& place : m_layouts.places()) {
        static_cast<DockTitle*>(place.dock->titleBarWidget())->refresh();
      }
    });
  };
  connect(dock, &QDockWidget::visibilityChanged, this, refresh);
  connect(dock, &QDockWidget::topLevelChanged, this, refresh);
  connect(dock, &QDockWidget::dockLocationChanged, this, refresh);
  return dock;
}

void MainWindow::addCloseButton(int tab) {
  auto* close = new QToolButton(m_tabs->tabBar());
  close->setIcon(icon(u"close"_s));
  constexpr QSize kIcon(12, 12);
  close->setIconSize(kIcon);
  close->setAutoRaise(true);
  close->setFocusPolicy(Qt::NoFocus);
  close->setStyleSheet(u"padding: 2px"_s);
  close->setToolTip(m_actions[u"file.close"_s]->toolTip());
  close->setAccessibleName(tr("Close"));
  auto* editor = qobject_cast<Editor*>(m_tabs->widget(tab));
  connect(close, &QToolButton::clicked, editor, [this, editor] { closeEditor(editor); });
  m_tabs->tabBar()->setTabButton(tab, QTabBar::RightSide, close);
}

void MainWindow::keepSight() {
  Editor* editor = currentEditor();
  if (editor == nullptr) {
    return;
  }
  const auto seenBy = [](const CanvasView& canvas) {
    return QRectF(canvas.toScene({}), canvas.toScene(QPointF(canvas.width(), canvas.height())));
  };
  // The canvas sees to it itself.
  if (editor->canvas().keepsFit()) {
    return;
  }
  const QRectF seen = seenBy(editor->canvas());
  const bool wasWhole = seen.contains(editor->canvas().scene().bounds());
  QTimer::singleShot(0, editor, [editor, seen, seenBy, wasWhole] {
    CanvasView& canvas = editor->canvas();
    canvas.panBy(QPointF(canvas.width(), canvas.height()) / 2 - canvas.toView(seen.center()));
    if (wasWhole && !seenBy(canvas).contains(canvas.scene().bounds())) {
      canvas.zoomToFit();
    }
  });
}

void MainWindow::setMode(Mode mode) {
  if (mode != m_layouts.mode()) {
    if (!m_layouts.isAway()) {
      keepSight();
    }
    m_layouts.setMode(mode);
  }
  for (const Mode each : kModes) {
    m_actions[u"mode."_s + nameOf(each)]->setChecked(each == mode);
  }
  for (Editor* editor : editors()) {
    editor->setCutShown(mode == Mode::analyse);
  }
  Q_EMIT modeChanged(mode);
}

void MainWindow::updateQuestion() {
  if (Editor* editor = currentEditor()) {
    m_collectives->setCurrentIndex(m_collectives->findData(static_cast<int>(editor->bound().question().collective)));
  }
  updateRoots();
}

void MainWindow::updateRoots() {
  Editor* editor = currentEditor();
  const bool isRooted = editor != nullptr && (editor->bound().question().collective == Collective::broadcast ||
                                              editor->bound().question().collective == Collective::reduce);
  m_rootsAction->setVisible(isRooted);
  m_roots->clear();
  if (!isRooted) {
    return;
  }
  for (const auto& [id, node] : editor->model().nodes()) {
    if (node.kind() == fabric::NodeKind::gpu) {
      m_roots->addItem(tr("root %1").arg(QString::fromStdString(node.facts.name)), id.value);
    }
  }
  const int chosen = m_roots->findData(editor->bound().question().root.value);
  m_roots->setCurrentIndex(std::max(0, chosen));
}

void MainWindow::toggleDocks() {
  if (m_layouts.isAlone()) {
    m_layouts.showDocksAgain();
    return;
  }
  m_layouts.hideDocks();
  if (Editor* editor = currentEditor()) {
    editor->canvas().setFocus();
  }
}

void MainWindow::cyclePanes(int by) {
  std::vector<QWidget*> panes;
  Editor* editor = currentEditor();
  panes.push_back(editor != nullptr ? static_cast<QWidget*>(&editor->canvas()) : m_pages->currentWidget());
  for (const DockLayouts::Place& place : m_layouts.places()) {
    if (!place.dock->isHidden() && !place.dock->visibleRegion().isEmpty()) {
      panes.push_back(place.dock->widget());
    }
  }
  panes.push_back(findChild<QToolBar*>(u"mainToolBar"_s));
  panes.push_back(m_strip);
  const QWidget* focus = QApplication::focusWidget();
  const auto here = std::find_if(panes.begin(), panes.end(), [&](const QWidget* pane) {
    return focus != nullptr && (pane == focus || pane->isAncestorOf(focus));
  });
  const auto count = static_cast<int>(panes.size());
  const int at = here != panes.end() ? static_cast<int>(here - panes.begin()) : (by > 0 ? -1 : 0);
  for (int step = 1; step <= count; ++step) {
    const auto next = static_cast<std::size_t>((at + by * step + 2 * count * step) % count);
    if (QWidget* first = firstFocusable(panes[next])) {
      first->setFocus(Qt::ShortcutFocusReason);
      m_paneFrame->showAround(panes[next]);
      return;
    }
  }
}

}  // namespace coppice::designer
