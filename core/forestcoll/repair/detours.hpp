// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/rows.hpp"
#include "fabric/fabric.hpp"
#include "schedule/arc_finder.hpp"

namespace coppice::forestcoll {

/// Looks for routes between GPUs through nodes that only relay, where there is room for more trees: of the shortest
/// ones that whose narrowest arc has the most room.
class DetourFinder {
public:
  /// @param room by arc: trees that it may carry
  DetourFinder(const fabric::Fabric& fabric, std::span<const std::int64_t> room);

  /// Nodes from one GPU to the other, empty where there is no route with room for `copies` beside the load of each arc;
  /// valid until the next call.
  [[nodiscard]] std::span<const fabric::NodeIndex> find(fabric::NodeIndex from, fabric::NodeIndex to,
                                                        std::int64_t copies, std::span<const std::int64_t> load);
  [[nodiscard]] std::int64_t room(std::int32_t arc) const { return m_room[arc]; }
  /// Index into Fabric::arcs(). @pre the fabric has it
  [[nodiscard]] std::int32_t arc(fabric::NodeIndex from, fabric::NodeIndex to) const { return m_arcs.find(from, to); }
  /// Arcs looked at since the start.
  [[nodiscard]] std::uint64_t work() const { return m_work; }

private:
  struct Way {
    std::int64_t round = 0;  ///< of the search that has reached the node
    int hops = 0;
    std::int64_t width = 0;
    fabric::NodeIndex before = 0;
  };
  void reach(fabric::NodeIndex node, fabric::NodeIndex before, std::int64_t left);

  std::span<const std::int64_t> m_room;
  schedule::ArcFinder m_arcs;
  Rows<std::int32_t> m_toRelays;  ///< by node: arcs to relays
  std::vector<fabric::NodeIndex> m_heads;
  std::vector<Way> m_ways;
  std::vector<fabric::NodeIndex> m_queue;
  std::vector<fabric::NodeIndex> m_route;
  std::int64_t m_round = 0;
  std::uint64_t m_work = 0;
};

}  // namespace coppice::forestcoll
