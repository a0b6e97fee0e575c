// SPDX-License-Identifier: Apache-2.0
#include "mpi/world_backend.hpp"

#include "base/counted.hpp"

namespace coppice::executor {

std::string WorldBackend::worldText() const {
  return counted(m_world->processes(), "process", "processes") + " on " + counted(hosts(), "host");
}

std::map<std::string, std::string> WorldBackend::worldFacts() const {
  return {{"mpi", m_world->library()},
          {"processes", std::to_string(m_world->processes())},
          {"hosts", std::to_string(hosts())}};
}

BackendInfo WorldBackend::worldInfo(int workers) const {
  const bool isApart = m_world->hosts() == m_world->processes();
  BackendInfo info{.name = "mpi",
                   .label = m_world->isForced() && isApart
                                ? "shared memory switched off: every message goes through MPI"
                            : m_world->isForced() ? "one host that counts as " + counted(m_world->hosts(), "host")
                            : hosts() == 1        ? "one process per rank on one host: shared memory, not a network"
                                                  : "",
                   .summary = worldText() + ", " + counted(workers, "worker") + " each",
                   .facts = worldFacts()};
  info.facts["workers"] = std::to_string(workers);
  return info;
}

Outcome WorldBackend::requireWhole() const {
  if (m_world->isBroken()) {
    return Error{.code = ErrorCode::internal, .message = "a rank was lost in the run before"};
  }
  return Done{};
}

Outcome WorldBackend::requireProcesses(int ranks) const {
  if (Outcome whole = requireWhole(); !whole) {
    return whole;
  }
  if (ranks > m_world->processes()) {
    return Error{.code = ErrorCode::unavailable,
                 .message = "the schedule has " + std::to_string(ranks) + " ranks, but there are " +
                            std::to_string(m_world->processes()) + " processes",
                 .fix = "start mpirun with -n " + std::to_string(ranks)};
  }
  return Done{};
}

}  // namespace coppice::executor
