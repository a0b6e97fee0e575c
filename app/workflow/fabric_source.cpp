// SPDX-License-Identifier: Apache-2.0
#include "workflow/fabric_source.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "base/comma_list.hpp"
#include "base/text.hpp"
#include "io/fabric_formats.hpp"
#include "io/forest_json.hpp"
#include "io/schedule_json.hpp"
#include "presets/presets.hpp"
#include "workflow/options.hpp"

namespace coppice::workflow {
namespace {

/// Items between separators at parenthesis depth 0, so that ids such as (0, 'GPU', 1) stay whole; blanks around an item
/// are dropped.
std::vector<std::string> splitList(std::string_view text) {
  std::vector<std::string> items;
  std::string item;
  int depth = 0;
  const auto finish = [&] {
    const std::size_t first = item.find_first_not_of(' ');
    const std::size_t last = item.find_last_not_of(' ');
    items.push_back(first == std::string::npos ? std::string() : item.substr(first, last - first + 1));
    item.clear();
  };
  for (const char c : text) {
    depth += c == '(' ? 1 : (c == ')' ? -1 : 0);
    if (c == ',' && depth <= 0) {
      finish();
    } else {
      item += c;
    }
  }
  finish();
  return items;
}

Result<LoadedDescription> makePreset(std::string_view text) {
  std::vector<std::string> items = splitList(text);
  const std::string name = items.front();
  // A comma inside a value ("gpus=0-7,16") does not begin a new argument.
  std::vector<std::string> arguments;
  for (std::size_t i = 1; i < items.size(); ++i) {
    if (items[i].find('=') == std::string::npos && !arguments.empty()) {
      arguments.back() += "," + items[i];
    } else {
      arguments.push_back(items[i]);
    }
  }
  const auto parsed = parseArguments(arguments);
  if (!parsed) {
    return parsed.error();
  }
  auto made = presets::make(name, *parsed);
  if (!made) {
    return made.error();
  }
  return LoadedDescription{*std::move(made), {}, "preset"};
}

/// Ranks as the fabric would number its GPUs: the stated ones, or the order of the file.
std::vector<std::string> gpuIdsByRank(const fabric::Description& description) {
  std::vector<const fabric::NodeDescription*> gpus;
  for (const fabric::NodeDescription& node : description.nodes) {
    if (node.kind == "gpu") {
      gpus.push_back(&node);
    }
  }
  std::stable_sort(gpus.begin(), gpus.end(), [](const auto* a, const auto* b) {
    constexpr int kLast = std::numeric_limits<int>::max();
    return a->rank.value_or(kLast) < b->rank.value_or(kLast);
  });
  std::vector<std::string> ids;
  ids.reserve(gpus.size());
  for (const auto* gpu : gpus) {
    ids.push_back(gpu->id);
  }
  return ids;
}

bool isNativeName(std::string_view path) {
  constexpr std::string_view kEnd = ".fabric.json";
  return path.size() >= kEnd.size() && path.substr(path.size() - kEnd.size()) == kEnd;
}

Result<LoadedDescription> readDescription(const FabricSource& source, const Progress& progress) {
  if (source.source.rfind(kPresetPrefix, 0) == 0) {
    return makePreset(std::string_view(source.source).substr(kPresetPrefix.size()));
  }
  if (source.from.empty() && source.source.ends_with(".forest.json")) {
    const auto forest = readText(source.source, source.standardInput, io::kMaxForestBytes);
    if (!forest) {
      return forest.error();
    }
    auto loaded = io::loadForest(*forest, inputName(source.source));
    if (!loaded) {
      return loaded.error();
    }
    return LoadedDescription{std::move(loaded->description), {}, "forest"};
  }
  if (source.from.empty() && source.source.ends_with(".schedule.json")) {
    const auto schedule = readText(source.source, source.standardInput, io::kMaxScheduleBytes);
    if (!schedule) {
      return schedule.error();
    }
    auto loaded = io::loadSchedule(*schedule, inputName(source.source));
    if (!loaded) {
      return loaded.error();
    }
    return LoadedDescription{std::move(loaded->description), {}, "schedule"};
  }
  const auto text = readText(source.source, source.standardInput);
  if (!text) {
    return text.error();
  }
  std::optional<io::FabricFormat> format;
  if (source.from.empty() && isNativeName(source.source)) {
    // Whatever is in it, it was meant to be the native format: say what is wrong with it as that.
    format = io::FabricFormat::json;
  } else if (source.from.empty()) {
    const auto detected = io::detectFormat(source.source == "-" ? std::string() : source.source, *text);
    if (!detected) {
      Error error = detected.error();
      if (error.fix.starts_with("name the format")) {
        error.fix = "name the format with --from: " + io::formatNames();
      }
      return error;
    }
    format = *detected;
  } else {
    format = io::parseFabricFormat(source.from);
    if (!format) {
      return optionError("from", inQuotes(source.from) + " is not a format", "use " + io::formatNames());
    }
  }
  auto import = readImportOptions(source.import);
  if (!import) {
    return import.error();
  }
  import->dotHelper.stop = progress.stop;
  auto imported = io::importFabric(*text, *format, inputName(source.source), *import);
  if (!imported) {
    return imported.error();
  }
  return LoadedDescription{std::move(imported->description), std::move(imported->findings),
                           std::string(io::toString(*format))};
}

}  // namespace

std::string inputName(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

Result<std::string> readText(const std::string& path, const StandardInput& standardInput, std::size_t maxBytes) {
  if (path != "-") {
    return io::readFile(path, maxBytes);
  }
  if (!standardInput) {
    return Error{ErrorCode::badUsage, "standard input cannot be read here", "name a file"};
  }
  return standardInput(maxBytes);
}

Result<io::ImportOptions> readImportOptions(const io::ImportAnswers& answers) {
  if (answers.completeFrom.empty()) {
    return io::importOptions(answers);
  }
  const auto figures = presets::serverFigures(answers.completeFrom);
  if (!figures) {
    const std::string names = commaList(presetsOfServers());
    return optionError("complete-from",
                       inQuotes(answers.completeFrom) + " is no preset of a server with an NVSwitch and a NIC per GPU",
                       "use one of " + names);
  }
  io::ImportAnswers completed = answers;
  if (completed.nvlinkBandwidth.empty()) {
    completed.nvlinkBandwidth = figures->nvlink;
  }
  if (completed.nicBandwidth.empty()) {
    completed.nicBandwidth = figures->nic;
  }
  return io::importOptions(completed);
}

std::vector<std::string> presetsOfServers() {
  std::vector<std::string> names;
  for (const presets::Preset& preset : presets::catalogue()) {
    if (presets::serverFigures(preset.name)) {
      names.push_back(preset.name);
    }
  }
  return names;
}

Result<std::map<std::string, std::string>> parseArguments(const std::vector<std::string>& items) {
  std::map<std::string, std::string> arguments;
  for (const std::string& item : items) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{ErrorCode::badUsage, inQuotes(item) + " is not a parameter", "write key=value, for example boxes=4"};
    }
    if (!arguments.emplace(item.substr(0, equals), item.substr(equals + 1)).second) {
      return Error{ErrorCode::badUsage, "the parameter " + inQuotes(item.substr(0, equals)) + " is given twice",
                   "give it once"};
    }
  }
  return arguments;
}

Result<LoadedDescription> loadDescription(const FabricSource& source, const Progress& progress) {
  auto loaded = readDescription(source, progress);
  if (!loaded) {
    Error error = loaded.error();
    if (error.code == ErrorCode::limit) {
      // Too large a file is an unusable input, not a negative answer about a fabric.
      error.code = ErrorCode::badInput;
    }
    return error;
  }
  if (!source.gpus.empty()) {
    const auto ids = parseGpuList(loaded->description, source.gpus);
    if (!ids) {
      return ids.error();
    }
    auto kept = fabric::subset(loaded->description, *ids);
    if (!kept) {
      return kept.error();
    }
    loaded->description = *std::move(kept);
  }
  return loaded;
}

Result<std::vector<std::string>> parseGpuList(const fabric::Description& description, const std::string& text,
                                              const std::string& option) {
  const std::vector<std::string> ids = gpuIdsByRank(description);
  const auto count = static_cast<std::int64_t>(ids.size());
  std::vector<std::string> chosen;
  for (const std::string& item : splitList(text)) {
    if (std::find(ids.begin(), ids.end(), item) != ids.end()) {
      chosen.push_back(item);
      continue;
    }
    const std::size_t dash = item.find('-');
    const auto first = parseInteger(item.substr(0, dash));
    const auto last = dash == std::string::npos ? first : parseInteger(item.substr(dash + 1));
    if (!first || !last) {
      return optionError(option, "there is no GPU " + inQuotes(item),
                         "name GPUs by id, or ranks from 0 to " + std::to_string(count - 1) + ", for example 0-7,12");
    }
    if (*first > *last || *last >= count) {
      return optionError(option, inQuotes(item) + " is not a range of ranks",
                         "ranks go from 0 to " + std::to_string(count - 1));
    }
    chosen.insert(chosen.end(), ids.begin() + *first, ids.begin() + *last + 1);
  }
  return chosen;
}

Result<LoadedFabric> loadFabric(const FabricSource& source, const Progress& progress) {
  auto loaded = loadDescription(source, progress);
  if (!loaded) {
    return loaded.error();
  }
  auto fabric = fabric::Fabric::build(loaded->description);
  if (!fabric) {
    Error error = fabric.error();
    if (error.where.file.empty()) {
      error.where.file = source.source;
    }
    const std::vector<Finding> findings = fabric::validate(loaded->description);
    const auto faults = std::count_if(findings.begin(), findings.end(),
                                      [](const Finding& finding) { return finding.severity == Severity::error; });
    if (faults > 1) {
      error.fix += "; coppice-cli check lists all " + std::to_string(faults) + " faults";
    }
    return error;
  }
  return LoadedFabric{std::move(loaded->description), *std::move(fabric), std::move(loaded->findings)};
}

}  // namespace coppice::workflow
