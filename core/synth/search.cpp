// SPDX-License-Identifier: Apache-2.0
#include "synth/search.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "synth/coarse.hpp"
#include "synth/cut_bound.hpp"
#include "synth/pull.hpp"
#include "synth/single_flow.hpp"
#include "synth/split.hpp"
#include "synth/tree_search.hpp"

namespace coppice::synth {
namespace {

using std::chrono::milliseconds;

/// One linear program may take this long, and this share of the time that is left.
constexpr milliseconds kLongestProgram{8000};
/// The program adds little to the bound of cuts.
constexpr milliseconds kLongestAfterCut{500};
constexpr int kProgramShare = 3;
/// Choosing rounds takes at most this share of the time left.
constexpr int kShareOfChoices = 4;
/// Choices of rounds that are tried one by one; with more, the solver chooses them.
constexpr std::size_t kMaxChoices = 6;
/// Of more choices than that, these are tried beside it.
constexpr std::size_t kMaxGuesses = 2;
constexpr int kMaxProgramNodes = 300;
constexpr int kMaxFlowNodes = 20'000;
constexpr int kPullTries = 24;
/// Before any linear program.
constexpr int kFirstPullTries = 6;
constexpr std::int64_t kPullWork = 30'000'000;
/// Above, a search for all symmetries takes too long; below, equal boxes are no help to it.
constexpr int kMaxOfSymmetries = 64;
/// Two levels are tried from this many ranks on, and their box is searched for this share of the time left.
constexpr int kMinOfLevels = 16;
constexpr int kShareOfBox = 6;
/// Work of pull on many ranks: some tens of seconds, or one.
constexpr std::int64_t kWideWork = 20'000'000'000;
constexpr std::int64_t kQuickWideWork = 500'000'000;
/// Work of local search over trees: some seconds, or tenths of one.
constexpr std::int64_t kTreeWork = 400'000'000;
constexpr std::int64_t kQuickTreeWork = 10'000'000;
/// Before the solver gets its time, and before anything that takes longer.
constexpr std::int64_t kMidTreeWork = 60'000'000;
constexpr std::int64_t kFirstTreeWork = 500'000;
/// Chunks for each rank of a broadcast by scatter and allgather.
constexpr std::int64_t kMaxParts = 4;
/// Chunks of a schedule on many ranks: sends, some 50 bytes each until they are written.
constexpr std::int64_t kMaxWideSends = 600'000;
constexpr std::int64_t kFirstTryConflicts = 2'000;
constexpr std::int64_t kTryGrowth = 4;
constexpr std::int64_t kQuickTryConflicts = 4'000;
/// Literals of one encoding: some 4 GB at 50 bytes each.
constexpr std::int64_t kMaxTryEncoding = 80'000'000;

std::string text(std::int64_t value) {
  return std::to_string(value);
}

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
      m_generators(m_wide.isWide() && (m_wide.boxes() || m_problem.topology.nodes > kMaxOfSymmetries)
                       ? generatorsByBoxes(m_problem, m_wide.boxes(), progress)
                       : synth::generators(m_problem, progress)) {}

Search::~Search() = default;

std::string Search::counted(const Size& size) const {
  return "(" + text(size.n * m_problem.divisor) + ", " + text(size.steps) + ", " + text(size.rounds) + ")";
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

/// What each rank must receive and send, over what its links carry.
Rational Search::simpleRatio() const {
  if (m_simpleRatio) {
    return *m_simpleRatio;
  }
  const Topology& topology = m_problem.topology;
  if (topology.isPartial) {
    return 0;  // routes that are left out may carry more
  }
  Rational min = 0;
  for (int node = 0; node < topology.nodes; ++node) {
    for (const bool isIn : {true, false}) {
      std::int64_t need = 0;
      for (const ChunkClass& chunks : m_problem.classes) {
        const bool isAlone = chunks.pre[node] && std::count(chunks.pre.begin(), chunks.pre.end(), true) == 1;
        const bool isNeeded = !chunks.pre[node] && chunks.post[node];
        bool isNeededElsewhere = false;
        for (int other = 0; isAlone && other < topology.nodes; ++other) {
          isNeededElsewhere = isNeededElsewhere || (other != node && chunks.post[other]);
        }
        need += (isIn ? isNeeded : isNeededElsewhere) ? 1 : 0;
      }
      // Every arc counts in full under its tightest limit; limits of several arcs count once.
      Rational rate = 0;
      std::vector<int> counted;
      for (const int arc : isIn ? topology.in[node] : topology.out[node]) {
        const auto& limits = topology.limitsOf[arc];
        const bool isCounted = std::any_of(limits.begin(), limits.end(), [&](int limit) {
          return std::find(counted.begin(), counted.end(), limit) != counted.end();
        });
        if (!isCounted) {
          const int widest = *std::max_element(limits.begin(), limits.end(), [&](int a, int b) {
            return topology.limits[a].arcs.size() < topology.limits[b].arcs.size();
          });
          counted.push_back(widest);
          rate += topology.limits[widest].perRound;
        }
      }
      if (need > 0 && rate.isPositive()) {
        min = std::max(min, Rational(need) / rate);
      }
    }
  }
  m_simpleRatio = min;
  return min;
}

/// The bound of the program on pairs of ranks, where it is better than the one that is known.
RatioBound Search::coarseBound(int steps, RatioBound known, Clock::time_point deadline) {
  if (!m_coarse) {
    m_coarse.emplace(coarse(m_problem));
    m_coarseGenerators = m_wide.boxes() || m_problem.topology.nodes > kMaxOfSymmetries
                             ? generatorsByBoxes(*m_coarse, m_wide.boxes(), m_progress)
                             : synth::generators(*m_coarse, m_progress);
    m_coarseOrbits = orbitsOfArcs(*m_coarse, m_coarseGenerators, m_progress);
  }
  constexpr std::int64_t kRounds = 1;
  const auto end = Clock::now() + std::min<Clock::duration>((deadline - Clock::now()) / kProgramShare, kLongestProgram);
  Relaxation program(*m_coarse, m_coarseGenerators, m_coarseOrbits, steps, kRounds, m_progress);
  const auto proved = program.isUsable() && !m_problem.requirements.empty()
                          ? program.solve(Rational(0), stopAt(end), m_progress)
                          : std::nullopt;
  throwIfCancelled(m_progress);
  if (proved && proved->chunks.isPositive() && Rational(kRounds) / proved->chunks > known.ratio) {
    known = {Rational(kRounds) / proved->chunks, false, BoundSource::program};
    for (int step = 0; step < steps; ++step) {
      known.plan.push_back(program.rounds(step) / proved->chunks.toDouble());
    }
  }
  return known;
}

RatioBound Search::ratioBound(int steps, Clock::time_point deadline) {
  if (const auto known = m_bounds.find(steps); known != m_bounds.end()) {
    return known->second;
  }
  RatioBound bound{simpleRatio(), false, BoundSource::counting};
  if (steps == 0) {
    if (const auto cut = cutBound(m_problem, m_progress); cut && *cut > bound.ratio) {
      bound = {*cut, false, BoundSource::cut};
    }
  }
  const bool mayBeCoarse = !m_problem.topology.links.empty();
  if (m_problem.topology.isPartial) {
    bound = coarseBound(steps, bound, deadline);
    m_bounds[steps] = bound;
    return bound;
  }
  const auto left = (deadline - Clock::now()) / kProgramShare;
  const auto longest = bound.source == BoundSource::cut ? kLongestAfterCut : kLongestProgram;
  const auto end = Clock::now() + std::min<Clock::duration>(left, longest);
  // The program is the same for any number of rounds up to scale.
  constexpr std::int64_t kRounds = 1;
  Relaxation program(m_problem, m_generators, orbits(), steps, kRounds, m_progress);
  bool isFinished = false;
  if (program.isUsable() && !m_problem.requirements.empty()) {
    if (const auto proved = program.solve(Rational(0), stopAt(end), m_progress)) {
      isFinished = true;
      if (proved->chunks.isPositive() && Rational(kRounds) / proved->chunks >= bound.ratio) {
        bound = {Rational(kRounds) / proved->chunks, proved->isTight, BoundSource::program};
        for (int step = 0; step < steps; ++step) {
          bound.plan.push_back(program.rounds(step) / proved->chunks.toDouble());
        }
      }
    }
  }
  throwIfCancelled(m_progress);
  if (steps > 0 && bound.source != BoundSource::program && mayBeCoarse) {
    bound = coarseBound(steps, bound, deadline);
  }
  if (steps > 0 && bound.source != BoundSource::program) {
    // What holds for any number of steps holds for this one.
    if (const RatioBound ofAny = ratioBound(0, deadline); ofAny.ratio > bound.ratio) {
      bound = {ofAny.ratio, false, ofAny.source};
    }
  }
  if (isFinished || !program.isUsable() || bound.source == BoundSource::cut) {
    m_bounds[steps] = bound;
  }
  return bound;
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

std::optional<Decision> Search::refusedByCounting(const Size& size) const {
  if (size.rounds < size.steps) {
    return Decision{Verdict::unsat,
                    "every step takes at least one round, and " + text(size.rounds) + " rounds are fewer than " +
                        text(size.steps) + " steps",
                    {}};
  }
  if (size.steps < m_minSteps) {
    return Decision{Verdict::unsat,
                    "a destination is " + text(m_minSteps) + " hops from its nearest source, so fewer than " +
                        text(m_minSteps) + " steps cannot reach it",
                    {}};
  }
  for (const auto& [known, refuted] : m_refuted) {
    // What does not fit does not fit into fewer rounds, nor with more chunks.
    if (known.steps == size.steps && known.rounds >= size.rounds && known.n <= size.n) {
      return Decision{Verdict::unsat,
                      known == size ? refuted.reason : counted(known) + " is impossible: " + refuted.reason,
                      {},
                      refuted.isBySolver};
    }
  }
  if (const Rational simple = simpleRatio(); Rational(size.rounds) < simple * Rational(size.n)) {
    return Decision{Verdict::unsat,
                    "the links of one rank carry what it must send or receive in no less than R/C = " +
                        countedRatio(simple).toString(),
                    {}};
  }
  return std::nullopt;
}

/// What is refuted on some of the routes alone is open.
Decision Search::refuted(const Size& size, const std::string& reason, bool isBySolver) {
  if (m_problem.topology.isPartial) {
    return {Verdict::unknown, "impossible on the shortest routes alone: " + reason, {}};
  }
  m_refuted[size] = {reason, isBySolver};
  return {Verdict::unsat, reason, {}, isBySolver};
}

std::optional<Decision> Search::refusedByProgram(const Size& size, Clock::time_point deadline) {
  const RatioBound bound = ratioBound(size.steps, deadline);
  if (bound.source != BoundSource::counting && Rational(size.rounds) < bound.ratio * Rational(size.n)) {
    const std::string ratio = countedRatio(bound.ratio).toString();
    return Decision{Verdict::unsat,
                    bound.source == BoundSource::cut
                        ? "what must cross a cut of the fabric needs R/C = " + ratio + " with any number of steps"
                        : "no schedule of " + text(size.steps) + " steps has R/C below " + ratio +
                              " (linear program over the fabric in time, exact)",
                    {}};
  }
  return std::nullopt;
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
    std::string how = "from " + counted(known) + (copies > 1 ? ", " + text(copies) + " times" : std::string());
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

/// Depth first over boxes of rounds; visit() hears every choice that is left open and ends the search by true.
Search::RoundChoices Search::roundChoices(const Size& size, std::size_t max,
                                          const std::function<bool(const std::vector<std::int64_t>&)>& visit,
                                          Clock::time_point deadline) {
  struct Box {
    std::vector<std::int64_t> min;
    std::vector<std::int64_t> max;
  };
  RoundChoices choices;
  Relaxation program(m_problem, m_generators, orbits(), size.steps, size.rounds, m_progress);
  const bool hasProgram = program.isUsable();
  const int limit = hasProgram ? kMaxProgramNodes : kMaxFlowNodes;
  std::vector<Box> stack{
      {std::vector<std::int64_t>(size.steps, 1), std::vector<std::int64_t>(size.steps, size.rounds - size.steps + 1)}};
  const auto stop = stopAt(deadline);
  for (int node = 0; !stack.empty(); ++node) {
    if (node == limit || stop()) {
      return choices;
    }
    Box box = std::move(stack.back());
    stack.pop_back();
    const auto minSum = std::accumulate(box.min.begin(), box.min.end(), std::int64_t{0});
    const auto maxSum = std::accumulate(box.max.begin(), box.max.end(), std::int64_t{0});
    if (minSum > size.rounds || maxSum < size.rounds) {
      continue;
    }
    for (int step = 0; step < size.steps; ++step) {
      const std::int64_t before = box.min[step];
      box.min[step] = std::max(box.min[step], size.rounds - (maxSum - box.max[step]));
      box.max[step] = std::min(box.max[step], size.rounds - (minSum - before));
    }
    if (hasProgram) {
      for (int step = 0; step < size.steps; ++step) {
        program.setRounds(step, box.min[step], box.max[step]);
      }
      const auto bound = program.solve(Rational(size.n), stop, m_progress);
      if (bound && bound->chunks < Rational(size.n)) {
        continue;
      }
    }
    int widest = 0;
    for (int step = 1; step < size.steps; ++step) {
      widest = box.max[step] - box.min[step] > box.max[widest] - box.min[widest] ? step : widest;
    }
    if (box.max[widest] == box.min[widest]) {
      if (visit(box.min)) {
        choices.open = {box.min};
        return choices;
      }
      choices.open.push_back(box.min);
      if (choices.open.size() > max) {
        return choices;
      }
      continue;
    }
    // What the program chose comes first, the rest of the box after it.
    const std::int64_t chosen = std::clamp(
        hasProgram ? static_cast<std::int64_t>(program.rounds(widest) + 0.5) : (box.min[widest] + box.max[widest]) / 2,
        box.min[widest], box.max[widest]);
    for (const int side : {1, -1, 0}) {
      Box part = box;
      part.min[widest] = side > 0 ? chosen + 1 : side < 0 ? box.min[widest] : chosen;
      part.max[widest] = side > 0 ? box.max[widest] : side < 0 ? chosen - 1 : chosen;
      if (part.min[widest] <= part.max[widest]) {
        stack.push_back(std::move(part));
      }
    }
  }
  choices.isComplete = true;
  return choices;
}

Decision Search::byFlow(const Size& size, const Effort& effort) {
  std::optional<Steps> found;
  bool isStopped = false;
  const std::function<bool()> stop = [&isStopped, over = stopAt(effort.deadline)] {
    isStopped = isStopped || over();
    return isStopped;
  };
  const auto visit = [&](const std::vector<std::int64_t>& rounds) {
    found = singleFlow(m_problem, size.n, rounds, stop);
    return found.has_value();
  };
  const RoundChoices choices = roundChoices(size, std::numeric_limits<std::size_t>::max(), visit, effort.deadline);
  if (found) {
    return accept(size, *std::move(found), "one maximum flow over the steps carries everything");
  }
  throwIfCancelled(m_progress);
  if (choices.isComplete && !isStopped) {
    return refuted(size, "no choice of rounds per step has a large enough flow (maximum flow over the steps, exact)");
  }
  return {Verdict::unknown, "not every choice of rounds per step was tried within the limits", {}};
}

std::optional<Decision> Search::byTwoLevels(const Size& size, const Effort& effort) {
  if (m_isNarrow || !m_wide.boxes() || m_problem.topology.nodes < kMinOfLevels) {
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
  if (!m_wide.boxes() || m_problem.topology.nodes < kMinOfLevels) {
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

/// Solvers for one instance: per choice of rounds and group of symmetries, in turn with growing effort.
class Search::Attempts {
public:
  /// Refuting all boxes from the first decisive one on refutes the instance; those before are guesses.
  Attempts(Search& search, const Size& size, std::vector<RoundBox> boxes, std::size_t firstDecisive)
      : m_search(search), m_size(size), m_boxes(std::move(boxes)), m_firstDecisive(firstDecisive) {
    for (const auto& group : search.groups()) {
      m_groups.push_back(&group);
    }
    m_groups.push_back(nullptr);
    m_isOut.assign(m_boxes.size() * m_groups.size(), false);
    m_solvers.resize(m_isOut.size());
  }

  /// nullopt = nothing more can be tried.
  std::optional<Verdict> round(std::int64_t conflicts, const std::function<bool()>& stop) {
    bool isAnyLeft = false;
    for (std::size_t group = 0; group < m_groups.size(); ++group) {
      for (std::size_t box = 0; box < m_boxes.size(); ++box) {
        const std::size_t at = group * m_boxes.size() + box;
        if (m_isOut[at] || stop()) {
          isAnyLeft = isAnyLeft || !m_isOut[at];
          continue;
        }
        const Verdict verdict = attempt(at, box, m_groups[group], conflicts, stop);
        if (verdict == Verdict::sat) {
          return verdict;
        }
        m_isOut[at] = m_isOut[at] || verdict == Verdict::unsat;
        isAnyLeft = isAnyLeft || !m_isOut[at];
        const bool isDecisive = m_groups[group] == nullptr && box >= m_firstDecisive;
        if (verdict == Verdict::unsat && isDecisive && ++m_refuted == m_boxes.size() - m_firstDecisive) {
          return verdict;
        }
      }
    }
    return isAnyLeft ? std::optional(Verdict::unknown) : std::nullopt;
  }

  [[nodiscard]] Steps takeFound() { return std::move(m_found); }
  [[nodiscard]] std::size_t foundGroup() const { return m_foundGroup; }

private:
  struct Instance {
    SatSolver solver;
    Encoding encoding;

    Instance(const Problem& problem, const Size& size, const RoundBox& box, const std::vector<Symmetry>& group,
             std::uint64_t seed, const EncodingGuard& guard)
        : solver(seed), encoding(problem, size.n, box, group, solver, guard) {}
  };

  Verdict attempt(std::size_t at, std::size_t box, const std::vector<Symmetry>* group, std::int64_t conflicts,
                  const std::function<bool()>& stop) {
    static const std::vector<Symmetry> kNone;
    const auto& symmetries = group != nullptr ? *group : kNone;
    if (!m_solvers[at]) {
      const auto size = Encoding::sizeOf(m_search.m_problem, m_size.n, m_size.steps, symmetries.size());
      if (size > kMaxTryEncoding) {
        m_isOut[at] = true;
        return Verdict::unknown;
      }
      // All solvers together keep within the limit: what does not fit beside the others may fit after them.
      std::int64_t others = 0;
      for (const auto& each : m_solvers) {
        others += each ? each->solver.literals() : 0;
      }
      try {
        m_solvers[at] = std::make_unique<Instance>(m_search.m_problem, m_size, m_boxes[box], symmetries,
                                                   m_search.m_seed, EncodingGuard{stop, kMaxTryEncoding - others});
      } catch (const EncodingStopped& stopped) {
        m_isOut[at] = stopped.isTooLarge && others == 0;
        return Verdict::unknown;
      }
    }
    const Verdict verdict = m_solvers[at]->solver.solve(conflicts, stop);
    if (verdict == Verdict::sat) {
      m_found = m_solvers[at]->encoding.decode();
      m_foundGroup = symmetries.size();
    }
    if (verdict != Verdict::unknown) {
      m_solvers[at].reset();
    }
    return verdict;
  }

  Search& m_search;
  Size m_size;
  std::vector<RoundBox> m_boxes;
  std::size_t m_firstDecisive;
  std::vector<const std::vector<Symmetry>*> m_groups;
  std::vector<bool> m_isOut;
  std::vector<std::unique_ptr<Instance>> m_solvers;
  std::size_t m_refuted = 0;
  Steps m_found;
  std::size_t m_foundGroup = 0;
};

Decision Search::bySat(const Size& size, const RoundChoices& choices, const Effort& effort) {
  if (!SatSolver::isAvailable()) {
    return {Verdict::unknown, "bounds, flows and pull do not decide it, and this build has no CaDiCaL", {}};
  }
  std::vector<RoundBox> boxes;
  const std::size_t listed = std::min(choices.open.size(), choices.isComplete ? kMaxChoices : kMaxGuesses);
  for (std::size_t i = 0; i < listed; ++i) {
    boxes.push_back({choices.open[i], choices.open[i], size.rounds});
  }
  std::size_t firstDecisive = 0;
  if (!choices.isComplete) {
    firstDecisive = boxes.size();
    const std::vector<std::int64_t> min(size.steps, 1);
    const std::vector<std::int64_t> max(size.steps, size.rounds - size.steps + 1);
    boxes.push_back({min, max, size.rounds});
  }
  Attempts attempts(*this, size, std::move(boxes), firstDecisive);
  const auto stop = stopAt(effort.deadline);
  std::optional<Verdict> verdict = Verdict::unknown;
  std::int64_t conflicts = kFirstTryConflicts;
  while (verdict == Verdict::unknown && !stop()) {
    verdict = attempts.round(conflicts, stop);
    conflicts *= kTryGrowth;
    if (effort.isQuick && conflicts > kQuickTryConflicts) {
      break;
    }
  }
  throwIfCancelled(m_progress);
  if (verdict == Verdict::sat) {
    const std::size_t order = attempts.foundGroup();
    return accept(size, attempts.takeFound(),
                  order > 1
                      ? "found by SAT in the quotient by " + text(static_cast<std::int64_t>(order)) + " symmetries"
                      : "found by SAT");
  }
  if (verdict == Verdict::unsat) {
    return refuted(size, "the solver refutes the whole instance (SAT)", true);
  }
  return {Verdict::unknown,
          !verdict ? "the instance is too large for the solver"
          : stop() ? "no answer within the time limit"
                   : "no answer within the effort for one size",
          {}};
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
