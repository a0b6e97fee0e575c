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

/// Whatever the order, the steps take that long: in each, some GPU sends or receives its amount over its links, and a
/// set of GPUs sends to the others, or receives from them, over those of the set.
struct Bound {
  InverseBandwidth time;
  std::vector<fabric::NodeIndex> nodes = {};  ///< of the set; empty: single GPUs alone bound it
  int gpus = 0;                               ///< in the set
  bool isInto = false;                        ///< what enters the set
  Bandwidth capacity = {};                    ///< of the links that leave the set, or enter it
};

/// The largest over sets that hang together in the fabric: GPUs, hosts, what is below a switch. The least time over all
/// choices of as many places: by trying them where they are few; of exchanges over bits by how few edges a part of a
/// cube has; else by the least cut of what is sent, which is less.
/// @param keepsHosts ranks of a host are consecutive
/// nullopt where none says anything. Throws OverflowError, CancelledError.
[[nodiscard]] std::optional<Bound> orderBound(const fabric::Fabric& fabric, const Pattern& pattern, const Hosts& hosts,
                                              bool keepsHosts, const Progress& progress = {});

}  // namespace coppice::order
