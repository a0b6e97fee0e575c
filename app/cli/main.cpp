// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "base/checked.hpp"
#include "base/error_names.hpp"
#include "base/one_line.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "compare.hpp"
#include "coppice/version.hpp"
#include "schedule.hpp"
#include "simulate.hpp"
#include "terminal.hpp"
#include "text.hpp"
#include "topology_text.hpp"
#include "workflow/memory_limit.hpp"

namespace coppice::cli {
namespace {

constexpr const char* kProgram = "coppice-cli";

std::string dumped(const Json& json) {
  // Ids come from files, so they may hold bytes that are not UTF-8.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// False when standard output took less than everything, for example because the disk is full.
bool print(const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

/// Text from a third-party file must not control the terminal: control characters but line ends become `?`. Names are
/// made harmless where they are put into the text.
std::string harmless(std::string text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\n' && isControlCharacter(text, at)) {
      const bool isC1 = static_cast<unsigned char>(text[at]) == 0xc2;
      text.replace(at, isC1 ? 2 : 1, "?");
    }
  }
  return text;
}

int fail(Error error, bool json) {
  // Errors about an option name it as their place.
  if (const ElementPart* const option = error.where.element.as(RefKind::option)) {
    error.message = option->name + ": " + error.message;
    error.where.element = {};
  }
  std::fprintf(stderr, "%s: %s\n", kProgram, oneLine(describe(error)).c_str());
  if (json) {
    Json object = {{"ok", false}, {"error", error.message}, {"code", nameOf(error.code)}};
    if (!error.fix.empty()) {
      object["fix"] = error.fix;
    }
    if (const Json where = toJson(error.where); !where.empty()) {
      object["where"] = where;
    }
    print(dumped(object));
  }
  return static_cast<int>(exitFor(error.code));
}

/// Every answer begins with "ok": whether the question was answered with yes.
Json withOk(const Report& report) {
  if (report.json.contains("ok")) {
    return report.json;
  }
  Json json = {{"ok", !report.failure && !report.isInterrupted}};
  json.update(report.json);
  return json;
}

int finish(const Report& report, bool json) {
  const std::string body = report.document ? *report.document : (json ? dumped(withOk(report)) : harmless(report.text));
  if (report.failure) {
    std::fprintf(stderr, "%s: %s\n", kProgram, oneLine(*report.failure).c_str());
  }
  if (report.document) {
    std::fputs(harmless(report.text).c_str(), stderr);
  }
  if (!print(body)) {
    return fail({ErrorCode::io, "standard output could not be written", "check the disk or pipe it goes to"}, false);
  }
  if (report.isInterrupted) {
    return static_cast<int>(Exit::interrupted);
  }
  return static_cast<int>(report.failure ? Exit::negative : Exit::success);
}

Result<Report> perform(const Action& action) {
  ProgressBar bar;
  Progress progress;
  progress.stop = stopOnInterrupt();
  progress.onReport = [&](std::string_view stage, double fraction) { bar.show(stage, fraction); };
  Result<Report> result = action(progress);
  bar.erase();
  return result;
}

int run(int argc, char** argv, bool& json) {
  CLI::App app{
      "Coppice: optimal collective communication on GPU fabrics.\n"
      "From a fabric file to the exact best throughput, the bottleneck cut, spanning trees that reach it,\n"
      "and a verified MSCCL program."};
  app.name(kProgram);
  app.set_version_flag("--version", std::string(kProgram) + " " + kVersion);
  app.require_subcommand(1);
  app.footer(
      "Run coppice-cli SUBCOMMAND --help for options and examples.\n"
      "Exit codes: 0 success, 1 negative answer (not verified, not feasible, too large), 2 bad usage or input,\n"
      "130 interrupted.");
  Invocation invocation;
  addPreset(app, invocation);
  addCheck(app, invocation);
  addConvert(app, invocation);
  addImport(app, invocation);
  addImportRun(app, invocation);
  addOptimum(app, invocation);
  addGenerate(app, invocation);
  addAlltoall(app, invocation);
  addMoe(app, invocation);
  addBaseline(app, invocation);
  addBfb(app, invocation);
  addCompare(app, invocation);
  addBest(app, invocation);
  addSchedule(app, invocation);
  addFindTopology(app, invocation);
  addExpand(app, invocation);
  addPatch(app, invocation);
  addBom(app, invocation);
  addFrontier(app, invocation);
  addExport(app, invocation);
  addVerify(app, invocation);
  addNMinusOne(app, invocation);
  addDrill(app, invocation);
  addPrices(app, invocation);
  addRankOrder(app, invocation);
  addWhatIf(app, invocation);
  addSimulate(app, invocation);
  addSynthesize(app, invocation);
  addTrain(app, invocation);
  addRun(app, invocation);
  // An empty value, as of an unset shell variable, would read as an option that was not given.
  const CLI::Validator notEmpty(
      [](const std::string& value) { return std::string(value.empty() ? "the value is empty" : ""); }, "");
  const std::function<void(CLI::App&)> refuseEmptyValues = [&](CLI::App& command) {
    for (CLI::Option* option : command.get_options()) {
      if (option->get_items_expected_max() > 0) {
        option->check(notEmpty);
      }
    }
    for (CLI::App* sub : command.get_subcommands({})) {
      refuseEmptyValues(*sub);
    }
  };
  refuseEmptyValues(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    const auto subcommands = app.get_subcommands();
    const std::string help =
        std::string(kProgram) + (subcommands.empty() ? "" : " " + subcommands.front()->get_name()) + " --help";
    if (const auto words = app.remaining(); subcommands.empty() && !words.empty()) {
      return fail({ErrorCode::badUsage, inQuotes(words.front()) + " is not a subcommand", "see " + help}, json);
    }
    return fail({ErrorCode::badUsage, error.what(), "see " + help}, json);
  }
  json = invocation.json;
  if (const Outcome limited = workflow::applyMemoryLimit(invocation.memoryLimit); !limited) {
    return fail(limited.error(), json);
  }
  const Result<Report> report = perform(invocation.action);
  return report ? finish(*report, json) : fail(report.error(), json);
}

}  // namespace
}  // namespace coppice::cli

int main(int argc, char** argv) {
  using coppice::ErrorCode;
  // Known before the arguments are parsed, because a mistake in them must be reported as JSON too.
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    json = json || std::string_view(argv[i]) == "--json";
  }
  try {
    try {
      return coppice::cli::run(argc, argv, json);
    } catch (const std::bad_alloc&) {
      return coppice::cli::fail(coppice::workflow::outOfMemory(), json);
    } catch (const coppice::OverflowError& error) {
      return coppice::cli::fail({ErrorCode::overflow, error.what(), "use numbers with fewer digits"}, json);
    } catch (const coppice::CancelledError&) {
      return coppice::cli::fail({ErrorCode::cancelled, "interrupted"}, json);
    } catch (const std::exception& error) {
      return coppice::cli::fail({ErrorCode::internal, error.what(), "please report this"}, json);
    }
  } catch (...) {
    std::fputs("coppice-cli: stopped by an unknown error; please report this\n", stderr);
    return 2;
  }
}
