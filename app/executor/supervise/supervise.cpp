// SPDX-License-Identifier: Apache-2.0
#include "supervise/supervise.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "program/run_job.hpp"
#include "program/run_protocol.hpp"
#include "supervise/attach.hpp"
#include "supervise/files.hpp"
#include "supervise/supervisor.hpp"

namespace coppice::executor {
namespace {

using program::RunExit;

int refuse(RunExit code, const Error& error) {
  writeAll(STDOUT_FILENO, program::writeRecord(program::ErrorRecord{code, error}));
  writeAll(STDOUT_FILENO, program::writeRecord(program::EndRecord{code, error.message}));
  writeAll(STDERR_FILENO, "coppice-exec: " + describe(error) + "\n");
  return static_cast<int>(code);
}

/// Closes what the starter had open; only this process may hold the ends of pipes that others watch.
void closeAllBut(const std::vector<int>& kept) {
  std::vector<int> open;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const int fd = std::atoi(entry.path().filename().c_str());
    if (fd > STDERR_FILENO && std::find(kept.begin(), kept.end(), fd) == kept.end()) {
      open.push_back(fd);
    }
  }
  for (const int fd : open) {
    close(fd);
  }
}

int start(const std::string& folder) {
  const auto text = readSmall(folder + "/" + kJobFile, program::kMaxJobBytes + 1);
  if (!text) {
    return refuse(RunExit::badUsage,
                  {ErrorCode::io, folder + " has no job.json that can be read", "start the run again"});
  }
  const auto job = program::readJob(*text);
  if (!job) {
    return refuse(RunExit::badUsage, job.error());
  }
  constexpr int kOwn = 0600;
  Handle lock(open((folder + "/" + kLockFile).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kOwn));
  if (!lock || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return refuse(RunExit::badUsage, {ErrorCode::badUsage, "this run is already active", "attach to it"});
  }
  if (exists(folder + "/" + kRecordsFile) || exists(folder + "/" + kEndedFile)) {
    return refuse(RunExit::badUsage, {ErrorCode::badUsage, "this folder contains a finished run", "use a new folder"});
  }
  int line[2];
  if (pipe2(line, O_CLOEXEC) != 0) {
    return refuse(RunExit::machineLacks, {ErrorCode::io, std::string("pipe: ") + std::strerror(errno), ""});
  }
  Handle lifeline(line[0]);
  const Handle ours(line[1]);
  const pid_t child = fork();
  if (child < 0) {
    return refuse(RunExit::machineLacks, {ErrorCode::io, std::string("fork: ") + std::strerror(errno),
                                          "the machine cannot start another process"});
  }
  if (child == 0) {
    setsid();
    // Nothing of the connection stays open, or its other end would wait for this process.
    const int null = open("/dev/null", O_RDWR);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      dup2(null, fd);
    }
    closeAllBut({lock.get(), lifeline.get()});
    const std::string id = std::to_string(getpid()) + "\n";
    if (ftruncate(lock.get(), 0) == 0) {
      writeAll(lock.get(), id);
    }
    if (!job->endsWithStarter) {
      lifeline.close();
    }
    supervise(folder, *job, std::move(lock), std::move(lifeline));
    _exit(0);
  }
  // The lock is held by the child alone from here on: both share one open file, and closing ours does not release it.
  lock.close();
  lifeline.close();
  std::signal(SIGPIPE, SIG_IGN);
  return attach(folder, job->endsWithStarter);
}

int list(const std::string& root) {
  constexpr std::size_t kMax = 10'000;
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(root, error)) {
    const std::string name = entry.path().filename().string();
    // Folders of ours have such names; others could break the line.
    const bool isPlain = std::all_of(name.begin(), name.end(),
                                     [](char c) { return isAlphanumeric(c) || c == '-' || c == '_' || c == '.'; });
    if (isPlain && names.size() < kMax && exists(entry.path().string() + "/" + kJobFile)) {
      names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const std::string folder = root + "/" + name;
    struct stat status = {};
    stat((folder + "/" + kJobFile).c_str(), &status);
    constexpr std::size_t kLongest = 16;
    const auto code = readSmall(folder + "/" + kEndedFile, kLongest);
    const std::string line = "{\"t\":\"run\",\"run\":\"" + name +
                             "\",\"running\":" + (isHeld(folder) ? "true" : "false") +
                             ",\"code\":" + (code ? std::to_string(std::atoi(code->c_str())) : "null") +
                             ",\"started\":" + std::to_string(status.st_mtime) + "}\n";
    if (!writeAll(STDOUT_FILENO, line)) {
      break;
    }
  }
  return 0;
}

int perform(std::string_view command, std::string folder) {
  while (folder.size() > 1 && folder.back() == '/') {
    folder.pop_back();
  }
  std::error_code error;
  if (const auto absolute = std::filesystem::absolute(folder, error); !error) {
    folder = absolute.string();
  }
  if (command == "runs") {
    return list(folder);
  }
  if (const auto why = whyNotPrivate(folder)) {
    return refuse(RunExit::badUsage, {ErrorCode::io, *why, "check the folder of the run"});
  }
  if (command == "supervise") {
    return start(folder);
  }
  if (command == "cancel") {
    return writeSmall(folder + "/" + kCancelFile, "cancel\n") ? 0 : static_cast<int>(RunExit::machineLacks);
  }
  if (!exists(folder + "/" + kLockFile)) {
    return refuse(RunExit::badUsage, {ErrorCode::badUsage, "this run was never started", "start it with supervise"});
  }
  std::signal(SIGPIPE, SIG_IGN);
  return attach(folder, false);
}

}  // namespace

std::optional<int> superviseMain(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command != "supervise" && command != "attach" && command != "cancel" && command != "runs") {
    return std::nullopt;
  }
  if (argc != 3 || std::string_view(argv[2]).empty() || argv[2][0] == '-') {
    std::fprintf(stderr,
                 "coppice-exec: usage: coppice-exec %s FOLDER\n"
                 "  supervise  start the run that FOLDER/job.json describes, and show it\n"
                 "  attach     show it from its beginning\n"
                 "  cancel     end it\n"
                 "  runs       list the runs below FOLDER\n",
                 argv[1]);
    return static_cast<int>(RunExit::badUsage);
  }
  try {
    return perform(command, argv[2]);
  } catch (const std::exception& error) {
    return refuse(RunExit::internal, {ErrorCode::internal, error.what(), "please report this"});
  }
}

}  // namespace coppice::executor
