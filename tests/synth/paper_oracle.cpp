// SPDX-License-Identifier: Apache-2.0
#include "paper_oracle.hpp"

#include <z3++.h>

#include <string>

namespace paper {

std::optional<bool> isSatisfiable(const Instance& instance, unsigned milliseconds) {
  z3::context context;
  z3::solver solver(context);
  z3::params params(context);
  params.set("timeout", milliseconds);
  solver.set(params);
  const auto number = [&](int value) { return context.int_val(value); };
  const int chunks = static_cast<int>(instance.pre.size());
  const int arcs = static_cast<int>(instance.arcs.size());

  std::vector<std::vector<z3::expr>> time(chunks);
  std::vector<std::vector<z3::expr>> sent(chunks);
  for (int c = 0; c < chunks; ++c) {
    for (int node = 0; node < instance.nodes; ++node) {
      time[c].push_back(context.int_const(("t" + std::to_string(c) + "_" + std::to_string(node)).c_str()));
      solver.add(time[c][node] >= 0 && time[c][node] <= number(instance.steps + 1));
      if (instance.pre[c][node]) {
        solver.add(time[c][node] == 0);  // C1
      } else {
        solver.add(time[c][node] >= 1);
      }
      if (instance.post[c][node]) {
        solver.add(time[c][node] <= number(instance.steps));  // C2
      }
    }
    for (int arc = 0; arc < arcs; ++arc) {
      sent[c].push_back(context.bool_const(("s" + std::to_string(c) + "_" + std::to_string(arc)).c_str()));
      solver.add(
          z3::implies(sent[c][arc], time[c][instance.arcs[arc].first] < time[c][instance.arcs[arc].second]));  // C4
    }
    for (int node = 0; node < instance.nodes; ++node) {
      z3::expr received = number(0);
      for (int arc = 0; arc < arcs; ++arc) {
        if (instance.arcs[arc].second == node) {
          received = received + z3::ite(sent[c][arc], number(1), number(0));
        }
      }
      if (!instance.pre[c][node]) {
        solver.add(z3::implies(time[c][node] <= number(instance.steps), received == 1));  // C3
      }
    }
  }
  z3::expr total = number(0);
  for (int step = 1; step <= instance.steps; ++step) {
    const z3::expr rounds = context.int_const(("r" + std::to_string(step)).c_str());
    solver.add(rounds >= 1);
    total = total + rounds;
    for (const Bandwidth& bandwidth : instance.bandwidths) {
      z3::expr load = number(0);
      for (int c = 0; c < chunks; ++c) {
        for (const int arc : bandwidth.arcs) {
          load =
              load + z3::ite(sent[c][arc] && time[c][instance.arcs[arc].second] == number(step), number(1), number(0));
        }
      }
      solver.add(load <= number(bandwidth.perRound) * rounds);  // C5
    }
  }
  solver.add(total == number(instance.rounds));  // C6
  switch (solver.check()) {
    case z3::sat:
      return true;
    case z3::unsat:
      return false;
    default:
      return std::nullopt;
  }
}

}  // namespace paper
