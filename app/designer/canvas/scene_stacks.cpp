// SPDX-License-Identifier: GPL-3.0-or-later
// Folded boxes in a scene, alone and in stacks.
#include <QCoreApplication>

#include "base/checked.hpp"
#include "designer/canvas/canvas_scene.hpp"
#include "designer/canvas/stack_shape.hpp"
#include "designer/document/figures.hpp"
#include "designer/document/fold_view.hpp"
#include "designer/document/measures.hpp"

namespace coppice::designer {
namespace {

std::optional<Bandwidth> times(const std::optional<Bandwidth>& each, std::size_t count) {
  try {
    return each ? std::optional(*each * Rational(static_cast<std::int64_t>(count))) : std::nullopt;
  } catch (const OverflowError&) {
    return std::nullopt;
  }
}

}  // namespace

void CanvasScene::addFoldedBox(BoxId id, std::int32_t parent) {
  NodeItem item;
  item.id = id;
  item.rect = foldedRect(m_model, id);
  item.shape = Shape::foldedBox;
  item.label = QString::fromStdString(m_model.find(id)->name);
  item.detail = countedNodes(m_model, m_model.allNodesIn(id));
  if (const std::optional<Bandwidth> out = bandwidthOut(m_model, id); out && out->isPositive()) {
    item.detail += QStringLiteral("\n") + QCoreApplication::translate("Canvas", "%1 out").arg(gigabytes(*out));
  }
  item.box = parent;
  addNode(std::move(item));
}

void CanvasScene::addStack(std::span<const BoxId> boxes, std::int32_t parent) {
  QRectF around;
  for (const BoxId box : boxes) {
    around |= boxOutline(m_model, box);
  }
  std::vector<QRectF> others;
  for (const NodeItem& item : m_nodes) {
    others.push_back(item.rect);
  }
  QRectF linked;
  const std::vector<NodeId> nodes = m_model.allNodesIn(boxes.front());
  for (const NodeId id : nodes) {
    for (const LinkId link : m_model.linksOf(id)) {
      for (const NodeId end : {m_model.find(link)->tail.node, m_model.find(link)->head.node}) {
        if (const NodeItem* other = node(visibleEnd(m_model, end))) {
          linked |= other->rect;
        }
      }
    }
  }
  const StackShape shape = enlarged(stackShape(boxes.size()), around.width(), linked.width());
  const QPointF centre = freeCentre(shape.rect, around.center(), others);
  NodeItem item;
  item.id = boxes.front();
  item.rect = shape.rect.translated(centre);
  item.shape = Shape::foldedBox;
  item.label = stackTitle(m_model, boxes);
  item.textHeight = shape.textHeight;
  item.box = parent;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    item.cells.push_back({boxes[i], shape.cells[i].translated(centre)});
    m_cellOf[boxes[i]] = item.cells.back().rect;
  }
  std::vector<NodeId> all;
  for (const BoxId box : boxes) {
    const std::vector<NodeId> inside = m_model.allNodesIn(box);
    all.insert(all.end(), inside.begin(), inside.end());
  }
  const std::optional<Bandwidth> out = bandwidthOut(m_model, boxes.front());
  const auto line = [&](const QString& count, const std::optional<Bandwidth>& leaves) {
    return leaves && leaves->isPositive()
               ? QCoreApplication::translate("Canvas", "%1 · %2 out").arg(count, gigabytes(*leaves))
               : count;
  };
  item.detail =
      QCoreApplication::translate("Canvas", "each %1").arg(line(countedNodes(m_model, nodes), out)) +
      QStringLiteral("\n") +
      QCoreApplication::translate("Canvas", "all %1").arg(line(countedNodes(m_model, all), times(out, boxes.size())));
  addNode(std::move(item));
}

std::set<ElementId> CanvasScene::drawnWith(const ElementId& id) const {
  if (const LineItem* found = line(id.link())) {
    return {found->links.begin(), found->links.end()};
  }
  const std::span<const BoxId> boxes = m_stacks.with(id.box());
  return boxes.empty() ? std::set<ElementId>{id} : std::set<ElementId>(boxes.begin(), boxes.end());
}

ElementId CanvasScene::shapeOf(NodeId id) const {
  ensure();
  return m_stacks.shapeOf(visibleEnd(m_model, id));
}

BoxId CanvasScene::stackedBoxOf(NodeId id) const {
  ensure();
  const BoxId box = m_stacks.isEmpty() ? BoxId() : visibleEnd(m_model, id).box();
  return m_stacks.with(box).empty() ? BoxId() : box;
}

QRectF CanvasScene::cellOf(NodeId id) const {
  ensure();
  const auto found = m_cellOf.find(stackedBoxOf(id));
  return found != m_cellOf.end() ? found->second : QRectF();
}

}  // namespace coppice::designer
