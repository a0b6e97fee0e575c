// SPDX-License-Identifier: Apache-2.0
#include "synth/round_coding.hpp"

namespace coppice::synth {

RoundCoding::RoundCoding(const Topology& topology, const RoundBox& box, Clauses& clauses)
    : m_topology(topology), m_box(box), m_clauses(clauses), m_surplus(box.min.size()) {
  std::vector<int> all;
  std::int64_t room = box.total;
  for (int step = 0; step < box.steps(); ++step) {
    room -= box.min[step];
    for (std::int64_t k = box.min[step]; k < box.max[step]; ++k) {
      const int bit = clauses.fresh();
      if (!m_surplus[step].empty()) {
        clauses.add({-bit, m_surplus[step].back()});
      }
      m_surplus[step].push_back(bit);
      all.push_back(bit);
    }
  }
  if (room < 0) {
    clauses.add({kFalse});
  } else if (static_cast<std::int64_t>(all.size()) > room) {
    clauses.add({-clauses.counts(all, room, false)[room]});
  }
}

void RoundCoding::addLimit(int limit, int step, const std::vector<int>& literals, bool isFull) {
  const std::int64_t min = m_box.min[step];
  const std::int64_t max = m_box.max[step];
  if (!isFull && static_cast<std::int64_t>(literals.size()) <= m_topology.capacity(limit, min)) {
    return;
  }
  const auto counts = m_clauses.counts(literals, m_topology.capacity(limit, max), isFull);
  for (std::int64_t k = min; k <= max; ++k) {
    const auto room = static_cast<std::size_t>(m_topology.capacity(limit, k));
    const auto surplus = static_cast<std::size_t>(k - min);
    m_clauses.add({-counts[room], surplus < m_surplus[step].size() ? m_surplus[step][surplus] : kFalse});
    if (isFull) {
      m_clauses.add({surplus == 0 ? kFalse : -m_surplus[step][surplus - 1], counts[room - 1]});
    }
  }
}

std::vector<std::int64_t> RoundCoding::decode(const SatSolver& solver) const {
  std::vector<std::int64_t> rounds = m_box.min;
  for (std::size_t step = 0; step < rounds.size(); ++step) {
    for (const int bit : m_surplus[step]) {
      rounds[step] += solver.value(bit) ? 1 : 0;
    }
  }
  return rounds;
}

}  // namespace coppice::synth
