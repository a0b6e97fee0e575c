// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

#include "remote/limits.hpp"

namespace coppice::remote {

/// Decides what to do about a run that is followed: signs of life, a machine that falls silent, a stop that does not
/// come. It starts no process and reads no clock: the caller passes each event with its time and carries out the
/// answer.
class RunWatch {
public:
  using Time = std::chrono::steady_clock::time_point;
  struct Options {
    Limits limits = {};
    bool expectsWords = true;       ///< silence means trouble; false for an executor here, which may be silent
    bool leavesAfterHello = false;  ///< the run continues without us once it has started
  };
  /// What to do now.
  struct Acts {
    bool ping = false;
    bool cancel = false;
    bool closeInput = false;
    bool kill = false;  ///< the process here that speaks with the run
    bool fellSilent = false;
    bool answersAgain = false;
  };

  RunWatch(const Options& options, Time now) : m_options(options), m_lastWord(now), m_pinged(now) {}

  void hear(Time now);
  /// Its first record is there.
  void begin() { m_hasBegun = true; }
  /// A stop is wanted; again where a first request was not sent.
  void stop() { m_isStopWanted = true; }
  /// Call at least five times a second.
  [[nodiscard]] Acts tick(Time now);

  [[nodiscard]] bool hasHeard() const { return m_hasHeard; }
  [[nodiscard]] bool isSilent() const { return m_isSilent; }
  /// It never said a word in its time.
  [[nodiscard]] bool isLate() const { return m_isLate; }
  /// It was silent for too long.
  [[nodiscard]] bool isLost() const { return m_isLost; }
  /// It was asked to stop, and did not.
  [[nodiscard]] bool isAbandoned() const { return m_isAbandoned; }

private:
  void watchSilence(Time now, Acts& acts);

  Options m_options;
  Time m_lastWord;
  Time m_pinged;
  std::optional<Time> m_asked;
  std::optional<Time> m_left;
  bool m_hasHeard = false;
  bool m_hasBegun = false;
  bool m_isStopWanted = false;
  bool m_isSilent = false;
  bool m_isLate = false;
  bool m_isLost = false;
  bool m_isAbandoned = false;
};

}  // namespace coppice::remote
