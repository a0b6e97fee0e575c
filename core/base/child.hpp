// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace coppice {

/// How a child starts.
struct ChildOptions {
  std::string inputFile = {};   ///< its standard input; empty = a pipe from us
  std::string outputFile = {};  ///< takes its standard output; empty = a pipe to us
  std::string errorsFile = {};  ///< takes its standard error; empty = a pipe to us
  bool asksAtTerminal = false;  ///< gets the terminal, so that it can ask for a passphrase; see takeTerminalBack()
};

/// A program that runs beside us, in a process group of its own, so that Ctrl+C reaches it through us alone. It gets
/// SIGTERM if we die, or the thread that started it.
class Child {
public:
  /// Looks the program up in PATH. Errors: unavailable (not there), io. @pre the calling thread outlives the child
  static Result<Child> start(const std::vector<std::string>& words, const ChildOptions& options = {});
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  /// Kills the group if it still runs.
  ~Child();

  /// To its standard input, as it takes it: never waits.
  void write(std::string_view text);
  /// After what was written.
  void closeInput();
  /// Feeds output and errors as they arrive until the child has ended; `onTick` is called at least five times a second.
  /// It does not wait for the ends of the pipes: ssh hands them to its shared connection, which may keep them.
  void pump(const std::function<void(std::string_view)>& onOutput,
            const std::function<void(std::string_view)>& onErrors, const std::function<void()>& onTick);
  /// One round of it: waits for at most this time until there is something to move, it ends, or wake() was called; or
  /// until one of `others` is ready, as poll() tells.
  void pumpOnce(std::chrono::milliseconds time, const std::function<void(std::string_view)>& onOutput,
                const std::function<void(std::string_view)>& onErrors, std::span<pollfd> others = {});
  /// Until it has ended, wake() was called, or the time is over. @return hasEnded()
  bool waitFor(std::chrono::milliseconds time);
  /// Ends a wait in pump() or waitFor() early. From any thread.
  void wake() const;
  void signal(int number) const;
  /// SIGTERM, and SIGKILL where that does not help in time. @return as wait()
  int end(std::chrono::milliseconds patience);
  /// Exit status; 128 + signal for one that was killed.
  int wait();
  [[nodiscard]] bool hasEnded();
  [[nodiscard]] pid_t pid() const { return m_pid; }
  /// After asksAtTerminal: the terminal is ours again.
  void takeTerminalBack();

private:
  Child() = default;
  void feed();
  /// For poll(): no longer than the end of the child may stay unseen.
  [[nodiscard]] int pollTime(std::chrono::milliseconds time) const;
  /// Whether wake() was called since.
  bool takeWake() const;

  pid_t m_pid = -1;
  int m_handle = -1;  ///< pidfd; -1 = the kernel has none
  int m_wake = -1;    ///< eventfd
  int m_in = -1;
  int m_out = -1;
  int m_err = -1;
  int m_terminal = -1;
  int m_status = -1;
  std::string m_pending;   ///< for its input
  std::size_t m_sent = 0;  ///< of m_pending
  bool m_closesInput = false;
};

struct Captured {
  int status = -1;
  bool isTimedOut = false;
  std::string output = {};  ///< at most 16 MiB
  std::string errors = {};
};

/// How long to wait for a child.
struct Patience {
  std::chrono::milliseconds limit;
  std::chrono::milliseconds notice{0};  ///< onSlow is called once after this time
  std::function<void()> onSlow = {};    ///< empty = not reported
};

/// Runs to the end with this input, or until the time is up. Errors: unavailable, io, cancelled.
Result<Captured> capture(const std::vector<std::string>& words, std::string_view input, const std::stop_token& stop,
                         const Patience& patience, const ChildOptions& options = {});

/// The program of this name in PATH, or this path if it is one; empty = it is not there.
[[nodiscard]] std::string findProgram(const std::string& name);

/// A person can be asked: standard input is a terminal and we are in front of it.
[[nodiscard]] bool canAskAtTerminal();

}  // namespace coppice
