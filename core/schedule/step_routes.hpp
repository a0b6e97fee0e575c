// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "base/rows.hpp"
#include "fabric/fabric.hpp"
#include "schedule/step_schedule.hpp"

namespace coppice::schedule {

/// Finds shortest routes through nics and switches, in links. Among equally short ones, each new route takes the links
/// that the routes before it used least for their bandwidth, so that they spread over spines and planes.
class RouteFinder {
public:
  /// The fabric and the pool must outlive the finder.
  RouteFinder(const fabric::Fabric& fabric, PathPool& pool);
  /// Stored once in the pool. kNoRoute where only other GPUs join the two.
  [[nodiscard]] PathId route(fabric::Rank from, fabric::Rank to);
  /// Any two nodes, both included; a new choice at each call. Empty where only GPUs join the two.
  [[nodiscard]] std::vector<fabric::NodeIndex> nodesBetween(fabric::NodeIndex from, fabric::NodeIndex to);

private:
  void measureTo(fabric::NodeIndex to);
  [[nodiscard]] std::vector<fabric::NodeIndex> walkBack(fabric::NodeIndex from, fabric::NodeIndex to);

  const fabric::Fabric& m_fabric;
  PathPool& m_pool;
  std::vector<std::int32_t> m_firstOut;       ///< by node, into Fabric::arcs()
  Rows<std::int32_t> m_in;                    ///< arcs by head
  std::vector<double> m_rate;                 ///< by arc, GB/s
  std::vector<double> m_use;                  ///< by arc: routes that pass it
  std::vector<fabric::NodeIndex> m_measured;  ///< in the order of the search; the first is where it began
  std::size_t m_nextHead = 0;                 ///< of m_measured: where the search goes on
  std::vector<int> m_hops;                    ///< by node, from there; -1 = not measured
  std::vector<std::vector<PathId>> m_routes;  ///< by sender, then receiver; empty until the sender's first
};

/// Every transfer cut into `pieces` equal ones, in its place in the list: what pipelining needs. Without steps, the
/// pieces between two GPUs keep their order and are sent one after another. Errors: badUsage
/// (no piece), limit (more than 2^31 transfers), overflow.
Result<StepSchedule> cutInto(const StepSchedule& schedule, std::uint32_t pieces);

/// Gives every transfer without a route a shortest one. Errors: infeasible naming the GPUs that only others join.
Outcome addRoutes(const fabric::Fabric& fabric, StepSchedule& schedule);

}  // namespace coppice::schedule
