// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/part_drop.hpp"

#include <QDragEnterEvent>
#include <utility>

#include "designer/canvas/canvas_view.hpp"
#include "designer/canvas/tools/tools.hpp"

namespace coppice::designer {

PartDropTarget::PartDropTarget(CanvasView& view) : m_view(view) {}

PartDropTarget::~PartDropTarget() = default;

QPointF PartDropTarget::show(const QDropEvent& event) {
  return m_dragged->show({m_view.toScene(event.position()), event.position(), Qt::NoButton, event.modifiers()});
}

bool PartDropTarget::enter(QDragEnterEvent& event) {
  // What is not taken here the window may take.
  event.ignore();
  std::optional<Model> part = m_drops.partOf(*event.mimeData());
  if (!part) {
    return false;
  }
  m_dragged = std::make_unique<PlaceTool>(m_view);
  m_dragged->setPart(*std::move(part), {});
  event.acceptProposedAction();
  return true;
}

void PartDropTarget::move(QDragMoveEvent& event) {
  event.setAccepted(m_dragged != nullptr);
  if (m_dragged != nullptr) {
    show(event);
  }
}

void PartDropTarget::leave() {
  m_dragged.reset();
}

bool PartDropTarget::drop(QDropEvent& event) {
  event.setAccepted(m_dragged != nullptr);
  if (m_dragged == nullptr) {
    return false;
  }
  const QPointF centre = show(event);
  m_dragged.reset();
  event.acceptProposedAction();
  m_drops.dropped(*event.mimeData(), centre);
  return true;
}

}  // namespace coppice::designer
