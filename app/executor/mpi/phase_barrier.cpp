// SPDX-License-Identifier: Apache-2.0
#include "mpi/phase_barrier.hpp"

namespace coppice::executor {

void PhaseBarrier::arrive() {
  MPI_Ibarrier(m_world.comm(), &m_request);
  m_isUnderWay = true;
  ++m_started;
}

bool PhaseBarrier::hasPassed() {
  int passed = 0;
  MPI_Test(&m_request, &passed, MPI_STATUS_IGNORE);
  m_isUnderWay = passed == 0;
  return !m_isUnderWay;
}

Outcome PhaseBarrier::settle() {
  const auto most = m_world.max(static_cast<double>(m_started));
  if (!most) {
    return most.error();
  }
  if (m_isUnderWay) {
    MPI_Wait(&m_request, MPI_STATUS_IGNORE);
    m_isUnderWay = false;
  }
  for (; m_started < static_cast<std::int64_t>(*most); ++m_started) {
    MPI_Barrier(m_world.comm());
  }
  return Done{};
}

}  // namespace coppice::executor
