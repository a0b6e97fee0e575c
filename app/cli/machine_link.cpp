// SPDX-License-Identifier: Apache-2.0
#include "machine_link.hpp"

#include <unistd.h>
#include <csignal>
#include <cstdlib>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <set>
#include <thread>
#include <utility>

#include "base/text.hpp"
#include "io/files.hpp"
#include "remote/elf.hpp"
#include "remote/quoting.hpp"
#include "remote/ssh_fault.hpp"

namespace coppice::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> words(const std::string& program, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), program);
  return arguments;
}

Result<std::string> digestOf(const std::string& file, const std::stop_token& stop) {
  const auto said = capture({"sha256sum", "--", file}, {}, stop);
  if (!said) {
    return said.error();
  }
  constexpr std::size_t kDigits = 64;
  if (said->status != 0 || said->output.size() < kDigits) {
    return Error{ErrorCode::io, "the checksum of " + file + " could not be computed", "check that it can be read"};
  }
  // sha256sum marks odd names with a backslash in front.
  return said->output.substr(said->output.front() == '\\' ? 1 : 0, kDigits);
}

}  // namespace

Result<std::unique_ptr<MachineLink>> MachineLink::open(const remote::Target& target, const std::string& config,
                                                       const std::stop_token& stop) {
  std::string pattern = "/tmp/coppice-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) {
    return Error{ErrorCode::io, "no private folder can be made in /tmp", "check its free space"};
  }
  auto connection = std::unique_ptr<MachineLink>(new MachineLink(target, pattern));
  connection->m_options.configFile = config;
  connection->m_options.controlSocket = pattern + "/c";
  // Somebody at a terminal may be asked for the passphrase of a key.
  connection->m_options.asksNobody = isatty(STDIN_FILENO) == 0;
  auto master = Child::start(words(connection->m_options.ssh, remote::masterArguments(connection->m_options, target)));
  if (!master) {
    const remote::SshFault fault{remote::SshTrouble::noSsh, "the program ssh was not found",
                                 "install OpenSSH (Debian: openssh-client)"};
    return Error{ErrorCode::unavailable, fault.message, fault.fix};
  }
  connection->m_master.emplace(std::move(*master));
  std::error_code error;
  while (!fs::exists(connection->m_options.controlSocket, error)) {
    if (stop.stop_requested()) {
      return Error{ErrorCode::cancelled, "interrupted"};
    }
    if (connection->m_master->hasEnded()) {
      std::string said;
      connection->m_master->pump([](std::string_view) {}, [&](std::string_view text) { said += text; }, [] {});
      const remote::SshFault fault = remote::sshFault(said, target.host);
      return Error{ErrorCode::io, fault.message,
                   fault.trouble == remote::SshTrouble::hostKeyUnknown
                       ? "connect once with ssh " + target.text() + " and accept the key if its fingerprint is right"
                       : fault.fix};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return connection;
}

MachineLink::~MachineLink() {
  if (m_master) {
    m_master->signal(SIGTERM);
    m_master->wait();
  }
  std::error_code error;
  fs::remove_all(m_folder, error);
}

Result<remote::Facts> MachineLink::script(const std::string& text, const std::stop_token& stop) const {
  const auto said = capture(command(remote::kScriptCommand), text, stop);
  if (!said) {
    return said.error();
  }
  remote::Facts facts = remote::factsIn(said->output);
  if (facts.empty() && said->status != 0) {
    return Error{ErrorCode::io, m_target.host + " does not run a script: " + inQuotes(said->errors),
                 "its login may allow no commands"};
  }
  return facts;
}

Outcome MachineLink::put(const std::map<std::string, std::string>& files, const std::stop_token& stop) const {
  std::string batch;
  for (const auto& [from, to] : files) {
    batch += "put " + remote::sftpWord(from) + " " + remote::sftpWord(to) + "\n";
  }
  const auto said = capture(words(m_options.sftp, remote::sftpArguments(m_options, m_target)), batch, stop);
  if (!said) {
    return said.error();
  }
  if (said->status != 0) {
    return Error{ErrorCode::io, "nothing could be copied to " + m_target.host + ": " + inQuotes(said->errors),
                 "check its free space, and that sftp is allowed"};
  }
  return Done{};
}

std::vector<std::string> MachineLink::command(const std::string& text) const {
  return words(m_options.ssh, remote::commandArguments(m_options, m_target, text));
}

std::string MachineLink::address(const std::stop_token& stop) const {
  const auto said = capture(words(m_options.ssh, remote::settingsArguments(m_options, m_target)), {}, stop);
  const std::string text = said && said->status == 0 ? "\n" + said->output : std::string();
  const std::size_t at = text.find("\nhostname ");
  return at == std::string::npos ? std::string() : text.substr(at + 10, text.find('\n', at + 1) - at - 10);
}

std::map<std::string, std::string> executorFiles(const std::string& executor) {
  std::map<std::string, std::string> files{{"coppice-exec", executor}};
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fs::path(executor).parent_path(), error)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("libcoppice-exec-", 0) == 0 && entry.path().extension() == ".so" && remote::isPlainName(name)) {
      files[name] = entry.path().string();
    }
  }
  return files;
}

Result<Deployed> deploy(const MachineLink& link, const std::string& executor, const std::stop_token& stop) {
  const std::string& name = link.target().host;
  const auto bytes = io::readFile(executor);
  if (!bytes) {
    return bytes.error();
  }
  const auto needs = remote::programNeeds(*bytes);
  if (!needs) {
    return needs.error();
  }
  const auto system = link.script(remote::systemScript(), stop);
  if (!system) {
    return system.error();
  }
  const std::string architecture = remote::fact(*system, "architecture");
  if (remote::fact(*system, "system") != "Linux" || architecture != needs->architecture) {
    return Error{ErrorCode::unavailable,
                 name + " runs " + inQuotes(remote::fact(*system, "system") + " " + architecture) +
                     "; the executor here is built for Linux " + needs->architecture,
                 "build coppice-exec there and use a launch bundle (--bundle)"};
  }
  const std::string libc = remote::fact(*system, "libc");
  if (!needs->libc.empty() && remote::isOlder(libc.substr(libc.rfind(' ') + 1), needs->libc)) {
    return Error{ErrorCode::unavailable,
                 "the C library of " + name + " is " + inQuotes(libc) + "; the executor needs " + needs->libc,
                 "build coppice-exec on a system as old as that machine"};
  }
  std::map<std::string, std::string> sources = executorFiles(executor);
  std::map<std::string, std::string> digests;
  std::vector<std::string> names;
  for (const auto& [file, source] : sources) {
    const auto digest = digestOf(source, stop);
    if (!digest) {
      return digest.error();
    }
    digests[file] = *digest;
    names.push_back(file);
  }
  const auto space = link.script(remote::spaceScript(), stop);
  if (!space) {
    return space.error();
  }
  const std::string folder = remote::installFolder(needs->architecture);
  const auto installed = link.script(remote::installedScript(folder, names), stop);
  if (!installed) {
    return installed.error();
  }
  std::set<std::string> there;
  const auto [from, to] = installed->equal_range("sha");
  for (auto it = from; it != to; ++it) {
    there.insert(it->second);
  }
  bool isComplete = true;
  std::map<std::string, std::string> files;
  for (const auto& [file, digest] : digests) {
    isComplete = isComplete && there.contains(file + " " + digest);
    files[sources[file]] = folder + "/" + file + ".part";
  }
  const Deployed deployed{folder, remote::fact(*system, "host"), remote::fact(*system, "boot")};
  if (isComplete) {
    return deployed;
  }
  std::fprintf(stderr, "# copying coppice-exec to %s\n", name.c_str());
  if (Outcome put = link.put(files, stop); !put) {
    return put.error();
  }
  const auto done = link.script(remote::installScript(folder, digests), stop);
  if (!done) {
    return done.error();
  }
  if (!done->contains("installed")) {
    return Error{ErrorCode::io, "the copy of coppice-exec on " + name + " has another checksum; it was thrown away",
                 "try again"};
  }
  return deployed;
}

Result<program::EnvRecord> selfTest(const MachineLink& link, const Deployed& deployed, const std::stop_token& stop) {
  const auto said = capture(link.command(deployed.folder + "/coppice-exec self-test --json"), {}, stop);
  if (!said) {
    return said.error();
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
