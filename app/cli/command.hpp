// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/progress.hpp"
#include "base/result.hpp"

namespace coppice::cli {

/// Keys in the order in which they are set, so that output is stable and reads from the important to the detail.
using Json = nlohmann::ordered_json;

/// Exit codes of coppice-cli.
enum class Exit : int {
  success = 0,
  negative = 1,      ///< the question was understood and the answer is no: not verified, not feasible, does not fit
  badUsage = 2,      ///< wrong arguments, unreadable input, or anything else that kept the question from an answer
  interrupted = 130  ///< SIGINT or SIGTERM; only what a search had found by then is written
};

/// infeasible, unbalanced, limit and verification are negative answers; cancelled is interrupted; the rest bad usage.
[[nodiscard]] Exit exitFor(ErrorCode code);

/// What a subcommand found, for main to print: `json` with --json, else `text`.
struct Report {
  Json json = Json::object();
  std::string text = {};  ///< complete lines
  /// Set for a negative answer: one line for standard error; the exit code is then Exit::negative.
  std::optional<std::string> failure = {};
  /// The user stopped the work; what was found until then is printed, and the exit code is Exit::interrupted.
  bool isInterrupted = false;
  /// Set with "-o -": the file itself, for standard output; the text then goes to standard error.
  std::optional<std::string> document = {};
};

using Action = std::function<Result<Report>(const Progress&)>;

/// What the command line asked for; filled by the callbacks of the subcommands.
struct Invocation {
  Action action = {};
  bool json = false;
  std::string memoryLimit = {};  ///< as written; empty = what is available, less a margin
};

/// Adds a subcommand with the options that all share (--json, --memory-limit) and its examples below --help.
CLI::App& addSubcommand(CLI::App& app, Invocation& invocation, const std::string& name, const std::string& description,
                        const std::string& examples);

void addPreset(CLI::App& app, Invocation& invocation);
void addCheck(CLI::App& app, Invocation& invocation);
void addConvert(CLI::App& app, Invocation& invocation);
void addImport(CLI::App& app, Invocation& invocation);
void addImportRun(CLI::App& app, Invocation& invocation);
void addOptimum(CLI::App& app, Invocation& invocation);
void addFrontier(CLI::App& app, Invocation& invocation);
void addGenerate(CLI::App& app, Invocation& invocation);
void addAlltoall(CLI::App& app, Invocation& invocation);
void addBaseline(CLI::App& app, Invocation& invocation);
void addBfb(CLI::App& app, Invocation& invocation);
void addBom(CLI::App& app, Invocation& invocation);
void addMoe(CLI::App& app, Invocation& invocation);
void addDrill(CLI::App& app, Invocation& invocation);
void addExport(CLI::App& app, Invocation& invocation);
void addVerify(CLI::App& app, Invocation& invocation);
void addNMinusOne(CLI::App& app, Invocation& invocation);
void addPrices(CLI::App& app, Invocation& invocation);
void addRankOrder(CLI::App& app, Invocation& invocation);
void addRun(CLI::App& app, Invocation& invocation);
void addSynthesize(CLI::App& app, Invocation& invocation);
void addTrain(CLI::App& app, Invocation& invocation);
void addWhatIf(CLI::App& app, Invocation& invocation);
void addSynthesize(CLI::App& app, Invocation& invocation);

}  // namespace coppice::cli
