// SPDX-License-Identifier: Apache-2.0
#include "bfb/levels.hpp"

#include <algorithm>
#include <numeric>

#include "base/rows.hpp"

namespace coppice::bfb {
namespace {

constexpr std::size_t kBitsOfWord = 64;
/// Up to here a table by mask is smaller than what sorting would touch.
constexpr std::size_t kTableBits = 14;

}  // namespace

InLinks::InLinks(const Digraph& digraph) : m_firstNeighbour(1, 0) {
  std::vector<int> order;
  for (std::size_t i = 0; i < digraph.links.size(); ++i) {
    if (digraph.links[i].tail != digraph.links[i].head) {
      order.push_back(static_cast<int>(i));
    }
  }
  m_first = rowStarts<std::size_t>(digraph.nodeCount, order, [&](int link) { return digraph.links[link].head; });
  const auto offset = [&](int link) {
    const Link& at = digraph.links[link];
    return at.head > at.tail ? at.head - at.tail : at.head - at.tail + digraph.nodeCount;
  };
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    const Link& left = digraph.links[a];
    const Link& right = digraph.links[b];
    if (left.head != right.head) {
      return left.head < right.head;
    }
    const int first = offset(a);
    const int second = offset(b);
    return first != second ? first < second : a < b;
  });
  m_links = std::move(order);
  std::size_t max = 1;
  for (const int link : m_links) {
    m_tails.push_back(digraph.links[link].tail);
    m_widths.push_back(digraph.links[link].width);
    if (!digraph.latencies.empty()) {
      m_latencies.push_back(digraph.latencies[link]);
    }
  }
  for (int node = 0; node < digraph.nodeCount; ++node) {
    const auto tails = tailsInto(node);
    max = std::max(max, tails.size());
    // Parallel links lie side by side.
    std::unique_copy(tails.begin(), tails.end(), std::back_inserter(m_neighbours));
    m_firstNeighbour.push_back(m_neighbours.size());
  }
  m_words = (max + kBitsOfWord - 1) / kBitsOfWord;
}

Levels::Levels(const InLinks& in)
    : m_in(in),
      m_words(in.words()),
      m_distance(static_cast<std::size_t>(in.nodeCount())),
      m_masks(static_cast<std::size_t>(in.nodeCount()) * in.words()) {
  m_queue.reserve(in.nodeCount());
}

bool Levels::find(int target) {
  m_target = target;
  std::fill(m_distance.begin(), m_distance.end(), -1);
  std::fill(m_masks.begin(), m_masks.end(), 0);
  m_distance[target] = 0;
  m_queue.assign(1, target);
  m_start.assign(2, 0);
  m_start[1] = 1;
  const auto tails = m_in.tailsInto(target);
  for (std::size_t j = 0; j < tails.size(); ++j) {
    const int tail = tails[j];
    m_masks[static_cast<std::size_t>(tail) * m_words + j / kBitsOfWord] |= Word{1} << (j % kBitsOfWord);
    if (m_distance[tail] < 0) {
      m_distance[tail] = 1;
      m_queue.push_back(tail);
    }
  }
  const auto all = static_cast<std::size_t>(m_in.nodeCount());
  while (m_start.back() < m_queue.size()) {
    const std::size_t first = m_start.back();
    const std::size_t last = m_queue.size();
    m_start.push_back(last);
    // Once all are found, nothing lies behind the last level.
    for (std::size_t i = first; i < last && last < all; ++i) {
      for (const int node : m_in.neighboursInto(m_queue[i])) {
        reach(node, m_queue[i]);
      }
    }
  }
  return m_queue.size() == all;
}

void Levels::reach(int node, int next) {
  const int distance = m_distance[next] + 1;
  int& known = m_distance[node];
  if (known < 0) {
    known = distance;
    m_queue.push_back(node);
  }
  if (known != distance) {
    return;
  }
  Word* to = m_masks.data() + static_cast<std::size_t>(node) * m_words;
  const Word* from = m_masks.data() + static_cast<std::size_t>(next) * m_words;
  for (std::size_t w = 0; w < m_words; ++w) {
    to[w] |= from[w];
  }
}

int Levels::unreached() const {
  return static_cast<int>(std::find(m_distance.begin(), m_distance.end(), -1) - m_distance.begin());
}

void Levels::group(int t, StepProblem& problem, std::vector<std::uint32_t>* classOf) {
  const auto links = m_in.linksInto(m_target).size();
  problem.words = (links + kBitsOfWord - 1) / kBitsOfWord;
  const auto widths = m_in.widthsInto(m_target);
  problem.widths.assign(widths.begin(), widths.end());
  const auto latencies = m_in.latenciesInto(m_target);
  problem.latencies.assign(latencies.begin(), latencies.end());
  problem.masks.clear();
  problem.counts.clear();
  if (links <= kTableBits) {
    groupByTable(nodes(t), problem, classOf);
  } else {
    groupBySorting(nodes(t), problem, classOf);
  }
}

void Levels::groupByTable(std::span<const int> nodes, StepProblem& problem, std::vector<std::uint32_t>* classOf) {
  m_table.resize(std::size_t{1} << kTableBits, 0);
  m_touched.clear();
  for (const int node : nodes) {
    const Word mask = m_masks[static_cast<std::size_t>(node) * m_words];
    if (m_table[mask]++ == 0) {
      m_touched.push_back(mask);
    }
  }
  std::sort(m_touched.begin(), m_touched.end());
  for (const Word mask : m_touched) {
    problem.masks.push_back(mask);
    problem.counts.push_back(m_table[mask]);
    m_table[mask] = static_cast<std::uint32_t>(problem.counts.size() - 1);
  }
  if (classOf != nullptr) {
    classOf->clear();
    for (const int node : nodes) {
      classOf->push_back(m_table[m_masks[static_cast<std::size_t>(node) * m_words]]);
    }
  }
  for (const Word mask : m_touched) {
    m_table[mask] = 0;
  }
}

void Levels::groupBySorting(std::span<const int> nodes, StepProblem& problem, std::vector<std::uint32_t>* classOf) {
  m_order.resize(nodes.size());
  std::iota(m_order.begin(), m_order.end(), 0U);
  const auto maskAt = [&](std::uint32_t i) { return mask(nodes[i]).first(problem.words); };
  std::sort(m_order.begin(), m_order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto left = maskAt(a);
    const auto right = maskAt(b);
    return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end());
  });
  if (classOf != nullptr) {
    classOf->resize(nodes.size());
  }
  for (std::size_t i = 0; i < m_order.size(); ++i) {
    const auto here = maskAt(m_order[i]);
    if (i == 0 || !std::ranges::equal(here, maskAt(m_order[i - 1]))) {
      problem.masks.insert(problem.masks.end(), here.begin(), here.end());
      problem.counts.push_back(0);
    }
    ++problem.counts.back();
    if (classOf != nullptr) {
      (*classOf)[m_order[i]] = static_cast<std::uint32_t>(problem.counts.size() - 1);
    }
  }
}

void Problems::describe(const StepProblem& problem) {
  m_key.clear();
  const auto add = [&](const auto& values) {
    m_key.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
  };
  add(problem.widths);
  if (!problem.latencies.empty()) {
    add(problem.latencies);
  }
  add(problem.masks);
  add(problem.counts);
  // The other lengths follow from this one.
  m_key.append(std::to_string(problem.widths.size()));
}

std::size_t Problems::add(const StepProblem& problem) {
  describe(problem);
  const auto [found, isNew] = m_known.try_emplace(m_key, m_values.size());
  if (isNew) {
    m_problems.push_back(problem);
    m_values.push_back(solveStep(problem));
  }
  return found->second;
}

}  // namespace coppice::bfb
