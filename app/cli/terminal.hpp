// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <stop_token>
#include <string_view>

namespace coppice::cli {

/// One line on standard error, redrawn at most ten times a second and erased at the end. Silent where standard error is
/// not a terminal.
class ProgressBar {
public:
  ProgressBar();
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(std::string_view stage, double fraction);
  void erase();

private:
  bool m_isTerminal = false;
  bool m_isDrawn = false;
  std::chrono::steady_clock::time_point m_started;
  std::chrono::steady_clock::time_point m_lastDrawn;
};

/// Turns SIGINT and SIGTERM into a stop token for the rest of the process: the first signal asks the work to stop, the
/// second ends the program at once with Exit::interrupted. Call once.
[[nodiscard]] std::stop_token stopOnInterrupt();

/// While one exists, the first signal already ends the program at once: for reads that may wait forever, such as
/// standard input, and that have nothing to clean up.
class BlockingRead {
public:
  BlockingRead();
  ~BlockingRead();
  BlockingRead(const BlockingRead&) = delete;
  BlockingRead& operator=(const BlockingRead&) = delete;
};

}  // namespace coppice::cli
