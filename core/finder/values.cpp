// SPDX-License-Identifier: Apache-2.0
#include "finder/values.hpp"

#include <algorithm>
#include <mutex>
#include <set>

#include "base/checked.hpp"
#include "base/parallel.hpp"
#include "topology/families.hpp"

namespace coppice::finder {
namespace {

using std::int64_t;
using std::size_t;
using std::uint64_t;
using topology::Digraph;

/// Targets of one block share a search.
constexpr int kBlock = 64;

/// U_t over the targets 0 .. targets-1.
Value valueOfTargets(const Digraph& graph, int targets, const Progress& progress) {
  Value value;
  std::mutex guard;
  int done = 0;
  parallelFor(static_cast<size_t>((targets + kBlock - 1) / kBlock), [&](size_t block) {
    ProfileSearch search(graph);
    std::vector<Rational> loads;
    const int first = static_cast<int>(block) * kBlock;
    const int last = std::min(targets, first + kBlock);
    for (int target = first; target < last; ++target) {
      throwIfCancelled(progress);
      const Profile& profile = search.at(target);
      loads.resize(std::max(loads.size(), profile.steps.size()));
      for (size_t t = 0; t < profile.steps.size(); ++t) {
        loads[t] = std::max(loads[t], stepLoad(profile.steps[t], profile.links));
      }
    }
    const std::lock_guard lock(guard);
    value.stepLoads.resize(std::max(value.stepLoads.size(), loads.size()));
    for (size_t t = 0; t < loads.size(); ++t) {
      value.stepLoads[t] = std::max(value.stepLoads[t], loads[t]);
    }
    done += last - first;
    progress.report("loads", static_cast<double>(done) / targets);
  });
  return value;
}

struct Removal {
  int step = 0;
  uint64_t mask = 0;
  int64_t count = 0;
};

/// Walks over all targets of L^k(G) that begin at node 0 and collects what their own shards would have been.
class OwnShards {
public:
  OwnShards(const Digraph& graph, const Profile& profile, int times) : m_graph(graph), m_profile(profile) {
    m_scale.assign(static_cast<size_t>(times) + 1, 1);
    for (size_t i = 1; i < m_scale.size(); ++i) {
      m_scale[i] = checkedMul(m_scale[i - 1], int64_t{graph.degree});
    }
    m_bitOf.assign(static_cast<size_t>(graph.nodes), 0);
    for (int v = 0; v < graph.nodes; ++v) {
      if (profile.distance[static_cast<size_t>(v)] == 1) {
        m_bitOf[static_cast<size_t>(v)] = profile.masks[static_cast<size_t>(v)];
      }
    }
  }

  [[nodiscard]] int64_t scale(int exponent) const { return m_scale[static_cast<size_t>(exponent)]; }

  /// visit(removals) once per target.
  template <typename Visit>
  void forEachTarget(Visit&& visit) {
    m_walk.assign(1, 0);
    m_removals.clear();
    extend(visit);
  }

private:
  template <typename Visit>
  void extend(Visit& visit) {
    if (m_walk.size() == m_scale.size()) {
      visit(m_removals);
      return;
    }
    for (const int next : m_graph.out(m_walk.back())) {
      m_walk.push_back(next);
      m_removals.push_back(removal());
      extend(visit);
      m_removals.pop_back();
      m_walk.pop_back();
    }
  }

  /// The walk (y_0 .. y_j) in the j-th expansion: the distance from (y_1 .. y_j) to (y_0 .. y_(j-1)) in L^(j-1)(G) is
  /// the smallest i at which they overlap, or the whole length and the way from y_j to y_0.
  [[nodiscard]] Removal removal() const {
    const int j = static_cast<int>(m_walk.size()) - 1;
    const int rest = static_cast<int>(m_scale.size()) - 1 - j;
    const auto y = [&](int at) { return m_walk[static_cast<size_t>(at)]; };
    for (int i = 1; i <= j - 1; ++i) {
      bool isOverlap = true;
      for (int l = 0; l <= j - 1 - i && isOverlap; ++l) {
        isOverlap = y(i + l + 1) == y(l);
      }
      if (isOverlap) {
        return {1 + i + rest, m_bitOf[static_cast<size_t>(y(i))], scale(rest)};
      }
    }
    const auto head = static_cast<size_t>(y(j));
    return {j + m_profile.distance[head] + rest, m_profile.masks[head], scale(rest)};
  }

  const Digraph& m_graph;
  const Profile& m_profile;
  std::vector<int64_t> m_scale;  ///< d^i
  std::vector<uint64_t> m_bitOf;
  std::vector<int> m_walk;
  std::vector<Removal> m_removals;
};

/// The jobs of step `step` before removals.
StepJobs grownJobs(const Profile& profile, int step, int times, const OwnShards& own) {
  StepJobs jobs;
  if (step <= times) {
    for (int j = 0; j < profile.links; ++j) {
      jobs.push_back({uint64_t{1} << j, own.scale(step - 1)});
    }
    return jobs;
  }
  jobs = profile.steps[static_cast<size_t>(step - times) - 1];
  for (JobClass& job : jobs) {
    job.count = checkedMul(job.count, own.scale(times));
  }
  return jobs;
}

Rational loadWithout(StepJobs jobs, const std::vector<std::pair<uint64_t, int64_t>>& removed, int links) {
  for (const auto& [mask, count] : removed) {
    const auto it = std::find_if(jobs.begin(), jobs.end(), [m = mask](const JobClass& job) { return job.mask == m; });
    it->count -= count;
  }
  std::erase_if(jobs, [](const JobClass& job) { return job.count == 0; });
  return stepLoad(jobs, links);
}

}  // namespace

Value valueOfAll(const Digraph& graph, const Progress& progress) {
  return valueOfTargets(graph, graph.nodes, progress);
}

Value kautzValue(int degree, int nodes, bool isReduceScatter, const Progress& progress) {
  const auto graph = topology::generalizedKautz(degree, nodes);
  const Digraph searched = isReduceScatter ? topology::transposed(*graph) : *graph;
  return valueOfTargets(searched, (nodes + 1) / 2, progress);
}

Value lineGraphValue(const Digraph& graph, const Profile& profile, int times) {
  OwnShards own(graph, profile, times);
  const size_t steps = profile.steps.size() + static_cast<size_t>(times);
  // Only a step in which every target lacks a shard of its own can have a smaller load.
  std::vector<int64_t> lacking(steps + 1, 0);
  int64_t targets = 0;
  own.forEachTarget([&](const std::vector<Removal>& removals) {
    ++targets;
    std::vector<int> seen;
    for (const Removal& removal : removals) {
      if (std::find(seen.begin(), seen.end(), removal.step) == seen.end()) {
        seen.push_back(removal.step);
        ++lacking[static_cast<size_t>(removal.step)];
      }
    }
  });
  Value value;
  for (int step = 1; step <= static_cast<int>(steps); ++step) {
    const StepJobs jobs = grownJobs(profile, step, times, own);
    if (lacking[static_cast<size_t>(step)] < targets) {
      value.stepLoads.push_back(stepLoad(jobs, profile.links));
      continue;
    }
    std::set<std::vector<std::pair<uint64_t, int64_t>>> kinds;
    own.forEachTarget([&](const std::vector<Removal>& removals) {
      std::vector<std::pair<uint64_t, int64_t>> removed;
      for (const Removal& removal : removals) {
        if (removal.step == step) {
          removed.emplace_back(removal.mask, removal.count);
        }
      }
      std::sort(removed.begin(), removed.end());
      kinds.insert(std::move(removed));
    });
    Rational load;
    for (const auto& removed : kinds) {
      load = std::max(load, loadWithout(jobs, removed, profile.links));
    }
    value.stepLoads.push_back(load);
  }
  return value;
}

int kautzSteps(int degree, int nodes) {
  // In t steps v reaches the d^t nodes from (-d)^t v - offset on; the diameter is the smallest T at which the intervals
  // of t = 0 .. T cover all nodes from every v.
  std::vector<std::pair<int64_t, int64_t>> covered;
  const auto coversFrom = [&](int v, int steps) {
    covered.clear();
    int64_t first = v;
    int64_t length = 1;
    for (int t = 0; t <= steps; ++t) {
      if (length >= nodes) {
        return true;
      }
      covered.emplace_back(first, first + length);
      covered.emplace_back(first - nodes, first - nodes + length);
      // The last of the interval leads to the first of the next.
      const int64_t last = first + length - 1;
      first = ((-int64_t{degree} * last - degree) % nodes + nodes) % nodes;
      length *= degree;
    }
    std::sort(covered.begin(), covered.end());
    int64_t end = 0;
    for (const auto& [from, to] : covered) {
      if (from > end) {
        break;
      }
      end = std::max(end, to);
    }
    return end >= nodes;
  };
  int steps = mooreSteps(nodes, degree);
  for (int v = 0; v < nodes; ++v) {
    while (!coversFrom(v, steps)) {
      ++steps;
    }
  }
  return steps;
}

int mooreSteps(int64_t nodes, int64_t degree) {
  int64_t reached = 1;
  int64_t level = 1;
  int steps = 0;
  while (reached < nodes) {
    level = checkedMul(level, degree);
    reached = checkedAdd(reached, level);
    ++steps;
  }
  return steps;
}

}  // namespace coppice::finder
