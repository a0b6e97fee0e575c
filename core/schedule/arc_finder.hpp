// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "base/rows.hpp"
#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"

namespace coppice::schedule {

inline constexpr std::int32_t kNoArc = -1;

/// Finds arcs by their ends, searching on the side that has fewer. Data of an in-forest runs against its trees: there
/// the arc from -> to of a tree is the fabric's to -> from.
class ArcFinder {
public:
  ArcFinder(const fabric::Fabric& fabric, Direction direction);

  /// Index into Fabric::arcs(), or kNoArc. @pre both are nodes of the fabric
  [[nodiscard]] std::int32_t find(fabric::NodeIndex from, fabric::NodeIndex to) const {
    const auto out = m_outEnds[from];
    const auto in = m_inEnds[to];
    return out.size() <= in.size() ? search(out, to) : search(in, from);
  }

private:
  struct End {
    fabric::NodeIndex node = 0;
    std::int32_t arc = 0;
  };

  static std::int32_t search(std::span<const End> row, fabric::NodeIndex node) {
    constexpr std::size_t kFewEnds = 8;
    const End* ends = row.data();
    std::size_t count = row.size();
    while (count > kFewEnds) {
      const std::size_t half = count / 2;
      const bool isAbove = ends[half].node <= node;
      ends = isAbove ? ends + half : ends;
      count = isAbove ? count - half : half;
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (ends[i].node == node) {
        return ends[i].arc;
      }
    }
    return kNoArc;
  }

  Rows<End> m_outEnds;  ///< by node, ascending
  Rows<End> m_inEnds;
};

}  // namespace coppice::schedule
