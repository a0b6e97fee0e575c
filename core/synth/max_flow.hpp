// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "flow/blocking_flow.hpp"

namespace coppice::synth {

/// Integer maximum flow between two nodes (flow::BlockingFlow). @pre capacities are not negative and their sums fit
/// 64 bits
class MaxFlow {
public:
  explicit MaxFlow(int nodes) : m_out(nodes) {}

  /// Returns the arc's index, for flow().
  int addArc(int tail, int head, std::int64_t capacity);
  /// At most `enough`.
  std::int64_t run(int source, int sink, std::int64_t enough);
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
  flow::BlockingFlow<std::int64_t> m_flow;
};

}  // namespace coppice::synth
