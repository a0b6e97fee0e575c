// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "program/msccl_xml.hpp"
#include "verify/program_verifier.hpp"

using namespace coppice;

namespace {

/// The sanitizers report the abort with its stack.
void require(bool isTrue) {
  if (!isTrue) {
    std::abort();
  }
}

/// Small enough to be executed thousands of times a minute.
bool isSmall(const program::Program& program) {
  if (program.ranks.size() > 16 || program.chunksPerLoop > 1024) {
    return false;
  }
  std::size_t steps = 0;
  for (const program::RankProgram& rank : program.ranks) {
    if (rank.scratchChunks > 1024 || rank.threadBlocks.size() > 64) {
      return false;
    }
    for (const program::ThreadBlock& block : rank.threadBlocks) {
      steps += block.steps.size();
    }
  }
  return steps <= 2000;
}

void roundTrip(const program::MscclFile& file, program::Runtime runtime) {
  const std::string text = program::writeMscclXml(file.program, runtime);
  auto again = program::readMscclXml(text, runtime);
  require(again.hasValue());
  require(program::writeMscclXml(again->program, runtime) == text);
  if (hasErrors(file.findings)) {
    return;
  }
  require(!hasErrors(again->findings));
  again->program.name = file.program.name;  // cleaned and cut in writing
  require(again->program == file.program);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const program::Runtime runtime :
       {program::Runtime::msccl, program::Runtime::mscclExecutorNccl, program::Runtime::rccl}) {
    const auto file = program::readMscclXml(text, runtime, "fuzz");
    if (!file) {
      require(!describe(file.error()).empty());
      continue;
    }
    require(file->findings.size() <= 300);
    roundTrip(*file, runtime);
    if (isSmall(file->program)) {
      const auto verdict = verify::verifyProgram(file->program, {.runtime = runtime});
      require(!verdict || verdict->ok != hasErrors(verdict->findings));
    }
  }
  return 0;
}
