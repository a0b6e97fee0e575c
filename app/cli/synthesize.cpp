// SPDX-License-Identifier: Apache-2.0
#include "synthesize.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/comma_list.hpp"
#include "base/text.hpp"
#include "words.hpp"

namespace coppice::cli {
namespace {

struct SynthesizeOptions {
  SynthesisQuestion question;
  std::string method = "sccl";
  std::vector<std::unique_ptr<SynthesisMethod>> methods;
};

Result<Report> run(SynthesizeOptions& options, bool json, const Progress& progress) {
  const auto method = std::find_if(options.methods.begin(), options.methods.end(),
                                   [&](const auto& each) { return each->name() == options.method; });
  if (method == options.methods.end()) {
    const std::string names = commaList(options.methods, [](const auto& each) { return each->name(); });
    return Error{ErrorCode::badUsage,
                 "There is no method " + inQuotes(options.method),
                 "choose one of " + names,
                 {.element = {RefKind::option, "--method"}}};
  }
  if (!options.question.output.empty() && !options.question.fabric.source.empty()) {
    if (const Outcome kept = keepInput(options.question.fabric.source, options.question.output); !kept) {
      return kept.error();
    }
  }
  return (*method)->run(options.question, json, progress);
}

}  // namespace

void addSynthesize(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(
      app, invocation, "synthesize", "Search for schedules with few steps, or prove that there are none",
      "  coppice-cli synthesize preset:dgx1-v100 -c allgather --chunks 6 --steps 3 --rounds 7\n"
      "  coppice-cli synthesize preset:dgx1-v100 -c broadcast --root 0 --pareto --max-steps 6\n"
      "  coppice-cli synthesize preset:hypercube -c allreduce --chunks 3 --steps 3 --rounds 3 -o cube.schedule.json\n"
      "  coppice-cli synthesize --method taccl --sketch sk1-ndv2-n2.json --topology topo-ndv2-1MB.json --time 10");
  auto options = std::make_shared<SynthesizeOptions>();
  options->methods.push_back(scclMethod());
  options->methods.push_back(tacclMethod());
  addFabricOptions(sub, options->question.fabric);
  // Sketches bring their own.
  sub.get_option("fabric")->required(false);
  sub.add_option("--method", options->method, "Method: sccl or taccl")->capture_default_str();
  sub.add_option("-c,--collective", options->question.demand.collective,
                 "allgather, reduce_scatter, allreduce, broadcast, reduce, alltoall, gather or scatter")
      ->capture_default_str();
  sub.add_option("--root", options->question.demand.root, "Id or rank of the root of a rooted collective");
  addSeconds(sub, "--time-limit", options->question.seconds, "How long to search, for example 60s or 5m")
      ->capture_default_str();
  sub.add_option("--seed", options->question.seed,
                 "Seed of the random choices: the same seed gives the same result unless time ends the search")
      ->capture_default_str();
  sub.add_option("-o,--output", options->question.output, "Write the schedule to this file; - for standard output");
  for (const auto& method : options->methods) {
    method->addOptions(sub);
  }
  sub.callback([options, &invocation] {
    invocation.action = [options, &invocation](const Progress& progress) {
      return run(*options, invocation.json, progress);
    };
  });
}

}  // namespace coppice::cli
