// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>
#include <QRectF>
#include <optional>
#include <set>

#include "designer/canvas/canvas_painter.hpp"
#include "designer/theme/tokens.hpp"

namespace coppice::designer {

class CanvasView;

struct RenderOptions {
  Scheme scheme = Scheme::light;
  bool hasGrid = false;
  bool isTransparent = false;
  bool hasLegend = true;
  bool isSelectionOnly = false;
  /// Absent: as the scale of the target asks for, never less than `mid`.
  std::optional<Detail> detail = {};
};

/// Draws what a canvas shows, overlays and legend included, onto any painter: for SVG, PDF and images. Links that have
/// no route yet get one first.
class PictureExport {
public:
  /// The canvas must outlive this object.
  PictureExport(CanvasView& view, const RenderOptions& options);

  /// What is drawn by default, scene units: with a margin, and with titles of boxes as they are at that scale.
  [[nodiscard]] QRectF rect(double scale = 1) const;
  /// Draws scene units `source` (null: everything, with a margin) into the target.
  void render(QPainter& painter, const QRectF& target, QRectF source = {}) const;

private:
  /// The selection with the contents of its boxes and the links between its nodes.
  [[nodiscard]] std::set<ElementId> selectedElements() const;
  [[nodiscard]] Detail detailFor(double scale) const;

  CanvasView& m_view;
  RenderOptions m_options;
};

}  // namespace coppice::designer
