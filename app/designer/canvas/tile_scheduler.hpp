// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QElapsedTimer>
#include <QImage>
#include <QObject>
#include <QTimer>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "designer/canvas/camera.hpp"
#include "designer/canvas/canvas_painter.hpp"
#include "designer/canvas/tile_cache.hpp"

class QWidget;

namespace coppice::designer {

/// Decides what of the drawing is painted in a frame: all of it, or a few milliseconds of missing tiles while a dense
/// drawing moves. What is not drawn yet is stood in for by the last frame, stretched, and by what has moved.
class TileScheduler : public QObject {
  Q_OBJECT

public:
  /// The painter of the scene as it is now.
  using MakePainter = std::function<std::shared_ptr<CanvasPainter>()>;

  /// All must outlive the scheduler.
  TileScheduler(QWidget& widget, const Camera& camera, const CanvasScene& scene);

  /// Forgets everything that is drawn.
  void clear();
  /// The region has to be drawn again.
  void invalidate(const Region& dirty);
  void invalidateAll();
  /// What the painter looks at is about to change.
  void dropWork() { m_tiles.dropWork(); }
  /// Dense drawings show the node at its new place before its tiles are drawn.
  void noteMoved(std::uint32_t node);
  /// Places of nodes are others than those noted.
  void forgetMoved() { m_moved.clear(); }
  /// The scale is about to change: keeps what is seen now.
  void beginZoom();

  /// The next frame is drawn completely, however long that takes.
  void completeNext();
  /// The next frame need not wait for the end of a zoom.
  void endZoom() { m_sinceZoom.invalidate(); }

  void paint(QPainter& painter, const MakePainter& makePainter);

Q_SIGNALS:
  /// More can be drawn in another frame.
  void unfinished();

private:
  [[nodiscard]] bool isDense() const;
  /// Milliseconds for missing tiles; nullopt: until done.
  [[nodiscard]] std::optional<double> budget() const;
  /// Device pixels of the scaled scene that the widget shows.
  [[nodiscard]] QRect shownPixels() const;
  void paintLastFrame(QPainter& painter) const;
  void paintMoved(QPainter& painter, CanvasPainter& canvas, Detail detail) const;

  QWidget& m_widget;
  const Camera& m_camera;
  const CanvasScene& m_scene;
  TileCache m_tiles;
  QImage m_lastFrame;  ///< of another scale
  Viewpoint m_lastViewpoint;
  QElapsedTimer m_sinceZoom;
  bool m_isCompleteWanted = false;
  std::set<std::uint32_t> m_moved;  ///< nodes that tiles may still show elsewhere
  QTimer m_refine;
};

}  // namespace coppice::designer
