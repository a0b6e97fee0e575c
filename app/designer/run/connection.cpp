// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/connection.hpp"

#include <QFile>
#include <QMetaObject>
#include <chrono>
#include <utility>

#include "designer/document/error_text.hpp"
#include "remote/executor_files.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using remote::SshTrouble;

namespace {

QString text(const std::string& words) {
  return QString::fromStdString(words);
}

std::filesystem::path pathOf(const QString& name) {
  return QFile::encodeName(name).toStdString();
}

}  // namespace

std::filesystem::path RunEnvironment::executorPath() const {
  return executor.isEmpty() ? remote::findExecutor() : pathOf(executor);
}

QString adviceOf(const ConnectStep& step) {
  return sentence(Error{.message = step.fix.toStdString()});
}

Connection::Connection(Machine machine, RunEnvironment environment, QObject* parent)
    : QObject(parent), m_machine(std::move(machine)), m_environment(std::move(environment)) {}

Connection::~Connection() {
  endSession();
}

QStringList Connection::fingerprints() const {
  QStringList list;
  if (m_hostKey) {
    for (const std::string& fingerprint : m_hostKey->fingerprints) {
      list << text(fingerprint);
    }
  }
  return list;
}

void Connection::setState(State state) {
  m_state = state;
  Q_EMIT changed();
}

void Connection::endSession() {
  m_worker.request_stop();
  if (m_worker.joinable()) {
    m_worker.join();
  }
  m_session.reset();
}

void Connection::close() {
  endSession();
  if (m_state != State::idle) {
    setState(State::idle);
  }
}

void Connection::open() {
  close();
  m_facts = {};
  m_trouble = SshTrouble::none;
  m_message.clear();
  m_hostKey.reset();
  const QStringList titles{tr("Resolve"),       tr("Connect"),   tr("Host key"),        tr("Log in"),
                           tr("System"),        tr("Libraries"), tr("Disk space"),      tr("Check executor"),
                           tr("Copy executor"), tr("Self-test"), tr("Slurm partitions")};
  m_steps.assign(remote::kSteps, {});
  for (qsizetype i = 0; i < titles.size(); ++i) {
    m_steps[i].title = titles[i];
  }
  remote::SessionOptions options;
  if (!m_machine.isLocal()) {
    options.target = m_machine.target;
  }
  options.ssh = m_environment.ssh;
  options.limits = m_environment.limits;
  options.executor = m_environment.executorPath();
  options.localRuns = pathOf(m_environment.localFolder);
  options.fetchesUnknownKey = true;
  options.events.onStep = [this](remote::Step step, const remote::StepReport& report) {
    post([this, step, report] { showStep(step, report); });
  };
  m_session = std::make_shared<remote::Session>(std::move(options));
  setState(State::connecting);
  m_worker = std::jthread([this, session = m_session](const std::stop_token& stop) { work(session, stop); });
}

/// The whole life of a connection, on its thread.
void Connection::work(const std::shared_ptr<remote::Session>& session, const std::stop_token& stop) {
  const Outcome outcome = session->open(stop);
  if (stop.stop_requested()) {
    session->close();
    return;
  }
  post([this, outcome, session] { showEnd(outcome, *session); });
  if (!outcome) {
    session->close();
    return;
  }
  if (session->waitUntilLost(stop)) {
    post([this] {
      m_trouble = SshTrouble::closed;
      m_message = tr("Connection to %1 lost.").arg(text(m_machine.target.text()));
      setState(State::lost);
    });
  }
  session->close();
}

void Connection::post(std::function<void()> work) {
  // The thread is joined before this goes, and before another session begins.
  QMetaObject::invokeMethod(
      this,
      [this, session = std::weak_ptr(m_session), work = std::move(work)] {
        if (session.lock() == m_session && m_session) {
          work();
        }
      },
      Qt::QueuedConnection);
}

void Connection::showStep(remote::Step step, const remote::StepReport& report) {
  ConnectStep& shown = m_steps[static_cast<std::size_t>(step)];
  shown.state = report.state;
  shown.seconds = report.seconds;
  shown.command = text(report.command);
  shown.output = text(report.output);
  shown.message = text(report.message);
  shown.fix = text(report.fix);
  Q_EMIT changed();
}

void Connection::showEnd(const Outcome& outcome, const remote::Session& session) {
  const remote::SiteFacts& found = session.facts();
  m_facts = {text(found.system), text(found.architecture), text(found.host),  text(found.boot),
             found.cores,        found.partitions,         found.environment, found.mpi()};
  m_trouble = session.trouble();
  if (outcome) {
    setState(State::ready);
    return;
  }
  m_message = text(outcome.error().message);
  m_hostKey = session.hostKey();
  m_knownHosts = QFile::decodeName(session.knownHosts().c_str());
  if (m_hostKey) {
    m_steps[static_cast<std::size_t>(remote::Step::hostKey)].fix =
        tr("Its fingerprint is %1. Compare it with the one from the owner of the machine.")
            .arg(fingerprints().join(u", "_s));
  }
  setState(m_hostKey ? State::needsConsent : State::failed);
}

void Connection::acceptHostKey() {
  if (m_state != State::needsConsent || !m_hostKey) {
    return;
  }
  // Exactly the key that was shown, not one that the host may show next.
  if (const Outcome added = remote::addKnownHost(pathOf(m_knownHosts), *m_hostKey); !added) {
    ConnectStep& step = m_steps[static_cast<std::size_t>(remote::Step::hostKey)];
    step.message = text(added.error().message);
    step.fix = text(added.error().fix);
    m_message = step.message;
    setState(State::failed);
    return;
  }
  open();
}

}  // namespace coppice::designer
