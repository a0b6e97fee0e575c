// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "verify/judgement.hpp"
#include "verify/program_study.hpp"

/// A program as its runtime meets it, and what is behind its faults.
namespace coppice::workflow {

struct StudiedProgram {
  verify::ProgramJudgement judgement = {};
  verify::ProgramStudy study = {};
};

enum class StudyWhen { always, faulty };

/// Judges the text and, if asked for or needed, plays it: the ring of a deadlock with the smallest change that frees
/// it, the first wrong step, what the buffers hold. Errors: badInput, limit, overflow, cancelled.
[[nodiscard]] Result<StudiedProgram> studyProgram(const std::string& xml, const std::string& fileName,
                                                  const verify::ProgramCheckOptions& options, StudyWhen when,
                                                  const Progress& progress);

}  // namespace coppice::workflow
