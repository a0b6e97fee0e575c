// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/parts/border_migration.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/checked.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;

/// Whole numbers near total * share / sum(share) that add up to the total and exceed no share. @pre total <= sum.
std::vector<int64_t> inProportion(int64_t total, const std::vector<int64_t>& share) {
  const Int128 sum = std::accumulate(share.begin(), share.end(), Int128{0});
  std::vector<int64_t> result(share.size(), 0);
  Int128 before = 0;
  int64_t given = 0;
  for (std::size_t i = 0; i < share.size(); ++i) {
    before += share[i];
    // Rounding the running sums keeps every rest below one unit.
    const auto upTo = sum > 0 ? static_cast<int64_t>((Int128{total} * before + sum / 2) / sum) : 0;
    result[i] = std::min(upTo - given, share[i]);
    given += result[i];
  }
  for (std::size_t i = 0; i < share.size() && given < total; ++i) {
    const int64_t more = std::min(total - given, share[i] - result[i]);
    result[i] += more;
    given += more;
  }
  return result;
}

}  // namespace

BorderMigration::BorderMigration(const Network& network, const std::vector<TreeArc>& capacities,
                                 const std::vector<TreeArc>& fullCapacities,
                                 const std::vector<std::vector<int>>& family, Ends ends)
    : m_network(network),
      m_ends(ends),
      m_partOf(static_cast<std::size_t>(network.nodeCount), -1),
      m_distance(static_cast<std::size_t>(network.nodeCount), -1) {
  for (std::size_t f = 0; f < family.size(); ++f) {
    for (const int node : family[f]) {
      m_partOf[node] = static_cast<int>(f);
    }
  }
  m_endsAtGpus.assign(family.size(), 1);
  for (std::size_t i = 0; i < capacities.size(); ++i) {
    const TreeArc& arc = capacities[i];
    const bool isOutward = isSwitch(arc.head) && part(arc.head) < 0;
    const bool isOwn = part(arc.head) >= 0 && part(arc.head) == part(arc.tail);
    const int64_t trimmedOff = fullCapacities[i].capacity - arc.capacity;
    const int64_t forWays = isOwn ? trimmedOff / 2 : 0;
    const int64_t full = isOutward || isOwn ? fullCapacities[i].capacity - forWays : arc.capacity;
    if (full > 0) {
      m_arcs.push_back({arc.tail, arc.head, arc.capacity, full, {}, {}});
      m_forWays.push_back(forWays);
    }
  }
  measureDistances(family);
  for (std::size_t f = 0; f < family.size(); ++f) {
    moveToGpus(family[f], static_cast<int>(f));
  }
}

std::vector<BorderArc> BorderMigration::crossings() const {
  std::vector<BorderArc> crossings;
  for (const BorderArc& arc : m_arcs) {
    if ((arc.capacity > 0 || arc.full > 0) && (part(arc.tail) < 0 || part(arc.tail) != part(arc.head))) {
      crossings.push_back(arc);
    }
  }
  return crossings;
}

std::vector<int64_t> BorderMigration::entries() const {
  std::vector<int64_t> entries(m_partOf.size(), 0);
  for (const BorderArc& arc : m_arcs) {
    if (part(arc.head) >= 0 && part(arc.tail) != part(arc.head)) {
      entries[arc.head] += arc.capacity;
    }
  }
  return entries;
}

/// Hops from the nearest GPU of the same part, over arcs inside the part.
void BorderMigration::measureDistances(const std::vector<std::vector<int>>& family) {
  std::vector<std::vector<int>> near(m_network.nodeCount);
  for (const BorderArc& arc : m_arcs) {
    if (m_partOf[arc.tail] >= 0 && m_partOf[arc.tail] == m_partOf[arc.head]) {
      near[arc.tail].push_back(arc.head);
      near[arc.head].push_back(arc.tail);
    }
  }
  std::vector<int> queue;
  for (const std::vector<int>& part : family) {
    for (const int node : part) {
      if (m_network.isGpu[node] != 0) {
        m_distance[node] = 0;
        queue.push_back(node);
      }
    }
  }
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const int next : near[queue[i]]) {
      if (m_distance[next] < 0) {
        m_distance[next] = m_distance[queue[i]] + 1;
        queue.push_back(next);
      }
    }
  }
}

/// Arcs that may have to change are found by their end at a switch of a part.
void BorderMigration::index() {
  if (m_indexed == m_arcs.size()) {
    return;
  }
  m_atTail.resize(m_network.nodeCount);
  m_atHead.resize(m_network.nodeCount);
  for (; m_indexed < m_arcs.size(); ++m_indexed) {
    const BorderArc& arc = m_arcs[m_indexed];
    m_atTail[arc.tail].push_back(static_cast<int>(m_indexed));
    m_atHead[arc.head].push_back(static_cast<int>(m_indexed));
  }
}

void BorderMigration::moveToGpus(const std::vector<int>& nodes, int id) {
  std::vector<int> order;
  for (const int node : nodes) {
    if (isSwitch(node)) {
      order.push_back(node);
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return m_distance[a] > m_distance[b]; });
  for (const int node : order) {
    if ((m_ends == Ends::both && !moveInwards(node, id, true)) || !moveInwards(node, id, false)) {
      m_endsAtGpus[id] = 0;
      return;
    }
  }
}

/// Hands the border arcs that leave (or enter) a switch on to its neighbours nearer to the GPUs. False where those
/// have too little capacity.
bool BorderMigration::moveInwards(int node, int id, bool leaving) {
  index();
  const std::vector<int>& border = leaving ? m_atTail[node] : m_atHead[node];
  const std::vector<int>& inner = leaving ? m_atHead[node] : m_atTail[node];
  const auto otherEnd = [&](const BorderArc& arc, bool atTail) { return atTail ? arc.head : arc.tail; };
  std::vector<int> crossing;
  std::vector<int64_t> blocks;
  int64_t total = 0;
  for (const int arc : border) {
    if (m_arcs[arc].capacity > 0 && part(otherEnd(m_arcs[arc], leaving)) != id) {
      crossing.push_back(arc);
      blocks.push_back(m_arcs[arc].capacity);
      total += blocks.back();
    }
  }
  if (crossing.empty()) {
    return true;
  }
  std::vector<int> towards;
  std::vector<int64_t> share;
  Int128 room = 0;
  for (const int arc : inner) {
    const int neighbour = otherEnd(m_arcs[arc], !leaving);
    if (m_arcs[arc].capacity > 0 && part(neighbour) == id && m_distance[neighbour] >= 0 &&
        m_distance[neighbour] < m_distance[node]) {
      towards.push_back(arc);
      share.push_back(m_arcs[arc].capacity);
      room += share.back();
    }
  }
  if (room < total) {
    return false;
  }
  const std::vector<int64_t> ports = inProportion(total, share);
  for (std::size_t p = 0; leaving && p < towards.size(); ++p) {
    const BorderArc& arc = m_arcs[towards[p]];
    m_ways.push_back({arc.tail, arc.head, ports[p] + m_forWays[towards[p]]});
  }
  // Every crossing arc is dealt to the neighbours in proportion to what each takes over in all.
  std::vector<int64_t> left = ports;
  for (std::size_t c = 0; c < crossing.size(); ++c) {
    const std::vector<int64_t> dealt = inProportion(blocks[c], left);
    for (std::size_t p = 0; p < towards.size(); ++p) {
      if (dealt[p] == 0) {
        continue;
      }
      left[p] -= dealt[p];
      m_arcs[towards[p]].capacity -= dealt[p];
      m_arcs[towards[p]].full -= dealt[p];
      BorderArc moved = m_arcs[crossing[c]];
      moved.capacity = dealt[p];
      moved.full = dealt[p];
      const int neighbour = otherEnd(m_arcs[towards[p]], !leaving);
      if (leaving) {
        moved.tail = neighbour;
        moved.tailVia.insert(moved.tailVia.begin(), node);
      } else {
        moved.head = neighbour;
        moved.headVia.push_back(node);
      }
      m_arcs.push_back(std::move(moved));
    }
    m_arcs[crossing[c]].capacity = 0;
    m_arcs[crossing[c]].full = 0;
  }
  return true;
}

}  // namespace coppice::forestcoll
