// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"

/// Private to core/fabric: one reading of a Description that serves both validate() and Fabric::build().
namespace coppice::fabric::detail {

struct Inspection {
  std::vector<Finding> findings;
  /// As many as the description's nodes, in its order; ranks filled in.
  std::vector<Node> nodes;
  /// Merged and sorted, from the links that are free of errors.
  std::vector<Arc> arcs;
  /// By rank when the ranks are right, else in the description's order.
  std::vector<NodeIndex> gpus;
};

/// withAdvice: also the warnings and notes, which build() does not need.
[[nodiscard]] Inspection inspect(const Description& description, bool withAdvice);

/// Not empty, UTF-8, and without control characters.
[[nodiscard]] bool isGoodId(std::string_view id);
/// Bandwidth of one direction of the link, its parallel links together; nullopt where the link's own values have a
/// fault or leave the exact range.
[[nodiscard]] std::optional<Bandwidth> totalBandwidth(const LinkDescription& link);

/// Capacity to add from node to node; isNew where no arc joins them yet.
struct Raise {
  NodeIndex tail = 0;
  NodeIndex head = 0;
  Bandwidth amount;
  bool isNew = false;
};

/// See smallestBalanceChange. excess[v] = ingress minus egress, summing to zero; arcs sorted by (tail, head).
/// Throws OverflowError.
[[nodiscard]] std::vector<Raise> balancingRaises(std::span<const Bandwidth> excess, std::span<const Arc> arcs);

}  // namespace coppice::fabric::detail
