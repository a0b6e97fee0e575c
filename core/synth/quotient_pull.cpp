// SPDX-License-Identifier: Apache-2.0
#include "synth/quotient_pull.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

namespace coppice::synth {
namespace {

constexpr std::uint8_t kFar = 255;
constexpr double kWideNeed = 1.0;
constexpr double kWideNearer = 0.6;
constexpr double kWideFarthest = 2.0;
constexpr double kWideRare = 3.0;
constexpr double kWideNoise = 0.8;
/// A send may push this many others to other arcs, one after the other.
constexpr int kMaxMoves = 2;
/// Arcs and sends that are looked at for a move.
constexpr int kMoveBreadth = 6;
/// Moves that are tried in one step.
constexpr int kMoveBudget = 20'000;

// Not a distribution of the library, whose numbers differ between libraries.
double noise(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) / 9007199254740992.0;
}

}  // namespace

/// Chunks are those of one class of each orbit; what happens to their images follows.
struct QuotientPull::State {
  std::vector<std::uint8_t> has;          ///< by chunk and rank
  std::vector<std::uint8_t> reach;        ///< hops from the nearest holder
  std::vector<int> holders;               ///< by chunk
  std::vector<std::vector<int>> lacking;  ///< by chunk: destinations without it
  std::vector<Send> sends;
  std::vector<std::int64_t> rounds;
  std::int64_t sum = 0;
  std::size_t open = 0;
};

QuotientPull::QuotientPull(const Problem& problem, std::int64_t n, std::span<const Symmetry> group)
    : m_problem(problem),
      m_topology(problem.topology),
      m_n(n),
      m_quotient(problem, group),
      m_distance(static_cast<std::size_t>(problem.topology.nodes) * problem.topology.nodes, kFar) {
  const int nodes = m_topology.nodes;
  for (int node = 0; node < nodes; ++node) {
    std::vector<bool> only(nodes, false);
    only[node] = true;
    const auto distance = distancesFrom(m_topology, only);
    for (int other = 0; other < nodes; ++other) {
      if (distance[other] >= 0) {
        m_distance[node * nodes + other] = static_cast<std::uint8_t>(std::min(distance[other], kFar - 1));
      }
    }
  }
}

std::int64_t QuotientPull::workOf(int steps) const {
  const auto nodes = static_cast<std::int64_t>(m_topology.nodes);
  const auto chunks = static_cast<std::int64_t>(m_quotient.classes.size()) * m_n;
  const auto arcs = static_cast<std::int64_t>(m_topology.arcs.size());
  return chunks * (nodes * nodes + 4 * arcs) * steps;
}

QuotientPull::State QuotientPull::start() const {
  State state;
  const int nodes = m_topology.nodes;
  for (const int c : m_quotient.classes) {
    const ChunkClass& ends = m_problem.classes[c];
    const auto distance = distancesFrom(m_topology, ends.pre);
    std::vector<int> lacking;
    int holders = 0;
    for (int node = 0; node < nodes; ++node) {
      if (ends.pre[node]) {
        ++holders;
      } else if (ends.post[node]) {
        lacking.push_back(node);
      }
    }
    for (std::int64_t i = 0; i < m_n; ++i) {
      for (int node = 0; node < nodes; ++node) {
        state.has.push_back(ends.pre[node] ? 1 : 0);
        state.reach.push_back(distance[node] < 0 ? kFar
                                                 : static_cast<std::uint8_t>(std::min<int>(distance[node], kFar - 1)));
      }
      state.holders.push_back(holders);
      state.open += lacking.size();
      state.lacking.push_back(lacking);
    }
  }
  return state;
}

/// One step of one state.
class QuotientPull::Step {
public:
  Step(const QuotientPull& owner, State& state, int stepsLeft, std::mt19937_64& random,
       const std::function<bool()>& stop)
      : m_owner(owner),
        m_topology(owner.m_topology),
        m_state(state),
        m_nodes(owner.m_topology.nodes),
        m_stepsLeft(stepsLeft),
        m_random(random),
        m_stop(stop) {}

  /// False where the steps do not suffice, where it takes more rounds than that, or where it is stopped.
  bool run(std::int64_t wished, std::int64_t maxRounds) {
    if (isTooFar()) {
      return false;
    }
    findCandidates();
    std::int64_t rounds = std::max<std::int64_t>(1, wished);
    if (rounds > maxRounds) {
      return false;
    }
    setRoom(rounds);
    m_sendsOver.resize(m_owner.m_quotient.min.size());
    placeAll();
    while (isAnyMissed()) {
      if (++rounds > maxRounds) {
        return false;
      }
      setRoom(rounds);
      for (Candidate& each : m_candidates) {
        if (!each.isPlaced && coversMissed(each)) {
          place(each, kMaxMoves);
        }
      }
      if (m_isStopped) {
        return false;
      }
    }
    if (m_isStopped) {
      return false;
    }
    finish();
    return true;
  }

private:
  struct Candidate {
    double weight = 0;
    int chunk = 0;
    int node = 0;
    bool isUrgent = false;
    bool isPlaced = false;
  };
  struct Placed {
    std::size_t candidate = 0;
    int arc = 0;
  };

  [[nodiscard]] std::uint8_t distance(int from, int to) const { return m_owner.m_distance[from * m_nodes + to]; }
  [[nodiscard]] std::uint8_t reach(int chunk, int node) const {
    return m_state.reach[static_cast<std::size_t>(chunk) * m_nodes + node];
  }
  [[nodiscard]] bool has(int chunk, int node) const {
    return m_state.has[static_cast<std::size_t>(chunk) * m_nodes + node] != 0;
  }

  void findCandidates() {
    const int chunks = static_cast<int>(m_state.holders.size());
    for (int chunk = 0; chunk < chunks && !isStopped(); ++chunk) {
      const auto& lacking = m_state.lacking[chunk];
      for (int node = 0; !lacking.empty() && node < m_nodes; ++node) {
        if (reach(chunk, node) != 1) {
          continue;
        }
        double sum = 0;
        int nearer = 0;
        int farthest = 0;
        bool isUrgent = false;
        for (const int other : lacking) {
          const int now = reach(chunk, other);
          if (other == node) {
            sum += kWideNeed;
            isUrgent = isUrgent || m_stepsLeft == 1;
          } else if (distance(node, other) < now) {
            ++nearer;
            farthest = std::max(farthest, now);
            isUrgent = isUrgent || now == m_stepsLeft;
          }
        }
        sum += kWideNearer * nearer + kWideFarthest * farthest;
        if (sum == 0) {
          continue;
        }
        Candidate candidate;
        candidate.weight = sum + kWideRare / m_state.holders[chunk] + kWideNoise * noise(m_random);
        candidate.chunk = chunk;
        candidate.node = node;
        candidate.isUrgent = isUrgent;
        m_candidates.push_back(candidate);
      }
    }
    std::sort(m_candidates.begin(), m_candidates.end(), [](const Candidate& a, const Candidate& b) {
      if (a.isUrgent != b.isUrgent) {
        return a.isUrgent;
      }
      return a.weight != b.weight ? a.weight > b.weight : std::pair(a.chunk, a.node) < std::pair(b.chunk, b.node);
    });
  }

  void setRoom(std::int64_t rounds) {
    const std::size_t count = m_owner.m_quotient.min.size();
    std::vector<std::int64_t> used(count, 0);
    for (std::size_t orbit = 0; orbit < count && !m_capacity.empty(); ++orbit) {
      used[orbit] = m_capacity[orbit] - m_room[orbit];
    }
    m_capacity.resize(count);
    m_room.resize(count);
    for (std::size_t orbit = 0; orbit < count; ++orbit) {
      m_capacity[orbit] = m_topology.capacity(m_owner.m_quotient.min[orbit], rounds);
      m_room[orbit] = m_capacity[orbit] - used[orbit];
    }
  }

  void placeAll() {
    for (Candidate& each : m_candidates) {
      place(each, kMaxMoves);
    }
  }

  [[nodiscard]] bool hasRoom(int arc) const {
    const auto& orbits = m_owner.m_quotient.orbitsOf[arc];
    for (std::size_t i = 0; i < orbits.size(); ++i) {
      std::int64_t needed = 0;
      for (std::size_t j = 0; j <= i; ++j) {
        needed += orbits[j] == orbits[i] ? m_owner.m_quotient.weight[orbits[i]] : 0;
      }
      if (m_room[orbits[i]] < needed) {
        return false;
      }
    }
    return true;
  }

  /// The share of its limits that is left, the minimum of them.
  [[nodiscard]] double slack(int arc) const {
    double min = 1;
    for (const int orbit : m_owner.m_quotient.orbitsOf[arc]) {
      min = std::min(min, static_cast<double>(m_room[orbit]) / static_cast<double>(m_capacity[orbit]));
    }
    return min;
  }

  void take(std::size_t candidate, int arc) {
    for (const int orbit : m_owner.m_quotient.orbitsOf[arc]) {
      m_room[orbit] -= m_owner.m_quotient.weight[orbit];
      m_sendsOver[orbit].push_back({candidate, arc});
    }
    m_candidates[candidate].isPlaced = true;
    m_arcOf.resize(m_candidates.size(), -1);
    m_arcOf[candidate] = arc;
  }

  void giveBack(std::size_t candidate) {
    const int arc = m_arcOf[candidate];
    for (const int orbit : m_owner.m_quotient.orbitsOf[arc]) {
      m_room[orbit] += m_owner.m_quotient.weight[orbit];
      auto& over = m_sendsOver[orbit];
      for (auto each = over.rbegin(); each != over.rend(); ++each) {
        if (each->candidate == candidate) {
          over.erase(std::next(each).base());
          break;
        }
      }
    }
    m_candidates[candidate].isPlaced = false;
    m_arcOf[candidate] = -1;
  }

  bool place(Candidate& each, int moves) {
    return !isStopped() && place(static_cast<std::size_t>(&each - m_candidates.data()), moves);
  }

  bool isStopped() {
    constexpr int kPause = 64;
    if (!m_isStopped && ++m_calls % kPause == 0) {
      m_isStopped = m_stop();
    }
    return m_isStopped;
  }

  bool place(std::size_t index, int moves) {
    const Candidate& each = m_candidates[index];
    int best = -1;
    double max = -1;
    const auto& in = m_topology.in[each.node];
    for (const int arc : in) {
      if (has(each.chunk, m_topology.arcs[arc].from) && hasRoom(arc)) {
        if (const double here = slack(arc) + 1e-3 * noise(m_random); here > max) {
          max = here;
          best = arc;
        }
      }
    }
    if (best >= 0) {
      take(index, best);
      return true;
    }
    if (moves == 0 || m_movesLeft <= 0) {
      return false;
    }
    int looked = 0;
    const std::size_t first = in.empty() ? 0 : m_random() % in.size();
    for (std::size_t i = 0; i < in.size() && looked < kMoveBreadth; ++i) {
      const int arc = in[(first + i) % in.size()];
      if (!has(each.chunk, m_topology.arcs[arc].from)) {
        continue;
      }
      int full = -1;
      int fullCount = 0;
      for (const int orbit : m_owner.m_quotient.orbitsOf[arc]) {
        if (m_room[orbit] < m_owner.m_quotient.weight[orbit]) {
          full = orbit;
          ++fullCount;
        }
      }
      if (fullCount != 1) {
        continue;
      }
      ++looked;
      const auto over = m_sendsOver[full];
      for (std::size_t j = 0; j < over.size() && j < static_cast<std::size_t>(kMoveBreadth); ++j) {
        const Placed moved = over[over.size() - 1 - j];
        if (m_arcOf[moved.candidate] != moved.arc) {
          continue;
        }
        --m_movesLeft;
        giveBack(moved.candidate);
        if (hasRoom(arc)) {
          take(index, arc);
          if (place(moved.candidate, moves - 1)) {
            return true;
          }
          giveBack(index);
        }
        take(moved.candidate, moved.arc);
      }
    }
    return false;
  }

  [[nodiscard]] bool isTooFar() const {
    for (std::size_t chunk = 0; chunk < m_state.lacking.size(); ++chunk) {
      for (const int other : m_state.lacking[chunk]) {
        if (reach(static_cast<int>(chunk), other) > m_stepsLeft) {
          return true;
        }
      }
    }
    return false;
  }

  /// Destinations that would be too far after this step.
  bool isAnyMissed() {
    m_missed.clear();
    const int chunks = static_cast<int>(m_state.holders.size());
    std::vector<std::vector<int>> receivers(chunks);
    for (std::size_t i = 0; i < m_candidates.size(); ++i) {
      if (m_candidates[i].isPlaced) {
        receivers[m_candidates[i].chunk].push_back(m_candidates[i].node);
      }
    }
    for (int chunk = 0; chunk < chunks; ++chunk) {
      for (const int other : m_state.lacking[chunk]) {
        if (reach(chunk, other) < m_stepsLeft) {
          continue;
        }
        const bool isMet = std::any_of(receivers[chunk].begin(), receivers[chunk].end(),
                                       [&](int node) { return distance(node, other) < m_stepsLeft; });
        if (!isMet) {
          m_missed.emplace_back(chunk, other);
        }
      }
    }
    return !m_missed.empty();
  }

  [[nodiscard]] bool coversMissed(const Candidate& each) const {
    const auto first = std::lower_bound(m_missed.begin(), m_missed.end(), std::pair(each.chunk, 0));
    for (auto missed = first; missed != m_missed.end() && missed->first == each.chunk; ++missed) {
      if (distance(each.node, missed->second) < m_stepsLeft) {
        return true;
      }
    }
    return false;
  }

  void finish() {
    const int step = static_cast<int>(m_state.rounds.size());
    std::int64_t rounds = 1;
    for (std::size_t orbit = 0; orbit < m_room.size(); ++orbit) {
      rounds = std::max(rounds, roundsFor(m_owner.m_quotient.rate(orbit), m_capacity[orbit] - m_room[orbit]));
    }
    m_state.rounds.push_back(rounds);
    m_state.sum += rounds;
    for (std::size_t i = 0; i < m_candidates.size(); ++i) {
      const Candidate& each = m_candidates[i];
      if (!each.isPlaced) {
        continue;
      }
      m_state.sends.push_back({each.chunk, m_arcOf[i], step});
      const std::size_t row = static_cast<std::size_t>(each.chunk) * m_nodes;
      m_state.has[row + each.node] = 1;
      ++m_state.holders[each.chunk];
      auto& lacking = m_state.lacking[each.chunk];
      if (const auto found = std::find(lacking.begin(), lacking.end(), each.node); found != lacking.end()) {
        lacking.erase(found);
        --m_state.open;
      }
      for (int other = 0; other < m_nodes; ++other) {
        m_state.reach[row + other] = std::min(m_state.reach[row + other], distance(each.node, other));
      }
    }
  }

  const QuotientPull& m_owner;
  const Topology& m_topology;
  State& m_state;
  int m_nodes;
  int m_stepsLeft;
  std::mt19937_64& m_random;
  const std::function<bool()>& m_stop;
  int m_calls = 0;
  int m_movesLeft = kMoveBudget;
  bool m_isStopped = false;
  std::vector<Candidate> m_candidates;
  std::vector<int> m_arcOf;
  std::vector<std::int64_t> m_capacity;
  std::vector<std::int64_t> m_room;
  std::vector<std::vector<Placed>> m_sendsOver;
  std::vector<std::pair<int, int>> m_missed;
};

std::optional<Steps> QuotientPull::run(std::span<const std::int64_t> rounds, std::int64_t maxRounds, std::uint64_t seed,
                                       const std::function<bool()>& stop) const {
  std::mt19937_64 random(seed);
  State state = start();
  const int steps = static_cast<int>(rounds.size());
  for (int step = 0; step < steps; ++step) {
    // What remains needs a round for each step.
    const std::int64_t later = steps - 1 - step;
    if (stop() || !Step(*this, state, steps - step, random, stop).run(rounds[step], maxRounds - state.sum - later)) {
      return std::nullopt;
    }
  }
  return state.open == 0 ? std::optional(m_quotient.expanded(m_n, steps, state.sends)) : std::nullopt;
}

}  // namespace coppice::synth
