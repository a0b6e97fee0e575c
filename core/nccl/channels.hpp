// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

/// Rings and trees over all ranks of a communicator, one of each a channel.
namespace coppice::nccl {

/// From one rank to another, through NICs where they lie in different nodes.
struct Hop {
  int from = 0;
  int to = 0;
  int sendNet = -1;     ///< number of the sender's NIC; -1 = none or not known
  int receiveNet = -1;  ///< of the receiver's

  friend bool operator==(const Hop&, const Hop&) = default;
};

struct Ring {
  std::vector<Hop> hops = {};  ///< from rank 0 on; each begins where the one before ends

  [[nodiscard]] std::vector<int> ranks() const {
    std::vector<int> ranks;
    for (const Hop& hop : hops) {
      ranks.push_back(hop.from);
    }
    return ranks;
  }
  friend bool operator==(const Ring&, const Ring&) = default;
};

struct Tree {
  std::vector<int> parents = {};                ///< by rank; -1 at the root
  std::vector<Hop> up = {};                     ///< by rank, from it to its parent; of the root nothing
  std::vector<std::vector<int>> children = {};  ///< by rank, in NCCL's order

  friend bool operator==(const Tree&, const Tree&) = default;
};

/// The ranks that act for one part of the data of NVLS or CollNet, one in each node.
struct HeadRanks {
  std::vector<int> ranks = {};

  friend bool operator==(const HeadRanks&, const HeadRanks&) = default;
};

struct ChannelSet {
  int ranks = 0;
  std::vector<Ring> rings = {};           ///< by channel
  std::vector<Tree> trees = {};           ///< by channel
  std::vector<HeadRanks> nvlsHeads = {};  ///< by number; empty = not known, or NVLS is not used
  std::vector<HeadRanks> collnetHeads = {};
  std::vector<Tree> collnetChains = {};  ///< by channel; a rank without a parent in each node
};

}  // namespace coppice::nccl
