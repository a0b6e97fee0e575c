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
#include <filesystem>
#include <utility>

#include "coppice/version.hpp"
#include "designer/document/error_text.hpp"
#include "designer/document/exchange.hpp"
#include "designer/run/launch_bundle.hpp"
#include "remote/executor_files.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

constexpr qint64 kMaxScheduleBytes = qint64{256} << 20;

/// nullopt: it cannot be read, or the reading was stopped.
std::optional<workflow::ScheduleFacts> factsOf(const QByteArray& text, const QString& name, const Progress& progress) {
  try {
    const auto facts = workflow::scheduleFacts(text.toStdString(), name.toStdString(), progress);
    return facts ? std::optional(*facts) : std::nullopt;
  } catch (const CancelledError&) {
    return std::nullopt;
  } catch (const std::exception&) {  // too large for the memory
    return std::nullopt;
  }
}

}  // namespace

RunActivity::RunActivity(Prompts& prompts, RunOptions options, QWidget* window)
    : QObject(window),
      m_prompts(prompts),
      m_window(window),
      m_options(std::move(options)),
      m_book(m_options.environment, m_options.keepsSettings),
      m_probe([this](const std::shared_ptr<const Result<Captured>>& said) { m_onProbed(*said); }, 0ms),
      m_machinesPanel(new MachinesPanel(m_book, window)),
      m_runPanel(new RunPanel(m_book, window)),
      m_fileJob(
          [this](const std::shared_ptr<const FileFacts>& file) {
            if (file->facts) {
              m_runPanel->setFileFacts(file->key, *file->facts);
            }
          },
          0ms),
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
    m_connectionPanel->setConnection(m_book.connection(id));
    Q_EMIT stateChanged();
  });
  connect(m_machinesPanel, &MachinesPanel::chosenChanged, this, [this] {
    m_runPanel->setMachines(m_machinesPanel->chosen());
    updateRunning();
    Q_EMIT stateChanged();
  });
  connect(m_machinesPanel, &MachinesPanel::refused, this, &RunActivity::message);
  connect(m_machinesPanel, &MachinesPanel::detectWanted, this, &RunActivity::detect);
  connect(m_machinesPanel, &MachinesPanel::compareWanted, this, &RunActivity::compare);
  connect(&m_book, &MachineBook::connectionChanged, this, [this](const QString& id) {
    Connection* connection = m_book.connection(id);
    const Connection::State state = connection->state();
    if (m_machinesPanel->chosen().contains(id) &&
        (state == Connection::State::failed || state == Connection::State::needsConsent)) {
      m_connectionPanel->setConnection(connection);
      Q_EMIT dockWanted(u"connection"_s);
    }
    if (state == Connection::State::lost || state == Connection::State::failed) {
      m_troubled.insert(id);
      Q_EMIT message(connection->message());
    } else if (state == Connection::State::ready && m_troubled.remove(id)) {
      // The message of the failure would still be there.
      Q_EMIT message(tr("%1 is connected.").arg(connection->machine().title()));
    }
    serveWaiting(id);
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
  connect(m_history, &HistoryPanel::stopWanted, this, &RunActivity::stopRun);
  connect(m_history, &HistoryPanel::removeWanted, this, &RunActivity::remove);
  connect(m_history, &HistoryPanel::folderWanted, this, [this](const QString& id) {
    if (const RunInfo* info = find(id)) {
      QDesktopServices::openUrl(QUrl::fromLocalFile(info->folder));
    }
  });
  connect(m_differences, &DifferencesPanel::elementChosen, this, &RunActivity::elementChosen);
  m_runPanel->setMachines(m_machinesPanel->chosen());
  m_connectionPanel->setConnection(m_book.connection(m_machinesPanel->current()));
  // While a run is silent nothing else would say so.
  m_beat.setInterval(1s);
  connect(&m_beat, &QTimer::timeout, this, [this] {
    for (const auto& [id, run] : m_live) {
      if (run->isSilent()) {
        showLive(*run);
      }
    }
  });
}

RunActivity::~RunActivity() {
  m_waiting.clear();
  m_live.clear();
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
    if (live(info.id) == nullptr && (info.state == RunState::running || info.state == RunState::preparing)) {
      // Of a window that is gone, or of another one.
      info.state = RunState::lost;
      info.reason = info.keepsRunning ? tr("left running") : tr("the window was closed");
    }
  }
  m_shown.clear();
  const auto own = std::find_if(m_live.begin(), m_live.end(), [&](const auto& each) {
    return each.second->isUnderWay() && each.second->info().folder.startsWith(m_folder + u'/');
  });
  if (own != m_live.end()) {
    show(own->first);
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
  if (const LiveRun* run = live(id)) {
    return run->sharedData();
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

LiveRun* RunActivity::live(const QString& id) const {
  const auto found = m_live.find(id);
  return found != m_live.end() ? found->second.get() : nullptr;
}

LiveRun* RunActivity::runOn(const QStringList& machines) const {
  for (const auto& [id, run] : m_live) {
    const QStringList used = run->info().machines();
    if (run->isUnderWay() &&
        std::any_of(used.begin(), used.end(), [&](const QString& each) { return machines.contains(each); })) {
      return run.get();
    }
  }
  return nullptr;
}

bool RunActivity::isRunning() const {
  return std::any_of(m_live.begin(), m_live.end(), [](const auto& each) { return each.second->isUnderWay(); });
}

bool RunActivity::canRerun() const {
  const auto info = std::find_if(m_runs.begin(), m_runs.end(), [&](const RunInfo& each) { return each.id == m_shown; });
  return info != m_runs.end() && runOn(info->machines()) == nullptr;
}

void RunActivity::tellBusy(const LiveRun& run) {
  Q_EMIT message(tr("%1 is already running “%2”. Stop that run first (Shift+F5).")
                     .arg(run.info().machine, run.info().scheduleName));
}

// ---- showing

void RunActivity::show(const QString& id) {
  const RunInfo* info = find(id);
  const std::shared_ptr<RunData> data = dataOf(id);
  if (info == nullptr || !data) {
    return;
  }
  m_shown = id;
  const LiveRun* run = live(id);
  m_results->setRun(*info, data, run != nullptr, run != nullptr && run->isSilent());
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
  QStringList others = m_history->ticked();
  for (const auto& [id, run] : m_live) {
    if (run->isUnderWay()) {
      others << id;
    }
  }
  for (const QString& id : std::as_const(others)) {
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

void RunActivity::showLive(const LiveRun& run) {
  const QString id = run.info().id;
  if (RunInfo* info = find(id)) {
    *info = run.info();
  }
  if (m_shown == id) {
    show(m_shown);
  } else {
    updateChart();
  }
  if (run.isUnderWay()) {
    QString text = outcomeText(run.info(), &run.data());
    if (const auto& progress = run.data().progress()) {
      text += u" · %1 %"_s.arg(static_cast<int>(progress->fraction * 100));
    }
    m_history->setOutcome(id, run.isSilent() ? tr("no response; waiting for the machine…") : text);
  }
  updateRunning();
}

/// Run or Stop: that of the chosen machines.
void RunActivity::updateRunning() {
  const LiveRun* run = runOn(m_runPanel->machines());
  m_runPanel->setRunning(run != nullptr, run != nullptr && run->isCancelling());
}

// ---- running

void RunActivity::whenReady(const QStringList& machines, std::function<void(const Machines&)> then) {
  Machines connections;
  for (const QString& id : machines) {
    Connection* connection = m_book.connection(id);
    if (connection == nullptr) {
      Q_EMIT message(tr("This machine is no longer in the list. Add it again."));
      return;
    }
    connections.push_back(connection);
  }
  const auto isReady = [](const Connection* each) { return each->state() == Connection::State::ready; };
  if (std::all_of(connections.begin(), connections.end(), isReady)) {
    then(connections);
    return;
  }
  // Before waiting starts: opening passes through states in which no run is possible.
  for (Connection* connection : connections) {
    if (!isReady(connection) && connection->state() != Connection::State::connecting) {
      connection->open();
    }
  }
  m_waiting.push_back({machines, std::move(then)});
  serveWaiting(machines.front());
}

void RunActivity::serveWaiting(const QString& changed) {
  for (std::size_t i = 0; i < m_waiting.size();) {
    if (!m_waiting[i].machines.contains(changed)) {
      ++i;
      continue;
    }
    Machines connections;
    bool isReady = true;
    bool isHopeless = false;
    for (const QString& id : std::as_const(m_waiting[i].machines)) {
      Connection* connection = m_book.connection(id);
      const auto state = connection != nullptr ? connection->state() : Connection::State::failed;
      isReady = isReady && state == Connection::State::ready;
      isHopeless = isHopeless || (state != Connection::State::ready && state != Connection::State::connecting);
      connections.push_back(connection);
    }
    if (!isReady && !isHopeless) {
      ++i;
      continue;
    }
    const auto then = std::move(m_waiting[i].then);
    m_waiting.erase(m_waiting.begin() + static_cast<std::ptrdiff_t>(i));
    if (isReady) {
      then(connections);
      // It may have changed who waits.
      i = 0;
    }
  }
}

void RunActivity::start() {
  if (const LiveRun* run = runOn(m_runPanel->machines())) {
    tellBusy(*run);
    return;
  }
  if (!m_runPanel->isReady()) {
    Q_EMIT message(m_runPanel->obstacle());
    return;
  }
  const RunnableSchedule* chosen = m_runPanel->schedule();
  const Result<QByteArray> bytes = chosen->bytes();
  if (!bytes) {
    m_prompts.failure(m_window, tr("Run"), errorText(bytes.error()));
    return;
  }
  RunSubject subject{m_document ? m_document->name : QString(), chosen->name, *bytes,
                     m_document && m_document->fabric ? m_document->fabric() : QByteArray()};
  Choices choices{m_runPanel->request(), m_runPanel->shares(), chosen->suffix, m_runPanel->keepsRunning()};
  whenReady(m_runPanel->machines(), [this, subject = std::move(subject), choices = std::move(choices)](
                                        const Machines& machines) { startRun(machines, subject, choices); });
}

void RunActivity::startRun(const Machines& machines, const RunSubject& subject, const Choices& choices) {
  RunInfo info;
  info.id = newRunId();
  QStringList titles;
  for (const Connection* connection : machines) {
    const Machine& machine = connection->machine();
    titles << (machine.isLocal() ? connection->facts().host : machine.title());
    if (info.machineId.isEmpty()) {
      info.machineId = machine.id();
    } else {
      info.otherMachines << machine.id();
    }
  }
  // While the machines were being connected another may have begun.
  if (const LiveRun* run = runOn(info.machines())) {
    tellBusy(*run);
    return;
  }
  info.machine = titles.join(u" + "_s);
  info.shares = choices.shares;
  info.scheduleFile = u"schedule."_s + choices.suffix;
  info.started = QDateTime::currentDateTimeUtc();
  info.keepsRunning = choices.keepsRunning;
  info.request = choices.request;
  info.request.schedule = info.scheduleFile.toStdString();
  program::RunJob job;
  job.arguments = program::executorArguments(info.request, true);
  job.endsWithStarter = !choices.keepsRunning;
  auto made = RunStore::create(m_folder, subject, std::move(info), job);
  if (!made) {
    m_prompts.failure(m_window, tr("Run"), errorText(made.error()));
    return;
  }
  m_runs.insert(m_runs.begin(), *made);
  follow(std::make_unique<LiveRun>(std::move(*made), *machines.front(), Machines(machines.begin() + 1, machines.end())))
      .start();
  Q_EMIT dockWanted(u"results"_s);
}

LiveRun& RunActivity::follow(std::unique_ptr<LiveRun> followed) {
  LiveRun* const run = followed.get();
  const QString id = run->info().id;
  // What is over is kept on the disk and in m_data.
  std::erase_if(m_live, [](const auto& each) { return !each.second->isUnderWay(); });
  m_live[id] = std::move(followed);
  m_data[id] = run->sharedData();
  connect(run, &LiveRun::advanced, this, [this, run] { showLive(*run); });
  connect(run, &LiveRun::stateChanged, this, [this, run, id] {
    m_data[id] = run->sharedData();
    showLive(*run);
    refreshRuns();
    if (run->info().state == RunState::ended && run->info().reason.isEmpty() &&
        run->info().code == static_cast<int>(program::RunExit::cancelled)) {
      Q_EMIT message(tr("Stopped."));
    } else if (!run->isUnderWay()) {
      Q_EMIT message(
          tr("The run on %1 has ended: %2").arg(run->info().machine, outcomeText(run->info(), &run->data())));
    }
    if (!isRunning()) {
      m_beat.stop();
    }
    Q_EMIT stateChanged();
  });
  m_beat.start();
  Q_EMIT message(tr("Running “%1” on %2…").arg(run->info().scheduleName, run->info().machine));
  show(id);
  refreshRuns();
  return *run;
}

void RunActivity::stopRun(const QString& id) {
  if (LiveRun* run = live(id); run != nullptr && run->isUnderWay()) {
    run->cancel();
  }
}

void RunActivity::stop() {
  const QStringList chosen = m_runPanel->machines();
  LiveRun* run = live(m_shown);
  if (run == nullptr || !run->isUnderWay()) {
    run = runOn(chosen);
  }
  if (run != nullptr) {
    run->cancel();
    return;
  }
  for (std::size_t i = 0; i < m_waiting.size(); ++i) {
    if (m_waiting[i].machines == chosen) {
      m_waiting.erase(m_waiting.begin() + static_cast<std::ptrdiff_t>(i));
      for (const QString& id : chosen) {
        if (Connection* connection = m_book.connection(id);
            connection != nullptr && connection->state() == Connection::State::connecting) {
          connection->close();
        }
      }
      return;
    }
  }
  for (const auto& [id, each] : m_live) {
    if (each->isUnderWay()) {
      each->cancel();
      return;
    }
  }
}

void RunActivity::rerun(const QString& id) {
  const RunInfo* info = find(id);
  if (info == nullptr) {
    return;
  }
  if (const LiveRun* run = runOn(info->machines())) {
    tellBusy(*run);
    return;
  }
  auto subject = RunStore::subject(*info);
  if (!subject) {
    m_prompts.failure(m_window, tr("Run Again"), errorText(subject.error()));
    return;
  }
  Choices choices{info->request, info->shares, info->scheduleFile.section(u'.', 1), info->keepsRunning};
  whenReady(info->machines(), [this, subject = std::move(*subject), choices = std::move(choices)](
                                  const Machines& machines) { startRun(machines, subject, choices); });
}

void RunActivity::rejoin(const QString& id) {
  const RunInfo* info = find(id);
  if (info == nullptr) {
    return;
  }
  if (const LiveRun* run = runOn(info->machines())) {
    tellBusy(*run);
    return;
  }
  whenReady(info->machines(), [this, copy = *info](const Machines& machines) {
    follow(std::make_unique<LiveRun>(copy, *machines.front(), Machines(machines.begin() + 1, machines.end()))).rejoin();
    Q_EMIT dockWanted(u"results"_s);
  });
}

void RunActivity::remove(const QString& id) {
  const RunInfo* info = find(id);
  const LiveRun* run = live(id);
  if (info == nullptr || (run != nullptr && run->isUnderWay()) ||
      !m_prompts
           .choice(m_window, tr("Delete Run"), tr("Delete the run “%1” with its results and log?").arg(info->title()),
                   tr("Delete"), tr("Keep"))
           .value_or(false)) {
    return;
  }
  if (!RunStore::remove(*info)) {
    Q_EMIT message(tr("%1 could not be deleted.").arg(info->folder));
    return;
  }
  m_live.erase(id);
  m_data.erase(id);
  std::erase_if(m_runs, [&](const RunInfo& each) { return each.id == id; });
  reload();
}

// ---- machines as fabrics

void RunActivity::probe(const QString& machine, const QString& purpose, std::function<void(QByteArray, QString)> done) {
  whenReady({machine}, [this, purpose, done = std::move(done)](const Machines& machines) {
    const Connection& connection = *machines.front();
    const QString title = connection.facts().host.isEmpty() ? connection.machine().title() : connection.facts().host;
    Q_EMIT message(tr("Reading %1…").arg(title));
    m_onProbed = [this, purpose, done, title](const Result<Captured>& said) {
      if (said && said->status == 0 && !said->isTimedOut && !said->output.empty()) {
        done(QByteArray::fromStdString(said->output), title);
        return;
      }
      Q_EMIT message(tr("No fabric was found in %1").arg(title));
      QString why = QString::fromStdString(said ? said->errors : said.error().message).trimmed().section(u'\n', -1);
      why.remove(u"coppice-exec: "_s);
      m_prompts.failure(m_window, purpose,
                        tr("No fabric was found in %1.").arg(title) + u"\n\n"_s +
                            (said && said->isTimedOut ? tr("There was no answer in time.") : why));
    };
    m_probe.submit([session = connection.session(), closed = connection.closed()](const std::stop_token& gone) {
      std::stop_source stop;
      const auto request = [&stop] { stop.request_stop(); };
      const std::stop_callback whenGone(gone, request);
      const std::stop_callback whenClosed(closed, request);
      return std::make_shared<const Result<Captured>>(
          capture(session->executorCommand({"probe", "--fabric"}), {}, stop.get_token(), {session->limits().selfTest}));
    });
  });
}

void RunActivity::detect(const QString& machine) {
  probe(machine, tr("Detect"),
        [this](const QByteArray& text, const QString& title) { Q_EMIT fabricDetected(text, title); });
}

void RunActivity::compare(const QString& machine) {
  if (!m_document || !m_document->model) {
    Q_EMIT message(tr("Open the drawing to compare with the machine first."));
    return;
  }
  probe(machine, tr("Compare"), [this](const QByteArray& text, const QString& title) {
    const auto read =
        readFabricFile(std::string_view(text.constData(), static_cast<std::size_t>(text.size())), title.toStdString());
    if (!read) {
      m_prompts.failure(m_window, tr("Compare"), errorText(read.error()));
      return;
    }
    if (!m_document || !m_document->model) {
      return;
    }
    const Model& model = m_document->model();
    const BoxId box = m_chosenBox ? m_chosenBox() : BoxId{};
    const QString what = box.isValid() ? QString::fromStdString(model.boxPath(box)) : m_document->name;
    showDifferences(tr("%1 as drawn, %2 as detected").arg(what, title), model, box, read->model);
  });
}

void RunActivity::showDifferences(const QString& title, const Model& drawn, BoxId box, const Model& found) {
  m_differences->setDifferences(title, compareFabrics(drawn, box, found));
  Q_EMIT dockWanted(u"differences"_s);
}

// ---- files

void RunActivity::chooseFile() {
  const QStringList files =
      m_prompts.filesToOpen(m_window, {}, tr("Schedules (*.xml *.forest.json *.schedule.json);;All files (*)"));
  if (files.isEmpty()) {
    return;
  }
  const QString& path = files.front();
  RunnableSchedule schedule;
  schedule.key = u"file:"_s + path;
  schedule.name = QFileInfo(path).fileName();
  schedule.suffix = path.endsWith(u".schedule.json"_s, Qt::CaseInsensitive) ? u"schedule.json"_s
                    : path.endsWith(u".json"_s, Qt::CaseInsensitive)        ? u"forest.json"_s
                                                                            : u"xml"_s;
  // Read at the run, so that what is run is what the file then says.
  schedule.bytes = [path]() -> Result<QByteArray> {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) {
      return Error{ErrorCode::io, path.toStdString() + " cannot be read", "check the path and its permissions"};
    }
    if (file.size() > kMaxScheduleBytes) {
      return Error{ErrorCode::limit, path.toStdString() + " is longer than 256 MiB", "check that it is a schedule"};
    }
    return file.readAll();
  };
  m_runPanel->addFile(schedule);
  // What the file is wrong in, the executor says at the run.
  m_fileJob.submit([key = schedule.key, bytes = schedule.bytes](std::stop_token stop) {
    auto file = std::make_shared<FileFacts>();
    file->key = key;
    Progress progress;
    progress.stop = std::move(stop);
    if (const auto text = bytes()) {
      file->facts = factsOf(*text, key, progress);
    }
    return std::shared_ptr<const FileFacts>(std::move(file));
  });
}

void RunActivity::save(const QString& suggestion, const QByteArray& text) {
  const QString path = m_prompts.fileToSave(m_window, suggestion, tr("All files (*)"));
  if (path.isEmpty()) {
    return;
  }
  QSaveFile file(path);
  if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size() || !file.commit()) {
    m_prompts.failure(m_window, tr("Save"), tr("%1 cannot be written: %2").arg(path, file.errorString()));
  }
}

void RunActivity::saveBundle() {
  const RunnableSchedule* chosen = m_runPanel->schedule();
  if (chosen == nullptr) {
    Q_EMIT message(tr("There is no schedule yet. Generate one with F5, or choose a file."));
    return;
  }
  const Result<QByteArray> bytes = chosen->bytes();
  if (!bytes) {
    m_prompts.failure(m_window, tr("Launch Bundle"), errorText(bytes.error()));
    return;
  }
  const QString path = m_prompts.fileToSave(m_window, u"coppice-run.tar.gz"_s,
                                            tr("Archives (*.tar.gz *.tar);;Folder: a name without a suffix (*)"));
  if (path.isEmpty()) {
    return;
  }
  const auto executor = remote::readExecutor(m_options.environment.executorPath());
  // A file may say something else than when it was chosen.
  const auto read = chosen->key.startsWith(u"file:"_s) ? factsOf(*bytes, chosen->name, {}) : std::nullopt;
  const remote::BundleFacts facts{.title = chosen->name.toStdString(),
                                  .version = kVersion,
                                  .ranks = read ? read->ranks : chosen->ranks,
                                  .hasExecutor = static_cast<bool>(executor),
                                  .root = read ? read->root : chosen->root};
  const Outcome written = writeBundle(path, m_runPanel->request(), facts, *bytes, executor ? &*executor : nullptr);
  if (!written) {
    m_prompts.failure(m_window, tr("Launch Bundle"), errorText(written.error()));
  } else {
    Q_EMIT message(executor ? tr("Saved %1").arg(path)
                            : tr("Saved %1 without the executor, which is not installed here").arg(path));
  }
}

}  // namespace coppice::designer
