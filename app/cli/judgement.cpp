// SPDX-License-Identifier: Apache-2.0
#include "judgement.hpp"

#include <algorithm>

#include "sizes_text.hpp"
#include "text.hpp"

namespace coppice::cli {

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

namespace {

Json placeJson(const program::StepPlace& place) {
  return {{"rank", place.rank}, {"threadblock", place.threadBlock}, {"step", place.step}};
}

const char* wordOf(program::WaitReason reason) {
  switch (reason) {
    case program::WaitReason::order:
      return "order";
    case program::WaitReason::flag:
      return "flag";
    case program::WaitReason::data:
      return "data";
    case program::WaitReason::space:
      return "space";
  }
  return "";
}

}  // namespace

void describeStudy(const program::Program& program, const verify::ProgramStudy& study, Report& report) {
  constexpr std::size_t kMaxListed = 50;
  if (!study.ring.empty()) {
    report.json["ring"] = Json::array();
    report.text += "  ring        " + counted(static_cast<std::int64_t>(study.ring.size()), "step") +
                   ", each waiting for the next, the last for the first:\n";
    for (std::size_t at = 0; at < study.ring.size(); ++at) {
      const verify::RingStep& step = study.ring[at];
      report.json["ring"].push_back({{"at", placeJson(step.place)},
                                     {"operation", operationText(program, step.place)},
                                     {"waits_for", wordOf(step.reason)},
                                     {"needs", placeJson(step.needs)}});
      if (at < kMaxListed) {
        report.text += "              " + describe(program, step) + "\n";
      }
    }
    if (study.ring.size() > kMaxListed) {
      report.text += "              and " + std::to_string(study.ring.size() - kMaxListed) + " more\n";
    }
    report.json["freed_by"] = study.change ? Json(study.change->text) : Json(nullptr);
    report.text += "  freed by    " +
                   (study.change ? study.change->text : "no single change that was tried; " + study.remedy) + "\n";
  }
  if (study.firstWrong) {
    const verify::WrongStep& wrong = *study.firstWrong;
    Json json{{"text", describe(program, wrong)},
              {"in_place", study.isWrongInPlace},
              {"rank", wrong.rank},
              {"chunk", wrong.chunk},
              {"wrong_chunks", wrong.wrongChunks},
              {"at", wrong.place ? placeJson(*wrong.place) : Json(nullptr)}};
    report.json["first_wrong"] = std::move(json);
    report.text += "  first wrong " + std::string(study.isWrongInPlace ? "in place: " : "out of place: ") +
                   describe(program, wrong) + "\n";
  }
}

}  // namespace coppice::cli
