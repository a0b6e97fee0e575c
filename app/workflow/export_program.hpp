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
  lowering::StepOrigins origins;       ///< of its steps; empty for a step schedule
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
[[nodiscard]] Result<ExportedProgram> exportProgram(const fabric::Fabric& fabric, const schedule::AnySchedule& schedule,
                                                    const lowering::Options& options, const std::string& fileName,
                                                    const Progress& progress);
/// The same, where a rejected program is an error. Errors: verification with the first fault and its place.
[[nodiscard]] Result<ExportedProgram> requireProgram(const fabric::Fabric& fabric,
                                                     const schedule::AnySchedule& schedule,
                                                     const lowering::Options& options, const std::string& fileName,
                                                     const Progress& progress);

/// Which trees of the schedule the steps of a program serve, where the program is what the schedule is lowered to (with
/// the program's protocol, for its kind of call, with 1, 2, 4 or 8 instances). Empty: it is another program, or the
/// work was cancelled.
[[nodiscard]] lowering::StepOrigins originsIn(const program::Program& program, program::Runtime runtime,
                                              const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                              const Progress& progress);

/// ForestColl's tree XML, read back. Errors: internal where that fails, those of io::writeTreeXml.
[[nodiscard]] Result<std::string> exportTrees(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                              const Progress& progress);
/// Too large for exportTrees: written straight into a file with io::writeTreeXml, and not read back.
[[nodiscard]] bool mustStreamTrees(const schedule::Schedule& schedule);

}  // namespace coppice::workflow
