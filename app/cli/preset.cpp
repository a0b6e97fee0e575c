// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"
#include "presets/presets.hpp"

#include <algorithm>
#include <map>
#include <memory>

#include "command.hpp"
#include "input.hpp"
#include "io/fabric_json.hpp"
#include "text.hpp"

namespace coppice::cli {
namespace {

struct PresetOptions {
  std::string name;
  std::vector<std::string> arguments = {};
  std::string output = {};
};

Json presetJson(const presets::Preset& preset) {
  Json parameters = Json::array();
  for (const presets::Parameter& parameter : preset.parameters) {
    parameters.push_back({{"name", parameter.name},
                          {"description", parameter.description},
                          {"default", parameter.defaultText},
                          {"allowed", parameter.allowed}});
  }
  return {{"name", preset.name},
          {"title", preset.title},
          {"description", preset.description},
          {"sources", preset.sources},
          {"parameters", parameters}};
}

Report listPresets() {
  Report report;
  report.json = {{"ok", true}, {"presets", Json::array()}};
  std::size_t width = 0;
  for (const presets::Preset& preset : presets::catalogue()) {
    width = std::max(width, preset.name.size());
  }
  for (const presets::Preset& preset : presets::catalogue()) {
    report.json["presets"].push_back(presetJson(preset));
    report.text += preset.name + std::string(width + 2 - preset.name.size(), ' ') + preset.title + "\n";
  }
  report.text += "\nParameters and sources of one: coppice-cli preset list NAME\n";
  return report;
}

Report listOne(const presets::Preset& preset) {
  Report report;
  report.json = presetJson(preset);
  report.json["ok"] = true;
  report.text = preset.name + ": " + preset.title + "\n" + preset.description + "\nParameters:\n";
  for (const presets::Parameter& parameter : preset.parameters) {
    report.text += "  " + parameter.name + "=" + parameter.defaultText + "  " + parameter.description;
    if (!parameter.allowed.empty()) {
      report.text += " (" + parameter.allowed + ")";
    }
    report.text += "\n";
  }
  report.text += "Sources: " + preset.sources + "\n";
  return report;
}

Result<Report> run(const PresetOptions& options, bool json) {
  if (options.name == "list") {
    if (options.arguments.empty()) {
      return listPresets();
    }
    const presets::Preset* preset = presets::find(options.arguments.front());
    if (preset == nullptr || options.arguments.size() > 1) {
      return Error{ErrorCode::badUsage, inQuotes(options.arguments.back()) + " is not a preset",
                   "see coppice-cli preset list"};
    }
    return listOne(*preset);
  }
  const auto arguments = workflow::parseArguments(options.arguments);
  if (!arguments) {
    return arguments.error();
  }
  const auto made = presets::make(options.name, *arguments);
  if (!made) {
    return made.error();
  }
  const auto gpus = std::count_if(made->nodes.begin(), made->nodes.end(),
                                  [](const fabric::NodeDescription& node) { return node.kind == "gpu"; });
  const std::string text = io::writeFabricJson(*made);
  Report report;
  report.json = {{"ok", true},
                 {"fabric", made->name},
                 {"gpus", gpus},
                 {"nodes", made->nodes.size()},
                 {"links", made->links.size()}};
  report.text = made->name + ": " + counted(gpus, "GPU") + ", " +
                counted(static_cast<std::int64_t>(made->nodes.size()), "node") + ", " +
                counted(static_cast<std::int64_t>(made->links.size()), "link") + "\n";
  if (options.output.empty() && json) {
    // One JSON object on standard output has room for the fabric itself.
    report.json["description"] = Json::parse(text);
    return report;
  }
  const Outcome delivered =
      deliver(options.output.empty() ? "-" : options.output, text, "  fabric      ", json, report);
  if (!delivered) {
    return delivered.error();
  }
  return report;
}

}  // namespace

void addPreset(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(app, invocation, "preset", "List known machines and families of fabrics, or write one",
                                "  coppice-cli preset list\n"
                                "  coppice-cli preset list dgx-a100\n"
                                "  coppice-cli preset dgx-a100 boxes=4 -o 4x-dgx-a100.fabric.json\n"
                                "  coppice-cli preset torus dims=4x4x2 bandwidth=50");
  auto options = std::make_shared<PresetOptions>();
  sub.add_option("name", options->name, "Name of the preset, or \"list\"")->required();
  sub.add_option("parameters", options->arguments, "key=value …");
  sub.add_option("-o,--output", options->output, "File to write; default, or \"-\": standard output");
  sub.callback([options, &invocation] {
    invocation.action = [options, &invocation](const Progress&) { return run(*options, invocation.json); };
  });
}

}  // namespace coppice::cli
