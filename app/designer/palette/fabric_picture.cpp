// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/palette/fabric_picture.hpp"

#include <QPainter>
#include <algorithm>

#include "designer/canvas/canvas_painter.hpp"
#include "designer/canvas/canvas_scene.hpp"
#include "designer/document/edits.hpp"

namespace coppice::designer {

FabricPicture fabricPicture(Model model, QSize size, double devicePixelRatio) {
  constexpr std::size_t kManyNodes = 700;
  constexpr std::size_t kManyLinks = 1400;
  constexpr std::size_t kTooMany = 3000;
  FabricPicture picture;
  if (model.nodes().size() > kManyNodes || model.links().size() > kManyLinks) {
    Edit edit(model);
    edits::fold(edit, model.boxesIn({}), true);
    model.applyTrusted(edit.patch());
    if (model.boxesIn({}).size() + model.nodesIn({}).size() > kTooMany ||
        (model.boxesIn({}).empty() && model.links().size() > 2 * kTooMany)) {
      return picture;
    }
  }
  const CanvasScene scene(model);
  const QRectF bounds = scene.bounds();
  if (bounds.isEmpty() || size.isEmpty()) {
    return picture;
  }
  constexpr double kMargin = 4;
  constexpr double kMaxScale = 0.9;
  const double scale = std::min(
      {(size.width() - 2 * kMargin) / bounds.width(), (size.height() - 2 * kMargin) / bounds.height(), kMaxScale});
  const auto draw = [&](Scheme scheme) {
    QImage image(size * devicePixelRatio, QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(devicePixelRatio);
    image.fill(Qt::transparent);
    QPainter painter(&image);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.translate(size.width() / 2.0, size.height() / 2.0);
    painter.scale(scale, scale);
    painter.translate(-bounds.center());
    CanvasState state;
    state.hasGrid = false;
    state.hasBackground = false;
    state.hasTitles = false;
    CanvasPainter canvas(scene, colorsOf(scheme), state);
    canvas.paint(painter, bounds.adjusted(-50, -50, 50, 50), scale, Detail::mid);
    return image;
  };
  picture.light = draw(Scheme::light);
  picture.dark = draw(Scheme::dark);
  return picture;
}

}  // namespace coppice::designer
