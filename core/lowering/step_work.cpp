// SPDX-License-Identifier: Apache-2.0
#include "lowering/step_work.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "base/checked.hpp"
#include "lowering/planes.hpp"
#include "lowering/step_flow.hpp"
#include "schedule/transfer_order.hpp"

namespace coppice::lowering {

namespace {

using schedule::StepSchedule;
using schedule::Transfer;

/// One item of one transfer.
struct Atom {
  int item = 0;
  int from = 0;
  int to = 0;
  int level = 0;
  std::uint32_t transfer = 0;
  bool reduces = false;
  bool isExchange = false;
};

/// By transfer: its step, or the length of the longest chain of transfers that it waits for.
Result<std::vector<int>> levelsOf(const StepSchedule& schedule, const Progress& progress) {
  const auto steps = schedule.transfers.steps();
  if (schedule.isSynchronous) {
    return std::vector<int>(steps.begin(), steps.end());
  }
  const auto order = schedule::transferOrder(schedule, progress);
  if (!order) {
    return order.error();
  }
  std::vector<int> levels(schedule.transfers.size(), 0);
  for (const std::uint32_t transfer : order->order) {
    for (std::int64_t w = order->firstWait[transfer]; w < order->firstWait[transfer + 1]; ++w) {
      levels[transfer] = std::max(levels[transfer], levels[order->waits[w]] + 1);
    }
  }
  return levels;
}

class Reader {
public:
  Reader(const fabric::Fabric& fabric, const StepSchedule& schedule, int max, const Options& options,
         const Progress& progress, StepWork& work)
      : m_fabric(fabric), m_schedule(schedule), m_max(max), m_options(options), m_progress(progress), m_work(work) {}

  void run(const std::vector<int>& levels) {
    readAtoms(levels, {});
    if (const std::vector<bool> exchanged = findExchanges(); !exchanged.empty()) {
      // Cut to what a connection holds, and read again.
      readAtoms(levels, exchanged);
      findExchanges();
    }
    sortByTime();
    join();
  }

private:
  [[nodiscard]] int hop(const Atom& atom) const { return (atom.to - atom.from + m_work.gpuCount) % m_work.gpuCount; }

  /// @param exchanged by item of the reading before
  void readAtoms(const std::vector<int>& levels, const std::vector<bool>& exchanged) {
    const auto byShard = schedule::transfersByShard(m_schedule);
    const int held = chunksHeld(m_options);
    m_work.items.clear();
    m_atoms.clear();
    std::size_t before = 0;
    for (std::int64_t shard = 0; shard < m_schedule.goal.shardCount(); ++shard) {
      throwIfCancelled(m_progress);
      const schedule::PieceGrid grid = schedule::pieceGrid(m_schedule, byShard[shard]);
      for (std::size_t i = 0; i + 1 < grid.points.size(); ++i) {
        const std::span<const std::uint32_t> transfers = grid.transfers[i];
        const int start = chunkAt(shard, grid.points[i]);
        const int count = chunkAt(shard, grid.points[i + 1]) - start;
        for (const auto& [from, length] : cut(count, m_max)) {
          const bool isExchanged = !exchanged.empty() && exchanged[before++];
          for (const auto& [inner, part] : cut(length, isExchanged ? held : length)) {
            addItem({shard, start + from + inner, part}, transfers, levels);
          }
        }
      }
    }
    dropRepeated();
  }

  [[nodiscard]] int chunkAt(std::int64_t shard, std::int64_t point) const {
    return static_cast<int>(narrow64(Int128{point} * m_work.placement.chunksOf(shard) / m_schedule.denominator));
  }

  /// Parts as equal as can be: where each begins, and its length.
  [[nodiscard]] static std::vector<std::pair<int, int>> cut(int count, int max) {
    const int pieces = (count + max - 1) / max;
    std::vector<std::pair<int, int>> parts;
    for (int piece = 0; piece < pieces; ++piece) {
      const int begin = static_cast<int>(std::int64_t{count} * piece / pieces);
      const int end = static_cast<int>(std::int64_t{count} * (piece + 1) / pieces);
      parts.emplace_back(begin, end - begin);
    }
    return parts;
  }

  void addItem(const Item& item, std::span<const std::uint32_t> transfers, const std::vector<int>& levels) {
    const int number = static_cast<int>(m_work.items.size());
    m_work.items.push_back(item);
    for (const std::uint32_t i : transfers) {
      const Transfer transfer = m_schedule.transfers[i];
      m_atoms.push_back({number, transfer.from, transfer.to, levels[i], i, transfer.reduces, false});
    }
  }

  /// Atoms by item, then by time. What a rank has already is not sent to it again.
  void dropRepeated() {
    std::sort(m_atoms.begin(), m_atoms.end(), [&](const Atom& a, const Atom& b) {
      return std::tuple(a.item, a.level, hop(a), a.from, a.transfer) <
             std::tuple(b.item, b.level, hop(b), b.from, b.transfer);
    });
    std::vector<int> heldSince(m_work.gpuCount, -1);  // item
    int item = -1;
    std::erase_if(m_atoms, [&](const Atom& atom) {
      const std::int64_t shard = m_work.items[atom.item].shard;
      if (atom.item != item) {
        item = atom.item;
        for (const int source : m_schedule.goal.sources(shard)) {
          heldSince[source] = item;
        }
      }
      const bool isRepeated = !m_work.placement.combines(shard) && heldSince[atom.to] == item;
      heldSince[atom.to] = item;
      return isRepeated;
    });
  }

  /// Marks them. By item; empty = there are none. @pre atoms by item, then by level
  std::vector<bool> findExchanges() {
    std::vector<bool> exchanged;
    std::vector<std::int64_t> sentAt(m_work.gpuCount, -1);
    std::int64_t mark = 0;
    for (std::size_t first = 0; first < m_atoms.size();) {
      std::size_t last = first;
      for (; last < m_atoms.size() && m_atoms[last].item == m_atoms[first].item &&
             m_atoms[last].level == m_atoms[first].level;
           ++last) {
        sentAt[m_atoms[last].from] = mark;
      }
      const bool isExchange = std::any_of(m_atoms.begin() + static_cast<std::ptrdiff_t>(first),
                                          m_atoms.begin() + static_cast<std::ptrdiff_t>(last),
                                          [&](const Atom& atom) { return sentAt[atom.to] == mark; });
      if (isExchange) {
        exchanged.resize(m_work.items.size(), false);
        exchanged[m_atoms[first].item] = true;
      }
      for (; first < last; ++first) {
        m_atoms[first].isExchange = isExchange;
      }
      ++mark;
    }
    return exchanged;
  }

  void sortByTime() {
    const auto key = [&](const Atom& atom) {
      return std::tuple(atom.level, atom.isExchange, atom.isExchange ? atom.item : 0, hop(atom), atom.from, atom.item,
                        atom.transfer);
    };
    std::sort(m_atoms.begin(), m_atoms.end(), [&](const Atom& a, const Atom& b) { return key(a) < key(b); });
  }

  /// The place of an item at a rank that never changes, -1 = it takes scratch, or moves.
  [[nodiscard]] std::optional<program::Slot> fixedPlace(int rank, int item) const {
    const auto& [shard, start, count] = m_work.items[item];
    const Placement& placement = m_work.placement;
    if (!placement.combines(shard)) {
      const bool isResult = placement.isDestination(rank, shard);
      if (isResult && (placement.sendsCopies() || !placement.isSource(rank, shard))) {
        return placement.result(shard, start);
      }
      return placement.isSource(rank, shard) ? std::optional(placement.contribution(rank, shard, start)) : std::nullopt;
    }
    return m_options.inPlace ? placement.room(rank, shard, start) : std::nullopt;
  }

  [[nodiscard]] Parity parityOf(const Atom& atom) const {
    const schedule::PathId route = m_schedule.transfers.routes()[atom.transfer];
    return m_planes && route != schedule::kNoRoute ? m_planes->of(m_schedule.paths[route]) : Parity::any;
  }

  [[nodiscard]] bool canJoin(const StepMessage& message, const Atom& atom, Parity parity) const {
    const int before = message.firstItem + message.items - 1;
    if (message.isExchange || atom.isExchange || atom.item != before + 1 || message.from != atom.from ||
        message.to != atom.to || message.level != atom.level || message.reduces != atom.reduces ||
        m_work.parity.back() != parity || message.count + m_work.items[atom.item].count > m_max ||
        (atom.reduces && program::isRccl(m_options.runtime))) {
      return false;
    }
    // Between two shards of an instance lie those of the others.
    if (m_options.instances > 1 && m_work.items[before].shard != m_work.items[atom.item].shard) {
      return false;
    }
    const int length = m_work.items[before].count;
    for (const int rank : {atom.from, atom.to}) {
      const auto here = fixedPlace(rank, before);
      const auto next = fixedPlace(rank, atom.item);
      if (!here || !next || here->buffer != next->buffer || here->offset + length != next->offset) {
        return false;
      }
    }
    return true;
  }

  void join() {
    if (m_options.channels == ChannelPolicy::nicPlanes) {
      m_planes.emplace(m_fabric);
    }
    for (const Atom& atom : m_atoms) {
      const Parity parity = parityOf(atom);
      const int count = m_work.items[atom.item].count;
      if (!m_work.messages.empty() && canJoin(m_work.messages.back(), atom, parity)) {
        ++m_work.messages.back().items;
        m_work.messages.back().count += count;
        continue;
      }
      m_work.messages.push_back({.firstItem = atom.item,
                                 .from = atom.from,
                                 .to = atom.to,
                                 .level = atom.level,
                                 .count = count,
                                 .transfer = atom.transfer,
                                 .reduces = atom.reduces,
                                 .isExchange = atom.isExchange});
      m_work.parity.push_back(parity);
    }
  }

  const fabric::Fabric& m_fabric;
  const StepSchedule& m_schedule;
  const int m_max;
  const Options& m_options;
  const Progress& m_progress;
  StepWork& m_work;
  std::optional<Planes> m_planes;
  std::vector<Atom> m_atoms;
};

}  // namespace

int chunksHeld(const Options& options) {
  return program::connectionDepth(options.protocol.value_or(program::Protocol::simple));
}

Result<StepWork> makeStepWork(const fabric::Fabric& fabric, const StepSchedule& schedule, int chunks, int max,
                              const Options& options, const Progress& progress) {
  const auto levels = levelsOf(schedule, progress);
  if (!levels) {
    return levels.error();
  }
  StepWork work{.collective = schedule.goal.collective(),
                .gpuCount = fabric.gpuCount(),
                .root = schedule.goal.root().value_or(-1),
                .chunks = chunks,
                .algbw = schedule.algbw,
                .placement = Placement(schedule.goal, chunks, options.inPlace)};
  try {
    Reader(fabric, schedule, max, options, progress, work).run(*levels);
  } catch (const schedule::PieceLimitReached&) {
    return Error{ErrorCode::limit, "The pieces of the transfers overlap too often to be lowered",
                 "cut the shards into pieces with common ends"};
  }
  findWaits(work, progress);
  return work;
}

}  // namespace coppice::lowering
