// SPDX-License-Identifier: Apache-2.0
// Lower bounds on rounds per chunk, and what they refute.
#include <algorithm>

#include "synth/coarse.hpp"
#include "synth/cut_bound.hpp"
#include "synth/search.hpp"

namespace coppice::synth {
namespace {

using std::chrono::milliseconds;

/// One linear program may take this long, and this share of the time that is left.
constexpr milliseconds kLongestProgram{8000};
/// The program adds little to the bound of cuts.
constexpr milliseconds kLongestAfterCut{500};
constexpr int kProgramShare = 3;

}  // namespace

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
      const Rational rate = rateOver(topology, isIn ? topology.in[node] : topology.out[node]);
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
    m_coarseGenerators = synth::generators(*m_coarse, m_progress);
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

std::optional<Decision> Search::refusedByCounting(const Size& size) const {
  if (size.rounds < size.steps) {
    return Decision{Verdict::unsat,
                    "every step takes at least one round, and " + std::to_string(size.rounds) +
                        " rounds are fewer than " + std::to_string(size.steps) + " steps",
                    {}};
  }
  if (size.steps < m_minSteps) {
    return Decision{Verdict::unsat,
                    "a destination is " + std::to_string(m_minSteps) + " hops from its nearest source, so fewer than " +
                        std::to_string(m_minSteps) + " steps cannot reach it",
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
                        : "no schedule of " + std::to_string(size.steps) + " steps has R/C below " + ratio +
                              " (linear program over the fabric in time, exact)",
                    {}};
  }
  return std::nullopt;
}

}  // namespace coppice::synth
