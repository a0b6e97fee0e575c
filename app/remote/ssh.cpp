// SPDX-License-Identifier: Apache-2.0
#include "remote/ssh.hpp"

namespace coppice::remote {
namespace {

using Words = std::vector<std::string>;

void option(Words& words, const std::string& text) {
  words.emplace_back("-o");
  words.push_back(text);
}

/// What all of them share. Options on the command line win over those of the user's configuration, so that nothing in
/// it weakens the check of the host key or runs something of its own.
Words common(const SshOptions& options, const Target& target, bool checksKey = true) {
  Words words;
  if (!options.configFile.empty()) {
    words.emplace_back("-F");
    words.push_back(options.configFile);
  }
  if (options.batchMode) {
    option(words, "BatchMode=yes");
  }
  option(words, "ConnectTimeout=" + std::to_string(options.connectTimeout));
  if (checksKey) {
    option(words, "StrictHostKeyChecking=yes");
  }
  option(words, "ServerAliveInterval=" + std::to_string(options.aliveInterval));
  option(words, "ServerAliveCountMax=3");
  option(words, "ClearAllForwardings=yes");
  option(words, "ForwardX11=no");
  option(words, "PermitLocalCommand=no");
  option(words, "RemoteCommand=none");
  option(words, "RequestTTY=no");
  if (target.port != 0) {
    option(words, "Port=" + std::to_string(target.port));
  }
  if (!target.user.empty()) {
    option(words, "User=" + target.user);
  }
  return words;
}

void shared(Words& words, const SshOptions& options, bool isMaster) {
  if (options.controlSocket.empty()) {
    option(words, "ControlMaster=no");
    option(words, "ControlPath=none");
    return;
  }
  option(words, std::string("ControlMaster=") + (isMaster ? "yes" : "no"));
  option(words, "ControlPath=" + options.controlSocket);
  if (isMaster) {
    option(words, "ControlPersist=no");
  }
}

void finish(Words& words, const Target& target) {
  words.emplace_back("--");
  words.push_back(target.host);
}

}  // namespace

Words masterArguments(const SshOptions& options, const Target& target) {
  Words words = common(options, target);
  shared(words, options, true);
  words.insert(words.end(), {"-v", "-N", "-T"});
  finish(words, target);
  return words;
}

Words commandArguments(const SshOptions& options, const Target& target, const std::string& command) {
  SshOptions silent = options;
  silent.batchMode = true;
  Words words = common(silent, target);
  shared(words, options, false);
  words.emplace_back("-T");
  finish(words, target);
  words.push_back(command);
  return words;
}

Words settingsArguments(const SshOptions& options, const Target& target) {
  Words words = common(options, target);
  words.emplace_back("-G");
  finish(words, target);
  return words;
}

Words fetchKeyArguments(const SshOptions& options, const Target& target, const std::string& knownHostsFile) {
  SshOptions silent = options;
  silent.batchMode = true;
  Words words = common(silent, target, false);
  shared(words, {}, false);
  option(words, "UserKnownHostsFile=" + knownHostsFile);
  option(words, "GlobalKnownHostsFile=/dev/null");
  option(words, "StrictHostKeyChecking=accept-new");
  option(words, "UpdateHostKeys=no");
  option(words, "HashKnownHosts=no");
  option(words, "PreferredAuthentications=none");
  option(words, "PubkeyAuthentication=no");
  words.insert(words.end(), {"-T", "-n"});
  finish(words, target);
  words.emplace_back("true");
  return words;
}

}  // namespace coppice::remote
