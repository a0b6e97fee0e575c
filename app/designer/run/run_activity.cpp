// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/run_activity.hpp"

#include <QDesktopServices>
#include <QFile>
#include <QFileInfo>
#include <QLocale>
#include <QSaveFile>
#include <QStandardPaths>
#include <QUrl>
#include <algorithm>
#include <chrono>
#include <utility>

#include "coppice/version.hpp"
#include "designer/document/exchange.hpp"
#include "designer/run/launch_bundle.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

constexpr qint64 kMostScheduleBytes = qint64{256} << 20;

}  // namespace

RunActivity::RunActivity(RunPrompts prompts, RunOptions options, QWidget* window)
    : QObject(window),
      m_prompts(std::move(prompts)),
      m_options(std::move(options)),
      m_book(m_options.environment, m_options.keepsSettings),
      m_machinesPanel(new MachinesPanel(m_book, window)),
      m_runPanel(new RunPanel(m_book, window)),
      m_results(new ResultsPanel(window)),
      m_chart(new RunChart(window)),
      m_trace(new TracePanel(window)),
      m_log(new LogPanel(window)),
      m_connectionPanel(new ConnectionPanel(window)),
      m_history(new HistoryPanel(window)),
      m_differences(new DifferencesPanel(window)) {
  if (m_options.dataFolder.isEmpty()) {
    m_options.dataFolder = QStandardPaths::writableLocation(QStandardPaths::AppLocalDataLocation) + u"/runs"_s;
  }
  connect(m_machinesPanel, &MachinesPanel::currentChanged, this, [this](const QString& id) {
    m_runPanel->setMachine(id);
    m_connectionPanel->setConnection(m_book.connection(id));
    Q_EMIT stateChanged();
  });
  connect(m_machinesPanel, &MachinesPanel::refused, this, &RunActivity::message);
  connect(m_machinesPanel, &MachinesPanel::detectWanted, this, &RunActivity::detect);
  connect(m_machinesPanel, &MachinesPanel::compareWanted, this, &RunActivity::compare);
  connect(&m_book, &MachineBook::connectionChanged, this, [this](const QString& id) {
    Connection* connection = m_book.connection(id);
    const Connection::State state = connection->state();
    if (id == m_machinesPanel->current() &&
        (state == Connection::State::failed || state == Connection::State::needsConsent)) {
      Q_EMIT dockWanted(u"connection"_s);
    }
    if (state == Connection::State::lost || state == Connection::State::failed) {
      Q_EMIT message(connection->message());
    }
    if (id == m_waitingFor && state != Connection::State::connecting) {
      m_waitingFor.clear();
      const auto then = std::exchange(m_then, nullptr);
      if (state == Connection::State::ready && then) {
        then(*connection);
      }
    }
    Q_EMIT stateChanged();
  });
  connect(m_runPanel, &RunPanel::runWanted, this, &RunActivity::start);
  connect(m_runPanel, &RunPanel::stopWanted, this, &RunActivity::stop);
  connect(m_runPanel, &RunPanel::fileWanted, this, &RunActivity::chooseFile);
  connect(m_runPanel, &RunPanel::bundleWanted, this, &RunActivity::saveBundle);
  connect(m_runPanel, &RunPanel::readyChanged, this, &RunActivity::stateChanged);
  connect(m_results, &ResultsPanel::rerunWanted, this, [this] { rerun(m_shown); });
  connect(m_results, &ResultsPanel::rejoinWanted, this, [this] { rejoin(m_shown); });
  connect(m_results, &ResultsPanel::saveWanted, this, &RunActivity::save);
  connect(m_log, &LogPanel::saveWanted, this, &RunActivity::save);
  connect(m_history, &HistoryPanel::chosen, this, &RunActivity::show);
  connect(m_history, &HistoryPanel::tickedChanged, this, &RunActivity::updateChart);
  connect(m_history, &HistoryPanel::rerunWanted, this, &RunActivity::rerun);
  connect(m_history, &HistoryPanel::rejoinWanted, this, &RunActivity::rejoin);
  connect(m_history, &HistoryPanel::removeWanted, this, &RunActivity::remove);
  connect(m_history, &HistoryPanel::folderWanted, this, [this](const QString& id) {
    if (const RunInfo* info = find(id)) {
      QDesktopServices::openUrl(QUrl::fromLocalFile(info->folder));
    }
  });
  connect(m_differences, &DifferencesPanel::elementChosen, this, &RunActivity::elementChosen);
  m_runPanel->setMachine(m_machinesPanel->current());
  m_connectionPanel->setConnection(m_book.connection(m_machinesPanel->current()));
  // While a run is silent nothing else would say so.
  m_beat.setInterval(1s);
  connect(&m_beat, &QTimer::timeout, this, [this] {
    if (m_live && m_live->isSilent()) {
      showLive();
    }
  });
}

RunActivity::~RunActivity() {
  m_then = nullptr;
  m_live.reset();
}

QString RunActivity::folder() const {
  return RunStore::folderFor(m_document ? m_document->path : QString(), m_options.dataFolder);
}

void RunActivity::setDocument(std::optional<RunDocument> document) {
  m_document = std::move(document);
  m_runPanel->setSchedules(m_document ? m_document->schedules : std::vector<RunnableSchedule>{},
                           m_document ? m_document->currentKey : QString());
  if (folder() != m_folder) {
    m_folder = folder();
    reload();
  }
  Q_EMIT stateChanged();
}

void RunActivity::reload() {
  m_runs = RunStore::list(m_folder);
  m_data.clear();
  for (RunInfo& info : m_runs) {
    const bool isOurs = m_live && m_live->info().id == info.id;
    if (!isOurs && (info.state == RunState::running || info.state == RunState::preparing)) {
      // Of a window that is gone, or of another one.
      info.state = RunState::lost;
      info.reason = info.keepsRunning ? tr("left running") : tr("the window was closed");
    }
  }
  m_shown.clear();
  if (m_live && m_live->info().folder.startsWith(m_folder + u'/')) {
    m_data[m_live->info().id] = m_live->sharedData();
    show(m_live->info().id);
  } else if (!m_runs.empty()) {
    show(m_runs.front().id);
  } else {
    m_results->clear();
    m_log->setRun(nullptr);
    m_trace->setRun(nullptr);
    updateChart();
  }
  refreshRuns();
}

RunInfo* RunActivity::find(const QString& id) {
  const auto found = std::find_if(m_runs.begin(), m_runs.end(), [&](const RunInfo& info) { return info.id == id; });
  return found != m_runs.end() ? &*found : nullptr;
}

std::shared_ptr<RunData> RunActivity::dataOf(const QString& id) {
  if (m_live && m_live->info().id == id) {
    return m_live->sharedData();
  }
  if (const auto known = m_data.find(id); known != m_data.end()) {
    return known->second;
  }
  const RunInfo* info = find(id);
  return info != nullptr ? (m_data[id] = RunStore::load(*info)) : nullptr;
}

void RunActivity::refreshRuns() {
  m_history->setRuns(m_runs, m_shown);
}

bool RunActivity::isRunning() const {
  return m_live && (m_live->state() == RunState::running || m_live->state() == RunState::preparing);
}

// ---- showing

void RunActivity::show(const QString& id) {
  const RunInfo* info = find(id);
  const std::shared_ptr<RunData> data = dataOf(id);
  if (info == nullptr || !data) {
    return;
  }
  m_shown = id;
  const bool isLive = m_live && m_live->info().id == id;
  m_results->setRun(*info, data, isLive, isLive && m_live->isSilent());
  m_log->setRun(data);
  m_trace->setRun(data);
  updateChart();
}

void RunActivity::updateChart() {
  std::vector<RunChart::Series> series;
  QStringList ids;
  if (!m_shown.isEmpty()) {
    ids << m_shown;
  }
  for (const QString& id : m_history->ticked()) {
    if (!ids.contains(id)) {
      ids << id;
    }
  }
  for (const QString& id : ids) {
    const RunInfo* info = find(id);
    if (const std::shared_ptr<RunData> data = dataOf(id); data && info != nullptr) {
      const QString backend = data->environment() ? QString::fromStdString(data->environment()->backend) : QString();
      const QString time = QLocale().toString(info->started.toLocalTime().time(), QLocale::ShortFormat);
      series.push_back({u"%1 · %2 %3 · %4"_s.arg(info->scheduleName, info->machine, backend, time), data});
    }
  }
  m_chart->setSeries(std::move(series));
}

void RunActivity::showLive() {
  if (!m_live) {
    return;
  }
  if (RunInfo* info = find(m_live->info().id)) {
    *info = m_live->info();
  }
  if (m_shown == m_live->info().id) {
    show(m_shown);
  }
  m_runPanel->setRunning(isRunning(), m_live->isCancelling());
}

// ---- running

void RunActivity::whenReady(const QString& machine, std::function<void(Connection&)> then) {
  Connection* connection = m_book.connection(machine);
  if (connection == nullptr) {
    Q_EMIT message(tr("This machine is not in the list any more; add it again."));
    return;
  }
  if (connection->state() == Connection::State::ready) {
    then(*connection);
    return;
  }
  m_waitingFor = machine;
  m_then = std::move(then);
  if (connection->state() != Connection::State::connecting) {
    connection->open();
  }
}

void RunActivity::start() {
  if (!m_runPanel->isReady() || isRunning()) {
    Q_EMIT message(isRunning() ? tr("A run is under way; stop it first (Shift+F5).") : m_runPanel->obstacle());
    return;
  }
  const RunnableSchedule* chosen = m_runPanel->schedule();
  const Result<QByteArray> bytes = chosen->bytes();
  if (!bytes) {
    m_prompts.failure(tr("Run"), QString::fromStdString(describe(bytes.error())));
    return;
  }
  RunSubject subject{m_document ? m_document->name : QString(), chosen->name, *bytes,
                     m_document && m_document->fabric ? m_document->fabric() : QByteArray()};
  whenReady(m_runPanel->machine(),
            [this, subject = std::move(subject), request = m_runPanel->request(), suffix = chosen->suffix,
             keeps = m_runPanel->keepsRunning()](Connection& connection) {
              startRun(connection, subject, request, suffix, keeps);
            });
}

void RunActivity::startRun(Connection& connection, const RunSubject& subject, const program::RunRequest& request,
                           const QString& suffix, bool keepsRunning) {
  RunInfo info;
  info.id = newRunId();
  info.machineId = connection.machine().id();
  info.machine = connection.machine().isLocal() ? connection.facts().host : connection.machine().title();
  info.scheduleFile = u"schedule."_s + suffix;
  info.started = QDateTime::currentDateTimeUtc();
  info.keepsRunning = keepsRunning;
  info.request = request;
  info.request.schedule = info.scheduleFile.toStdString();
  program::RunJob job;
  job.arguments = program::executorArguments(info.request, true);
  job.endsWithStarter = !keepsRunning;
  auto made = RunStore::create(m_folder, subject, std::move(info), job);
  if (!made) {
    m_prompts.failure(tr("Run"), QString::fromStdString(describe(made.error())));
    return;
  }
  m_runs.insert(m_runs.begin(), *made);
  follow(std::make_unique<LiveRun>(std::move(*made), connection));
  m_live->start();
  Q_EMIT dockWanted(u"results"_s);
}

void RunActivity::follow(std::unique_ptr<LiveRun> run) {
  m_live = std::move(run);
  m_data[m_live->info().id] = m_live->sharedData();
  connect(m_live.get(), &LiveRun::advanced, this, &RunActivity::showLive);
  connect(m_live.get(), &LiveRun::stateChanged, this, [this] {
    m_data[m_live->info().id] = m_live->sharedData();
    showLive();
    refreshRuns();
    if (!isRunning()) {
      Q_EMIT message(tr("The run has ended: %1").arg(outcomeText(m_live->info(), &m_live->data())));
      m_beat.stop();
    }
    Q_EMIT stateChanged();
  });
  m_beat.start();
  show(m_live->info().id);
  refreshRuns();
}

void RunActivity::stop() {
  if (isRunning()) {
    m_live->cancel();
  } else if (!m_waitingFor.isEmpty()) {
    m_then = nullptr;
    if (Connection* connection = m_book.connection(std::exchange(m_waitingFor, {}))) {
      connection->close();
    }
  }
}

void RunActivity::rerun(const QString& id) {
  const RunInfo* info = find(id);
  if (info == nullptr || isRunning()) {
    return;
  }
  auto subject = RunStore::subject(*info);
  if (!subject) {
    m_prompts.failure(tr("Run Again"), QString::fromStdString(describe(subject.error())));
    return;
  }
  QString suffix = info->scheduleFile.section(u'.', 1);
  whenReady(info->machineId,
            [this, subject = std::move(*subject), request = info->request, suffix, keeps = info->keepsRunning](
                Connection& connection) { startRun(connection, subject, request, suffix, keeps); });
}

void RunActivity::rejoin(const QString& id) {
  const RunInfo* info = find(id);
  if (info == nullptr || isRunning()) {
    return;
  }
  whenReady(info->machineId, [this, copy = *info](Connection& connection) {
    follow(std::make_unique<LiveRun>(copy, connection));
    m_live->rejoin();
    Q_EMIT dockWanted(u"results"_s);
  });
}

void RunActivity::remove(const QString& id) {
  const RunInfo* info = find(id);
  if (info == nullptr || (m_live && m_live->info().id == id && isRunning()) ||
      !m_prompts.confirm(tr("Delete Run"), tr("Delete the run “%1” with its results and log?").arg(info->title()),
                         tr("Delete"), tr("Keep"))) {
    return;
  }
  if (!RunStore::remove(*info)) {
    Q_EMIT message(tr("%1 could not be deleted.").arg(info->folder));
    return;
  }
  if (m_live && m_live->info().id == id) {
    m_live.reset();
  }
  m_data.erase(id);
  std::erase_if(m_runs, [&](const RunInfo& each) { return each.id == id; });
  reload();
}

// ---- machines as fabrics

void RunActivity::probe(const QString& machine, std::function<void(QByteArray, QString)> done) {
  whenReady(machine, [this, done = std::move(done)](Connection& connection) {
    const Connection::Command command = connection.executorCommand({u"probe"_s, u"--fabric"_s});
    const QString title = connection.facts().host.isEmpty() ? connection.machine().title() : connection.facts().host;
    Q_EMIT message(tr("Reading %1…").arg(title));
    constexpr int kSeconds = 60;
    m_probe.start(command.program, command.arguments, {}, kSeconds, [this, done, title](const CallResult& result) {
      if (!result.isGood() || result.output.isEmpty()) {
        Q_EMIT message(tr("No fabric was found in %1").arg(title));
        QString why = QString::fromUtf8(result.errors).trimmed().section(u'\n', -1);
        why.remove(u"coppice-exec: "_s);
        m_prompts.failure(tr("Detect"), tr("No fabric was found in %1.").arg(title) + u"\n\n"_s +
                                            (result.isTimedOut ? tr("There was no answer in time.") : why));
        return;
      }
      done(result.output, title);
    });
  });
}

void RunActivity::detect(const QString& machine) {
  probe(machine, [this](const QByteArray& text, const QString& title) { Q_EMIT fabricDetected(text, title); });
}

void RunActivity::compare(const QString& machine) {
  if (!m_document || !m_document->model) {
    Q_EMIT message(tr("Open the drawing first that the machine is to be compared with."));
    return;
  }
  probe(machine, [this](const QByteArray& text, const QString& title) {
    const auto read =
        readFabricFile(std::string_view(text.constData(), static_cast<std::size_t>(text.size())), title.toStdString());
    if (!read) {
      m_prompts.failure(tr("Compare"), QString::fromStdString(describe(read.error())));
      return;
    }
    if (!m_document || !m_document->model) {
      return;
    }
    const Model& model = m_document->model();
    const BoxId box = m_chosenBox ? m_chosenBox() : BoxId{};
    const QString what = box.isValid() ? QString::fromStdString(model.boxPath(box)) : m_document->name;
    m_differences->setDifferences(tr("%1 as drawn, %2 as found").arg(what, title),
                                  compareFabrics(model, box, read->model));
    Q_EMIT dockWanted(u"differences"_s);
  });
}

// ---- files

void RunActivity::chooseFile() {
  const QString path = m_prompts.fileToOpen(tr("Schedules (*.xml *.forest.json);;All files (*)"));
  if (path.isEmpty()) {
    return;
  }
  RunnableSchedule schedule;
  schedule.key = u"file:"_s + path;
  schedule.name = QFileInfo(path).fileName();
  schedule.suffix = path.endsWith(u".json"_s, Qt::CaseInsensitive) ? u"forest.json"_s : u"xml"_s;
  // Read at the run, so that what is run is what the file then says.
  schedule.bytes = [path]() -> Result<QByteArray> {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) {
      return Error{ErrorCode::io, path.toStdString() + " cannot be read", "check the path and its permissions"};
    }
    if (file.size() > kMostScheduleBytes) {
      return Error{ErrorCode::limit, path.toStdString() + " is longer than 256 MiB", "this is hardly a schedule"};
    }
    return file.readAll();
  };
  m_runPanel->addFile(schedule);
}

void RunActivity::save(const QString& suggestion, const QByteArray& text) {
  const QString path = m_prompts.fileToSave(suggestion, tr("All files (*)"));
  if (path.isEmpty()) {
    return;
  }
  QSaveFile file(path);
  if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size() || !file.commit()) {
    m_prompts.failure(tr("Save"), tr("%1 cannot be written: %2").arg(path, file.errorString()));
  }
}

void RunActivity::saveBundle() {
  const RunnableSchedule* chosen = m_runPanel->schedule();
  if (chosen == nullptr) {
    Q_EMIT message(tr("There is no schedule yet: generate one with F5, or choose a file."));
    return;
  }
  const Result<QByteArray> bytes = chosen->bytes();
  if (!bytes) {
    m_prompts.failure(tr("Launch Bundle"), QString::fromStdString(describe(bytes.error())));
    return;
  }
  const QString path = m_prompts.fileToSave(u"coppice-run.tar.gz"_s,
                                            tr("Archives (*.tar.gz *.tar);;Folder: a name without an ending (*)"));
  if (path.isEmpty()) {
    return;
  }
  const QString program = m_options.environment.executor.isEmpty() ? findExecutor() : m_options.environment.executor;
  const auto executor = readExecutor(program);
  const remote::BundleFacts facts{chosen->name.toStdString(), kVersion, chosen->ranks, static_cast<bool>(executor)};
  const Outcome written = writeBundle(path, m_runPanel->request(), facts, *bytes, executor ? &*executor : nullptr);
  if (!written) {
    m_prompts.failure(tr("Launch Bundle"), QString::fromStdString(describe(written.error())));
  } else {
    Q_EMIT message(executor ? tr("Saved %1").arg(path)
                            : tr("Saved %1, without the executor: it is not installed here").arg(path));
  }
}

}  // namespace coppice::designer
