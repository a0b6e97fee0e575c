// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/connection.hpp"

#include <sys/prctl.h>

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QHostInfo>
#include <QLocale>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <set>
#include <utility>

#include "remote/quoting.hpp"
#include "remote/several.hpp"
#include "remote/site.hpp"
#include "remote/transfer.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;
using remote::SshTrouble;

namespace {

constexpr qsizetype kMaxShown = 20'000;
constexpr qint64 kSpareBytes = qint64{64} << 20;

QString shown(const QByteArray& bytes) {
  QString text = QString::fromUtf8(bytes.left(kMaxShown));
  if (bytes.size() > kMaxShown) {
    text += u"\n…"_s;
  }
  return text;
}

/// A private folder for the socket of the connection. The path of a socket is short by nature, so it is not the
/// user's cache.
std::unique_ptr<QTemporaryDir> privateFolder() {
  const QString runtime = qEnvironmentVariable("XDG_RUNTIME_DIR");
  constexpr qsizetype kLongest = 60;
  if (!runtime.isEmpty() && runtime.size() < kLongest && QFileInfo(runtime).isWritable()) {
    auto folder = std::make_unique<QTemporaryDir>(runtime + u"/coppice-XXXXXX"_s);
    if (folder->isValid()) {
      return folder;
    }
  }
  return std::make_unique<QTemporaryDir>(u"/tmp/coppice-XXXXXX"_s);
}

QString megabytes(qint64 bytes) {
  constexpr double kMega = 1e6;
  return QLocale().toString(static_cast<double>(bytes) / kMega, 'f', 1) + u" MB"_s;
}

}  // namespace

QString MachineFacts::mpi() const {
  if (environment) {
    for (const program::BackendNote& note : environment->backends) {
      if (note.name == "mpi" && note.available) {
        return note.reason.empty() ? u"MPI"_s : QString::fromStdString(note.reason);
      }
    }
  }
  return {};
}

Connection::Connection(Machine machine, RunEnvironment environment, QObject* parent)
    : QObject(parent), m_machine(std::move(machine)), m_environment(std::move(environment)) {
  if (m_environment.executor.isEmpty()) {
    m_environment.executor = QFile::decodeName(remote::findExecutor().c_str());
  }
  m_limit.setSingleShot(true);
  m_masterTimer.setInterval(20ms);
  connect(&m_masterTimer, &QTimer::timeout, this, &Connection::readMaster);
}

Connection::~Connection() {
  // Receivers may be mid-destruction.
  blockSignals(true);
  close();
}

void Connection::setState(State state) {
  m_state = state;
  Q_EMIT changed();
}

void Connection::close() {
  m_call.stop();
  m_put.stop();
  m_drop.stop();
  m_masterTimer.stop();
  m_limit.stop();
  if (m_master != nullptr) {
    m_master->disconnect(this);
    // TERM lets ssh remove its socket.
    m_master->terminate();
    constexpr int kPatience = 500;
    if (!m_master->waitForFinished(kPatience)) {
      m_master->kill();
      m_master->waitForFinished(kPatience);
    }
    delete m_master;
    m_master = nullptr;
  }
  m_private.reset();
  if (m_state != State::idle) {
    setState(State::idle);
  }
}

bool Connection::isHere(Step step) const {
  return !m_machine.isLocal() || step == system || step == selfTest || step == slurm || step == installed;
}

void Connection::open() {
  close();
  m_facts = {};
  m_systemFacts.clear();
  m_trouble = SshTrouble::none;
  m_message.clear();
  m_fingerprints.clear();
  m_fetchedKeys.clear();
  const QStringList titles{tr("Resolve"),       tr("Connect"),   tr("Host key"),        tr("Log in"),
                           tr("System"),        tr("Libraries"), tr("Disk space"),      tr("Check executor"),
                           tr("Copy executor"), tr("Self-test"), tr("Slurm partitions")};
  m_steps.assign(count, {});
  for (int i = 0; i < count; ++i) {
    m_steps[static_cast<std::size_t>(i)].title = titles[i];
    if (!isHere(static_cast<Step>(i))) {
      m_steps[static_cast<std::size_t>(i)].state = ConnectStep::State::skipped;
      m_steps[static_cast<std::size_t>(i)].message = tr("not needed");
    }
  }
  if (m_machine.isLocal()) {
    m_steps[installed].title = tr("Check executor");
  }
  setState(State::connecting);
  auto executor = remote::readExecutor(QFile::encodeName(m_environment.executor).toStdString());
  if (!executor) {
    fail(m_machine.isLocal() ? installed : resolve, executor.error());
    return;
  }
  m_executor = std::move(*executor);
  if (m_machine.isLocal()) {
    checkSystem();
    return;
  }
  m_private = privateFolder();
  if (!m_private->isValid()) {
    fail(resolve, tr("A private folder for the connection cannot be created."), tr("Check the free space of /tmp."));
    return;
  }
  m_environment.ssh.controlSocket = QFile::encodeName(m_private->filePath(u"c"_s)).toStdString();
  readSettings();
}

void Connection::begin(Step step) {
  m_steps[step].state = ConnectStep::State::running;
  m_clock.start();
  Q_EMIT changed();
}

void Connection::end(Step step, ConnectStep::State state, const QString& message, const QString& fix) {
  ConnectStep& shownStep = m_steps[step];
  shownStep.state = state;
  shownStep.seconds = static_cast<double>(m_clock.restart()) / 1000;
  shownStep.message = message;
  shownStep.fix = fix;
  Q_EMIT changed();
}

void Connection::fail(Step step, const QString& message, const QString& fix, SshTrouble trouble) {
  end(step, ConnectStep::State::failed, message, fix);
  m_message = message;
  m_trouble = trouble;
  m_masterTimer.stop();
  m_limit.stop();
  if (m_master != nullptr) {
    m_master->disconnect(this);
    m_master->kill();
    m_master->waitForFinished(500);
    m_master->deleteLater();
    m_master = nullptr;
  }
  setState(State::failed);
}

void Connection::fail(Step step, const Error& error, SshTrouble trouble) {
  fail(step, QString::fromStdString(error.message), QString::fromStdString(error.fix), trouble);
}

void Connection::limit(Step step, remote::Limits::Time time, const QString& doing) {
  m_limit.disconnect(this);
  connect(&m_limit, &QTimer::timeout, this, [this, step, time, doing] {
    Step at = step;
    for (const Step later : {hostKey, authenticate}) {
      at = m_steps[later].state == ConnectStep::State::running ? later : at;
    }
    fail(at, remote::noAnswer(m_machine.target.host, doing.toStdString(), time), SshTrouble::timeout);
  });
  m_limit.start(time);
}

void Connection::run(Step step, const QString& program, const QStringList& arguments, const QByteArray& input,
                     remote::Limits::Time limit, std::function<void(const CallResult&)> done) {
  begin(step);
  m_steps[step].command = commandText(program, arguments);
  m_call.start(program, arguments, input, limit, [this, step, limit, done = std::move(done)](const CallResult& result) {
    m_steps[step].output = shown(result.output + result.errors);
    if (!result.hasStarted) {
      fail(step, tr("The program could not be started: %1").arg(QString::fromUtf8(result.errors)),
           m_machine.isLocal() ? tr("Check the installation.") : tr("Install OpenSSH (Debian: openssh-client)."),
           m_machine.isLocal() ? SshTrouble::other : SshTrouble::noSsh);
      return;
    }
    if (result.isTimedOut) {
      const std::string name = m_machine.isLocal() ? "this computer" : m_machine.target.host;
      fail(step, remote::noAnswer(name, ("the step \u201c" + m_steps[step].title + "\u201d").toStdString(), limit),
           SshTrouble::timeout);
      return;
    }
    done(result);
  });
}

void Connection::script(Step step, const std::string& text, std::function<void(const remote::Facts&)> done) {
  const auto use = [this, step, done = std::move(done)](const CallResult& result) {
    const remote::Facts facts = remote::factsIn(result.output.toStdString());
    constexpr int kSshFailed = 255;
    if (result.exitCode == kSshFailed && facts.empty()) {
      const remote::SshFault fault = remote::sshFault(result.errors.toStdString(), m_machine.target.host);
      fail(step, QString::fromStdString(fault.message), QString::fromStdString(fault.fix), fault.trouble);
      return;
    }
    done(facts);
  };
  const remote::Limits::Time limit = m_environment.limits.script;
  if (m_machine.isLocal()) {
    run(step, u"/bin/sh"_s, {u"-s"_s}, QByteArray::fromStdString(text), limit, use);
  } else {
    run(step, QString::fromStdString(m_environment.ssh.ssh),
        toStringList(remote::commandArguments(m_environment.ssh, m_machine.target, remote::kScriptCommand)),
        QByteArray::fromStdString(text), limit, use);
  }
}

// ---- resolve, connect, host key, log in

void Connection::readSettings() {
  run(resolve, QString::fromStdString(m_environment.ssh.ssh),
      toStringList(remote::settingsArguments(m_environment.ssh, m_machine.target)), {}, m_environment.limits.settings,
      [this](const CallResult& result) {
        if (result.exitCode != 0) {
          const remote::SshFault fault = remote::sshFault(result.errors.toStdString(), m_machine.target.host);
          fail(resolve, QString::fromStdString(fault.message), QString::fromStdString(fault.fix), fault.trouble);
          return;
        }
        QString hostName;
        QString user;
        QString port;
        m_hasProxy = false;
        m_knownHostsFile.clear();
        for (const QByteArray& line : result.output.split('\n')) {
          const QString text = QString::fromUtf8(line).trimmed();
          const QString key = text.section(u' ', 0, 0).toLower();
          const QString value = text.section(u' ', 1);
          if (key == u"hostname") {
            hostName = value;
          } else if (key == u"user") {
            user = value;
          } else if (key == u"port") {
            port = value;
          } else if ((key == u"proxyjump" || key == u"proxycommand") && value != u"none" && !value.isEmpty()) {
            m_hasProxy = true;
          } else if (key == u"userknownhostsfile") {
            // The first of them is the one that ssh itself writes to.
            m_knownHostsFile = value.section(u' ', 0, 0);
            if (m_knownHostsFile.startsWith(u"~/")) {
              m_knownHostsFile = QDir::homePath() + m_knownHostsFile.mid(1);
            }
          }
        }
        m_address = hostName;
        const QString where = u"%1@%2:%3"_s.arg(user, hostName, port);
        if (m_hasProxy) {
          end(resolve, ConnectStep::State::done, tr("%1, through another host").arg(where));
          startMaster();
          return;
        }
        limit(resolve, m_environment.limits.lookUp, u"its address was looked up"_s);
        const int lookUp = QHostInfo::lookupHost(hostName, this, [this, where, hostName](const QHostInfo& info) {
          if (m_state != State::connecting || info.lookupId() != m_lookUp) {
            return;
          }
          m_limit.stop();
          if (info.error() != QHostInfo::NoError || info.addresses().isEmpty()) {
            const remote::SshFault fault = remote::sshFault("Could not resolve hostname", hostName.toStdString());
            fail(resolve, QString::fromStdString(fault.message), QString::fromStdString(fault.fix),
                 SshTrouble::nameUnknown);
            return;
          }
          end(resolve, ConnectStep::State::done, where + u" = "_s + info.addresses().front().toString());
          startMaster();
        });
        m_lookUp = lookUp;
      });
}

void Connection::startMaster() {
  begin(connectTo);
  m_masterErrors.clear();
  m_readTo = 0;
  const QString program = QString::fromStdString(m_environment.ssh.ssh);
  const QStringList arguments = toStringList(remote::masterArguments(m_environment.ssh, m_machine.target));
  for (const Step step : {connectTo, hostKey, authenticate}) {
    m_steps[step].command = commandText(program, arguments);
  }
  m_master = new QProcess(this);
  connect(m_master, &QProcess::readyReadStandardError, this, [this] {
    constexpr qsizetype kMost = qsizetype{1} << 20;
    const QByteArray more = m_master->readAllStandardError();
    m_masterErrors += more.left(qMax(qsizetype{0}, kMost - m_masterErrors.size()));
    readMaster();
  });
  connect(m_master, &QProcess::finished, this, [this] { masterEnded(); });
  connect(m_master, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) {
      fail(connectTo, tr("The program ssh was not found."), tr("Install OpenSSH (Debian: openssh-client)."),
           SshTrouble::noSsh);
    }
  });
  m_master->setStandardOutputFile(QProcess::nullDevice());
  m_master->setStandardInputFile(QProcess::nullDevice());
  // It would otherwise outlive a window that is killed.
  m_master->setChildProcessModifier([] { prctl(PR_SET_PDEATHSIG, SIGTERM); });
  m_master->start(program, arguments);
  m_masterTimer.start();
  limit(connectTo, m_environment.limits.login, u"logging in"_s);
}

void Connection::readMaster() {
  if (m_state != State::connecting || m_master == nullptr || m_steps[system].state != ConnectStep::State::waiting) {
    return;
  }
  // Line by line, as the steps go by.
  const auto isRunning = [this](Step step) { return m_steps[step].state == ConnectStep::State::running; };
  for (qsizetype at = m_masterErrors.indexOf('\n', m_readTo); at >= 0; at = m_masterErrors.indexOf('\n', m_readTo)) {
    const QByteArray line = m_masterErrors.mid(m_readTo, at - m_readTo).trimmed();
    m_readTo = at + 1;
    for (const Step step : {connectTo, hostKey, authenticate}) {
      if (isRunning(step) && m_steps[step].output.size() < kMaxShown) {
        m_steps[step].output += QString::fromUtf8(line) + u'\n';
      }
    }
    if (isRunning(connectTo) && line.contains("Remote protocol version")) {
      end(connectTo, ConnectStep::State::done,
          QString::fromUtf8(line.mid(line.indexOf("remote software version"))).trimmed());
      begin(hostKey);
    } else if (isRunning(hostKey) && line.contains("Server host key:")) {
      m_steps[hostKey].message = QString::fromUtf8(line.mid(line.indexOf("host key:") + 10));
    } else if (isRunning(hostKey) &&
               (line.contains("is known and matches") || line.contains("SSH2_MSG_NEWKEYS sent"))) {
      end(hostKey, ConnectStep::State::done, m_steps[hostKey].message);
      begin(authenticate);
    }
  }
  // By way of another host the lines of two programs are mixed; the socket is what counts.
  if (QFileInfo::exists(m_private->filePath(u"c"_s))) {
    m_masterTimer.stop();
    m_limit.stop();
    for (const Step step : {connectTo, hostKey, authenticate}) {
      if (m_steps[step].state != ConnectStep::State::done) {
        const QByteArray how = m_masterErrors.mid(m_masterErrors.lastIndexOf("Authenticated to"));
        end(step, ConnectStep::State::done,
            step == authenticate ? QString::fromUtf8(how.left(how.indexOf('\n'))).trimmed() : m_steps[step].message);
      }
    }
    checkSystem();
  }
}

void Connection::masterEnded() {
  m_masterErrors += m_master->readAllStandardError();
  m_masterTimer.stop();
  m_limit.stop();
  m_master->deleteLater();
  m_master = nullptr;
  const remote::SshFault fault = remote::sshFault(m_masterErrors.toStdString(), m_machine.target.host);
  if (m_state == State::ready) {
    m_trouble = SshTrouble::closed;
    m_message = tr("Connection to %1 lost.").arg(host());
    setState(State::lost);
    return;
  }
  if (m_state != State::connecting) {
    return;
  }
  m_call.stop();
  Step step = authenticate;
  for (const Step candidate :
       {connectTo, hostKey, authenticate, system, libraries, space, installed, deploy, selfTest, slurm}) {
    if (m_steps[candidate].state == ConnectStep::State::running) {
      step = candidate;
    }
  }
  switch (fault.trouble) {
    case SshTrouble::hostKeyChanged:
    case SshTrouble::hostKeyUnknown:
    case SshTrouble::hostKeyRevoked:
      if (step == connectTo) {
        end(connectTo, ConnectStep::State::done, {});
      }
      step = hostKey;
      break;
    case SshTrouble::keyRefused:
      step = authenticate;
      break;
    default:
      break;
  }
  m_steps[step].output = shown(m_masterErrors);
  if (fault.trouble == SshTrouble::hostKeyUnknown) {
    m_trouble = fault.trouble;
    m_message = QString::fromStdString(fault.message);
    begin(hostKey);
    m_steps[hostKey].message = m_message;
    fetchKey();
    return;
  }
  fail(step, QString::fromStdString(fault.message), QString::fromStdString(fault.fix), fault.trouble);
}

void Connection::fetchKey() {
  const QString file = m_private->filePath(u"key"_s);
  QFile::remove(file);
  m_call.start(QString::fromStdString(m_environment.ssh.ssh),
               toStringList(remote::fetchKeyArguments(m_environment.ssh, m_machine.target,
                                                      QFile::encodeName(file).toStdString())),
               {}, m_environment.limits.login, [this, file](const CallResult& fetched) {
                 QFile keys(file);
                 constexpr qint64 kMost = 64 << 10;
                 if (!keys.open(QIODevice::ReadOnly) || keys.size() == 0 || keys.size() > kMost) {
                   m_steps[hostKey].output += shown(fetched.errors);
                   fail(hostKey, m_message, tr("The key could not be read. Connect once in a terminal."),
                        SshTrouble::hostKeyUnknown);
                   return;
                 }
                 m_fetchedKeys = keys.readAll();
                 m_call.start(QString::fromStdString(m_environment.ssh.keygen), {u"-l"_s, u"-f"_s, file}, {},
                              m_environment.limits.settings, [this](const CallResult& result) {
                                for (const QByteArray& line : result.output.split('\n')) {
                                  // "256 SHA256:… host (ED25519)"
                                  QStringList words = QString::fromUtf8(line).split(u' ', Qt::SkipEmptyParts);
                                  if (words.size() >= 3) {
                                    m_fingerprints << words.back().remove(u'(').remove(u')') + u' ' + words[1];
                                  }
                                }
                                if (m_fingerprints.isEmpty()) {
                                  fail(hostKey, m_message,
                                       tr("ssh-keygen cannot read the key. Connect once in a terminal."),
                                       SshTrouble::hostKeyUnknown);
                                  return;
                                }
                                end(hostKey, ConnectStep::State::failed, m_message,
                                    tr("Its fingerprint is %1. Compare it with the one from the owner of the machine.")
                                        .arg(m_fingerprints.join(u", "_s)));
                                setState(State::needsConsent);
                              });
               });
}

void Connection::acceptHostKey() {
  if (m_state != State::needsConsent || m_fetchedKeys.isEmpty()) {
    return;
  }
  // Exactly the key that was shown, not one that the host may show next.
  const QString path = m_knownHostsFile.isEmpty() ? QDir::homePath() + u"/.ssh/known_hosts"_s : m_knownHostsFile;
  const QFileInfo info(path);
  if (!info.absoluteDir().exists()) {
    QDir().mkpath(info.absolutePath());
    QFile::setPermissions(info.absolutePath(), QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
  }
  const bool isNew = !info.exists();
  QFile file(path);
  if (!file.open(QIODevice::ReadWrite)) {
    fail(hostKey, tr("%1 cannot be written.").arg(path), tr("Check its permissions."), SshTrouble::hostKeyUnknown);
    return;
  }
  if (isNew) {
    file.setPermissions(QFile::ReadOwner | QFile::WriteOwner);
  }
  // A last line without its end would swallow ours.
  QByteArray text = m_fetchedKeys.endsWith('\n') ? m_fetchedKeys : m_fetchedKeys + '\n';
  if (file.size() > 0) {
    file.seek(file.size() - 1);
    if (file.read(1) != "\n") {
      text.prepend('\n');
    }
  }
  file.seek(file.size());
  if (file.write(text) != text.size() || !file.flush()) {
    fail(hostKey, tr("%1 cannot be written.").arg(path), tr("Check the free space."), SshTrouble::hostKeyUnknown);
    return;
  }
  file.close();
  open();
}

// ---- what is there

void Connection::checkSystem() {
  script(system, remote::systemScript(), [this](const remote::Facts& facts) {
    const auto get = [&](const char* key) { return QString::fromStdString(remote::fact(facts, key)); };
    m_systemFacts = facts;
    m_facts.system = get("system");
    m_facts.architecture = get("architecture");
    m_facts.host = get("host");
    m_facts.libc = get("libc");
    m_facts.boot = get("boot");
    m_facts.cores = get("cores").toInt();
    if (const Error fault = remote::systemFault(title(), facts, m_executor->needs); !fault.message.empty()) {
      fail(system, fault);
      return;
    }
    end(system, ConnectStep::State::done, u"%1 %2, %3"_s.arg(m_facts.system, m_facts.architecture, m_facts.libc));
    if (m_machine.isLocal()) {
      begin(installed);
      end(installed, ConnectStep::State::done, QFile::decodeName(m_executor->program.c_str()));
      testExecutor();
    } else {
      checkLibraries();
    }
  });
}

void Connection::checkLibraries() {
  script(libraries, remote::librariesScript(), [this](const remote::Facts& facts) {
    const remote::ProgramNeeds& needs = m_executor->needs;
    if (const Error fault = remote::libcFault(title(), m_systemFacts, needs); !fault.message.empty()) {
      fail(libraries, fault);
      return;
    }
    if (facts.contains("linker")) {
      end(libraries, ConnectStep::State::skipped,
          tr("The machine does not list its libraries. The self-test will check them."));
      checkSpace();
      return;
    }
    std::set<std::string> have;
    const auto [from, to] = facts.equal_range("library");
    for (auto it = from; it != to; ++it) {
      have.insert(it->second);
    }
    QStringList missing;
    for (const std::string& library : needs.libraries) {
      if (!have.contains(library) && library.rfind("ld-linux", 0) != 0) {
        missing << QString::fromStdString(library);
      }
    }
    if (!missing.isEmpty()) {
      fail(libraries, tr("Missing on the machine: %1").arg(missing.join(u", "_s)),
           tr("Ask its administrator to install them."));
      return;
    }
    end(libraries, ConnectStep::State::done, tr("all %1 found").arg(static_cast<qlonglong>(needs.libraries.size())));
    checkSpace();
  });
}

void Connection::checkSpace() {
  script(space, remote::spaceScript(), [this](const remote::Facts& facts) {
    if (const Error fault = remote::folderFault(title(), facts); !fault.message.empty()) {
      fail(space, fault);
      return;
    }
    bool isNumber = false;
    const qint64 kibibytes = QString::fromStdString(remote::fact(facts, "space")).toLongLong(&isNumber);
    if (!facts.contains("home")) {
      fail(space, tr("The folder ~/.cache/coppice cannot be created on the machine."),
           tr("Check the home folder and its quota."));
      return;
    }
    m_facts.freeBytes = isNumber ? kibibytes * 1024 : -1;
    const qint64 wanted = m_executor->bytes() + kSpareBytes;
    if (isNumber && m_facts.freeBytes < wanted) {
      fail(space,
           tr("The machine has only %1 free; %2 are needed.").arg(megabytes(m_facts.freeBytes), megabytes(wanted)),
           tr("Free some space in the home folder."));
      return;
    }
    end(space, ConnectStep::State::done, isNumber ? tr("%1 free").arg(megabytes(m_facts.freeBytes)) : tr("not known"));
    checkInstalled();
  });
}

std::string Connection::folder() const {
  return remote::installFolder(m_executor->needs.architecture);
}

void Connection::checkInstalled() {
  script(installed, remote::installedScript(folder(), m_executor->files), [this](const remote::Facts& facts) {
    const auto areThere = remote::areInstalled(title(), facts, m_executor->files);
    if (!areThere) {
      fail(installed, areThere.error());
      return;
    }
    if (*areThere) {
      end(installed, ConnectStep::State::done,
          tr("in %1, checksum correct").arg(u"~/"_s + QString::fromStdString(folder())));
      m_steps[deploy].state = ConnectStep::State::skipped;
      m_steps[deploy].message = tr("not needed");
      testExecutor();
      return;
    }
    end(installed, ConnectStep::State::done, facts.contains("sha") ? tr("another build") : tr("not yet"));
    put();
  });
}

void Connection::put() {
  begin(deploy);
  auto sent = std::make_shared<Transfer>();
  *sent = {folder(), m_executor->files, remote::newMark(), {}};
  m_steps[deploy].command = commandText(
      QString::fromStdString(m_environment.ssh.ssh),
      toStringList(remote::commandArguments(m_environment.ssh, m_machine.target,
                                            remote::receiveCommand(folder(), sent->files.front(), sent->mark))));
  sent->done = [this, weak = std::weak_ptr(sent)](const Outcome& outcome) {
    if (const auto transfer = weak.lock()) {
      m_steps[deploy].output = shown(transfer->said);
    }
    if (!outcome) {
      fail(deploy, outcome.error());
      return;
    }
    end(deploy, ConnectStep::State::done, tr("%1, checksum correct").arg(megabytes(m_executor->bytes())));
    testExecutor();
  };
  transfer(m_call, sent);
}

void Connection::testExecutor() {
  const Command command = executorCommand({u"self-test"_s, u"--json"_s});
  run(selfTest, command.program, command.arguments, {}, m_environment.limits.selfTest,
      [this](const CallResult& result) {
        for (const QByteArray& line : result.output.split('\n')) {
          if (auto record = program::readRecord(line.toStdString())) {
            if (auto* environment = std::get_if<program::EnvRecord>(&*record)) {
              m_facts.environment = std::move(*environment);
            }
          } else if (!line.trimmed().isEmpty() && record.error().code == ErrorCode::unavailable) {
            fail(selfTest, QString::fromStdString(record.error().message), QString::fromStdString(record.error().fix));
            return;
          }
        }
        if (!m_facts.environment) {
          fail(selfTest, tr("The executor does not start on the machine (status %1).").arg(result.exitCode),
               tr("The raw output names what is missing; a home folder without execute rights is another cause."));
          return;
        }
        QStringList backends;
        for (const program::BackendNote& note : m_facts.environment->backends) {
          if (note.available) {
            backends << QString::fromStdString(note.name);
          }
        }
        end(selfTest, ConnectStep::State::done,
            backends.isEmpty() ? tr("no backend can run") : tr("backends: %1").arg(backends.join(u", "_s)));
        findPartitions();
      });
}

void Connection::findPartitions() {
  script(slurm, remote::partitionsScript(), [this](const remote::Facts& facts) {
    const auto [from, to] = facts.equal_range("partition");
    for (auto it = from; it != to; ++it) {
      const QStringList parts = QString::fromStdString(it->second).split(u'|');
      SlurmPartition partition;
      partition.name = parts.value(0);
      partition.isDefault = partition.name.endsWith(u'*');
      if (partition.isDefault) {
        partition.name.chop(1);
      }
      partition.state = parts.value(1);
      partition.nodes = parts.value(2).toInt();
      partition.resources = parts.value(3) == u"(null)" ? QString() : parts.value(3);
      partition.limit = parts.value(4);
      if (remote::isPlainName(partition.name.toStdString())) {
        m_facts.partitions.push_back(std::move(partition));
      }
    }
    end(slurm, m_facts.partitions.empty() ? ConnectStep::State::skipped : ConnectStep::State::done,
        m_facts.partitions.empty() ? tr("no Slurm found")
                                   : tr("%1 found").arg(static_cast<qlonglong>(m_facts.partitions.size())));
    setState(State::ready);
  });
}

// ---- using it

Connection::Command Connection::executorCommand(const QStringList& words) const {
  if (m_machine.isLocal()) {
    return {QFile::decodeName(m_executor->program.c_str()), words};
  }
  std::string text = folder() + "/coppice-exec";
  for (const QString& word : words) {
    text += " " + remote::shellWord(word.toStdString());
  }
  return {QString::fromStdString(m_environment.ssh.ssh),
          toStringList(remote::commandArguments(m_environment.ssh, m_machine.target, text))};
}

QString Connection::runFolder(const QString& id) const {
  if (!m_machine.isLocal()) {
    return QString::fromStdString(remote::runFolder(id.toStdString()));
  }
  const QString base =
      m_environment.localFolder.isEmpty() ? QDir::homePath() + u"/.cache/coppice/runs"_s : m_environment.localFolder;
  return base + u'/' + id;
}

void Connection::putRun(const QString& id, const QStringList& files, std::function<void(QString)> done, bool isShared) {
  if (!remote::isPlainName(id.toStdString())) {
    done(tr("“%1” is not the name of a run.").arg(id));
    return;
  }
  const QString target = runFolder(id);
  if (m_machine.isLocal()) {
    const QFileInfo info(target);
    bool isGood = QDir().mkpath(info.absolutePath()) && QDir().mkdir(target) &&
                  QFile::setPermissions(target, QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    for (const QString& file : files) {
      isGood = isGood && QFile::copy(file, target + u'/' + QFileInfo(file).fileName());
    }
    done(isGood ? QString() : tr("%1 cannot be written.").arg(target));
    return;
  }
  send(m_put, isShared ? remote::sameRunFolderScript(id.toStdString()) : remote::runFolderScript(id.toStdString()),
       m_environment.limits.script, [this, id, files, done](const CallResult& made) {
         const remote::Facts facts = remote::factsIn(made.output.toStdString());
         const std::string how = remote::fact(facts, "run");
         if (how == "shared") {
           done({});
         } else if (made.isTimedOut) {
           done(QString::fromStdString(
               describe(remote::noAnswer(title(), "creating the folder of the run", m_environment.limits.script))));
         } else if (const Error fault = remote::folderFault(title(), facts); !fault.message.empty()) {
           done(QString::fromStdString(describe(fault)));
         } else if (how != "made") {
           done(tr("The folder of the run could not be created on the machine: %1")
                    .arg(QString::fromUtf8(made.errors).trimmed()));
         } else {
           putFiles(id, files, done);
         }
       });
}

void Connection::putFiles(const QString& id, const QStringList& files, std::function<void(QString)> done) {
  auto sent = std::make_shared<Transfer>();
  sent->folder = remote::runFolder(id.toStdString());
  sent->mark = remote::newMark();
  for (const QString& file : files) {
    auto upload = remote::uploadOf(QFile::encodeName(file).toStdString(), QFileInfo(file).fileName().toStdString());
    if (!upload) {
      done(QString::fromStdString(describe(upload.error())));
      return;
    }
    sent->files.push_back(std::move(*upload));
  }
  sent->done = [done](const Outcome& outcome) {
    done(outcome ? QString() : QString::fromStdString(describe(outcome.error())));
  };
  transfer(m_put, sent);
}

void Connection::transfer(Call& call, const std::shared_ptr<Transfer>& transfer) {
  if (transfer->next == transfer->files.size()) {
    send(call, remote::installScript(transfer->folder, transfer->files, transfer->mark), m_environment.limits.script,
         [this, &call, transfer](const CallResult& result) {
           transfer->said += result.output + result.errors;
           finishTransfer(call, transfer,
                          result.isTimedOut
                              ? remote::noAnswer(title(), "checking what was copied", m_environment.limits.script)
                              : remote::installed(title(), remote::factsIn(result.output.toStdString()),
                                                  result.errors.toStdString()));
         });
    return;
  }
  const remote::Upload& file = transfer->files[transfer->next];
  ++transfer->next;
  call.start(
      QString::fromStdString(m_environment.ssh.ssh),
      toStringList(remote::commandArguments(m_environment.ssh, m_machine.target,
                                            remote::receiveCommand(transfer->folder, file, transfer->mark))),
      {}, m_environment.limits.upload,
      [this, &call, transfer, name = file.name, &file](const CallResult& result) {
        transfer->said += result.output + result.errors;
        if (result.isTimedOut) {
          finishTransfer(call, transfer, remote::noAnswer(title(), "receiving " + name, m_environment.limits.upload));
        } else if (const Outcome received =
                       remote::received(title(), file, result.exitCode, result.errors.toStdString());
                   !received) {
          finishTransfer(call, transfer, received);
        } else {
          this->transfer(call, transfer);
        }
      },
      QFile::decodeName(file.source.c_str()));
}

void Connection::finishTransfer(Call& call, const std::shared_ptr<Transfer>& transfer, const Outcome& outcome) {
  if (outcome) {
    transfer->done(outcome);
    return;
  }
  send(call, remote::discardScript(transfer->folder, transfer->files, transfer->mark), m_environment.limits.cleanUp,
       [transfer, outcome](const CallResult& result) {
         transfer->said += result.errors;
         transfer->done(outcome);
       });
}

void Connection::send(Call& call, const std::string& text, remote::Limits::Time limit,
                      std::function<void(const CallResult&)> done) {
  call.start(QString::fromStdString(m_environment.ssh.ssh),
             toStringList(remote::commandArguments(m_environment.ssh, m_machine.target, remote::kScriptCommand)),
             QByteArray::fromStdString(text), limit, std::move(done));
}

void Connection::reach(const QString& id, const std::vector<std::vector<std::string>>& others,
                       std::function<void(const remote::Facts&)> done) {
  send(m_put, remote::reachScript(id.toStdString(), others), m_environment.limits.reach,
       [done](const CallResult& result) { done(remote::factsIn(result.output.toStdString())); });
}

void Connection::dropRun(const QString& id) {
  if (m_state != State::ready || !remote::isPlainName(id.toStdString())) {
    return;
  }
  if (m_machine.isLocal()) {
    QDir(runFolder(id)).removeRecursively();
    return;
  }
  send(m_drop, remote::dropRunScript(id.toStdString()), m_environment.limits.cleanUp, [](const CallResult&) {});
}

}  // namespace coppice::designer
