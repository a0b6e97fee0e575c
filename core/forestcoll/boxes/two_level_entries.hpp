// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/progress.hpp"
#include "forestcoll/boxes/two_level_shape.hpp"

namespace coppice::forestcoll {

/// Counts the entries of a two-level forest (two_level.hpp): a_g at every GPU, and for the trees of which boxes.
///
/// GPUs that share a network, directly or through others, are one CLASS: within it any GPU of a box may serve any
/// entry. With x(s, b, q) entries for the trees of box s at the GPUs of class q in box b, a forest needs
///
///   sum over s of x(s, b, q)  = sum of a_g over class q in box b
///   sum over b of x(s, b, q) <= outer capacity out of class q in box s
///   sum over q of x(s, b, q) >= the trees of s, one entry for each.
///
/// All x start in proportion to the trees, which keeps the first and the last. Sources that would have to send too much
/// pass entries on to others along alternating paths: s gives up one at b, s' takes it, and gives up one elsewhere if
/// it is full itself. That is one flow per class, so where a path is missing no shift within the class helps.
class TwoLevelEntries {
public:
  /// @param supply trees by rank
  /// @param nearness 0 .. kMaxNearness: how many of the entries that could come from under other leaf switches, but
  /// need not, come from boxes under the box's own one instead
  TwoLevelEntries(const TwoLevelShape& shape, std::vector<std::int64_t> supply, int nearness, const Progress& progress);
  static constexpr int kMaxNearness = 4;

  /// False where no such numbers are found. Throws CancelledError, WorkLimitReached.
  [[nodiscard]] bool count();

  [[nodiscard]] int classCount() const { return m_classCount; }
  /// 0 too where the GPU is on no network.
  [[nodiscard]] int classOf(int rank) const { return m_classOf[rank]; }
  /// By source box and place in the box: entries of the source's trees. Sums are exact: a_g over all sources, and the
  /// x(s, b, q). Each GPU's are spread over the sources as evenly as whole numbers allow.
  /// @pre count() was true
  [[nodiscard]] std::vector<std::vector<std::int64_t>> entriesAt(int box) const;

private:
  [[nodiscard]] std::int64_t treesIn(int box) const { return m_treesIn[box]; }
  [[nodiscard]] std::size_t pair(int source, int target) const {
    return static_cast<std::size_t>(source) * m_boxCount + target;
  }
  [[nodiscard]] std::size_t cell(int source, int target, int ofClass) const {
    return pair(source, target) * m_classCount + ofClass;
  }
  [[nodiscard]] std::int64_t& room(int box, int ofClass) {
    return m_room[static_cast<std::size_t>(box) * m_classCount + ofClass];
  }

  void findClasses();
  [[nodiscard]] bool countAtGpus();
  void shareAmongSources();
  [[nodiscard]] std::vector<std::int64_t> sharesOf(int box, const std::vector<int>& sources, std::int64_t all) const;
  void shareAmongClasses(int box, std::vector<int> sources, std::vector<std::int64_t> left);
  [[nodiscard]] bool passOn();
  [[nodiscard]] bool passOnOnce(int source, int ofClass);
  void levelOut(const std::vector<int>& places, std::vector<std::vector<std::int64_t>>& entries) const;

  const TwoLevelShape& m_shape;
  std::vector<std::int64_t> m_supply;
  int m_nearness;
  const Progress& m_progress;
  int m_boxCount;
  int m_classCount = 1;
  std::vector<int> m_classOf;           // by rank
  std::vector<std::int64_t> m_treesIn;  // by box
  std::int64_t m_treeCount = 0;
  std::vector<std::int64_t> m_at;           // by rank: a_g
  std::vector<std::int64_t> m_between;      // by source, target and class: x
  std::vector<std::int64_t> m_pairSum;      // by source and target
  std::vector<std::int64_t> m_capacity;     // by box and class: what its GPUs can send
  std::vector<std::int64_t> m_room;         // the same: what is left of it, below 0 where it is too much
  std::vector<std::int64_t> m_sizeOfClass;  // by box and class: GPUs
};

}  // namespace coppice::forestcoll
