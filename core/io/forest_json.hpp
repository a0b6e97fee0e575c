// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

#include "base/collective.hpp"
#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/description.hpp"
#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"

/// The `.forest.json` format: one schedule and, so that it stands alone, the fabric it was made for.
///
///     {"format": "coppice-forest", "version": 1, "collective": "allgather", "fabric_name": "...", "digest": "...",
///      "root": 0, "amounts": [2, 1], "algbw": "1040/3", "bound": "1040/3", "fixed_k": 1, "allreduce_bound": "...",
///      "nodes": ["g0", ...],     ids; all node numbers below count in this table
///      "gpus": [0, 1, ...],      node of each rank; roots, parents and children below are ranks
///      "bottlenecks": [{"nodes": [...], "demand": 8, "exit_bandwidth": "200"}],
///      "reduce_forest": {...}, "broadcast_forest":
///        {"trees_of_root": [...], "scale": "3/5", "paths": [[0, 8, 1], ...],
///         "trees": [{"root": 0, "multiplicity": 1, "edges": [[parent, child, path], [parent, child, path, pruned]]}]},
///      "fabric": {a whole .fabric.json}}
///
/// A forest by its distinct parts (schedule::FactoredForest) has "parts" instead of "paths" and "trees"; such a file
/// has version 2:
///
///     {"trees_of_root": [...], "scale": "127", "parts": {
///        "shapes": [{"nodes": [-1, ...],     shape of each node, -1 for a GPU
///                    "switches": 9, "vias": [[0], [1], ...],
///                    "out_ports": [[leaf, via], ...], "in_ports": [[leaf, via], ...],
///                    "skeletons": [{"root": 0, "arcs": [[tail, head], ...]}],
///                    "patterns": [[[count, via, tail port, head port, inner tree], ...], ...],
///                    "trees": [[skeleton, pattern, root leaf, multiplicity], ...]}],
///        "instances": [{"shape": 0, "nodes": [...], "switches": [...]}],   ranks or instances; nodes of the table
///        "top": 128}}
///
/// Where the trees are those of rank 0 and their images under rotations (schedule/rotation.hpp), "parts" also has
/// "rotations": [[step, count], ...], and such a file has version 3. Where the rotations take switches and nics follows
/// from the fabric.
///
/// "parts": "reduce_forest" in the broadcast_forest stands for the same parts as there. Fractions are strings. root,
/// amounts, fixed_k, allreduce_bound and the forests are there where the schedule has them.
namespace coppice::io {

inline constexpr std::size_t kMaxForestBytes = std::size_t{1} << 30;

/// Writes without building the text in memory. Equal schedules on equal fabrics give equal bytes. `description` is what
/// to embed (positions and unknown keys with it); without one, the fabric's facts are. Trees come in their order, so
/// firstEdge values other than 0, N-1, 2(N-1), ... read back as those; so do the arcs of skeletons and the choices of
/// patterns. Forests by parts stay so unless the form says `trees`; then they are expanded on the way, with the same
/// bytes as of schedule::expanded() and memory for the different routes only.
/// Errors: io (the stream failed), badUsage (the description is of another fabric; the form asks for parts where there
/// are trees), internal (edges or parts out of range), limit (memory), cancelled.
Outcome writeForestJson(std::ostream& out, const schedule::Schedule& schedule, const fabric::Fabric& fabric,
                        const fabric::Description* description = nullptr,
                        schedule::ForestForm form = schedule::ForestForm::automatic, const Progress& progress = {});

/// The schedule, for a given fabric; the embedded one is ignored. Nodes are matched by id. Everything is there
/// and in range afterwards (parts pass schedule::checkStructure), nothing more: verify::verifySchedule judges it.
/// Errors: badInput with line and column or element, verification (made for a fabric with another digest), limit.
Result<schedule::Schedule> readForestJson(std::string_view text, const fabric::Fabric& fabric,
                                          const std::string& fileName = {});

struct LoadedForest {
  fabric::Description description;
  fabric::Fabric fabric;
  schedule::Schedule schedule;
};

/// The schedule and its embedded fabric. Errors: as readForestJson, and invalidFabric.
Result<LoadedForest> loadForest(std::string_view text, const std::string& fileName = {});

}  // namespace coppice::io
