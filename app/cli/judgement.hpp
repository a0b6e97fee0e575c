// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "program/msccl_xml.hpp"
#include "verify/program_verifier.hpp"

namespace coppice::cli {

struct ProgramJudgement {
  program::Program program;
  verify::ProgramVerdict verdict;
  std::vector<Finding> findings;  ///< the reader's, then the verdict's
  bool ok = false;
};

/// Reads an MSCCL XML as the runtime would and executes it symbolically. root: the rank to expect, -1 = any.
[[nodiscard]] Result<ProgramJudgement> judgeProgram(const std::string& xml, const std::string& fileName,
                                                    program::Runtime runtime, int root, const Progress& progress);

}  // namespace coppice::cli
