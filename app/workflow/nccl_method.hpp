// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nccl/search.hpp"
#include "nccl/tuning.hpp"
#include "workflow/method.hpp"

namespace coppice::workflow {

/// The rings that NCCL's own search would find, as a schedule.
[[nodiscard]] Method ncclMethod();

/// Name of the method.
inline constexpr const char* kNcclMethod = "nccl";

/// A graph file, and what it is worth.
struct NcclGraphs {
  nccl::FoundGraphs stock;  ///< what NCCL's search would find
  nccl::FoundGraphs best;   ///< in the file
  Bandwidth bound;          ///< of allreduce, by any schedule
  int boxes = 1;
  int gpus = 0;          ///< in each
  std::string xml = {};  ///< the file; one for all boxes
};
/// Errors: those of nccl::searchAsNccl and of the bound.
[[nodiscard]] Result<NcclGraphs> makeNcclGraphs(const fabric::Fabric& fabric, int computeCapability,
                                                const Progress& progress);

/// Which algorithm and protocol at which sizes: NCCL's latencies, with the exact throughput of the rings and trees of
/// these graphs where that is less than its own estimate of the bandwidth.
[[nodiscard]] std::vector<nccl::TuningBand> ncclBands(nccl::Ways& ways, const NcclGraphs& graphs,
                                                      int computeCapability);

/// How a run is started with files of these kinds, and how it is seen that they were taken.
[[nodiscard]] std::string ncclLaunchScript(const NcclGraphs& graphs, const std::string& graphFile,
                                           const std::string& tunerFile);

}  // namespace coppice::workflow
