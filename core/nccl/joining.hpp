// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <vector>

#include "base/result.hpp"
#include "nccl/channels.hpp"
#include "nccl/graph.hpp"

namespace coppice::nccl {

/// One node as NCCL joins it: its graphs, and which rank each of its devices holds.
struct GraphNode {
  GraphSet graphs = {};
  std::map<int, int> rankOf = {};  ///< by NVML index
};

struct JoinOptions {
  int computeCapability = 80;  ///< 90 and more double the channels again where a channel is fast
  int minChannels = 0;         ///< NCCL_MIN_NCHANNELS; 0 = not set
  int maxChannels = 32;        ///< NCCL_MAX_NCHANNELS
};

/// Neighbours of one node in the double binary tree of NCCL; -1 = none.
struct DoubleTreePlace {
  int up = -1;
  std::array<int, 2> down{-1, -1};
  int childType = 0;  ///< of its parent: 0 first, 1 second child
};
/// In both trees (ncclGetDtree).
[[nodiscard]] std::array<DoubleTreePlace, 2> doubleTreePlace(int count, int node);

/// Joins the nodes' channels to rings and trees over all ranks, as NCCL does (ncclTopoPreset, ncclTopoPostset): nodes
/// in the order of their lowest rank in every channel, rings from the last GPU of a node to the first of the next,
/// trees by the double binary tree, the channels repeated.
/// Errors: badInput (no ring graph or tree graph, a channel without all GPUs, ranks that are not 0 to n - 1).
[[nodiscard]] Result<ChannelSet> joinNodes(std::vector<GraphNode> nodes, const JoinOptions& options = {});

}  // namespace coppice::nccl
