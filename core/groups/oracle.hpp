// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/checked.hpp"
#include "groups/classes.hpp"
#include "groups/group_network.hpp"

namespace coppice::groups {

/// A cheapest tree of a share, as a row of the program.
struct TreeRow {
  int share = 0;
  schedule::ConcurrentTree tree;
  std::vector<std::int64_t> uses;  ///< by class of links: how many its paths take
};

/// Finds the cheapest trees of every share at given prices. Among equally cheap ones those are preferred whose links
/// were used less before.
class Oracle {
public:
  Oracle(const fabric::Fabric& fabric, const schedule::ConcurrentDemand& demand, const Classes& classes);

  /// One row for each share. @param prices by class of links, below 2^62
  /// Throws Failure (infeasible), CancelledError.
  [[nodiscard]] std::vector<TreeRow> cheapest(std::span<const std::int64_t> prices, const Progress& progress);
  /// Later trees prefer links with little of this, by class of links.
  void prefer(const std::vector<double>& used);
  /// Numbers that one call touches, about.
  [[nodiscard]] std::size_t work() const { return m_work; }

private:
  [[nodiscard]] GroupNetwork networkOf(const schedule::ConcurrentGroup& group) const;
  /// The shortest paths from one node of a network.
  struct Reach {
    std::vector<Int128> lengths;        ///< by member
    std::vector<std::int32_t> wayInto;  ///< by node the last way of its path; -1 = none
  };
  [[nodiscard]] Reach reachFrom(const GroupNetwork& network, int start, std::size_t members, bool passesMembers,
                                const std::vector<Int128>& costOf);
  /// Paths between the members of one group, for path(). @param wanted by member: paths from it
  void findPaths(const GroupNetwork& network, bool passesMembers, const std::vector<Int128>& costs,
                 const std::vector<char>& wanted);
  [[nodiscard]] std::vector<std::int32_t> path(const schedule::ConcurrentGroup& group, const GroupNetwork& network,
                                               int from, int to) const;
  /// Adds the cheapest in-tree or out-tree of the root, and returns its cost.
  [[nodiscard]] Int128 addTree(const schedule::ConcurrentGroup& group, const GroupNetwork& network, int root, bool isIn,
                               schedule::ConcurrentTree& tree);
  [[noreturn]] void refuse(const schedule::ConcurrentGroup& group, int from, int to) const;

  const fabric::Fabric& m_fabric;
  const schedule::ConcurrentDemand& m_demand;
  const Classes& m_classes;
  std::vector<std::int32_t> m_firstOut;  ///< by node, into the arcs
  Rows<fabric::NodeIndex> m_neighbours;
  std::vector<std::int64_t> m_preference;  ///< by arc, below 2^16
  // Kept between calls for their memory, which is much of a call's time in large groups.
  std::vector<Int128> m_lengths;         ///< row by row: from member to member
  std::vector<Int128> m_turned;          ///< the same column by column
  std::vector<std::int32_t> m_firstWay;  ///< row by row: of the path; -1 = none. Unused where members pass data on
  std::vector<Reach> m_reach;            ///< by node, of those that paths were asked from
  std::size_t m_work = 0;
};

}  // namespace coppice::groups
