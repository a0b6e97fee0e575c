// SPDX-License-Identifier: Apache-2.0
#include "taccl/decoder.hpp"

#include <algorithm>
#include <functional>

namespace coppice::taccl {

Decoder::Decoder(const Problem& problem)
    : m_problem(problem),
      m_connectionWeight(static_cast<std::size_t>(problem.linkOrbitCount)),
      m_isUsed(problem.items.size()),
      m_firstChild(problem.items.size()),
      m_nextSibling(problem.items.size()),
      m_arrival(problem.items.size()),
      m_start(problem.items.size()),
      m_free(static_cast<std::size_t>(problem.machineCount)),
      m_sendFree(problem.items.size()),
      m_firstMember(problem.items.size(), -1),
      m_nextMember(problem.items.size(), -1),
      m_size(problem.items.size()),
      m_pending(problem.items.size()),
      m_ready(problem.items.size() * 2),
      m_pushed(problem.items.size() * 2),
      m_ownLeft(static_cast<std::size_t>(problem.linkOrbitCount)),
      m_hasOwn(problem.items.size()),
      m_isConnection(static_cast<std::size_t>(problem.linkOrbitCount)),
      m_remaining(problem.items.size()) {
  const Model& model = *problem.model;
  for (std::size_t i = 0; i < model.links.size(); ++i) {
    if (!model.links[i].isRemote && model.nodeOf(model.links[i].from) == 0) {
      ++m_connectionWeight[problem.linkOrbit[i]];
    }
  }
}

void Decoder::markUsed(const Solution& solution) {
  std::fill(m_isUsed.begin(), m_isUsed.end(), char{0});
  m_usedItems.clear();
  for (const int target : m_problem.targetItems) {
    for (int item = target; item >= 0 && m_isUsed[item] == 0; item = solution.parent[item]) {
      m_isUsed[item] = 1;
      m_usedItems.push_back(item);
    }
  }
  std::sort(m_usedItems.begin(), m_usedItems.end());
}

void Decoder::linkChildren(const Solution& solution) {
  for (const int item : m_usedItems) {
    m_firstChild[item] = -1;
  }
  for (const int item : m_usedItems) {
    if (const int parent = solution.parent[item]; parent >= 0) {
      m_nextSibling[item] = m_firstChild[parent];
      m_firstChild[parent] = item;
    }
  }
}

void Decoder::gatherMessages(const Solution& solution) {
  const Model& model = *m_problem.model;
  for (const int label : m_labels) {
    m_firstMember[label] = -1;
  }
  m_labels.clear();
  std::fill(m_ownLeft.begin(), m_ownLeft.end(), 0);
  for (const int item : m_usedItems) {
    const int link = solution.link[item];
    if (link < 0 || !model.links[link].isRemote) {
      continue;
    }
    const int label = solution.label[item];
    if (m_firstMember[label] < 0) {
      m_labels.push_back(label);
      m_size[label] = 0;
      m_hasOwn[label] = 0;
      m_ready[m_problem.items.size() + label] = 0;
    }
    m_nextMember[item] = m_firstMember[label];
    m_firstMember[label] = item;
    m_pending[label] = ++m_size[label];
    const int origin = m_problem.items[m_problem.firstItem[m_problem.items[item].chunk]].gpu;
    if (model.ownFirst && !m_problem.sendsOneAtATime && origin == model.links[link].from) {
      m_hasOwn[label] = 1;
    }
  }
  if (!model.ownFirst) {
    return;
  }
  for (const int label : m_labels) {
    m_ownLeft[m_problem.linkOrbit[solution.link[m_firstMember[label]]]] += m_hasOwn[label];
  }
  for (const int label : m_labels) {
    const int orbit = m_problem.linkOrbit[solution.link[m_firstMember[label]]];
    m_pending[label] += m_hasOwn[label] == 0 && m_ownLeft[orbit] > 0 ? 1 : 0;
  }
}

Ticks Decoder::earliest(const Solution& solution, int unit) const {
  const int count = static_cast<int>(m_problem.items.size());
  const int label = unit - count;
  const int item = unit < count ? unit : m_firstMember[label];
  Ticks start = m_ready[unit];
  for (const int machine : m_problem.linkMachines[solution.link[item]]) {
    start = std::max(start, m_free[machine]);
  }
  if (m_problem.sendsOneAtATime) {
    for (int member = item; member >= 0; member = unit < count ? -1 : m_nextMember[member]) {
      start = std::max(start, m_sendFree[solution.parent[member]]);
    }
  }
  return start;
}

void Decoder::push(const Solution& solution, int unit) {
  const int count = static_cast<int>(m_problem.items.size());
  double priority = 0;
  if (unit < count) {
    priority = solution.priority[unit];
  } else {
    int member = m_firstMember[unit - count];
    priority = solution.priority[member];
    for (member = m_nextMember[member]; member >= 0; member = m_nextMember[member]) {
      priority = std::min(priority, solution.priority[member]);
    }
  }
  m_pushed[unit] = earliest(solution, unit);
  m_heap.emplace_back(static_cast<double>(m_pushed[unit]) + priority, unit);
  std::push_heap(m_heap.begin(), m_heap.end(), std::greater<>());
}

void Decoder::release(const Solution& solution, int item, Ticks time) {
  const int link = solution.link[item];
  if (!m_problem.model->links[link].isRemote) {
    m_ready[item] = time;
    push(solution, item);
    return;
  }
  const int label = solution.label[item];
  const int unit = static_cast<int>(m_problem.items.size()) + label;
  m_ready[unit] = std::max(m_ready[unit], time);
  if (--m_pending[label] == 0) {
    push(solution, unit);
  }
}

void Decoder::arrive(const Solution& solution, int item, Ticks start, Ticks end) {
  m_start[item] = start;
  m_arrival[item] = end;
  const int orbit = m_problem.linkOrbit[solution.link[item]];
  m_isConnection[orbit] = 1;
  for (int child = m_firstChild[item]; child >= 0; child = m_nextSibling[child]) {
    release(solution, child, end);
  }
}

void Decoder::countOwn(const Solution& solution, int label) {
  const int orbit = m_problem.linkOrbit[solution.link[m_firstMember[label]]];
  if (m_hasOwn[label] == 0 || --m_ownLeft[orbit] > 0) {
    return;
  }
  for (const int other : m_labels) {
    const bool isSame = m_problem.linkOrbit[solution.link[m_firstMember[other]]] == orbit;
    if (isSame && m_hasOwn[other] == 0 && --m_pending[other] == 0) {
      push(solution, static_cast<int>(m_problem.items.size()) + other);
    }
  }
}

void Decoder::place(const Solution& solution, int unit) {
  const int count = static_cast<int>(m_problem.items.size());
  const bool isMessage = unit >= count;
  const int first = isMessage ? m_firstMember[unit - count] : unit;
  const int link = solution.link[first];
  const Ticks start = m_pushed[unit];
  const Ticks chunks = isMessage ? m_size[unit - count] : 1;
  const Ticks end = start + m_problem.alpha[link] + m_problem.beta[link] * chunks;
  for (const int machine : m_problem.linkMachines[link]) {
    m_free[machine] = end;
  }
  for (int member = first; member >= 0; member = isMessage ? m_nextMember[member] : -1) {
    m_sendFree[solution.parent[member]] = end;
  }
  for (int member = first; member >= 0; member = isMessage ? m_nextMember[member] : -1) {
    arrive(solution, member, start, end);
  }
  if (isMessage && m_problem.model->ownFirst) {
    countOwn(solution, unit - count);
  }
}

Score Decoder::decode(const Solution& solution) {
  markUsed(solution);
  linkChildren(solution);
  gatherMessages(solution);
  std::fill(m_free.begin(), m_free.end(), Ticks{0});
  std::fill(m_sendFree.begin(), m_sendFree.end(), Ticks{0});
  std::fill(m_isConnection.begin(), m_isConnection.end(), char{0});
  m_heap.clear();
  for (std::size_t i = 0; i + 1 < m_problem.firstItem.size(); ++i) {
    const int origin = m_problem.firstItem[i];
    m_arrival[origin] = 0;
    if (m_isUsed[origin] != 0) {
      for (int child = m_firstChild[origin]; child >= 0; child = m_nextSibling[child]) {
        release(solution, child, 0);
      }
    }
  }
  while (!m_heap.empty()) {
    std::pop_heap(m_heap.begin(), m_heap.end(), std::greater<>());
    const int unit = m_heap.back().second;
    m_heap.pop_back();
    if (earliest(solution, unit) > m_pushed[unit]) {
      push(solution, unit);
    } else {
      place(solution, unit);
    }
  }
  Score score;
  double sum = 0;
  for (const int item : m_usedItems) {
    if (solution.parent[item] >= 0) {
      score.makespan = std::max(score.makespan, m_arrival[item]);
      sum += static_cast<double>(m_arrival[item]);
    }
  }
  score.meanArrival = sum / static_cast<double>(std::max<std::size_t>(m_usedItems.size(), 1));
  for (std::size_t orbit = 0; orbit < m_isConnection.size(); ++orbit) {
    score.connections += m_isConnection[orbit] != 0 ? m_connectionWeight[orbit] : 0;
  }
  return score;
}

const std::vector<Ticks>& Decoder::remaining(const Solution& solution) {
  markUsed(solution);
  for (const int item : m_usedItems) {
    m_remaining[item] = 0;
  }
  // A walk up from each item ends where another one already had a longer way.
  for (const int target : m_problem.targetItems) {
    Ticks way = 0;
    for (int item = target; solution.parent[item] >= 0;) {
      way += m_problem.cost(solution.link[item]);
      const int parent = solution.parent[item];
      if (m_remaining[parent] >= way) {
        break;
      }
      m_remaining[parent] = way;
      item = parent;
    }
  }
  return m_remaining;
}

}  // namespace coppice::taccl
