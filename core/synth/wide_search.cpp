// SPDX-License-Identifier: Apache-2.0
#include "synth/wide_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "synth/tree_search.hpp"

namespace coppice::synth {
namespace {

/// Without a quotient, a pass that takes more than this is not worth its time beside one that does not.
constexpr std::int64_t kLongPass = 400'000'000;
constexpr int kMaxTries = 400;
/// The schedules of a box serve all later questions.
constexpr double kMinSecondsOfBox = 2;
/// The beam grows after each such number of tries.
constexpr int kTriesOfWidth = 6;
constexpr int kMaxWidth = 6;

std::int64_t sumOf(const std::vector<std::int64_t>& rounds) {
  return std::accumulate(rounds.begin(), rounds.end(), std::int64_t{0});
}

bool isFree(const Problem& problem, const std::vector<Symmetry>& group) {
  for (const Symmetry& each : group) {
    if (each.node.front() == 0) {
      continue;  // the identity
    }
    for (std::size_t c = 0; c < problem.classes.size(); ++c) {
      if (each.chunkClass[c] == static_cast<int>(c)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

WideSearch::WideSearch(const Problem& problem, std::uint64_t seed, const Progress& progress)
    : m_problem(problem),
      m_seed(seed),
      m_progress(progress),
      m_boxes(equalBoxes(problem.topology)),
      m_boxOf(m_boxes ? m_boxes->boxOf : std::vector<int>(problem.topology.nodes, 0)) {}

TwoLevel* WideSearch::twoLevel(double seconds) {
  if (!m_isTwoLevelKnown && m_boxes) {
    m_twoLevel = TwoLevel::make(m_problem, *m_boxes, std::max(seconds, kMinSecondsOfBox), m_seed, m_progress);
  }
  m_isTwoLevelKnown = true;
  return m_twoLevel ? &*m_twoLevel : nullptr;
}

std::optional<WideSearch::Found> WideSearch::byTwoLevels(int steps, std::int64_t n, double seconds) {
  const TwoLevel* levels = twoLevel(seconds);
  auto found = levels != nullptr ? levels->schedule(steps, n, m_progress) : std::nullopt;
  if (!found) {
    return std::nullopt;
  }
  const std::int64_t rounds = sumOf(found->rounds);
  return Found{*std::move(found), rounds,
               "found by two levels: the schedules of a box and exchanges between the ranks of one place in " +
                   std::to_string(m_boxes->count()) + " boxes"};
}

std::optional<std::int64_t> WideSearch::roundsOfTwoLevels(int steps, std::int64_t n, double seconds) {
  const TwoLevel* levels = twoLevel(seconds);
  return levels != nullptr ? levels->rounds(steps, n, m_progress) : std::nullopt;
}

std::int64_t WideSearch::chunksOfPart(double seconds) {
  if (!m_isScatterGatherKnown && m_boxes) {
    m_scatterGather = ScatterGather::make(m_problem, *m_boxes, std::max(seconds, kMinSecondsOfBox), m_seed, m_progress);
  }
  m_isScatterGatherKnown = true;
  return m_scatterGather ? m_scatterGather->ranks() : 0;
}

std::optional<std::int64_t> WideSearch::roundsOfScatterGather(int steps, std::int64_t parts) {
  return m_scatterGather ? m_scatterGather->rounds(steps, parts) : std::nullopt;
}

std::optional<WideSearch::Found> WideSearch::byScatterGather(int steps, std::int64_t parts) {
  auto found = m_scatterGather ? m_scatterGather->schedule(steps, parts) : std::nullopt;
  if (!found) {
    return std::nullopt;
  }
  const std::int64_t rounds = sumOf(found->rounds);
  return Found{*std::move(found), rounds,
               "found by two levels: a scatter by maximum flow, then an allgather of " +
                   std::to_string(m_boxes->count()) + " boxes"};
}

std::optional<WideSearch::Found> WideSearch::byTrees(const PullGoal& goal, const std::function<bool()>& stop) {
  if (!TreeSearch::applies(m_problem, goal.steps)) {
    return std::nullopt;
  }
  // Where few links join boxes, most rounds belong to the first steps.
  std::vector<std::vector<double>> plans;
  if (!goal.plan.empty()) {
    plans.push_back(goal.plan);
  }
  for (const double ratio : {1.0, 8.0, 3.0}) {
    auto& plan = plans.emplace_back();
    for (int step = 0; step < goal.steps; ++step) {
      plan.push_back(std::pow(ratio, -step));
    }
  }
  struct Start {
    const std::vector<Symmetry>* group = nullptr;
    const std::vector<double>* plan = nullptr;
    std::int64_t rounds = std::numeric_limits<std::int64_t>::max();
  };
  std::vector<Start> starts;
  for (const auto& plan : plans) {
    for (const auto& group : groups()) {
      starts.push_back({&group, &plan});
    }
  }
  std::optional<Found> best;
  const auto run = [&](Start& start, std::uint64_t turn, std::int64_t work) {
    throwIfCancelled(m_progress);
    const TreeSearch search(m_problem, goal.n, *start.group, goal.steps);
    auto found = search.run({goal.min, m_seed * kMaxTries + turn, work, *start.plan}, stop);
    if (!found) {
      return;
    }
    start.rounds = sumOf(found->rounds);
    if (!best || start.rounds < best->rounds) {
      const std::size_t order = start.group->size();
      best = Found{*std::move(found), start.rounds,
                   "found by local search over trees" +
                       (order > 1 ? " in the quotient by " + std::to_string(order) + " symmetries" : std::string())};
    }
  };
  const auto isDone = [&] { return (best && best->rounds <= goal.min) || stop(); };
  // Every start gets its part, then the best ones get the rest.
  constexpr std::uint64_t kAgain = 3;
  const auto parts = static_cast<std::int64_t>(starts.size() + 2 * kAgain);
  std::uint64_t turn = 0;
  for (Start& start : starts) {
    if (!isDone()) {
      run(start, turn++, goal.work / parts);
    }
  }
  std::ranges::stable_sort(starts, {}, &Start::rounds);
  for (std::uint64_t again = 0; again < kAgain && !isDone(); ++again) {
    run(starts[again % starts.size()], turn++, 2 * (goal.work / parts));
  }
  throwIfCancelled(m_progress);
  if (best && goal.max && best->rounds > *goal.max) {
    return std::nullopt;
  }
  return best;
}

const std::vector<std::vector<Symmetry>>& WideSearch::groups() {
  if (m_groups) {
    return *m_groups;
  }
  m_groups.emplace();
  auto full = freeGroupByBoxes(m_problem, m_boxes, m_progress);
  const std::size_t size = full.size();
  if (size > 1 && isFree(m_problem, full)) {
    m_groups->push_back(std::move(full));
  }
  if (m_boxes && size != static_cast<std::size_t>(m_boxes->count())) {
    std::vector<Symmetry> moves;
    for (const auto& ranks : m_boxes->moves) {
      if (auto each = symmetryOf(m_problem, ranks)) {
        moves.push_back(*std::move(each));
      }
    }
    auto shifts = moves.size() == m_boxes->moves.size() ? freeProducts(moves) : std::vector<Symmetry>{};
    if (shifts.size() > 1 && isFree(m_problem, shifts)) {
      m_groups->push_back(std::move(shifts));
    }
  }
  m_groups->emplace_back();
  return *m_groups;
}

std::optional<WideSearch::Found> WideSearch::byPull(const PullGoal& goal, const std::function<bool()>& stop) {
  std::vector<WidePull> pulls;
  std::vector<const std::vector<Symmetry>*> groupOf;
  for (const auto& group : groups()) {
    throwIfCancelled(m_progress);
    WidePull pull(m_problem, goal.n, group, m_boxOf);
    if (!pulls.empty() && pull.workOf(goal.steps) > kLongPass) {
      break;
    }
    pulls.push_back(std::move(pull));
    groupOf.push_back(&group);
  }
  const std::vector<double> even(goal.steps, 1);
  const auto& wished = goal.plan.empty() ? even : goal.plan;
  struct Best {
    Steps steps;
    std::int64_t rounds = 0;
    std::size_t group = 0;
    int width = 0;
  };
  std::optional<Best> best;
  std::mt19937_64 random(m_seed);
  std::int64_t work = 0;
  const std::int64_t unlimited = std::int64_t{1} << 40;
  for (int turn = 0; turn < kMaxTries && !stop(); ++turn) {
    // Each group in turn until there is something; then mostly where the best comes from.
    const std::size_t at = best && turn % 3 != 0 ? best->group : static_cast<std::size_t>(turn) % pulls.size();
    const WidePull& pull = pulls[at];
    const int width = std::min(1 + turn / kTriesOfWidth, kMaxWidth);
    work += pull.workOf(goal.steps) * width * (width > 1 ? 2 : 1);
    if (turn > 0 && work > goal.work) {
      break;
    }
    std::vector<std::int64_t> rounds;
    if (turn >= static_cast<int>(pulls.size())) {
      rounds = best ? best->steps.rounds : wholeRounds(wished, std::max<std::int64_t>(goal.min, goal.steps));
      // Fewer in one step, sometimes more in another.
      const auto from = random() % rounds.size();
      const auto to = random() % rounds.size();
      rounds[from] = std::max<std::int64_t>(1, rounds[from] - 1 - static_cast<std::int64_t>(random() % 2));
      rounds[to] += static_cast<std::int64_t>(random() % 2);
    } else {
      rounds = wholeRounds(wished, std::max<std::int64_t>(goal.min, goal.steps));
    }
    const std::int64_t max = best ? best->rounds : goal.max ? *goal.max : unlimited;
    auto found = pull.run(rounds, max, {m_seed * kMaxTries + turn, width, width > 1 ? 2 : 1}, stop);
    if (!found) {
      continue;
    }
    const std::int64_t sum = sumOf(found->rounds);
    if (!best || sum <= best->rounds) {
      best = Best{*std::move(found), sum, at, width};
    }
    if (best->rounds <= goal.min) {
      break;
    }
  }
  throwIfCancelled(m_progress);
  if (!best) {
    return std::nullopt;
  }
  const std::size_t order = groupOf[best->group]->size();
  return Found{
      std::move(best->steps), best->rounds,
      "found by pull" + (order > 1 ? " in the quotient by " + std::to_string(order) + " symmetries" : std::string()) +
          (best->width > 1 ? ", with a beam of " + std::to_string(best->width) : std::string()) + ", without a solver"};
}

}  // namespace coppice::synth
