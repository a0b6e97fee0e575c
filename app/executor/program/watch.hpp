// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "program/run_protocol.hpp"

namespace coppice::executor {

/// Why a run was stopped from outside.
struct StopReason {
  program::RunExit exit = program::RunExit::cancelled;
  std::string text = {};
};

struct WatchOptions {
  bool lifeline = false;      ///< the end of standard input stops the run; lines there are commands
  double timeoutSeconds = 0;  ///< 0 = none
  std::function<void()> onPing = {};
  /// Called when the run has not ended 5 s after it was asked to; the process exits right after.
  std::function<void(const StopReason&)> onOverdue = {};
};

/// A thread that hears signals, commands, the end of standard input and the clock, and asks the run to stop. SIGINT,
/// SIGTERM and SIGHUP are blocked for the whole process from here on, so make it before any other thread. A second
/// signal exits at once.
class Watch {
public:
  explicit Watch(WatchOptions options);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  [[nodiscard]] std::stop_token token() const { return m_stop.get_token(); }
  [[nodiscard]] std::optional<StopReason> reason() const;
  void stop(StopReason reason);

private:
  void serve();
  void readInput();

  WatchOptions m_options;
  std::stop_source m_stop;
  mutable std::mutex m_mutex;
  std::optional<StopReason> m_reason;
  int m_signals = -1;
  int m_quit = -1;
  bool m_inputOpen = false;
  std::string m_line;
  std::thread m_thread;
};

}  // namespace coppice::executor
