// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QHashFunctions>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace coppice::designer {

/// Names one element of one document for as long as the document is open: a number from 1, never used twice, kept by
/// undo and redo, and the order in which elements are in the file. 0 = no element.
template <typename Element>
struct Id {
  std::uint32_t value = 0;

  [[nodiscard]] constexpr bool isValid() const { return value != 0; }
  friend constexpr auto operator<=>(Id, Id) = default;
  friend constexpr std::size_t qHash(Id id, std::size_t seed = 0) { return ::qHash(id.value, seed); }
};

struct Node;
struct Link;
struct Box;
struct Note;
using NodeId = Id<Node>;
using LinkId = Id<Link>;
using BoxId = Id<Box>;
using NoteId = Id<Note>;

enum class ElementKind : std::uint8_t { node, link, box, note };

/// Any element, for selections, problems and searches.
struct ElementId {
  ElementKind kind = ElementKind::node;
  std::uint32_t value = 0;

  constexpr ElementId() = default;
  constexpr ElementId(NodeId id) : kind(ElementKind::node), value(id.value) {}  // NOLINT(google-explicit-constructor)
  constexpr ElementId(LinkId id) : kind(ElementKind::link), value(id.value) {}  // NOLINT(google-explicit-constructor)
  constexpr ElementId(BoxId id) : kind(ElementKind::box), value(id.value) {}    // NOLINT(google-explicit-constructor)
  constexpr ElementId(NoteId id) : kind(ElementKind::note), value(id.value) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] constexpr bool isValid() const { return value != 0; }
  /// The typed id; invalid where the element is of another kind.
  [[nodiscard]] constexpr NodeId node() const { return kind == ElementKind::node ? NodeId{value} : NodeId{}; }
  [[nodiscard]] constexpr LinkId link() const { return kind == ElementKind::link ? LinkId{value} : LinkId{}; }
  [[nodiscard]] constexpr BoxId box() const { return kind == ElementKind::box ? BoxId{value} : BoxId{}; }
  [[nodiscard]] constexpr NoteId note() const { return kind == ElementKind::note ? NoteId{value} : NoteId{}; }

  friend constexpr auto operator<=>(const ElementId&, const ElementId&) = default;
  friend constexpr std::size_t qHash(const ElementId& id, std::size_t seed = 0) {
    return ::qHash((static_cast<std::uint64_t>(id.kind) << 32U) | id.value, seed);
  }
};

}  // namespace coppice::designer

template <typename Element>
struct std::hash<coppice::designer::Id<Element>> {
  std::size_t operator()(coppice::designer::Id<Element> id) const noexcept {
    return std::hash<std::uint32_t>{}(id.value);
  }
};

template <>
struct std::hash<coppice::designer::ElementId> {
  std::size_t operator()(const coppice::designer::ElementId& id) const noexcept {
    return std::hash<std::uint64_t>{}((static_cast<std::uint64_t>(id.kind) << 32U) | id.value);
  }
};
