// SPDX-License-Identifier: Apache-2.0
#include "verify/judgement.hpp"

#include <algorithm>
#include <utility>

#include "program/merge_findings.hpp"
#include "verify/program_flat.hpp"

namespace coppice::verify {

Result<ProgramJudgement> judgeProgram(const std::string& xml, const std::string& fileName,
                                      const ProgramCheckOptions& options, program::Reach reach,
                                      const Progress& progress) {
  auto file = program::readMscclXml(xml, options.runtime, fileName);
  if (!file) {
    return file.error();
  }
  auto verdict = verifyProgram(file->program, options, progress);
  if (!verdict && (verdict.error().code == ErrorCode::cancelled || !hasErrors(file->findings))) {
    return verdict.error();
  }
  ProgramJudgement judgement;
  judgement.findings = std::move(file->findings);
  if (verdict) {
    judgement.verdict = *std::move(verdict);
  } else {
    // Nothing is left to execute; what the reader found is the reason.
    judgement.verdict.ranks = static_cast<int>(file->program.ranks.size());
  }
  judgement.program = std::move(file->program);
  judgement.isResultJudged = goalOf(judgement.program) != Collective::custom || !options.custom.empty();
  std::vector<Finding> more = judgement.verdict.findings;
  for (Finding& finding : program::rootedFindings(judgement.program, judgement.verdict.root, reach, fileName)) {
    more.push_back(std::move(finding));
  }
  program::addVerdict(judgement.findings, more, fileName);
  judgement.ok = judgement.verdict.ok && !hasErrors(judgement.findings);
  const auto faults = std::count_if(judgement.findings.begin(), judgement.findings.end(),
                                    [](const Finding& finding) { return finding.severity == Severity::error; });
  judgement.isRestSound = faults == (judgement.isResultJudged ? 0 : 1);
  return judgement;
}

}  // namespace coppice::verify
