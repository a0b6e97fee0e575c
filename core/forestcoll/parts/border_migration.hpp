// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "forestcoll/network.hpp"

namespace coppice::forestcoll {

/// An arc whose ends inside parts have been moved to GPU endpoints.
struct BorderArc {
  int tail = 0;
  int head = 0;
  std::int64_t capacity = 0;
  std::int64_t full = 0;     ///< before trimming, where that may be used again: see BorderMigration
  std::vector<int> tailVia;  ///< switches of the tail's part after the tail, in the direction of the data
  std::vector<int> headVia;  ///< switches of the head's part before the head
};

/// Moves the ends of the arcs across the border of each part to its GPUs.
///
/// What enters a part decides what is asked of its inside, so those capacities stay as they are. Ways out of GPUs and
/// links to outer switches may be used fully by a caller that keeps the switches balanced itself (star routing). What
/// was trimmed off a part's own links is shared between its inside and the ways from its GPUs to the border.
class BorderMigration {
public:
  /// Which ends are moved. Where tails stay at the switches of their part, ways() says how much of the part's own links
  /// leads from its GPUs to these.
  enum class Ends { both, heads };

  BorderMigration(const Network& network, const std::vector<TreeArc>& capacities,
                  const std::vector<TreeArc>& fullCapacities, const std::vector<std::vector<int>>& family, Ends ends);

  [[nodiscard]] const std::vector<BorderArc>& arcs() const { return m_arcs; }
  /// By node: the part that it is in, or -1.
  [[nodiscard]] const std::vector<int>& partOf() const { return m_partOf; }
  /// By part: whether all its border arcs end at GPUs.
  [[nodiscard]] const std::vector<char>& endsAtGpus() const { return m_endsAtGpus; }
  /// Arcs between two parts, or between a part and the outside, or outside.
  [[nodiscard]] std::vector<BorderArc> crossings() const;
  /// Own links of the parts with what the tails that were moved over them took, and half of what was trimmed off them:
  /// all that may carry data from the GPUs to the border.
  [[nodiscard]] const std::vector<TreeArc>& ways() const { return m_ways; }
  /// By node: what enters its part there.
  [[nodiscard]] std::vector<std::int64_t> entries() const;

private:
  void measureDistances(const std::vector<std::vector<int>>& family);
  [[nodiscard]] bool isSwitch(int node) const { return m_network.isGpu[node] == 0; }
  [[nodiscard]] int part(int node) const { return m_partOf[node]; }
  void index();
  void moveToGpus(const std::vector<int>& nodes, int id);
  [[nodiscard]] bool moveInwards(int node, int id, bool leaving);

  const Network& m_network;
  Ends m_ends;
  std::vector<int> m_partOf;
  std::vector<int> m_distance;
  std::vector<char> m_endsAtGpus;
  std::vector<BorderArc> m_arcs;
  std::vector<std::int64_t> m_forWays;  // by arc, of the first ones: what was trimmed off and ways may use
  std::vector<TreeArc> m_ways;
  std::size_t m_indexed = 0;
  std::vector<std::vector<int>> m_atTail;
  std::vector<std::vector<int>> m_atHead;
};

}  // namespace coppice::forestcoll
