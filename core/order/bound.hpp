// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "order/hosts.hpp"
#include "order/pattern.hpp"

namespace coppice::order {

/// Whatever the order, at least `amount` crosses from the set to the rest, or into it, over links of `capacity`.
struct Bound {
  InverseBandwidth time;
  std::vector<fabric::NodeIndex> nodes;  ///< of the set
  int gpus = 0;                          ///< in the set
  bool isInto = false;                   ///< what enters the set
  Rational amount;                       ///< bytes per byte of M
  Bandwidth capacity;
};

/// The largest over sets that hang together in the fabric: GPUs, hosts, what is below a switch. The least amount over
/// all choices of as many places: by trying them where they are few, else the least cut of what is sent, which is less.
/// @param keepsHosts ranks of a host are consecutive
/// nullopt where none says anything. Throws OverflowError, CancelledError.
[[nodiscard]] std::optional<Bound> orderBound(const fabric::Fabric& fabric, const Pattern& pattern, const Hosts& hosts,
                                              bool keepsHosts, const Progress& progress = {});

}  // namespace coppice::order
