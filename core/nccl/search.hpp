// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "nccl/box_model.hpp"
#include "nccl/graph.hpp"
#include "nccl/load.hpp"

/// Graphs for the boxes of a fabric: those that NCCL's search would find, and the best that its files can express.
namespace coppice::nccl {

struct SearchOptions {
  int computeCapability = 80;  ///< decides the speeds that are tried, and how channels are repeated
};

/// Graphs, and what they reach when NCCL joins them.
struct FoundGraphs {
  GraphSet graphs = {};               ///< of the first box, and of all that are wired as it
  std::vector<GraphSet> others = {};  ///< of each other kind of box
  std::vector<int> kindOf = {};       ///< by box: 0 = graphs, k = others[k - 1]
  /// What NCCL finds for NVLS, in no file: heads of all boxes alike. Its heads are in channels.
  std::optional<Graph> nvls = {};
  ChannelSet channels = {};
  Load allreduce;  ///< of the rings
  Load trees;      ///< of the trees, allreduce

  [[nodiscard]] const GraphSet& graphsOf(int kind) const { return kind == 0 ? graphs : others[kind - 1]; }
};

/// What NCCL's search finds (ncclTopoCompute of 2.28: speeds from fast to slow, the same channel again before others,
/// rings in order of devices first, its limits of steps, channels halved where they are fast). Not certain, and so not
/// the same on every machine: kinds of paths are told by their number of links; bandwidths are those of the fabric, and
/// import with NCCL's rates gives NCCL's; each channel comes back to the NIC that it came from; trees are the chains of
/// the rings. NCCL_CROSS_NIC, forced orders and GPUs of different kinds are left out. Errors: those of boxModels.
[[nodiscard]] Result<FoundGraphs> searchAsNccl(Ways& ways, const SearchOptions& options = {},
                                               const Progress& progress = {});

/// Rings of at most 16 channels that reach the most that was found by congestion: each channel in turn takes the chain
/// that leaves the fullest link least full, with reversed pairs, and is exchanged while that helps. Never less than
/// `least`. Errors: those of boxModels, cancelled.
[[nodiscard]] Result<FoundGraphs> searchBest(Ways& ways, const FoundGraphs& least, const SearchOptions& options = {},
                                             const Progress& progress = {});

/// What is not certain of searchAsNccl, as sentences.
[[nodiscard]] std::vector<std::string> uncertainties();

}  // namespace coppice::nccl
