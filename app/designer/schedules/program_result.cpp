// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedules/program_result.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "simulate/program_job.hpp"
#include "verify/program_data.hpp"
#include "workflow/compare.hpp"
#include "workflow/guarded.hpp"

namespace coppice::designer {
namespace {

/// Rates at which the links run while the program runs at what they allow.
Result<std::vector<ArcLoad>> loadsOf(const fabric::Fabric& fabric, const program::Program& program,
                                     const Bandwidth& algbw, const Progress& progress) {
  const auto made = simulate::programJob(fabric, program, 1, {}, progress);
  if (!made) {
    return made.error();
  }
  const std::vector<double> shares = made->job.linkShares();
  std::vector<ArcLoad> loads;
  Rational highest;
  for (std::size_t at = 0; at < fabric.arcs().size(); ++at) {
    const fabric::Arc& arc = fabric.arcs()[at];
    ArcLoad load;
    load.tail = arc.tail;
    load.head = arc.head;
    load.bandwidth = arc.bandwidth;
    // Every share is a whole number of these parts.
    load.rate =
        algbw * Rational(std::llround(shares[at] * static_cast<double>(made->sharesPerByte)), made->sharesPerByte);
    load.rates[0] = load.rate;
    highest = std::max(highest, load.rate / load.bandwidth);
    loads.push_back(std::move(load));
  }
  for (ArcLoad& load : loads) {
    load.isBusiest = load.rate / load.bandwidth == highest;
  }
  return loads;
}

Result<ScheduleResultPtr> examine(const fabric::Description& description,
                                  std::shared_ptr<const program::Program> program, int root, const Progress& progress) {
  auto fabric = fabric::Fabric::build(description);
  if (!fabric) {
    return fabric.error();
  }
  if (static_cast<int>(program->ranks.size()) != fabric->gpuCount()) {
    return Error{ErrorCode::badInput,
                 "the program is for " + std::to_string(program->ranks.size()) + " ranks, the fabric has " +
                     std::to_string(fabric->gpuCount()) + " GPUs",
                 "open the fabric that the program is for"};
  }
  auto result = std::make_shared<ScheduleResult>();
  const Collective collective = program->collective;
  workflow::Playable playable{.name = program->name, .kind = workflow::PlayableKind::program};
  playable.loaded = std::make_shared<workflow::LoadedFabric>(workflow::LoadedFabric{description, *fabric, {}});
  playable.program = program;
  playable.subject = simulate::subjectOf(playable.loaded->fabric, *program, {});
  const auto contender = workflow::contenderOf(std::move(playable), progress);
  if (!contender) {
    return contender.error();
  }
  schedule::StepSchedule goal;
  auto table = schedule::CollectiveTable::make(collective, fabric->gpuCount(),
                                               root >= 0 ? std::optional<fabric::Rank>(root) : std::nullopt);
  if (!table) {
    return table.error();
  }
  goal.goal = *std::move(table);
  goal.method = "program";
  goal.fabricName = description.name;
  goal.fabricDigest = fabric->digest();
  goal.isSynchronous = false;
  goal.algbw = *contender->algbw;
  auto loads = loadsOf(*fabric, *program, goal.algbw, progress);
  if (!loads) {
    return loads.error();
  }
  result->options.collective = collective;
  result->options.method = goal.method;
  if (root >= 0) {
    result->options.root = fabric->nodes()[fabric->gpus()[root]].id;
  }
  result->algbw = goal.algbw;
  result->bound = contender->bound;
  result->boundScope = contender->boundScope;
  result->meetsBound = result->bound && *result->bound == result->algbw;
  schedule::StepCost cost;
  cost.steps = static_cast<std::int32_t>(contender->steps);
  cost.algbw = goal.algbw;
  cost.timePerByte = goal.algbw.inverse();
  cost.maxStretch = contender->maxStretch;
  cost.meanStretch = contender->meanStretch;
  result->cost = std::move(cost);
  result->loads = *std::move(loads);
  result->description = std::make_shared<const fabric::Description>(description);
  result->fabric = *std::move(fabric);
  result->schedule = std::move(goal);
  result->program = std::move(program);
  return ScheduleResultPtr(std::move(result));
}

}  // namespace

Result<ScheduleResultPtr> examineProgram(const fabric::Description& description,
                                         std::shared_ptr<const program::Program> program, int root,
                                         const Progress& progress) {
  return workflow::guarded<ScheduleResultPtr>([&] { return examine(description, std::move(program), root, progress); });
}

}  // namespace coppice::designer
