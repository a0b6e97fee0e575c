// SPDX-License-Identifier: Apache-2.0
#include "program/watch.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <utility>

#include "program/run_job.hpp"

namespace coppice::executor {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kGraceSeconds = 5;

std::string signalName(unsigned number) {
  return number == SIGINT ? "SIGINT" : number == SIGTERM ? "SIGTERM" : "SIGHUP";
}

}  // namespace

Watch::Watch(WatchOptions options) : m_options(std::move(options)), m_inputOpen(m_options.lifeline) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    sigaddset(&signals, number);
  }
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  if (m_options.lifeline) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() == 1) {
      stop({.exit = program::RunExit::cancelled, .text = "the program that started the run has exited"});
    }
  }
  m_signals = signalfd(-1, &signals, SFD_CLOEXEC);
  m_quit = eventfd(0, EFD_CLOEXEC);
  m_thread = std::thread([this] { serve(); });
}

Watch::~Watch() {
  const std::uint64_t one = 1;
  if (write(m_quit, &one, sizeof(one)) == sizeof(one)) {
    m_thread.join();
  } else {
    m_thread.detach();
  }
  close(m_signals);
  close(m_quit);
}

std::optional<StopReason> Watch::reason() const {
  const std::lock_guard lock(m_mutex);
  return m_reason;
}

void Watch::stop(StopReason reason) {
  {
    const std::lock_guard lock(m_mutex);
    if (!m_reason) {
      m_reason = std::move(reason);
    }
  }
  m_stop.request_stop();
}

void Watch::serve() {
  const Clock::time_point start = Clock::now();
  std::optional<Clock::time_point> stopped;
  while (true) {
    std::array<pollfd, 3> waits = {{{.fd = m_quit, .events = POLLIN, .revents = 0},
                                    {.fd = m_signals, .events = POLLIN, .revents = 0},
                                    {.fd = m_inputOpen ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0}}};
    if (poll(waits.data(), waits.size(), 100) < 0 && errno != EINTR) {
      return;
    }
    if (waits[0].revents != 0) {
      return;
    }
    if ((waits[1].revents & POLLIN) != 0) {
      signalfd_siginfo info{};
      if (read(m_signals, &info, sizeof(info)) == sizeof(info)) {
        if (stopped) {
          m_options.onOverdue(*reason());
          _exit(static_cast<int>(reason()->exit));
        }
        stop({.exit = program::RunExit::cancelled, .text = "stopped by " + signalName(info.ssi_signo)});
      }
    }
    if (waits[2].revents != 0) {
      readInput();
    }
    const Clock::time_point now = Clock::now();
    const auto since = [&](Clock::time_point then) { return std::chrono::duration<double>(now - then).count(); };
    if (m_options.timeoutSeconds > 0 && !stopped && since(start) > m_options.timeoutSeconds) {
      stop({.exit = program::RunExit::hang, .text = "the time limit of the run was reached"});
    }
    if (!stopped && m_stop.stop_requested()) {
      stopped = now;
    }
    if (stopped && since(*stopped) > kGraceSeconds) {
      m_options.onOverdue(*reason());
      _exit(static_cast<int>(reason()->exit));
    }
  }
}

void Watch::readInput() {
  std::array<char, 4096> buffer{};
  const ssize_t length = read(STDIN_FILENO, buffer.data(), buffer.size());
  if (length <= 0) {
    if (length < 0 && (errno == EINTR || errno == EAGAIN)) {
      return;
    }
    m_inputOpen = false;
    stop({.exit = program::RunExit::cancelled, .text = "the starting program closed its end"});
    return;
  }
  m_line.append(buffer.data(), static_cast<std::size_t>(length));
  for (std::size_t end = m_line.find('\n'); end != std::string::npos; end = m_line.find('\n')) {
    const auto command = program::readCommand(std::string_view(m_line).substr(0, end));
    m_line.erase(0, end + 1);
    if (command && *command == program::RunCommand::cancel) {
      stop({.exit = program::RunExit::cancelled, .text = program::kStoppedByUser});
    } else if (command && *command == program::RunCommand::ping && m_options.onPing) {
      m_options.onPing();
    }
  }
  if (m_line.size() > program::kMaxRecordBytes) {
    m_line.clear();
  }
}

}  // namespace coppice::executor
