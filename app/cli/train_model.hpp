// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "command.hpp"
#include "input.hpp"

namespace coppice::cli {

struct ModelOptions {
  std::string model = {};
  std::string mesh = {};
  std::string gpu = "h100";
  std::int64_t batch = 0;
  std::int64_t sequence = 0;
  bool recompute = false;
};

/// A step of a model on a mesh of the fabric's GPUs: the front of plans, the best that fits, and what limits it.
[[nodiscard]] Result<Report> trainModel(const ModelOptions& options, const FabricOptions& source,
                                        const Progress& progress);

}  // namespace coppice::cli
