// SPDX-License-Identifier: Apache-2.0
// What finds schedules on many ranks: two levels of equal boxes, pull with a beam, and local search over trees.
#include <algorithm>
#include <utility>

#include "synth/search.hpp"
#include "synth/tree_search.hpp"

namespace coppice::synth {
namespace {

/// Two levels are tried from this many ranks on, and their box is searched for this share of the time left.
constexpr int kMinTwoLevelRanks = 16;
constexpr int kShareOfBox = 6;
/// Work of pull on many ranks: some tens of seconds, or one.
constexpr std::int64_t kWideWork = 20'000'000'000;
constexpr std::int64_t kQuickWideWork = 500'000'000;
/// Chunks for each rank of a broadcast by scatter and allgather.
constexpr std::int64_t kMaxParts = 4;
/// Chunks of a schedule on many ranks: sends, some 50 bytes each until they are written.
constexpr std::int64_t kMaxWideSends = 600'000;

}  // namespace

std::optional<Decision> Search::byTwoLevels(const Size& size, const Effort& effort) {
  if (m_isNarrow || !m_wide.boxes() || m_problem.topology.nodes < kMinTwoLevelRanks) {
    return std::nullopt;
  }
  const double seconds = std::chrono::duration<double>(effort.deadline - Clock::now()).count() / kShareOfBox;
  if (m_problem.classes.size() == 1) {
    const std::int64_t part = size.n < m_problem.topology.nodes ? 0 : m_wide.chunksOfPart(seconds);
    if (part == 0 || size.n % part != 0 || size.n / part > kMaxParts) {
      return std::nullopt;
    }
    auto found = m_wide.byScatterGather(size.steps, size.n / part);
    return found && found->rounds <= size.rounds
               ? std::optional(accept(size, std::move(found->steps), std::move(found->how)))
               : std::nullopt;
  }
  const auto rounds = m_wide.roundsOfTwoLevels(size.steps, size.n, seconds);
  if (!rounds || *rounds > size.rounds) {
    return std::nullopt;
  }
  auto found = m_wide.byTwoLevels(size.steps, size.n, seconds);
  return found ? std::optional(accept(size, std::move(found->steps), std::move(found->how))) : std::nullopt;
}

std::optional<Decision> Search::byWidePull(const Size& size, const Effort& effort) {
  WideSearch::PullGoal goal;
  goal.steps = size.steps;
  goal.n = size.n;
  goal.min = size.rounds;
  goal.plan = ratioBound(size.steps, effort.deadline).plan;
  goal.work = effort.isQuick ? kQuickWideWork : kWideWork;
  auto found = m_wide.byPull(goal, stopAt(effort.deadline));
  if (!found || found->rounds > size.rounds) {
    return std::nullopt;
  }
  return accept(size, std::move(found->steps), std::move(found->how));
}

Search* Search::narrow() {
  if (!m_isNarrowKnown && !m_isNarrow) {
    m_isNarrowKnown = true;
    auto problem = m_wide.boxes() ? narrowed(m_problem, *m_wide.boxes()) : std::nullopt;
    if (problem) {
      m_narrowArcs = std::move(problem->arcs);
      m_narrow = std::make_unique<Search>(std::move(problem->problem), m_seed, m_progress);
      m_narrow->m_isNarrow = true;
    }
  }
  return m_narrow.get();
}

Steps Search::widened(Steps steps) const {
  for (Send& send : steps.sends) {
    send.arc = m_narrowArcs[send.arc];
  }
  return steps;
}

std::optional<Decision> Search::byNarrow(const Size& size, const Effort& effort) {
  Search* few = narrow();
  if (few == nullptr) {
    return std::nullopt;
  }
  constexpr int kShare = 2;
  Effort part = effort;
  part.deadline = Clock::now() + (effort.deadline - Clock::now()) / kShare;
  part.mayUseFewerSteps = false;
  Decision decision = few->decide(size, part);
  if (decision.verdict != Verdict::sat) {
    return std::nullopt;
  }
  return accept(size, widened(*std::move(decision.found)), decision.reason + ", on the links between equal places");
}

std::optional<Search::Fewest> Search::fewestByTwoLevels(int steps, std::int64_t minN, std::int64_t maxN,
                                                        std::int64_t maxRounds, Clock::time_point deadline) {
  if (!m_wide.boxes() || m_problem.topology.nodes < kMinTwoLevelRanks) {
    return std::nullopt;
  }
  const double seconds = std::chrono::duration<double>(deadline - Clock::now()).count() / kShareOfBox;
  const auto sends = static_cast<std::int64_t>(m_problem.classes.size()) * m_problem.topology.nodes;
  if (m_problem.classes.size() == 1) {
    return fewestByScatterGather(steps, maxN, maxRounds, seconds);
  }
  const Rational bound = ratioBound(steps, deadline).ratio;
  std::optional<Size> best;
  for (std::int64_t n = minN; n <= maxN && n * sends <= kMaxWideSends; ++n) {
    const auto rounds = m_wide.roundsOfTwoLevels(steps, n, seconds);
    if (rounds && *rounds <= maxRounds && (!best || Rational(*rounds, n) < Rational(best->rounds, best->n))) {
      best = Size{steps, *rounds, n};
    }
    if (!rounds || !best || Rational(best->rounds, best->n) <= bound || Clock::now() >= deadline) {
      break;
    }
  }
  auto found = best ? m_wide.byTwoLevels(steps, best->n, seconds) : std::nullopt;
  if (!found) {
    return std::nullopt;
  }
  return Fewest{*best, accept(*best, std::move(found->steps), std::move(found->how))};
}

std::optional<Search::Fewest> Search::fewestByScatterGather(int steps, std::int64_t maxN, std::int64_t maxRounds,
                                                            double seconds) {
  const std::int64_t part = m_wide.chunksOfPart(seconds);
  std::optional<Size> best;
  for (std::int64_t parts = 1; part > 0 && parts <= kMaxParts && parts * part <= maxN; ++parts) {
    const auto rounds = m_wide.roundsOfScatterGather(steps, parts);
    if (rounds && *rounds <= maxRounds &&
        (!best || Rational(*rounds, parts * part) < Rational(best->rounds, best->n))) {
      best = Size{steps, *rounds, parts * part};
    }
  }
  auto found = best ? m_wide.byScatterGather(steps, best->n / part) : std::nullopt;
  if (!found) {
    return std::nullopt;
  }
  return Fewest{*best, accept(*best, std::move(found->steps), std::move(found->how))};
}

/// By pull, and by trees where these apply: alone where there are many ranks, else after it.
std::optional<WideSearch::Found> Search::tried(WideSearch::PullGoal goal, Clock::time_point deadline) {
  const bool hasTrees = TreeSearch::applies(m_problem, goal.steps);
  std::optional<WideSearch::Found> best;
  if (!hasTrees || !isWide()) {
    goal.work = isWide() ? kWideWork : kQuickWideWork;
    best = m_wide.byPull(goal, stopAt(hasTrees ? Clock::now() + (deadline - Clock::now()) / 2 : deadline));
    if (!hasTrees || (best && best->rounds <= goal.min)) {
      return best;
    }
  }
  goal.work = isWide() ? kTreeWork : kQuickTreeWork;
  if (best && (!goal.max || best->rounds <= *goal.max)) {
    goal.max = best->rounds - 1;
  }
  auto found = m_wide.byTrees(goal, stopAt(deadline));
  return found ? std::move(found) : std::move(best);
}

std::optional<Search::Fewest> Search::fewestByTries(int steps, std::int64_t n, std::optional<std::int64_t> below,
                                                    Clock::time_point deadline) {
  const RatioBound bound = ratioBound(steps, deadline);
  WideSearch::PullGoal goal;
  goal.steps = steps;
  goal.n = n;
  goal.min = std::max<std::int64_t>(steps, -(-(bound.ratio * Rational(n))).floor());
  if (below) {
    goal.max = *below - 1;
  }
  goal.plan = bound.plan;
  std::optional<Fewest> best;
  if (Search* few = narrow(); few != nullptr && steps >= few->minSteps()) {
    // On fewer arcs there is time for more tries.
    const auto end = Clock::now() + (deadline - Clock::now()) / 2;
    auto found = few->tried(goal, end);
    if (found && (!below || found->rounds < *below)) {
      const Size size{steps, found->rounds, n};
      best = Fewest{size, accept(size, widened(std::move(found->steps)), std::move(found->how))};
      goal.max = found->rounds - 1;
    }
  }
  if (best && best->size.rounds <= goal.min) {
    return best;
  }
  auto found = tried(goal, deadline);
  if (found && (!goal.max || found->rounds <= *goal.max)) {
    const Size size{steps, found->rounds, n};
    best = Fewest{size, accept(size, std::move(found->steps), std::move(found->how))};
  }
  return best;
}

std::optional<Decision> Search::byTrees(const Size& size, std::int64_t work, const Effort& effort) {
  WideSearch::PullGoal goal;
  goal.steps = size.steps;
  goal.n = size.n;
  goal.min = size.rounds;
  goal.plan = ratioBound(size.steps, effort.deadline).plan;
  goal.work = effort.isQuick ? std::min(work, kQuickTreeWork) : work;
  constexpr int kShare = 2;
  auto found = m_wide.byTrees(goal, stopAt(Clock::now() + (effort.deadline - Clock::now()) / kShare));
  if (!found || found->rounds > size.rounds) {
    return std::nullopt;
  }
  return accept(size, std::move(found->steps), std::move(found->how));
}

}  // namespace coppice::synth
