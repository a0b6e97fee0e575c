// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "command.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"
#include "io/files.hpp"
#include "io/import_choices.hpp"

/// What subcommands read: fabrics in any form, and the question about them.
namespace coppice::cli {

/// How messages call an input.
[[nodiscard]] std::string inputName(const std::string& path);

/// Text of a file, or of standard input for "-". Errors: io; badInput or limit above maxBytes.
[[nodiscard]] Result<std::string> readText(const std::string& path, std::size_t maxBytes = io::kMaxFileBytes);
/// Puts a finished text where -o says: into the file (whole or not at all), and a line of `label` and path into the
/// report; or, for "-", into Report::document. Errors: io; badUsage for "-" together with --json.
[[nodiscard]] Outcome deliver(const std::string& output, std::string text, const std::string& label, bool json,
                              Report& report);

/// The same for a text too large to hold: `write` streams it into the file.
[[nodiscard]] Outcome deliver(const std::string& output, const std::function<Outcome(std::ostream&)>& write,
                              const std::string& label, bool json, Report& report);

/// Errors: badUsage where both are the same file, by whatever names.
[[nodiscard]] Outcome keepInput(const std::string& input, const std::string& output);

/// "key=value" items. Errors: badUsage for an item without "=" or a key given twice.
[[nodiscard]] Result<std::map<std::string, std::string>> parseArguments(const std::vector<std::string>& items);

/// A fabric as the command line names it.
struct FabricOptions {
  std::string source;     ///< file (a schedule for its fabric), "-", or "preset:NAME,key=value,…"
  std::string from = {};  ///< format; empty = by suffix and content
  std::string gpus = {};  ///< --gpus; empty = all
  io::ImportAnswers import = {};
};

/// Adds the positional argument F with the options that say how to read it.
void addFabricOptions(CLI::App& sub, FabricOptions& options);

struct LoadedDescription {
  fabric::Description description;
  std::vector<Finding> findings;  ///< what the import guessed or left out
  std::string format;             ///< "json", "dot", "adjacency", "nccl-xml", "nvidia-smi", "preset", "forest"
};

/// Errors: badUsage, badInput, io, unavailable (DOT without the helper), infeasible, cancelled.
[[nodiscard]] Result<LoadedDescription> loadDescription(const FabricOptions& options, const Progress& progress);

struct LoadedFabric {
  fabric::Description description;
  fabric::Fabric fabric;
  std::vector<Finding> findings;
};

/// loadDescription and Fabric::build; errors carry the file's name.
[[nodiscard]] Result<LoadedFabric> loadFabric(const FabricOptions& options, const Progress& progress);

/// What is asked of a fabric, as the command line says it.
struct RequestOptions {
  std::string collective = "allgather";
  std::string root = {};
  std::string amounts = {};
  std::optional<std::int64_t> k = {};
  std::optional<std::int64_t> kMax = {};
  std::string within = {};  ///< accepted loss as a percentage or a fraction; empty = none
};

void addRequestOptions(CLI::App& sub, RequestOptions& options);

/// Errors: badUsage naming the option.
[[nodiscard]] Result<forestcoll::Request> makeRequest(const fabric::Fabric& fabric, const RequestOptions& options);

/// The request for the optimum itself where the given one limits the number of trees; otherwise nothing.
[[nodiscard]] std::optional<forestcoll::Request> withoutTreeLimit(const forestcoll::Request& request);

/// A GPU by its id, or by its rank where no GPU has that id. Errors: badUsage.
[[nodiscard]] Result<fabric::Rank> parseGpu(const fabric::Fabric& fabric, const std::string& text,
                                            const std::string& option);

}  // namespace coppice::cli
