// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "child.hpp"
#include "program/run_protocol.hpp"
#include "remote/host.hpp"
#include "remote/scripts.hpp"
#include "remote/ssh.hpp"

namespace coppice::cli {

/// A shared ssh connection to a machine, with its socket in a private folder; both go at the end.
class MachineLink {
public:
  /// @param config  of ssh; empty = the user's. Errors: unavailable (no ssh), io (with ssh's reason and its mend),
  /// cancelled
  static Result<std::unique_ptr<MachineLink>> open(const remote::Target& target, const std::string& config,
                                                   const std::stop_token& stop);
  ~MachineLink();
  MachineLink(const MachineLink&) = delete;
  MachineLink& operator=(const MachineLink&) = delete;

  [[nodiscard]] const remote::Target& target() const { return m_target; }
  /// Runs a script of ours there; what it found.
  [[nodiscard]] Result<remote::Facts> script(const std::string& text, const std::stop_token& stop) const;
  /// Copies files (from, to) there.
  [[nodiscard]] Outcome put(const std::map<std::string, std::string>& files, const std::stop_token& stop) const;
  /// The command line that runs this text, which is ours, over there.
  [[nodiscard]] std::vector<std::string> command(const std::string& text) const;
  /// HostName of the ssh configuration for this machine; empty where ssh does not tell.
  [[nodiscard]] std::string address(const std::stop_token& stop) const;

private:
  MachineLink(remote::Target target, std::string folder) : m_target(std::move(target)), m_folder(std::move(folder)) {}

  remote::Target m_target;
  std::string m_folder;
  remote::SshOptions m_options;
  std::optional<Child> m_master;
};

/// coppice-exec and the backends beside it: names that need no quotes, and where they lie.
[[nodiscard]] std::map<std::string, std::string> executorFiles(const std::string& executor);

/// A machine that is ready for a run.
struct Deployed {
  std::string folder;  ///< of the executor, relative to the home folder
  std::string host;    ///< what it calls itself
  std::string boot;    ///< of this start of the machine; empty = not known
};

/// Sees to it that coppice-exec is there, whole, and the same as `executor`, with the backends beside that. Says on
/// standard error when it copies. Errors: unavailable (another architecture, an older C library), io.
Result<Deployed> deploy(const MachineLink& link, const std::string& executor, const std::stop_token& stop);

/// What the executor says of itself over there. Errors: unavailable (does not start).
Result<program::EnvRecord> selfTest(const MachineLink& link, const Deployed& deployed, const std::stop_token& stop);

}  // namespace coppice::cli
