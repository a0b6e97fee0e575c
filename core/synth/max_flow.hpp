// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace coppice::synth {

/// Integer maximum flow (Dinic). @pre capacities are not negative and their sums fit 64 bits
class MaxFlow {
public:
  explicit MaxFlow(int nodes) : m_out(nodes) {}

  /// Returns the arc's index, for flow().
  int addArc(int tail, int head, std::int64_t capacity);
  /// At most `enough`.
  std::int64_t run(int source, int sink, std::int64_t enough);
  [[nodiscard]] std::int64_t flow(int arc) const { return m_capacity[arc] - m_arcs[2 * arc].room; }
  /// After run(): the nodes that the source still reaches, or those that do not reach the sink.
  [[nodiscard]] std::vector<bool> sourceSide(int source) const;
  [[nodiscard]] std::vector<bool> sourceSideNearSink(int sink) const;

private:
  struct Half {
    int head = 0;
    std::int64_t room = 0;
  };

  bool buildLevels(int source, int sink);
  std::int64_t push(int node, int sink, std::int64_t limit);

  std::vector<std::vector<int>> m_out;  ///< by node, into m_arcs; the partner of half h is h ^ 1
  std::vector<Half> m_arcs;
  std::vector<std::int64_t> m_capacity;
  std::vector<int> m_level;
  std::vector<std::size_t> m_next;
};

}  // namespace coppice::synth
