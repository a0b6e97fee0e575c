// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/tile_scheduler.hpp"

#include <QPainter>
#include <QWidget>
#include <algorithm>
#include <vector>

#include "designer/theme/theme.hpp"

namespace coppice::designer {
namespace {

constexpr double kFrameBudget = 6;  // ms for missing tiles while things move
constexpr std::size_t kDenseLines = 1500;
constexpr int kZoomTime = 140;  // ms after a change of scale that count as zooming

}  // namespace

TileScheduler::TileScheduler(QWidget& widget, const Camera& camera, const CanvasScene& scene)
    : m_widget(widget), m_camera(camera), m_scene(scene) {
  m_refine.setSingleShot(true);
  connect(&m_refine, &QTimer::timeout, this, &TileScheduler::unfinished);
}

bool TileScheduler::isDense() const {
  return m_scene.lines().size() > kDenseLines;
}

QRect TileScheduler::shownPixels() const {
  const double ratio = m_widget.devicePixelRatioF();
  const QPointF offset = m_camera.viewpoint().offset * ratio;
  return {QPoint(-qRound(offset.x()), -qRound(offset.y())), m_widget.size() * ratio};
}

void TileScheduler::clear() {
  m_tiles.clear();
  m_lastFrame = {};
}

void TileScheduler::invalidate(const Region& dirty) {
  // Room for rims, glows and titles that reach out of the shapes.
  constexpr double kReach = 26;
  const double margin = 12 + kReach / m_camera.scale();
  const double pixels = m_camera.scale() * m_widget.devicePixelRatioF();
  const auto toPixels = [pixels](const QPointF& point) {
    constexpr double kMax = 1e8;
    return QPointF(std::clamp(point.x() * pixels, -kMax, kMax), std::clamp(point.y() * pixels, -kMax, kMax));
  };
  for (const QRectF& each : dirty) {
    const QRectF rect = each.adjusted(-margin, -margin, margin, margin);
    m_tiles.invalidate(QRectF(toPixels(rect.topLeft()), toPixels(rect.bottomRight())).toAlignedRect());
  }
}

void TileScheduler::invalidateAll() {
  m_tiles.invalidateAll();
}

void TileScheduler::noteMoved(std::uint32_t node) {
  if (isDense()) {
    m_moved.insert(node);
  }
}

void TileScheduler::beginZoom() {
  if (m_widget.width() > 0 && (m_lastFrame.isNull() || m_tiles.size() > 0)) {
    const double ratio = m_widget.devicePixelRatioF();
    QImage frame(m_widget.size() * ratio, QImage::Format_RGB32);
    frame.setDevicePixelRatio(ratio);
    QPainter painter(&frame);
    painter.fillRect(m_widget.rect(), Theme::instance().color(Token::canvas));
    if (!m_lastFrame.isNull()) {
      paintLastFrame(painter);
    }
    m_tiles.paint(painter, shownPixels(), ratio, 0.0, [](QPainter&, const QRect&) { return PaintSteps(); });
    painter.end();
    m_lastFrame = frame;
    m_lastViewpoint = m_camera.viewpoint();
  }
  m_tiles.clear();
  m_sinceZoom.start();
}

void TileScheduler::completeNext() {
  m_sinceZoom.invalidate();
  m_lastFrame = {};
  m_isCompleteWanted = true;
}

std::optional<double> TileScheduler::budget() const {
  if (!isDense() || m_isCompleteWanted) {
    return std::nullopt;
  }
  // While the scale changes nothing drawn for it would last; else a little in each frame.
  const bool isZooming = m_sinceZoom.isValid() && m_sinceZoom.elapsed() < kZoomTime && !m_lastFrame.isNull();
  return isZooming ? 0.0 : kFrameBudget;
}

void TileScheduler::paintLastFrame(QPainter& painter) const {
  const Viewpoint& now = m_camera.viewpoint();
  const double grown = now.scale / m_lastViewpoint.scale;
  const QPointF corner = now.offset - m_lastViewpoint.offset * grown;
  painter.drawImage(QRectF(corner, QSizeF(m_widget.size()) * grown), m_lastFrame);
}

void TileScheduler::paint(QPainter& painter, const MakePainter& makePainter) {
  const std::optional<double> allowed = budget();
  m_isCompleteWanted = false;
  if (!m_lastFrame.isNull() && allowed) {
    paintLastFrame(painter);
  }
  const double scale = m_camera.scale();
  const double ratio = m_widget.devicePixelRatioF();
  const double pixels = scale * ratio;
  const Detail detail = detailAt(scale, m_scene.lines().size(), m_scene.bounds());
  const bool isComplete =
      m_tiles.paint(painter, shownPixels(), ratio, allowed, [&](QPainter& onTile, const QRect& tile) {
        onTile.translate(-tile.topLeft());
        onTile.scale(pixels, pixels);
        const std::shared_ptr<CanvasPainter> canvas = makePainter();
        PaintSteps work =
            canvas->steps(QRectF(QPointF(tile.topLeft()) / pixels, QSizeF(tile.size()) / pixels), scale, detail);
        work.keeps = canvas;
        return work;
      });
  if (isComplete) {
    m_lastFrame = {};
    m_moved.clear();
  } else {
    m_refine.start(allowed == 0.0 ? kZoomTime : 0);
    paintMoved(painter, *makePainter(), detail);
  }
}

void TileScheduler::paintMoved(QPainter& painter, CanvasPainter& canvas, Detail detail) const {
  constexpr std::size_t kMaxItems = 400;
  if (m_moved.empty() || m_moved.size() > kMaxItems) {
    return;
  }
  std::set<std::uint32_t> lines;
  for (const std::uint32_t node : m_moved) {
    const std::vector<std::uint32_t>& some = m_scene.nodes()[node].lines;
    lines.insert(some.begin(), some.end());
    if (lines.size() > kMaxItems) {
      lines.clear();
      break;
    }
  }
  const Viewpoint& viewpoint = m_camera.viewpoint();
  painter.save();
  painter.translate(viewpoint.offset);
  painter.scale(viewpoint.scale, viewpoint.scale);
  canvas.paintSome(painter, {lines.begin(), lines.end()}, {m_moved.begin(), m_moved.end()}, viewpoint.scale, detail);
  painter.restore();
}

}  // namespace coppice::designer
