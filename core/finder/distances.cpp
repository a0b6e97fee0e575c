// SPDX-License-Identifier: Apache-2.0
#include "finder/distances.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "topology/digraph.hpp"

namespace coppice::finder {
namespace {

using std::int64_t;

/// Sums the distances from nodes of one graph; holds what the searches share.
class DistanceSearch {
public:
  explicit DistanceSearch(const topology::Digraph& graph)
      : m_graph(graph), m_distance(static_cast<std::size_t>(graph.nodes)) {}

  int64_t sumFrom(int node) {
    std::fill(m_distance.begin(), m_distance.end(), -1);
    m_distance[node] = 0;
    m_queue.assign(1, node);
    int64_t sum = 0;
    // NOLINTNEXTLINE(modernize-loop-convert): the queue grows under the loop
    for (std::size_t at = 0; at < m_queue.size(); ++at) {
      const int from = m_queue[at];
      sum += m_distance[from];
      for (const int head : m_graph.out(from)) {
        if (m_distance[head] < 0) {
          m_distance[head] = m_distance[from] + 1;
          m_queue.push_back(head);
        }
      }
    }
    return sum;
  }

private:
  const topology::Digraph& m_graph;
  std::vector<int> m_distance;
  std::vector<int> m_queue;
};

}  // namespace

Rational meanDistance(const Profile& profile, int nodes) {
  int64_t sum = 0;
  for (int step = 0; step < profile.stepCount(); ++step) {
    for (const JobClass& job : profile.steps[step]) {
      sum += (step + 1) * job.count;
    }
  }
  return {sum, nodes};
}

int64_t distanceStarts(const Entry& entry) {
  if (entry.isSymmetric) {
    return 1;
  }
  int64_t starts = entry.nodes;
  if (entry.construction->operation == Operation::lineGraph) {
    // Node 0 of the base graph begins the first d^k of the arcs of arcs.
    starts = 1;
    for (int i = 0; i < entry.construction->numbers[0]; ++i) {
      starts *= entry.degree;
    }
  }
  return starts;
}

Result<Rational> meanDistance(const Entry& entry, const Progress& progress) {
  const auto graph = build(*entry.construction);
  if (!graph) {
    return graph.error();
  }
  DistanceSearch search(*graph);
  const int64_t starts = distanceStarts(entry);
  int64_t sum = 0;
  for (int node = 0; node < starts; ++node) {
    throwIfCancelled(progress);
    sum += search.sumFrom(node);
  }
  return Rational(sum, starts * graph->nodes);
}

Rational leastMeanDistance(int64_t nodes, int64_t degree) {
  int64_t sum = 0;
  int64_t left = nodes - 1;
  int64_t level = 1;
  for (int64_t distance = 1; left > 0; ++distance) {
    level = degree == 1 ? 1 : std::min(left, level * degree);
    sum += distance * level;
    left -= level;
  }
  return {sum, nodes};
}

std::vector<Entry> paretoFrontOfThree(std::vector<Entry> entries) {
  const auto goals = [](const Entry& entry) {
    return std::tuple(entry.steps, entry.bandwidthTime, *entry.meanDistance);
  };
  std::stable_sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
    return goals(a) == goals(b) ? isSimpler(a, b) : goals(a) < goals(b);
  });
  std::vector<Entry> front;
  for (Entry& entry : entries) {
    // Those before it have no more steps.
    const bool isBeaten = std::any_of(front.begin(), front.end(), [&](const Entry& other) {
      return other.bandwidthTime <= entry.bandwidthTime && *other.meanDistance <= *entry.meanDistance;
    });
    if (!isBeaten) {
      front.push_back(std::move(entry));
    }
  }
  return front;
}

}  // namespace coppice::finder
