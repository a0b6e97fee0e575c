// SPDX-License-Identifier: GPL-3.0-or-later
#include <QCoreApplication>
#include <QKeyEvent>

#include "designer/canvas/canvas_view.hpp"
#include "designer/canvas/tools/tools.hpp"
#include "designer/theme/theme.hpp"

namespace coppice::designer {
namespace {

struct PointTexts {
  Q_DECLARE_TR_FUNCTIONS(PointTool)
};

}  // namespace

NodeId PointTool::nodeAt(const QPointF& scene) const {
  const ElementId hit = m_view.hit(scene);
  return hit.kind == ElementKind::node && hit.isValid() ? hit.node() : NodeId();
}

void PointTool::press(const CanvasPoint& point) {
  m_from = nodeAt(point.scene);
  m_now = point.scene;
  m_isDragging = true;
}

void PointTool::move(const CanvasPoint& point) {
  m_now = point.scene;
  m_view.setHovered(m_view.hit(point.scene));
  m_view.update();
}

void PointTool::release(const CanvasPoint& point) {
  if (!m_isDragging) {
    return;
  }
  const NodeId from = m_from;
  const NodeId to = nodeAt(point.scene);
  leave();
  if (!from.isValid()) {
    if (!to.isValid()) {
      m_view.selection().clear();
    }
  } else if (from == to) {
    m_view.selection().set({to});
    m_view.selection().setCurrent(to);
  } else if (to.isValid()) {
    Q_EMIT m_view.pointed(from, to);
  }
  m_view.updateHint();
}

bool PointTool::key(QKeyEvent& event) {
  if (walkNodes(m_view, event)) {
    return true;
  }
  if (event.key() != Qt::Key_Return && event.key() != Qt::Key_Enter) {
    return false;
  }
  const ElementId current = m_view.selection().current();
  if (current.kind == ElementKind::node && current.isValid()) {
    const NodeId from = m_from;
    if (!from.isValid()) {
      m_from = current.node();
    } else {
      leave();
      if (from != current.node()) {
        Q_EMIT m_view.pointed(from, current.node());
      }
    }
    m_view.update();
    m_view.updateHint();
  }
  return true;
}

bool PointTool::stepBack() {
  const bool wasBusy = m_from.isValid();
  leave();
  m_view.updateHint();
  return wasBusy;
}

void PointTool::leave() {
  m_from = NodeId();
  m_isDragging = false;
  m_view.update();
}

void PointTool::paint(QPainter& painter) {
  if (!m_from.isValid() || m_view.document().model().find(m_from) == nullptr) {
    return;
  }
  const ElementId current = m_view.selection().current();
  QPointF end = m_now;
  if (m_isDragging) {
    if (const NodeId target = nodeAt(m_now); target.isValid()) {
      end = m_view.scene().rectOf(target).center();
    }
  } else if (current.kind == ElementKind::node && current.isValid()) {
    end = m_view.scene().rectOf(current).center();
  }
  QPen pen(Theme::instance().colors()[Token::accent], 2 / m_view.zoom());
  pen.setDashPattern({3, 2});
  painter.setPen(pen);
  painter.setBrush(Qt::NoBrush);
  painter.drawPath(Curve::cable(m_view.scene().rectOf(m_from).center(), end).path());
}

QString PointTool::hint() const {
  if (!m_view.overlay().trees.empty()) {
    return m_from.isValid()
               ? PointTexts::tr("Arrows or Tab to the new parent, then Enter")
               : PointTexts::tr("Drag from a GPU to its new parent in the tree · keys: arrows, then Enter");
  }
  return m_from.isValid() ? PointTexts::tr("Arrows or Tab to the GPU that receives, or to the relay, then Enter")
                          : PointTexts::tr(
                                "Drag from a GPU to another box: it sends there · to a sender of its box: its data "
                                "leaves there · keys: arrows, then Enter");
}

}  // namespace coppice::designer
