// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/packing/transport.hpp"

#include <algorithm>
#include <numeric>

namespace coppice::forestcoll {
namespace {

using std::int64_t;

constexpr int kUnvisited = -2;
constexpr int kStart = -1;

}  // namespace

void Transport::start(std::span<const int64_t> room) {
  m_room.assign(room.begin(), room.end());
  m_amount.clear();
  m_splitCost.clear();
  m_allowedStart.assign(1, 0);
  m_allowed.clear();
  m_bin.clear();
  m_parts.clear();
  m_split.clear();
  m_unplaced.clear();
}

void Transport::addItem(int64_t amount, std::span<const int> bins, int splitCost) {
  m_splitCost.push_back(splitCost);
  m_amount.push_back(amount);
  m_allowed.insert(m_allowed.end(), bins.begin(), bins.end());
  m_allowedStart.push_back(static_cast<int>(m_allowed.size()));
  m_bin.push_back(-1);
  m_parts.push_back(-1);
}

std::span<const int> Transport::binsOf(int item) const {
  const int first = m_allowedStart[item];
  return {m_allowed.data() + first,
          static_cast<std::size_t>(m_allowedStart[static_cast<std::size_t>(item) + 1] - first)};
}

int Transport::roomiest(int item) const {
  int best = -1;
  for (const int bin : binsOf(item)) {
    if (m_room[bin] >= m_amount[item] && (best < 0 || m_room[bin] > m_room[best])) {
      best = bin;
    }
  }
  return best;
}

bool Transport::solve() {
  const int items = itemCount();
  const int bins = static_cast<int>(m_room.size());
  // Items with little choice first, large before small; those that are split rather than others come last.
  m_order.resize(items);
  std::iota(m_order.begin(), m_order.end(), 0);
  const auto choices = [&](int item) {
    return m_allowedStart[static_cast<std::size_t>(item) + 1] - m_allowedStart[item];
  };
  std::stable_sort(m_order.begin(), m_order.end(), [&](int a, int b) {
    const bool isLateA = m_splitCost[a] < bins;
    const bool isLateB = m_splitCost[b] < bins;
    if (isLateA != isLateB) {
      return isLateB;
    }
    return choices(a) != choices(b) ? choices(a) < choices(b) : m_amount[a] > m_amount[b];
  });
  m_work += items + static_cast<int64_t>(m_allowed.size());
  std::vector<int> late;
  for (const int item : m_order) {
    const int bin = roomiest(item);
    if (bin < 0) {
      late.push_back(item);
      continue;
    }
    m_bin[item] = bin;
    m_room[bin] -= m_amount[item];
  }
  constexpr std::size_t kMaxBins = 256;  // pairs of bins are listed
  bool mayStayWhole = m_room.size() <= kMaxBins && !late.empty();
  if (mayStayWhole) {
    listMoves();
  }
  for (const int item : late) {
    // Once an item found no place as a whole, hardly any other will.
    mayStayWhole = mayStayWhole && placeWhole(item);
    if (m_bin[item] < 0) {
      placeParts(item);
    }
  }
  if (!m_split.empty()) {
    removeCycles();
    concentrateSplits();
  }
  return m_unplaced.empty();
}

void Transport::fillBinLists() {
  m_itemsIn.assign(m_room.size(), [this](const auto& add) {
    for (int item = 0; item < itemCount(); ++item) {
      if (m_bin[item] >= 0) {
        add(m_bin[item], item);
      } else if (m_parts[item] >= 0) {
        for (const Piece& piece : m_split[m_parts[item]]) {
          add(piece.bin, item);
        }
      }
    }
  });
  m_work += itemCount();
}

/// Whole items by the bin they are in and another bin that allows them.
void Transport::listMoves() {
  m_moves.resize(std::max(m_moves.size(), m_room.size() * m_room.size()));
  for (std::vector<int>& moves : m_moves) {
    moves.clear();
  }
  for (int item = 0; item < itemCount(); ++item) {
    if (m_bin[item] >= 0) {
      addMoves(item);
    }
  }
}

void Transport::addMoves(int item) {
  const std::size_t row = static_cast<std::size_t>(m_bin[item]) * m_room.size();
  for (const int bin : binsOf(item)) {
    if (bin != m_bin[item]) {
      m_moves[row + static_cast<std::size_t>(bin)].push_back(item);
    }
  }
  m_work += static_cast<int64_t>(binsOf(item).size());
}

/// An item of at least that amount that may go from one bin to the other, or -1.
int Transport::findMove(int from, int to, int64_t amount) {
  std::vector<int>& moves = m_moves[static_cast<std::size_t>(from) * m_room.size() + static_cast<std::size_t>(to)];
  while (!moves.empty() && m_bin[moves.back()] != from) {
    moves.pop_back();  // has gone elsewhere since
  }
  for (std::size_t i = moves.size(); i-- > 0;) {
    ++m_work;
    if (m_bin[moves[i]] == from && m_amount[moves[i]] >= amount) {
      return moves[i];
    }
  }
  return -1;
}

bool Transport::placeWhole(int item) {
  const int bins = static_cast<int>(m_room.size());
  m_from.assign(m_room.size(), kUnvisited);
  m_via.assign(m_room.size(), -1);
  m_queue.clear();
  for (const int bin : binsOf(item)) {
    m_from[bin] = kStart;
    m_via[bin] = item;
    m_queue.push_back(bin);
  }
  for (std::size_t i = 0; i < m_queue.size(); ++i) {
    const int bin = m_queue[i];
    const int64_t lacking = m_amount[m_via[bin]] - m_room[bin];
    if (lacking <= 0) {
      // Everything on the way moves one bin on.
      for (int target = bin; target != kStart; target = m_from[target]) {
        const int moved = m_via[target];
        m_room[target] -= m_amount[moved];
        if (m_from[target] != kStart) {
          m_room[m_from[target]] += m_amount[moved];
        }
        m_bin[moved] = target;
        addMoves(moved);
      }
      return true;
    }
    for (int next = 0; next < bins; ++next) {
      if (m_from[next] == kUnvisited) {
        const int moved = findMove(bin, next, lacking);
        if (moved >= 0) {
          m_from[next] = bin;
          m_via[next] = moved;
          m_queue.push_back(next);
        }
      }
    }
    m_work += bins;
  }
  return false;
}

int64_t Transport::amountIn(int item, int bin) const {
  if (m_bin[item] >= 0) {
    return m_bin[item] == bin ? m_amount[item] : 0;
  }
  if (m_parts[item] >= 0) {
    for (const Piece& piece : m_split[m_parts[item]]) {
      if (piece.bin == bin) {
        return piece.amount;
      }
    }
  }
  return 0;
}

void Transport::shift(int item, int bin, int64_t delta) {
  if (m_parts[item] < 0) {
    m_parts[item] = static_cast<int>(m_split.size());
    m_split.emplace_back();
  }
  std::vector<Piece>& parts = m_split[m_parts[item]];
  if (m_bin[item] >= 0) {
    parts.assign(1, {m_bin[item], m_amount[item]});
    m_bin[item] = -1;
  }
  m_room[bin] -= delta;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].bin == bin) {
      parts[i].amount += delta;
      if (parts[i].amount == 0) {
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i));
      }
      return;
    }
  }
  parts.push_back({bin, delta});
}

/// An item that lies in one bin altogether is whole again.
void Transport::settle(int item) {
  const int index = m_parts[item];
  if (index >= 0 && m_split[index].size() == 1 && m_split[index][0].amount == m_amount[item]) {
    m_bin[item] = m_split[index][0].bin;
    m_split[index].clear();
  }
}

void Transport::placeParts(int item) {
  int64_t left = m_amount[item];
  while (left > 0) {
    fillBinLists();
    m_from.assign(m_room.size(), kUnvisited);
    m_via.assign(m_room.size(), -1);
    m_queue.clear();
    for (const int bin : binsOf(item)) {
      m_from[bin] = kStart;
      m_via[bin] = item;
      m_queue.push_back(bin);
    }
    int goal = -1;
    for (std::size_t i = 0; i < m_queue.size(); ++i) {
      const int bin = m_queue[i];
      // The first bins with room at all: the roomiest among the direct ones.
      if (m_room[bin] > 0 && (goal < 0 || (m_from[bin] == kStart && m_room[bin] > m_room[goal]))) {
        goal = bin;
      }
      if (goal >= 0) {
        continue;
      }
      for (const int held : m_itemsIn[bin]) {
        for (const int next : binsOf(held)) {
          ++m_work;
          if (m_from[next] == kUnvisited) {
            m_from[next] = bin;
            m_via[next] = held;
            m_queue.push_back(next);
          }
        }
      }
    }
    if (goal < 0) {
      m_unplaced.push_back(item);
      return;
    }
    int64_t amount = std::min(left, m_room[goal]);
    for (int bin = goal; m_from[bin] != kStart; bin = m_from[bin]) {
      amount = std::min(amount, amountIn(m_via[bin], m_from[bin]));
    }
    for (int bin = goal;; bin = m_from[bin]) {
      const int moved = m_via[bin];
      shift(moved, bin, amount);
      if (m_from[bin] == kStart) {
        break;
      }
      shift(moved, m_from[bin], -amount);
      settle(moved);
    }
    left -= amount;
  }
  settle(item);
}

/// Depth-first search over the graph of split items and bins, from bin to bin through items.
struct Transport::SplitTree {
  std::vector<int> fromBin;   ///< kUnvisited, or kStart where a tree begins
  std::vector<int> fromItem;  ///< -1 where a tree begins
  std::vector<int> depth;
};

/// The first cycle found, empty where the graph is a forest.
std::vector<Transport::CycleStep> Transport::findCycle(const std::vector<int>& items) {
  const int bins = static_cast<int>(m_room.size());
  std::vector<std::vector<int>> itemsOf(bins);
  for (const int item : items) {
    if (m_bin[item] < 0) {
      for (const Piece& piece : m_split[m_parts[item]]) {
        itemsOf[piece.bin].push_back(item);
      }
    }
  }
  SplitTree tree{std::vector<int>(bins, kUnvisited), std::vector<int>(bins, -1), std::vector<int>(bins, 0)};
  for (int first = 0; first < bins; ++first) {
    if (tree.fromBin[first] != kUnvisited || itemsOf[first].empty()) {
      continue;
    }
    tree.fromBin[first] = kStart;
    m_queue.assign(1, first);
    for (std::size_t i = 0; i < m_queue.size(); ++i) {
      const int bin = m_queue[i];
      for (const int item : itemsOf[bin]) {
        if (item == tree.fromItem[bin]) {
          continue;
        }
        for (const Piece& piece : m_split[m_parts[item]]) {
          ++m_work;
          if (piece.bin == bin) {
            continue;
          }
          if (tree.fromBin[piece.bin] == kUnvisited) {
            tree.fromBin[piece.bin] = bin;
            tree.fromItem[piece.bin] = item;
            tree.depth[piece.bin] = tree.depth[bin] + 1;
            m_queue.push_back(piece.bin);
          } else if (tree.fromItem[piece.bin] != item) {
            return cycleOf(tree, {item, bin, piece.bin});
          }
        }
      }
    }
  }
  return {};
}

/// The step that closes the cycle, then back along the tree.
std::vector<Transport::CycleStep> Transport::cycleOf(const SplitTree& tree, const CycleStep& closing) {
  std::vector<CycleStep> cycle{closing};
  std::vector<CycleStep> tail;
  int a = closing.from;
  int b = closing.to;
  while (a != b) {
    if (tree.depth[b] >= tree.depth[a]) {
      cycle.push_back({tree.fromItem[b], b, tree.fromBin[b]});
      b = tree.fromBin[b];
    } else {
      tail.push_back({tree.fromItem[a], tree.fromBin[a], a});
      a = tree.fromBin[a];
    }
  }
  for (std::size_t i = tail.size(); i-- > 0;) {
    if (cycle.back().item == tail[i].item) {
      cycle.back().to = tail[i].to;  // one item with pieces in three bins of the cycle
    } else {
      cycle.push_back(tail[i]);
    }
  }
  return cycle;
}

/// A cycle of split items and bins lets amounts be shifted round until a piece vanishes, so a forest remains.
void Transport::removeCycles() {
  std::vector<int> items;
  for (int item = 0; item < itemCount(); ++item) {
    if (m_bin[item] < 0 && m_parts[item] >= 0) {
      items.push_back(item);
    }
  }
  for (std::vector<CycleStep> cycle = findCycle(items); !cycle.empty(); cycle = findCycle(items)) {
    int64_t amount = 0;
    for (const CycleStep& step : cycle) {
      const int64_t present = amountIn(step.item, step.from);
      amount = amount == 0 ? present : std::min(amount, present);
    }
    for (const CycleStep& step : cycle) {
      shift(step.item, step.from, -amount);
      shift(step.item, step.to, amount);
    }
    for (const CycleStep& step : cycle) {
      settle(step.item);
    }
  }
}

/// Hands splits on to items of less splitCost.
void Transport::concentrateSplits() {
  constexpr int kMaxWilling = 64;
  std::vector<int> willing;
  for (int item = 0; item < itemCount(); ++item) {
    if (m_splitCost[item] < kMaxWilling) {
      willing.push_back(item);
    }
  }
  std::sort(willing.begin(), willing.end(), [&](int a, int b) { return m_splitCost[a] < m_splitCost[b]; });
  std::vector<int> split;
  for (int item = 0; item < itemCount(); ++item) {
    if (m_bin[item] < 0 && m_parts[item] >= 0) {
      split.push_back(item);
    }
  }
  std::sort(split.begin(), split.end(), [&](int a, int b) { return m_splitCost[a] > m_splitCost[b]; });
  for (const int item : split) {
    for (const int other : willing) {
      if (m_bin[item] >= 0 || m_splitCost[other] >= m_splitCost[item]) {
        break;
      }
      while (m_bin[item] < 0 && passOnSplit(item, other)) {
      }
    }
  }
}

/// One piece of the item goes to the bin of another piece of it, and as much of the other item makes way.
bool Transport::passOnSplit(int item, int other) {
  const std::vector<Piece> pieces = m_split[m_parts[item]];
  for (const Piece& piece : pieces) {
    for (const Piece& goal : pieces) {
      m_work += 1;
      if (piece.bin != goal.bin && amountIn(other, goal.bin) >= piece.amount &&
          std::find(binsOf(other).begin(), binsOf(other).end(), piece.bin) != binsOf(other).end()) {
        shift(other, goal.bin, -piece.amount);
        shift(item, piece.bin, -piece.amount);
        shift(other, piece.bin, piece.amount);
        shift(item, goal.bin, piece.amount);
        settle(item);
        settle(other);
        return true;
      }
    }
  }
  return false;
}

std::vector<Transport::Piece> Transport::pieces(int item) const {
  if (m_bin[item] >= 0) {
    return {{m_bin[item], m_amount[item]}};
  }
  if (m_parts[item] < 0) {
    return {};
  }
  std::vector<Piece> result = m_split[m_parts[item]];
  std::stable_sort(result.begin(), result.end(), [](const Piece& a, const Piece& b) {
    return a.amount != b.amount ? a.amount > b.amount : a.bin < b.bin;
  });
  return result;
}

}  // namespace coppice::forestcoll
