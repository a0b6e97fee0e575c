// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "fabric/fabric.hpp"
#include "nccl/box_model.hpp"
#include "nccl/graph.hpp"

namespace coppice::nccl {

/// The graph of NVLS that NCCL's search would find for a box (ncclTopoCompute and ncclTopoSearchTryNvls of 2.30.7): a
/// channel for each GPU that acts as a head. Every GPU sends and gets the data of all channels, a head those of its own
/// twice. In one box all GPUs are heads, up to 32; of several boxes one for each NIC, next to it.
/// nullopt before compute capability 90, and where switches that sum and copy do not reach all GPUs of the box, or a
/// link is slower than the slowest speed.
[[nodiscard]] std::optional<Graph> nvlsGraph(const fabric::Fabric& fabric, const BoxModel& box, bool isAlone,
                                             int computeCapability);

}  // namespace coppice::nccl
