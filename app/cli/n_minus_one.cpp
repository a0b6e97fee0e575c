// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>

#include "base/one_line.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "live/failures.hpp"
#include "live_input.hpp"
#include "text.hpp"

namespace coppice::cli {
namespace {

struct NMinusOneOptions {
  FabricOptions fabric;
  workflow::DemandText demand;
  workflow::Values switches;
  std::string parts = "link,nic,switch,gpu";
  std::optional<int> top = {};
};

Result<Report> run(const NMinusOneOptions& options, const Progress& progress) {
  const auto parts = parseParts("parts", options.parts);
  if (!parts) {
    return parts.error();
  }
  auto input = loadLive(options.fabric, options.demand, options.switches, progress);
  if (!input) {
    return input.error();
  }
  const auto started = std::chrono::steady_clock::now();
  std::vector<live::PartFailure> failures =
      live::singleFailures(input->loaded.description, parts->count(live::Part::box) != 0);
  std::erase_if(failures, [&](const live::PartFailure& failure) { return parts->count(failure.part) == 0; });
  const auto ranking = live::rankFailures(input->bound, failures, progress);
  if (!ranking) {
    return ranking.error();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;

  Report report;
  report.json = headJson(*input);
  report.json["failures"] = failures.size();
  report.json["harmless"] = std::count_if(ranking->begin(), ranking->end(),
                                          [](const live::Damage& damage) { return !damage.loss.isPositive(); });
  report.json["ranking"] = Json::array();
  report.text = "n-1 of " + std::string(toString(input->request.collective)) + ", " +
                gigabytes(input->bound.answer().algbw) + " without failures\n" + headText(*input);
  std::array<std::size_t, 5> counts{};
  for (const live::PartFailure& failure : failures) {
    ++counts[static_cast<std::size_t>(failure.part)];
  }
  report.text += "  failures    " + counted(static_cast<std::int64_t>(failures.size()), "part") + ", each alone:";
  bool isFirst = true;
  for (const live::Part part : *parts) {
    const auto n = static_cast<std::int64_t>(counts[static_cast<std::size_t>(part)]);
    const std::string noun =
        part == live::Part::gpu ? "GPU" : (part == live::Part::nic ? "NIC" : std::string(toString(part)));
    const std::string plural = part == live::Part::switchNode || part == live::Part::box ? noun + "es" : noun + "s";
    report.text += (isFirst ? " " : ", ") + std::to_string(n) + " " + (n == 1 ? noun : plural);
    isFirst = false;
  }
  report.text += "\n";

  const auto [jsonRows, textRows] = rowsShown(options.top, ranking->size());
  std::vector<std::vector<std::string>> rows{{"loss", "left", "failed"}};
  for (std::size_t i = 0; i < ranking->size(); ++i) {
    const live::Damage& damage = (*ranking)[i];
    const live::PartFailure& failure = failures[damage.failure];
    if (i < jsonRows) {
      Json row = {{"part", live::toString(failure.part)},
                  {"name", failure.name},
                  {"algbw", toFraction(damage.algbw)},
                  {"algbw_GBps", toGBps(damage.algbw)},
                  {"loss", damage.loss.toString()},
                  {"loss_percent", (damage.loss * Rational(100)).toDouble()},
                  {"gpus", damage.gpuCount}};
      if (damage.finding) {
        row["finding"] = toJson(*damage.finding);
      }
      report.json["ranking"].push_back(std::move(row));
    }
    if (i < textRows) {
      rows.push_back({percent(damage.loss), gigabytes(damage.algbw),
                      std::string(live::toString(failure.part)) + " " + oneLine(failure.name),
                      damage.finding ? damage.finding->text : ""});
    }
  }
  if (!ranking->empty()) {
    report.text += table(rows);
  }
  if (textRows < ranking->size()) {
    report.text += "  and " + std::to_string(ranking->size() - textRows) + " more, at most " +
                   percent((*ranking)[textRows].loss) + " each\n";
  }
  closeReport(report, *input, seconds.count());
  return report;
}

}  // namespace

void addNMinusOne(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(app, invocation, "n-1", "Rank all single failures by the bound that remains",
                                "  coppice-cli n-1 examples/4x-dgx-h100-rails.fabric.json\n"
                                "  coppice-cli n-1 preset:mi250,boxes=4 -c allreduce --parts nic,switch,box --top 5\n"
                                "  coppice-cli n-1 cluster.fabric.json --json");
  auto options = std::make_shared<NMinusOneOptions>();
  addFabricOptions(sub, options->fabric);
  addDemandOptions(sub, options->demand);
  addOptions(sub, {workflow::plainSwitchesOption()}, options->switches);
  sub.add_option("--parts", options->parts,
                 "What fails: link, nic, switch, gpu or box, separated by commas; of parallel links, one fails")
      ->capture_default_str();
  sub.add_option("--top", options->top, "Rows to list, the worst first; 0 = all (default: 20, with --json all)")
      ->check(CLI::Range(0, 1 << 30));
  sub.callback([options, &invocation] {
    invocation.action = [options](const Progress& progress) { return run(*options, progress); };
  });
}

}  // namespace coppice::cli
