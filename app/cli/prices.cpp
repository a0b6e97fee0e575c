// SPDX-License-Identifier: Apache-2.0
#include "live/prices.hpp"

#include <algorithm>
#include <chrono>
#include <memory>

#include "base/one_line.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "command.hpp"
#include "live_input.hpp"
#include "text.hpp"

namespace coppice::cli {
namespace {

struct PricesOptions {
  FabricOptions fabric;
  workflow::DemandText demand;
  workflow::Values switches;
  std::string by = "link";
  std::optional<int> top = {};
};

/// What the links of a class have in common, where they do.
std::optional<Bandwidth> commonBandwidth(const fabric::Fabric& fabric, const live::LinkGroup& group) {
  std::optional<Bandwidth> common;
  for (const live::GroupArc& arc : group.arcs) {
    const Bandwidth each = bandwidthBetween(fabric, arc.src, arc.dst) / Rational(arc.weight);
    if (common && *common != each) {
      return std::nullopt;
    }
    common = each;
  }
  return common;
}

std::string place(const std::optional<Bandwidth>& bandwidth, const std::optional<Bandwidth>& change) {
  if (!change || (bandwidth && *bandwidth + *change < Bandwidth())) {
    return "";
  }
  return bandwidth ? gigabytes(*bandwidth + *change) : (change->isPositive() ? "+" : "") + gigabytes(*change);
}

/// What is ranked: single links, or classes of equal ones.
struct PricedGroups {
  std::vector<live::LinkGroup> groups;
  std::vector<std::optional<Bandwidth>> bandwidths;  ///< of each group
};

Result<PricedGroups> pricedGroups(const LoadedLive& input, bool isByClass) {
  PricedGroups priced;
  if (isByClass) {
    priced.groups = live::linkClasses(input.loaded.fabric);
    for (const live::LinkGroup& group : priced.groups) {
      priced.bandwidths.push_back(commonBandwidth(input.loaded.fabric, group));
    }
    return priced;
  }
  auto links = live::groupsOf(input.loaded.fabric, input.loaded.description);
  if (!links) {
    return links.error();
  }
  priced.groups = *std::move(links);
  // Each entry its own, also where others run beside it.
  for (const fabric::LinkDescription& link : input.loaded.description.links) {
    const auto bandwidth = Bandwidth::parse(link.bandwidth);
    priced.bandwidths.push_back(bandwidth ? std::optional(*bandwidth) : std::nullopt);
  }
  return priced;
}

Json priceJson(const live::LinkGroup& group, const live::Price& price, const std::optional<Bandwidth>& bandwidth) {
  Json row = {{"name", group.name}, {"arcs", group.arcs.size()}};
  if (bandwidth) {
    row["bandwidth"] = toFraction(*bandwidth);
  }
  row["gain"] = price.raise.toString();
  row["gain_per_GBps"] = price.raise.toDouble();
  row["loss"] = price.lower.toString();
  row["loss_per_GBps"] = price.lower.toDouble();
  row["change_above"] = price.nextAbove ? Json(toFraction(*price.nextAbove)) : Json(nullptr);
  row["change_below"] = price.nextBelow ? Json(toFraction(*price.nextBelow)) : Json(nullptr);
  // The same as bandwidths, as the table has them.
  const auto at = [&](const std::optional<Bandwidth>& change) {
    return bandwidth && change && !(*bandwidth + *change < Bandwidth()) ? Json(toFraction(*bandwidth + *change))
                                                                        : Json(nullptr);
  };
  row["until"] = at(price.nextAbove);
  row["changes_below"] = at(price.nextBelow);
  return row;
}

void addRanking(const std::vector<live::RankedPrice>& ranking, const PricedGroups& priced, const PricesOptions& options,
                const std::string& noun, Report& report) {
  const auto [jsonRows, textRows] = rowsShown(options.top, ranking.size());
  std::vector<std::vector<std::string>> rows{
      {"gain per GB/s", "until", "loss per GB/s", "changes below", "bandwidth", noun}};
  report.json["prices"] = Json::array();
  for (std::size_t i = 0; i < ranking.size(); ++i) {
    const live::Price& price = ranking[i].price;
    const live::LinkGroup& group = priced.groups[ranking[i].group];
    const std::optional<Bandwidth>& bandwidth = priced.bandwidths[ranking[i].group];
    if (i < jsonRows) {
      report.json["prices"].push_back(priceJson(group, price, bandwidth));
    }
    if (i < textRows) {
      rows.push_back({exactAndDecimal(price.raise), place(bandwidth, price.nextAbove), exactAndDecimal(price.lower),
                      place(bandwidth, price.nextBelow), bandwidth ? gigabytes(*bandwidth) : "", oneLine(group.name)});
    }
  }
  if (!ranking.empty()) {
    report.text += table(rows);
  }
  if (textRows < ranking.size()) {
    report.text += "  and " + std::to_string(ranking.size() - textRows) + " more\n";
  }
}

Result<Report> run(const PricesOptions& options, const Progress& progress) {
  if (options.by != "link" && options.by != "class") {
    return Error{ErrorCode::badUsage, "--by: " + inQuotes(options.by) + " is not known", "use link or class"};
  }
  const bool isByClass = options.by == "class";
  auto input = loadLive(options.fabric, options.demand, options.switches, progress);
  if (!input) {
    return input.error();
  }
  const auto started = std::chrono::steady_clock::now();
  const auto priced = pricedGroups(*input, isByClass);
  if (!priced) {
    return priced.error();
  }
  const auto ranking = live::rankPrices(input->bound, priced->groups, progress);
  if (!ranking) {
    return ranking.error();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;

  const auto worthwhile = static_cast<std::size_t>(
      std::ranges::count_if(*ranking, [](const live::RankedPrice& entry) { return entry.price.raise.isPositive(); }));
  const std::string noun = isByClass ? "class" : "link";
  Report report;
  report.json = headJson(*input);
  report.json["by"] = options.by;
  report.json["groups"] = priced->groups.size();
  report.json["worth_raising"] = worthwhile;
  report.text = "prices of " + std::string(toString(input->request.collective)) + ", " +
                gigabytes(input->bound.answer().algbw) + "\n" + headText(*input) + "  raising     ";
  if (worthwhile > 0) {
    const std::string nouns = worthwhile == 1 ? noun : (isByClass ? "classes" : "links");
    report.text += std::to_string(worthwhile) + " " + nouns + " of " + std::to_string(priced->groups.size()) +
                   " would raise the bound\n";
  } else {
    report.text += "no " + noun + " alone raises the bound: several cuts are equally tight" +
                   (isByClass ? "\n" : "; see --by class\n");
  }
  addRanking(*ranking, *priced, options, noun, report);
  closeReport(report, *input, seconds.count());
  return report;
}

}  // namespace

void addPrices(CLI::App& app, Invocation& invocation) {
  CLI::App& sub =
      addSubcommand(app, invocation, "prices",
                    "Compute the exact gain of one more GB/s on each link, and up to which bandwidth it holds",
                    "  coppice-cli prices examples/a100-h100-cluster.fabric.json\n"
                    "  coppice-cli prices examples/4x-dgx-h100-rails.fabric.json --by class\n"
                    "  coppice-cli prices cluster.fabric.json -c broadcast --root b0g0 --top 5 --json");
  auto options = std::make_shared<PricesOptions>();
  addFabricOptions(sub, options->fabric);
  addDemandOptions(sub, options->demand);
  addOptions(sub, {workflow::plainSwitchesOption()}, options->switches);
  sub.add_option("--by", options->by,
                 "link = each link of the file alone; class = all links of one kind and bandwidth together")
      ->capture_default_str();
  sub.add_option("--top", options->top, "Rows to list, the best first; 0 = all (default: 20, with --json all)")
      ->check(CLI::Range(0, 1 << 30));
  sub.callback([options, &invocation] {
    invocation.action = [options](const Progress& progress) { return run(*options, progress); };
  });
}

}  // namespace coppice::cli
