// SPDX-License-Identifier: Apache-2.0
#include "synth/direct.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace coppice::synth {

DirectEncoding::DirectEncoding(const Topology& topology, std::int64_t slots, const RoundBox& box,
                               std::span<const Symmetry> group, SatSolver& solver, EncodingGuard guard)
    : m_topology(topology),
      m_slots(slots),
      m_box(box),
      m_group(group),
      m_solver(solver),
      m_clauses(solver, std::move(guard)),
      m_rounds(topology, box, m_clauses) {
  findOrbits();
  makeVariables();
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    for (int node = 0; node < topology.nodes; ++node) {
      for (int step = 0; step < steps(); ++step) {
        addReceives(slot, node, step);
        for (int origin = 0; origin < topology.nodes; ++origin) {
          if (m_holdOrbit[node * topology.nodes + origin] == node * topology.nodes + origin) {
            addContents(slot, node, origin, step);
          }
        }
      }
    }
  }
  addLimits();
}

std::int64_t DirectEncoding::sizeOf(const Topology& topology, std::int64_t slots, int steps, std::size_t groupSize) {
  const auto nodes = static_cast<std::int64_t>(topology.nodes);
  const auto arcs = static_cast<std::int64_t>(topology.arcs.size());
  const std::int64_t pairs = arcs * arcs / std::max<std::int64_t>(1, nodes);
  return slots * steps * nodes * (20 * arcs + 4 * pairs) /
         static_cast<std::int64_t>(std::max<std::size_t>(1, groupSize));
}

void DirectEncoding::findOrbits() {
  const int nodes = m_topology.nodes;
  m_holdOrbit.resize(static_cast<std::size_t>(nodes) * nodes);
  m_arcOrbit.resize(m_topology.arcs.size());
  m_limitOrbit.resize(m_topology.limits.size());
  for (auto* orbit : {&m_holdOrbit, &m_arcOrbit, &m_limitOrbit}) {
    std::iota(orbit->begin(), orbit->end(), 0);
  }
  for (const Symmetry& each : m_group) {
    for (int node = 0; node < nodes; ++node) {
      for (int origin = 0; origin < nodes; ++origin) {
        int& min = m_holdOrbit[node * nodes + origin];
        min = std::min(min, each.node[node] * nodes + each.node[origin]);
      }
    }
    for (std::size_t arc = 0; arc < m_arcOrbit.size(); ++arc) {
      m_arcOrbit[arc] = std::min(m_arcOrbit[arc], each.arc[arc]);
    }
    for (std::size_t limit = 0; limit < m_limitOrbit.size(); ++limit) {
      m_limitOrbit[limit] = std::min(m_limitOrbit[limit], each.limit[limit]);
    }
  }
}

std::size_t DirectEncoding::holdsIndex(std::int64_t slot, int node, int origin, int step) const {
  const auto orbit = static_cast<std::size_t>(m_holdOrbit[node * m_topology.nodes + origin]);
  return (orbit * m_slots + slot) * (steps() + 1) + step;
}

std::size_t DirectEncoding::sendsIndex(std::int64_t slot, int arc, int step, bool reduces) const {
  const auto orbit = static_cast<std::size_t>(m_arcOrbit[arc]);
  return ((orbit * m_slots + slot) * steps() + step) * 2 + (reduces ? 1 : 0);
}

int DirectEncoding::holds(std::int64_t slot, int node, int origin, int step) const {
  return m_holds[holdsIndex(slot, node, origin, step)];
}

int DirectEncoding::sends(std::int64_t slot, int arc, int step, bool reduces) const {
  return m_sends[sendsIndex(slot, arc, step, reduces)];
}

void DirectEncoding::makeVariables() {
  const int nodes = m_topology.nodes;
  m_holds.assign(m_holdOrbit.size() * m_slots * (steps() + 1), kFalse);
  for (int origin = 0; origin < nodes; ++origin) {
    std::vector<bool> only(nodes, false);
    only[origin] = true;
    const auto distance = distancesFrom(m_topology, only);
    for (int node = 0; node < nodes; ++node) {
      if (m_holdOrbit[node * nodes + origin] != node * nodes + origin) {
        continue;
      }
      for (std::int64_t slot = 0; slot < m_slots; ++slot) {
        for (int step = 0; step <= steps(); ++step) {
          const bool mayHold = distance[node] >= 0 && distance[node] <= step;
          int& literal = m_holds[holdsIndex(slot, node, origin, step)];
          literal = step == steps() ? kTrue
                    : step == 0     ? (node == origin ? kTrue : kFalse)
                    : mayHold       ? m_clauses.fresh()
                                    : kFalse;
          if (step == steps() && !mayHold) {
            m_clauses.add({kFalse});
          }
        }
      }
    }
  }
  m_sends.assign(m_arcOrbit.size() * m_slots * steps() * 2, kFalse);
  for (int arc = 0; arc < static_cast<int>(m_arcOrbit.size()); ++arc) {
    for (std::int64_t slot = 0; m_arcOrbit[arc] == arc && slot < m_slots; ++slot) {
      for (int step = 0; step < steps(); ++step) {
        m_sends[sendsIndex(slot, arc, step, false)] = m_clauses.fresh();
        m_sends[sendsIndex(slot, arc, step, true)] = m_clauses.fresh();
      }
    }
  }
}

/// A store stands alone.
void DirectEncoding::addReceives(std::int64_t slot, int node, int step) {
  const auto& in = m_topology.in[node];
  for (std::size_t i = 0; i < in.size(); ++i) {
    const int copy = sends(slot, in[i], step, false);
    for (std::size_t j = 0; j < in.size(); ++j) {
      m_clauses.add({-copy, -sends(slot, in[j], step, true)});
      if (i < j) {
        m_clauses.add({-copy, -sends(slot, in[j], step, false)});
      }
    }
  }
}

void DirectEncoding::addContents(std::int64_t slot, int node, int origin, int step) {
  const int before = holds(slot, node, origin, step);
  const int after = holds(slot, node, origin, step + 1);
  std::vector<int> kept{-before, after};
  std::vector<int> caused{-after, before};
  const auto& in = m_topology.in[node];
  std::vector<int> added;
  for (const int arc : in) {
    const int there = holds(slot, m_topology.arcs[arc].from, origin, step);
    const int copy = sends(slot, arc, step, false);
    const int reduce = sends(slot, arc, step, true);
    m_clauses.add({-copy, -there, after});
    m_clauses.add({-copy, there, -after});
    kept.push_back(copy);
    caused.push_back(copy);
    int adds = kFalse;
    if (there != kFalse) {
      adds = there == kTrue ? reduce : m_clauses.fresh();
      if (there != kTrue) {
        m_clauses.add({-adds, reduce});
        m_clauses.add({-adds, there});
        m_clauses.add({adds, -reduce, -there});
      }
      m_clauses.add({-adds, after});
      m_clauses.add({-adds, -before});
    }
    for (const int other : added) {
      m_clauses.add({-adds, -other});
    }
    added.push_back(adds);
    caused.push_back(adds);
  }
  m_clauses.add(kept);
  m_clauses.add(caused);
}

void DirectEncoding::addLimits() {
  for (int limit = 0; limit < static_cast<int>(m_topology.limits.size()); ++limit) {
    for (int step = 0; m_limitOrbit[limit] == limit && step < steps(); ++step) {
      std::vector<int> literals;
      for (const int arc : m_topology.limits[limit].arcs) {
        for (std::int64_t slot = 0; slot < m_slots; ++slot) {
          literals.push_back(sends(slot, arc, step, false));
          literals.push_back(sends(slot, arc, step, true));
        }
      }
      m_rounds.addLimit(limit, step, literals, false);
    }
  }
}

DirectSteps DirectEncoding::decode() const {
  DirectSteps result;
  result.rounds = m_rounds.decode(m_solver);
  for (int step = 0; step < steps(); ++step) {
    for (int arc = 0; arc < static_cast<int>(m_topology.arcs.size()); ++arc) {
      for (std::int64_t slot = 0; slot < m_slots; ++slot) {
        for (const bool reduces : {false, true}) {
          if (m_solver.value(sends(slot, arc, step, reduces))) {
            result.messages.push_back({static_cast<int>(slot), arc, step, reduces});
          }
        }
      }
    }
  }
  return result;
}

std::optional<std::string> faultOf(const Topology& topology, std::int64_t slots, const DirectSteps& steps) {
  using Contents = std::vector<bool>;
  std::vector<std::vector<Contents>> now(slots, std::vector<Contents>(topology.nodes, Contents(topology.nodes, false)));
  for (auto& slot : now) {
    for (int node = 0; node < topology.nodes; ++node) {
      slot[node][node] = true;
    }
  }
  std::size_t next = 0;
  for (int step = 0; step < static_cast<int>(steps.rounds.size()); ++step) {
    auto then = now;
    std::vector<std::int64_t> used(topology.limits.size(), 0);
    std::vector<std::vector<int>> written(slots, std::vector<int>(topology.nodes, 0));
    for (; next < steps.messages.size() && steps.messages[next].step == step; ++next) {
      const Message& message = steps.messages[next];
      const LogicalArc& arc = topology.arcs[message.arc];
      for (const int limit : topology.limitsOf[message.arc]) {
        if (++used[limit] > topology.capacity(limit, steps.rounds[step])) {
          return "a link carries too much";
        }
      }
      int& writes = written[message.slot][arc.to];
      if (writes < 0 || (writes > 0 && !message.reduces)) {
        return "a store beside another write";
      }
      writes = message.reduces ? writes + 1 : -1;
      Contents& target = then[message.slot][arc.to];
      const Contents& source = now[message.slot][arc.from];
      for (int origin = 0; origin < topology.nodes; ++origin) {
        if (message.reduces && source[origin] && target[origin]) {
          return "a contribution is added twice";
        }
        target[origin] = message.reduces ? (target[origin] || source[origin]) : source[origin];
      }
    }
    now = std::move(then);
  }
  for (const auto& slot : now) {
    for (const Contents& contents : slot) {
      if (std::find(contents.begin(), contents.end(), false) != contents.end()) {
        return "a contribution is missing";
      }
    }
  }
  return std::nullopt;
}

}  // namespace coppice::synth
