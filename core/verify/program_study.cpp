// SPDX-License-Identifier: Apache-2.0
#include "verify/program_study.hpp"

#include <utility>

namespace coppice::verify {

Result<ProgramStudy> studyProgram(const program::Program& program, const ProgramCheckOptions& options,
                                  const Progress& progress) {
  ProgramStudy study;
  for (const bool isInPlace : {true, false}) {
    if (isInPlace ? !program.inPlace : program.inPlace && !program.outOfPlace) {
      continue;
    }
    auto replay = ProgramReplay::play(program, options, isInPlace, progress);
    if (!replay) {
      if (replay.error().code == ErrorCode::cancelled) {
        return replay.error();
      }
      study.noReplay = replay.error();
      continue;
    }
    (isInPlace ? study.inPlace : study.outOfPlace) = *replay;
    if (study.ring.empty() && !(*replay)->ring().empty()) {
      study.ring = (*replay)->ring();
      study.remedy = (*replay)->remedy();
    }
    if (!study.firstWrong && (*replay)->firstWrong()) {
      study.firstWrong = (*replay)->firstWrong();
      study.isWrongInPlace = isInPlace;
    }
  }
  if (!study.ring.empty()) {
    try {
      progress.report("freeing", 0);
      study.change = changeThatFrees(program, study.ring, options, progress);
    } catch (const CancelledError&) {
      return Error{.code = ErrorCode::cancelled, .message = "the study was cancelled"};
    }
  }
  return study;
}

std::string describe(const program::Program& program, const RingStep& step) {
  const char* const what = step.reason == program::WaitReason::flag ? " waits for the flag of "
                           : step.reason == program::WaitReason::data
                               ? " waits for data from "
                               : " waits for space, until a message is taken by ";
  return placeText(step.place) + " (" + operationText(program, step.place) + ")" + what + placeText(step.needs);
}

std::string describe(const program::Program& program, const WrongStep& step) {
  std::string text = step.place ? placeText(*step.place) + " (" + operationText(program, *step.place) + ") " : "";
  text += step.text + "; o[" + std::to_string(step.chunk) + "] of rank " + std::to_string(step.rank) + " ends with " +
          step.holds + " instead of " + step.wanted;
  return text;
}

}  // namespace coppice::verify
