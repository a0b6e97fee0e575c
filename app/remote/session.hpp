// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/child.hpp"
#include "base/result.hpp"
#include "base/temporary_folder.hpp"
#include "program/run_protocol.hpp"
#include "remote/executor_files.hpp"
#include "remote/host.hpp"
#include "remote/host_key.hpp"
#include "remote/limits.hpp"
#include "remote/scripts.hpp"
#include "remote/session_steps.hpp"
#include "remote/ssh.hpp"
#include "remote/ssh_fault.hpp"
#include "remote/transfer.hpp"

namespace coppice::remote {

/// What a session tells while it works, on the thread that works. Empty functions are not called.
struct SessionEvents {
  StepLog::Listener onStep = {};
  /// A step takes long. @param doing  as in "reading its system" @param limit  after which it is given up
  std::function<void(const std::string& machine, const std::string& doing, Limits::Time limit)> onSlow = {};
};

struct SessionOptions {
  std::optional<Target> target = {};  ///< nullopt = this computer
  SshOptions ssh = {};                ///< the control socket is the session's own
  Limits limits = {};
  std::filesystem::path executor = {};   ///< coppice-exec here
  std::filesystem::path localRuns = {};  ///< of runs on this computer; empty = ~/.cache/coppice/runs
  std::vector<Step> leftOut = {};        ///< of resolve, selfTest and partitions
  bool asksAtTerminal = false;           ///< ssh may ask for the passphrase of a key
  bool fetchesUnknownKey = false;        ///< so that a person can compare it
  SessionEvents events = {};
};

struct SlurmPartition {
  std::string name;
  bool isDefault = false;
  std::string state;
  int nodes = 0;
  std::string resources;
  std::string limit;
};

/// What is known of a machine from the steps so far.
struct SiteFacts {
  std::string system = {};
  std::string architecture = {};
  std::string host = {};  ///< what it calls itself
  std::string libc = {};
  std::string boot = {};  ///< of this start of the machine: no two machines share it
  int cores = 0;
  std::int64_t freeBytes = -1;
  std::string address = {};  ///< HostName of the ssh configuration; empty = not known
  std::vector<SlurmPartition> partitions = {};
  std::optional<program::EnvRecord> environment = {};  ///< of the self-test

  /// What the executor says of MPI there; empty = it has none.
  [[nodiscard]] std::string mpi() const;
};

/// The way to one machine: connects step by step, checks it, copies the executor, and then starts commands and sends
/// files. One shared ssh connection, whose socket is in a private folder; both go at the end. Each call ends within
/// its limit, and soon after a stop is requested. After open(), the const functions may be called from any thread.
class Session {
public:
  explicit Session(SessionOptions options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// All steps. @pre the calling thread outlives the session. Errors: unavailable (no ssh; another architecture, an
  /// older C library), io (with ssh's reason and its fix; too slow), cancelled.
  Outcome open(const std::stop_token& stop);
  void close();
  /// Until the shared connection is lost: true; or a stop is requested: false. @pre open() was good
  [[nodiscard]] bool waitUntilLost(const std::stop_token& stop);

  [[nodiscard]] bool isLocal() const { return !m_options.target; }
  [[nodiscard]] const Limits& limits() const { return m_options.limits; }
  [[nodiscard]] const SiteFacts& facts() const { return m_facts; }
  [[nodiscard]] const StepReports& steps() const { return m_steps.reports(); }
  /// Why ssh did not connect.
  [[nodiscard]] SshTrouble trouble() const { return m_trouble; }
  /// Where fetchesUnknownKey was set and the host is not known.
  [[nodiscard]] const std::optional<HostKey>& hostKey() const { return m_hostKey; }
  /// Where ssh writes the keys that a person accepts.
  [[nodiscard]] const std::filesystem::path& knownHosts() const { return m_knownHosts; }
  /// For messages: "node1", "ann@node1"; "this computer".
  [[nodiscard]] std::string name() const { return isLocal() ? "this computer" : m_options.target->host; }
  [[nodiscard]] std::string title() const { return isLocal() ? "this computer" : m_options.target->text(); }

  /// The command line that runs coppice-exec there with these words.
  [[nodiscard]] std::vector<std::string> executorCommand(const std::vector<std::string>& arguments) const;
  /// Where a run is there, for executorCommand.
  [[nodiscard]] std::string runFolder(const std::string& run) const;
  /// What a script found, and what it wrote to standard error.
  struct Said {
    Facts facts;
    std::string errors;
  };
  /// Runs a script of ours there. @param doing  follows "while"
  [[nodiscard]] Result<Said> script(const std::string& text, const std::string& doing, Limits::Time limit,
                                    const std::stop_token& stop) const;
  /// Copies files into the folder of a run there: all of them, or none.
  [[nodiscard]] Outcome putFiles(const std::string& run, const std::vector<Upload>& files,
                                 const std::stop_token& stop) const;
  /// Makes the folder of a run and puts the files into it. @param isShared  it may be there already, by way of a home
  /// folder that several machines share: then it is full. Errors: badUsage (not a plain name), io.
  [[nodiscard]] Outcome putRun(const std::string& run, const std::vector<Upload>& files, bool isShared,
                               const std::stop_token& stop) const;
  /// Removes the folder of a run, also after an interrupt. Failures are ignored.
  void dropRun(const std::string& run) const;

private:
  struct Ended {
    std::string message = {};
    StepReport::State state = StepReport::State::done;
  };
  using Part = Result<Ended> (Session::*)(const std::stop_token&);
  [[nodiscard]] bool isLeftOut(Step step) const;
  [[nodiscard]] Outcome perform(Step step, Part part, const std::stop_token& stop);
  [[nodiscard]] Outcome fail(Step step, const Error& error);
  [[nodiscard]] Error faultOf(const SshFault& fault);

  [[nodiscard]] std::vector<std::string> sshCommand(const std::string& text) const;
  [[nodiscard]] std::vector<std::string> scriptCommand() const;
  [[nodiscard]] Patience patience(const std::string& doing, Limits::Time limit) const;
  /// A script as the work of a step: its command and output are shown.
  [[nodiscard]] Result<Facts> ask(Step step, const std::string& text, const std::stop_token& stop);
  [[nodiscard]] Result<Said> saidBy(const Captured& captured, const std::string& doing, Limits::Time limit) const;
  /// @param log  gets what the commands wrote
  [[nodiscard]] Outcome put(const std::string& folder, const std::vector<Upload>& files, const std::stop_token& stop,
                            std::string* log = nullptr) const;
  [[nodiscard]] Outcome receive(const std::string& folder, const std::vector<Upload>& files, const std::string& mark,
                                const std::stop_token& stop, std::string* log) const;

  [[nodiscard]] Result<Ended> resolve(const std::stop_token& stop);
  [[nodiscard]] Outcome readSettings(const std::stop_token& stop);
  [[nodiscard]] Outcome logIn(const std::stop_token& stop);
  [[nodiscard]] Outcome waitForSocket(Limits::Time limit, const std::stop_token& stop);
  [[nodiscard]] Outcome masterEnded(const std::stop_token& stop);
  void readMasterLog();
  [[nodiscard]] Result<Ended> checkSystem(const std::stop_token& stop);
  [[nodiscard]] Result<Ended> checkLibraries(const std::stop_token& stop);
  [[nodiscard]] Result<Ended> checkSpace(const std::stop_token& stop);
  [[nodiscard]] Result<Ended> checkExecutor(const std::stop_token& stop);
  [[nodiscard]] Result<Ended> copyExecutor(const std::stop_token& stop);
  [[nodiscard]] Result<Ended> testExecutor(const std::stop_token& stop);
  [[nodiscard]] Result<Ended> findPartitions(const std::stop_token& stop);

  SessionOptions m_options;
  StepLog m_steps;
  SiteFacts m_facts;
  Facts m_system;
  ExecutorFiles m_executor;
  bool m_isInstalled = false;
  SshTrouble m_trouble = SshTrouble::none;
  std::optional<HostKey> m_hostKey;
  std::filesystem::path m_knownHosts;
  bool m_hasProxy = false;
  std::string m_where;  ///< "user@host:port"
  std::optional<TemporaryFolder> m_private;
  std::optional<Child> m_master;
  std::string m_masterLog;
  std::size_t m_readTo = 0;
};

}  // namespace coppice::remote
