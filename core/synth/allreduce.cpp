// SPDX-License-Identifier: Apache-2.0
#include "synth/allreduce.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/disjoint_sets.hpp"
#include "schedule/step_cost.hpp"
#include "synth/composer.hpp"
#include "synth/front.hpp"
#include "synth/result.hpp"

namespace coppice::synth {
namespace {

using schedule::CollectiveTable;

constexpr std::int64_t kFirstConflicts = 2'000;
constexpr std::int64_t kConflictGrowth = 4;
constexpr std::int64_t kMaxEncoding = 80'000'000;
/// On many ranks, schedules that come as near to the bound as one part in this many are good enough.
constexpr std::int64_t kNearBound = 100;

/// What may enter the rank in one round at most.
Rational rateInto(const Topology& topology, int node, bool isIn) {
  Rational rate = 0;
  if (topology.isPartial) {
    // Whatever the route, it takes one of the rank's links.
    for (const PhysicalLink& link : topology.links) {
      rate += (isIn ? link.head : link.tail) == topology.gpus[node] ? link.perRound : Rational(0);
    }
    return rate;
  }
  return rateOver(topology, isIn ? topology.in[node] : topology.out[node]);
}

/// Every link has its like in the other direction, so that the transposed fabric is the same.
bool isMirrored(const fabric::Fabric& fabric) {
  std::map<std::pair<int, int>, std::vector<Rational>> links;
  for (const fabric::Arc& arc : fabric.arcs()) {
    links[{arc.tail, arc.head}].push_back(arc.bandwidth.gigabytesPerSecond());
  }
  for (auto& [ends, bandwidths] : links) {
    std::sort(bandwidths.begin(), bandwidths.end());
  }
  return std::all_of(links.begin(), links.end(), [&](const auto& each) {
    const auto back = links.find({each.first.second, each.first.first});
    return back != links.end() && back->second == each.second;
  });
}

}  // namespace

Result<AllreduceSearch> AllreduceSearch::make(const fabric::Fabric& fabric, const UnitChoice& unit, std::uint64_t seed,
                                              const TimedProgress& progress) {
  AllreduceSearch search(fabric, seed, progress);
  const bool isSame = isMirrored(fabric);
  for (const bool isTransposed : {false, true}) {
    if (isTransposed && isSame) {
      search.m_scatter = search.m_gather.get();
      break;
    }
    auto topology = topologyOf(isTransposed ? fabric.transposed() : fabric, unit);
    if (!topology) {
      return topology.error();
    }
    const auto goal = CollectiveTable::make(Collective::allgather, fabric.gpuCount());
    if (!goal) {
      return goal.error();
    }
    auto problem = problemOf(*std::move(topology), *goal);
    if (!problem) {
      return problem.error();
    }
    auto made = std::make_unique<Search>(*std::move(problem), seed, progress, composersOfBoxes(seed, progress));
    if (isTransposed) {
      search.m_ownScatter = std::move(made);
      search.m_scatter = search.m_ownScatter.get();
    } else {
      search.m_gather = std::move(made);
    }
  }
  search.m_minRatio = search.ratioOfMessages();
  return search;
}

Rational AllreduceSearch::ratioOfMessages() const {
  const Topology& topology = m_gather->problem().topology;
  Rational min = 0;
  Rational in = 0;
  Rational out = 0;
  for (int node = 0; node < topology.nodes; ++node) {
    for (const bool isIn : {true, false}) {
      const Rational rate = rateInto(topology, node, isIn);
      min = std::max(min, Rational(1) / rate);
      (isIn ? in : out) += rate;
    }
  }
  return std::max(min, Rational(2 * (topology.nodes - 1)) / std::min(in, out));
}

Rational AllreduceSearch::halvesRatio(int steps, Clock::time_point deadline) {
  // R/C counts n * P slots.
  const auto ratio = [&](int first, int second) {
    return (m_scatter->ratioBound(first, deadline).ratio + m_gather->ratioBound(second, deadline).ratio) /
           Rational(ranks());
  };
  if (steps == 0) {
    return ratio(0, 0);
  }
  std::optional<Rational> min;
  for (int first = m_scatter->minSteps(); steps - first >= m_gather->minSteps(); ++first) {
    const Rational here = ratio(first, steps - first);
    min = min ? std::min(*min, here) : here;
  }
  return min.value_or(Rational(0));
}

std::optional<AllreduceSearch::Answer> AllreduceSearch::refused(int steps, std::int64_t rounds,
                                                                std::int64_t chunks) const {
  if (rounds < steps) {
    return Answer{Verdict::unsat,
                  "every step takes at least one round, and " + std::to_string(rounds) + " rounds are fewer than " +
                      std::to_string(steps) + " steps",
                  {}};
  }
  if (steps < minSteps()) {
    return Answer{Verdict::unsat, "two ranks are " + std::to_string(minSteps()) + " hops apart", {}};
  }
  if (Rational(rounds) < m_minRatio * Rational(chunks)) {
    return Answer{Verdict::unsat,
                  "counting messages, no allreduce has R/C below " + m_minRatio.toString() + " on these links",
                  {}};
  }
  return std::nullopt;
}

/// One rank of each orbit, on the fabric and where it differs on the transposed one.
void AllreduceSearch::findRoots() {
  constexpr std::size_t kMaxRoots = 16;
  if (m_areRootsKnown) {
    return;
  }
  m_areRootsKnown = true;
  for (Search* search : {m_gather.get(), m_scatter}) {
    if (search == m_gather.get() && !m_roots.empty()) {
      break;  // the same fabric once more
    }
    DisjointSets orbits(ranks());
    for (const Symmetry& each : search->generators()) {
      for (int rank = 0; rank < ranks(); ++rank) {
        orbits.join(rank, each.node[rank]);
      }
    }
    std::size_t count = 0;
    for (int rank = 0; rank < ranks() && count < kMaxRoots; ++rank) {
      const auto goal = CollectiveTable::make(Collective::broadcast, ranks(), rank);
      if (orbits.find(rank) != rank || !goal) {
        continue;
      }
      if (auto problem = problemOf(search->problem().topology, *goal)) {
        m_roots.push_back(std::make_unique<Search>(*std::move(problem), m_seed, m_progress));
        ++count;
      }
    }
  }
}

Rational AllreduceSearch::stepsRatio(int steps, Clock::time_point deadline) {
  constexpr int kShare = 8;
  const auto [known, isNew] = m_stepsRatios.try_emplace(steps, m_minRatio);
  if (isNew && !isWide()) {
    findRoots();
    const auto end = Clock::now() + (deadline - Clock::now()) / kShare;
    for (const auto& root : m_roots) {
      if ((steps == 0 || steps >= root->minSteps()) && !m_progress.isOver(end)) {
        known->second = std::max(known->second, root->ratioBound(steps, end).ratio);
      }
    }
  }
  return known->second;
}

std::optional<AllreduceSearch::Answer> AllreduceSearch::refusedByRoots(int steps, std::int64_t rounds,
                                                                       std::int64_t chunks,
                                                                       Clock::time_point deadline) {
  const Rational bound = stepsRatio(steps, deadline);
  if (Rational(rounds) >= bound * Rational(chunks)) {
    return std::nullopt;
  }
  return Answer{Verdict::unsat,
                "each rank's contribution must reach all others, and no broadcast of " + std::to_string(steps) +
                    " steps has R/C below " + bound.toString() + " (linear program over the fabric in time, exact)",
                {}};
}

void AllreduceSearch::findHalves(int maxSteps, Clock::time_point deadline) {
  if (m_halvesSteps >= maxSteps) {
    return;
  }
  m_halvesSteps = maxSteps;
  constexpr int kShare = 3;
  constexpr int kShareOfCandidate = 6;
  for (Search* search : {m_scatter, m_gather.get()}) {
    auto& halves = search == m_gather.get() ? m_gatherHalves : m_scatterHalves;
    FrontOptions options;
    const auto left = (deadline - Clock::now()) / kShare;
    options.deadline = Clock::now() + left;
    options.candidateSeconds = std::chrono::duration<double>(left).count() / kShareOfCandidate;
    options.maxSteps = maxSteps;
    const FrontHandlers nobody{[](const Size&, const Decision&, double) {}, [](int, const Rational&) {}};
    for (const FrontPoint& point : paretoFront(*search, options, nobody).points) {
      halves[point.size.steps] = point.size;
    }
    throwIfCancelled(m_progress);
    if (m_scatter == m_gather.get()) {
      m_scatterHalves = m_gatherHalves;
      break;
    }
  }
}

std::optional<AllreduceSearch::Fewest> AllreduceSearch::bestHalves(int steps, std::int64_t maxN,
                                                                   Clock::time_point deadline) {
  const int maxSteps = steps - std::min(m_gather->minSteps(), m_scatter->minSteps());
  findHalves(maxSteps, deadline);
  struct Choice {
    Size scatter;
    Size gather;
  };
  std::optional<Choice> best;
  const auto ratioOf = [](const Choice& choice) {
    return Rational(choice.scatter.rounds + choice.gather.rounds, choice.scatter.n);
  };
  // Of n chunks per rank: as many copies of the half as that takes.
  const auto copied = [](const Size& half, std::int64_t n) {
    return Size{half.steps, half.rounds * ((n + half.n - 1) / half.n), n};
  };
  for (const auto& [first, scatter] : m_scatterHalves) {
    const auto gather = m_gatherHalves.find(steps - first);
    if (gather == m_gatherHalves.end()) {
      continue;
    }
    for (const std::int64_t n : {scatter.n, gather->second.n, std::lcm(scatter.n, gather->second.n)}) {
      const Choice choice{copied(scatter, n), copied(gather->second, n)};
      if (n <= maxN && (!best || ratioOf(choice) < ratioOf(*best))) {
        best = choice;
      }
    }
  }
  if (!best) {
    return std::nullopt;
  }
  const Decision scatter = m_scatter->decide(best->scatter, deadline);
  const Decision gather = m_gather->decide(best->gather, deadline);
  if (scatter.verdict != Verdict::sat || gather.verdict != Verdict::sat) {
    return std::nullopt;
  }
  auto answer = joined(scatter, gather, best->scatter.steps, best->gather.steps, best->scatter.n);
  if (!answer) {
    return std::nullopt;
  }
  return Fewest{best->scatter.n * ranks(), best->scatter.rounds + best->gather.rounds, *std::move(answer)};
}

std::optional<AllreduceSearch::Answer> AllreduceSearch::inHalves(int steps, std::int64_t rounds, std::int64_t n,
                                                                 bool isQuick, Clock::time_point deadline) {
  const auto decided = [&](Search& search, const Size& size) {
    return isQuick ? search.decideQuickly(size, deadline) : search.decide(size, deadline);
  };
  const auto minRounds = [&](Search& search, int count) {
    // The linear programs of many steps take long; they refute where it matters, in decide().
    return std::max<std::int64_t>(count, -(-(search.simpleRatio() * Rational(n))).floor());
  };
  for (int first = m_scatter->minSteps(); steps - first >= m_gather->minSteps(); ++first) {
    const int second = steps - first;
    const std::int64_t max = rounds - minRounds(*m_gather, second);
    for (std::int64_t r = minRounds(*m_scatter, first); r <= max; ++r) {
      const Decision scatter = decided(*m_scatter, {first, r, n});
      if (scatter.verdict != Verdict::sat) {
        continue;
      }
      const Decision gather = decided(*m_gather, {second, rounds - r, n});
      if (gather.verdict == Verdict::sat) {
        return joined(scatter, gather, first, second, n);
      }
      break;  // more rounds for the first half leave fewer for the second
    }
  }
  return std::nullopt;
}

std::optional<AllreduceSearch::Answer> AllreduceSearch::joined(const Decision& scatter, const Decision& gather,
                                                               int first, int second, std::int64_t n) const {
  auto made = scheduleOfHalves(*m_fabric, m_scatter->problem(), *scatter.found, m_gather->problem(), *gather.found, n,
                               m_progress);
  if (!made) {
    return Answer{Verdict::unknown, describe(made.error()), {}};
  }
  return Answer{Verdict::sat,
                "in halves: reduce_scatter in " + std::to_string(first) + " steps, allgather in " +
                    std::to_string(second) + (isWide() ? "; " + gather.reason : std::string()),
                *std::move(made)};
}

std::optional<AllreduceSearch::Fewest> AllreduceSearch::fewestOf(int first, int second, std::int64_t n,
                                                                 Clock::time_point deadline) {
  std::optional<Search::Fewest> best[2];
  for (const bool isGather : {false, true}) {
    Search& search = isGather ? *m_gather : *m_scatter;
    const int steps = isGather ? second : first;
    auto& found = best[isGather ? 1 : 0];
    found = search.fewestComposed(steps, n, n, kAnyRounds, deadline);
    const auto end = Clock::now() + (deadline - Clock::now()) / (isGather ? 1 : 2);
    const Rational bound = search.ratioBound(steps, deadline).ratio * Rational(n);
    if (!found || Rational(found->size.rounds) * Rational(kNearBound) > bound * Rational(kNearBound + 1)) {
      const auto below = found ? std::optional(found->size.rounds) : std::nullopt;
      if (auto grown = search.fewestByTries(steps, n, below, end)) {
        found = std::move(grown);
      }
    }
    if (!found || found->decision.verdict != Verdict::sat) {
      return std::nullopt;
    }
  }
  auto answer = joined(best[0]->decision, best[1]->decision, first, second, n);
  if (!answer || answer->verdict != Verdict::sat) {
    return std::nullopt;
  }
  return Fewest{n * ranks(), best[0]->size.rounds + best[1]->size.rounds, *std::move(answer)};
}

std::optional<AllreduceSearch::Fewest> AllreduceSearch::fewestInHalves(int steps, std::int64_t maxN,
                                                                       std::int64_t maxRounds,
                                                                       Clock::time_point deadline) {
  constexpr std::int64_t kMaxOfTries = 8;
  std::optional<Fewest> best;
  const Rational bound = halvesRatio(steps, deadline);
  const auto isNear = [&] {
    return best && Rational(best->rounds, best->chunks) * Rational(kNearBound) <= bound * Rational(kNearBound + 1);
  };
  // The halves alike first, then unlike.
  const int min = m_scatter->minSteps();
  for (int first = std::max(min, steps / 2); first >= min && first >= steps / 2 - 1; --first) {
    const int second = steps - first;
    if (second < m_gather->minSteps() || isNear()) {
      continue;
    }
    std::vector<std::int64_t> counts;
    const std::int64_t maxOfHalf = maxRounds == kAnyRounds ? kAnyRounds : maxRounds - first;
    if (const auto composed = m_gather->fewestComposed(second, 1, maxN, maxOfHalf, deadline)) {
      counts.push_back(composed->size.n);
    }
    if (const auto ratio = m_gather->ratioBound(second, deadline).ratio; ratio.denominator() <= kMaxOfTries) {
      counts.push_back(ratio.denominator());
    }
    counts.push_back(1);
    for (std::size_t i = 0; i < counts.size() && !isNear() && !m_progress.isOver(deadline); ++i) {
      if (std::find(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(i), counts[i]) !=
          counts.begin() + static_cast<std::ptrdiff_t>(i)) {
        continue;
      }
      const auto end = Clock::now() + (deadline - Clock::now()) / 2;
      auto found = fewestOf(first, second, counts[i], end);
      if (found && found->rounds <= maxRounds &&
          (!best || Rational(found->rounds, found->chunks) < Rational(best->rounds, best->chunks))) {
        best = std::move(found);
      }
    }
  }
  if (best) {
    best->answer.reason += "; no halves of " + std::to_string(steps) + " steps have R/C below " + bound.toString();
  }
  return best;
}

AllreduceSearch::Answer AllreduceSearch::accept(const DirectSteps& steps, std::int64_t chunks, std::string how) const {
  const Topology& topology = m_gather->problem().topology;
  if (const auto fault = faultOf(topology, chunks, steps)) {
    return {Verdict::unknown, "internal: the schedule found is wrong: " + *fault, {}};
  }
  auto made = scheduleOfDirect(*m_fabric, topology, chunks, steps, m_progress);
  if (!made) {
    return {Verdict::unknown, describe(made.error()), {}};
  }
  return {Verdict::sat, std::move(how), *std::move(made)};
}

AllreduceSearch::Answer AllreduceSearch::inOnePiece(int steps, std::int64_t rounds, std::int64_t chunks,
                                                    Clock::time_point deadline, std::int64_t maxConflicts) {
  if (!SatSolver::isAvailable()) {
    return {Verdict::unknown, "bounds and halves do not decide it, and this build has no CaDiCaL", {}};
  }
  struct Instance {
    SatSolver solver;
    DirectEncoding encoding;
    Instance(const Topology& topology, std::int64_t slots, const RoundBox& box, const std::vector<Symmetry>& group,
             std::uint64_t seed, const EncodingGuard& guard)
        : solver(seed), encoding(topology, slots, box, group, solver, guard) {}
  };
  const Topology& topology = m_gather->problem().topology;
  const RoundBox box{std::vector<std::int64_t>(steps, 1), std::vector<std::int64_t>(steps, rounds - steps + 1), rounds};
  auto groups = freeGroups(m_gather->problem(), m_progress);
  groups.emplace_back();
  std::vector<std::unique_ptr<Instance>> instances(groups.size());
  std::vector<bool> isOut(groups.size(), false);
  const auto stop = [&] { return m_progress.isCancelled() || m_progress.isOver(deadline); };
  for (std::int64_t conflicts = kFirstConflicts; !stop() && conflicts <= maxConflicts; conflicts *= kConflictGrowth) {
    bool isAnyLeft = false;
    for (std::size_t i = 0; i < groups.size() && !stop(); ++i) {
      if (isOut[i] || DirectEncoding::sizeOf(topology, chunks, steps, groups[i].size()) > kMaxEncoding) {
        continue;
      }
      isAnyLeft = true;
      if (!instances[i]) {
        std::int64_t others = 0;
        for (const auto& each : instances) {
          others += each ? each->solver.literals() : 0;
        }
        try {
          instances[i] = std::make_unique<Instance>(topology, chunks, box, groups[i], m_seed,
                                                    EncodingGuard{stop, kMaxEncoding - others});
        } catch (const EncodingStopped& stopped) {
          isOut[i] = stopped.isTooLarge && others == 0;
          continue;
        }
      }
      const Verdict verdict = instances[i]->solver.solve(conflicts, stop);
      if (verdict == Verdict::sat) {
        return accept(instances[i]->encoding.decode(), chunks,
                      groups[i].empty() ? "direct, found by SAT"
                                        : "direct, found by SAT in the quotient by " +
                                              std::to_string(groups[i].size()) + " symmetries");
      }
      if (verdict == Verdict::unsat && groups[i].empty() && topology.isPartial) {
        return {Verdict::unknown, "impossible on the shortest routes alone (SAT)", {}};
      }
      if (verdict == Verdict::unsat && groups[i].empty()) {
        return {Verdict::unsat,
                "the solver refutes it for schedules with one accumulator per chunk and rank, halves among them (SAT)",
                {},
                true};
      }
      isOut[i] = verdict == Verdict::unsat;
      if (isOut[i]) {
        instances[i].reset();
      }
    }
    if (!isAnyLeft) {
      return {Verdict::unknown, "the instance is too large for the solver", {}};
    }
  }
  throwIfCancelled(m_progress);
  return {
      Verdict::unknown, stop() ? "no answer within the time limit" : "no answer within the effort for one size", {}};
}

AllreduceSearch::Answer AllreduceSearch::decide(int steps, std::int64_t rounds, std::int64_t chunks, bool isDirectOnly,
                                                Clock::time_point deadline, const DirectEffort& effort) {
  if (auto answer = refused(steps, rounds, chunks)) {
    return *std::move(answer);
  }
  const bool mayHalve = !isDirectOnly && chunks % ranks() == 0 && steps >= minStepsOfHalves();
  if (mayHalve && isWide()) {
    const std::int64_t n = chunks / ranks();
    for (int first = m_scatter->minSteps(); steps - first >= m_gather->minSteps(); ++first) {
      const auto share = Clock::now() + (deadline - Clock::now()) / 2;
      auto found = fewestOf(first, steps - first, n, share);
      if (found && found->rounds <= rounds) {
        found->answer.schedule->rounds.back() += static_cast<std::int32_t>(rounds - found->rounds);
        return std::move(found->answer);
      }
    }
    return {Verdict::unknown, "not found in halves, by two levels or trees, which proves nothing", {}};
  }
  if (mayHalve) {
    for (const bool isQuick : {true, false}) {
      const auto share = Clock::now() + (deadline - Clock::now()) / 2;
      if (auto answer = inHalves(steps, rounds, chunks / ranks(), isQuick, share)) {
        return *std::move(answer);
      }
      if (isQuick) {
        if (auto answer = refusedByRoots(steps, rounds, chunks, deadline)) {
          return *std::move(answer);
        }
      }
    }
  } else if (auto answer = refusedByRoots(steps, rounds, chunks, deadline)) {
    return *std::move(answer);
  }
  if (chunks > effort.maxSlots) {
    return {Verdict::unknown, "not found in halves; there are too many chunks for a direct search", {}};
  }
  return inOnePiece(steps, rounds, chunks, deadline, effort.maxConflicts);
}

}  // namespace coppice::synth
