// SPDX-License-Identifier: Apache-2.0
#include "synth/tree_search.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

namespace coppice::synth {
namespace {

/// Sends over a full link that are compared for the next move.
constexpr int kSendsTried = 6;
/// Of the moves that do not help, this part is made all the same.
constexpr std::uint64_t kSidewaysPart = 8;
/// Moves during which a send does not go back.
constexpr std::int64_t kTabu = 12;
/// Work without progress, in units of all places of all sends, after which a target is given up.
constexpr std::int64_t kPatience = 60;
/// A round moves to another step that often in that time.
constexpr std::int64_t kShifts = 8;
constexpr int kStopInterval = 64;
/// Of one byte for each send.
constexpr int kMaxTreeSteps = 255;

}  // namespace

bool TreeSearch::applies(const Problem& problem, int steps) {
  return !problem.classes.empty() && steps >= minSteps(problem) && steps <= kMaxTreeSteps &&
         std::all_of(problem.classes.begin(), problem.classes.end(), [&](const ChunkClass& chunks) {
           for (int node = 0; node < problem.topology.nodes; ++node) {
             if (!chunks.pre[node] && !chunks.post[node]) {
               return false;
             }
           }
           return true;
         });
}

TreeSearch::TreeSearch(const Problem& problem, std::int64_t n, std::span<const Symmetry> group, int steps)
    : m_problem(problem), m_n(n), m_quotient(problem, group), m_steps(steps) {}

/// The trees of one run. A send is named by chunk and receiver: chunk * nodes + node.
class TreeSearch::Run {
public:
  Run(const TreeSearch& owner, const Goal& goal, const std::function<bool()>& stop)
      : m_topology(owner.m_problem.topology),
        m_quotient(owner.m_quotient),
        m_nodes(m_topology.nodes),
        m_steps(owner.m_steps),
        m_chunks(static_cast<int>(owner.m_quotient.classes.size() * owner.m_n)),
        m_goal(goal),
        m_stop(stop),
        m_random(goal.seed) {
    const std::size_t sends = static_cast<std::size_t>(m_chunks) * m_nodes;
    const std::size_t cells = static_cast<std::size_t>(m_quotient.orbits()) * m_steps;
    m_arc.assign(sends, -1);
    m_at.assign(sends, 0);
    m_children.assign(sends * (m_steps + 1), 0);
    m_leftAt.assign(sends, std::numeric_limits<std::int64_t>::min() / 2);
    m_room.assign(cells, 0);
    m_free.assign(cells, 0);
    m_price.assign(cells, 1);
    m_costs.assign(m_steps + 1, 0);
    m_over.resize(cells);
    m_fullPlace.assign(cells, -1);
    m_placeOf.resize(sends);
    plant(owner);
  }

  /// nullopt where it is stopped before all trees are there.
  std::optional<std::vector<Send>> best() {
    if (isStopped()) {
      return std::nullopt;
    }
    keep();
    std::int64_t jump = 1;
    // First with the rounds as planned.
    if (m_bestRounds > m_goal.min) {
      descend();
      restore();
      jump = std::max<std::int64_t>(1, (m_bestRounds - m_goal.min + 1) / 2);
    }
    while (m_bestRounds > m_goal.min && !isStopped()) {
      const std::int64_t before = m_bestRounds;
      shrinkTo(std::max(m_goal.min, m_bestRounds - jump));
      descend();
      // Far goals shake the trees most, near ones are met.
      jump = m_bestRounds < before ? std::max<std::int64_t>(1, std::min(jump, (m_bestRounds - m_goal.min + 1) / 2))
             : jump > 1            ? jump / 2
                                   : std::max<std::int64_t>(1, (m_bestRounds - m_goal.min) / 2);
      restore();
    }
    return sendsOf(m_bestArc, m_bestAt);
  }

private:
  struct Place {
    int arc = -1;
    int at = 0;
    double cost = std::numeric_limits<double>::infinity();
  };

  [[nodiscard]] std::size_t cell(int orbit, int at) const {
    return static_cast<std::size_t>(orbit) * m_steps + (at - 1);
  }
  [[nodiscard]] std::size_t sendTo(std::size_t chunk, int node) const { return chunk * m_nodes + node; }
  [[nodiscard]] int nodeOf(std::size_t send) const { return static_cast<int>(send % m_nodes); }
  [[nodiscard]] std::size_t chunkOf(std::size_t send) const { return send / m_nodes; }
  [[nodiscard]] std::int64_t loadOf(std::size_t here) const {
    return m_room[here] - static_cast<std::int64_t>(m_free[here]);
  }
  [[nodiscard]] std::uint16_t& children(std::size_t send, int at) { return m_children[send * (m_steps + 1) + at]; }

  /// The last step by which the rank must have the chunk: before the first of its own sends.
  [[nodiscard]] int latest(std::size_t send) {
    for (int at = 1; at <= m_steps; ++at) {
      if (children(send, at) > 0) {
        return at - 1;
      }
    }
    return m_steps;
  }

  /// Trees by distance: a rank comes after those that are nearer to the source, early enough for those behind it.
  void plant(const TreeSearch& owner) {
    std::vector<std::vector<int>> distance;
    for (int node = 0; node < m_nodes; ++node) {
      std::vector<bool> only(m_nodes, false);
      only[node] = true;
      distance.push_back(distancesFrom(m_topology, only));
    }
    m_rounds = wholeRounds(m_goal.plan.empty() ? std::vector<double>(m_steps, 1) : m_goal.plan,
                           std::max<std::int64_t>(m_steps, m_goal.min));
    setRooms();
    for (std::size_t chunk = 0; chunk < static_cast<std::size_t>(m_chunks) && !isStopped(); ++chunk) {
      const ChunkClass& ends = owner.m_problem.classes[m_quotient.classes[chunk / owner.m_n]];
      const auto reach = distancesFrom(m_topology, ends.pre);
      std::vector<int> order;
      std::vector<bool> isIn(m_nodes, false);
      for (int node = 0; node < m_nodes; ++node) {
        isIn[node] = ends.pre[node];
        if (!ends.pre[node]) {
          order.push_back(node);
        }
      }
      std::shuffle(order.begin(), order.end(), m_random);
      std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return reach[a] < reach[b]; });
      for (const int node : order) {
        int behind = 0;
        for (int other = 0; other < m_nodes; ++other) {
          if (distance[node][other] > 0 && reach[other] == reach[node] + distance[node][other]) {
            behind = std::max(behind, distance[node][other]);
          }
        }
        const std::size_t send = sendTo(chunk, node);
        const Place place = cheapest(send, m_steps - behind, [&](int from) { return isIn[from]; });
        put(send, place);
        isIn[node] = true;
      }
    }
  }

  /// What one more send over the arc would add to the weighted overload, by step from `first` to `latest`.
  void priceArc(int arc, int first, int latest) {
    std::fill(m_costs.begin() + first, m_costs.begin() + latest + 1, 0.0);
    for (const int orbit : m_quotient.orbitsOf[arc]) {
      const double weight = static_cast<double>(m_quotient.weight[orbit]);
      const double* free = &m_free[cell(orbit, 1)] - 1;
      const double* price = &m_price[cell(orbit, 1)] - 1;
      for (int at = first; at <= latest; ++at) {
        m_costs[at] += std::min(std::max(weight - free[at], 0.0), weight) * price[at];
      }
    }
  }

  /// The place of minimum cost for a send, which must not have one now; of equal ones any.
  template <typename MaySend>
  Place cheapest(std::size_t send, int latest, const MaySend& maySend) {
    Place best;
    int equals = 0;
    const std::size_t row = send - nodeOf(send);
    for (const int arc : m_topology.in[nodeOf(send)]) {
      const int from = m_topology.arcs[arc].from;
      const int first = m_at[row + from] + 1;
      if (first > latest || !maySend(from)) {
        continue;
      }
      m_work += latest - first + 1;
      priceArc(arc, first, latest);
      for (int at = first; at <= latest; ++at) {
        if (m_costs[at] > best.cost) {
          continue;
        }
        equals = m_costs[at] < best.cost ? 1 : equals + 1;
        if (equals == 1 || m_random() % static_cast<std::uint64_t>(equals) == 0) {
          best = {arc, at, m_costs[at]};
        }
      }
    }
    return best;
  }

  void put(std::size_t send, const Place& place) {
    m_arc[send] = place.arc;
    m_at[send] = static_cast<std::uint8_t>(place.at);
    ++children(send - nodeOf(send) + m_topology.arcs[place.arc].from, place.at);
    auto& places = m_placeOf[send];
    places.clear();
    for (const int orbit : m_quotient.orbitsOf[place.arc]) {
      const std::size_t here = cell(orbit, place.at);
      m_free[here] -= static_cast<double>(m_quotient.weight[orbit]);
      places.push_back(static_cast<int>(m_over[here].size()));
      m_over[here].push_back({send, static_cast<int>(places.size()) - 1});
      noteFull(here);
    }
  }

  Place take(std::size_t send) {
    const Place place{m_arc[send], m_at[send], 0};
    --children(send - nodeOf(send) + m_topology.arcs[place.arc].from, place.at);
    const auto& orbits = m_quotient.orbitsOf[place.arc];
    for (std::size_t i = 0; i < orbits.size(); ++i) {
      const std::size_t here = cell(orbits[i], place.at);
      m_free[here] += static_cast<double>(m_quotient.weight[orbits[i]]);
      auto& over = m_over[here];
      const int gap = m_placeOf[send][i];
      over[gap] = over.back();
      m_placeOf[over[gap].send][over[gap].limit] = gap;
      over.pop_back();
      noteFull(here);
    }
    return place;
  }

  void noteFull(std::size_t here) {
    const bool isFull = m_free[here] < 0;
    int& place = m_fullPlace[here];
    if (isFull && place < 0) {
      place = static_cast<int>(m_full.size());
      m_full.push_back(here);
    } else if (!isFull && place >= 0) {
      m_full[place] = m_full.back();
      m_fullPlace[m_full[place]] = place;
      m_full.pop_back();
      place = -1;
    }
  }

  void setRooms() {
    for (int orbit = 0; orbit < m_quotient.orbits(); ++orbit) {
      for (int at = 1; at <= m_steps; ++at) {
        const std::size_t here = cell(orbit, at);
        const std::int64_t load = loadOf(here);
        m_room[here] = m_topology.capacity(m_quotient.min[orbit], m_rounds[at - 1]);
        m_free[here] = static_cast<double>(m_room[here] - load);
        noteFull(here);
      }
    }
  }

  [[nodiscard]] std::vector<std::int64_t> roundsNow() const {
    std::vector<std::int64_t> rounds(m_steps, 1);
    for (int orbit = 0; orbit < m_quotient.orbits(); ++orbit) {
      for (int at = 1; at <= m_steps; ++at) {
        rounds[at - 1] = std::max(rounds[at - 1], roundsFor(m_quotient.rate(orbit), loadOf(cell(orbit, at))));
      }
    }
    return rounds;
  }

  /// Overload of a step with this number of rounds.
  [[nodiscard]] std::int64_t overloadOf(int at, std::int64_t rounds) const {
    std::int64_t sum = 0;
    for (int orbit = 0; orbit < m_quotient.orbits(); ++orbit) {
      const std::int64_t excess = loadOf(cell(orbit, at)) - m_topology.capacity(m_quotient.min[orbit], rounds);
      sum += excess > 0 ? excess * m_quotient.size[orbit] : 0;
    }
    return sum;
  }

  /// Takes rounds away where that overloads least.
  void shrinkTo(std::int64_t target) {
    std::int64_t sum = std::accumulate(m_rounds.begin(), m_rounds.end(), std::int64_t{0});
    while (sum > target) {
      int chosen = -1;
      std::int64_t min = std::numeric_limits<std::int64_t>::max();
      for (int at = 1; at <= m_steps; ++at) {
        const std::int64_t rounds = m_rounds[at - 1];
        if (rounds == 1) {
          continue;
        }
        const std::int64_t more = overloadOf(at, rounds - 1) - overloadOf(at, rounds);
        if (more < min || (more == min && m_random() % 2 == 0)) {
          min = more;
          chosen = at;
        }
      }
      if (chosen < 0) {
        return;
      }
      --m_rounds[chosen - 1];
      --sum;
    }
    setRooms();
  }

  /// Moves a round to the step that lacks it most.
  void shiftRound() {
    int worst = -1;
    int best = -1;
    std::int64_t max = -1;
    std::int64_t min = std::numeric_limits<std::int64_t>::max();
    for (int at = 1; at <= m_steps; ++at) {
      const std::int64_t rounds = m_rounds[at - 1];
      const std::int64_t now = overloadOf(at, rounds);
      const std::int64_t gain = now - overloadOf(at, rounds + 1);
      if (gain > max) {
        max = gain;
        worst = at;
      }
    }
    for (int at = 1; at <= m_steps; ++at) {
      const std::int64_t rounds = m_rounds[at - 1];
      if (at == worst || rounds == 1) {
        continue;
      }
      const std::int64_t loss = overloadOf(at, rounds - 1) - overloadOf(at, rounds);
      if (loss < min || (loss == min && m_random() % 2 == 0)) {
        min = loss;
        best = at;
      }
    }
    if (best < 0) {
      return;
    }
    ++m_rounds[worst - 1];
    --m_rounds[best - 1];
    setRooms();
  }

  [[nodiscard]] std::int64_t overload() const {
    std::int64_t sum = 0;
    for (const std::size_t here : m_full) {
      sum -= static_cast<std::int64_t>(m_free[here]) * m_quotient.size[here / m_steps];
    }
    return sum;
  }

  /// Moves sends until they fit into the rounds, or nothing better is found for long. What takes fewer rounds than
  /// all before is kept on the way.
  void descend() {
    for (std::size_t here = 0; here < m_price.size(); ++here) {
      m_price[here] = static_cast<double>(m_quotient.size[here / m_steps]);
    }
    const std::int64_t patience =
        kPatience * static_cast<std::int64_t>(m_chunks) * static_cast<std::int64_t>(m_topology.arcs.size()) * m_steps;
    std::int64_t min = overload();
    std::int64_t end = m_work + patience;
    std::int64_t nextShift = m_work + patience / kShifts;
    while (!m_full.empty() && m_work < end && !isStopped()) {
      move();
      const std::int64_t now = overload();
      if (now < min) {
        min = now;
        end = m_work + patience;
        nextShift = m_work + patience / kShifts;
        keepBetter();
      } else if (m_work > nextShift) {
        shiftRound();
        nextShift = m_work + patience / kShifts;
      }
    }
    keepBetter();
  }

  /// One send leaves a link that is too full.
  void move() {
    ++m_moves;
    const std::size_t full = m_full[m_random() % m_full.size()];
    const auto& over = m_over[full];
    std::size_t chosen = 0;
    Place where;
    double minGain = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kSendsTried; ++i) {
      const std::size_t send = over[m_random() % over.size()].send;
      if (m_leftAt[send] + kTabu > m_moves && i + 1 < kSendsTried) {
        continue;
      }
      const Place now = take(send);
      priceArc(now.arc, now.at, now.at);
      const double before = m_costs[now.at];
      const Place then = cheapest(send, latest(send), [](int) { return true; });
      put(send, now);
      if (then.arc == now.arc && then.at == now.at) {
        continue;
      }
      if (then.cost - before < minGain) {
        minGain = then.cost - before;
        chosen = send;
        where = then;
      }
    }
    if (where.arc >= 0 && minGain < 0) {
      shift(chosen, where);
      return;
    }
    for (const std::size_t here : m_full) {
      m_price[here] += static_cast<double>(m_quotient.size[here / m_steps]);
    }
    if (m_random() % 2 == 0) {
      postpone(over[m_random() % over.size()].send);
    } else if (where.arc >= 0 && (minGain <= 0 || m_random() % kSidewaysPart == 0)) {
      shift(chosen, where);
    }
  }

  void shift(std::size_t send, const Place& where) {
    take(send);
    put(send, where);
    m_leftAt[send] = m_moves;
  }

  /// Finds other senders for those that this rank sends the chunk to, so that it may have it later itself.
  void postpone(std::size_t send) {
    const int node = nodeOf(send);
    const std::size_t row = send - node;
    for (const int arc : m_topology.out[node]) {
      const std::size_t child = row + m_topology.arcs[arc].to;
      if (m_arc[child] != arc) {
        continue;
      }
      const Place now = take(child);
      const Place then = cheapest(child, latest(child), [&](int from) { return from != node; });
      put(child, then.arc >= 0 ? then : now);
    }
    const Place now = take(send);
    const Place then = cheapest(send, latest(send), [](int) { return true; });
    put(send, then.arc >= 0 ? then : now);
    m_leftAt[send] = m_moves;
  }

  void keep() {
    const auto rounds = roundsNow();
    m_bestRounds = std::accumulate(rounds.begin(), rounds.end(), std::int64_t{0});
    m_bestArc = m_arc;
    m_bestAt = m_at;
  }

  void keepBetter() {
    const auto rounds = roundsNow();
    if (std::accumulate(rounds.begin(), rounds.end(), std::int64_t{0}) < m_bestRounds) {
      keep();
    }
  }

  void restore() {
    for (std::size_t send = 0; send < m_arc.size(); ++send) {
      if (m_bestArc[send] >= 0 && (m_arc[send] != m_bestArc[send] || m_at[send] != m_bestAt[send])) {
        take(send);
        put(send, {m_bestArc[send], m_bestAt[send], 0});
      }
    }
    m_rounds = roundsNow();
    setRooms();
  }

  [[nodiscard]] std::vector<Send> sendsOf(const std::vector<int>& arcs, const std::vector<std::uint8_t>& at) const {
    std::vector<Send> sends;
    for (std::size_t send = 0; send < arcs.size(); ++send) {
      if (arcs[send] >= 0) {
        sends.push_back({static_cast<int>(chunkOf(send)), arcs[send], at[send] - 1});
      }
    }
    return sends;
  }

  bool isStopped() {
    if (!m_isStopped && (m_work > m_goal.work || (++m_calls % kStopInterval == 1 && m_stop()))) {
      m_isStopped = true;
    }
    return m_isStopped;
  }

  struct Over {
    std::size_t send = 0;
    int limit = 0;  ///< which of the arc's
  };

  const Topology& m_topology;
  const Quotient& m_quotient;
  int m_nodes;
  int m_steps;
  int m_chunks;
  const Goal& m_goal;
  const std::function<bool()>& m_stop;
  std::mt19937_64 m_random;
  std::vector<int> m_arc;                 ///< by send; -1 at sources
  std::vector<std::uint8_t> m_at;         ///< by send: the chunk is there after this number of steps; 0 at sources
  std::vector<std::uint16_t> m_children;  ///< by send and step: how many the rank sends the chunk to
  std::vector<std::int64_t> m_leftAt;     ///< by send: its last move
  // By orbit and step. Whole numbers, kept as floating-point ones because the inner loop is faster with them.
  std::vector<std::int64_t> m_room;
  std::vector<double> m_free;               ///< room less load
  std::vector<double> m_price;              ///< of overload
  std::vector<double> m_costs;              ///< scratch, by step
  std::vector<std::vector<Over>> m_over;    ///< by orbit and step: sends over it
  std::vector<std::vector<int>> m_placeOf;  ///< by send and limit of its arc: place in m_over
  std::vector<std::size_t> m_full;
  std::vector<int> m_fullPlace;
  std::vector<std::int64_t> m_rounds;
  std::vector<int> m_bestArc;
  std::vector<std::uint8_t> m_bestAt;
  std::int64_t m_bestRounds = 0;
  std::int64_t m_work = 0;
  std::int64_t m_moves = 0;
  int m_calls = 0;
  bool m_isStopped = false;
};

std::optional<Steps> TreeSearch::run(const Goal& goal, const std::function<bool()>& stop) const {
  auto found = Run(*this, goal, stop).best();
  if (!found) {
    return std::nullopt;
  }
  return m_quotient.expanded(m_n, m_steps, *found);
}

}  // namespace coppice::synth
