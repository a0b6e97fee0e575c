// SPDX-License-Identifier: Apache-2.0
#include "taccl/few_links.hpp"

#include <algorithm>
#include <utility>

#include "taccl/bound.hpp"

namespace coppice::taccl {
namespace {

constexpr std::size_t kMaxSets = 5'000;

}  // namespace

FewLinks::FewLinks(const Problem& problem, std::vector<int> weights)
    : m_problem(problem), m_weights(std::move(weights)) {
  for (std::size_t orbit = 0; orbit < m_weights.size(); ++orbit) {
    if (m_weights[orbit] > 0) {
      m_choices.push_back(static_cast<int>(orbit));
    }
  }
}

/// Adds this set and all that have more orbits of those from `from` on; false where there are too many.
bool FewLinks::extend(Set& set, std::size_t from, int connections) {
  if (m_sets.size() == kMaxSets) {
    return false;
  }
  m_sets.push_back(set);
  for (std::size_t i = from; i < m_choices.size(); ++i) {
    const int weight = m_weights[m_choices[i]];
    if (set.weight + weight >= connections) {
      continue;
    }
    set.orbits.push_back(m_choices[i]);
    set.weight += weight;
    const bool fits = extend(set, i + 1, connections);
    set.orbits.pop_back();
    set.weight -= weight;
    if (!fits) {
      return false;
    }
  }
  return true;
}

std::optional<std::size_t> FewLinks::list(int connections, Random& random) {
  if (m_isListed) {
    return m_sets.size();
  }
  Set none;
  if (connections >= m_tooMany || !extend(none, 0, connections)) {
    m_sets.clear();
    m_tooMany = std::min(m_tooMany, connections);
    return std::nullopt;
  }
  for (std::size_t i = m_sets.size(); i > 1; --i) {
    std::swap(m_sets[i - 1], m_sets[random.below(static_cast<int>(i))]);
  }
  std::stable_sort(m_sets.begin(), m_sets.end(), [](const Set& a, const Set& b) { return a.weight < b.weight; });
  m_isListed = true;
  return m_sets.size();
}

std::vector<char> FewLinks::orbitsOf(const Set& set) const {
  std::vector<char> orbits(m_weights.size());
  for (std::size_t orbit = 0; orbit < orbits.size(); ++orbit) {
    orbits[orbit] = m_weights[orbit] > 0 ? 0 : 1;
  }
  for (const int orbit : set.orbits) {
    orbits[orbit] = 1;
  }
  return orbits;
}

std::optional<std::vector<char>> FewLinks::next(Ticks makespan, int connections) {
  if (m_sets.empty()) {
    return std::nullopt;
  }
  m_at = m_at < m_sets.size() ? m_at : 0;
  Set& set = m_sets[m_at];
  std::vector<char> orbits = orbitsOf(set);
  if (set.weight >= connections || (!set.isPossible && lowerBoundWithin(m_problem, orbits) > makespan)) {
    m_sets.erase(m_sets.begin() + static_cast<std::ptrdiff_t>(m_at));
    return std::nullopt;
  }
  set.isPossible = true;
  ++m_at;
  return orbits;
}

}  // namespace coppice::taccl
