// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <iterator>

#include "designer/document/edits.hpp"

namespace coppice::designer::edits {
namespace {

BoxId parentOf(const Edit& edit, const ElementId& id) {
  if (const Node* node = edit.find(id.node())) {
    return node->facts.box;
  }
  const Box* box = edit.find(id.box());
  return box != nullptr ? box->parent : BoxId{};
}

bool exists(const Edit& edit, const ElementId& id) {
  return edit.find(id.node()) != nullptr || edit.find(id.box()) != nullptr;
}

/// The element is in a box that is among the elements too.
bool isCovered(const Edit& edit, const ElementId& id, const std::set<ElementId>& elements) {
  for (BoxId at = parentOf(edit, id); at.isValid(); at = parentOf(edit, at)) {
    if (elements.contains(at)) {
      return true;
    }
  }
  return false;
}

/// Puts a node or box into the box; a box takes a free name there.
void put(Edit& edit, const ElementId& id, BoxId target) {
  edit.change(id.node(), [&](Node& node) {
    if (node.facts.box != target) {
      node.facts.box = target;
      node.drawing.role.clear();
    }
  });
  const Box* box = edit.find(id.box());
  if (box != nullptr && box->parent != target && !edit.isWithin(target, id.box())) {
    const std::string name = edit.freeBoxName(box->name, target);
    edit.change(id.box(), [&](Box& changed) {
      changed.parent = target;
      changed.name = name;
    });
  }
}

}  // namespace

BoxId box(Edit& edit, const std::set<ElementId>& elements, std::string_view wantedName) {
  std::vector<ElementId> members;
  for (const ElementId& id : elements) {
    if (exists(edit, id) && !isCovered(edit, id, elements)) {
      members.push_back(id);
    }
  }
  if (members.empty()) {
    return {};
  }
  BoxId parent = parentOf(edit, members.front());
  for (const ElementId& id : members) {
    while (parent.isValid() && !edit.isWithin(parentOf(edit, id), parent)) {
      parent = edit.find(parent)->parent;
    }
  }
  const BoxId made = edit.add(Box{.name = edit.freeBoxName(wantedName, parent), .parent = parent});
  for (const ElementId& id : members) {
    put(edit, id, made);
  }
  return made;
}

void unbox(Edit& edit, std::span<const BoxId> boxes) {
  for (const BoxId id : boxes) {
    const Box* box = edit.find(id);
    if (box == nullptr) {
      continue;
    }
    const BoxId parent = box->parent;
    for (const NodeId node : edit.nodesIn(id)) {
      put(edit, node, parent);
    }
    for (const BoxId inner : edit.boxesIn(id)) {
      put(edit, inner, parent);
    }
    edit.remove(id);
  }
}

}  // namespace coppice::designer::edits
