// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <sstream>

#include "answer.hpp"
#include "base/units.hpp"
#include "command.hpp"
#include "forestcoll/forestcoll.hpp"
#include "input.hpp"
#include "io/forest_json.hpp"
#include "text.hpp"
#include "tree_text.hpp"
#include "verified.hpp"

namespace coppice::cli {
namespace {

struct Options {
  FabricOptions fabric;
  RequestOptions request;
  bool prune = false;
  std::int64_t showTrees = 0;
  std::string output;
};

class Clock {
public:
  /// Seconds since the last call, or since the start.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double> elapsed = now - m_start;
    m_start = now;
    return elapsed.count();
  }

private:
  std::chrono::steady_clock::time_point m_start = std::chrono::steady_clock::now();
};

/// Adds tree counts and heights of both halves.
void describeTrees(const schedule::Schedule& schedule, Answer& answer) {
  std::int64_t trees = 0;
  std::size_t batches = 0;
  int height = 0;
  int physical = 0;
  std::string mean;
  for (const auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
    if (*forest) {
      const schedule::Heights heights = schedule::heights(**forest);
      trees += (*forest)->treeCount();
      batches += (*forest)->trees.size();
      height = std::max(height, heights.logicalMax);
      physical = std::max(physical, heights.physicalMax);
      std::array<char, 32> buffer{};
      std::snprintf(buffer.data(), buffer.size(), "%.1f", heights.logicalMean);
      mean += (mean.empty() ? "" : " and ") + std::string(buffer.data());
    }
  }
  answer.json["trees"] = trees;
  answer.json["tree_batches"] = batches;
  answer.json["max_height"] = height;
  answer.json["max_physical_height"] = physical;
  answer.text += "  forest      " + counted(trees, "tree") + ", " + std::to_string(batches) +
                 " different; height at most " + counted(height, "GPU hop") + " (mean " + mean + "), " +
                 counted(physical, "link") + "\n";
}

Result<Report> run(const Options& options, bool json, const Progress& progress) {
  Clock clock;
  const auto loaded = loadFabric(options.fabric, progress);
  if (!loaded) {
    return loaded.error();
  }
  const fabric::Fabric& fabric = loaded->fabric;
  const auto request = makeRequest(fabric, options.request);
  if (!request) {
    return request.error();
  }
  Json seconds = {{"load", clock.lap()}};

  auto generated = forestcoll::generate(fabric, *request, progress);
  if (!generated) {
    return generated.error();
  }
  double total = clock.lap();
  for (const forestcoll::StageSeconds& stage : generated->seconds) {
    seconds[stage.stage] = stage.seconds;
  }
  schedule::Schedule& schedule = generated->schedule;
  if (options.prune) {
    for (auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
      if (*forest) {
        forestcoll::pruneInNetwork(fabric, **forest);
      }
    }
    const double pruning = clock.lap();
    seconds["pruning"] = pruning;
    total += pruning;
  }
  const auto verdict = requireVerified(fabric, schedule, progress);
  if (!verdict) {
    return verdict.error();
  }
  const double verifying = clock.lap();
  seconds["verifying"] = verifying;
  total += verifying;

  std::optional<forestcoll::Optimum> free;
  if (request->fixedK || request->maxK) {
    forestcoll::Request anyK = *request;
    anyK.fixedK.reset();
    anyK.maxK.reset();
    anyK.allreduceBudget = {};
    auto found = forestcoll::optimum(fabric, anyK, progress);
    if (!found) {
      return found.error();
    }
    free = *std::move(found);
  }
  Answer answer = describeOptimum(fabric, *request, generated->optimum, free ? &*free : nullptr);
  describeTrees(schedule, answer);
  answer.json["verified"] = verdict->ok;
  answer.json["bound_proved"] = verdict->boundProved;
  answer.text += std::string("  verified    every tree, route and link load") +
                 (verdict->boundProved ? ", and the bound by max flow or by the trees themselves\n" : "\n");
  seconds["total"] = total;
  answer.json["seconds"] = seconds;
  answer.json["import_findings"] = toJson(loaded->findings);
  answer.text += "  time        " + duration(total) + " with verification\n" +
                 treeText(fabric, schedule, options.showTrees) + lines(loaded->findings);

  Report report{std::move(answer.json), std::move(answer.text)};
  if (!options.output.empty()) {
    std::ostringstream file;
    const Outcome written = io::writeForestJson(file, schedule, fabric, &loaded->description);
    if (!written) {
      return written.error();
    }
    const Outcome delivered = deliver(options.output, std::move(file).str(), "  schedule    ", json, report);
    if (!delivered) {
      return delivered.error();
    }
  }
  return report;
}

}  // namespace

void addGenerate(CLI::App& app, Invocation& invocation) {
  CLI::App& sub =
      addSubcommand(app, invocation, "generate", "Spanning trees that reach the optimum, verified, as a schedule file",
                    "  coppice-cli generate examples/2x-dgx-a100.fabric.json -o allgather.forest.json\n"
                    "  coppice-cli generate cluster.fabric.json -c allreduce --k-max 8 -o ar.forest.json\n"
                    "  coppice-cli generate preset:mi250,boxes=2 --gpus 0-7,16-23 -c reduce --root 0 -o r.forest.json");
  auto options = std::make_shared<Options>();
  addFabricOptions(sub, options->fabric);
  addRequestOptions(sub, options->request);
  sub.add_flag("--prune", options->prune, "Use switches that multicast or aggregate to take traffic off links");
  sub.add_option("--show-trees", options->showTrees, "Print the first N trees with their routes")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  sub.add_option("-o,--output", options->output, "Schedule file (.forest.json) to write; none where absent");
  sub.callback([options, &invocation] {
    invocation.action = [options, &invocation](const Progress& progress) {
      return run(*options, invocation.json, progress);
    };
  });
}

}  // namespace coppice::cli
