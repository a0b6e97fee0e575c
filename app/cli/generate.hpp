// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "command.hpp"
#include "input.hpp"
#include "optimum_groups.hpp"
#include "workflow/method.hpp"
#include "workflow/request.hpp"

/// `generate`, and the commands that are short for it with one method: aliases.cpp.
namespace coppice::cli {

struct GenerateOptions {
  FabricOptions fabric;
  workflow::DemandText demand;
  GroupOptions groups;  ///< several collectives at once
  std::string method = workflow::kDefaultMethod;
  workflow::Values values;  ///< of the method's options
  std::string size;         ///< bytes of the whole collective: also the time at this size
  std::string latency;      ///< microseconds of a step
  bool showSteps = false;
  std::int64_t showTrees = 0;
  std::string output;
  /// The method's own command. What the method says of its schedule takes the place of figures with the same key: for
  /// `generate`, "root" is an id and "t_b" a time per byte; for `bfb`, a rank and a time in units of M/B.
  bool isOwnCommand = false;
  bool writesTrees = false;   ///< -o writes the trees that the pieces of the steps travel on
  bool needsSchedule = true;  ///< else, without -o, what the method knows without one is enough
};

/// --size, --latency and --show-steps.
void addStepOptions(CLI::App& sub, GenerateOptions& options);

[[nodiscard]] Result<Report> runGenerate(const GenerateOptions& options, bool json, const Progress& progress);

}  // namespace coppice::cli
