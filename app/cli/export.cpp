// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <memory>
#include <optional>

#include "advice/fitting.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "export_nccl.hpp"
#include "facts_text.hpp"
#include "fits_text.hpp"
#include "input.hpp"
#include "io/forest_json.hpp"
#include "io/schedule_json.hpp"
#include "io/tree_xml.hpp"
#include "judgement.hpp"
#include "lowering/protocol.hpp"
#include "sizes_text.hpp"
#include "text.hpp"
#include "words.hpp"
#include "workflow/clock.hpp"
#include "workflow/export_chakra.hpp"
#include "workflow/export_program.hpp"
#include "workflow/make_schedule.hpp"
#include "workflow/schedule_file.hpp"
#include "workflow/target.hpp"

namespace coppice::cli {
namespace {

enum class Format { msccl, trees, chakra };

struct ExportOptions {
  std::string schedule;
  Format format = Format::msccl;
  std::string output;
  lowering::Options lowering = {};
  bool outOfPlace = false;
  bool asksInPlace = false;
  bool noAdvice = false;
  int target = 0;  ///< one of the destinations, or kNcclTarget and what is behind it
  workflow::Destination destination = {};
  ExportNcclOptions nccl = {};
  std::int64_t size = workflow::kChakraBytes;
};

/// Behind the destinations.
constexpr int kNcclTarget = 1000;

/// Where the file is, as other processes would name it.
std::string hostPath(const std::string& output) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(output == "-" ? "program.xml" : output, error);
  return error ? output : path.lexically_normal().string();
}

using Loaded = workflow::ReadSchedule;

/// A schedule of any kind from its file.
Result<Loaded> load(const ExportOptions& options) {
  const auto text = readText(options.schedule, io::kMaxForestBytes);
  if (!text) {
    return text.error();
  }
  return workflow::readSchedule(*text, inputName(options.schedule));
}

/// Errors: verification with the first fault.
Outcome require(const Loaded& loaded, const Progress& progress) {
  const Outcome verified = workflow::requireVerified(loaded.fabric, loaded.schedule, progress);
  if (!verified && verified.error().code == ErrorCode::verification) {
    Error error = verified.error();
    error.fix = "nothing was written; generate the schedule again";
    return error;
  }
  return verified;
}

/// Where a sweep over powers of two does not meet the chunks.
Outcome advise(const Loaded& loaded, const ExportOptions& options, const program::UsedSizes& used,
               const Progress& progress, Report& report) {
  if (const auto* forest = std::get_if<schedule::Schedule>(&loaded.schedule)) {
    return adviseSizes(loaded.fabric, *forest, options.schedule, options.lowering.instances, used, progress,
                       report.json, report.text);
  }
  warnOfSizes(used, report.json, report.text);
  return Done{};
}

Result<std::string> mscclXml(const ExportOptions& options, const Loaded& loaded, Report& report, Json& seconds,
                             std::optional<program::RunGuide>& guide, const Progress& progress) {
  const lowering::Options& lowered = options.lowering;
  auto exported =
      workflow::requireProgram(loaded.fabric, loaded.schedule, lowered, inputName(options.output), progress);
  if (!exported) {
    return exported.error();
  }
  seconds["lowering"] = exported->lowering;
  seconds["writing"] = exported->writing;
  seconds["verifying_program"] = exported->verifying;
  const verify::ProgramJudgement& judged = exported->judgement;
  report.json["target"] = program::toString(lowered.runtime);
  if (judged.verdict.root >= 0) {
    report.json["root"] = judged.verdict.root;
  }
  report.json["findings"] = toJson(judged.findings);
  describeProgram(judged.program, lowered.runtime, report);
  if (!lowered.protocol && judged.program.protocol != program::Protocol::simple) {
    report.text += "  protocol    " + std::string(program::toString(judged.program.protocol)) +
                   ", because Simple hangs in a " + std::string(toString(collectiveOf(loaded.schedule))) +
                   " between boxes\n";
  }
  workflow::Clock clock;
  const Outcome advised = advise(loaded, options, exported->used, progress, report);
  if (!advised) {
    return advised.error();
  }
  seconds["advice"] = clock.lap();
  report.text += "  verified    the schedule, and the program by symbolic execution on " +
                 counted(judged.verdict.ranks, "rank") + "\n";
  std::vector<Finding> warnings = judged.findings;
  std::erase_if(warnings, [](const Finding& finding) { return finding.severity == Severity::note; });
  for (Finding& warning : warnings) {
    warning.where.file.clear();
  }
  report.text += lines(warnings);
  program::Program rooted = judged.program;
  rooted.root = judged.verdict.root;
  guide = program::runGuide(rooted, lowered.runtime, hostPath(options.output));
  return std::move(exported->xml);
}

/// For a runtime with a format of its own.
Result<std::string> targetFile(const ExportOptions& options, const Loaded& loaded, Report& report, Json& seconds,
                               const Progress& progress) {
  auto exported = options.destination.target->write(loaded.fabric, loaded.schedule, options.lowering,
                                                    inputName(options.output), progress);
  if (!exported) {
    return exported.error();
  }
  seconds["lowering"] = exported->lowering;
  seconds["verifying_plan"] = exported->verifying;
  addFacts(exported->file.facts, report);
  report.text += "  verified    the schedule, and the plan " + exported->file.proof + "\n";
  report.json["notes"] = exported->file.notes;
  for (const std::string& note : exported->file.notes) {
    report.text += "  note        " + note + "\n";
  }
  report.json["findings"] = toJson(exported->file.findings);
  report.text += lines(exported->file.findings);
  return std::move(exported->text);
}

/// One file a rank, so that there is no standard output.
Result<Report> writeChakra(const ExportOptions& options, const Loaded& loaded, const Progress& progress) {
  if (options.output == "-") {
    return Error{ErrorCode::badUsage, "Chakra has a trace for each rank, which one stream cannot hold",
                 "give -o PREFIX; the files are PREFIX.0.et, PREFIX.1.et, ..."};
  }
  const auto made = workflow::exportChakra(loaded.fabric, loaded.schedule, options.size, options.output, progress);
  if (!made) {
    return made.error();
  }
  Report report;
  report.json = {{"ok", true},
                 {"format", "chakra"},
                 {"fabric", loaded.fabric.name()},
                 {"collective", toString(collectiveOf(loaded.schedule))},
                 {"ranks", loaded.fabric.gpuCount()},
                 {"size", made->bytes},
                 {"chunks", made->chunks},
                 {"bytes", made->written},
                 {"files", made->files},
                 {"verified", true}};
  report.text = std::string(toString(collectiveOf(loaded.schedule))) + " of " + std::to_string(made->bytes) +
                " bytes on " + named(loaded.fabric.name()) + " as Chakra execution traces\n" + "  chunks      " +
                std::to_string(made->chunks) + " of " + std::to_string(made->bytes / made->chunks) + " bytes\n" +
                "  verified    the schedule, and the program that the traces are of\n" + "  files       " +
                made->files.front() + " to " + made->files.back() + "\n";
  return report;
}

Result<Report> run(const ExportOptions& options, bool json, const Progress& progress) {
  if (options.lowering.minBytes >= options.lowering.maxBytes) {
    return Error{ErrorCode::badUsage, "--min-bytes must be below --max-bytes", "give a range that contains a size"};
  }
  if (const Outcome kept = keepInput(options.schedule, options.output); !kept) {
    return kept.error();
  }
  const auto loaded = load(options);
  if (!loaded) {
    return loaded.error();
  }
  const auto* forest = std::get_if<schedule::Schedule>(&loaded->schedule);
  if (forest == nullptr && options.format == Format::trees) {
    return Error{ErrorCode::badUsage, "a step schedule has no trees", "leave --format trees out"};
  }
  if (forest != nullptr && options.lowering.chunks > 0) {
    return Error{ErrorCode::badUsage, "--chunks applies to step schedules, and this schedule has trees",
                 "generate it with fewer trees (--k)"};
  }
  if (options.asksInPlace && !lowering::hasInPlace(collectiveOf(loaded->schedule))) {
    return Error{ErrorCode::badUsage, "an alltoall in place overwrites what it still has to send",
                 "leave --in-place out"};
  }
  workflow::Clock clock;
  if (const Outcome verified = require(*loaded, progress); !verified) {
    return verified.error();
  }
  if (options.format == Format::chakra) {
    return writeChakra(options, *loaded, progress);
  }
  Json seconds = {{"verifying_schedule", clock.lap()}};
  const workflow::Target* target = options.format == Format::msccl ? options.destination.target : nullptr;
  const bool isPlan = target != nullptr;
  const bool isMsccl = options.format == Format::msccl && !isPlan;

  Report report;
  report.json = {{"ok", true},
                 {"format", isPlan    ? target->format
                            : isMsccl ? "msccl"
                                      : "trees"},
                 {"fabric", loaded->fabric.name()},
                 {"collective", toString(collectiveOf(loaded->schedule))},
                 {"ranks", loaded->fabric.gpuCount()},
                 {"algbw", toFraction(algbwOf(loaded->schedule))},
                 {"algbw_GBps", toGBps(algbwOf(loaded->schedule))},
                 {"verified", true}};
  report.text = std::string(toString(collectiveOf(loaded->schedule))) + " " + gigabytes(algbwOf(loaded->schedule)) +
                " on " + named(loaded->fabric.name()) + " as " +
                (isPlan    ? std::string(target->what)
                 : isMsccl ? "MSCCL XML for " + std::string(program::toString(options.lowering.runtime))
                           : "ForestColl tree XML") +
                "\n";
  if (!isMsccl && !isPlan && workflow::mustStreamTrees(*forest)) {
    report.json["read_back"] = false;
    report.json["seconds"] = seconds;
    report.text += "  verified    the schedule; the file is too large to be read back\n";
    const Outcome streamed = deliver(
        options.output, [&](std::ostream& out) { return io::writeTreeXml(out, *forest, loaded->fabric, progress); },
        "  file        ", json, report);
    if (!streamed) {
      return streamed.error();
    }
    return report;
  }
  std::optional<program::RunGuide> guide;
  auto written = isPlan    ? targetFile(options, *loaded, report, seconds, progress)
                 : isMsccl ? mscclXml(options, *loaded, report, seconds, guide, progress)
                           : workflow::exportTrees(loaded->fabric, *forest, progress);
  if (!written) {
    if (written.error().code != ErrorCode::limit || !(isMsccl || isPlan) || options.noAdvice || forest == nullptr) {
      return written.error();
    }
    const auto fits = advice::whatFits(loaded->fabric, advice::requestOf(*forest), *forest, options.lowering, progress);
    if (!fits) {
      return fits.error();
    }
    return doesNotFit(loaded->fabric, written.error(), *fits);
  }
  report.json["bytes"] = written->size();
  report.json["seconds"] = seconds;
  const Outcome delivered = deliver(options.output, *std::move(written), "  file        ", json, report);
  if (!delivered) {
    return delivered.error();
  }
  if (guide) {
    describeGuide(*guide, report.json, report.text);
  }
  return report;
}

}  // namespace

void addExport(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(
      app, invocation, "export",
      "Export a schedule as an MSCCL program, an MSCCL++ plan, ForestColl tree XML or Chakra traces, verified",
      "  coppice-cli export allgather.forest.json --format msccl -o allgather.xml\n"
      "  coppice-cli export ar.forest.json --format msccl --target msccl-executor-nccl --instances 2 -o ar.xml\n"
      "  coppice-cli export rs.forest.json --format msccl --out-of-place --protocol LL --max-bytes 1MiB -o rs.xml\n"
      "  coppice-cli export alltoall.schedule.json --target rccl -o alltoall.xml\n"
      "  coppice-cli export ar.forest.json --target mscclpp -o ar.plan.json\n"
      "  coppice-cli export h100.forest.json --target mscclpp-nvls --instances 8 -o h100.plan.json\n"
      "  coppice-cli export allgather.forest.json --format trees -o trees.xml\n"
      "  coppice-cli export allgather.forest.json --format chakra --size 64MiB -o allgather\n"
      "  coppice-cli export preset:dgx1-v100,boxes=1 --target nccl-graph --compute-capability 70 -o graph.xml\n"
      "  coppice-cli export cluster.fabric.json --target nccl-bundle --measured log.* all_reduce.txt -o bundle");
  auto options = std::make_shared<ExportOptions>();
  sub.add_option("schedule", options->schedule,
                 "Schedule file (.forest.json or .schedule.json), or a fabric for nccl-graph and nccl-tuner; - for "
                 "standard input")
      ->required();
  addWord<Format>(sub, "--format", options->format,
                  {{"msccl", Format::msccl}, {"trees", Format::trees}, {"chakra", Format::chakra}},
                  "msccl, trees, or chakra: execution traces for ASTRA-sim, one a rank")
      ->default_str("msccl");
  sub.add_option("-o,--output", options->output, "File to write; - for standard output; of chakra, the files' prefix")
      ->required();
  addBytes(sub, "--size", options->size, "Chakra: bytes of the whole collective, for example 64MiB");
  lowering::Options& lowered = options->lowering;
  Words<int> targets;
  const auto destinations = workflow::destinations();
  for (std::size_t i = 0; i < destinations.size(); ++i) {
    targets.emplace_back(destinations[i].id(), static_cast<int>(i));
  }
  targets.emplace_back("nccl-graph", kNcclTarget + static_cast<int>(NcclFile::graph));
  targets.emplace_back("nccl-tuner", kNcclTarget + static_cast<int>(NcclFile::tuner));
  targets.emplace_back("nccl-bundle", kNcclTarget + static_cast<int>(NcclFile::bundle));
  addWord<int>(
      sub, "--target", options->target, targets,
      program::runtimeNames() + ", which read MSCCL XML (rccl: ROCm 6.2 to 7.12); " + workflow::targetHelp() +
          ". Of a fabric, for stock NCCL: nccl-graph (the best rings and trees that NCCL_GRAPH_FILE can hold), "
          "nccl-tuner (the CSV of its example tuner plug-in) or nccl-bundle (a folder with both, scripts that "
          "run nccl-tests and PyTorch without and with them, and what to look for)")
      ->default_str("msccl");
  sub.add_option("--compute-capability", options->nccl.computeCapability,
                 "nccl-...: 70 is V100, 80 A100, 90 H100, 100 B200; default: by the names and switches of the fabric")
      ->check(CLI::Range(50, 200));
  sub.add_option("--measured", options->nccl.measured,
                 "nccl-tuner and nccl-bundle: logs and output of nccl-tests, to which the bands are fitted");
  using program::Protocol;
  addWord<Protocol>(sub, "--protocol", lowered.protocol,
                    {{"Simple", Protocol::simple}, {"LL", Protocol::ll}, {"LL128", Protocol::ll128}},
                    "Simple, LL or LL128; default: Simple, or LL where a broadcast or reduce crosses boxes");
  sub.add_option("--instances", lowered.instances, "Independent copies, each moving its share of every chunk")
      ->capture_default_str();
  using lowering::ChannelPolicy;
  addWord<ChannelPolicy>(sub, "--channels", lowered.channels,
                         {{"compact", ChannelPolicy::compact}, {"nic-planes", ChannelPolicy::nicPlanes}},
                         "compact, or nic-planes: odd and even NIC planes on their own channels")
      ->default_str("compact");
  sub.add_option(
         "--multiprocessors", lowered.multiprocessors,
         "Threadblocks that a GPU runs at once; default: what the names of the fabric tell (V100 80, H100 132), "
         "else 108, as of an A100")
      ->check(CLI::Range(1, 1 << 20));
  addBytes(sub, "--min-bytes", lowered.minBytes, "Smallest size of the whole collective, for example 64KiB");
  addBytes(sub, "--max-bytes", lowered.maxBytes, "Largest size of the whole collective, for example 1GiB");
  auto* inPlace = sub.add_flag("--in-place", options->asksInPlace,
                               "Use one buffer for input and output (the default; not available for alltoall)");
  sub.add_flag("--out-of-place", options->outOfPlace, "Use separate buffers; own slices are copied")->excludes(inPlace);
  sub.add_option("--chunks", lowered.chunks,
                 "Step schedules: chunks of each shard; ends of pieces move to the nearest chunk boundary")
      ->check(CLI::PositiveNumber);
  sub.add_option("--name", lowered.name, "Name of the algorithm inside the file");
  sub.add_flag("--no-advice", options->noAdvice,
               "Do not search for trees and peers that fit when the program does not");
  sub.callback([options, &invocation] {
    if (options->target >= kNcclTarget) {
      options->nccl.source = options->schedule;
      options->nccl.output = options->output;
      invocation.action = [options, &invocation](const Progress& progress) {
        return exportNccl(options->nccl, static_cast<NcclFile>(options->target - kNcclTarget), invocation.json,
                          progress);
      };
      return;
    }
    options->destination = workflow::destinations()[static_cast<std::size_t>(options->target)];
    options->lowering.runtime = options->destination.runtime;
    options->lowering.inPlace = !options->outOfPlace;
    invocation.action = [options, &invocation](const Progress& progress) {
      return run(*options, invocation.json, progress);
    };
  });
}

}  // namespace coppice::cli
