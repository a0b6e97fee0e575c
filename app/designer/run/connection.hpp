// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QByteArray>
#include <QElapsedTimer>
#include <QObject>
#include <QProcess>
#include <QString>
#include <QStringList>
#include <QTemporaryDir>
#include <QTimer>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "designer/run/call.hpp"
#include "designer/run/machine.hpp"
#include "program/run_protocol.hpp"
#include "remote/executor_files.hpp"
#include "remote/limits.hpp"
#include "remote/scripts.hpp"
#include "remote/ssh.hpp"
#include "remote/ssh_fault.hpp"

namespace coppice::designer {

/// How ssh and the executor are found; the rest is the user's own configuration.
struct RunEnvironment {
  remote::SshOptions ssh = {};
  remote::Limits limits = {};
  QString executor = {};     ///< coppice-exec; empty = remote::findExecutor()
  QString localFolder = {};  ///< of runs on this computer; empty = ~/.cache/coppice/runs
};

/// One step of connecting, as it is shown.
struct ConnectStep {
  enum class State { waiting, running, done, failed, skipped };
  QString title;
  State state = State::waiting;
  double seconds = 0;
  QString command;  ///< what was run
  QString output;   ///< what it said
  QString message;  ///< what came of it
  QString fix;      ///< what to do, where it failed
};

struct SlurmPartition {
  QString name;
  bool isDefault = false;
  QString state;
  int nodes = 0;
  QString resources;
  QString limit;
};

/// What is known of a machine once it is connected.
struct MachineFacts {
  QString system;
  QString architecture;
  QString host;
  QString libc;
  QString boot;  ///< of this start of the machine: no two machines share it
  int cores = 0;
  qint64 freeBytes = -1;
  std::vector<SlurmPartition> partitions;
  std::optional<program::EnvRecord> environment;  ///< of the self-test

  /// What the executor says of MPI there; empty = it has none.
  [[nodiscard]] QString mpi() const;
};

/// The way to one machine: connects step by step, checks, deploys the executor, and then starts commands there. One
/// shared ssh connection, whose socket lies in a private folder; without a connection nothing stays behind here.
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
  [[nodiscard]] const QStringList& fingerprints() const { return m_fingerprints; }

  void open();
  void close();
  /// Adds the key that was shown to the user's known hosts and connects. @pre needsConsent
  void acceptHostKey();

  /// coppice-exec on the remote machine with these words, which must be plain (options, names, numbers, paths of ours).
  /// @pre ready
  struct Command {
    QString program;
    QStringList arguments;
  };
  [[nodiscard]] Command executorCommand(const QStringList& words) const;
  /// Where runs lie on the remote machine, for executorCommand: "…/runs/ID".
  [[nodiscard]] QString runFolder(const QString& id) const;
  /// Makes the folder of a run on the remote machine and puts the files into it; calls back with an empty text or what
  /// failed.
  /// @param isShared  the folder may be there already, by way of a home folder that several machines share: then it is
  /// full
  void putRun(const QString& id, const QStringList& files, std::function<void(QString)> done, bool isShared = false);
  /// More files for the folder of a run that is there: all of them, or none.
  void putFiles(const QString& id, const QStringList& files, std::function<void(QString)> done);
  /// Tries from the remote machine to reach the folder of this run on others (remote::reachScript). @pre not local
  void reach(const QString& id, const std::vector<std::vector<std::string>>& others,
             std::function<void(const remote::Facts&)> done);
  [[nodiscard]] const remote::Limits& limits() const { return m_environment.limits; }
  /// Of ssh; empty = the user's.
  [[nodiscard]] QString sshConfig() const { return QString::fromStdString(m_environment.ssh.configFile); }
  /// Where the ssh configuration leads: HostName.
  [[nodiscard]] const QString& address() const { return m_address; }

  /// Removes the folder of a run that is over and kept here. Failures are ignored.
  void dropRun(const QString& id);

Q_SIGNALS:
  /// State, steps or facts.
  void changed();

private:
  enum Step {
    resolve,
    connectTo,
    hostKey,
    authenticate,
    system,
    libraries,
    space,
    installed,
    deploy,
    selfTest,
    slurm,
    count
  };

  void begin(Step step);
  void end(Step step, ConnectStep::State state, const QString& message, const QString& fix = {});
  /// Ends in failure at this step.
  void fail(Step step, const QString& message, const QString& fix,
            remote::SshTrouble trouble = remote::SshTrouble::other);
  void setState(State state);
  void run(Step step, const QString& program, const QStringList& arguments, const QByteArray& input,
           remote::Limits::Time limit, std::function<void(const CallResult&)> done);
  /// A script on the remote machine (or here).
  void script(Step step, const std::string& text, std::function<void(const remote::Facts&)> done);
  void fail(Step step, const Error& error, remote::SshTrouble trouble = remote::SshTrouble::other);
  /// Fails the step when the time is up.
  void limit(Step step, remote::Limits::Time time, const QString& doing);
  /// Sends a script to the machine, which may be the last thing that happens.
  void send(Call& call, const std::string& text, remote::Limits::Time limit,
            std::function<void(const CallResult&)> done);
  /// Files into a folder of the machine, one after the other; calls back with what failed.
  struct Transfer {
    std::string folder;
    std::vector<remote::Upload> files;
    std::string mark;
    std::function<void(const Outcome&)> done;
    std::size_t next = 0;
    QByteArray said = {};  ///< by all the commands
  };
  void transfer(Call& call, const std::shared_ptr<Transfer>& transfer);
  void finishTransfer(Call& call, const std::shared_ptr<Transfer>& transfer, const Outcome& outcome);

  void readSettings();
  void startMaster();
  void readMaster();
  void masterEnded();
  void fetchKey();
  void checkSystem();
  void checkLibraries();
  void checkSpace();
  void checkInstalled();
  void put();
  void testExecutor();
  void findPartitions();
  [[nodiscard]] bool isHere(Step step) const;
  /// For messages.
  [[nodiscard]] std::string title() const { return m_machine.isLocal() ? "this computer" : m_machine.target.text(); }
  [[nodiscard]] QString host() const { return QString::fromStdString(m_machine.target.text()); }
  [[nodiscard]] std::string folder() const;

  Machine m_machine;
  RunEnvironment m_environment;
  State m_state = State::idle;
  std::vector<ConnectStep> m_steps;
  MachineFacts m_facts;
  remote::SshTrouble m_trouble = remote::SshTrouble::none;
  QString m_message;
  QString m_address;
  std::unique_ptr<QTemporaryDir> m_private;
  std::optional<remote::ExecutorFiles> m_executor;
  remote::Facts m_systemFacts;
  QProcess* m_master = nullptr;
  QByteArray m_masterErrors;
  qsizetype m_readTo = 0;
  QTimer m_masterTimer;
  QTimer m_limit;
  int m_lookUp = -1;
  QElapsedTimer m_clock;
  QString m_knownHostsFile;
  QByteArray m_fetchedKeys;
  QStringList m_fingerprints;
  bool m_hasProxy = false;
  Call m_call;
  Call m_put;
  Call m_drop;
};

}  // namespace coppice::designer
