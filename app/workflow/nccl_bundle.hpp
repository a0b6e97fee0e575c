// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "remote/bundle.hpp"
#include "workflow/imported_run.hpp"
#include "workflow/nccl_method.hpp"
#include "workflow/nccl_tuning.hpp"

namespace coppice::workflow {

struct NcclBundleOptions {
  std::optional<int> computeCapability = {};  ///< nullopt = likelyCapability()
  const ImportedRun* run = nullptr;           ///< to which bands are fitted, and whose hosts are named; nullptr = none
};

/// What a cluster needs to run stock NCCL with better settings, and to see that it did.
struct NcclBundle {
  NcclGraphs graphs;
  NcclBands bands = {};
  int computeCapability = 0;
  /// Graph files (one for each kind of box), tuner.csv, environments as programs that start another one (stock.sh,
  /// graph.sh, tuned.sh), runs of nccl-tests and PyTorch, and README.md with what to look for.
  std::map<std::string, remote::BundleFile> files = {};
};

/// Errors: those of makeNcclGraphs; infeasible (fewer than two GPUs).
[[nodiscard]] Result<NcclBundle> makeNcclBundle(const fabric::Fabric& fabric, const NcclBundleOptions& options,
                                                const Progress& progress);

/// Into a new folder. Errors: io, badUsage (the folder is in use).
[[nodiscard]] Outcome writeNcclBundle(const std::filesystem::path& folder, const NcclBundle& bundle);

/// What a throughput is of the bound, and which link holds it back, as a line of text.
[[nodiscard]] std::string worthText(const fabric::Fabric& fabric, const nccl::Load& load, const Bandwidth& bound);

}  // namespace coppice::workflow
