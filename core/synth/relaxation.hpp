// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/progress.hpp"
#include "base/rational.hpp"
#include "lp/modular.hpp"
#include "lp/simplex.hpp"
#include "synth/problem.hpp"
#include "synth/symmetry.hpp"

namespace coppice::synth {

/// An upper bound on chunks per class that exact arithmetic proves.
struct ProvedBound {
  Rational chunks;
  /// The relaxation reaches it: no better bound follows from flows and limits.
  bool isTight = false;
};

/// By group and arc: the minimum of its equals under the symmetries. The same for programs of any number of steps.
/// Throws CancelledError.
[[nodiscard]] std::vector<int> orbitsOfArcs(const Problem& problem, std::span<const Symmetry> symmetries,
                                            const Progress& progress);

/// The linear program behind all bounds. Chunks become flows over time: per group of classes g[arc, step] sends, at
/// most perRound * r of them over each limit in a step of r rounds, and each requirement of the group must fit through
/// them (a maximum flow in the fabric unrolled over the steps, with storage at the ranks). Chunks that go to several
/// ranks may share sends, so g counts them once. Maximises the chunks per class. The requirements are kept by cuts that
/// are added as they are found violated; averaging over symmetries leaves one column per orbit.
///
/// The bound is read off the dual multipliers of the program in exact arithmetic (lp::Simplex::provedBound): it holds
/// whatever the floating-point part did, and with any subset of the cuts.
class Relaxation {
public:
  /// @param orbits of orbitsOfArcs(), which must outlive this
  /// @param steps 0: no steps, so that a chunk may pass any number of arcs in the same round (the limit of many steps)
  /// Throws CancelledError.
  Relaxation(const Problem& problem, std::span<const Symmetry> symmetries, const std::vector<int>& orbits, int steps,
             std::int64_t rounds, const Progress& progress);

  /// False where the program is too large for the dense simplex; nothing else may then be called.
  [[nodiscard]] bool isUsable() const { return m_isUsable; }

  void setRounds(int step, std::int64_t min, std::int64_t max);
  /// nullopt: stopped, or no exact bound was found. Stops early once the bound is below `enough`. Throws OverflowError,
  /// CancelledError.
  std::optional<ProvedBound> solve(const Rational& enough, const lp::StopTest& stop, const Progress& progress);
  /// Rounds of a step at the last solution.
  [[nodiscard]] double rounds(int step) const { return m_simplex->value(1 + step); }

private:
  void makeColumns(const Progress& progress);
  void makeRows(const Progress& progress);
  void chooseRequirements(const Progress& progress);
  [[nodiscard]] int columnOf(int group, int arc, int step) const;
  [[nodiscard]] int layers() const { return m_steps == 0 ? 1 : m_steps; }
  [[nodiscard]] int nodeAt(int node, int layer) const {
    return m_steps == 0 ? node : layer * m_problem.topology.nodes + node;
  }
  /// Whether cuts were added; nullopt = stopped.
  std::optional<bool> addCuts(const std::function<std::int64_t(int)>& valueOf, std::int64_t chunks,
                              std::int64_t tolerance, const lp::StopTest& stop);
  bool addCut(const Requirement& requirement, const std::vector<bool>& side);
  [[nodiscard]] std::optional<Rational> provedNow(const lp::StopTest& stop) const;
  std::optional<bool> addFloatingCuts(const lp::StopTest& stop);
  /// nullopt also where the point is not exact.
  std::optional<bool> addExactCuts(const lp::StopTest& stop);

  const Problem& m_problem;
  std::span<const Symmetry> m_symmetries;
  int m_steps;
  std::int64_t m_rounds;
  bool m_isUsable = true;
  Rational m_largest;                 ///< bound on chunks per class before any cut
  const std::vector<int>& m_orbitOf;  ///< by group and arc
  std::vector<int> m_firstColumn;     ///< by orbit: where its steps begin in m_columns; -1 = all are useless
  std::vector<int> m_columns;         ///< by step; -1 = useless
  int m_columnCount = 0;
  std::vector<int> m_requirements;  ///< one of each orbit
  std::vector<lp::Column> m_data;
  std::optional<lp::Simplex> m_simplex;
  std::vector<std::vector<lp::Term>> m_cuts;  ///< to refuse repeats
};

}  // namespace coppice::synth
