// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/checked.hpp"
#include "groups/classes.hpp"

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
  /// Paths between the members of one group.
  struct Paths {
    std::vector<Int128> lengths;                     ///< row by row: from member to member
    std::vector<std::vector<std::int32_t>> arcInto;  ///< by source: by node the last arc of its path
  };
  [[nodiscard]] Paths pathsOf(const schedule::ConcurrentGroup& group, bool passesMembers,
                              const std::vector<Int128>& costs, const std::vector<char>& wanted) const;
  [[nodiscard]] std::vector<std::int32_t> path(const schedule::ConcurrentGroup& group, const Paths& paths, int from,
                                               int to) const;
  [[nodiscard]] Int128 addTree(const schedule::ConcurrentGroup& group, int root, const Paths& paths, bool isIn,
                               schedule::ConcurrentTree& tree) const;
  [[noreturn]] void refuse(const schedule::ConcurrentGroup& group, int from, int to) const;

  const fabric::Fabric& m_fabric;
  const schedule::ConcurrentDemand& m_demand;
  const Classes& m_classes;
  std::vector<std::int32_t> m_firstOut;    ///< by node, into the arcs
  std::vector<std::int64_t> m_preference;  ///< by arc, below 2^16
  std::size_t m_work = 0;
};

}  // namespace coppice::groups
