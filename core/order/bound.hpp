// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/progress.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "order/hosts.hpp"
#include "order/pattern.hpp"

namespace coppice::order {

/// Whatever the order, the steps take that long.
struct Bound {
  enum class Reason {
    links,   ///< in each step some message needs this much of a link on its routes, or all messages of all links
    routes,  ///< GPUs have few others near: with those nearest first, the data pass this many links
    set,     ///< a set of GPUs sends to the others, or receives from them, over the links of the set
  };
  InverseBandwidth time;
  Reason reason = Reason::links;
  std::vector<fabric::NodeIndex> nodes = {};  ///< of the set
  int gpus = 0;                               ///< in the set
  bool isInto = false;                        ///< what enters the set
  Bandwidth capacity = {};                    ///< of the links that leave the set, or enter it; for routes, of all
};

/// "links", "routes", "set"
[[nodiscard]] std::string_view toString(Bound::Reason reason);

/// The largest of the three. Sets are those that hang together in the fabric: GPUs, hosts, what is below a switch, and
/// bricks of a grid. What leaves a set is the least over all choices of as many places: by trying them where they are
/// few; of the same for all pairs exactly; of exchanges over bits by how few edges a part of a cube has; else by the
/// least cut of what is sent, which is less.
/// @param keepsHosts ranks of a host are consecutive
/// nullopt where none says anything. Throws OverflowError, CancelledError.
[[nodiscard]] std::optional<Bound> orderBound(const fabric::Fabric& fabric, const Pattern& pattern, const Hosts& hosts,
                                              bool keepsHosts, const Progress& progress = {});

}  // namespace coppice::order
