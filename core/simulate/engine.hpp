// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "simulate/job.hpp"

namespace coppice::simulate {

inline constexpr Microseconds kNoTimeLimit{std::numeric_limits<double>::infinity()};

struct RunOptions {
  double bytes = 0;           ///< of the collective, as nccl-tests counts them
  std::uint32_t repeats = 1;  ///< of every message: pieces of a tree, turns of a program's loop
  /// Between two computations of the rates of links that share messages; 0 = exact. Absent: exact until that has
  /// cost kExactWork, then kCoarseness of the time that a message takes at its fair share. A link never carries more
  /// than its bandwidth either way; in coarse runs messages start and end later by up to the resolution.
  std::optional<Microseconds> resolution = {};
  bool record = false;  ///< keeps the times of all messages: critical path and intervals
  /// A run that certainly takes longer may end with an infinite time and nothing else.
  Microseconds limit = kNoTimeLimit;
};

/// Routes whose rates are computed, each time counted, before a run becomes coarse: about a second.
inline constexpr std::int64_t kExactWork = std::int64_t{1} << 24;
inline constexpr double kCoarseness = 0.02;
/// Maximum number of messages whose times are kept.
inline constexpr std::int64_t kMaxRecorded = std::int64_t{1} << 23;

struct LinkUse {
  double bytes = 0;
  Microseconds busy{};  ///< during which at least one message crossed it
};

/// When a message ran, from the begin of the run.
struct Interval {
  MessageId message = 0;
  std::uint32_t repeat = 0;
  Microseconds ready{};    ///< nothing delays it; the overhead begins
  Microseconds flowing{};  ///< first byte on its links
  Microseconds left{};     ///< last byte
  Microseconds arrived{};  ///< with what the receiver adds to its own data
  Microseconds adding{};   ///< of `arrived`: the receiver has the last byte, and waits to add or adds
};

/// The times of many messages, read like a list of Intervals. Recorded by the engine they take 16 bytes each: what a
/// message has in common with its route, or follows from its place, is not kept.
class Intervals {
public:
  /// By message, then repeat, all messages and repeats of the job, which must outlive this.
  struct Columns {
    const Job* job = nullptr;
    std::uint32_t repeats = 1;
    std::vector<Microseconds> ready;
    std::vector<Microseconds> left;
    std::vector<Microseconds> landed;   ///< 0 = as it arrives; empty where receivers add in no time
    std::vector<Microseconds> arrived;  ///< empty where receivers add in no time
  };

  class Iterator {
  public:
    using iterator_category = std::input_iterator_tag;
    using difference_type = std::ptrdiff_t;
    using value_type = Interval;
    using pointer = const Interval*;
    using reference = Interval;

    Iterator(const Intervals& all, std::size_t at) : m_all(&all), m_at(at) {}
    [[nodiscard]] Interval operator*() const { return (*m_all)[m_at]; }
    Iterator& operator++() {
      ++m_at;
      return *this;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

  private:
    const Intervals* m_all;
    std::size_t m_at;
  };

  Intervals() = default;
  Intervals(std::vector<Interval> written) : m_written(std::move(written)) {}  // NOLINT(google-explicit-constructor)
  /// Of the messages over links alone.
  explicit Intervals(Columns columns);

  [[nodiscard]] std::size_t size() const { return m_columns.job == nullptr ? m_written.size() : m_size; }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] Interval operator[](std::size_t at) const;
  [[nodiscard]] Iterator begin() const { return {*this, 0}; }
  [[nodiscard]] Iterator end() const { return {*this, size()}; }

private:
  std::vector<Interval> m_written;
  Columns m_columns;
  std::vector<MessageId> m_routed;  ///< messages over links; empty where all are
  std::size_t m_size = 0;
};

/// A message of the critical path.
struct CriticalMessage {
  Interval when;
  Wait waitedFor = Wait::nothing;  ///< what ended last of all that it waited for: the message before it on the path
  Microseconds alone{};            ///< that its bytes take without sharing; the rest of left - flowing is sharing
};

struct Run {
  Microseconds time{};                 ///< until the last message has arrived
  std::vector<LinkUse> links;          ///< by Fabric::arcs()
  std::vector<Microseconds> arrivals;  ///< by message: when its last repeat has arrived
  std::int64_t messages = 0;           ///< over links, with repeats
  std::int64_t fills = 0;              ///< times that rates were computed
  Microseconds resolution{};           ///< 0 = exact from begin to end
  /// Recorded runs: the chain of messages that ends with the last to arrive, first to last.
  std::vector<CriticalMessage> criticalPath;
  Intervals intervals;  ///< recorded runs: all messages over links, by message and repeat
};

/// Plays the job. Errors: badUsage (no bytes, no repeats), badInput (messages that wait for each other in a circle,
/// naming some), limit (more than kMaxRecorded messages to record, or out of memory), cancelled.
[[nodiscard]] Result<Run> run(const Job& job, const RunOptions& options, const Progress& progress = {});

/// "rank 0 to rank 3, tree 5, piece 2": a message for people.
[[nodiscard]] std::string nameOf(const Job& job, MessageId message, std::uint32_t repeat);

}  // namespace coppice::simulate
