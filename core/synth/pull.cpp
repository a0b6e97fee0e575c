// SPDX-License-Identifier: Apache-2.0
#include "synth/pull.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace coppice::synth {
namespace {

constexpr double kNeed = 1.0;
constexpr double kNearer = 0.6;
constexpr double kFarthest = 2.0;
constexpr double kRare = 3.0;
constexpr double kNoise = 0.8;
constexpr double kUrgent = 1000.0;

class Pull {
public:
  Pull(const Problem& problem, std::int64_t n, std::uint64_t seed, const std::function<bool()>& stop)
      : m_problem(problem), m_topology(problem.topology), m_n(n), m_random(seed), m_stop(stop) {
    const int nodes = m_topology.nodes;
    for (int node = 0; node < nodes; ++node) {
      std::vector<bool> only(nodes, false);
      only[node] = true;
      m_distance.push_back(distancesFrom(m_topology, only));
    }
    const std::size_t chunks = problem.classes.size() * static_cast<std::size_t>(n);
    for (std::size_t chunk = 0; chunk < chunks && !isStopped(); ++chunk) {
      const ChunkClass& ends = problem.classes[chunk / n];
      m_has.push_back(ends.pre);
      m_reach.push_back(distancesFrom(m_topology, ends.pre));
      m_lacking.emplace_back();
      for (int node = 0; node < nodes; ++node) {
        if (ends.post[node] && !ends.pre[node]) {
          m_lacking.back().push_back(node);
        }
      }
      m_open += m_lacking.back().size();
    }
  }

  /// stepsLeft counts this step.
  void step(int step, std::int64_t rounds, int stepsLeft, std::vector<Send>& sends) {
    m_room.clear();
    for (int limit = 0; limit < static_cast<int>(m_topology.limits.size()); ++limit) {
      m_room.push_back(m_topology.capacity(limit, rounds));
    }
    std::vector<int> order(m_topology.nodes);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), m_random);
    const std::size_t first = sends.size();
    for (const int node : order) {
      receive(node, step, stepsLeft, sends);
    }
    for (std::size_t i = first; i < sends.size() && !isStopped(); ++i) {
      arrive(sends[i].chunk, m_topology.arcs[sends[i].arc].to);
    }
  }

  [[nodiscard]] bool isDone() const { return m_open == 0; }
  /// Polls after equal amounts of work.
  bool isStopped(std::size_t work = 1) {
    constexpr std::size_t kPause = 4096;
    m_work += work;
    if (!m_isStopped && m_work >= kPause) {
      m_work = 0;
      m_isStopped = m_stop();
    }
    return m_isStopped;
  }

private:
  struct Candidate {
    double weight = 0;
    int chunk = 0;
  };

  void arrive(int chunk, int node) {
    m_has[chunk][node] = true;
    auto& lacking = m_lacking[chunk];
    if (const auto found = std::find(lacking.begin(), lacking.end(), node); found != lacking.end()) {
      lacking.erase(found);
      --m_open;
    }
    for (int other = 0; other < m_topology.nodes; ++other) {
      const int distance = m_distance[node][other];
      if (distance >= 0 && (m_reach[chunk][other] < 0 || distance < m_reach[chunk][other])) {
        m_reach[chunk][other] = distance;
      }
    }
  }

  /// 0 = useless.
  double weight(int chunk, int node, int stepsLeft) {
    double sum = 0;
    int nearer = 0;
    int farthest = 0;
    for (const int other : m_lacking[chunk]) {
      const int now = m_reach[chunk][other];
      const int then = m_distance[node][other];
      if (other == node) {
        sum += kNeed;
      } else if (then >= 0 && then < now) {
        ++nearer;
        farthest = std::max(farthest, now);
        if (now == stepsLeft) {
          sum += kUrgent;
        }
      }
    }
    sum += kNearer * nearer + kFarthest * farthest;
    return sum == 0 ? 0 : sum + kRare / static_cast<double>(holders(chunk)) + kNoise * noise();
  }

  [[nodiscard]] std::size_t holders(int chunk) const {
    return static_cast<std::size_t>(std::count(m_has[chunk].begin(), m_has[chunk].end(), true));
  }
  // Not a distribution of the library, whose numbers differ between libraries.
  double noise() { return static_cast<double>(m_random() >> 11) / 9007199254740992.0; }

  [[nodiscard]] bool hasRoom(int arc) const {
    const auto& limits = m_topology.limitsOf[arc];
    return std::all_of(limits.begin(), limits.end(), [this](int limit) { return m_room[limit] > 0; });
  }

  void take(int arc, int sign) {
    for (const int limit : m_topology.limitsOf[arc]) {
      m_room[limit] -= sign;
    }
  }

  /// Finds an arc for the chunk, moving chunks that the receiver already takes to others of its arcs.
  bool place(int chunk, int node, std::vector<Send>& taken, std::vector<bool>& isTried) {
    for (const int arc : m_topology.in[node]) {
      if (m_has[chunk][m_topology.arcs[arc].from] && hasRoom(arc)) {
        take(arc, 1);
        taken.push_back({chunk, arc, 0});
        return true;
      }
    }
    for (std::size_t i = 0; i < m_topology.in[node].size(); ++i) {
      const int arc = m_topology.in[node][i];
      if (isTried[i] || !m_has[chunk][m_topology.arcs[arc].from]) {
        continue;
      }
      isTried[i] = true;
      for (std::size_t other = 0; other < taken.size(); ++other) {
        if (taken[other].arc != arc) {
          continue;
        }
        const Send moved = taken[other];
        taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(other));
        if (place(moved.chunk, node, taken, isTried)) {
          // The arc of the moved chunk is free now, unless a shared limit is full.
          take(arc, -1);
          if (hasRoom(arc)) {
            take(arc, 1);
            taken.push_back({chunk, arc, 0});
            return true;
          }
          take(arc, 1);
          const Send back = taken.back();
          taken.pop_back();
          take(back.arc, -1);
        }
        taken.insert(taken.begin() + static_cast<std::ptrdiff_t>(other), moved);
      }
    }
    return false;
  }

  void receive(int node, int step, int stepsLeft, std::vector<Send>& sends) {
    std::vector<Candidate> candidates;
    for (int chunk = 0; chunk < static_cast<int>(m_has.size()) && !isStopped(); ++chunk) {
      if (m_has[chunk][node] || m_lacking[chunk].empty() || m_reach[chunk][node] != 1) {
        continue;
      }
      if (const double value = weight(chunk, node, stepsLeft); value > 0) {
        candidates.push_back({value, chunk});
      }
    }
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
      return a.weight != b.weight ? a.weight > b.weight : a.chunk < b.chunk;
    });
    std::vector<Send> taken;
    std::vector<bool> isTried;
    for (const Candidate& candidate : candidates) {
      const auto& in = m_topology.in[node];
      if (isStopped(1 + taken.size()) || std::none_of(in.begin(), in.end(), [this](int arc) { return hasRoom(arc); })) {
        break;
      }
      isTried.assign(in.size(), false);
      place(candidate.chunk, node, taken, isTried);
    }
    for (Send& send : taken) {
      send.step = step;
      sends.push_back(send);
    }
  }

  const Problem& m_problem;
  const Topology& m_topology;
  std::int64_t m_n;
  std::mt19937_64 m_random;
  std::vector<std::vector<int>> m_distance;
  std::vector<std::vector<bool>> m_has;
  std::vector<std::vector<int>> m_reach;    ///< by chunk and rank: hops from the nearest holder
  std::vector<std::vector<int>> m_lacking;  ///< by chunk: destinations without it
  std::size_t m_open = 0;
  std::vector<std::int64_t> m_room;
  const std::function<bool()>& m_stop;
  std::size_t m_work = 0;
  bool m_isStopped = false;
};

}  // namespace

std::optional<Steps> pull(const Problem& problem, std::int64_t n, std::span<const std::int64_t> rounds,
                          std::uint64_t seed, const std::function<bool()>& stop) {
  Pull state(problem, n, seed, stop);
  Steps result{{rounds.begin(), rounds.end()}, {}};
  for (std::size_t step = 0; step < rounds.size() && !state.isDone(); ++step) {
    if (stop() || state.isStopped()) {
      return std::nullopt;
    }
    state.step(static_cast<int>(step), rounds[step], static_cast<int>(rounds.size() - step), result.sends);
  }
  if (!state.isDone() || state.isStopped()) {
    return std::nullopt;
  }
  prune(problem, n, result);
  return result;
}

}  // namespace coppice::synth
