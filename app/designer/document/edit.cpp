// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/document/edit.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

namespace coppice::designer {
namespace {

/// "leaf12" → "leaf", 12; "leaf" → "leaf", 0 with hasNumber false. A number with a leading zero or of more than nine
/// digits belongs to the stem.
struct NumberedName {
  std::string stem;
  long number = 0;
};

NumberedName splitName(std::string_view name) {
  constexpr std::size_t kMaxDigits = 9;
  std::size_t at = name.size();
  while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9') {
    --at;
  }
  const std::string_view digits = name.substr(at);
  if (digits.empty() || digits.size() > kMaxDigits || (digits.size() > 1 && digits.front() == '0')) {
    return {std::string(name), 0};
  }
  NumberedName result{std::string(name.substr(0, at)), 0};
  std::from_chars(digits.data(), digits.data() + digits.size(), result.number);
  return result;
}

template <typename Element>
std::vector<Swap<Element>> swapsOf(const Table<Element>& table,
                                   const std::map<Id<Element>, std::optional<Element>>& changes) {
  std::vector<Swap<Element>> result;
  for (const auto& [id, after] : changes) {
    const Element* before = table.find(id);
    const bool isSame = before == nullptr ? !after.has_value() : after.has_value() && *after == *before;
    if (!isSame) {
      result.push_back({id, before != nullptr ? std::optional<Element>(*before) : std::nullopt, after});
    }
  }
  return result;
}

}  // namespace

Edit::Edit(const Model& base) : m_base(base), m_header(base.header()) {
  m_nodes.next = base.nodes().nextId().value;
  m_links.next = base.links().nextId().value;
  m_boxes.next = base.boxes().nextId().value;
  m_notes.next = base.notes().nextId().value;
}

NodeId Edit::add(Node node) {
  const NodeId id{m_nodes.next++};
  put(id, std::move(node));
  return id;
}

LinkId Edit::add(Link link) {
  const LinkId id{m_links.next++};
  put(id, std::move(link));
  return id;
}

BoxId Edit::add(Box box) {
  const BoxId id{m_boxes.next++};
  put(id, std::move(box));
  return id;
}

NoteId Edit::add(Note note) {
  const NoteId id{m_notes.next++};
  put(id, std::move(note));
  return id;
}

void Edit::put(NodeId id, Node node) {
  if (const Node* old = find(id)) {
    noteName(old->facts.name, -1);
  }
  noteName(node.facts.name, 1);
  m_nodes.changes[id] = std::move(node);
}

void Edit::put(LinkId id, Link link) {
  for (const LinkEnd* end : {&link.tail, &link.head}) {
    if (end->node.isValid()) {
      m_addedLinksOf[end->node].push_back(id);
    }
  }
  m_links.changes[id] = std::move(link);
}

void Edit::put(BoxId id, Box box) {
  m_boxes.changes[id] = std::move(box);
}

void Edit::put(NoteId id, Note note) {
  m_notes.changes[id] = std::move(note);
}

void Edit::noteName(const std::string& name, int difference) {
  m_nameChanges[name] += difference;
}

void Edit::remove(NodeId id) {
  const Node* node = find(id);
  if (node == nullptr) {
    return;
  }
  for (const LinkId link : linksOf(id)) {
    remove(link);
  }
  noteName(node->facts.name, -1);
  m_nodes.changes[id] = std::nullopt;
}

void Edit::remove(LinkId id) {
  if (find(id) != nullptr) {
    m_links.changes[id] = std::nullopt;
  }
}

void Edit::remove(BoxId id) {
  if (find(id) == nullptr) {
    return;
  }
  std::vector<BoxId> boxes{id};
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    for (const BoxId inner : boxesIn(boxes[i])) {
      boxes.push_back(inner);
    }
    for (const NodeId node : nodesIn(boxes[i])) {
      remove(node);
    }
  }
  for (const BoxId box : boxes) {
    m_boxes.changes[box] = std::nullopt;
  }
}

void Edit::remove(NoteId id) {
  if (find(id) != nullptr) {
    m_notes.changes[id] = std::nullopt;
  }
}

std::vector<LinkId> Edit::linksOf(NodeId id) const {
  std::vector<LinkId> result = m_base.linksOf(id);
  if (const auto added = m_addedLinksOf.find(id); added != m_addedLinksOf.end()) {
    result.insert(result.end(), added->second.begin(), added->second.end());
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
  }
  std::erase_if(result, [&](LinkId link) {
    const Link* now = find(link);
    return now == nullptr || (now->tail.node != id && now->head.node != id);
  });
  return result;
}

std::vector<NodeId> Edit::nodesIn(BoxId id) const {
  std::vector<NodeId> result;
  for (const NodeId node : m_base.nodesIn(id)) {
    if (!m_nodes.changes.contains(node)) {
      result.push_back(node);
    }
  }
  for (const auto& [node, now] : m_nodes.changes) {
    if (now && now->facts.box == id) {
      result.push_back(node);
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<BoxId> Edit::boxesIn(BoxId id) const {
  std::vector<BoxId> result;
  for (const BoxId box : m_base.boxesIn(id)) {
    if (!m_boxes.changes.contains(box)) {
      result.push_back(box);
    }
  }
  for (const auto& [box, now] : m_boxes.changes) {
    if (now && now->parent == id) {
      result.push_back(box);
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

bool Edit::isWithin(BoxId inner, BoxId outer) const {
  for (BoxId at = inner; at.isValid();) {
    if (at == outer) {
      return true;
    }
    const Box* box = find(at);
    at = box != nullptr ? box->parent : BoxId{};
  }
  return !outer.isValid();
}

std::string Edit::freeNodeName(std::string_view wanted) const {
  const auto isTaken = [&](const std::string& name) {
    int count = m_base.countNamed(name);
    if (const auto change = m_nameChanges.find(name); change != m_nameChanges.end()) {
      count += change->second;
    }
    return count > 0;
  };
  if (!wanted.empty() && !isTaken(std::string(wanted))) {
    return std::string(wanted);
  }
  const NumberedName parts = splitName(wanted.empty() ? "node" : wanted);
  long& last = m_lastFree.try_emplace(parts.stem, parts.number).first->second;
  last = std::max(last, parts.number);
  for (;;) {
    std::string name = parts.stem + std::to_string(++last);
    if (!isTaken(name)) {
      --last;  // taken as soon as it is used
      return name;
    }
  }
}

std::string Edit::freeBoxName(std::string_view wanted, BoxId parent) const {
  std::unordered_set<std::string> taken;
  for (const BoxId id : boxesIn(parent)) {
    taken.insert(find(id)->name);
  }
  if (!wanted.empty() && !taken.contains(std::string(wanted))) {
    return std::string(wanted);
  }
  NumberedName parts = splitName(wanted.empty() ? "box" : wanted);
  for (;;) {
    std::string name = parts.stem + std::to_string(++parts.number);
    if (!taken.contains(name)) {
      return name;
    }
  }
}

Patch Edit::patch() const {
  Patch result{swapsOf(m_base.nodes(), m_nodes.changes), swapsOf(m_base.links(), m_links.changes),
               swapsOf(m_base.boxes(), m_boxes.changes), swapsOf(m_base.notes(), m_notes.changes), std::nullopt};
  if (m_header != m_base.header()) {
    result.header = HeaderSwap{m_base.header(), m_header};
  }
  return result;
}

}  // namespace coppice::designer
