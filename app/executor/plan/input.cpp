// SPDX-License-Identifier: Apache-2.0
#include "plan/input.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "base/text.hpp"
#include "io/files.hpp"
#include "io/forest_json.hpp"
#include "io/schedule_json.hpp"
#include "lowering/executed.hpp"
#include "lowering/lowering.hpp"
#include "program/msccl_xml.hpp"

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
template <typename Schedule>
Outcome addSchedule(const fabric::Fabric& fabric, const Schedule& schedule, Collective collective, int root,
                    const InputOptions& options, const Progress& progress, Input& input) {
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
  input.record.boundGBps = forest->schedule.bound.toDouble();
  return addSchedule(forest->fabric, forest->schedule, forest->schedule.collective, forest->schedule.root.value_or(-1),
                     options, progress, input);
}

Outcome readSteps(const std::string& text, const InputOptions& options, const Progress& progress, Input& input) {
  const auto steps = io::loadSchedule(text, options.file);
  if (!steps) {
    return steps.error();
  }
  const schedule::CollectiveTable& goal = steps->schedule.goal;
  return addSchedule(steps->fabric, steps->schedule, goal.collective(), goal.root().value_or(-1), options, progress,
                     input);
}

/// JSON of the other kind is for readForest to name what is wrong with it.
bool isStepSchedule(std::string_view text) {
  return text.find("\"coppice-forest\"") == std::string_view::npos &&
         text.find("\"coppice-schedule\"") != std::string_view::npos;
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
  const Outcome read = !isJson(*text)           ? readXml(*text, options, progress, input)
                       : isStepSchedule(*text) ? readSteps(*text, options, progress, input)
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
