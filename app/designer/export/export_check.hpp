// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "designer/schedules/schedule_result.hpp"
#include "lowering/lowering.hpp"
#include "program/program.hpp"
#include "verify/judgement.hpp"
#include "workflow/target.hpp"

namespace coppice::designer {

enum class CheckState {
  good,
  doubtful,  ///< works, with something to know
  bad        ///< the runtime would refuse it, hang or compute something else
};

/// A button on a line of the checklist: what it changes, tried out or plainly harmless.
struct CheckFix {
  QString label;
  lowering::Options options;              ///< as they are afterwards
  std::optional<std::int64_t> newK = {};  ///< also: generate again with this many trees per root
  std::optional<int> newPeers = {};       ///< also: generate again with at most this many peers per GPU
};

/// One line of the checklist: what is limited, what the program has, what the runtime takes.
struct CheckRow {
  CheckState state = CheckState::good;
  QString name;
  QString value;
  QString limit;
  QString detail;  ///< one sentence
  std::vector<CheckFix> fixes = {};
};

/// A program's counts, as its runtime meets them: the most over all ranks.
struct ProgramCounts {
  int threadBlocks = 0;
  int steps = 0;      ///< of one threadblock
  int peers = 0;      ///< threadblocks that send (or receive) on one channel of a rank
  int count = 0;      ///< chunks of one step
  int dependsOn = 0;  ///< largest threadblock id that a step waits for
  int offset = 0;
  int xmlNodes = 0;
  int scratch = 0;  ///< chunks
};
[[nodiscard]] ProgramCounts countsOf(const program::Program& program);

using verify::ProgramJudgement;
/// One line for each limit of the runtime and for what the verifier established.
[[nodiscard]] std::vector<CheckRow> checklistOf(const ProgramJudgement& judgement, program::Runtime runtime,
                                                const lowering::Options* options);

/// A schedule as a program under these options, judged by its text.
struct ExportCheck {
  lowering::Options options;
  std::string xml;               ///< of the file; empty where there is no program
  std::string notes;             ///< how to run a file of a target; empty for MSCCL XML, which has a guide
  bool hasMoreRemedies = false;  ///< schedules that would fit were not looked for
  bool isOk = false;             ///< may be saved
  QString summary;               ///< one sentence
  std::vector<CheckRow> rows;
  lowering::StepOrigins origins;  ///< of the program's steps; empty for a step schedule
  program::Program facts;         ///< of the program that is read back, without its threadblocks
};
/// What is looked for where a schedule does not fit: other settings, or also other schedules. Each of those is
/// generated and lowered, which takes long for large fabrics.
enum class Remedies { settings, schedules };

/// Never fails: what is wrong is in the rows, with fixes that have been tried. Empty after a cancel. Meant for another
/// thread.
/// @param target null = MSCCL XML for options.runtime
[[nodiscard]] ExportCheck checkExport(const ScheduleResult& result, const lowering::Options& options,
                                      const Progress& progress, Remedies remedies = Remedies::schedules,
                                      const workflow::Target* target = nullptr);

/// The same lines for a file of a target: its limits, what was established, faults and warnings.
[[nodiscard]] std::vector<CheckRow> checklistOf(const workflow::TargetFile& file);

/// "MSCCL (NCCL 2.12)" …
[[nodiscard]] QString runtimeTitle(program::Runtime runtime);
/// The same, or what the target calls itself.
[[nodiscard]] QString destinationTitle(const workflow::Destination& destination);

}  // namespace coppice::designer
