// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "command.hpp"
#include "program/msccl_xml.hpp"
#include "verify/program_verifier.hpp"

/// MSCCL XML as `export` and `verify` look at it.
namespace coppice::cli {

struct ProgramJudgement {
  program::Program program;
  verify::ProgramVerdict verdict;
  std::vector<Finding> findings;  ///< the reader's, then the verdict's
  bool ok = false;
};

/// Reads the text as the runtime would and executes it symbolically. Errors: badInput, limit, overflow, cancelled.
[[nodiscard]] Result<ProgramJudgement> judgeProgram(const std::string& xml, const std::string& fileName,
                                                    const verify::ProgramCheckOptions& options,
                                                    const Progress& progress);

/// Errors: badUsage naming the option.
[[nodiscard]] Result<program::Runtime> parseRuntime(const std::string& text, const std::string& option);

/// Adds protocol, channels, chunks, the largest rank, and at which sizes that runtime uses the program.
void describeProgram(const program::Program& program, program::Runtime runtime, Report& report);

}  // namespace coppice::cli
