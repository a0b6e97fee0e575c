// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "designer/run/machine.hpp"
#include "program/run_protocol.hpp"
#include "remote/limits.hpp"
#include "remote/session.hpp"
#include "remote/ssh.hpp"
#include "remote/ssh_fault.hpp"

namespace coppice::designer {

/// How ssh and the executor are found; the rest is the user's own configuration.
struct RunEnvironment {
  remote::SshOptions ssh = {};
  remote::Limits limits = {};
  QString executor = {};     ///< coppice-exec; empty = remote::findExecutor()
  QString localFolder = {};  ///< of runs on this computer; empty = ~/.cache/coppice/runs

  /// Looked up each time, as it may be installed while the window is open; empty where there is none.
  [[nodiscard]] std::filesystem::path executorPath() const;
};

/// One step of connecting, as it is shown.
struct ConnectStep {
  using State = remote::StepReport::State;
  QString title;
  State state = State::waiting;
  double seconds = 0;
  QString command;  ///< what was run
  QString output;   ///< what it said
  QString message;  ///< what came of it
  QString fix;      ///< what to do, where it failed
};

/// The fix as a sentence; empty if there is none.
[[nodiscard]] QString adviceOf(const ConnectStep& step);

/// What is known of a machine once it is connected.
struct MachineFacts {
  QString system;
  QString architecture;
  QString host;
  QString boot;  ///< of this start of the machine: no two machines share it
  int cores = 0;
  std::vector<remote::SlurmPartition> partitions;
  std::optional<program::EnvRecord> environment;  ///< of the self-test
  std::string mpi;                                ///< what the executor says of it there; empty = it has none
};

/// A session with one machine, on a thread of its own: its steps and its end arrive here as changed(). Without a
/// connection nothing stays behind on this computer.
class Connection : public QObject {
  Q_OBJECT

public:
  enum class State { idle, connecting, needsConsent, ready, failed, lost };

  Connection(Machine machine, RunEnvironment environment, QObject* parent = nullptr);
  ~Connection() override;

  [[nodiscard]] const Machine& machine() const { return m_machine; }
  [[nodiscard]] State state() const { return m_state; }
  [[nodiscard]] const std::vector<ConnectStep>& steps() const { return m_steps; }
  [[nodiscard]] const MachineFacts& facts() const { return m_facts; }
  /// Why it failed or was lost.
  [[nodiscard]] remote::SshTrouble trouble() const { return m_trouble; }
  [[nodiscard]] QString message() const { return m_message; }
  /// needsConsent: "ED25519 SHA256:…" for each key that the host showed.
  [[nodiscard]] QStringList fingerprints() const;

  void open();
  void close();
  /// Adds the key that was shown to the user's known hosts and connects. @pre needsConsent
  void acceptHostKey();

  /// For commands and files, from any thread. It stays usable by those who hold it, and fails once this is closed.
  /// @pre ready
  [[nodiscard]] std::shared_ptr<const remote::Session> session() const { return m_session; }
  /// Requested when this is closed.
  [[nodiscard]] std::stop_token closed() const { return m_worker.get_stop_token(); }
  [[nodiscard]] const remote::Limits& limits() const { return m_environment.limits; }
  /// Of ssh; empty = the user's.
  [[nodiscard]] QString sshConfig() const { return QString::fromStdString(m_environment.ssh.configFile); }

Q_SIGNALS:
  /// State, steps or facts.
  void changed();

private:
  /// close() without a signal.
  void endSession();
  void setState(State state);
  /// On this object's thread, unless it was closed meanwhile.
  void post(std::function<void()> work);
  void showStep(remote::Step step, const remote::StepReport& report);
  void showEnd(const Outcome& outcome, const remote::Session& session);
  void work(const std::shared_ptr<remote::Session>& session, const std::stop_token& stop);

  Machine m_machine;
  RunEnvironment m_environment;
  State m_state = State::idle;
  std::vector<ConnectStep> m_steps;
  MachineFacts m_facts;
  remote::SshTrouble m_trouble = remote::SshTrouble::none;
  QString m_message;
  std::optional<remote::HostKey> m_hostKey;
  QString m_knownHosts;
  std::shared_ptr<remote::Session> m_session;
  std::jthread m_worker;
};

}  // namespace coppice::designer
