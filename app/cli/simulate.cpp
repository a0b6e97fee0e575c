// SPDX-License-Identifier: Apache-2.0
#include "simulate.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "base/one_line.hpp"
#include "base/text.hpp"
#include "input.hpp"
#include "io/forest_json.hpp"
#include "io/schedule_json.hpp"
#include "io/tree_xml.hpp"
#include "program/msccl_xml.hpp"
#include "simulate/report.hpp"
#include "simulate/sweep.hpp"
#include "text.hpp"
#include "verify/step_verifier.hpp"
#include "workflow/make_schedule.hpp"
#include "workflow/schedule_file.hpp"
#include "workflow/sizes.hpp"

namespace coppice::cli {
namespace {

struct Options {
  std::string file;
  std::string fabric = {};
  std::string runtime = "msccl";
  std::string first = {};
  std::string last = {};
  std::string factor = "2";
  std::optional<std::uint32_t> pieces = {};
  bool bestPieces = false;
  std::optional<double> linkLatency = {};
  std::optional<double> messageOverhead = {};
  double connectionRate = 0;
  std::uint32_t window = 1;
  bool exact = false;
  bool criticalPath = false;
  int links = 0;
  std::string trace = {};
  std::string csv = {};
  std::string ncclTests = {};
};

std::string fixed(double value, int places) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", places, value);
  return text;
}

/// What a file holds, with what its subject refers to.
struct Loaded {
  std::string kind;
  std::unique_ptr<fabric::Fabric> fabric;
  std::unique_ptr<schedule::Schedule> schedule = {};
  std::unique_ptr<schedule::StepSchedule> steps = {};
  std::unique_ptr<program::Program> program = {};
  std::unique_ptr<simulate::Subject> subject = {};
  std::vector<Finding> notes = {};
};

Result<std::unique_ptr<fabric::Fabric>> otherFabric(const Options& options, const Progress& progress) {
  auto loaded = loadFabric({.source = options.fabric, .standardInput = readStandardInput}, progress);
  if (!loaded) {
    return loaded.error();
  }
  return std::make_unique<fabric::Fabric>(std::move(loaded->fabric));
}

Result<Loaded> loadSchedule(const Options& options, const std::string& text, const simulate::Model& model,
                            const Progress& progress) {
  auto read = io::loadForest(text, inputName(options.file));
  if (!read) {
    return read.error();
  }
  Loaded loaded{.kind = "schedule", .fabric = std::make_unique<fabric::Fabric>(std::move(read->fabric))};
  if (!options.fabric.empty()) {
    auto other = otherFabric(options, progress);
    if (!other) {
      return other.error();
    }
    loaded.fabric = *std::move(other);
  }
  loaded.schedule = std::make_unique<schedule::Schedule>(std::move(read->schedule));
  auto subject = simulate::subjectOf(*loaded.fabric, *loaded.schedule, model, progress);
  if (!subject) {
    return subject.error();
  }
  loaded.subject = *std::move(subject);
  return loaded;
}

/// Transfers of a schedule without steps move in pieces, as those of a forest do.
Result<Loaded> loadStepSchedule(const Options& options, const std::string& text, const simulate::Model& model,
                                const Progress& progress) {
  auto read = io::loadSchedule(text, inputName(options.file));
  if (!read) {
    return read.error();
  }
  if (options.bestPieces || (options.pieces && read->schedule.isSynchronous)) {
    return Error{ErrorCode::badUsage, "the transfers of a step schedule are the pieces that it consists of",
                 options.bestPieces ? "leave --best-pieces out" : "leave --pieces out"};
  }
  Loaded loaded{.kind = "schedule", .fabric = std::make_unique<fabric::Fabric>(std::move(read->fabric))};
  if (!options.fabric.empty()) {
    auto other = otherFabric(options, progress);
    if (!other) {
      return other.error();
    }
    loaded.fabric = *std::move(other);
  }
  const auto verdict = verify::verifySteps(*loaded.fabric, read->schedule, progress);
  if (!verdict) {
    return verdict.error();
  }
  if (!verdict->ok) {
    const Finding* fault = workflow::firstFault(verdict->findings);
    return Error{ErrorCode::verification, "the schedule is not verified" + (fault ? ": " + fault->text : ""),
                 "verify lists all faults", fault ? fault->where : Place{}};
  }
  loaded.steps = std::make_unique<schedule::StepSchedule>(std::move(read->schedule));
  if (!loaded.steps->isSynchronous) {
    constexpr std::size_t kMaxMessages = std::size_t{1} << 16;
    constexpr std::size_t kMaxPieces = 64;
    const auto pieces = std::clamp<std::size_t>(kMaxMessages / loaded.steps->transfers.size(), 1, kMaxPieces);
    auto cut = schedule::cutInto(*loaded.steps, options.pieces.value_or(static_cast<std::uint32_t>(pieces)));
    if (!cut) {
      return cut.error();
    }
    *loaded.steps = *std::move(cut);
  }
  auto subject = simulate::subjectOf(*loaded.fabric, *loaded.steps, model, simulate::Barriers::steps, progress);
  if (!subject) {
    return subject.error();
  }
  loaded.subject = *std::move(subject);
  return loaded;
}

Result<Loaded> loadProgram(const Options& options, const std::string& text, const simulate::Model& model,
                           const Progress& progress) {
  const auto runtime = program::parseRuntime(options.runtime, "--runtime");
  if (!runtime) {
    return runtime.error();
  }
  if (options.fabric.empty()) {
    return Error{ErrorCode::badUsage, "a program does not say what its fabric is", "add --fabric F"};
  }
  if (options.pieces || options.bestPieces) {
    return Error{ErrorCode::badUsage, "a program moves the chunks that it consists of",
                 "leave --pieces and --best-pieces out"};
  }
  auto read = program::readMscclXml(text, *runtime, inputName(options.file));
  if (!read) {
    return read.error();
  }
  auto fabric = otherFabric(options, progress);
  if (!fabric) {
    return fabric.error();
  }
  Loaded loaded{.kind = "program", .fabric = *std::move(fabric)};
  loaded.program = std::make_unique<program::Program>(std::move(read->program));
  loaded.subject = simulate::subjectOf(*loaded.fabric, *loaded.program, model);
  const auto refused = std::find_if(read->findings.begin(), read->findings.end(),
                                    [](const Finding& finding) { return finding.severity == Severity::error; });
  if (refused != read->findings.end()) {
    loaded.notes.push_back({Severity::warning, refused->code,
                            std::string(program::toString(*runtime)) + " would not run this file: " + refused->text,
                            "verify lists all faults", refused->where});
  }
  return loaded;
}

/// ForestColl's tree XML, which does not say what its fabric is.
Result<Loaded> loadTrees(const Options& options, const std::string& text, const simulate::Model& model,
                         const Progress& progress) {
  if (options.fabric.empty()) {
    return Error{ErrorCode::badUsage, "a tree file does not say what its fabric is", "add --fabric F"};
  }
  auto fabric = otherFabric(options, progress);
  if (!fabric) {
    return fabric.error();
  }
  const auto trees = io::readTreeXml(text, inputName(options.file));
  if (!trees) {
    return trees.error();
  }
  auto schedule = io::scheduleFromTrees(*trees, **fabric, trees->collective.value_or(Collective::allgather));
  if (!schedule) {
    return schedule.error();
  }
  Loaded loaded{.kind = "trees", .fabric = *std::move(fabric)};
  loaded.schedule = std::make_unique<schedule::Schedule>(*std::move(schedule));
  auto subject = simulate::subjectOf(*loaded.fabric, *loaded.schedule, model, progress);
  if (!subject) {
    return subject.error();
  }
  loaded.subject = *std::move(subject);
  return loaded;
}

Result<Loaded> load(const Options& options, const std::string& text, const simulate::Model& model,
                    const Progress& progress) {
  switch (workflow::scheduleFileKind(text)) {
    case workflow::ScheduleFileKind::forest:
      return loadSchedule(options, text, model, progress);
    case workflow::ScheduleFileKind::steps:
      return loadStepSchedule(options, text, model, progress);
    case workflow::ScheduleFileKind::trees:
      return loadTrees(options, text, model, progress);
    case workflow::ScheduleFileKind::program:
      return loadProgram(options, text, model, progress);
    case workflow::ScheduleFileKind::none:
      break;
  }
  return Error{ErrorCode::badInput, inputName(options.file) + " is neither a schedule nor a program",
               "give a .forest.json or .schedule.json file, MSCCL XML or tree XML"};
}

Result<std::vector<std::int64_t>> sizesOf(const Options& options) {
  constexpr std::int64_t kFirst = std::int64_t{1} << 20;
  constexpr std::int64_t kLast = std::int64_t{1} << 30;
  std::int64_t first = kFirst;
  std::int64_t last = kLast;
  if (!options.first.empty()) {
    const auto parsed = workflow::parseBytes(options.first, "begin");
    if (!parsed) {
      return parsed.error();
    }
    first = last = *parsed;
  }
  if (!options.last.empty()) {
    const auto parsed = workflow::parseBytes(options.last, "end");
    if (!parsed) {
      return parsed.error();
    }
    last = *parsed;
  }
  if (first < 1 || last < first) {
    return Error{ErrorCode::badUsage, first < 1 ? "-b: a simulation needs at least one byte" : "-e is smaller than -b",
                 "give sizes as in -b 1M -e 1G"};
  }
  const auto factor = Rational::parse(options.factor);
  if (!factor || *factor <= Rational(1)) {
    return Error{ErrorCode::badUsage, "-f: " + inQuotes(options.factor) + " is not a number above 1",
                 "give the factor between two sizes, as in -f 2"};
  }
  auto sizes = simulate::sizesOf(first, last, factor->toDouble());
  constexpr std::size_t kMaxSizes = 1000;
  if (sizes.size() > kMaxSizes) {
    return Error{
        ErrorCode::badUsage,
        std::to_string(sizes.size()) + " sizes are too many; at most " + std::to_string(kMaxSizes) + " are simulated",
        "give a larger -f"};
  }
  return sizes;
}

Json linksJson(const simulate::Details& details, const fabric::Fabric& fabric, int count) {
  Json links = Json::array();
  for (const simulate::LinkLoad& load : simulate::linkLoads(details)) {
    if (static_cast<int>(links.size()) == count) {
      break;
    }
    const fabric::Arc& arc = fabric.arcs()[load.arc];
    links.push_back({{"from", fabric.nodes()[arc.tail].id},
                     {"to", fabric.nodes()[arc.head].id},
                     {"bytes", load.bytes},
                     {"busy_us", load.busy},
                     {"utilization", load.utilization}});
  }
  return links;
}

std::string linksText(const simulate::Details& details, const fabric::Fabric& fabric, int count) {
  std::string text = "\nbusiest links\n";
  int listed = 0;
  for (const simulate::LinkLoad& load : simulate::linkLoads(details)) {
    if (listed++ == count) {
      break;
    }
    const fabric::Arc& arc = fabric.arcs()[load.arc];
    text += "  " + named(fabric.nodes()[arc.tail].id) + " -> " + named(fabric.nodes()[arc.head].id) + "  " +
            fixed(load.utilization * 100, 1) + " % of its bandwidth used, busy " + fixed(load.busy, 2) + " us, " +
            fixed(load.bytes, 0) + " bytes\n";
  }
  return text;
}

/// The critical path as JSON and as text.
void addPath(const simulate::Details& details, Report& report) {
  Json parts = Json::array();
  std::string text = "\ncritical path of the last size: each message begins when the one above lets it\n";
  for (const simulate::PathPart& part : simulate::pathParts(details)) {
    const simulate::Job& job = *details.phases[part.phase].job;
    const simulate::Interval& when = part.first.when;
    const simulate::Message& message = job.messages()[when.message];
    if (message.route == simulate::kNoRoute) {
      continue;  // takes no time
    }
    parts.push_back({{"phase", part.phase},
                     {"from", message.from},
                     {"to", message.to},
                     {std::string(toString(job.labels())), message.label},
                     {"first_piece", when.repeat},
                     {"messages", part.messages},
                     {"waited_for", toString(part.first.waitedFor)},
                     {"ready_us", when.ready},
                     {"overhead_us", part.overhead},
                     {"sending_us", part.sending},
                     {"sharing_us", part.sharing},
                     {"latency_us", part.latency}});
    text += "  " + fixed(when.ready, 2) + " us  " + simulate::nameOf(job, when.message, when.repeat) +
            (part.messages > 1 ? " and " + std::to_string(part.messages - 1) + " more" : "") + ", after " +
            std::string(toString(part.first.waitedFor)) + ": overhead " + fixed(part.overhead, 2) + ", sending " +
            fixed(part.sending, 2) + ", sharing " + fixed(part.sharing, 2) + ", latency " + fixed(part.latency, 2) +
            " us\n";
  }
  report.json["critical_path"] = std::move(parts);
  report.text += text;
}

Outcome write(const std::string& output, const char* key, const char* label,
              const std::function<Outcome(std::ostream&)>& write, bool json, const Options& options, Report& report) {
  if (output.empty()) {
    return Done{};
  }
  for (const std::string& input : {options.file, options.fabric}) {
    if (const Outcome kept = keepInput(input, output); !kept) {
      return Error{kept.error().code, inQuotes(output) + " is the input itself, which would be lost",
                   "give another name"};
    }
  }
  const Outcome delivered = deliver(output, write, label, json, report);
  if (delivered && output != "-") {
    report.json.erase("file");
    report.json[key] = output;
  }
  return delivered;
}

Result<Report> run(const Options& options, bool json, const Progress& progress) {
  const auto sizes = sizesOf(options);
  if (!sizes) {
    return sizes.error();
  }
  const auto text = readText(options.file, io::kMaxForestBytes);
  if (!text) {
    return text.error();
  }
  for (const double number :
       {options.linkLatency.value_or(0), options.messageOverhead.value_or(0), options.connectionRate}) {
    if (!std::isfinite(number)) {
      return Error{ErrorCode::badUsage, "latencies and rates are numbers", "give them as in --link-latency 0.5"};
    }
  }
  if ((options.trace == "-") + (options.csv == "-") + (options.ncclTests == "-") > 1) {
    return Error{ErrorCode::badUsage, "standard output takes one file", "give the others a name"};
  }
  const simulate::Model model{.linkLatency = options.linkLatency,
                              .messageOverhead = options.messageOverhead,
                              .rateCap = options.connectionRate,
                              .window = options.window};
  const auto loaded = load(options, *text, model, progress);
  if (!loaded) {
    return loaded.error();
  }
  simulate::Subject& subject = *loaded->subject;
  const fabric::Fabric& fabric = *loaded->fabric;

  const auto started = std::chrono::steady_clock::now();
  std::vector<simulate::Row> rows;
  simulate::Details details;  // of the last size
  for (const std::int64_t size : *sizes) {
    simulate::SizeOptions one{.pieces = options.pieces};
    if (options.exact) {
      one.resolution = 0;
    }
    if (options.bestPieces) {
      const auto best = simulate::bestPieces(subject, size, simulate::kMaxDefaultPieces, progress);
      if (!best) {
        return best.error();
      }
      one.pieces = best->pieces;
    }
    one.record = size == sizes->back() && (options.criticalPath || !options.trace.empty());
    auto simulated = subject.simulate(size, one, progress);
    if (!simulated) {
      return simulated.error();
    }
    rows.push_back(simulated->row);
    details = *std::move(simulated);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;

  Report report;
  report.json["ok"] = true;
  report.json["kind"] = loaded->kind;
  report.json["collective"] = subject.collectiveName();
  report.json["ranks"] = fabric.gpuCount();
  report.json["fabric"] = fabric.name();
  report.text = oneLine(inputName(options.file)) + ": " + subject.collectiveName() + " on " + named(fabric.name()) +
                ", " + counted(fabric.gpuCount(), "GPU") + ", simulated\n";
  if (loaded->schedule || loaded->steps) {
    const Rational algbw = loaded->schedule ? loaded->schedule->algbw : loaded->steps->algbw;
    report.json["schedule_algbw"] = algbw.toString();
    report.json["schedule_algbw_GBps"] = algbw.toDouble();
    report.text += "  schedule    " + gigabytes(algbw) + " where only bandwidth counts\n";
  }
  Json list = Json::array();
  for (const simulate::Row& row : rows) {
    list.push_back({{"size", row.size},
                    {"time_us", row.time},
                    {"algbw", row.algbw},
                    {"busbw", row.busbw},
                    {subject.hasPieces() ? "pieces" : "turns", row.pieces},
                    {"resolution_us", row.resolution}});
  }
  report.json["rows"] = std::move(list);
  report.text += "\n" + simulate::tableOf(rows, subject.hasPieces());
  if (std::any_of(rows.begin(), rows.end(), [](const simulate::Row& row) { return row.resolution > 0; })) {
    report.text +=
        "  Large runs: rates are computed at intervals, so times may be a little too long. --exact computes "
        "them at every change.\n";
  }
  if (options.links > 0) {
    report.json["links"] = linksJson(details, fabric, options.links);
    report.text += linksText(details, fabric, options.links);
  }
  if (options.criticalPath) {
    addPath(details, report);
  }
  std::vector<Finding> notes = loaded->notes;
  const std::vector<Finding> more = subject.notes();
  notes.insert(notes.end(), more.begin(), more.end());
  report.json["findings"] = toJson(notes);
  report.text += lines(notes);
  report.json["seconds"] = seconds.count();

  const int root = loaded->schedule && loaded->schedule->root    ? *loaded->schedule->root
                   : loaded->steps && loaded->steps->goal.root() ? *loaded->steps->goal.root()
                                                                 : -1;
  const auto printed = [](std::string content) {
    return [content = std::move(content)](std::ostream& out) -> Outcome {
      out << content;
      return Done{};
    };
  };
  const std::pair<const std::string&, std::function<Outcome(std::ostream&)>> outputs[] = {
      {options.trace,
       [&](std::ostream& out) -> Outcome {
         simulate::writeTrace(out, details);
         return Done{};
       }},
      {options.csv, printed(simulate::csvOf(rows))},
      {options.ncclTests, printed(simulate::ncclTestsTextOf(rows, subject.collectiveName(), root))}};
  const char* const keys[] = {"trace", "csv", "nccl_tests"};
  const char* const labels[] = {"  trace       ", "  CSV         ", "  nccl-tests  "};
  for (std::size_t i = 0; i < std::size(outputs); ++i) {
    if (const Outcome written = write(outputs[i].first, keys[i], labels[i], outputs[i].second, json, options, report);
        !written) {
      return written.error();
    }
  }
  return report;
}

}  // namespace

void addSimulate(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(
      app, invocation, "simulate", "How long a schedule or a program takes, size by size",
      "  coppice-cli simulate allgather.forest.json\n"
      "  coppice-cli simulate allgather.forest.json -b 1M -e 1G -f 4 --best-pieces\n"
      "  coppice-cli simulate alltoall.xml --fabric cluster.fabric.json -b 64M --critical-path --trace run.json\n"
      "  coppice-cli simulate allgather.forest.json -b 1G --link-latency 0 --message-overhead 0 --json\n"
      "\n"
      "Messages share links max-min fairly. Each costs its sender the message overhead, and arrives one sum of the\n"
      "latencies of its links after its last byte. Times are in microseconds; algbw and busbw as nccl-tests has them.");
  auto options = std::make_shared<Options>();
  sub.add_option("file", options->file,
                 "Schedule (.forest.json, .schedule.json), MSCCL XML or tree XML; - for standard input")
      ->required();
  sub.add_option("--fabric", options->fabric,
                 "The fabric: needed for XML; for a schedule another one than its own, with the same nodes");
  sub.add_option("--runtime", options->runtime, "MSCCL XML: whose rules: " + program::runtimeNames())
      ->capture_default_str();
  sub.add_option("-b,--begin", options->first, "Smallest size of the whole collective, as in 64K or 1M (default 1M)");
  sub.add_option("-e,--end", options->last, "Largest size (default: that of -b; without -b, 1G)");
  sub.add_option("-f,--factor", options->factor, "Each size is this many times the one before")->capture_default_str();
  sub.add_option("--pieces", options->pieces,
                 "Pieces that every tree is cut into (default: by size, the minimum time on a chain)")
      ->check(CLI::Range(1, 1 << 20))
      ->excludes(sub.add_flag("--best-pieces", options->bestPieces,
                              "Search the number of pieces with the minimum time at each size"));
  sub.add_option("--link-latency", options->linkLatency,
                 "Latency of every link in us (default: what the fabric states; else GPU-GPU 0.7, GPU-switch 0.35, "
                 "GPU-NIC 1, NIC-switch 1.25, NIC-NIC 2.5, switch-switch 0.5)")
      ->check(CLI::Range(0.0, 1e6));
  sub.add_option("--message-overhead", options->messageOverhead,
                 "What each message costs its sender in us (default: 1, over a NIC 2)")
      ->check(CLI::Range(0.0, 1e6));
  sub.add_option("--connection-rate", options->connectionRate,
                 "Maximum rate of one connection or threadblock in GB/s (default: that of its links)")
      ->check(CLI::Range(0.0, 1e6));
  sub.add_option("--window", options->window,
                 "Schedules: messages that a connection may have under way before the first has arrived")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  sub.add_flag("--exact", options->exact, "Compute rates at every change, also in large runs");
  sub.add_flag("--critical-path", options->criticalPath,
               "Show the chain of messages that the time of the last size consists of");
  sub.add_option("--links", options->links, "Show this many of the busiest links of the last size")
      ->check(CLI::Range(0, 1 << 20));
  sub.add_option("--trace", options->trace, "Write the messages of the last size for chrome://tracing or Perfetto");
  sub.add_option("--csv", options->csv, "Write the sizes as CSV");
  sub.add_option("--nccl-tests", options->ncclTests, "Write the sizes as the table of nccl-tests");
  sub.callback([options, &invocation] {
    invocation.action = [options, &invocation](const Progress& progress) {
      return run(*options, invocation.json, progress);
    };
  });
}

}  // namespace coppice::cli
