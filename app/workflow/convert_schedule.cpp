// SPDX-License-Identifier: Apache-2.0
#include "workflow/convert_schedule.hpp"

#include <utility>

#include "io/collective_file.hpp"
#include "io/forest_json.hpp"
#include "io/schedule_json.hpp"
#include "io/synthesizer_results.hpp"
#include "io/transfer_csv.hpp"
#include "schedule/from_forest.hpp"
#include "schedule/named_table.hpp"
#include "schedule/step_routes.hpp"
#include "verify/step_verifier.hpp"
#include "workflow/make_schedule.hpp"
#include "workflow/schedule_file.hpp"

namespace coppice::workflow {
namespace {

Outcome checkPieces(const std::optional<std::int64_t>& pieces) {
  constexpr std::int64_t kMaxPieces = std::int64_t{1} << 20;
  return !pieces || (*pieces >= 1 && *pieces <= kMaxPieces)
             ? Outcome(Done{})
             : optionError("pieces", std::to_string(*pieces) + " pieces are not possible", "give 1 or more");
}

Result<ConvertedSchedule> fromForest(const ConvertSource& source, const std::string& text, const Progress& progress) {
  auto read = io::loadForest(text, inputName(source.file));
  if (!read) {
    return read.error();
  }
  auto steps =
      schedule::stepScheduleOf(read->fabric, read->schedule, static_cast<int>(source.pieces.value_or(1)), progress);
  if (!steps) {
    return steps.error();
  }
  return ConvertedSchedule{{std::move(read->description), std::move(read->fabric), {}},
                           *std::move(steps),
                           "forest",
                           std::move(read->origin)};
}

Result<ConvertedSchedule> fromSteps(const ConvertSource& source, const std::string& text) {
  auto read = io::loadSchedule(text, inputName(source.file));
  if (!read) {
    return read.error();
  }
  if (source.pieces) {
    if (read->schedule.isSynchronous) {
      return optionError("pieces", "the pieces of a step schedule are its transfers", "leave it out");
    }
    const bool keepsOrder = read->schedule.keepsOrder;
    auto cut = schedule::cutInto(read->schedule, static_cast<std::uint32_t>(*source.pieces));
    if (!cut) {
      return cut.error();
    }
    read->schedule = *std::move(cut);
    read->schedule.keepsOrder = keepsOrder;
  }
  return ConvertedSchedule{{std::move(read->description), std::move(read->fabric), {}},
                           std::move(read->schedule),
                           "schedule",
                           std::move(read->origin)};
}

/// Of a table of transfers: by its table of shards, its collective, or both.
Result<schedule::CollectiveTable> goalOf(const ConvertSource& source, const fabric::Fabric& fabric) {
  Demand demand{.collective = Collective::custom};
  if (!source.demand.collective.empty()) {
    auto read = readDemand(fabric, source.demand);
    if (!read) {
      return read.error();
    }
    demand = *std::move(read);
  }
  if (source.goal.empty()) {
    auto goal = schedule::CollectiveTable::make(demand.collective, fabric.gpuCount(), demand.root, demand.amounts);
    return goal ? goal
           : demand.collective == Collective::custom
               ? Error{ErrorCode::badUsage, "a custom collective needs its table of shards", "add --goal TABLE"}
               : optionError("collective", goal.error().message, goal.error().fix);
  }
  if (!source.demand.amounts.empty()) {
    return optionError("amounts", "the table of --goal has the shares", "leave one of them out");
  }
  const auto text = readText(source.goal, source.standardInput, io::kMaxScheduleBytes);
  if (!text) {
    return text.error();
  }
  auto table = io::readGoal(*text, inputName(source.goal), fabric.gpuCount(), &fabric);
  if (!table || demand.collective == Collective::custom) {
    return table;
  }
  auto named = schedule::named(*table, demand.collective, demand.root);
  if (!named) {
    Error error = named.error();
    error.where.file = inputName(source.goal);
    return error;
  }
  return named;
}

Result<ConvertedSchedule> fromCsv(const ConvertSource& source, const std::string& text, const Progress& progress) {
  if (source.fabric.source.empty()) {
    return Error{ErrorCode::badUsage, "a table of transfers does not contain its fabric", "add --fabric F"};
  }
  if (source.demand.collective.empty() && source.goal.empty()) {
    return Error{ErrorCode::badUsage, "a table of transfers does not name its collective",
                 "add -c COLLECTIVE, or --goal TABLE with its shards"};
  }
  auto loaded = loadFabric(source.fabric, progress);
  if (!loaded) {
    return loaded.error();
  }
  const auto goal = goalOf(source, loaded->fabric);
  if (!goal) {
    return goal.error();
  }
  const bool isTeCcl = io::looksLikeTeCcl(text);
  const bool isTacos = !isTeCcl && io::looksLikeTacosResult(text);
  const auto read = isTeCcl ? io::readTeCcl : isTacos ? io::readTacosResult : io::readTransferCsv;
  auto steps = read(text, inputName(source.file), loaded->fabric, *goal, progress);
  if (!steps) {
    return steps.error();
  }
  return ConvertedSchedule{*std::move(loaded), *std::move(steps), isTeCcl ? "te-ccl" : isTacos ? "tacos" : "csv"};
}

Outcome requireSound(const ConvertedSchedule& converted, const std::string& name, const Progress& progress) {
  const auto verdict = verify::verifySteps(converted.loaded.fabric, converted.schedule, progress);
  if (!verdict) {
    return verdict.error();
  }
  if (!verdict->ok) {
    const Finding* fault = firstFault(verdict->findings);
    Place where = fault ? fault->where : Place{};
    where.file = name;
    return Error{ErrorCode::verification, "the schedule is not verified" + (fault ? ": " + fault->text : ""),
                 "correct it; nothing was written", std::move(where)};
  }
  return Done{};
}

}  // namespace

Result<ConvertedSchedule> readForConversion(const ConvertSource& source, const Progress& progress) {
  const auto text = readText(source.file, source.standardInput, io::kMaxForestBytes);
  if (!text) {
    return text.error();
  }
  const ScheduleFileKind kind = scheduleFileKind(*text);
  if (kind == ScheduleFileKind::trees || kind == ScheduleFileKind::program) {
    return Error{ErrorCode::badInput, inputName(source.file) + " is XML, not a schedule",
                 "give a .forest.json or .schedule.json file, or a table of transfers"};
  }
  if (source.pieces && kind == ScheduleFileKind::none) {
    return optionError("pieces", "the transfers of a table cannot be cut", "leave it out");
  }
  if (const Outcome checked = checkPieces(source.pieces); !checked) {
    return checked.error();
  }
  auto converted = kind == ScheduleFileKind::forest  ? fromForest(source, *text, progress)
                   : kind == ScheduleFileKind::steps ? fromSteps(source, *text)
                                                     : fromCsv(source, *text, progress);
  if (!converted) {
    return converted;
  }
  if (const Outcome sound = requireSound(*converted, inputName(source.file), progress); !sound) {
    return sound.error();
  }
  return converted;
}

}  // namespace coppice::workflow
