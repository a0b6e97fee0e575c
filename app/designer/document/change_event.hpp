// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFlags>
#include <QMetaType>
#include <cstdint>
#include <vector>

#include "designer/document/ids.hpp"
#include "designer/document/patch.hpp"

namespace coppice::designer {

/// What a change touched, so that a view repaints just that.
enum class Aspect : unsigned {
  none = 0,
  structure = 1,  ///< elements came or went, links changed their ends, nodes or boxes their box
  facts = 2,      ///< anything that fabric::Description says beside positions
  position = 4,   ///< of nodes and notes, frames of boxes, widths
  fold = 8,       ///< boxes were folded or unfolded
  names = 16,     ///< of nodes, boxes, the fabric; texts of notes
  marks = 32,     ///< pinned, types of boxes, roles
  header = 64     ///< name and foreign keys of the file
};
Q_DECLARE_FLAGS(Aspects, Aspect)
Q_DECLARE_OPERATORS_FOR_FLAGS(Aspects)

template <typename Element>
struct ElementChanges {
  std::vector<Id<Element>> added;
  std::vector<Id<Element>> removed;
  std::vector<Id<Element>> changed;

  [[nodiscard]] bool isEmpty() const { return added.empty() && removed.empty() && changed.empty(); }
};

/// One command done or undone = one event.
struct ChangeEvent {
  bool isReset = false;  ///< the whole content is another one (opened, reloaded); the lists are empty
  Aspects aspects = Aspect::none;
  ElementChanges<Node> nodes;
  ElementChanges<Link> links;
  ElementChanges<Box> boxes;
  ElementChanges<Note> notes;
  std::uint64_t revision = 0;

  /// What applying the patch does.
  static ChangeEvent of(const Patch& patch);
};

}  // namespace coppice::designer

Q_DECLARE_METATYPE(coppice::designer::ChangeEvent)
