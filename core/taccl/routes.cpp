// SPDX-License-Identifier: Apache-2.0
#include "taccl/routes.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

namespace coppice::taccl {
namespace {

constexpr double kUnreached = std::numeric_limits<double>::infinity();

}  // namespace

StartMaker::StartMaker(const Problem& problem, Random& random)
    : m_problem(problem),
      m_random(random),
      m_out(problem.items.size()),
      m_crossing(problem.items.size()),
      m_distance(problem.items.size()),
      m_load(static_cast<std::size_t>(problem.machineCount)),
      m_free(static_cast<std::size_t>(problem.machineCount)),
      m_sendFree(problem.items.size()),
      m_arrival(problem.items.size()),
      m_isHeld(problem.items.size()),
      m_isEntered(problem.blocks.size()) {
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    const Item& item = problem.items[i];
    for (int k = item.firstOption; k < item.firstOption + item.optionCount; ++k) {
      m_out[problem.options[k].from].push_back({static_cast<int>(i), problem.options[k].link});
    }
    const bool isOrigin = problem.firstItem[item.chunk] == static_cast<int>(i);
    m_canBeGreedy = m_canBeGreedy && (isOrigin || item.isTarget);
  }
  for (const Block& block : problem.blocks) {
    for (std::size_t k = 0; k < block.entries.size(); ++k) {
      m_out[block.entries[k].from].push_back({block.entered[k], block.entries[k].link});
    }
  }
  findCrossings();
}

void StartMaker::findCrossings() {
  for (const Block& block : m_problem.blocks) {
    const int origin = m_problem.items[m_problem.firstItem[block.chunk]].gpu;
    Ticks min = std::numeric_limits<Ticks>::max();
    const auto head = [&](const Option& entry) {
      const Ticks distance = m_problem.localDistance[origin][m_problem.items[entry.from].gpu];
      return distance < 0 ? min : distance;
    };
    for (const Option& entry : block.entries) {
      min = std::min(min, head(entry));
    }
    for (const Option& entry : block.entries) {
      if (head(entry) == min) {
        m_crossing[entry.from] += m_problem.cost(entry.link);
      }
    }
  }
}

Solution StartMaker::blank() const {
  const std::size_t count = m_problem.items.size();
  Solution solution{std::vector<int>(count, -1), std::vector<int>(count, -1), std::vector<double>(count),
                    std::vector<int>(count)};
  std::iota(solution.label.begin(), solution.label.end(), 0);
  return solution;
}

double StartMaker::noisy(int link, const StartStyle& style) {
  double load = 0;
  for (const int machine : m_problem.linkMachines[link]) {
    load = std::max(load, m_load[machine]);
  }
  return static_cast<double>(m_problem.cost(link)) * (1 + style.noise * m_random.unit()) + style.loadWeight * load;
}

void StartMaker::spread(std::vector<std::pair<double, int>>& heap, int block, const StartStyle& style,
                        Solution& solution) {
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const auto [distance, item] = heap.back();
    heap.pop_back();
    if (distance > m_distance[item]) {
      continue;
    }
    for (const Way& way : m_out[item]) {
      if (m_problem.items[way.to].block != block || m_problem.model->links[way.link].isRemote || !isAllowed(way.link)) {
        continue;
      }
      const double next = distance + noisy(way.link, style);
      if (next < m_distance[way.to]) {
        m_distance[way.to] = next;
        solution.parent[way.to] = item;
        solution.link[way.to] = way.link;
        heap.emplace_back(next, way.to);
        std::push_heap(heap.begin(), heap.end(), std::greater<>());
      }
    }
  }
}

bool StartMaker::enter(int block, const StartStyle& style, Solution& solution) {
  const Block& each = m_problem.blocks[block];
  // The entries by what they promise; the first from which all targets are reached is taken.
  std::vector<std::pair<double, int>> order;
  for (std::size_t k = 0; k < each.entries.size(); ++k) {
    const double distance = m_distance[each.entries[k].from];
    if (distance == kUnreached) {
      continue;
    }
    Ticks tail = 0;
    for (const int item : each.items) {
      if (m_problem.items[item].isTarget) {
        tail = std::max(tail, m_problem.localDistance[m_problem.items[each.entered[k]].gpu][m_problem.items[item].gpu]);
      }
    }
    order.emplace_back(distance + noisy(each.entries[k].link, style) + static_cast<double>(tail), static_cast<int>(k));
  }
  std::sort(order.begin(), order.end());
  for (const auto& [promise, k] : order) {
    for (const int item : each.items) {
      m_distance[item] = kUnreached;
      solution.parent[item] = -1;
    }
    const int entry = each.entered[k];
    m_distance[entry] = promise;
    solution.parent[entry] = each.entries[k].from;
    solution.link[entry] = each.entries[k].link;
    std::vector<std::pair<double, int>> heap = {{promise, entry}};
    spread(heap, block, style, solution);
    const bool isComplete = std::all_of(each.items.begin(), each.items.end(), [&](int item) {
      return !m_problem.items[item].isTarget || m_distance[item] != kUnreached;
    });
    if (isComplete) {
      return true;
    }
  }
  return false;
}

bool StartMaker::routeChunk(int chunk, const StartStyle& style, Solution& solution) {
  const int first = m_problem.firstItem[chunk];
  const int last = m_problem.firstItem[chunk + 1];
  for (int item = first; item < last; ++item) {
    m_distance[item] = kUnreached;
    solution.parent[item] = -1;
    solution.link[item] = -1;
  }
  m_distance[first] = 0;
  std::vector<std::pair<double, int>> heap = {{0.0, first}};
  spread(heap, -1, style, solution);
  int block = -1;
  for (int item = first; item < last; ++item) {
    const Item& each = m_problem.items[item];
    if (each.block < 0 && each.isTarget && m_distance[item] == kUnreached) {
      return false;
    }
    if (each.block >= 0 && each.block > block) {
      block = each.block;
      if (!enter(block, style, solution)) {
        return false;
      }
    }
  }
  return true;
}

void StartMaker::addLoad(int chunk, const Solution& solution) {
  const int first = m_problem.firstItem[chunk];
  std::vector<char> isUsed(static_cast<std::size_t>(m_problem.firstItem[chunk + 1] - first));
  for (int item = first; item < m_problem.firstItem[chunk + 1]; ++item) {
    if (!m_problem.items[item].isTarget) {
      continue;
    }
    for (int at = item; solution.parent[at] >= 0 && isUsed[at - first] == 0; at = solution.parent[at]) {
      isUsed[at - first] = 1;
      for (const int machine : m_problem.linkMachines[solution.link[at]]) {
        m_load[machine] += static_cast<double>(m_problem.beta[solution.link[at]]);
      }
    }
  }
}

bool StartMaker::routed(const StartStyle& style, Solution& solution) {
  std::fill(m_load.begin(), m_load.end(), 0.0);
  std::vector<int> order(m_problem.chunks.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); style.noise > 0 && i > 1; --i) {
    std::swap(order[i - 1], order[m_random.below(static_cast<int>(i))]);
  }
  solution = blank();
  for (const int chunk : order) {
    if (!routeChunk(chunk, style, solution)) {
      return false;
    }
    addLoad(chunk, solution);
  }
  std::fill(m_load.begin(), m_load.end(), 0.0);
  return true;
}

Ticks StartMaker::earliest(const Candidate& candidate) const {
  Ticks start = m_arrival[candidate.from];
  for (const int machine : m_problem.linkMachines[candidate.link]) {
    start = std::max(start, m_free[machine]);
  }
  return m_problem.sendsOneAtATime ? std::max(start, m_sendFree[candidate.from]) : start;
}

double StartMaker::bias(const Candidate& candidate, const StartStyle& style) {
  const Link& link = m_problem.model->links[candidate.link];
  const auto cost = static_cast<double>(m_problem.cost(candidate.link));
  const int m = m_problem.model->gpusPerNode;
  const double offset = ((link.to - link.from) % m + m) % m;
  double key = cost * (style.noise * m_random.unit() + 0.0003 * offset);
  key -= style.depthWeight * static_cast<double>(m_crossing[candidate.to]);
  return link.isRemote ? key - style.remoteLead * cost : key;
}

void StartMaker::offer(int item, const StartStyle& style) {
  for (const Way& way : m_out[item]) {
    if (m_isHeld[way.to] != 0 || !isAllowed(way.link)) {
      continue;
    }
    Candidate candidate{.from = item, .to = way.to, .link = way.link};
    candidate.start = earliest(candidate);
    candidate.key = static_cast<double>(candidate.start) + bias(candidate, style);
    m_heap.push_back(candidate);
    std::push_heap(m_heap.begin(), m_heap.end(), std::greater<>());
  }
}

bool StartMaker::greedy(const StartStyle& style, Solution& solution) {
  solution = blank();
  std::fill(m_free.begin(), m_free.end(), Ticks{0});
  std::fill(m_sendFree.begin(), m_sendFree.end(), Ticks{0});
  std::fill(m_isHeld.begin(), m_isHeld.end(), char{0});
  std::fill(m_isEntered.begin(), m_isEntered.end(), char{0});
  m_heap.clear();
  std::size_t held = 0;
  const auto hold = [&](int item, Ticks time) {
    m_isHeld[item] = 1;
    m_arrival[item] = time;
    ++held;
    offer(item, style);
  };
  for (std::size_t i = 0; i + 1 < m_problem.firstItem.size(); ++i) {
    hold(m_problem.firstItem[i], 0);
  }
  while (!m_heap.empty()) {
    std::pop_heap(m_heap.begin(), m_heap.end(), std::greater<>());
    Candidate candidate = m_heap.back();
    m_heap.pop_back();
    const bool isRemote = m_problem.model->links[candidate.link].isRemote;
    const int block = m_problem.items[candidate.to].block;
    if (m_isHeld[candidate.to] != 0 || (isRemote && m_isEntered[block] != 0)) {
      continue;
    }
    if (const Ticks start = earliest(candidate); start > candidate.start) {
      candidate.key += static_cast<double>(start - candidate.start);
      candidate.start = start;
      m_heap.push_back(candidate);
      std::push_heap(m_heap.begin(), m_heap.end(), std::greater<>());
      continue;
    }
    const Ticks end = candidate.start + m_problem.cost(candidate.link);
    for (const int machine : m_problem.linkMachines[candidate.link]) {
      m_free[machine] = end;
    }
    m_sendFree[candidate.from] = end;
    solution.parent[candidate.to] = candidate.from;
    solution.link[candidate.to] = candidate.link;
    // The order of the starts outweighs the earliest start that the decoder sees.
    solution.priority[candidate.to] = 4 * static_cast<double>(candidate.start);
    if (isRemote) {
      m_isEntered[block] = 1;
    }
    hold(candidate.to, end);
  }
  return held == m_problem.items.size();
}

void StartMaker::setPriorities(const StartStyle& style, Decoder& decoder, Solution& solution) const {
  const std::vector<Ticks>& remaining = decoder.remaining(solution);
  const int m = m_problem.model->gpusPerNode;
  for (std::size_t i = 0; i < m_problem.items.size(); ++i) {
    solution.priority[i] = 0;
    if (const int id = solution.link[i]; id >= 0) {
      const Link& link = m_problem.model->links[id];
      const double offset = ((link.to - link.from) % m + m) % m;
      solution.priority[i] = -style.depthWeight * static_cast<double>(remaining[i]) +
                             0.0003 * offset * static_cast<double>(m_problem.beta[id]);
    }
  }
}

void StartMaker::setMessages(const MessageStyle& style, Decoder& decoder, Solution& solution) const {
  struct Entry {
    Ticks head = 0;
    Ticks tail = 0;
    int offset = 0;
    int item = 0;
  };
  const std::vector<Ticks>& remaining = decoder.remaining(solution);
  const int m = m_problem.model->gpusPerNode;
  std::map<int, std::vector<Entry>> byOrbit;
  for (std::size_t i = 0; i < m_problem.items.size(); ++i) {
    const int item = static_cast<int>(i);
    solution.label[i] = item;
    const int link = solution.link[i];
    if (link < 0 || !m_problem.model->links[link].isRemote) {
      continue;
    }
    Ticks head = 0;
    for (int at = solution.parent[i]; solution.parent[at] >= 0; at = solution.parent[at]) {
      head += m_problem.cost(solution.link[at]);
    }
    const int gpu = m_problem.items[m_problem.firstItem[m_problem.items[i].chunk]].gpu;
    byOrbit[m_problem.linkOrbit[link]].push_back({head, remaining[i], (gpu % m + m) % m, item});
  }
  const int max = m_problem.model->maxTogether;
  int place = 0;
  for (auto& [orbit, entries] : byOrbit) {
    const bool isLate = static_cast<int>(byOrbit.size()) - place <= style.taper;
    ++place;
    const auto byDifference = [](const Entry& a, const Entry& b) {
      return std::tuple(a.head - a.tail, a.offset, a.item) < std::tuple(b.head - b.tail, b.offset, b.item);
    };
    const auto byHead = [](const Entry& a, const Entry& b) {
      return std::tuple(a.head, -a.tail, a.item) < std::tuple(b.head, -b.tail, b.item);
    };
    const auto byTail = [](const Entry& a, const Entry& b) {
      return std::tuple(-a.tail, a.offset, a.item) < std::tuple(-b.tail, b.offset, b.item);
    };
    const int first = std::min({isLate ? 1 : style.first, max, static_cast<int>(entries.size())});
    if (style.byTail) {
      std::sort(entries.begin(), entries.end(), byHead);
      std::sort(entries.begin() + first, entries.end(), byTail);
    } else {
      std::sort(entries.begin(), entries.end(), byDifference);
    }
    const int rest = isLate ? 1 : std::min(style.rest, max);
    const int count = static_cast<int>(entries.size());
    const int end = isLate ? count : std::max(first, count - std::min(style.last, max));
    for (int i = 0; i < count; ++i) {
      const int leader = i < first ? 0 : i < end ? first + (i - first) / rest * rest : end;
      const int item = entries[i].item;
      solution.label[item] = entries[leader].item;
      if (style.taper > 0) {
        // One node after the other, so that the late ones are late.
        solution.priority[item] = 0.02 * place * static_cast<double>(m_problem.cost(solution.link[item]));
      }
    }
  }
}

}  // namespace coppice::taccl
