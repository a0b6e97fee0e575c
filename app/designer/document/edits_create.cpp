// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "designer/document/edits.hpp"
#include "designer/document/instances.hpp"
#include "designer/document/ranks.hpp"

namespace coppice::designer::edits {
namespace {

/// The box that is in `other` as `box` is in `own`, by names; invalid if there is none.
BoxId counterpartBox(const Edit& edit, BoxId own, BoxId other, BoxId box) {
  std::vector<std::string> steps;
  for (BoxId at = box; at != own;) {
    const Box* step = edit.find(at);
    if (step == nullptr) {
      return {};
    }
    steps.push_back(step->name);
    at = step->parent;
  }
  BoxId result = other;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    BoxId next;
    for (const BoxId inner : edit.boxesIn(result)) {
      if (edit.find(inner)->name == *step) {
        next = inner;
        break;
      }
    }
    if (!next.isValid()) {
      return {};
    }
    result = next;
  }
  return result;
}

/// How far `other` is from `own`, by the first node that both have.
std::optional<Point> offsetBetween(const Edit& edit, BoxId own, BoxId other, Counterparts& counterparts) {
  std::vector<BoxId> boxes{own};
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    for (const NodeId id : edit.nodesIn(boxes[i])) {
      if (const Node* there = edit.find(counterparts.in(other, id))) {
        const Point& here = edit.find(id)->drawing.position;
        return Point{there->drawing.position.x - here.x, there->drawing.position.y - here.y};
      }
    }
    const std::vector<BoxId> inner = edit.boxesIn(boxes[i]);
    boxes.insert(boxes.end(), inner.begin(), inner.end());
  }
  return std::nullopt;
}

}  // namespace

NodeId addNode(Edit& edit, fabric::NodeKind kind, Point position, BoxId box, std::string_view wantedName) {
  Node node;
  node.facts.kind = fabric::toString(kind);
  const std::string wanted(wantedName.empty() ? node.facts.kind + "0" : wantedName);
  node.facts.name = edit.freeNodeName(wanted);
  node.facts.box = edit.find(box) != nullptr ? box : BoxId{};
  node.drawing.position = position;
  node.drawing.isPlaced = true;
  const NodeId id = edit.add(node);
  std::set<ElementId> made{id};

  const BoxId own = instanceOf(edit, id);
  if (own.isValid()) {
    makeType(edit, own);
    Counterparts counterparts(edit);
    const std::vector<BoxId> others = counterparts.otherInstances(id);
    for (const BoxId other : others) {
      const BoxId there = counterpartBox(edit, own, other, box);
      const auto offset = offsetBetween(edit, own, other, counterparts);
      if (there.isValid() && offset) {
        Node copy = node;
        copy.facts.name = edit.freeNodeName(wanted);
        copy.facts.box = there;
        copy.drawing.position = {position.x + offset->x, position.y + offset->y};
        copy.drawing.role = edit.find(id)->drawing.role;
        made.insert(edit.add(std::move(copy)));
      }
    }
  }
  continueRanks(edit, made);
  return id;
}

NoteId addNote(Edit& edit, std::string text, Point position) {
  return edit.add(Note{.text = std::move(text), .position = position});
}

Result<LinkId> addLink(Edit& edit, NodeId tail, NodeId head, const LinkTemplate& link) {
  if (edit.find(tail) == nullptr || edit.find(head) == nullptr) {
    return Error{ErrorCode::badUsage, "a link needs a node at each end", "choose two nodes"};
  }
  if (tail == head) {
    return Error{ErrorCode::badUsage,
                 "a node cannot be linked to itself",
                 "choose another node",
                 {.element = {RefKind::node, edit.find(tail)->facts.name}}};
  }
  const auto make = [&](NodeId from, NodeId to) {
    return edit.add(Link{LinkEnd{from, {}}, LinkEnd{to, {}}, link.bandwidth, link.duplex, link.count, {}, {}});
  };
  const BoxId own = instanceOf(edit, tail);
  if (own.isValid() && own == instanceOf(edit, head)) {
    Counterparts counterparts(edit);
    for (const BoxId other : counterparts.otherInstances(tail)) {
      const NodeId from = counterparts.in(other, tail);
      const NodeId to = counterparts.in(other, head);
      if (from.isValid() && to.isValid()) {
        make(from, to);
      }
    }
  }
  return make(tail, head);
}

void remove(Edit& edit, const std::set<ElementId>& elements) {
  // Counterparts first, while everything still exists.
  Counterparts counterparts(edit);
  std::set<ElementId> all = elements;
  for (const ElementId& id : elements) {
    if (id.kind == ElementKind::node) {
      for (const NodeId other : counterparts.of(id.node())) {
        all.insert(other);
      }
    } else if (id.kind == ElementKind::link) {
      for (const LinkId other : counterparts.of(id.link())) {
        all.insert(other);
      }
    }
  }
  for (const ElementId& id : all) {
    switch (id.kind) {
      case ElementKind::node:
        edit.remove(id.node());
        break;
      case ElementKind::link:
        edit.remove(id.link());
        break;
      case ElementKind::box:
        edit.remove(id.box());
        break;
      case ElementKind::note:
        edit.remove(id.note());
        break;
    }
  }
}

}  // namespace coppice::designer::edits
