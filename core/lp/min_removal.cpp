// SPDX-License-Identifier: Apache-2.0
#include "lp/min_removal.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "flow/cheapest_flow.hpp"

namespace coppice::lp {

std::vector<std::int64_t> surpluses(int nodeCount, const std::vector<ArcEnds>& arcs,
                                    std::span<const std::int64_t> capacities) {
  std::vector<std::int64_t> surplus(nodeCount, 0);
  for (std::size_t i = 0; i < arcs.size(); ++i) {
    surplus[arcs[i].head] = checkedAdd(surplus[arcs[i].head], capacities[i]);
    surplus[arcs[i].tail] = checkedSub(surplus[arcs[i].tail], capacities[i]);
  }
  return surplus;
}

// Removing one unit along a path u -> ... -> v keeps the balance inside it, lowers u's egress and v's ingress. So the
// removed amounts are a flow from relays with too much egress (or any GPU) to relays with too much ingress (or any
// GPU). One node stands for all GPUs: it gives what relays have too much of ingress, and takes what they have too much
// of egress; what goes straight from relay to relay is balanced by a flow from source to sink through it, at no cost.
std::optional<std::vector<std::int64_t>> minRemoval(int nodeCount, const std::vector<bool>& isGpu,
                                                    const std::vector<ArcEnds>& arcs,
                                                    std::span<const std::int64_t> capacities,
                                                    const Progress& progress) {
  const int hub = nodeCount;
  const int source = nodeCount + 1;
  const int sink = nodeCount + 2;
  const auto merged = [&](int node) { return isGpu[node] ? hub : node; };
  std::vector<flow::PricedArc> priced;
  for (std::size_t i = 0; i < arcs.size(); ++i) {
    const int tail = merged(arcs[i].tail);
    const int head = merged(arcs[i].head);
    priced.push_back({tail, head, tail != head ? capacities[i] : 0, 1});
  }
  const std::vector<std::int64_t> surplus = surpluses(nodeCount, arcs, capacities);
  std::int64_t excess = 0;
  std::int64_t lack = 0;
  for (int node = 0; node < nodeCount; ++node) {
    if (isGpu[node] || surplus[node] == 0) {
      continue;
    }
    if (surplus[node] < 0) {
      priced.push_back({source, node, -surplus[node], 0});
      lack = checkedAdd(lack, -surplus[node]);
    } else {
      priced.push_back({node, sink, surplus[node], 0});
      excess = checkedAdd(excess, surplus[node]);
    }
  }
  priced.push_back({source, hub, excess, 0});
  priced.push_back({hub, sink, lack, 0});
  const std::int64_t wanted = checkedAdd(excess, lack);
  const auto removed = flow::cheapestFlow(nodeCount + 3, priced, source, sink, wanted, progress);
  if (removed.value < wanted) {
    return std::nullopt;
  }
  std::vector<std::int64_t> kept(arcs.size());
  for (std::size_t i = 0; i < arcs.size(); ++i) {
    kept[i] = capacities[i] - removed.flow[i];
  }
  return kept;
}

}  // namespace coppice::lp
