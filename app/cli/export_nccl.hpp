// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "command.hpp"
#include "workflow/fabric_source.hpp"

namespace coppice::cli {

/// What stock NCCL reads.
enum class NcclFile {
  graph,  ///< NCCL_GRAPH_FILE
  tuner   ///< the file of the example tuner plug-in
};

struct ExportNcclOptions {
  std::string source;  ///< a fabric, or a schedule for its fabric
  std::string output;
  std::string script;  ///< to start a run with the file; empty = none
  int computeCapability = 80;
};

/// Writes the file and says what it is worth. Errors: those of the search and of files.
[[nodiscard]] Result<Report> exportNccl(const ExportNcclOptions& options, NcclFile file, bool json,
                                        const Progress& progress);

}  // namespace coppice::cli
