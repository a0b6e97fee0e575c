// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <memory>

#include "base/one_line.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "facts_text.hpp"
#include "heights_text.hpp"
#include "input.hpp"
#include "io/collective_file.hpp"
#include "io/forest_json.hpp"
#include "io/schedule_json.hpp"
#include "io/tree_xml.hpp"
#include "judged_text.hpp"
#include "judgement.hpp"
#include "sizes_text.hpp"
#include "text.hpp"
#include "verify/custom_goal.hpp"
#include "verify/program_flat.hpp"
#include "workflow/judged_schedule.hpp"
#include "workflow/make_schedule.hpp"
#include "workflow/schedule_file.hpp"
#include "workflow/studied_program.hpp"
#include "workflow/target.hpp"

namespace coppice::cli {
namespace {

struct VerifyOptions {
  std::string file;
  std::string runtime = "msccl";
  std::string root = {};
  std::string fabric = {};
  std::string collective = {};
  std::optional<int> multiprocessors = {};
  std::string goal = {};
  bool isEdgeByEdge = false;
};

using workflow::ScheduleFileKind;

/// By the first words of the text; what is neither trees nor JSON is for the MSCCL reader to judge.
ScheduleFileKind kindOf(const std::string& text) {
  const ScheduleFileKind kind = workflow::scheduleFileKind(text);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool isJson = first != std::string::npos && text[first] == '{';
  return kind != ScheduleFileKind::none ? kind : (isJson ? ScheduleFileKind::forest : ScheduleFileKind::program);
}

/// What all kinds report in the same way.
Report report(const std::string& file, const char* kind, bool ok, std::string_view collective, int ranks,
              const std::vector<Finding>& findings) {
  Report report;
  const Finding* fault = ok ? nullptr : workflow::firstFault(findings);
  report.json["ok"] = ok;
  report.json["kind"] = kind;
  report.json["collective"] = collective;
  report.json["ranks"] = ranks;
  report.json["reason"] = fault == nullptr ? "" : describe(Error{fault->code, fault->text, {}, fault->where});
  if (!ok) {
    report.failure = inputName(file) + ": not verified" + (fault == nullptr ? "" : ": " + describe(*fault));
  }
  report.text = oneLine(inputName(file)) + (ok ? ": verified" : ": NOT verified") + "\n";
  return report;
}

/// @param fabric as io::readGoal says
Result<schedule::CollectiveTable> readGoal(const VerifyOptions& options, int ranks, const fabric::Fabric* fabric) {
  const auto text = readText(options.goal, io::kMaxForestBytes);
  if (!text) {
    return text.error();
  }
  return io::readGoal(*text, inputName(options.goal), ranks, fabric);
}

/// Whether a sound schedule does what a table of shards asks for; judged alone it does what its own file asks for.
Outcome judgeGoal(const VerifyOptions& options, const fabric::Fabric& fabric, const schedule::CollectiveTable& table,
                  Report& report) {
  if (options.goal.empty()) {
    return Done{};
  }
  const auto wanted = readGoal(options, fabric.gpuCount(), &fabric);
  if (!wanted) {
    return wanted.error();
  }
  const std::string difference = schedule::differenceFrom(*wanted, table);
  report.json["goal"] = options.goal;
  report.json["meets_goal"] = difference.empty();
  if (difference.empty()) {
    report.text += "  goal        that of " + oneLine(options.goal) + "\n";
    return Done{};
  }
  const std::string reason = "it is not the collective of " + inputName(options.goal) + ": " + difference;
  report.text += "  goal        " + oneLine(reason) + "\n";
  if (report.json["ok"] == true) {
    report.json["ok"] = false;
    report.json["reason"] = reason;
    report.failure = inputName(options.file) + ": not verified: " + reason;
    report.text.replace(0, report.text.find('\n'), oneLine(inputName(options.file)) + ": NOT verified");
  }
  return Done{};
}

Report scheduleReport(const std::string& file, const char* kind, const fabric::Fabric& fabric,
                      const schedule::Schedule& schedule, const verify::ScheduleVerdict& verdict) {
  Report result = report(file, kind, verdict.ok, toString(schedule.collective), fabric.gpuCount(), verdict.findings);
  if (schedule.root) {
    result.json["root"] = *schedule.root;
  }
  result.json["algbw"] = toFraction(verdict.algbw);
  result.json["algbw_GBps"] = toGBps(verdict.algbw);
  result.json["bound"] = toFraction(schedule.bound);
  result.json["bound_proved"] = verdict.boundProved;
  result.json["verified_by_parts"] = verdict.isBySymmetry;
  result.text += "  schedule    " + std::string(toString(schedule.collective)) + " on " + named(fabric.name()) + ", " +
                 counted(fabric.gpuCount(), "GPU") + "\n";
  result.text += "  throughput  " + gigabytes(verdict.algbw) + ", recomputed from the trees" +
                 (verdict.isBySymmetry ? " of rank 0 and the fabric's symmetries" : "") + "\n";
  if (verdict.ok && !schedule.overlapped) {
    result.text += "  bound       " + gigabytes(schedule.bound) +
                   (verdict.boundProved ? ", proved\n" : ", not proved for this fabric\n");
    if (schedule.collective != Collective::allreduce) {
      result.text +=
          boundNote(schedule::boundScope(fabric, schedule.collective, {!schedule.bottlenecks.empty(), false}));
    }
  }
  if (schedule.overlapped) {
    result.json["overlapped"] = true;
    result.json["own_copies"] = schedule.ownCopies;
    result.text += "  halves      in-trees and out-trees at the same time" +
                   std::string(schedule.ownCopies ? "; GPUs get their own copies" : "") + "\n";
  }
  if (verdict.ok && schedule.allreduceBound) {
    result.json["stated_allreduce_bound"] = toFraction(*schedule.allreduceBound);
  }
  return result;
}

Result<Report> verifyForest(const VerifyOptions& options, const std::string& text, const Progress& progress) {
  const auto loaded = io::loadForest(text, inputName(options.file));
  if (!loaded) {
    return loaded.error();
  }
  const auto verdict = options.isEdgeByEdge ? verify::verifySchedule(
                                                  loaded->fabric, loaded->schedule,
                                                  {.maxFlow = workflow::needsMaxFlow(loaded->fabric, loaded->schedule),
                                                   .maxEdges = std::numeric_limits<std::int64_t>::max()},
                                                  progress)
                                            : workflow::judgeSchedule(loaded->fabric, loaded->schedule, progress);
  if (!verdict) {
    return verdict.error();
  }
  Report result = scheduleReport(options.file, "schedule", loaded->fabric, loaded->schedule, *verdict);
  describeOrigin(loaded->origin, result);
  if (verdict->ok && loaded->schedule.collective == Collective::allreduce) {
    // A file carries no proof of the bound of trees: it is computed and proved here.
    const auto bound = workflow::boundOf(loaded->fabric, loaded->schedule, progress);
    if (!bound) {
      return bound.error();
    }
    const bool isForTrees = *bound && (*bound)->scope == schedule::BoundScope::trees;
    result.json["bound_scope"] = *bound ? Json(schedule::sentenceOf((*bound)->scope)) : Json(nullptr);
    if (isForTrees) {
      result.json["allreduce_bound"] = toFraction((*bound)->algbw);
      result.text += "  any trees   no allreduce by trees is faster than " + gigabytes((*bound)->algbw) +
                     ", proved; this one has " + percent(verdict->algbw / (*bound)->algbw) + " of that\n";
    }
    const auto& stated = loaded->schedule.allreduceBound;
    if (isForTrees && stated && *stated != (*bound)->algbw) {
      result.text += "  note        the file states " + gigabytes(*stated) + " as that bound\n";
    }
  }
  if (verdict->ok) {
    describeTrees(loaded->fabric, loaded->schedule, progress, result.json, result.text);
    const Outcome described = describeUsedSizes(loaded->fabric, loaded->schedule, result.json, result.text);
    if (!described) {
      return described.error();
    }
  }
  result.json["findings"] = toJson(verdict->findings);
  result.text += lines(verdict->findings);
  return result;
}

Result<Report> verifyStepSchedule(const VerifyOptions& options, const std::string& text, const Progress& progress) {
  auto loaded = io::loadSchedule(text, inputName(options.file));
  if (!loaded) {
    return loaded.error();
  }
  auto judged = workflow::judge(loaded->fabric, {.schedule = std::move(loaded->schedule)}, progress);
  if (!judged) {
    return judged.error();
  }
  if (loaded->routesAdded > 0) {
    judged->verdict.findings.push_back(
        {Severity::note, ErrorCode::badInput,
         counted(loaded->routesAdded, "transfer") + " without a route: shortest routes were used"});
  }
  Report result = report(options.file, "schedule", judged->verdict.ok, toString(collectiveOf(judged->made.schedule)),
                         loaded->fabric.gpuCount(), judged->verdict.findings);
  if (judged->verdict.ok) {
    const auto figures = workflow::figuresOf(loaded->fabric, *judged, progress);
    if (!figures) {
      return figures.error();
    }
    addFacts(workflow::factsOf(loaded->fabric, judged->made.schedule, *figures), result);
  }
  describeOrigin(loaded->origin, result);
  const Outcome compared =
      judgeGoal(options, loaded->fabric, std::get<schedule::StepSchedule>(judged->made.schedule).goal, result);
  if (!compared) {
    return compared.error();
  }
  result.json["findings"] = toJson(judged->verdict.findings);
  result.text += lines(judged->verdict.findings);
  return result;
}

/// A tree file states neither fabric nor bound: the one is asked for, the other computed.
Result<Report> verifyTrees(const VerifyOptions& options, const std::string& text, const Progress& progress) {
  if (options.fabric.empty()) {
    return Error{ErrorCode::badUsage, "a tree file does not name its fabric", "add --fabric F"};
  }
  const auto loaded = loadFabric({.source = options.fabric, .standardInput = readStandardInput}, progress);
  if (!loaded) {
    return loaded.error();
  }
  const auto trees = io::readTreeXml(text, inputName(options.file));
  if (!trees) {
    return trees.error();
  }
  Collective collective = trees->collective.value_or(Collective::allgather);
  if (!options.collective.empty()) {
    const auto parsed = parseForestCollective(options.collective);
    if (!parsed) {
      return Error{ErrorCode::badUsage, "--collective: " + inQuotes(options.collective) + " is not a collective",
                   "use allgather, reduce_scatter, allreduce, broadcast or reduce"};
    }
    collective = *parsed;
  }
  const auto schedule = workflow::scheduleOfTrees(*trees, loaded->fabric, collective, progress);
  if (!schedule) {
    return schedule.error();
  }
  const auto verdict = workflow::judgeSchedule(loaded->fabric, *schedule, progress);
  if (!verdict) {
    return verdict.error();
  }
  Report result = scheduleReport(options.file, "trees", loaded->fabric, *schedule, *verdict);
  if (verdict->ok) {
    describeTrees(loaded->fabric, *schedule, progress, result.json, result.text);
  }
  // The reader's notes tell what it would guess without a fabric; here one is given.
  std::vector<Finding> findings;
  std::copy_if(trees->findings.begin(), trees->findings.end(), std::back_inserter(findings),
               [](const Finding& finding) { return finding.severity != Severity::note; });
  findings.insert(findings.end(), verdict->findings.begin(), verdict->findings.end());
  result.json["findings"] = toJson(findings);
  result.text += lines(findings);
  return result;
}

/// What a custom program has to compute, as --goal says; empty where nothing does.
Result<std::vector<verify::CustomShard>> customGoal(const VerifyOptions& options, program::Runtime runtime,
                                                    const std::string& text) {
  if (options.goal.empty()) {
    return std::vector<verify::CustomShard>();
  }
  const auto file = program::readMscclXml(text, runtime, inputName(options.file));
  if (!file) {
    return file.error();
  }
  if (verify::goalOf(file->program) != Collective::custom) {
    return workflow::optionError(
        "goal", "coll=" + inQuotes(program::collectiveName(file->program)) + " says itself what the program computes",
        "leave it out; it is for coll=\"custom\" and for step schedules");
  }
  const auto ranks = static_cast<int>(file->program.ranks.size());
  const auto table = readGoal(options, ranks, nullptr);
  if (!table) {
    return table.error();
  }
  auto rows = verify::customGoal(*table, ranks, file->program.chunksPerLoop);
  if (!rows) {
    Error error = rows.error();
    error.where.file = inputName(options.goal);
    return error;
  }
  return rows;
}

/// -1 = none was given.
Result<int> rootOf(const VerifyOptions& options) {
  if (options.root.empty()) {
    return -1;
  }
  const auto parsed = Rational::parse(options.root);
  if (!parsed || !parsed->isInteger() || *parsed < Rational(0) || *parsed > Rational(std::int64_t{1} << 20)) {
    return Error{ErrorCode::badUsage, "--root: " + inQuotes(options.root) + " is not a rank",
                 "give a whole number, 0 or more"};
  }
  return static_cast<int>(parsed->numerator());
}

/// A file of a runtime with a format of its own.
Result<Report> verifyTarget(const VerifyOptions& options, const workflow::Target& target, const std::string& text,
                            const Progress& progress) {
  const auto root = rootOf(options);
  if (!root) {
    return root.error();
  }
  workflow::TargetCheckOptions checks{.multiprocessors = options.multiprocessors, .root = *root};
  if (!options.goal.empty()) {
    checks.goal = [&](int ranks) { return readGoal(options, ranks, nullptr); };
  }
  const auto file = target.read(text, inputName(options.file), checks, progress);
  if (!file) {
    return file.error();
  }
  Report result = report(options.file, "plan", file->isOk, file->collective, file->ranks, file->findings);
  addFacts(file->facts, result);
  if (!file->proof.empty()) {
    result.text += "  executed    " + file->proof + "\n";
  }
  result.json["findings"] = toJson(file->findings);
  result.text += lines(file->findings);
  return result;
}

Result<Report> verifyProgram(const VerifyOptions& options, const std::string& text, const Progress& progress) {
  const auto runtime = program::parseRuntime(options.runtime, "--runtime");
  if (!runtime) {
    return runtime.error();
  }
  const auto root = rootOf(options);
  if (!root) {
    return root.error();
  }
  const auto custom = customGoal(options, *runtime, text);
  if (!custom) {
    return custom.error();
  }
  const auto studied = workflow::studyProgram(
      text, inputName(options.file),
      {.runtime = *runtime, .root = *root, .multiprocessors = options.multiprocessors, .custom = *custom},
      workflow::StudyWhen::faulty, progress);
  if (!studied) {
    return studied.error();
  }
  const verify::ProgramJudgement* const judged = &studied->judgement;
  const std::string collective(program::collectiveName(judged->program));
  Report result = report(options.file, "program", judged->ok, collective, judged->verdict.ranks, judged->findings);
  result.json["runtime"] = program::toString(*runtime);
  if (judged->verdict.root >= 0) {  // of rooted collectives alone
    result.json["root"] = judged->verdict.root;
  }
  describeProgram(judged->program, *runtime, result);
  result.json["result_judged"] = judged->isResultJudged;
  if (!options.goal.empty()) {
    result.json["goal"] = options.goal;
    result.json["meets_goal"] = judged->ok;
  }
  if (!judged->isResultJudged) {
    result.text += "  result      not judged: coll=" + inQuotes(collective) + " does not define one\n" +
                   (options.goal.empty() ? "              (--goal TABLE defines it)\n" : "");
    result.text += "  judged      races, deadlock and the limits of " + std::string(program::toString(*runtime)) +
                   (!judged->isRestSound ? "; see the faults below\n" : ": no fault found\n");
  }
  if (judged->ok) {
    result.text += "  executed    symbolically on " + counted(judged->verdict.ranks, "rank") +
                   ": every output chunk contains exactly what " +
                   (options.goal.empty() ? collective : oneLine(inputName(options.goal))) +
                   " requires,\n              without deadlock or race, within all limits of " +
                   std::string(program::toString(*runtime)) + "\n";
  }
  describeStudy(judged->program, studied->study, result);
  result.json["findings"] = toJson(judged->findings);
  result.text += lines(judged->findings);
  return result;
}

Result<Report> run(const VerifyOptions& options, const Progress& progress) {
  const auto text = readText(options.file, io::kMaxForestBytes);
  if (!text) {
    return text.error();
  }
  const auto started = std::chrono::steady_clock::now();
  // A byte order mark is for the reader of programs to refuse.
  const std::size_t first = text->find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == std::string::npos || ((*text)[first] != '{' && (*text)[first] != '<')) {
    return Error{ErrorCode::badInput, inputName(options.file) + " is neither a schedule nor a program",
                 "give a .forest.json or .schedule.json file, MSCCL XML or tree XML"};
  }
  if (const workflow::Target* target = (*text)[first] == '{' ? workflow::targetOfFile(*text) : nullptr) {
    return verifyTarget(options, *target, *text, progress);
  }
  const ScheduleFileKind kind = kindOf(*text);
  if (!options.goal.empty() && (kind == ScheduleFileKind::forest || kind == ScheduleFileKind::trees)) {
    return workflow::optionError("goal", "trees have no table of shards to compare",
                                 "give a .schedule.json file or a program of coll=\"custom\", or leave it out");
  }
  auto result = kind == ScheduleFileKind::forest  ? verifyForest(options, *text, progress)
                : kind == ScheduleFileKind::steps ? verifyStepSchedule(options, *text, progress)
                : kind == ScheduleFileKind::trees ? verifyTrees(options, *text, progress)
                                                  : verifyProgram(options, *text, progress);
  if (result) {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
    result->json["seconds"] = seconds.count();
  }
  return result;
}

}  // namespace

void addVerify(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(
      app, invocation, "verify",
      "Check a schedule, a program or a plan: .forest.json, .schedule.json, MSCCL XML, execution plans of "
      "MSCCL++, ForestColl tree XML",
      "  coppice-cli verify allgather.forest.json\n"
      "  coppice-cli verify allgather.xml --runtime msccl-executor-nccl\n"
      "  coppice-cli verify broadcast.xml --root 3 --json\n"
      "  coppice-cli verify allreduce.plan.json\n"
      "  coppice-cli verify halo.schedule.json --goal halo.csv\n"
      "  coppice-cli verify halo.xml --goal halo.csv\n"
      "  coppice-cli verify trees.xml --fabric cluster.fabric.json");
  auto options = std::make_shared<VerifyOptions>();
  sub.add_option("file", options->file, "File to verify; - for standard input")->required();
  sub.add_option("--runtime", options->runtime, "MSCCL XML: runtime whose rules apply: " + program::runtimeNames())
      ->capture_default_str();
  sub.add_option("--root", options->root, "MSCCL XML, plans: the rank that broadcast or reduce must have as its root");
  sub.add_option(
         "--multiprocessors", options->multiprocessors,
         "MSCCL XML, plans: threadblocks that a GPU runs at once; default: what the name of the program or plan tells "
         "(V100 80, H100 132), else 108, as of an A100")
      ->check(CLI::Range(1, 1 << 20));
  sub.add_option("--fabric", options->fabric, "Tree XML: its fabric");
  sub.add_option("--goal", options->goal,
                 "Step schedules, programs of coll=\"custom\": what they must compute, as a table of shards (JSON or "
                 "CSV) or a .schedule.json");
  sub.add_flag("--edge-by-edge", options->isEdgeByEdge,
               "Schedules of very large fabrics: check every edge of every tree, not only the trees of rank 0 and the "
               "symmetries of the fabric");
  sub.add_option("-c,--collective", options->collective, "Tree XML: its collective, if the file does not state it");
  sub.callback([options, &invocation] {
    invocation.action = [options](const Progress& progress) { return run(*options, progress); };
  });
}

}  // namespace coppice::cli
