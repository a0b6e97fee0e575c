// SPDX-License-Identifier: Apache-2.0
#include "verify/step_order.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace coppice::verify {
namespace {

using fabric::Rank;
using schedule::StepSchedule;
using std::int64_t;

constexpr std::size_t kMaxCover = std::size_t{1} << 29;
constexpr std::size_t kMaxWaits = std::size_t{1} << 28;

using Wait = std::pair<std::uint32_t, std::uint32_t>;  ///< the transfer that waits, then the one before it

/// What arrives at each rank, and leaves it, of one interval.
class Traffic {
public:
  explicit Traffic(const StepSchedule& schedule) : m_schedule(schedule), m_at(schedule.goal.rankCount()) {}

  void addWaits(std::span<const std::uint32_t> transfers, std::vector<Wait>& waits) {
    const auto& list = m_schedule.transfers;
    for (const std::uint32_t i : transfers) {
      const schedule::Transfer transfer = list[i];
      (transfer.reduces ? m_at[transfer.to].sums : m_at[transfer.to].stores).push_back(i);
      if (transfer.reduces) {
        m_at[transfer.from].leaves.push_back(i);
      }
    }
    for (const std::uint32_t i : transfers) {
      const schedule::Transfer transfer = list[i];
      const Place& from = m_at[transfer.from];
      append(i, transfer.reduces || from.stores.empty() ? from.sums : from.stores, waits);
      if (!transfer.reduces) {
        append(i, m_at[transfer.to].leaves, waits);
      }
    }
    for (const std::uint32_t i : transfers) {
      m_at[list.senders()[i]].clear();
      m_at[list.receivers()[i]].clear();
    }
  }

private:
  struct Place {
    std::vector<std::uint32_t> sums;    ///< reduce into the rank
    std::vector<std::uint32_t> stores;  ///< store to it
    std::vector<std::uint32_t> leaves;  ///< reduce out of it

    void clear() {
      sums.clear();
      stores.clear();
      leaves.clear();
    }
  };

  static void append(std::uint32_t after, const std::vector<std::uint32_t>& before, std::vector<Wait>& waits) {
    if (waits.size() + before.size() > kMaxWaits) {
      throw TooManyPieces{};
    }
    for (const std::uint32_t each : before) {
      waits.emplace_back(after, each);
    }
  }

  const StepSchedule& m_schedule;
  std::vector<Place> m_at;
};

/// All waits; those of a transfer are not together.
std::vector<Wait> waitsOf(const StepSchedule& schedule, int64_t shards, const Progress& progress) {
  std::vector<Wait> waits;
  const ShardTransfers byShard(schedule, shards);
  Traffic traffic(schedule);
  for (int64_t shard = 0; shard < shards; ++shard) {
    throwIfCancelled(progress);
    const auto first = static_cast<std::ptrdiff_t>(waits.size());
    for (PieceSweep sweep(schedule, byShard.of(shard)); sweep.next();) {
      traffic.addWaits(sweep.transfers(), waits);
    }
    // A transfer is of one shard, so that no other repeats its waits.
    std::sort(waits.begin() + first, waits.end());
    waits.erase(std::unique(waits.begin() + first, waits.end()), waits.end());
  }
  if (schedule.keepsOrder) {
    std::vector<std::pair<std::pair<Rank, Rank>, std::uint32_t>> byEnds(schedule.transfers.size());
    for (std::uint32_t i = 0; i < byEnds.size(); ++i) {
      byEnds[i] = {{schedule.transfers.senders()[i], schedule.transfers.receivers()[i]}, i};
    }
    std::sort(byEnds.begin(), byEnds.end());
    for (std::size_t i = 1; i < byEnds.size(); ++i) {
      if (byEnds[i].first == byEnds[i - 1].first) {
        waits.emplace_back(byEnds[i].second, byEnds[i - 1].second);
      }
    }
  }
  return waits;
}

/// Depth first along the waits: a transfer comes when all that it waits for have come.
class Walk {
public:
  Walk(const StepSchedule& schedule, const std::vector<Wait>& waits)
      : m_schedule(schedule), m_before(schedule.transfers.size(), [&](const auto& add) {
          for (const auto& [after, before] : waits) {
            add(after, before);
          }
        }) {}

  StepOrder run() {
    const auto phases = m_schedule.transfers.steps();
    const auto count = static_cast<std::uint32_t>(phases.size());
    m_order.place.assign(count, kNone);
    m_next.assign(count, 0);
    m_depth.assign(count, 0);
    std::int32_t before = 0;
    for (std::uint32_t first = 0; first < count;) {
      std::uint32_t last = first;
      while (last < count && phases[last] == phases[first]) {
        ++last;
      }
      for (std::uint32_t i = first; i < last; ++i) {
        if (m_order.place[i] == kNone && !visit(i, last, before)) {
          return std::move(m_order);
        }
      }
      before = m_order.depth;
      first = last;
    }
    return std::move(m_order);
  }

private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// @param last one past the transfers of this phase: a wait for a later one never ends
  bool visit(std::uint32_t start, std::uint32_t last, std::int32_t before) {
    m_path.assign(1, start);
    m_depth[start] = kOpen;
    while (!m_path.empty()) {
      const std::uint32_t at = m_path.back();
      if (m_next[at] < m_before.size(at)) {
        const std::uint32_t wanted = m_before[at][m_next[at]++];
        if (m_order.place[wanted] != kNone) {
          continue;
        }
        if (wanted >= last || m_depth[wanted] == kOpen) {
          m_order.cycle = cycleText(wanted);
          return false;
        }
        m_depth[wanted] = kOpen;
        m_path.push_back(wanted);
        continue;
      }
      std::int32_t depth = before;
      for (const std::uint32_t wanted : m_before[at]) {
        depth = std::max(depth, m_depth[wanted]);
      }
      m_depth[at] = depth + 1;
      m_order.depth = std::max(m_order.depth, depth + 1);
      m_order.place[at] = m_count++;
      m_path.pop_back();
    }
    return true;
  }

  /// The path from the transfer back to itself; of a later phase, the path to it, which waits for all of them.
  [[nodiscard]] std::string cycleText(std::uint32_t wanted) const {
    auto from = std::find(m_path.begin(), m_path.end(), wanted);
    std::string text = std::to_string(wanted);
    int listed = 0;
    for (from = from == m_path.end() ? m_path.end() - 1 : from + 1; from != m_path.end(); ++from) {
      constexpr int kMaxListed = 6;
      if (listed++ == kMaxListed) {
        return text + ", ...";
      }
      text += ", " + std::to_string(*from);
    }
    return text;
  }

  static constexpr std::int32_t kOpen = -1;

  const StepSchedule& m_schedule;
  Rows<std::uint32_t, std::size_t> m_before;  ///< by transfer: what it waits for
  std::vector<std::size_t> m_next;            ///< by transfer: the wait to look at next
  std::vector<std::int32_t> m_depth;          ///< by transfer; kOpen = on the path
  std::vector<std::uint32_t> m_path;
  std::uint32_t m_count = 0;
  StepOrder m_order;
};

}  // namespace

ShardTransfers::ShardTransfers(const StepSchedule& schedule, int64_t shards)
    : m_transfers(numbersByRow<std::uint32_t>(static_cast<std::size_t>(shards), schedule.transfers.shards(),
                                              std::identity())) {}

PieceSweep::PieceSweep(const StepSchedule& schedule, std::span<const std::uint32_t> transfers)
    : m_schedule(schedule), m_byBegin(transfers.begin(), transfers.end()), m_ends{0, schedule.denominator} {
  const auto begins = schedule.transfers.begins();
  for (const std::uint32_t i : transfers) {
    m_ends.push_back(begins[i]);
    m_ends.push_back(schedule.transfers.ends()[i]);
  }
  std::sort(m_ends.begin(), m_ends.end());
  m_ends.erase(std::unique(m_ends.begin(), m_ends.end()), m_ends.end());
  std::stable_sort(m_byBegin.begin(), m_byBegin.end(), [&](auto a, auto b) { return begins[a] < begins[b]; });
}

bool PieceSweep::next() {
  if (m_passed + 1 >= m_ends.size()) {
    return false;
  }
  m_begin = m_ends[m_passed];
  m_end = m_ends[++m_passed];
  std::erase_if(m_active, [this](std::uint32_t i) { return m_schedule.transfers.ends()[i] <= m_begin; });
  const auto kept = static_cast<std::ptrdiff_t>(m_active.size());
  while (m_entered < m_byBegin.size() && m_schedule.transfers.begins()[m_byBegin[m_entered]] == m_begin) {
    m_active.push_back(m_byBegin[m_entered++]);
  }
  std::inplace_merge(m_active.begin(), m_active.begin() + kept, m_active.end());
  m_cover += m_active.size();
  if (m_cover > kMaxCover) {
    throw TooManyPieces{};
  }
  return true;
}

StepOrder orderOf(const StepSchedule& schedule, int64_t shards, const Progress& progress) {
  const std::vector<Wait> waits = waitsOf(schedule, shards, progress);
  return Walk(schedule, waits).run();
}

}  // namespace coppice::verify
