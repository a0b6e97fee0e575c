// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "child.hpp"
#include "program/run_protocol.hpp"
#include "remote/executor_files.hpp"
#include "remote/host.hpp"
#include "remote/limits.hpp"
#include "remote/scripts.hpp"
#include "remote/ssh.hpp"
#include "remote/transfer.hpp"

namespace coppice::cli {

/// A shared ssh connection to a machine, with its socket in a private folder; both go at the end. Each call ends within
/// its limit, and at once where a stop is requested.
class MachineLink {
public:
  /// @param config  of ssh; empty = the user's. Errors: unavailable (no ssh), io (with ssh's reason and its fix; too
  /// slow), cancelled
  static Result<std::unique_ptr<MachineLink>> open(const remote::Target& target, const std::string& config,
                                                   const remote::Limits& limits, const std::stop_token& stop);
  ~MachineLink();
  MachineLink(const MachineLink&) = delete;
  MachineLink& operator=(const MachineLink&) = delete;

  [[nodiscard]] const remote::Target& target() const { return m_target; }
  [[nodiscard]] const remote::Limits& limits() const { return m_limits; }
  /// For a remote step: it is named where it takes long. @param step  as in "checking the disk space"
  [[nodiscard]] Patience patience(const std::string& step, remote::Limits::Time limit) const;
  /// What a script found, and what it wrote to standard error.
  struct Said {
    remote::Facts facts;
    std::string errors;
  };
  /// Runs a script of ours there. @param step  what it does, as in "checking the disk space"
  [[nodiscard]] Result<Said> script(const std::string& text, const std::string& step, remote::Limits::Time limit,
                                    const std::stop_token& stop) const;
  /// Copies files into a folder there: all of them, or none.
  [[nodiscard]] Outcome put(const std::string& folder, const std::vector<remote::Upload>& files,
                            const std::stop_token& stop) const;
  /// The command line that runs this text, which is ours, on the remote machine.
  [[nodiscard]] std::vector<std::string> command(const std::string& text) const;
  /// HostName of the ssh configuration for this machine; empty where ssh does not tell.
  [[nodiscard]] std::string address(const std::stop_token& stop) const;

private:
  MachineLink(remote::Target target, const remote::Limits& limits, std::string folder)
      : m_target(std::move(target)), m_limits(limits), m_folder(std::move(folder)) {}
  [[nodiscard]] Outcome receive(const std::string& folder, const std::vector<remote::Upload>& files,
                                const std::string& mark, const std::stop_token& stop) const;

  remote::Target m_target;
  remote::Limits m_limits;
  std::string m_folder;
  remote::SshOptions m_options;
  std::optional<Child> m_master;
};

/// A machine that is ready for a run.
struct Deployed {
  std::string folder;  ///< of the executor, relative to the home folder
  std::string host;    ///< what it calls itself
  std::string boot;    ///< of this start of the machine; empty = not known
};

/// Sees to it that coppice-exec is there, whole, and the same as `executor`, with the backends beside that. Says on
/// standard error when it copies. Errors: unavailable (another architecture, an older C library), io.
Result<Deployed> deploy(const MachineLink& link, const remote::ExecutorFiles& executor, const std::stop_token& stop);

/// What the executor says of itself on the machine. Errors: unavailable (does not start), io (too slow).
Result<program::EnvRecord> selfTest(const MachineLink& link, const Deployed& deployed, const std::stop_token& stop);

}  // namespace coppice::cli
