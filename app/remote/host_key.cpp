// SPDX-License-Identifier: Apache-2.0
#include "remote/host_key.hpp"

#include <sstream>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "base/child.hpp"
#include "base/text.hpp"
#include "io/files.hpp"

namespace coppice::remote {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> words(const std::string& program, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), program);
  return arguments;
}

/// "256 SHA256:… host (ED25519)" for each key.
std::vector<std::string> fingerprintsIn(const std::string& text) {
  std::vector<std::string> fingerprints;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream stream(line);
    std::vector<std::string> parts;
    for (std::string part; stream >> part;) {
      parts.push_back(part);
    }
    if (parts.size() >= 3) {
      std::string kind = parts.back();
      std::erase_if(kind, [](char c) { return c == '(' || c == ')'; });
      fingerprints.push_back(kind + " " + parts[1]);
    }
  }
  return fingerprints;
}

Error cannotWrite(const fs::path& file, const char* fix) {
  return {ErrorCode::io, inQuotes(file.string()) + " cannot be written", fix};
}

}  // namespace

Result<HostKey> fetchHostKey(const SshOptions& ssh, const Target& target, const Limits& limits, const fs::path& folder,
                             const std::stop_token& stop) {
  const fs::path file = folder / "key";
  std::error_code ignored;
  fs::remove(file, ignored);
  const auto fetched = capture(words(ssh.ssh, fetchKeyArguments(ssh, target, file.string())), {}, stop, {limits.login});
  if (!fetched) {
    return fetched.error();
  }
  constexpr std::size_t kMax = std::size_t{64} << 10;
  auto lines = io::readFile(file, kMax);
  if (!lines || lines->empty()) {
    return Error{ErrorCode::io, "the host key of " + target.host + " could not be read: " + inQuotes(fetched->errors),
                 "connect once in a terminal"};
  }
  const auto listed = capture({ssh.keygen, "-l", "-f", file.string()}, {}, stop, {limits.settings});
  if (!listed) {
    return listed.error();
  }
  HostKey key{std::move(*lines), fingerprintsIn(listed->output)};
  if (key.fingerprints.empty()) {
    return Error{ErrorCode::io, "ssh-keygen cannot read the host key of " + target.host, "connect once in a terminal"};
  }
  return key;
}

Outcome addKnownHost(const fs::path& file, const HostKey& key) {
  std::error_code error;
  if (const fs::path folder = file.parent_path(); !fs::exists(folder, error)) {
    fs::create_directories(folder, error);
    fs::permissions(folder, fs::perms::owner_all, error);
  }
  constexpr int kOwn = 0600;
  const int handle = ::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, kOwn);
  if (handle < 0) {
    return cannotWrite(file, "check its permissions");
  }
  // A last line without its end would swallow ours.
  std::string text = key.lines.ends_with('\n') ? key.lines : key.lines + '\n';
  char last = '\n';
  if (const off_t size = ::lseek(handle, 0, SEEK_END);
      size > 0 && ::pread(handle, &last, 1, size - 1) == 1 && last != '\n') {
    text.insert(0, 1, '\n');
  }
  const bool isWritten = ::write(handle, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const bool isClosed = ::close(handle) == 0;
  return isWritten && isClosed ? Outcome(Done{}) : Outcome(cannotWrite(file, "check the free space"));
}

}  // namespace coppice::remote
