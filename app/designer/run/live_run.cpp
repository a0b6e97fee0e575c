// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/live_run.hpp"

#include <QThreadPool>
#include <chrono>
#include <filesystem>
#include <utility>

#include "program/run_job.hpp"
#include "remote/several.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

constexpr qint64 kMaxKept = qint64{256} << 20;

}  // namespace

LiveRun::LiveRun(RunInfo info, Connection& connection, const std::vector<Connection*>& others, QObject* parent)
    : QObject(parent),
      m_info(std::move(info)),
      m_connection(&connection),
      m_others(others.begin(), others.end()),
      m_sending([this](const Outcome& sent) { onSent(sent); }, 0ms),
      m_data(std::make_shared<RunData>()) {
  m_tell.setSingleShot(true);
  m_tell.setInterval(50ms);
  connect(&m_tell, &QTimer::timeout, this, &LiveRun::advanced);
  m_tick.setInterval(200ms);
  connect(&m_tick, &QTimer::timeout, this, &LiveRun::tick);
}

LiveRun::~LiveRun() {
  if (m_process != nullptr) {
    m_process->disconnect(this);
    // The other end sees its input end; that is all it needs.
    m_process->closeWriteChannel();
    m_process->kill();
    constexpr int kPatience = 500;
    m_process->waitForFinished(kPatience);
    if (m_info.state == RunState::running) {
      m_info.state = RunState::lost;
      m_info.reason = m_info.keepsRunning ? tr("left running") : tr("ended with the window");
      keepFiles();
      [[maybe_unused]] const Outcome saved = RunStore::save(m_info);
    }
  }
}

remote::Limits LiveRun::limits() const {
  return m_connection ? m_connection->limits() : remote::Limits{};
}

QString LiveRun::attachCommand() const {
  if (!m_connection || m_connection->machine().isLocal()) {
    return {};
  }
  std::vector<remote::Member> members{{m_connection->machine().target, 0}};
  for (const QPointer<Connection>& other : m_others) {
    if (other) {
      members.push_back({other->machine().target, 0});
    }
  }
  return QString::fromStdString(
      remote::attachCommand(members, m_connection->sshConfig().toStdString(), m_info.id.toStdString()));
}

bool LiveRun::isSilent() const {
  return m_info.state == RunState::running && m_watch && m_watch->isSilent();
}

void LiveRun::setState(RunState state, const QString& reason) {
  m_info.state = state;
  if (!reason.isEmpty()) {
    m_info.reason = reason;
  }
  if (const Outcome saved = RunStore::save(m_info); !saved) {
    m_data->note(Severity::error, QString::fromStdString(describe(saved.error())));
  }
  Q_EMIT stateChanged();
}

bool LiveRun::takeSeats() {
  m_seats.clear();
  std::vector<QPointer<Connection>> machines{m_connection};
  machines.insert(machines.end(), m_others.begin(), m_others.end());
  const QStringList shares = m_info.shares.split(u',', Qt::SkipEmptyParts);
  for (const QPointer<Connection>& machine : machines) {
    if (!machine || machine->state() != Connection::State::ready) {
      return false;
    }
    m_seats.push_back({machine->session(), shares.value(static_cast<qsizetype>(m_seats.size())).toInt()});
  }
  return true;
}

void LiveRun::start() {
  if (!takeSeats()) {
    setState(RunState::ended,
             m_others.empty() ? tr("The machine is not connected.") : tr("A machine is no longer connected."));
    return;
  }
  setState(RunState::preparing);
  const std::filesystem::path folder = QFile::encodeName(m_info.folder).toStdString();
  remote::RunOrder order;
  order.run = m_info.id.toStdString();
  order.schedule = folder / m_info.scheduleFile.toStdString();
  order.scheduleName = m_info.scheduleFile.toStdString();
  order.request = m_info.request;
  order.endsWithStarter = !m_info.keepsRunning;
  order.jobFile = folder / "job.json";
  // Stopped by the user it still answers; once this object is destroyed, there is no receiver.
  m_sending.submit([seats = m_seats, order = std::move(order), stop = m_stopSending](const std::stop_token& gone) {
    const std::stop_callback stops(gone, [stop]() mutable { stop.request_stop(); });
    return remote::sendRun(seats, order, stop.get_token());
  });
}

void LiveRun::onSent(const Outcome& sent) {
  if (m_isCancelling) {
    m_info.code = static_cast<int>(program::RunExit::cancelled);
    setState(RunState::ended);
    dropFolders();
  } else if (!sent) {
    const QString fault = QString::fromStdString(describe(sent.error()));
    m_data->note(Severity::error, fault);
    m_info.code = static_cast<int>(program::RunExit::machineLacks);
    setState(RunState::ended, fault);
  } else {
    launch(u"supervise"_s);
  }
}

void LiveRun::dropFolders() {
  QThreadPool::globalInstance()->start([seats = m_seats, id = m_info.id.toStdString()] { remote::dropRun(seats, id); });
}

void LiveRun::rejoin() {
  if (m_process != nullptr || !takeSeats()) {
    return;
  }
  m_isRejoining = true;
  m_isCancelling = false;
  m_data = std::make_shared<RunData>();
  launch(u"attach"_s);
}

void LiveRun::openFiles() {
  // Joined again, everything is said again: the old files stay until the new ones hold more.
  const QString suffix = m_isRejoining ? u".new"_s : QString();
  m_records.setFileName(m_info.folder + u"/records.jsonl"_s + suffix);
  m_log.setFileName(m_info.folder + u"/log.txt"_s + suffix);
  for (QFile* file : {&m_records, &m_log}) {
    if (!file->open(QIODevice::WriteOnly | QIODevice::Truncate)) {
      m_data->note(Severity::warning, tr("%1 cannot be written; the run is not kept.").arg(file->fileName()));
    }
  }
  m_kept = 0;
}

void LiveRun::keepFiles() {
  for (QFile* file : {&m_records, &m_log}) {
    if (!file->isOpen()) {
      continue;
    }
    file->close();
    if (m_isRejoining) {
      const QString final = file->fileName().chopped(4);
      if (file->size() >= QFile(final).size()) {
        QFile::remove(final);
        file->rename(final);
      } else {
        file->remove();
      }
    }
  }
}

void LiveRun::launch(const QString& command) {
  openFiles();
  m_process = new QProcess(this);
  connect(m_process, &QProcess::readyReadStandardOutput, this, &LiveRun::read);
  connect(m_process, &QProcess::readyReadStandardError, this, &LiveRun::read);
  connect(m_process, &QProcess::finished, this, &LiveRun::processEnded);
  connect(m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) {
      processEnded();
    }
  });
  const remote::Session& first = *m_seats.front().session;
  QStringList words;
  for (const std::string& word :
       first.executorCommand({command.toStdString(), first.runFolder(m_info.id.toStdString())})) {
    words << QString::fromStdString(word);
  }
  m_watch.emplace(remote::RunWatch::Options{limits()}, std::chrono::steady_clock::now());
  m_process->start(words.takeFirst(), words);
  m_tick.start();
  setState(RunState::running);
  if (m_isCancelling) {
    cancel();
  }
}

void LiveRun::tick() {
  if (m_process == nullptr) {
    return;
  }
  const bool wasLost = m_watch->isLost() || m_watch->isLate();
  const bool wasAbandoned = m_watch->isAbandoned();
  const remote::RunWatch::Acts acts = m_watch->tick(std::chrono::steady_clock::now());
  if (acts.ping || acts.cancel) {
    m_process->write(QByteArray::fromStdString(
        program::writeCommand(acts.ping ? program::RunCommand::ping : program::RunCommand::cancel)));
  }
  if (!wasLost && (m_watch->isLost() || m_watch->isLate())) {
    const auto limit = m_watch->isLost() ? limits().lost : limits().start;
    m_data->note(Severity::error, tr("The machine has not responded for %1. Connection to the run closed.")
                                      .arg(QString::fromStdString(remote::secondsText(limit))));
  } else if (!wasAbandoned && m_watch->isAbandoned()) {
    m_data->note(Severity::error, tr("The machine does not respond. Connection to the run closed."));
  }
  if (acts.kill) {
    m_process->kill();
  }
  if (!m_tell.isActive()) {
    m_tell.start();
  }
}

void LiveRun::read() {
  if (m_process == nullptr) {
    return;
  }
  const qint64 before = m_data->linesSeen();
  const QByteArray said = m_process->readAllStandardOutput();
  if (!said.isEmpty()) {
    const QByteArray kept = m_data->feedRecords(said);
    if (m_kept + kept.size() <= kMaxKept) {
      m_kept += kept.size();
      m_records.write(kept);
      m_records.flush();
    }
  }
  const QByteArray log = m_process->readAllStandardError();
  if (!log.isEmpty()) {
    m_data->feedLog(log);
    if (m_log.size() < kMaxKept) {
      m_log.write(log);
      m_log.flush();
    }
  }
  if (m_data->linesSeen() != before) {
    m_watch->hear(std::chrono::steady_clock::now());
  }
  if (!m_data->refusal().isEmpty() && !m_isCancelling) {
    cancel();
  }
  if (!m_tell.isActive()) {
    m_tell.start();
  }
}

void LiveRun::processEnded() {
  read();
  m_tick.stop();
  const int status = m_process->exitCode();
  const QString problem = m_process->error() == QProcess::FailedToStart ? m_process->errorString() : QString();
  m_process->deleteLater();
  m_process = nullptr;
  if (m_data->end()) {
    m_info.code = static_cast<int>(m_data->end()->code);
    keepFiles();
    // All of it is kept here; what went wrong stays there too, for a closer look.
    const program::RunExit code = m_data->end()->code;
    if (code == program::RunExit::ok || code == program::RunExit::cancelled) {
      dropFolders();
    }
    const bool isWanted = code == program::RunExit::cancelled && m_data->end()->reason == program::kStoppedByUser;
    setState(RunState::ended, isWanted ? QString() : QString::fromStdString(m_data->end()->reason));
  } else if (!m_data->refusal().isEmpty()) {
    m_info.code = static_cast<int>(program::RunExit::internal);
    keepFiles();
    setState(RunState::ended, m_data->refusal());
  } else {
    QString reason = problem.isEmpty()
                         ? (m_info.keepsRunning
                                ? tr("Connection to the run %1 lost. The run continues on the machine; reattach to it.")
                                : tr("Connection to the run %1 lost. The run ends on the machine."))
                               .arg(m_info.id)
                         : problem;
    constexpr int kNotFound = 127;
    if (status == kNotFound) {
      reason = tr("The executor is no longer on the machine. Connect again.");
    }
    m_data->note(Severity::error, reason);
    if (const QString command = attachCommand(); !command.isEmpty() && status != kNotFound) {
      m_data->note(Severity::note, tr("To see it in a terminal: %1").arg(command));
    }
    keepFiles();
    setState(RunState::lost, reason);
  }
  Q_EMIT advanced();
}

void LiveRun::cancel() {
  if (m_info.state == RunState::ended || m_info.state == RunState::lost) {
    return;
  }
  m_isCancelling = true;
  m_stopSending.request_stop();
  if (m_process != nullptr) {
    m_watch->stop();
    tick();
  }
  Q_EMIT stateChanged();
}

}  // namespace coppice::designer
