// SPDX-License-Identifier: Apache-2.0
#include "schedule/transfer_order.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>

#include "base/rows.hpp"

namespace coppice::schedule {
namespace {

using fabric::Rank;
using std::int64_t;

constexpr std::size_t kMaxCover = std::size_t{1} << 29;
constexpr std::size_t kMaxWaits = std::size_t{1} << 28;

/// One wait: `after` starts when `before` has arrived (or, for order alone, has started).
struct Wait {
  std::uint32_t after = 0;
  std::uint32_t before = 0;

  friend auto operator<=>(const Wait&, const Wait&) = default;
};

class Waits {
public:
  Waits(const StepSchedule& schedule, const Progress& progress) : m_schedule(schedule), m_progress(progress) {}

  /// A transfer's waits for data follow each other, ascending and each once: it is of one shard.
  std::vector<Wait> run() {
    const auto byShard = transfersByShard(m_schedule);
    m_at.resize(m_schedule.goal.rankCount());
    for (int64_t shard = 0; shard < m_schedule.goal.shardCount(); ++shard) {
      throwIfCancelled(m_progress);
      const PieceGrid grid = pieceGrid(m_schedule, byShard[shard]);
      for (std::size_t i = 0; i < grid.transfers.rowCount(); ++i) {
        addInterval(grid.transfers[i]);
      }
      sortAndMerge();
    }
    if (m_schedule.keepsOrder) {
      addOrder();
    }
    return std::move(m_waits);
  }

private:
  /// What happens to one interval at one rank.
  struct AtRank {
    std::vector<std::uint32_t> reducedIn;
    std::vector<std::uint32_t> storedIn;
    std::vector<std::uint32_t> reducedOut;

    void clear() {
      reducedIn.clear();
      storedIn.clear();
      reducedOut.clear();
    }
  };

  void addInterval(std::span<const std::uint32_t> transfers) {
    for (const std::uint32_t i : transfers) {
      const Transfer transfer = m_schedule.transfers[i];
      touch(transfer.from);
      touch(transfer.to);
      (transfer.reduces ? m_at[transfer.to].reducedIn : m_at[transfer.to].storedIn).push_back(i);
      if (transfer.reduces) {
        m_at[transfer.from].reducedOut.push_back(i);
      }
    }
    for (const std::uint32_t i : transfers) {
      const Transfer transfer = m_schedule.transfers[i];
      const AtRank& sender = m_at[transfer.from];
      add(i, transfer.reduces || sender.storedIn.empty() ? sender.reducedIn : sender.storedIn);
      if (!transfer.reduces) {
        add(i, m_at[transfer.to].reducedOut);
      }
    }
    for (const Rank rank : m_touched) {
      m_at[rank].clear();
    }
    m_touched.clear();
  }

  void touch(Rank rank) {
    const AtRank& at = m_at[rank];
    if (at.reducedIn.empty() && at.storedIn.empty() && at.reducedOut.empty()) {
      m_touched.push_back(rank);
    }
  }

  void add(std::uint32_t after, const std::vector<std::uint32_t>& befores) {
    if (m_waits.size() + befores.size() > kMaxWaits) {
      throw PieceLimitReached{};
    }
    for (const std::uint32_t before : befores) {
      m_waits.push_back({after, before});
    }
  }

  /// What lies behind m_sorted; the rest is done.
  void sortAndMerge() {
    const auto begin = m_waits.begin() + static_cast<std::ptrdiff_t>(m_sorted);
    std::sort(begin, m_waits.end());
    m_waits.erase(std::unique(begin, m_waits.end()), m_waits.end());
    m_sorted = m_waits.size();
  }

  /// Each transfer waits for the one before it between the same two ranks.
  void addOrder() {
    const auto ranks = static_cast<std::size_t>(m_schedule.goal.rankCount());
    const auto senders = m_schedule.transfers.senders();
    const auto bySender = numbersByRow<std::uint32_t>(ranks, senders, std::identity());
    std::vector<std::pair<Rank, std::uint32_t>> last(ranks, {-1, 0});  // by receiver: a sender's last transfer to it
    for (Rank sender = 0; sender < static_cast<Rank>(ranks); ++sender) {
      for (const std::uint32_t i : bySender[sender]) {
        auto& [from, before] = last[m_schedule.transfers.receivers()[i]];
        if (from == sender) {
          m_waits.push_back({i, before});
        }
        from = sender;
        before = i;
      }
    }
  }

  const StepSchedule& m_schedule;
  const Progress& m_progress;
  std::vector<AtRank> m_at;
  std::vector<Rank> m_touched;
  std::vector<Wait> m_waits;
  std::size_t m_sorted = 0;
};

/// Fills firstWait and waits.
void groupByTransfer(const std::vector<Wait>& waits, const StepSchedule& schedule, TransferOrder& order) {
  order.firstWait.assign(schedule.transfers.size() + 1, 0);
  for (const Wait& wait : waits) {
    ++order.firstWait[wait.after + 1];
  }
  std::partial_sum(order.firstWait.begin(), order.firstWait.end(), order.firstWait.begin());
  order.waits.resize(waits.size());
  std::vector<int64_t> fill(order.firstWait.begin(), order.firstWait.end() - 1);
  for (const Wait& wait : waits) {
    order.waits[fill[wait.after]++] = wait.before;
  }
  if (!schedule.keepsOrder) {
    return;
  }
  // Order may repeat a wait for data.
  int64_t kept = 0;
  int64_t begin = 0;
  for (std::size_t i = 0; i < schedule.transfers.size(); ++i) {
    const int64_t end = order.firstWait[i + 1];
    std::sort(order.waits.begin() + begin, order.waits.begin() + end);
    for (int64_t at = begin; at < end; ++at) {
      if (at == begin || order.waits[at] != order.waits[at - 1]) {
        order.waits[kept++] = order.waits[at];
      }
    }
    order.firstWait[i + 1] = kept;
    begin = end;
  }
  order.waits.resize(kept);
}

/// Kahn's algorithm, phase by phase; among those that may come next, by rounds, the first in the list.
/// False where a phase does not end.
bool sortTopologically(const StepSchedule& schedule, TransferOrder& order) {
  const auto phases = schedule.transfers.steps();
  const std::size_t count = phases.size();
  std::vector<std::int32_t> open(count);
  std::vector<std::int32_t> depth(count, 0);
  const Rows<std::uint32_t, std::uint64_t> next(count, [&](const auto& add) {
    for (std::uint32_t i = 0; i < count; ++i) {
      for (int64_t w = order.firstWait[i]; w < order.firstWait[i + 1]; ++w) {
        add(order.waits[w], i);
      }
    }
  });
  for (std::uint32_t i = 0; i < count; ++i) {
    open[i] = static_cast<std::int32_t>(order.firstWait[i + 1] - order.firstWait[i]);
  }
  order.order.reserve(count);
  for (std::uint32_t first = 0; first < count;) {
    std::uint32_t last = first;
    const std::int32_t before = order.depth;
    for (; last < count && phases[last] == phases[first]; ++last) {
      depth[last] = std::max(depth[last], before + 1);
      if (open[last] == 0) {
        order.order.push_back(last);
      }
    }
    for (std::size_t done = first; done < order.order.size(); ++done) {
      const std::uint32_t i = order.order[done];
      order.depth = std::max(order.depth, depth[i]);
      for (const std::uint32_t after : next[i]) {
        depth[after] = std::max(depth[after], depth[i] + 1);
        if (--open[after] == 0 && after < last) {
          order.order.push_back(after);
        }
      }
    }
    if (order.order.size() != last) {
      return false;
    }
    first = last;
  }
  return true;
}

/// The lowest transfer of a cycle, and the next one in it: follows waits from any transfer that is not in the order.
std::string cycleText(const TransferOrder& order) {
  std::vector<char> isDone(order.firstWait.size() - 1, 0);
  for (const std::uint32_t i : order.order) {
    isDone[i] = 1;
  }
  std::uint32_t at = 0;
  while (isDone[at] != 0) {
    ++at;
  }
  std::vector<char> isSeen(isDone.size(), 0);
  const auto step = [&](std::uint32_t i) {
    for (int64_t w = order.firstWait[i]; w < order.firstWait[i + 1]; ++w) {
      if (isDone[order.waits[w]] == 0) {
        return order.waits[w];
      }
    }
    return i;
  };
  while (isSeen[at] == 0) {
    isSeen[at] = 1;
    at = step(at);
  }
  std::string text = "Transfers wait for each other in a cycle: " + std::to_string(at);
  std::uint32_t i = step(at);
  for (int listed = 0; i != at && listed < 6; ++listed, i = step(i)) {
    text += ", " + std::to_string(i);
  }
  return text + (i == at ? "" : ", ...");
}

}  // namespace

Rows<std::uint32_t, std::uint64_t> transfersByShard(const StepSchedule& schedule) {
  return Rows<std::uint32_t, std::uint64_t>(schedule.goal.shardCount(), [&](const auto& add) {
    std::uint32_t transfer = 0;
    for (const int64_t shard : schedule.transfers.shards()) {
      add(shard, transfer++);
    }
  });
}

PieceGrid pieceGrid(const StepSchedule& schedule, std::span<const std::uint32_t> transfers) {
  const auto begins = schedule.transfers.begins();
  const auto ends = schedule.transfers.ends();
  PieceGrid grid;
  grid.points = {0, schedule.denominator};
  for (const std::uint32_t i : transfers) {
    grid.points.push_back(begins[i]);
    grid.points.push_back(ends[i]);
  }
  std::sort(grid.points.begin(), grid.points.end());
  grid.points.erase(std::unique(grid.points.begin(), grid.points.end()), grid.points.end());
  const auto interval = [&](int64_t point) {
    return std::lower_bound(grid.points.begin(), grid.points.end(), point) - grid.points.begin();
  };
  std::size_t cover = 0;
  for (const std::uint32_t i : transfers) {
    cover += static_cast<std::size_t>(interval(ends[i]) - interval(begins[i]));
    if (cover > kMaxCover) {
      throw PieceLimitReached{};
    }
  }
  grid.transfers.assign(grid.points.size() - 1, [&](const auto& add) {
    for (const std::uint32_t i : transfers) {
      const auto last = interval(ends[i]);
      for (auto at = interval(begins[i]); at < last; ++at) {
        add(at, i);
      }
    }
  });
  return grid;
}

Result<TransferOrder> transferOrder(const StepSchedule& schedule, const Progress& progress) {
  TransferOrder order;
  try {
    groupByTransfer(Waits(schedule, progress).run(), schedule, order);
  } catch (const PieceLimitReached&) {
    return Error{ErrorCode::limit, "The pieces of the transfers overlap too often to be ordered",
                 "cut the shards into pieces with common ends"};
  } catch (const CancelledError&) {
    return Error{ErrorCode::cancelled, "cancelled"};
  }
  if (!sortTopologically(schedule, order)) {
    return Error{ErrorCode::verification, cycleText(order), "remove one of these waits"};
  }
  return order;
}

}  // namespace coppice::schedule
