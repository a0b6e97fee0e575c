// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/progress.hpp"
#include "flow/feasibility.hpp"

namespace coppice::lp {

/// One flag per node.
using NodeSet = std::vector<bool>;

struct ArcEnds {
  int tail = 0;
  int head = 0;
};

/// Finds node sets Q with a sink and in(Q) + r(Q) < K - tolerance, by one maximum flow of the oracle per sink. With all
/// GPUs as sinks this is feasibility as in balance.hpp; where capacities and supplies are kept by symmetries, one GPU
/// of each orbit is enough. The graph is fixed; capacities change per call.
class CutFinder {
public:
  /// @pre at most one arc per ordered pair
  CutFinder(int nodeCount, const std::vector<bool>& isSink, std::vector<ArcEnds> arcs);

  /// The sets found: per violated sink the smallest and the largest minimum cut, without repetition. Empty = feasible
  /// (up to the tolerance). firstOnly stops at the first violated sink and gives only its smallest cut; then sinks that
  /// passed serve as unlimited sources for the later ones, which decides the same and is faster.
  /// @pre capacities, supplies >= 0; their sums fit in 62 bits. Throws CancelledError.
  std::vector<NodeSet> violated(std::span<const std::int64_t> capacities, std::span<const std::int64_t> supplies,
                                std::int64_t tolerance, bool firstOnly, const Progress& progress);

  [[nodiscard]] const std::vector<ArcEnds>& arcs() const { return m_arcs; }
  [[nodiscard]] int nodeCount() const { return m_oracle.nodeCount(); }

private:
  std::vector<ArcEnds> m_arcs;
  std::vector<int> m_sinks;
  flow::FeasibilityOracle<std::int64_t> m_oracle;
};

/// The sum of `values` over the arcs that enter `set`.
[[nodiscard]] std::int64_t entering(const std::vector<ArcEnds>& arcs, std::span<const std::int64_t> values,
                                    const NodeSet& set);

}  // namespace coppice::lp
