// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "io/files.hpp"
#include "io/import_choices.hpp"

/// Where fabrics come from: files of all formats, schedules, presets, standard input. Bad options are errors as
/// optionError() makes them.
namespace coppice::workflow {

/// "preset:dgx-a100,boxes=2" is a fabric where a file is expected.
inline constexpr std::string_view kPresetPrefix = "preset:";

/// Reads standard input to its end. Errors: io; badInput above maxBytes.
using StandardInput = std::function<Result<std::string>(std::size_t maxBytes)>;

/// A fabric as a person names it.
struct FabricSource {
  std::string source;     ///< file (a schedule for its fabric), "-", or "preset:NAME,key=value,…"
  std::string from = {};  ///< format; empty = by suffix and content
  std::string gpus = {};  ///< ids, ranks and ranges of ranks, as in 0-7,12; empty = all
  io::ImportAnswers import = {};
  StandardInput standardInput = {};  ///< for "-", which is refused without it
};

/// How messages call an input.
[[nodiscard]] std::string inputName(const std::string& path);
/// Text of a file, or of standard input for "-". Errors: io; badInput or limit above maxBytes.
[[nodiscard]] Result<std::string> readText(const std::string& path, const StandardInput& standardInput,
                                           std::size_t maxBytes = io::kMaxFileBytes);
/// What a foreign format leaves open, as options say it. Errors: badUsage naming the option.
[[nodiscard]] Result<io::ImportOptions> readImportOptions(const io::ImportAnswers& answers);
/// The presets that can complete a hint file: those with presets::serverFigures.
[[nodiscard]] std::vector<std::string> presetsOfServers();
/// "key=value" items. Errors: badUsage for an item without "=" or a key given twice.
[[nodiscard]] Result<std::map<std::string, std::string>> parseArguments(const std::vector<std::string>& items);

/// Ids, ranks and ranges of ranks ("0-7"); an id wins over a rank of the same text. Errors: badUsage naming the option.
[[nodiscard]] Result<std::vector<std::string>> parseGpuList(const fabric::Description& description,
                                                            const std::string& text,
                                                            const std::string& option = "gpus");

struct LoadedDescription {
  fabric::Description description;
  std::vector<Finding> findings;  ///< what the import guessed or left out
  std::string format;             ///< "json", "dot", "adjacency", "nccl-xml", "nvidia-smi", "taccl", "preset", "forest"
};

/// Errors: badUsage, badInput, io, unavailable (DOT without the helper), infeasible, cancelled.
[[nodiscard]] Result<LoadedDescription> loadDescription(const FabricSource& source, const Progress& progress);

struct LoadedFabric {
  fabric::Description description;
  fabric::Fabric fabric;
  std::vector<Finding> findings;
};

/// loadDescription and Fabric::build; errors carry the file's name.
[[nodiscard]] Result<LoadedFabric> loadFabric(const FabricSource& source, const Progress& progress);

}  // namespace coppice::workflow
