// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "base/units.hpp"
#include "bom/parts.hpp"

namespace coppice::bom {

/// How many ports of each rate.
using PortNeeds = std::map<Bandwidth, int>;

/// Ports of one group that serve one rate, each split into as many.
struct PortUse {
  int firstPort = 0;  ///< of the switch, from 0
  int ports = 0;
  int split = 1;
  Bandwidth rate;  ///< of what a port is split into

  friend bool operator==(const PortUse&, const PortUse&) = default;
};

struct PortCover {
  std::vector<PortUse> uses;  ///< whole ports of a rate first
  int missing = 0;            ///< ports of the rates that there are too few of
};

/// The ports of a switch that serve the needs. Each serves one rate: its own, or a part of it that it can be split
/// into. Exact: if any choice is enough, this one is, and it splits the fewest ports and then takes the fewest; else it
/// misses the fewest.
/// @pre at most two rates
[[nodiscard]] PortCover coverPorts(const Part& part, const PortNeeds& needs);

/// All rates that some port has, or can be split into.
[[nodiscard]] std::vector<Bandwidth> ratesOf(const Part& part);

}  // namespace coppice::bom
