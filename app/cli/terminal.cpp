// SPDX-License-Identifier: Apache-2.0
#include "terminal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>

#include "base/temporary_folder.hpp"
#include "command.hpp"

namespace coppice::cli {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr int kBarWidth = 30;

std::atomic<bool> g_mayEndAtOnce{false};
/// Write end of the pipe from the signal handler to the thread that acts on signals.
volatile std::sig_atomic_t g_signalPipe = -1;

extern "C" void onSignal(int) {
  const int saved = errno;
  const char byte = 0;
  // The result does not matter here: a full pipe already holds more signals than are needed.
  [[maybe_unused]] const auto written = write(g_signalPipe, &byte, 1);
  errno = saved;
}

bool waitForSignal(int pipeEnd) {
  char byte = 0;
  ssize_t got = 0;
  do {
    got = read(pipeEnd, &byte, 1);
  } while (got < 0 && errno == EINTR);
  return got == 1;
}

}  // namespace

ProgressBar::ProgressBar() : m_isTerminal(isatty(STDERR_FILENO) != 0), m_started(std::chrono::steady_clock::now()) {}

ProgressBar::~ProgressBar() {
  erase();
}

void ProgressBar::show(std::string_view stage, double fraction) {
  if (!m_isTerminal) {
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  // Work that is over before the first redraw shows no bar at all.
  if (now - m_started < kRedraw || (m_isDrawn && now - m_lastDrawn < kRedraw)) {
    return;
  }
  m_lastDrawn = now;
  m_isDrawn = true;
  const double within = fraction < 0 ? 0 : (fraction > 1 ? 1 : fraction);
  const int filled = static_cast<int>(within * kBarWidth);
  std::string bar(static_cast<std::size_t>(filled), '#');
  bar.resize(kBarWidth, '.');
  std::fprintf(stderr, "\r\033[K%-12.*s [%s] %3d%%", static_cast<int>(stage.size()), stage.data(), bar.c_str(),
               static_cast<int>(within * 100));
  std::fflush(stderr);
}

void ProgressBar::erase() {
  if (m_isDrawn) {
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
    m_isDrawn = false;
  }
}

std::stop_token stopOnInterrupt() {
  std::stop_source source;
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return source.get_token();  // signals then end the program as they do by default
  }
  g_signalPipe = ends[1];
  // A thread, because a signal handler may not touch a stop_source. It ends with the process.
  std::thread([source, pipeEnd = ends[0]]() mutable {
    if (!waitForSignal(pipeEnd)) {
      return;
    }
    if (!g_mayEndAtOnce) {
      source.request_stop();
      waitForSignal(pipeEnd);
    }
    constexpr std::string_view kWord = "coppice-cli: interrupted\n";
    [[maybe_unused]] const auto written = write(STDERR_FILENO, kWord.data(), kWord.size());
    TemporaryFolder::removeAll();
    _exit(static_cast<int>(Exit::interrupted));
  }).detach();
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // Unless we were started to outlive the terminal (nohup).
  struct sigaction present = {};
  if (sigaction(SIGHUP, nullptr, &present) == 0 && present.sa_handler != SIG_IGN) {
    sigaction(SIGHUP, &action, nullptr);
  }
  return source.get_token();
}

BlockingRead::BlockingRead() {
  g_mayEndAtOnce = true;
}

BlockingRead::~BlockingRead() {
  g_mayEndAtOnce = false;
}

}  // namespace coppice::cli
