// SPDX-License-Identifier: Apache-2.0
#include "finder/profile.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "base/checked.hpp"
#include "bfb/class_flow.hpp"

namespace coppice::finder {
namespace {

using std::int64_t;
using std::size_t;
using std::uint64_t;

/// Up to this many links all sets of links are counted at once.
constexpr int kTableLinks = 8;

/// Larger of two fractions without reducing them. @pre denominators in 1..64, numerators below 2^56
struct Ratio {
  int64_t numerator = 0;
  int64_t denominator = 1;

  void raise(int64_t jobs, int64_t links) {
    if (jobs * denominator > numerator * links) {
      numerator = jobs;
      denominator = links;
    }
  }
};

/// Subset sums over all sets of links.
Ratio overAllSets(std::span<const JobClass> jobs, int links) {
  std::array<int64_t, size_t{1} << kTableLinks> inside{};
  const size_t sets = size_t{1} << links;
  for (const JobClass& job : jobs) {
    inside[job.mask] += job.count;
  }
  for (size_t bit = 1; bit < sets; bit *= 2) {
    for (size_t set = 0; set < sets; ++set) {
      if ((set & bit) != 0) {
        inside[set] += inside[set ^ bit];
      }
    }
  }
  Ratio best;
  for (size_t set = 1; set < sets; ++set) {
    best.raise(inside[set], std::popcount(set));
  }
  return best;
}

/// Where every mask is a cyclic run of links, only runs can be a best set: a set of several runs has no larger ratio
/// than one of them. False where some mask is not a run.
bool overRuns(std::span<const JobClass> jobs, int links, Ratio& best) {
  std::array<std::array<int64_t, kMaxLinks>, kMaxLinks> runs{};  // by first link and length - 1
  const uint64_t all = links == kMaxLinks ? ~uint64_t{0} : (uint64_t{1} << links) - 1;
  int64_t whole = 0;
  for (const JobClass& job : jobs) {
    whole += job.count;
    const int length = std::popcount(job.mask);
    if (job.mask == all) {
      continue;
    }
    const uint64_t before = ((job.mask << 1) | (job.mask >> (links - 1))) & all;
    const uint64_t starts = job.mask & ~before;
    if (std::popcount(starts) != 1) {
      return false;
    }
    runs[static_cast<size_t>(std::countr_zero(starts))][static_cast<size_t>(length) - 1] += job.count;
  }
  best.raise(whole, links);
  // inside(first, length) = inside(first, length-1) + those that end at the last link and start at or after first
  for (int first = 0; first < links; ++first) {
    int64_t inside = 0;
    for (int length = 1; length < links; ++length) {
      for (int start = 0; start < length; ++start) {
        inside += runs[static_cast<size_t>((first + start) % links)][static_cast<size_t>(length - start) - 1];
      }
      best.raise(inside, length);
    }
  }
  return true;
}

Rational byFlow(std::span<const JobClass> jobs, int links) {
  const std::vector<int64_t> widths(static_cast<size_t>(links), 1);
  bfb::StepProblem problem;
  problem.widths = widths;
  for (const JobClass& job : jobs) {
    problem.masks.push_back(job.mask);
    problem.counts.push_back(job.count);
  }
  return bfb::solveStep(problem).ratio;
}

}  // namespace

Rational stepLoad(std::span<const JobClass> jobs, int links) {
  Ratio best;
  bool isSettled = true;
  for (const JobClass& job : jobs) {
    if (job.count >= int64_t{1} << 48) {
      throw OverflowError("a step has too many shards");
    }
    isSettled = isSettled && std::has_single_bit(job.mask);
  }
  if (isSettled) {
    std::array<int64_t, kMaxLinks> load{};
    for (const JobClass& job : jobs) {
      int64_t& sum = load[static_cast<size_t>(std::countr_zero(job.mask))];
      sum += job.count;
      best.raise(sum, 1);
    }
    return Rational(best.numerator);
  }
  if (links <= kTableLinks) {
    best = overAllSets(jobs, links);
    return {best.numerator, best.denominator};
  }
  if (overRuns(jobs, links, best)) {
    return {best.numerator, best.denominator};
  }
  return byFlow(jobs, links);
}

ProfileSearch::ProfileSearch(const topology::Digraph& graph) : m_nodes(graph.nodes), m_degree(graph.degree) {
  const topology::Digraph back = topology::transposed(graph);
  m_in = back.heads;
  for (int v = 0; v < m_nodes; ++v) {
    const auto first = m_in.begin() + static_cast<std::ptrdiff_t>(v) * m_degree;
    std::sort(first, first + m_degree);
  }
  m_profile.links = m_degree;
  if (m_degree <= 16) {
    m_table.assign(size_t{1} << m_degree, 0);
  }
}

const Profile& ProfileSearch::at(int target) {
  m_profile.distance.assign(static_cast<size_t>(m_nodes), -1);
  m_profile.masks.assign(static_cast<size_t>(m_nodes), 0);
  m_queue.clear();
  m_levelStart.clear();
  m_profile.distance[static_cast<size_t>(target)] = 0;
  const auto tailsOf = [&](int node) {
    return std::span<const int>(m_in).subspan(static_cast<size_t>(node) * static_cast<size_t>(m_degree),
                                              static_cast<size_t>(m_degree));
  };
  m_levelStart.push_back(0);
  const auto first = tailsOf(target);
  for (size_t j = 0; j < first.size(); ++j) {
    const auto v = static_cast<size_t>(first[j]);
    if (m_profile.distance[v] < 0) {
      m_profile.distance[v] = 1;
      m_queue.push_back(first[j]);
    }
    if (m_profile.distance[v] == 1) {
      m_profile.masks[v] |= uint64_t{1} << j;
    }
  }
  for (size_t at = 0; at < m_queue.size();) {
    const size_t end = m_queue.size();
    m_levelStart.push_back(end);
    const int next = m_profile.distance[static_cast<size_t>(m_queue[at])] + 1;
    for (; at < end; ++at) {
      const uint64_t mask = m_profile.masks[static_cast<size_t>(m_queue[at])];
      for (const int tail : tailsOf(m_queue[at])) {
        int& distance = m_profile.distance[static_cast<size_t>(tail)];
        if (distance < 0) {
          distance = next;
          m_queue.push_back(tail);
        }
        if (distance == next) {
          m_profile.masks[static_cast<size_t>(tail)] |= mask;
        }
      }
    }
  }
  group();
  return m_profile;
}

/// Counts equal masks of each level.
void ProfileSearch::group() {
  m_profile.steps.resize(m_levelStart.size() - 1);
  for (size_t t = 0; t + 1 < m_levelStart.size(); ++t) {
    StepJobs& jobs = m_profile.steps[t];
    jobs.clear();
    if (!m_table.empty()) {
      for (size_t at = m_levelStart[t]; at < m_levelStart[t + 1]; ++at) {
        const uint64_t mask = m_profile.masks[static_cast<size_t>(m_queue[at])];
        if (m_table[mask]++ == 0) {
          jobs.push_back({mask, 0});
        }
      }
      for (JobClass& job : jobs) {
        job.count = std::exchange(m_table[job.mask], 0);
      }
      continue;
    }
    m_sorted.clear();
    for (size_t at = m_levelStart[t]; at < m_levelStart[t + 1]; ++at) {
      m_sorted.push_back(m_profile.masks[static_cast<size_t>(m_queue[at])]);
    }
    std::sort(m_sorted.begin(), m_sorted.end());
    for (const uint64_t mask : m_sorted) {
      if (jobs.empty() || jobs.back().mask != mask) {
        jobs.push_back({mask, 0});
      }
      ++jobs.back().count;
    }
  }
}

Rational Value::bandwidthTime(int64_t nodes, int64_t degree) const {
  Rational sum;
  for (const Rational& load : stepLoads) {
    sum += load;
  }
  return sum * Rational(degree, nodes);
}

Value valueOf(const Profile& profile) {
  Value value;
  for (const StepJobs& jobs : profile.steps) {
    value.stepLoads.push_back(stepLoad(jobs, profile.links));
  }
  return value;
}

Value valueOfOne(const topology::Digraph& graph) {
  ProfileSearch search(graph);
  return valueOf(search.at(0));
}

}  // namespace coppice::finder
