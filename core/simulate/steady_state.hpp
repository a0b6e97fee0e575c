// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "simulate/job.hpp"
#include "simulate/link_sharing.hpp"

namespace coppice::simulate {

/// How far a message is.
struct MessageState {
  std::uint32_t pending = 0;  ///< dependencies that hold the next repeat up
  std::uint32_t started = 0;  ///< repeats
  std::uint32_t left = 0;
  std::uint32_t arrived = 0;
};

/// An event that does not depend on what flows.
struct Timer {
  double time = 0;
  MessageId message = 0;
  enum class Kind : std::uint8_t {
    flow,     ///< the end of the overhead
    landing,  ///< the last byte is there
    added     ///< its receiver has added it
  } kind = Kind::flow;
};

/// A run that has begun to repeat itself: what happens in one period, and how often that is certain to happen again.
struct Period {
  double time = 0;                    ///< us
  std::vector<std::uint32_t> starts;  ///< repeats that each message starts in it
  std::vector<double> busy;           ///< us of each link
  std::uint32_t times = 0;            ///< at least 1
};

/// Finds periods of a pipeline. The whole state of a run, relative to the present time, is compared with an earlier one
/// (Brent's cycle detection). Where both are equal and no dependency can change its mind, what happened in between
/// happens again: a message that another one outruns stays free to start, one that outruns another does so until its
/// lead is used up.
class SteadyState {
public:
  SteadyState(const Job& job, std::uint32_t repeats);

  /// Call when an event is over. nullopt as long as no period is known.
  [[nodiscard]] std::optional<Period> look(double now, const std::vector<MessageState>& messages,
                                           const std::vector<Timer>& timers, const LinkSharing& sharing);
  /// Call after the run has been moved on by a period.
  void restart() { m_isTaken = false; }

private:
  struct Snapshot {
    double time = 0;
    std::vector<MessageState> messages;
    std::vector<Timer> timers;  ///< by message, times relative to `time`
    std::vector<FlowState> flows;
    std::vector<double> busy;
  };

  [[nodiscard]] bool isDue(const std::vector<MessageState>& messages);
  void take(double now, const std::vector<MessageState>& messages, const std::vector<Timer>& timers,
            const LinkSharing& sharing);
  [[nodiscard]] bool matches(double now, const std::vector<MessageState>& messages, const std::vector<Timer>& timers,
                             const LinkSharing& sharing);
  [[nodiscard]] std::uint32_t timesAgain(const std::vector<MessageState>& messages,
                                         const std::vector<std::uint32_t>& starts) const;

  const Job& m_job;
  std::uint32_t m_repeats;
  MessageId m_clock = 0;         ///< the message whose repeats are counted
  std::uint32_t m_lastLeft = 0;  ///< of m_clock
  std::uint32_t m_looks = 0;     ///< since the snapshot was taken
  std::uint32_t m_patience = 1;  ///< looks after which it is taken again
  bool m_isTaken = false;
  Snapshot m_snapshot;
  std::vector<Timer> m_timers;  ///< of the present, as Snapshot::timers
  std::vector<FlowState> m_flows;
};

}  // namespace coppice::simulate
