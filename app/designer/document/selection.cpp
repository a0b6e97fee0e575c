// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/document/selection.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace coppice::designer {

Selection::Selection(Document& document, QObject* parent) : QObject(parent), m_document(document) {
  connect(&document, &Document::changed, this, &Selection::dropVanished);
}

std::vector<NodeId> Selection::nodes() const {
  std::vector<NodeId> result;
  for (const ElementId& id : m_elements) {
    if (id.kind == ElementKind::node) {
      result.push_back(id.node());
    }
  }
  return result;
}

std::vector<LinkId> Selection::links() const {
  std::vector<LinkId> result;
  for (const ElementId& id : m_elements) {
    if (id.kind == ElementKind::link) {
      result.push_back(id.link());
    }
  }
  return result;
}

std::vector<BoxId> Selection::boxes() const {
  std::vector<BoxId> result;
  for (const ElementId& id : m_elements) {
    if (id.kind == ElementKind::box) {
      result.push_back(id.box());
    }
  }
  return result;
}

std::vector<NoteId> Selection::notes() const {
  std::vector<NoteId> result;
  for (const ElementId& id : m_elements) {
    if (id.kind == ElementKind::note) {
      result.push_back(id.note());
    }
  }
  return result;
}

std::vector<NodeId> Selection::nodesAndContents() const {
  std::vector<NodeId> result = nodes();
  for (const BoxId box : boxes()) {
    const std::vector<NodeId> inner = m_document.model().allNodesIn(box);
    result.insert(result.end(), inner.begin(), inner.end());
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

void Selection::setCurrent(const ElementId& id) {
  const ElementId wanted = m_document.model().contains(id) ? id : ElementId();
  if (m_current != wanted) {
    m_current = wanted;
    Q_EMIT currentChanged();
  }
}

void Selection::set(std::set<ElementId> elements) {
  std::erase_if(elements, [&](const ElementId& id) { return !m_document.model().contains(id); });
  if (m_elements != elements) {
    m_elements = std::move(elements);
    Q_EMIT changed();
  }
}

void Selection::add(const std::set<ElementId>& elements) {
  std::set<ElementId> all = m_elements;
  all.insert(elements.begin(), elements.end());
  set(std::move(all));
}

void Selection::remove(const std::set<ElementId>& elements) {
  std::set<ElementId> rest = m_elements;
  std::erase_if(rest, [&](const ElementId& id) { return elements.contains(id); });
  set(std::move(rest));
}

void Selection::toggle(const ElementId& id) {
  if (contains(id)) {
    remove({id});
  } else {
    add({id});
  }
}

void Selection::selectAll() {
  std::set<ElementId> all;
  const Model& model = m_document.model();
  for (const auto& [id, node] : model.nodes()) {
    all.emplace_hint(all.end(), id);
  }
  for (const auto& [id, link] : model.links()) {
    all.emplace_hint(all.end(), id);
  }
  for (const auto& [id, box] : model.boxes()) {
    all.emplace_hint(all.end(), id);
  }
  for (const auto& [id, note] : model.notes()) {
    all.emplace_hint(all.end(), id);
  }
  set(std::move(all));
}

void Selection::selectSameKind() {
  const Model& model = m_document.model();
  std::set<std::string> kinds;
  for (const NodeId id : nodes()) {
    kinds.insert(model.find(id)->facts.kind);
  }
  std::set<ElementId> all = m_elements;
  for (const auto& [id, node] : model.nodes()) {
    if (kinds.contains(node.facts.kind)) {
      all.insert(id);
    }
  }
  if (!links().empty()) {
    for (const auto& [id, link] : model.links()) {
      all.insert(id);
    }
  }
  if (!boxes().empty()) {
    for (const auto& [id, box] : model.boxes()) {
      all.insert(id);
    }
  }
  if (!notes().empty()) {
    for (const auto& [id, note] : model.notes()) {
      all.insert(id);
    }
  }
  set(std::move(all));
}

void Selection::addNeighbours() {
  const Model& model = m_document.model();
  std::set<ElementId> all = m_elements;
  for (const NodeId id : nodes()) {
    for (const LinkId linkId : model.linksOf(id)) {
      all.insert(linkId);
      const Link& link = *model.find(linkId);
      for (const LinkEnd* end : {&link.tail, &link.head}) {
        if (end->node.isValid()) {
          all.insert(end->node);
        }
      }
    }
  }
  set(std::move(all));
}

void Selection::selectWholeBox() {
  const Model& model = m_document.model();
  std::set<ElementId> all;
  const auto take = [&](BoxId box) {
    for (const BoxId inner : model.allBoxesIn(box)) {
      all.insert(inner);
    }
    for (const NodeId node : model.allNodesIn(box)) {
      all.insert(node);
    }
  };
  for (const NodeId id : nodes()) {
    const BoxId box = model.find(id)->facts.box;
    if (box.isValid()) {
      take(box);
    } else {
      all.insert(id);
    }
  }
  for (const BoxId id : boxes()) {
    const BoxId parent = model.find(id)->parent;
    take(parent.isValid() ? parent : id);
  }
  if (!all.empty()) {
    set(std::move(all));
  }
}

void Selection::dropVanished(const ChangeEvent& event) {
  if (event.isReset) {
    clear();
    setCurrent({});
    return;
  }
  if (!event.aspects.testFlag(Aspect::structure)) {
    return;
  }
  set(m_elements);
  setCurrent(m_current);
}

}  // namespace coppice::designer
