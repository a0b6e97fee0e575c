// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QPainter>
#include <QPointF>
#include <QVariantAnimation>
#include <map>

#include "designer/canvas/camera.hpp"
#include "designer/canvas/canvas_scene.hpp"

namespace coppice::designer {

/// Shows nodes on their way from where they were to where the next command puts them: shapes and plain lines.
class MoveAnimation : public QObject {
  Q_OBJECT

public:
  /// The scene must outlive the animation.
  explicit MoveAnimation(const CanvasScene& scene);

  /// Keeps the places as they are now. Nothing will move where there are too many shapes.
  void prepare();
  void forget();
  /// The scene has changed: starts what was prepared, and stops what was running.
  void sceneChanged();
  [[nodiscard]] bool isRunning() const { return m_motion.state() == QAbstractAnimation::Running; }
  void paint(QPainter& painter, const Viewpoint& viewpoint) const;

Q_SIGNALS:
  /// The picture has to be painted again.
  void advanced();

private:
  const CanvasScene& m_scene;
  QVariantAnimation m_motion;
  std::map<ElementId, QPointF> m_before;  ///< centres
  bool m_isPrepared = false;
};

}  // namespace coppice::designer
