// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <numbers>

#include "designer/document/edits.hpp"
#include "designer/document/instances.hpp"
#include "designer/document/measures.hpp"

namespace coppice::designer::edits {
namespace {

bool isFinite(Point point) {
  return std::isfinite(point.x) && std::isfinite(point.y);
}

Point shiftedBy(Point point, Point by) {
  const Point result{point.x + by.x, point.y + by.y};
  return isFinite(result) ? result : point;
}

void shiftNode(Edit& edit, NodeId id, Point by) {
  edit.change(id, [&](Node& node) {
    node.drawing.position = shiftedBy(node.drawing.position, by);
    node.drawing.isPlaced = true;
  });
}

/// What really moves: no element twice, none whose box moves too.
struct Movers {
  std::set<NodeId> nodes;
  std::set<BoxId> boxes;
  std::set<NoteId> notes;
};

void addBox(const Edit& edit, BoxId id, Movers& movers) {
  if (edit.find(id) == nullptr || !movers.boxes.insert(id).second) {
    return;
  }
  for (const NodeId node : edit.nodesIn(id)) {
    movers.nodes.insert(node);
  }
  for (const BoxId inner : edit.boxesIn(id)) {
    addBox(edit, inner, movers);
  }
}

Movers moversOf(const Edit& edit, const std::set<ElementId>& elements) {
  Movers movers;
  for (const ElementId& id : elements) {
    if (id.kind == ElementKind::node && edit.find(id.node()) != nullptr) {
      movers.nodes.insert(id.node());
    } else if (id.kind == ElementKind::box) {
      addBox(edit, id.box(), movers);
    } else if (id.kind == ElementKind::note && edit.find(id.note()) != nullptr) {
      movers.notes.insert(id.note());
    }
  }
  return movers;
}

/// Nodes, boxes and notes to align: none that is in a box that is among them.
std::vector<ElementId> blocksOf(const Edit& edit, const std::set<ElementId>& elements) {
  std::vector<ElementId> result;
  for (const ElementId& id : elements) {
    BoxId at;
    if (const Node* node = edit.find(id.node())) {
      at = node->facts.box;
    } else if (const Box* box = edit.find(id.box())) {
      at = box->parent;
    } else if (edit.find(id.note()) == nullptr) {
      continue;
    }
    bool isInside = false;
    while (at.isValid() && !isInside) {
      isInside = elements.contains(at);
      at = edit.find(at) != nullptr ? edit.find(at)->parent : BoxId{};
    }
    if (!isInside) {
      result.push_back(id);
    }
  }
  return result;
}

void moveCentre(Edit& edit, const ElementId& id, QPointF centre) {
  const QPointF by = centre - elementRect(edit.base(), id).center();
  move(edit, {id}, Point::from(by));
}

}  // namespace

void move(Edit& edit, const std::set<ElementId>& elements, Point by) {
  if (!isFinite(by)) {
    return;
  }
  const Movers movers = moversOf(edit, elements);
  std::set<NodeId> nodes = movers.nodes;
  Counterparts counterparts(edit);
  for (const NodeId id : movers.nodes) {
    // A whole instance moves alone; a node inside it moves in all of them.
    if (!movers.boxes.contains(instanceOf(edit, id))) {
      for (const NodeId other : counterparts.of(id)) {
        nodes.insert(other);
      }
    }
  }
  for (const NodeId id : nodes) {
    shiftNode(edit, id, by);
  }
  for (const BoxId id : movers.boxes) {
    edit.change(id, [&](Box& box) {
      if (box.frame) {
        const Point corner = shiftedBy({box.frame->x, box.frame->y}, by);
        box.frame->x = corner.x;
        box.frame->y = corner.y;
      } else if (edit.nodesIn(id).empty() && edit.boxesIn(id).empty()) {
        QRectF outline = boxOutline(edit.base(), id);
        outline.translate(by.toPointF());
        box.frame = Rect::from(outline);
      }
    });
  }
  for (const NoteId id : movers.notes) {
    edit.change(id, [&](Note& note) { note.position = shiftedBy(note.position, by); });
  }
}

void place(Edit& edit, const std::map<NodeId, Point>& places, bool pinnedToo) {
  for (const auto& [id, point] : places) {
    const Point& to = point;
    edit.change(id, [&](Node& node) {
      if (isFinite(to) && (pinnedToo || !node.drawing.isPinned)) {
        node.drawing.position = to;
        node.drawing.isPlaced = true;
      }
    });
  }
}

void align(Edit& edit, const std::set<ElementId>& elements, Side side) {
  const std::vector<ElementId> blocks = blocksOf(edit, elements);
  if (blocks.size() < 2) {
    return;
  }
  QRectF all;
  for (const ElementId& id : blocks) {
    all |= elementRect(edit.base(), id);
  }
  for (const ElementId& id : blocks) {
    const QRectF rect = elementRect(edit.base(), id);
    Point by;
    switch (side) {
      case Side::left:
        by.x = all.left() - rect.left();
        break;
      case Side::horizontalCentre:
        by.x = all.center().x() - rect.center().x();
        break;
      case Side::right:
        by.x = all.right() - rect.right();
        break;
      case Side::top:
        by.y = all.top() - rect.top();
        break;
      case Side::verticalCentre:
        by.y = all.center().y() - rect.center().y();
        break;
      case Side::bottom:
        by.y = all.bottom() - rect.bottom();
        break;
    }
    move(edit, {id}, by);
  }
}

void distribute(Edit& edit, const std::set<ElementId>& elements, Axis axis) {
  std::vector<ElementId> blocks = blocksOf(edit, elements);
  if (blocks.size() < 3) {
    return;
  }
  const bool isHorizontal = axis == Axis::horizontal;
  const auto low = [&](const ElementId& id) {
    const QRectF rect = elementRect(edit.base(), id);
    return isHorizontal ? rect.left() : rect.top();
  };
  const auto extent = [&](const ElementId& id) {
    const QRectF rect = elementRect(edit.base(), id);
    return isHorizontal ? rect.width() : rect.height();
  };
  std::stable_sort(blocks.begin(), blocks.end(), [&](const ElementId& a, const ElementId& b) {
    return low(a) + extent(a) / 2 < low(b) + extent(b) / 2;
  });
  double free = low(blocks.back()) + extent(blocks.back()) - low(blocks.front());
  for (const ElementId& id : blocks) {
    free -= extent(id);
  }
  const double gap = free / static_cast<double>(blocks.size() - 1);
  double at = low(blocks.front()) + extent(blocks.front());
  for (std::size_t i = 1; i + 1 < blocks.size(); ++i) {
    at += gap;
    const double by = at - low(blocks[i]);
    move(edit, {blocks[i]}, isHorizontal ? Point{by, 0} : Point{0, by});
    at += extent(blocks[i]);
  }
}

void toCircle(Edit& edit, const std::set<ElementId>& elements) {
  const std::vector<ElementId> blocks = blocksOf(edit, elements);
  if (blocks.size() < 2) {
    return;
  }
  QRectF all;
  double largest = 0;
  for (const ElementId& id : blocks) {
    const QRectF rect = elementRect(edit.base(), id);
    all |= rect;
    largest = std::max(largest, std::hypot(rect.width(), rect.height()));
  }
  const double step = 2 * std::numbers::pi / static_cast<double>(blocks.size());
  const double radius = (largest + kGridStep) / (2 * std::sin(std::min(step, std::numbers::pi) / 2));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const double angle = step * static_cast<double>(i);
    moveCentre(edit, blocks[i],
               all.center() + QPointF(std::round(radius * std::sin(angle)), std::round(-radius * std::cos(angle))));
  }
}

void toGrid(Edit& edit, const std::set<ElementId>& elements, int columns) {
  const std::vector<ElementId> blocks = blocksOf(edit, elements);
  if (blocks.size() < 2) {
    return;
  }
  constexpr double kGap = 40;
  QRectF all;
  double width = 0;
  double height = 0;
  for (const ElementId& id : blocks) {
    const QRectF rect = elementRect(edit.base(), id);
    all |= rect;
    width = std::max(width, rect.width());
    height = std::max(height, rect.height());
  }
  const std::size_t perRow = columns > 0
                                 ? static_cast<std::size_t>(columns)
                                 : static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(blocks.size()))));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    moveCentre(edit, blocks[i],
               all.topLeft() + QPointF(width / 2 + (width + kGap) * static_cast<double>(i % perRow),
                                       height / 2 + (height + kGap) * static_cast<double>(i / perRow)));
  }
}

}  // namespace coppice::designer::edits
