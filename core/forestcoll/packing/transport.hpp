// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/rows.hpp"

namespace coppice::forestcoll {

/// A small transportation problem: items with amounts go into bins with limited room, each item only into bins that
/// allow it. Items stay whole where possible; what cannot is split, on at most bins - 1 extra pieces in all.
/// Scratch memory is kept from one problem to the next. Deterministic.
class Transport {
public:
  struct Piece {
    int bin = -1;
    std::int64_t amount = 0;
  };

  /// Starts a problem. Bins are 0 .. room.size() - 1.
  void start(std::span<const std::int64_t> room);
  /// Adds an item (numbered from 0). Where something has to be split, items of little splitCost are split first.
  /// @pre amount > 0, bins distinct and ascending, splitCost >= 0.
  void addItem(std::int64_t amount, std::span<const int> bins, int splitCost);

  /// Places all items if that is possible. False: a set of items whose bins together are too small exists, and
  /// unplaced() lists items that did not go in wholly.
  bool solve();

  [[nodiscard]] int itemCount() const { return static_cast<int>(m_amount.size()); }
  /// Pieces of an item, largest first.
  [[nodiscard]] std::vector<Piece> pieces(int item) const;
  /// The only bin of the item, or -1 if it is split or not (wholly) placed.
  [[nodiscard]] int wholeBin(int item) const { return m_bin[item]; }
  /// Items that were not placed wholly.
  [[nodiscard]] std::span<const int> unplaced() const { return m_unplaced; }
  [[nodiscard]] std::int64_t room(int bin) const { return m_room[bin]; }
  /// Elementary steps so far, over all problems.
  [[nodiscard]] std::int64_t work() const { return m_work; }

private:
  [[nodiscard]] std::span<const int> binsOf(int item) const;
  [[nodiscard]] int roomiest(int item) const;
  void fillBinLists();
  void listMoves();
  void addMoves(int item);
  [[nodiscard]] int findMove(int from, int to, std::int64_t amount);
  bool placeWhole(int item);
  void placeParts(int item);
  [[nodiscard]] std::int64_t amountIn(int item, int bin) const;
  void shift(int item, int bin, std::int64_t delta);
  void settle(int item);
  struct SplitTree;
  /// An item moves from one bin to the next.
  struct CycleStep {
    int item;
    int from;
    int to;
  };
  [[nodiscard]] std::vector<CycleStep> findCycle(const std::vector<int>& items);
  [[nodiscard]] static std::vector<CycleStep> cycleOf(const SplitTree& tree, const CycleStep& closing);
  void removeCycles();
  void concentrateSplits();
  bool passOnSplit(int item, int other);

  std::vector<std::int64_t> m_room;
  std::vector<std::int64_t> m_amount;
  std::vector<int> m_splitCost;
  std::vector<int> m_allowedStart;
  std::vector<int> m_allowed;
  std::vector<int> m_bin;                   // whole item -> bin
  std::vector<int> m_parts;                 // item -> index in m_split, or -1
  std::vector<std::vector<Piece>> m_split;  // pieces of items that are split or partly placed
  std::vector<int> m_unplaced;

  std::vector<int> m_order;
  Rows<int> m_itemsIn;                    // those with something in each bin
  std::vector<int> m_from;                // search: bin -> bin it was reached from, -1 for the first ones, -2 unseen
  std::vector<int> m_via;                 // search: item that moves from there
  std::vector<std::vector<int>> m_moves;  // bins x bins: items listed when they came, some gone since
  std::vector<int> m_queue;
  std::int64_t m_work = 0;
};

}  // namespace coppice::forestcoll
