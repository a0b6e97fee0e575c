// SPDX-License-Identifier: Apache-2.0
#include "mpi/stale_segments.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace coppice::executor {
namespace {

// Open MPI 4 and 5, and SharedSegment's named objects.
constexpr std::string_view kNames[] = {"vader_segment.", "sm_segment.", "coppice-exec-"};

bool removeIfStale(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) {
    return false;
  }
  struct stat facts = {};
  const bool isOurs = ::fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == ::geteuid();
  const bool isStale = isOurs && ::fcntl(file, F_SETLEASE, F_WRLCK) == 0;
  const bool isRemoved = isStale && ::unlink(path.c_str()) == 0;
  ::close(file);  // ends the lease
  return isRemoved;
}

}  // namespace

int removeStaleSegments(const std::string& folder) {
  // When a file under lease is opened, the kernel sends this signal, which ends a process.
  struct sigaction ignore = {};
  struct sigaction before = {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGIO, &ignore, &before);
  int removed = 0;
  std::error_code error;
  std::filesystem::directory_iterator files(folder, error);
  for (; !error && files != std::filesystem::directory_iterator(); files.increment(error)) {
    const std::string name = files->path().filename().string();
    const bool isKnown = std::any_of(std::begin(kNames), std::end(kNames),
                                     [&](std::string_view start) { return name.starts_with(start); });
    removed += isKnown && removeIfStale(files->path()) ? 1 : 0;
  }
  ::sigaction(SIGIO, &before, nullptr);
  return removed;
}

}  // namespace coppice::executor
