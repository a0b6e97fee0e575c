// SPDX-License-Identifier: Apache-2.0
#include "workflow/against_plan.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/counted.hpp"
#include "live/cut_bound.hpp"
#include "workflow/facts.hpp"

namespace coppice::workflow {
namespace {

std::optional<Bandwidth> allgatherOf(const fabric::Fabric& fabric, const Progress& progress) {
  const auto bound = live::CutBound::create(fabric, {.collective = Collective::allgather}, progress);
  return bound ? std::optional(bound->answer().algbw) : std::nullopt;
}

void addCost(const fabric::Fabric& plan, const Bandwidth& whole, const Progress& progress, PlanDifference& one) {
  const auto changed = fabric::withDifference(plan, one.difference);
  if (!changed) {
    return;
  }
  const auto built = fabric::Fabric::build(*changed);
  const auto bound = built ? allgatherOf(*built, progress) : std::optional(Bandwidth());
  if (!bound) {
    return;
  }
  one.boundWith = bound;
  if (bound->isZero()) {
    one.cost = "GPUs would be cut off";
  } else if (built->gpuCount() < plan.gpuCount()) {
    one.cost = "the other " + counted(built->gpuCount(), "GPU") + " reach " + gigabytes(*bound) +
               " in an allgather, all " + std::to_string(plan.gpuCount()) + " of the plan " + gigabytes(whole);
  } else {
    one.cost = *bound == whole ? "costs nothing of the allgather"
                               : "the allgather falls from " + gigabytes(whole) + " to " + gigabytes(*bound);
  }
}

/// Where a person looks for it: its wired ends or, where it is missing, the wired neighbours of what the plan has.
std::vector<std::string> placesOf(const fabric::Fabric& plan, const fabric::Fabric& wired,
                                  const fabric::FabricComparison& compared, const fabric::Difference& difference) {
  if (!difference.wired.empty()) {
    std::vector<std::string> places;
    for (const std::string& name : difference.wired) {
      if (wired.find(name)) {
        places.push_back(name);
      }
    }
    if (!places.empty()) {
      return places;
    }
    for (const fabric::Node& node : wired.nodes()) {
      if (node.box == difference.wired.front()) {
        places.push_back(node.id);
      }
    }
    return places;
  }
  const auto isPart = [&](fabric::NodeIndex index) {
    const fabric::Node& node = plan.nodes()[index];
    return std::any_of(difference.planned.begin(), difference.planned.end(), [&](const std::string& name) {
      return difference.kind == fabric::DifferenceKind::missingHost ? node.box == name : node.id == name;
    });
  };
  std::set<int> found;
  const auto add = [&](fabric::NodeIndex index) {
    if (const int there = compared.wiredOf[static_cast<std::size_t>(index)]; there >= 0) {
      found.insert(there);
    }
  };
  for (fabric::NodeIndex index = 0; index < plan.nodeCount(); ++index) {
    if (isPart(index)) {
      add(index);
    }
  }
  if (difference.kind == fabric::DifferenceKind::missingHost ||
      difference.kind == fabric::DifferenceKind::missingNode) {
    for (const fabric::Arc& arc : plan.arcs()) {
      if (isPart(arc.tail) && !isPart(arc.head)) {
        add(arc.head);
      }
    }
  }
  std::vector<std::string> places;
  for (const int index : found) {
    places.push_back(wired.nodes()[static_cast<std::size_t>(index)].id);
  }
  return places;
}

}  // namespace

AgainstPlan againstPlan(const fabric::Fabric& planAsStated, const fabric::Fabric& wiredAsFound,
                        const Progress& progress) {
  // Presets often join GPUs to the network without NICs, which files of machines have.
  const auto hasNics = [](const fabric::Fabric& fabric) {
    return std::any_of(fabric.nodes().begin(), fabric.nodes().end(),
                       [](const fabric::Node& node) { return node.kind == fabric::NodeKind::nic; });
  };
  std::optional<fabric::Fabric> planFolded;
  std::optional<fabric::Fabric> wiredFolded;
  if (hasNics(planAsStated) && !hasNics(wiredAsFound)) {
    planFolded = fabric::withoutNics(planAsStated);
  } else if (!hasNics(planAsStated) && hasNics(wiredAsFound)) {
    wiredFolded = fabric::withoutNics(wiredAsFound);
  }
  const fabric::Fabric& plan = planFolded ? *planFolded : planAsStated;
  const fabric::Fabric& wired = wiredFolded ? *wiredFolded : wiredAsFound;
  fabric::FabricComparison compared = fabric::compareWired(plan, wired);
  AgainstPlan result{compared.isById, allgatherOf(plan, progress), allgatherOf(wired, progress), {}, 0};
  std::size_t costs = 0;
  for (fabric::Difference& difference : compared.differences) {
    PlanDifference one{std::move(difference)};
    one.places = placesOf(plan, wired, compared, one.difference);
    one.isFault = one.difference.kind != fabric::DifferenceKind::moreBandwidth &&
                  one.difference.kind != fabric::DifferenceKind::extraHost &&
                  one.difference.kind != fabric::DifferenceKind::extraCable;
    result.faults += one.isFault ? 1 : 0;
    if (one.isFault && result.planned && costs < kMaxPlanCosts && !progress.isCancelled()) {
      addCost(plan, *result.planned, progress, one);
      costs += one.boundWith ? 1 : 0;
    }
    result.differences.push_back(std::move(one));
  }
  return result;
}

}  // namespace coppice::workflow
