// SPDX-License-Identifier: Apache-2.0
#include "workflow/schedule_facts.hpp"

#include "io/forest_json.hpp"
#include "io/schedule_json.hpp"
#include "program/msccl_xml.hpp"
#include "program/rooted.hpp"
#include "verify/program_verifier.hpp"
#include "workflow/schedule_file.hpp"
#include "workflow/target.hpp"

namespace coppice::workflow {

Result<ScheduleFacts> scheduleFacts(const std::string& text, const std::string& name, const Progress& progress) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{') {
    if (const Target* target = targetOfFile(text)) {
      const auto file = target->read(text, name, {}, progress);
      if (!file) {
        return file.error();
      }
      return ScheduleFacts{file->ranks, file->root};
    }
    if (scheduleFileKind(text) == ScheduleFileKind::steps) {
      const auto steps = io::loadSchedule(text, name);
      if (!steps) {
        return steps.error();
      }
      return ScheduleFacts{steps->fabric.gpuCount(), steps->schedule.goal.root().value_or(-1)};
    }
    const auto forest = io::loadForest(text, name);
    if (!forest) {
      return forest.error();
    }
    return ScheduleFacts{forest->fabric.gpuCount(), forest->schedule.root.value_or(-1)};
  }
  const auto file = program::readMscclXml(text, program::Runtime::msccl, name);
  if (!file) {
    return file.error();
  }
  ScheduleFacts facts{static_cast<int>(file->program.ranks.size()), -1};
  if (program::isRooted(file->program)) {
    // A program that is wrong is refused by the executor, not here.
    const auto verdict = verify::verifyProgram(file->program, {}, progress);
    facts.root = verdict ? verdict->root : -1;
  }
  return facts;
}

}  // namespace coppice::workflow
