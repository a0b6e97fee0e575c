// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "base/rational.hpp"
#include "base/result.hpp"

/// Breadth-first broadcast (dissertation, Ch. 3): every shard travels on shortest paths, one hop a step, and what a
/// node gets in a step is spread over its in-links as evenly as they allow. The exact optimum of each step is the value
/// of a class flow, so that no linear program is needed.
namespace coppice::bfb {

/// `width` parallel unit links from tail to head. A self-loop carries nothing.
struct Link {
  int tail = 0;
  int head = 0;
  std::int64_t width = 1;

  friend bool operator==(const Link&, const Link&) = default;
};

/// A direct-connect topology. Parallel links may be given as one of their sum or one by one.
struct Digraph {
  int nodeCount = 0;
  std::vector<Link> links;
  /// By link, its latency, as the shards that a unit link carries in that time; empty = none. The loads of steps are
  /// then times in that measure: a link of latency a gets no more than (U - a) * width shards in U (A.12).
  std::vector<Rational> latencies = {};

  /// Most unit links into or out of a node, self-loops included: d of a regular digraph.
  [[nodiscard]] std::int64_t degree() const;
};

/// Why a step takes as long as it does: `shards` shards must reach `node` in that step, and each can only come over
/// `links`, which are `width` unit links in all. Without latencies the load of the step is shards / width (Theorem 19
/// made quantitative).
struct TightSet {
  int node = 0;
  std::vector<int> links;  ///< into Digraph::links, ascending
  std::int64_t shards = 0;
  std::int64_t width = 1;

  friend bool operator==(const TightSet&, const TightSet&) = default;
};

/// The exact costs of an allgather by BFB.
struct Loads {
  int nodeCount = 0;
  std::int64_t degree = 0;
  std::vector<Rational> stepLoads;  ///< U_t in shards per unit link, t = 1 .. T; T is the diameter
  std::vector<TightSet> tight;      ///< by step; proves that no schedule on shortest paths has a smaller U_t
  /// By step, the ordered pairs of nodes at that distance. With one target only: the nodes at that distance from it,
  /// times the nodes.
  std::vector<std::int64_t> pairs;

  [[nodiscard]] int steps() const { return static_cast<int>(stepLoads.size()); }
  /// T_B in units of M/B, where B is the bandwidth of `degree` unit links: degree / nodes * sum of U_t. Throws
  /// OverflowError.
  [[nodiscard]] Rational bandwidthTime() const;
  /// T_B = (N-1)/N, which no schedule beats.
  [[nodiscard]] bool isBandwidthOptimal() const;
  /// Fewest chunks per shard that reach every U_t where all links have width 1: the common denominator.
  [[nodiscard]] std::int64_t denominator() const;
};

struct LoadOptions {
  /// Looks at what this node gets only: all of a vertex-transitive digraph. N d steps instead of N^2 d.
  std::optional<int> onlyTarget = {};
};

/// Allgather; reduce_scatter is the allgather on transposed(). Errors: badUsage (fewer than two nodes, a link out of
/// range or of width below 1), infeasible naming a pair that has no path, overflow, cancelled.
Result<Loads> loads(const Digraph& digraph, const LoadOptions& options = {}, const Progress& progress = {});

[[nodiscard]] Digraph transposed(const Digraph& digraph);

}  // namespace coppice::bfb
