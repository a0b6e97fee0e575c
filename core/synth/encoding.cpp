// SPDX-License-Identifier: Apache-2.0
#include "synth/encoding.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace coppice::synth {

Encoding::Encoding(const Problem& problem, std::int64_t n, const RoundBox& box, std::span<const Symmetry> group,
                   SatSolver& solver, EncodingGuard guard)
    : m_problem(problem),
      m_topology(problem.topology),
      m_n(n),
      m_box(box),
      m_group(group),
      m_solver(solver),
      m_clauses(solver, std::move(guard)),
      m_rounds(problem.topology, box, m_clauses) {
  findOrbits();
  makeHaves();
  makeSends();
  addLimits();
}

std::int64_t Encoding::sizeOf(const Problem& problem, std::int64_t n, int steps, std::size_t groupSize) {
  const auto perStep = static_cast<std::int64_t>(problem.topology.arcs.size() * 4 + problem.topology.nodes);
  const auto classes = static_cast<std::int64_t>(problem.classes.size());
  return classes * n * steps * perStep / static_cast<std::int64_t>(std::max<std::size_t>(1, groupSize));
}

void Encoding::findOrbits() {
  const int classes = static_cast<int>(m_problem.classes.size());
  const int arcs = static_cast<int>(m_topology.arcs.size());
  const auto numbers = [](int count) {
    std::vector<int> all(count);
    std::iota(all.begin(), all.end(), 0);
    return all;
  };
  m_haveOrbit = numbers(classes * m_topology.nodes);
  m_sendOrbit = numbers(classes * arcs);
  m_limitOrbit = numbers(static_cast<int>(m_topology.limits.size()));
  m_nodeOrbit = numbers(m_topology.nodes);
  // The group is complete, so the smallest image over its elements is the minimum of the orbit.
  for (const Symmetry& each : m_group) {
    for (int c = 0; c < classes; ++c) {
      for (int node = 0; node < m_topology.nodes; ++node) {
        int& min = m_haveOrbit[c * m_topology.nodes + node];
        min = std::min(min, each.chunkClass[c] * m_topology.nodes + each.node[node]);
      }
      for (int arc = 0; arc < arcs; ++arc) {
        int& min = m_sendOrbit[c * arcs + arc];
        min = std::min(min, each.chunkClass[c] * arcs + each.arc[arc]);
      }
    }
    for (std::size_t limit = 0; limit < m_limitOrbit.size(); ++limit) {
      m_limitOrbit[limit] = std::min(m_limitOrbit[limit], each.limit[limit]);
    }
    for (int node = 0; node < m_topology.nodes; ++node) {
      m_nodeOrbit[node] = std::min(m_nodeOrbit[node], each.node[node]);
    }
  }
}

std::size_t Encoding::haveIndex(int chunkClass, std::int64_t i, int node, int step) const {
  const auto orbit = static_cast<std::size_t>(m_haveOrbit[chunkClass * m_topology.nodes + node]);
  return (orbit * m_n + i) * (steps() + 1) + step;
}

std::size_t Encoding::sendIndex(int chunkClass, std::int64_t i, int arc, int step) const {
  const auto orbit = static_cast<std::size_t>(m_sendOrbit[chunkClass * m_topology.arcs.size() + arc]);
  return (orbit * m_n + i) * steps() + step;
}

int Encoding::have(int chunkClass, std::int64_t i, int node, int step) const {
  return m_haves[haveIndex(chunkClass, i, node, step)];
}

int Encoding::send(int chunkClass, std::int64_t i, int arc, int step) const {
  return m_sends[sendIndex(chunkClass, i, arc, step)];
}

/// have[.., s] after s steps.
void Encoding::makeHaves() {
  const std::size_t classes = m_problem.classes.size();
  m_haves.assign(classes * m_topology.nodes * m_n * (steps() + 1), kFalse);
  for (int c = 0; c < static_cast<int>(classes); ++c) {
    const ChunkClass& chunks = m_problem.classes[c];
    const auto after = distancesFrom(m_topology, chunks.pre);
    for (int node = 0; node < m_topology.nodes; ++node) {
      if (m_haveOrbit[c * m_topology.nodes + node] != c * m_topology.nodes + node) {
        continue;
      }
      for (std::int64_t i = 0; i < m_n; ++i) {
        for (int step = 0; step <= steps(); ++step) {
          int& literal = m_haves[haveIndex(c, i, node, step)];
          if (chunks.pre[node] || (step == steps() && chunks.post[node] && after[node] >= 0 && after[node] <= step)) {
            literal = kTrue;
          } else if (after[node] >= 0 && after[node] <= step) {
            literal = m_clauses.fresh();
            if (step > 0) {
              m_clauses.add({-m_haves[haveIndex(c, i, node, step - 1)], literal});
            }
          }
        }
        if (chunks.post[node] && m_haves[haveIndex(c, i, node, steps())] != kTrue) {
          m_clauses.add({kFalse});  // too far for so few steps
        }
      }
    }
  }
}

void Encoding::makeSends() {
  const int classes = static_cast<int>(m_problem.classes.size());
  const int arcs = static_cast<int>(m_topology.arcs.size());
  m_sends.assign(static_cast<std::size_t>(classes) * arcs * m_n * steps(), kFalse);
  for (int c = 0; c < classes; ++c) {
    const ChunkClass& chunks = m_problem.classes[c];
    const auto before = distancesTo(m_topology, chunks.post);
    for (int arc = 0; arc < arcs; ++arc) {
      const int from = m_topology.arcs[arc].from;
      const int to = m_topology.arcs[arc].to;
      if (m_sendOrbit[c * arcs + arc] != c * arcs + arc || chunks.pre[to] || before[to] < 0) {
        continue;
      }
      for (int step = 0; step + 1 + before[to] <= steps(); ++step) {
        for (std::int64_t i = 0; i < m_n; ++i) {
          if (have(c, i, from, step) == kFalse) {
            continue;
          }
          const int literal = m_clauses.fresh();
          m_sends[sendIndex(c, i, arc, step)] = literal;
          m_clauses.add({-literal, have(c, i, from, step)});
          m_clauses.add({-literal, have(c, i, to, step + 1)});
          m_clauses.add({-literal, -have(c, i, to, step)});
        }
      }
    }
  }
  // What a rank has newly, it was sent.
  std::vector<int> clause;
  for (int c = 0; c < classes; ++c) {
    for (int node = 0; node < m_topology.nodes; ++node) {
      if (m_haveOrbit[c * m_topology.nodes + node] != c * m_topology.nodes + node || m_problem.classes[c].pre[node]) {
        continue;
      }
      for (std::int64_t i = 0; i < m_n; ++i) {
        for (int step = 0; step < steps(); ++step) {
          if (have(c, i, node, step + 1) == kFalse) {
            continue;
          }
          clause = {-have(c, i, node, step + 1), have(c, i, node, step)};
          for (const int arc : m_topology.in[node]) {
            clause.push_back(send(c, i, arc, step));
          }
          m_clauses.add(clause);
        }
      }
    }
  }
}

std::vector<int> Encoding::sendsOver(int limit, int step) const {
  std::vector<int> literals;
  for (int c = 0; c < static_cast<int>(m_problem.classes.size()); ++c) {
    for (const int arc : m_topology.limits[limit].arcs) {
      for (std::int64_t i = 0; i < m_n; ++i) {
        if (const int literal = send(c, i, arc, step); literal != kFalse) {
          literals.push_back(literal);
        }
      }
    }
  }
  return literals;
}

/// A rank whose needs fill all that its in-arcs carry in all rounds: every one of them is full in every step.
bool Encoding::isTight(int node) const {
  std::int64_t need = 0;
  for (const ChunkClass& chunks : m_problem.classes) {
    need += chunks.post[node] && !chunks.pre[node] ? m_n : 0;
  }
  Rational rate = 0;
  std::vector<int> limits;
  for (const int arc : m_topology.in[node]) {
    bool isCounted = false;
    for (const int limit : m_topology.limitsOf[arc]) {
      const auto& arcs = m_topology.limits[limit].arcs;
      const bool isOwn =
          std::all_of(arcs.begin(), arcs.end(), [&](int each) { return m_topology.arcs[each].to == node; });
      if (isOwn && arcs.front() == arc && !isCounted) {
        rate += m_topology.limits[limit].perRound;
        limits.push_back(limit);
      }
      isCounted = isCounted || isOwn;
    }
    if (!isCounted) {
      return false;
    }
  }
  // Limits that overlap would count an arc twice.
  std::size_t covered = 0;
  for (const int limit : limits) {
    covered += m_topology.limits[limit].arcs.size();
    if (!m_topology.limits[limit].perRound.isInteger()) {
      return false;
    }
  }
  return covered == m_topology.in[node].size() && Rational(need) == rate * Rational(m_box.total);
}

void Encoding::addLimits() {
  std::vector<bool> isFull(m_topology.limits.size(), false);
  for (int node = 0; node < m_topology.nodes; ++node) {
    if (m_nodeOrbit[node] != node || !isTight(node)) {
      continue;
    }
    for (const int arc : m_topology.in[node]) {
      for (const int limit : m_topology.limitsOf[arc]) {
        const auto& arcs = m_topology.limits[limit].arcs;
        if (std::all_of(arcs.begin(), arcs.end(), [&](int each) { return m_topology.arcs[each].to == node; })) {
          isFull[limit] = true;
        }
      }
    }
  }
  // An orbit is full where any of its limits is.
  std::vector<bool> isOrbitFull(isFull.size(), false);
  for (std::size_t limit = 0; limit < isFull.size(); ++limit) {
    isOrbitFull[m_limitOrbit[limit]] = isOrbitFull[m_limitOrbit[limit]] || isFull[limit];
  }
  for (int limit = 0; limit < static_cast<int>(m_topology.limits.size()); ++limit) {
    if (m_limitOrbit[limit] != limit) {
      continue;
    }
    for (int step = 0; step < steps(); ++step) {
      m_rounds.addLimit(limit, step, sendsOver(limit, step), isOrbitFull[limit]);
    }
  }
}

Steps Encoding::decode() const {
  Steps result;
  result.rounds = m_rounds.decode(m_solver);
  for (int c = 0; c < static_cast<int>(m_problem.classes.size()); ++c) {
    for (int arc = 0; arc < static_cast<int>(m_topology.arcs.size()); ++arc) {
      for (std::int64_t i = 0; i < m_n; ++i) {
        for (int step = 0; step < steps(); ++step) {
          const int literal = send(c, i, arc, step);
          if (literal != kFalse && m_solver.value(literal)) {
            result.sends.push_back({static_cast<int>(c * m_n + i), arc, step});
          }
        }
      }
    }
  }
  prune(m_problem, m_n, result);
  return result;
}

}  // namespace coppice::synth
