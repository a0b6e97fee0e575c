// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "training/problem.hpp"

/// Files of training problems:
///
///     {"dims": {"b": 64, "h": 256}, "gflops": 10000,
///      "mesh": [{"size": 2, "allgather": 100, "reduce_scatter": 100, "allreduce": "100/2", "alltoall": 80}],
///      "nodes": [{"name": "x", "op": "placeholder", "dims": ["b", "h"], "bytes": 2, "fixed": ["b"]},
///                {"name": "y", "op": "einsum", "inputs": ["x", "w"], "dims": ["b", "f"], "bytes": 2, "held": 2}]}
///
/// Rates are GB/s; numbers may be fractions as strings. Nodes as training::Node; linear and again are false, bytes and
/// held 0 where they are left out, and work is 1. fixed has an entry for each axis: R, P or a dimension.
namespace coppice::io {

/// Whether the text is meant as one: it is an object with nodes.
[[nodiscard]] bool isTrainingProblem(std::string_view text);

/// Errors: badInput with line, column and the node; those of training::faultOf.
[[nodiscard]] Result<training::Problem> readTrainingProblem(std::string_view text, const std::string& fileName);

/// The same form; without a mesh it has to be added. Reader and writer lose nothing of what the form has.
[[nodiscard]] std::string writeTrainingProblem(const training::Problem& problem);

}  // namespace coppice::io
