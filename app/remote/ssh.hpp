// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "remote/host.hpp"

/// Command lines of the system's OpenSSH. All as argument lists: nothing here passes a local shell, and what goes to
/// the remote one is fixed text of ours.
namespace coppice::remote {

struct SshOptions {
  std::string ssh = "ssh";
  std::string keygen = "ssh-keygen";
  std::string configFile = {};     ///< -F; empty = the user's
  std::string controlSocket = {};  ///< in a private folder; empty = no shared connection
  int connectTimeout = 10;         ///< seconds
  int aliveInterval = 5;           ///< seconds between signs of life; three that are missed end the connection
  bool batchMode = true;           ///< BatchMode: keys and agent only; false = the master may ask at the terminal
};

/// ssh that keeps the connection open for others and tells what it does on standard error (-v).
[[nodiscard]] std::vector<std::string> masterArguments(const SshOptions& options, const Target& target);
/// ssh that runs one command there. @param command fixed text of ours
[[nodiscard]] std::vector<std::string> commandArguments(const SshOptions& options, const Target& target,
                                                        const std::string& command);
/// ssh that prints what it would do for this target (ssh -G).
[[nodiscard]] std::vector<std::string> settingsArguments(const SshOptions& options, const Target& target);
/// ssh that fetches the host key into a file of ours and goes no further: it proves nothing, and the key is not trusted
/// until the user has accepted it.
[[nodiscard]] std::vector<std::string> fetchKeyArguments(const SshOptions& options, const Target& target,
                                                         const std::string& knownHostsFile);

}  // namespace coppice::remote
