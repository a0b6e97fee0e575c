// SPDX-License-Identifier: Apache-2.0
#include "fabric/balance.hpp"

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "fabric/inspection.hpp"
#include "flow/max_flow.hpp"

namespace coppice::fabric {
namespace detail {

std::vector<Raise> balancingRaises(std::span<const Bandwidth> excess, std::span<const Arc> arcs) {
  const Bandwidth unit =
      commonUnit(excess, [](const Bandwidth& value) { return value < Bandwidth() ? -value : value; });
  std::vector<std::int64_t> missing;  // egress; below 0 ingress
  for (const Bandwidth& value : excess) {
    missing.push_back(value == Bandwidth() ? 0 : (value / unit).numerator());
  }
  const auto nodeCount = static_cast<int>(missing.size());
  flow::MaxFlow flow(nodeCount + 2);
  std::vector<std::pair<const Arc*, int>> usable;
  for (const Arc& arc : arcs) {
    if (missing[arc.tail] > 0 && missing[arc.head] < 0) {
      usable.emplace_back(&arc, flow.addArc(arc.tail, arc.head, std::min(missing[arc.tail], -missing[arc.head])));
    }
  }
  for (NodeIndex node = 0; node < nodeCount; ++node) {
    if (missing[node] > 0) {
      flow.addArc(nodeCount, node, missing[node]);
    } else if (missing[node] < 0) {
      flow.addArc(node, nodeCount + 1, -missing[node]);
    }
  }
  flow.run(nodeCount, nodeCount + 1);
  std::vector<Raise> raises;
  const auto raise = [&](NodeIndex tail, NodeIndex head, std::int64_t amount, bool isNew) {
    raises.push_back({tail, head, unit * Rational(amount), isNew});
    missing[tail] -= amount;
    missing[head] += amount;
  };
  for (const auto& [arc, index] : usable) {
    if (const std::int64_t amount = flow.flow(index); amount > 0) {
      raise(arc->tail, arc->head, amount, false);
    }
  }
  // By now every arc that could be raised has an end that misses nothing, so what is left needs new links.
  NodeIndex head = 0;
  for (NodeIndex tail = 0; tail < nodeCount; ++tail) {
    while (missing[tail] > 0) {
      while (head < nodeCount && missing[head] >= 0) {
        ++head;
      }
      if (head == nodeCount) {
        break;  // only if the excesses do not add up to zero
      }
      raise(tail, head, std::min(missing[tail], -missing[head]), true);
    }
  }
  std::sort(raises.begin(), raises.end(),
            [](const Raise& a, const Raise& b) { return std::pair(a.tail, a.head) < std::pair(b.tail, b.head); });
  return raises;
}

}  // namespace detail

Result<std::vector<BalanceChange>> smallestBalanceChange(const Fabric& fabric) {
  try {
    std::vector<Bandwidth> excess;
    for (NodeIndex v = 0; v < fabric.nodeCount(); ++v) {
      excess.push_back(fabric.ingress(v) - fabric.egress(v));
    }
    std::vector<BalanceChange> changes;
    for (const detail::Raise& raise : detail::balancingRaises(excess, fabric.arcs())) {
      changes.push_back(
          {fabric.nodes()[raise.tail].id, fabric.nodes()[raise.head].id, Bandwidth(raise.amount), raise.isNew});
    }
    return changes;
  } catch (const OverflowError& error) {
    return Error{ErrorCode::overflow, std::string("the imbalance cannot be computed exactly: ") + error.what(),
                 "use bandwidths with fewer digits"};
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::limit, "not enough memory", "use a smaller fabric"};
  }
}

std::string describe(const BalanceChange& change) {
  const std::string ends = inQuotes(change.src) + " -> " + inQuotes(change.dst);
  const std::string amount = toExactText(change.increase) + " GB/s";
  return change.isNewLink ? "add a one-way link " + ends + " of " + amount : "raise " + ends + " by " + amount;
}

}  // namespace coppice::fabric
