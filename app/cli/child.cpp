// SPDX-License-Identifier: Apache-2.0
#include "child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/text.hpp"

namespace coppice::cli {
namespace {

constexpr std::size_t kMostCaptured = std::size_t{16} << 20;

void closeEnd(int& fd) {
  if (fd >= 0) {
    close(fd);
    fd = -1;
  }
}

}  // namespace

Result<Child> Child::start(const std::vector<std::string>& words) {
  int in[2];
  int out[2];
  int err[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) {
    return Error{ErrorCode::io, std::string("pipe: ") + std::strerror(errno), "close other programs"};
  }
  // A child that is gone must not end us.
  std::signal(SIGPIPE, SIG_IGN);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int number : {SIGPIPE, SIGINT, SIGTERM}) {
    sigaddset(&defaults, number);
  }
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> copy = words;
  std::vector<char*> argv;
  for (std::string& word : copy) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  Child child;
  const int fault = posix_spawnp(&child.m_pid, argv.front(), &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(in[0]);
  close(out[1]);
  close(err[1]);
  child.m_in = in[1];
  child.m_out = out[0];
  child.m_err = err[0];
  if (fault != 0) {
    child.m_pid = -1;
    return Error{fault == ENOENT ? ErrorCode::unavailable : ErrorCode::io,
                 inQuotes(words.front()) + " cannot be started: " + std::strerror(fault), "check that it is installed"};
  }
  return child;
}

Child::Child(Child&& other) noexcept
    : m_pid(std::exchange(other.m_pid, -1)),
      m_in(std::exchange(other.m_in, -1)),
      m_out(std::exchange(other.m_out, -1)),
      m_err(std::exchange(other.m_err, -1)),
      m_status(other.m_status) {}

Child::~Child() {
  closeInput();
  closeEnd(m_out);
  closeEnd(m_err);
  if (m_pid > 0 && m_status < 0) {
    kill(-m_pid, SIGKILL);
    wait();
  }
}

bool Child::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(m_in, text.data(), text.size());
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

void Child::closeInput() {
  closeEnd(m_in);
}

void Child::pump(const std::function<void(std::string_view)>& onOutput,
                 const std::function<void(std::string_view)>& onErrors, const std::function<void()>& onTick) {
  std::array<char, 65536> buffer{};
  while (m_out >= 0 || m_err >= 0) {
    std::array<pollfd, 2> ends{{{m_out, POLLIN, 0}, {m_err, POLLIN, 0}}};
    constexpr int kTick = 200;
    poll(ends.data(), ends.size(), kTick);
    for (const bool isOutput : {true, false}) {
      int& fd = isOutput ? m_out : m_err;
      if (fd < 0 || ends[isOutput ? 0 : 1].revents == 0) {
        continue;
      }
      const ssize_t got = read(fd, buffer.data(), buffer.size());
      if (got > 0) {
        (isOutput ? onOutput : onErrors)(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
      } else if (got == 0 || errno != EINTR) {
        closeEnd(fd);
      }
    }
    onTick();
  }
}

void Child::signal(int number) const {
  if (m_pid > 0 && m_status < 0) {
    kill(-m_pid, number);
  }
}

bool Child::hasEnded() {
  int raw = 0;
  if (m_status < 0 && waitpid(m_pid, &raw, WNOHANG) == m_pid) {
    m_status = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
  }
  return m_status >= 0;
}

int Child::wait() {
  int raw = 0;
  while (m_status < 0) {
    if (waitpid(m_pid, &raw, 0) == m_pid) {
      m_status = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
    } else if (errno != EINTR) {
      m_status = 255;
    }
  }
  return m_status;
}

Result<Captured> capture(const std::vector<std::string>& words, std::string_view input, const std::stop_token& stop) {
  auto child = Child::start(words);
  if (!child) {
    return child.error();
  }
  Captured captured;
  const auto append = [](std::string& to, std::string_view more) {
    to += more.substr(0, kMostCaptured - std::min(kMostCaptured, to.size()));
  };
  // Scripts and batches are short: they fit into the pipe.
  child->write(input);
  child->closeInput();
  child->pump([&](std::string_view text) { append(captured.output, text); },
              [&](std::string_view text) { append(captured.errors, text); },
              [&] {
                if (stop.stop_requested()) {
                  child->signal(SIGTERM);
                }
              });
  captured.status = child->wait();
  if (stop.stop_requested()) {
    return Error{ErrorCode::cancelled, "interrupted"};
  }
  return captured;
}

}  // namespace coppice::cli
