// SPDX-License-Identifier: Apache-2.0
#include "lp/integer_program.hpp"

#if COPPICE_HAS_Z3
#include <z3++.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <stop_token>
#include <thread>
#endif

namespace coppice::lp {

#if COPPICE_HAS_Z3

namespace {

constexpr unsigned kMaxMegabytes = 2048;
/// What one of Z3's units of work counts for; it does some 4 million of them in a second.
constexpr std::int64_t kNumbersPerUnit = 600;

/// Z3's count of its work.
std::uint64_t unitsSpent(const z3::solver& solver) {
  const z3::stats stats = solver.statistics();
  for (unsigned i = 0; i < stats.size(); ++i) {
    if (stats.key(i) == "rlimit count") {
      return stats.is_uint(i) ? stats.uint_value(i) : static_cast<std::uint64_t>(stats.double_value(i));
    }
  }
  return 0;
}

// Interrupts Z3 again and again once cancelled: an interrupt that comes before Z3 has begun its search is lost.
class Interrupter {
public:
  Interrupter(z3::context& context, const Progress& progress)
      : m_thread([this, &context, &progress](const std::stop_token& done) {
          std::unique_lock lock(m_mutex);
          while (
              !m_wake.wait_for(lock, done, std::chrono::milliseconds(20), [&done] { return done.stop_requested(); })) {
            if (progress.isCancelled()) {
              context.interrupt();
            }
          }
        }) {}

private:
  std::mutex m_mutex;
  std::condition_variable_any m_wake;
  std::jthread m_thread;
};

}  // namespace

bool hasIntegerProgram() {
  return true;
}

IntegerAnswer solveInteger(const std::vector<Column>& columns, const std::vector<Row>& rows, WorkBudget& budget,
                           const Progress& progress) {
  throwIfCancelled(progress);
  if (budget.isSpent()) {
    return {IntegerStatus::undecided, {}, "no work left for the integer program"};
  }
  // The limit is of 32 bits, and 0 means none.
  const auto limit = static_cast<unsigned>(
      std::clamp<Int128>(budget.left() / kNumbersPerUnit, 1, std::numeric_limits<unsigned>::max()));
  try {
    z3::context context;
    z3::solver solver(context, "QF_LIA");
    z3::params params(context);
    params.set("rlimit", limit);
    params.set("max_memory", kMaxMegabytes);
    solver.set(params);
    std::vector<z3::expr> unknowns;
    unknowns.reserve(columns.size());
    for (std::size_t j = 0; j < columns.size(); ++j) {
      unknowns.push_back(context.int_const(("c" + std::to_string(j)).c_str()));
      solver.add(unknowns.back() >= context.int_val(columns[j].lower));
      solver.add(unknowns.back() <= context.int_val(columns[j].upper));
    }
    for (const Row& row : rows) {
      z3::expr_vector terms(context);
      for (const Term& term : row.terms) {
        terms.push_back(context.int_val(term.coefficient) * unknowns[term.column]);
      }
      const z3::expr sum = terms.empty() ? context.int_val(0) : z3::sum(terms);
      if (row.lower) {
        solver.add(sum >= context.int_val(*row.lower));
      }
      if (row.upper) {
        solver.add(sum <= context.int_val(*row.upper));
      }
    }
    z3::check_result result = z3::unknown;
    {
      const Interrupter interrupter(context, progress);
      result = solver.check();
    }
    throwIfCancelled(progress);
    budget.spend(static_cast<std::size_t>(unitsSpent(solver)) * kNumbersPerUnit);
    if (result == z3::unsat) {
      return {IntegerStatus::impossible, {}, "the integer program over the cuts found has no solution (Z3)"};
    }
    if (result == z3::unknown) {
      return {IntegerStatus::undecided, {}, "Z3 did not decide within the budget of work"};
    }
    IntegerAnswer answer{IntegerStatus::found, {}, "integer program (Z3)"};
    const z3::model model = solver.get_model();
    for (const z3::expr& unknown : unknowns) {
      std::int64_t value = 0;
      if (!model.eval(unknown, true).is_numeral_i64(value)) {
        return {IntegerStatus::undecided, {}, "Z3 gave a value outside 64 bits"};
      }
      answer.values.push_back(value);
    }
    return answer;
  } catch (const z3::exception& error) {
    throwIfCancelled(progress);
    return {IntegerStatus::undecided, {}, std::string("Z3 failed: ") + error.msg()};
  }
}

#else

bool hasIntegerProgram() {
  return false;
}

IntegerAnswer solveInteger(const std::vector<Column>&, const std::vector<Row>&, WorkBudget&, const Progress&) {
  return {IntegerStatus::undecided, {}, "this build has no Z3 for the integer program"};
}

#endif

}  // namespace coppice::lp
