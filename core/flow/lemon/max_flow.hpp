// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

/// Maximum flow by LEMON's push-relabel code, for verifiers: it shares nothing with the flow code of the generators.
/// LEMON does not compile as C++20, so this header and its source are C++17 and include no C++20 header.
namespace coppice::flow::lemon {

/// Capacity of an arc that never limits a flow.
inline constexpr std::int64_t kInfinite = std::numeric_limits<std::int64_t>::max();

struct Arc {
  int tail = 0;
  int head = 0;
  std::int64_t capacity = 0;  ///< >= 0, or kInfinite
};

/// One network, many (source, sink) pairs.
class MaxFlow {
public:
  /// Arcs with equal ends are ignored; parallel arcs add up. An infinite arc gets 1 + the sum of all finite ones.
  /// Throws OverflowError when the capacities do not add up within 64 bits, std::invalid_argument for an end outside
  /// [0, nodeCount) or a negative capacity.
  MaxFlow(int nodeCount, const std::vector<Arc>& arcs);
  ~MaxFlow();
  MaxFlow(const MaxFlow&) = delete;
  MaxFlow& operator=(const MaxFlow&) = delete;
  MaxFlow(MaxFlow&&) noexcept;
  MaxFlow& operator=(MaxFlow&&) noexcept;

  /// Value of a maximum flow; kInfinite when only infinite arcs limit it. `sourceSide` (by node) becomes the largest
  /// minimum cut: all nodes that cannot reach the sink in the residual network. Throws std::invalid_argument for a node
  /// outside the network or source == sink.
  std::int64_t run(int source, int sink, std::vector<bool>* sourceSide = nullptr);

private:
  struct Network;
  std::unique_ptr<Network> m_network;
};

/// MaxFlow(nodeCount, arcs).run(source, sink, sourceSide).
std::int64_t maxFlow(int nodeCount, const std::vector<Arc>& arcs, int source, int sink,
                     std::vector<bool>* sourceSide = nullptr);

}  // namespace coppice::flow::lemon
