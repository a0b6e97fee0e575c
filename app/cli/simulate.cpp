// SPDX-License-Identifier: Apache-2.0
#include "simulate.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "base/formatted.hpp"
#include "base/one_line.hpp"
#include "base/text.hpp"
#include "input.hpp"
#include "measured_text.hpp"
#include "play_options.hpp"
#include "program/program.hpp"
#include "simulate/report.hpp"
#include "simulate/sweep.hpp"
#include "text.hpp"
#include "workflow/playable.hpp"

namespace coppice::cli {
namespace {

struct SimulateOptions {
  std::string file;
  std::string fabric = {};
  std::string runtime = "msccl";
  SizeOptions sizes = {};
  std::optional<std::uint32_t> pieces = {};
  bool bestPieces = false;
  ModelOptions model = {};
  bool noBarriers = false;
  bool exact = false;
  bool criticalPath = false;
  int links = 0;
  std::string trace = {};
  std::string csv = {};
  std::string ncclTests = {};
  std::string measured = {};
};

Result<workflow::Playable> load(const SimulateOptions& options, const simulate::Model& model,
                                const Progress& progress) {
  const auto runtime = program::parseRuntime(options.runtime, "--runtime");
  if (!runtime) {
    return runtime.error();
  }
  auto loaded =
      workflow::loadPlayable({.file = options.file,
                              .fabric = options.fabric,
                              .runtime = *runtime,
                              .standardInput = readStandardInput,
                              .model = model,
                              .barriers = options.noBarriers ? simulate::Barriers::none : simulate::Barriers::steps,
                              .profile = options.model.profile},
                             progress);
  if (!loaded) {
    return loaded;
  }
  const auto* steps = loaded->schedule ? std::get_if<schedule::StepSchedule>(&*loaded->schedule) : nullptr;
  if (options.noBarriers && !(steps && steps->isSynchronous)) {
    return workflow::optionError("no-barriers", "only a schedule in steps has barriers", "leave it out");
  }
  if ((options.pieces || options.bestPieces) && !loaded->subject->hasPieces()) {
    return Error{ErrorCode::badUsage,
                 loaded->program ? "a program moves fixed chunks" : "the pieces of a step schedule are its transfers",
                 "leave --pieces and --best-pieces out"};
  }
  return loaded;
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
                     {"busy_us", load.busy.count()},
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
            withPlaces(load.utilization * 100, 1) + " % of its bandwidth used, busy " +
            withPlaces(load.busy.count(), 2) + " us, " + withPlaces(load.bytes, 0) + " bytes\n";
  }
  return text;
}

/// The critical path as JSON and as text.
void addPath(const simulate::Details& details, Report& report) {
  Json parts = Json::array();
  std::string text = "\ncritical path of the last size: each message waits for the one above\n";
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
                     {"ready_us", when.ready.count()},
                     {"overhead_us", part.overhead.count()},
                     {"sending_us", part.sending.count()},
                     {"sharing_us", part.sharing.count()},
                     {"latency_us", part.latency.count()},
                     {"adding_us", part.adding.count()}});
    text += "  " + withPlaces(when.ready.count(), 2) + " us  " + simulate::nameOf(job, when.message, when.repeat) +
            (part.messages > 1 ? " and " + std::to_string(part.messages - 1) + " more" : "") + ", after " +
            std::string(toString(part.first.waitedFor)) + ": overhead " + withPlaces(part.overhead.count(), 2) +
            ", sending " + withPlaces(part.sending.count(), 2) + ", sharing " + withPlaces(part.sharing.count(), 2) +
            ", latency " + withPlaces(part.latency.count(), 2) + " us" +
            (part.adding > Microseconds(0) ? ", adding " + withPlaces(part.adding.count(), 2) + " us" : "") + "\n";
  }
  report.json["critical_path"] = std::move(parts);
  report.text += text;
}

Outcome writeOutput(const std::string& output, const char* key, const char* label,
                    const std::function<Outcome(std::ostream&)>& write, bool json, const SimulateOptions& options,
                    Report& report) {
  if (output.empty()) {
    return Done{};
  }
  for (const std::string& input : {options.file, options.fabric, options.measured, options.model.profile}) {
    if (const Outcome kept = keepInput(input, output); !kept) {
      return Error{kept.error().code, inQuotes(output) + " is the input file, which would be overwritten",
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

/// What the reader of a program found amiss is behind what its execution then meets.
Error causeOf(const workflow::Playable& playable, const Error& error) {
  const bool isOfProgram = error.code == ErrorCode::verification || error.code == ErrorCode::badInput;
  if (!isOfProgram || playable.notes.empty()) {
    return error;
  }
  const Finding& note = playable.notes.front();
  return {note.code, note.text, note.fix, note.where};
}

/// Every size simulated, and the details of the last one.
struct Simulated {
  std::vector<simulate::Row> rows;
  std::vector<std::vector<Microseconds>> ofGroups;  ///< by row, by group where several run at the same time
  simulate::Details details;
  double seconds = 0;
};

Result<Simulated> simulateAll(const SimulateOptions& options, const std::vector<std::int64_t>& sizes,
                              const workflow::Playable& loaded, const Progress& progress) {
  const auto started = std::chrono::steady_clock::now();
  Simulated all;
  for (const std::int64_t size : sizes) {
    simulate::SizeOptions one{.pieces = options.pieces};
    if (options.exact) {
      one.resolution = Microseconds(0);
    }
    if (options.bestPieces) {
      const auto best = simulate::bestPieces(*loaded.subject, size, simulate::kMaxDefaultPieces, progress);
      if (!best) {
        return best.error();
      }
      one.pieces = best->pieces;
    }
    one.record = size == sizes.back() && (options.criticalPath || !options.trace.empty());
    auto simulated = loaded.subject->simulate(size, one, progress);
    if (!simulated) {
      return causeOf(loaded, simulated.error());
    }
    all.rows.push_back(simulated->row);
    all.ofGroups.emplace_back();
    for (const workflow::PlayedGroup& group : loaded.groups) {
      all.ofGroups.back().push_back(group.timeIn(simulated->phases.front().run));
    }
    all.details = *std::move(simulated);
  }
  all.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return all;
}

Report headOf(const SimulateOptions& options, const workflow::Playable& loaded) {
  const fabric::Fabric& fabric = loaded.fabric();
  const std::string collective = loaded.subject->collectiveName();
  Report report;
  report.json["ok"] = true;
  report.json["kind"] = toString(loaded.kind);
  report.json["collective"] = collective;
  report.json["ranks"] = fabric.gpuCount();
  report.json["fabric"] = fabric.name();
  report.text = oneLine(inputName(options.file)) + ": " + collective + " on " + named(fabric.name()) + ", " +
                counted(fabric.gpuCount(), "GPU") + ", simulated\n";
  if (!loaded.groups.empty()) {
    Bandwidth rate = loaded.groups.front().algbw / loaded.groups.front().group.weight;
    for (const workflow::PlayedGroup& group : loaded.groups) {
      rate = std::min(rate, group.algbw / group.group.weight);
    }
    report.json["schedule_algbw"] = toFraction(rate);
    report.json["schedule_algbw_GBps"] = toGBps(rate);
    report.text += "  schedules   " + std::to_string(loaded.groups.size()) + " at the same time, " + gigabytes(rate) +
                   " of each where only bandwidth counts; sizes are of a group of weight 1\n";
  } else if (loaded.schedule) {
    const Bandwidth& algbw = algbwOf(*loaded.schedule);
    report.json["schedule_algbw"] = toFraction(algbw);
    report.json["schedule_algbw_GBps"] = toGBps(algbw);
    report.text += "  schedule    " + gigabytes(algbw) + " where only bandwidth counts\n";
  }
  return report;
}

void addRows(const std::vector<simulate::Row>& rows, bool hasPieces, Report& report) {
  Json list = Json::array();
  for (const simulate::Row& row : rows) {
    list.push_back({{"size", row.size},
                    {"time_us", row.time.count()},
                    {"algbw", row.algbw.gigabytesPerSecond()},
                    {"busbw", row.busbw.gigabytesPerSecond()},
                    {hasPieces ? "pieces" : "turns", row.pieces},
                    {"resolution_us", row.resolution.count()}});
  }
  report.json["rows"] = std::move(list);
  report.text += "\n" + simulate::tableOf(rows, hasPieces);
  if (std::ranges::any_of(rows, [](const simulate::Row& row) { return row.resolution > Microseconds(0); })) {
    report.text +=
        "  Large runs: rates are computed at intervals, so times may be a little too long. --exact computes "
        "them at every change.\n";
  }
}

/// When each of several groups is done: all in JSON, as text the last ones of the last size.
void addGroups(const Simulated& all, const workflow::Playable& loaded, Report& report) {
  constexpr std::size_t kMaxListed = 12;
  const auto speed = [&](std::size_t row, std::size_t group) {
    const double bytes = static_cast<double>(all.rows[row].size) * loaded.groups[group].group.weight.toDouble();
    return Throughput(bytes, all.ofGroups[row][group]);
  };
  for (std::size_t row = 0; row < all.rows.size(); ++row) {
    Json list = Json::array();
    for (std::size_t i = 0; i < loaded.groups.size(); ++i) {
      list.push_back({{"file", loaded.groups[i].file},
                      {"weight", loaded.groups[i].group.weight.toString()},
                      {"time_us", all.ofGroups[row][i].count()},
                      {"algbw", speed(row, i).gigabytesPerSecond()}});
    }
    report.json["rows"][row]["groups"] = std::move(list);
  }
  const std::size_t last = all.rows.size() - 1;
  std::vector<std::size_t> order(loaded.groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return all.ofGroups[last][a] > all.ofGroups[last][b]; });
  report.text += "\ngroups at the last size, the last to finish first\n";
  for (std::size_t i = 0; i < std::min(order.size(), kMaxListed); ++i) {
    const workflow::PlayedGroup& group = loaded.groups[order[i]];
    report.text += "  " + oneLine(group.file) + "  " + std::string(toString(group.group.collective)) + " of " +
                   counted(group.group.ranks.size(), "GPU") + ": " +
                   withPlaces(all.ofGroups[last][order[i]].count(), 2) + " us, " +
                   withPlaces(speed(last, order[i]).gigabytesPerSecond(), 2) + " GB/s\n";
  }
  if (order.size() > kMaxListed) {
    report.text += "  and " + std::to_string(order.size() - kMaxListed) + " more, the first after " +
                   withPlaces(all.ofGroups[last][order.back()].count(), 2) + " us\n";
  }
}

Outcome writeOutputs(const SimulateOptions& options, const Simulated& all, const workflow::Playable& loaded, bool json,
                     Report& report) {
  const int root = loaded.schedule ? rootOf(*loaded.schedule).value_or(-1) : -1;
  const auto printed = [](std::string content) {
    return [content = std::move(content)](std::ostream& out) -> Outcome {
      out << content;
      return Done{};
    };
  };
  const auto trace = [&](std::ostream& out) -> Outcome {
    simulate::writeTrace(out, all.details);
    return Done{};
  };
  if (Outcome written = writeOutput(options.trace, "trace", "  trace       ", trace, json, options, report); !written) {
    return written;
  }
  if (Outcome written =
          writeOutput(options.csv, "csv", "  CSV         ", printed(simulate::csvOf(all.rows)), json, options, report);
      !written) {
    return written;
  }
  return writeOutput(options.ncclTests, "nccl_tests", "  nccl-tests  ",
                     printed(simulate::ncclTestsTextOf(all.rows, loaded.subject->collectiveName(), root)), json,
                     options, report);
}

Result<Report> run(const SimulateOptions& options, bool json, const Progress& progress) {
  auto sizes = sizesOf(options.sizes);
  if (!sizes) {
    return sizes.error();
  }
  if ((options.trace == "-") + (options.csv == "-") + (options.ncclTests == "-") > 1) {
    return Error{ErrorCode::badUsage, "only one file can go to standard output", "give the others a name"};
  }
  const auto model = modelOf(options.model);
  if (!model) {
    return model.error();
  }
  const auto loaded = load(options, *model, progress);
  if (!loaded) {
    return loaded.error();
  }
  std::optional<workflow::MeasuredRun> measured;
  if (!options.measured.empty()) {
    auto read = loadMeasured(options.measured, *loaded);
    if (!read) {
      return read.error();
    }
    measured = *std::move(read);
    if (options.sizes.first.empty() && options.sizes.last.empty()) {
      sizes = sizesOf(*measured);
    }
  }
  const auto all = simulateAll(options, *sizes, *loaded, progress);
  if (!all) {
    return all.error();
  }

  Report report = headOf(options, *loaded);
  addRows(all->rows, loaded->subject->hasPieces(), report);
  if (!loaded->groups.empty()) {
    addGroups(*all, *loaded, report);
  }
  if (options.links > 0) {
    report.json["links"] = linksJson(all->details, loaded->fabric(), options.links);
    report.text += linksText(all->details, loaded->fabric(), options.links);
  }
  if (options.criticalPath) {
    addPath(all->details, report);
  }
  if (measured) {
    constexpr int kUsualParts = 10;
    const int parts = options.links > 0 ? options.links : kUsualParts;
    if (Outcome told = describeMeasured(*measured, *loaded, all->details.phases.front().job->model(), all->rows, parts,
                                        progress, report);
        !told) {
      return told.error();
    }
  }
  std::vector<Finding> notes = loaded->notes;
  const std::vector<Finding> more = loaded->subject->notes();
  notes.insert(notes.end(), more.begin(), more.end());
  report.json["findings"] = toJson(notes);
  report.text += lines(notes);
  report.json["seconds"] = all->seconds;
  if (const Outcome written = writeOutputs(options, *all, *loaded, json, report); !written) {
    return written.error();
  }
  return report;
}

}  // namespace

void addSimulate(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(
      app, invocation, "simulate", "Simulate a schedule or a program: time, algbw and busbw by size",
      "  coppice-cli simulate allgather.forest.json\n"
      "  coppice-cli simulate allgather.forest.json -b 1M -e 1G -f 4 --best-pieces\n"
      "  coppice-cli simulate alltoall.xml --fabric cluster.fabric.json -b 64M --critical-path --trace run.json\n"
      "  coppice-cli simulate allgather.forest.json -b 1G --link-latency 0 --message-overhead 0 --json\n"
      "  coppice-cli simulate allgather.forest.json --measured run.jsonl --links 5\n"
      "  coppice-cli simulate groups/ -b 1G\n"
      "\n"
      "Messages share links max-min fairly. Each costs its sender the message overhead, and arrives one sum of the\n"
      "latencies of its links after its last byte. Times are in microseconds; algbw and busbw are those of "
      "nccl-tests.");
  auto options = std::make_shared<SimulateOptions>();
  sub.add_option("file", options->file,
                 "Schedule (.forest.json, .schedule.json), MSCCL XML or tree XML; - for standard input; or a folder of "
                 "generate --groups, whose schedules run at the same time")
      ->required();
  sub.add_option("--fabric", options->fabric,
                 "The fabric: required for XML; for a schedule, one to use instead of its own, with the same nodes");
  sub.add_option("--runtime", options->runtime, "MSCCL XML: runtime whose rules apply: " + program::runtimeNames())
      ->capture_default_str();
  addSizeOptions(sub, options->sizes);
  sub.add_option("--pieces", options->pieces,
                 "Number of pieces of each tree, or of each transfer without steps (default: chosen for each size)")
      ->check(CLI::Range(1, 1 << 20))
      ->excludes(sub.add_flag("--best-pieces", options->bestPieces,
                              "Search the number of pieces with the minimum time at each size"));
  addModelOptions(sub, options->model);
  sub.add_option("--measured", options->measured,
                 "Compare with a run: the records of coppice-exec run --json --trace, or the table of an nccl-tests "
                 "program. Without -b, the sizes of the run are simulated");
  sub.add_flag(
      "--no-barriers", options->noBarriers,
      "Schedules in steps: a transfer starts when its sender has the data, not when the previous step has ended");
  sub.add_flag("--exact", options->exact, "Compute rates at every change, also in large runs");
  sub.add_flag("--critical-path", options->criticalPath,
               "Show the chain of messages that determines the time of the last size");
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
