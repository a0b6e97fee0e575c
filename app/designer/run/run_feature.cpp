// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/run_feature.hpp"

#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "designer/document/fabric_file.hpp"
#include "remote/limits.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

/// The schedule as its file would be.
Result<QByteArray> scheduleText(const ScheduleResultPtr& result) {
  const QTemporaryDir folder;
  const QString path = folder.filePath(u"schedule"_s + fileSuffix(*result));
  if (Outcome saved = saveSchedule(path, *result); !saved) {
    return saved.error();
  }
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) {
    return Error{ErrorCode::io, "the schedule cannot be written to a temporary file", "check the free space of /tmp"};
  }
  return file.readAll();
}

RunnableSchedule runnable(const ScheduleEntry& entry) {
  RunnableSchedule schedule;
  schedule.key = u"schedule:%1"_s.arg(entry.id);
  schedule.name = entry.name;
  schedule.suffix = fileSuffix(*entry.result).mid(1);
  if (entry.result->bound) {
    schedule.boundGBps = toGBps(*entry.result->bound);
  }
  schedule.ranks = entry.result->fabric->gpuCount();
  schedule.root = entry.result->root().value_or(-1);
  schedule.bytes = [result = entry.result] { return scheduleText(result); };
  return schedule;
}

}  // namespace

RunFeature::RunFeature(const FeatureHost& host, ScheduleFeature& schedules)
    : Feature(host),
      m_schedules(schedules),
      m_activity(new RunActivity(m_prompts, optionsForActivity(host.options), m_window)),
      m_differences(new QDialog(m_window)) {
  makeDifferences();
  addRunActions();
  addMachineActions();
  addDocks(host);
  connectActivity();
}

RunOptions RunFeature::optionsForActivity(const WindowOptions& options) {
  RunOptions result;
  result.keepsSettings = options.keepsSettings;
  if (!options.recoveryFolder.isEmpty() && !options.keepsSettings) {
    result.dataFolder = options.recoveryFolder + u"/runs"_s;
  }
  if (const auto limits = remote::limitsFromEnvironment()) {
    result.environment.limits = *limits;
  } else {
    m_workspace.say(QString::fromStdString(describe(limits.error())));
  }
  return result;
}

void RunFeature::addRunActions() {
  QAction* start = m_actions.add({u"run.start"_s,
                                  tr("&Run"),
                                  tr("Run the chosen schedule on the chosen machine"),
                                  {QKeySequence(u"Ctrl+F5"_s)},
                                  u"run"_s},
                                 [this](bool) {
                                   m_workspace.setMode(Mode::run);
                                   m_activity->start();
                                 });
  start->setIconText(tr("Run"));
  m_actions.add({u"run.stop"_s,
                 tr("&Stop the Run"),
                 tr("End the run and all its processes, on this computer and on the machines"),
                 {QKeySequence(u"Shift+F5"_s)},
                 u"stop"_s},
                [this](bool) { m_activity->stop(); });
  m_actions.add({u"run.again"_s, tr("Run A&gain"), tr("Repeat the run that is shown, with its settings")},
                [this](bool) { m_activity->rerun(m_activity->shownRun()); });
  m_actions.add({u"run.join"_s, tr("Re&attach"), tr("Show a run that is still active on the machine")},
                [this](bool) { m_activity->rejoin(m_activity->shownRun()); });
  m_actions.add({u"run.file"_s, tr("Choose a Schedule &File…"), tr("An MSCCL XML or a .forest.json to run")},
                [this](bool) {
                  m_workspace.setMode(Mode::run);
                  m_activity->chooseFile();
                });
  m_actions.add({u"run.bundle"_s, tr("Launch &Bundle…"),
                 tr("A folder or archive with everything a run needs, for clusters that the window cannot reach")},
                [this](bool) { m_activity->saveBundle(); });
}

void RunFeature::addMachineActions() {
  m_actions.add({u"run.detect"_s,
                 tr("&Detect a Machine"),
                 tr("Read the fabric of the chosen machine into a new document"),
                 {},
                 u"import"_s},
                [this](bool) { m_activity->detect(m_activity->machinesPanel()->current()); });
  m_actions.add({u"run.compare"_s, tr("&Compare With the Machine"),
                 tr("List how the drawing, or the selected box, differs from the chosen machine")},
                [this](bool) { m_activity->compare(m_activity->machinesPanel()->current()); });
}

void RunFeature::addDocks(const FeatureHost& host) {
  const std::vector<Mode> mode{Mode::run};
  host.addDock({u"machines"_s, tr("Machines"), m_activity->machinesPanel(), Qt::LeftDockWidgetArea, mode});
  host.addDock({u"run-choices"_s, tr("Run"), m_activity->runPanel(), Qt::RightDockWidgetArea, mode});
  const auto add = [&](const QString& id, const QString& title, QWidget* content, const DockGroup& group = {}) {
    host.addDock({id, title, content, Qt::BottomDockWidgetArea, mode, true, group});
  };
  const DockGroup outcome{u"outcome"_s, tr("Results")};
  add(u"results"_s, tr("Table"), m_activity->results(), outcome);
  add(u"run-chart"_s, tr("Chart"), m_activity->chart(), outcome);
  add(u"run-trace"_s, tr("Trace"), m_activity->trace());
  const DockGroup log{u"log"_s, tr("Log")};
  add(u"run-log"_s, tr("Output"), m_activity->log(), log);
  add(u"connection"_s, tr("Connection"), m_activity->connection(), log);
  add(u"runs"_s, tr("Runs"), m_activity->history());
}

void RunFeature::makeDifferences() {
  m_differences->setObjectName(u"differencesDialog"_s);
  m_differences->setWindowTitle(tr("Drawn vs. Detected"));
  auto* layout = new QVBoxLayout(m_differences);
  layout->setContentsMargins({});
  layout->addWidget(m_activity->differences());
  constexpr QSize kUsual(720, 420);
  m_differences->resize(kUsual);
}

void RunFeature::connectActivity() {
  connect(m_activity, &RunActivity::message, &m_workspace, &Workspace::say);
  connect(m_activity, &RunActivity::stateChanged, this, &RunFeature::updateActions);
  connect(m_activity, &RunActivity::dockWanted, this, [this](const QString& id) {
    if (id == u"differences"_s) {
      m_differences->show();
      m_differences->raise();
      m_differences->activateWindow();
    } else if (m_workspace.mode() == Mode::run) {
      m_actions[u"view."_s + id]->trigger();
    }
  });
  connect(m_activity, &RunActivity::elementChosen, this, [this](const ElementId& element) {
    if (current() != nullptr && current()->model().contains(element)) {
      current()->goTo(element);
    }
  });
  connect(m_activity, &RunActivity::fabricDetected, this, &RunFeature::openDetected);
  m_activity->setChosenBox([this] {
    const auto boxes = current() != nullptr ? current()->selection().boxes() : std::vector<BoxId>{};
    return boxes.size() == 1 ? boxes.front() : BoxId{};
  });
  connect(&m_schedules, &ScheduleFeature::currentChanged, this, &RunFeature::follow);
  connect(&m_schedules, &ScheduleFeature::runningChanged, this, &RunFeature::follow);
  connect(&m_workspace, &Workspace::currentChanged, this, &RunFeature::follow);
}

void RunFeature::openDetected(const QByteArray& text, const QString& name) {
  auto read =
      readFabricFile(std::string_view(text.constData(), static_cast<std::size_t>(text.size())), name.toStdString());
  if (!read) {
    m_prompts.failure(m_window, tr("Detect"), QString::fromStdString(describe(read.error())));
    return;
  }
  m_workspace.adopt(std::move(read->model), std::move(read->findings), name);
  m_workspace.say(tr("Read from %1").arg(name));
}

bool RunFeature::take(const QString& path) {
  constexpr qint64 kMax = 64 << 20;
  QFile file(path);
  if (!path.endsWith(u".json"_s) || file.size() > kMax || !file.open(QIODevice::ReadOnly)) {
    return false;
  }
  const QByteArray text = file.readAll();
  constexpr qsizetype kHead = 256;
  // Contents count; the head saves reading large fabrics twice.
  if (!text.left(kHead).contains("\"contention\"") && !text.contains("\"inference\"")) {
    return false;
  }
  const QJsonObject all = QJsonDocument::fromJson(text).object();
  const QString kind = all[u"t"_s].toString();
  const QString name = QFileInfo(path).fileName();
  if (kind == u"contention"_s) {
    m_prompts.failure(m_window, tr("Open"),
                      tr("%1 is a recording of copies. Infer the fabric from it first: coppice-exec infer %1 --json -o "
                         "inferred.json. Then open inferred.json.")
                          .arg(name));
    return true;
  }
  if (kind != u"inference"_s) {
    return false;
  }
  const auto fabricIn = [&](const QString& key) {
    return readFabricFile(QJsonDocument(all[key].toObject()).toJson().toStdString(), name.toStdString());
  };
  auto inferred = fabricIn(u"fabric"_s);
  if (!inferred) {
    m_prompts.failure(m_window, tr("Open"), QString::fromStdString(describe(inferred.error())));
    return true;
  }
  for (const auto& each : all[u"findings"_s].toArray()) {
    const QJsonObject finding = each.toObject();
    inferred->findings.push_back({Severity::warning, ErrorCode::badInput, finding[u"text"_s].toString().toStdString(),
                                  finding[u"fix"_s].toString().toStdString()});
  }
  EditorContext* context =
      m_workspace.adopt(std::move(inferred->model), std::move(inferred->findings), QFileInfo(path).completeBaseName());
  const auto stated = all[u"machine"_s].isObject() ? std::optional(fabricIn(u"machine"_s)) : std::nullopt;
  if (stated && *stated) {
    m_workspace.setMode(Mode::run);  // its docks show the differences
    m_activity->showDifferences(tr("%1 as inferred, and as reported by the system").arg(name), context->model(), {},
                                (*stated)->model);
  } else {
    m_workspace.say(
        tr("%1 does not contain the fabric that the system reports. Run > Compare reads it from a machine.").arg(name));
  }
  return true;
}

void RunFeature::follow() {
  EditorContext* context = current();
  if (context == nullptr) {
    m_activity->setDocument(std::nullopt);
    updateActions();
    return;
  }
  RunDocument document;
  document.name = context->file().displayName();
  document.path = context->file().path();
  document.fabric = [context] { return QByteArray::fromStdString(writeFabricFile(context->model())); };
  document.model = [context]() -> const Model& { return context->model(); };
  if (const ScheduleBook* book = m_schedules.book()) {
    for (const ScheduleEntry& entry : book->entries()) {
      if (entry.result) {
        document.schedules.push_back(runnable(entry));
      }
    }
    if (const ScheduleEntry* entry = book->current()) {
      document.currentKey = u"schedule:%1"_s.arg(entry->id);
    }
  }
  m_activity->setDocument(std::move(document));
  updateActions();
}

void RunFeature::updateActions() {
  const bool isReady = m_activity->isReady();
  m_actions[u"run.start"_s]->setEnabled(isReady);
  m_actions[u"run.start"_s]->setToolTip(isReady || m_activity->isRunning()
                                            ? tr("Run the chosen schedule on the chosen machine")
                                            : m_activity->runPanel()->obstacle());
  enable({"run.stop"}, m_activity->isRunning());
  const std::vector<RunInfo>& runs = m_activity->runs();
  enable({"run.join"}, std::any_of(runs.begin(), runs.end(), [this](const RunInfo& info) {
           return info.id == m_activity->shownRun() && info.state == RunState::lost && info.keepsRunning;
         }));
  enable({"run.again"}, m_activity->canRerun());
  enable({"run.bundle"}, m_activity->runPanel()->schedule() != nullptr);
  enable({"run.compare"}, current() != nullptr);
}

}  // namespace coppice::designer
