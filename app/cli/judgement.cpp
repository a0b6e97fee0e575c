// SPDX-License-Identifier: Apache-2.0
#include "judgement.hpp"

namespace coppice::cli {

Result<ProgramJudgement> judgeProgram(const std::string& xml, const std::string& fileName, program::Runtime runtime,
                                      int root, const Progress& progress) {
  auto file = program::readMscclXml(xml, runtime, fileName);
  if (!file) {
    return file.error();
  }
  auto verdict = verify::verifyProgram(file->program, {.runtime = runtime, .root = root}, progress);
  if (!verdict) {
    return verdict.error();
  }
  ProgramJudgement judgement{std::move(file->program), *std::move(verdict), std::move(file->findings)};
  judgement.findings.insert(judgement.findings.end(), judgement.verdict.findings.begin(),
                            judgement.verdict.findings.end());
  judgement.ok = judgement.verdict.ok && !hasErrors(judgement.findings);
  return judgement;
}

}  // namespace coppice::cli
