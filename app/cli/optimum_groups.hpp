// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "command.hpp"
#include "input.hpp"
#include "workflow/concurrent.hpp"

/// `optimum` of several collectives at once.
namespace coppice::cli {

struct GroupOptions {
  std::string file = {};
  std::string mesh = {};
  std::string axes = {};
  bool relay = false;
  bool relayGpus = false;

  [[nodiscard]] bool isAny() const { return !file.empty() || !mesh.empty() || relayGpus; }
};

void addGroupOptions(CLI::App& sub, GroupOptions& options);
/// Errors: badUsage where they do not go together.
[[nodiscard]] Outcome checkGroupOptions(const GroupOptions& options, const FabricOptions& fabric);
[[nodiscard]] Result<Report> groupsOptimum(const GroupOptions& options, const FabricOptions& source,
                                           const workflow::DemandText& demandText, const Progress& progress);

}  // namespace coppice::cli
