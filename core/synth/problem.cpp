// SPDX-License-Identifier: Apache-2.0
#include "synth/problem.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>

namespace coppice::synth {
namespace {

using fabric::Rank;
using schedule::CollectiveTable;

std::vector<bool> flags(int nodes, std::span<const Rank> ranks) {
  std::vector<bool> result(nodes, false);
  for (const Rank rank : ranks) {
    result[rank] = true;
  }
  return result;
}

std::optional<int> onlyOne(const std::vector<bool>& flagged) {
  if (std::count(flagged.begin(), flagged.end(), true) != 1) {
    return std::nullopt;
  }
  return static_cast<int>(std::find(flagged.begin(), flagged.end(), true) - flagged.begin());
}

/// Every destination of every class of a group alone, for groups whose chunks go to several ranks.
void addMulticast(Problem& problem, int group, const ChunkClass& chunks, std::int64_t weight) {
  for (int node = 0; node < problem.topology.nodes; ++node) {
    if (!chunks.post[node] || chunks.pre[node]) {
      continue;
    }
    Requirement requirement{group, {}, {{node, weight}}};
    for (int source = 0; source < problem.topology.nodes; ++source) {
      if (chunks.pre[source]) {
        requirement.supply[source] = weight;
      }
    }
    problem.requirements.push_back(std::move(requirement));
  }
}

/// Chunks of one source and one destination each, in groups by what they share.
void addUnicast(Problem& problem, bool isBySource) {
  std::map<int, int> groupOfKey;
  for (std::size_t c = 0; c < problem.classes.size(); ++c) {
    const int from = *onlyOne(problem.classes[c].pre);
    const int to = *onlyOne(problem.classes[c].post);
    const auto [found, isNew] = groupOfKey.try_emplace(isBySource ? from : to, problem.groups);
    if (isNew) {
      problem.requirements.push_back({problem.groups++, {}, {}});
    }
    problem.groupOf.push_back(found->second);
    if (from != to) {
      ++problem.requirements[found->second].supply[from];
      ++problem.requirements[found->second].demand[to];
    }
  }
  problem.isSingleFlow = problem.groups == 1;
}

void addRequirements(Problem& problem) {
  std::vector<bool> seenFrom(problem.topology.nodes, false);
  std::vector<bool> seenTo(problem.topology.nodes, false);
  bool isUnicast = true;
  for (const ChunkClass& chunks : problem.classes) {
    const auto from = onlyOne(chunks.pre);
    const auto to = onlyOne(chunks.post);
    isUnicast = isUnicast && from && to;
    if (from && to) {
      seenFrom[*from] = true;
      seenTo[*to] = true;
    }
  }
  if (isUnicast) {
    addUnicast(problem,
               std::count(seenFrom.begin(), seenFrom.end(), true) <= std::count(seenTo.begin(), seenTo.end(), true));
    return;
  }
  // Equal rows of a table share a group: their flows mix.
  std::map<std::pair<std::vector<bool>, std::vector<bool>>, std::int64_t> weights;
  for (const ChunkClass& chunks : problem.classes) {
    ++weights[{chunks.pre, chunks.post}];
  }
  std::map<std::pair<std::vector<bool>, std::vector<bool>>, int> groupOfRow;
  for (const ChunkClass& chunks : problem.classes) {
    const auto [found, isNew] = groupOfRow.try_emplace({chunks.pre, chunks.post}, problem.groups);
    if (isNew) {
      addMulticast(problem, problem.groups++, chunks, weights[{chunks.pre, chunks.post}]);
    }
    problem.groupOf.push_back(found->second);
  }
}

/// Many classes have the same sources.
class DistancesFromSources {
public:
  explicit DistancesFromSources(const Topology& topology) : m_topology(topology) {}
  const std::vector<int>& operator()(const ChunkClass& chunks) {
    const auto [found, isNew] = m_known.try_emplace(chunks.pre);
    if (isNew) {
      found->second = distancesFrom(m_topology, chunks.pre);
    }
    return found->second;
  }

private:
  const Topology& m_topology;
  std::unordered_map<std::vector<bool>, std::vector<int>> m_known;
};

}  // namespace

Collective dualOf(Collective collective) {
  switch (collective) {
    case Collective::reduce:
      return Collective::broadcast;
    case Collective::reduceScatter:
      return Collective::allgather;
    default:
      return collective;
  }
}

std::int64_t divisorOf(const CollectiveTable& goal) {
  switch (goal.collective()) {
    case Collective::scatter:
    case Collective::alltoall:
    case Collective::reduceScatter:
      return goal.rankCount();
    case Collective::custom:
      return goal.shardCount();
    default:
      return 1;
  }
}

Result<Problem> problemOf(Topology topology, const CollectiveTable& goal) {
  if (goal.collective() == Collective::allreduce) {
    return Error{ErrorCode::badUsage, "allreduce needs reductions"};
  }
  Problem problem;
  problem.topology = std::move(topology);
  problem.divisor = divisorOf(goal);
  const bool isDual = dualOf(goal.collective()) != goal.collective();
  for (std::int64_t shard = 0; shard < goal.shardCount(); ++shard) {
    if (goal.combines(shard) && !isDual) {
      return Error{ErrorCode::badUsage, "A table with rows that are reduced cannot be synthesized",
                   "leave the reduced rows out, or use reduce, reduce_scatter or allreduce"};
    }
    if (goal.share(shard) != goal.share(0)) {
      return Error{ErrorCode::badUsage,
                   "Shard " + std::to_string(shard) + " of the table has another share than shard 0",
                   "cut the shards into equal ones"};
    }
    const auto from = isDual ? goal.destinations(shard) : goal.sources(shard);
    const auto to = isDual ? goal.sources(shard) : goal.destinations(shard);
    problem.classes.push_back({flags(problem.topology.nodes, from), flags(problem.topology.nodes, to)});
  }
  DistancesFromSources distances(problem.topology);
  for (std::size_t c = 0; c < problem.classes.size(); ++c) {
    const auto& distance = distances(problem.classes[c]);
    for (int node = 0; node < problem.topology.nodes; ++node) {
      if (problem.classes[c].post[node] && distance[node] < 0) {
        return Error{ErrorCode::infeasible,
                     "No source of shard " + std::to_string(c) + " reaches rank " + std::to_string(node),
                     "add the missing links"};
      }
    }
  }
  addRequirements(problem);
  return problem;
}

int minSteps(const Problem& problem) {
  int min = 1;
  DistancesFromSources distances(problem.topology);
  for (const ChunkClass& chunks : problem.classes) {
    const auto& distance = distances(chunks);
    for (int node = 0; node < problem.topology.nodes; ++node) {
      if (chunks.post[node]) {
        min = std::max(min, distance[node]);
      }
    }
  }
  return min;
}

std::optional<std::string> faultOf(const Problem& problem, std::int64_t n, const Steps& steps) {
  const Topology& topology = problem.topology;
  const auto chunks = static_cast<std::int64_t>(problem.classes.size()) * n;
  std::vector<std::vector<bool>> has(chunks);
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    has[chunk] = problem.classes[chunk / n].pre;
  }
  std::size_t next = 0;
  for (int step = 0; step < static_cast<int>(steps.rounds.size()); ++step) {
    std::vector<std::int64_t> used(topology.limits.size(), 0);
    const std::size_t first = next;
    for (; next < steps.sends.size() && steps.sends[next].step == step; ++next) {
      const Send& send = steps.sends[next];
      if (!has[send.chunk][topology.arcs[send.arc].from]) {
        return "chunk " + std::to_string(send.chunk) + " is sent in step " + std::to_string(step) +
               " by a rank that lacks it";
      }
      for (const int limit : topology.limitsOf[send.arc]) {
        if (++used[limit] > topology.capacity(limit, steps.rounds[step])) {
          return "a link carries too much in step " + std::to_string(step);
        }
      }
    }
    for (std::size_t i = first; i < next; ++i) {
      has[steps.sends[i].chunk][topology.arcs[steps.sends[i].arc].to] = true;
    }
  }
  if (next != steps.sends.size()) {
    return "sends are not in order of steps";
  }
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    for (int node = 0; node < topology.nodes; ++node) {
      if (problem.classes[chunk / n].post[node] && !has[chunk][node]) {
        return "chunk " + std::to_string(chunk) + " does not reach rank " + std::to_string(node);
      }
    }
  }
  return std::nullopt;
}

void prune(const Problem& problem, std::int64_t n, Steps& steps) {
  const Topology& topology = problem.topology;
  std::sort(steps.sends.begin(), steps.sends.end(), [](const Send& a, const Send& b) {
    return std::tie(a.step, a.chunk, a.arc) < std::tie(b.step, b.chunk, b.arc);
  });
  const std::size_t chunks = problem.classes.size() * static_cast<std::size_t>(n);
  std::vector<std::vector<bool>> has(chunks);
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    has[chunk] = problem.classes[chunk / n].pre;
  }
  std::vector<Send> first;
  for (const Send& send : steps.sends) {
    if (!has[send.chunk][topology.arcs[send.arc].to]) {
      has[send.chunk][topology.arcs[send.arc].to] = true;
      first.push_back(send);
    }
  }
  // Backwards: a receive counts where the rank is a destination or sends on.
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    has[chunk] = problem.classes[chunk / n].post;
  }
  std::vector<Send> kept;
  for (auto send = first.rbegin(); send != first.rend(); ++send) {
    if (has[send->chunk][topology.arcs[send->arc].to]) {
      has[send->chunk][topology.arcs[send->arc].from] = true;
      kept.push_back(*send);
    }
  }
  steps.sends.assign(kept.rbegin(), kept.rend());
}

Result<Problem> problemOn(const fabric::Fabric& fabric, const CollectiveTable& goal, const UnitChoice& unit) {
  const bool isDual = dualOf(goal.collective()) != goal.collective();
  auto topology = topologyOf(isDual ? fabric.transposed() : fabric, unit);
  if (!topology) {
    return topology.error();
  }
  auto problem = problemOf(*std::move(topology), goal);
  if (problem && std::all_of(problem->requirements.begin(), problem->requirements.end(),
                             [](const Requirement& each) { return each.demand.empty(); })) {
    return Error{ErrorCode::badInput, "Every destination has its chunks already, so there is nothing to send",
                 "give destinations that lack a chunk"};
  }
  return problem;
}

}  // namespace coppice::synth
