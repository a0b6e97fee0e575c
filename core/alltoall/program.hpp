// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "alltoall/mixture.hpp"
#include "alltoall/network.hpp"
#include "alltoall/symmetry.hpp"
#include "base/progress.hpp"
#include "lp/program_support.hpp"
#include "lp/simplex.hpp"

namespace coppice::alltoall {

/// maximise   sum over sources of weight * D
/// subject to sum over orbits of C l = sum of C,   D <= uses . l for every tree of the source,   l >= 0
///
/// (C: the capacity of all links of an orbit). Rows are added where the present lengths violate them; the queries lie
/// between the best lengths known and those of the program (in-out separation, Ben-Ameur and Neto 2007).
class Program {
public:
  Program(const Network& network, const SymmetryGroup& group, const Progress& progress);

  /// Until the program is solved, or this much work is done; small programs get a second's at least. Throws
  /// CancelledError.
  void run(lp::Milliseconds budget);

  /// By arc: the best lengths known.
  [[nodiscard]] schedule::ExchangeLengths lengths() const;
  /// What these lengths prove, as boundOf says it: distances from one GPU of each orbit are those of all. nullopt where
  /// they are all 0. Throws OverflowError.
  [[nodiscard]] std::optional<Bandwidth> upper() const;
  /// The best mixture of the trees seen.
  [[nodiscard]] schedule::ExchangeRouting routing();
  /// Of routing(): reaches what the lengths prove. @pre routing() has been called
  [[nodiscard]] bool isExact() const { return m_isExact; }
  [[nodiscard]] std::int64_t rowCount() const { return static_cast<std::int64_t>(m_rows.size()); }

private:
  using Lengths = std::vector<std::int64_t>;  ///< by orbit
  class Cutting;

  /// By arc.
  [[nodiscard]] std::vector<std::int64_t> byArc(const Lengths& lengths) const;
  void askCuts(SharedPaths& paths);
  [[nodiscard]] bool runShared();
  /// Leave rows to mix. The time of their mixture, for capacities and amounts as they are.
  double sharedRounds(SharedPaths& paths);
  /// nullopt where there are too many pools.
  [[nodiscard]] std::optional<double> pooledRounds(SharedPaths& paths);
  struct Pools;
  [[nodiscard]] static Pools poolsOf(const Network& network, const SymmetryGroup& group);
  [[nodiscard]] double mixPools(SharedPaths& paths, const Pools& pools,
                                const std::vector<std::pair<double, Lengths>>& rounds);
  void keepMixed(std::vector<TreeRow> rows);
  void dropMixed();
  /// Of a source, to mix.
  [[nodiscard]] int mostTrees() const;
  /// The time is as good as proved.
  [[nodiscard]] bool isNearly(double time) const;
  std::vector<double> queryShared(SharedPaths& paths, const Lengths& lengths, bool isKept = false);
  /// Of the best lengths, for capacities and amounts as they are.
  [[nodiscard]] double provedRate() const;
  /// True where the lengths are the best so far. @param distances sum over the sources
  bool take(const Lengths& lengths, Int128 distances);
  /// @param keep numbers of the budget that they leave
  void priceRounds(int maxRounds, Int128 keep);
  /// Adds the trees of all sources for these lengths; true where the lengths are the best so far.
  bool query(const Lengths& lengths);
  [[nodiscard]] std::size_t workOfQuery() const;
  /// @param load by orbit, for its capacity
  void spread(const std::vector<double>& load);
  [[nodiscard]] Lengths rounded(const std::vector<double>& lengths) const;
  [[nodiscard]] bool isBetter(Int128 capacity, Int128 distances) const;
  [[nodiscard]] TreeSet tightTrees() const;
  [[nodiscard]] bool mixExactly(schedule::ExchangeRouting& routing);
  /// Weights of all rows, with their sum for each source.
  struct Mixture {
    std::vector<std::int64_t> weights;
    std::int64_t denominator = 1;
  };
  [[nodiscard]] std::optional<Mixture> roundedMixture() const;
  [[nodiscard]] Mixture evenMixture() const;
  [[nodiscard]] double timeOf(const Mixture& mixture) const;
  void addTrees(const std::vector<TreeRow>& rows, const std::vector<std::int64_t>& weights,
                schedule::ExchangeRouting& routing) const;

  const Network& m_network;
  const SymmetryGroup& m_group;
  const Progress& m_progress;
  ShortestPaths m_paths;
  std::vector<std::int64_t> m_capacity;  ///< C by orbit
  std::vector<double> m_second;          ///< by arc: decides between equally long paths
  std::vector<double> m_used;            ///< by orbit: loads of the latest trees
  std::vector<TreeRow> m_rows;
  std::vector<std::size_t> m_priceStart;  ///< by round of prices, its first row
  std::size_t m_evenFirst = 0;            ///< rows of the rounds that are mixed evenly
  std::size_t m_evenLast = 0;             ///< 0: there are none
  std::vector<std::int64_t> m_parts;      ///< of these rows; empty = the same for all
  Lengths m_best;
  Int128 m_bestCapacity = 0;  ///< C . m_best
  Int128 m_bestDistances = 0;
  bool m_isSolved = false;
  bool m_isExact = false;
  std::vector<double> m_multipliers;  ///< by row: of the program as it was solved last, up to a factor
  lp::WorkBudget m_work{lp::Milliseconds(0)};
  lp::StopTest m_stop;  ///< true when m_work is spent, or on cancellation
};

}  // namespace coppice::alltoall
