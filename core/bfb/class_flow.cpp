// SPDX-License-Identifier: Apache-2.0
#include "bfb/class_flow.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include "base/checked.hpp"

namespace coppice::bfb {
namespace {

using std::int64_t;

constexpr int kBits = 64;

template <typename Visit>
void forEachLink(std::span<const Word> mask, Visit&& visit) {
  for (std::size_t w = 0; w < mask.size(); ++w) {
    for (Word bits = mask[w]; bits != 0; bits &= bits - 1) {
      visit(static_cast<int>(w) * kBits + std::countr_zero(bits));
    }
  }
}

int64_t widthOf(const StepProblem& problem, std::span<const Word> mask) {
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

/// Smallest U in which the links carry the shards: with latencies the sum of max(0, U - latency) * width is solved
/// piece by piece, links in order of their latencies.
Rational minTime(const StepProblem& problem, std::span<const Word> set, int64_t shards, int64_t width) {
  if (problem.latencies.empty()) {
    return {shards, width};
  }
  std::vector<int> links;
  forEachLink(set, [&](int link) { links.push_back(link); });
  const auto latency = [&](int link) { return problem.latencies[link]; };
  std::sort(links.begin(), links.end(), [&](int a, int b) { return latency(a) < latency(b); });
  Rational started = shards;
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

StepLoad valueOf(const StepProblem& problem, std::vector<Word> set) {
  StepLoad value;
  for (std::size_t c = 0; c < problem.classCount(); ++c) {
    if (isInside(problem.mask(c), set)) {
      value.shards += problem.counts[c];
    }
  }
  value.width = widthOf(problem, set);
  value.ratio = minTime(problem, set, value.shards, value.width);
  value.tight = std::move(set);
  return value;
}

/// All shards on all links that they use, or one class on its own.
StepLoad firstValue(const StepProblem& problem, bool& isSettled) {
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
  StepLoad single = valueOf(problem, {mask.begin(), mask.end()});
  StepLoad whole = valueOf(problem, std::move(all));
  return whole.ratio >= single.ratio ? whole : single;
}

/// A number of parts of a shard in which the value and all latencies are whole.
int64_t partsOf(const StepProblem& problem, const Rational& value) {
  int64_t parts = value.denominator();
  for (const Rational& latency : problem.latencies) {
    parts = leastCommonMultiple(parts, latency.denominator());
  }
  return parts;
}

}  // namespace

StepLoad solveStep(const StepProblem& problem) {
  bool isSettled = false;
  StepLoad value = firstValue(problem, isSettled);
  if (isSettled) {
    return value;  // classes do not share links
  }
  ClassFlow flow(problem);
  for (;;) {
    const int64_t parts = partsOf(problem, value.ratio);
    if (flow.fill(parts, wholeCapacities(problem, value.ratio * Rational(parts), parts))) {
      return value;
    }
    const std::vector<char> reached = flow.reachedLinks();
    std::vector<Word> set(problem.words, 0);
    for (std::size_t j = 0; j < problem.widths.size(); ++j) {
      if (reached[j] != 0) {
        set[j / kBits] |= Word{1} << (j % kBits);
      }
    }
    value = valueOf(problem, std::move(set));
  }
}

std::vector<int64_t> wholeCapacities(const StepProblem& problem, const Rational& value, int64_t chunks) {
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

Rational solveWhole(const StepProblem& problem, const Rational& ratio, int64_t chunks) {
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

ClassFlow::ClassFlow(const StepProblem& problem)
    : m_counts(problem.counts),
      m_links(static_cast<int>(problem.widths.size())),
      m_flow(classCount() + m_links + 2),
      m_shares(problem.classCount(), [&](const auto& add) {
        for (std::size_t c = 0; c < problem.classCount(); ++c) {
          forEachLink(problem.mask(c), [&](int link) { add(c, Share{link, 0}); });
        }
      }) {
  // Arcs are numbered as they are added: those of the classes, those of the shares, those of the links.
  for (int c = 0; c < classCount(); ++c) {
    m_order.push_back(c);
  }
  std::stable_sort(m_order.begin(), m_order.end(),
                   [this](int a, int b) { return m_shares.size(a) < m_shares.size(b); });
  for (const int c : m_order) {
    m_flow.addArc(source(), c, 0);
  }
  for (int c = 0; c < classCount(); ++c) {
    for (const Share& share : std::as_const(m_shares)[c]) {
      m_flow.addArc(c, classCount() + share.link, 0);
    }
  }
  for (int link = 0; link < m_links; ++link) {
    m_flow.addArc(classCount() + link, sink(), 0);
  }
}

bool ClassFlow::fill(int64_t perShard, std::span<const int64_t> capacities) {
  int64_t wanted = 0;
  int arc = 0;
  for (const int c : m_order) {
    const int64_t amount = checkedMul(m_counts[c], perShard);
    wanted = checkedAdd(wanted, amount);
    m_flow.setCapacity(arc++, amount);
  }
  for (int c = 0; c < classCount(); ++c) {
    for (std::size_t share = 0; share < m_shares.size(c); ++share) {
      m_flow.setCapacity(arc++, checkedMul(m_counts[c], perShard));
    }
  }
  for (const int64_t capacity : capacities) {
    m_flow.setCapacity(arc++, capacity);
  }
  return m_flow.run(source(), sink(), wanted) == wanted;
}

std::vector<char> ClassFlow::reachedLinks() const {
  const std::vector<bool> side = m_flow.sourceSide(source());
  return {side.begin() + classCount(), side.begin() + classCount() + m_links};
}

Assignment ClassFlow::assignment() const {
  return Assignment(m_counts.size(), [this](const auto& add) {
    int arc = classCount();
    for (int c = 0; c < classCount(); ++c) {
      for (const Share& share : m_shares[c]) {
        if (const int64_t amount = m_flow.flow(arc++); amount > 0) {
          add(c, Share{share.link, amount});
        }
      }
    }
  });
}

}  // namespace coppice::bfb
