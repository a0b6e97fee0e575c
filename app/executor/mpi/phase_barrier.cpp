// SPDX-License-Identifier: Apache-2.0
#include "mpi/phase_barrier.hpp"

#include "mpi/waiting.hpp"

namespace coppice::executor {

void PhaseBarrier::arrive() {
  MPI_Ibarrier(m_world.comm(), &m_request);
  m_isUnderWay = true;
  ++m_started;
}

bool PhaseBarrier::hasPassed() {
  m_isUnderWay = !isDone(m_request);
  return !m_isUnderWay;
}

Outcome PhaseBarrier::settle() {
  const auto most = m_world.max(static_cast<double>(m_started));
  if (!most) {
    return most.error();
  }
  if (m_isUnderWay) {
    waitFor(m_request);
    m_isUnderWay = false;
  }
  for (; m_started < static_cast<std::int64_t>(*most); ++m_started) {
    barrier(m_world.comm());
  }
  return Done{};
}

}  // namespace coppice::executor
