// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "flow/blocking_flow.hpp"

namespace coppice::flow {

/// Integer maximum flow between two nodes of a network that is built arc by arc (BlockingFlow). Paths take the arcs of
/// a node in the order in which they were added. @pre capacities are not negative and their sums fit 64 bits
class MaxFlow {
public:
  explicit MaxFlow(int nodes) : m_out(nodes) {}

  /// Returns the arc's index, for flow() and setCapacity().
  int addArc(int tail, int head, std::int64_t capacity);
  /// Takes the arc's flow back. @pre all arcs are set again, or the arc carries no flow
  void setCapacity(int arc, std::int64_t capacity);
  /// Adds to the flow in place; what it adds, at most `enough`.
  std::int64_t run(int source, int sink, std::int64_t enough = std::numeric_limits<std::int64_t>::max());
  [[nodiscard]] std::int64_t flow(int arc) const { return m_capacity[arc] - m_room[2 * arc]; }
  /// After run(): the nodes that the source still reaches, or those that do not reach the sink.
  [[nodiscard]] std::vector<bool> sourceSide(int source) const;
  [[nodiscard]] std::vector<bool> sourceSideNearSink(int sink) const;

private:
  struct Half {
    int head = 0;
    int arc = 0;  ///< arc ^ 1 runs the other way
  };
  class Network;

  std::vector<std::vector<Half>> m_out;  ///< by node
  std::vector<std::int64_t> m_room;      ///< by residual arc
  std::vector<std::int64_t> m_capacity;
  BlockingFlow<std::int64_t> m_flow;
};

}  // namespace coppice::flow
