// SPDX-License-Identifier: Apache-2.0
#include "taccl/decoder.hpp"

#include <algorithm>

namespace coppice::taccl {

Decoder::Decoder(const Problem& problem)
    : m_problem(problem),
      m_connectionWeight(static_cast<std::size_t>(problem.linkOrbitCount)),
      m_isUsed(problem.items.size()),
      m_firstChild(problem.items.size()),
      m_nextSibling(problem.items.size()),
      m_arrival(problem.items.size()),
      m_start(problem.items.size()),
      m_cause(problem.items.size(), -1),
      m_lastOn(static_cast<std::size_t>(problem.machineCount), -1),
      m_lastSent(problem.items.size(), -1),
      m_free(static_cast<std::size_t>(problem.machineCount)),
      m_sendFree(problem.items.size()),
      m_message(problem.items.size(), -1),
      m_firstMember(problem.items.size() * 2, -1),
      m_nextMember(problem.items.size(), -1),
      m_size(problem.items.size() * 2),
      m_pending(problem.items.size() * 2),
      m_ready(problem.items.size() * 3),
      m_pushed(problem.items.size() * 3),
      m_ownLeft(static_cast<std::size_t>(problem.linkOrbitCount)),
      m_mixed(static_cast<std::size_t>(problem.linkOrbitCount)),
      m_kind(problem.items.size()),
      m_isConnection(static_cast<std::size_t>(problem.linkOrbitCount)),
      m_priority(problem.items.size() * 3),
      m_unitLink(problem.items.size() * 3),
      m_remaining(problem.items.size()) {
  const Model& model = *problem.model;
  m_firstMachine.reserve(model.links.size() + 1);
  for (const std::vector<int>& machines : problem.linkMachines) {
    m_firstMachine.push_back(static_cast<int>(m_machines.size()));
    m_machines.insert(m_machines.end(), machines.begin(), machines.end());
  }
  m_firstMachine.push_back(static_cast<int>(m_machines.size()));
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
    }
  }
  for (std::size_t item = 0; item < m_isUsed.size(); ++item) {
    if (m_isUsed[item] != 0) {
      m_usedItems.push_back(static_cast<int>(item));
    }
  }
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

bool Decoder::isOwn(int item, int link) const {
  return m_problem.items[m_problem.firstItem[m_problem.items[item].chunk]].gpu == m_problem.model->links[link].from;
}

void Decoder::findMixed(const Solution& solution) {
  std::fill(m_kind.begin(), m_kind.end(), char{0});
  std::fill(m_mixed.begin(), m_mixed.end(), -1);
  for (const int item : m_usedItems) {
    const int link = solution.link[item];
    if (link < 0 || !m_problem.model->links[link].isRemote) {
      continue;
    }
    char& kind = m_kind[solution.label[item]];
    kind = static_cast<char>(kind | (isOwn(item, link) ? 2 : 1));
    int& mixed = m_mixed[m_problem.linkOrbit[link]];
    if (kind == 3 && mixed < 0) {
      mixed = 2 * solution.label[item];
    }
  }
}

void Decoder::gatherMessages(const Solution& solution) {
  const Model& model = *m_problem.model;
  const bool ownFirst = model.ownFirst && !m_problem.sendsOneAtATime;
  if (ownFirst) {
    findMixed(solution);
  }
  for (const int message : m_messages) {
    m_firstMember[message] = -1;
  }
  m_messages.clear();
  for (const int item : m_usedItems) {
    const int link = solution.link[item];
    if (link < 0 || !model.links[link].isRemote) {
      continue;
    }
    int message = 2 * solution.label[item];
    if (ownFirst && m_mixed[m_problem.linkOrbit[link]] != message && isOwn(item, link)) {
      ++message;
    }
    m_message[item] = message;
    if (m_firstMember[message] < 0) {
      m_messages.push_back(message);
      m_size[message] = 0;
      m_ready[m_problem.items.size() + static_cast<std::size_t>(message)] = 0;
    }
    m_nextMember[item] = m_firstMember[message];
    m_firstMember[message] = item;
    m_pending[message] = ++m_size[message];
  }
  if (ownFirst) {
    waitForOwn(solution);
  }
}

/// Messages of own chunks alone leave first, then the mixed one, then the others.
void Decoder::waitForOwn(const Solution& solution) {
  std::fill(m_ownLeft.begin(), m_ownLeft.end(), 0);
  for (const int message : m_messages) {
    m_ownLeft[m_problem.linkOrbit[solution.link[m_firstMember[message]]]] += message % 2;
  }
  for (const int message : m_messages) {
    const int orbit = m_problem.linkOrbit[solution.link[m_firstMember[message]]];
    if (message % 2 == 0) {
      m_pending[message] += m_ownLeft[orbit] > 0 ? 1 : 0;
      m_pending[message] += m_mixed[orbit] >= 0 && m_mixed[orbit] != message ? 1 : 0;
    }
  }
}

Ticks Decoder::earliest(const Solution& solution, int unit) const {
  Ticks start = m_ready[unit];
  const int link = m_unitLink[unit];
  for (int i = m_firstMachine[link]; i < m_firstMachine[link + 1]; ++i) {
    start = std::max(start, m_free[m_machines[i]]);
  }
  if (m_problem.sendsOneAtATime) {
    const int count = static_cast<int>(m_problem.items.size());
    const int item = unit < count ? unit : m_firstMember[unit - count];
    for (int member = item; member >= 0; member = unit < count ? -1 : m_nextMember[member]) {
      start = std::max(start, m_sendFree[solution.parent[member]]);
    }
  }
  return start;
}

void Decoder::push(const Solution& solution, int unit) {
  const int count = static_cast<int>(m_problem.items.size());
  int member = unit < count ? unit : m_firstMember[unit - count];
  double priority = solution.priority[member];
  m_unitLink[unit] = solution.link[member];
  for (member = unit < count ? -1 : m_nextMember[member]; member >= 0; member = m_nextMember[member]) {
    priority = std::min(priority, solution.priority[member]);
  }
  m_priority[unit] = priority;
  m_pushed[unit] = earliest(solution, unit);
  const std::pair entry(static_cast<double>(m_pushed[unit]) + priority, unit);
  std::size_t at = m_heap.size();
  m_heap.push_back(entry);
  for (; at > 0 && entry < m_heap[(at - 1) / 2]; at = (at - 1) / 2) {
    m_heap[at] = m_heap[(at - 1) / 2];
  }
  m_heap[at] = entry;
}

/// The entry takes the place of the first one and goes down to where it belongs.
void Decoder::sink(std::pair<double, int> entry) {
  std::size_t at = 0;
  for (std::size_t child = 1; child < m_heap.size(); child = 2 * at + 1) {
    if (child + 1 < m_heap.size() && m_heap[child + 1] < m_heap[child]) {
      ++child;
    }
    if (!(m_heap[child] < entry)) {
      break;
    }
    m_heap[at] = m_heap[child];
    at = child;
  }
  m_heap[at] = entry;
}

/// The first unit of the heap can only start then.
void Decoder::raiseFirst(Ticks start) {
  const int unit = m_heap.front().second;
  m_pushed[unit] = start;
  sink({static_cast<double>(start) + m_priority[unit], unit});
}

void Decoder::dropFirst() {
  const std::pair<double, int> last = m_heap.back();
  m_heap.pop_back();
  if (!m_heap.empty()) {
    sink(last);
  }
}

void Decoder::release(const Solution& solution, int item, Ticks time) {
  const int link = solution.link[item];
  if (!m_problem.model->links[link].isRemote) {
    m_ready[item] = time;
    push(solution, item);
    return;
  }
  const int message = m_message[item];
  const int unit = static_cast<int>(m_problem.items.size()) + message;
  m_ready[unit] = std::max(m_ready[unit], time);
  if (--m_pending[message] == 0) {
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

void Decoder::countOwn(const Solution& solution, int message) {
  const int orbit = m_problem.linkOrbit[solution.link[m_firstMember[message]]];
  const bool isLastOwn = message % 2 == 1 && --m_ownLeft[orbit] == 0;
  const bool isMixed = message == m_mixed[orbit];
  if (!isLastOwn && !isMixed) {
    return;
  }
  for (const int other : m_messages) {
    const bool isSame = m_problem.linkOrbit[solution.link[m_firstMember[other]]] == orbit;
    if (isSame && other % 2 == 0 && other != message && --m_pending[other] == 0) {
      push(solution, static_cast<int>(m_problem.items.size()) + other);
    }
  }
}

int Decoder::causeOf(const Solution& solution, int unit, Ticks start) const {
  const int count = static_cast<int>(m_problem.items.size());
  const bool isMessage = unit >= count;
  const int first = isMessage ? m_firstMember[unit - count] : unit;
  if (start == 0) {
    return -1;
  }
  const int link = solution.link[first];
  for (int i = m_firstMachine[link]; i < m_firstMachine[link + 1]; ++i) {
    if (m_free[m_machines[i]] == start) {
      return m_lastOn[m_machines[i]];
    }
  }
  for (int member = first; member >= 0; member = isMessage ? m_nextMember[member] : -1) {
    const int parent = solution.parent[member];
    if (m_arrival[parent] == start) {
      return parent;
    }
    if (m_problem.sendsOneAtATime && m_sendFree[parent] == start) {
      return m_lastSent[parent];
    }
  }
  return -1;
}

void Decoder::place(const Solution& solution, int unit) {
  const int count = static_cast<int>(m_problem.items.size());
  const bool isMessage = unit >= count;
  const int first = isMessage ? m_firstMember[unit - count] : unit;
  const int link = solution.link[first];
  const Ticks start = m_pushed[unit];
  const int cause = causeOf(solution, unit, start);
  const Ticks chunks = isMessage ? m_size[unit - count] : 1;
  const Ticks end = start + m_problem.alpha[link] + m_problem.beta[link] * chunks;
  for (int i = m_firstMachine[link]; i < m_firstMachine[link + 1]; ++i) {
    m_free[m_machines[i]] = end;
    m_lastOn[m_machines[i]] = first;
  }
  for (int member = first; member >= 0; member = isMessage ? m_nextMember[member] : -1) {
    m_cause[member] = cause;
    m_sendFree[solution.parent[member]] = end;
    m_lastSent[solution.parent[member]] = member;
  }
  for (int member = first; member >= 0; member = isMessage ? m_nextMember[member] : -1) {
    arrive(solution, member, start, end);
  }
  if (isMessage && m_problem.model->ownFirst && !m_problem.sendsOneAtATime) {
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
    m_cause[origin] = -1;
    if (m_isUsed[origin] != 0) {
      for (int child = m_firstChild[origin]; child >= 0; child = m_nextSibling[child]) {
        release(solution, child, 0);
      }
    }
  }
  while (!m_heap.empty()) {
    const int unit = m_heap.front().second;
    if (const Ticks start = earliest(solution, unit); start > m_pushed[unit]) {
      raiseFirst(start);
    } else {
      dropFirst();
      place(solution, unit);
    }
  }
  Score score;
  double sum = 0;
  m_latest.clear();
  for (const int item : m_usedItems) {
    if (solution.parent[item] >= 0) {
      if (m_arrival[item] >= score.makespan) {
        if (m_arrival[item] > score.makespan) {
          m_latest.clear();
        }
        score.makespan = m_arrival[item];
        m_latest.push_back(item);
      }
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
