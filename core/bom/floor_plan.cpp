// SPDX-License-Identifier: Apache-2.0
#include "bom/floor_plan.hpp"

#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "base/failure.hpp"
#include "base/text.hpp"
#include "fabric/box_path.hpp"

namespace coppice::bom {
namespace {

using fabric::NodeIndex;
using fabric::NodeKind;

Error floorError(const char* parameter, std::string message, std::string fix) {
  return Error{ErrorCode::badUsage, std::move(message), std::move(fix),
               Place{.element = {RefKind::parameter, parameter}}};
}

Rational distance(const Rational& a, const Rational& b) {
  return a < b ? b - a : a - b;
}

class Planner {
public:
  Planner(const fabric::Fabric& fabric, const Floor& floor) : m_fabric(fabric), m_floor(floor) {}

  FloorPlan run() {
    const auto count = static_cast<std::size_t>(m_fabric.nodeCount());
    m_plan.boxOf.assign(count, -1);
    m_plan.spots.resize(count);
    findBoxes();
    refuseSwitchesOfBoxes();
    m_plan.racks = (m_plan.boxes + m_floor.boxesPerRack - 1) / m_floor.boxesPerRack;
    const std::vector<NodeIndex> central = placeAtTops();
    const auto switches = static_cast<int>(central.size());
    m_plan.networkRacks = (switches + m_floor.switchesPerRack - 1) / m_floor.switchesPerRack;
    for (int i = 0; i < switches; ++i) {
      const int rack = i / m_floor.switchesPerRack;
      m_plan.spots[central[i]] = {"network rack " + std::to_string(rack + 1), leftRacks() + rack,
                                  fromTop(i % m_floor.switchesPerRack)};
    }
    for (NodeIndex node = 0; node < m_fabric.nodeCount(); ++node) {
      if (const int box = m_plan.boxOf[node]; box >= 0) {
        m_plan.spots[node] = {rackName(rackOf(box)), placeOf(rackOf(box)),
                              m_floor.boxHeight * Rational(2 * (box % m_floor.boxesPerRack) + 1, 2)};
      }
    }
    for (const auto& [node, top] : m_tops) {
      m_plan.spots[node] = {rackName(top.first), placeOf(top.first), fromTop(top.second)};
    }
    return std::move(m_plan);
  }

private:
  void findBoxes() {
    std::map<std::string, int, std::less<>> numbers;
    for (NodeIndex i = 0; i < m_fabric.nodeCount(); ++i) {
      const fabric::Node& node = m_fabric.nodes()[i];
      const std::string_view box = fabric::boxAtLevel(node.box, 1);
      if (!box.empty()) {
        const auto [found, isNew] = numbers.try_emplace(std::string(box), m_plan.boxes);
        m_plan.boxes += isNew ? 1 : 0;
        m_plan.boxOf[i] = found->second;
      } else if (node.kind == NodeKind::gpu) {
        m_plan.boxOf[i] = m_plan.boxes++;
      } else if (node.kind == NodeKind::nic) {
        throw Failure{Error{ErrorCode::badUsage, "the NIC is in no box", "name the box that it is in",
                            Place{.element = {RefKind::node, node.id, i}}}};
      }
    }
  }

  /// A switch in a box comes with it, so that its cables to elsewhere would have no port to be bought.
  void refuseSwitchesOfBoxes() const {
    for (const fabric::Arc& arc : m_fabric.arcs()) {
      const int box = m_plan.boxOf[arc.tail];
      const fabric::Node& node = m_fabric.nodes()[arc.tail];
      if (box >= 0 && box != m_plan.boxOf[arc.head] && node.kind == NodeKind::switchNode) {
        throw Failure{Error{ErrorCode::badUsage,
                            "the switch is in the box " + inQuotes(fabric::boxAtLevel(node.box, 1)) +
                                " and is joined to what is outside of it",
                            "take the switches of the network out of boxes, so that boxes are servers alone",
                            Place{.element = {RefKind::node, node.id, arc.tail}}}};
      }
    }
  }

  /// The switches that do not stand at the top of a rack of boxes.
  [[nodiscard]] std::vector<NodeIndex> placeAtTops() {
    std::map<NodeIndex, std::set<int>> below;
    for (const fabric::Arc& arc : m_fabric.arcs()) {
      if (m_plan.boxOf[arc.tail] < 0 && m_plan.boxOf[arc.head] >= 0) {
        below[arc.tail].insert(rackOf(m_plan.boxOf[arc.head]));
      }
    }
    const Rational free = m_floor.rackHeight - m_floor.boxHeight * Rational(m_floor.boxesPerRack);
    const std::int64_t space = (free / m_floor.switchHeight).floor();
    std::map<int, int> used;
    std::vector<NodeIndex> central;
    for (NodeIndex node = 0; node < m_fabric.nodeCount(); ++node) {
      if (m_plan.boxOf[node] >= 0) {
        continue;
      }
      const auto racks = below.find(node);
      const bool isOfOneRack = m_floor.isTopOfRack && racks != below.end() && racks->second.size() == 1;
      if (isOfOneRack && used[*racks->second.begin()] < space) {
        const int rack = *racks->second.begin();
        m_tops[node] = {rack, used[rack]++};
      } else {
        central.push_back(node);
      }
    }
    return central;
  }

  [[nodiscard]] int rackOf(int box) const { return box / m_floor.boxesPerRack; }
  [[nodiscard]] int leftRacks() const { return m_plan.racks / 2; }
  [[nodiscard]] int placeOf(int rack) const { return rack < leftRacks() ? rack : rack + m_plan.networkRacks; }
  [[nodiscard]] static std::string rackName(int rack) { return "rack " + std::to_string(rack + 1); }
  [[nodiscard]] Rational fromTop(int slot) const {
    return m_floor.rackHeight - m_floor.switchHeight * Rational(2 * slot + 1, 2);
  }

  const fabric::Fabric& m_fabric;
  const Floor& m_floor;
  FloorPlan m_plan;
  std::map<NodeIndex, std::pair<int, int>> m_tops;  ///< rack, slot from the top
};

}  // namespace

Outcome checkFloor(const Floor& floor) {
  if (floor.boxesPerRack < 1) {
    return floorError("boxes-per-rack", "it is below 1", "give a whole number from 1");
  }
  if (floor.switchesPerRack < 1) {
    return floorError("switches-per-rack", "it is below 1", "give a whole number from 1");
  }
  for (const auto& [name, value] :
       {std::pair("rack-pitch", floor.rackPitch), std::pair("rack-height", floor.rackHeight),
        std::pair("box-height", floor.boxHeight), std::pair("switch-height", floor.switchHeight)}) {
    if (!value.isPositive()) {
      return floorError(name, "it is not above 0", "give metres, such as 0.6");
    }
  }
  for (const auto& [name, value] : {std::pair("tray-height", floor.trayHeight), std::pair("slack", floor.slack)}) {
    if (value < Rational(0)) {
      return floorError(name, "it is below 0", "give metres, 0 or more");
    }
  }
  if (floor.boxHeight * Rational(floor.boxesPerRack) > floor.rackHeight) {
    return floorError("boxes-per-rack", "this many boxes are higher than a rack",
                      "give fewer boxes, a lower box height or a higher rack");
  }
  if (floor.switchHeight * Rational(floor.switchesPerRack) > floor.rackHeight) {
    return floorError("switches-per-rack", "this many switches are higher than a rack",
                      "give fewer switches, a lower switch height or a higher rack");
  }
  return Done{};
}

Result<FloorPlan> planFloor(const fabric::Fabric& fabric, const Floor& floor) {
  return guarded(
      [&] {
        orThrow(checkFloor(floor));
        return Planner(fabric, floor).run();
      },
      {.overflowFix = "give lengths with fewer digits"});
}

Rational lengthBetween(const Spot& a, const Spot& b, const Floor& floor) {
  if (a.place == b.place) {
    return distance(a.height, b.height) + floor.slack;
  }
  const Rational tray = floor.rackHeight + floor.trayHeight;
  return (tray - a.height) + (tray - b.height) + floor.rackPitch * Rational(std::abs(a.place - b.place)) + floor.slack;
}

}  // namespace coppice::bom
