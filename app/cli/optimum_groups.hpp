// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "command.hpp"
#include "input.hpp"
#include "workflow/concurrent.hpp"

/// `optimum` and `generate` of several collectives at once.
namespace coppice::cli {

struct GroupOptions {
  workflow::Values values = {};     ///< of workflow::groupOptions()
  workflow::Values placement = {};  ///< of workflow::placementOptions(), which `optimum` alone has
  bool relayGpus = false;

  [[nodiscard]] bool isAny() const {
    return values.contains("groups") || values.contains("mesh") || values.contains("ranks") || relayGpus;
  }
};

void addGroupOptions(CLI::App& sub, GroupOptions& options);
/// The links of a shared cut as lines, kind by kind.
[[nodiscard]] std::string cutLines(const fabric::Fabric& fabric, const std::vector<workflow::CutLinks>& cut);
/// Errors: badUsage where they do not go together.
[[nodiscard]] Outcome checkGroupOptions(const GroupOptions& options, const FabricOptions& fabric);
/// A fabric with the groups that are asked of it. Errors: those of loadFabric and workflow::readConcurrent.
struct AskedGroups {
  LoadedFabric loaded;
  schedule::ConcurrentDemand demand;
};
[[nodiscard]] Result<AskedGroups> readGroups(const GroupOptions& options, const FabricOptions& source,
                                             const workflow::DemandText& demandText, const Progress& progress);
/// A schedule for each group. @param output a folder; empty = nothing is written
[[nodiscard]] Result<Report> groupsGenerate(const GroupOptions& options, const FabricOptions& source,
                                            const workflow::DemandText& demandText, const std::string& output,
                                            const Progress& progress);
[[nodiscard]] Result<Report> groupsOptimum(const GroupOptions& options, const FabricOptions& source,
                                           const workflow::DemandText& demandText, const Progress& progress);

}  // namespace coppice::cli
