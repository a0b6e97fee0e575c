// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/duration.hpp"
#include "base/units.hpp"
#include "fabric/description.hpp"

namespace coppice::fabric {

/// Dense index into Fabric::nodes().
using NodeIndex = int;
/// Position of a GPU in rank order, 0 .. gpuCount()-1.
using Rank = int;

struct Node {
  std::string id;
  NodeKind kind = NodeKind::gpu;
  std::string box;
  Rank rank = -1;  ///< -1 for nic and switch
  bool multicast = false;
  bool aggregation = false;
};

/// All parallel links of one direction between one ordered pair of nodes, merged.
struct Arc {
  NodeIndex tail = 0;
  NodeIndex head = 0;
  Bandwidth bandwidth;                       ///< sum over the parallel links
  std::optional<ExactMicroseconds> latency;  ///< the largest stated one
};

/// Immutable, valid fabric: unique ids, positive bandwidths, at least two GPUs, every GPU reaches every other.
/// It may be unbalanced. Cheap to share by const reference or shared_ptr.
class Fabric {
public:
  /// Errors: the first error of validate() with its code (validate gives all): invalidFabric, infeasible (fewer than
  /// two GPUs, GPUs that cannot reach each other), overflow.
  static Result<Fabric> build(const Description& description);

  [[nodiscard]] const std::string& name() const { return m_name; }
  /// In the description's order.
  [[nodiscard]] std::span<const Node> nodes() const { return m_nodes; }
  /// Sorted by (tail, head); at most one per ordered pair.
  [[nodiscard]] std::span<const Arc> arcs() const { return m_arcs; }
  /// Node index of each GPU, by rank. Ranks are the stated ones, or the description's order.
  [[nodiscard]] std::span<const NodeIndex> gpus() const { return m_gpus; }
  [[nodiscard]] int gpuCount() const { return static_cast<int>(m_gpus.size()); }
  [[nodiscard]] int nodeCount() const { return static_cast<int>(m_nodes.size()); }
  [[nodiscard]] std::optional<NodeIndex> find(std::string_view id) const;
  /// Index into arcs(), or nullopt.
  [[nodiscard]] std::optional<int> findArc(NodeIndex tail, NodeIndex head) const;

  /// Throw OverflowError where the sum leaves 64 bits.
  [[nodiscard]] Bandwidth ingress(NodeIndex node) const { return known(m_ingress[node]); }
  [[nodiscard]] Bandwidth egress(NodeIndex node) const { return known(m_egress[node]); }
  /// Ingress equals egress at every node (Eulerian), whatever the sums are.
  [[nodiscard]] bool isBalanced() const { return m_isBalanced; }

  /// 32 hex digits over the facts that schedules depend on: ids, kinds, ranks, capabilities, merged bandwidths.
  /// Positions, boxes, names, latencies and the order of links do not count.
  [[nodiscard]] const std::string& digest() const { return m_digest; }

  /// Every arc turned round, multicast and aggregation swapped (a copy played backwards is a reduction);
  /// reduce-scatter on a fabric is allgather on its transpose.
  [[nodiscard]] Fabric transposed() const;

private:
  Fabric() = default;
  void index();
  [[nodiscard]] static Bandwidth known(const std::optional<Bandwidth>& sum);
  [[nodiscard]] bool isBalancedAt(NodeIndex node) const;

  std::string m_name;
  std::vector<Node> m_nodes;
  std::vector<Arc> m_arcs;
  std::vector<NodeIndex> m_gpus;
  std::vector<std::optional<Bandwidth>> m_ingress;  ///< nullopt where the sum leaves 64 bits
  std::vector<std::optional<Bandwidth>> m_egress;
  bool m_isBalanced = true;
  std::unordered_map<std::string, NodeIndex> m_byId;
  std::string m_digest;
};

/// Keeps only the named GPUs (by id); switches and nics stay unless nothing is left attached to them. Ranks follow the
/// kept GPUs' old order. Errors: badUsage naming an unknown id or fewer than two kept.
Result<Description> subset(const Description& description, std::span<const std::string> gpuIds);

}  // namespace coppice::fabric
