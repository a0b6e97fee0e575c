// SPDX-License-Identifier: Apache-2.0
#include "synth/sat.hpp"

#if COPPICE_HAS_CADICAL
#include <cadical.hpp>
#endif

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <functional>
#include <limits>
#include <ostream>

namespace coppice::synth {

void SatSolver::add(std::span<const int> clause) {
  pass(clause);
  ++m_clauses;
  m_literals += static_cast<std::int64_t>(clause.size());
  if (m_isTraced) {
    m_added.insert(m_added.end(), clause.begin(), clause.end());
    m_added.push_back(0);
  }
}

Outcome SatSolver::writeClauses(std::ostream& out) const {
  out << "p cnf " << m_variables << ' ' << m_clauses << '\n';
  for (const int literal : m_added) {
    out << literal << (literal == 0 ? '\n' : ' ');
  }
  return out ? Outcome(Done{}) : Error{ErrorCode::io, "the clauses cannot be written"};
}

#if COPPICE_HAS_CADICAL

struct SatSolver::State : public CaDiCaL::Terminator {
  std::FILE* proof = nullptr;  ///< temporary; outlives the solver, which writes to it
  CaDiCaL::Solver solver;
  const std::function<bool()>* stop = nullptr;  ///< while it solves
  std::exception_ptr error;                     ///< of `stop`: CaDiCaL is not unwound

  ~State() override {
    solver.disconnect_terminator();
    if (proof != nullptr) {
      solver.close_proof_trace();
      std::fclose(proof);
    }
  }

  bool terminate() override {
    try {
      return error || (stop != nullptr && (*stop)());
    } catch (...) {
      error = std::current_exception();
      return true;
    }
  }
};

bool SatSolver::isAvailable() {
  return true;
}

SatSolver::SatSolver(std::uint64_t seed, Trace trace)
    : m_state(std::make_unique<State>()), m_isTraced(trace == Trace::proof) {
  m_state->solver.set("quiet", 1);
  if (m_isTraced) {
    m_state->proof = std::tmpfile();
    m_state->solver.set("binary", 0);
    if (m_state->proof != nullptr) {
      m_state->solver.trace_proof(m_state->proof, "proof");
    }
  }
  constexpr std::uint64_t kLargestSeed = 2'000'000'000;
  m_state->solver.set("seed", static_cast<int>(seed % kLargestSeed));
  m_state->solver.connect_terminator(m_state.get());
}

SatSolver::~SatSolver() = default;

void SatSolver::pass(std::span<const int> clause) {
  for (const int literal : clause) {
    m_state->solver.add(literal);
  }
  m_state->solver.add(0);
}

Verdict SatSolver::solve(std::int64_t conflicts, const std::function<bool()>& stop) {
  if (stop()) {
    return Verdict::unknown;
  }
  State& state = *m_state;
  if (conflicts > 0) {
    state.solver.limit("conflicts",
                       static_cast<int>(std::min<std::int64_t>(conflicts, std::numeric_limits<int>::max())));
  }
  state.stop = &stop;
  const int result = state.solver.solve();
  state.stop = nullptr;
  if (state.error) {
    std::rethrow_exception(std::exchange(state.error, nullptr));
  }
  constexpr int kSatisfiable = 10;
  constexpr int kUnsatisfiable = 20;
  return result == kSatisfiable ? Verdict::sat : result == kUnsatisfiable ? Verdict::unsat : Verdict::unknown;
}

bool SatSolver::value(int variable) const {
  return m_state->solver.val(variable) > 0;
}

Outcome SatSolver::writeProof(std::ostream& out) const {
  std::FILE* proof = m_state->proof;
  if (proof != nullptr) {
    m_state->solver.flush_proof_trace();
    std::fflush(proof);
    std::rewind(proof);
    constexpr std::size_t kPart = 1 << 16;
    std::array<char, kPart> part{};
    for (std::size_t count = std::fread(part.data(), 1, part.size(), proof); count > 0;
         count = std::fread(part.data(), 1, part.size(), proof)) {
      out.write(part.data(), static_cast<std::streamsize>(count));
    }
    std::fseek(proof, 0, SEEK_END);
  }
  if (proof == nullptr || std::ferror(proof) != 0 || !out) {
    return Error{ErrorCode::io, "the proof cannot be written", "make space on the disk, and in the temporary folder"};
  }
  return Done{};
}

#else

struct SatSolver::State {};

bool SatSolver::isAvailable() {
  return false;
}

SatSolver::SatSolver(std::uint64_t, Trace trace) : m_isTraced(trace == Trace::proof) {}

SatSolver::~SatSolver() = default;

void SatSolver::pass(std::span<const int>) {}

Outcome SatSolver::writeProof(std::ostream&) const {
  return Error{ErrorCode::unavailable, "this build has no CaDiCaL, which writes proofs"};
}

Verdict SatSolver::solve(std::int64_t, const std::function<bool()>&) {
  return Verdict::unknown;
}

bool SatSolver::value(int) const {
  return false;
}

#endif

}  // namespace coppice::synth
