// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/collective.hpp"
#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/description.hpp"
#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"

/// ForestColl's tree XML, as the official spanning_trees_to_xml writes it:
///
///     <Algo nchunkspernode="k">
///       <tree root="R" index="i" nchunks="C" height="h">
///         <send src="A" dst="B" path="A,switch,...,B"/>
///
/// Always out-trees: reduce_scatter and reduce use the reversed edges. Labels are texts such as "(0, 'GPU', 1)"; a path
/// is split at the commas outside parentheses. The format has no bandwidths and no ranks. Ours adds two attributes that
/// other readers ignore: coll on Algo (the collective) and pruned on send (in-network pruning).
namespace coppice::io {

inline constexpr std::size_t kMaxTreeXmlBytes = std::size_t{256} << 20;
inline constexpr std::size_t kMaxTreeLabels = std::size_t{1} << 16;

/// Labels are node ids. An allreduce is written as its broadcast half, which must be its reduce half reversed.
/// Images of rotations are written out on the way. Errors: badInput (an id that cannot stand in a path), unavailable
/// (allreduce of two different forests, or of halves that overlap; own copies), io, internal, cancelled.
Outcome writeTreeXml(std::ostream& out, const schedule::Schedule& schedule, const fabric::Fabric& fabric,
                     const Progress& progress = {});

/// What a tree file says. Numbers of labels are indices into `labels`.
struct TreeXml {
  struct Send {
    int parent = 0;
    int child = 0;
    std::int64_t firstHop = 0;  ///< into routes; the route has `length` labels, parent to child
    std::int32_t length = 0;
    std::int32_t pruned = 0;
  };
  struct Tree {
    int root = 0;
    std::int64_t index = 0;
    std::int64_t chunks = 1;     ///< multiplicity
    std::int64_t firstSend = 0;  ///< into sends
    std::int64_t sendCount = 0;
  };
  /// One used link, from parent side to child side.
  struct Hop {
    int from = 0;
    int to = 0;
    std::int64_t load = 0;  ///< trees that cross it
  };

  std::int64_t chunksPerNode = 0;        ///< k
  std::optional<Collective> collective;  ///< our own attribute
  std::vector<std::string> labels;       ///< in order of first appearance
  std::vector<int> gpus;                 ///< labels that root, send or receive, in rank order by the convention below
  std::vector<Tree> trees;
  std::vector<Send> sends;
  std::vector<int> routes;
  std::vector<Hop> hops;  ///< ascending by (from, to)
  /// A fabric that carries exactly these trees: one-way links whose GB/s is the number of trees that cross them, since
  /// the file contains no bandwidths. Links of a reducing collective run from child to parent.
  fabric::Description inferred;
  std::vector<Finding> findings;  ///< what was guessed or ignored
};

/// Ranks: labels (server, 'GPU', index) by server, then index (with equal boxes that is the official
/// server * gpus_per_server + index); whole numbers by value; other labels by first appearance, which is noted.
/// Errors: badInput with line and column or tree; limit; overflow.
Result<TreeXml> readTreeXml(std::string_view text, const std::string& fileName = {});

/// The trees on a given fabric as a schedule of the collective, reversed for one that reduces. GPU labels are matched
/// by id, or else by rank in the order of TreeXml::gpus; switch labels by id, or else by the only node whose links fit
/// all routes through them. Edges are put in breadth-first order; scale is the minimum that fits all loads. Nothing is
/// verified. One root only: that of broadcast and reduce; roots with different numbers of trees: amounts. fixedK is k.
/// The file proves no bound: `bound` is 0 and there are no cuts, until the caller takes them from forestcoll::optimum.
/// Errors: badInput (a label that fits no node, or several; another number of GPUs; a tree of the wrong size), badUsage
/// (one root but not broadcast or reduce, or the opposite), overflow.
Result<schedule::Schedule> scheduleFromTrees(const TreeXml& trees, const fabric::Fabric& fabric, Collective collective);

}  // namespace coppice::io
