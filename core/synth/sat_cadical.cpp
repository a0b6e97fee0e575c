// SPDX-License-Identifier: Apache-2.0
#include "synth/sat.hpp"

#if COPPICE_HAS_CADICAL
#include <cadical.hpp>
#endif

#include <algorithm>
#include <limits>

namespace coppice::synth {

#if COPPICE_HAS_CADICAL

struct SatSolver::State : public CaDiCaL::Terminator {
  CaDiCaL::Solver solver;
  const std::function<bool()>* stop = nullptr;

  bool terminate() override { return stop != nullptr && (*stop)(); }
};

bool SatSolver::isAvailable() {
  return true;
}

SatSolver::SatSolver(std::uint64_t seed) : m_state(std::make_unique<State>()) {
  m_state->solver.set("quiet", 1);
  constexpr std::uint64_t kLargestSeed = 2'000'000'000;
  m_state->solver.set("seed", static_cast<int>(seed % kLargestSeed));
  m_state->solver.connect_terminator(m_state.get());
}

SatSolver::~SatSolver() {
  m_state->solver.disconnect_terminator();
}

void SatSolver::add(std::span<const int> clause) {
  for (const int literal : clause) {
    m_state->solver.add(literal);
  }
  m_state->solver.add(0);
  ++m_clauses;
  m_literals += static_cast<std::int64_t>(clause.size());
}

Verdict SatSolver::solve(std::int64_t conflicts, const std::function<bool()>& stop) {
  m_state->stop = &stop;
  if (conflicts > 0) {
    m_state->solver.limit("conflicts",
                          static_cast<int>(std::min<std::int64_t>(conflicts, std::numeric_limits<int>::max())));
  }
  const int result = m_state->solver.solve();
  m_state->stop = nullptr;
  constexpr int kSatisfiable = 10;
  constexpr int kUnsatisfiable = 20;
  return result == kSatisfiable ? Verdict::sat : result == kUnsatisfiable ? Verdict::unsat : Verdict::unknown;
}

bool SatSolver::value(int variable) const {
  return m_state->solver.val(variable) > 0;
}

#else

struct SatSolver::State {};

bool SatSolver::isAvailable() {
  return false;
}

SatSolver::SatSolver(std::uint64_t) {}

SatSolver::~SatSolver() = default;

void SatSolver::add(std::span<const int> clause) {
  ++m_clauses;
  m_literals += static_cast<std::int64_t>(clause.size());
}

Verdict SatSolver::solve(std::int64_t, const std::function<bool()>&) {
  return Verdict::unknown;
}

bool SatSolver::value(int) const {
  return false;
}

#endif

}  // namespace coppice::synth
