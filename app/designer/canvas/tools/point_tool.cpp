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

ElementId PointTool::targetAt(const QPointF& scene) const {
  const ElementId hit = m_view.hit(scene);
  return hit.isValid() && (hit.kind == ElementKind::node || hit.kind == ElementKind::link) ? hit : ElementId();
}

void PointTool::tell(const ElementId& over) {
  const ElementId told = over == m_from ? ElementId() : over;
  if (m_from.isValid() && told != m_over) {
    m_over = told;
    Q_EMIT m_view.pointing(m_from, told);
  }
}

void PointTool::press(const CanvasPoint& point) {
  leave();
  m_from = targetAt(point.scene);
  m_start = m_now = point.scene;
  m_isDragging = true;
}

void PointTool::move(const CanvasPoint& point) {
  m_now = point.scene;
  m_view.setHovered(m_view.hit(point.scene));
  if (m_isDragging) {
    tell(targetAt(point.scene));
  }
  m_view.update();
}

void PointTool::release(const CanvasPoint& point) {
  if (!m_isDragging) {
    return;
  }
  const ElementId from = m_from;
  const ElementId to = targetAt(point.scene);
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
    tell(m_view.selection().current());
    return true;
  }
  if (event.key() != Qt::Key_Return && event.key() != Qt::Key_Enter) {
    return false;
  }
  const ElementId current = m_view.selection().current();
  if (current.kind == ElementKind::node && current.isValid()) {
    const ElementId from = m_from;
    if (!from.isValid()) {
      m_from = current;
    } else {
      leave();
      if (from != current) {
        Q_EMIT m_view.pointed(from, current);
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
  tell({});
  m_from = {};
  m_isDragging = false;
  m_view.update();
}

void PointTool::paint(QPainter& painter) {
  if (!m_from.isValid() || !m_view.document().model().contains(m_from)) {
    return;
  }
  const ElementId current = m_view.selection().current();
  const auto middleOf = [this](const ElementId& node) { return m_view.scene().rectOf(node).center(); };
  QPointF end = m_now;
  if (m_isDragging) {
    if (const ElementId target = targetAt(m_now); target.kind == ElementKind::node && target.isValid()) {
      end = middleOf(target);
    }
  } else if (current.kind == ElementKind::node && current.isValid()) {
    end = middleOf(current);
  }
  QPen pen(Theme::instance().colors()[Token::accent], 2 / m_view.zoom());
  pen.setDashPattern({3, 2});
  painter.setPen(pen);
  painter.setBrush(Qt::NoBrush);
  painter.drawPath(Curve::cable(m_from.kind == ElementKind::node ? middleOf(m_from) : m_start, end).path());
}

QString PointTool::hint() const {
  if (!m_view.overlay().trees.empty()) {
    return m_from.isValid()
               ? PointTexts::tr(
                     "To another GPU: its new parent · to a switch or a link: the route of its edge · keys: "
                     "arrows or Tab, then Enter")
               : PointTexts::tr(
                     "Drag a GPU, or an edge of the tree, to the new parent, or to a switch or link that it "
                     "should run over · keys: arrows, then Enter");
  }
  return m_from.isValid() ? PointTexts::tr("Arrows or Tab to the GPU that receives, or to the relay, then Enter")
                          : PointTexts::tr(
                                "Drag from a GPU to another box: it sends there · to a sender of its box: its data "
                                "leaves there · keys: arrows, then Enter");
}

}  // namespace coppice::designer
