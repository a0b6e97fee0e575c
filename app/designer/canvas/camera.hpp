// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QByteArray>
#include <QMarginsF>
#include <QObject>
#include <QPointF>
#include <QRectF>
#include <QVariantAnimation>
#include <optional>

class QWidget;

namespace coppice::designer {

/// Scale (pixels of 1x to a scene unit) and where the scene's origin is on the widget.
struct Viewpoint {
  double scale = 1;
  QPointF offset = {};

  [[nodiscard]] QPointF toScene(const QPointF& view) const { return (view - offset) / scale; }
  [[nodiscard]] QPointF toView(const QPointF& scene) const { return scene * scale + offset; }
};

/// Which part of the scene a widget shows. Moves at once or in a short animation. The offset is always whole device
/// pixels, so that finished tiles are copied as they are.
class Camera : public QObject {
  Q_OBJECT

public:
  static constexpr double kMinScale = 0.01;
  static constexpr double kMaxScale = 8;

  /// The widget must outlive the camera.
  explicit Camera(QWidget& widget);

  [[nodiscard]] const Viewpoint& viewpoint() const { return m_viewpoint; }
  [[nodiscard]] double scale() const { return m_viewpoint.scale; }
  /// What is in view, scene units.
  [[nodiscard]] QRectF visible() const;
  /// The middle of the widget, its pixels.
  [[nodiscard]] QPointF middle() const;

  void set(const Viewpoint& viewpoint);
  void animateTo(const Viewpoint& viewpoint);
  void stop() { m_motion.stop(); }
  [[nodiscard]] bool isMoving() const { return m_motion.state() == QAbstractAnimation::Running; }

  /// The scale of that zoom with the scene point under the view point where it is.
  [[nodiscard]] Viewpoint zoomed(double zoom, const QPointF& viewPoint) const;
  /// The scene point in the middle of the widget.
  [[nodiscard]] Viewpoint centred(const QPointF& scenePoint, double scale) const;
  /// The rectangle with a margin in the middle of the widget without the reserved margins.
  [[nodiscard]] Viewpoint framing(const QRectF& sceneRect, double maxScale, const QMarginsF& reserved = {}) const;
  [[nodiscard]] QPointF wholePixels(const QPointF& offset) const;

  /// For a later session; `keepsFit` is kept with it.
  [[nodiscard]] QByteArray state(bool keepsFit) const;
  struct State {
    double scale = 1;
    QPointF centre = {};
    bool keepsFit = false;
  };
  /// nullopt: not a state of a camera.
  [[nodiscard]] static std::optional<State> readState(const QByteArray& bytes);

Q_SIGNALS:
  /// The scale is about to change.
  void aboutToZoom();
  void zoomChanged(double scale);
  /// Place or scale changed.
  void changed();

private:
  void showMotion();

  QWidget& m_widget;
  Viewpoint m_viewpoint;
  QVariantAnimation m_motion;
  Viewpoint m_from;  ///< of the motion
  Viewpoint m_to;
};

}  // namespace coppice::designer
