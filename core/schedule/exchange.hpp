// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/fabric.hpp"

/// All-to-all by its two certificates. The largest rate f at which every GPU s can send d(s, t) f to every other t at
/// once is a maximum concurrent flow; GPUs relay as well as switches do, unless that is forbidden. For any lengths
/// l >= 0 of the links
///
///     f <= sum over links of b_e l_e / sum over ordered pairs of GPUs of d(s, t) dist_l(s, t)        (LP duality),
///
/// and any routing that fits the links is a lower bound. Both are exact where they meet.
namespace coppice::schedule {

/// What the GPUs send to each other.
struct ExchangeDemand {
  /// d by source rank, then destination rank, not negative; what a GPU sends to itself does not count. Empty = 1 each.
  std::vector<std::int64_t> amounts = {};
  bool relays = true;  ///< GPUs may pass data on

  [[nodiscard]] bool isEven() const { return amounts.empty(); }
  [[nodiscard]] std::int64_t amount(fabric::Rank from, fabric::Rank to, int gpuCount) const {
    return from == to ? 0 : isEven() ? 1 : amounts[static_cast<std::size_t>(from) * gpuCount + to];
  }
};

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
