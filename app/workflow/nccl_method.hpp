// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nccl/graph.hpp"
#include "nccl/load.hpp"
#include "nccl/reaches.hpp"
#include "nccl/search.hpp"
#include "nccl/tuning.hpp"
#include "workflow/method.hpp"

namespace coppice::workflow {

/// The rings that NCCL's own search would find, as a schedule.
[[nodiscard]] Method ncclMethod();

/// Name of the method.
inline constexpr const char* kNcclMethod = "nccl";

/// What NCCL's search would find, and what that reaches, without a schedule.
struct NcclFigures {
  nccl::FoundGraphs found;
  Bandwidth bound;  ///< of any schedule
  std::vector<nccl::Reach> reaches;
  std::vector<nccl::TuningBand> bands = {};  ///< what NCCL's model chooses at which size
  /// Rings leave a box through another GPU (PXN): no schedule has such a route.
  bool passesGpus = false;
};
/// Errors: those of nccl::searchAsNccl, reachesOf and of the bound.
[[nodiscard]] Result<NcclFigures> ncclFigures(const fabric::Fabric& fabric, Collective collective,
                                              int computeCapability, const Progress& progress);

/// Graph files, and what they are worth.
struct NcclGraphs {
  nccl::FoundGraphs stock;               ///< what NCCL's search would find
  nccl::FoundGraphs best;                ///< in the files
  std::optional<nccl::Reach> nvls = {};  ///< of allreduce: no file changes it
  Bandwidth bound;                       ///< of allreduce, by any schedule
  std::vector<std::string> boxes = {};   ///< by their lowest rank; "" where the fabric names none
  int gpus = 0;                          ///< in each box

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

}  // namespace coppice::workflow
