// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/description.hpp"
#include "fabric/fabric.hpp"

/// Regular digraphs to cable fabrics by: base graphs, Cayley graphs and the expansions of the dissertation (Ch. 3).
namespace coppice::topology {

/// No graph has more nodes than this.
inline constexpr std::int64_t kMaxNodes = 262'144;
/// Nor more links of one direction, which is what memory allows.
inline constexpr std::int64_t kMaxArcs = 8'388'608;

/// A d-regular digraph: every node has d out-links and d in-links of equal bandwidth. Parallel links are repeated;
/// self-loops count for d and carry nothing.
struct Digraph {
  std::string name;
  int nodes = 0;
  int degree = 0;
  /// Where link j of node v leads: heads[v * degree + j].
  std::vector<int> heads;
  /// What drawings place the nodes by: the sides of a grid whose last coordinate counts fastest; empty = a circle.
  std::vector<int> grid = {};

  [[nodiscard]] std::span<const int> out(int node) const {
    return std::span<const int>(heads).subspan(static_cast<std::size_t>(node) * static_cast<std::size_t>(degree),
                                               static_cast<std::size_t>(degree));
  }
};

/// Every arc turned round. @pre every node has `degree` in-links
[[nodiscard]] Digraph transposed(const Digraph& graph);
[[nodiscard]] std::int64_t selfLoopCount(const Digraph& graph);
/// As many links lead from u to v as from v to u, for all u and v.
[[nodiscard]] bool isDuplex(const Digraph& graph);
/// No self-loops and no parallel links.
[[nodiscard]] bool isSimple(const Digraph& graph);
/// A pair (from, to) such that no path leads from `from` to `to`.
[[nodiscard]] std::optional<std::pair<int, int>> unreachablePair(const Digraph& graph);

/// GPUs "g0", "g1", … with ranks in this order and positions (circle or grid); the links of both directions between two
/// nodes become duplex links as far as they match, the rest one-way links; self-loops are left out.
/// Errors: infeasible naming a pair of GPUs without a path; badUsage for fewer than two nodes.
[[nodiscard]] Result<fabric::Description> describe(const Digraph& graph, Bandwidth perLink);

/// A fabric of GPUs alone as a digraph, and the bandwidth of its unit links: the largest that divides all links.
struct FabricGraph {
  Digraph graph;
  Bandwidth perLink;
};
/// Errors: badUsage for switches and for nodes of unequal degree (naming one), limit beyond kMaxArcs.
[[nodiscard]] Result<FabricGraph> readFabric(const fabric::Fabric& fabric);

/// Refuses before memory is spent. Errors: limit beyond kMaxNodes or kMaxArcs, badUsage for fewer than two nodes.
[[nodiscard]] Outcome checkSize(const std::string& name, std::int64_t nodes, std::int64_t degree);

}  // namespace coppice::topology
