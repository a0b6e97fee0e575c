// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/checked.hpp"
#include "base/progress.hpp"
#include "taccl/problem.hpp"

namespace coppice::taccl {

struct FlowBound {
  Ticks time = 0;
  std::vector<std::int64_t> weights;  ///< by machine of the model; not all 0 where `time` is more than 0
};

/// However the chunks are routed, the busy times of the machines, each times its weight, sum to no less than the
/// cheapest trees of all chunks, in which a send costs its time times the weights of its machines. Some machine is
/// therefore busy for no less than that sum over the sum of the weights. The weights that prove most are the optimum of
/// a linear program, whose dual packs fractions of trees into the machines: where relays forbid nothing, allgather's is
/// the optimum of ForestColl and that of alltoall the maximum concurrent flow, both on the model's fabric.
/// The program is left where it cannot prove more than `known`, or after a number of rounds; the current weights
/// prove what is returned all the same.
[[nodiscard]] FlowBound flowBound(const Problem& problem, Ticks known, const Progress& progress);

/// An arc of arborescence().
struct TreeArc {
  int from = 0;
  int to = 0;
  Int128 cost = 0;
};

/// The cheapest tree from the root to all nodes, as indices of arcs (Edmonds). Empty where a node is not reached.
[[nodiscard]] std::vector<int> arborescence(int nodes, int root, const std::vector<TreeArc>& arcs);

}  // namespace coppice::taccl
