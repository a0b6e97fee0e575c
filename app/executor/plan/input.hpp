// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "bench/bench.hpp"
#include "mscclpp/execution_plan.hpp"
#include "plan/plan.hpp"
#include "program/run_protocol.hpp"

namespace coppice::executor {

struct InputOptions {
  std::string file;
  /// What a program for a custom collective computes: a table of shards, or the .schedule.json that it is made of.
  std::string goal = {};
  std::optional<program::Runtime> runtime = {};  ///< whose reading counts; nullopt = the first that takes the file
  PlanOptions plan = {};
};

/// A file as it will be run.
struct Input {
  Job job;                     ///< empty where record.ok is false
  program::PlanRecord record;  ///< what to tell about it, with all findings
  /// MSCCL++: the job's plan has its sizes alone.
  std::shared_ptr<const mscclpp::ExecutionPlan> executionPlan = {};
};

/// Reads an MSCCL XML file, an execution plan of MSCCL++, or a schedule, which is lowered in both variants, and checks
/// it. A bad schedule is record.ok = false. Errors: io, badInput (neither kind), badUsage (a goal of what has a name),
/// verification (a schedule that is not of the goal), limit, cancelled, those of lowering.
Result<Input> loadInput(const InputOptions& options, const Progress& progress = {});

}  // namespace coppice::executor
