// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <functional>
#include <queue>
#include <utility>

#include "taccl/stages.hpp"

namespace coppice::taccl {
namespace {

/// Sends are placed one after another, each as early as its machines and its chunk allow, in the order of a key.
class Orderer {
public:
  Orderer(const Problem& problem, const SendGraph& graph, const Trees& trees, const Progress& progress)
      : m_problem(problem),
        m_model(*problem.model),
        m_graph(graph),
        m_trees(trees),
        m_progress(progress),
        m_down(downwards(problem, graph, trees)) {}

  std::vector<int> run() {
    measure();
    if (isBackwards() || !m_model.switches.empty()) {
      // Switches: by the times of the first stage, then as placed.
      const std::vector<int> place = placed();
      return sorted([&](int item) { return Key{m_way[m_graph.sends[m_trees[item]].from], place[item]}; });
    }
    if (m_model.nodes > 1) {
      const std::vector<int> place = placed();
      return sorted([&](int item) { return Key{place[item]}; });
    }
    return sorted([&](int item) {
      return Key{m_way[m_graph.sends[m_trees[item]].from], -m_remaining[item], distanceBack(item), gpuAt(item)};
    });
  }

private:
  using Key = std::array<Ticks, 8>;

  [[nodiscard]] bool isBackwards() const { return m_problem.sendsOneAtATime; }
  [[nodiscard]] const Link& linkOf(int item) const { return m_model.links[m_graph.sends[m_trees[item]].link]; }
  [[nodiscard]] Ticks costOf(int item) const { return m_problem.cost(m_graph.sends[m_trees[item]].link); }
  [[nodiscard]] int gpuAt(int item) const { return m_problem.items[item].gpu; }
  [[nodiscard]] int originOf(int item) const {
    return m_problem.items[m_problem.firstItem[m_problem.items[item].chunk]].gpu;
  }
  [[nodiscard]] Ticks distanceBack(int item) const {
    const Link& link = linkOf(item);
    return (link.from - link.to + m_model.gpus()) % m_model.gpus();
  }

  std::vector<int> sorted(const std::function<Key(int)>& keyOf) const {
    std::vector<std::pair<Key, int>> keyed;
    for (const int item : m_down) {
      keyed.emplace_back(keyOf(item), item);
    }
    std::sort(keyed.begin(), keyed.end());
    std::vector<int> order;
    for (const auto& [key, item] : keyed) {
      order.push_back(item);
    }
    return order;
  }

  /// Ways so far, and what is left from the start of a send on: the longest way, and the sum over all ends.
  void measure() {
    m_way.assign(m_trees.size(), 0);
    m_remaining.assign(m_trees.size(), 0);
    m_remainingSum.assign(m_trees.size(), 0);
    m_children.resize(m_trees.size());
    std::vector<Ticks> ends(m_trees.size());
    for (const int item : m_down) {
      const int from = m_graph.sends[m_trees[item]].from;
      m_way[item] = m_way[from] + costOf(item);
      m_children[from].push_back(item);
    }
    for (auto at = m_down.rbegin(); at != m_down.rend(); ++at) {
      Ticks longest = 0;
      for (const int child : m_children[*at]) {
        longest = std::max(longest, m_remaining[child]);
        m_remainingSum[*at] += m_remainingSum[child];
        ends[*at] += ends[child];
      }
      ends[*at] = std::max<Ticks>(ends[*at], 1);
      m_remaining[*at] = longest + costOf(*at);
      m_remainingSum[*at] += ends[*at] * costOf(*at);
    }
  }

  [[nodiscard]] Ticks earliest(int item) const {
    const Send& send = m_graph.sends[m_trees[item]];
    Ticks start = m_arrival[send.from];
    for (const int machine : m_problem.linkMachines[send.link]) {
      start = std::max(start, m_free[machine]);
    }
    return isBackwards() ? std::max(start, m_sendFree[send.from]) : start;
  }

  [[nodiscard]] Key keyOf(int item, Ticks start) const {
    const int m = m_model.gpusPerNode;
    const Link& link = linkOf(item);
    const Ticks back = distanceBack(item);
    const Ticks left = isBackwards() ? m_remainingSum[item] : m_remaining[item];
    const int ties = link.to / m;
    if (isBackwards() || !m_model.switches.empty()) {
      return {-left, start, back, link.to % m, link.from % m, ties, item};
    }
    const bool isOwn = !link.isRemote && m_model.nodeOf(link.from) == m_model.nodeOf(originOf(item));
    return {start, isOwn ? 0 : 1, -left, back, link.to % m, link.from % m, ties, item};
  }

  void push(int item) {
    const Ticks start = earliest(item);
    m_heap.emplace(keyOf(item, start), std::pair(start, item));
  }

  /// Where a relay's own chunks leave first, the others wait for them.
  void offer(int item) {
    const int link = m_graph.sends[m_trees[item]].link;
    if (m_model.ownFirst && !isBackwards() && linkOf(item).isRemote && m_ownLeft[link] > 0 &&
        originOf(item) != linkOf(item).from) {
      m_waiting[link].push_back(item);
    } else {
      push(item);
    }
  }

  /// By item: its place in the order in which sends are placed.
  std::vector<int> placed() {
    m_arrival.assign(m_trees.size(), 0);
    m_sendFree.assign(m_trees.size(), 0);
    m_free.assign(m_problem.machineCount, 0);
    m_ownLeft.assign(m_model.links.size(), 0);
    m_waiting.assign(m_model.links.size(), {});
    for (const int item : m_down) {
      m_ownLeft[m_graph.sends[m_trees[item]].link] += originOf(item) == linkOf(item).from ? 1 : 0;
    }
    for (std::size_t chunk = 0; chunk + 1 < m_problem.firstItem.size(); ++chunk) {
      for (const int child : m_children[m_problem.firstItem[chunk]]) {
        offer(child);
      }
    }
    std::vector<int> place(m_trees.size());
    int count = 0;
    while (!m_heap.empty()) {
      if ((count & 255) == 0) {
        throwIfCancelled(m_progress);
      }
      const auto [start, item] = m_heap.top().second;
      m_heap.pop();
      if (earliest(item) > start) {
        push(item);
        continue;
      }
      place[item] = count++;
      const Send& send = m_graph.sends[m_trees[item]];
      const Ticks end = start + costOf(item);
      for (const int machine : m_problem.linkMachines[send.link]) {
        m_free[machine] = end;
      }
      m_sendFree[send.from] = end;
      m_arrival[item] = end;
      for (const int child : m_children[item]) {
        offer(child);
      }
      if (originOf(item) == linkOf(item).from && --m_ownLeft[send.link] == 0) {
        for (const int other : m_waiting[send.link]) {
          push(other);
        }
      }
    }
    return place;
  }

  using Entry = std::pair<Key, std::pair<Ticks, int>>;

  const Problem& m_problem;
  const Model& m_model;
  const SendGraph& m_graph;
  const Trees& m_trees;
  const Progress& m_progress;
  std::vector<int> m_down;
  std::vector<Ticks> m_way;  ///< by item: time to get there without waiting
  std::vector<Ticks> m_remaining;
  std::vector<Ticks> m_remainingSum;
  std::vector<std::vector<int>> m_children;
  std::vector<Ticks> m_arrival;
  std::vector<Ticks> m_sendFree;
  std::vector<Ticks> m_free;
  std::vector<int> m_ownLeft;               ///< by link
  std::vector<std::vector<int>> m_waiting;  ///< by link
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> m_heap;
};

}  // namespace

std::vector<int> orderSends(const Problem& problem, const SendGraph& graph, const Trees& trees,
                            const Progress& progress) {
  return Orderer(problem, graph, trees, progress).run();
}

}  // namespace coppice::taccl
