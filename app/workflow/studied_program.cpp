// SPDX-License-Identifier: Apache-2.0
#include "workflow/studied_program.hpp"

#include <utility>

namespace coppice::workflow {

Result<StudiedProgram> studyProgram(const std::string& xml, const std::string& fileName,
                                    const verify::ProgramCheckOptions& options, StudyWhen when,
                                    const Progress& progress) {
  auto judged = verify::judgeProgram(xml, fileName, options, program::Reach::unknown, progress);
  if (!judged) {
    return judged.error();
  }
  StudiedProgram studied{.judgement = *std::move(judged)};
  if (when == StudyWhen::always || !studied.judgement.ok) {
    auto study = verify::studyProgram(studied.judgement.program, options, progress);
    if (!study) {
      return study.error();
    }
    studied.study = *std::move(study);
  }
  return studied;
}

}  // namespace coppice::workflow
