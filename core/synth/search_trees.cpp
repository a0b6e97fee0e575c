// SPDX-License-Identifier: Apache-2.0
// What finds schedules without a solver and without proofs: local search over trees, pull in the quotient, and composed
// schedules.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "synth/quotient_pull.hpp"
#include "synth/search.hpp"
#include "synth/tree_search.hpp"

namespace coppice::synth {
namespace {

/// Composers are asked from this many ranks on, and may take this share of the time left to prepare.
constexpr int kMinComposedRanks = 16;
constexpr int kShareOfComposer = 6;
/// Chunks of a schedule on many ranks: sends, some 50 bytes each until they are written.
constexpr std::int64_t kMaxComposedSends = 600'000;
/// Runs of one search over trees have seeds of their own.
constexpr std::uint64_t kMaxRuns = 400;

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

const std::vector<std::vector<Symmetry>>& Search::treeGroups() {
  if (m_treeGroups) {
    return *m_treeGroups;
  }
  m_treeGroups.emplace();
  auto full = freeGroupByBoxes(m_problem, m_boxes, m_progress);
  const std::size_t size = full.size();
  if (size > 1 && isFree(m_problem, full)) {
    m_treeGroups->push_back(std::move(full));
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
      m_treeGroups->push_back(std::move(shifts));
    }
  }
  m_treeGroups->emplace_back();
  return *m_treeGroups;
}

std::optional<Search::Tried> Search::trees(const TryGoal& goal, const std::function<bool()>& stop) {
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
    for (const auto& group : treeGroups()) {
      starts.push_back({&group, &plan});
    }
  }
  std::optional<Tried> best;
  const auto run = [&](Start& start, std::uint64_t turn, std::int64_t work) {
    throwIfCancelled(m_progress);
    const TreeSearch search(m_problem, goal.n, *start.group, goal.steps);
    auto found = search.run({goal.min, m_seed * kMaxRuns + turn, work, *start.plan}, stop);
    if (!found) {
      return;
    }
    start.rounds = sumOf(found->rounds);
    if (!best || start.rounds < best->rounds) {
      const std::size_t order = start.group->size();
      best = Tried{*std::move(found), start.rounds,
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

std::optional<Search::Tried> Search::pulls(const TryGoal& goal, const std::function<bool()>& stop) {
  /// Without a quotient, a pass that takes more than this is not worth its time beside one that does not.
  constexpr std::int64_t kLongPass = 400'000'000;
  std::vector<QuotientPull> passes;
  std::vector<std::size_t> orders;
  for (const auto& group : treeGroups()) {
    throwIfCancelled(m_progress);
    QuotientPull pass(m_problem, goal.n, group);
    if (!passes.empty() && pass.workOf(goal.steps) > kLongPass) {
      break;
    }
    passes.push_back(std::move(pass));
    orders.push_back(group.size());
  }
  const std::vector<double> even(goal.steps, 1);
  const auto wished = wholeRounds(goal.plan.empty() ? even : goal.plan, std::max<std::int64_t>(goal.min, goal.steps));
  std::optional<Steps> best;
  std::int64_t min = goal.max.value_or(std::int64_t{1} << 40);
  std::size_t bestPass = 0;
  std::mt19937_64 random(m_seed);
  std::int64_t work = 0;
  for (std::uint64_t turn = 0; turn < kMaxRuns && !stop(); ++turn) {
    // Each group in turn until there is something; then mostly where the best comes from.
    const std::size_t at = best && turn % 3 != 0 ? bestPass : turn % passes.size();
    work += passes[at].workOf(goal.steps);
    if (turn > 0 && work > goal.work) {
      break;
    }
    std::vector<std::int64_t> rounds = best && turn >= passes.size() ? best->rounds : wished;
    if (turn >= passes.size()) {
      // Fewer in one step, sometimes more in another.
      const auto from = random() % rounds.size();
      const auto to = random() % rounds.size();
      rounds[from] = std::max<std::int64_t>(1, rounds[from] - 1 - static_cast<std::int64_t>(random() % 2));
      rounds[to] += static_cast<std::int64_t>(random() % 2);
    }
    auto found = passes[at].run(rounds, min, m_seed * kMaxRuns + turn, stop);
    if (!found) {
      continue;
    }
    min = sumOf(found->rounds);
    best = std::move(found);
    bestPass = at;
    if (min <= goal.min) {
      break;
    }
  }
  throwIfCancelled(m_progress);
  if (!best) {
    return std::nullopt;
  }
  const std::size_t order = orders[bestPass];
  return Tried{*std::move(best), min,
               "found by pull" +
                   (order > 1 ? " in the quotient by " + std::to_string(order) + " symmetries" : std::string()) +
                   ", without a solver"};
}

Search::TryGoal Search::goalOf(const Size& size, std::int64_t work, Clock::time_point deadline) {
  return {size.steps, size.n, size.rounds, {}, ratioBound(size.steps, deadline).plan, work};
}

std::optional<Decision> Search::accept(const Size& size, std::optional<Tried> found) {
  return found && found->rounds <= size.rounds
             ? std::optional(accept(size, std::move(found->steps), std::move(found->how)))
             : std::nullopt;
}

std::optional<Decision> Search::byTrees(const Size& size, std::int64_t work, const Effort& effort) {
  constexpr int kShare = 2;
  const TryGoal goal = goalOf(size, work, effort.deadline);
  return accept(size, trees(goal, stopAt(Clock::now() + (effort.deadline - Clock::now()) / kShare)));
}

std::optional<Decision> Search::byQuotientPull(const Size& size, std::int64_t work, const Effort& effort) {
  return accept(size, pulls(goalOf(size, work, effort.deadline), stopAt(effort.deadline)));
}

std::optional<Search::Fewest> Search::fewestByTries(int steps, std::int64_t n, std::optional<std::int64_t> below,
                                                    Clock::time_point deadline) {
  const bool hasTrees = TreeSearch::applies(m_problem, steps);
  if (!hasTrees && !isWide()) {
    return std::nullopt;  // the solver is better
  }
  const RatioBound bound = ratioBound(steps, deadline);
  const std::int64_t min = std::max<std::int64_t>(steps, -(-(bound.ratio * Rational(n))).floor());
  TryGoal goal{steps, n, min, {}, bound.plan, !hasTrees ? kPullWork : isWide() ? kTreeWork : kQuickTreeWork};
  if (below) {
    goal.max = *below - 1;
  }
  auto found = hasTrees ? trees(goal, stopAt(deadline)) : pulls(goal, stopAt(deadline));
  if (!found) {
    return std::nullopt;
  }
  const Size size{steps, found->rounds, n};
  return Fewest{size, accept(size, std::move(found->steps), std::move(found->how))};
}

Composer* Search::composer(Clock::time_point deadline) {
  if (m_makeComposer && m_boxes && m_problem.topology.nodes >= kMinComposedRanks) {
    // The schedules of a box serve all later questions.
    constexpr double kMinSeconds = 2;
    const double seconds = std::chrono::duration<double>(deadline - Clock::now()).count() / kShareOfComposer;
    m_progress.noteTime();  // what the boxes find depends on it
    m_composer = m_makeComposer(m_problem, *m_boxes, std::max(seconds, kMinSeconds));
  }
  m_makeComposer = {};
  return m_composer.get();
}

std::optional<Decision> Search::byComposer(const Size& size, const Effort& effort) {
  Composer* parts = composer(effort.deadline);
  if (parts == nullptr || size.n % parts->unit() != 0 || size.n > parts->maxChunks()) {
    return std::nullopt;
  }
  const auto rounds = parts->rounds(size.steps, size.n);
  auto found = rounds && *rounds <= size.rounds ? parts->schedule(size.steps, size.n) : std::nullopt;
  return found ? std::optional(accept(size, *std::move(found), parts->how())) : std::nullopt;
}

std::optional<Search::Fewest> Search::fewestComposed(int steps, std::int64_t minN, std::int64_t maxN,
                                                     std::int64_t maxRounds, Clock::time_point deadline) {
  Composer* parts = composer(deadline);
  if (parts == nullptr) {
    return std::nullopt;
  }
  const Rational bound = ratioBound(steps, deadline).ratio;
  const std::int64_t unit = parts->unit();
  const auto sends = static_cast<std::int64_t>(m_problem.classes.size()) * m_problem.topology.nodes;
  const std::int64_t last = std::min({maxN, parts->maxChunks(), kMaxComposedSends / sends});
  std::optional<Size> best;
  for (std::int64_t n = (minN + unit - 1) / unit * unit; n <= last; n += unit) {
    const auto rounds = parts->rounds(steps, n);
    if (rounds && *rounds <= maxRounds && (!best || Rational(*rounds, n) < Rational(best->rounds, best->n))) {
      best = Size{steps, *rounds, n};
    }
    if (!rounds || !best || Rational(best->rounds, best->n) <= bound || m_progress.isOver(deadline)) {
      break;
    }
  }
  auto found = best ? parts->schedule(steps, best->n) : std::nullopt;
  if (!found) {
    return std::nullopt;
  }
  return Fewest{*best, accept(*best, *std::move(found), parts->how())};
}

}  // namespace coppice::synth
