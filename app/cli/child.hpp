// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace coppice::cli {

/// A program that runs beside us, in a process group of its own, so that Ctrl+C reaches it through us alone.
class Child {
public:
  /// Looks the program up in PATH. Errors: unavailable (not there), io.
  static Result<Child> start(const std::vector<std::string>& words);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  /// Kills the group if it still runs.
  ~Child();

  /// False if the other end is gone.
  bool write(std::string_view text);
  void closeInput();
  /// Feeds output and errors as they come until both have ended; `onTick` is called at least five times a second.
  void pump(const std::function<void(std::string_view)>& onOutput,
            const std::function<void(std::string_view)>& onErrors, const std::function<void()>& onTick);
  void signal(int number) const;
  /// Exit status; 128 + signal for one that was killed.
  int wait();
  [[nodiscard]] bool hasEnded();

private:
  Child() = default;

  pid_t m_pid = -1;
  int m_in = -1;
  int m_out = -1;
  int m_err = -1;
  int m_status = -1;
};

struct Captured {
  int status = -1;
  std::string output = {};  ///< at most 16 MiB
  std::string errors = {};
};

/// Runs to the end with this input. Errors: unavailable, io, cancelled.
Result<Captured> capture(const std::vector<std::string>& words, std::string_view input, const std::stop_token& stop);

}  // namespace coppice::cli
