// SPDX-License-Identifier: Apache-2.0
#include "synth/allreduce_front.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "synth/allreduce.hpp"
#include "synth/front.hpp"

namespace coppice::synth {
namespace {

/// In one piece few chunks are within reach of the solver.
constexpr std::int64_t kMaxDirect = 8;
/// What one size in one piece may take of a front, unless a time is given: some tenths of a second for each group. All
/// sizes get the first, the best ones without an answer the second.
constexpr std::int64_t kQuickConflicts = 2'000;
constexpr std::int64_t kDirectConflicts = 8'000;
constexpr std::size_t kSizesInEarnest = 3;
constexpr int kShareOfCandidate = 6;
constexpr std::int64_t kMoreSteps = 2;
/// Where halves exist, schedules in one piece are searched beside them on up to this many ranks.
constexpr int kMaxRanksOfBoth = 8;
/// Chunks per rank in halves, unless a limit is given.
constexpr std::int64_t kMaxOfHalves = 64;
constexpr std::int64_t kMaxOfWideHalves = 32;

Rational ratioOf(const StatedSize& size) {
  return Rational(size.rounds, size.chunks);
}

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class AllreduceFront {
public:
  AllreduceFront(AllreduceSearch& search, const FrontLimits& limits, const SynthesisOptions& options,
                 const FrontEvents& events, Clock::time_point deadline, StatedFront& front)
      : m_search(search),
        m_limits(limits),
        m_options(options),
        m_events(events),
        m_deadline(deadline),
        m_front(front) {}

  void search() {
    const std::int64_t last = m_limits.maxSteps > 0 ? m_limits.maxSteps : m_search.minStepsOfHalves() + kMoreSteps;
    for (std::int64_t steps = m_front.minSteps; steps <= last && !m_front.isComplete && !m_search.isOver(m_deadline);
         ++steps) {
      m_levelEnd = Clock::now() + (m_deadline - Clock::now()) / sharesOfTime(last - steps + 1);
      level(static_cast<int>(steps));
    }
  }

private:
  void level(int steps) {
    m_steps = steps;
    m_point.reset();
    m_verdicts.clear();
    m_bound = m_search.stepsRatio(steps, m_levelEnd);
    m_events.onBound(steps, m_bound);
    m_maxRounds = roundsWithin(steps, m_limits.extraRounds);
    m_min = minRatioWithin(m_bound, steps, m_maxRounds);
    m_below.reset();
    if (!m_front.points.empty()) {
      m_below = ratioOf(m_front.points.back().size);
    }
    if (!m_min || (m_below && *m_min >= *m_below)) {
      return;
    }
    try {
      const bool hasHalves = !m_options.isDirect && steps >= m_search.minStepsOfHalves();
      if (hasHalves) {
        if (m_limits.extraRounds && !m_search.isWide()) {
          halvesWithin();
        } else {
          halves();
        }
      }
      if (!m_search.isWide() && (!hasHalves || m_search.ranks() <= kMaxRanksOfBoth)) {
        inOnePiece();
      }
    } catch (const CancelledError&) {
      m_front.isCutOff = true;
    }
    if (m_point) {
      finishPoint();
    }
    if (m_front.isCutOff) {
      throw CancelledError();
    }
  }

  void finishPoint() {
    for (const auto& [size, verdict] : m_verdicts) {
      if (verdict != Verdict::sat && Rational(size.second, size.first) < ratioOf(m_point->size)) {
        ++(verdict == Verdict::unsat ? m_point->refuted : m_point->open);
      }
    }
    m_point->bound = m_bound;
    m_point->isOptimal = ratioOf(m_point->size) == m_bound;
    m_point->isOptimalWithin = ratioOf(m_point->size) == *m_min;
    m_front.isComplete = ratioOf(m_point->size) == m_front.minRatio;
    m_front.points.push_back(*std::move(m_point));
  }

  [[nodiscard]] std::optional<Rational> limit() const {
    return m_point ? std::optional(ratioOf(m_point->size)) : m_below;
  }

  void hear(const StatedSize& size, AllreduceSearch::Answer answer, double seconds) {
    if (answer.schedule && m_events.onSchedule) {
      m_events.onSchedule(size, m_search.unit(), *answer.schedule);
    }
    m_events.onCandidate({size, answer.verdict, answer.reason, seconds});
    m_verdicts[{size.chunks, size.rounds}] = answer.verdict;
    if (answer.verdict == Verdict::sat && (!limit() || ratioOf(size) < *limit())) {
      m_point.emplace();
      m_point->size = size;
      m_point->how = std::move(answer.reason);
      m_point->schedule = *std::move(answer.schedule);
    }
  }

  void halves() {
    const auto start = Clock::now();
    std::optional<AllreduceSearch::Fewest> found;
    if (m_search.isWide()) {
      found = m_search.fewestInHalves(m_steps, maxN(kMaxOfWideHalves), m_maxRounds, m_levelEnd);
    } else {
      // Their fronts serve all further numbers of steps.
      found = m_search.bestHalves(m_steps, maxN(kMaxOfHalves), m_deadline);
    }
    if (found) {
      hear({found->chunks, m_steps, found->rounds}, std::move(found->answer), secondsSince(start));
    }
  }

  /// By ascending ratio, so that the first size that is found is the best.
  void halvesWithin() {
    const Rational bound = m_search.halvesRatio(m_steps, m_levelEnd);
    std::vector<StatedSize> sizes;
    for (std::int64_t n = 1; n <= maxN(kMaxOfHalves); ++n) {
      const std::int64_t chunks = n * m_search.ranks();
      const std::int64_t first = std::max<std::int64_t>(m_steps, -(-(bound * Rational(chunks))).floor());
      for (std::int64_t rounds = first; rounds <= m_maxRounds; ++rounds) {
        sizes.push_back({chunks, m_steps, rounds});
      }
    }
    attemptByRatio(sizes);
  }

  [[nodiscard]] std::int64_t maxN(std::int64_t usual) const {
    return m_limits.maxChunks > 0 ? std::max<std::int64_t>(1, m_limits.maxChunks / m_search.ranks()) : usual;
  }

  void attempt(const StatedSize& size, std::int64_t conflicts) {
    const auto start = Clock::now();
    auto end = std::min(m_levelEnd, start + (m_deadline - start) / kShareOfCandidate);
    AllreduceSearch::DirectEffort effort{kMaxDirect, conflicts};
    if (m_limits.candidateSeconds > 0) {
      end = std::min(m_deadline, start + std::chrono::duration_cast<Clock::duration>(
                                             std::chrono::duration<double>(m_limits.candidateSeconds)));
      effort = {};
    }
    auto answer = m_search.decide(m_steps, size.rounds, size.chunks, m_options.isDirect, end, effort);
    hear(size, std::move(answer), secondsSince(start));
  }

  /// By ascending ratio, so that the first hit is the best; then the best ones without an answer once more.
  void inOnePiece() {
    if (m_front.points.empty()) {
      findAny();
    }
    const std::vector<StatedSize> open = attemptByRatio(sizes());
    for (std::size_t i = 0; i < std::min(open.size(), kSizesInEarnest) && m_limits.candidateSeconds <= 0; ++i) {
      if (!isOver() && (!limit() || ratioOf(open[i]) < *limit())) {
        attempt(open[i], kDirectConflicts);
      }
    }
  }

  /// Up to the first that is found. Returns those without an answer.
  std::vector<StatedSize> attemptByRatio(std::vector<StatedSize> sizes) {
    std::stable_sort(sizes.begin(), sizes.end(),
                     [](const StatedSize& a, const StatedSize& b) { return ratioOf(a) < ratioOf(b); });
    std::vector<StatedSize> open;
    for (const StatedSize& size : sizes) {
      if (isOver() || (limit() && ratioOf(size) >= *limit())) {
        break;
      }
      attempt(size, kQuickConflicts);
      if (m_verdicts[{size.chunks, size.rounds}] == Verdict::unknown) {
        open.push_back(size);
      }
    }
    return open;
  }

  [[nodiscard]] bool isOver() const {
    return (m_point && ratioOf(m_point->size) == *m_min) || m_search.isOver(m_levelEnd);
  }

  /// One chunk, with as many rounds as it takes: something to improve on.
  void findAny() {
    const std::int64_t first = std::max<std::int64_t>(m_steps, -(-m_bound).floor());
    for (std::int64_t rounds = first; rounds < 2 * first && rounds <= m_maxRounds && !m_point && !isOver(); ++rounds) {
      attempt({1, m_steps, rounds}, kQuickConflicts);
    }
  }

  [[nodiscard]] std::vector<StatedSize> sizes() const {
    constexpr std::int64_t kMoreRounds = 8;
    std::vector<StatedSize> all;
    const std::int64_t max = m_limits.maxChunks > 0 ? std::min(m_limits.maxChunks, kMaxDirect) : kMaxDirect;
    for (std::int64_t chunks = 1; chunks <= max; ++chunks) {
      const std::int64_t first = std::max<std::int64_t>(m_steps, -(-(m_bound * Rational(chunks))).floor());
      const std::int64_t last = std::min(first + kMoreRounds, m_maxRounds);
      for (std::int64_t rounds = first; rounds <= last; ++rounds) {
        const bool isKnown = m_verdicts.contains({chunks, rounds});
        if (!isKnown && (!limit() || Rational(rounds, chunks) < *limit())) {
          all.push_back({chunks, m_steps, rounds});
        }
      }
    }
    return all;
  }

  AllreduceSearch& m_search;
  const FrontLimits& m_limits;
  const SynthesisOptions& m_options;
  const FrontEvents& m_events;
  Clock::time_point m_deadline;
  StatedFront& m_front;
  int m_steps = 0;
  Clock::time_point m_levelEnd;
  Rational m_bound;
  std::int64_t m_maxRounds = 0;
  std::optional<Rational> m_min;  ///< that the bound leaves within these rounds; nullopt = none
  std::optional<Rational> m_below;
  std::optional<StatedPoint> m_point;
  std::map<std::pair<std::int64_t, std::int64_t>, Verdict> m_verdicts;  ///< by chunks and rounds
};

}  // namespace

Result<StatedFront> allreduceFront(const fabric::Fabric& fabric, const FrontLimits& limits,
                                   const SynthesisOptions& options, const FrontEvents& events,
                                   const TimedProgress& progress) {
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds));
  auto search = AllreduceSearch::make(fabric, options.unit, options.seed, progress);
  if (!search) {
    return search.error();
  }
  StatedFront front;
  front.minSteps = search->minSteps();
  front.minRatio = search->minRatio();
  front.unit = search->unit();
  try {
    front.minRatio = search->stepsRatio(0, deadline);
    events.onBound(0, front.minRatio);
    front.isMinRatioExact = search->halvesRatio(0, deadline) == front.minRatio;
    AllreduceFront(*search, limits, options, events, deadline, front).search();
  } catch (const CancelledError&) {
    front.isCutOff = true;
  }
  front.isCutOff = front.isCutOff || (!front.isComplete && progress.isOver(deadline));
  front.dependsOnTime = progress.dependsOnTime();
  return front;
}

}  // namespace coppice::synth
