// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace coppice::synth {

enum class Verdict { sat, unsat, unknown };

/// A satisfiability solver behind one file (sat_cadical.cpp). Literals are numbers from 1, negative = negated.
class SatSolver {
public:
  /// False in a build without CaDiCaL; solve() then always answers unknown.
  [[nodiscard]] static bool isAvailable();

  /// What is kept for checkers.
  enum class Trace { nothing, proof };

  explicit SatSolver(std::uint64_t seed, Trace trace = Trace::nothing);
  ~SatSolver();
  SatSolver(const SatSolver&) = delete;
  SatSolver& operator=(const SatSolver&) = delete;

  [[nodiscard]] int newVariable() { return ++m_variables; }
  [[nodiscard]] int variables() const { return m_variables; }
  [[nodiscard]] std::size_t clauses() const { return m_clauses; }
  /// Of all clauses together.
  [[nodiscard]] std::int64_t literals() const { return m_literals; }
  void add(std::span<const int> clause);
  void add(std::initializer_list<int> clause) { add(std::span(clause.begin(), clause.size())); }
  /// unknown after `conflicts` (0 = no limit) or when `stop` says so, which is asked again and again while it solves; a
  /// solver that collects its garbage may take a second to hear it. May be called again to continue.
  Verdict solve(std::int64_t conflicts, const std::function<bool()>& stop);
  /// After sat. @pre variable > 0
  [[nodiscard]] bool value(int variable) const;

  /// All that was added, in DIMACS. @pre made with Trace::proof  Errors: io
  [[nodiscard]] Outcome writeClauses(std::ostream& out) const;
  /// After unsat: the DRAT proof, as text. @pre made with Trace::proof  Errors: io, with a full disk for example
  [[nodiscard]] Outcome writeProof(std::ostream& out) const;

private:
  struct State;
  /// To the solver itself.
  void pass(std::span<const int> clause);

  std::unique_ptr<State> m_state;
  int m_variables = 0;
  std::size_t m_clauses = 0;
  std::int64_t m_literals = 0;
  bool m_isTraced;
  std::vector<int> m_added;  ///< where it is traced: clauses, each with 0 at its end
};

/// What an encoding writes: clauses with constants folded. kTrue and kFalse are not solver literals.
inline constexpr int kTrue = std::numeric_limits<int>::max();
inline constexpr int kFalse = -kTrue;

/// What ends the writing of clauses before they are complete.
struct EncodingGuard {
  std::function<bool()> stop = {};  ///< empty = never
  std::int64_t maxLiterals = std::numeric_limits<std::int64_t>::max();
};

/// Thrown while clauses are written.
struct EncodingStopped {
  bool isTooLarge = false;  ///< more than maxLiterals; else stop() said so
};

/// All members that add clauses throw EncodingStopped.
class Clauses {
public:
  explicit Clauses(SatSolver& solver, EncodingGuard guard = {}) : m_solver(solver), m_guard(std::move(guard)) {}
  [[nodiscard]] int fresh() { return m_solver.newVariable(); }
  /// Drops false literals; a true one makes the clause hold.
  void add(std::initializer_list<int> clause);
  void add(const std::vector<int>& clause);
  /// Outputs o[k] for k = 0 .. most: at least k + 1 of the literals are true implies o[k]; with `both`, the converse
  /// holds as well. Constants are counted.
  [[nodiscard]] std::vector<int> counts(const std::vector<int>& literals, std::int64_t max, bool both);

private:
  std::vector<int> merged(const std::vector<int>& a, const std::vector<int>& b, std::int64_t max, bool both);
  void pass();

  SatSolver& m_solver;
  EncodingGuard m_guard;
  std::vector<int> m_buffer;
};

}  // namespace coppice::synth
