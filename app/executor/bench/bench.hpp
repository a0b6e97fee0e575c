// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/backend.hpp"
#include "plan/plan.hpp"
#include "program/run_protocol.hpp"

namespace coppice::executor {

struct BenchOptions {
  std::int64_t firstBytes = std::int64_t{1} << 10;
  std::int64_t lastBytes = std::int64_t{256} << 20;
  double factor = 2;           ///< from size to size; > 1
  std::int64_t stepBytes = 0;  ///< added from size to size instead, if > 0
  int iterations = 20;
  int warmup = 5;
  std::vector<DataType> types = {DataType::float32};
  std::vector<ReduceOp> ops = {ReduceOp::sum};
  bool checks = true;
  bool traces = false;
  bool calibrates = true;       ///< measure the memory's bandwidth first
  std::int64_t pieceBytes = 0;  ///< 0 = the backend's choice
  std::uint64_t seed = 1;
  std::optional<double> boundGBps = {};
  double stallSeconds = 10;
  std::stop_token stop = {};
};

/// The sizes from first to last, both included where the steps meet them; at most 4096. Errors: badUsage.
Result<std::vector<std::int64_t>> sizesOf(const BenchOptions& options);

/// Variants of one collective to run, in the order of the columns.
struct Job {
  std::optional<Plan> outOfPlace;
  std::optional<Plan> inPlace;
  int depth = 8;

  [[nodiscard]] const Plan* plan(Place place) const {
    const std::optional<Plan>& chosen = place == Place::inPlace ? inPlace : outOfPlace;
    return chosen ? &*chosen : nullptr;
  }
  /// @pre one is there
  [[nodiscard]] const Plan& any() const { return outOfPlace ? *outOfPlace : *inPlace; }
};

using Emit = std::function<void(const program::Record&)>;

struct BenchEnd {
  program::RunExit exit = program::RunExit::ok;
  std::string reason = {};
};

/// For each size, type and operation, out of place and in place: allocates, fills, runs once and checks every element,
/// warms up, times. Emits state, progress, result, wrong, trace, stuck, error and summary, only in process 0; all
/// processes of a run call it with the same options. Wrong data does not end it, anything else does.
BenchEnd runBench(Backend& backend, const Job& job, const BenchOptions& options, const Emit& emit);

}  // namespace coppice::executor
