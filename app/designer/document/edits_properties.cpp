// SPDX-License-Identifier: GPL-3.0-or-later
#include <utility>

#include "base/text.hpp"
#include "designer/document/edits.hpp"
#include "designer/document/instances.hpp"

namespace coppice::designer::edits {
namespace {

Error badName(const std::string& message, const std::string& fix) {
  return Error{ErrorCode::badUsage, message, fix};
}

Outcome checkText(const std::string& name) {
  if (name.empty()) {
    return badName("a name cannot be empty", "type a name");
  }
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t length = utf8SequenceLength(name, at);
    if (length == 0 || isControlCharacter(name, at)) {
      return badName("the name has a character that cannot be shown", "use letters, digits and punctuation");
    }
    at += length;
  }
  return Done{};
}

/// The counterparts of all ids with the ids, each once.
template <typename Element>
std::set<Id<Element>> withCounterparts(const Edit& edit, std::span<const Id<Element>> ids) {
  Counterparts counterparts(edit);
  std::set<Id<Element>> result;
  for (const Id<Element> id : ids) {
    result.insert(id);
    for (const Id<Element> other : counterparts.of(id)) {
      result.insert(other);
    }
  }
  return result;
}

}  // namespace

Outcome checkName(const Model& model, const ElementId& id, const std::string& name) {
  if (const Node* node = model.find(id.node())) {
    if (Outcome text = checkText(name); !text) {
      return text;
    }
    if (node->facts.name != name && model.nodeNamed(name).isValid()) {
      return badName("there is already a node " + inQuotes(name), "choose another name");
    }
    return Done{};
  }
  if (const Box* box = model.find(id.box())) {
    if (Outcome text = checkText(name); !text) {
      return text;
    }
    if (name.find('/') != std::string::npos) {
      return badName("\"/\" separates the names of nested boxes", "use another character");
    }
    const BoxId other = model.boxAt(box->parent, name);
    if (other.isValid() && other != id.box()) {
      return badName("there is already a box " + inQuotes(name) + " here", "choose another name");
    }
    return Done{};
  }
  return badName("only nodes and boxes have names", "select a node or a box");
}

Outcome rename(Edit& edit, const ElementId& id, const std::string& name) {
  if (Outcome check = checkName(edit.base(), id, name); !check) {
    return check;
  }
  edit.change(id.node(), [&](Node& node) { node.facts.name = name; });
  edit.change(id.box(), [&](Box& box) { box.name = name; });
  return Done{};
}

void changeNodes(Edit& edit, std::span<const NodeId> nodes, const std::function<void(Node&)>& change) {
  const std::set<NodeId> asked(nodes.begin(), nodes.end());
  for (const NodeId id : withCounterparts(edit, nodes)) {
    const Node* old = edit.find(id);
    if (old == nullptr) {
      continue;
    }
    const Node before = *old;
    edit.change(id, [&](Node& node) {
      change(node);
      // What tells instances apart stays each one's own.
      node.facts.name = before.facts.name;
      node.facts.box = before.facts.box;
      node.drawing.role = before.drawing.role;
      node.drawing.position = before.drawing.position;
      node.drawing.isPlaced = before.drawing.isPlaced;
      if (!asked.contains(id)) {
        node.facts.rank = before.facts.rank;
      }
    });
  }
}

void changeLinks(Edit& edit, std::span<const LinkId> links, const std::function<void(Link&)>& change) {
  for (const LinkId id : withCounterparts(edit, links)) {
    edit.change(id, [&](Link& link) {
      LinkEnd tail = link.tail;
      LinkEnd head = link.head;
      change(link);
      link.tail = std::move(tail);
      link.head = std::move(head);
    });
  }
}

void changeBoxes(Edit& edit, std::span<const BoxId> boxes, const std::function<void(Box&)>& change) {
  for (const BoxId id : boxes) {
    edit.change(id, [&](Box& box) {
      std::string name = box.name;
      const BoxId parent = box.parent;
      change(box);
      box.name = std::move(name);
      box.parent = parent;
    });
  }
}

void changeNotes(Edit& edit, std::span<const NoteId> notes, const std::function<void(Note&)>& change) {
  for (const NoteId id : notes) {
    edit.change(id, change);
  }
}

void fold(Edit& edit, std::span<const BoxId> boxes, bool isFolded) {
  changeBoxes(edit, boxes, [&](Box& box) { box.isFolded = isFolded; });
}

}  // namespace coppice::designer::edits
