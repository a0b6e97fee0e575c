// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/window/main_window.hpp"

#include <QClipboard>
#include <QCloseEvent>
#include <QDir>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFile>
#include <QFileInfo>
#include <QGuiApplication>
#include <QHeaderView>
#include <QMenuBar>
#include <QMimeData>
#include <QSet>
#include <QSettings>
#include <QSortFilterProxyModel>
#include <QStatusBar>
#include <QTableView>
#include <QTimer>
#include <QToolBar>
#include <QTreeView>
#include <QUndoGroup>
#include <QUndoView>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "designer/analysis/ranking_panel.hpp"
#include "designer/analysis/what_if_panel.hpp"
#include "designer/canvas/minimap.hpp"
#include "designer/document/counted.hpp"
#include "designer/document/exchange.hpp"
#include "designer/document/instances.hpp"
#include "designer/document/measures.hpp"
#include "designer/palette/card_list.hpp"
#include "designer/palette/template_store.hpp"
#include "designer/schedule/schedule_activity.hpp"
#include "designer/window/array_dialog.hpp"
#include "designer/window/bound_card.hpp"
#include "designer/window/command_palette.hpp"
#include "designer/window/context_menus.hpp"
#include "designer/window/empty_canvas.hpp"
#include "designer/window/filter_table.hpp"
#include "designer/window/find_bar.hpp"
#include "designer/window/link_dialog.hpp"
#include "designer/window/pane_frame.hpp"
#include "designer/window/properties_panel.hpp"
#include "designer/window/shortcut_dialog.hpp"
#include "designer/window/tab_titles.hpp"
#include "io/files.hpp"
#include "io/link_csv.hpp"
#include "presets/presets.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr int kMaxRecent = 12;

std::filesystem::path toPath(const QString& path) {
  return QFile::encodeName(path).toStdString();
}

}  // namespace

MainWindow::MainWindow(WindowOptions options, std::unique_ptr<Prompts> prompts, QWidget* parent)
    : QMainWindow(parent), m_options(std::move(options)), m_prompts(std::move(prompts)) {
  setObjectName(u"mainWindow"_s);
  setAcceptDrops(true);
  setDockNestingEnabled(true);
  m_undoGroup = new QUndoGroup(this);

  m_pages = new QStackedWidget(this);
  m_loader = new CardLoader(m_options.keepsSettings, this);
  m_templates = new TemplateStore(m_options.templatesFolder, this);
  m_start = new StartPage(*m_loader, m_pages);
  m_tabs = new QTabWidget(m_pages);
  m_tabs->setObjectName(u"documentTabs"_s);
  m_tabs->setAccessibleName(tr("Documents"));
  m_tabs->setDocumentMode(true);
  m_tabs->setMovable(true);
  m_pages->addWidget(m_start);
  m_pages->addWidget(m_tabs);
  m_find = new FindBar(this);
  auto* middle = new QWidget(this);
  auto* middleLayout = new QVBoxLayout(middle);
  middleLayout->setContentsMargins({});
  middleLayout->setSpacing(0);
  middleLayout->addWidget(m_pages, 1);
  middleLayout->addWidget(m_find);
  setCentralWidget(middle);
  connect(m_find, &FindBar::closed, this, [this] {
    if (Editor* editor = currentEditor()) {
      editor->canvas().setFocus();
    }
  });

  m_strip = new StatusStrip(this);
  statusBar()->addPermanentWidget(m_strip, 1);
  statusBar()->setSizeGripEnabled(false);

  createActions();
  createDocks();
  createMenus();
  createToolBar();
  m_paneFrame = new PaneFrame(this);

  // A document tells of its change while the stack is still at the step before.
  for (const auto signal : {&QUndoGroup::canUndoChanged, &QUndoGroup::canRedoChanged}) {
    connect(m_undoGroup, signal, this, &MainWindow::updateActions);
  }
  for (const auto signal : {&QUndoGroup::undoTextChanged, &QUndoGroup::redoTextChanged}) {
    connect(m_undoGroup, signal, this, &MainWindow::updateActions);
  }
  connect(m_tabs, &QTabWidget::currentChanged, this, &MainWindow::currentChanged);
  connect(m_start, &StartPage::newWanted, this, [this] { newDocument(); });
  connect(m_start, &StartPage::openWanted, m_actions[u"file.open"_s], &QAction::trigger);
  connect(m_start, &StartPage::fileWanted, this, [this](const QString& path) { openFile(path); });
  connect(m_start, &StartPage::entryWanted, this, &MainWindow::openTemplate);
  connect(m_strip, &StatusStrip::problemsClicked, this, [this] { m_actions[u"view.problems"_s]->trigger(); });
  connect(m_strip, &StatusStrip::savedClicked, this, [this] { m_actions[u"file.save"_s]->trigger(); });
  connect(m_strip, &StatusStrip::boundClicked, this, [this] { setMode(Mode::analyse); });
  connect(m_strip, &StatusStrip::cutClicked, this, [this] { setMode(Mode::analyse); });

  if (m_options.keepsSettings) {
    const QSettings settings;
    m_recent = settings.value(u"recent"_s).toStringList();
    m_layouts.restore(settings);
    setMode(m_layouts.mode());
  } else {
    m_layouts.restoreDefaultSize();
  }
  updateRecentMenu();
  currentChanged();
}

MainWindow::~MainWindow() {
  // Docks must let go of the editors before those go.
  m_tabs->disconnect(this);
  m_strip->setEditor(nullptr);
  m_properties->setEditor(nullptr);
  m_boundCard->setEditor(nullptr);
  for (RankingPanel* panel : {m_upgrades, m_damage}) {
    panel->setSubject(nullptr, nullptr);
  }
  m_whatIf->setSubject(nullptr, nullptr, nullptr);
  m_schedule->setSubject({});
  showRunsOf(nullptr);
  m_minimap->setView(nullptr);
  m_outline->setModel(nullptr);
  for (FilterTable* pane : {m_nodesPane, m_linksPane, m_problemsPane}) {
    pane->setSource(nullptr, nullptr);
  }
  m_find->setEditor(nullptr);
  while (m_tabs->count() > 0) {
    QWidget* editor = m_tabs->widget(0);
    m_tabs->removeTab(0);
    delete editor;
  }
  // What is going may still speak, but not to half a window.
  for (QObject* child : findChildren<QObject*>()) {
    child->disconnect(this);
  }
}

// ---- documents

Editor* MainWindow::currentEditor() const {
  return qobject_cast<Editor*>(m_tabs->currentWidget());
}

std::vector<Editor*> MainWindow::editors() const {
  std::vector<Editor*> result;
  for (int i = 0; i < m_tabs->count(); ++i) {
    result.push_back(qobject_cast<Editor*>(m_tabs->widget(i)));
  }
  return result;
}

Editor* MainWindow::addEditor(std::unique_ptr<Editor> owned) {
  Editor* editor = owned.release();
  m_undoGroup->addStack(editor->document().undoStack());
  connect(editor, &Editor::titleChanged, this, &MainWindow::updateTitles);
  connect(editor, &Editor::refused, m_strip, &StatusStrip::setHint);
  editor->canvas().setPartDrops(
      {[this](const QMimeData& carried) { return draggedPart(carried); },
       [this](const QMimeData& carried, const QPointF& centre) { dropPart(carried, centre); }});
  connect(&editor->canvas(), &CanvasView::hintChanged, m_strip, &StatusStrip::setHint);
  connect(&editor->canvas(), &CanvasView::messageRaised, m_strip, &StatusStrip::setHint);
  connect(&editor->canvas(), &CanvasView::toolChanged, this, &MainWindow::updateActions);
  editor->setCutShown(mode() == Mode::analyse);
  m_menus->attach(*editor);
  new EmptyCanvas(*editor, {m_actions[u"insert.search"_s], m_actions[u"file.open"_s]});
  connect(&editor->selection(), &Selection::changed, this, [this, editor] {
    if (editor == currentEditor()) {
      updateActions();
      selectInViews();
    }
  });
  connect(&editor->document(), &Document::changed, this, [this, editor] {
    if (editor == currentEditor()) {
      updateActions();
    }
  });
  connect(
      &editor->file(), &DocumentFile::changedOnDisk, this,
      [this, asked = QPointer<Editor>(editor)] {
        if (asked) {
          tellOfChangeOnDisk(asked);
        }
      },
      Qt::QueuedConnection);
  connect(&editor->file(), &DocumentFile::journalFailed, m_strip, &StatusStrip::setHint);
  const int index = m_tabs->addTab(editor, editor->file().displayName());
  addCloseButton(index);
  m_tabs->setCurrentIndex(index);
  // Not the first field of a dock, into which the next keys would go.
  editor->canvas().setFocus();
  updateTitles();
  rememberSession();
  return editor;
}

Editor* MainWindow::newDocument() {
  auto editor = std::make_unique<Editor>(m_options.recoveryFolder);
  QSet<QString> taken;
  for (Editor* other : editors()) {
    taken.insert(other->file().displayName());
  }
  QString name = tr("Untitled");
  for (int number = 2; taken.contains(name); ++number) {
    name = tr("Untitled %1").arg(number);
  }
  editor->file().setUntitledName(name);
  return addEditor(std::move(editor));
}

Editor* MainWindow::adopt(Model model, std::vector<Finding> findings, const QString& name, const QString& path) {
  auto editor = std::make_unique<Editor>(m_options.recoveryFolder);
  if (!name.isEmpty()) {
    editor->file().setUntitledName(name);
  }
  editor->file().adopt(std::move(model), std::move(findings), path);
  return addEditor(std::move(editor));
}

Editor* MainWindow::openPreset(const QString& name) {
  const presets::Preset* preset = presets::find(name.toStdString());
  const auto made = presets::make(name.toStdString(), {});
  if (!made || preset == nullptr) {
    m_prompts->failure(this, tr("New from Template"), made ? name : QString::fromStdString(describe(made.error())));
    return nullptr;
  }
  return adopt(readArranged(*made).model, {}, QString::fromStdString(preset->title));
}

void MainWindow::openFiles(const QStringList& paths) {
  QStringList failures;
  m_failures = &failures;
  for (const QString& path : paths) {
    openFile(path);
  }
  m_failures = nullptr;
  if (failures.size() == 1) {
    m_prompts->failure(this, tr("Open"), failures.front());
  } else if (!failures.isEmpty()) {
    // As many as fit on a screen.
    constexpr qsizetype kMost = 8;
    QString text = tr("%1 of %2 files could not be opened.").arg(failures.size()).arg(paths.size());
    for (qsizetype i = 0; i < std::min(kMost, failures.size()); ++i) {
      text += u"\n\n"_s + failures[i];
    }
    if (failures.size() > kMost) {
      text += u"\n\n"_s + tr("And %1 more.").arg(failures.size() - kMost);
    }
    m_prompts->failure(this, tr("Open"), text);
  }
}

Editor* MainWindow::openFile(const QString& path) {
  const QFileInfo info(path);
  const QString absolute = info.absoluteFilePath();
  for (Editor* editor : editors()) {
    // Under whatever name.
    if (editor->file().path() == absolute || (info.exists() && QFileInfo(editor->file().path()) == info)) {
      m_tabs->setCurrentWidget(editor);
      m_strip->setHint(tr("%1 is open already").arg(editor->file().displayName()));
      return editor;
    }
  }
  const auto fail = [&](const Error& error) -> Editor* {
    const QString text = tr("%1 could not be opened.").arg(info.fileName().isEmpty() ? path : info.fileName()) +
                         u"\n\n"_s + QString::fromStdString(describe(error));
    if (m_failures != nullptr) {
      m_failures->append(text);
    } else {
      m_prompts->failure(this, tr("Open"), text);
    }
    return nullptr;
  };
  const auto place = [&] { return Place{.file = absolute.toStdString()}; };
  if (!info.exists()) {
    forgetRecent(absolute);
    return fail({ErrorCode::io, "there is no such file", "it may have been moved or renamed; search for it with Open",
                 place()});
  }
  if (info.isDir()) {
    return fail({ErrorCode::io, "this is a folder", "open the files in it", place()});
  }
  if (!info.isFile()) {
    // A pipe would keep the window waiting.
    return fail({ErrorCode::io, "this is not an ordinary file", "save its content to a file first", place()});
  }
  if (m_schedule->open(absolute)) {
    addRecent(absolute);
    return nullptr;
  }
  const auto text = io::readFile(toPath(absolute));
  if (!text) {
    return fail(text.error());
  }
  const auto format = io::detectFormat(toPath(absolute), *text);
  if (!format || *format != io::FabricFormat::json) {
    auto read = readAnyFabric(*text, absolute.toStdString());
    if (!read) {
      return fail(read.error());
    }
    if (const auto open = withOpenChoices(*text, absolute.toStdString())) {
      auto chosen = m_prompts->import(this, *open);
      if (!chosen) {
        return nullptr;
      }
      read = *std::move(chosen);
    }
    addRecent(absolute);
    return adopt(std::move(read->model), std::move(read->findings), QFileInfo(path).completeBaseName());
  }
  const QString journal = DocumentFile::journalBeside(absolute);
  if (QFileInfo::exists(journal) && !isJournalHeld(journal)) {
    auto recovered = recover(journal);
    const std::optional<bool> wanted =
        recovered ? m_prompts->choice(this, tr("Restore Changes"),
                                      tr("Coppice closed unexpectedly. %1 to %2.")
                                          .arg(counted(recovered->changes, tr("unsaved change"), tr("unsaved changes")),
                                               QFileInfo(path).fileName()),
                                      tr("Restore"), tr("Discard"))
                  : std::optional(false);
    if (!wanted) {
      return nullptr;
    }
    if (*wanted) {
      addRecent(absolute);
      return restore(*std::move(recovered), journal);
    }
    QFile::remove(journal);
    const QString work =
        recovered ? DocumentFile::workFolderOf(m_options.recoveryFolder, recovered->head.identity) : QString();
    if (!work.isEmpty()) {
      QDir(work).removeRecursively();
    }
  }
  const bool isHeldElsewhere = QFileInfo::exists(journal) && isJournalHeld(journal);
  auto editor = std::make_unique<Editor>(m_options.recoveryFolder);
  if (const Outcome opened = editor->file().open(absolute); !opened) {
    return fail(opened.error());
  }
  // An untouched new document makes way.
  Editor* blank = currentEditor();
  const bool isBlank = blank != nullptr && blank->file().path().isEmpty() && !blank->file().isModified() &&
                       blank->document().undoStack()->count() == 0 && blank->model().nodes().isEmpty();
  Editor* added = addEditor(std::move(editor));
  if (isBlank) {
    closeEditor(blank);
  }
  addRecent(absolute);
  if (isHeldElsewhere) {
    m_strip->setHint(tr("%1 has unsaved changes in another window of Coppice").arg(info.fileName()));
  }
  return added;
}

bool MainWindow::save(Editor* editor) {
  if (editor->file().path().isEmpty()) {
    return saveAs(editor);
  }
  // A file that is gone is simply written again.
  if (editor->file().isChangedOnDisk() && QFileInfo::exists(editor->file().path())) {
    const auto overwrite =
        m_prompts->choice(this, tr("Save"), tr("%1 was changed by another program.").arg(editor->file().displayName()),
                          tr("Save Under Another Name…"), tr("Overwrite"));
    if (!overwrite) {
      return false;
    }
    if (*overwrite) {
      return saveAs(editor);
    }
  }
  for (Outcome saved = editor->file().save(); !saved; saved = editor->file().save()) {
    const auto elsewhere =
        m_prompts->choice(this, tr("Save"),
                          tr("%1 could not be saved. Your changes are still here.").arg(editor->file().displayName()) +
                              u"\n\n"_s + QString::fromStdString(describe(saved.error())),
                          tr("Save Under Another Name…"), tr("Try Again"));
    if (!elsewhere) {
      return false;
    }
    if (*elsewhere) {
      return saveAs(editor);
    }
  }
  addRecent(editor->file().path());
  return true;
}

bool MainWindow::saveAs(Editor* editor) {
  const QString suggestion =
      editor->file().path().isEmpty() ? editor->file().displayName() + u".fabric.json"_s : editor->file().path();
  QString path = m_prompts->fileToSave(this, suggestion, tr("Fabrics (*.fabric.json)"));
  if (path.isEmpty()) {
    return false;
  }
  if (QFileInfo(path).suffix().isEmpty()) {
    path += u".fabric.json"_s;
  }
  if (const Outcome saved = editor->file().saveAs(path); !saved) {
    m_prompts->failure(this, tr("Save"), QString::fromStdString(describe(saved.error())));
    return false;
  }
  addRecent(editor->file().path());
  rememberSession();
  return true;
}

bool MainWindow::closeEditor(Editor* editor) {
  if (editor == nullptr) {
    return true;
  }
  if (editor->file().isModified()) {
    m_tabs->setCurrentWidget(editor);
    switch (m_prompts->unsavedChanges(this, editor->file().displayName())) {
      case Prompts::Unsaved::cancel:
        return false;
      case Prompts::Unsaved::save:
        if (!save(editor)) {
          return false;
        }
        break;
      case Prompts::Unsaved::discard:
        editor->file().discardChanges();
        break;
    }
  }
  dropEditor(editor);
  return true;
}

void MainWindow::dropEditor(Editor* editor) {
  m_pendingViews.erase(editor);
  m_tabs->removeTab(m_tabs->indexOf(editor));
  // Views let go of it in currentChanged().
  currentChanged();
  m_undoGroup->removeStack(editor->document().undoStack());
  editor->deleteLater();
  rememberSession();
}

bool MainWindow::mayCloseAll() {
  // Nothing is dropped before every question is answered.
  std::vector<Editor*> toSave;
  std::vector<Editor*> toDiscard;
  for (Editor* editor : editors()) {
    if (!editor->file().isModified()) {
      continue;
    }
    m_tabs->setCurrentWidget(editor);
    switch (m_prompts->unsavedChanges(this, editor->file().displayName())) {
      case Prompts::Unsaved::cancel:
        return false;
      case Prompts::Unsaved::save:
        toSave.push_back(editor);
        break;
      case Prompts::Unsaved::discard:
        toDiscard.push_back(editor);
        break;
    }
  }
  if (!std::all_of(toSave.begin(), toSave.end(), [this](Editor* editor) { return save(editor); })) {
    return false;
  }
  for (Editor* editor : toDiscard) {
    editor->file().discardChanges();
  }
  return true;
}

void MainWindow::closeEvent(QCloseEvent* event) {
  const Editor* front = currentEditor();
  if (!mayCloseAll()) {
    event->ignore();
    return;
  }
  saveSession(front);
  m_keepsSession = false;
  for (Editor* editor : editors()) {
    dropEditor(editor);
  }
  if (m_options.keepsSettings) {
    QSettings settings;
    m_layouts.save(settings);
  }
  event->accept();
}

void MainWindow::saveSession(const Editor* front) {
  if (!m_options.keepsSettings) {
    return;
  }
  QSettings settings;
  settings.remove(u"session"_s);
  QStringList files;
  int index = 0;
  for (Editor* editor : editors()) {
    if (editor->file().path().isEmpty()) {
      continue;
    }
    files << editor->file().path();
    const QString key = u"session/%1/"_s.arg(index++);
    const auto waiting = m_pendingViews.find(editor);
    settings.setValue(key + u"view"_s,
                      waiting != m_pendingViews.end() ? waiting->second : editor->canvas().viewState());
    settings.setValue(key + u"collective"_s, static_cast<int>(editor->bound().question().collective));
    settings.setValue(key + u"root"_s,
                      editor->model().nodes().contains(editor->bound().question().root)
                          ? QString::fromStdString(editor->model().find(editor->bound().question().root)->facts.name)
                          : QString());
    if (editor == front) {
      settings.setValue(u"session/front"_s, editor->file().path());
    }
  }
  settings.setValue(u"session/files"_s, files);
}

void MainWindow::restoreSession() {
  if (!m_options.keepsSettings) {
    return;
  }
  const QSettings settings;
  const QStringList files = settings.value(u"session/files"_s).toStringList();
  QStringList gone;
  for (qsizetype i = 0; i < files.size(); ++i) {
    if (!QFileInfo::exists(files[i])) {
      gone << QFileInfo(files[i]).fileName();
      continue;
    }
    if (const QString journal = DocumentFile::journalBeside(files[i]);
        QFileInfo::exists(journal) && !isJournalHeld(journal)) {
      continue;  // put off; opening it asks again
    }
    Editor* editor = openFile(files[i]);
    if (editor == nullptr) {
      continue;
    }
    const QString key = u"session/%1/"_s.arg(i);
    m_pendingViews[editor] = settings.value(key + u"view"_s).toByteArray();
    Question question;
    const int collective = settings.value(key + u"collective"_s).toInt();
    question.collective = collective >= 0 && m_collectives->findData(collective) >= 0
                              ? static_cast<Collective>(collective)
                              : question.collective;
    question.root = editor->model().nodeNamed(settings.value(key + u"root"_s).toString().toStdString());
    editor->bound().setQuestion(question);
  }
  const QString front = settings.value(u"session/front"_s).toString();
  for (Editor* editor : editors()) {
    if (editor->file().path() == front) {
      m_tabs->setCurrentWidget(editor);
    }
  }
  currentChanged();
  if (!gone.isEmpty()) {
    m_strip->setHint(tr("No longer available: %1").arg(gone.join(u", "_s)));
  }
}

void MainWindow::restoreView(Editor* editor) {
  // Once the canvas has its size, which it has not before it is shown.
  QTimer::singleShot(0, editor, [this, editor] {
    const auto waiting = m_pendingViews.find(editor);
    if (waiting != m_pendingViews.end() && editor->canvas().isVisible()) {
      editor->canvas().setViewState(waiting->second);
      m_pendingViews.erase(waiting);
    }
  });
}

// ---- recent files and titles

void MainWindow::addRecent(const QString& path) {
  m_recent.removeAll(path);
  m_recent.prepend(path);
  while (m_recent.size() > kMaxRecent) {
    m_recent.removeLast();
  }
  if (m_options.keepsSettings) {
    QSettings().setValue(u"recent"_s, m_recent);
  }
  updateRecentMenu();
}

void MainWindow::forgetRecent(const QString& path) {
  if (m_recent.removeAll(path) == 0) {
    return;
  }
  if (m_options.keepsSettings) {
    QSettings().setValue(u"recent"_s, m_recent);
  }
  // The menu entry that was chosen must not go while it still speaks.
  QTimer::singleShot(0, this, &MainWindow::updateRecentMenu);
}

void MainWindow::updateRecentMenu() {
  m_start->setRecent(m_recent);
  m_recentMenu->clear();
  for (const QString& path : std::as_const(m_recent)) {
    QString text = QDir::toNativeSeparators(path);
    QAction* action = m_recentMenu->addAction(text.replace(u'&', u"&&"_s));
    connect(action, &QAction::triggered, this, [this, path] { openFile(path); });
  }
  m_recentMenu->setEnabled(!m_recent.isEmpty());
}

void MainWindow::updateTitles() {
  const QStringList titles = tabTitles(editors());
  for (int i = 0; i < m_tabs->count(); ++i) {
    auto* editor = qobject_cast<Editor*>(m_tabs->widget(i));
    m_tabs->setTabText(i, QString(titles[i]).replace(u'&', u"&&"_s));
    m_tabs->setTabToolTip(i, QDir::toNativeSeparators(editor->file().path()));
  }
  Editor* editor = currentEditor();
  setWindowTitle(editor != nullptr ? editor->file().displayName() + u"[*] — "_s + tr("Coppice") : tr("Coppice"));
  setWindowModified(editor != nullptr && editor->file().isModified());
  updateActions();
}

void MainWindow::currentChanged() {
  Editor* editor = currentEditor();
  // The start page has the window to itself.
  m_layouts.setAway(editor == nullptr);
  m_pages->setCurrentWidget(editor != nullptr ? static_cast<QWidget*>(m_tabs) : m_start);
  m_undoGroup->setActiveStack(editor != nullptr ? editor->document().undoStack() : nullptr);
  m_strip->setEditor(editor);
  m_properties->setEditor(editor);
  m_boundCard->setEditor(editor);
  for (RankingPanel* panel : {m_upgrades, m_damage}) {
    panel->setSubject(editor != nullptr ? &editor->document() : nullptr,
                      editor != nullptr ? &editor->bound() : nullptr);
  }
  m_whatIf->setSubject(editor != nullptr ? &editor->document() : nullptr,
                       editor != nullptr ? &editor->selection() : nullptr,
                       editor != nullptr ? &editor->bound() : nullptr);
  showSchedulesOf(editor);
  showRunsOf(editor);
  m_minimap->setView(editor != nullptr ? &editor->canvas() : nullptr);
  m_outline->setModel(editor != nullptr ? &editor->outline() : nullptr);
  if (editor != nullptr) {
    m_outline->header()->setSectionResizeMode(OutlineModel::kName, QHeaderView::Stretch);
    m_outline->header()->setSectionResizeMode(OutlineModel::kDetail, QHeaderView::ResizeToContents);
    connect(m_outline->selectionModel(), &QItemSelectionModel::currentChanged, editor,
            [this, editor](const QModelIndex& index, const QModelIndex& previous) {
              // A view that gets the focus makes its first row current, which nobody chose.
              if (!m_isSelecting && m_outline->hasFocus() && previous.isValid()) {
                editor->showElement(editor->outline().elementAt(index));
              }
            });
  }
  updateQuestion();
  m_find->setEditor(editor);
  m_nodesPane->setSource(editor, editor != nullptr ? &editor->nodeTable() : nullptr);
  m_linksPane->setSource(editor, editor != nullptr ? &editor->linkTable() : nullptr);
  m_problemsPane->setSource(editor, editor != nullptr ? &editor->problems() : nullptr);
  if (editor != nullptr) {
    for (QTableView* view : {m_nodes, m_links}) {
      connect(view->selectionModel(), &QItemSelectionModel::selectionChanged, editor, [this, view, editor] {
        if (!m_isSelecting && view->hasFocus()) {
          std::set<ElementId> chosen;
          for (const QModelIndex& index : view->selectionModel()->selectedRows()) {
            chosen.insert(index.data(kElementRole).value<ElementId>());
          }
          m_isSelecting = true;
          editor->selection().set(std::move(chosen));
          m_isSelecting = false;
        }
      });
    }
    m_problems->horizontalHeader()->setSectionResizeMode(ProblemsModel::kText, QHeaderView::Stretch);
  }
  if (editor != nullptr && m_pendingViews.contains(editor)) {
    restoreView(editor);
  }
  updateTitles();
  selectInViews();
}

void MainWindow::selectInViews() {
  Editor* editor = currentEditor();
  if (editor == nullptr || m_isSelecting) {
    return;
  }
  m_isSelecting = true;
  // Tables show what is selected elsewhere; a selection of thousands is not worth a row each.
  constexpr std::size_t kMost = 500;
  const bool isSmall = editor->selection().elements().size() <= kMost;
  const auto show = [&](QTableView* view, auto rowOf, const auto& ids) {
    auto* proxy = qobject_cast<QSortFilterProxyModel*>(view->model());
    if (proxy == nullptr || view->hasFocus()) {
      return;
    }
    QItemSelection rows;
    if (isSmall) {
      for (const auto id : ids) {
        const QModelIndex index = proxy->mapFromSource(proxy->sourceModel()->index(rowOf(id), 0));
        if (index.isValid()) {
          rows.select(index, index);
        }
      }
    }
    view->selectionModel()->select(rows, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
    if (!rows.isEmpty()) {
      view->scrollTo(rows.indexes().front());
    }
  };
  show(
      m_nodes, [&](NodeId id) { return editor->nodeTable().rowOf(id); }, editor->selection().nodes());
  show(
      m_links, [&](LinkId id) { return editor->linkTable().rowOf(id); }, editor->selection().links());
  if (!m_outline->hasFocus() && m_outline->selectionModel() != nullptr) {
    QItemSelection rows;
    if (isSmall) {
      for (const ElementId& id : editor->selection().elements()) {
        const QModelIndex index = editor->outline().indexOf(id);
        if (index.isValid()) {
          rows.select(index, index);
        }
      }
    }
    m_outline->selectionModel()->select(rows, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
  }
  m_isSelecting = false;
}

// ---- the question

void MainWindow::setQuestion(Collective collective) {
  if (Editor* editor = currentEditor()) {
    Question question = editor->bound().question();
    question.collective = collective;
    editor->bound().setQuestion(question);
    updateQuestion();
  }
}

// ---- edits

void MainWindow::edit(const QString& text, const std::function<void(Edit&, const std::set<ElementId>&)>& fill) {
  if (Editor* editor = currentEditor()) {
    const std::set<ElementId> elements = editor->selection().elements();
    editor->document().edit(text, [&](Edit& edit) { fill(edit, elements); });
  }
}

void MainWindow::insertNode(fabric::NodeKind kind) {
  Editor* editor = currentEditor();
  if (editor == nullptr) {
    return;
  }
  const QRectF all = designer::contentsRect(editor->model());
  const Point place = all.isNull() ? Point{} : Point{all.left(), all.bottom() + 4 * kGridStep};
  NodeId made;
  editor->document().edit(tr("Insert node"), [&](Edit& edit) { made = edits::addNode(edit, kind, place); });
  editor->goTo(made);
}

void MainWindow::copy() {
  if (Editor* editor = currentEditor()) {
    const std::string text = clipboardText(editor->model(), editor->selection().elements());
    if (!text.empty()) {
      QGuiApplication::clipboard()->setText(QString::fromStdString(text));
    }
  }
}

void MainWindow::paste() {
  pasteText(QGuiApplication::clipboard()->text());
}

void MainWindow::pasteText(const QString& text) {
  if (text.trimmed().isEmpty()) {
    m_strip->setHint(tr("Nothing to paste: the clipboard has no text"));
    return;
  }
  auto read = readAnyFabric(text.toStdString(), {});
  if (!read) {
    m_strip->setHint(tr("Nothing to paste: %1").arg(QString::fromStdString(read.error().message)));
    return;
  }
  if (const auto open = withOpenChoices(text.toStdString(), {})) {
    auto chosen = m_prompts->import(this, *open);
    if (!chosen) {
      return;
    }
    read = *std::move(chosen);
  }
  Editor* editor = currentEditor();
  if (editor == nullptr) {
    editor = newDocument();
  }
  const Model& part = read->model;
  // A table of links between nodes that are here means these nodes.
  const Model& here = editor->model();
  bool isTable = io::looksLikeLinkCsv(text.toStdString()) && !part.links().isEmpty();
  for (const auto& [id, node] : part.nodes()) {
    isTable = isTable && here.nodeNamed(node.facts.name).isValid();
  }
  std::set<ElementId> made;
  if (isTable) {
    editor->document().edit(tr("Paste links"), [&](Edit& edit) {
      for (const auto& [id, link] : part.links()) {
        Link copy = link;
        copy.tail.node = here.nodeNamed(part.nameOf(link.tail));
        copy.head.node = here.nodeNamed(part.nameOf(link.head));
        made.insert(edit.add(std::move(copy)));
      }
    });
  } else {
    const QRectF there = designer::contentsRect(here);
    const QRectF incoming = designer::contentsRect(part);
    const Point by = here.nodes().isEmpty() ? Point{}
                                            : Point{std::round(there.left() - incoming.left()),
                                                    std::round(there.bottom() + 4 * kGridStep - incoming.top())};
    editor->document().edit(tr("Paste"), [&](Edit& edit) { made = edits::insert(edit, part, by); });
  }
  editor->selection().set(std::move(made));
}

void MainWindow::replicate() {
  Editor* editor = currentEditor();
  if (editor != nullptr && !editor->selection().isEmpty()) {
    openBeside(new ArrayDialog(*editor, this));
  }
}

void MainWindow::linkByPattern() {
  if (Editor* editor = currentEditor()) {
    openBeside(new LinkDialog(*editor, this));
  }
}

void MainWindow::openBeside(QDialog* dialog) {
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  // At the right, so that the drawing with its preview stays in sight.
  dialog->adjustSize();
  const CanvasView& canvas = currentEditor()->canvas();
  constexpr int kGap = 24;
  dialog->move(canvas.mapToGlobal(QPoint(std::max(0, canvas.width() - dialog->width() - kGap), kGap)));
  dialog->open();
}

void MainWindow::exportAs() {
  Editor* editor = currentEditor();
  if (editor == nullptr) {
    return;
  }
  const QString path = m_prompts->fileToSave(
      this, QFileInfo(editor->file().displayName()).baseName() + u".csv"_s,
      tr("Table of links (*.csv);;Graphviz (*.dot *.gv);;ForestColl adjacency (*.adj.json);;Fabric (*.fabric.json)"));
  if (path.isEmpty()) {
    return;
  }
  const QString lower = path.toLower();
  const ExportFormat format = lower.endsWith(u".dot"_s) || lower.endsWith(u".gv"_s) ? ExportFormat::dot
                              : lower.endsWith(u".adj.json"_s) || lower.endsWith(u".adj"_s)
                                  ? ExportFormat::adjacency
                                  : (lower.endsWith(u".csv"_s) ? ExportFormat::linkCsv : ExportFormat::fabricJson);
  const auto text = writeFabricAs(editor->model(), format);
  Outcome written = text ? io::saveFile(toPath(path), *text) : Outcome(text.error());
  if (!written) {
    m_prompts->failure(this, tr("Export"), QString::fromStdString(describe(written.error())));
  } else {
    m_strip->setHint(tr("Exported %1").arg(QFileInfo(path).fileName()));
  }
}

void MainWindow::showPalette() {
  auto* palette = new CommandPalette(m_actions, this);
  const QPoint middle = mapToGlobal(QPoint(width() / 2 - palette->width() / 2, height() / 6));
  palette->move(middle);
  palette->show();
}

// ---- drop

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls() || event->mimeData()->hasText() || event->mimeData()->hasFormat(entryMimeType())) {
    event->acceptProposedAction();
  }
}

void MainWindow::dropEvent(QDropEvent* event) {
  if (dropEntry(*event)) {
    // Done.
  } else if (event->mimeData()->hasUrls()) {
    QStringList paths;
    for (const QUrl& url : event->mimeData()->urls()) {
      if (url.isLocalFile()) {
        paths << url.toLocalFile();
      } else {
        m_strip->setHint(tr("%1 is not a file on this computer").arg(url.toDisplayString()));
      }
    }
    // The source of the drag waits for the drop to end, and a message may stay open for long.
    QTimer::singleShot(0, this, [this, paths] { openFiles(paths); });
  } else {
    pasteText(event->mimeData()->text());
  }
  event->acceptProposedAction();
}

}  // namespace coppice::designer
