// SPDX-License-Identifier: Apache-2.0
#include "plan/input.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "base/text.hpp"
#include "io/collective_file.hpp"
#include "io/files.hpp"
#include "io/forest_json.hpp"
#include "io/schedule_json.hpp"
#include "lowering/executed.hpp"
#include "lowering/lowering.hpp"
#include "mscclpp/plan_json.hpp"
#include "mscclpp/plan_shell.hpp"
#include "program/msccl_xml.hpp"
#include "verify/custom_goal.hpp"
#include "verify/mscclpp_verifier.hpp"
#include "verify/program_flat.hpp"

namespace coppice::executor {
namespace {

using program::Runtime;

constexpr std::size_t kMaxXmlBytes = std::size_t{64} << 20;

std::string digestOf(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  }
  std::array<char, 20> out{};
  std::snprintf(out.data(), out.size(), "%016llx", static_cast<unsigned long long>(hash));
  return out.data();
}

bool isJson(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

void describeProgram(const program::Program& program, program::PlanRecord& record) {
  record.name = program.name;
  record.collective = program::collectiveName(program);
  record.ranks = static_cast<int>(program.ranks.size());
  record.channels = program.channels;
  record.steps = 0;
  for (const program::RankProgram& rank : program.ranks) {
    record.threadBlocks = std::max(record.threadBlocks, static_cast<int>(rank.threadBlocks.size()));
    for (const program::ThreadBlock& block : rank.threadBlocks) {
      record.steps += static_cast<std::int64_t>(block.steps.size());
    }
  }
}

/// Adds the plans of one program. Findings that are already there are not repeated.
Outcome addPlans(const program::Program& program, const PlanOptions& options, const Progress& progress, Input& input) {
  describeProgram(program, input.record);
  auto set = makePlans(program, options, progress);
  if (!set) {
    return set.error();
  }
  for (Finding& finding : set->findings) {
    // The reader says some of it too, with the place.
    const auto same = [&](const Finding& other) { return other.text == finding.text; };
    if (std::none_of(input.record.findings.begin(), input.record.findings.end(), same)) {
      input.record.findings.push_back(std::move(finding));
    }
  }
  input.record.ok = input.record.ok && set->ok;
  input.job.depth = set->depth;
  if (set->inPlace) {
    input.job.inPlace = std::move(set->inPlace);
  }
  if (set->outOfPlace) {
    input.job.outOfPlace = std::move(set->outOfPlace);
  }
  return Done{};
}

/// @param fabric as io::readGoal says
Result<schedule::CollectiveTable> readGoal(const std::string& file, int ranks, const fabric::Fabric* fabric) {
  const auto text = io::readFile(file, io::kMaxScheduleBytes);
  if (!text) {
    return text.error();
  }
  return io::readGoal(*text, file, ranks, fabric);
}

Error needlessGoal(const std::string& of) {
  return {.code = ErrorCode::badUsage,
          .message = "--goal: " + of + " says itself what it computes",
          .fix = "leave --goal out; it is for coll=\"custom\""};
}

/// The table of --goal, for chunks of a program or plan.
Result<std::vector<verify::CustomShard>> goalRows(const InputOptions& options, int ranks, int chunks) {
  const auto table = readGoal(options.goal, ranks, nullptr);
  if (!table) {
    return table.error();
  }
  auto rows = verify::customGoal(*table, ranks, chunks);
  if (!rows) {
    Error error = rows.error();
    error.where.file = options.goal;
    return error;
  }
  return rows;
}

/// What the program computes, where only a table says so. Without one, makePlans() refuses it.
Result<std::vector<verify::CustomShard>> goalOf(const program::Program& program, const InputOptions& options) {
  if (options.goal.empty()) {
    return std::vector<verify::CustomShard>();
  }
  if (verify::goalOf(program) != Collective::custom) {
    return needlessGoal("coll=" + inQuotes(program::collectiveName(program)));
  }
  return goalRows(options, static_cast<int>(program.ranks.size()), program.chunksPerLoop);
}

Outcome readXml(const std::string& text, const InputOptions& options, const Progress& progress, Input& input) {
  std::optional<program::MscclFile> chosen;
  Runtime runtime = options.runtime.value_or(Runtime::msccl);
  for (const Runtime candidate : program::kRuntimes) {
    if (options.runtime && *options.runtime != candidate) {
      continue;
    }
    auto file = program::readMscclXml(text, candidate, options.file);
    if (!file) {
      return file.error();
    }
    const bool isClean = !hasErrors(file->findings);
    if (!chosen || isClean) {
      chosen = *std::move(file);
      runtime = candidate;
    }
    if (isClean) {
      break;
    }
  }
  if (hasErrors(chosen->findings)) {
    describeProgram(chosen->program, input.record);
    input.record.ok = false;
    input.record.findings = std::move(chosen->findings);
    return Done{};
  }
  PlanOptions plan = options.plan;
  plan.runtime = runtime;
  auto goal = goalOf(chosen->program, options);
  if (!goal) {
    return goal.error();
  }
  plan.custom = *std::move(goal);
  // The window of sizes is for choosing among algorithms; here the caller names sizes. Others read 0 as no limit.
  if (chosen->program.minBytes == 0 && chosen->program.maxBytes == 0) {
    chosen->program.maxBytes = std::int64_t{1} << 30;
    std::erase_if(chosen->findings, [](const Finding& finding) {
      return finding.severity == Severity::warning && finding.text.starts_with("the size window is empty");
    });
  }
  for (Finding& finding : chosen->findings) {
    input.record.findings.push_back(std::move(finding));
  }
  return addPlans(chosen->program, plan, progress, input);
}

/// Lowers in each way that the collective has, and lays the programs out.
/// @param custom what a custom collective demands; null for others
template <typename Schedule>
Outcome addSchedule(const fabric::Fabric& fabric, const Schedule& schedule, Collective collective, int root,
                    const schedule::CollectiveTable* custom, const InputOptions& options, const Progress& progress,
                    Input& input) {
  PlanOptions plan = options.plan;
  plan.runtime = options.runtime.value_or(lowering::executedRuntime(collective));
  plan.root = root >= 0 ? root : plan.root;
  for (const bool inPlace : {false, true}) {
    if (inPlace && !lowering::hasInPlace(collective)) {
      continue;
    }
    const auto lowered = lowering::lower(fabric, schedule, {.runtime = plan.runtime, .inPlace = inPlace}, progress);
    if (!lowered) {
      return lowered.error();
    }
    if (custom != nullptr) {
      auto rows = verify::customGoal(*custom, fabric.gpuCount(), lowered->chunksPerLoop);
      if (!rows) {
        return rows.error();
      }
      plan.custom = *std::move(rows);
    }
    if (const Outcome added = addPlans(*lowered, plan, progress, input); !added) {
      return added.error();
    }
  }
  return Done{};
}

Outcome readForest(const std::string& text, const InputOptions& options, const Progress& progress, Input& input) {
  const auto forest = io::loadForest(text, options.file);
  if (!forest) {
    return forest.error();
  }
  if (!options.goal.empty()) {
    return needlessGoal("a .forest.json");
  }
  input.record.boundGBps = toGBps(forest->schedule.bound);
  return addSchedule(forest->fabric, forest->schedule, forest->schedule.collective, forest->schedule.root.value_or(-1),
                     nullptr, options, progress, input);
}

Outcome readSteps(const std::string& text, const InputOptions& options, const Progress& progress, Input& input) {
  const auto steps = io::loadSchedule(text, options.file);
  if (!steps) {
    return steps.error();
  }
  const schedule::CollectiveTable& goal = steps->schedule.goal;
  if (!options.goal.empty()) {
    const auto wanted = readGoal(options.goal, steps->fabric.gpuCount(), &steps->fabric);
    if (!wanted) {
      return wanted.error();
    }
    if (const std::string difference = schedule::differenceFrom(*wanted, goal); !difference.empty()) {
      return Error{.code = ErrorCode::verification,
                   .message = "the schedule is not that of " + inQuotes(options.goal) + ": " + difference,
                   .fix = "give the table that it was made for, or leave --goal out: the schedule has its own",
                   .where = {.file = options.file}};
    }
  }
  return addSchedule(steps->fabric, steps->schedule, goal.collective(), goal.root().value_or(-1),
                     goal.collective() == Collective::custom ? &goal : nullptr, options, progress, input);
}

/// An execution plan of MSCCL++. Unchecked, its lists are checked all the same: nothing is read out of bounds.
Outcome readExecutionPlan(const std::string& text, const InputOptions& options, const Progress& progress,
                          Input& input) {
  auto plan = mscclpp::readPlan(text, options.file);
  if (!plan) {
    return plan.error();
  }
  const auto ranks = static_cast<int>(plan->gpus.size());
  program::PlanRecord& record = input.record;
  record.name = plan->name;
  record.collective = plan->collective;
  record.ranks = ranks;
  for (const mscclpp::Gpu& gpu : plan->gpus) {
    record.threadBlocks = std::max(record.threadBlocks, static_cast<int>(gpu.blocks.size()));
    record.channels = std::max(record.channels, static_cast<int>(gpu.memoryPeers.size() + gpu.portPeers.size()));
    for (const mscclpp::ThreadBlock& block : gpu.blocks) {
      record.steps += mscclpp::countOps(block);
    }
  }
  verify::MscclppCheckOptions checks{.multiprocessors = std::max(1, record.threadBlocks), .root = options.plan.root};
  if (!options.goal.empty()) {
    if (parseCollective(plan->collective).value_or(Collective::custom) != Collective::custom) {
      return needlessGoal(inQuotes(plan->collective));
    }
    auto rows = goalRows(options, ranks, plan->gpus.front().inputChunks);
    if (!rows) {
      return rows.error();
    }
    checks.custom = *std::move(rows);
  }
  auto verdict = verify::verifyExecutionPlan(*plan, checks, progress);
  if (!verdict) {
    return verdict.error();
  }
  record.findings = std::move(verdict->findings);
  record.ok = verdict->ok || (options.plan.unchecked && verdict->isRunnable);
  if (!record.ok) {
    return Done{};
  }
  if (!verdict->isResultJudged) {
    return Error{.code = ErrorCode::badUsage,
                 .message = inQuotes(plan->collective) + " does not say what the plan computes",
                 .fix = "give --goal, a table of what it computes",
                 .where = {.file = options.file}};
  }
  input.executionPlan = std::make_shared<const mscclpp::ExecutionPlan>(*std::move(plan));
  (input.executionPlan->inPlace ? input.job.inPlace : input.job.outOfPlace) =
      shellOf(*input.executionPlan, verdict->root, std::move(checks.custom));
  return Done{};
}

}  // namespace

Result<Input> loadInput(const InputOptions& options, const Progress& progress) {
  const auto text = io::readFile(options.file, io::kMaxForestBytes);
  if (!text) {
    return text.error();
  }
  Input input;
  input.record.ok = true;
  input.record.file = options.file;
  input.record.digest = digestOf(*text);
  if (!isJson(*text) && text->size() > kMaxXmlBytes) {
    return Error{.code = ErrorCode::badInput,
                 .message = "an MSCCL file of more than 64 MiB is not run",
                 .fix = "shorten it; blanks and comments count too",
                 .where = {.file = options.file}};
  }
  const Outcome read = !isJson(*text)                  ? readXml(*text, options, progress, input)
                       : mscclpp::looksLikePlan(*text) ? readExecutionPlan(*text, options, progress, input)
                       : io::isScheduleJson(*text)     ? readSteps(*text, options, progress, input)
                                                       : readForest(*text, options, progress, input);
  if (!read) {
    return read.error();
  }
  if (!input.record.ok || (!input.job.inPlace && !input.job.outOfPlace)) {
    input.record.ok = false;
    input.job = {};
    return input;
  }
  input.record.root = input.job.any().root;
  input.record.inPlace = input.job.inPlace.has_value();
  input.record.outOfPlace = input.job.outOfPlace.has_value();
  return input;
}

}  // namespace coppice::executor
