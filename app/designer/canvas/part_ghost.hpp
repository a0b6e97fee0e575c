// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QImage>
#include <QPainter>
#include <QRectF>
#include <memory>

#include "designer/canvas/canvas_scene.hpp"
#include "designer/document/model.hpp"

namespace coppice::designer {

/// A part that is about to be put down, seen through, as large as it will be.
class PartGhost {
public:
  explicit PartGhost(Model part);
  /// A single device.
  explicit PartGhost(fabric::NodeKind kind);

  [[nodiscard]] const Model& part() const { return *m_part; }
  /// Where it is with its middle at the place, scene units.
  [[nodiscard]] QRectF at(const QPointF& centre) const;
  /// The painter's transform maps scene to widget. @param scale pixels of 1x to a scene unit
  void paint(QPainter& painter, const QPointF& centre, double scale, double devicePixelRatio);

private:
  void draw(double scale, double devicePixelRatio);
  void paintRooms(QPainter& painter, double scale) const;

  std::unique_ptr<Model> m_part;  // stays where it is, as the scene looks at it
  CanvasScene m_scene;
  QRectF m_rect;
  QImage m_image;  // at one scale
  double m_scale = 0;
};

}  // namespace coppice::designer
