// SPDX-License-Identifier: Apache-2.0
#include "workflow/sccl_front.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.hpp"
#include "io/collective_file.hpp"
#include "workflow/sccl_method.hpp"

namespace coppice::workflow {

Result<SearchQuestion> readSearch(const fabric::Fabric& fabric, const SearchText& text) {
  synth::SynthesisOptions options;
  options.seconds = text.seconds;
  options.seed = text.seed;
  options.isDirect = text.isDirect;
  options.unit.isOneBandwidth = text.isOneBandwidth;
  if (!text.unit.empty()) {
    const auto unit = Rational::parse(text.unit);
    if (!unit) {
      return Error{ErrorCode::badUsage,
                   inQuotes(text.unit) + " is not a bandwidth",
                   "give GB/s, for example 25 or 25/2",
                   {.element = {RefKind::option, "--unit"}}};
    }
    options.unit.unit = Bandwidth(*unit);
  }
  if (text.table) {
    auto goal = io::readCollectiveTable(text.table->text, text.table->fileName, fabric);
    if (!goal) {
      return goal.error();
    }
    for (std::int64_t shard = 1; shard < goal->shardCount(); ++shard) {
      if (goal->share(shard) != goal->share(0)) {
        return Error{ErrorCode::badInput,
                     "shard " + std::to_string(shard) + " differs in size from the previous shards",
                     "cut shards into equal ones, one row for each",
                     {.file = text.table->fileName, .element = {RefKind::shard, shard}}};
      }
    }
    return SearchQuestion{*std::move(goal), options};
  }
  const auto demand = readDemand(fabric, text.demand);
  if (!demand) {
    return demand.error();
  }
  auto goal = schedule::CollectiveTable::make(demand->collective, fabric.gpuCount(), demand->root);
  if (!goal) {
    return Error{
        goal.error().code, goal.error().message, goal.error().fix, {.element = {RefKind::option, "--collective"}}};
  }
  if (text.isDirect && demand->collective != Collective::allreduce) {
    return Error{ErrorCode::badUsage, "Direct schedules are only searched for allreduce", "leave --direct out"};
  }
  return SearchQuestion{*std::move(goal), options};
}

std::string_view toString(synth::Verdict verdict) {
  return verdict == synth::Verdict::sat ? "sat" : verdict == synth::Verdict::unsat ? "unsat" : "unknown";
}

Result<ScclFront> findFront(const fabric::Fabric& fabric, const SearchQuestion& question,
                            const synth::FrontLimits& limits, const FrontListener& listener, const Progress& progress) {
  const auto judged = [&](schedule::StepSchedule schedule, const Bandwidth& unit) -> Result<JudgedSchedule> {
    // What was found is kept when the search is cancelled, so this runs to its end.
    auto good = requireGood(
        fabric, {.schedule = std::move(schedule), .claims = roundsOf(unit, question.options.unit.isOneBandwidth)},
        Progress{});
    return good ? measured(fabric, *std::move(good), Progress{}) : Result<JudgedSchedule>(good.error());
  };
  std::map<std::int64_t, Rational> bounds;
  std::optional<Error> fault;
  synth::FrontEvents events;
  events.onCandidate = listener.onCandidate;
  events.onBound = [&](std::int64_t steps, const Rational& bound) {
    bounds[steps] = bound;
    if (listener.onBound) {
      listener.onBound(steps, bound);
    }
  };
  // Judged as they are found, so that a cancel leaves little to do. Of each number of steps the last one is kept.
  struct Known {
    synth::StatedSize size;
    JudgedSchedule judged;
  };
  std::map<std::int64_t, Known> known;
  events.onSchedule = [&](const synth::StatedSize& size, const Bandwidth& unit, schedule::StepSchedule schedule) {
    auto judgement = judged(std::move(schedule), unit);
    if (!judgement) {
      fault = fault ? fault : judgement.error();
      return;
    }
    if (listener.onFound) {
      listener.onFound({size, Rational(size.rounds, size.chunks) == bounds[size.steps], *judgement});
    }
    known.insert_or_assign(size.steps, Known{size, *std::move(judgement)});
  };
  auto found = synth::synthesizeFront(fabric, question.goal, limits, question.options, events, progress);
  if (!found) {
    return found.error();
  }
  if (fault) {
    return *std::move(fault);
  }
  ScclFront front;
  front.minSteps = found->minSteps;
  front.minRatio = found->minRatio;
  front.isMinRatioExact = found->isMinRatioExact;
  front.isComplete = found->isComplete;
  front.isCutOff = found->isCutOff;
  front.dependsOnTime = found->dependsOnTime;
  front.unit = found->unit;
  for (synth::StatedPoint& point : found->points) {
    const auto last = known.find(point.size.steps);
    const bool isKnown = last != known.end() && last->second.size.chunks == point.size.chunks &&
                         last->second.size.rounds == point.size.rounds;
    auto judgement = isKnown ? Result<JudgedSchedule>(std::move(last->second.judged))
                             : judged(std::move(point.schedule), found->unit);
    if (!judgement) {
      return judgement.error();
    }
    point.schedule = {};
    front.points.push_back({std::move(point), *std::move(judgement)});
  }
  return front;
}

}  // namespace coppice::workflow
