// SPDX-License-Identifier: Apache-2.0
#include "input.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/checked.hpp"
#include "base/one_line.hpp"
#include "base/text.hpp"
#include "forestcoll/amounts.hpp"
#include "io/fabric_formats.hpp"
#include "io/files.hpp"
#include "io/forest_json.hpp"
#include "presets/presets.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace coppice::cli {
namespace {

constexpr std::string_view kPresetPrefix = "preset:";

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

std::optional<std::int64_t> parseInteger(std::string_view text) {
  const auto value = Rational::parse(text);
  if (!value || !value->isInteger() || text.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  return value->numerator();
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

/// Ids, ranks and ranges of ranks ("0-7"); an id wins over a rank of the same text.
Result<std::vector<std::string>> parseGpuList(const fabric::Description& description, const std::string& text) {
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
      return Error{ErrorCode::badUsage, "--gpus: there is no GPU " + inQuotes(item),
                   "name GPUs by id, or ranks from 0 to " + std::to_string(count - 1) + " as in 0-7,12"};
    }
    if (*first > *last || *last >= count) {
      return Error{ErrorCode::badUsage, "--gpus: " + inQuotes(item) + " is not a range of ranks",
                   "ranks go from 0 to " + std::to_string(count - 1)};
    }
    chosen.insert(chosen.end(), ids.begin() + *first, ids.begin() + *last + 1);
  }
  return chosen;
}

/// Options that say what a foreign format leaves open.
Result<io::ImportOptions> importOptions(const FabricOptions& options, const Progress& progress) {
  auto import = io::importOptions(options.import);
  if (!import) {
    Error error = import.error();
    error.message = "--" + std::exchange(error.where.element, {}) + ": " + error.message;
    return error;
  }
  import->dotHelper.stop = progress.stop;
  return import;
}

bool isNativeName(std::string_view path) {
  constexpr std::string_view kEnd = ".fabric.json";
  return path.size() >= kEnd.size() && path.substr(path.size() - kEnd.size()) == kEnd;
}

Result<LoadedDescription> readDescription(const FabricOptions& options, const Progress& progress) {
  if (options.source.rfind(kPresetPrefix, 0) == 0) {
    return makePreset(std::string_view(options.source).substr(kPresetPrefix.size()));
  }
  if (options.from.empty() && options.source.ends_with(".forest.json")) {
    const auto forest = readText(options.source, io::kMaxForestBytes);
    if (!forest) {
      return forest.error();
    }
    auto loaded = io::loadForest(*forest, inputName(options.source));
    if (!loaded) {
      return loaded.error();
    }
    return LoadedDescription{std::move(loaded->description), {}, "forest"};
  }
  const auto text = readText(options.source);
  if (!text) {
    return text.error();
  }
  std::optional<io::FabricFormat> format;
  if (options.from.empty() && isNativeName(options.source)) {
    // Whatever is in it, it was meant to be the native format: say what is wrong with it as that.
    format = io::FabricFormat::json;
  } else if (options.from.empty()) {
    const auto detected = io::detectFormat(options.source == "-" ? std::string() : options.source, *text);
    if (!detected) {
      Error error = detected.error();
      error.fix = "say which it is with --from: json, dot, adjacency, nccl-xml, nvidia-smi or trees";
      return error;
    }
    format = *detected;
  } else {
    format = io::parseFabricFormat(options.from);
    if (!format) {
      return Error{ErrorCode::badUsage, "--from: " + inQuotes(options.from) + " is not a format",
                   "use json, dot, adjacency, nccl-xml, nvidia-smi or trees"};
    }
  }
  const auto import = importOptions(options, progress);
  if (!import) {
    return import.error();
  }
  auto imported = io::importFabric(*text, *format, inputName(options.source), *import);
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

Result<std::string> readText(const std::string& path, std::size_t maxBytes) {
  if (path != "-") {
    return io::readFile(path, maxBytes);
  }
  const BlockingRead mayWait;
  std::string text;
  std::array<char, 65536> buffer{};
  std::size_t got = 0;
  while ((got = std::fread(buffer.data(), 1, buffer.size(), stdin)) > 0) {
    text.append(buffer.data(), got);
    if (text.size() > maxBytes) {
      return Error{ErrorCode::badInput, "standard input is longer than " + std::to_string(maxBytes >> 20) + " MiB",
                   "this is no file for this command"};
    }
  }
  if (std::ferror(stdin) != 0) {
    return Error{ErrorCode::io, "standard input could not be read"};
  }
  return text;
}

Outcome deliver(const std::string& output, std::string text, const std::string& label, bool json, Report& report) {
  if (output == "-") {
    if (json) {
      return Error{ErrorCode::badUsage, "standard output cannot take both the file and the JSON report",
                   "give -o a file name, or leave --json out"};
    }
    report.document = std::move(text);
    return Done{};
  }
  return deliver(
      output,
      [&](std::ostream& out) -> Outcome {
        out.write(text.data(), static_cast<std::streamsize>(text.size()));
        return Done{};
      },
      label, json, report);
}

Outcome deliver(const std::string& output, const std::function<Outcome(std::ostream&)>& write, const std::string& label,
                bool json, Report& report) {
  if (output == "-") {
    std::ostringstream text;
    const Outcome written = write(text);
    return written ? deliver(output, std::move(text).str(), label, json, report) : written;
  }
  const Outcome saved = io::saveFile(output, write);
  if (!saved) {
    return saved.error();
  }
  report.json["file"] = output;
  report.text += label + oneLine(output) + "\n";
  return Done{};
}

Outcome keepInput(const std::string& input, const std::string& output) {
  std::error_code ignored;
  if (input != "-" && output != "-" && !output.empty() && std::filesystem::equivalent(input, output, ignored)) {
    return Error{ErrorCode::badUsage, "-o " + inQuotes(output) + " is the input itself, which would be lost",
                 "give -o another name"};
  }
  return Done{};
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

void addFabricOptions(CLI::App& sub, FabricOptions& options) {
  sub.add_option("fabric", options.source,
                 "Fabric file, schedule (its fabric), - for standard input, or preset:NAME,key=value,…")
      ->required();
  sub.add_option("--from", options.from,
                 "Format: json, dot, adjacency, nccl-xml, nvidia-smi or trees; without it, told by suffix and content");
  sub.add_option("--gpus", options.gpus, "Keep only these GPUs: ids, ranks or ranges of ranks, as in 0-7,16-23");
  io::ImportAnswers& import = options.import;
  sub.add_option("--boxes", import.boxes, "nccl-xml, nvidia-smi: copies of the one box that the file describes")
      ->capture_default_str();
  sub.add_option("--scale-out", import.scaleOut,
                 "nccl-xml, nvidia-smi: what joins the copies: switch, rails or planes");
  sub.add_option("--nics", import.nics, "nccl-xml, nvidia-smi: use only these NICs, as in mlx5_0,mlx5_1");
  sub.add_flag("--nominal-rates", import.nominalRates, "nccl-xml: the maker's link rates instead of NCCL's");
  sub.add_option("--nvlink", import.nvlink, "nvidia-smi: what NVLink joins: switch or mesh; without it, a guess");
  sub.add_option("--nvlink-bandwidth", import.nvlinkBandwidth, "nvidia-smi: GB/s per NVLink and direction");
  sub.add_option("--nic-bandwidth", import.nicBandwidth, "nvidia-smi: GB/s per NIC and direction");
  sub.add_option("--pcie-bandwidth", import.pcieBandwidth, "nvidia-smi: GB/s per PCIe link and direction");
  sub.add_option("--socket-bandwidth", import.socketBandwidth, "nvidia-smi: GB/s between CPU sockets, per direction");
  sub.add_flag("--keep-pcie", import.keepPcie, "nccl-xml, nvidia-smi: keep every PCIe bridge and CPU");
}

Result<LoadedDescription> loadDescription(const FabricOptions& options, const Progress& progress) {
  auto loaded = readDescription(options, progress);
  if (!loaded) {
    Error error = loaded.error();
    if (error.code == ErrorCode::limit) {
      // Too large a file is an unusable input, not a negative answer about a fabric.
      error.code = ErrorCode::badInput;
    }
    return error;
  }
  if (!options.gpus.empty()) {
    const auto ids = parseGpuList(loaded->description, options.gpus);
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

Result<LoadedFabric> loadFabric(const FabricOptions& options, const Progress& progress) {
  auto loaded = loadDescription(options, progress);
  if (!loaded) {
    return loaded.error();
  }
  auto fabric = fabric::Fabric::build(loaded->description);
  if (!fabric) {
    Error error = fabric.error();
    if (error.where.file.empty()) {
      error.where.file = options.source;
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

void addRequestOptions(CLI::App& sub, RequestOptions& options) {
  sub.add_option("-c,--collective", options.collective, "allgather, reduce_scatter, allreduce, broadcast or reduce")
      ->capture_default_str();
  sub.add_option("--root", options.root, "broadcast, reduce: the root, by id or rank");
  sub.add_option(
      "--amounts", options.amounts,
      "allgather, reduce_scatter: relative data of each rank, as in 1,1,2,0; or by GPU, as in b0g3=2,b1*=0, where "
      "the others have 1");
  // CLI11 reads what is beyond 64 bits as the largest number, which would then be blamed on the fabric, and names no
  // mend for what is no number.
  const CLI::Validator wholeNumber(
      [](const std::string& value) -> std::string {
        const std::string_view digits = std::string_view(value).substr(value.rfind('-', 0) == 0 ? 1 : 0);
        if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
          return inQuotes(value) + " is not a whole number";
        }
        return parseInteger(digits) ? "" : inQuotes(value) + " does not fit 64 bits; give a smaller number";
      },
      "");
  auto* k = sub.add_option("--k", options.k, "Trees per root; without it, the least that reaches the optimum")
                ->check(wholeNumber);
  auto* kMax = sub.add_option("--k-max", options.kMax, "Take the best of 1 to this many trees per root")
                   ->excludes(k)
                   ->check(wholeNumber);
  sub.add_option("--within", options.within,
                 "Take the least number of trees per root that loses no more than this, as in 1% or 0.01")
      ->excludes(k)
      ->excludes(kMax);
}

Result<forestcoll::Request> makeRequest(const fabric::Fabric& fabric, const RequestOptions& options) {
  forestcoll::Request request;
  const auto collective = parseForestCollective(options.collective);
  if (!collective) {
    return Error{ErrorCode::badUsage, "--collective: " + inQuotes(options.collective) + " is not a collective",
                 "use allgather, reduce_scatter, allreduce, broadcast or reduce"};
  }
  request.collective = *collective;
  const bool isRooted = *collective == Collective::broadcast || *collective == Collective::reduce;
  if (isRooted != !options.root.empty()) {
    return Error{ErrorCode::badUsage,
                 isRooted ? std::string(toString(*collective)) + " needs a root"
                          : "--root: " + std::string(toString(*collective)) + " has no root",
                 isRooted ? "add --root ID" : "leave --root out, or ask for broadcast or reduce"};
  }
  if (isRooted) {
    const auto root = parseGpu(fabric, options.root, "--root");
    if (!root) {
      return root.error();
    }
    request.root = *root;
  }
  if (!options.amounts.empty()) {
    if (request.collective != Collective::allgather && request.collective != Collective::reduceScatter) {
      return Error{ErrorCode::badUsage, "--amounts: " + std::string(toString(request.collective)) + " has no shares",
                   "leave --amounts out, or ask for allgather or reduce_scatter"};
    }
    auto amounts = forestcoll::parseAmounts(fabric, options.amounts);
    if (!amounts) {
      Error error = amounts.error();
      error.message.insert(0, "--amounts: ");
      return error;
    }
    request.amounts = *std::move(amounts);
  }
  for (const auto& [value, option] : {std::pair{options.k, "--k"}, std::pair{options.kMax, "--k-max"}}) {
    if (value && *value < 1) {
      return Error{ErrorCode::badUsage,
                   std::string(option) + ": " + std::to_string(*value) + " is not a number of trees", "give 1 or more"};
    }
  }
  request.fixedK = options.k;
  request.maxK = options.kMax;
  if (!options.within.empty()) {
    const bool isPercent = options.within.back() == '%';
    const auto loss = Rational::parse(isPercent ? options.within.substr(0, options.within.size() - 1) : options.within);
    const Rational limit = isPercent ? Rational(100) : Rational(1);
    if (!loss || !loss->isPositive() || *loss >= limit) {
      return Error{ErrorCode::badUsage, "--within: " + inQuotes(options.within) + " is not a loss",
                   "give a percentage above 0 and below 100, as in 1%"};
    }
    try {
      request.maxLoss = *loss / limit;
    } catch (const OverflowError&) {
      return Error{ErrorCode::badUsage, "--within: " + inQuotes(options.within) + " has too many digits",
                   "give fewer digits, as in 0.5%"};
    }
  }
  return request;
}

std::optional<forestcoll::Request> withoutTreeLimit(const forestcoll::Request& request) {
  if (!request.fixedK && !request.maxK && !request.maxLoss) {
    return std::nullopt;
  }
  forestcoll::Request free = request;
  free.fixedK.reset();
  free.maxK.reset();
  free.maxLoss.reset();
  free.allreduceBudget = {};
  return free;
}

Result<fabric::Rank> parseGpu(const fabric::Fabric& fabric, const std::string& text, const std::string& option) {
  if (const auto node = fabric.find(text)) {
    const fabric::Node& found = fabric.nodes()[*node];
    if (found.kind == fabric::NodeKind::gpu) {
      return found.rank;
    }
    return Error{ErrorCode::badUsage, option + ": " + inQuotes(text) + " is not a GPU", "name a GPU"};
  }
  const auto rank = parseInteger(text);
  if (rank && *rank < fabric.gpuCount()) {
    return static_cast<fabric::Rank>(*rank);
  }
  return Error{ErrorCode::badUsage, option + ": there is no GPU " + inQuotes(text),
               "name a GPU by its id, or by its rank from 0 to " + std::to_string(fabric.gpuCount() - 1)};
}

}  // namespace coppice::cli
