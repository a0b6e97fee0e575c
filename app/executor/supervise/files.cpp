// SPDX-License-Identifier: Apache-2.0
#include "supervise/files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace coppice::executor {

Handle& Handle::operator=(Handle&& other) noexcept {
  if (this != &other) {
    close();
    m_fd = other.m_fd;
    other.m_fd = -1;
  }
  return *this;
}

void Handle::close() {
  if (m_fd >= 0) {
    ::close(m_fd);
    m_fd = -1;
  }
}

bool writeAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::optional<std::string> readSmall(const std::string& path, std::size_t max) {
  const Handle file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) {
    return std::nullopt;
  }
  std::string text;
  std::array<char, 4096> buffer{};
  while (text.size() < max) {
    const ssize_t got = read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return std::nullopt;
    }
    if (got == 0) {
      return text;
    }
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  text.resize(max);
  return text;
}

bool writeSmall(const std::string& path, std::string_view text) {
  const std::string part = path + ".part";
  constexpr int kOwn = 0600;
  Handle file(open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, kOwn));
  if (!file || !writeAll(file.get(), text)) {
    return false;
  }
  file.close();
  return std::rename(part.c_str(), path.c_str()) == 0;
}

bool exists(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

bool isHeld(const std::string& folder) {
  const Handle lock(open((folder + "/" + kLockFile).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!lock) {
    return false;
  }
  return flock(lock.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

std::optional<pid_t> holderOf(const std::string& folder) {
  constexpr std::size_t kLongest = 32;
  const auto text = isHeld(folder) ? readSmall(folder + "/" + kLockFile, kLongest) : std::nullopt;
  const int pid = text ? std::atoi(text->c_str()) : 0;
  return pid > 1 ? std::optional<pid_t>(pid) : std::nullopt;
}

std::optional<std::string> whyNotPrivate(const std::string& folder) {
  struct stat status = {};
  if (lstat(folder.c_str(), &status) != 0) {
    return folder + ": " + std::strerror(errno);
  }
  if (!S_ISDIR(status.st_mode)) {
    return folder + " is not a folder";
  }
  if (status.st_uid != geteuid() || (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return folder + " can be entered by others; a run needs a folder with mode 0700";
  }
  return std::nullopt;
}

}  // namespace coppice::executor
