// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/rational.hpp"
#include "base/units.hpp"

namespace coppice::schedule {

/// The busiest link of a step.
struct StepLoad {
  int arc = -1;           ///< into Fabric::arcs(); -1 = nothing is sent
  InverseBandwidth time;  ///< load / bandwidth: time per byte of M, 1/(GB/s)
};

/// What a step schedule costs on its fabric, exactly. Latencies do not count.
struct StepCost {
  std::int32_t steps = 0;   ///< synchronous: all; asynchronous: most transfers that wait for one another
  std::int64_t rounds = 0;  ///< SCCL's R: the sum of the rounds of the steps
  /// Time per byte of M of the whole collective, 1/(GB/s). Synchronous: the sum of the steps' busiest links.
  /// Asynchronous: the sum of the phases' busiest links, which pipelining approaches from above.
  InverseBandwidth timePerByte;
  Bandwidth algbw;                  ///< 1 / timePerByte
  std::vector<StepLoad> stepLoads;  ///< by step; asynchronous: by phase
  std::vector<Rational> traffic;    ///< by arc: bytes over the link per byte of M
  Rational totalTraffic;            ///< their sum
  /// Links per transfer, weighted by bytes: how far one logical hop continues the fabric (overlay stretch).
  int maxStretch = 0;
  double meanStretch = 0;
};

}  // namespace coppice::schedule
