// SPDX-License-Identifier: Apache-2.0
#include "workflow/alltoall_method.hpp"

#include <chrono>
#include <memory>
#include <utility>

#include "alltoall/alltoall.hpp"
#include "alltoall/demand_table.hpp"
#include "base/text.hpp"
#include "workflow/exchange_request.hpp"
#include "workflow/facts.hpp"

namespace coppice::workflow {
namespace {

constexpr std::size_t kListedLengths = 4096;
constexpr std::size_t kShownLengths = 3;

/// The links with a length: what holds the all-to-all back where the bound is reached.
Facts lengthFacts(const fabric::Fabric& fabric, const schedule::ExchangeLengths& lengths) {
  Json list = Json::array();
  std::string shown;
  std::size_t count = 0;
  for (std::size_t arc = 0; arc < lengths.size(); ++arc) {
    if (lengths[arc] == 0) {
      continue;
    }
    const fabric::Arc& at = fabric.arcs()[arc];
    const std::string& from = fabric.nodes()[at.tail].id;
    const std::string& to = fabric.nodes()[at.head].id;
    if (count < kListedLengths) {
      list.push_back({{"src", from}, {"dst", to}, {"length", lengths[arc]}});
    }
    if (count < kShownLengths) {
      shown += (count > 0 ? ", " : "") + inQuotes(from) + " -> " + inQuotes(to);
    }
    ++count;
  }
  return {{.key = "lengths", .value = std::move(list)},
          {.key = "links_with_length",
           .value = count,
           .label = "limited by",
           .text = counted(static_cast<std::int64_t>(count), "link direction") + ": " + shown +
                   (count > kShownLengths ? ", ..." : "")}};
}

/// How long the bytes of a table take.
Facts demandFacts(const Rational& unit, const alltoall::Optimum& claim) {
  const Rational longest = alltoall::nanosecondsOf(unit, claim.lower, true);
  const Rational least = alltoall::nanosecondsOf(unit, claim.upper, false);
  return {{.key = "demand_nanoseconds",
           .value = longest.toString(),
           .label = "time",
           .text = exchangeDuration(longest) + " for the bytes of the table" +
                   (claim.isExact() ? ", exact: no routes are faster" : ", at least " + exchangeDuration(least))},
          {.key = "demand_least_nanoseconds", .value = least.toString()}};
}

/// @param unit bytes of the amounts, where a table gave them
/// @param isAlone no figures of a schedule stand beside them
Facts exchangeFacts(const fabric::Fabric& fabric, const alltoall::Optimum& claim, const std::optional<Rational>& unit,
                    bool isAlone) {
  const int gpus = fabric.gpuCount();
  Facts facts = {
      {.key = "fabric",
       .value = fabric.name(),
       .label = "alltoall",
       .text = isAlone ? "on " + named(fabric.name()) + ", " + counted(gpus, "GPU") : std::string()},
      {.key = "gpus", .value = gpus},
      {.key = "lower",
       .value = toFraction(claim.lower),
       .label = unit ? std::string() : "each pair",
       .text = unit ? std::string()
                    : gigabytes(claim.lower) + (claim.isExact() ? ", exact" : ", at most " + gigabytes(claim.upper))},
      {.key = "upper", .value = toFraction(claim.upper)},
      {.key = "exact", .value = claim.isExact()},
      {.key = "lower_GBps", .value = toGBps(claim.lower)},
      {.key = "upper_GBps", .value = toGBps(claim.upper)},
      {.key = "gap", .value = toGBps(claim.upper) / toGBps(claim.lower) - 1}};
  if (unit) {
    append(facts, demandFacts(*unit, claim));
  }
  Facts throughput =
      throughputFacts(Collective::alltoall, alltoall::algbwOf(claim.demand, claim.lower, gpus), gpus, "throughput");
  append(facts, isAlone ? std::move(throughput) : withoutText(std::move(throughput)));
  append(facts, {{.key = "symmetries", .value = claim.routing.symmetries.size()},
                 {.key = "link_classes", .value = claim.arcOrbits},
                 {.key = "trees", .value = claim.routing.trees.size()},
                 {.key = "verified", .value = true}});
  append(facts, lengthFacts(fabric, claim.lengths));
  return facts;
}

Result<BestKnown> findRate(const fabric::Fabric& fabric, const Demand&, const OptionValues& values,
                           const Progress& progress) {
  alltoall::Request request;
  request.budget = std::chrono::seconds(values.integer("seconds").value_or(0));
  request.parts = values.integer("parts");
  request.demand.relays = !values.flag("direct");
  std::optional<Rational> unit;
  if (const std::string file = values.text("demand"); !file.empty()) {
    auto table = readDemandBytes(fabric, file);
    if (!table) {
      return table.error();
    }
    request.demand.amounts = std::move(table->demand.amounts);
    unit = table->unit;
  }
  auto found = alltoall::optimum(fabric, request, progress);
  if (!found) {
    return found.error();
  }
  const auto claim = std::make_shared<const alltoall::Optimum>(*std::move(found));
  BestKnown known{.claims = {.exchange = claim}, .facts = {}};
  known.facts = [claim, unit](const LoadedFabric& loaded, const Judged* judged) {
    return exchangeFacts(loaded.fabric, *claim, unit, judged == nullptr);
  };
  return known;
}

Result<Made> generateAllToAll(const fabric::Fabric& fabric, const Demand& demand, const OptionValues& values,
                              const Progress& progress) {
  auto known = findRate(fabric, demand, values, progress);
  if (!known) {
    return known.error();
  }
  auto made = alltoall::scheduleOf(fabric, known->claims.exchange->demand, known->claims.exchange->routing,
                                   alltoall::kMaxTransfers, progress);
  if (!made) {
    return made.error();
  }
  return Made{.schedule = *std::move(made), .claims = std::move(known->claims), .facts = std::move(known->facts)};
}

std::vector<Option> alltoallOptions() {
  constexpr int kDefaultSeconds = 8;
  constexpr int kMaxSeconds = 86'400;
  constexpr int kMaxParts = 1 << 30;
  return {
      {.name = "seconds",
       .title = "Work of the search",
       .help = "Work of the search for better routes and bounds, in seconds of a processor; it is counted, so that the "
               "result is the same everywhere. Most fabrics are solved exactly sooner",
       .kind = OptionKind::integer,
       .defaultText = std::to_string(kDefaultSeconds),
       .max = kMaxSeconds,
       .placeholder = "S",
       .unit = "s"},
      {.name = "parts",
       .title = "Parts per pair of GPUs",
       .help = "Round the routes to this many equal parts of what a GPU sends to another, for programs with few chunks",
       .kind = OptionKind::integer,
       .min = 1,
       .max = kMaxParts,
       .placeholder = "P"},
      {.name = "demand",
       .title = "Bytes of each pair",
       .help =
           "CSV file with the bytes that each GPU (row) sends to each GPU (column), in the order of ranks or by ids; "
           "default: the same for every pair",
       .kind = OptionKind::text,
       .placeholder = "FILE",
       .isFile = true},
      {.name = "direct",
       .title = "No relaying",
       .help = "GPUs do not pass data of others on",
       .kind = OptionKind::flag}};
}

}  // namespace

Result<std::shared_ptr<const alltoall::Optimum>> verifiedAlltoall(const fabric::Fabric& fabric,
                                                                  const alltoall::Request& request,
                                                                  const Progress& progress) {
  auto found = alltoall::optimum(fabric, request, progress);
  if (!found) {
    return found.error();
  }
  const auto optimum = std::make_shared<const alltoall::Optimum>(*std::move(found));
  progress.report("verifying", 0);
  const auto checked = checkClaims(fabric, nullptr, {.exchange = optimum}, progress);
  if (!checked) {
    return checked.error();
  }
  if (!checked->findings.empty()) {
    return rejected(checked->findings);
  }
  return optimum;
}

Method alltoallMethod() {
  return {.id = "alltoall",
          .title = "Optimal alltoall",
          .description = "All-to-all over the routes of the maximum concurrent flow; GPUs on a route forward data.",
          .collectives = {Collective::alltoall},
          .family = Family::optimal,
          .options = alltoallOptions(),
          .form = ScheduleForm::steps,
          .front = frontOfOne(generateAllToAll),
          .known = findRate};
}

}  // namespace coppice::workflow
