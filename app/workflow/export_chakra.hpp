// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "schedule/step_schedule.hpp"

namespace coppice::workflow {

inline constexpr std::int64_t kChakraBytes = std::int64_t{1} << 20;

/// A schedule as Chakra's traces.
struct ChakraExport {
  std::vector<std::string> files;  ///< as written, one a rank
  std::int64_t bytes = 0;          ///< of the whole collective
  int chunks = 0;
  std::size_t written = 0;  ///< bytes of all files
};

/// Lowers the schedule to a program that has passed the verifier and writes it as PREFIX.0.et, PREFIX.1.et, ... (see
/// program::chakraTraces). A prefix that ends with .et loses it. Errors: those of requireProgram and chakraTraces; io.
[[nodiscard]] Result<ChakraExport> exportChakra(const fabric::Fabric& fabric, const schedule::AnySchedule& schedule,
                                                std::int64_t bytes, const std::filesystem::path& prefix,
                                                const Progress& progress);

}  // namespace coppice::workflow
