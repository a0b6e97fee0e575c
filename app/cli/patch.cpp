// SPDX-License-Identifier: Apache-2.0
#include "patch/plan.hpp"

#include <memory>

#include "base/text.hpp"
#include "command.hpp"
#include "input.hpp"
#include "text.hpp"
#include "topology_text.hpp"
#include "workflow/options.hpp"

namespace coppice::cli {
namespace {

struct PatchOptions {
  FabricOptions from;
  std::string to;
  std::string cables = "auto";
  std::string table;
  bool mayRelabel = false;
  bool print = false;
  std::string priceCable = "0";
  std::string pricePort = "0";
  std::string pricePanelPort = "0";
  std::string plan;
  std::string output;
};

Result<patch::CableKind> kindOf(const PatchOptions& options, const fabric::Fabric& from, const fabric::Fabric* to) {
  if (options.cables == "auto") {
    const bool isDuplex = patch::isDuplex(from) && (to == nullptr || patch::isDuplex(*to));
    return isDuplex ? patch::CableKind::duplex : patch::CableKind::simplex;
  }
  if (options.cables == "simplex" || options.cables == "duplex") {
    return options.cables == "duplex" ? patch::CableKind::duplex : patch::CableKind::simplex;
  }
  return workflow::optionError("cables", inQuotes(options.cables) + " is not a kind of cable",
                               "use auto, simplex or duplex");
}

Result<patch::Prices> readPrices(const PatchOptions& options) {
  patch::Prices prices;
  const auto read = [](const std::string& text, const char* option, Rational& value) -> Outcome {
    const auto parsed = Rational::parse(text);
    if (!parsed || *parsed < Rational(0)) {
      return workflow::optionError(option, inQuotes(text) + " is not a price", "give a number, 0 or more");
    }
    value = *parsed;
    return Done{};
  };
  for (const Outcome& outcome :
       {read(options.priceCable, "price-cable", prices.cable), read(options.pricePort, "price-port", prices.port),
        read(options.pricePanelPort, "price-panel-port", prices.panelPort)}) {
    if (!outcome) {
      return outcome.error();
    }
  }
  return prices;
}

/// The ports of the present fabric: assigned now, or as the user's table has them.
Result<patch::Wiring> presentWiring(const PatchOptions& options, const patch::Links& links) {
  if (options.table.empty()) {
    return patch::assignPorts(links);
  }
  const auto text = readText(options.table);
  if (!text) {
    return text.error();
  }
  auto wiring = patch::readCsv(*text, links.kind, links.ids);
  if (!wiring) {
    Error error = wiring.error();
    error.where.file = options.table;
    return error;
  }
  if (const std::string fault = patch::faultOf(*wiring, links); !fault.empty()) {
    return Error{ErrorCode::badInput, fault, "give the table of this fabric", Place{.file = options.table}};
  }
  return wiring;
}

void addWiring(const patch::Wiring& wiring, const patch::Prices& prices, Report& report) {
  const Rational cost = patch::costOf(wiring, prices);
  const bool isDuplex = wiring.kind == patch::CableKind::duplex;
  report.json["cables"] = wiring.cables.size();
  report.json["kind"] = isDuplex ? "duplex" : "simplex";
  report.json["ports_per_node"] = wiring.ports;
  report.json["panels"] = wiring.panels;
  report.json["panel_ports"] = wiring.panelPorts();
  report.text += "  cables      " + std::to_string(wiring.cables.size()) + (isDuplex ? " duplex" : " simplex") + ", " +
                 counted(wiring.ports, "port") + " per node\n  panels      " + std::to_string(wiring.panels) + " of " +
                 std::to_string(wiring.panelPorts() / wiring.panels) + " ports, or one of " +
                 std::to_string(wiring.panelPorts()) + "\n";
  if (!cost.isZero()) {
    report.json["cost"] = cost.toString();
    report.text += "  cost        " + toDecimal(cost) + "\n";
  }
}

void addPlan(const patch::Plan& plan, Report& report) {
  std::int64_t ends = 0;
  for (const patch::Move& move : plan.moves) {
    ends += move.movedEnds();
  }
  report.json["kept"] = plan.kept;
  report.json["moved"] = plan.moved();
  report.json["moved_ends"] = ends;
  report.json["added"] = plan.added();
  report.json["removed"] = plan.removed();
  report.json["verified"] = true;
  report.text += "  plan        " + std::to_string(plan.kept) + " stay, " + std::to_string(plan.moved()) + " move (" +
                 counted(ends, "end") + "), " + std::to_string(plan.added()) + " new, " +
                 std::to_string(plan.removed()) + " to remove; verified by replay\n";
  Json roles = Json::object();
  for (std::size_t v = 0; v < plan.roles.size(); ++v) {
    if (plan.roles[v] != static_cast<int>(v)) {
      roles[plan.after.ids[v]] = plan.after.ids[plan.roles[v]];
    }
  }
  if (!roles.empty()) {
    report.text += "  roles       " + counted(static_cast<std::int64_t>(roles.size()), "GPU") +
                   " take the place of another; --json lists them\n";
  }
  report.json["roles"] = std::move(roles);
}

Result<patch::Plan> makePlan(const patch::Wiring& before, const fabric::Fabric& to, const PatchOptions& options,
                             const Progress& progress) {
  const auto wanted = patch::readLinks(to, before.kind);
  if (!wanted) {
    return wanted.error();
  }
  auto plan = patch::planMoves(before, *wanted, {.mayRelabel = options.mayRelabel}, progress);
  if (!plan) {
    return plan.error();
  }
  if (const std::string fault = patch::replay(before, *plan, *wanted); !fault.empty()) {
    return Error{ErrorCode::verification, "the plan fails in the replay: " + fault, "please report this"};
  }
  return plan;
}

Result<Report> run(const PatchOptions& options, bool json, const Progress& progress) {
  const auto from = loadFabric(options.from, progress);
  if (!from) {
    return from.error();
  }
  std::optional<LoadedFabric> to;
  if (!options.to.empty()) {
    FabricOptions source = options.from;
    source.source = options.to;
    auto loaded = loadFabric(source, progress);
    if (!loaded) {
      return loaded.error();
    }
    to = *std::move(loaded);
  } else if (options.mayRelabel || !options.plan.empty()) {
    return workflow::optionError(options.mayRelabel ? "relabel" : "plan", "there is no second fabric to change to",
                                 "name it after the first");
  }
  const auto prices = readPrices(options);
  if (!prices) {
    return prices.error();
  }
  const auto kind = kindOf(options, from->fabric, to ? &to->fabric : nullptr);
  if (!kind) {
    return kind.error();
  }
  const auto links = patch::readLinks(from->fabric, *kind);
  if (!links) {
    return links.error();
  }
  const auto before = presentWiring(options, *links);
  if (!before) {
    return before.error();
  }
  Report report;
  report.json = {{"ok", true}, {"fabric", (to ? to->fabric : from->fabric).name()}};
  report.text = named((to ? to->fabric : from->fabric).name()) + ": patch table\n";
  patch::Wiring wiring = *before;
  if (to) {
    const auto plan = makePlan(*before, to->fabric, options, progress);
    if (!plan) {
      return plan.error();
    }
    wiring = plan->after;
    addPlan(*plan, report);
    if (!options.plan.empty()) {
      if (const Outcome written = deliver(options.plan, patch::toCsv(*plan), "  plan        ", json, report);
          !written) {
        return written.error();
      }
    }
  }
  addWiring(wiring, *prices, report);
  if (options.print) {
    report.text += patch::toPrintable(wiring);
  }
  if (!options.output.empty()) {
    if (const Outcome written = deliver(options.output, patch::toCsv(wiring), "  table       ", json, report);
        !written) {
      return written.error();
    }
  }
  return report;
}

}  // namespace

void addPatch(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(
      app, invocation, "patch", "Assign ports, write patch tables, and plan cable changes of a direct-connect fabric",
      "  coppice-cli patch sixteen.fabric.json -o table.csv --price-cable 12.50 --price-port 300\n"
      "  coppice-cli patch preset:torus,dims=4x4 --print\n"
      "  coppice-cli patch old.fabric.json new.fabric.json --relabel --plan moves.csv -o table.csv");
  auto options = std::make_shared<PatchOptions>();
  addFabricOptions(sub, options->from);
  sub.add_option("to", options->to, "Fabric to change to, with the same GPUs");
  sub.add_option("--cables", options->cables, "auto, simplex (one fibre per link and direction) or duplex")
      ->capture_default_str();
  sub.add_option("--table", options->table, "Patch table of the first fabric, as -o writes it; default: assigned now");
  sub.add_flag("--relabel", options->mayRelabel, "GPUs may exchange their roles where that keeps more cables");
  sub.add_flag("--print", options->print, "Print the table, panel by panel, with check boxes");
  sub.add_option("--price-cable", options->priceCable, "Price of a cable")->capture_default_str();
  sub.add_option("--price-port", options->pricePort, "Price of a port of a node (transceiver)")->capture_default_str();
  sub.add_option("--price-panel-port", options->pricePanelPort, "Price of a port of a panel")->capture_default_str();
  sub.add_option("--plan", options->plan, "Write what to disconnect and connect, in order (CSV)");
  sub.add_option("-o,--output", options->output,
                 "Write the patch table (CSV), after the change; - for standard output");
  sub.callback([options, &invocation] {
    invocation.action = [options, &invocation](const Progress& progress) {
      return run(*options, invocation.json, progress);
    };
  });
}

}  // namespace coppice::cli
