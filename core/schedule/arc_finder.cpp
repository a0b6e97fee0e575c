// SPDX-License-Identifier: Apache-2.0
#include "schedule/arc_finder.hpp"

namespace coppice::schedule {

using fabric::NodeIndex;

ArcFinder::ArcFinder(const fabric::Fabric& fabric, Direction direction)
    : m_outOf(static_cast<std::size_t>(fabric.nodeCount()) + 1, 0),
      m_into(static_cast<std::size_t>(fabric.nodeCount()) + 1, 0) {
  const auto arcs = fabric.arcs();
  const bool isOut = direction == Direction::out;
  for (const fabric::Arc& arc : arcs) {
    ++m_outOf[(isOut ? arc.tail : arc.head) + 1];
    ++m_into[(isOut ? arc.head : arc.tail) + 1];
  }
  for (std::size_t i = 1; i < m_outOf.size(); ++i) {
    m_outOf[i] += m_outOf[i - 1];
    m_into[i] += m_into[i - 1];
  }
  m_outEnds.resize(arcs.size());
  m_inEnds.resize(arcs.size());
  auto nextOut = m_outOf;
  auto nextIn = m_into;
  // Arcs come by tail and then head, so that the far ends ascend in both lists.
  for (std::size_t i = 0; i < arcs.size(); ++i) {
    const NodeIndex from = isOut ? arcs[i].tail : arcs[i].head;
    const NodeIndex to = isOut ? arcs[i].head : arcs[i].tail;
    m_outEnds[nextOut[from]++] = {to, static_cast<std::int32_t>(i)};
    m_inEnds[nextIn[to]++] = {from, static_cast<std::int32_t>(i)};
  }
}

}  // namespace coppice::schedule
