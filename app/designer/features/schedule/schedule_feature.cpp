// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFileInfo>
#include <QMenuBar>

#include "designer/document/fabric_file.hpp"
#include "designer/schedule/export_dialog.hpp"
#include "designer/schedule/schedule_activity.hpp"
#include "designer/schedule/tree_drawing.hpp"
#include "designer/window/main_window.hpp"

using namespace Qt::StringLiterals;

/// The parts of MainWindow that are about schedules.
namespace coppice::designer {

void MainWindow::createScheduleActions() {
  SchedulePrompts prompts;
  prompts.fileToSave = [this](const QString& suggestion, const QString& filter) {
    return m_prompts->fileToSave(this, suggestion, filter);
  };
  prompts.text = [this](const QString& title, const QString& label, const QString& value) {
    return m_prompts->text(this, title, label, value);
  };
  prompts.confirm = [this](const QString& title, const QString& text, const QString& yes, const QString& no) {
    return m_prompts->choice(this, title, text, yes, no).value_or(false);
  };
  prompts.failure = [this](const QString& title, const QString& text) { m_prompts->failure(this, title, text); };
  m_schedule = new ScheduleActivity(std::move(prompts), this);

  const auto current = [this] {
    const ScheduleBook* book = m_schedule->book();
    const ScheduleEntry* entry = book != nullptr ? book->current() : nullptr;
    return entry != nullptr ? entry->id : 0;
  };
  QAction* generate =
      m_actions.add({u"schedule.generate"_s,
                     tr("&Generate"),
                     tr("Generate spanning trees that reach the bound, verified, with the last settings"),
                     {QKeySequence(u"F5"_s)},
                     u"generate"_s},
                    [this](bool) {
                      m_schedule->generate();
                      setMode(Mode::schedule);
                    });
  generate->setIconText(tr("Generate F5"));
  m_actions.add({u"schedule.options"_s,
                 tr("Generate &With…"),
                 tr("Set root, GPUs, numbers of trees, height and multicast of the schedule"),
                 {QKeySequence(u"Ctrl+Shift+F5"_s)},
                 u"settings"_s},
                [this](bool) { m_schedule->showOptions(); });
  m_actions.add({u"schedule.cancel"_s,
                 tr("&Cancel Generation"),
                 tr("Stop generating; the previous schedule is kept"),
                 {QKeySequence(Qt::Key_Escape)},
                 u"stop"_s},
                [this](bool) { m_schedule->cancel(); });
  QAction* exportAction =
      m_actions.add({u"schedule.export"_s,
                     tr("&Export Schedule…"),
                     tr("Export a program for MSCCL or RCCL with a checklist, or trees, or the schedule file"),
                     {QKeySequence(u"Ctrl+E"_s)},
                     u"export"_s},
                    [this](bool) { m_schedule->exportCurrent(); });
  exportAction->setIconText(tr("Export"));
  m_actions.add({u"schedule.rerun"_s,
                 tr("Generate Aga&in"),
                 tr("Generate the current schedule again with its settings"),
                 {QKeySequence(u"Ctrl+Alt+F5"_s)}},
                [this, current](bool) {
                  m_schedule->rerun(current());
                  setMode(Mode::schedule);
                });
  m_actions.add({u"schedule.rename"_s,
                 tr("&Rename Schedule…"),
                 tr("Rename the current schedule and its file"),
                 {QKeySequence(u"Ctrl+F2"_s)},
                 u"rename"_s},
                [this, current](bool) { m_schedule->rename(current()); });
  m_actions.add({u"schedule.delete"_s,
                 tr("&Delete Schedule…"),
                 tr("Delete the current schedule and its file"),
                 {QKeySequence(u"Ctrl+Shift+Del"_s)},
                 u"delete"_s},
                [this, current](bool) { m_schedule->remove(current()); });
  m_actions.add({u"schedule.trees-of-selection"_s,
                 tr("&Trees of the Selected GPU"),
                 tr("Show the trees whose root is selected on the drawing"),
                 {QKeySequence(u"Ctrl+Shift+R"_s)},
                 u"trees"_s},
                [this](bool) {
                  setMode(Mode::schedule);
                  m_actions[u"view.trees"_s]->trigger();
                  m_schedule->showRootOfSelection();
                });
  m_actions.add({u"schedule.clear-trees"_s,
                 tr("Hide Tree&s"),
                 tr("Draw the fabric without trees"),
                 {QKeySequence(u"Ctrl+Shift+E"_s)}},
                [this](bool) { m_schedule->clearTrees(); });
  m_actions.add({u"schedule.heat"_s,
                 tr("Link &Heat Map"),
                 tr("Colour the links by their load while no tree is drawn"),
                 {QKeySequence(u"Ctrl+Shift+H"_s)},
                 u"heat"_s,
                 true},
                [this](bool isOn) { m_schedule->loads()->setHeatWanted(isOn); });
  m_actions[u"schedule.heat"_s]->setChecked(true);
  m_actions.add({u"schedule.copy-command"_s,
                 tr("Copy as Co&mmand Line"),
                 tr("Copy what Generate does as a coppice-cli command"),
                 {QKeySequence(u"Ctrl+Alt+C"_s)},
                 u"copy"_s},
                [this](bool) { m_schedule->copyCommand(); });

  connect(m_schedule->loads(), &LoadsPanel::heatToggled, this,
          [this] { m_actions[u"schedule.heat"_s]->setChecked(m_schedule->loads()->isHeatWanted()); });
  connect(m_schedule, &ScheduleActivity::message, m_strip, &StatusStrip::setHint);
  connect(m_schedule, &ScheduleActivity::modeWanted, this, [this] { setMode(Mode::schedule); });
  connect(m_schedule, &ScheduleActivity::runningChanged, this, &MainWindow::updateScheduleActions);
  connect(m_schedule, &ScheduleActivity::currentChanged, this, [this] {
    updateScheduleActions();
    followSchedule();
  });
  connect(m_schedule, &ScheduleActivity::forestOpened, this, &MainWindow::openForest);
  connect(this, &MainWindow::modeChanged, m_schedule,
          [this](Mode mode) { m_schedule->setActive(mode == Mode::schedule); });
}

void MainWindow::createScheduleMenu() {
  QMenu* menu = menuBar()->addMenu(tr("S&chedule"));
  for (const QString& id :
       {u"schedule.generate"_s, u"schedule.options"_s, u"schedule.rerun"_s, u"schedule.cancel"_s, QString(),
        u"schedule.trees-of-selection"_s, u"schedule.clear-trees"_s, u"schedule.heat"_s, QString(),
        u"schedule.export"_s, u"schedule.copy-command"_s, QString(), u"schedule.rename"_s, u"schedule.delete"_s}) {
    if (id.isEmpty()) {
      menu->addSeparator();
    } else {
      menu->addAction(m_actions[id]);
    }
  }
}

void MainWindow::createScheduleDocks() {
  addDock(u"schedules"_s, tr("Schedule"), m_schedule->panel(), Qt::RightDockWidgetArea, {Mode::schedule});
  addDock(u"trees"_s, tr("Trees"), m_schedule->trees(), Qt::BottomDockWidgetArea, {Mode::schedule});
  addDock(u"link-loads"_s, tr("Link Loads"), m_schedule->loads(), Qt::BottomDockWidgetArea, {Mode::schedule});
  addDock(u"tree"_s, tr("One Tree"), m_schedule->drawing(), Qt::BottomDockWidgetArea, {Mode::schedule});
  addDock(u"charts"_s, tr("Charts"), m_schedule->charts(), Qt::BottomDockWidgetArea, {Mode::schedule});
}

void MainWindow::showSchedulesOf(Editor* editor) {
  m_schedule->setSubject(
      editor != nullptr ? ScheduleSubject{&editor->file(), &editor->selection(), &editor->bound(), &editor->canvas()}
                        : ScheduleSubject{});
  updateScheduleActions();
}

void MainWindow::updateScheduleActions() {
  const ScheduleBook* book = m_schedule->book();
  const ScheduleEntry* entry = book != nullptr ? book->current() : nullptr;
  const bool hasResult = entry != nullptr && entry->result;
  for (const char* id : {"schedule.generate", "schedule.options", "schedule.copy-command"}) {
    m_actions[QLatin1String(id)]->setEnabled(book != nullptr);
  }
  for (const char* id : {"schedule.export", "schedule.rerun", "schedule.rename", "schedule.delete",
                         "schedule.trees-of-selection", "schedule.clear-trees"}) {
    m_actions[QLatin1String(id)]->setEnabled(hasResult);
  }
  m_actions[u"schedule.cancel"_s]->setEnabled(book != nullptr && book->isRunning());
}

void MainWindow::followSchedule() {
  ScheduleBook* book = m_schedule->book();
  const ScheduleEntry* entry = book != nullptr ? book->current() : nullptr;
  const int id = entry != nullptr ? entry->id : 0;
  // Another document brings its own question.
  const bool isChosen = m_followedBook.data() == book && id != m_followedSchedule;
  m_followedBook = book;
  m_followedSchedule = id;
  Editor* editor = currentEditor();
  if (!isChosen || editor == nullptr || mode() != Mode::schedule || entry == nullptr || !entry->result) {
    return;
  }
  const ScheduleOptions& made = entry->result->options;
  Question question = editor->bound().question();
  const NodeId root = made.root.empty() ? question.root : editor->model().nodeNamed(made.root);
  if (question.collective != made.collective || question.root != root) {
    question.collective = made.collective;
    question.root = root;
    editor->bound().setQuestion(question);
    updateQuestion();
  }
}

void MainWindow::openForest(const ScheduleResultPtr& result, const QString& path, bool isInferred) {
  // A document with these very facts takes the schedule; else its own fabric is opened for it.
  Editor* owner = nullptr;
  const auto holds = [&](Editor* editor) {
    return editor != nullptr && digestNow(*editor->document().facts(), {}) == result->schedule.fabricDigest;
  };
  if (holds(currentEditor())) {
    owner = currentEditor();
  }
  for (Editor* editor : editors()) {
    owner = owner == nullptr && holds(editor) ? editor : owner;
  }
  QString name = QFileInfo(path).fileName();
  for (const QString& suffix : {u".forest.json"_s, u".trees.xml"_s, u".xml"_s, u".json"_s}) {
    if (name.endsWith(suffix, Qt::CaseInsensitive) && name.size() > suffix.size()) {
      name.chop(suffix.size());
      break;
    }
  }
  if (owner == nullptr) {
    const QString fabric = QString::fromStdString(result->description->name);
    owner = adopt(readModel(*result->description).model, {},
                  isInferred || fabric.isEmpty() ? tr("Fabric of %1").arg(name) : fabric);
  }
  m_tabs->setCurrentWidget(owner);
  Question question = owner->bound().question();
  question.collective = result->options.collective;
  question.root = owner->model().nodeNamed(result->options.root);
  owner->bound().setQuestion(question);
  currentChanged();
  ScheduleActivity::bookOf(owner->file(), owner->bound())->add(result, name);
  setMode(Mode::schedule);
}

}  // namespace coppice::designer
