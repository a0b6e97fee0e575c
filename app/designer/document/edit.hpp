// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <concepts>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "designer/document/model.hpp"

namespace coppice::designer {

/// Collects the changes of one command on top of a model that stays as it is, then gives the patch. What it reads is
/// the model with the changes so far. Functions of document/edits.hpp write into one.
class Edit {
public:
  /// The model must outlive the edit and not change meanwhile.
  explicit Edit(const Model& base);

  [[nodiscard]] const Model& base() const { return m_base; }
  [[nodiscard]] const Node* find(NodeId id) const { return m_nodes.find(m_base.nodes(), id); }
  [[nodiscard]] const Link* find(LinkId id) const { return m_links.find(m_base.links(), id); }
  [[nodiscard]] const Box* find(BoxId id) const { return m_boxes.find(m_base.boxes(), id); }
  [[nodiscard]] const Note* find(NoteId id) const { return m_notes.find(m_base.notes(), id); }
  [[nodiscard]] const Header& header() const { return m_header; }

  NodeId add(Node node);
  LinkId add(Link link);
  BoxId add(Box box);
  NoteId add(Note note);

  /// Calls change(element&) and keeps the result; nothing happens for an id that does not exist.
  template <typename Element, std::invocable<Element&> Change>
  void change(Id<Element> id, const Change& change) {
    if (const Element* old = find(id)) {
      Element element = *old;
      change(element);
      put(id, std::move(element));
    }
  }
  void setHeader(Header header) { m_header = std::move(header); }

  /// A node goes with its links. A box goes with everything in it.
  void remove(NodeId id);
  void remove(LinkId id);
  void remove(BoxId id);
  void remove(NoteId id);

  /// As Model, with the changes so far; ascending.
  [[nodiscard]] std::vector<LinkId> linksOf(NodeId id) const;
  [[nodiscard]] std::vector<NodeId> nodesIn(BoxId id) const;
  [[nodiscard]] std::vector<BoxId> boxesIn(BoxId id) const;
  [[nodiscard]] bool isWithin(BoxId inner, BoxId outer) const;

  /// The wanted name, or it with its trailing number counted up until no node has it: "g7" → "g8", "leaf" → "leaf1".
  [[nodiscard]] std::string freeNodeName(std::string_view wanted) const;
  /// As freeNodeName, among the boxes of one parent.
  [[nodiscard]] std::string freeBoxName(std::string_view wanted, BoxId parent) const;

  /// Only what really differs from the base.
  [[nodiscard]] Patch patch() const;

private:
  template <typename Element>
  struct Overlay {
    std::map<Id<Element>, std::optional<Element>> changes;
    std::uint32_t next = 1;

    const Element* find(const Table<Element>& table, Id<Element> id) const {
      const auto found = changes.find(id);
      if (found == changes.end()) {
        return table.find(id);
      }
      return found->second ? &*found->second : nullptr;
    }
  };

  void put(NodeId id, Node node);
  void put(LinkId id, Link link);
  void put(BoxId id, Box box);
  void put(NoteId id, Note note);
  void noteName(const std::string& name, int difference);

  const Model& m_base;
  Overlay<Node> m_nodes;
  Overlay<Link> m_links;
  Overlay<Box> m_boxes;
  Overlay<Note> m_notes;
  Header m_header;
  std::unordered_map<NodeId, std::vector<LinkId>> m_addedLinksOf;
  std::unordered_map<std::string, int> m_nameChanges;  // how many more nodes have the name than in the base
  mutable std::unordered_map<std::string, long> m_lastFree;
};

}  // namespace coppice::designer
