// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "nccl/search.hpp"
#include "nccl/tuning.hpp"
#include "workflow/facts.hpp"
#include "workflow/imported_run.hpp"
#include "workflow/nccl_method.hpp"

/// Which algorithm and protocol NCCL takes at which size.
namespace coppice::workflow {

/// Which algorithm and protocol at which sizes, and what that rests on.
struct NcclBands {
  std::vector<nccl::TuningBand> bands = {};
  int points = 0;  ///< measured times that latencies and bandwidths were fitted to; 0 = NCCL's own
};
/// NCCL's latencies, with the exact throughput of the rings and trees of these graphs and of NVLS where that is less
/// than its own estimate of the bandwidth. With a run, both are fitted to its times, by collective; what ran at a size
/// is what its log says, else what NCCL_ALGO and NCCL_PROTO ask for, else what NCCL's model chooses.
/// Errors: those of nccl::reachesOf.
[[nodiscard]] Result<NcclBands> ncclBands(nccl::Ways& ways, const NcclGraphs& graphs, int computeCapability,
                                          const ImportedRun* run = nullptr);

/// What NCCL itself would choose with these graphs, by its model alone.
[[nodiscard]] std::vector<nccl::TuningBand> stockBands(const fabric::Fabric& fabric, const nccl::FoundGraphs& found,
                                                       int computeCapability, Collective collective);

/// "Tree LL below 64.0 KiB, then NVLS Simple", of one collective.
[[nodiscard]] std::string bandsText(const std::vector<nccl::TuningBand>& bands);
[[nodiscard]] Json bandsJson(const std::vector<nccl::TuningBand>& bands);

/// What NCCL's search and model expect on this fabric, in the form of a run: rings, trees, heads of NVLS, its table of
/// estimates, and a choice for each power of two from 1 KiB to 8 GiB. Errors: those of nccl::searchAsNccl.
[[nodiscard]] Result<ImportedRun> expectedRun(const fabric::Fabric& fabric, int computeCapability,
                                              const Progress& progress);

}  // namespace coppice::workflow
