// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>
#include <vector>

#include "designer/document/elements.hpp"

namespace coppice::designer {

/// One element before and after: absent before = created, absent after = deleted.
template <typename Element>
struct Swap {
  Id<Element> id;
  std::optional<Element> before;
  std::optional<Element> after;

  friend bool operator==(const Swap&, const Swap&) = default;
};

struct HeaderSwap {
  Header before;
  Header after;

  friend bool operator==(const HeaderSwap&, const HeaderSwap&) = default;
};

/// Every mutation of a document, from a rename to an import: which elements become what. Redo puts the `after` values,
/// undo the `before` values, so undo is exact by construction. Holds ids and values only. Each list is ascending by id
/// and names an id once; before differs from after.
struct Patch {
  std::vector<Swap<Node>> nodes;
  std::vector<Swap<Link>> links;
  std::vector<Swap<Box>> boxes;
  std::vector<Swap<Note>> notes;
  std::optional<HeaderSwap> header;

  [[nodiscard]] bool isEmpty() const {
    return nodes.empty() && links.empty() && boxes.empty() && notes.empty() && !header;
  }
  /// How many elements it touches.
  [[nodiscard]] std::size_t size() const { return nodes.size() + links.size() + boxes.size() + notes.size(); }
  /// The same, backwards.
  [[nodiscard]] Patch reversed() const;
  /// Appends a patch that follows this one; what ends as it began drops out.
  void mergeWith(Patch later);

  friend bool operator==(const Patch&, const Patch&) = default;
};

}  // namespace coppice::designer
