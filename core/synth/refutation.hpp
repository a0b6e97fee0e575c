// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iosfwd>
#include <memory>

#include "synth/sccl.hpp"

namespace coppice::synth {

/// That a size has no schedule, as the solver shows it: clauses and proof for checkers that know nothing of schedules.
class Refutation {
public:
  /// Solves the whole instance once more: any rounds in each step, no symmetries. For allreduce, direct schedules
  /// (DirectEncoding). Errors: those of synthesize(); limit (no answer in time, or too many clauses); unavailable (no
  /// solver in this build); infeasible (there is a schedule).
  [[nodiscard]] static Result<Refutation> make(const fabric::Fabric& fabric, const schedule::CollectiveTable& goal,
                                               const StatedSize& size, const SynthesisOptions& options,
                                               const Progress& progress);

  [[nodiscard]] int variables() const { return m_solver->variables(); }
  [[nodiscard]] std::size_t clauses() const { return m_solver->clauses(); }
  /// DIMACS. Errors: io.
  [[nodiscard]] Outcome writeClauses(std::ostream& out) const;
  /// DRAT, as text. Errors: io.
  [[nodiscard]] Outcome writeProof(std::ostream& out) const;

private:
  explicit Refutation(std::unique_ptr<SatSolver> solver) : m_solver(std::move(solver)) {}

  std::unique_ptr<SatSolver> m_solver;
};

}  // namespace coppice::synth
