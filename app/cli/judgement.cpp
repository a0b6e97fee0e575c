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

}  // namespace coppice::cli
