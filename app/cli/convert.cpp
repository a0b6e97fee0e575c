// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "base/text.hpp"
#include "base/units.hpp"
#include "command.hpp"
#include "input.hpp"
#include "io/fabric_formats.hpp"
#include "text.hpp"

namespace coppice::cli {
namespace {

struct Options {
  FabricOptions fabric;
  std::string to;
  std::string output;
};

/// By the ending of the output; JSON for standard output.
Result<io::FabricFormat> targetFormat(const Options& options) {
  if (options.to.empty()) {
    auto told = options.output == "-" ? io::FabricFormat::json : io::detectFormat(options.output, {});
    if (!told) {
      return Error{ErrorCode::badUsage, inputName(options.output) + ": the suffix does not identify the format",
                   "end the name in .fabric.json, .dot or .adj.json, or add --to json, dot or adjacency"};
    }
    return told;
  }
  const auto format = io::parseFabricFormat(options.to);
  if (!format) {
    return Error{ErrorCode::badUsage, "--to: " + inQuotes(options.to) + " is not a format",
                 "use json, dot or adjacency"};
  }
  return *format;
}

/// Formats without bandwidths of their own would carry any text on.
Outcome checkBandwidths(const fabric::Description& description, const std::string& source) {
  for (std::size_t i = 0; i < description.links.size(); ++i) {
    const fabric::LinkDescription& link = description.links[i];
    if (const auto bandwidth = Bandwidth::parse(link.bandwidth); !bandwidth) {
      return Error{
          ErrorCode::badInput, bandwidth.error().message, bandwidth.error().fix,
          Place{.file = inputName(source),
                .element = "link " + std::to_string(i) + " " + inQuotes(link.src) + " -> " + inQuotes(link.dst)}};
    }
  }
  return Done{};
}

Result<Report> run(const Options& options, bool json, const Progress& progress) {
  const auto loaded = loadDescription(options.fabric, progress);
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
                                "  coppice-cli convert cluster.fabric.json -o cluster.adj.json");
  auto options = std::make_shared<Options>();
  addFabricOptions(sub, options->fabric);
  sub.add_option("--to", options->to, "Format: json, dot or adjacency; default: detected from the suffix of -o");
  sub.add_option("-o,--output", options->output, "File to write; - for standard output")->required();
  sub.callback([options, &invocation] {
    invocation.action = [options, &invocation](const Progress& progress) {
      return run(*options, invocation.json, progress);
    };
  });
}

}  // namespace coppice::cli
