// SPDX-License-Identifier: Apache-2.0
#include "verify/step_replay.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace coppice::verify {
namespace {

using fabric::Rank;
using schedule::StepSchedule;
using std::int64_t;

using PieceMask = std::uint64_t;

constexpr int64_t kMaxPieces = 64;
/// States of ranks and shards, at most.
constexpr int64_t kMaxStates = int64_t{1} << 26;

enum class Flow { copying, reducing, neither };

/// Whether the whole schedule only copies, or only reduces to one destination from all ranks.
Flow directionOf(const StepSchedule& schedule) {
  const schedule::CollectiveTable& goal = schedule.goal;
  const bool combines = goal.combines(0);
  for (int64_t shard = 0; shard < goal.shardCount(); ++shard) {
    if (goal.combines(shard) != combines || goal.share(shard).isZero() ||
        (combines && (goal.destinations(shard).size() != 1 ||
                      goal.sources(shard).size() != static_cast<std::size_t>(goal.rankCount())))) {
      return Flow::neither;
    }
  }
  for (std::size_t i = 0; i < schedule.transfers.size(); ++i) {
    if (schedule.transfers[i].reduces != combines) {
      return Flow::neither;
    }
  }
  return combines ? Flow::reducing : Flow::copying;
}

class Replay {
public:
  Replay(const StepSchedule& schedule, Flow direction, const Progress& progress)
      : m_schedule(schedule),
        m_progress(progress),
        m_isBackwards(direction == Flow::reducing),
        m_senders(m_isBackwards ? schedule.transfers.receivers() : schedule.transfers.senders()),
        m_receivers(m_isBackwards ? schedule.transfers.senders() : schedule.transfers.receivers()),
        m_shards(schedule.goal.shardCount()),
        m_held(static_cast<std::size_t>(m_shards * schedule.goal.rankCount()), 0) {}

  bool run() {
    const schedule::CollectiveTable& goal = m_schedule.goal;
    const PieceMask all = pieces(0, m_schedule.denominator);
    for (int64_t shard = 0; shard < m_shards; ++shard) {
      for (const Rank rank : m_isBackwards ? goal.destinations(shard) : goal.sources(shard)) {
        held(rank, shard) = all;
      }
    }
    if (!play()) {
      return false;
    }
    for (int64_t shard = 0; shard < m_shards; ++shard) {
      for (const Rank rank : m_isBackwards ? goal.sources(shard) : goal.destinations(shard)) {
        if (held(rank, shard) != all) {
          return false;
        }
      }
    }
    return true;
  }

private:
  static PieceMask pieces(int64_t begin, int64_t end) {
    return (~PieceMask{0} >> (kMaxPieces - (end - begin))) << begin;
  }

  PieceMask& held(Rank rank, int64_t shard) { return m_held[int64_t{rank} * m_shards + shard]; }

  bool play() {
    const auto steps = m_schedule.transfers.steps();
    for (std::size_t done = 0; done < steps.size();) {
      throwIfCancelled(m_progress);
      std::size_t first = done;
      std::size_t last = done;
      if (m_isBackwards) {
        last = steps.size() - done;
        const auto step = steps[last - 1];
        first = static_cast<std::size_t>(
            std::lower_bound(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(last), step) - steps.begin());
      } else {
        const auto step = steps[first];
        last = static_cast<std::size_t>(
            std::upper_bound(steps.begin() + static_cast<std::ptrdiff_t>(first), steps.end(), step) - steps.begin());
      }
      if (!playStep(first, last)) {
        return false;
      }
      done += last - first;
      m_progress.report("verifying", static_cast<double>(done) / static_cast<double>(steps.size()));
    }
    return true;
  }

  /// All reads come before all writes.
  bool playStep(std::size_t first, std::size_t last) {
    const auto shards = m_schedule.transfers.shards();
    const auto begins = m_schedule.transfers.begins();
    const auto ends = m_schedule.transfers.ends();
    for (std::size_t i = first; i < last; ++i) {
      const PieceMask sent = pieces(begins[i], ends[i]);
      if ((held(m_senders[i], shards[i]) & sent) != sent) {
        return false;
      }
    }
    for (std::size_t i = first; i < last; ++i) {
      const PieceMask sent = pieces(begins[i], ends[i]);
      PieceMask& at = held(m_receivers[i], shards[i]);
      if ((at & sent) != 0) {
        return false;
      }
      at |= sent;
    }
    return true;
  }

  const StepSchedule& m_schedule;
  const Progress& m_progress;
  bool m_isBackwards;
  std::span<const Rank> m_senders;
  std::span<const Rank> m_receivers;
  int64_t m_shards;
  std::vector<PieceMask> m_held;  ///< by rank, then shard
};

}  // namespace

bool playsCleanly(const StepSchedule& schedule, const Progress& progress) {
  const int64_t shards = schedule.goal.shardCount();
  if (!schedule.isSynchronous || schedule.denominator > kMaxPieces ||
      shards > kMaxStates / std::max(schedule.goal.rankCount(), 1)) {
    return false;
  }
  const Flow direction = directionOf(schedule);
  return direction != Flow::neither && Replay(schedule, direction, progress).run();
}

}  // namespace coppice::verify
