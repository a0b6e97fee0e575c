// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "base/text.hpp"
#include "base/units.hpp"
#include "facts_text.hpp"
#include "io/taccl_json.hpp"
#include "judged_text.hpp"
#include "lp/mixed_program.hpp"
#include "sketch/fabric_of.hpp"
#include "synthesize.hpp"
#include "text.hpp"
#include "words.hpp"
#include "workflow/sketch_plan.hpp"
#include "workflow/taccl_method.hpp"

namespace coppice::cli {
namespace {

struct SynthesizeTacclOptions {
  workflow::SketchFiles files;
  std::string nodes;
  std::string size;
  std::string engine = "search";
  std::optional<double> seconds;  ///< absent: those of all methods
  std::optional<std::int64_t> effort;
  int threads = 0;
  int maxTogether = 6;
  bool keepsFractions = false;
  bool isAsymmetric = false;
  std::string share = "link";
  std::string plan;
};

Error usage(const std::string& option, std::string message, std::string fix) {
  return {ErrorCode::badUsage, std::move(message), std::move(fix), {.element = {RefKind::option, option}}};
}

/// What is searched in: files of TACCL, or a fabric with a sketch that is given or proposed.
struct Subject {
  sketch::Model model;
  sketch::Scale scale;
  std::string type;
  std::vector<Finding> findings;
  std::optional<workflow::LoadedFabric> fabric;  ///< absent: the one that the model describes
  std::vector<std::vector<fabric::NodeIndex>> routes;
};

Result<sketch::ModelOptions> modelOptions(const SynthesizeTacclOptions& options, const io::TacclFabricOptions& stated) {
  sketch::ModelOptions model;
  model.truncates = !options.keepsFractions;
  model.maxTogether = options.maxTogether;
  model.type = stated.type;
  model.sharesNics = options.share == "nic";
  if (!options.nodes.empty()) {
    const auto nodes = workflow::parseInteger(options.nodes);
    if (!nodes || *nodes < 1 || *nodes > 4096) {
      return usage("--nodes", inQuotes(options.nodes) + " is not a number of nodes", "use 1 to 4096");
    }
    model.nodes = static_cast<int>(*nodes);
  }
  return model;
}

/// The chunks of a sketch with --size bytes for each GPU; nullopt where the option is not given.
Result<std::optional<std::int64_t>> chunkBytesBy(const SynthesizeTacclOptions& options, sketch::Sketch sketch) {
  if (options.size.empty()) {
    return std::optional<std::int64_t>();
  }
  sketch.inputSize = options.size;
  sketch.chunksPerGpu = std::max(1, sketch.chunksPerGpu);
  const auto bytes = workflow::chunkBytesOf(sketch);
  if (!bytes) {
    Error error = bytes.error();
    error.where.element = {RefKind::option, "--size"};
    return error;
  }
  return std::optional(*bytes);
}

Result<Subject> subjectOfFiles(const SynthesizeTacclOptions& options, const SynthesisQuestion& question) {
  if (options.files.sketch.empty() || options.files.topology.empty()) {
    return usage(options.files.sketch.empty() ? "--sketch" : "--topology",
                 "the method taccl needs a sketch and a topology, or a fabric",
                 "name both files with --sketch FILE --topology FILE, or give a fabric");
  }
  const auto import = workflow::readImportOptions(question.fabric.import);
  if (!import) {
    return import.error();
  }
  const auto modelled = modelOptions(options, import->taccl);
  if (!modelled) {
    return modelled.error();
  }
  auto loaded = workflow::loadSketch(options.files, *modelled);
  if (!loaded) {
    return loaded.error();
  }
  const auto chunkBytes = chunkBytesBy(options, loaded->sketch);
  if (!chunkBytes) {
    return chunkBytes.error();
  }
  Subject subject;
  subject.scale = sketch::guessScale(loaded->topology);
  subject.scale.timeUnit = import->taccl.timeUnit.value_or(subject.scale.timeUnit);
  subject.scale.chunkBytes = chunkBytes->value_or(subject.scale.chunkBytes);
  subject.type = toString(loaded->made.type);
  subject.model = std::move(loaded->made.model);
  subject.findings = std::move(loaded->made.findings);
  return subject;
}

Result<Subject> subjectOfFabric(const SynthesizeTacclOptions& options, const SynthesisQuestion& question,
                                const Progress& progress) {
  for (const auto& [name, isGiven] :
       {std::pair("--topology", !options.files.topology.empty()), std::pair("--nodes", !options.nodes.empty()),
        std::pair("--no-truncate", options.keepsFractions)}) {
    if (isGiven) {
      return usage(name, "the fabric says this already", "leave the option out, or leave the fabric out");
    }
  }
  auto loaded = loadFabric(question.fabric, progress);
  if (!loaded) {
    return loaded.error();
  }
  sketch::Sketch sketch;
  sketch.chunksPerGpu = 0;  // proposed too
  if (!options.files.sketch.empty()) {
    auto read = workflow::loadSketchFile(options.files.sketch);
    if (!read) {
      return read.error();
    }
    sketch = std::move(read->value);
    loaded->findings.insert(loaded->findings.end(), read->findings.begin(), read->findings.end());
  }
  if (!options.size.empty()) {
    if (const auto bytes = chunkBytesBy(options, sketch); !bytes) {
      return bytes.error();
    }
    sketch.inputSize = options.size;
  }
  if (options.share == "nic") {
    if (!sketch.remote) {
      return usage("--share", "in a proposed sketch each NIC has one sender, and one box has no links to others",
                   "leave the option out, or give a sketch with --sketch FILE");
    }
    sketch.remote->sharesNics = true;
  }
  auto fitted = options.files.sketch.empty() ? workflow::proposeSketch(loaded->description, sketch)
                                             : workflow::fitSketch(loaded->description, sketch);
  if (!fitted) {
    Error error = fitted.error();
    if (error.where.file.empty() && error.where.element.as(RefKind::key) != nullptr) {
      error.where.file = inputName(options.files.sketch);
    }
    return error;
  }
  Subject subject;
  subject.scale = {ExactMicroseconds(1), fitted->chunkBytes};
  subject.type = toString(sketch::MachineType::custom);
  subject.model = std::move(fitted->fit.model);
  subject.model.maxTogether = options.maxTogether;
  subject.routes = std::move(fitted->fit.routes);
  subject.findings = std::move(loaded->findings);
  subject.fabric = std::move(fitted->fabric);
  return subject;
}

Result<int> rootOf(const SynthesisQuestion& question, Collective collective, const Subject& subject) {
  const std::string& text = question.demand.root;
  if (text.empty()) {
    return 0;
  }
  if (!isRooted(collective)) {
    return usage("--root", "only rooted collectives have a root", "leave it out");
  }
  const int gpus = subject.model.gpus();
  for (int rank = 0; subject.fabric && rank < gpus; ++rank) {
    const fabric::Fabric& fabric = subject.fabric->fabric;
    if (fabric.nodes()[fabric.gpus()[rank]].id == text) {
      return rank;
    }
  }
  const auto root = workflow::parseInteger(text);
  if (!root || *root < 0 || *root >= gpus) {
    return usage("--root", inQuotes(text) + " is not a GPU of the sketch",
                 "use a rank from 0 to " + std::to_string(gpus - 1));
  }
  return static_cast<int>(*root);
}

/// Bytes of the whole collective over the makespan.
Bandwidth algbwOf(const Subject& subject, const sketch::Plan& plan) {
  const bool isOfOne = plan.collective == Collective::broadcast || plan.collective == Collective::reduce;
  const Rational bytes = Rational(subject.scale.chunkBytes) * Rational(subject.model.chunksPerGpu) *
                         Rational(isOfOne ? 1 : subject.model.gpus());
  return bandwidthOf(bytes, plan.makespan * subject.scale.timeUnit);
}

void describe(const Subject& subject, const workflow::JudgedPlan& judged, std::uint64_t seed, Report& report) {
  const sketch::Plan& plan = judged.synthesis.plan;
  const std::string unit = subject.fabric ? " us" : " units of the topology file";
  report.json = {{"ok", true},
                 {"method", "taccl"},
                 {"collective", toString(plan.collective)},
                 {"gpus", subject.model.gpus()},
                 {"algbw_GBps", toGBps(algbwOf(subject, plan))},
                 {"verified", true},
                 {"seconds", judged.synthesis.seconds},
                 {"seconds_verifying", judged.verifying},
                 {"seed", seed},
                 {"type", subject.type},
                 {"time_unit_us", subject.scale.timeUnit.count().toString()},
                 {"chunk_bytes", subject.scale.chunkBytes}};
  if (isRooted(plan.collective)) {
    report.json["root"] = plan.root;
  }
  report.text = std::string(toString(plan.collective)) + " in " + plan.makespan.toString() + unit + ", " +
                gigabytes(algbwOf(subject, plan)) + "\n";
  addFacts(workflow::planFacts(subject.model, judged.synthesis, unit), report);
  addFacts(workflow::timeFacts(judged.synthesis.dependsOnTime), report);
  report.text += "  verified    machines, lengths, routes, relays, symmetries and every transfer\n";
}

Result<Report> run(const SynthesizeTacclOptions& options, const SynthesisQuestion& question, bool json,
                   const Progress& progress) {
  const bool isStaged = options.engine == "milp";
  if (!isStaged && options.engine != "search") {
    return usage("--engine", inQuotes(options.engine) + " is not an engine", "use search or milp");
  }
  if (isStaged && options.effort) {
    return usage("--effort", "counts schedules of the engine search", "limit the engine milp with --time");
  }
  if (options.share != "link" && options.share != "nic") {
    return usage("--share", inQuotes(options.share) + " is not a way to share NICs",
                 "use link, the paper's model, or nic");
  }
  if (isStaged) {
    if (const auto solver = lp::findMixedSolver(); !solver) {
      return solver.error();
    }
  }
  const auto collective = parseCollective(question.demand.collective);
  if (!collective || *collective == Collective::custom) {
    return usage("--collective", inQuotes(question.demand.collective) + " is not a collective of this method",
                 "use allgather, reduce_scatter, allreduce, alltoall, broadcast, reduce, scatter or gather");
  }
  const auto subject =
      question.fabric.source.empty() ? subjectOfFiles(options, question) : subjectOfFabric(options, question, progress);
  if (!subject) {
    return subject.error();
  }
  const auto root = rootOf(question, *collective, *subject);
  if (!root) {
    return root.error();
  }
  taccl::SynthesisOptions search{.engine = isStaged ? taccl::Engine::stages : taccl::Engine::search,
                                 .seconds = options.seconds.value_or(question.seconds),
                                 .effort = options.effort,
                                 .seed = question.seed,
                                 .threads = options.threads,
                                 .usesSymmetry = !options.isAsymmetric};
  search.onBetter = [&](const Rational& makespan, const Rational& bound, double) {
    progress.report("makespan " + makespan.toString() + ", bound " + bound.toString(), 0);
  };
  auto synthesis = taccl::synthesize(subject->model, *collective, *root, search, progress);
  if (!synthesis) {
    return synthesis.error();
  }
  // What the search found is kept when it is interrupted, so the rest runs to its end.
  const auto judged = subject->fabric ? workflow::judgePlan(subject->model, *std::move(synthesis), *subject->fabric,
                                                            subject->routes, {})
                                      : workflow::judgePlan(subject->model, *std::move(synthesis), subject->scale, {});
  if (!judged) {
    return judged.error();
  }
  Report report;
  describe(*subject, *judged, question.seed, report);
  report.isInterrupted = progress.isCancelled();
  report.json["interrupted"] = report.isInterrupted;
  std::vector<Finding> findings = subject->findings;
  findings.insert(findings.end(), judged->synthesis.findings.begin(), judged->synthesis.findings.end());
  report.json["findings"] = toJson(findings);
  report.text += lines(findings);
  if (!options.plan.empty()) {
    const std::string text = io::writeTacclPlan(subject->model, judged->synthesis.plan);
    if (const Outcome written = deliver(options.plan, text, "  plan        ", json, report); !written) {
      return written.error();
    }
  }
  if (!question.output.empty()) {
    if (const Outcome written =
            deliverSchedule(question.output, judged->schedule, judged->fabric, {"taccl"}, json, {}, report);
        !written) {
      return written.error();
    }
  }
  return report;
}

class Taccl : public SynthesisMethod {
public:
  [[nodiscard]] std::string name() const override { return "taccl"; }
  [[nodiscard]] std::string title() const override { return "TACCL"; }
  void addOptions(CLI::App& sub) override;
  [[nodiscard]] Result<Report> run(const SynthesisQuestion& question, bool json, const Progress& progress) override {
    return cli::run(m_options, question, json, progress);
  }

private:
  SynthesizeTacclOptions m_options;
};

void Taccl::addOptions(CLI::App& sub) {
  const std::string group = "OPTIONS of --method taccl";
  sub.add_option("--sketch", m_options.files.sketch, "Communication sketch, as TACCL's files")->group(group);
  sub.add_option("--topology", m_options.files.topology, "Topology with costs, as TACCL's files")->group(group);
  sub.add_option("--nodes", m_options.nodes, "Number of nodes, instead of the sketch's")->group(group);
  sub.add_option("--size", m_options.size,
                 "Data of each GPU, for example 1M; default: the sketch's, or by the topology")
      ->group(group);
  sub.add_option("--engine", m_options.engine, "search, or milp: the three stages of the paper, with the solver CBC")
      ->capture_default_str()
      ->group(group);
  addSeconds(sub, "--time", m_options.seconds, "How long to search; default: --time-limit")->group(group);
  sub.add_option("--effort", m_options.effort,
                 "Number of schedules to try instead of a time; the result is then the same on any machine")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 50))
      ->group(group);
  sub.add_option("--threads", m_options.threads, "Threads to search with; default: all cores, for milp 1")
      ->check(CLI::Range(1, 1024))
      ->group(group);
  sub.add_option("--max-contiguous", m_options.maxTogether, "Chunks of one message between nodes")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000))
      ->group(group);
  sub.add_flag("--no-truncate", m_options.keepsFractions, "Keep fractions of costs that the official program truncates")
      ->group(group);
  sub.add_option("--share", m_options.share,
                 "link: each link between nodes has a fixed part of the NICs, as in the paper; nic: links wait for "
                 "whole NICs (not the paper's model)")
      ->capture_default_str()
      ->group(group);
  sub.add_flag("--no-symmetry", m_options.isAsymmetric, "Search without the sketch's symmetry offsets")->group(group);
  sub.add_option("--plan", m_options.plan, "File for all messages with their planned times")->group(group);
}

}  // namespace

std::unique_ptr<SynthesisMethod> tacclMethod() {
  return std::make_unique<Taccl>();
}

}  // namespace coppice::cli
