// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "bfb/bfb.hpp"
#include "fabric/fabric.hpp"

namespace coppice::bfb {

/// A fabric as a digraph of its GPUs, by rank.
struct Logical {
  Digraph graph;
  Bandwidth unit;  ///< of a unit link
  /// By link: the nodes from GPU to GPU.
  std::vector<std::vector<fabric::NodeIndex>> routes;
  /// Between which GPUs routes through switches were laid, in words; empty without switches.
  std::string name = {};
};

/// Links between GPUs as they are; the unit is the largest of which all bandwidths are multiples. With
/// `throughSwitches`, switches and nics are removed as ForestColl does (Algorithm 3), so that every link gets a route
/// through them with bandwidth of its own. Errors: badUsage (switches, not `throughSwitches`), unbalanced, overflow.
/// Throws CancelledError.
Result<Logical> logicalGraph(const fabric::Fabric& fabric, bool throughSwitches, const Progress& progress);

}  // namespace coppice::bfb
