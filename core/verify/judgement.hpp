// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "program/msccl_xml.hpp"
#include "program/rooted.hpp"
#include "verify/program_verifier.hpp"

/// The text of a program as its runtime meets it.
namespace coppice::verify {

struct ProgramJudgement {
  program::Program program;
  ProgramVerdict verdict;
  std::vector<Finding> findings;  ///< of the reader, then of the verifier; a fault that both find is listed once
  bool ok = false;
  /// False for collectives whose result is not defined, as "custom": the rest is judged nevertheless.
  bool isResultJudged = true;
  bool isRestSound = true;  ///< no fault but that
};

/// Reads the text as the runtime would, executes it symbolically and warns of what the runtimes do otherwise.
/// @param reach where the ranks are, if the caller knows  Errors: badInput, limit, overflow, cancelled.
[[nodiscard]] Result<ProgramJudgement> judgeProgram(const std::string& xml, const std::string& fileName,
                                                    const ProgramCheckOptions& options, program::Reach reach,
                                                    const Progress& progress);

}  // namespace coppice::verify
