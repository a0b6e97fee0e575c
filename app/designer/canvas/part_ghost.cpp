// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/part_ghost.hpp"

#include <algorithm>
#include <utility>

#include "designer/canvas/canvas_painter.hpp"
#include "designer/document/edits.hpp"
#include "designer/document/measures.hpp"
#include "designer/theme/theme.hpp"

namespace coppice::designer {
namespace {

constexpr double kOpacity = 0.62;
constexpr double kMaxPixels = 6e6;           // of a picture that is kept
constexpr std::size_t kMaxInPicture = 6000;  // shapes and lines
constexpr double kReach = 24;                // pixels that titles and rims take beyond the part

Model modelOf(fabric::NodeKind kind) {
  Model model;
  Edit edit(model);
  edits::addNode(edit, kind, Point{});
  model.applyTrusted(edit.patch());
  return model;
}

}  // namespace

PartGhost::PartGhost(Model part)
    : m_part(std::make_unique<Model>(std::move(part))),
      m_scene(*m_part, Routing::later),
      m_rect(contentsRect(*m_part)) {}

PartGhost::PartGhost(fabric::NodeKind kind) : PartGhost(modelOf(kind)) {}

QRectF PartGhost::at(const QPointF& centre) const {
  return m_rect.translated(centre - m_rect.center());
}

void PartGhost::draw(double scale, double devicePixelRatio) {
  const double pixels = scale * devicePixelRatio;
  const double out = kReach / scale;
  const QRectF part = m_rect.adjusted(-out, -out, out, out);
  m_scale = pixels;
  m_image = {};
  if (part.width() * part.height() * pixels * pixels > kMaxPixels ||
      m_scene.nodes().size() + m_scene.lines().size() > kMaxInPicture) {
    return;
  }
  m_image = QImage((part.size() * pixels).toSize().expandedTo({1, 1}), QImage::Format_ARGB32_Premultiplied);
  m_image.fill(Qt::transparent);
  QPainter painter(&m_image);
  painter.scale(pixels, pixels);
  painter.translate(-part.topLeft());
  CanvasState state;
  state.hasGrid = false;
  state.hasBackground = false;
  CanvasPainter(m_scene, Theme::instance().colors(), state)
      .paint(painter, part, scale, detailAt(scale, m_scene.lines().size(), m_scene.bounds()));
}

void PartGhost::paintRooms(QPainter& painter, double scale) const {
  const Colors& colors = Theme::instance().colors();
  painter.setPen(QPen(colors[Token::boxLine], 1 / scale));
  painter.setBrush(colors[Token::room]);
  for (const BoxItem& box : m_scene.boxes()) {
    painter.drawRect(box.rect);
  }
  for (const NodeItem& node : m_scene.nodes()) {
    painter.fillRect(node.rect, colors[styleOf(node.shape).line]);
  }
}

void PartGhost::paint(QPainter& painter, const QPointF& centre, double scale, double devicePixelRatio) {
  if (m_scale != scale * devicePixelRatio) {
    draw(scale, devicePixelRatio);
  }
  painter.save();
  painter.setOpacity(kOpacity);
  painter.translate(centre - m_rect.center());
  if (!m_image.isNull()) {
    const double out = kReach / scale;
    painter.setRenderHint(QPainter::SmoothPixmapTransform);
    painter.drawImage(QRectF(m_rect.topLeft() - QPointF(out, out), QSizeF(m_image.size()) / m_scale), m_image);
  } else {
    paintRooms(painter, scale);
  }
  painter.setOpacity(1);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(Theme::instance().colors()[Token::accent], 1.5 / scale, Qt::DashLine));
  const double out = 4 / scale;
  painter.drawRoundedRect(m_rect.adjusted(-out, -out, out, out), std::min(14.0, m_rect.height() / 2) + out,
                          std::min(14.0, m_rect.height() / 2) + out);
  painter.restore();
}

}  // namespace coppice::designer
