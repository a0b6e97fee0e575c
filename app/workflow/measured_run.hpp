// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "io/nccl_table.hpp"
#include "program/program.hpp"
#include "program/run_protocol.hpp"
#include "schedule/step_schedule.hpp"
#include "simulate/fits.hpp"
#include "simulate/measured.hpp"

/// What was measured, beside what was predicted.
namespace coppice::workflow {

/// The events of one size of a run.
struct MeasuredTrace {
  std::int64_t size = 0;
  bool inPlace = false;
  std::vector<program::TraceEvent> events = {};
};

/// A run of coppice-exec, or results of nccl-tests or NCCL's Inspector.
struct MeasuredRun {
  std::string name;                        ///< of the file
  std::string collective = {};             ///< empty = not clear
  std::vector<std::string> fits = {};      ///< the collectives that fit a table's columns; empty = none is known to
  int ranks = 0;                           ///< 0 = not said
  int line = 0;                            ///< where the run begins; 0 = not in a table
  std::string label = {};                  ///< why its times say nothing about the fabric; empty where they do
  std::vector<io::NcclRow> rows = {};      ///< ascending by size
  std::vector<MeasuredTrace> traces = {};  ///< by size, out of place first
  std::int64_t droppedEvents = 0;

  [[nodiscard]] bool fitsColumns(std::string_view of) const;
  /// It is said to be of this collective, or it is not clear and this one fits.
  [[nodiscard]] bool mayBeOf(std::string_view of) const;
};

/// Reads the records of coppice-exec (`run --json`, records.jsonl of a run's folder), what programs of nccl-tests
/// printed or wrote with -J, or lines of NCCL's Inspector (of the collective with the most sizes). Tables of several
/// runs stay apart. The answer is never empty. Errors: badInput with the line, limit.
[[nodiscard]] Result<std::vector<MeasuredRun>> readMeasuredRuns(std::string_view text, const std::string& fileName);

/// The first of them that may be of this collective; else the first. Errors: those of readMeasuredRuns.
[[nodiscard]] Result<MeasuredRun> readMeasuredRun(std::string_view text, const std::string& fileName,
                                                  std::string_view collective);

/// The measured run is of this collective and number of ranks, as far as it says. Errors: badInput.
[[nodiscard]] Outcome checkSubject(const MeasuredRun& run, std::string_view collective, int ranks);

/// The program that coppice-exec makes of a schedule. Errors: those of lowering::lower.
[[nodiscard]] Result<program::Program> executedProgram(const fabric::Fabric& fabric,
                                                       const schedule::AnySchedule& schedule, bool inPlace,
                                                       const Progress& progress);

/// A trace beside the simulation of the program that was run.
struct ComparedTrace {
  std::shared_ptr<const program::Program> program;
  simulate::Details planned;
  simulate::Details measured;
  simulate::Comparison comparison;
};
/// The fabric must outlive the answer. Errors: those of simulate::measuredRun and of the simulation.
[[nodiscard]] Result<ComparedTrace> compareTrace(const fabric::Fabric& fabric,
                                                 std::shared_ptr<const program::Program> program,
                                                 const MeasuredTrace& trace, const simulate::Model& model,
                                                 const Progress& progress);

/// The model with what `coppice-exec profile --json` measured. Where all ranks were measured at once (--together), they
/// share one rate, and what the model states beside it stays; otherwise Model::fits is set. The time of an addition is
/// taken where the model states none. Errors: those of readFits.
[[nodiscard]] Result<simulate::Model> withProfile(simulate::Model model, std::string_view text,
                                                  const std::string& fileName, const fabric::Fabric& fabric);

/// What `coppice-exec profile --json` wrote, for the simulation of this fabric. Errors: those of io::readProfileJson
/// and simulate::fitsFor.
[[nodiscard]] Result<std::shared_ptr<const simulate::Fits>> readFits(std::string_view text, const std::string& fileName,
                                                                     const fabric::Fabric& fabric);

}  // namespace coppice::workflow
