// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QImage>
#include <QPainter>
#include <QPoint>
#include <QRect>
#include <QRgb>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "designer/canvas/camera.hpp"
#include "designer/canvas/canvas_scene.hpp"
#include "designer/canvas/motion.hpp"
#include "designer/canvas/motion_lanes.hpp"

namespace coppice::designer {

/// Data under way, frame after frame. What stays the same between frames is kept: which pixels a lane of some width
/// covers, and how, so that a frame only mixes its colour in; and pieces as small images. A drawing at another scale
/// begins with nothing kept. LivePainter::paintMotion draws the same, slower, on any painter.
class MotionPainter {
public:
  /// The scene must outlive the painter.
  explicit MotionPainter(const CanvasScene& scene) : m_scene(scene), m_lanes(scene) {}

  /// The scene has changed.
  void forget();
  /// Over a finished drawing of the scene. Returns false where lanes are drawn roughly, as the time of a frame was over
  /// before it was known what they cover: another frame draws more of them well.
  /// @param frame 32 bits without alpha, with the device pixel ratio of its view
  bool paint(QImage& frame, const Motion& motion, const Viewpoint& viewpoint, bool hasTrunks);

private:
  /// Pixels of a row that follow each other.
  struct Run {
    std::int16_t x = 0;  ///< from the mask's corner
    std::int16_t y = 0;
    std::int16_t count = 0;
  };
  struct Mask {
    QPoint corner;  ///< device pixels from the scene's origin
    std::vector<Run> runs;
    std::vector<std::uint8_t> covered;  ///< of the runs, one after another; 255 = wholly
    [[nodiscard]] std::size_t bytes() const { return runs.capacity() * sizeof(Run) + covered.capacity(); }
  };
  /// Of the frame that is painted.
  struct Target {
    QImage& frame;
    QPoint origin;  ///< of the scene, device pixels
    double pixels;  ///< device pixels to a scene unit
  };
  bool paintFlows(const Target& target, QPainter& painter, const Motion& motion, const MotionStyle& style);
  void paintPieces(const Target& target, QPainter& painter, const Motion& motion, const MotionStyle& style);
  [[nodiscard]] const Curve& curveOf(MotionLanes::Lane lane, const MotionStyle& style);
  /// @param rect of the curve, device pixels from the scene's origin
  [[nodiscard]] static Mask maskOf(const Curve& curve, double pixels, double width, const QRect& rect);
  static void blend(const Target& target, const Mask& mask, QRgb color);
  [[nodiscard]] const QImage& sprite(QRgb color, int phaseX, int phaseY, double radius, double rim);

  const CanvasScene& m_scene;
  MotionLanes m_lanes;
  double m_pixels = 0;  ///< that everything below is of
  bool m_hasTrunks = false;
  std::unordered_map<MotionLanes::Lane, Curve> m_curves;
  std::unordered_map<std::uint64_t, Mask> m_masks;  ///< by lane and width
  std::size_t m_maskBytes = 0;
  QRgb m_rim = 0;
  std::unordered_map<std::uint64_t, QImage> m_sprites;  ///< by colour and place within a pixel
};

}  // namespace coppice::designer
