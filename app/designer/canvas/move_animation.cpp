// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/move_animation.hpp"

#include <QEasingCurve>
#include <algorithm>
#include <vector>

#include "designer/canvas/canvas_painter.hpp"
#include "designer/theme/theme.hpp"

namespace coppice::designer {
namespace {

constexpr int kMoveTime = 260;            // ms
constexpr std::size_t kMaxMoving = 2500;  // shapes and lines that are shown moving

}  // namespace

MoveAnimation::MoveAnimation(const CanvasScene& scene) : m_scene(scene) {
  m_motion.setStartValue(0.0);
  m_motion.setEndValue(1.0);
  m_motion.setDuration(kMoveTime);
  m_motion.setEasingCurve(QEasingCurve::InOutCubic);
  connect(&m_motion, &QVariantAnimation::valueChanged, this, &MoveAnimation::advanced);
  connect(&m_motion, &QVariantAnimation::finished, this, [this] {
    m_before.clear();
    Q_EMIT advanced();
  });
}

void MoveAnimation::prepare() {
  m_before.clear();
  m_isPrepared = m_scene.nodes().size() + m_scene.lines().size() <= kMaxMoving;
  if (m_isPrepared) {
    for (const NodeItem& node : m_scene.nodes()) {
      m_before[node.id] = node.rect.center();
    }
  }
}

void MoveAnimation::forget() {
  m_isPrepared = false;
  m_before.clear();
}

void MoveAnimation::sceneChanged() {
  m_motion.stop();
  if (m_isPrepared) {
    m_isPrepared = false;
    m_motion.start();
  } else {
    m_before.clear();
  }
}

void MoveAnimation::paint(QPainter& painter, const Viewpoint& viewpoint) const {
  const Colors& colors = Theme::instance().colors();
  const double share = m_motion.currentValue().toDouble();
  std::vector<QRectF> rects;
  rects.reserve(m_scene.nodes().size());
  for (const NodeItem& node : m_scene.nodes()) {
    QRectF rect = node.rect;
    if (const auto before = m_before.find(node.id); before != m_before.end()) {
      rect.moveCenter(before->second + (rect.center() - before->second) * share);
    }
    rects.push_back(rect);
  }
  const double hairline = 0.8 / viewpoint.scale;
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.translate(viewpoint.offset);
  painter.scale(viewpoint.scale, viewpoint.scale);
  painter.setBrush(Qt::NoBrush);
  for (const LineItem& line : m_scene.lines()) {
    painter.setPen(QPen(colors[Token::link], std::max(lineWidth(line.bandwidth), hairline)));
    painter.drawLine(rects[line.a].center(), rects[line.b].center());
  }
  for (std::size_t i = 0; i < rects.size(); ++i) {
    const ShapeStyle& style = styleOf(m_scene.nodes()[i].shape);
    painter.setPen(QPen(colors[style.line], std::max(1.8, hairline)));
    painter.setBrush(colors[style.fill]);
    const double radius = style.radiusIn(rects[i]);
    painter.drawRoundedRect(rects[i], radius, radius);
  }
  painter.restore();
}

}  // namespace coppice::designer
