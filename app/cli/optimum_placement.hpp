// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command.hpp"
#include "input.hpp"
#include "workflow/placement.hpp"

/// `optimum --place`: which of the free GPUs a job should get.
namespace coppice::cli {

/// @param values of workflow::placementOptions()
[[nodiscard]] Result<Report> placementOptimum(const workflow::Values& values, const FabricOptions& source,
                                              const workflow::DemandText& demand, bool relayGpus,
                                              const Progress& progress);

}  // namespace coppice::cli
