// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "bom/floor_plan.hpp"
#include "bom/parts.hpp"

/// What the network of a fabric is bought of.
namespace coppice::bom {

/// What is chosen for first.
enum class Preference { price, watts };

struct Cost {
  Rational price;
  Rational watts;

  Cost& operator+=(const Cost& other);
  friend Cost operator*(const Cost& cost, const Rational& factor) { return {cost.price * factor, cost.watts * factor}; }
  [[nodiscard]] bool isBelow(const Cost& other, Preference preference) const;
  friend bool operator==(const Cost&, const Cost&) = default;
};

/// The cables of one link, alike and side by side.
struct CableRun {
  fabric::NodeIndex from = 0;  ///< the end nearer to the GPUs
  fabric::NodeIndex to = 0;
  int count = 0;
  Rational length;      ///< metres
  Bandwidth rate;       ///< at which each cable runs: that of the slower port
  Bandwidth bandwidth;  ///< of the link, in the direction that has more
  int part = 0;         ///< in Parts::rows
  Bandwidth portRate;   ///< of the ports of switches that it takes; 0 without one
};

/// All pieces of one part.
struct BillLine {
  int part = 0;
  std::int64_t pieces = 0;
  Rational metres;  ///< of the cables, together; 0 for switches and NICs
  Cost cost;
};

struct Bill {
  std::vector<BillLine> lines;  ///< in the order of the table
  Cost total;
  std::vector<CableRun> runs;
  /// By node: the switch it is, or the NIC that it is or has; -1 = nothing is bought for it.
  std::vector<int> partOf;
  std::vector<int> portsUsed;  ///< by node
  FloorPlan plan;
  /// Of the ports of switches towards boxes, and towards other switches; 0 without switches.
  Bandwidth portRate;
  Bandwidth uplinkRate;
};

/// The cheapest bill, or the one that takes the fewest watts, of all pairs of port rates: the switches of a fabric have
/// ports of one rate for boxes and of one for each other, the same unless some switch of the table has both. A link is
/// as many cables as its bandwidth needs, each of which takes a port at both ends and runs at the rate of the slower
/// one; every switch is the best that has enough ports (port_cover.hpp), every NIC and every cable the best that fits.
/// What is inside a box comes with it; so do NICs where the table has none. Links between boxes without a switch are
/// cables alone. Errors: badInput naming the file (no switch with enough ports of these rates, no NIC, no cable that
/// reaches), those of planFloor, overflow, cancelled.
[[nodiscard]] Result<Bill> billOf(const fabric::Fabric& fabric, const Parts& parts, const Floor& floor,
                                  Preference preference = Preference::price, const Progress& progress = {});
/// The totals of the bills for the lowest price and for the fewest watts. Errors: as billOf.
[[nodiscard]] Result<std::array<Cost, 2>> costsOf(const fabric::Fabric& fabric, const Parts& parts, const Floor& floor,
                                                  const Progress& progress = {});

}  // namespace coppice::bom
