// SPDX-License-Identifier: Apache-2.0
#include "mpi/world_backend.hpp"

namespace coppice::executor {

BackendInfo WorldBackend::worldInfo(int workers) const {
  const auto count = [](int number, const std::string& noun, const std::string& nouns) {
    return std::to_string(number) + " " + (number == 1 ? noun : nouns);
  };
  const int hosts = m_world->isForced() ? 1 : m_world->hosts();
  const bool isApart = m_world->hosts() == m_world->processes();
  BackendInfo info{
      .name = "mpi",
      .label = m_world->isForced() && isApart ? "shared memory switched off: every message goes through MPI"
               : m_world->isForced()          ? "one host that counts as " + count(m_world->hosts(), "host", "hosts")
               : hosts == 1                   ? "one process per rank on one host: shared memory, not a network"
                                              : "",
      .summary = count(m_world->processes(), "process", "processes") + " on " + count(hosts, "host", "hosts") + ", " +
                 count(workers, "worker", "workers") + " each",
      .facts = {{"mpi", m_world->library()},
                {"processes", std::to_string(m_world->processes())},
                {"hosts", std::to_string(hosts)},
                {"workers", std::to_string(workers)}}};
  return info;
}

Outcome WorldBackend::requireProcesses(int ranks) const {
  if (ranks > m_world->processes()) {
    return Error{.code = ErrorCode::unavailable,
                 .message = "the schedule has " + std::to_string(ranks) + " ranks, but there are " +
                            std::to_string(m_world->processes()) + " processes",
                 .fix = "start mpirun with -n " + std::to_string(ranks)};
  }
  return Done{};
}

}  // namespace coppice::executor
