// SPDX-License-Identifier: Apache-2.0
#include "bfb/hall.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>

#include "base/checked.hpp"

namespace coppice::bfb {
namespace {

using std::int64_t;

constexpr std::size_t kNone = static_cast<std::size_t>(-1);
constexpr int kBits = 64;

template <typename Visit>
void forEachLink(std::span<const Word> mask, Visit&& visit) {
  for (std::size_t w = 0; w < mask.size(); ++w) {
    for (Word bits = mask[w]; bits != 0; bits &= bits - 1) {
      visit(static_cast<int>(w) * kBits + std::countr_zero(bits));
    }
  }
}

int64_t widthOf(const HallProblem& problem, std::span<const Word> mask) {
  int64_t width = 0;
  forEachLink(mask, [&](int link) { width = checkedAdd(width, problem.widths[link]); });
  return width;
}

int linkCount(std::span<const Word> mask) {
  int count = 0;
  for (const Word word : mask) {
    count += std::popcount(word);
  }
  return count;
}

bool isInside(std::span<const Word> mask, std::span<const Word> set) {
  for (std::size_t w = 0; w < mask.size(); ++w) {
    if ((mask[w] & ~set[w]) != 0) {
      return false;
    }
  }
  return true;
}

/// Smallest U in which the links do the jobs: with latencies the sum of max(0, U - latency) * width is solved piece by
/// piece, links in order of their latencies.
Rational minTime(const HallProblem& problem, std::span<const Word> set, int64_t jobs, int64_t width) {
  if (problem.latencies.empty()) {
    return {jobs, width};
  }
  std::vector<int> links;
  forEachLink(set, [&](int link) { links.push_back(link); });
  const auto latency = [&](int link) { return problem.latencies[link]; };
  std::sort(links.begin(), links.end(), [&](int a, int b) { return latency(a) < latency(b); });
  Rational started = jobs;
  int64_t open = 0;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const int64_t more = problem.widths[links[i]];
    started += latency(links[i]) * Rational(more);
    open = checkedAdd(open, more);
    const Rational time = started / Rational(open);
    if (i + 1 == links.size() || time <= latency(links[i + 1])) {
      return time;
    }
  }
  return {};
}

HallValue valueOf(const HallProblem& problem, std::vector<Word> set) {
  HallValue value;
  for (std::size_t c = 0; c < problem.classCount(); ++c) {
    if (isInside(problem.mask(c), set)) {
      value.jobs += problem.counts[c];
    }
  }
  value.width = widthOf(problem, set);
  value.ratio = minTime(problem, set, value.jobs, value.width);
  value.tight = std::move(set);
  return value;
}

/// All jobs on all links that they use, or one class on its own.
HallValue firstValue(const HallProblem& problem, bool& isSettled) {
  std::vector<Word> all(problem.words, 0);
  isSettled = true;
  std::size_t best = 0;
  Rational bestRatio;
  for (std::size_t c = 0; c < problem.classCount(); ++c) {
    const auto mask = problem.mask(c);
    for (std::size_t w = 0; w < problem.words; ++w) {
      all[w] |= mask[w];
    }
    isSettled = isSettled && linkCount(mask) == 1;
    if (const Rational ratio = minTime(problem, mask, problem.counts[c], widthOf(problem, mask)); ratio > bestRatio) {
      bestRatio = ratio;
      best = c;
    }
  }
  const auto mask = problem.mask(best);
  HallValue single = valueOf(problem, {mask.begin(), mask.end()});
  HallValue whole = valueOf(problem, std::move(all));
  return whole.ratio >= single.ratio ? whole : single;
}

/// A number of parts of a job in which the value and all latencies are whole.
int64_t partsOf(const HallProblem& problem, const Rational& value) {
  int64_t parts = value.denominator();
  for (const Rational& latency : problem.latencies) {
    parts = leastCommonMultiple(parts, latency.denominator());
  }
  return parts;
}

}  // namespace

HallValue solveHall(const HallProblem& problem) {
  bool isSettled = false;
  HallValue value = firstValue(problem, isSettled);
  if (isSettled) {
    return value;  // classes do not share links
  }
  ClassFlow flow(problem);
  for (;;) {
    const int64_t parts = partsOf(problem, value.ratio);
    if (flow.fill(parts, wholeCapacities(problem, value.ratio * Rational(parts), parts))) {
      return value;
    }
    std::vector<Word> set(problem.words, 0);
    for (std::size_t j = 0; j < problem.widths.size(); ++j) {
      if (flow.reachedLinks()[j] != 0) {
        set[j / kBits] |= Word{1} << (j % kBits);
      }
    }
    value = valueOf(problem, std::move(set));
  }
}

std::vector<int64_t> wholeCapacities(const HallProblem& problem, const Rational& value, int64_t chunks) {
  std::vector<int64_t> capacities;
  capacities.reserve(problem.widths.size());
  for (std::size_t j = 0; j < problem.widths.size(); ++j) {
    if (problem.latencies.empty() && value.isInteger()) {
      capacities.push_back(checkedMul(value.numerator(), problem.widths[j]));
      continue;
    }
    const Rational open = problem.latencies.empty() ? value : value - problem.latencies[j] * Rational(chunks);
    capacities.push_back(open.isPositive() ? (open * Rational(problem.widths[j])).floor() : 0);
  }
  return capacities;
}

Rational solveWhole(const HallProblem& problem, const Rational& ratio, int64_t chunks) {
  Rational value = ratio * Rational(chunks);
  if (problem.latencies.empty() &&
      std::all_of(problem.widths.begin(), problem.widths.end(), [](int64_t width) { return width == 1; })) {
    return value.isInteger() ? value : Rational(checkedAdd(value.floor(), int64_t{1}));
  }
  ClassFlow flow(problem);
  for (;;) {
    const std::vector<int64_t> capacities = wholeCapacities(problem, value, chunks);
    if (flow.fill(chunks, capacities)) {
      return value;
    }
    // Only more room in the links that the rest can reach helps.
    const std::vector<char> reached = flow.reachedLinks();
    std::optional<Rational> next;
    for (std::size_t j = 0; j < capacities.size(); ++j) {
      if (reached[j] != 0) {
        Rational candidate(checkedAdd(capacities[j], int64_t{1}), problem.widths[j]);
        candidate += problem.latencies.empty() ? Rational() : problem.latencies[j] * Rational(chunks);
        next = next ? std::min(*next, candidate) : candidate;
      }
    }
    value = next.value();
  }
}

ClassFlow::ClassFlow(const HallProblem& problem)
    : m_links(problem.widths.size()), m_counts(problem.counts), m_firstOf(m_links + 1, 0) {
  m_first.push_back(0);
  for (std::size_t c = 0; c < problem.classCount(); ++c) {
    forEachLink(problem.mask(c), [&](int link) {
      m_link.push_back(link);
      m_classOf.push_back(c);
      ++m_firstOf[static_cast<std::size_t>(link) + 1];
    });
    m_first.push_back(m_link.size());
  }
  std::partial_sum(m_firstOf.begin(), m_firstOf.end(), m_firstOf.begin());
  m_entry.resize(m_link.size());
  std::vector<std::size_t> next(m_firstOf.begin(), m_firstOf.end() - 1);
  for (std::size_t e = 0; e < m_link.size(); ++e) {
    m_entry[next[m_link[e]]++] = e;
  }
  m_order.resize(problem.classCount());
  std::iota(m_order.begin(), m_order.end(), std::size_t{0});
  std::stable_sort(m_order.begin(), m_order.end(), [this](std::size_t a, std::size_t b) {
    return m_first[a + 1] - m_first[a] < m_first[b + 1] - m_first[b];
  });
}

bool ClassFlow::fill(int64_t perJob, std::span<const int64_t> capacities) {
  m_flow.assign(m_link.size(), 0);
  m_room.assign(capacities.begin(), capacities.end());
  m_rest.resize(m_counts.size());
  for (std::size_t c = 0; c < m_counts.size(); ++c) {
    m_rest[c] = checkedMul(m_counts[c], perJob);
  }
  sendGreedily();
  while (augment()) {
  }
  return std::all_of(m_rest.begin(), m_rest.end(), [](int64_t rest) { return rest == 0; });
}

void ClassFlow::sendGreedily() {
  for (const std::size_t c : m_order) {
    for (std::size_t e = m_first[c]; e < m_first[c + 1] && m_rest[c] > 0; ++e) {
      int64_t& room = m_room[m_link[e]];
      const int64_t amount = std::min(room, m_rest[c]);
      m_flow[e] += amount;
      room -= amount;
      m_rest[c] -= amount;
    }
  }
}

/// One shortest augmenting path; false where there is none.
bool ClassFlow::augment() {
  const std::size_t link = search();
  if (link == kNone) {
    return false;
  }
  sendAlong(link);
  return true;
}

/// Breadth first from all classes that have some left, to a link with room.
std::size_t ClassFlow::search() {
  m_isReached.assign(m_links, 0);
  m_into.assign(m_links, kNone);
  m_isClassReached.assign(m_counts.size(), 0);
  m_from.assign(m_counts.size(), kNone);
  std::vector<std::size_t> queue;
  for (std::size_t c = 0; c < m_counts.size(); ++c) {
    if (m_rest[c] > 0) {
      m_isClassReached[c] = 1;
      queue.push_back(c);
    }
  }
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const std::size_t c = queue[head];
    for (std::size_t e = m_first[c]; e < m_first[c + 1]; ++e) {
      const auto link = static_cast<std::size_t>(m_link[e]);
      if (m_isReached[link] != 0) {
        continue;
      }
      m_isReached[link] = 1;
      m_into[link] = e;
      if (m_room[link] > 0) {
        return link;
      }
      for (std::size_t i = m_firstOf[link]; i < m_firstOf[link + 1]; ++i) {
        const std::size_t back = m_entry[i];
        const std::size_t other = m_classOf[back];
        if (m_flow[back] > 0 && m_isClassReached[other] == 0) {
          m_isClassReached[other] = 1;
          m_from[other] = back;
          queue.push_back(other);
        }
      }
    }
  }
  return kNone;
}

void ClassFlow::sendAlong(std::size_t link) {
  int64_t amount = m_room[link];
  std::size_t start = 0;
  for (std::size_t at = link;;) {
    start = m_classOf[m_into[at]];
    const std::size_t back = m_from[start];
    if (back == kNone) {
      break;
    }
    amount = std::min(amount, m_flow[back]);
    at = static_cast<std::size_t>(m_link[back]);
  }
  amount = std::min(amount, m_rest[start]);
  m_room[link] -= amount;
  m_rest[start] -= amount;
  for (std::size_t at = link;;) {
    const std::size_t into = m_into[at];
    m_flow[into] += amount;
    const std::size_t back = m_from[m_classOf[into]];
    if (back == kNone) {
      break;
    }
    m_flow[back] -= amount;
    at = static_cast<std::size_t>(m_link[back]);
  }
}

Assignment ClassFlow::assignment() const {
  Assignment result;
  result.first.push_back(0);
  for (std::size_t c = 0; c < m_counts.size(); ++c) {
    for (std::size_t e = m_first[c]; e < m_first[c + 1]; ++e) {
      if (m_flow[e] > 0) {
        result.shares.push_back({m_link[e], m_flow[e]});
      }
    }
    result.first.push_back(result.shares.size());
  }
  return result;
}

}  // namespace coppice::bfb
