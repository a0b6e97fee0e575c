// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/fabric.hpp"

/// All-to-all by its two certificates. The largest rate f at which every GPU can send to every other at once is a
/// maximum concurrent flow; GPUs relay as well as switches do. For any lengths l >= 0 of the links
///
///     f <= sum over links of b_e l_e / sum over ordered pairs of GPUs of dist_l        (linear programming duality),
///
/// and any routing that fits the links is a lower bound. Both are exact where they meet.
namespace coppice::schedule {

/// By arc of the fabric; not negative.
using ExchangeLengths = std::vector<std::int64_t>;

/// The paths from one GPU to all others that carry `weight` / ExchangeRouting::denominator of what it sends.
struct ExchangeTree {
  fabric::NodeIndex source = 0;
  std::int64_t weight = 0;
  std::vector<std::int32_t> arcInto;  ///< by node: the arc of the tree into it; -1 at the source and beside the tree
};

/// Trees of some GPUs, and the symmetries of the fabric that map them to all others. A GPU that is the image of a
/// source under m symmetries uses all m images of its trees alike.
struct ExchangeRouting {
  std::vector<std::vector<fabric::NodeIndex>> symmetries;  ///< images of the nodes; the first is the identity
  std::int64_t denominator = 1;
  std::vector<ExchangeTree> trees;  ///< grouped by source; the weights of a source sum to the denominator
};

}  // namespace coppice::schedule
