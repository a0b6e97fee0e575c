// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/camera.hpp"

#include <QDataStream>
#include <QEasingCurve>
#include <QIODevice>
#include <QWidget>
#include <algorithm>
#include <cmath>

#include "designer/theme/theme.hpp"

namespace coppice::designer {
namespace {

constexpr double kFitMargin = 36;            // pixels
constexpr int kMotionTime = 160;             // ms
constexpr quint32 kStateMagic = 0x43565331;  // "CVS1"

}  // namespace

Camera::Camera(QWidget& widget) : m_widget(widget) {
  m_motion.setStartValue(0.0);
  m_motion.setEndValue(1.0);
  m_motion.setDuration(kMotionTime);
  m_motion.setEasingCurve(QEasingCurve::OutCubic);
  connect(&m_motion, &QVariantAnimation::valueChanged, this, &Camera::showMotion);
}

QRectF Camera::visible() const {
  return {m_viewpoint.toScene({0, 0}), QSizeF(m_widget.size()) / m_viewpoint.scale};
}

QPointF Camera::middle() const {
  return {m_widget.width() / 2.0, m_widget.height() / 2.0};
}

QPointF Camera::wholePixels(const QPointF& offset) const {
  const double ratio = m_widget.devicePixelRatioF();
  return {std::round(offset.x() * ratio) / ratio, std::round(offset.y() * ratio) / ratio};
}

void Camera::set(const Viewpoint& viewpoint) {
  const double scale = std::clamp(viewpoint.scale, kMinScale, kMaxScale);
  const QPointF offset = wholePixels(viewpoint.offset);
  if (scale != m_viewpoint.scale) {
    Q_EMIT aboutToZoom();
    m_viewpoint = {scale, offset};
    Q_EMIT zoomChanged(scale);
  } else {
    m_viewpoint.offset = offset;
  }
  Q_EMIT changed();
}

void Camera::animateTo(const Viewpoint& viewpoint) {
  m_motion.stop();
  if (!Theme::instance().isAnimated() || !m_widget.isVisible()) {
    set(viewpoint);
    return;
  }
  m_from = m_viewpoint;
  m_to = viewpoint;
  m_motion.start();
}

void Camera::showMotion() {
  const double share = m_motion.currentValue().toDouble();
  if (share >= 1) {
    set(m_to);
    return;
  }
  // The scale grows evenly in its logarithm, about the point that both views share.
  const double scale = m_from.scale * std::pow(m_to.scale / m_from.scale, share);
  const double way = std::abs(m_to.scale - m_from.scale) < 1e-9
                         ? share
                         : (1 / scale - 1 / m_from.scale) / (1 / m_to.scale - 1 / m_from.scale);
  const QPointF start = m_from.toScene(middle());
  set(centred(start + (m_to.toScene(middle()) - start) * way, scale));
}

Viewpoint Camera::zoomed(double zoom, const QPointF& viewPoint) const {
  const double scale = std::clamp(zoom, kMinScale, kMaxScale);
  return {scale, viewPoint - m_viewpoint.toScene(viewPoint) * scale};
}

Viewpoint Camera::centred(const QPointF& scenePoint, double scale) const {
  return {scale, middle() - scenePoint * scale};
}

Viewpoint Camera::framing(const QRectF& sceneRect, double maxScale, const QMarginsF& reserved) const {
  const QRectF free = QRectF(m_widget.rect()).marginsRemoved(reserved);
  const double width = std::max(8.0, free.width() - 2 * kFitMargin);
  const double height = std::max(8.0, free.height() - 2 * kFitMargin);
  const double scale =
      std::clamp(std::min(width / std::max(1.0, sceneRect.width()), height / std::max(1.0, sceneRect.height())),
                 kMinScale, maxScale);
  return {scale, free.center() - sceneRect.center() * scale};
}

QByteArray Camera::state(bool keepsFit) const {
  QByteArray bytes;
  QDataStream stream(&bytes, QIODevice::WriteOnly);
  const QPointF centre = m_viewpoint.toScene(middle());
  stream << kStateMagic << m_viewpoint.scale << centre.x() << centre.y() << keepsFit;
  return bytes;
}

std::optional<Camera::State> Camera::readState(const QByteArray& bytes) {
  QDataStream stream(bytes);
  quint32 magic = 0;
  State state;
  double x = 0;
  double y = 0;
  stream >> magic >> state.scale >> x >> y;
  constexpr double kMax = 1e9;
  if (stream.status() != QDataStream::Ok || magic != kStateMagic ||
      !(state.scale >= kMinScale && state.scale <= kMaxScale) || !(std::abs(x) < kMax && std::abs(y) < kMax)) {
    return std::nullopt;
  }
  state.centre = {x, y};
  // Older states end here.
  bool keepsFit = false;
  stream >> keepsFit;
  state.keepsFit = keepsFit && stream.status() == QDataStream::Ok;
  return state;
}

}  // namespace coppice::designer
