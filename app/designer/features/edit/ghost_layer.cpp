// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/edit/ghost_layer.hpp"

#include <QEvent>
#include <QPainter>
#include <utility>

#include "designer/document/measures.hpp"
#include "designer/theme/theme.hpp"

namespace coppice::designer {

Trial tryEdit(const Model& model, const std::function<void(Edit&)>& fill) {
  Edit edit(model);
  fill(edit);
  Model after = model;
  after.applyTrusted(edit.patch());
  Trial trial;
  for (const auto& [id, node] : after.nodes()) {
    if (!model.nodes().contains(id)) {
      ++trial.nodes;
      trial.ghost.nodes.push_back(nodeRect(after, id));
      trial.nodeNames.push_back(node.facts.name);
    }
  }
  for (const auto& [id, box] : after.boxes()) {
    if (!model.boxes().contains(id)) {
      ++trial.boxes;
      trial.ghost.boxes.push_back(elementRect(after, id));
      if (!box.parent.isValid() || model.boxes().contains(box.parent)) {
        trial.boxNames.push_back(box.name);
      }
    }
  }
  for (const auto& [id, link] : after.links()) {
    if (!model.links().contains(id)) {
      ++trial.links;
      const Node* tail = after.find(link.tail.node);
      const Node* head = after.find(link.head.node);
      if (tail != nullptr && head != nullptr) {
        trial.ghost.links.emplace_back(tail->drawing.position.toPointF(), head->drawing.position.toPointF());
      }
    }
  }
  return trial;
}

GhostLayer::GhostLayer(CanvasView& canvas) : QWidget(&canvas), m_canvas(canvas) {
  setAttribute(Qt::WA_TransparentForMouseEvents);
  setAttribute(Qt::WA_NoSystemBackground);
  setFocusPolicy(Qt::NoFocus);
  setGeometry(canvas.rect());
  canvas.installEventFilter(this);
  connect(&canvas, &CanvasView::viewChanged, this, qOverload<>(&QWidget::update));
  show();
  raise();
}

void GhostLayer::setGhost(Ghost ghost) {
  m_ghost = std::move(ghost);
  update();
}

bool GhostLayer::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize) {
    setGeometry(m_canvas.rect());
  }
  return QWidget::eventFilter(watched, event);
}

void GhostLayer::paintEvent(QPaintEvent*) {
  const Colors& colors = Theme::instance().colors();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const QRectF seen = m_canvas.visibleScene();
  const auto toView = [this](const QRectF& rect) {
    return QRectF(m_canvas.toView(rect.topLeft()), rect.size() * m_canvas.zoom());
  };
  QColor line = colors[Token::accent];
  line.setAlphaF(0.45F);
  painter.setPen(QPen(line, 1));
  for (const QLineF& link : m_ghost.links) {
    if (QRectF(link.p1(), link.p2()).normalized().adjusted(-1, -1, 1, 1).intersects(seen)) {
      painter.drawLine(m_canvas.toView(link.p1()), m_canvas.toView(link.p2()));
    }
  }
  QColor fill = colors[Token::accentSoft];
  fill.setAlphaF(0.55F);
  painter.setPen(QPen(colors[Token::accent], 1, Qt::DashLine));
  painter.setBrush(fill);
  constexpr double kBoxRadius = 10;
  constexpr double kNodeRadius = 5;
  for (const QRectF& box : m_ghost.boxes) {
    if (box.intersects(seen)) {
      painter.drawRoundedRect(toView(box), kBoxRadius, kBoxRadius);
    }
  }
  painter.setPen(QPen(colors[Token::accent], 1));
  painter.setBrush(colors[Token::canvas]);
  for (const QRectF& node : m_ghost.nodes) {
    if (node.intersects(seen)) {
      painter.drawRoundedRect(toView(node), kNodeRadius, kNodeRadius);
    }
  }
}

}  // namespace coppice::designer
