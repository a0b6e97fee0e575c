// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>

/// Is a start of processes slow, or will it never come?
namespace coppice::executor {

/// What a process and all processes below it do.
struct TreeState {
  std::int64_t ticks = 0;    ///< processor time of those that are alive, in clock ticks
  int processes = 0;         ///< alive
  bool isWorking = false;    ///< some process runs, or waits for a core or a disk
  std::int64_t stopped = 0;  ///< a process that a signal has stopped; 0 = none
};
/// Reads /proc. What ends meanwhile is left out.
[[nodiscard]] TreeState treeState(pid_t root);

/// Judges the start of a launcher by what its processes do. A busy machine makes a start slow, but its processes still
/// run or wait for a core; a start that has failed without a word only sleeps.
class StartWatch {
public:
  using Clock = std::chrono::steady_clock;
  enum class Verdict {
    starting,
    slow,    ///< the limit is over, and the processes still work; once
    hanging  ///< the limit is over, and nothing has worked for half of it
  };

  /// @param limit seconds; 0 = none
  StartWatch(double limit, Clock::time_point begin) : m_limit(limit), m_begin(begin), m_worked(begin) {}

  /// To be called several times within the limit.
  Verdict look(const TreeState& tree, Clock::time_point now);
  [[nodiscard]] double limit() const { return m_limit; }
  /// Between two looks.
  [[nodiscard]] std::chrono::milliseconds interval() const;

private:
  double m_limit;
  Clock::time_point m_begin;
  Clock::time_point m_worked;  ///< last time that something ran
  TreeState m_before;
  bool m_isSlow = false;
};

/// Limits of this process that often keep MPI from starting: "files may have 1000 KiB (ulimit -f)"; empty = none.
[[nodiscard]] std::string tightLimits();

}  // namespace coppice::executor
