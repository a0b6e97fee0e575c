// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <tuple>

#include "base/text.hpp"
#include "base/units.hpp"
#include "command.hpp"
#include "input.hpp"
#include "io/fabric_formats.hpp"
#include "text.hpp"
#include "workflow/sketch_convert.hpp"

namespace coppice::cli {
namespace {

struct ConvertOptions {
  FabricOptions fabric;
  std::string to;
  std::string output;
  // TACCL's files, as the source or, with a fabric, as the target.
  workflow::SketchFiles sketch;
  int nodes = 0;
  bool keepsFractions = false;
  std::int64_t chunkBytes = 1 << 20;
  int chunksPerGpu = 1;
};

/// TACCL's files or, where these are what is written, any other source.
Result<LoadedDescription> loadSource(const ConvertOptions& options, const Progress& progress) {
  if (!options.fabric.source.empty()) {
    return loadDescription(options.fabric, progress);
  }
  if (options.sketch.sketch.empty() || options.sketch.topology.empty()) {
    return Error{ErrorCode::badUsage, "there is nothing to convert",
                 "name a fabric, or TACCL's files with --sketch FILE --topology FILE"};
  }
  const auto import = workflow::readImportOptions(options.fabric.import);
  if (!import) {
    return import.error();
  }
  sketch::ModelOptions model;
  model.truncates = !options.keepsFractions;
  model.type = import->taccl.type;
  if (options.nodes > 0) {
    model.nodes = options.nodes;
  }
  auto made = workflow::fabricOfFiles(options.sketch, model, import->taccl.timeUnit);
  if (!made) {
    return made.error();
  }
  return LoadedDescription{std::move(made->description), std::move(made->loaded.made.findings), "taccl"};
}

/// A fabric as a sketch on a topology.
Result<Report> writeSketch(const ConvertOptions& options, bool json, const Progress& progress) {
  if (!options.output.empty() || !options.to.empty()) {
    return Error{ErrorCode::badUsage, "a fabric is converted to one format at a time",
                 "leave -o and --to out where --sketch and --topology name what to write"};
  }
  if (options.sketch.sketch.empty() || options.sketch.topology.empty()) {
    return Error{ErrorCode::badUsage, "TACCL takes two files", "name both with --sketch FILE --topology FILE"};
  }
  if (options.sketch.sketch == options.sketch.topology) {
    return Error{ErrorCode::badUsage, "sketch and topology are the same file",
                 "give --sketch and --topology different names"};
  }
  const auto loaded = loadDescription(options.fabric, progress);
  if (!loaded) {
    return loaded.error();
  }
  for (const std::string& file : {options.sketch.sketch, options.sketch.topology}) {
    if (const Outcome kept = keepInput(options.fabric.source, file); !kept) {
      return kept.error();
    }
  }
  const auto texts = workflow::filesOfFabric(loaded->description,
                                             {.chunkBytes = options.chunkBytes, .chunksPerGpu = options.chunksPerGpu});
  if (!texts) {
    return texts.error();
  }
  Report report;
  report.json = {{"ok", true},    {"fabric", loaded->description.name}, {"from", loaded->format},
                 {"to", "taccl"}, {"original", texts->isOriginal},      {"findings", toJson(texts->findings)}};
  report.text = named(loaded->description.name) + ": " + loaded->format + " to taccl, " +
                (texts->isOriginal ? "the files that it was created from" : "with a proposed sketch") + "\n";
  for (const auto& [file, text, label] : {std::tuple(options.sketch.sketch, texts->sketch, "  sketch      "),
                                          std::tuple(options.sketch.topology, texts->topology, "  topology    ")}) {
    if (const Outcome written = deliver(file, text, label, json, report); !written) {
      return written.error();
    }
  }
  report.text += lines(texts->findings);
  return report;
}

/// By the ending of the output; JSON for standard output.
Result<io::FabricFormat> targetFormat(const ConvertOptions& options) {
  if (options.to.empty()) {
    auto told = options.output == "-" ? io::FabricFormat::json : io::detectFormat(options.output, {});
    if (!told) {
      return Error{ErrorCode::badUsage, inputName(options.output) + ": the suffix does not identify the format",
                   "end the name in .fabric.json, .dot, .adj.json or .topo, or add --to " + io::writtenFormatNames()};
    }
    return told;
  }
  const auto format = io::parseFabricFormat(options.to);
  if (!format) {
    return Error{ErrorCode::badUsage, "--to: " + inQuotes(options.to) + " is not a format",
                 "use " + io::writtenFormatNames()};
  }
  return *format;
}

/// Formats without bandwidths of their own would carry any text on.
Outcome checkBandwidths(const fabric::Description& description, const std::string& source) {
  for (std::size_t i = 0; i < description.links.size(); ++i) {
    const fabric::LinkDescription& link = description.links[i];
    if (const auto bandwidth = Bandwidth::parse(link.bandwidth); !bandwidth) {
      return Error{ErrorCode::badInput, bandwidth.error().message, bandwidth.error().fix,
                   Place{.file = inputName(source),
                         .element = ElementPart{RefKind::link, static_cast<std::int64_t>(i), link.src, link.dst}}};
    }
  }
  return Done{};
}

Result<Report> run(const ConvertOptions& options, bool json, const Progress& progress) {
  const bool hasSketch = !options.sketch.sketch.empty() || !options.sketch.topology.empty();
  if (hasSketch && !options.fabric.source.empty()) {
    return writeSketch(options, json, progress);
  }
  if (options.output.empty()) {
    return Error{ErrorCode::badUsage, "there is no file to write", "name it with -o",
                 Place{.element = {RefKind::option, "--output"}}};
  }
  const auto loaded = loadSource(options, progress);
  if (!loaded) {
    return loaded.error();
  }
  if (Outcome checked = checkBandwidths(loaded->description, options.fabric.source); !checked) {
    return checked.error();
  }
  const auto format = targetFormat(options);
  if (!format) {
    return format.error();
  }
  io::DotHelperOptions helper;
  helper.stop = progress.stop;
  const auto text = io::exportFabric(loaded->description, *format, helper);
  if (!text) {
    return text.error();
  }
  Report report;
  report.json = {{"ok", true},
                 {"fabric", loaded->description.name},
                 {"from", loaded->format},
                 {"to", io::toString(*format)},
                 {"nodes", loaded->description.nodes.size()},
                 {"links", loaded->description.links.size()},
                 {"findings", toJson(loaded->findings)}};
  report.text = named(loaded->description.name) + ": " +
                counted(static_cast<std::int64_t>(loaded->description.nodes.size()), "node") + ", " +
                counted(static_cast<std::int64_t>(loaded->description.links.size()), "link") + ", " + loaded->format +
                " to " + std::string(io::toString(*format)) + "\n";
  const Outcome delivered = deliver(options.output, *text, "  fabric      ", json, report);
  if (!delivered) {
    return delivered.error();
  }
  report.text += lines(loaded->findings);
  return report;
}

}  // namespace

void addConvert(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(app, invocation, "convert", "Convert a fabric to another format",
                                "  coppice-cli convert cluster.dot -o cluster.fabric.json\n"
                                "  coppice-cli convert topo.xml --boxes 4 --scale-out rails -o cluster.fabric.json\n"
                                "  nvidia-smi topo -m | coppice-cli convert - --from nvidia-smi -o box.fabric.json\n"
                                "  coppice-cli convert cluster.fabric.json -o cluster.adj.json\n"
                                "  coppice-cli convert --sketch s.json --topology t.json -o cluster.fabric.json\n"
                                "  coppice-cli convert cluster.fabric.json --sketch s.json --topology t.json");
  auto options = std::make_shared<ConvertOptions>();
  addFabricOptions(sub, options->fabric);
  sub.get_option("fabric")->required(false);
  sub.add_option("--to", options->to, "Format: " + io::writtenFormatNames() + "; default: detected from the suffix of -o");
  sub.add_option("-o,--output", options->output, "File to write; - for standard output");
  const std::string group = "OPTIONS for TACCL's files";
  sub.add_option("--sketch", options->sketch.sketch, "Sketch to read or, with a fabric, to write")->group(group);
  sub.add_option("--topology", options->sketch.topology, "Topology to read or, with a fabric, to write")->group(group);
  sub.add_option("--nodes", options->nodes, "Read: number of nodes, instead of the sketch's")
      ->check(CLI::Range(1, 4096))
      ->group(group);
  sub.add_flag("--no-truncate", options->keepsFractions, "Read: keep fractions that the official program truncates")
      ->group(group);
  sub.add_option("--chunk-bytes", options->chunkBytes, "Write: bytes of a chunk, for a proposed sketch")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->group(group);
  sub.add_option("--chunks-per-gpu", options->chunksPerGpu, "Write: chunks of a GPU, for a proposed sketch")
      ->capture_default_str()
      ->check(CLI::Range(1, 64))
      ->group(group);
  sub.callback([options, &invocation] {
    invocation.action = [options, &invocation](const Progress& progress) {
      return run(*options, invocation.json, progress);
    };
  });
}

}  // namespace coppice::cli
