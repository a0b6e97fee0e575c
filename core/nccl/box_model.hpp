// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/rational.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "nccl/joining.hpp"
#include "nccl/load.hpp"

namespace coppice::nccl {

/// Boxes of a fabric as NCCL's nodes: which GPUs and NICs they have, and the links between those.
struct BoxModel {
  std::vector<fabric::Rank> gpus = {};  ///< by device number
  int nics = 0;
  std::vector<std::vector<std::vector<int>>> way = {};      ///< arcs of the fabric from device to device
  std::vector<std::vector<std::vector<int>>> toNic = {};    ///< from device to NIC
  std::vector<std::vector<std::vector<int>>> fromNic = {};  ///< from NIC to device
};

/// GPUs of one node that NCCL takes (NCCL_TOPO_MAX_NODES): 640 from NCCL 2.30 on, 576 and 256 before.
inline constexpr std::size_t kMostGpusOfNode = 640;

/// One for each box, in the order of its lowest rank; a fabric without boxes is one. Errors: infeasible (boxes with
/// different numbers of GPUs or NICs, no way between two of its GPUs), limit (kMostGpusOfNode), cancelled.
[[nodiscard]] Result<std::vector<BoxModel>> boxModels(Ways& ways);

/// Which boxes are wired alike, with links of equal bandwidth: by box, numbered in the order of their first box.
[[nodiscard]] std::vector<int> wiringKinds(const fabric::Fabric& fabric, const std::vector<BoxModel>& boxes);

/// @param kindOf by box: which of the graphs is its. Errors: those of joinNodes.
[[nodiscard]] Result<ChannelSet> joinedOn(const std::vector<BoxModel>& boxes, const std::vector<GraphSet>& graphs,
                                          const std::vector<int>& kindOf, const JoinOptions& options);
/// All boxes with the same graphs. Errors: those of joinNodes.
[[nodiscard]] Result<ChannelSet> joinedOn(const std::vector<BoxModel>& boxes, const GraphSet& graphs,
                                          const JoinOptions& options);

}  // namespace coppice::nccl
