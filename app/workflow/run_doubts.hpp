// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "workflow/imported_run.hpp"

/// What may be wrong with measurements.
namespace coppice::workflow {

/// In the tables of a file: wrong results, a collective that is not clear or does not fit, several runs.
[[nodiscard]] std::vector<Finding> doubtsOf(const std::vector<MeasuredRun>& runs);

/// On this fabric: more throughput than the bound, other numbers of ranks, no run of the collective.
[[nodiscard]] std::vector<Finding> doubtsOn(const ImportedRun& run, const RunOnFabric& on, int gpus,
                                            const std::vector<RunSize>& sizes);

}  // namespace coppice::workflow
