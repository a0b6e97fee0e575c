// SPDX-License-Identifier: Apache-2.0
#include "z3_oracle.hpp"

#include <string>

#if COPPICE_HAS_Z3
#include <z3++.h>
#endif

namespace oracle {

#if COPPICE_HAS_Z3

namespace {

using coppice::Bandwidth;
using coppice::Rational;

struct Ends {
  int tail = 0;
  int head = 0;
};

z3::expr real(z3::context& context, const Rational& value) {
  return context.real_val(value.toString().c_str());
}

z3::expr sumOf(z3::context& context, const z3::expr_vector& terms) {
  return terms.empty() ? context.real_val(0) : z3::sum(terms);
}

void addBalance(z3::context& context, z3::optimize& program, const std::vector<bool>& isGpu,
                const std::vector<Ends>& arcs, const std::vector<z3::expr>& shares,
                const std::vector<bool>& mayCopy = {}, const std::vector<bool>& maySum = {}) {
  for (std::size_t node = 0; node < isGpu.size(); ++node) {
    z3::expr_vector in(context);
    z3::expr_vector out(context);
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      if (static_cast<std::size_t>(arcs[i].head) == node) {
        in.push_back(shares[i]);
      }
      if (static_cast<std::size_t>(arcs[i].tail) == node) {
        out.push_back(shares[i]);
      }
    }
    if (!isGpu[node] && !(in.empty() && out.empty())) {
      const auto can = [&](const std::vector<bool>& flags) { return !flags.empty() && flags[node]; };
      program.add(can(mayCopy)  ? sumOf(context, in) <= sumOf(context, out)
                  : can(maySum) ? sumOf(context, in) >= sumOf(context, out)
                                : sumOf(context, in) == sumOf(context, out));
    }
  }
}

// in(Q) + supply(Q) >= total supply for every Q with a GPU; reversed: out(Q).
void addCuts(z3::context& context, z3::optimize& program, const std::vector<bool>& isGpu, const std::vector<Ends>& arcs,
             const std::vector<z3::expr>& shares, const std::vector<z3::expr>& supplies, bool reversed) {
  const int nodes = static_cast<int>(isGpu.size());
  for (unsigned set = 1; set < (1U << nodes); ++set) {
    bool someGpu = false;
    z3::expr_vector crossing(context);
    z3::expr_vector outside(context);
    for (int node = 0; node < nodes; ++node) {
      const bool inside = (set >> node & 1U) != 0;
      someGpu = someGpu || (inside && isGpu[node]);
      if (!inside && isGpu[node]) {
        outside.push_back(supplies[node]);
      }
    }
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      const bool tailIn = (set >> arcs[i].tail & 1U) != 0;
      const bool headIn = (set >> arcs[i].head & 1U) != 0;
      if (reversed ? tailIn && !headIn : headIn && !tailIn) {
        crossing.push_back(shares[i]);
      }
    }
    if (someGpu && !outside.empty()) {
      program.add(sumOf(context, crossing) >= z3::sum(outside));
    }
  }
}

std::optional<Rational> maximise(z3::optimize& program, const z3::expr& objective) {
  const auto handle = program.maximize(objective);
  if (program.check() != z3::sat) {
    return std::nullopt;
  }
  const auto parsed = Rational::parse(Z3_get_numeral_string(objective.ctx(), program.lower(handle)));
  return parsed ? std::optional(*parsed) : std::nullopt;
}

std::vector<z3::expr> unknowns(z3::context& context, const std::string& prefix, std::size_t count) {
  std::vector<z3::expr> result;
  for (std::size_t i = 0; i < count; ++i) {
    result.push_back(context.real_const((prefix + std::to_string(i)).c_str()));
  }
  return result;
}

std::vector<Ends> endsOf(const coppice::lp::RateProblem& problem) {
  std::vector<Ends> ends;
  for (const coppice::lp::RateArc& arc : problem.arcs) {
    ends.push_back({arc.tail, arc.head});
  }
  return ends;
}

}  // namespace

bool isAvailable() {
  return true;
}

std::optional<Rational> bestWorth(const coppice::lp::BalanceProblem& problem) {
  z3::context context;
  z3::optimize program(context);
  const auto kept = unknowns(context, "c", problem.arcs.size());
  std::vector<Ends> ends;
  z3::expr worth = context.real_val(0);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    ends.push_back({problem.arcs[i].tail, problem.arcs[i].head});
    program.add(kept[i] >= 0 && kept[i] <= context.real_val(std::to_string(problem.arcs[i].capacity).c_str()));
    worth =
        worth + context.real_val(std::to_string(problem.weights.empty() ? 1 : problem.weights[i]).c_str()) * kept[i];
  }
  std::vector<z3::expr> supplies;
  for (const std::int64_t supply : problem.supplies) {
    supplies.push_back(context.real_val(std::to_string(supply).c_str()));
  }
  addBalance(context, program, problem.isGpu, ends, kept);
  addCuts(context, program, problem.isGpu, ends, kept, supplies, false);
  return maximise(program, worth);
}

Bandwidth bestRate(const coppice::lp::RateProblem& problem) {
  z3::context context;
  z3::optimize program(context);
  const std::vector<Ends> ends = endsOf(problem);
  const auto kept = unknowns(context, "c", ends.size());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    program.add(kept[i] >= 0 && kept[i] <= real(context, problem.arcs[i].bandwidth.gigabytesPerSecond()));
  }
  const z3::expr rate = context.real_const("x");
  std::vector<z3::expr> supplies;
  for (std::size_t node = 0; node < problem.isGpu.size(); ++node) {
    const std::int64_t amount = problem.amounts.empty() ? (problem.isGpu[node] ? 1 : 0) : problem.amounts[node];
    supplies.push_back(rate * context.real_val(std::to_string(amount).c_str()));
  }
  addBalance(context, program, problem.isGpu, ends, kept);
  addCuts(context, program, problem.isGpu, ends, kept, supplies, false);
  return Bandwidth(maximise(program, rate).value());
}

Bandwidth bestAllreduce(const coppice::lp::RateProblem& problem, const Abilities& abilities) {
  z3::context context;
  z3::optimize program(context);
  const std::vector<Ends> ends = endsOf(problem);
  const auto broadcast = unknowns(context, "b", ends.size());
  const auto reduce = unknowns(context, "r", ends.size());
  for (std::size_t i = 0; i < ends.size(); ++i) {
    program.add(broadcast[i] >= 0 && reduce[i] >= 0 &&
                broadcast[i] + reduce[i] <= real(context, problem.arcs[i].bandwidth.gigabytesPerSecond()));
  }
  const auto roots = unknowns(context, "x", problem.isGpu.size());
  z3::expr total = context.real_val(0);
  for (std::size_t node = 0; node < roots.size(); ++node) {
    program.add(problem.isGpu[node] ? roots[node] >= 0 : roots[node] == 0);
    total = total + roots[node];
  }
  addBalance(context, program, problem.isGpu, ends, broadcast, abilities.copy);
  addBalance(context, program, problem.isGpu, ends, reduce, {}, abilities.sum);
  addCuts(context, program, problem.isGpu, ends, broadcast, roots, false);
  addCuts(context, program, problem.isGpu, ends, reduce, roots, true);
  return Bandwidth(maximise(program, total).value());
}

#else

bool isAvailable() {
  return false;
}

std::optional<coppice::Rational> bestWorth(const coppice::lp::BalanceProblem&) {
  return std::nullopt;
}

coppice::Bandwidth bestRate(const coppice::lp::RateProblem&) {
  return {};
}

coppice::Bandwidth bestAllreduce(const coppice::lp::RateProblem&, const Abilities&) {
  return {};
}

#endif

}  // namespace oracle
