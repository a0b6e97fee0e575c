// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/one_line.hpp"
#include "base/text.hpp"
#include "facts_text.hpp"
#include "io/files.hpp"
#include "judged_text.hpp"
#include "synth/refutation.hpp"
#include "synth/sccl.hpp"
#include "synthesize.hpp"
#include "text.hpp"
#include "words.hpp"
#include "workflow/sccl_front.hpp"
#include "workflow/sccl_method.hpp"

namespace coppice::cli {
namespace {

using synth::StatedSize;

constexpr const char* kTitle = "Options of sccl";

constexpr std::int64_t kMaxStepsLimit = 1'000;
constexpr std::int64_t kMaxLimit = 1'000'000;

struct ScclOptions {
  std::optional<std::int64_t> chunks;
  std::optional<std::int64_t> steps;
  std::optional<std::int64_t> rounds;
  bool isPareto = false;
  std::optional<std::int64_t> maxSteps;
  std::optional<std::int64_t> maxChunks;
  std::optional<std::int64_t> extraRounds;
  double candidateSeconds = 0;
  std::string unit;
  bool isOneBandwidth = false;
  bool isDirect = false;
  std::string table;
  std::string proof;
};

std::string word(synth::Verdict verdict) {
  return std::string(workflow::toString(verdict));
}

std::string inBrackets(const StatedSize& size) {
  return "(" + std::to_string(size.chunks) + ", " + std::to_string(size.steps) + ", " + std::to_string(size.rounds) +
         ")";
}

/// NAME.schedule.json becomes NAME.c6-s3-r7.schedule.json.
std::string fileOfPoint(const std::string& output, const StatedSize& size) {
  const std::string part =
      ".c" + std::to_string(size.chunks) + "-s" + std::to_string(size.steps) + "-r" + std::to_string(size.rounds);
  for (const std::string suffix : {".schedule.json", ".json"}) {
    if (output.ends_with(suffix)) {
      return output.substr(0, output.size() - suffix.size()) + part + suffix;
    }
  }
  return output + part + ".schedule.json";
}

/// NAME.drat becomes NAME.cnf.
std::string clausesBeside(const std::string& proof) {
  constexpr std::string_view kSuffix = ".drat";
  return (proof.ends_with(kSuffix) ? proof.substr(0, proof.size() - kSuffix.size()) : proof) + ".cnf";
}

class Sccl : public SynthesisMethod {
public:
  [[nodiscard]] std::string name() const override { return "sccl"; }
  [[nodiscard]] std::string title() const override { return kTitle; }
  void addOptions(CLI::App& sub) override;
  [[nodiscard]] Result<Report> run(const SynthesisQuestion& question, bool json, const Progress& progress) override;

private:
  struct Task {
    workflow::LoadedFabric loaded;
    workflow::SearchQuestion search;
  };

  [[nodiscard]] std::optional<Error> checkOptions() const;
  [[nodiscard]] Result<Task> readTask(const SynthesisQuestion& question, const Progress& progress) const;
  [[nodiscard]] Result<Report> decide(const Task& task, const SynthesisQuestion& question, bool json,
                                      const Progress& progress) const;
  [[nodiscard]] Result<Report> pareto(const Task& task, const SynthesisQuestion& question, bool json,
                                      const Progress& progress) const;
  /// Writes it, or says why there is none.
  [[nodiscard]] Outcome addProof(const Task& task, const StatedSize& size, const synth::Synthesis& answer,
                                 const Progress& progress, Report& report) const;
  [[nodiscard]] Outcome addPoint(const Task& task, const SynthesisQuestion& question, const workflow::FrontPoint& point,
                                 bool json, Report& report) const;

  ScclOptions m_options;
};

void Sccl::addOptions(CLI::App& sub) {
  const auto add = [&](CLI::Option* option) { option->group(kTitle); };
  add(sub.add_option("--chunks", m_options.chunks,
                     "C: chunks per rank (allgather, gather, allreduce), of the root (broadcast, reduce; scatter in "
                     "multiples of the GPUs), or per rank in multiples of the GPUs (alltoall, reduce_scatter)"));
  add(sub.add_option("--steps", m_options.steps, "S: steps"));
  add(sub.add_option("--rounds", m_options.rounds, "R: rounds of all steps together"));
  add(sub.add_flag("--pareto", m_options.isPareto, "Find the lowest R/C for each number of steps"));
  add(sub.add_option("--max-steps", m_options.maxSteps,
                     "With --pareto: stop after this many steps; default: 4 more than "
                     "the minimum, or than the links within a box need"));
  add(sub.add_option("--max-chunks", m_options.maxChunks, "With --pareto: try no more chunks than this"));
  add(sub.add_option("--k", m_options.extraRounds,
                     "With --pareto: only k-synchronous schedules, R <= S + K; default: any number of rounds"));
  add(addSeconds(sub, "--candidate-seconds", m_options.candidateSeconds,
                 "With --pareto: time limit for one size; default: a sixth of the time limit"));
  add(sub.add_option("--unit", m_options.unit,
                     "GB/s that move one chunk per round; default: the largest value that divides every bandwidth, or "
                     "the lowest bandwidth if that value is too small"));
  add(sub.add_flag("--one-bandwidth", m_options.isOneBandwidth, "Count every link as one unit"));
  add(sub.add_flag("--direct", m_options.isDirect,
                   "allreduce: only direct schedules, not reduce_scatter followed by allgather"));
  add(sub.add_option("--proof", m_options.proof,
                     "Where a SAT solver answers unsat: write its proof (DRAT) to this file, and the clauses (DIMACS) "
                     "to the same name with .cnf"));
  add(sub.add_option("--table", m_options.table, "A custom collective: CSV or JSON table of shards, all of one share"));
}

std::optional<Error> Sccl::checkOptions() const {
  const bool isAnySize = m_options.chunks || m_options.steps || m_options.rounds;
  if (m_options.isPareto && isAnySize) {
    return Error{ErrorCode::badUsage, "--pareto chooses chunks, steps and rounds itself",
                 "leave --chunks, --steps and --rounds out"};
  }
  if (!m_options.isPareto && !(m_options.chunks && m_options.steps && m_options.rounds)) {
    std::string missing;
    for (const auto& [name, value] : {std::pair("--chunks", m_options.chunks), std::pair("--steps", m_options.steps),
                                      std::pair("--rounds", m_options.rounds)}) {
      missing += value ? "" : (missing.empty() ? "" : ", ") + std::string(name);
    }
    return Error{ErrorCode::badUsage, "No size is given: " + missing + " missing",
                 "add --chunks C --steps S --rounds R, or --pareto"};
  }
  struct Limit {
    const char* name;
    const std::optional<std::int64_t>& value;
    std::int64_t min;
    std::int64_t max;
  };
  for (const auto& [name, value, min, max] :
       {Limit{"--max-steps", m_options.maxSteps, 1, kMaxStepsLimit},
        Limit{"--max-chunks", m_options.maxChunks, 1, kMaxLimit}, Limit{"--k", m_options.extraRounds, 0, kMaxLimit}}) {
    if (value && (*value < min || *value > max)) {
      return Error{ErrorCode::badUsage,
                   std::to_string(*value) + " is out of range",
                   "give a whole number from " + std::to_string(min) + " to " + std::to_string(max),
                   {.element = {RefKind::option, name}}};
    }
    if (value && !m_options.isPareto) {
      return Error{ErrorCode::badUsage,
                   "a limit has no meaning where chunks, steps and rounds are given",
                   "leave " + std::string(name) + " out, or give --pareto",
                   {.element = {RefKind::option, name}}};
    }
  }
  if (m_options.isPareto && !m_options.proof.empty()) {
    return Error{ErrorCode::badUsage,
                 "a front has many answers, a proof is of one",
                 "give --chunks, --steps and --rounds in place of --pareto",
                 {.element = {RefKind::option, "--proof"}}};
  }
  if (m_options.proof == "-") {
    return Error{ErrorCode::badUsage,
                 "a proof is two files, which cannot both go to standard output",
                 "give the name of a file, such as proof.drat",
                 {.element = {RefKind::option, "--proof"}}};
  }
  if (m_options.isOneBandwidth && !m_options.unit.empty()) {
    return Error{ErrorCode::badUsage, "--unit has no meaning where every link counts as one unit",
                 "leave out --unit or --one-bandwidth"};
  }
  return std::nullopt;
}

Result<Sccl::Task> Sccl::readTask(const SynthesisQuestion& question, const Progress& progress) const {
  if (auto error = checkOptions()) {
    return *std::move(error);
  }
  auto loaded = loadFabric(question.fabric, progress);
  if (!loaded) {
    return loaded.error();
  }
  workflow::SearchText text{.demand = question.demand,
                            .unit = m_options.unit,
                            .isOneBandwidth = m_options.isOneBandwidth,
                            .isDirect = m_options.isDirect,
                            .seconds = question.seconds,
                            .seed = question.seed};
  if (!m_options.table.empty()) {
    auto table = readText(m_options.table);
    if (!table) {
      return table.error();
    }
    text.table = {*std::move(table), m_options.table};
  }
  auto search = workflow::readSearch(loaded->fabric, text);
  if (!search) {
    return search.error();
  }
  return Task{*std::move(loaded), *std::move(search)};
}

Result<Report> Sccl::run(const SynthesisQuestion& question, bool json, const Progress& progress) {
  if (question.fabric.source.empty()) {
    return Error{ErrorCode::badUsage,
                 "The method sccl needs a fabric",
                 "name a fabric file or a preset",
                 {.element = {RefKind::field, "fabric"}}};
  }
  if (!m_options.proof.empty()) {
    for (const std::string& file : {m_options.proof, clausesBeside(m_options.proof)}) {
      if (const Outcome kept = keepInput(question.fabric.source, file); !kept) {
        return kept.error();
      }
    }
  }
  const auto task = readTask(question, progress);
  if (!task) {
    return task.error();
  }
  return m_options.isPareto ? pareto(*task, question, json, progress) : decide(*task, question, json, progress);
}

Result<Report> Sccl::decide(const Task& task, const SynthesisQuestion& question, bool json,
                            const Progress& progress) const {
  const StatedSize size{*m_options.chunks, *m_options.steps, *m_options.rounds};
  auto answer = synth::synthesize(task.loaded.fabric, task.search.goal, size, task.search.options, progress);
  if (!answer) {
    return answer.error();
  }
  Report report;
  report.json["status"] = word(answer->verdict);
  report.json["reason"] = answer->reason;
  report.json["seconds"] = answer->seconds;
  report.json["chunks"] = size.chunks;
  report.json["unit"] = toFraction(answer->unit);
  report.text = "  " + inBrackets(size) + "  " + word(answer->verdict) + " in " + duration(answer->seconds) + ": " +
                answer->reason + "\n";
  addFacts(workflow::timeFacts(answer->dependsOnTime), report);
  if (!answer->schedule) {
    report.json["steps"] = size.steps;
    report.json["rounds"] = size.rounds;
    report.failure = word(answer->verdict) + ": " + answer->reason;
  }
  if (!m_options.proof.empty()) {
    if (const Outcome proved = addProof(task, size, *answer, progress, report); !proved) {
      return proved.error();
    }
  }
  if (!answer->schedule) {
    return report;
  }
  const fabric::Fabric& fabric = task.loaded.fabric;
  const auto judged = workflow::requireGood(
      fabric,
      {.schedule = *std::move(answer->schedule), .claims = workflow::roundsOf(answer->unit, m_options.isOneBandwidth)},
      progress);
  if (!judged) {
    return judged.error();
  }
  const auto figures = workflow::figuresOf(fabric, *judged, progress);
  if (!figures) {
    return figures.error();
  }
  addFacts(workflow::factsOf(fabric, judged->made.schedule, *figures), report);
  if (!question.output.empty()) {
    if (const Outcome written =
            deliverSchedule(question.output, judged->made.schedule, task.loaded, {"sccl"}, json, progress, report);
        !written) {
      return written.error();
    }
  }
  return report;
}

Outcome Sccl::addProof(const Task& task, const StatedSize& size, const synth::Synthesis& answer,
                       const Progress& progress, Report& report) const {
  if (answer.verdict != synth::Verdict::unsat || !answer.isBySolver) {
    const std::string why =
        answer.verdict == synth::Verdict::unsat ? "a bound or a flow proves the answer, not the solver"
        : answer.verdict == synth::Verdict::sat ? "the size has a schedule, which the verifier checks"
                                                : "there is no answer";
    report.json["no_proof"] = why;
    report.text += "  no proof is written: " + why + "\n";
    return Done{};
  }
  const auto refutation =
      synth::Refutation::make(task.loaded.fabric, task.search.goal, size, task.search.options, progress);
  if (!refutation) {
    return refutation.error();
  }
  const std::string clauses = clausesBeside(m_options.proof);
  const auto write = [&](const std::string& file, Outcome (synth::Refutation::*part)(std::ostream&) const) {
    return io::saveFile(file, [&](std::ostream& out) { return ((*refutation).*part)(out); });
  };
  if (Outcome written = write(clauses, &synth::Refutation::writeClauses); !written) {
    return written;
  }
  if (Outcome written = write(m_options.proof, &synth::Refutation::writeProof); !written) {
    return written;
  }
  report.json["proof"] = m_options.proof;
  report.json["clauses"] = clauses;
  report.text += "  written: " + oneLine(m_options.proof) + " (DRAT) for " + oneLine(clauses) + ", " +
                 counted(refutation->variables(), "variable") + " and " +
                 counted(static_cast<std::int64_t>(refutation->clauses()), "clause") + "\n";
  return Done{};
}

Outcome Sccl::addPoint(const Task& task, const SynthesisQuestion& question, const workflow::FrontPoint& point,
                       bool json, Report& report) const {
  report.text += "  " + std::to_string(point.size.steps) + " steps  " + inBrackets(point.size) + "  " +
                 gigabytes(point.judged.algbw) + "\n";
  Json entry = Json::object();
  addFacts(workflow::pointFacts(point, m_options.extraRounds), Keys::replace, false, entry, report.text);
  entry["algbw"] = toFraction(point.judged.algbw);
  if (!question.output.empty()) {
    const std::string file = fileOfPoint(question.output, point.size);
    if (const Outcome written =
            deliverSchedule(file, point.judged.schedule, task.loaded, {"sccl"}, json, Progress{}, report);
        !written) {
      return written.error();
    }
    entry["file"] = file;
  }
  report.json["front"].push_back(std::move(entry));
  return Done{};
}

Result<Report> Sccl::pareto(const Task& task, const SynthesisQuestion& question, bool json,
                            const Progress& progress) const {
  if (question.output == "-") {
    return Error{ErrorCode::badUsage, "A front has several schedules, which cannot all go to standard output",
                 "give -o NAME.schedule.json: each becomes NAME.cC-sS-rR.schedule.json"};
  }
  Json candidates = Json::array();
  workflow::FrontListener listener;
  listener.onCandidate = [&](const synth::Candidate& each) {
    std::fprintf(stderr, "  %s  %s in %s: %s\n", inBrackets(each.size).c_str(), word(each.verdict).c_str(),
                 duration(each.seconds).c_str(), each.reason.c_str());
    candidates.push_back({{"chunks", each.size.chunks},
                          {"steps", each.size.steps},
                          {"rounds", each.size.rounds},
                          {"status", word(each.verdict)},
                          {"reason", each.reason},
                          {"seconds", each.seconds}});
  };
  const auto front = workflow::findFront(task.loaded.fabric, task.search,
                                         {.maxSteps = m_options.maxSteps.value_or(0),
                                          .maxChunks = m_options.maxChunks.value_or(0),
                                          .candidateSeconds = m_options.candidateSeconds,
                                          .extraRounds = m_options.extraRounds},
                                         listener, progress);
  if (!front) {
    return front.error();
  }
  Report report;
  report.json["front"] = Json::array();
  for (const workflow::FrontPoint& point : front->points) {
    if (const Outcome added = addPoint(task, question, point, json, report); !added) {
      return added.error();
    }
  }
  if (m_options.extraRounds) {
    report.json["k"] = *m_options.extraRounds;
  }
  report.json["least_steps"] = front->minSteps;
  report.json["least_ratio"] = front->minRatio.toString();
  report.json["least_ratio_exact"] = front->isMinRatioExact;
  report.json["complete"] = front->isComplete;
  report.json["cut_off"] = front->isCutOff;
  addFacts(workflow::timeFacts(front->dependsOnTime), report);
  report.json["unit"] = toFraction(front->unit);
  report.json["candidates"] = std::move(candidates);
  report.text += "  no schedule has fewer than " + counted(front->minSteps, "step") +
                 (front->minRatio.isPositive() ? ", or R/C below " + front->minRatio.toString() : std::string()) + "\n";
  if (front->isCutOff && !front->isComplete) {
    report.text += "  stopped early: a longer --time-limit may find more\n";
  }
  report.isInterrupted = progress.isCancelled();
  if (front->points.empty()) {
    report.failure = "no schedule was found within the limits";
  }
  return report;
}

}  // namespace

std::unique_ptr<SynthesisMethod> scclMethod() {
  return std::make_unique<Sccl>();
}

}  // namespace coppice::cli
