// SPDX-License-Identifier: Apache-2.0
#include "schedule/arc_finder.hpp"

#include <utility>

namespace coppice::schedule {

using fabric::NodeIndex;

ArcFinder::ArcFinder(const fabric::Fabric& fabric, Direction direction) {
  // Arcs come by tail and then head, so that the far ends ascend in both lists.
  const auto list = [&](NodeIndex fabric::Arc::*near, NodeIndex fabric::Arc::*far) {
    return Rows<End>(static_cast<std::size_t>(fabric.nodeCount()), [&](const auto& add) {
      std::int32_t number = 0;
      for (const fabric::Arc& arc : fabric.arcs()) {
        add(arc.*near, End{arc.*far, number++});
      }
    });
  };
  m_outEnds = list(&fabric::Arc::tail, &fabric::Arc::head);
  m_inEnds = list(&fabric::Arc::head, &fabric::Arc::tail);
  if (direction == Direction::in) {
    std::swap(m_outEnds, m_inEnds);
  }
}

}  // namespace coppice::schedule
