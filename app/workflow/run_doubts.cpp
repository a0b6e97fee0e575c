// SPDX-License-Identifier: Apache-2.0
#include "workflow/run_doubts.hpp"

#include <algorithm>
#include <utility>

#include "base/comma_list.hpp"
#include "base/counted.hpp"
#include "base/one_line.hpp"

namespace coppice::workflow {
namespace {

constexpr std::size_t kListedRuns = 16;

Finding doubt(Place where, std::string text, std::string fix) {
  return {Severity::warning, ErrorCode::badInput, std::move(text), std::move(fix), std::move(where)};
}

Finding doubt(const MeasuredRun& run, int line, std::string text, std::string fix) {
  return doubt({.file = run.name, .line = line}, std::move(text), std::move(fix));
}

/// "3 elements out of place and 5 in place"; empty where none is wrong.
std::string wrongElements(const io::NcclRow& row) {
  const auto wrongIn = [](const std::optional<io::NcclTime>& time) { return time ? time->wrong.value_or(0) : 0; };
  const std::int64_t outOfPlace = wrongIn(row.outOfPlace);
  const std::int64_t inPlace = wrongIn(row.inPlace);
  std::string text = outOfPlace > 0 ? counted(outOfPlace, "element") + " out of place" : "";
  text += outOfPlace > 0 && inPlace > 0 ? " and " : "";
  return text + (inPlace > 0 ? counted(inPlace, "element") + " in place" : "");
}

void addWrong(const MeasuredRun& run, std::vector<Finding>& findings) {
  constexpr int kListed = 8;
  int sizes = 0;
  for (const io::NcclRow& row : run.rows) {
    const std::string wrong = wrongElements(row);
    if (!wrong.empty() && ++sizes <= kListed) {
      findings.push_back(doubt(run, row.line, "wrong results at " + std::to_string(row.size) + " bytes: " + wrong,
                               "the times of corrupted results mean nothing: find the fault first"));
    }
  }
  if (sizes > kListed) {
    findings.push_back(doubt(run, 0, "wrong results at " + counted(sizes - kListed, "other size"), ""));
  }
}

void addUnclear(const MeasuredRun& run, std::vector<Finding>& findings) {
  const std::string fitting = commaList(run.fits);
  if (run.collective.empty() && run.line > 0) {
    findings.push_back(
        doubt(run, run.line,
              run.fits.empty() ? "the table names no collective, and its columns fit none"
                               : "the table names no collective, and its columns fit several: " + fitting,
              "say which was run: -c " + (run.fits.empty() ? std::string("COLLECTIVE") : run.fits.front())));
  } else if (!run.fitsColumns(run.collective)) {
    findings.push_back(doubt(run, run.line, "the run is named " + run.collective + ", but its columns fit " + fitting,
                             "check that the table is of this run"));
  }
}

void addRepeated(const std::vector<MeasuredRun>& runs, std::vector<Finding>& findings) {
  if (runs.size() < 2) {
    return;
  }
  std::vector<std::string> begins;
  for (const MeasuredRun& run : runs) {
    begins.push_back(std::to_string(run.line) + (run.collective.empty() ? "" : " (" + run.collective + ")"));
  }
  findings.push_back(doubt(runs.front(), 0,
                           "the file holds " + std::to_string(runs.size()) + " runs, from lines " +
                               commaListOfFirst(kListedRuns, begins, oneLine),
                           "of each collective the first is compared: -c chooses the collective; give others in files "
                           "of their own"));
}

/// Runs of the collective with another number of ranks, or no run of it at all.
void addOtherRuns(const ImportedRun& run, const std::string& collective, int gpus, std::vector<Finding>& doubts) {
  bool isMeasured = run.measured.empty();
  for (const MeasuredRun* measured : comparedRuns(run, collective)) {
    const bool isOfIt = measured->mayBeOf(collective);
    isMeasured = isMeasured || isOfIt;
    if (isOfIt && measured->ranks > 0 && measured->ranks != gpus) {
      doubts.push_back(doubt(*measured, measured->line,
                             "the run has " + counted(measured->ranks, "rank") + ", the fabric " + counted(gpus, "GPU"),
                             "give the fabric that was run on; --gpus chooses some of its GPUs"));
    }
  }
  if (!isMeasured) {
    doubts.push_back(doubt(Place(), "no measured run is of " + collective, "choose the collective with -c"));
  }
}

void addTooFast(const RunOnFabric& on, const std::vector<RunSize>& sizes, std::vector<Finding>& doubts) {
  constexpr double kRounding = 0.005;  // algbw is printed with two places
  const std::string collective(toString(on.collective));
  const auto isAbove = [&](const RunSize& size) {
    return size.collective == collective && size.algbw &&
           size.algbw->gigabytesPerSecond() > toGBps(on.bound) + kRounding;
  };
  const auto first = std::find_if(sizes.begin(), sizes.end(), isAbove);
  if (first != sizes.end()) {
    doubts.push_back(doubt(Place(),
                           "more than the bound of " + collective + " was measured at " +
                               counted(static_cast<std::int64_t>(std::count_if(first, sizes.end(), isAbove)), "size") +
                               ", first at " + std::to_string(first->bytes) +
                               " bytes: the collective or the fabric cannot be right",
                           "choose the collective with -c, or give the fabric that was run on"));
  }
}

}  // namespace

std::vector<Finding> doubtsOf(const std::vector<MeasuredRun>& runs) {
  std::vector<Finding> findings;
  addRepeated(runs, findings);
  for (const MeasuredRun& run : runs) {
    if (!run.label.empty()) {
      continue;
    }
    addUnclear(run, findings);
    addWrong(run, findings);
  }
  return findings;
}

std::vector<Finding> doubtsOn(const ImportedRun& run, const RunOnFabric& on, int gpus,
                              const std::vector<RunSize>& sizes) {
  std::vector<Finding> doubts;
  addOtherRuns(run, std::string(toString(on.collective)), gpus, doubts);
  addTooFast(on, sizes, doubts);
  return doubts;
}

}  // namespace coppice::workflow
