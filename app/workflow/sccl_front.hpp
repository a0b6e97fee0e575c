// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress.hpp"
#include "base/rational.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "schedule/collective_table.hpp"
#include "synth/sccl.hpp"
#include "workflow/judged_schedule.hpp"
#include "workflow/request.hpp"

/// Searches for few-step schedules (SCCL): what is asked, and the front of steps against rounds per chunk while it is
/// being found.
namespace coppice::workflow {

/// A custom collective as a person gives it.
struct TableText {
  std::string text;
  std::string fileName;  ///< for messages
};

/// What a search is asked, as a person writes it.
struct SearchText {
  DemandText demand = {};
  std::optional<TableText> table = {};  ///< takes the place of the demand
  std::string unit = {};                ///< GB/s that move one chunk per round; empty = chosen by the search
  bool isOneBandwidth = false;          ///< every link counts as one unit
  bool isDirect = false;                ///< allreduce: only direct schedules
  double seconds = 60;
  std::uint64_t seed = 1;
};

/// What a search is asked of one fabric.
struct SearchQuestion {
  schedule::CollectiveTable goal;
  synth::SynthesisOptions options;
};

/// Errors: badUsage naming the option, those of io::readCollectiveTable and readDemand.
[[nodiscard]] Result<SearchQuestion> readSearch(const fabric::Fabric& fabric, const SearchText& text);

/// "sat", "unsat" or "unknown".
[[nodiscard]] std::string_view toString(synth::Verdict verdict);

/// A schedule of the front, or on the way to it, that has passed the verifiers.
struct FoundSchedule {
  synth::StatedSize size;
  /// No schedule of this many steps has a lower R/C: the proved bound is reached.
  bool isOptimal = false;
  JudgedSchedule judged;
};

/// What is heard while a front is searched, on the thread of the search. Each may be empty.
struct FrontListener {
  /// Every decision.
  std::function<void(const synth::Candidate&)> onCandidate = {};
  /// The proved bound on R/C at this number of steps, before its first candidate; 0 = over all numbers of steps.
  std::function<void(std::int64_t steps, const Rational& bound)> onBound = {};
  /// What a candidate was satisfied with, before onCandidate hears of it.
  std::function<void(FoundSchedule found)> onFound = {};
};

/// A point of the front; its schedule is in `judged`.
struct FrontPoint : synth::StatedPoint {
  JudgedSchedule judged;
};

struct ScclFront {
  std::vector<FrontPoint> points;  ///< by steps
  std::int64_t minSteps = 0;
  Rational minRatio;             ///< bound on R/C over all numbers of steps
  bool isMinRatioExact = false;  ///< the relaxation reaches it
  bool isComplete = false;       ///< the last point has the minimum ratio
  bool isCutOff = false;         ///< time limit or cancel; what was found is kept
  bool dependsOnTime = false;    ///< a limit of time took part in the search
  Bandwidth unit;                ///< as used
};

/// Searches the front and judges what is found. A cancel ends the search and keeps what was found. Errors: those of
/// synth::synthesizeFront and requireGood.
[[nodiscard]] Result<ScclFront> findFront(const fabric::Fabric& fabric, const SearchQuestion& question,
                                          const synth::FrontLimits& limits, const FrontListener& listener,
                                          const Progress& progress);

}  // namespace coppice::workflow
