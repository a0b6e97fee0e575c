// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "command.hpp"
#include "workflow/fabric_source.hpp"

namespace coppice::cli {

/// What stock NCCL reads.
enum class NcclFile {
  graph,  ///< NCCL_GRAPH_FILE
  tuner,  ///< the file of the example tuner plug-in
  bundle  ///< a folder with both, and what proves that they were taken
};

struct ExportNcclOptions {
  std::string source;                   ///< a fabric, or a schedule for its fabric
  std::string output;                   ///< of a bundle: a new folder
  std::vector<std::string> measured{};  ///< files of a run, to which bands are fitted
  std::optional<int> computeCapability{};
};

/// Writes the file or folder and says what it is worth. Errors: those of the search and of files.
[[nodiscard]] Result<Report> exportNccl(const ExportNcclOptions& options, NcclFile file, bool json,
                                        const Progress& progress);

}  // namespace coppice::cli
