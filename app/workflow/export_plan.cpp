// SPDX-License-Identifier: Apache-2.0
#include "workflow/export_plan.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "mscclpp/from_program.hpp"
#include "mscclpp/plan_json.hpp"
#include "workflow/clock.hpp"
#include "workflow/facts.hpp"

namespace coppice::workflow {

std::vector<int> boxesOf(const fabric::Fabric& fabric) {
  std::map<std::string, int> numbers;
  std::vector<int> boxes;
  for (const fabric::NodeIndex gpu : fabric.gpus()) {
    const std::string& box = fabric.nodes()[gpu].box;
    boxes.push_back(numbers.try_emplace(box, static_cast<int>(numbers.size())).first->second);
  }
  return boxes;
}

Result<ExportedPlan> exportPlan(const fabric::Fabric& fabric, const schedule::AnySchedule& schedule,
                                const lowering::Options& options, const std::string& fileName,
                                const Progress& progress) {
  Clock clock;
  progress.report("lowering", 0);
  lowering::Options lowered = options;
  lowered.runtime = program::Runtime::mscclpp;
  const auto program = lowering::lower(fabric, schedule, lowered, progress);
  if (!program) {
    return program.error();
  }
  const auto plan = mscclpp::fromProgram(*program, {.boxOf = boxesOf(fabric)});
  if (!plan) {
    return plan.error();
  }
  ExportedPlan exported;
  exported.text = mscclpp::writePlan(*plan);
  exported.lowering = clock.lap();
  progress.report("verifying", 0);
  auto read = mscclpp::readPlan(exported.text, fileName);
  if (!read) {
    return read.error();
  }
  exported.plan = *std::move(read);
  auto verdict = verify::verifyExecutionPlan(exported.plan, {.root = program->root}, progress);
  if (!verdict) {
    return verdict.error();
  }
  exported.verdict = *std::move(verdict);
  exported.verifying = clock.lap();
  if (!exported.verdict.ok) {
    const Finding* fault = firstFault(exported.verdict.findings);
    return Error{ErrorCode::verification,
                 "the plan did not pass the verifier" + (fault == nullptr ? std::string() : ": " + fault->text),
                 "nothing was written; please report this schedule", fault == nullptr ? Place{} : fault->where};
  }
  return exported;
}

}  // namespace coppice::workflow
