// SPDX-License-Identifier: Apache-2.0
#include "workflow/facts.hpp"

#include <array>
#include <cstdio>
#include <iterator>
#include <utility>

#include "base/bus_factor.hpp"
#include "base/formatted.hpp"
#include "base/one_line.hpp"

namespace coppice::workflow {
namespace {

Facts costFacts(const schedule::StepCost& cost) {
  return {{.key = "rounds", .value = cost.rounds},
          {.key = "t_b", .value = toFraction(cost.timePerByte)},
          {.key = "stretch",
           .value = {{"max", cost.maxStretch}, {"mean", cost.meanStretch}},
           .label = "stretch",
           .text = withPlaces(cost.meanStretch, 2) + " links per transfer on average (by bytes), at most " +
                   std::to_string(cost.maxStretch)},
          {.key = "traffic",
           .value = cost.totalTraffic.toString(),
           .label = "traffic",
           .text = cost.totalTraffic.toString() + " bytes over all links per byte of the data"}};
}

/// The minimum traffic, and the links that carry most for their bandwidth.
Facts linkFacts(const fabric::Fabric& fabric, const Figures& figures) {
  Facts facts;
  if (figures.minTraffic) {
    facts.push_back({.key = "least_traffic",
                     .value = figures.minTraffic->toString(),
                     .text = "the minimum is " + figures.minTraffic->toString()});
  }
  constexpr std::size_t kListed = 3;
  Fact busiest{.key = "busiest_links", .value = Json::array()};
  Facts lines;
  for (const BusyLink& link : busiestLinks(fabric, *figures.cost, kListed)) {
    const fabric::Arc& arc = fabric.arcs()[link.arc];
    const std::string& from = fabric.nodes()[arc.tail].id;
    const std::string& to = fabric.nodes()[arc.head].id;
    busiest.value.push_back(
        {{"from", from}, {"to", to}, {"traffic", link.traffic.toString()}, {"t_b", toFraction(link.time)}});
    lines.push_back({.label = "busy link",
                     .text = named(from) + " -> " + named(to) + ", " + link.traffic.toString() +
                             " bytes per byte of the data at " + gigabytes(arc.bandwidth)});
  }
  facts.push_back(std::move(busiest));
  append(facts, std::move(lines));
  return facts;
}

}  // namespace

void append(Facts& facts, Facts more) {
  facts.insert(facts.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

Facts withoutText(Facts facts) {
  for (Fact& fact : facts) {
    fact.text.clear();
    fact.full.clear();
  }
  return facts;
}

Facts throughputFacts(Collective collective, const Bandwidth& algbw, int gpus, std::string label) {
  const Bandwidth bus = busbw(collective, algbw, gpus);
  return {{.key = "algbw", .value = toFraction(algbw)},
          {.key = "algbw_GBps", .value = toGBps(algbw)},
          {.key = "busbw",
           .value = toFraction(bus),
           .label = std::move(label),
           .text = gigabytes(algbw) + " (busbw " + gigabytes(bus) + ")"},
          {.key = "busbw_GBps", .value = toGBps(bus)}};
}

Facts timeFacts(bool dependsOnTime) {
  return {{.key = "depends_on_time",
           .value = dependsOnTime,
           .label = "note",
           .text = dependsOnTime
                       ? "a limit of time ended a part of the search; another machine may find another schedule"
                       : ""}};
}

Facts boundFacts(const Bandwidth& algbw, const Bandwidth& bound, schedule::BoundScope scope) {
  const bool isReached = algbw == bound;
  const bool isOptimum = schedule::isOptimum(scope);
  const std::string sentence(schedule::sentenceOf(scope));
  return {{.key = "optimal", .value = isReached && isOptimum},
          {.key = "optimum_algbw",
           .value = toFraction(bound),
           .label = isOptimum ? "optimum" : "bound",
           .text = isReached ? "reached" : gigabytes(bound) + "; this is " + percent(algbw / bound) + " of it"},
          {.key = "share_of_optimum", .value = (algbw / bound).toString()},
          {.key = "bound_scope",
           .value = sentence,
           .label = "note",
           .text = scope == schedule::BoundScope::all ? std::string() : sentence}};
}

Facts factsOf(const fabric::Fabric& fabric, const schedule::AnySchedule& schedule, const Figures& figures) {
  const Collective collective = schedule::collectiveOf(schedule);
  const auto* steps = std::get_if<schedule::StepSchedule>(&schedule);
  Facts facts = {{.key = "collective",
                  .value = toString(collective),
                  .label = "schedule",
                  .text = std::string(toString(collective)) + " on " + named(fabric.name()) + ", " +
                          counted(fabric.gpuCount(), "GPU")}};
  if (const auto root = schedule::rootOf(schedule)) {
    facts.push_back({.key = "root", .value = *root});
  }
  facts.push_back({.key = "gpus", .value = fabric.gpuCount()});
  facts.push_back({.key = "form", .value = steps ? (steps->isSynchronous ? "steps" : "order") : "forest"});
  append(facts, throughputFacts(collective, figures.algbw, fabric.gpuCount(), "throughput"));
  std::string text = std::to_string(figures.steps);
  if (figures.cost && figures.cost->rounds > figures.steps) {
    text += " in " + counted(figures.cost->rounds, "round");
  }
  if (steps == nullptr || !steps->isSynchronous) {
    text += ", the longest chain of transfers";
  }
  facts.push_back({.key = "steps", .value = figures.steps, .label = "steps", .text = std::move(text)});
  if (figures.cost) {
    append(facts, costFacts(*figures.cost));
    append(facts, linkFacts(fabric, figures));
  } else {
    facts.push_back({.key = "t_b", .value = toFraction(figures.algbw.inverse())});
  }
  return facts;
}

std::string gigabytes(const Bandwidth& bandwidth) {
  const Rational& value = bandwidth.gigabytesPerSecond();
  if (value.isInteger()) {
    return value.toString() + " GB/s";
  }
  // Two places would show next to nothing of a small number.
  std::array<char, 32> small{};
  std::snprintf(small.data(), small.size(), "%.3g", value.toDouble());
  const bool isSmall = value < Rational(1, 100) && Rational(-1, 100) < value;
  return value.toString() + " = " + (isSmall ? small.data() : toDecimal(value)) + " GB/s";
}

std::string duration(double seconds) {
  std::array<char, 32> buffer{};
  if (seconds < 1) {
    std::snprintf(buffer.data(), buffer.size(), "%.2f ms", seconds * 1e3);
  } else {
    std::snprintf(buffer.data(), buffer.size(), "%.2f s", seconds);
  }
  return buffer.data();
}

std::string exchangeDuration(const Rational& nanoseconds) {
  const double value = nanoseconds.toDouble();
  return value < 1e3   ? withPlaces(value, 2) + " ns"
         : value < 1e6 ? withPlaces(value / 1e3, 2) + " µs"
                       : duration(value * 1e-9);
}

std::string named(const std::string& name) {
  return name.empty() ? "unnamed fabric" : oneLine(name);
}

std::string percent(const Rational& share) {
  return toDecimal(share * Rational(100)) + " %";
}

Bandwidth busbw(Collective collective, const Bandwidth& algbw, int ranks) {
  return algbw * busFactor(collective, ranks);
}

}  // namespace coppice::workflow
