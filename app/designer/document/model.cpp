// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/document/model.hpp"

#include <algorithm>
#include <utility>

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

template <typename Key, typename Value>
const std::vector<Value>& listAt(const std::unordered_map<Key, std::vector<Value>>& map, const Key& key) {
  static const std::vector<Value> kNone;
  const auto found = map.find(key);
  return found == map.end() ? kNone : found->second;
}

template <typename Key, typename Value>
void insertSorted(std::unordered_map<Key, std::vector<Value>>& map, const Key& key, Value value) {
  std::vector<Value>& list = map[key];
  const auto at = std::lower_bound(list.begin(), list.end(), value);
  if (at == list.end() || *at != value) {
    list.insert(at, value);
  }
}

template <typename Key, typename Value>
void eraseSorted(std::unordered_map<Key, std::vector<Value>>& map, const Key& key, Value value) {
  const auto found = map.find(key);
  if (found == map.end()) {
    return;
  }
  std::vector<Value>& list = found->second;
  const auto at = std::lower_bound(list.begin(), list.end(), value);
  if (at != list.end() && *at == value) {
    list.erase(at);
  }
  if (list.empty()) {
    map.erase(found);
  }
}

Error misfit(const std::string& what) {
  return Error{ErrorCode::badInput, "the change does not fit the document: " + what, "open the file again"};
}

template <typename Element>
Outcome checkSwaps(const Table<Element>& table, const std::vector<Swap<Element>>& swaps, const char* what) {
  Id<Element> last;
  for (const Swap<Element>& swap : swaps) {
    const Element* now = table.find(swap.id);
    // Ids far beyond the last would only cost memory.
    constexpr std::uint32_t kMaxGap = 1U << 22;
    if (swap.id <= last || swap.id.value - std::min(swap.id.value, table.nextId().value) > kMaxGap) {
      return misfit(std::string(what) + " ids are out of order or out of range");
    }
    last = swap.id;
    if ((now == nullptr) != !swap.before.has_value() || (now != nullptr && *now != *swap.before)) {
      return misfit(std::string(what) + " " + std::to_string(swap.id.value) + " is inconsistent");
    }
  }
  return Done{};
}

}  // namespace

bool Model::contains(const ElementId& id) const {
  switch (id.kind) {
    case ElementKind::node:
      return m_nodes.contains(id.node());
    case ElementKind::link:
      return m_links.contains(id.link());
    case ElementKind::box:
      return m_boxes.contains(id.box());
    case ElementKind::note:
      return m_notes.contains(id.note());
  }
  return false;
}

const std::vector<LinkId>& Model::linksOf(NodeId id) const {
  return listAt(m_linksOf, id);
}

const std::vector<NodeId>& Model::nodesIn(BoxId id) const {
  return listAt(m_nodesIn, id);
}

const std::vector<BoxId>& Model::boxesIn(BoxId id) const {
  return listAt(m_boxesIn, id);
}

std::vector<BoxId> Model::allBoxesIn(BoxId id) const {
  std::vector<BoxId> result;
  if (id.isValid()) {
    result.push_back(id);
  } else {
    result = boxesIn(id);
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::vector<BoxId>& inner = boxesIn(result[i]);
    result.insert(result.end(), inner.begin(), inner.end());
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<NodeId> Model::allNodesIn(BoxId id) const {
  std::vector<NodeId> result;
  if (!id.isValid()) {
    result = nodesIn(id);
  }
  for (const BoxId box : allBoxesIn(id)) {
    const std::vector<NodeId>& inner = nodesIn(box);
    result.insert(result.end(), inner.begin(), inner.end());
  }
  std::sort(result.begin(), result.end());
  return result;
}

NodeId Model::nodeNamed(std::string_view name) const {
  const std::vector<NodeId>& found = listAt(m_byName, std::string(name));
  return found.empty() ? NodeId{} : found.front();
}

int Model::countNamed(std::string_view name) const {
  return static_cast<int>(listAt(m_byName, std::string(name)).size());
}

BoxId Model::boxAt(BoxId parent, std::string_view name) const {
  for (const BoxId id : boxesIn(parent)) {
    if (m_boxes[id].name == name) {
      return id;
    }
  }
  return {};
}

std::string Model::boxPath(BoxId id) const {
  std::string path;
  for (const Box* box = m_boxes.find(id); box != nullptr; box = m_boxes.find(box->parent)) {
    path = path.empty() && box == m_boxes.find(id) ? box->name : box->name + "/" + path;
  }
  return path;
}

BoxId Model::boxAtPath(std::string_view path) const {
  BoxId at;
  while (!path.empty() || at.isValid()) {
    const std::size_t slash = path.find('/');
    at = boxAt(at, path.substr(0, slash));
    if (!at.isValid() || slash == std::string_view::npos) {
      return at;
    }
    path.remove_prefix(slash + 1);
  }
  return at;
}

bool Model::isWithin(BoxId inner, BoxId outer) const {
  for (BoxId at = inner; at.isValid();) {
    if (at == outer) {
      return true;
    }
    const Box* box = m_boxes.find(at);
    at = box != nullptr ? box->parent : BoxId{};
  }
  return !outer.isValid();
}

const std::string& Model::nameOf(const LinkEnd& end) const {
  const Node* node = m_nodes.find(end.node);
  return node != nullptr ? node->facts.name : end.missing;
}

QString Model::title(const ElementId& id) const {
  switch (id.kind) {
    case ElementKind::node: {
      const Node* node = find(id.node());
      return node != nullptr ? QString::fromStdString(node->facts.name) : QString();
    }
    case ElementKind::link: {
      const Link* link = find(id.link());
      return link == nullptr
                 ? QString()
                 : QString::fromStdString(nameOf(link->tail)) + QString(link->duplex ? u" – "_s : u" → "_s) +
                       QString::fromStdString(nameOf(link->head));
    }
    case ElementKind::box: {
      const Box* box = find(id.box());
      return box != nullptr ? QString::fromStdString(box->name) : QString();
    }
    case ElementKind::note: {
      constexpr int kShown = 40;
      const Note* note = find(id.note());
      return note != nullptr ? QString::fromStdString(note->text).simplified().left(kShown) : QString();
    }
  }
  return {};
}

fabric::Description Model::description() const {
  fabric::Description result;
  result.name = m_header.name;
  result.extra = m_header.extra;
  result.nodes.reserve(m_nodes.size());
  std::unordered_map<BoxId, std::string> paths;
  for (const auto& [id, node] : m_nodes) {
    fabric::NodeDescription& out = result.nodes.emplace_back();
    out.id = node.facts.name;
    out.kind = node.facts.kind;
    if (node.facts.box.isValid()) {
      const auto [path, isNew] = paths.try_emplace(node.facts.box);
      if (isNew) {
        path->second = boxPath(node.facts.box);
      }
      out.box = path->second;
    }
    out.rank = node.facts.rank;
    if (node.drawing.isPlaced) {
      out.position = fabric::Position{node.drawing.position.x, node.drawing.position.y, node.drawing.extra};
    }
    out.multicast = node.facts.multicast;
    out.aggregation = node.facts.aggregation;
    out.extra = node.facts.extra;
  }
  result.links.reserve(m_links.size());
  for (const auto& [id, link] : m_links) {
    result.links.push_back(
        {nameOf(link.tail), nameOf(link.head), link.bandwidth, link.duplex, link.count, link.latency, link.extra});
  }
  return result;
}

Outcome Model::apply(const Patch& patch) {
  if (Outcome fit = checkSwaps(m_nodes, patch.nodes, "node"); !fit) {
    return fit;
  }
  if (Outcome fit = checkSwaps(m_links, patch.links, "link"); !fit) {
    return fit;
  }
  if (Outcome fit = checkSwaps(m_boxes, patch.boxes, "box"); !fit) {
    return fit;
  }
  if (Outcome fit = checkSwaps(m_notes, patch.notes, "note"); !fit) {
    return fit;
  }
  if (patch.header && patch.header->before != m_header) {
    return misfit("the header is inconsistent");
  }

  // What refers to what, after the patch.
  const auto after = [](const auto& table, const auto& swaps, auto id) {
    const auto at = std::lower_bound(swaps.begin(), swaps.end(), id,
                                     [](const auto& swap, auto wanted) { return swap.id < wanted; });
    if (at != swaps.end() && at->id == id) {
      return at->after ? &*at->after : nullptr;
    }
    return table.find(id);
  };
  const auto boxAfter = [&](BoxId id) { return after(m_boxes, patch.boxes, id); };
  const auto nodeAfter = [&](NodeId id) { return after(m_nodes, patch.nodes, id); };
  for (const Swap<Node>& swap : patch.nodes) {
    if (swap.after && swap.after->facts.box.isValid() && boxAfter(swap.after->facts.box) == nullptr) {
      return misfit("a node's box does not exist");
    }
    if (!swap.after) {
      for (const LinkId id : linksOf(swap.id)) {
        const Link* link = after(m_links, patch.links, id);
        if (link != nullptr && (link->tail.node == swap.id || link->head.node == swap.id)) {
          return misfit("a link would lose its end");
        }
      }
    }
  }
  for (const Swap<Link>& swap : patch.links) {
    if (swap.after) {
      for (const LinkEnd* end : {&swap.after->tail, &swap.after->head}) {
        if (end->node.isValid() && nodeAfter(end->node) == nullptr) {
          return misfit("a link's end does not exist");
        }
      }
    }
  }
  for (const Swap<Box>& swap : patch.boxes) {
    if (!swap.after) {
      for (const NodeId id : nodesIn(swap.id)) {
        const Node* node = nodeAfter(id);
        if (node != nullptr && node->facts.box == swap.id) {
          return misfit("a node would lose its box");
        }
      }
      for (const BoxId id : boxesIn(swap.id)) {
        const Box* box = boxAfter(id);
        if (box != nullptr && box->parent == swap.id) {
          return misfit("a box would lose its parent");
        }
      }
      continue;
    }
    std::size_t steps = 0;
    for (const Box* box = &*swap.after; box->parent.isValid();) {
      box = boxAfter(box->parent);
      if (box == nullptr || ++steps > m_boxes.size() + patch.boxes.size()) {
        return misfit("a box's parent does not exist or lies inside it");
      }
    }
  }
  applyTrusted(patch);
  return Done{};
}

void Model::applyTrusted(const Patch& patch) {
  for (const Swap<Box>& swap : patch.boxes) {
    put(m_boxes, swap);
  }
  for (const Swap<Node>& swap : patch.nodes) {
    put(m_nodes, swap);
  }
  for (const Swap<Link>& swap : patch.links) {
    put(m_links, swap);
  }
  for (const Swap<Note>& swap : patch.notes) {
    put(m_notes, swap);
  }
  if (patch.header) {
    m_header = patch.header->after;
  }
}

template <typename Element>
void Model::put(Table<Element>& table, const Swap<Element>& swap) {
  if (const Element* old = table.find(swap.id)) {
    unindex(swap.id, *old);
  }
  table.set(swap.id, swap.after);
  if (swap.after) {
    index(swap.id, *swap.after);
  }
}

void Model::index(NodeId id, const Node& node) {
  insertSorted(m_nodesIn, node.facts.box, id);
  insertSorted(m_byName, node.facts.name, id);
}

void Model::unindex(NodeId id, const Node& node) {
  eraseSorted(m_nodesIn, node.facts.box, id);
  eraseSorted(m_byName, node.facts.name, id);
}

void Model::index(LinkId id, const Link& link) {
  for (const LinkEnd* end : {&link.tail, &link.head}) {
    if (end->node.isValid()) {
      insertSorted(m_linksOf, end->node, id);
    }
  }
}

void Model::unindex(LinkId id, const Link& link) {
  eraseSorted(m_linksOf, link.tail.node, id);
  eraseSorted(m_linksOf, link.head.node, id);
}

void Model::index(BoxId id, const Box& box) {
  insertSorted(m_boxesIn, box.parent, id);
}

void Model::unindex(BoxId id, const Box& box) {
  eraseSorted(m_boxesIn, box.parent, id);
}

}  // namespace coppice::designer
