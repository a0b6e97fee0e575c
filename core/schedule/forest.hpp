// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/collective.hpp"
#include "base/duration.hpp"
#include "base/progress.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"

/// Tree-flow schedules: what ForestColl returns, and what verifier, exporters and views read.
namespace coppice::schedule {

/// Index into Forest::paths.
using PathId = std::int32_t;

/// Physical routes shared by many tree edges: node indices from sender GPU to receiver GPU, both ends included.
class PathPool {
public:
  /// Adds a route and returns its id. Does not look for an equal one.
  PathId add(std::span<const fabric::NodeIndex> nodes);
  [[nodiscard]] std::span<const fabric::NodeIndex> operator[](PathId id) const;
  [[nodiscard]] int size() const { return static_cast<int>(m_start.size()) - 1; }
  [[nodiscard]] std::int64_t bytes() const {
    return static_cast<std::int64_t>(m_start.size() * sizeof(m_start[0]) + m_nodes.size() * sizeof(m_nodes[0]));
  }

  friend bool operator==(const PathPool&, const PathPool&) = default;

private:
  std::vector<std::int64_t> m_start{0};
  std::vector<fabric::NodeIndex> m_nodes;
};

/// One hop of a tree between two GPUs. The path runs in the direction of the data: parent to child in an out-tree,
/// child to parent in an in-tree.
struct TreeEdge {
  fabric::Rank parent = 0;
  fabric::Rank child = 0;
  PathId path = 0;
  /// In-network pruning (dissertation 4.5.6). Out-tree: the first `pruned` hops of the path carry nothing, because the
  /// multicast switch at path[pruned] already gets this data on another edge of the same tree. In-tree: the last
  /// `pruned` hops carry nothing, because the aggregation switch at path[size-1-pruned] merges this stream into
  /// another.
  std::int32_t pruned = 0;

  friend bool operator==(const TreeEdge&, const TreeEdge&) = default;
};

/// `multiplicity` identical spanning trees. Edges are in breadth-first order from the root.
struct Tree {
  fabric::Rank root = 0;
  std::int64_t multiplicity = 1;
  std::int64_t firstEdge = 0;  ///< into Forest::edges; the tree has gpuCount-1 edges

  friend bool operator==(const Tree&, const Tree&) = default;
};

enum class Direction {
  out,  ///< root to leaves: allgather, broadcast
  in    ///< leaves to root: reduce_scatter, reduce
};

/// Whether the node is a switch, or NIC, that copies (out-trees) or sums (in-trees).
[[nodiscard]] bool isCapable(const fabric::Node& node, Direction direction);

/// Turns the ranks in a way that the fabric does not notice: the place of rank r, r / step % count, goes up by one, and
/// from count - 1 back to 0.
struct Rotation {
  int step = 1;
  int count = 1;
  std::vector<fabric::NodeIndex> image;  ///< by node of the fabric: where it goes

  friend bool operator==(const Rotation&, const Rotation&) = default;
};

/// A forest of spanning trees over all GPUs with one capacity unit per tree.
/// With K = sum of treesOfRoot, every tree carries M/K of the M bytes of the collective, and link e may carry at most
/// floor(scale * b_e) trees; so T = (M/K) * scale and algbw = K / scale GB/s (dissertation B.5.1, Thm 33).
///
/// With rotations the written trees are all rooted at rank 0, and the forest consists of their images under all
/// products of the rotations (schedule/rotation.hpp): the steps are 1 and the products of the counts before, and all
/// counts multiply to the GPUs, so that every rank is the root of one image of each tree. TreeReader gives all trees,
/// images included.
struct Forest {
  Direction direction = Direction::out;
  int gpuCount = 0;
  std::vector<std::int64_t> treesOfRoot;  ///< by rank: k for each (uniform), k*amount (non-uniform), k and 0s (rooted)
  InverseBandwidth scale;                 ///< U, trees per GB/s
  std::vector<Tree> trees;                ///< grouped by root, ascending
  std::vector<TreeEdge> edges;
  PathPool paths;
  std::vector<Rotation> rotations = {};  ///< empty: every tree is written

  [[nodiscard]] std::span<const TreeEdge> edgesOf(const Tree& tree) const {
    return {edges.data() + tree.firstEdge, static_cast<std::size_t>(gpuCount - 1)};
  }
  /// K, trees in total. Throws OverflowError.
  [[nodiscard]] std::int64_t treeCount() const;
  /// K / scale, GB/s.
  [[nodiscard]] Bandwidth algbw() const;

  friend bool operator==(const Forest&, const Forest&) = default;
};

/// How far data travels from a root to its leaves (or back). Means are over trees, with multiplicity, of each tree's
/// height, that is of its farthest leaf.
struct Heights {
  int logicalMax = 0;      ///< GPU-to-GPU hops of the deepest leaf
  double logicalMean = 0;  ///< mean over trees (with multiplicity) of the tree's height
  int physicalMax = 0;     ///< links along the deepest root-leaf route
  double physicalMean = 0;
  Microseconds latencyMax{};  ///< sum of the latencies of the links along the slowest root-leaf route
  Microseconds latencyMean{};
};
/// Hops; latencies stay 0. Of a forest with rotations, the trees of rank 0 are measured: their images are as high.
[[nodiscard]] Heights heights(const Forest& forest);
/// heights().logicalMax alone, several times as fast.
[[nodiscard]] int maxHeight(const Forest& forest);
/// Hops and latencies. Links that the fabric has not count nothing. Throws CancelledError.
[[nodiscard]] Heights heights(const Forest& forest, const fabric::Fabric& fabric, const Progress& progress = {});

/// Latency of a link in picoseconds, rounded, at most a second: as stated, or where none is stated by the kinds of its
/// ends: GPU-GPU 0.7 us, GPU-switch 0.35, GPU-NIC 1, NIC-switch 1.25, NIC-NIC 2.5, switch-switch 0.5. These are round
/// numbers of our choice for NVLink, PCIe and InfiniBand, which put two GPUs of a box 0.7 us apart and two boxes 4.5.
[[nodiscard]] std::int64_t latencyPicoseconds(const fabric::Fabric& fabric, const fabric::Arc& arc);

/// The same trees turned round: an allgather forest becomes a reduce-scatter forest on the transposed fabric, which is
/// the same fabric when all links are duplex. Paths are reversed too; rotations stay.
[[nodiscard]] Forest reversed(Forest forest);

/// A throughput bound proved by a node set S: nothing can be faster than total demand * exitBandwidth / demand.
/// Data of allgather and broadcast must leave S, so exitBandwidth is B+(S). Sums of reduce_scatter and reduce must
/// enter the S that holds their roots: those collectives are allgather and broadcast on the transposed fabric, whose
/// B+(S) is what enters S here. Allreduce states the cut of its slower half (on a balanced fabric both are the same).
/// Shards of a gather leave the S that does not hold the root; those of a scatter enter it.
struct Cut {
  std::vector<fabric::NodeIndex> nodes;  ///< S, ascending
  std::int64_t demand = 0;  ///< |S ∩ Vc| (uniform), the amounts of the roots in S, or 1 (broadcast, reduce)
  Bandwidth exitBandwidth;  ///< leaving S in allgather's direction (entering S for reductions and scatter)

  friend bool operator==(const Cut&, const Cut&) = default;
};

/// A complete schedule of one collective on one fabric.
struct Schedule {
  Collective collective = Collective::allgather;
  std::string fabricName;
  std::string fabricDigest;
  std::optional<fabric::Rank> root;       ///< broadcast and reduce
  std::vector<std::int64_t> amounts;      ///< relative data per rank for non-uniform collectives; empty = equal
  std::optional<Forest> reduceForest;     ///< Direction::in: reduce_scatter, reduce, first half of allreduce
  std::optional<Forest> broadcastForest;  ///< Direction::out: allgather, broadcast, second half of allreduce
  /// allreduce: both halves run at the same time and share the links; a root sends each part of its data out as soon as
  /// it has the sum. The forests then have the same scale and treesOfRoot, which need not be equal for all ranks.
  bool overlapped = false;
  /// A GPU g that hands its data straight to a switch w of its box which copies it gets a copy back too, and one that
  /// takes a sum straight from such a w has its own contribution read through w: what NVLink SHARP does (multimem.st,
  /// multimem.ld_reduce). Not so switches outside the boxes: SHARP sums at a place of its own, and each GPU sends and
  /// receives once. Exactly, with g and w in one box or both in none: where an out-tree uses the link g -> w and has an
  /// edge pruned at w, it also loads w -> g once; where an in-tree uses w -> g and has an edge pruned at w, it also
  /// loads g -> w once (own_copies.hpp).
  bool ownCopies = false;
  Bandwidth algbw;  ///< allreduce: 1 / (1/reduce + 1/broadcast), or what both forests reach where they overlap
  Bandwidth bound;  ///< no schedule with these roots and amounts is faster (cut bound)
  std::vector<Cut> bottlenecks;        ///< at least one cut that proves `bound` (for allreduce: of the slower half)
  std::optional<std::int64_t> fixedK;  ///< trees per root the user asked for; then algbw may be below bound
  std::optional<Bandwidth> allreduceBound;  ///< of all allreduces by trees (tree_bound.hpp), where computed

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

}  // namespace coppice::schedule
