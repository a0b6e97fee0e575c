// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <filesystem>
#include <memory>
#include <sstream>

#include "advice/fitting.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "fits_text.hpp"
#include "input.hpp"
#include "io/forest_json.hpp"
#include "io/tree_xml.hpp"
#include "judgement.hpp"
#include "lowering/lowering.hpp"
#include "lowering/protocol.hpp"
#include "schedule/tree_reader.hpp"
#include "sizes_text.hpp"
#include "text.hpp"
#include "verified.hpp"
#include "verify/judgement.hpp"

namespace coppice::cli {
namespace {

struct Options {
  std::string schedule;
  std::string format = "msccl";
  std::string output;
  std::string target = "msccl";
  std::string protocol = {};
  std::string channels = "compact";
  std::string minBytes = {};
  std::string maxBytes = {};
  std::string name = {};
  int instances = 1;
  bool inPlace = false;
  bool outOfPlace = false;
  bool noAdvice = false;
};

Result<lowering::Options> loweringOptions(const Options& options) {
  lowering::Options lowered;
  const auto runtime = program::parseRuntime(options.target, "--target");
  if (!runtime) {
    return runtime.error();
  }
  lowered.runtime = *runtime;
  for (const auto known : {program::Protocol::simple, program::Protocol::ll, program::Protocol::ll128}) {
    if (options.protocol == program::toString(known)) {
      lowered.protocol = known;
    }
  }
  if (!options.protocol.empty() && !lowered.protocol) {
    return Error{ErrorCode::badUsage, "--protocol: " + inQuotes(options.protocol) + " is not a protocol",
                 "use Simple, LL or LL128"};
  }
  if (options.channels == "compact") {
    lowered.channels = lowering::ChannelPolicy::compact;
  } else if (options.channels == "nic-planes") {
    lowered.channels = lowering::ChannelPolicy::nicPlanes;
  } else {
    return Error{ErrorCode::badUsage, "--channels: " + inQuotes(options.channels) + " is not a channel policy",
                 "use compact or nic-planes"};
  }
  for (const auto& [text, value, option] : {std::tuple{&options.minBytes, &lowered.minBytes, "--min-bytes"},
                                            std::tuple{&options.maxBytes, &lowered.maxBytes, "--max-bytes"}}) {
    if (!text->empty()) {
      const auto bytes = parseBytes(*text, option);
      if (!bytes) {
        return bytes.error();
      }
      *value = *bytes;
    }
  }
  if (lowered.minBytes >= lowered.maxBytes) {
    return Error{ErrorCode::badUsage, "--min-bytes is not below --max-bytes", "give a window that holds some size"};
  }
  lowered.inPlace = !options.outOfPlace;
  lowered.instances = options.instances;
  lowered.name = options.name;
  return lowered;
}

/// The trees have been verified; the text is checked by reading it back.
Result<std::string> treeXml(const io::LoadedForest& loaded, const Progress& progress) {
  std::ostringstream text;
  const Outcome written = io::writeTreeXml(text, loaded.schedule, loaded.fabric, progress);
  if (!written) {
    return written.error();
  }
  std::string xml = std::move(text).str();
  const auto read = io::readTreeXml(xml);
  if (!read) {
    return Error{ErrorCode::internal, "the tree file cannot be read back: " + read.error().message,
                 "nothing was written; please report this"};
  }
  return xml;
}

/// Beyond what readTreeXml takes: straight into the file, and not read back.
bool mustStream(const schedule::Schedule& schedule) {
  // A send takes about so many characters where ids are short.
  constexpr std::int64_t kBytesPerEdge = 64;
  const schedule::Forest& forest = schedule.broadcastForest ? *schedule.broadcastForest : *schedule.reduceForest;
  return schedule::sizeOf(forest).edges > static_cast<std::int64_t>(io::kMaxTreeXmlBytes) / kBytesPerEdge;
}

/// Where the file lies, as other processes would name it.
std::string hostPath(const std::string& output) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(output == "-" ? "program.xml" : output, error);
  return error ? output : path.lexically_normal().string();
}

Result<std::string> mscclXml(const Options& options, const io::LoadedForest& loaded, Report& report, Json& seconds,
                             std::optional<program::RunGuide>& guide, const Progress& progress) {
  const auto lowered = loweringOptions(options);
  if (!lowered) {
    return lowered.error();
  }
  auto started = std::chrono::steady_clock::now();
  const auto lap = [&] {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double> elapsed = now - started;
    started = now;
    return elapsed.count();
  };
  const auto program = lowering::lower(loaded.fabric, loaded.schedule, *lowered, progress);
  if (!program) {
    return program.error();
  }
  seconds["lowering"] = lap();
  std::string xml = program::writeMscclXml(*program, lowered->runtime);
  seconds["writing"] = lap();
  // Not the program but its text is judged, because the text is what the runtimes get.
  const auto judged = verify::judgeProgram(xml, inputName(options.output),
                                           {.runtime = lowered->runtime, .root = loaded.schedule.root.value_or(-1)},
                                           lowering::reachOf(loaded.fabric), progress);
  if (!judged) {
    return judged.error();
  }
  seconds["verifying_program"] = lap();
  if (!judged->ok) {
    const Finding* fault = firstFault(judged->findings);
    return Error{ErrorCode::verification,
                 "the program did not pass the verifier" + (fault == nullptr ? "" : ": " + fault->text),
                 "nothing was written; please report this schedule", fault == nullptr ? Place{} : fault->where};
  }
  report.json["target"] = program::toString(lowered->runtime);
  if (judged->verdict.root >= 0) {
    report.json["root"] = judged->verdict.root;
  }
  report.json["findings"] = toJson(judged->findings);
  describeProgram(judged->program, lowered->runtime, report);
  if (!lowered->protocol && judged->program.protocol != program::Protocol::simple) {
    report.text += "  protocol    " + std::string(program::toString(judged->program.protocol)) +
                   ", because Simple hangs in a " + std::string(toString(loaded.schedule.collective)) +
                   " between boxes\n";
  }
  const program::UsedSizes used = program::usedSizes(program::sizeFacts(judged->program), lowered->runtime);
  const Outcome advised = adviseSizes(loaded.fabric, loaded.schedule, options.schedule, lowered->instances, used,
                                      progress, report.json, report.text);
  if (!advised) {
    return advised.error();
  }
  seconds["advice"] = lap();
  report.text += "  verified    the schedule, and the program by symbolic execution on " +
                 counted(judged->verdict.ranks, "rank") + "\n";
  std::vector<Finding> warnings = judged->findings;
  std::erase_if(warnings, [](const Finding& finding) { return finding.severity == Severity::note; });
  for (Finding& warning : warnings) {
    warning.where.file.clear();
  }
  report.text += lines(warnings);
  program::Program rooted = judged->program;
  rooted.root = judged->verdict.root;
  guide = program::runGuide(rooted, lowered->runtime, hostPath(options.output));
  return xml;
}

Result<Report> run(const Options& options, bool json, const Progress& progress) {
  if (options.format != "msccl" && options.format != "trees") {
    return Error{ErrorCode::badUsage, "--format: " + inQuotes(options.format) + " is not a format",
                 "use msccl or trees"};
  }
  if (const Outcome kept = keepInput(options.schedule, options.output); !kept) {
    return kept.error();
  }
  auto text = readText(options.schedule, io::kMaxForestBytes);
  if (!text) {
    return text.error();
  }
  const auto loaded = io::loadForest(*text, inputName(options.schedule));
  if (!loaded) {
    return loaded.error();
  }
  text->clear();
  text->shrink_to_fit();
  const auto started = std::chrono::steady_clock::now();
  const auto verdict = requireVerified(loaded->fabric, loaded->schedule, progress);
  if (!verdict) {
    return verdict.error();
  }
  const std::chrono::duration<double> verifying = std::chrono::steady_clock::now() - started;
  Json seconds = {{"verifying_schedule", verifying.count()}};

  Report report;
  report.json = {{"ok", true},
                 {"format", options.format},
                 {"fabric", loaded->fabric.name()},
                 {"collective", toString(loaded->schedule.collective)},
                 {"ranks", loaded->fabric.gpuCount()},
                 {"algbw", loaded->schedule.algbw.toString()},
                 {"algbw_GBps", loaded->schedule.algbw.toDouble()},
                 {"verified", true}};
  report.text = std::string(toString(loaded->schedule.collective)) + " " + gigabytes(loaded->schedule.algbw) + " on " +
                named(loaded->fabric.name()) + " as " +
                (options.format == "msccl" ? "MSCCL XML for " + options.target : "ForestColl tree XML") + "\n";
  if (options.format == "trees" && mustStream(loaded->schedule)) {
    report.json["read_back"] = false;
    report.json["seconds"] = seconds;
    report.text += "  verified    the schedule; the file is too large to be read back\n";
    const Outcome streamed = deliver(
        options.output,
        [&](std::ostream& out) { return io::writeTreeXml(out, loaded->schedule, loaded->fabric, progress); },
        "  file        ", json, report);
    if (!streamed) {
      return streamed.error();
    }
    return report;
  }
  std::optional<program::RunGuide> guide;
  auto written = options.format == "msccl" ? mscclXml(options, *loaded, report, seconds, guide, progress)
                                           : treeXml(*loaded, progress);
  if (!written) {
    const auto lowered = loweringOptions(options);
    if (written.error().code != ErrorCode::limit || options.format != "msccl" || options.noAdvice || !lowered) {
      return written.error();
    }
    const auto fits =
        advice::whatFits(loaded->fabric, advice::requestOf(loaded->schedule), loaded->schedule, *lowered, progress);
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
      app, invocation, "export", "Turn a schedule into an MSCCL program or ForestColl tree XML, verified",
      "  coppice-cli export allgather.forest.json --format msccl -o allgather.xml\n"
      "  coppice-cli export ar.forest.json --format msccl --target msccl-executor-nccl --instances 2 -o ar.xml\n"
      "  coppice-cli export rs.forest.json --format msccl --out-of-place --protocol LL --max-bytes 1MiB -o rs.xml\n"
      "  coppice-cli export allgather.forest.json --format trees -o trees.xml");
  auto options = std::make_shared<Options>();
  sub.add_option("schedule", options->schedule, "Schedule file (.forest.json); - for standard input")->required();
  sub.add_option("--format", options->format, "msccl or trees")->capture_default_str();
  sub.add_option("-o,--output", options->output, "File to write; - for standard output")->required();
  sub.add_option("--target", options->target, program::runtimeNames())->capture_default_str();
  sub.add_option("--protocol", options->protocol,
                 "Simple, LL or LL128; without it, Simple, or LL where a broadcast or reduce goes between boxes");
  sub.add_option("--instances", options->instances, "Independent copies, each moving its share of every chunk")
      ->capture_default_str();
  sub.add_option("--channels", options->channels,
                 "compact, or nic-planes: odd and even NIC planes on their own channels")
      ->capture_default_str();
  sub.add_option("--min-bytes", options->minBytes, "Smallest size of the whole collective, as in 64KiB");
  sub.add_option("--max-bytes", options->maxBytes, "Largest size of the whole collective, as in 1GiB");
  auto* inPlace = sub.add_flag("--in-place", options->inPlace, "The buffers are one (the default)");
  sub.add_flag("--out-of-place", options->outOfPlace, "The buffers differ; own slices are copied")->excludes(inPlace);
  sub.add_option("--name", options->name, "Name of the algorithm inside the file");
  sub.add_flag("--no-advice", options->noAdvice,
               "Where the program does not fit, do not try which trees and peers would");
  sub.callback([options, &invocation] {
    invocation.action = [options, &invocation](const Progress& progress) {
      return run(*options, invocation.json, progress);
    };
  });
}

}  // namespace coppice::cli
