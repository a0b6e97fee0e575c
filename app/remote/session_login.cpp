// SPDX-License-Identifier: Apache-2.0
// The first steps of a session over ssh: what the configuration means, and the shared connection.
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "remote/quoting.hpp"
#include "remote/session.hpp"

namespace coppice::remote {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::array<Step, 3> kLoginSteps{Step::connect, Step::hostKey, Step::logIn};

/// The path of a socket is short by nature, so it is not in the user's cache.
Result<TemporaryFolder> privateFolder() {
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  constexpr std::size_t kLongest = 60;
  if (runtime != nullptr && *runtime == '/' && std::string_view(runtime).size() < kLongest &&
      ::access(runtime, W_OK) == 0) {
    if (auto folder = TemporaryFolder::make(runtime)) {
      return folder;
    }
  }
  return TemporaryFolder::make("/tmp");
}

fs::path homeFolder() {
  const char* const home = std::getenv("HOME");
  return home != nullptr ? home : "/";
}

/// The value behind "key " in a line of ssh -G; empty = another key.
std::string valueOf(const std::string& line, std::string_view key) {
  return line.starts_with(key) && line.size() > key.size() && line[key.size()] == ' ' ? line.substr(key.size() + 1)
                                                                                      : std::string();
}

}  // namespace

Outcome Session::readSettings(const std::stop_token& stop) {
  std::vector<std::string> command = settingsArguments(m_options.ssh, *m_options.target);
  command.insert(command.begin(), m_options.ssh.ssh);
  m_steps.setCommand(Step::resolve, commandText(command));
  const auto said = capture(command, {}, stop, {limits().settings});
  if (!said) {
    return said.error().code == ErrorCode::unavailable ? faultOf(sshMissing()) : said.error();
  }
  m_steps.setOutput(Step::resolve, said->output + said->errors);
  if (said->isTimedOut) {
    return noAnswer("ssh", "reading its configuration", limits().settings);
  }
  if (said->status != 0) {
    return faultOf(sshFault(said->errors, name()));
  }
  std::string user;
  std::string port;
  m_hasProxy = false;
  m_knownHosts.clear();
  std::istringstream lines(said->output);
  for (std::string line; std::getline(lines, line);) {
    if (const std::string host = valueOf(line, "hostname"); !host.empty()) {
      m_facts.address = host;
    } else if (const std::string value = valueOf(line, "user"); !value.empty()) {
      user = value;
    } else if (const std::string number = valueOf(line, "port"); !number.empty()) {
      port = number;
    } else if (const std::string files = valueOf(line, "userknownhostsfile"); !files.empty()) {
      // The first of them is the one that ssh itself writes to.
      const std::string first = files.substr(0, files.find(' '));
      m_knownHosts = first.starts_with("~/") ? homeFolder() / first.substr(2) : fs::path(first);
    } else {
      for (const char* key : {"proxyjump", "proxycommand"}) {
        const std::string proxy = valueOf(line, key);
        m_hasProxy = m_hasProxy || (!proxy.empty() && proxy != "none");
      }
    }
  }
  if (m_knownHosts.empty()) {
    m_knownHosts = homeFolder() / ".ssh/known_hosts";
  }
  m_where = user + "@" + m_facts.address + ":" + port;
  return Done{};
}

Result<Session::Ended> Session::resolve(const std::stop_token& stop) {
  if (Outcome read = readSettings(stop); !read) {
    return read.error();
  }
  if (m_hasProxy) {
    return Ended{m_where + ", through another host"};
  }
  const StepFacts& facts = factsOf(Step::resolve);
  const auto found = capture({"getent", "ahosts", m_facts.address}, {}, stop, {limits().*facts.limit});
  if (!found && found.error().code == ErrorCode::unavailable) {
    // ssh looks it up, too.
    return Ended{m_where};
  }
  if (!found) {
    return found.error();
  }
  if (found->isTimedOut) {
    m_trouble = SshTrouble::timeout;
    return noAnswer(name(), facts.doing, limits().*facts.limit);
  }
  const std::string address = found->output.substr(0, found->output.find_first_of(" \t\n"));
  if (found->status != 0 || address.empty()) {
    return faultOf(sshFault("Could not resolve hostname", m_facts.address));
  }
  return Ended{m_where + " = " + address};
}

Outcome Session::logIn(const std::stop_token& stop) {
  auto folder = privateFolder();
  if (!folder) {
    return fail(Step::connect, folder.error());
  }
  m_private.emplace(std::move(*folder));
  m_options.ssh.controlSocket = m_private->file("c").string();
  std::vector<std::string> command = masterArguments(m_options.ssh, *m_options.target);
  command.insert(command.begin(), m_options.ssh.ssh);
  ChildOptions options;
  options.inputFile = "/dev/null";
  // Files: a pipe would have no reader while the connection lasts.
  options.outputFile = "/dev/null";
  options.errorsFile = m_private->file("log").string();
  options.asksAtTerminal = m_options.asksAtTerminal;
  m_masterLog.clear();
  m_readTo = 0;
  for (const Step step : kLoginSteps) {
    m_steps.setCommand(step, commandText(command));
  }
  m_steps.begin(Step::connect);
  auto master = Child::start(command, options);
  if (!master) {
    return fail(Step::connect, master.error().code == ErrorCode::unavailable ? faultOf(sshMissing()) : master.error());
  }
  m_master.emplace(std::move(*master));
  const Limits::Time limit = m_options.asksAtTerminal ? limits().loginByHand : limits().login;
  if (Outcome done = waitForSocket(limit, stop); !done) {
    return done;
  }
  m_master->takeTerminalBack();
  readMasterLog();
  // By way of another host the lines of two programs are mixed; the socket is what counts.
  for (const Step step : kLoginSteps) {
    if (m_steps[step].state != StepReport::State::done) {
      const std::size_t at = m_masterLog.rfind("Authenticated to");
      const bool isNamed = step == Step::logIn && at != std::string::npos;
      m_steps.end(step, StepReport::State::done,
                  isNamed ? m_masterLog.substr(at, m_masterLog.find_first_of("\r\n", at) - at) : m_steps[step].message);
    }
  }
  return Done{};
}

Outcome Session::waitForSocket(Limits::Time limit, const std::stop_token& stop) {
  constexpr auto kTick = std::chrono::milliseconds(20);
  const std::string doing = factsOf(Step::connect).doing;
  const Patience waits = patience(doing, limit);
  const auto from = Clock::now();
  // A user who is typing needs no notice.
  bool isNoted = m_options.asksAtTerminal;
  std::error_code error;
  while (!fs::exists(m_options.ssh.controlSocket, error)) {
    if (stop.stop_requested()) {
      return Error{ErrorCode::cancelled, "interrupted"};
    }
    readMasterLog();
    if (m_master->hasEnded()) {
      return masterEnded(stop);
    }
    const auto waited = Clock::now() - from;
    if (!isNoted && waited > waits.notice) {
      isNoted = true;
      waits.onSlow();
    }
    if (waited > limit) {
      m_trouble = SshTrouble::timeout;
      Step step = Step::connect;
      for (const Step later : kLoginSteps) {
        step = m_steps.isRunning(later) ? later : step;
      }
      return fail(step, noAnswer(name(), doing, limit));
    }
    m_master->waitFor(kTick);
  }
  return Done{};
}

void Session::readMasterLog() {
  constexpr std::size_t kMax = std::size_t{1} << 20;
  std::ifstream file(m_private->file("log"), std::ios::binary);
  file.seekg(static_cast<std::streamoff>(m_masterLog.size()));
  std::array<char, 65536> buffer{};
  while (m_masterLog.size() < kMax && (file.read(buffer.data(), buffer.size()), file.gcount() > 0)) {
    m_masterLog.append(buffer.data(), static_cast<std::size_t>(file.gcount()));
  }
  // Line by line, as the steps go by.
  for (std::size_t end = m_masterLog.find('\n', m_readTo); end != std::string::npos;
       end = m_masterLog.find('\n', m_readTo)) {
    std::string line = m_masterLog.substr(m_readTo, end - m_readTo);
    m_readTo = end + 1;
    line.erase(line.find_last_not_of(" \r") + 1);
    const auto has = [&](std::string_view text) { return line.find(text) != std::string::npos; };
    for (const Step step : kLoginSteps) {
      if (m_steps.isRunning(step)) {
        m_steps.hear(step, line + "\n");
      }
    }
    if (m_steps.isRunning(Step::connect) && has("Remote protocol version")) {
      const std::size_t at = line.find("remote software version");
      m_steps.end(Step::connect, StepReport::State::done, at == std::string::npos ? line : line.substr(at));
      m_steps.begin(Step::hostKey);
    } else if (m_steps.isRunning(Step::hostKey) && has("Server host key:")) {
      m_steps.setMessage(Step::hostKey, line.substr(line.find("host key:") + 10));
    } else if (m_steps.isRunning(Step::hostKey) && (has("is known and matches") || has("SSH2_MSG_NEWKEYS sent"))) {
      m_steps.end(Step::hostKey, StepReport::State::done, m_steps[Step::hostKey].message);
      m_steps.begin(Step::logIn);
    }
  }
}

Outcome Session::masterEnded(const std::stop_token& stop) {
  readMasterLog();
  constexpr int kInterrupted = 128 + SIGINT;
  if (m_master->wait() == kInterrupted) {
    return Error{ErrorCode::cancelled, "interrupted"};
  }
  const SshFault fault = sshFault(m_masterLog, name());
  Error error = faultOf(fault);
  Step step = Step::logIn;
  for (const Step candidate : kLoginSteps) {
    step = m_steps.isRunning(candidate) ? candidate : step;
  }
  switch (fault.trouble) {
    case SshTrouble::hostKeyChanged:
    case SshTrouble::hostKeyUnknown:
    case SshTrouble::hostKeyRevoked:
      if (step == Step::connect) {
        m_steps.end(step, StepReport::State::done, {});
      }
      step = Step::hostKey;
      break;
    case SshTrouble::keyRefused:
      step = Step::logIn;
      break;
    default:
      break;
  }
  m_steps.setOutput(step, m_masterLog);
  if (fault.trouble == SshTrouble::hostKeyUnknown) {
    error.fix = "connect once with ssh " + m_options.target->text() + " and accept the key if its fingerprint is right";
    if (m_options.fetchesUnknownKey) {
      m_steps.begin(step);
      auto key = fetchHostKey(m_options.ssh, *m_options.target, limits(), m_private->path(), stop);
      if (key) {
        error.fix = "compare its fingerprint with the one from the owner of the machine";
        m_hostKey = std::move(*key);
      } else if (key.error().code == ErrorCode::cancelled) {
        return key.error();
      } else {
        error.fix = key.error().message + "; " + key.error().fix;
      }
    }
  }
  return fail(step, error);
}

}  // namespace coppice::remote
