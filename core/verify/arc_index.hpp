// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/rows.hpp"
#include "fabric/fabric.hpp"

namespace coppice::verify {

/// Finds arcs by their ends.
class ArcIndex {
public:
  static constexpr std::int32_t kNone = -1;

  explicit ArcIndex(const fabric::Fabric& fabric)
      : m_first(rowStarts(fabric.nodes().size(), fabric.arcs(), &fabric::Arc::tail)) {
    m_heads.reserve(fabric.arcs().size());
    for (const fabric::Arc& arc : fabric.arcs()) {
      m_heads.push_back(arc.head);
    }
  }

  /// Index into Fabric::arcs(), or kNone. @pre both are nodes of the fabric
  [[nodiscard]] std::int32_t find(fabric::NodeIndex tail, fabric::NodeIndex head) const {
    const auto begin = m_heads.begin() + m_first[tail];
    const auto end = m_heads.begin() + m_first[static_cast<std::size_t>(tail) + 1];
    const auto found = std::lower_bound(begin, end, head);
    return found != end && *found == head ? static_cast<std::int32_t>(found - m_heads.begin()) : kNone;
  }

private:
  std::vector<std::int32_t> m_first;       ///< by tail; arcs come by tail, then head
  std::vector<fabric::NodeIndex> m_heads;  ///< by arc
};

}  // namespace coppice::verify
