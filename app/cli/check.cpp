// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <memory>
#include <set>

#include "base/one_line.hpp"
#include "command.hpp"
#include "fabric/balance.hpp"
#include "input.hpp"
#include "text.hpp"

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

Result<Report> run(const FabricOptions& options, const Progress& progress) {
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
                    "  some-generator | coppice-cli check - --json");
  auto options = std::make_shared<FabricOptions>();
  addFabricOptions(sub, *options);
  sub.callback([options, &invocation] {
    invocation.action = [options](const Progress& progress) { return run(*options, progress); };
  });
}

}  // namespace coppice::cli
