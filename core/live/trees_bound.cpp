// SPDX-License-Identifier: Apache-2.0
#include "live/trees_bound.hpp"

#include <algorithm>
#include <utility>

#include "live/bound_state.hpp"

namespace coppice::live {

std::optional<forestcoll::TreeBound> treesBound(const BoundState& state, const Trial& trial, const Progress& progress) {
  forestcoll::TreeGraph graph = *state.trees;
  for (const Trial::Capacity& each : trial.capacities) {
    graph.arcs[each.arc].bandwidth = Rational(each.value, trial.denominator) * state.unit;
  }
  if (!trial.gone.empty()) {
    constexpr int kGone = -1;
    for (const int node : trial.gone) {
      graph.kindOf[node] = kGone;
      graph.copies[node] = false;
      graph.sums[node] = false;
    }
    const auto isGone = [&](int node) { return graph.kindOf[node] == kGone; };
    std::erase_if(graph.gpus, isGone);
    std::erase_if(graph.arcs, [&](const lp::RateArc& arc) { return isGone(arc.tail) || isGone(arc.head); });
  }
  const forestcoll::TreeDemand demand{.plainSwitches = state.plainSwitches, .budget = state.treesBudget};
  forestcoll::TreeBound bound = forestcoll::treeBound(graph, demand, std::nullopt, progress);
  return bound.status == lp::BoundStatus::notComputed ? std::nullopt : std::optional(std::move(bound));
}

}  // namespace coppice::live
