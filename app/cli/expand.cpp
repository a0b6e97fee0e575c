// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "base/text.hpp"
#include "bfb/bfb.hpp"
#include "command.hpp"
#include "input.hpp"
#include "io/fabric_json.hpp"
#include "text.hpp"
#include "topology/expansions.hpp"
#include "topology_text.hpp"
#include "workflow/find_topology.hpp"
#include "workflow/options.hpp"

namespace coppice::cli {
namespace {

struct ExpandOptions {
  FabricOptions fabric;
  int line = 0;
  int degree = 0;
  int power = 0;
  std::string product;
  bool isDuplex = false;
  std::string output;
};

/// The costs of larger results are left to `bfb`: N^2 d steps.
constexpr std::int64_t kMaxCostSteps = 400'000'000;

Result<topology::FabricGraph> loadGraph(const FabricOptions& options, const Progress& progress) {
  const auto loaded = loadFabric(options, progress);
  if (!loaded) {
    return loaded.error();
  }
  return topology::readFabric(loaded->fabric);
}

Result<topology::Digraph> productWith(const topology::FabricGraph& first, const ExpandOptions& options,
                                      const Progress& progress) {
  FabricOptions second = options.fabric;
  second.source = options.product;
  const auto other = loadGraph(second, progress);
  if (!other) {
    return other.error();
  }
  if (other->perLink != first.perLink) {
    return workflow::optionError(
        "product",
        "its links have " + toExactText(other->perLink) + " GB/s, those of the fabric " + toExactText(first.perLink),
        "give both fabrics links of the same bandwidth");
  }
  return topology::product(first.graph, other->graph);
}

Result<topology::Digraph> expanded(const topology::FabricGraph& part, const ExpandOptions& options,
                                   const Progress& progress) {
  if (options.line != 0) {
    Result<topology::Digraph> result = part.graph;
    for (int i = 0; i < options.line && result; ++i) {
      result = topology::lineGraph(*result);
    }
    return result;
  }
  if (options.degree != 0) {
    return topology::degreeExpansion(part.graph, options.degree);
  }
  if (options.power != 0) {
    return topology::power(part.graph, options.power);
  }
  return options.isDuplex ? topology::bidirected(part.graph) : productWith(part, options, progress);
}

/// Steps and T_B of the result under BFB, of both halves.
Outcome addCosts(const topology::Digraph& graph, const Progress& progress, Report& report) {
  if (std::int64_t{graph.nodes} * graph.nodes > kMaxCostSteps / graph.degree) {
    report.text += "  cost        not computed at this size; see coppice-cli bfb\n";
    return Done{};
  }
  const bfb::Digraph links = workflow::asBfb(graph);
  const auto loads = bfb::loads(links, {}, progress);
  if (!loads) {
    return loads.error();
  }
  const auto back = bfb::loads(bfb::transposed(links), {}, progress);
  if (!back) {
    return back.error();
  }
  report.json["steps"] = loads->steps();
  report.json["t_b"] = loads->bandwidthTime().toString();
  report.json["step_loads"] = Json::array();
  for (const Rational& load : loads->stepLoads) {
    report.json["step_loads"].push_back(load.toString());
  }
  report.json["t_b_reduce_scatter"] = back->bandwidthTime().toString();
  report.json["bw_optimal"] = loads->isBandwidthOptimal();
  report.text += "  allgather   " + counted(loads->steps(), "step") + ", T_B " + loads->bandwidthTime().toString() +
                 " = " + toDecimal(loads->bandwidthTime(), 4) + " M/B" +
                 (loads->isBandwidthOptimal() ? ", optimal" : "") + "\n";
  return Done{};
}

Result<Report> run(const ExpandOptions& options, bool json, const Progress& progress) {
  const int given = (options.line != 0 ? 1 : 0) + (options.degree != 0 ? 1 : 0) + (options.power != 0 ? 1 : 0) +
                    (options.product.empty() ? 0 : 1) + (options.isDuplex ? 1 : 0);
  if (given != 1 || options.line < 0) {
    return Error{ErrorCode::badUsage, "only one expansion can be made at a time",
                 "give one of --line K, --degree N, --power N, --product FABRIC and --duplex"};
  }
  if (const Outcome kept = keepInput(options.fabric.source, options.output); !kept) {
    return kept.error();
  }
  const auto part = loadGraph(options.fabric, progress);
  if (!part) {
    return part.error();
  }
  const auto graph = expanded(*part, options, progress);
  if (!graph) {
    return graph.error();
  }
  const auto description = topology::describe(*graph, part->perLink);
  if (!description) {
    return description.error();
  }
  Report report;
  report.json = {{"ok", true}, {"fabric", graph->name}, {"nodes", graph->nodes}, {"degree", graph->degree}};
  report.text =
      named(graph->name) + ": " + counted(graph->nodes, "node") + " of degree " + std::to_string(graph->degree) + "\n";
  if (const Outcome costs = addCosts(*graph, progress, report); !costs) {
    return costs.error();
  }
  if (const Outcome written =
          deliver(options.output, io::writeFabricJson(*description), "  fabric      ", json, report);
      !written) {
    return written.error();
  }
  return report;
}

}  // namespace

void addExpand(CLI::App& app, Invocation& invocation) {
  CLI::App& sub =
      addSubcommand(app, invocation, "expand", "Make a larger direct-connect fabric from a small one",
                    "  coppice-cli expand preset:complete-bipartite,left=4,right=4 --line 2 -o l2k44.fabric.json\n"
                    "  coppice-cli expand preset:ring,gpus=5 --degree 2 -o ten.fabric.json\n"
                    "  coppice-cli expand preset:ring,gpus=4 --product preset:complete,gpus=3 -o twelve.fabric.json");
  auto options = std::make_shared<ExpandOptions>();
  addFabricOptions(sub, options->fabric);
  sub.add_option("--line", options->line, "Line graph, K times: d^K as many nodes, same degree");
  sub.add_option("--degree", options->degree, "Degree expansion: N copies of every node, N-fold degree");
  sub.add_option("--power", options->power, "Cartesian power: N copies along N dimensions");
  sub.add_option("--product", options->product, "Cartesian product with this fabric");
  sub.add_flag("--duplex", options->isDuplex, "Every link in both directions: twice the degree");
  sub.add_option("-o,--output", options->output, "File to write; - for standard output")->required();
  sub.callback([options, &invocation] {
    invocation.action = [options, &invocation](const Progress& progress) {
      return run(*options, invocation.json, progress);
    };
  });
}

}  // namespace coppice::cli
