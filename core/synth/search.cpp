// SPDX-License-Identifier: Apache-2.0
#include "synth/search.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "synth/pull.hpp"
#include "synth/split.hpp"
#include "synth/tree_search.hpp"

namespace coppice::synth {
namespace {

/// Choosing rounds takes at most this share of the time left.
constexpr int kShareOfChoices = 4;
constexpr int kPullTries = 24;
/// Before any linear program.
constexpr int kFirstPullTries = 6;
constexpr std::int64_t kPullWork = 30'000'000;
/// Before the solver gets its time, and before anything that takes longer.
constexpr std::int64_t kMidTreeWork = 60'000'000;
constexpr std::int64_t kFirstTreeWork = 500'000;

/// The rounds spread evenly, the longer steps last.
std::vector<std::int64_t> evenRounds(const Size& size, int turn) {
  std::vector<std::int64_t> rounds(size.steps, size.rounds / size.steps);
  const auto rest = static_cast<int>(size.rounds % size.steps);
  for (int i = 0; i < rest; ++i) {
    // Different places in each turn.
    ++rounds[(size.steps - 1 - i + turn) % size.steps];
  }
  return rounds;
}

}  // namespace

Search::Search(Problem problem, std::uint64_t seed, const Progress& progress)
    : m_problem(std::move(problem)),
      m_seed(seed),
      m_progress(progress),
      m_minSteps(synth::minSteps(m_problem)),
      m_wide(m_problem, seed, progress),
      m_generators(m_wide.isWide() ? generatorsOf(m_problem) : synth::generators(m_problem, progress)) {}

Search::~Search() = default;

std::string Search::counted(const Size& size) const {
  return "(" + std::to_string(size.n * m_problem.divisor) + ", " + std::to_string(size.steps) + ", " +
         std::to_string(size.rounds) + ")";
}

std::function<bool()> Search::stopAt(Clock::time_point deadline) const {
  return [this, deadline] { return m_progress.isCancelled() || Clock::now() >= deadline; };
}

const std::vector<int>& Search::orbits() {
  if (!m_orbits) {
    m_orbits = orbitsOfArcs(m_problem, m_generators, m_progress);
  }
  return *m_orbits;
}

std::vector<Symmetry> Search::generatorsOf(const Problem& problem) const {
  // Above this many ranks a search for all symmetries takes too long.
  constexpr int kMaxRanks = 64;
  return m_wide.boxes() || m_problem.topology.nodes > kMaxRanks ? generatorsByBoxes(problem, m_wide.boxes(), m_progress)
                                                                : synth::generators(problem, m_progress);
}

const std::vector<std::vector<Symmetry>>& Search::groups() {
  if (!m_groups) {
    m_groups = freeGroups(m_problem, m_progress);
  }
  return *m_groups;
}

int Search::usualSteps() const {
  constexpr int kMore = 4;
  int steps = m_minSteps;
  if (const auto& boxes = m_wide.boxes()) {
    // Slow links that reach far make the fewest steps; links within a box may take more of them, and one goes across.
    std::vector<bool> isFirst(m_problem.topology.nodes, false);
    std::vector<int> inner;
    for (int arc = 0; arc < static_cast<int>(m_problem.topology.arcs.size()); ++arc) {
      const LogicalArc& each = m_problem.topology.arcs[arc];
      if (boxes->boxOf[each.from] == 0 && boxes->boxOf[each.to] == 0) {
        inner.push_back(arc);
      }
    }
    const Topology box = withArcs(m_problem.topology, inner, boxes->placeOf, boxes->size());
    for (int place = 0; place < boxes->size(); ++place) {
      std::vector<bool> only(boxes->size(), false);
      only[place] = true;
      const auto distance = distancesFrom(box, only);
      steps = std::max(steps, *std::max_element(distance.begin(), distance.end()));
    }
  }
  return steps + kMore;
}

Decision Search::accept(const Size& size, Steps steps, std::string how) {
  std::int64_t rounds = std::accumulate(steps.rounds.begin(), steps.rounds.end(), std::int64_t{0});
  steps.rounds.back() += size.rounds - rounds;
  if (auto fault = faultOf(m_problem, size.n, steps)) {
    // A wrong answer of the search itself: never passed on.
    return {Verdict::unknown, "internal: the schedule found is wrong: " + *fault, {}};
  }
  m_found.insert_or_assign(size, steps);
  return {Verdict::sat, std::move(how), std::move(steps)};
}

std::optional<Decision> Search::fromKnown(const Size& size, const std::function<bool()>& stop) {
  for (const auto& [known, steps] : m_found) {
    // As many copies as it takes, with fewer chunks in the last one.
    const std::int64_t copies = (size.n + known.n - 1) / known.n;
    if (copies * known.rounds > size.rounds || known.steps > size.steps) {
      continue;
    }
    Steps more{steps.rounds, {}};
    std::int64_t left = size.rounds;
    for (std::int64_t& rounds : more.rounds) {
      rounds *= copies;
      left -= rounds;
    }
    for (const Send& send : steps.sends) {
      for (std::int64_t i = send.chunk % known.n; i < size.n; i += known.n) {
        more.sends.push_back({static_cast<int>(send.chunk / known.n * size.n + i), send.arc, send.step});
      }
    }
    std::string how =
        "from " + counted(known) + (copies > 1 ? ", " + std::to_string(copies) + " times" : std::string());
    if (known.steps < size.steps) {
      more.rounds.back() += left;
      auto cut = split(m_problem, size.n, more, size.steps, stop);
      if (!cut) {
        continue;
      }
      more = *std::move(cut);
      how += " by splitting steps";
    }
    Decision decision = accept(size, std::move(more), std::move(how));
    if (decision.verdict == Verdict::sat) {
      return decision;
    }
  }
  return std::nullopt;
}

std::optional<Decision> Search::byPull(const Size& size, const std::vector<std::vector<std::int64_t>>& rounds,
                                       int maxTries, const Effort& effort) {
  const std::int64_t work = Encoding::sizeOf(m_problem, size.n, size.steps, 1);
  const auto tries = std::clamp<std::int64_t>(kPullWork / std::max<std::int64_t>(1, work), 1, maxTries);
  const auto stop = stopAt(effort.deadline);
  for (int turn = 0; turn < tries && !stop(); ++turn) {
    const std::vector<std::int64_t> chosen = rounds.empty() ? evenRounds(size, turn) : rounds[turn % rounds.size()];
    auto steps = pull(m_problem, size.n, chosen, m_seed * kPullTries + turn, stop);
    if (steps) {
      Decision decision = accept(size, *std::move(steps), "found by pull, without a solver");
      if (decision.verdict == Verdict::sat) {
        return decision;
      }
    }
  }
  throwIfCancelled(m_progress);
  return std::nullopt;
}

std::optional<Decision> Search::fromFewerSteps(const Size& size, const Effort& effort) {
  for (int steps = m_minSteps; steps < size.steps; ++steps) {
    const Size shorter{steps, size.rounds, size.n};
    Effort quick = effort;
    quick.isQuick = true;
    quick.mayUseFewerSteps = false;
    const Decision decision = decide(shorter, quick);
    if (decision.verdict != Verdict::sat) {
      continue;
    }
    if (auto cut = split(m_problem, size.n, *decision.found, size.steps, stopAt(effort.deadline))) {
      Decision longer = accept(size, *std::move(cut), "split from " + counted(shorter) + ", " + decision.reason);
      if (longer.verdict == Verdict::sat) {
        return longer;
      }
    }
  }
  return std::nullopt;
}

Decision Search::decide(const Size& size, Clock::time_point deadline) {
  return decide(size, Effort{false, true, deadline});
}

Decision Search::decideQuickly(const Size& size, Clock::time_point deadline) {
  return decide(size, Effort{true, true, deadline});
}

Decision Search::decide(const Size& size, const Effort& effort) {
  throwIfCancelled(m_progress);
  if (auto decision = refusedByCounting(size)) {
    return *std::move(decision);
  }
  if (auto decision = fromKnown(size, stopAt(effort.deadline))) {
    return *std::move(decision);
  }
  if (m_problem.isSingleFlow) {
    auto refused = m_problem.topology.isPartial ? refusedByProgram(size, effort.deadline) : std::nullopt;
    return refused ? *std::move(refused) : byFlow(size, effort);
  }
  // What is found at once needs no linear program.
  if (!m_wide.isWide()) {
    if (auto decision = byPull(size, {}, kFirstPullTries, effort)) {
      return *std::move(decision);
    }
  }
  if (auto decision = refusedByProgram(size, effort.deadline)) {
    return *std::move(decision);
  }
  if (m_wide.isWide()) {
    if (auto decision = byTwoLevels(size, effort)) {
      return *std::move(decision);
    }
    if (auto decision =
            TreeSearch::applies(m_problem, size.steps) ? byTrees(size, kTreeWork, effort) : byWidePull(size, effort)) {
      return *std::move(decision);
    }
  } else if (size.rounds > size.steps) {
    if (auto decision = byTrees(size, kFirstTreeWork, effort)) {
      return *std::move(decision);
    }
  }
  if (auto decision = byNarrow(size, effort)) {
    return *std::move(decision);
  }
  if (!m_wide.isWide()) {
    if (auto decision = byTwoLevels(size, effort)) {
      return *std::move(decision);
    }
  }
  if (effort.mayUseFewerSteps) {
    if (auto decision = fromFewerSteps(size, effort)) {
      return *std::move(decision);
    }
  }
  if (!m_wide.isWide()) {
    if (auto decision = byPull(size, {}, kPullTries, effort)) {
      return *std::move(decision);
    }
  }
  const auto end = Clock::now() + (effort.deadline - Clock::now()) / kShareOfChoices;
  const RoundChoices choices = roundChoices(
      size, kMaxChoices, [](const auto&) { return false; }, end);
  if (choices.isComplete && choices.open.empty()) {
    return refuted(size, "with every choice of rounds per step, fewer chunks fit (linear programs, exact)");
  }
  if (!choices.open.empty() && size.rounds > size.steps) {
    if (auto decision = byPull(size, choices.open, kPullTries, effort)) {
      return *std::move(decision);
    }
  }
  if (m_wide.isWide()) {
    return bySat(size, choices, effort);
  }
  if (size.rounds == size.steps || effort.isQuick) {
    // With one round in each step the solver is better than trees.
    Decision decision = bySat(size, choices, effort);
    if (decision.verdict != Verdict::unknown || size.rounds == size.steps || !effort.mayUseFewerSteps) {
      return decision;
    }
    auto found = byTrees(size, kQuickTreeWork, effort);
    return found ? *std::move(found) : std::move(decision);
  }
  Effort quick = effort;
  quick.isQuick = true;
  if (Decision decision = bySat(size, choices, quick); decision.verdict != Verdict::unknown) {
    return decision;
  }
  if (auto found = byTrees(size, kMidTreeWork, effort)) {
    return *std::move(found);
  }
  return bySat(size, choices, effort);
}

}  // namespace coppice::synth
