// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <memory>

#include "answer.hpp"
#include "command.hpp"
#include "forestcoll/forestcoll.hpp"
#include "input.hpp"
#include "text.hpp"

namespace coppice::cli {
namespace {

struct Options {
  FabricOptions fabric;
  workflow::DemandText demand;
  workflow::Values limits;
};

Result<Report> run(const Options& options, const Progress& progress) {
  const auto loaded = loadFabric(options.fabric, progress);
  if (!loaded) {
    return loaded.error();
  }
  const auto request = makeRequest(loaded->fabric, options.demand, options.limits);
  if (!request) {
    return request.error();
  }
  const auto started = std::chrono::steady_clock::now();
  const auto optimum = forestcoll::optimum(loaded->fabric, *request, progress);
  if (!optimum) {
    return optimum.error();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
  std::optional<forestcoll::Optimum> free;
  if (const auto unlimited = workflow::withoutTreeLimit(*request)) {
    auto found = forestcoll::optimum(loaded->fabric, *unlimited, progress);
    if (!found) {
      return found.error();
    }
    free = *std::move(found);
  }
  const auto tied = cutsOf(loaded->fabric, *request, *optimum, progress);
  if (!tied) {
    return tied.error();
  }
  Answer answer = describeOptimum(loaded->fabric, *request, *optimum, *tied, free ? &*free : nullptr);
  answer.json["import_findings"] = toJson(loaded->findings);
  answer.json["seconds"] = seconds.count();
  answer.text += lines(loaded->findings) + "  time        " + duration(seconds.count()) + "\n";
  return Report{std::move(answer.json), std::move(answer.text)};
}

}  // namespace

void addOptimum(CLI::App& app, Invocation& invocation) {
  CLI::App& sub =
      addSubcommand(app, invocation, "optimum", "The exact best throughput of a collective, and what limits it",
                    "  coppice-cli optimum examples/2x-dgx-a100.fabric.json\n"
                    "  coppice-cli optimum preset:mi250,boxes=2 --k 3\n"
                    "  coppice-cli optimum cluster.fabric.json --collective broadcast --root b0g0 --json");
  auto options = std::make_shared<Options>();
  addFabricOptions(sub, options->fabric);
  addDemandOptions(sub, options->demand);
  addOptions(sub, workflow::treeLimitOptions(), options->limits);
  sub.callback([options, &invocation] {
    invocation.action = [options](const Progress& progress) { return run(*options, progress); };
  });
}

}  // namespace coppice::cli
