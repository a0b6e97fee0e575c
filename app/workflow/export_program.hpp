// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "lowering/lowering.hpp"
#include "program/used_sizes.hpp"
#include "schedule/step_schedule.hpp"
#include "verify/judgement.hpp"

/// From a schedule that has passed the verifier to a file for a runtime.
namespace coppice::workflow {

/// A program as its text says it.
struct ExportedProgram {
  std::string xml;                     ///< MSCCL XML
  verify::ProgramJudgement judgement;  ///< of the text; ok only where it may be written
  program::UsedSizes used;             ///< calls for which the runtime takes the program
  double lowering = 0;                 ///< seconds
  double writing = 0;                  ///< seconds
  double verifying = 0;                ///< seconds
};

/// Lowers, writes, reads back and judges: the text is judged, because the text is what the runtimes get.
/// @param fileName for messages  Errors: those of lowering::lower (limit: it does not fit) and verify::judgeProgram. A
/// program that the verifier rejects is not an error: see judgement.ok
[[nodiscard]] Result<ExportedProgram> exportProgram(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                                    const lowering::Options& options, const std::string& fileName,
                                                    const Progress& progress);
[[nodiscard]] Result<ExportedProgram> exportProgram(const fabric::Fabric& fabric,
                                                    const schedule::AnySchedule& schedule,
                                                    const lowering::Options& options, const std::string& fileName,
                                                    const Progress& progress);
/// The same, where a rejected program is an error. Errors: verification with the first fault and its place.
[[nodiscard]] Result<ExportedProgram> requireProgram(const fabric::Fabric& fabric,
                                                     const schedule::AnySchedule& schedule,
                                                     const lowering::Options& options, const std::string& fileName,
                                                     const Progress& progress);

/// ForestColl's tree XML, read back. Errors: internal where that fails, those of io::writeTreeXml.
[[nodiscard]] Result<std::string> exportTrees(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                              const Progress& progress);
/// Too large for exportTrees: written straight into a file with io::writeTreeXml, and not read back.
[[nodiscard]] bool mustStreamTrees(const schedule::Schedule& schedule);

}  // namespace coppice::workflow
