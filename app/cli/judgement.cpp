// SPDX-License-Identifier: Apache-2.0
#include "judgement.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "program/merge_findings.hpp"
#include "sizes_text.hpp"
#include "text.hpp"

namespace coppice::cli {

Result<ProgramJudgement> judgeProgram(const std::string& xml, const std::string& fileName,
                                      const verify::ProgramCheckOptions& options, const Progress& progress) {
  auto file = program::readMscclXml(xml, options.runtime, fileName);
  if (!file) {
    return file.error();
  }
  auto verdict = verify::verifyProgram(file->program, options, progress);
  if (!verdict && hasErrors(file->findings)) {
    // Nothing is left to execute; what the reader found is the reason.
    verify::ProgramVerdict none;
    none.ranks = static_cast<int>(file->program.ranks.size());
    return ProgramJudgement{std::move(file->program), std::move(none), std::move(file->findings)};
  }
  if (!verdict) {
    return verdict.error();
  }
  ProgramJudgement judgement{std::move(file->program), *std::move(verdict), std::move(file->findings)};
  program::addVerdict(judgement.findings, judgement.verdict.findings, fileName);
  judgement.ok = judgement.verdict.ok && !hasErrors(judgement.findings);
  return judgement;
}

Result<program::Runtime> parseRuntime(const std::string& text, const std::string& option) {
  for (const auto runtime : {program::Runtime::msccl, program::Runtime::mscclExecutorNccl, program::Runtime::rccl}) {
    if (text == program::toString(runtime)) {
      return runtime;
    }
  }
  return Error{ErrorCode::badUsage, option + ": " + inQuotes(text) + " is not a runtime",
               "use msccl, msccl-executor-nccl or rccl"};
}

void describeProgram(const program::Program& program, program::Runtime runtime, Report& report) {
  std::size_t blocks = 0;
  std::size_t steps = 0;
  for (const program::RankProgram& rank : program.ranks) {
    blocks = std::max(blocks, rank.threadBlocks.size());
    for (const program::ThreadBlock& block : rank.threadBlocks) {
      steps = std::max(steps, block.steps.size());
    }
  }
  report.json["protocol"] = program::toString(program.protocol);
  report.json["in_place"] = program.inPlace;
  report.json["out_of_place"] = program.outOfPlace;
  report.json["channels"] = program.channels;
  report.json["chunks"] = program.chunksPerLoop;
  report.json["max_threadblocks"] = blocks;
  report.json["max_steps"] = steps;
  report.json["min_bytes"] = program.minBytes;
  report.json["max_bytes"] = program.maxBytes;
  report.text += "  program     " + std::string(program::collectiveName(program)) + " on " +
                 counted(static_cast<std::int64_t>(program.ranks.size()), "rank") + ", protocol " +
                 std::string(program::toString(program.protocol)) + (program.inPlace ? ", in place" : "") +
                 (program.outOfPlace ? ", out of place" : "") + "\n";
  report.text += "  size        " + counted(program.chunksPerLoop, "chunk") + ", " +
                 counted(program.channels, "channel") + "; at most " +
                 counted(static_cast<std::int64_t>(blocks), "threadblock") + " per rank and " +
                 counted(static_cast<std::int64_t>(steps), "step") + " per threadblock\n";
  describeUsedSizes(program::usedSizes(program::sizeFacts(program), runtime), report.json, report.text);
}

}  // namespace coppice::cli
