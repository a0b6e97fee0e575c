// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/window/main_window.hpp"

#include <QClipboard>
#include <QCloseEvent>
#include <QDesktopServices>
#include <QDir>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFileInfo>
#include <QGuiApplication>
#include <QMenu>
#include <QMimeData>
#include <QSettings>
#include <QStatusBar>
#include <QThreadPool>
#include <QTimer>
#include <QToolButton>
#include <QUrl>
#include <QVBoxLayout>
#include <algorithm>
#include <functional>
#include <utility>

#include "designer/compare/compare_feature.hpp"
#include "designer/compare/traffic_feature.hpp"
#include "designer/exchange/exchange_feature.hpp"
#include "designer/export/export_feature.hpp"
#include "designer/features/against/against_feature.hpp"
#include "designer/features/analysis/analysis_feature.hpp"
#include "designer/features/arrange/arrange_feature.hpp"
#include "designer/features/bound/bound_feature.hpp"
#include "designer/features/edit/edit_feature.hpp"
#include "designer/features/elements/elements_feature.hpp"
#include "designer/features/files/file_feature.hpp"
#include "designer/features/find/find_bar.hpp"
#include "designer/features/find/find_feature.hpp"
#include "designer/features/help/help_feature.hpp"
#include "designer/features/layout/layout_feature.hpp"
#include "designer/features/order/order_feature.hpp"
#include "designer/features/palette/palette_feature.hpp"
#include "designer/features/pictures/picture_feature.hpp"
#include "designer/features/report/report_feature.hpp"
#include "designer/features/view/view_feature.hpp"
#include "designer/finder/finder_feature.hpp"
#include "designer/frontier/frontier_feature.hpp"
#include "designer/groups/groups_feature.hpp"
#include "designer/groups/placement_feature.hpp"
#include "designer/palette/card_list.hpp"
#include "designer/palette/card_loader.hpp"
#include "designer/playback/timeline_feature.hpp"
#include "designer/program/program_feature.hpp"
#include "designer/replay/replay_feature.hpp"
#include "designer/run/measured_feature.hpp"
#include "designer/run/run_feature.hpp"
#include "designer/schedules/repair_feature.hpp"
#include "designer/schedules/schedule_feature.hpp"
#include "designer/search/synthesize_feature.hpp"
#include "designer/sketch/sketch_feature.hpp"
#include "designer/theme/icons.hpp"
#include "designer/training/training_feature.hpp"
#include "designer/trees/sculpt_feature.hpp"
#include "designer/trees/trees_feature.hpp"
#include "designer/window/pane_frame.hpp"
#include "designer/window/tab_titles.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

MainWindow::MainWindow(WindowOptions options, std::unique_ptr<Prompts> prompts, QWidget* parent)
    : QMainWindow(parent),
      m_options(std::move(options)),
      m_prompts(std::move(prompts)),
      m_workspace(m_options.recoveryFolder) {
  setObjectName(u"mainWindow"_s);
  setAcceptDrops(true);
  setDockNestingEnabled(true);
  // Schedules, scans and searches can run for minutes; files, layouts and drawings must not wait behind them.
  constexpr int kThreads = 12;
  QThreadPool* threads = QThreadPool::globalInstance();
  threads->setMaxThreadCount(std::max(threads->maxThreadCount(), kThreads));
  createPages();
  connectWorkspace();
  createFeatures();
  connectPages();
  createFrameActions();
  createMenus();
  createToolBar();
  m_paneFrame = new PaneFrame(this);

  if (m_options.keepsSettings) {
    m_layouts.restore(QSettings());
    m_workspace.setMode(m_layouts.mode());
  } else {
    m_layouts.restoreDefaultSize();
  }
  updateRecent();
  // Everything shows that there is no document yet.
  Q_EMIT m_workspace.currentChanged();
  Q_EMIT m_workspace.stateChanged();
}

MainWindow::~MainWindow() = default;

void MainWindow::createPages() {
  m_pages = new QStackedWidget(this);
  m_loader = new CardLoader(m_options.keepsSettings, this);
  m_start = new StartPage(*m_loader, m_pages);
  m_tabs = new QTabWidget(m_pages);
  m_tabs->setObjectName(u"documentTabs"_s);
  m_tabs->setAccessibleName(tr("Documents"));
  m_tabs->setDocumentMode(true);
  m_tabs->setMovable(true);
  m_tabs->tabBar()->setContextMenuPolicy(Qt::CustomContextMenu);
  connect(m_tabs->tabBar(), &QTabBar::customContextMenuRequested, this, &MainWindow::showTabMenu);
  m_pages->addWidget(m_start);
  m_pages->addWidget(m_tabs);
  m_strip = new StatusStrip(this);
  statusBar()->addPermanentWidget(m_strip, 1);
  statusBar()->setSizeGripEnabled(false);
}

void MainWindow::connectWorkspace() {
  // First of all listeners: layouts and tabs are there when the features follow.
  connect(&m_workspace, &Workspace::added, this, [this](EditorContext* context) { addTab(*context); });
  connect(&m_workspace, &Workspace::removed, this, [this](EditorContext* context) { removeTab(*context); });
  connect(&m_workspace, &Workspace::currentChanged, this, &MainWindow::showCurrent);
  connect(&m_workspace, &Workspace::titleChanged, this, &MainWindow::updateTitles);
  connect(&m_workspace, &Workspace::modeChanged, this, &MainWindow::showMode);
  connect(&m_workspace, &Workspace::said, m_strip, &StatusStrip::say);
  connect(&m_workspace, &Workspace::hinted, m_strip, &StatusStrip::setHint);
  connect(m_tabs, &QTabWidget::currentChanged, this, [this] {
    if (const auto* page = qobject_cast<EditorPage*>(m_tabs->currentWidget())) {
      m_workspace.activate(&page->context());
    }
  });
  // Either may move first; the other follows.
  const auto isInPlace = [this](int at) {
    return m_tabs->widget(at) == &m_workspace.contexts()[static_cast<std::size_t>(at)]->page();
  };
  connect(m_tabs->tabBar(), &QTabBar::tabMoved, this, [this, isInPlace](int from, int to) {
    if (!isInPlace(to)) {
      m_workspace.move(from, to);
    }
  });
  connect(&m_workspace, &Workspace::moved, this, [this, isInPlace](int from, int to) {
    if (!isInPlace(to)) {
      m_tabs->tabBar()->moveTab(from, to);
    }
  });
}

template <typename Made, typename... More>
Made* MainWindow::addFeature(More&... more) {
  const FeatureHost host{m_workspace, m_actions, *m_prompts, this, [this](const DockSpec& dock) { addDock(dock); },
                         m_options};
  auto made = std::make_unique<Made>(host, more...);
  Made* feature = made.get();
  m_features.push_back(std::move(made));
  return feature;
}

void MainWindow::createFeatures() {
  // Docks of one area are in this order. The cut leaves the canvas before a schedule takes it.
  m_files = addFeature<FileFeature>();
  addFeature<PictureFeature>();
  addFeature<ReportFeature>();
  m_palette = addFeature<PaletteFeature>(*m_loader);
  m_bound = addFeature<BoundFeature>();
  auto* schedules = addFeature<ScheduleFeature>();
  const auto* trees = addFeature<TreesFeature>(*schedules);
  addFeature<SculptFeature>(*schedules, *trees);
  addFeature<RepairFeature>(*schedules);
  addFeature<ExportFeature>(*schedules);
  addFeature<SynthesizeFeature>();
  addFeature<FinderFeature>();
  addFeature<FrontierFeature>();
  addFeature<TrafficFeature>(*schedules);
  const auto* timeline = addFeature<TimelineFeature>(*schedules);
  addFeature<ReplayFeature>(*schedules, timeline->panel());
  addFeature<CompareFeature>(*schedules, *trees->treeCounts());
  auto* programs = addFeature<ProgramFeature>(*schedules, *trees->trees());
  auto* sketches = addFeature<SketchFeature>(*schedules);
  auto* runs = addFeature<RunFeature>(*schedules);
  auto* measured = addFeature<MeasuredFeature>(*schedules, timeline->panel(), runs->activity());
  addFeature<ElementsFeature>();
  addFeature<ViewFeature>();
  m_edit = addFeature<EditFeature>();
  addFeature<ArrangeFeature>();
  addFeature<LayoutFeature>();
  m_find = addFeature<FindFeature>();
  addFeature<AnalysisFeature>();
  addFeature<GroupsFeature>();
  addFeature<PlacementFeature>();
  addFeature<ExchangeFeature>(*schedules);
  addFeature<TrainingFeature>();
  addFeature<AgainstFeature>();
  addFeature<OrderFeature>();
  m_help = addFeature<HelpFeature>();
  m_files->setOpener([schedules, sketches, runs](const QString& path) {
    return schedules->open(path) || sketches->take(path) || runs->take(path);
  });
  m_files->session().setBeside(
      {[programs](const EditorContext* context) { return programs->fileOf(context); },
       [programs](const EditorContext* context, const QString& path) { programs->restore(context, path); }});
  connect(programs, &ProgramFeature::filesChanged, &m_files->session(), &Session::remember);
  m_files->setRunTaker([measured](const QStringList& paths) { return measured->take(paths); });
  m_edit->setTextTaker([measured](const QString& text) { return measured->takeText(text); });

  auto* middle = new QWidget(this);
  auto* layout = new QVBoxLayout(middle);
  layout->setContentsMargins({});
  layout->setSpacing(0);
  layout->addWidget(m_pages, 1);
  layout->addWidget(m_find->bar());
  setCentralWidget(middle);
}

void MainWindow::connectPages() {
  connect(m_files, &FileFeature::recentChanged, this, &MainWindow::updateRecent);
  connect(m_start, &StartPage::newWanted, &m_workspace, &Workspace::newDocument);
  connect(m_start, &StartPage::findWanted, m_actions[u"file.find-topology"_s], &QAction::trigger);
  connect(m_start, &StartPage::openWanted, m_actions[u"file.open"_s], &QAction::trigger);
  connect(m_start, &StartPage::fileWanted, m_files, &FileFeature::openFile);
  connect(m_start, &StartPage::entryWanted, m_palette, &PaletteFeature::openTemplate);
  connect(m_strip, &StatusStrip::problemsClicked, m_actions[u"view.problems"_s], &QAction::trigger);
  connect(m_strip, &StatusStrip::savedClicked, m_actions[u"file.save"_s], &QAction::trigger);
  for (const auto signal : {&StatusStrip::boundClicked, &StatusStrip::cutClicked}) {
    connect(m_strip, signal, &m_workspace, [this] { m_workspace.setMode(Mode::analyse); });
  }
}

// ---- tabs

void MainWindow::addTab(EditorContext& context) {
  const QSignalBlocker quiet(m_tabs);  // the workspace says which is current
  const int tab = m_tabs->addTab(&context.page(), context.file().displayName());
  auto* close = new QToolButton(m_tabs->tabBar());
  close->setIcon(icon(u"close"_s));
  constexpr QSize kIcon(12, 12);
  close->setIconSize(kIcon);
  close->setAutoRaise(true);
  close->setFocusPolicy(Qt::NoFocus);
  close->setStyleSheet(u"padding: 2px"_s);
  close->setToolTip(m_actions[u"file.close"_s]->toolTip());
  close->setAccessibleName(tr("Close"));
  connect(close, &QToolButton::clicked, &context, [this, &context] { m_files->close(context); });
  m_tabs->tabBar()->setTabButton(tab, QTabBar::RightSide, close);
}

void MainWindow::removeTab(EditorContext& context) {
  const QSignalBlocker quiet(m_tabs);
  m_tabs->removeTab(m_tabs->indexOf(&context.page()));
}

void MainWindow::showTabMenu(const QPoint& position) {
  const int tab = m_tabs->tabBar()->tabAt(position);
  const auto* page = tab >= 0 ? qobject_cast<EditorPage*>(m_tabs->widget(tab)) : nullptr;
  if (page == nullptr) {
    return;
  }
  EditorContext* context = &page->context();
  auto* menu = new QMenu(this);
  menu->setObjectName(u"documentMenu"_s);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  const auto closeAll = [this](const std::function<bool(EditorContext*)>& isMeant) {
    for (EditorContext* each : std::vector<EditorContext*>(m_workspace.contexts())) {
      if (isMeant(each) && !m_files->close(*each)) {
        return;
      }
    }
  };
  menu->addAction(tr("&Close"), this, [this, context] { m_files->close(*context); });
  QAction* others = menu->addAction(tr("Close &Others"), this, [closeAll, context] {
    closeAll([context](EditorContext* each) { return each != context; });
  });
  others->setEnabled(m_workspace.contexts().size() > 1);
  QAction* unmodified = menu->addAction(tr("Close &Unmodified"), this, [closeAll] {
    closeAll([](EditorContext* each) { return !each->file().isModified(); });
  });
  unmodified->setEnabled(
      std::ranges::any_of(m_workspace.contexts(), [](EditorContext* each) { return !each->file().isModified(); }));
  menu->addSeparator();
  menu->addAction(tr("&Save"), this, [this, context] { m_files->save(*context); });
  const QString path = QDir::toNativeSeparators(context->file().path());
  QAction* copy = menu->addAction(tr("Copy &Path"), this, [path] { QGuiApplication::clipboard()->setText(path); });
  QAction* folder = menu->addAction(tr("Open &Folder"), this, [path] {
    QDesktopServices::openUrl(QUrl::fromLocalFile(QFileInfo(path).absolutePath()));
  });
  copy->setEnabled(!path.isEmpty());
  folder->setEnabled(!path.isEmpty());
  menu->popup(m_tabs->tabBar()->mapToGlobal(position));
}

QMenu* MainWindow::createPopupMenu() {
  // The docks of the mode that is shown, not those of all modes.
  auto* menu = new QMenu(this);
  std::vector<QDockWidget*> docks = m_layouts.docksOf(m_layouts.mode());
  std::ranges::sort(docks, {}, [](const QDockWidget* dock) { return dock->windowTitle(); });
  for (QDockWidget* dock : docks) {
    menu->addAction(dock->toggleViewAction());
  }
  menu->addSeparator();
  menu->addAction(m_actions[u"view.reset-layout"_s]);
  return menu;
}

void MainWindow::showCurrent() {
  EditorContext* context = m_workspace.current();
  // The start page has the window to itself.
  m_layouts.setAway(context == nullptr);
  m_pages->setCurrentWidget(context != nullptr ? static_cast<QWidget*>(m_tabs) : m_start);
  if (context != nullptr) {
    m_tabs->setCurrentWidget(&context->page());
  }
  m_strip->setContext(context);
  updateTitles();
}

void MainWindow::updateTitles() {
  const std::vector<EditorContext*>& contexts = m_workspace.contexts();
  const QStringList titles = tabTitles(contexts);
  for (std::size_t i = 0; i < contexts.size(); ++i) {
    // A document that is being closed may still have its tab.
    const int tab = m_tabs->indexOf(&contexts[i]->page());
    m_tabs->setTabText(tab, QString(titles[static_cast<int>(i)]).replace(u'&', u"&&"_s));
    m_tabs->setTabToolTip(tab, QDir::toNativeSeparators(contexts[i]->file().path()));
  }
  EditorContext* context = m_workspace.current();
  setWindowTitle(context != nullptr ? context->file().displayName() + u"[*] — "_s + tr("Coppice") : tr("Coppice"));
  setWindowModified(context != nullptr && context->file().isModified());
}

void MainWindow::showMode(Mode mode) {
  const QWidget* focused = focusWidget();
  if (mode != m_layouts.mode()) {
    if (!m_layouts.isAway()) {
      preserveViewport();
    }
    m_layouts.setMode(mode);
  }
  for (const Mode each : kModes) {
    m_actions[u"mode."_s + nameOf(each)]->setChecked(each == mode);
  }
  for (const auto& [of, places] : m_modeTools) {
    for (QAction* place : places) {
      place->setVisible(of == mode);
    }
  }
  // Where its panel has gone, Qt passes the focus to the first button of the tool bar.
  if (EditorContext* context = m_workspace.current(); context != nullptr && focusWidget() != focused) {
    context->canvas().setFocus();
  }
}

// ---- close and drop

void MainWindow::closeEvent(QCloseEvent* event) {
  const EditorContext* front = m_workspace.current();
  if (!m_files->prepareToCloseAll()) {
    event->ignore();
    return;
  }
  m_files->session().finish(front);
  m_workspace.removeAll();
  if (m_options.keepsSettings) {
    QSettings settings;
    m_layouts.save(settings);
  }
  event->accept();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls() || event->mimeData()->hasText() || event->mimeData()->hasFormat(entryMimeType())) {
    event->acceptProposedAction();
  }
}

void MainWindow::dropEvent(QDropEvent* event) {
  if (m_palette->drop(*event)) {
    // Done.
  } else if (event->mimeData()->hasUrls()) {
    QStringList paths;
    for (const QUrl& url : event->mimeData()->urls()) {
      if (url.isLocalFile()) {
        paths << url.toLocalFile();
      } else {
        m_workspace.say(tr("%1 is not a file on this computer").arg(url.toDisplayString()));
      }
    }
    // The source of the drag waits for the drop to end; a message may stay open for long.
    QTimer::singleShot(0, m_files, [this, paths] { m_files->openFiles(paths); });
  } else {
    m_edit->pasteText(event->mimeData()->text());
  }
  event->acceptProposedAction();
}

}  // namespace coppice::designer
