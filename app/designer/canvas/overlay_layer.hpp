// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainterPath>
#include <QString>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "designer/canvas/canvas_scene.hpp"
#include "designer/canvas/overlay.hpp"

namespace coppice::designer {

/// The link runs from the line's a to its b.
[[nodiscard]] bool runsAlong(const CanvasScene& scene, const LineItem& line, LinkId id);

/// An overlay as it is on a scene, looked up by line and shape, so that drawing a part costs what is in that part.
/// Made once for an overlay and a state of the scene; neither may change or go while it is used.
class OverlayLayer {
public:
  /// A tree on a line.
  struct Lane {
    std::uint32_t tree = 0;
    bool isForward = true;  ///< from the line's a to its b
    double place = 0;       ///< sideways of the line, in lanes: -0.5 and 0.5 for two; positive is right of a → b
  };
  struct Load {
    double forward = 0;  ///< a to b
    double backward = 0;
    QString text;
    bool isBottleneck = false;
    [[nodiscard]] double max() const { return forward > backward ? forward : backward; }
  };
  /// What is on one line.
  struct OnLine {
    std::optional<Load> load;
    std::vector<std::uint32_t> marks;  ///< of the overlay
    std::vector<Lane> lanes;           ///< from left to right, as seen from a to b
  };

  /// Load of the links of a box that is a cell of a stack: the hottest.
  struct CellLoad {
    double max = 0;
    bool isBottleneck = false;
  };

  OverlayLayer(const CanvasScene& scene, const Overlay& overlay);

  [[nodiscard]] const Overlay& overlay() const { return m_overlay; }
  /// nullptr: nothing.
  [[nodiscard]] const OnLine* on(std::uint32_t line) const;
  /// nullptr: nothing, or the box is no cell.
  [[nodiscard]] const CellLoad* onCell(BoxId box) const;
  /// How many lines have something on them.
  [[nodiscard]] std::size_t lineCount() const { return m_lines.size(); }
  /// Outline of each hull of the overlay.
  [[nodiscard]] const std::vector<QPainterPath>& hulls() const { return m_hulls; }
  /// Rectangles that together hold each hull: one for each region of it.
  [[nodiscard]] const std::vector<std::vector<QRectF>>& hullParts() const { return m_hullParts; }
  /// The shape is part of what the overlay is about.
  [[nodiscard]] bool isBright(std::uint32_t node) const { return m_bright[node]; }
  [[nodiscard]] bool hasBottleneck() const { return m_hasBottleneck; }

private:
  void addLoads(const CanvasScene& scene);
  void addToCells(const CanvasScene& scene, LinkId id, const LinkLoad& load);
  void addTrees(const CanvasScene& scene);

  const Overlay& m_overlay;
  std::unordered_map<std::uint32_t, OnLine> m_lines;
  std::unordered_map<BoxId, CellLoad> m_cells;
  std::vector<QPainterPath> m_hulls;
  std::vector<std::vector<QRectF>> m_hullParts;
  std::vector<bool> m_bright;
  bool m_hasBottleneck = false;
};

}  // namespace coppice::designer
