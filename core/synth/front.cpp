// SPDX-License-Identifier: Apache-2.0
#include "synth/front.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace coppice::synth {
namespace {

Rational ratioOf(const Size& size) {
  return Rational(size.rounds, size.n);
}

std::int64_t roundedUp(const Rational& value) {
  return -(-value).floor();
}

/// The search at one number of steps: which sizes were decided, and the best that was found.
class Level {
public:
  Level(Search& search, int steps, const std::optional<Rational>& below, const FrontOptions& options,
        Clock::time_point deadline, const FrontHandlers& handlers)
      : m_search(search),
        m_steps(steps),
        m_below(below),
        m_options(options),
        m_deadline(deadline),
        m_handlers(handlers),
        m_bound(search.ratioBound(steps, deadline).ratio),
        m_maxRounds(roundsWithin(steps, options.extraRounds)),
        m_min(minRatioWithin(m_bound, steps, m_maxRounds)) {}

  std::optional<FrontPoint> best() {
    m_handlers.onBound(m_steps, m_bound);
    if (!m_min || (m_below && *m_min >= *m_below)) {
      return std::nullopt;
    }
    try {
      search();
    } catch (const CancelledError&) {
      // What was found until then is kept; the next level throws again.
    }
    if (!m_best) {
      return std::nullopt;
    }
    for (const auto& [size, verdict] : m_verdicts) {
      if (ratioOf(size) < ratioOf(m_best->size) && verdict != Verdict::sat) {
        (verdict == Verdict::unsat ? m_best->refuted : m_best->open).push_back(size);
      }
    }
    m_best->bound = m_bound;
    m_best->isOptimal = ratioOf(m_best->size) == m_bound;
    m_best->isOptimalWithin = isBestWithin(ratioOf(m_best->size));
    return std::move(m_best);
  }

private:
  static constexpr std::int64_t kFirstChunks = 8;
  static constexpr int kMultiplesOfBound = 2;
  static constexpr double kQuickSeconds = 1.0;
  static constexpr std::int64_t kMaxOfTries = 8;
  /// Composed schedules that come as near to the bound as one part in this many are good enough.
  static constexpr std::int64_t kNearBound = 100;

  void search() {
    if (m_search.isWide()) {
      tryComposed();
      tryFew();
      return;
    }
    tryBound();
    if (!isDone()) {
      tryComposed();
    }
    if (!isDone()) {
      tryFew();
    }
    findAny();
    for (std::int64_t max = kFirstChunks; !isDone(); max = std::min(2 * max, m_options.maxN)) {
      tryBetter(max, true);
      if (max >= m_options.maxN) {
        break;
      }
    }
    if (!isDone()) {
      tryBetter(m_options.maxN, false);
    }
  }

  [[nodiscard]] bool isDone() const {
    return (m_best && ratioOf(m_best->size) == *m_min) || m_search.isOver(m_deadline);
  }

  /// For each number of rounds, the smallest n that would be better is refuted, and with it all larger ones.
  [[nodiscard]] bool isBestWithin(const Rational& ratio) const {
    if (ratio == *m_min) {
      return true;
    }
    if (!m_options.extraRounds) {
      return false;
    }
    for (std::int64_t rounds = m_steps; rounds <= m_maxRounds; ++rounds) {
      const std::int64_t n = (Rational(rounds) / ratio).floor() + 1;
      const auto refutes = [&](const auto& each) {
        return each.second == Verdict::unsat && each.first.rounds >= rounds && each.first.n <= n;
      };
      if (Rational(rounds) >= m_bound * Rational(n) && std::none_of(m_verdicts.begin(), m_verdicts.end(), refutes)) {
        return false;
      }
    }
    return true;
  }

  /// A size is of use only below this.
  [[nodiscard]] std::optional<Rational> limit() const {
    return m_best ? std::optional(ratioOf(m_best->size)) : m_below;
  }

  /// Within extraRounds any size may be the first; else findAny() found one.
  [[nodiscard]] bool isBetter(const Size& size) const {
    return limit() ? ratioOf(size) < *limit() : m_options.extraRounds.has_value();
  }

  void attempt(const Size& size, bool isQuick) {
    const auto start = Clock::now();
    const double seconds = isQuick ? std::min(kQuickSeconds, m_options.candidateSeconds) : m_options.candidateSeconds;
    const auto end = std::min(
        m_deadline, start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)));
    Decision decision = isQuick ? m_search.decideQuickly(size, end) : m_search.decide(size, end);
    m_handlers.onCandidate(size, decision, std::chrono::duration<double>(Clock::now() - start).count());
    m_verdicts[size] = decision.verdict;
    if (decision.verdict == Verdict::sat) {
      m_best = FrontPoint{size, *std::move(decision.found), std::move(decision.reason)};
    }
  }

  void hear(const std::optional<Search::Fewest>& found, const Size& wanted, Clock::time_point start) {
    const Size size = found ? found->size : wanted;
    const Decision decision =
        found ? found->decision : Decision{Verdict::unknown, "not found by trees or pull, which proves nothing", {}};
    m_handlers.onCandidate(size, decision, std::chrono::duration<double>(Clock::now() - start).count());
    m_verdicts[size] = decision.verdict;
    if (decision.verdict == Verdict::sat && size.rounds <= m_maxRounds && (!limit() || ratioOf(size) < *limit())) {
      m_best = FrontPoint{size, *decision.found, decision.reason};
    }
  }

  void tryComposed() {
    const auto start = Clock::now();
    if (const auto found = m_search.fewestComposed(m_steps, 1, m_options.maxComposed, m_maxRounds, m_deadline)) {
      hear(found, found->size, start);
    }
  }

  /// Few chunks: those of the bound first.
  void tryFew() {
    if (m_best && ratioOf(m_best->size) * Rational(kNearBound) <= *m_min * Rational(kNearBound + 1)) {
      return;
    }
    std::vector<std::int64_t> counts{1, 2, 4, 8};
    if (m_bound.isPositive()) {
      // As many as the bound lets into steps of one round, and parts of that.
      const std::int64_t max = std::min((Rational(m_steps) / m_bound).floor(), m_options.maxN);
      for (const std::int64_t n : {max, max * 3 / 4, max / 2}) {
        if (n > counts.back()) {
          counts.insert(counts.begin(), n);
        }
      }
    }
    if (m_bound.denominator() <= kMaxOfTries) {
      counts.insert(counts.begin(), m_bound.denominator());
    }
    for (std::size_t i = 0; i < counts.size() && !isDone(); ++i) {
      const std::int64_t n = counts[i];
      const std::int64_t min = std::max<std::int64_t>(m_steps, roundedUp(m_bound * Rational(n)));
      std::optional<std::int64_t> below;
      if (limit()) {
        below = roundedUp(*limit() * Rational(n));
      }
      if (m_options.extraRounds) {
        below = std::min(below.value_or(m_maxRounds + 1), m_maxRounds + 1);
      }
      if (n > m_options.maxN || (i > 0 && n == counts.front()) || (below && min >= *below)) {
        continue;
      }
      const auto start = Clock::now();
      const auto end = start + (m_deadline - start) / static_cast<int>(std::min<std::size_t>(3, counts.size() - i));
      const auto found = m_search.fewestByTries(m_steps, n, below, end);
      // Where the solver comes after it, what they do not find is not decided yet.
      if (found || m_search.isWide()) {
        hear(found, {m_steps, min, n}, start);
      }
    }
  }

  /// The sizes that meet the bound end the search at once.
  void tryBound() {
    if (!m_bound.isPositive()) {
      return;
    }
    int tried = 0;
    for (std::int64_t n = m_bound.denominator(); n <= m_options.maxN && tried < kMultiplesOfBound && !isDone();
         n += m_bound.denominator()) {
      const std::int64_t rounds = (m_bound * Rational(n)).numerator();
      if (rounds >= m_steps && rounds <= m_maxRounds) {
        ++tried;
        attempt({m_steps, rounds, n}, true);
      }
    }
  }

  /// Something to improve on: one chunk, with as many rounds as it takes.
  void findAny() {
    for (std::int64_t rounds = std::max<std::int64_t>(m_steps, roundedUp(m_bound));
         rounds <= m_maxRounds && !m_best && !isDone(); ++rounds) {
      const Size size{m_steps, rounds, 1};
      if (m_below && ratioOf(size) >= *m_below) {
        break;
      }
      if (!m_verdicts.contains(size)) {
        attempt(size, true);
      }
    }
  }

  /// Sizes of up to `max` chunks that would be better than the best, by ascending ratio; in earnest, those without an
  /// answer, by ascending chunks.
  void tryBetter(std::int64_t max, bool isQuick) {
    std::vector<Size> sizes;
    for (std::int64_t n = 1; n <= max; ++n) {
      const std::int64_t first = std::max<std::int64_t>(m_steps, roundedUp(m_bound * Rational(n)));
      for (std::int64_t rounds = first; rounds <= m_maxRounds && isBetter({m_steps, rounds, n}); ++rounds) {
        const auto known = m_verdicts.find({m_steps, rounds, n});
        if (known == m_verdicts.end() || (!isQuick && known->second == Verdict::unknown)) {
          sizes.push_back({m_steps, rounds, n});
        }
      }
    }
    std::stable_sort(sizes.begin(), sizes.end(),
                     [&](const Size& a, const Size& b) { return isQuick ? ratioOf(a) < ratioOf(b) : a.n < b.n; });
    for (const Size& size : sizes) {
      if (isDone()) {
        return;
      }
      if (isBetter(size)) {
        attempt(size, isQuick);
      }
    }
  }

  Search& m_search;
  int m_steps;
  const std::optional<Rational>& m_below;
  const FrontOptions& m_options;
  Clock::time_point m_deadline;
  const FrontHandlers& m_handlers;
  Rational m_bound;
  std::int64_t m_maxRounds;
  std::optional<Rational> m_min;  ///< that the bound leaves within these rounds; nullopt = none
  std::map<Size, Verdict> m_verdicts;
  std::optional<FrontPoint> m_best;
};

}  // namespace

std::optional<Rational> minRatioWithin(const Rational& bound, std::int64_t steps, std::int64_t maxRounds) {
  if (maxRounds == kAnyRounds || !bound.isPositive()) {
    return bound;
  }
  std::optional<Rational> min;
  for (std::int64_t rounds = steps; rounds <= maxRounds && min != bound; ++rounds) {
    const std::int64_t n = (Rational(rounds) / bound).floor();
    if (n > 0 && (!min || Rational(rounds, n) < *min)) {
      min = Rational(rounds, n);
    }
  }
  return min;
}

Front paretoFront(Search& search, const FrontOptions& options, const FrontHandlers& handlers) {
  Front front;
  front.minSteps = search.minSteps();
  try {
    front.minRatio = search.ratioBound(0, options.deadline);
    handlers.onBound(0, front.minRatio.ratio);
    const int last = options.maxSteps > 0 ? options.maxSteps : search.usualSteps();
    for (int steps = front.minSteps; steps <= last && !front.isComplete; ++steps) {
      if (search.isOver(options.deadline)) {
        front.isCutOff = true;
        break;
      }
      std::optional<Rational> below;
      if (!front.points.empty()) {
        below = ratioOf(front.points.back().size);
        if (const Rational bound = search.ratioBound(steps, options.deadline).ratio; bound >= *below) {
          handlers.onBound(steps, bound);
          continue;
        }
      }
      const auto share = Clock::now() + (options.deadline - Clock::now()) / sharesOfTime(last - steps + 1);
      if (auto point = Level(search, steps, below, options, share, handlers).best()) {
        front.isComplete = ratioOf(point->size) == front.minRatio.ratio;
        front.points.push_back(*std::move(point));
      }
    }
  } catch (const CancelledError&) {
    front.isCutOff = true;
  }
  front.isCutOff = front.isCutOff || (!front.isComplete && search.isOver(options.deadline));
  return front;
}

}  // namespace coppice::synth
