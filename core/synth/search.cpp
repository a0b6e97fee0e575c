// SPDX-License-Identifier: Apache-2.0
#include "synth/search.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "synth/pull.hpp"
#include "synth/split.hpp"
#include "synth/tree_search.hpp"

namespace coppice::synth {
namespace {

/// Choosing rounds takes at most this share of the time left.
constexpr int kShareOfChoices = 4;
constexpr int kShareOfNarrow = 2;
constexpr int kPullTries = 24;
/// Before any linear program.
constexpr int kFirstPullTries = 6;
constexpr std::int64_t kWorkOfPull = 30'000'000;
/// Before the solver gets its time, and before anything that takes longer.
constexpr std::int64_t kMidTreeWork = 60'000'000;
constexpr std::int64_t kFirstTreeWork = 500'000;
/// One attempt of each solver, or as many as there is time for.
constexpr std::int64_t kQuickConflicts = 4'000;
constexpr std::int64_t kAllConflicts = std::numeric_limits<std::int64_t>::max();

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

Search::Search(Problem problem, std::uint64_t seed, const TimedProgress& progress, ComposerMaker makeComposer)
    : m_problem(std::move(problem)),
      m_seed(seed),
      m_progress(progress),
      m_minSteps(synth::minSteps(m_problem)),
      m_boxes(equalBoxes(m_problem.topology)),
      m_generators(synth::generators(m_problem, m_progress)),
      m_makeComposer(std::move(makeComposer)) {}

std::string Search::counted(const Size& size) const {
  return "(" + std::to_string(size.n * m_problem.divisor) + ", " + std::to_string(size.steps) + ", " +
         std::to_string(size.rounds) + ")";
}

std::function<bool()> Search::stopAt(Clock::time_point deadline) const {
  return [this, deadline] { return m_progress.isCancelled() || m_progress.isOver(deadline); };
}

const std::vector<int>& Search::orbits() {
  if (!m_orbits) {
    m_orbits = orbitsOfArcs(m_problem, m_generators, m_progress);
  }
  return *m_orbits;
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
  if (const auto& boxes = m_boxes) {
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
  const auto tries = std::clamp<std::int64_t>(kWorkOfPull / std::max<std::int64_t>(1, work), 1, maxTries);
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

std::optional<Decision> Search::byNarrow(const Size& size, std::int64_t share, const Effort& effort) {
  if (!std::exchange(m_isNarrowKnown, true)) {
    if (auto narrow = m_boxes ? narrowed(m_problem, *m_boxes) : std::nullopt) {
      m_narrowArcs = std::move(narrow->arcs);
      m_narrow = std::make_unique<Search>(std::move(narrow->problem), m_seed, m_progress);
    }
  }
  if (m_narrow == nullptr) {
    return std::nullopt;
  }
  Effort part = effort;
  part.deadline = Clock::now() + (effort.deadline - Clock::now()) / share;
  part.mayUseFewerSteps = false;
  Decision decision = m_narrow->decide(size, part);
  if (decision.verdict != Verdict::sat) {
    return std::nullopt;
  }
  for (Send& send : decision.found->sends) {
    send.arc = m_narrowArcs[send.arc];
  }
  return accept(size, *std::move(decision.found), decision.reason + ", on the links between equal places");
}

Decision Search::decide(const Size& size, Clock::time_point deadline) {
  return decide(size, Effort{false, true, deadline});
}

Decision Search::decideQuickly(const Size& size, Clock::time_point deadline) {
  return decide(size, Effort{true, true, deadline});
}

Decision Search::firstAnswer(std::span<const Way> ways) {
  Decision last{Verdict::unknown, "no way of searching applies", {}};
  for (const Way& way : ways) {
    auto decision = way.applies ? way.run(way.budget) : std::nullopt;
    if (!decision) {
      continue;
    }
    if (decision->verdict != Verdict::unknown) {
      return *std::move(decision);
    }
    last = *std::move(decision);
  }
  return last;
}

Decision Search::decide(const Size& size, const Effort& effort) {
  throwIfCancelled(m_progress);
  const auto counting = [&](std::int64_t) { return refusedByCounting(size); };
  const auto known = [&](std::int64_t) { return fromKnown(size, stopAt(effort.deadline)); };
  const auto program = [&](std::int64_t) { return refusedByProgram(size, effort.deadline); };
  if (m_problem.isSingleFlow) {
    const Way ways[] = {{true, 0, counting},
                        {true, 0, known},
                        {m_problem.topology.isPartial, 0, program},
                        {true, 0, [&](std::int64_t) { return std::optional(byFlow(size, effort)); }}};
    return firstAnswer(ways);
  }
  RoundChoices choices;
  const auto choose = [&](std::int64_t share) -> std::optional<Decision> {
    const auto end = Clock::now() + (effort.deadline - Clock::now()) / share;
    choices = roundChoices(
        size, kMaxChoices, [](const auto&) { return false; }, end);
    return choices.isComplete && choices.open.empty()
               ? std::optional(
                     refuted(size, "with every choice of rounds per step, fewer chunks fit (linear programs, exact)"))
               : std::nullopt;
  };
  const auto evenPull = [&](std::int64_t tries) { return byPull(size, {}, static_cast<int>(tries), effort); };
  const auto chosenPull = [&](std::int64_t tries) {
    return choices.open.empty() ? std::nullopt : byPull(size, choices.open, static_cast<int>(tries), effort);
  };
  const auto composed = [&](std::int64_t) { return byComposer(size, effort); };
  const auto trees = [&](std::int64_t work) { return byTrees(size, work, effort); };
  const auto quotientPull = [&](std::int64_t work) { return byQuotientPull(size, work, effort); };
  const auto narrow = [&](std::int64_t share) { return byNarrow(size, share, effort); };
  const auto split = [&](std::int64_t) { return fromFewerSteps(size, effort); };
  const auto sat = [&](std::int64_t conflicts) {
    const bool isRefuted = choices.isComplete && choices.open.empty();
    return isRefuted ? std::nullopt : std::optional(bySat(size, choices, conflicts, effort));
  };
  // With one round in each step the solver is better than trees.
  const bool isTight = size.rounds == size.steps;
  const bool isSmall = !isWide();
  const bool hasTrees = TreeSearch::applies(m_problem, size.steps);
  const bool isLong = isSmall && !isTight && !effort.isQuick;
  const Way ways[] = {
      {true, 0, counting},
      {true, 0, known},
      // What is found at once needs no linear program.
      {isSmall, kFirstPullTries, evenPull},
      {true, 0, program},
      {isWide(), 0, composed},
      {isWide() && !hasTrees, effort.isQuick ? kQuickPullWork : kPullWork, quotientPull},
      {hasTrees && (isWide() || !isTight),
       isSmall          ? kFirstTreeWork
       : effort.isQuick ? kQuickTreeWork
                        : kTreeWork,
       trees},
      {true, kShareOfNarrow, narrow},
      {isSmall, 0, composed},
      {effort.mayUseFewerSteps, 0, split},
      {isSmall, kPullTries, evenPull},
      {true, kShareOfChoices, choose},
      {!isTight, kPullTries, chosenPull},
      {isLong, kQuickConflicts, sat},
      {isLong && hasTrees, kMidTreeWork, trees},
      {true, effort.isQuick ? kQuickConflicts : kAllConflicts, sat},
      {isSmall && hasTrees && !isTight && effort.isQuick && effort.mayUseFewerSteps, kQuickTreeWork, trees}};
  return firstAnswer(ways);
}

}  // namespace coppice::synth
