// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "synth/boxes.hpp"
#include "synth/encoding.hpp"
#include "synth/problem.hpp"
#include "synth/relaxation.hpp"
#include "synth/sat.hpp"
#include "synth/symmetry.hpp"
#include "synth/timed_progress.hpp"

namespace coppice::synth {

using Clock = std::chrono::steady_clock;

/// Steps, rounds and chunks of each class.
struct Size {
  int steps = 0;
  std::int64_t rounds = 0;
  std::int64_t n = 0;

  friend auto operator<=>(const Size&, const Size&) = default;
};

struct Decision {
  Verdict verdict = Verdict::unknown;
  std::string reason;          ///< what proves it, in one sentence
  std::optional<Steps> found;  ///< where sat; pruned and played
  bool isBySolver = false;     ///< unsat: the solver says so, else a bound or a flow
};

/// What proves a bound: counting what ranks send and receive, a cut of the fabric, or the linear program over time.
enum class BoundSource { counting, cut, program };

/// A lower bound on rounds per chunk.
struct RatioBound {
  Rational ratio;        ///< minimum R / n, in chunks of each class
  bool isTight = false;  ///< the relaxation reaches it
  BoundSource source = BoundSource::counting;
  std::vector<double> plan = {};  ///< rounds of each step per chunk, as the linear program chose them; a guide only
};

/// Makes schedules of a problem from those of smaller ones, for some numbers of chunks.
class Composer {
public:
  virtual ~Composer() = default;
  /// The numbers of chunks of each class that it serves are the multiples of this one, up to `maxChunks`.
  [[nodiscard]] virtual std::int64_t unit() const = 0;
  [[nodiscard]] virtual std::int64_t maxChunks() const = 0;
  /// The fewest rounds that it finds; nullopt where the steps do not suffice. Throws CancelledError.
  virtual std::optional<std::int64_t> rounds(int steps, std::int64_t n) = 0;
  virtual std::optional<Steps> schedule(int steps, std::int64_t n) = 0;
  [[nodiscard]] virtual std::string how() const = 0;
};
/// nullptr where the problem does not fall apart. What it prepares may take this long. Throws CancelledError.
using ComposerMaker = std::function<std::unique_ptr<Composer>(const Problem&, const Boxes&, double seconds)>;

/// Decides instances of one problem and keeps what it learns. Everything it says is unsat is proved: by exact integer
/// arithmetic on linear programs, by counting, by maximum flow, or by the solver on the whole instance.
class Search {
public:
  /// @param makeComposer used on fabrics of equal boxes; may be empty
  Search(Problem problem, std::uint64_t seed, const TimedProgress& progress, ComposerMaker makeComposer = {});

  /// Problems of more ranks are out of a solver's reach.
  static constexpr int kMaxOfSolver = 32;

  [[nodiscard]] const Problem& problem() const { return m_problem; }
  [[nodiscard]] int minSteps() const { return m_minSteps; }
  [[nodiscard]] bool isOver(Clock::time_point deadline) const { return m_progress.isOver(deadline); }
  [[nodiscard]] const std::vector<Symmetry>& generators() const { return m_generators; }

  /// Minimum R / n of schedules of this many steps; 0 steps = of any number. nullopt: nothing is sent at all. The
  /// linear program gets as much time as there is until the deadline, but no more than a fixed share.
  RatioBound ratioBound(int steps, Clock::time_point deadline);

  /// What the links of one rank carry, over what it must send or receive: a bound on R / n that costs nothing.
  [[nodiscard]] Rational simpleRatio() const;

  /// Throws CancelledError, OverflowError.
  Decision decide(const Size& size, Clock::time_point deadline);
  /// As decide(), but of quick means only: what is known, bounds, flows, pull and a few conflicts.
  Decision decideQuickly(const Size& size, Clock::time_point deadline);

  /// Whether there are too many ranks for the solver: decide() then tries other means first, for longer.
  [[nodiscard]] bool isWide() const { return m_problem.topology.nodes > kMaxOfSolver; }
  struct Fewest {
    Size size;
    Decision decision;
  };
  /// The fewest rounds, maxRounds at most, that the composer finds for minN to maxN chunks of each class, by R / n;
  /// nullopt where there is none. Throws CancelledError.
  std::optional<Fewest> fewestComposed(int steps, std::int64_t minN, std::int64_t maxN, std::int64_t maxRounds,
                                       Clock::time_point deadline);
  /// Those that local search over trees, or on many ranks where trees do not apply pull in the quotient, finds for n
  /// chunks, if fewer than `below`. Throws CancelledError.
  std::optional<Fewest> fewestByTries(int steps, std::int64_t n, std::optional<std::int64_t> below,
                                      Clock::time_point deadline);
  /// What a search without proofs is to find, and how much of it.
  struct TryGoal {
    int steps = 0;
    std::int64_t n = 1;
    std::int64_t min = 0;                  ///< rounds that end the search: no fewer are possible, or no fewer needed
    std::optional<std::int64_t> max = {};  ///< rounds that are worth finding; absent = any
    std::vector<double> plan = {};         ///< rounds of each step per chunk, of the relaxation; empty = even
    std::int64_t work = 0;                 ///< in the units of TreeSearch or QuotientPull
  };
  struct Tried {
    Steps steps;
    std::int64_t rounds = 0;
    std::string how;
  };
  /// Local search over trees from several spreads of the rounds over the steps, in the quotient by groups of symmetries
  /// and without. nullopt where trees do not apply, or nothing is found within goal.max. Equal seeds give equal answers
  /// as long as `stop` does not end it. Throws CancelledError.
  std::optional<Tried> trees(const TryGoal& goal, const std::function<bool()>& stop);
  /// Restarts with rounds that differ a little from those of the best so far; the rest as trees(). Always applies.
  std::optional<Tried> pulls(const TryGoal& goal, const std::function<bool()>& stop);
  /// Steps after which more of them help little: what the front searches by default.
  [[nodiscard]] int usualSteps() const;

  /// All sizes found so far.
  [[nodiscard]] const std::map<Size, Steps>& found() const { return m_found; }

private:
  /// Choices of rounds per step that the bounds leave open.
  struct RoundChoices {
    std::vector<std::vector<std::int64_t>> open;
    bool isComplete = false;  ///< all that are open are listed
  };
  struct Effort {
    bool isQuick = false;
    bool mayUseFewerSteps = true;
    Clock::time_point deadline;
  };
  /// One way to decide a size; `unknown` and nullopt leave it to the next.
  struct Way {
    bool applies = true;
    std::int64_t budget = 0;  ///< tries, work or conflicts
    std::function<std::optional<Decision>(std::int64_t budget)> run;
  };
  class Attempts;
  /// Choices of rounds that are tried one by one; with more, the solver chooses them.
  static constexpr std::size_t kMaxChoices = 6;
  /// Work of local search over trees: some seconds, or tenths of one.
  static constexpr std::int64_t kTreeWork = 400'000'000;
  static constexpr std::int64_t kQuickTreeWork = 10'000'000;
  /// The same of pull in the quotient.
  static constexpr std::int64_t kPullWork = 20'000'000'000;
  static constexpr std::int64_t kQuickPullWork = 500'000'000;

  Decision decide(const Size& size, const Effort& effort);
  static Decision firstAnswer(std::span<const Way> ways);
  [[nodiscard]] std::optional<Decision> refusedByCounting(const Size& size) const;
  std::optional<Decision> refusedByProgram(const Size& size, Clock::time_point deadline);
  Decision refuted(const Size& size, const std::string& reason, bool isBySolver = false);
  RatioBound coarseBound(int steps, RatioBound known, Clock::time_point deadline);
  std::optional<Decision> fromKnown(const Size& size, const std::function<bool()>& stop);
  std::optional<Decision> fromFewerSteps(const Size& size, const Effort& effort);
  Decision byFlow(const Size& size, const Effort& effort);
  std::optional<Decision> byComposer(const Size& size, const Effort& effort);
  /// On the links between equal places of boxes (NarrowProblem), for a share of the time left.
  std::optional<Decision> byNarrow(const Size& size, std::int64_t share, const Effort& effort);
  std::optional<Decision> byTrees(const Size& size, std::int64_t work, const Effort& effort);
  std::optional<Decision> byQuotientPull(const Size& size, std::int64_t work, const Effort& effort);
  std::optional<Decision> accept(const Size& size, std::optional<Tried> found);
  [[nodiscard]] TryGoal goalOf(const Size& size, std::int64_t work, Clock::time_point deadline);
  const std::vector<std::vector<Symmetry>>& treeGroups();
  /// Prepared at the first call; nullptr where there is none.
  Composer* composer(Clock::time_point deadline);
  /// @param rounds choices to try in turn; empty = spread evenly
  std::optional<Decision> byPull(const Size& size, const std::vector<std::vector<std::int64_t>>& rounds, int maxTries,
                                 const Effort& effort);
  Decision bySat(const Size& size, const RoundChoices& choices, std::int64_t maxConflicts, const Effort& effort);
  RoundChoices roundChoices(const Size& size, std::size_t max,
                            const std::function<bool(const std::vector<std::int64_t>&)>& visit,
                            Clock::time_point deadline);
  Decision accept(const Size& size, Steps steps, std::string how);
  [[nodiscard]] std::string counted(const Size& size) const;
  [[nodiscard]] Rational countedRatio(const Rational& ratio) const { return ratio / Rational(m_problem.divisor); }
  [[nodiscard]] std::function<bool()> stopAt(Clock::time_point deadline) const;
  const std::vector<std::vector<Symmetry>>& groups();
  const std::vector<int>& orbits();

  Problem m_problem;
  std::uint64_t m_seed;
  TimedProgress m_progress;
  int m_minSteps;
  std::optional<Boxes> m_boxes;
  std::vector<Symmetry> m_generators;
  std::optional<std::vector<std::vector<Symmetry>>> m_groups;  ///< for the solver
  std::optional<std::vector<int>> m_orbits;                    ///< of arcs, for the relaxation
  std::optional<Problem> m_coarse;                             ///< see coarse()
  std::vector<Symmetry> m_coarseGenerators;
  std::vector<int> m_coarseOrbits;
  ComposerMaker m_makeComposer;
  std::unique_ptr<Composer> m_composer;
  bool m_isNarrowKnown = false;
  std::vector<int> m_narrowArcs;                                   ///< of this problem, by arc of the narrow one
  std::unique_ptr<Search> m_narrow;                                ///< nullptr where there is none
  std::optional<std::vector<std::vector<Symmetry>>> m_treeGroups;  ///< the largest first; the last one is empty
  mutable std::optional<Rational> m_simpleRatio;
  std::map<int, RatioBound> m_bounds;
  std::map<Size, Steps> m_found;
  struct Refuted {
    std::string reason;
    bool isBySolver = false;
  };
  std::map<Size, Refuted> m_refuted;
};

}  // namespace coppice::synth
