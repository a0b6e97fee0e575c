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
#include "io/origin.hpp"
#include "schedule/forest.hpp"

/// The `.forest.json` format: one schedule and, so that it stands alone, the fabric it was made for.
///
///     {"format": "coppice-forest", "version": 1, "collective": "allgather", "fabric_name": "...", "digest": "...",
///      "root": 0, "amounts": [2, 1], "algbw": "1040/3", "bound": "1040/3", "fixed_k": 1, "allreduce_bound": "...",
///      "made_by": {...},         by which method and options (origin.hpp)
///      "nodes": ["g0", ...],     ids; all node numbers below count in this table
///      "gpus": [0, 1, ...],      node of each rank; roots, parents and children below are ranks
///      "bottlenecks": [{"nodes": [...], "demand": 8, "exit_bandwidth": "200"}],
///      "reduce_forest": {...}, "broadcast_forest":
///        {"trees_of_root": [...], "scale": "3/5", "rotations": [[step, count], ...], "paths": [[0, 8, 1], ...],
///         "trees": [{"root": 0, "multiplicity": 1, "edges": [[parent, child, path], [parent, child, path, pruned]]}]},
///      "fabric": {a whole .fabric.json}}
///
/// With "rotations" (schedule/rotation.hpp) the trees are those of rank 0, and the forest has their images too;
/// without, every tree is written. Where rotations take switches and nics follows from the fabric. Fractions are
/// strings. root, amounts, made_by, fixed_k, allreduce_bound and the forests are there where the schedule has them.
namespace coppice::io {

inline constexpr std::size_t kMaxForestBytes = std::size_t{1} << 30;

/// Writes without building the text in memory. Equal schedules on equal fabrics give equal bytes. `description` is what
/// to embed (positions and unknown keys with it); without one, the fabric's facts are. Trees come in their order, so
/// firstEdge values other than 0, N-1, 2(N-1), ... read back as those. An origin without a method is not written.
/// Errors: io (the stream failed), badUsage (the description is of another fabric), internal (edges out of range,
/// rotations that do not fit the fabric), limit (memory), cancelled.
Outcome writeForestJson(std::ostream& out, const schedule::Schedule& schedule, const fabric::Fabric& fabric,
                        const fabric::Description* description = nullptr, const Progress& progress = {},
                        const Origin& origin = {});

/// The schedule, for a given fabric; the embedded one is ignored. Nodes are matched by id. Everything is there and in
/// range afterwards, nothing more: verify::verifySchedule judges it. Memory grows with the text and the schedule.
/// Errors: badInput with line and column or element, verification (made for a fabric with another digest), limit.
Result<schedule::Schedule> readForestJson(std::string_view text, const fabric::Fabric& fabric,
                                          const std::string& fileName = {});

struct LoadedForest {
  fabric::Description description;
  fabric::Fabric fabric;
  schedule::Schedule schedule;
  Origin origin = {};
};

/// The schedule and its embedded fabric. Errors: as readForestJson, and invalidFabric.
Result<LoadedForest> loadForest(std::string_view text, const std::string& fileName = {});

}  // namespace coppice::io
