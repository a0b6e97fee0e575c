// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "bill_text.hpp"
#include "bom/tables.hpp"
#include "command.hpp"
#include "input.hpp"
#include "text.hpp"
#include "workflow/options.hpp"

namespace coppice::cli {
namespace {

struct BomOptions {
  FabricOptions fabric;
  workflow::Values parts;
  bool isForWatts = false;
  bool isSample = false;
  std::string cables;
  std::string output;
};

/// Cables of all runs, the shortest and the longest.
void addCables(const bom::Bill& bill, Report& report) {
  std::int64_t count = 0;
  Rational shortest;
  Rational longest;
  for (const bom::CableRun& run : bill.runs) {
    shortest = count == 0 ? run.length : std::min(shortest, run.length);
    longest = std::max(longest, run.length);
    count += run.count;
  }
  report.json["cables"] = count;
  report.json["longest_metres"] = longest.toString();
  if (count > 0) {
    report.text +=
        "  cables      " + std::to_string(count) + ", " + toDecimal(shortest) + " to " + toDecimal(longest) + " m\n";
  }
}

Result<Report> writeSample(const BomOptions& options, bool json) {
  Report report;
  report.json["ok"] = true;
  const std::string output = options.output.empty() ? "-" : options.output;
  if (const Outcome written = deliver(output, std::string(bom::kSampleParts), "sample written to ", json, report);
      !written) {
    return written.error();
  }
  return report;
}

Result<Report> run(const BomOptions& options, bool json, const Progress& progress) {
  if (options.isSample) {
    return writeSample(options, json);
  }
  if (options.fabric.source.empty()) {
    return Error{ErrorCode::badUsage, "no fabric is given", "name a file, or preset:NAME,key=value"};
  }
  const auto priced = workflow::readPartsAndFloor(options.parts);
  if (!priced) {
    return priced.error();
  }
  const bom::Parts& parts = priced->parts;
  const auto loaded = loadFabric(options.fabric, progress);
  if (!loaded) {
    return loaded.error();
  }
  const fabric::Fabric& fabric = loaded->fabric;
  const auto bill = bom::billOf(fabric, parts, priced->floor,
                                options.isForWatts ? bom::Preference::watts : bom::Preference::price, progress);
  if (!bill) {
    return bill.error();
  }
  Report report;
  report.json = {{"ok", true}, {"fabric", fabric.name()}, {"gpus", fabric.gpuCount()}};
  report.json.update(billJson(*bill, parts));
  report.json["boxes"] = bill->plan.boxes;
  report.json["racks"] = bill->plan.racks;
  report.json["network_racks"] = bill->plan.networkRacks;
  report.text = named(fabric.name()) + ": bill of materials of the network, " +
                (options.isForWatts ? "the fewest watts\n" : "the lowest price\n") + billText(*bill, parts) +
                "  racks       " + std::to_string(bill->plan.racks) + " with " +
                counted(bill->plan.boxes, "box", "boxes") + ", " + std::to_string(bill->plan.networkRacks) +
                " with switches between them\n";
  addCables(*bill, report);
  report.text += partsNotes(*priced);
  report.json["sample"] = priced->isSample;
  for (const auto& [file, text, label] :
       {std::tuple(options.cables, bom::cableCsv(fabric, *bill, parts), "  cable list  "),
        std::tuple(options.output, bom::billCsv(*bill, parts), "  bill        ")}) {
    if (file.empty()) {
      continue;
    }
    if (const Outcome written = deliver(file, text, label, json, report); !written) {
      return written.error();
    }
  }
  return report;
}

}  // namespace

void addBom(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(
      app, invocation, "bom",
      "Bill of materials of the network between boxes: parts, price, watts, and cables with lengths",
      "  coppice-cli bom --sample -o parts.csv\n"
      "  coppice-cli bom preset:dgx-h100,boxes=8,network=rails --parts parts.csv\n"
      "  coppice-cli bom cluster.fabric.json --parts quotes.csv --cables cables.csv -o bill.csv --top-of-rack");
  auto options = std::make_shared<BomOptions>();
  addFabricOptions(sub, options->fabric);
  sub.get_option("fabric")->required(false);
  addPartsOptions(sub, options->parts);
  sub.add_flag("--sample", options->isSample, "Write a sample of a table of parts to -o instead, to start from");
  sub.add_flag("--fewest-watts", options->isForWatts, "Choose parts for the fewest watts instead of the lowest price");
  sub.add_option("--cables", options->cables, "Write the cable list (CSV): ends, racks, ports, length and part");
  sub.add_option("-o,--output", options->output, "Write the bill (CSV); - for standard output");
  sub.callback([options, &invocation] {
    invocation.action = [options, &invocation](const Progress& progress) {
      return run(*options, invocation.json, progress);
    };
  });
}

}  // namespace coppice::cli
