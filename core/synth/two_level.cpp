// SPDX-License-Identifier: Apache-2.0
#include "synth/two_level.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/disjoint_sets.hpp"
#include "schedule/collective_table.hpp"
#include "synth/front.hpp"
#include "synth/quotient.hpp"

namespace coppice::synth {
namespace {

/// Patterns of more chunks per rank than this are not kept: the batches tile them.
constexpr std::int64_t kMaxOfPattern = 8;
constexpr int kMoreStepsInBox = 3;

/// @pre the class of each rank has it as its only source
std::optional<std::vector<int>> classesOfAllgather(const Problem& problem) {
  const int nodes = problem.topology.nodes;
  if (static_cast<int>(problem.classes.size()) != nodes) {
    return std::nullopt;
  }
  std::vector<int> classOf(nodes, -1);
  for (int c = 0; c < nodes; ++c) {
    const ChunkClass& chunks = problem.classes[c];
    const bool isAll = std::find(chunks.post.begin(), chunks.post.end(), false) == chunks.post.end();
    if (!isAll || std::count(chunks.pre.begin(), chunks.pre.end(), true) != 1) {
      return std::nullopt;
    }
    const auto rank = std::find(chunks.pre.begin(), chunks.pre.end(), true) - chunks.pre.begin();
    if (classOf[rank] >= 0) {
      return std::nullopt;
    }
    classOf[rank] = c;
  }
  return classOf;
}

}  // namespace

std::unique_ptr<TwoLevel> TwoLevel::make(const Problem& problem, const Boxes& boxes, double seconds, std::uint64_t seed,
                                         const Progress& progress) {
  auto classes = classesOfAllgather(problem);
  if (!classes) {
    return nullptr;
  }
  std::unique_ptr<TwoLevel> result(new TwoLevel(problem, boxes, progress));
  result->m_classOf = *std::move(classes);
  if (!result->findShifts() || !result->findArcs() || !result->findPatterns(seconds, seed)) {
    return nullptr;
  }
  return result;
}

bool TwoLevel::findShifts() {
  std::vector<Symmetry> moves;
  for (const auto& ranks : m_boxes.moves) {
    auto each = symmetryOf(*m_problem, ranks);
    if (!each) {
      return false;
    }
    moves.push_back(*std::move(each));
  }
  m_shifts = freeProducts(moves);
  if (static_cast<int>(m_shifts.size()) != m_boxes.count()) {
    return false;
  }
  const auto limits = static_cast<int>(m_problem->topology.limits.size());
  DisjointSets orbits(limits);
  for (const Symmetry& each : moves) {
    for (int limit = 0; limit < limits; ++limit) {
      orbits.join(limit, each.limit[limit]);
    }
  }
  m_orbitOf.assign(limits, -1);
  std::vector<std::int64_t> sizes;
  for (int limit = 0; limit < limits; ++limit) {
    const int min = orbits.find(limit);
    if (min == limit) {
      m_orbitOf[limit] = static_cast<int>(m_min.size());
      m_min.push_back(limit);
      sizes.push_back(0);
    }
    m_orbitOf[limit] = m_orbitOf[min];
    ++sizes[m_orbitOf[limit]];
  }
  for (const std::int64_t size : sizes) {
    m_weight.push_back(m_boxes.count() / size);
  }
  return true;
}

bool TwoLevel::isInner(int arc) const {
  const Topology& topology = m_problem->topology;
  const auto isWithin = [&](int each) {
    return m_boxes.boxOf[topology.arcs[each].from] == 0 && m_boxes.boxOf[topology.arcs[each].to] == 0;
  };
  const auto& limits = topology.limitsOf[arc];
  return isWithin(arc) && std::all_of(limits.begin(), limits.end(), [&](int limit) {
           const auto& arcs = topology.limits[limit].arcs;
           return std::all_of(arcs.begin(), arcs.end(), isWithin);
         });
}

/// Ranks of one place must reach each other directly.
bool TwoLevel::findArcs() {
  const Topology& topology = m_problem->topology;
  m_across.assign(m_boxes.count(), std::vector<std::vector<int>>(m_boxes.size()));
  for (int place = 0; place < m_boxes.size(); ++place) {
    for (const int arc : topology.in[m_boxes.members[0][place]]) {
      const int from = topology.arcs[arc].from;
      if (m_boxes.boxOf[from] > 0 && m_boxes.placeOf[from] == place) {
        m_across[m_boxes.boxOf[from]][place].push_back(arc);
      }
    }
    for (int box = 1; box < m_boxes.count(); ++box) {
      if (m_across[box][place].empty()) {
        return false;
      }
    }
  }
  return true;
}

bool TwoLevel::findPatterns(double seconds, std::uint64_t seed) {
  const Topology& topology = m_problem->topology;
  std::vector<int> kept;
  for (int arc = 0; arc < static_cast<int>(topology.arcs.size()); ++arc) {
    if (isInner(arc)) {
      kept.push_back(arc);
    }
  }
  const auto goal = schedule::CollectiveTable::make(Collective::allgather, m_boxes.size());
  if (kept.empty() || !goal) {
    return false;
  }
  auto box = problemOf(withArcs(topology, kept, m_boxes.placeOf, m_boxes.size()), *goal);
  if (!box) {
    return false;  // the links of a box alone do not join it
  }
  Search search(*std::move(box), seed, m_progress);
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  FrontOptions options;
  options.deadline = deadline;
  options.candidateSeconds = seconds / 6;
  options.maxN = kMaxOfPattern;
  options.maxSteps = search.minSteps() + kMoreStepsInBox;
  const auto keepSends = [&](const Steps& steps) {
    std::vector<Send> sends = steps.sends;
    for (Send& send : sends) {
      send.arc = kept[send.arc];
    }
    return sends;
  };
  const FrontHandlers nobody{[](const Size&, const Decision&, double) {}, [](int, const Rational&) {}};
  for (const FrontPoint& point : paretoFront(search, options, nobody).points) {
    Pattern pattern{point.size.steps, {}};
    for (std::int64_t n = 1; n < point.size.n; ++n) {
      std::optional<Steps> found;
      const std::int64_t first = std::max<std::int64_t>(point.size.steps, -(-(point.bound * Rational(n))).floor());
      for (std::int64_t rounds = first; !found && rounds < point.size.rounds && Clock::now() < deadline; ++rounds) {
        found = search.decideQuickly({point.size.steps, rounds, n}, deadline).found;
      }
      if (!found) {
        // Some chunks of the larger schedule.
        found = Steps{};
        for (const Send& send : point.steps.sends) {
          if (send.chunk % point.size.n < n) {
            found->sends.push_back(
                {static_cast<int>(send.chunk / point.size.n * n + send.chunk % point.size.n), send.arc, send.step});
          }
        }
      }
      pattern.sends.push_back(keepSends(*found));
    }
    pattern.sends.push_back(keepSends(point.steps));
    m_patterns.push_back(std::move(pattern));
  }
  throwIfCancelled(m_progress);
  return !m_patterns.empty();
}

void TwoLevel::add(const std::vector<int>& arcs, std::int64_t times, Loads& loads) const {
  for (const int arc : arcs) {
    for (const int limit : m_problem->topology.limitsOf[arc]) {
      loads[m_orbitOf[limit]] += times * m_weight[m_orbitOf[limit]];
    }
  }
}

TwoLevel::Foreign TwoLevel::foreignOf(std::int64_t n) const {
  const Topology& topology = m_problem->topology;
  Foreign foreign;
  Loads loads(m_min.size(), 0);
  foreign.before.push_back(loads);
  for (std::int64_t i = 0; i < n; ++i) {
    for (int box = 1; box < m_boxes.count(); ++box) {
      foreign.box.push_back(box);
      foreign.index.push_back(i);
      std::vector<int> chosen;
      for (int place = 0; place < m_boxes.size(); ++place) {
        // Of parallel routes the one that is used least so far.
        const auto worst = [&](int arc) {
          double max = 0;
          for (const int limit : topology.limitsOf[arc]) {
            max = std::max(max,
                           static_cast<double>(loads[m_orbitOf[limit]]) / topology.limits[limit].perRound.toDouble());
          }
          return max;
        };
        const auto& arcs = m_across[box][place];
        chosen.push_back(
            *std::min_element(arcs.begin(), arcs.end(), [&](int a, int b) { return worst(a) < worst(b); }));
        add({chosen.back()}, 1, loads);
      }
      foreign.arc.push_back(std::move(chosen));
      foreign.before.push_back(loads);
    }
  }
  return foreign;
}

/// Chooses the parts of one pattern and number of steps.
class TwoLevel::Planner {
public:
  Planner(const TwoLevel& owner, const Pattern& pattern, int steps, std::int64_t n, const Foreign& foreign)
      : m_owner(owner), m_pattern(pattern), m_steps(steps), m_n(n), m_foreign(foreign) {
    const auto largest = static_cast<std::int64_t>(pattern.sends.size());
    for (std::int64_t count = 1; count <= largest; ++count) {
      auto& loads = m_inner.emplace_back(pattern.steps, Loads(owner.m_min.size(), 0));
      for (const Send& send : pattern.sends[count - 1]) {
        owner.add({send.arc}, 1, loads[send.step]);
      }
    }
    m_parts.assign(steps, 0);
  }

  Batches best() {
    const auto total = static_cast<std::int64_t>(m_foreign.box.size());
    const int batches = m_steps - m_pattern.steps;
    Batches best;
    Cost min;
    // Batches of equal size, and shrinking ones, whose spreading keeps pace.
    for (const int shrink : {1, 2, 4}) {
      m_parts.assign(m_steps, 0);
      std::int64_t left = total;
      for (int batch = 0; batch < batches; ++batch) {
        const int after = batches - batch;
        std::int64_t weights = 0;
        for (int i = 0, weight = 1; i < after; ++i, weight = std::min(weight * shrink, 1 << 16)) {
          weights += weight;
        }
        std::int64_t first = 1;
        for (int i = 1; i < after; ++i) {
          first = std::min<std::int64_t>(first * shrink, 1 << 16);
        }
        const std::int64_t part = after == 1 ? left : left * first / weights;
        m_parts[batch] = part;
        left -= part;
      }
      const Cost cost = improve();
      if (best.pattern == nullptr || cost < min) {
        min = cost;
        best = {&m_pattern, m_parts, roundsNow()};
      }
    }
    return best;
  }

private:
  /// Rounds first; then how full they are.
  using Cost = std::pair<std::int64_t, double>;

  [[nodiscard]] bool isLate(int step) const { return step >= m_steps - m_pattern.steps; }

  void addSpread(std::int64_t count, int first, std::vector<Loads>& loads) const {
    const auto largest = static_cast<std::int64_t>(m_inner.size());
    const std::int64_t whole = count / largest;
    const std::int64_t rest = count % largest;
    for (int step = 0; step < m_pattern.steps; ++step) {
      for (std::size_t orbit = 0; orbit < loads[first + step].size(); ++orbit) {
        loads[first + step][orbit] +=
            whole * m_inner[largest - 1][step][orbit] + (rest > 0 ? m_inner[rest - 1][step][orbit] : 0);
      }
    }
  }

  [[nodiscard]] std::vector<Loads> loadsNow() const {
    std::vector<Loads> loads(m_steps, Loads(m_owner.m_min.size(), 0));
    addSpread(m_n, 0, loads);
    std::int64_t at = 0;
    for (int step = 0; step < m_steps; ++step) {
      const std::int64_t times = isLate(step) ? m_owner.m_boxes.size() : 1;
      for (std::size_t orbit = 0; m_parts[step] > 0 && orbit < loads[step].size(); ++orbit) {
        loads[step][orbit] += times * (m_foreign.before[at + m_parts[step]][orbit] - m_foreign.before[at][orbit]);
      }
      at += m_parts[step];
      if (!isLate(step) && m_parts[step] > 0) {
        addSpread(m_parts[step], step + 1, loads);
      }
    }
    return loads;
  }

  [[nodiscard]] std::vector<std::int64_t> roundsNow() const {
    std::vector<std::int64_t> rounds;
    for (const Loads& loads : loadsNow()) {
      std::int64_t max = 1;
      for (std::size_t orbit = 0; orbit < loads.size(); ++orbit) {
        max = std::max(max, roundsFor(m_owner.rate(orbit), loads[orbit]));
      }
      rounds.push_back(max);
    }
    return rounds;
  }

  [[nodiscard]] Cost cost() const {
    Cost sum{0, 0};
    for (const Loads& loads : loadsNow()) {
      double max = 0;
      std::size_t worst = 0;
      for (std::size_t orbit = 0; orbit < loads.size(); ++orbit) {
        const double here = static_cast<double>(loads[orbit]) /
                            m_owner.m_problem->topology.limits[m_owner.m_min[orbit]].perRound.toDouble();
        if (here > max) {
          max = here;
          worst = orbit;
        }
      }
      sum.first += std::max<std::int64_t>(1, roundsFor(m_owner.rate(worst), loads[worst]));
      sum.second += std::max(1.0, max);
    }
    return sum;
  }

  /// What a step may take at all: late chunks need their box spread before.
  [[nodiscard]] bool mayTake(int step) const { return !isLate(step) || step >= m_pattern.steps; }

  Cost improve() {
    /// Loads that are looked at: some tenths of a second. Hundreds of steps need no fine choice.
    constexpr std::int64_t kMaxWork = 30'000'000;
    std::int64_t work = 0;
    Cost now = cost();
    for (std::int64_t size = std::max<std::int64_t>(1, static_cast<std::int64_t>(m_foreign.box.size()) / 2);;) {
      bool isBetter = false;
      for (int from = 0; from < m_steps; ++from) {
        for (int to = 0; to < m_steps; ++to) {
          const std::int64_t moved = std::min(size, m_parts[from]);
          if (from == to || moved == 0 || !mayTake(to)) {
            continue;
          }
          throwIfCancelled(m_owner.m_progress);
          work += static_cast<std::int64_t>(m_steps * m_owner.m_min.size());
          if (work > kMaxWork) {
            return now;
          }
          m_parts[from] -= moved;
          m_parts[to] += moved;
          if (const Cost then = cost(); then < now) {
            now = then;
            isBetter = true;
          } else {
            m_parts[from] += moved;
            m_parts[to] -= moved;
          }
        }
      }
      if (!isBetter && size == 1) {
        return now;
      }
      size = isBetter ? size : size / 2;
    }
  }

  const TwoLevel& m_owner;
  const Pattern& m_pattern;
  int m_steps;
  std::int64_t m_n;
  const Foreign& m_foreign;
  std::vector<std::vector<Loads>> m_inner;  ///< by chunks per rank less one, by step
  std::vector<std::int64_t> m_parts;
};

std::optional<TwoLevel::Batches> TwoLevel::batches(int steps, std::int64_t n, const Foreign& foreign) const {
  std::optional<Batches> best;
  const auto sum = [](const Batches& each) {
    return std::accumulate(each.rounds.begin(), each.rounds.end(), std::int64_t{0});
  };
  for (const Pattern& pattern : m_patterns) {
    if (pattern.steps >= steps) {
      continue;
    }
    Batches chosen = Planner(*this, pattern, steps, n, foreign).best();
    if (!best || sum(chosen) < sum(*best)) {
      best = std::move(chosen);
    }
  }
  return best;
}

std::string TwoLevel::how() const {
  return "found by two levels: the schedules of a box and exchanges between the ranks of one place in " +
         std::to_string(m_boxes.count()) + " boxes";
}

std::optional<std::int64_t> TwoLevel::rounds(int steps, std::int64_t n) {
  const auto chosen = batches(steps, n, foreignOf(n));
  if (!chosen) {
    return std::nullopt;
  }
  return std::accumulate(chosen->rounds.begin(), chosen->rounds.end(), std::int64_t{0});
}

std::optional<Steps> TwoLevel::schedule(int steps, std::int64_t n) {
  const Foreign foreign = foreignOf(n);
  const auto chosen = batches(steps, n, foreign);
  if (!chosen) {
    return std::nullopt;
  }
  const Pattern& pattern = *chosen->pattern;
  const auto largest = static_cast<std::int64_t>(pattern.sends.size());
  // Of the sends into box 0 and their images only the former are listed; `at` counts foreign chunks.
  std::vector<Send> sends;
  const auto foreignChunk = [&](std::int64_t at, int place) {
    const int rank = m_boxes.members[foreign.box[at]][place];
    return static_cast<int>(m_classOf[rank] * n + foreign.index[at]);
  };
  const auto spread = [&](std::int64_t count, int first, const auto& chunkOf) {
    for (std::int64_t begin = 0; begin < count; begin += largest) {
      const std::int64_t here = std::min(largest, count - begin);
      for (const Send& send : pattern.sends[here - 1]) {
        const auto place = static_cast<int>(send.chunk / here);
        sends.push_back({chunkOf(begin + send.chunk % here, place), send.arc, first + send.step});
      }
    }
  };
  spread(n, 0,
         [&](std::int64_t i, int place) { return static_cast<int>(m_classOf[m_boxes.members[0][place]] * n + i); });
  std::int64_t at = 0;
  for (int step = 0; step < steps; ++step) {
    const bool isLate = step >= steps - pattern.steps;
    for (std::int64_t k = at; k < at + chosen->parts[step]; ++k) {
      for (int place = 0; place < m_boxes.size(); ++place) {
        for (int source = 0; source < m_boxes.size(); ++source) {
          if (isLate || source == place) {
            sends.push_back({foreignChunk(k, source), foreign.arc[k][place], step});
          }
        }
      }
    }
    if (!isLate) {
      spread(chosen->parts[step], step + 1, [&, at](std::int64_t k, int place) { return foreignChunk(at + k, place); });
    }
    at += chosen->parts[step];
  }
  Steps result{chosen->rounds, {}};
  result.sends.reserve(sends.size() * m_shifts.size());
  for (const Symmetry& shift : m_shifts) {
    throwIfCancelled(m_progress);
    for (const Send& send : sends) {
      result.sends.push_back(
          {static_cast<int>(shift.chunkClass[send.chunk / n] * n + send.chunk % n), shift.arc[send.arc], send.step});
    }
  }
  prune(*m_problem, n, result);
  return result;
}

}  // namespace coppice::synth
