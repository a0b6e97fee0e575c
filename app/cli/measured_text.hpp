// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "command.hpp"
#include "simulate/sweep.hpp"
#include "workflow/measured_run.hpp"
#include "workflow/playable.hpp"

/// Measured runs beside the simulation.
namespace coppice::cli {

/// Reads `--measured`, and refuses what is of another collective or number of ranks. Errors: those of readText,
/// workflow::readMeasuredRun and workflow::checkSubject.
[[nodiscard]] Result<workflow::MeasuredRun> loadMeasured(const std::string& file, const workflow::Playable& playable);

/// The sizes that it has, ascending.
[[nodiscard]] std::vector<std::int64_t> sizesOf(const workflow::MeasuredRun& run);

/// Adds "measured" to the report: the sizes beside the predicted rows, and the links and ranks that lost time in the
/// traces of its largest size. Errors: those of workflow::executedProgram and compareTrace.
[[nodiscard]] Outcome describeMeasured(const workflow::MeasuredRun& run, const workflow::Playable& playable,
                                       const simulate::Model& model, const std::vector<simulate::Row>& predicted,
                                       int parts, const Progress& progress, Report& report);

}  // namespace coppice::cli
