// SPDX-License-Identifier: Apache-2.0
#include "workflow/export_chakra.hpp"

#include "io/files.hpp"
#include "lowering/lowering.hpp"
#include "program/chakra_traces.hpp"
#include "workflow/export_program.hpp"
#include "workflow/guarded.hpp"

namespace coppice::workflow {

Result<ChakraExport> exportChakra(const fabric::Fabric& fabric, const schedule::AnySchedule& schedule,
                                  std::int64_t bytes, const std::filesystem::path& prefix, const Progress& progress) {
  return guarded<ChakraExport>([&]() -> Result<ChakraExport> {
    // The simulator has no limits of a runtime; RCCL's call takes every collective.
    lowering::Options options;
    options.runtime = program::Runtime::rccl;
    options.inPlace = lowering::hasInPlace(collectiveOf(schedule));
    const auto program = requireProgram(fabric, schedule, options, prefix.string(), progress);
    if (!program) {
      return program.error();
    }
    const auto traces = program::chakraTraces(program->judgement.program, bytes);
    if (!traces) {
      return traces.error();
    }
    std::string stem = prefix.string();
    if (constexpr std::string_view kEnding = ".et"; stem.size() > kEnding.size() && stem.ends_with(kEnding)) {
      stem.resize(stem.size() - kEnding.size());
    }
    ChakraExport made{{}, bytes, program->judgement.program.chunksPerLoop, 0};
    for (std::size_t rank = 0; rank < traces->size(); ++rank) {
      const std::string file = stem + "." + std::to_string(rank) + ".et";
      if (Outcome saved = io::saveFile(file, (*traces)[rank]); !saved) {
        return saved.error();
      }
      made.written += (*traces)[rank].size();
      made.files.push_back(file);
    }
    return made;
  });
}

}  // namespace coppice::workflow
