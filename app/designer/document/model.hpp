// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "designer/document/elements.hpp"
#include "designer/document/patch.hpp"
#include "fabric/description.hpp"

namespace coppice::designer {

/// Elements by id, in ascending order of their ids. Lookup is O(1).
template <typename Element>
class Table {
public:
  class Iterator {
  public:
    struct Entry {
      Id<Element> id;
      const Element& value;
    };
    Iterator(const std::vector<std::optional<Element>>* slots, std::size_t at) : m_slots(slots), m_at(at) { skip(); }
    Entry operator*() const { return {Id<Element>{static_cast<std::uint32_t>(m_at)}, *(*m_slots)[m_at]}; }
    Iterator& operator++() {
      ++m_at;
      skip();
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.m_at == b.m_at; }

  private:
    void skip() {
      while (m_at < m_slots->size() && !(*m_slots)[m_at]) {
        ++m_at;
      }
    }
    const std::vector<std::optional<Element>>* m_slots;
    std::size_t m_at;
  };

  /// `for (const auto& [id, node] : model.nodes())`
  [[nodiscard]] Iterator begin() const { return {&m_slots, 0}; }
  [[nodiscard]] Iterator end() const { return {&m_slots, m_slots.size()}; }

  [[nodiscard]] const Element* find(Id<Element> id) const {
    return id.value < m_slots.size() && m_slots[id.value] ? &*m_slots[id.value] : nullptr;
  }
  [[nodiscard]] bool contains(Id<Element> id) const { return find(id) != nullptr; }
  /// @pre contains(id)
  [[nodiscard]] const Element& operator[](Id<Element> id) const { return *m_slots[id.value]; }
  [[nodiscard]] std::size_t size() const { return m_count; }
  [[nodiscard]] bool isEmpty() const { return m_count == 0; }
  /// The smallest id that was never used.
  [[nodiscard]] Id<Element> nextId() const { return {static_cast<std::uint32_t>(m_slots.size())}; }

private:
  friend class Model;
  void set(Id<Element> id, const std::optional<Element>& value) {
    if (id.value >= m_slots.size()) {
      m_slots.resize(std::size_t{id.value} + 1);
    }
    m_count += value.has_value() ? 1 : 0;
    m_count -= m_slots[id.value].has_value() ? 1 : 0;
    m_slots[id.value] = value;
  }

  std::vector<std::optional<Element>> m_slots = std::vector<std::optional<Element>>(1);
  std::size_t m_count = 0;
};

/// The whole contents of a document and its indices: a value, without signals or history. It changes only by patches.
/// It can hold any faults a file can hold (duplicate names, missing ends, unknown kinds).
class Model {
public:
  [[nodiscard]] const Table<Node>& nodes() const { return m_nodes; }
  [[nodiscard]] const Table<Link>& links() const { return m_links; }
  [[nodiscard]] const Table<Box>& boxes() const { return m_boxes; }
  [[nodiscard]] const Table<Note>& notes() const { return m_notes; }
  [[nodiscard]] const Header& header() const { return m_header; }

  [[nodiscard]] const Node* find(NodeId id) const { return m_nodes.find(id); }
  [[nodiscard]] const Link* find(LinkId id) const { return m_links.find(id); }
  [[nodiscard]] const Box* find(BoxId id) const { return m_boxes.find(id); }
  [[nodiscard]] const Note* find(NoteId id) const { return m_notes.find(id); }
  [[nodiscard]] bool contains(const ElementId& id) const;

  /// Links with an end at the node, ascending.
  [[nodiscard]] const std::vector<LinkId>& linksOf(NodeId id) const;
  /// Nodes and boxes directly inside the box, ascending; of no box (the invalid id): those on the top level.
  [[nodiscard]] const std::vector<NodeId>& nodesIn(BoxId id) const;
  [[nodiscard]] const std::vector<BoxId>& boxesIn(BoxId id) const;
  /// All nodes inside the box at any depth, ascending.
  [[nodiscard]] std::vector<NodeId> allNodesIn(BoxId id) const;
  /// The box and all boxes inside it at any depth, ascending.
  [[nodiscard]] std::vector<BoxId> allBoxesIn(BoxId id) const;
  /// The first node of that name.
  [[nodiscard]] NodeId nodeNamed(std::string_view name) const;
  [[nodiscard]] int countNamed(std::string_view name) const;
  [[nodiscard]] BoxId boxAt(BoxId parent, std::string_view name) const;
  /// "outer/inner", as the file writes it; empty for no box.
  [[nodiscard]] std::string boxPath(BoxId id) const;
  /// The box at the path, if all its steps exist.
  [[nodiscard]] BoxId boxAtPath(std::string_view path) const;
  /// inner is in outer at any depth, or is outer.
  [[nodiscard]] bool isWithin(BoxId inner, BoxId outer) const;
  /// Name of the node at a link's end, or the missing name that the file gives.
  [[nodiscard]] const std::string& nameOf(const LinkEnd& end) const;
  /// For a person: "b0g3", "b0g3 → b0nvs", "b0", the note's first words.
  [[nodiscard]] QString title(const ElementId& id) const;

  /// The facts with the positions, nodes and links in the order of their ids: what core works on.
  [[nodiscard]] fabric::Description description() const;

  /// Puts the `after` values. Errors: badInput, and nothing changes, where a patch does not fit: a `before` that is not
  /// what is here, a box that would contain itself, an end or a box that would not exist.
  Outcome apply(const Patch& patch);
  /// Puts the `after` values of a patch that is known to fit: made by an Edit of this very state, or its reverse.
  void applyTrusted(const Patch& patch);

private:
  template <typename Element>
  void put(Table<Element>& table, const Swap<Element>& swap);
  void index(NodeId id, const Node& node);
  void index(LinkId id, const Link& link);
  void index(BoxId id, const Box& box);
  void index(NoteId, const Note&) {}
  void unindex(NodeId id, const Node& node);
  void unindex(LinkId id, const Link& link);
  void unindex(BoxId id, const Box& box);
  void unindex(NoteId, const Note&) {}

  Table<Node> m_nodes;
  Table<Link> m_links;
  Table<Box> m_boxes;
  Table<Note> m_notes;
  Header m_header;
  std::unordered_map<NodeId, std::vector<LinkId>> m_linksOf;
  std::unordered_map<BoxId, std::vector<NodeId>> m_nodesIn;
  std::unordered_map<BoxId, std::vector<BoxId>> m_boxesIn;
  std::unordered_map<std::string, std::vector<NodeId>> m_byName;
};

}  // namespace coppice::designer
