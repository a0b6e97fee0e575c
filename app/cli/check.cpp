// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <memory>
#include <set>

#include "base/one_line.hpp"
#include "command.hpp"
#include "fabric/balance.hpp"
#include "input.hpp"
#include "text.hpp"
#include "workflow/against_plan.hpp"

namespace coppice::cli {
namespace {

std::size_t count(const std::vector<Finding>& findings, Severity severity) {
  std::size_t found = 0;
  for (const Finding& finding : findings) {
    found += finding.severity == severity ? 1 : 0;
  }
  return found;
}

/// What is in a right fabric.
Outcome describeFabric(const LoadedDescription& loaded, Report& report) {
  const auto built = fabric::Fabric::build(loaded.description);
  if (!built) {
    return built.error();
  }
  const fabric::Fabric& fabric = *built;
  std::array<int, 3> kinds{};
  std::set<std::string> boxes;
  for (const fabric::Node& node : fabric.nodes()) {
    ++kinds[static_cast<std::size_t>(node.kind)];
    if (!node.box.empty()) {
      boxes.insert(node.box);
    }
  }
  const int gpus = kinds[static_cast<std::size_t>(fabric::NodeKind::gpu)];
  const int nics = kinds[static_cast<std::size_t>(fabric::NodeKind::nic)];
  const int switches = kinds[static_cast<std::size_t>(fabric::NodeKind::switchNode)];
  report.json["gpus"] = gpus;
  report.json["nics"] = nics;
  report.json["switches"] = switches;
  report.json["boxes"] = boxes.size();
  report.json["links"] = loaded.description.links.size();
  report.json["arcs"] = fabric.arcs().size();
  report.json["digest"] = fabric.digest();
  report.json["balanced"] = fabric.isBalanced();
  report.text += "  nodes       " + counted(gpus, "GPU") + ", " + counted(nics, "NIC") + ", " +
                 std::to_string(switches) + (switches == 1 ? " switch" : " switches");
  if (!boxes.empty()) {
    report.text += ", in " + std::to_string(boxes.size()) + (boxes.size() == 1 ? " box" : " boxes");
  }
  report.text += "\n  links       " + std::to_string(loaded.description.links.size()) + " stated, " +
                 std::to_string(fabric.arcs().size()) + " directions between pairs of nodes\n";
  report.text += std::string("  balance     ") +
                 (fabric.isBalanced() ? "ingress equals egress at every node"
                                      : "ingress and egress differ at some nodes; see below") +
                 "\n";
  if (!fabric.isBalanced()) {
    const auto changes = fabric::smallestBalanceChange(fabric);
    if (!changes && changes.error().code == ErrorCode::overflow) {
      return Done{};  // the findings name the sums
    }
    if (!changes) {
      return changes.error();
    }
    report.json["balance_change"] = Json::array();
    report.text += "  smallest change that balances it:\n";
    for (const fabric::BalanceChange& change : *changes) {
      report.json["balance_change"].push_back({{"src", change.src},
                                               {"dst", change.dst},
                                               {"increase", change.increase.gigabytesPerSecond().toString()},
                                               {"new_link", change.isNewLink}});
      report.text += "    " + oneLine(fabric::describe(change)) + "\n";
    }
  }
  return Done{};
}

struct CheckOptions {
  FabricOptions fabric;
  std::string against;
};

/// What is wired against the plan.
Outcome compareAgainst(const LoadedDescription& loaded, const CheckOptions& options, const Progress& progress,
                       Report& report) {
  FabricOptions planned;
  planned.source = options.against;
  planned.standardInput = options.fabric.standardInput;
  planned.import = options.fabric.import;
  const auto plan = loadFabric(planned, progress);
  if (!plan) {
    return plan.error();
  }
  const auto wired = fabric::Fabric::build(loaded.description);
  if (!wired) {
    return wired.error();
  }
  const workflow::AgainstPlan compared = workflow::againstPlan(plan->fabric, *wired, progress);
  Json& json = report.json["against"];
  json["plan"] = plan->fabric.name();
  json["matched_by"] = compared.isById ? "id" : "structure";
  if (compared.planned && compared.wired) {
    json["plan_allgather"] = toFraction(*compared.planned);
    json["wired_allgather"] = toFraction(*compared.wired);
    report.text +=
        "  allgather   " + gigabytes(*compared.wired) + " as wired, " + gigabytes(*compared.planned) + " as planned\n";
  }
  json["differences"] = Json::array();
  constexpr std::size_t kMaxLines = 50;
  std::size_t lines = 0;
  for (const workflow::PlanDifference& one : compared.differences) {
    const fabric::Difference& difference = one.difference;
    Json entry = {{"kind", fabric::toString(difference.kind)},
                  {"text", difference.text},
                  {"planned", difference.planned},
                  {"wired", difference.wired}};
    if (difference.plannedBandwidth.isPositive()) {
      entry["planned_bandwidth"] = toFraction(difference.plannedBandwidth);
      entry["wired_bandwidth"] = toFraction(difference.wiredBandwidth);
    }
    if (one.boundWith) {
      entry["allgather_with_it"] = toFraction(*one.boundWith);
    }
    json["differences"].push_back(std::move(entry));
    if (lines++ < kMaxLines) {
      report.text += std::string(one.isFault ? "  differs     " : "  more        ") + oneLine(difference.text) +
                     (one.cost.empty() ? "" : "; " + one.cost) + "\n";
    }
  }
  if (lines > kMaxLines) {
    report.text += "  and " + std::to_string(lines - kMaxLines) + " more; --json lists all\n";
  }
  const std::size_t faults = compared.faults;
  json["faults"] = faults;
  if (faults > 0) {
    report.json["ok"] = false;
    report.failure = options.fabric.source + ": " + counted(static_cast<std::int64_t>(faults), "difference") +
                     " from " + options.against;
  } else {
    report.text += "  against     nothing of the plan is missing\n";
  }
  return Done{};
}

Result<Report> run(const CheckOptions& all, const Progress& progress) {
  const FabricOptions& options = all.fabric;
  const auto loaded = loadDescription(options, progress);
  if (!loaded) {
    return loaded.error();
  }
  std::vector<Finding> findings = loaded->findings;
  for (Finding& finding : fabric::validate(loaded->description)) {
    findings.push_back(std::move(finding));
  }
  const bool ok = !hasErrors(findings);
  const std::size_t errors = count(findings, Severity::error);
  const std::size_t warnings = count(findings, Severity::warning);

  Report report;
  report.json["ok"] = ok;
  report.json["fabric"] = loaded->description.name;
  report.json["format"] = loaded->format;
  report.json["errors"] = errors;
  report.json["warnings"] = warnings;
  report.text = named(loaded->description.name) + (ok ? ": a valid fabric" : ": not a valid fabric") + "\n";
  if (ok) {
    const Outcome described = describeFabric(*loaded, report);
    if (!described) {
      return described.error();
    }
    if (!all.against.empty()) {
      if (const Outcome compared = compareAgainst(*loaded, all, progress, report); !compared) {
        return compared.error();
      }
    }
  } else {
    report.failure =
        options.source + ": " + std::to_string(errors) + (errors == 1 ? " error" : " errors") + " in the fabric";
  }
  report.json["findings"] = toJson(findings);
  report.text += lines(findings);
  return report;
}

}  // namespace

void addCheck(CLI::App& app, Invocation& invocation) {
  CLI::App& sub =
      addSubcommand(app, invocation, "check", "List all errors and warnings of a fabric, each with a suggested fix",
                    "  coppice-cli check examples/2x-dgx-a100.fabric.json\n"
                    "  coppice-cli check box.xml --boxes 4 --scale-out rails\n"
                    "  coppice-cli check wired.fabric.json --against planned.fabric.json\n"
                    "  some-generator | coppice-cli check - --json");
  auto options = std::make_shared<CheckOptions>();
  addFabricOptions(sub, options->fabric);
  sub.add_option("--against", options->against,
                 "Fabric as planned or bought: list what is missing, slower or on another switch, and what it costs");
  sub.callback([options, &invocation] {
    invocation.action = [options](const Progress& progress) { return run(*options, progress); };
  });
}

}  // namespace coppice::cli
