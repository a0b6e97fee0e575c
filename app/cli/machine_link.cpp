// SPDX-License-Identifier: Apache-2.0
#include "machine_link.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "base/text.hpp"
#include "io/files.hpp"
#include "remote/site.hpp"
#include "remote/ssh_fault.hpp"
#include "terminal.hpp"

namespace coppice::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using remote::Limits;

std::vector<std::string> words(const std::string& program, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), program);
  return arguments;
}

/// What ssh wrote; at most 1 MiB of it.
std::string logText(const std::string& file) {
  const auto text = io::readFile(file, std::size_t{1} << 20);
  return text ? *text : std::string();
}

}  // namespace

Result<std::unique_ptr<MachineLink>> MachineLink::open(const remote::Target& target, const std::string& config,
                                                       const Limits& limits, const std::stop_token& stop) {
  std::string pattern = "/tmp/coppice-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) {
    return Error{ErrorCode::io, "a private folder in /tmp cannot be created", "check its free space"};
  }
  keepTemporary(pattern);
  auto connection = std::unique_ptr<MachineLink>(new MachineLink(target, limits, pattern));
  connection->m_options.configFile = config;
  connection->m_options.controlSocket = pattern + "/c";
  // Somebody at a terminal may be asked for the passphrase of a key.
  connection->m_options.batchMode = !canAskAtTerminal();
  ChildOptions options;
  options.inputFile = "/dev/null";
  // In a file: nobody reads a pipe while the connection lasts.
  options.errorsFile = pattern + "/log";
  options.asksAtTerminal = !connection->m_options.batchMode;
  auto master =
      Child::start(words(connection->m_options.ssh, remote::masterArguments(connection->m_options, target)), options);
  if (!master) {
    if (master.error().code != ErrorCode::unavailable) {
      return master.error();
    }
    const remote::SshFault fault = remote::sshMissing();
    return Error{ErrorCode::unavailable, fault.message, fault.fix};
  }
  connection->m_master.emplace(std::move(*master));
  const Limits::Time limit = options.asksAtTerminal ? limits.loginByHand : limits.login;
  const Patience patience = connection->patience("logging in", limit);
  const auto from = Clock::now();
  // Somebody who types needs no notice.
  bool isNoted = options.asksAtTerminal;
  std::error_code error;
  while (!fs::exists(connection->m_options.controlSocket, error)) {
    if (stop.stop_requested()) {
      return Error{ErrorCode::cancelled, "interrupted"};
    }
    if (connection->m_master->hasEnded()) {
      constexpr int kInterrupted = 128 + SIGINT;
      if (connection->m_master->wait() == kInterrupted) {
        return Error{ErrorCode::cancelled, "interrupted"};
      }
      const remote::SshFault fault = remote::sshFault(logText(options.errorsFile), target.host);
      return Error{ErrorCode::io, fault.message,
                   fault.trouble == remote::SshTrouble::hostKeyUnknown
                       ? "connect once with ssh " + target.text() + " and accept the key if its fingerprint is right"
                       : fault.fix};
    }
    const auto waited = Clock::now() - from;
    if (!isNoted && waited > patience.notice) {
      isNoted = true;
      patience.onSlow();
    }
    if (waited > limit) {
      return remote::noAnswer(target.host, "logging in", limit);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  connection->m_master->takeTerminalBack();
  return connection;
}

MachineLink::~MachineLink() {
  if (m_master) {
    m_master->end(m_limits.leave);
    m_master.reset();
  }
  dropTemporary(m_folder);
}

Patience MachineLink::patience(const std::string& step, Limits::Time limit) const {
  return {limit, m_limits.silence, [host = m_target.host, notice = m_limits.silence, step, limit] {
            std::fprintf(stderr, "# %s has not answered for %s while %s; waiting up to %s, Ctrl+C ends the wait\n",
                         host.c_str(), remote::secondsText(notice).c_str(), step.c_str(),
                         remote::secondsText(limit).c_str());
          }};
}

Result<MachineLink::Said> MachineLink::script(const std::string& text, const std::string& step, Limits::Time limit,
                                              const std::stop_token& stop) const {
  const auto said = capture(command(remote::kScriptCommand), text, stop, patience(step, limit));
  if (!said) {
    return said.error();
  }
  if (said->isTimedOut) {
    return remote::noAnswer(m_target.host, step, limit);
  }
  Said result{remote::factsIn(said->output), said->errors};
  if (result.facts.empty() && said->status != 0) {
    constexpr int kSshFailed = 255;
    if (said->status == kSshFailed) {
      const remote::SshFault fault = remote::sshFault(said->errors, m_target.host);
      return Error{ErrorCode::io, fault.message, fault.fix};
    }
    return Error{ErrorCode::io, m_target.host + " does not run scripts: " + inQuotes(said->errors),
                 "its login may not allow commands"};
  }
  return result;
}

Outcome MachineLink::receive(const std::string& folder, const std::vector<remote::Upload>& files,
                             const std::string& mark, const std::stop_token& stop) const {
  for (const remote::Upload& file : files) {
    ChildOptions options;
    options.inputFile = file.source.string();
    const auto said =
        capture(command(remote::receiveCommand(folder, file, mark)), {}, stop, {m_limits.upload}, options);
    if (!said) {
      return said.error();
    }
    if (said->isTimedOut) {
      return remote::noAnswer(m_target.host, "receiving " + file.name, m_limits.upload);
    }
    if (Outcome received = remote::received(m_target.host, file, said->status, said->errors); !received) {
      return received;
    }
  }
  const auto said =
      script(remote::installScript(folder, files, mark), "checking what was copied", m_limits.script, stop);
  return said ? remote::installed(m_target.host, said->facts, said->errors) : Outcome(said.error());
}

Outcome MachineLink::put(const std::string& folder, const std::vector<remote::Upload>& files,
                         const std::stop_token& stop) const {
  const std::string mark = remote::newMark();
  Outcome done = receive(folder, files, mark, stop);
  if (!done) {
    // Also after an interrupt.
    [[maybe_unused]] const auto discarded =
        script(remote::discardScript(folder, files, mark), "removing an unfinished copy", m_limits.cleanUp, {});
  }
  return done;
}

std::vector<std::string> MachineLink::command(const std::string& text) const {
  return words(m_options.ssh, remote::commandArguments(m_options, m_target, text));
}

std::string MachineLink::address(const std::stop_token& stop) const {
  const auto said =
      capture(words(m_options.ssh, remote::settingsArguments(m_options, m_target)), {}, stop, {m_limits.settings});
  const std::string text = said && said->status == 0 ? "\n" + said->output : std::string();
  const std::size_t at = text.find("\nhostname ");
  return at == std::string::npos ? std::string() : text.substr(at + 10, text.find('\n', at + 1) - at - 10);
}

Result<Deployed> deploy(const MachineLink& link, const remote::ExecutorFiles& executor, const std::stop_token& stop) {
  const std::string& name = link.target().host;
  const Limits::Time limit = link.limits().script;
  const auto system = link.script(remote::systemScript(), "reading its system", limit, stop);
  if (!system) {
    return system.error();
  }
  for (Error fault : {remote::systemFault(name, system->facts, executor.needs),
                      remote::libcFault(name, system->facts, executor.needs)}) {
    if (!fault.message.empty()) {
      return fault;
    }
  }
  const auto space = link.script(remote::spaceScript(), "checking the disk space", limit, stop);
  if (!space) {
    return space.error();
  }
  if (Error fault = remote::folderFault(name, space->facts); !fault.message.empty()) {
    return fault;
  }
  const std::string folder = remote::installFolder(executor.needs.architecture);
  const auto looked =
      link.script(remote::installedScript(folder, executor.files), "looking for the executor", limit, stop);
  if (!looked) {
    return looked.error();
  }
  const auto areThere = remote::areInstalled(name, looked->facts, executor.files);
  if (!areThere) {
    return areThere.error();
  }
  const Deployed deployed{folder, remote::fact(system->facts, "host"), remote::fact(system->facts, "boot")};
  if (*areThere) {
    return deployed;
  }
  std::fprintf(stderr, "# copying coppice-exec to %s\n", name.c_str());
  if (Outcome put = link.put(folder, executor.files, stop); !put) {
    return put.error();
  }
  return deployed;
}

Result<program::EnvRecord> selfTest(const MachineLink& link, const Deployed& deployed, const std::stop_token& stop) {
  const Limits::Time limit = link.limits().selfTest;
  const std::string step = "testing the executor";
  const auto said =
      capture(link.command(deployed.folder + "/coppice-exec self-test --json"), {}, stop, link.patience(step, limit));
  if (!said) {
    return said.error();
  }
  if (said->isTimedOut) {
    return remote::noAnswer(link.target().host, step, limit);
  }
  std::string_view text = said->output;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (const auto record = program::readRecord(text.substr(0, end))) {
      if (const auto* environment = std::get_if<program::EnvRecord>(&*record)) {
        return *environment;
      }
    }
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return Error{ErrorCode::unavailable,
               "coppice-exec does not start on " + link.target().host +
                   (said->errors.empty() ? "" : ": " + inQuotes(said->errors)),
               "check that its home folder may hold programs, and its libraries"};
}

}  // namespace coppice::cli
