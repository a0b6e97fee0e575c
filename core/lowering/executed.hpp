// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/collective.hpp"
#include "program/program.hpp"

namespace coppice::lowering {

/// The runtime whose rules coppice-exec lowers a schedule by: MSCCL has no call for gather and scatter.
[[nodiscard]] inline program::Runtime executedRuntime(Collective collective) {
  return movesShards(collective) ? program::Runtime::mscclExecutorNccl : program::Runtime::msccl;
}

}  // namespace coppice::lowering
