// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QMenuBar>
#include <QTemporaryDir>

#include "designer/document/fabric_file.hpp"
#include "designer/run/run_activity.hpp"
#include "designer/schedule/schedule_activity.hpp"
#include "designer/window/main_window.hpp"
#include "remote/limits.hpp"

using namespace Qt::StringLiterals;

/// The parts of MainWindow that are about machines and runs.
namespace coppice::designer {
namespace {

/// The schedule as its file would be.
Result<QByteArray> forestText(const ScheduleResultPtr& result) {
  const QTemporaryDir folder;
  const QString path = folder.filePath(u"schedule.forest.json"_s);
  if (Outcome saved = saveSchedule(path, *result); !saved) {
    return saved.error();
  }
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) {
    return Error{ErrorCode::io, "the schedule cannot be written to a temporary file", "check the free space of /tmp"};
  }
  return file.readAll();
}

}  // namespace

void MainWindow::createRunActions() {
  RunPrompts prompts;
  prompts.fileToSave = [this](const QString& suggestion, const QString& filter) {
    return m_prompts->fileToSave(this, suggestion, filter);
  };
  prompts.fileToOpen = [this](const QString& filter) {
    const QStringList files = m_prompts->filesToOpen(this, {}, filter);
    return files.isEmpty() ? QString() : files.front();
  };
  prompts.confirm = [this](const QString& title, const QString& text, const QString& yes, const QString& no) {
    return m_prompts->choice(this, title, text, yes, no).value_or(false);
  };
  prompts.failure = [this](const QString& title, const QString& text) { m_prompts->failure(this, title, text); };
  RunOptions options;
  options.keepsSettings = m_options.keepsSettings;
  if (!m_options.recoveryFolder.isEmpty() && !m_options.keepsSettings) {
    options.dataFolder = m_options.recoveryFolder + u"/runs"_s;
  }
  if (const auto limits = remote::limitsFromEnvironment()) {
    options.environment.limits = *limits;
  } else {
    m_strip->setHint(QString::fromStdString(describe(limits.error())));
  }
  m_run = new RunActivity(std::move(prompts), std::move(options), this);

  QAction* start = m_actions.add({u"run.start"_s,
                                  tr("&Run"),
                                  tr("Run the chosen schedule on the chosen machine"),
                                  {QKeySequence(u"Ctrl+F5"_s)},
                                  u"run"_s},
                                 [this](bool) {
                                   setMode(Mode::run);
                                   m_run->start();
                                 });
  start->setIconText(tr("Run"));
  m_actions.add({u"run.stop"_s,
                 tr("&Stop the Run"),
                 tr("End the run and all its processes, on this computer and on the machines"),
                 {QKeySequence(u"Shift+F5"_s)},
                 u"stop"_s},
                [this](bool) { m_run->stop(); });
  m_actions.add({u"run.again"_s, tr("Run A&gain"), tr("Repeat the run that is shown, with its settings")},
                [this](bool) { m_run->rerun(m_run->shownRun()); });
  m_actions.add({u"run.join"_s, tr("Re&attach"), tr("Show a run that is still active on the machine")},
                [this](bool) { m_run->rejoin(m_run->shownRun()); });
  m_actions.add({u"run.file"_s, tr("Choose a Schedule &File…"), tr("An MSCCL XML or a .forest.json to run")},
                [this](bool) {
                  setMode(Mode::run);
                  m_run->chooseFile();
                });
  m_actions.add({u"run.bundle"_s, tr("Launch &Bundle…"),
                 tr("A folder or archive with everything a run needs, for clusters that the window cannot reach")},
                [this](bool) { m_run->saveBundle(); });
  m_actions.add({u"run.detect"_s,
                 tr("&Detect a Machine"),
                 tr("Read the fabric of the chosen machine into a new document"),
                 {},
                 u"import"_s},
                [this](bool) { m_run->detect(m_run->machinesPanel()->current()); });
  m_actions.add({u"run.compare"_s, tr("&Compare With the Machine"),
                 tr("List how the drawing, or the selected box, differs from the chosen machine")},
                [this](bool) { m_run->compare(m_run->machinesPanel()->current()); });
  connect(m_run, &RunActivity::message, m_strip, &StatusStrip::setHint);
  connect(m_run, &RunActivity::stateChanged, this, &MainWindow::updateRunActions);
  connect(m_run, &RunActivity::dockWanted, this, [this](const QString& id) {
    if (mode() == Mode::run) {
      m_actions[u"view."_s + id]->trigger();
    }
  });
  connect(m_run, &RunActivity::elementChosen, this, [this](const ElementId& element) {
    if (Editor* editor = currentEditor(); editor != nullptr && editor->model().contains(element)) {
      editor->goTo(element);
    }
  });
  connect(m_run, &RunActivity::fabricDetected, this, [this](const QByteArray& text, const QString& name) {
    auto read =
        readFabricFile(std::string_view(text.constData(), static_cast<std::size_t>(text.size())), name.toStdString());
    if (!read) {
      m_prompts->failure(this, tr("Detect"), QString::fromStdString(describe(read.error())));
      return;
    }
    adopt(std::move(read->model), std::move(read->findings), name);
    m_strip->setHint(tr("Read from %1").arg(name));
  });
  m_run->setChosenBox([this] {
    const Editor* editor = currentEditor();
    const auto boxes = editor != nullptr ? const_cast<Editor*>(editor)->selection().boxes() : std::vector<BoxId>{};
    return boxes.size() == 1 ? *boxes.begin() : BoxId{};
  });
  connect(m_schedule, &ScheduleActivity::currentChanged, this, [this] { showRunsOf(currentEditor()); });
  connect(m_schedule, &ScheduleActivity::runningChanged, this, [this] { showRunsOf(currentEditor()); });
}

void MainWindow::createRunMenu() {
  QMenu* menu = menuBar()->addMenu(tr("&Run"));
  for (const QString& id : {u"run.start"_s, u"run.stop"_s, u"run.again"_s, u"run.join"_s, QString(), u"run.file"_s,
                            u"run.bundle"_s, QString(), u"run.detect"_s, u"run.compare"_s}) {
    if (id.isEmpty()) {
      menu->addSeparator();
    } else {
      menu->addAction(m_actions[id]);
    }
  }
}

void MainWindow::createRunDocks() {
  addDock(u"machines"_s, tr("Machines"), m_run->machinesPanel(), Qt::LeftDockWidgetArea, {Mode::run});
  addDock(u"run-choices"_s, tr("Run"), m_run->runPanel(), Qt::RightDockWidgetArea, {Mode::run});
  addDock(u"results"_s, tr("Results"), m_run->results(), Qt::BottomDockWidgetArea, {Mode::run});
  addDock(u"run-chart"_s, tr("Chart"), m_run->chart(), Qt::BottomDockWidgetArea, {Mode::run});
  addDock(u"run-trace"_s, tr("Trace"), m_run->trace(), Qt::BottomDockWidgetArea, {Mode::run});
  addDock(u"run-log"_s, tr("Log"), m_run->log(), Qt::BottomDockWidgetArea, {Mode::run});
  addDock(u"runs"_s, tr("Runs"), m_run->history(), Qt::BottomDockWidgetArea, {Mode::run});
  addDock(u"connection"_s, tr("Connection"), m_run->connection(), Qt::BottomDockWidgetArea, {Mode::run});
  addDock(u"differences"_s, tr("Drawn vs. Detected"), m_run->differences(), Qt::BottomDockWidgetArea, {Mode::run});
}

void MainWindow::showRunsOf(Editor* editor) {
  if (editor == nullptr) {
    m_run->setDocument(std::nullopt);
    updateRunActions();
    return;
  }
  RunDocument document;
  document.name = editor->file().displayName();
  document.path = editor->file().path();
  document.fabric = [editor] { return QByteArray::fromStdString(writeFabricFile(editor->model())); };
  document.model = [editor]() -> const Model& { return editor->model(); };
  if (const ScheduleBook* book = m_schedule->book()) {
    for (const ScheduleEntry& entry : book->entries()) {
      if (!entry.result) {
        continue;
      }
      RunnableSchedule schedule;
      schedule.key = u"schedule:%1"_s.arg(entry.id);
      schedule.name = entry.name;
      schedule.suffix = u"forest.json"_s;
      schedule.boundGBps = entry.result->schedule.bound.toDouble();
      schedule.ranks = entry.result->fabric->gpuCount();
      schedule.root = entry.result->schedule.root.value_or(-1);
      schedule.bytes = [result = entry.result] { return forestText(result); };
      document.schedules.push_back(std::move(schedule));
    }
    if (const ScheduleEntry* current = book->current()) {
      document.currentKey = u"schedule:%1"_s.arg(current->id);
    }
  }
  m_run->setDocument(std::move(document));
  updateRunActions();
}

void MainWindow::updateRunActions() {
  m_actions[u"run.start"_s]->setEnabled(m_run->isReady());
  m_actions[u"run.start"_s]->setToolTip(m_run->isReady() || m_run->isRunning()
                                            ? tr("Run the chosen schedule on the chosen machine")
                                            : m_run->runPanel()->obstacle());
  m_actions[u"run.stop"_s]->setEnabled(m_run->isRunning());
  bool canJoin = false;
  for (const RunInfo& info : m_run->runs()) {
    canJoin = canJoin || (info.id == m_run->shownRun() && info.state == RunState::lost && info.keepsRunning);
  }
  m_actions[u"run.join"_s]->setEnabled(canJoin);
  m_actions[u"run.again"_s]->setEnabled(m_run->canRerun());
  m_actions[u"run.bundle"_s]->setEnabled(m_run->runPanel()->schedule() != nullptr);
  m_actions[u"run.compare"_s]->setEnabled(currentEditor() != nullptr);
}

}  // namespace coppice::designer
