// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/live_run.hpp"

#include <chrono>
#include <utility>

#include "designer/document/error_text.hpp"
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
      m_data(std::make_shared<RunData>()) {
  m_tell.setSingleShot(true);
  m_tell.setInterval(50ms);
  connect(&m_tell, &QTimer::timeout, this, &LiveRun::advanced);
  m_ping.setInterval(5s);
  connect(&m_ping, &QTimer::timeout, this, [this] {
    if (m_process != nullptr) {
      m_process->write(QByteArray::fromStdString(program::writeCommand(program::RunCommand::ping)));
    }
    if (m_process != nullptr && m_info.state == RunState::running && m_lastLine.isValid() &&
        std::chrono::milliseconds(m_lastLine.elapsed()) > limits().lost) {
      m_data->note(Severity::error, tr("The machine has not responded for %1. Connection to the run closed.")
                                        .arg(QString::fromStdString(remote::secondsText(limits().lost))));
      m_process->kill();
    }
    m_tell.start();
  });
  m_patience.setSingleShot(true);
  m_patience.setInterval(limits().stop);
  connect(&m_patience, &QTimer::timeout, this, [this] {
    if (m_process != nullptr) {
      m_data->note(Severity::error, tr("The machine does not respond. Connection to the run closed."));
      m_process->kill();
    }
  });
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
  return m_info.state == RunState::running && m_lastLine.isValid() &&
         std::chrono::milliseconds(m_lastLine.elapsed()) > limits().silence;
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

void LiveRun::start() {
  if (!m_connection || m_connection->state() != Connection::State::ready) {
    setState(RunState::ended, tr("The machine is not connected."));
    return;
  }
  setState(RunState::preparing);
  put(0);
}

void LiveRun::proceed(const QString& fault, const std::function<void()>& next) {
  if (!fault.isEmpty()) {
    m_data->note(Severity::error, fault);
    m_info.code = static_cast<int>(program::RunExit::machineLacks);
    setState(RunState::ended, fault);
  } else if (m_isCancelling) {
    m_info.code = static_cast<int>(program::RunExit::cancelled);
    setState(RunState::ended);
  } else {
    next();
    return;
  }
  dropFolders();
}

/// The schedule goes to all machines, the job to the first.
void LiveRun::put(std::size_t machine) {
  const QPointer<Connection> connection = machine == 0 ? m_connection : m_others[machine - 1];
  if (!connection || connection->state() != Connection::State::ready) {
    proceed(tr("A machine is no longer connected."), {});
    return;
  }
  QStringList files{m_info.folder + u'/' + m_info.scheduleFile};
  if (m_others.empty()) {
    files << m_info.folder + u"/job.json"_s;
  }
  connection->putRun(
      m_info.id, files,
      [this, machine, self = QPointer<LiveRun>(this)](const QString& fault) {
        if (self) {
          proceed(fault, [this, machine] {
            if (machine < m_others.size()) {
              put(machine + 1);
            } else if (m_others.empty()) {
              begin();
            } else {
              findHosts();
            }
          });
        }
      },
      machine > 0);
}

/// How mpirun on the first machine gets to the others; then the job can be written.
void LiveRun::findHosts() {
  std::vector<std::vector<std::string>> names;
  std::vector<std::string> titles;
  for (const QPointer<Connection>& other : m_others) {
    if (!other) {
      proceed(tr("A machine is no longer connected."), {});
      return;
    }
    const std::string& ours = other->machine().target.host;
    names.push_back(remote::namesOf(other->facts().host.toStdString(), ours, other->address().toStdString()));
    titles.push_back(ours);
  }
  m_connection->reach(m_info.id, names, [this, titles, self = QPointer<LiveRun>(this)](const remote::Facts& facts) {
    if (!self || !m_connection) {
      return;
    }
    std::vector<std::string> hosts{m_connection->facts().host.toStdString()};
    for (const remote::Reach& reach : remote::reachesIn(facts, titles, m_connection->machine().target.host)) {
      if (reach.name.empty()) {
        proceed(QString::fromStdString(describe(reach.error)), {});
        return;
      }
      hosts.push_back(reach.name);
    }
    const QStringList shares = m_info.shares.split(u',', Qt::SkipEmptyParts);
    program::RunRequest request = m_info.request;
    request.launch = program::Launch::mpirun;
    for (qsizetype i = 0; i < static_cast<qsizetype>(hosts.size()); ++i) {
      request.hosts.push_back(hosts[static_cast<std::size_t>(i)] +
                              (i < shares.size() ? ":" + shares[i].toStdString() : std::string()));
    }
    program::RunJob job;
    job.arguments = program::executorArguments(request, true);
    job.endsWithStarter = !m_info.keepsRunning;
    if (const auto faults = program::faultsOf(request); !faults.empty()) {
      proceed(sentence({faults.front().code, faults.front().text, faults.front().fix}), {});
      return;
    }
    QFile file(m_info.folder + u"/job.json"_s);
    const QByteArray text = QByteArray::fromStdString(program::writeJob(job));
    if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size() || !file.flush()) {
      proceed(tr("%1 cannot be written.").arg(file.fileName()), {});
      return;
    }
    file.close();
    m_connection->putFiles(m_info.id, {file.fileName()}, [this, self](const QString& fault) {
      if (self) {
        proceed(fault, [this] { begin(); });
      }
    });
  });
}

void LiveRun::begin() {
  launch({u"supervise"_s, m_connection->runFolder(m_info.id)});
}

void LiveRun::dropFolders() {
  if (m_connection) {
    m_connection->dropRun(m_info.id);
  }
  for (const QPointer<Connection>& other : m_others) {
    if (other) {
      other->dropRun(m_info.id);
    }
  }
}

void LiveRun::rejoin() {
  if (!m_connection || m_connection->state() != Connection::State::ready || m_process != nullptr) {
    return;
  }
  m_isRejoining = true;
  m_isCancelling = false;
  m_data = std::make_shared<RunData>();
  launch({u"attach"_s, m_connection->runFolder(m_info.id)});
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

void LiveRun::launch(const QStringList& words) {
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
  const Connection::Command command = m_connection->executorCommand(words);
  m_lastLine.start();
  m_process->start(command.program, command.arguments);
  m_ping.start();
  setState(RunState::running);
  if (m_isCancelling) {
    cancel();
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
    m_lastLine.restart();
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
  m_ping.stop();
  m_patience.stop();
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
  if (m_process != nullptr) {
    m_process->write(QByteArray::fromStdString(program::writeCommand(program::RunCommand::cancel)));
    m_patience.start();
  }
  Q_EMIT stateChanged();
}

}  // namespace coppice::designer
