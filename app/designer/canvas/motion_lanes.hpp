// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "designer/canvas/canvas_scene.hpp"
#include "designer/canvas/curve.hpp"
#include "designer/canvas/motion.hpp"

namespace coppice::designer {

/// Where data moves on a drawing: each direction of a line, or of a trunk where the lines between two rooms are drawn
/// as one. Looked up once for each link.
class MotionLanes {
public:
  using Lane = std::uint32_t;

  /// The scene must outlive the lanes.
  explicit MotionLanes(const CanvasScene& scene) : m_scene(scene) {}

  /// The scene has changed.
  void forget() { m_links.clear(); }
  /// @param hasTrunks lines between rooms are drawn as trunks (see drawsTrunks)
  void setTrunks(bool hasTrunks);
  /// nullopt: the link is not drawn.
  [[nodiscard]] std::optional<Lane> laneOf(const LinkStep& step);
  /// In the direction of the lane, which keeps to its right. @param aside scene units
  [[nodiscard]] Curve curveOf(Lane lane, double aside) const;
  /// Of the links of one lane the busiest; the busier, the later.
  [[nodiscard]] std::vector<std::pair<Lane, const Motion::Flow*>> busiest(const Motion& motion);

private:
  struct Place {
    Lane forward = 0;  ///< of the link, tail to head; the other direction differs in the last bit
    bool isDrawn = false;
  };
  [[nodiscard]] Place placeOf(LinkId link);
  void findTrunks();

  const CanvasScene& m_scene;
  bool m_hasTrunks = false;
  std::unordered_map<LinkId, Place> m_links;
  std::vector<Lane> m_trunkOf;  ///< by line: from its a to its b; kNoTrunk
};

/// How data under way looks at a scale (pixels of 1x to a scene unit); lengths in scene units.
struct MotionStyle {
  double unit = 1;  ///< a pixel at the usual scale; less at small scales, where lines are close
  double rim = 1;   ///< around a piece

  explicit MotionStyle(double scale);
  [[nodiscard]] double widthOf(double share) const;
  [[nodiscard]] double aside() const;   ///< of a lane, from the middle of its line
  [[nodiscard]] double radius() const;  ///< of a piece
};

}  // namespace coppice::designer
