// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/checked.hpp"
#include "base/rows.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "schedule/exchange.hpp"

namespace coppice::alltoall {

/// A fabric with whole-number bandwidths and its arcs by node.
struct Network {
  Network(const fabric::Fabric& of, const schedule::ExchangeDemand& demand);

  const fabric::Fabric& fabric;
  const schedule::ExchangeDemand& demand;
  Bandwidth unit;                      ///< per unit of capacity
  std::vector<std::int64_t> capacity;  ///< by arc
  std::vector<std::int32_t> firstOut;  ///< by node, into Fabric::arcs(), which are sorted by tail; one more at the end
  Rows<std::int32_t> in;               ///< by node

  /// What the GPU sends to the node; 0 where that is a relay.
  [[nodiscard]] std::int64_t amount(fabric::NodeIndex from, fabric::NodeIndex to) const {
    const fabric::Node& node = fabric.nodes()[to];
    return node.kind == fabric::NodeKind::gpu ? demand.amount(fabric.nodes()[from].rank, node.rank, fabric.gpuCount())
                                              : 0;
  }
  [[nodiscard]] int nodeCount() const { return fabric.nodeCount(); }
  [[nodiscard]] int arcCount() const { return static_cast<int>(capacity.size()); }
};

/// Shortest paths from one node.
class ShortestPaths {
public:
  explicit ShortestPaths(const Network& network);

  /// Among equally long paths those of the smallest sum of `second` are taken.
  void run(fabric::NodeIndex source, std::span<const std::int64_t> lengths, std::span<const double> second);
  /// By node: the arc of the tree into it; -1 at the source and where no path leads.
  [[nodiscard]] const std::vector<std::int32_t>& arcInto() const { return m_arcInto; }
  /// The nodes that are reached, nearest first, and by node their distances.
  [[nodiscard]] const std::vector<fabric::NodeIndex>& order() const { return m_order; }
  [[nodiscard]] const std::vector<Int128>& distance() const { return m_distance; }
  [[nodiscard]] const std::vector<double>& second() const { return m_second; }
  /// Sum over the GPUs of their distances, times what they get. Throws Failure (badUsage) where no path leads to one.
  [[nodiscard]] Int128 gpuDistances() const;
  /// By arc: what the GPUs behind it in the tree get. Adds to `uses`.
  void countUses(std::vector<std::int64_t>& uses);

private:
  const Network& m_network;
  fabric::NodeIndex m_source = 0;
  std::vector<Int128> m_distance;
  std::vector<double> m_second;
  std::vector<std::int32_t> m_arcInto;
  std::vector<fabric::NodeIndex> m_order;  ///< reached, nearest first
  std::vector<char> m_isDone;
  std::vector<std::int64_t> m_behind;
};

/// Shortest paths from many GPUs whose links all lead to a few relays: a path is the link to one of them, and a
/// shortest path from there.
class SharedPaths {
public:
  /// nullopt where these paths would take longer than those of each GPU alone.
  static std::optional<SharedPaths> from(const Network& network, std::span<const fabric::NodeIndex> sources);

  /// Among equally long paths those of the smallest sum of `second` are taken.
  void run(std::span<const std::int64_t> lengths, std::span<const double> second);
  /// The paths of one GPU, each counted `weight` times in takeLoads(). Their lengths times what the others get. Throws
  /// Failure (badUsage) where no path leads to one.
  [[nodiscard]] Int128 add(fabric::NodeIndex source, std::int64_t weight);
  /// By node: the arc of the tree into it, of the GPU that was added last; -1 at the source and where no path leads.
  [[nodiscard]] std::vector<std::int32_t> tree() const;
  /// By arc: what all paths put on it since run().
  [[nodiscard]] std::vector<double> takeLoads();
  /// In the numbers of lp::WorkBudget: run(), and add() for that many GPUs.
  [[nodiscard]] std::size_t work(std::size_t sources) const;

private:
  struct FromRelay {
    fabric::NodeIndex relay = 0;
    std::vector<Int128> distance;
    std::vector<double> second;
    std::vector<std::int32_t> arcInto;
    std::vector<fabric::NodeIndex> order;  ///< reached, nearest first
    std::vector<double> behind;            ///< what ends at the node
  };
  explicit SharedPaths(const Network& network) : m_network(network), m_paths(network) {}

  const Network& m_network;
  ShortestPaths m_paths;
  std::vector<FromRelay> m_relays;
  std::vector<int> m_relayAt;  ///< by node, into m_relays; -1 elsewhere
  std::vector<std::int64_t> m_lengths;
  std::vector<double> m_seconds;
  std::vector<double> m_load;
  fabric::NodeIndex m_source = 0;
  std::vector<std::int32_t> m_firstArc;  ///< by rank, of the path to it; -1 = none
};

}  // namespace coppice::alltoall
