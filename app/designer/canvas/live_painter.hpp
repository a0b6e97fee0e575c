// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>
#include <QPen>
#include <QString>
#include <optional>
#include <utility>
#include <vector>

#include "designer/canvas/camera.hpp"
#include "designer/canvas/canvas_scene.hpp"
#include "designer/canvas/motion.hpp"
#include "designer/canvas/motion_lanes.hpp"
#include "designer/document/ids.hpp"

namespace coppice::designer {

/// Figures shown beside the element under the pointer.
struct HoverNote {
  QString title;
  std::vector<std::pair<QString, QString>> rows;  ///< a name, and a figure
};

/// What the tool that points would make.
struct PointNote {
  ElementId over;  ///< where it leads; the note stands beside it
  HoverNote note;
  std::vector<LinkId> way = {};  ///< links that are drawn as the new way
};

/// What is drawn over the tiles in every frame: pointer, cursor and pulse.
class LivePainter {
public:
  LivePainter(QPainter& painter, const CanvasScene& scene, const Viewpoint& viewpoint, const QSize& view);

  /// Outlines the element under the pointer.
  void paintHovered(const ElementId& id);
  /// The bandwidth of a line on its middle, with the note.
  void paintLineLabel(const LineItem& line, const std::optional<HoverNote>& note);
  /// The links, as a way that something would take.
  void paintWay(const std::vector<LinkId>& way);
  void paintPointNote(const PointNote& note);
  /// Links that carry data, thicker the more they carry, the pieces on them, and how much of its data each GPU has.
  /// @param lanes of the scene
  void paintMotion(const Motion& motion, MotionLanes& lanes);
  /// How much of its data each GPU has.
  void paintArrivals(const Motion& motion, const MotionStyle& style);
  /// The keyboard cursor.
  void paintCursor(const ElementId& id);
  /// One flow of data along its lane. @param width scene units
  static void stroke(QPainter& painter, const Curve& curve, const QColor& color, double width);
  /// @param share of the time that is over, 0 to 1
  void paintPulse(const ElementId& id, double share);

private:
  void outline(const ElementId& id, double distance, const QPen& pen);
  /// Keeps what is drawn from now on off the names of boxes in the part.
  void clipTitles(const QRectF& part);
  void paintArrival(const Motion::Arrival& arrival, const MotionStyle& style);
  /// Below the place, or above where there is no room; pixels of the widget, as the painter's transform is then.
  void paintNote(const HoverNote& note, const QPointF& place);
  [[nodiscard]] double px(double pixels) const { return pixels / m_viewpoint.scale; }

  QPainter& m_painter;
  const CanvasScene& m_scene;
  const Viewpoint& m_viewpoint;
  QSize m_view;
};

}  // namespace coppice::designer
