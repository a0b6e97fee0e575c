// SPDX-License-Identifier: Apache-2.0
#include "remote/transfer.hpp"

#include <algorithm>
#include <random>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "remote/sha256.hpp"
#include "remote/ssh_fault.hpp"

namespace coppice::remote {
namespace {

/// Defines `digest FILE`, which prints the SHA-256 in hex, or nothing.
constexpr const char* kDigest = R"sh(digest() {
  if command -v sha256sum >/dev/null 2>&1; then sha256sum "$1" | cut -d ' ' -f 1
  elif command -v shasum >/dev/null 2>&1; then shasum -a 256 "$1" | cut -d ' ' -f 1
  elif command -v openssl >/dev/null 2>&1; then openssl dgst -sha256 -r "$1" | cut -d ' ' -f 1
  fi
}
if [ -z "$(digest /dev/null)" ]; then
  say 'tool none'
  exit 1
fi
)sh";

/// check NAME DIGEST, then place NAME DIGEST MODE; $mark is set and `drop` removes all that was received.
constexpr const char* kInstall = R"sh(check() {
  found=$(digest "$1.$mark.part")
  if [ "$found" != "$2" ]; then
    say "bad $1 $found"
    drop
    exit 1
  fi
}
place() {
  part=$1.$mark.part
  chmod "$3" "$part" || { drop; exit 1; }
  # Only that of GNU takes a file; others would flush all disks.
  if sync --version >/dev/null 2>&1; then sync "$part"; fi
  if [ -f "$1" ] && ! [ -L "$1" ] && [ "$(digest "$1")" = "$2" ]; then
    chmod "$3" "$1"
    rm -f "$part"
  elif ln "$part" "$1" 2>/dev/null; then
    rm -f "$part"
  elif [ "$(digest "$1")" = "$2" ]; then
    # Another transfer of the same file was faster.
    rm -f "$part"
  else
    mv -f "$part" "$1" || { drop; exit 1; }
  fi
}
)sh";

std::string partName(const Upload& file, const std::string& mark) {
  return file.name + "." + mark + ".part";
}

std::string dropFunction(const std::vector<Upload>& files, const std::string& mark) {
  std::string text = "drop() {\n  rm -f --";
  for (const Upload& file : files) {
    text += " " + partName(file, mark);
  }
  return text + "\n}\n";
}

}  // namespace

Result<Upload> uploadOf(const std::filesystem::path& source, const std::string& name, bool isProgram) {
  auto digest = sha256OfFile(source);
  if (!digest) {
    return digest.error();
  }
  std::error_code error;
  const auto bytes = std::filesystem::file_size(source, error);
  return Upload{source, name, std::move(*digest), error ? 0 : static_cast<std::int64_t>(bytes), isProgram};
}

std::string newMark() {
  std::random_device random;
  constexpr const char* kDigits = "0123456789abcdef";
  std::string mark;
  for (int i = 0; i < 16; ++i) {
    mark += kDigits[random() % 16U];
  }
  return mark;
}

std::string receiveCommand(const std::string& folder, const Upload& file, const std::string& mark) {
  // Single quotes mean the same to sh, csh and fish; -C refuses a file or link that is there already.
  return "/bin/sh -c 'umask 077; set -C; cd && cat >" + folder + "/" + partName(file, mark) + "'";
}

std::string installScript(const std::string& folder, const std::vector<Upload>& files, const std::string& mark) {
  std::string script = scriptHead() + kDigest + "cd " + folder + " || exit 1\nmark=" + mark + "\n" +
                       dropFunction(files, mark) + kInstall;
  for (const Upload& file : files) {
    script += "check " + file.name + " " + file.digest + "\n";
  }
  for (const Upload& file : files) {
    script += "place " + file.name + " " + file.digest + (file.isProgram ? " 700\n" : " 600\n");
  }
  return script + "say 'installed yes'\n";
}

std::string discardScript(const std::string& folder, const std::vector<Upload>& files, const std::string& mark) {
  return scriptHead() + "cd " + folder + " || exit 1\n" + dropFunction(files, mark) + "drop\nsay 'dropped yes'\n";
}

std::string installedScript(const std::string& folder, const std::vector<Upload>& files) {
  std::string script = scriptHead() + kDigest + "own " + folder + "\ncd " + folder + " || exit 1\n" +
                       "find . -name '*.part' -type f -mtime +0 -exec rm -f {} + 2>/dev/null\n";
  for (const Upload& file : files) {
    script += "if [ -f " + file.name + " ] && ! [ -L " + file.name + " ] && [ -x " + file.name + " ]; then say \"sha " +
              file.name + " $(digest " + file.name + ")\"; fi\n";
  }
  return script + "say 'looked yes'\n";
}

namespace {

Error noDigest(const std::string& machine) {
  return {ErrorCode::unavailable, machine + " has no program that computes SHA-256",
          "install sha256sum (coreutils), shasum or openssl there"};
}

}  // namespace

Result<bool> areInstalled(const std::string& machine, const Facts& facts, const std::vector<Upload>& files) {
  if (facts.contains("tool")) {
    return noDigest(machine);
  }
  if (Error fault = folderFault(machine, facts); !fault.message.empty()) {
    return fault;
  }
  if (!facts.contains("looked")) {
    return Error{ErrorCode::io, "the folder ~/.cache/coppice of " + machine + " cannot be used",
                 "check its home folder and quota"};
  }
  const auto [from, to] = facts.equal_range("sha");
  return std::all_of(files.begin(), files.end(), [from = from, to = to](const Upload& file) {
    return std::any_of(from, to, [&](const auto& each) { return each.second == file.name + " " + file.digest; });
  });
}

Outcome received(const std::string& machine, const Upload& file, int status, const std::string& errors) {
  if (status == 0) {
    return Done{};
  }
  constexpr int kSshFailed = 255;
  if (status == kSshFailed) {
    const SshFault fault = sshFault(errors, machine);
    return Error{ErrorCode::io, "the copy to " + machine + " was interrupted: " + fault.message, fault.fix};
  }
  const bool isFull = errors.find("No space left") != std::string::npos || errors.find("quota") != std::string::npos;
  return Error{ErrorCode::io, file.name + " could not be written on " + machine + ": " + inQuotes(errors),
               isFull ? "free some space in its home folder" : "check its home folder and quota"};
}

Outcome installed(const std::string& machine, const Facts& facts, const std::string& errors) {
  if (facts.contains("installed")) {
    return Done{};
  }
  if (facts.contains("tool")) {
    return noDigest(machine);
  }
  if (const std::string bad = fact(facts, "bad"); !bad.empty()) {
    return Error{ErrorCode::io,
                 "the copy of " + bad.substr(0, bad.find(' ')) + " on " + machine +
                     " has another checksum than the original and was removed",
                 "try again; if it happens again, check the disk and the network of " + machine};
  }
  return Error{ErrorCode::io, "the copy on " + machine + " could not be moved into place: " + inQuotes(errors),
               "check its home folder and quota"};
}

Error folderFault(const std::string& machine, const Facts& facts) {
  const std::string text = fact(facts, "refused");
  if (text.empty()) {
    return {};
  }
  const std::size_t first = text.find(' ');
  const std::size_t second = text.find(' ', first == std::string::npos ? first : first + 1);
  const std::string folder = "~/" + text.substr(0, first) + " on " + machine;
  const std::string why = first == std::string::npos ? "" : text.substr(first + 1, second - first - 1);
  const std::string detail = second == std::string::npos ? "" : text.substr(second + 1);
  if (why == "link") {
    return {ErrorCode::io, folder + " is a symbolic link; programs are only stored in a folder of your own",
            "remove the link, or replace it with a folder"};
  }
  if (why == "owner") {
    return {ErrorCode::io, folder + " belongs to another user" + (detail.empty() ? "" : ", " + inQuotes(detail)),
            "remove it, or change its owner to yourself"};
  }
  if (why == "file") {
    return {ErrorCode::io, folder + " is not a folder", "remove or rename it"};
  }
  return {ErrorCode::io, folder + " cannot be created", "check the home folder, its permissions and quota"};
}

}  // namespace coppice::remote
