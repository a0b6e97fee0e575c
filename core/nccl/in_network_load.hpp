// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/collective.hpp"
#include "base/result.hpp"
#include "nccl/channels.hpp"
#include "nccl/load.hpp"

/// What NCCL's algorithms reach whose switches sum and copy, by congestion like ringLoad().
namespace coppice::nccl {

/// NVLS. Each head has an equal part of the data: switches sum it from all GPUs of the node to the head, which gives
/// the sum back for all to get. On n GPUs of one node that all are heads, each sends and gets 1 + 1/n of the data; in
/// an allgather it sends 1/n and gets all, in a reduce-scatter the reverse. Between nodes the switches of the network
/// sum and copy between the heads of one number (SHARP); allgather and reduce-scatter do so from NCCL 2.27 on, where
/// every GPU is a head: its shard goes out, and the shards of its number come in.
/// Errors: badUsage (another collective; no heads; heads that are not one of each node; fewer heads than GPUs where
/// that is needed), infeasible, overflow.
[[nodiscard]] Result<Load> nvlsLoad(Ways& ways, const std::vector<HeadRanks>& heads, Collective collective);

/// NVLSTree, allreduce: NVLS in each node, and half of each head's part along each of both trees of NCCL between nodes.
/// Errors: those of nvlsLoad.
[[nodiscard]] Result<Load> nvlsTreeLoad(Ways& ways, const std::vector<HeadRanks>& heads);

/// CollNetDirect: each GPU sends every head its part and gets the sum from it; the network sums and copies. Allgather
/// (each head sends the shards of its number to the GPUs of its node) and reduce-scatter (the reverse) need every GPU
/// as a head. Errors: those of nvlsLoad.
[[nodiscard]] Result<Load> collnetDirectLoad(Ways& ways, const std::vector<HeadRanks>& heads, Collective collective);

/// CollNetChain, allreduce: the chains of each channel carry its part up to a head of each node and down again; the
/// network sums and copies. Errors: those of nvlsLoad.
[[nodiscard]] Result<Load> collnetChainLoad(Ways& ways, const std::vector<Tree>& chains);

}  // namespace coppice::nccl
