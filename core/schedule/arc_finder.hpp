// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

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
    const std::int32_t outCount = m_outOf[static_cast<std::size_t>(from) + 1] - m_outOf[from];
    const std::int32_t inCount = m_into[static_cast<std::size_t>(to) + 1] - m_into[to];
    return outCount <= inCount ? search(m_outEnds.data() + m_outOf[from], outCount, to)
                               : search(m_inEnds.data() + m_into[to], inCount, from);
  }

private:
  struct End {
    fabric::NodeIndex node = 0;
    std::int32_t arc = 0;
  };

  static std::int32_t search(const End* ends, std::int32_t count, fabric::NodeIndex node) {
    constexpr std::int32_t kFewEnds = 8;
    while (count > kFewEnds) {
      const std::int32_t half = count / 2;
      const bool isAbove = ends[half].node <= node;
      ends = isAbove ? ends + half : ends;
      count = isAbove ? count - half : half;
    }
    for (std::int32_t i = 0; i < count; ++i) {
      if (ends[i].node == node) {
        return ends[i].arc;
      }
    }
    return kNoArc;
  }

  std::vector<std::int32_t> m_outOf;  ///< by node, into m_outEnds
  std::vector<std::int32_t> m_into;
  std::vector<End> m_outEnds;  ///< ascending within a node
  std::vector<End> m_inEnds;
};

}  // namespace coppice::schedule
