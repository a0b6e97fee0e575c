// SPDX-License-Identifier: Apache-2.0
#include "lp/min_removal.hpp"

#include <algorithm>
#include <limits>

#include "base/checked.hpp"

namespace coppice::lp {

namespace {}  // namespace

std::vector<std::int64_t> surpluses(int nodeCount, const std::vector<ArcEnds>& arcs,
                                    std::span<const std::int64_t> capacities) {
  std::vector<std::int64_t> surplus(static_cast<std::size_t>(nodeCount), 0);
  for (std::size_t i = 0; i < arcs.size(); ++i) {
    surplus[arcs[i].head] = checkedAdd(surplus[arcs[i].head], capacities[i]);
    surplus[arcs[i].tail] = checkedSub(surplus[arcs[i].tail], capacities[i]);
  }
  return surplus;
}

// Removing one unit along a path u -> ... -> v keeps the balance inside it, lowers u's egress and v's ingress. So the
// removed amounts are a flow from relays with too much egress (or any GPU) to relays with too much ingress (or any
// GPU). Node `hub` stands for all GPUs. Unit costs; residual arcs of cost -1 give capacity back.
std::optional<std::vector<std::int64_t>> minRemoval(int nodeCount, const std::vector<bool>& isGpu,
                                                    const std::vector<ArcEnds>& arcs,
                                                    std::span<const std::int64_t> capacities, int maxPaths,
                                                    const Progress& progress) {
  const int hub = nodeCount;
  const auto merged = [&](int node) { return isGpu[node] ? hub : node; };
  std::vector<std::int64_t> surplus = surpluses(nodeCount, arcs, capacities);
  surplus.push_back(0);
  for (int node = 0; node < nodeCount; ++node) {
    if (isGpu[node]) {
      surplus[node] = 0;
    }
  }
  struct Step {
    int arc = 0;
    bool forward = true;
  };
  std::vector<std::vector<Step>> leaving(static_cast<std::size_t>(nodeCount) + 1);
  for (std::size_t i = 0; i < arcs.size(); ++i) {
    const int tail = merged(arcs[i].tail);
    const int head = merged(arcs[i].head);
    if (tail != head) {
      leaving[tail].push_back({static_cast<int>(i), true});
      leaving[head].push_back({static_cast<int>(i), false});
    }
  }
  std::vector<std::int64_t> removed(arcs.size(), 0);
  constexpr int kFar = std::numeric_limits<int>::max() / 2;
  for (int paths = 0;; ++paths) {
    throwIfCancelled(progress);
    if (paths > maxPaths) {
      return std::nullopt;
    }
    // One label-correcting search (Bellman-Ford with a queue) from all relays that still need less egress, and, while
    // some relay needs less ingress, from the hub.
    std::vector<int> distance(static_cast<std::size_t>(nodeCount) + 1, kFar);
    std::vector<Step> via(static_cast<std::size_t>(nodeCount) + 1);
    std::vector<bool> queued(static_cast<std::size_t>(nodeCount) + 1, false);
    std::vector<int> queue;
    const bool someExcess = std::any_of(surplus.begin(), surplus.end(), [](std::int64_t s) { return s > 0; });
    const bool someLack = std::any_of(surplus.begin(), surplus.end(), [](std::int64_t s) { return s < 0; });
    if (!someExcess && !someLack) {
      break;
    }
    std::vector<bool> isStart(static_cast<std::size_t>(nodeCount) + 1, false);
    for (int node = 0; node <= nodeCount; ++node) {
      if (surplus[node] < 0 || (!someLack && node == hub)) {
        distance[node] = 0;
        isStart[node] = true;
        queued[node] = true;
        queue.push_back(node);
      }
    }
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const int node = queue[i];
      queued[node] = false;
      for (const Step step : leaving[node]) {
        const std::int64_t room = step.forward ? capacities[step.arc] - removed[step.arc] : removed[step.arc];
        const int head = merged(step.forward ? arcs[step.arc].head : arcs[step.arc].tail);
        const int length = distance[node] + (step.forward ? 1 : -1);
        if (room > 0 && length < distance[head]) {
          distance[head] = length;
          via[head] = step;
          isStart[head] = false;
          if (!queued[head]) {
            queued[head] = true;
            queue.push_back(head);
          }
        }
      }
    }
    int end = -1;
    for (int node = 0; node <= nodeCount; ++node) {
      const bool canEnd = surplus[node] > 0 || node == hub;
      if (canEnd && !isStart[node] && distance[node] < kFar && (end < 0 || distance[node] < distance[end])) {
        end = node;
      }
    }
    if (end < 0) {
      return std::nullopt;
    }
    std::int64_t amount = end == hub ? std::numeric_limits<std::int64_t>::max() : surplus[end];
    int node = end;
    while (!isStart[node]) {
      const Step step = via[node];
      amount = std::min(amount, step.forward ? capacities[step.arc] - removed[step.arc] : removed[step.arc]);
      node = merged(step.forward ? arcs[step.arc].tail : arcs[step.arc].head);
    }
    if (node != hub) {
      amount = std::min(amount, -surplus[node]);
      surplus[node] += amount;
    }
    if (end != hub) {
      surplus[end] -= amount;
    }
    for (int back = end; !isStart[back];) {
      const Step step = via[back];
      removed[step.arc] += step.forward ? amount : -amount;
      back = merged(step.forward ? arcs[step.arc].tail : arcs[step.arc].head);
    }
  }
  std::vector<std::int64_t> kept(arcs.size());
  for (std::size_t i = 0; i < arcs.size(); ++i) {
    kept[i] = capacities[i] - removed[i];
  }
  return kept;
}

}  // namespace coppice::lp
