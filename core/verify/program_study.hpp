// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "program/step_place.hpp"
#include "verify/program_repair.hpp"
#include "verify/program_replay.hpp"

/// What a person wants to know of a program beyond its verdict: why it hangs, where it goes wrong, what it holds when.
namespace coppice::verify {

struct ProgramStudy {
  std::vector<RingStep> ring;  ///< empty: no deadlock is known
  std::string remedy;          ///< of a ring: the connection depth that would free it, or that none does
  std::optional<ProgramChange> change;
  std::optional<WrongStep> firstWrong;
  bool isWrongInPlace = false;  ///< of firstWrong
  /// In place and out of place, as far as the program claims them; null where it cannot be played.
  std::shared_ptr<const ProgramReplay> inPlace;
  std::shared_ptr<const ProgramReplay> outOfPlace;
  std::optional<Error> noReplay;  ///< why there is none
};

/// Errors: cancelled. All else is in the study.
[[nodiscard]] Result<ProgramStudy> studyProgram(const program::Program& program, const ProgramCheckOptions& options,
                                                const Progress& progress = {});

/// "rank 0, threadblock 1, step 3 (r from rank 2) waits for data from rank 2, threadblock 0, step 5".
[[nodiscard]] std::string describe(const program::Program& program, const RingStep& step);
/// "rank 0, threadblock 1, step 3 (r from rank 2) leaves out chunk 1 of rank 0; o[1] of rank 2 ends with …".
[[nodiscard]] std::string describe(const program::Program& program, const WrongStep& step);

}  // namespace coppice::verify
