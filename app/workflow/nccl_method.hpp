// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl/graph.hpp"
#include "nccl/load.hpp"
#include "nccl/search.hpp"
#include "nccl/tuning.hpp"
#include "workflow/imported_run.hpp"
#include "workflow/method.hpp"

namespace coppice::workflow {

/// The rings that NCCL's own search would find, as a schedule.
[[nodiscard]] Method ncclMethod();

/// Name of the method.
inline constexpr const char* kNcclMethod = "nccl";

/// Of the GPUs, by the names of the fabric and its boxes; where they say nothing, 90 where switches in a box sum and
/// copy (NVLink SHARP came with Hopper), else 80.
[[nodiscard]] int likelyCapability(const fabric::Fabric& fabric);

/// What switches that sum and copy let NCCL reach.
struct NvlsReach {
  std::string_view algorithm;  ///< as NCCL_ALGO has it: NVLS in one box, NVLSTree between boxes
  nccl::Load load;
};
/// With the heads that were found; nullopt where NCCL has none for this collective.
[[nodiscard]] std::optional<NvlsReach> nvlsReach(nccl::Ways& ways, const nccl::FoundGraphs& found,
                                                 Collective collective);

/// What NCCL's search would find, and what that reaches, without a schedule.
struct NcclFigures {
  nccl::FoundGraphs found;
  Bandwidth bound;   ///< of any schedule
  nccl::Load rings;  ///< of the collective, by congestion
  std::optional<NvlsReach> nvls = {};
  /// Rings leave a box through another GPU (PXN): no schedule has such a route.
  bool passesGpus = false;
};
/// Errors: those of nccl::searchAsNccl, ringLoad and of the bound.
[[nodiscard]] Result<NcclFigures> ncclFigures(const fabric::Fabric& fabric, Collective collective,
                                              int computeCapability, const Progress& progress);

/// Graph files, and what they are worth.
struct NcclGraphs {
  nccl::FoundGraphs stock;              ///< what NCCL's search would find
  nccl::FoundGraphs best;               ///< in the files
  std::optional<NvlsReach> nvls = {};   ///< of allreduce: no file changes it
  Bandwidth bound;                      ///< of allreduce, by any schedule
  std::vector<std::string> boxes = {};  ///< by their lowest rank; "" where the fabric names none
  int gpus = 0;                         ///< in each box

  [[nodiscard]] int ranks() const { return static_cast<int>(boxes.size()) * gpus; }
  /// Boxes are wired differently: one file for each kind.
  [[nodiscard]] int kinds() const { return 1 + static_cast<int>(best.others.size()); }
  [[nodiscard]] std::string xml(int kind) const { return nccl::writeGraphs(best.graphsOf(kind)); }
  /// Rings of the files are better than NCCL's own, and than its NVLS.
  [[nodiscard]] bool gains() const {
    return stock.allreduce.algbw < best.allreduce.algbw && (!nvls || nvls->load.algbw < best.allreduce.algbw);
  }
  /// Of rings and trees in the files, what reaches more, as NCCL_ALGO names it.
  [[nodiscard]] const char* algorithm() const { return best.allreduce.algbw < best.trees.algbw ? "Tree" : "Ring"; }
};
/// Errors: those of nccl::searchAsNccl and of the bound; limit (NCCL would refuse the file).
[[nodiscard]] Result<NcclGraphs> makeNcclGraphs(const fabric::Fabric& fabric, int computeCapability,
                                                const Progress& progress);

/// Which algorithm and protocol at which sizes, and what that rests on.
struct NcclBands {
  std::vector<nccl::TuningBand> bands = {};
  int points = 0;  ///< measured times that latencies and bandwidths were fitted to; 0 = NCCL's own
};
/// NCCL's latencies, with the exact throughput of the rings and trees of these graphs and of NVLS where that is less
/// than its own estimate of the bandwidth. With a run, both are fitted to its times, by collective; what ran at a size
/// is what its log says, else what NCCL_ALGO and NCCL_PROTO ask for, else what NCCL's model chooses.
[[nodiscard]] NcclBands ncclBands(nccl::Ways& ways, const NcclGraphs& graphs, int computeCapability,
                                  const ImportedRun* run = nullptr);

}  // namespace coppice::workflow
