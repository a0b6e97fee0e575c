// SPDX-License-Identifier: Apache-2.0
#include "synth/refutation.hpp"

#include <functional>
#include <ostream>
#include <utility>

#include "base/checked.hpp"
#include "base/time_limit.hpp"
#include "synth/direct.hpp"
#include "synth/encoding.hpp"
#include "synth/problem.hpp"

namespace coppice::synth {
namespace {

/// Literals: the solver, the clauses kept for the file and the proof, some 5 GB together.
constexpr std::int64_t kMaxLiterals = 80'000'000;

/// All rounds that a size leaves to its steps.
RoundBox anyRounds(const StatedSize& size) {
  const auto steps = static_cast<std::size_t>(size.steps);
  return {std::vector<std::int64_t>(steps, 1), std::vector<std::int64_t>(steps, size.rounds - size.steps + 1),
          size.rounds};
}

/// Errors: those of problemOn and topologyOf.
Result<Verdict> solved(const fabric::Fabric& fabric, const schedule::CollectiveTable& goal, const StatedSize& size,
                       const UnitChoice& unit, const std::function<bool()>& stop, SatSolver& solver) {
  const RoundBox box = anyRounds(size);
  const EncodingGuard guard{stop, kMaxLiterals};
  if (goal.collective() == Collective::allreduce) {
    const auto topology = topologyOf(fabric, unit);
    if (!topology) {
      return topology.error();
    }
    const DirectEncoding encoding(*topology, size.chunks, box, {}, solver, guard);
    return solver.solve(0, stop);
  }
  const auto problem = problemOn(fabric, goal, unit);
  if (!problem) {
    return problem.error();
  }
  const Encoding encoding(*problem, size.chunks / problem->divisor, box, {}, solver, guard);
  return solver.solve(0, stop);
}

}  // namespace

Result<Refutation> Refutation::make(const fabric::Fabric& fabric, const schedule::CollectiveTable& goal,
                                    const StatedSize& size, const SynthesisOptions& options, const Progress& progress) {
  if (auto error = checkSize(goal, size)) {
    return *std::move(error);
  }
  if (!SatSolver::isAvailable()) {
    return Error{ErrorCode::unavailable, "this build has no CaDiCaL, which writes proofs",
                 "build with libcadical-dev installed"};
  }
  if (size.rounds < size.steps) {
    return Error{ErrorCode::badUsage, "Every step takes at least one round, so there is nothing to solve",
                 "give at least " + std::to_string(size.steps) + " rounds"};
  }
  const TimeLimit limit(progress, options.seconds);
  const std::function<bool()> stop = [token = limit.token()] { return token.stop_requested(); };
  auto solver = std::make_unique<SatSolver>(options.seed, SatSolver::Trace::proof);
  try {
    const auto verdict = solved(fabric, goal, size, options.unit, stop, *solver);
    if (!verdict) {
      return verdict.error();
    }
    if (*verdict == Verdict::unsat) {
      return Refutation(std::move(solver));
    }
    if (*verdict == Verdict::sat) {
      return Error{ErrorCode::infeasible, "this size has a schedule, so nothing refutes it", "leave --proof out"};
    }
  } catch (const EncodingStopped& stopped) {
    if (stopped.isTooLarge) {
      return Error{ErrorCode::limit, "the clauses of this size are too many for a proof", "choose fewer chunks"};
    }
  } catch (const OverflowError& error) {
    return Error{ErrorCode::overflow, error.what(), "use numbers with fewer digits, or a larger unit"};
  }
  return progress.isCancelled()
             ? Error{ErrorCode::cancelled, "interrupted"}
             : Error{ErrorCode::limit, "the proof was not complete within the time limit", "raise --time-limit"};
}

Outcome Refutation::writeClauses(std::ostream& out) const {
  return m_solver->writeClauses(out);
}

Outcome Refutation::writeProof(std::ostream& out) const {
  return m_solver->writeProof(out);
}

}  // namespace coppice::synth
