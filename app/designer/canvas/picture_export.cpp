// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/picture_export.hpp"

#include <algorithm>

#include "designer/canvas/canvas_view.hpp"
#include "designer/canvas/live_painter.hpp"

namespace coppice::designer {
namespace {

constexpr double kPictureMargin = 40;  // scene units

double scaleFor(const QRectF& source, const QRectF& target) {
  return std::min(target.width() / source.width(), target.height() / source.height());
}

}  // namespace

PictureExport::PictureExport(CanvasView& view, const RenderOptions& options) : m_view(view), m_options(options) {
  m_view.finishRouting();
}

Detail PictureExport::detailFor(double scale) const {
  const CanvasScene& scene = m_view.scene();
  return m_options.detail.value_or(detailAt(scale, scene.lines().size(), scene.bounds()));
}

QRectF PictureExport::rect(double scale) const {
  const CanvasScene& scene = m_view.scene();
  if (m_options.isSelectionOnly) {
    QRectF rect;
    for (const ElementId& id : m_view.selection().elements()) {
      rect |= scene.rectOf(id);
    }
    return rect.adjusted(-kPictureMargin, -kPictureMargin, kPictureMargin, kPictureMargin);
  }
  const QRectF rect = scene.bounds().adjusted(-kPictureMargin, -kPictureMargin, kPictureMargin, kPictureMargin);
  const double margin = 6 / scale;
  QRectF titles;
  for (const QRectF& title : CanvasPainter(scene, colorsOf(m_options.scheme), {}).titleRects(scale, detailFor(scale))) {
    titles |= title;
  }
  return titles.isNull() ? rect : rect | titles.adjusted(-margin, -margin, margin, margin);
}

std::set<ElementId> PictureExport::selectedElements() const {
  const CanvasScene& scene = m_view.scene();
  const Model& model = scene.model();
  std::set<ElementId> elements = m_view.selection().elements();
  for (const BoxId box : m_view.selection().boxes()) {
    for (const NodeId node : model.allNodesIn(box)) {
      elements.insert(node);
    }
    for (const BoxId inner : model.allBoxesIn(box)) {
      elements.insert(inner);
    }
  }
  for (const LineItem& line : scene.lines()) {
    if (elements.contains(scene.nodes()[line.a].id) && elements.contains(scene.nodes()[line.b].id)) {
      elements.insert(line.links.begin(), line.links.end());
    }
  }
  return elements;
}

void PictureExport::render(QPainter& painter, const QRectF& target, QRectF source) const {
  if (source.isNull() && !target.isEmpty()) {
    source = rect();
    // Titles take the more of the scene the smaller it is drawn.
    for (int i = 0; i < 3 && !source.isEmpty(); ++i) {
      source = rect(scaleFor(source, target));
    }
  }
  if (source.isEmpty() || target.isEmpty()) {
    return;
  }
  const Colors& colors = colorsOf(m_options.scheme);
  const double scale = scaleFor(source, target);
  CanvasState state = m_view.state();
  state.selection = nullptr;
  state.hasGrid = m_options.hasGrid;
  state.hasBackground = false;
  std::set<ElementId> only;
  if (m_options.isSelectionOnly) {
    only = selectedElements();
    state.only = &only;
  }
  painter.save();
  painter.setClipRect(target, Qt::IntersectClip);
  if (!m_options.isTransparent) {
    painter.fillRect(target, colors[Token::canvas]);
  }
  painter.save();
  painter.translate(target.center());
  painter.scale(scale, scale);
  painter.translate(-source.center());
  Detail detail = detailFor(scale);
  if (!m_options.detail && detail == Detail::far) {
    detail = Detail::mid;
  }
  CanvasPainter canvas(m_view.scene(), colors, state);
  canvas.paint(painter, source, scale, detail);
  canvas.paintHullLabels(painter, source, scale);
  if (!m_view.motion().isEmpty()) {
    const Viewpoint viewpoint{.scale = scale, .offset = target.center() - source.center() * scale};
    MotionLanes lanes(m_view.scene());
    lanes.setTrunks(drawsTrunks(detail, scale, m_view.scene().lines().size()));
    LivePainter(painter, m_view.scene(), viewpoint, target.size().toSize()).paintMotion(m_view.motion(), lanes);
  }
  painter.restore();
  if (m_options.hasLegend) {
    canvas.paintLegend(painter, target.topRight() + QPointF(-12, 12));
  }
  painter.restore();
}

}  // namespace coppice::designer
