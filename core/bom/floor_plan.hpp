// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/rational.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"

/// Where boxes and switches stand, and how long the cables between them are.
namespace coppice::bom {

/// One row of racks, all lengths in metres. Boxes fill racks from the bottom, in the order of the fabric; switches fill
/// network racks from the top, which stand in the middle of the row.
struct Floor {
  int boxesPerRack = 4;
  int switchesPerRack = 16;
  Rational rackPitch{3, 5};      ///< from the middle of a rack to that of the next
  Rational rackHeight = 2;       ///< that can be used
  Rational boxHeight{2, 5};      ///< a box with the space around it: 8 to 9 units
  Rational switchHeight{1, 10};  ///< a switch with its cable guide: 2 units
  Rational trayHeight{1, 5};     ///< of the cable tray above the racks
  Rational slack{1, 2};          ///< of each cable, both ends together
  /// A switch whose boxes all stand in one rack is at the top of it, where there is space.
  bool isTopOfRack = false;
};

/// Errors: badUsage naming the parameter ("boxes-per-rack") with RefKind::parameter.
[[nodiscard]] Outcome checkFloor(const Floor& floor);

struct Spot {
  std::string rack;  ///< "rack 3", "network rack 1"
  int place = 0;     ///< of the rack in the row, from the left
  Rational height;   ///< of the middle above the floor
};

struct FloorPlan {
  /// By node. All nodes of a box have its number; -1 for switches of the network.
  std::vector<int> boxOf;
  std::vector<Spot> spots;
  int boxes = 0;
  int racks = 0;  ///< with boxes
  int networkRacks = 0;
};

/// What is in the same outermost box is one box; a GPU without a box is one of its own; switches without a box are the
/// network. Errors: those of checkFloor; badUsage for a NIC without a box, and for a
/// switch in a box with a link that leaves it.
[[nodiscard]] Result<FloorPlan> planFloor(const fabric::Fabric& fabric, const Floor& floor);

/// In one rack straight; else up to the tray, along the row, and down again. With slack.
[[nodiscard]] Rational lengthBetween(const Spot& a, const Spot& b, const Floor& floor);

}  // namespace coppice::bom
