// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "schedule/step_schedule.hpp"
#include "synth/direct.hpp"
#include "synth/search.hpp"

namespace coppice::synth {

/// allreduce as reduce_scatter then allgather, or in one piece.
class AllreduceSearch {
public:
  /// Errors: those of topologyOf and problemOf.
  static Result<AllreduceSearch> make(const fabric::Fabric& fabric, const UnitChoice& unit, std::uint64_t seed,
                                      const TimedProgress& progress);

  struct Answer {
    Verdict verdict = Verdict::unknown;
    std::string reason;
    std::optional<schedule::StepSchedule> schedule;
    bool isBySolver = false;  ///< as in Decision
  };

  /// C slots in S steps and R rounds. Unsat in one piece holds within the class of DirectEncoding, which the reason
  /// says, unless a bound on all allreduces proves it. Throws CancelledError, OverflowError.
  Answer decide(int steps, std::int64_t rounds, std::int64_t chunks, bool isDirectOnly, Clock::time_point deadline) {
    return decide(steps, rounds, chunks, isDirectOnly, deadline, DirectEffort{});
  }
  /// How much of the solver an allreduce in one piece gets.
  struct DirectEffort {
    std::int64_t maxSlots = std::numeric_limits<std::int64_t>::max();
    std::int64_t maxConflicts = std::numeric_limits<std::int64_t>::max();  ///< of one group of symmetries
  };
  Answer decide(int steps, std::int64_t rounds, std::int64_t chunks, bool isDirectOnly, Clock::time_point deadline,
                const DirectEffort& effort);

  struct Fewest {
    std::int64_t chunks = 0;
    std::int64_t rounds = 0;
    Answer answer;
  };
  /// Joins the halves of minimum R/C that were found for their numbers of steps, with up to maxN chunks per rank each.
  /// The first call searches both fronts, for a share of the time. Throws CancelledError.
  std::optional<Fewest> bestHalves(int steps, std::int64_t maxN, Clock::time_point deadline);
  /// Whether there are too many ranks for the solver.
  [[nodiscard]] bool isWide() const { return m_gather->isWide(); }
  /// On such fabrics: the minimum R/C in halves that is found with up to maxN chunks per rank in each half and up to
  /// maxRounds rounds. Throws CancelledError.
  std::optional<Fewest> fewestInHalves(int steps, std::int64_t maxN, std::int64_t maxRounds,
                                       Clock::time_point deadline);

  [[nodiscard]] int ranks() const { return m_fabric->gpuCount(); }
  [[nodiscard]] int minSteps() const { return m_gather->minSteps(); }
  [[nodiscard]] bool isOver(Clock::time_point deadline) const { return m_progress.isOver(deadline); }
  /// Of the halves: the two one after the other.
  [[nodiscard]] int minStepsOfHalves() const { return m_gather->minSteps() + m_scatter->minSteps(); }
  /// Minimum R/C of any allreduce: every slot takes 2 (P - 1) messages (contributions of P ranks reach one only by P -
  /// 1, and from the first complete accumulator P - 1 more must be completed), and each rank must send and receive.
  [[nodiscard]] Rational minRatio() const { return m_minRatio; }
  /// Minimum R/C of any allreduce of this many steps (0 = of any number): what carries the contribution of one rank to
  /// all others is a broadcast from it, and what brings all contributions to one rank is a reduce. The bounds of some
  /// ranks, those of each kind first, as far as the time allows. Throws CancelledError.
  Rational stepsRatio(int steps, Clock::time_point deadline);
  /// Minimum R/C of the halves with this many steps (0 = any number); C counts slots.
  Rational halvesRatio(int steps, Clock::time_point deadline);
  [[nodiscard]] const Bandwidth& unit() const { return m_gather->problem().topology.unit; }

private:
  AllreduceSearch(const fabric::Fabric& fabric, std::uint64_t seed, const TimedProgress& progress)
      : m_fabric(&fabric), m_seed(seed), m_progress(progress) {}
  std::optional<Answer> refused(int steps, std::int64_t rounds, std::int64_t chunks) const;
  std::optional<Answer> refusedByRoots(int steps, std::int64_t rounds, std::int64_t chunks, Clock::time_point deadline);
  void findRoots();
  void findHalves(int maxSteps, Clock::time_point deadline);
  std::optional<Answer> inHalves(int steps, std::int64_t rounds, std::int64_t n, bool isQuick,
                                 Clock::time_point deadline);
  /// Of n chunks per rank, on wide fabrics.
  std::optional<Fewest> fewestOf(int first, int second, std::int64_t n, Clock::time_point deadline);
  std::optional<Answer> joined(const Decision& scatter, const Decision& gather, int first, int second,
                               std::int64_t n) const;
  Answer inOnePiece(int steps, std::int64_t rounds, std::int64_t chunks, Clock::time_point deadline,
                    std::int64_t maxConflicts);
  Answer accept(const DirectSteps& steps, std::int64_t chunks, std::string how) const;
  [[nodiscard]] Rational ratioOfMessages() const;

  const fabric::Fabric* m_fabric;
  std::uint64_t m_seed;
  TimedProgress m_progress;
  std::unique_ptr<Search> m_gather;  ///< allgather
  std::unique_ptr<Search> m_ownScatter;
  Search* m_scatter = nullptr;  ///< reduce_scatter: allgather on the transposed fabric; m_gather where that is the same
  Rational m_minRatio;
  std::vector<std::unique_ptr<Search>> m_roots;  ///< broadcasts from ranks, on both fabrics
  bool m_areRootsKnown = false;
  std::map<int, Rational> m_stepsRatios;
  std::map<int, Size> m_scatterHalves;  ///< by steps: of minimum R/n
  std::map<int, Size> m_gatherHalves;
  int m_halvesSteps = 0;  ///< up to which they were searched
};

}  // namespace coppice::synth
