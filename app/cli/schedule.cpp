// SPDX-License-Identifier: Apache-2.0
#include "schedule.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "base/one_line.hpp"
#include "base/shell.hpp"
#include "base/text.hpp"
#include "input.hpp"
#include "io/collective_file.hpp"
#include "io/files.hpp"
#include "io/forest_json.hpp"
#include "io/schedule_json.hpp"
#include "io/transfer_csv.hpp"
#include "judged_text.hpp"
#include "text.hpp"
#include "workflow/convert_schedule.hpp"
#include "workflow/make_schedule.hpp"

namespace coppice::cli {
namespace {

enum class TableFormat { json, csv, forest };

struct ScheduleOptions {
  workflow::ConvertSource source;
  std::string output;
  std::string to = {};
};

Result<TableFormat> targetFormat(const ScheduleOptions& options) {
  if (options.to == "forest" || (options.to.empty() && options.output.ends_with(".forest.json"))) {
    return TableFormat::forest;
  }
  if (options.to == "json" || (options.to.empty() && options.output.ends_with(".json"))) {
    return TableFormat::json;
  }
  if (options.to == "csv" || (options.to.empty() && options.output.ends_with(".csv"))) {
    return TableFormat::csv;
  }
  return options.to.empty()
             ? Error{ErrorCode::badUsage, inputName(options.output) + ": the suffix does not identify the format",
                     "end the name in .schedule.json, .forest.json or .csv, or add --to json, forest or csv"}
             : workflow::optionError("to", inQuotes(options.to) + " is not a format", "use json, forest or csv");
}

const char* nameOf(TableFormat format) {
  return format == TableFormat::csv ? "csv" : format == TableFormat::forest ? "forest" : "schedule";
}

Outcome writeConverted(std::ostream& out, TableFormat format, const workflow::ConvertedSchedule& converted,
                       const std::optional<schedule::Schedule>& trees, const Progress& progress) {
  const fabric::Fabric& fabric = converted.loaded.fabric;
  const fabric::Description* description = &converted.loaded.description;
  switch (format) {
    case TableFormat::csv:
      return io::writeTransferCsv(out, converted.schedule, fabric, progress);
    case TableFormat::forest:
      return io::writeForestJson(out, *trees, fabric, description, progress, converted.origin);
    case TableFormat::json:
      return io::writeScheduleJson(out, converted.schedule, fabric, description, progress, converted.origin);
  }
  return Done{};
}

/// What a table of transfers is read again with, since it holds neither fabric nor collective.
std::string readAgain(const schedule::CollectiveTable& goal, const std::string& shards) {
  const bool isCustom = goal.collective() == Collective::custom;
  const bool needsShards = isCustom || !goal.amounts().empty();
  std::string text = "--fabric FABRIC" + (isCustom ? "" : " -c " + std::string(toString(goal.collective())));
  if (goal.root()) {
    text += " --root " + std::to_string(*goal.root());
  }
  return text + (!needsShards ? "" : " --goal " + (shards.empty() ? "TABLE" : shellWord(shards)));
}

/// Files that hold their collective give it away as a table of shards.
Outcome writeGoal(const ScheduleOptions& options, const schedule::CollectiveTable& goal, Report& report) {
  const Outcome saved =
      io::saveFile(options.source.goal, [&](std::ostream& out) { return io::writeCollectiveTable(out, goal); });
  if (saved) {
    report.json["goal"] = options.source.goal;
    report.text += "  shards      " + oneLine(options.source.goal) + "\n";
  }
  return saved;
}

/// The names of files must differ where one would be lost.
Outcome checkNames(const ScheduleOptions& options) {
  if (Outcome kept = keepInput(options.source.file, options.output); !kept) {
    return kept;
  }
  std::error_code ignored;
  for (const std::string& other : {options.source.file, options.output}) {
    const std::string& goal = options.source.goal;
    if (!goal.empty() && (goal == other || std::filesystem::equivalent(goal, other, ignored))) {
      return workflow::optionError("goal", inQuotes(goal) + " is also the input or the output", "give it another name");
    }
  }
  return Done{};
}

Result<Report> run(const ScheduleOptions& options, bool json, const Progress& progress) {
  const auto format = targetFormat(options);
  if (!format) {
    return format.error();
  }
  if (const Outcome checked = checkNames(options); !checked) {
    return checked.error();
  }
  const auto converted = workflow::readForConversion(options.source, progress);
  if (!converted) {
    return converted.error();
  }
  const schedule::StepSchedule& steps = converted->schedule;
  Report report;
  report.json = {{"ok", true},
                 {"from", converted->from},
                 {"to", nameOf(*format)},
                 {"fabric", converted->loaded.fabric.name()},
                 {"collective", toString(steps.goal.collective())},
                 {"ranks", converted->loaded.fabric.gpuCount()},
                 {"transfers", steps.transfers.size()},
                 {"form", steps.isSynchronous ? "steps" : "order"},
                 {"steps", steps.stepCount},
                 {"algbw", toFraction(steps.algbw)},
                 {"algbw_GBps", toGBps(steps.algbw)}};
  report.text = oneLine(inputName(options.source.file)) + ": " + std::string(toString(steps.goal.collective())) +
                " on " + named(converted->loaded.fabric.name()) + ", " +
                counted(static_cast<std::int64_t>(steps.transfers.size()), "transfer") + ", " + gigabytes(steps.algbw) +
                ", verified\n";
  describeOrigin(converted->origin, report);
  if (!options.source.goal.empty() && (converted->from == "forest" || converted->from == "schedule")) {
    if (const Outcome written = writeGoal(options, steps.goal, report); !written) {
      return written.error();
    }
  }
  std::optional<schedule::Schedule> trees;
  if (*format == TableFormat::forest) {
    auto made = workflow::treesOf(converted->loaded.fabric, steps, progress);
    if (!made) {
      return made.error();
    }
    describeTrees(*made, report);
    trees = *std::move(made);
  }
  const Outcome delivered = deliver(
      options.output, [&](std::ostream& out) { return writeConverted(out, *format, *converted, trees, progress); },
      *format == TableFormat::csv ? "  table       " : "  schedule    ", json, report);
  if (!delivered) {
    return delivered.error();
  }
  if (*format == TableFormat::csv) {
    const std::string again = readAgain(steps.goal, options.source.goal);
    const bool isLost = again.ends_with(" TABLE");
    report.json["read_again"] = again;
    report.text += "  read again  schedule convert " + (options.output == "-" ? "-" : shellWord(options.output)) +
                   " NEW.schedule.json " + oneLine(again) + "\n";
    report.text += isLost ? "              (the table does not hold the shares; add --goal FILE to write them)\n" : "";
  }
  return report;
}

void addConvertSchedule(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(
      app, invocation, "convert", "Convert a schedule: forest to transfers, transfers to trees, to a table and back",
      "  coppice-cli schedule convert allgather.forest.json allgather.schedule.json --pieces 4\n"
      "  coppice-cli schedule convert bfb.schedule.json bfb.forest.json\n"
      "  coppice-cli schedule convert allgather.schedule.json allgather.csv\n"
      "  coppice-cli schedule convert mine.csv mine.schedule.json --fabric cluster.fabric.json -c alltoall\n"
      "  coppice-cli schedule convert teccl.json teccl.schedule.json --fabric cluster.fabric.json -c allgather\n"
      "  coppice-cli schedule convert halo.schedule.json halo.csv --goal halo-shards.csv\n"
      "  coppice-cli schedule convert halo.csv halo.schedule.json --fabric box.fabric.json --goal halo-shards.csv\n"
      "\n"
      "What is read is verified before anything is written. The table has one transfer a row:\n"
      "step,shard,begin,end,from,to,reduces,route; the manual describes the columns. Results of TE-CCL\n"
      "(JSON) and TACOS (CSV) are read in the same way.");
  auto options = std::make_shared<ScheduleOptions>();
  workflow::ConvertSource& source = options->source;
  source.standardInput = source.fabric.standardInput = readStandardInput;
  source.demand.collective.clear();
  sub.add_option("input", source.file,
                 "Schedule (.forest.json, .schedule.json) or table of transfers; - for standard input")
      ->required();
  sub.add_option("output", options->output,
                 "File to write: .schedule.json, .forest.json or .csv; - for standard output")
      ->required();
  sub.add_option("--to", options->to, "Format: json, forest or csv; default: detected from the suffix of the output");
  sub.add_option("--pieces", source.pieces,
                 "Forests, and schedules without steps: cut every tree or transfer into this many pieces")
      ->check(CLI::Range(1, 1 << 20));
  sub.add_option("--fabric", source.fabric.source, "Tables: the fabric, in any format that the other subcommands read");
  sub.add_option("-c,--collective", source.demand.collective,
                 "Tables: allgather, reduce_scatter, allreduce, broadcast, reduce, alltoall, gather or scatter");
  sub.add_option("--root", source.demand.root, "Tables: the root of a rooted collective, by id or rank");
  sub.add_option("--amounts", source.demand.amounts,
                 "Tables of allgather, reduce_scatter, gather and scatter: relative data of each rank");
  sub.add_option("--goal", source.goal,
                 "The table of shards (who has, who needs, how much): read with a table of transfers, whose collective "
                 "it is (with -c, its shares); written with other files");
  sub.callback([options, &invocation] {
    invocation.action = [options, &invocation](const Progress& progress) {
      return run(*options, invocation.json, progress);
    };
  });
}

}  // namespace

void addSchedule(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = *app.add_subcommand("schedule", "Work with schedule files");
  sub.require_subcommand(1);
  addConvertSchedule(sub, invocation);
}

}  // namespace coppice::cli
